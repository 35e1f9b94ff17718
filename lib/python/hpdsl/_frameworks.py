# SPDX-License-Identifier: Apache-2.0
"""What frameworks look for on a DataLoader: before its epochs begin whether it
shuffles, and whom they tell which epoch is next; within them whether a batch is the
last one."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any, Iterator

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


class BatchSteps(Steps):
    """A loader's batch_sampler."""

    def __init__(self, loader: Loop[Any]) -> None:
        super().__init__(loader)
        self.sampler = (Steps if loader.course.given.shuffle else StoredSteps)(
            loader)

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
