# SPDX-License-Identifier: Apache-2.0
"""Where a training loop is: an order, a rank's share of it, and the step that is
next."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ._choice import Choice, address_of
from ._called import by_its_names
from ._dataset import Dataset
from ._errors import RangeError, number, wanted
from ._job import (LEFT_OUT, Dealt, batch_size_of, check_shares, end_of, order_of,
                   plan_of, said_of)
from ._order import Epoch, Order, filled, share_of
from ._rank import Ranks, ranks_of, tell_share
from ._rest import tell_left_out
from ._state import make_state, read_state, tell_overruled


def whose(of: Any) -> str:
    """The path of its dataset, for a repr(); None: nothing was made yet."""
    return repr(of.dataset.path) if of is not None else "nothing"


class Course:
    """Arguments are those of hpdsl.Loader.

    Which rank this is, if it was not said, is looked for whenever it is needed,
    until reading begins: who makes loaders before torch.distributed is
    initialized, and asks for their length, means the rank that it gets there.

    epoch, step  of the batch that is next; step may be that of an epoch's end
    """

    @by_its_names("Sampler")
    def __init__(self, dataset: Dataset, batch_size: int = LEFT_OUT, *,
                 rank: Optional[int] = None, ranks: Optional[int] = None,
                 group: Any = None, drop_last: bool = False,
                 shuffle: Optional[bool] = None, seed: Optional[int] = None,
                 windows: Optional[int] = None, lanes: Optional[int] = None,
                 piece: Optional[int] = None, parts: Optional[int] = None,
                 order: Optional[Order] = None, epochs: Optional[int] = None,
                 choice: Optional[Choice] = None, end: Optional[str] = None,
                 uneven: bool = False) -> None:
        wanted(Dataset, "dataset", dataset)
        self.dataset, self.choice = dataset, choice
        address_of(choice, dataset)  # or it is none of this dataset
        said = dict(shuffle=shuffle, seed=seed, windows=windows, lanes=lanes,
                    piece=piece, parts=parts)
        self.given = order_of(order, **said)
        self.end, self.uneven = end_of(end, drop_last), uneven
        self._said = said_of(order, **said, end="drop" if drop_last else end)
        self.batch_size = batch_size_of(batch_size)
        self.epochs = number("epochs", epochs or 0, 64)
        self._said_ranks = rank, ranks, group
        self._ranks: Optional[Ranks] = None
        self._begun = False
        self._put = True  # where it is, and has handed out nothing since
        self._loaded = False  # so it was, by a state
        self._epoch: Optional[Epoch] = None
        self._dealt: Dict[int, Dealt] = {}
        self._order: Optional[Order] = None
        self.epoch, self.step = self.given.epoch, self.given.step
        self._until = self.given.epoch + self.epochs
        if rank is not None or ranks is not None or group is not None:
            self.order  # what makes no sense is said at once

    @property
    def part(self) -> Union[Dataset, Choice]:
        """Of whose samples its epochs are."""
        return self.dataset if self.choice is None else self.choice

    @property
    def ranks(self) -> Ranks:
        if not self._begun:
            self._look(False)
        assert self._ranks is not None
        return self._ranks

    def _look(self, begins: bool) -> None:
        found = ranks_of(*self._said_ranks, begins=begins)
        if found != self._ranks:
            share_of(found.rank, found.ranks, 0, 1, self.uneven)
            self._ranks, self._dealt = found, {}
            self._order = self._epoch = None

    def begin(self) -> None:
        """Reading does: the rank is what it is now, until it begins anew.  In
        the midst of an epoch the run's batch holds, as its steps were counted
        in it."""
        if self._begun and self.step:
            self.given = replace(self.order, step=0)
        self._look(True)
        self._begun = True
        self.seek(self.epoch, self.step)  # which this many ranks may not have
        self._put = False
        if self.given.shuffle is False:
            tell_share(self.ranks)

    @property
    def order(self) -> Order:
        """With all of its numbers."""
        ranks = self.ranks.ranks
        if self._order is None:
            order = self.given
            if order.batch:
                check_shares(order.batch, self.batch_size, ranks, self.uneven)
            self._order = filled(order, self.dataset, self.choice,
                                 0 if order.batch else self.batch_size, ranks)
        return self._order

    def epoch_of(self, number: int) -> Epoch:
        """The order of that epoch."""
        order = self.order
        if self._epoch is None or self._epoch.order.epoch != number:
            self._epoch = Epoch(self.dataset, replace(
                order, epoch=number, step=0), self.choice)
        return self._epoch

    def steps(self, epoch: int) -> int:
        """Steps of that epoch, the same for every rank."""
        return self.epoch_of(epoch).steps(self.end)

    def dealt(self, epoch: int) -> Dealt:
        """Kept of each: a step that is played may be of another epoch."""
        ranks = self.ranks.ranks
        if epoch not in self._dealt:
            self._dealt[epoch] = Dealt.of(self.epoch_of(epoch), self.end, ranks)
        return self._dealt[epoch]

    def over(self) -> bool:
        """Whether it is behind the last epoch."""
        return bool(self.epochs) and self.epoch >= self._until

    def left(self) -> int:
        """Epochs, that which is begun among them; 0: no end."""
        return self._until - self.epoch if self.epochs else 0

    def behind(self, epoch: int, step: int) -> None:
        """The step that comes after that one is next."""
        self.epoch, self.step = epoch, step + 1
        self._put = self._loaded = False

    def left_in_midst(self) -> bool:
        """Whether it is in an epoch because a loop was left there."""
        return not self._put and 0 < self.step < self.steps(self.epoch)

    def tell_leaving(self, epoch: int) -> None:
        """Where another epoch is said than that in whose midst a state has put
        this."""
        steps = self.steps(self.epoch)
        if self._loaded and epoch != self.epoch and 0 < self.step < steps:
            tell_left_out(self.epoch, self.step, steps, epoch)

    def elsewhere(self, epoch: int) -> bool:
        """Whether who says this number before each epoch means another place: its
        first step, or where this was put in it."""
        here = self.epoch, self.step
        if self.step and self.step >= self.steps(self.epoch):
            here = self.epoch + 1, 0
        return here != (epoch, 0) and not (self._put and here[0] == epoch)

    def seek(self, epoch: int, step: int = 0) -> None:
        if epoch < 0 or not 0 <= step <= self.steps(epoch):
            raise RangeError(f"no step {step} in epoch {epoch}, which has "
                             f"{self.steps(max(0, epoch))}", -errno.ERANGE)
        self.epoch, self.step, self._put = epoch, step, True
        self._loaded = False

    def at(self) -> Order:
        """The order of a reader that begins here."""
        return replace(self.order, epoch=self.epoch, step=self.step)

    def state_dict(self) -> Dict[str, Any]:
        epoch, step = self.epoch, self.step
        if step >= self.steps(epoch):
            epoch, step = epoch + 1, 0
        return make_state(replace(self.order, epoch=epoch, step=step),
                          self.end, self.dataset, self.choice)

    def load_state_dict(self, state: Union[str, Mapping[str, Any]]) -> None:
        ranks = self.ranks.ranks
        order, end = read_state(state, self.dataset, self.choice,
                                self.batch_size, ranks)
        check_shares(order.batch, self.batch_size, ranks, self.uneven)
        tell_overruled(self._said, order, end)
        self.given = self._order = replace(order, step=0)
        self.end, self._epoch, self._dealt = end, None, {}
        self.seek(order.epoch, order.step)
        self._loaded = True

    def plan(self, memory: int, suffixes: Sequence[str]) -> Dict[str, Any]:
        ranks = self.ranks
        return plan_of(self.epoch_of(self.epoch), share_of(
            ranks.rank, ranks.ranks, 0, 1, self.uneven), memory, self.end,
            ranks.source, suffixes)
