# SPDX-License-Identifier: Apache-2.0
"""Epochs for PyTorch: whole steps in the order that hpdsl-order(7) defines, on
any number of ranks and of DataLoader's workers.

    dataset = hpdsl.Dataset("imagenet.hpdsl")
    loader = hpdsl.torch.Loader(dataset, batch_size=64, seed=1, epochs=90,
                                decode=my_decode, num_workers=8)
    while loader.epoch < 90:
        for batch in loader:
            ...
            if it_is_time:
                torch.save({..., "loader": loader.state_dict()}, path)

One reader, in the training process, reads ahead for all workers, which find in
its memory what they decode: any number of them reads the same and takes the same
memory once.  With nothing to decode a batch has Contents, views of that memory,
and no workers are needed.

ImageFolder and DatasetFolder are torchvision's, over a packed dataset, which a
Loader takes, too, or over a tree of which there is a snapshot.

Samples and Sampler are the same order over a map-style dataset, for code that
wants one: each sample is then read by itself or with its neighbours of the step,
in the worker.
"""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator,
                    List, NamedTuple, Optional, Set, Union)

import torch.utils.data as data

from ._batch import check_options, suffixes_of
from ._contents import Contents, contents_in
from ._course import Course
from ._dataset import Dataset, Sample, without_dot
from ._decoding import Failed
from ._errors import DiffersError, UsageError, wanted
from ._measured import Measured, is_measured
from ._loader import reads_of
from ._orphan import watch_trainer
from ._parcel import Batch, Decoder, finished
from ._pump import Reader
from ._session import (Session, effective, not_ours, only_dataloaders,
                       same)

if TYPE_CHECKING:
    from ._folder import DatasetFolder, ImageFolder

__all__ = ["Batch", "Contents", "DatasetFolder", "ImageFolder", "Loader", "MapLoader", "Places", "Sampler",
           "Samples"]

# Options of hpdsl.Loader that say how it reads, and not what.
_READS = "memory", "threads", "check", "skip_bad", "cache"
_HOW = ("suffixes", "on_bad", "on_warning", *_READS)


class Places(NamedTuple):
    """What Sampler yields: the sample numbers of a step, those of this rank,
    and whether they count."""

    numbers: List[int]
    mask: List[bool]
    epoch: int
    step: int


class _Loop:
    """What loaders have in common: where the loop is."""

    course: Course

    @property
    def epoch(self) -> int:
        """Of the batch that is next; within the loop's body that is the one
        behind the batch at hand, though workers are ahead of it.  The next
        epoch begins when the `for` has ended: behind the last batch step is
        len(loader)."""
        return self.course.epoch

    @property
    def step(self) -> int:
        return self.course.step

    @property
    def order(self):
        """The Order, with all of its numbers."""
        return self.course.order

    def __len__(self) -> int:
        """Steps of the epoch: all of them, not those that are left."""
        return self.course.steps(self.epoch)

    def seek(self, epoch: int, step: int = 0) -> None:
        """The next `for` gives the rest of that epoch."""
        self.course.seek(epoch, step)
        self.close()

    def set_epoch(self, epoch: int) -> None:
        """The same, but where the loop is in that epoch it stays: for those who
        say it before each epoch, also after load_state_dict()."""
        if epoch != self.epoch:
            self.seek(epoch)

    def state_dict(self) -> Dict[str, Any]:
        """Where the loop is, counted by the steps that it was handed: numbers
        and strings only, for load_state_dict() of a loader with the same
        dataset and choice, on any number of ranks and workers.  As JSON in a
        file, hpdsl-stage --order-from takes it too."""
        return self.course.state_dict()

    def load_state_dict(self, state: Union[str, Dict[str, Any]]) -> None:
        """Not while a `for` is under way.  Raises DiffersError: of another pack
        or choice; UsageError: this many ranks cannot share its batch, or
        batch_size says another one."""
        self.course.load_state_dict(state)
        self.close()

    def close(self) -> None:
        """Ends workers and reading; the next `for` begins them anew."""

    def __reduce__(self):
        raise TypeError("a loader belongs to the process that made it: pass on "
                        "its dataset, and its state_dict()")

    def _begin(self) -> bool:
        """False: there is nothing left."""
        course = self.course
        if course.step >= course.steps(course.epoch):
            course.seek(course.epoch + 1)
        return not course.over()

    def _handed(self, batch: Batch) -> None:
        here = self.course.epoch, self.course.step
        if (batch.epoch, batch.step) != here:
            raise RuntimeError(f"epoch {batch.epoch}, step {batch.step} has "
                               f"come in the place of epoch {here[0]}, step "
                               f"{here[1]}")
        self.course.behind(*here)

    def _ended(self, epoch: int) -> None:
        course, steps = self.course, self.course.steps(epoch)
        if (course.epoch, course.step) != (epoch, steps):
            self.close()
            raise RuntimeError(f"epoch {epoch} has ended at step "
                               f"{course.step} of {steps}")
        course.seek(epoch + 1)


