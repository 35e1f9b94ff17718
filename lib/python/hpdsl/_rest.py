# SPDX-License-Identifier: Apache-2.0
"""What a `for` over a loader goes through: one of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from ._batch import Batch
from ._meant import tell

if TYPE_CHECKING:
    from ._loader import Loader


def superseded() -> RuntimeError:
    return RuntimeError(
        "this `for` was superseded: another one has begun over the same loader, "
        "which is at one place at a time; two at once want two loaders")


def tell_going_on(epoch: int, step: int, steps: int) -> None:
    """Once: a DataLoader would begin anew here."""
    tell("going on", f"epoch {epoch}: this `for` goes on with step {step} of {steps}, "
         f"where the one before was left; loader.seek({epoch}) begins the epoch anew")


def tell_left_out(epoch: int, step: int, steps: int, to: int) -> None:
    """Once: a framework that counts epochs may take one that was ended early for
    done."""
    tell("left out", f"set_epoch({to}): load_state_dict() has put this loader at step "
         f"{step} of {steps} of epoch {epoch}, and the {steps - step} that were left of "
         "it do not come; hpdsl-frameworks(7) says of Lightning how they do")


def tell_no_step(batch: int) -> None:
    """Once, of epochs that have none."""
    tell("no step", f"an epoch has no step: its samples do not fill one of {batch}, "
         "that of all ranks together, and drop_last leaves out what does not")


class Rest:
    """What is left of the epoch that the loader is in."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._epoch: Optional[int] = None  # it has not begun
        self._mine = object()
        self._over = False

    def __iter__(self) -> "Rest":
        return self

    def __next__(self) -> Batch:
        loader = self._loader
        if self._over:
            raise StopIteration
        if self._epoch is None:
            left = loader._left_in_midst()
            self._epoch, loader._newest = loader.epoch, self._mine
            if left:
                tell_going_on(*loader._at.next, loader.steps())
            if not loader.steps():
                tell_no_step(loader.order.batch)
        elif loader._newest is not self._mine:
            raise superseded()
        epoch, step = loader._at.next
        if epoch == self._epoch:
            if step < loader.steps(epoch):
                batch = loader.next_batch()
                if batch is not None:
                    return batch
            else:  # there are more workers than steps
                loader._pass_by(epoch)
        self._over = True
        raise StopIteration
