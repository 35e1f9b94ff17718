# SPDX-License-Identifier: Apache-2.0
"""Epochs for PyTorch: whole steps in the order that hpdsl-order(7) defines, on
any number of ranks and of DataLoader's workers.

    dataset = hpdsl.Dataset("imagenet.hpdsl")
    steps = hpdsl.torch.Steps(dataset, hpdsl.Order(seed=1), decode=my_decode)
    loader = hpdsl.torch.Loader(steps, num_workers=4)
    while loader.epoch < 90:
        for batch in loader:
            ...
            if it_is_time:
                torch.save({..., "loader": loader.state_dict()}, path)

Steps reads ahead with the library's threads, in large reads; decoding is what
workers are for.  With nothing to decode a batch has Contents: one tensor of
bytes, in memory that the worker shares.  Samples and Sampler are the same order
over a map-style dataset, for code that wants one: each sample is then read by
itself or with its neighbours of the step.
"""

from __future__ import annotations

import errno
import inspect
import os
import traceback
from dataclasses import replace
from typing import (Any, Callable, Iterable, Iterator, List, NamedTuple,
                    Optional, Tuple, Union)

import torch
import torch.distributed
import torch.utils.data as data

from ._batch import suffixes_of
from ._choice import Choice
from ._contents import Contents, contents_in
from ._dataset import Dataset, Sample
from ._errors import DiffersError, RangeError, UsageError
from ._loader import Loader as Reader
from ._order import Epoch, Order, share_of
from ._orphan import watch_trainer
from ._parcel import Batch, Decoder, finished
from ._state import make_state, read_state

__all__ = ["Batch", "Contents", "Loader", "Places", "Sampler", "Samples",
           "Steps"]

# What the library takes for all readers of a process, unless told.
_MEMORY = 4 << 30
_LEAST_MEMORY = 16 << 20


class Places(NamedTuple):
    """What Sampler yields: the sample numbers of a step, those of this rank,
    and whether they count."""

    numbers: List[int]
    mask: List[bool]
    epoch: int
    step: int


class _Position:
    """Whose turn it is: an order, a rank's share of it, and where to begin.

    The beginning is kept in shared memory, as workers that live on after an
    epoch learn of the next one in no other way."""

    _epochs_end = 0  # 0: there is none

    def __init__(self, dataset: Dataset, order: Order = Order(), *,
                 choice: Optional[Choice] = None, end: str = "mask",
                 rank: Optional[int] = None, ranks: Optional[int] = None,
                 uneven: bool = False) -> None:
        self.dataset, self.choice = dataset, choice
        self.end, self.uneven = end, uneven
        self.rank, self.ranks = _ranks(rank, ranks)
        share_of(self.rank, self.ranks, 0, 1, uneven)
        self._epoch: Optional[Epoch] = None
        self._at = torch.zeros(2, dtype=torch.int64).share_memory_()
        self.order = order
        self.order = self.epoch(order.epoch).order
        self.seek(order.epoch, order.step)

    def epoch(self, number: int) -> Epoch:
        """The order of that epoch."""
        if self._epoch is None or self._epoch.order.epoch != number:
            self._epoch = Epoch(self.dataset, replace(
                self.order, epoch=number, step=0), self.choice)
        return self._epoch

    def steps(self, epoch: int) -> int:
        """Steps of that epoch, the same for every rank."""
        return self.epoch(epoch).steps(self.end)

    def over(self, epoch: int) -> bool:
        """Whether that is behind the last epoch."""
        return bool(self._epochs_end) and epoch >= self._epochs_end

    def seek(self, epoch: int, step: int = 0) -> None:
        """Where the next iteration begins: it gives the rest of that epoch."""
        if not 0 <= step <= self.steps(epoch):
            raise RangeError(f"no step {step} in epoch {epoch}, which has "
                             f"{self.steps(epoch)}", -errno.ERANGE)
        self._at[0], self._at[1] = epoch, step

    def state_dict(self, epoch: int, step: int) -> dict:
        """For load_state_dict(), on any number of ranks and workers: the state
        of a loop for which that step is the next one."""
        if step >= self.steps(epoch):
            epoch, step = epoch + 1, 0
        return make_state(replace(self.order, epoch=epoch, step=step),
                          self.end, self.dataset, self.choice)

    def load_state_dict(self, state: dict) -> None:
        """Seeks that step, and takes the order and the end from there too.
        Raises DiffersError: another pack or another choice."""
        order, end = read_state(state, self.dataset, self.choice)
        self.order, self.end, self._epoch = replace(order, step=0), end, None
        self.order = self.epoch(order.epoch).order
        self.seek(order.epoch, order.step)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_epoch": None}