class Loader(_Loop):
    """Steps as Batches, decoded by workers.

    `for batch in loader` gives the rest of the epoch in which the loop is, the
    next one the next epoch, and behind the last of `epochs` nothing; after a
    `break` it goes on where it was.

    dataset, batch_size
                 and most others as for hpdsl.Loader, as are memory, 1 GiB of
                 which are enough for all workers together, suffixes, check,
                 skip_bad, cache, threads, on_bad and on_warning.  The last two
                 are called in a thread
    decode       called with the content of a sample's first member, a memoryview
                 of bytes, or with those of all members of `suffixes`; what it
                 returns has to be its own, not another view: tensors, arrays
                 and views in lists, tuples and dicts are copied, of anything
                 else it is an error.  None: bytes
    collate      makes one of the n results; None: default_collate, or, where
                 nothing is decoded either, Contents
    num_workers  processes that decode; 0: this one.  With nothing to decode
                 there are none
    dataloader   others, as prefetch_factor, persistent_workers, pin_memory,
                 multiprocessing_context, worker_init_fn and timeout, are those
                 of DataLoader, which refuses those of workers where there
                 are none; generator is none of them: what comes depends on
                 seed alone

    dataset may be an ImageFolder, of a dataset: then the samples are those that
    it has now, decode is its loader and its transform, and labels are its
    targets, by its target_transform; decode, suffixes and choice are not to be
    given.  Each of its files has to be of a sample of its own, and to come
    once: UsageError; so is one of a tree.

    Under the start method "spawn" decode and collate have to be picklable.

    It is no DataLoader: its batches are this rank's share already, and who
    prepares loaders for several processes leaves it as it is.  Which rank this
    is, if it was not said, is looked for when the first `for` begins.

    A worker that dies, whatever the reason, is a RuntimeError.  What decode
    raises is raised in the loop, as is a bad sample; the next `for` goes on
    behind that step, while state_dict() still has it until another is handed
    out.
    """

    _session: Optional[Session] = None

    def __init__(self, dataset: Union[Dataset, "DatasetFolder"],
                 batch_size: int = 0, *, decode: Optional[Callable] = None,
                 collate: Optional[Callable] = None, num_workers: int = 0,
                 **options) -> None:
        reading = _reading_of(dataset, collate, decode, options)
        if reading is not None:
            dataset = reading.dataset
            options.update(choice=reading.choice, suffixes=reading.suffixes)
        wanted(Dataset, "dataset", dataset)
        how = {name: options.pop(name) for name in _HOW if name in options}
        what = {name: options.pop(name) for name in list(options)
                if name in inspect.signature(Course).parameters}
        only_dataloaders(num_workers, options)
        self.dataset = dataset
        self.course = Course(dataset, batch_size, **what)
        # Here, and not when it begins.
        how["suffixes"] = suffixes_of(how.get("suffixes") or ())
        reads = reads_of(**{name: how[name] for name in _READS if name in how})
        check_options(dataset.handle(), self.course.choice and
                      self.course.choice.chosen, how["suffixes"], **reads)
        self._memory, self._may_lack = reads["memory"], reading is not None
        self._decoder = (Decoder(decode, collate) if reading is None
                         else reading.decoder)
        self._how = how
        self._options = effective(self._decoder, num_workers, options)
        # Behind a step that failed; None: where the course is.
        self._skipped = 0

    def plan(self) -> Dict[str, Any]:
        """See hpdsl.Loader.plan()."""
        return self.course.plan(self._memory, self._how["suffixes"])

    def stats(self) -> Dict[str, Any]:
        """See hpdsl.Loader.stats(): since reading began, of the one reader of
        this process.  ValueError: there is none."""
        if self._session is None:
            raise ValueError("nothing is being read")
        return self._session.reader.stats()

    def close(self) -> None:
        session, self._session = self._session, None
        self._skipped = 0
        if session is not None and session.reader._running is not None and (
                session.reader._running.pid == os.getpid()):
            session.close()

    def seek(self, epoch: int, step: int = 0) -> None:
        # What is played is of no epoch.
        if self._session is not None and self._session.plays():
            self.course.seek(epoch, step)
        else:
            super().seek(epoch, step)

    def __del__(self) -> None:
        self.close()

    def __iter__(self) -> Iterator[Batch]:
        if self._session is None:
            self.course.look_again()
        if not self._begin():
            return
        session = self._session or self._open()
        course, epoch = self.course, self.course.epoch
        session.begin(course.steps(epoch) - course.step - self._skipped)
        while True:
            try:
                made = session.next()
            except StopIteration:
                break
            except BaseException:
                self.close()
                raise
            if isinstance(made, Failed):
                self._skipped += 1
                if made.fatal:
                    self.close()
                made.throw()
            self._skip()
            if session.plays():
                made = made._replace(epoch=course.epoch, step=course.step)
            self._handed(made)
            here = course.epoch, course.step
            yield made
            if self._session is not session or (
                    here != (course.epoch, course.step)):
                return  # it was sought meanwhile
        self._skip()
        self._ended(epoch)

    def _skip(self) -> None:
        """Steps that failed are behind us when a later one has come."""
        for _ in range(self._skipped):
            self.course.behind(self.course.epoch, self.course.step)
        self._skipped = 0

    def _open(self) -> Session:
        course = self.course
        rank, ranks, _ = course.ranks
        workers = self._options["num_workers"]
        measured = Measured(rank, ranks) if workers and is_measured() else None
        reader = Reader(
            self.dataset, order=course.at(),
            epochs=course.left() if measured is None else None,
            choice=course.choice, end=course.end, rank=rank, ranks=ranks,
            uneven=course.uneven, shared=bool(workers),
            may_lack=self._may_lack, **self._how)
        self._session = Session(reader, self._decoder, self._how["suffixes"],
                                 self._options, measured)
        return self._session


