# SPDX-License-Identifier: Apache-2.0
"""How a run's steps are shared out, whoever reads them: what may be said of an
order in words, which numbers of ranks its batch allows, and what of a step counts."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from . import _abi
from ._errors import UsageError, number, wanted
from ._order import Epoch, Order, Size, end_number, size_of


class _LeftOut(int):
    """What nobody gives, and so is told from a 0 that somebody does."""

    def __repr__(self) -> str:
        return "64"


# A batch size that was not given: 64, or that of a run that goes on.
LEFT_OUT = _LeftOut()


def batch_size_of(given: Any) -> int:
    """0: it was left out."""
    if given is None:
        raise TypeError("batch_size None: a loader gives batches, of 64 if it is left "
                        "out; single samples are ds[n], or hpdsl.torch.Iterable's")
    size = number("batch_size", given)
    if not size and given is not LEFT_OUT:
        raise UsageError("batch_size 0: wanted 1 at least; left out it is 64")
    return size


def order_of(order: Optional[Order], **given: Any) -> Order:
    """The order, and what was said beside it; None: nothing."""
    if order is None:
        order = Order()
    wanted(Order, "order", order)
    return replace(order, **{name: value for name, value in given.items()
                             if value is not None})


def said_of(order: Optional[Order], **given: Any) -> Dict[str, Any]:
    """What the caller has said of a run, its end among it; what is 0 in an order is
    its default."""
    said = {} if order is None else {
        name: value for name, value in vars(order).items()
        if value and name not in ("epoch", "step") and value is not True}
    said.update((name, value) for name, value in given.items() if value is not None
                and (value or name in ("seed", "shuffle")))
    return said


def end_of(end: Optional[str], drop_last: bool) -> str:
    if drop_last and end not in (None, "drop"):
        raise UsageError(f"drop_last and end {end!r}: wanted one of them")
    end = "drop" if drop_last else end or "mask"
    end_number(end)
    return end


def check_shares(batch: int, batch_size: int, ranks: int, uneven: bool) -> None:
    """Whether so many ranks can go on with a run of this batch, each with
    batch_size samples of a step; 0: whatever comes out."""
    if ranks > batch:
        raise UsageError(f"the run has a batch of {batch}: that is less than "
                         f"a sample for each of {ranks} ranks")
    few, left = divmod(batch, ranks)
    if left and not uneven:
        raise UsageError(f"the run has a batch of {batch}: {ranks} ranks do "
                         f"not divide it; {_that_do(batch, ranks)}, or "
                         f"uneven=True ({few} or {few + 1} samples)")
    if batch_size and batch_size not in (few, few + bool(left)):
        raise UsageError(f"the run has a batch of {batch}: on {ranks} ranks "
                         f"that is batch_size={few + bool(left)}, not "
                         f"{batch_size}, or left out")


# As many positions as there never are.
ENDLESS = 1 << 62


class Dealt(NamedTuple):
    """How an epoch's positions come to ranks: in steps of `batch` positions, of
    which each rank has its share.  The first `counted` positions count; what is
    behind them only fills the last step up."""

    ranks: int
    batch: int
    counted: int

    @classmethod
    def of(cls, epoch: Epoch, end: str, ranks: int) -> "Dealt":
        batch = epoch.batch
        return cls(ranks, batch, len(epoch) if end in ("mask", "short") else
                   epoch.steps(end) * batch)

    def whole(self, step: int, steps: int = 1) -> int:
        """How many positions of a step count, those of all ranks together; of
        several steps: of the window that it is in, where windows of so many
        follow each other from step 0 on, and the epoch's end cuts the last."""
        first = step - step % steps
        return min((first + steps) * self.batch, self.counted) - (
            first * self.batch)

    def rest(self) -> int:
        """How many count of a last step that they do not fill; 0: they fill it."""
        return self.counted % self.batch

    def alike(self, whole: int) -> "Dealt":
        """So many of every step count, and none is the last."""
        return self._replace(batch=whole, counted=ENDLESS)


def _that_do(batch: int, ranks: int) -> str:
    """The next ones on both sides: 1 and batch are some."""
    those = _divisors(batch)
    below = max(d for d in those if d < ranks)
    above = min(d for d in those if d > ranks)
    return f"{below} or {above} do"


def _divisors(n: int) -> List[int]:
    small = [d for d in range(1, int(n ** 0.5) + 2) if n % d == 0]
    return small + [n // d for d in small]


def reads_of(memory: Size = 0, threads: int = 0, check: bool = True,
             skip_bad: bool = False, cache: str = "auto") -> Dict[str, Any]:
    """How a loader reads, whatever it reads, as the library's options."""
    if cache not in _abi.CACHES:
        raise UsageError(f"cache {cache!r}: not one of "
                         f"{', '.join(_abi.CACHES)}")
    return dict(memory=size_of(memory), threads=number("threads", threads),
                unchecked=not check, skip_bad=skip_bad,
                cache=_abi.CACHES[cache])


def plan_of(epoch: Epoch, share: _abi.Share, memory: int, end: str,
            ranks_from: str, suffixes: Sequence[str] = ()) -> Dict[str, Any]:
    cost = epoch.cost(memory=memory, end=end, suffixes=suffixes, **{
        field[0]: getattr(share, field[0]) for field in share._fields_})
    of = asdict(epoch.order)
    return {
        "rank": share.rank, "ranks": share.ranks, "ranks_from": ranks_from,
        "batch": epoch.batch, "batch_size": -(-epoch.batch // share.ranks),
        "lanes": cost.lanes, **{name: of[name] for name in (
            "piece", "windows", "parts")},
        "steps": cost.steps, "reads": cost.reads,
        "read_bytes": cost.read_bytes, "median_read": cost.median_read,
        "held_peak": cost.held_peak, "first_batch_bytes": cost.first_batch,
        "mates": cost.mates,
    }
