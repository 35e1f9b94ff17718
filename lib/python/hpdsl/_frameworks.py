# SPDX-License-Identifier: Apache-2.0
"""What frameworks look for on a DataLoader: before its epochs begin whether it
shuffles, and whom they tell which epoch is next; within them whether a batch is the
last one."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

import torch.utils.data as data

if TYPE_CHECKING:
    from ._loop import Loop


class Steps(data.Sampler):
    """A loader's sampler: the steps of its epoch, which nobody else goes through."""

    def __init__(self, loader: Loop[Any]) -> None:
        # It must not keep what keeps workers.
        self._of = weakref.ref(loader)

    @property
    def _loader(self) -> Loop[Any]:
        loader = self._of()
        if loader is None:
            raise ReferenceError("the loader that this is of is gone")
        return loader

    def set_epoch(self, epoch: int) -> None:
        """The next `for` gives this epoch, from its first step on; but a loader
        that was put into it by load_state_dict() or seek(), and has handed out
        nothing since, stays where it is."""
        loader = self._loader
        if loader.course.elsewhere(epoch):
            loader.course.tell_leaving(epoch)
            loader.seek(epoch)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "a loader's sampler gives no numbers, as its steps are read ahead: "
            "load_state_dict() and seek() go on elsewhere in the order; numbers "
            "are what hpdsl.torch.Sampler gives")


class StoredSteps(Steps, data.SequentialSampler):
    """The same of one that does not shuffle, by which they know it."""


class _Turn:
    """Where a DataLoader that somebody made of a loader is."""

    def __init__(self, epoch: int) -> None:
        self.at: Tuple[int, int] = epoch, 0
        self.rest: Optional[Iterator[Any]] = None


class BatchSteps(Steps):
    """A loader's batch_sampler, for those who make a DataLoader of what they find on
    a loader, as Accelerate's skip_first_batches() does: of each step of the epoch an
    empty list of numbers, so that nothing is asked of the dataset.  The loader's
    collate_fn then makes the batch, of the step that was given last: what is passed
    over in between is not read."""

    _turn: Optional[_Turn] = None

    def __init__(self, loader: Loop[Any]) -> None:
        super().__init__(loader)
        self.sampler = (Steps if loader.course.given.shuffle else StoredSteps)(
            loader)

    def __iter__(self) -> Iterator[List[Any]]:
        loader = self._loader
        if not loader._begin():
            return
        epoch = loader.course.epoch
        turn = self._turn = _Turn(epoch)
        try:
            for step in range(len(loader)):
                turn.at = epoch, step
                yield []
            # So the loop comes to its end, too, and the next epoch is next.
            next(turn.rest or iter(()), None)
        finally:
            # Else what is left would keep the loader, which keeps this.
            turn.rest = None
            if self._turn is turn:
                self._turn = None

    def made(self, numbers: List[Any]) -> Any:
        """The batch of the step that was given last."""
        loader, turn = self._loader, self._turn
        if numbers or turn is None:
            raise TypeError("a loader's collate_fn makes batches of what its "
                            "batch_sampler gives, and of nothing else")
        if (loader.epoch, loader.step) != turn.at:
            loader.seek(*turn.at)
            turn.rest = None
        turn.rest = turn.rest or iter(loader)
        for batch in turn.rest:
            return batch
        raise RuntimeError(f"there is no step {turn.at[1]} in epoch {turn.at[0]}")

    @property
    def batch_size(self) -> int:
        return self._loader.batch_size

    @property
    def drop_last(self) -> bool:
        return self._loader.course.end == "drop"


class Shown:
    """What Accelerate sees of a loop that is under way, as of loaders of its own.

    end_of_dataloader  the batch at hand is the epoch's last, at which accumulate()
                       has its step
    remainder          so many of that count, those of all ranks, which are the
                       first: gather_for_metrics() leaves out the others.  0: all;
                       -1: nobody knows
    """

    end_of_dataloader, remainder = False, -1

    def __init__(self, to: Any) -> None:
        self._to = to
        to._add_dataloader(self)

    def gone(self) -> None:
        self._to._remove_dataloader(self)


def watcher() -> Any:
    """Accelerate's state of all loops, if it is used here; else None."""
    module = sys.modules.get("accelerate.state")
    state: Any = getattr(module, "GradientState", None)
    return state() if getattr(state, "_shared_state", None) else None