class Samples(data.Dataset):
    """A dataset, map style: samples[n] is (what decode made of it, its label),
    samples[places] the Batch of a step that Sampler has yielded.

    decode, collate  as for Loader
    suffixes         of the members that decode gets; None: the first one.  One
                     that no sample has is a UsageError; what some lack is
                     empty, and a RuntimeWarning, once
    """

    def __init__(self, dataset: Dataset, *,
                 decode: Optional[Callable] = None,
                 collate: Optional[Callable] = None,
                 suffixes: Optional[Iterable[str]] = None) -> None:
        wanted(Dataset, "dataset", dataset)
        self.dataset = dataset
        self.suffixes = suffixes_of(suffixes or ()) or None
        self._names = tuple(map(without_dot, self.suffixes or ()))
        check_options(dataset.handle(), None, self.suffixes or ())
        self._told: Set[str] = set()
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
        if not self._names:
            return [memoryview(sample.data)]
        for name in self._names:
            if name not in sample.members:
                self._tell(name, sample.number, sample.key)
        return [memoryview(sample.members.get(name, b""))
                for name in self._names]

    def _tell(self, name: str, number: int, key: str) -> None:
        if name not in self._told:
            self._told.add(name)
            warnings.warn(f"sample {number} {key!r} has no member of suffix "
                          f"{name!r}: such samples come without its bytes",
                          RuntimeWarning)

    def _batch(self, places: Places):
        if self._decoder.raw:
            name = self._names[0] if self._names else None
            whole, sizes, labels, lacking = self.dataset._read_one_member(
                places.numbers, name)
            if lacking and name is not None:
                self._tell(name, *lacking[0])
            return finished(contents_in(whole, sizes), labels, *places,
                            [False] * len(labels))
        samples = self.dataset.read_many(places.numbers)
        return self._decoder.batch(
            map(self._members, samples), [False] * len(samples),
            [sample.label for sample in samples], *places)


