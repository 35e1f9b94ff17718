# SPDX-License-Identifier: Apache-2.0
"""How a run's steps are shared out, whoever reads them: what may be said of an
order in words, and which numbers of ranks its batch allows."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Optional

from ._errors import UsageError, wanted
from ._order import Order, end_number


def order_of(order: Optional[Order], **given) -> Order:
    """The order, and what was said beside it; None: nothing."""
    if order is None:
        order = Order()
    wanted(Order, "order", order)
    return replace(order, **{name: value for name, value in given.items()
                             if value is not None})


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
                         f"{batch_size}")


def _that_do(batch: int, ranks: int) -> str:
    """The next ones on both sides: 1 and batch are some."""
    those = _divisors(batch)
    below = max(d for d in those if d < ranks)
    above = min(d for d in those if d > ranks)
    return f"{below} or {above} do"


def _divisors(n: int) -> List[int]:
    small = [d for d in range(1, int(n ** 0.5) + 2) if n % d == 0]
    return small + [n // d for d in small]
