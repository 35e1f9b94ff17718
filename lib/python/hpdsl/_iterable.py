# SPDX-License-Identifier: Apache-2.0
"""The samples of an order one at a time, for code that makes a DataLoader around
them and batches by itself."""

from __future__ import annotations

import inspect
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, Literal, Optional,
                    Tuple, Union)

import torch
import torch.utils.data as data

from ._batch import check_options, suffixes_of
from ._called import no_argument
from ._choice import Choice, opened
from ._course import Course, whose
from ._dataset import Dataset
from ._errors import annotate
from ._loader import Loader
from ._order import size_of
from ._orphan import watch_trainer
from ._parcel import Decoder, check_takes, tell_bytes
from ._rank import dealt_by, ranks_of
from ._sample import Path, without_dot

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import IterableOptions

# What share says, and what an epoch that is gone through once has not.
_NOT_SAID = ("rank", "ranks", "group", "worker", "workers", "epochs", "order",
             "shared")
_MEMORY, _LEAST = 1 << 30, 16 << 20


class Iterable(data.IterableDataset):
    """Samples in the order of an epoch, for a DataLoader of others that batches
    them: each is (what decode made of it, its label).

        dataset = hpdsl.torch.Iterable(ds, share="caller", seed=1, decode=f)
        loader = accelerator.prepare(DataLoader(dataset, 64, num_workers=1))

    share    who deals samples out to ranks and to DataLoader's workers, which
             nothing here can see.  "caller": whoever prepares the DataLoader deals
             them to ranks, as Accelerate and Trainer do; each rank's workers
             divide all of them.  "rank": nobody else does; they are this rank's.
             "none": others do both, as datasets' from_generator does; each worker
             has all of them.  None: "rank" on one rank, else a UsageError
    decode   as for Loader; None: bytes
    options  are those of hpdsl.Loader: seed, choice, suffixes, memory, which is for
             all workers together, and others; end is "short" if it was not said, so
             that each sample comes once and ranks differ by one at most, or with
             "repeat" by none

    len() is how many come, of all workers together.  Each iteration is the epoch
    that set_epoch() said last, else the first, also in workers that persist.
    """

    __module__ = "hpdsl.torch"

    def __init__(self, dataset: Union[Dataset, Choice, Path], *,
                 share: Literal["caller", "rank", "none", None] = None,
                 decode: Optional[Callable[..., Any]] = None,
                 **given: Unpack[IterableOptions]) -> None:
        options: Dict[str, Any] = dict(given)
        known = [name for name in inspect.signature(Loader).parameters
                 if name not in _NOT_SAID]
        for name in options:
            if name not in known:
                raise no_argument("Iterable", name, ["share", "decode", *known])
        self.dataset, options["choice"] = opened(dataset, options.get("choice"))
        self._share = share
        dealt_by(share, 0, 1)
        self._decoder = Decoder(decode, None)
        if not options.get("drop_last"):
            options.setdefault("end", "short")
        self._suffixes = suffixes_of(options.get("suffixes") or ())
        check_takes(decode, tuple(map(without_dot, self._suffixes)))
        courses = inspect.signature(Course).parameters
        self._what = {name: options.pop(name) for name in list(options)
                      if name in courses}
        self._options = options
        course = Course(self.dataset, rank=0, ranks=1, **self._what)
        check_options(self.dataset.handle(), course.choice and
                      course.choice.chosen, self._suffixes)
        # Workers that are there already hear of it.
        self._epoch = torch.zeros(1, dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch."""
        self._epoch[0] = epoch

    def _of(self, begins: bool) -> Tuple[int, int, bool]:
        """Rank and ranks, and whether workers divide what these have."""
        found = ranks_of(begins=begins)
        return dealt_by(self._share, found.rank, found.ranks)

    def __repr__(self) -> str:
        return f"<hpdsl.torch.Iterable of {whose(self)}>"

    def __len__(self) -> int:
        rank, ranks, _ = self._of(False)
        course = Course(self.dataset, rank=rank, ranks=ranks, **self._what)
        order = course.epoch_of(int(self._epoch))
        steps, repeat = order.steps(course.end), course.end == "repeat"

        def counted(step: int) -> int:
            return sum(repeat or place.real for place in order.step(
                step, rank=rank, ranks=ranks, end=course.end,
                uneven=course.uneven))

        return counted(0) * (steps - 1) + counted(steps - 1) if steps else 0

    def __iter__(self) -> Iterator[Tuple[Any, int]]:
        watch_trainer()
        rank, ranks, divide = self._of(True)
        of = data.get_worker_info()
        worker, workers = (of.id, of.num_workers) if of is not None else (0, 1)
        memory = (size_of(self._options.get("memory", 0)) or _MEMORY) // workers
        if not divide:
            worker, workers = 0, 1
        course = Course(self.dataset, rank=rank, ranks=ranks, **self._what)
        course.seek(int(self._epoch))
        with Loader(self.dataset, order=course.at(), epochs=1, rank=rank,
                    ranks=ranks, worker=worker, workers=workers,
                    choice=course.choice, end=course.end, uneven=course.uneven,
                    **{**self._options, "memory": max(_LEAST, memory)}
                    ) as loader:
            for batch in loader:
                yield from self._samples(batch)

    def _samples(self, batch: Any) -> Iterator[Tuple[Any, int]]:
        names = tuple(map(without_dot, self._suffixes))
        members = zip(*map(batch.members, names)) if names else zip(batch.data)
        for of, label, number, real, bad in zip(
                members, batch.labels, batch.numbers, batch.mask, batch.bad):
            if not real or bad:
                continue
            try:
                made = self._decoder.decode(*of)
            except Exception as e:
                tell_bytes(e)
                annotate(e, self._decoder.where(self.dataset, number, names))
                raise
            yield made, label