class Sampler(data.Sampler):
    """The same steps for a map-style dataset:
    DataLoader(samples, sampler=sampler, batch_size=None).  Each iteration gives
    the rest of the epoch that seek() set, as Places.  Arguments, as far as they
    say which samples come, are those of Loader."""

    def __init__(self, dataset: Dataset, batch_size: int = 0, **options
                 ) -> None:
        self.dataset = dataset
        self.course = Course(dataset, batch_size, **options)

    def seek(self, epoch: int, step: int = 0) -> None:
        self.course.seek(epoch, step)

    def __len__(self) -> int:
        """Steps of the epoch that seek() set, all of them."""
        course = self.course
        return course.epoch_of(course.epoch).steps(course.end)

    def __iter__(self) -> Iterator[Places]:
        course = self.course
        epoch, first = course.epoch, course.step
        order, repeat = course.epoch_of(epoch), course.end == "repeat"
        rank, ranks, _ = course.ranks
        for number in range(first, order.steps(course.end)):
            places = order.step(number, rank=rank, ranks=ranks,
                                end=course.end, uneven=course.uneven)
            yield Places([p.sample for p in places],
                         [p.real or repeat for p in places], epoch, number)


class MapLoader(_Loop):
    """As Loader, of Samples and a Sampler: workers read for themselves.
    loader is the DataLoader, to which the options go."""

    def __init__(self, samples: Samples, sampler: Sampler, **options) -> None:
        if not isinstance(samples, Samples) or not isinstance(sampler, Sampler):
            raise TypeError("wanted Samples and a Sampler")
        if not _same_pack(samples.dataset, sampler.dataset):
            raise DiffersError(
                f"sampler: of {sampler.dataset.path}, which is another pack "
                f"than {samples.dataset.path}")
        not_ours(options)
        self.dataset, self.course = samples.dataset, sampler.course
        self.loader = data.DataLoader(samples, batch_size=None,
                                      sampler=sampler, collate_fn=same,
                                      **options)

    def __iter__(self) -> Iterator[Batch]:
        if not self._begin():
            return
        steps = self.course.steps(self.epoch)
        for batch in self.loader:
            if is_measured():
                # Steps that are played are of no epoch, and have no end.
                if self.step >= steps:
                    break
                batch = batch._replace(epoch=self.epoch, step=self.step)
            self._handed(batch)
            yield batch
        self._ended(self.epoch)


def _reading_of(dataset: Any, collate: Optional[Callable],
                decode: Optional[Callable], options: Dict[str, Any]):
    """What to read of a folder; None: it is none."""
    module = sys.modules.get(__package__ + "._folder")
    if module is None or not isinstance(dataset, module.DatasetFolder):
        return None
    given = dict(decode=decode, suffixes=options.get("suffixes"),
                 choice=options.get("choice"))
    for name, of in given.items():
        if of is not None:
            raise UsageError(f"{name}: {type(dataset).__name__} itself says "
                             "that")
    if dataset.dataset is None:
        raise UsageError(f"{dataset.root}: a tree has no chunks to read: pack "
                         "it, or take torch.utils.data.DataLoader")
    from ._folder_reading import reading_of
    return reading_of(dataset, collate)


def __getattr__(name: str):
    """torchvision takes its time, and is imported when it is asked for."""
    if name in ("DatasetFolder", "ImageFolder"):
        from . import _folder
        globals()[name] = getattr(_folder, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _same_pack(one: Dataset, other: Dataset) -> bool:
    """Cheaper to see than by the packs' names."""
    return one.handle().digest() == other.handle().digest()