def _ranks(rank: Optional[int], ranks: Optional[int]) -> Tuple[int, int]:
    if rank is not None and ranks is not None:
        return rank, ranks
    if rank is not None or ranks is not None:
        # With a guess at the other one all of them may read the same.
        raise UsageError(f"rank {rank} of ranks {ranks}: wanted both or "
                         "neither")
    if (torch.distributed.is_available() and
            torch.distributed.is_initialized()):
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def _same_pack(one: Dataset, other: Dataset) -> bool:
    """Cheaper to see than by the packs' names."""
    return one.handle().digest() == other.handle().digest()


class Steps(_Position, data.IterableDataset):
    """The steps of an epoch as Batches, for DataLoader(steps, batch_size=None)
    with any number of workers; each iteration gives the rest of the epoch that
    seek() set.  Loader does both, counts, and knows the state to resume from.

    dataset, order, choice, end, uneven
                 as for hpdsl.Loader; begins at the order's epoch and step
    rank, ranks  both or neither: then those of torch.distributed, if that is
                 initialized
    epochs       how many there are in all, from the order's epoch on: behind
                 them an iteration gives nothing; 0: no end
    decode       called with the content of a sample's first member, a memoryview
                 of bytes, or with those of all members of `suffixes`; what it
                 returns has to be its own, not another view.  None: bytes
    collate      makes one of the n results; None: default_collate, or, where
                 nothing is decoded either, Contents
    memory       bytes for what was read, all workers together; 0: 4 GiB
    options      others of hpdsl.Loader: suffixes, threads, check, skip_bad,
                 cache, on_bad, on_warning.  They are used in the workers.

    Under the start method "spawn" all of it has to be picklable.

    In a worker a step is not yet a Batch, but only when it arrives: what is
    done to it there, decode and collate have to do, and no collate_fn of
    DataLoader's and no dataset around this one.
    """

    def __init__(self, dataset: Dataset, order: Order = Order(), *,
                 choice: Optional[Choice] = None, end: str = "mask",
                 rank: Optional[int] = None, ranks: Optional[int] = None,
                 uneven: bool = False, epochs: int = 0,
                 decode: Optional[Callable] = None,
                 collate: Optional[Callable] = None, memory: int = 0,
                 **options) -> None:
        super().__init__(dataset, order, choice=choice, end=end, rank=rank,
                         ranks=ranks, uneven=uneven)
        # Here, and not when a worker has started.
        inspect.signature(Reader).bind(dataset, **options)
        options["suffixes"] = suffixes_of(options.get("suffixes") or ())
        if epochs < 0:
            raise UsageError(f"epochs {epochs}")
        self._decoder = Decoder(decode, collate)
        self._epochs_end = order.epoch + epochs if epochs else 0
        self._memory, self._options = memory or _MEMORY, options
        self.persistent = False
        # A reader that is at the beginning of the next epoch, and what it is
        # good for.
        self._reader: Optional[Reader] = None
        self._reader_at: Any = None

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_reader": None, "_reader_at": None}

    def __iter__(self) -> Iterator[Batch]:
        watch_trainer()
        epoch, step = self._at.tolist()
        info = data.get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        if self.over(epoch) or step + worker >= self.steps(epoch):
            return
        # Without others there is nobody to end this process after the epoch.
        last = bool(info) and not self.persistent
        reader = self._reader_for(epoch, step, worker, workers, last)
        try:
            for batch in reader:
                converted = [self._convert(batch)]
                # The library and the lender get their memory back.
                del batch
                yield converted.pop()
        except BaseException:
            reader.close()
            raise
        self._reader = reader
        self._reader_at = os.getpid(), epoch + 1, 0, worker, workers

    def _reader_for(self, epoch: int, step: int, worker: int, workers: int,
                    last: bool) -> Reader:
        """The one of the epoch before, if it goes on just there, has read
        ahead."""
        reader, self._reader = self._reader, None
        if reader is not None:
            if self._reader_at == (os.getpid(), epoch, step, worker, workers):
                return reader
            reader.close()
        left = self._epochs_end - epoch if self._epochs_end else 0
        threads = max(4, os.cpu_count() or 1)
        options = {"threads": max(2, -(-threads // workers)), **self._options}
        return Reader(
            self.dataset, replace(self.order, epoch=epoch, step=step),
            epochs=1 if last else left, choice=self.choice, end=self.end,
            rank=self.rank, ranks=self.ranks, worker=worker, workers=workers,
            uneven=self.uneven, memory=max(_LEAST_MEMORY,
                                           self._memory // workers), **options)

    def _convert(self, batch):
        """Nothing of it points into the library's memory."""
        wanted = self._options.get("suffixes")
        members = (zip(*map(batch.members, wanted)) if wanted
                   else ((view,) for view in batch.data))
        return self._decoder.batch(members, batch.bad, batch.labels,
                                   batch.numbers, batch.mask, batch.epoch,
                                   batch.step)


class Samples(data.Dataset):
    """A dataset, map style: samples[n] is (what decode made of it, its label),
    samples[places] the Batch of a step that Sampler has yielded.

    decode, collate  as for Steps, also what is said there of workers
    suffixes         of the members that decode gets; None: the first one
    """

    def __init__(self, dataset: Dataset, *,
                 decode: Optional[Callable] = None,
                 collate: Optional[Callable] = None,
                 suffixes: Optional[Iterable[str]] = None) -> None:
        self.dataset = dataset
        self.suffixes = suffixes_of(suffixes or ()) or None
        self._decoder = Decoder(decode, collate)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Union[int, Places]):
        watch_trainer()
        if isinstance(index, Places):
            return self._batch(index)
        sample = self.dataset[index]
        return self._decoder.decode(*self._members(sample)), sample.label

    def _members(self, sample: Sample) -> List[memoryview]:
        wanted = ([sample.data] if self.suffixes is None else
                  [sample.members.get(s, b"") for s in self.suffixes])
        return [memoryview(content) for content in wanted]

    def _batch(self, places: Places):
        if self._decoder.raw:
            wanted = None if self.suffixes is None else self.suffixes[0]
            whole, sizes, labels = self.dataset._read_one_member(
                places.numbers, wanted)
            return finished(contents_in(whole, sizes), labels, *places)
        samples = self.dataset.read_many(places.numbers)
        return self._decoder.batch(
            map(self._members, samples), [False] * len(samples),
            [sample.label for sample in samples], *places)


class Sampler(_Position, data.Sampler):
    """The same steps for a map-style dataset:
    DataLoader(samples, sampler=sampler, batch_size=None).  Each iteration gives
    the rest of the epoch that seek() set, as Places.  Arguments: see Steps."""

    def __iter__(self) -> Iterator[Places]:
        epoch, step = self._at.tolist()
        order = self.epoch(epoch)
        for number in range(step, order.steps(self.end)):
            places = order.step(number, rank=self.rank, ranks=self.ranks,
                                end=self.end, uneven=self.uneven)
            repeat = self.end == "repeat"
            yield Places([p.sample for p in places],
                         [p.real or repeat for p in places], epoch, number)


class Loader:
    """A DataLoader that knows where the training loop is.

        Loader(steps, num_workers=4)
        Loader(samples, sampler, num_workers=4)

    `for batch in loader` gives the rest of the epoch in which the loop is, the
    next one the next epoch, and behind the last of Steps' epochs nothing; after
    a `break` it goes on where it was.

    epoch, step  of the batch that is next; within the loop's body that is the
                 one behind the batch at hand, though workers are ahead of it
    len(loader)  steps of that epoch: all of them, not those that are left
    loader       the DataLoader; options go to it, except batch_size, sampler,
                 shuffle, batch_sampler, collate_fn and drop_last

    A worker that dies, whatever the reason, is a RuntimeError.  Raises
    DiffersError: the sampler is of another pack than the samples.
    """

    def __init__(self, dataset: Union[Steps, Samples],
                 sampler: Optional[Sampler] = None, **options) -> None:
        if not isinstance(dataset, Steps if sampler is None else Samples) or \
                not isinstance(sampler, (Sampler, type(None))):
            raise TypeError("wanted Steps, or Samples and a Sampler")
        self._position: _Position = sampler or dataset
        if sampler is None:
            dataset.persistent = options.get("persistent_workers", False)
        elif not _same_pack(dataset.dataset, sampler.dataset):
            raise DiffersError(
                f"sampler: of {sampler.dataset.path}, which is another pack "
                f"than {dataset.dataset.path}")
        self.loader = data.DataLoader(dataset, batch_size=None,
                                      sampler=sampler, **options)
        self._sought()

    def _sought(self) -> None:
        self.epoch, self.step = self._position._at.tolist()

    def seek(self, epoch: int, step: int = 0) -> None:
        self._position.seek(epoch, step)
        self._sought()

    def __len__(self) -> int:
        return self._position.steps(self.epoch)

    def __iter__(self) -> Iterator[Batch]:
        if self.step >= len(self):
            self.epoch, self.step = self.epoch + 1, 0
        if self._position.over(self.epoch):
            return
        self._position.seek(self.epoch, self.step)
        for batch in self._batches():
            if (batch.epoch, batch.step) != (self.epoch, self.step):
                raise RuntimeError(
                    f"epoch {batch.epoch}, step {batch.step} has come in the "
                    f"place of epoch {self.epoch}, step {self.step}")
            self.step += 1
            yield batch
        if self.step < len(self):
            raise RuntimeError(f"epoch {self.epoch} has ended at step "
                               f"{self.step} of {len(self)}")
        self.epoch, self.step = self.epoch + 1, 0

    def _batches(self) -> Iterator[Batch]:
        try:
            yield from self.loader
        except (ConnectionError, EOFError, FileNotFoundError) as e:
            # That is what it looks like where a large batch was on its way.
            if not _from_queue(e):
                raise
            raise RuntimeError("a worker of the DataLoader has died") from e

    def state_dict(self) -> dict:
        """Where the loop is, counted by the steps that it was handed: numbers
        and strings only, for load_state_dict() of a loader with the same
        dataset and choice, on any number of ranks and workers.  As JSON in a
        file, hpdsl-stage --order-from takes it too."""
        return self._position.state_dict(self.epoch, self.step)

    def load_state_dict(self, state: dict) -> None:
        """Not while a `for` is under way.  Raises DiffersError: of another pack
        or choice."""
        self._position.load_state_dict(state)
        self._sought()


def _from_queue(e: BaseException) -> bool:
    """Whether it was raised while something was received, as borrow() and torch
    do, and is not decode's, in a worker or here."""
    modules = (frame.f_globals.get("__name__")
               for frame, _ in traceback.walk_tb(e.__traceback__))
    return "multiprocessing.queues" in modules
