# SPDX-License-Identifier: Apache-2.0
"""What hpdsl.torch gives for a step whose samples nothing has decoded."""

from __future__ import annotations

import ctypes
from functools import cached_property
from itertools import accumulate
from typing import Any, Iterator, List, Optional, Sequence, Tuple

import torch
import torch.utils.data as data

from ._lend import Lender, Loan, borrow

# From here on a loan is cheaper than a pipe.
_LARGE = 128 << 10

_lender = Lender()


class _Room(ctypes.c_ubyte * (1 << 62)):  # type: ignore[misc]
    """All memory, for as long as a tensor is needed; made by from_address()."""

    tensor = None


class Contents:
    """The contents of n samples, one behind the other in memory of their own.

    contents[i]         a memoryview of sample i's bytes; so do slices, `for`
                        and len() as they do for a list
    contents.tensor(i)  the same as a tensor of uint8, as decoders on a GPU take
                        them; tensors() is a tuple of all
    contents.buffer     the tensor of uint8 of which these are parts
    contents.offsets    tensor of n + 1 int64: sample i is
                        buffer[offsets[i]:offsets[i + 1]]

    None of these is a copy; they stay valid for as long as they exist, and so
    long no other step gets the memory of this one.  Copy what you keep,
    bytes(view): the memory of a large step is a worker's, all of it stays for
    one view of it, and before Python 3.13 it is an open file of this process
    as well (ulimit -n).
    """

    # No collections.abc.Sequence: torch would take it for a list of numbers,
    # and not ask for pin_memory().

    def __init__(self, view: Any, offsets: Sequence[int]) -> None:
        self._view, self._at = memoryview(view), list(offsets)

    @cached_property
    def buffer(self) -> torch.Tensor:
        if not self._view:
            return torch.empty(0, dtype=torch.uint8)
        return torch.frombuffer(self._view, dtype=torch.uint8)

    @cached_property
    def offsets(self) -> torch.Tensor:
        return torch.tensor(self._at, dtype=torch.int64)

    def __len__(self) -> int:
        return len(self._at) - 1

    def __iter__(self) -> Iterator[memoryview]:
        view, begin = self._view, 0
        for end in self._at[1:]:
            yield view[begin:end]
            begin = end

    def __getitem__(self, i):
        places = range(len(self))[i]
        if isinstance(places, range):
            return [self[k] for k in places]
        return self._view[self._at[places]:self._at[places + 1]]

    def tensor(self, i: int) -> torch.Tensor:
        place = range(len(self))[i]
        return self.buffer[self._at[place]:self._at[place + 1]]

    def tensors(self) -> Tuple[torch.Tensor, ...]:
        return self.buffer.split([e - b for b, e in zip(self._at,
                                                        self._at[1:])])

    def pin_memory(self) -> "Contents":
        """A copy in pinned memory."""
        tensor = self.buffer.pin_memory()
        room = _Room.from_address(tensor.data_ptr())
        room.tensor = tensor
        pinned = Contents(memoryview(room).cast("B")[:tensor.numel()],
                          self._at)
        pinned.buffer = tensor
        return pinned

    def __reduce__(self):
        return Contents, (bytearray(self._view), self._at)

    def __repr__(self) -> str:
        return f"<hpdsl.torch.Contents of {len(self)} samples>"


class _Lent:
    """Contents on their way to another process: by the loan for the first time,
    and as bytes if they are sent again."""

    def __init__(self, loan: Loan, view: memoryview,
                 offsets: List[int]) -> None:
        self.loan: Optional[Loan] = loan
        self.view, self.offsets = view, offsets

    def __reduce__(self):
        loan, self.loan = self.loan, None
        if loan is None:
            return Contents, (bytearray(self.view), self.offsets)
        return _arrived, (tuple(loan), self.offsets)


def _arrived(loan: tuple, offsets: List[int]) -> Contents:
    return Contents(borrow(Loan(*loan)), offsets)


def contents_of(views: Sequence[memoryview]) -> Any:
    """A copy of these; in a worker of DataLoader's maybe something that is
    Contents only after it was sent."""
    offsets = [0, *accumulate(map(len, views))]
    return (_lent(views, offsets) or
            Contents(bytearray().join(views), offsets))


def contents_in(whole: bytearray, sizes: Sequence[int]) -> Any:
    """The same of contents that are at the beginning of this, one behind the
    other, and not changed any more: not copied, if they stay here."""
    offsets = [0, *accumulate(sizes)]
    view = memoryview(whole)[:offsets[-1]]
    return _lent([view], offsets) or Contents(view, offsets)


def _lent(views: Sequence[memoryview], offsets: List[int]) -> Optional[_Lent]:
    """None: they have to go through the pipe."""
    if (offsets[-1] < _LARGE or data.get_worker_info() is None or
            not _lender.able()):
        return None
    try:
        return _Lent(*_lender.lend(views, offsets[-1]), offsets)
    except OSError:
        return None  # no more files, or no memory that can be shared
