# SPDX-License-Identifier: Apache-2.0
"""What hpdsl.torch gives for a step whose samples nothing has decoded."""

from __future__ import annotations

import ctypes
from functools import cached_property
from itertools import accumulate
from typing import (TYPE_CHECKING, Any, Iterator, List, Sequence, SupportsIndex,
                    Tuple, overload)

import torch


class _Room(ctypes.c_ubyte * (1 << 62)):  # type: ignore[misc]
    """All memory, for as long as a tensor is needed; made by from_address()."""

    tensor = None


class Contents:
    """The contents of n samples.

    contents[i]         a memoryview of sample i's bytes; so do slices, `for`
                        and len() as they do for a list
    contents.tensor(i)  the same as a tensor of uint8, as decoders on a GPU take
                        them; tensors() is a tuple of all
    contents.buffer     a tensor of uint8 with all of them, one behind the other:
                        a copy, made when it is first asked for
    contents.offsets    tensor of n + 1 int64: sample i is
                        buffer[offsets[i]:offsets[i + 1]]

    The others are no copies; they stay valid for as long as they exist, and so
    long the loader has less memory.  Copy what you keep: bytes(view).
    """

    # No collections.abc.Sequence: torch would take it for a list of numbers,
    # and not ask for pin_memory().  Nor Iterable: Lightning looks for tensors in
    # what is one, and would go through each sample byte by byte; `for` asks for
    # [0], [1] ..

    def __init__(self, views: List[memoryview]) -> None:
        self._views = views

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            raise AttributeError(
                f"'Contents' object has no attribute {name!r}: it is the bytes "
                "of the samples; decode= of the loader makes tensors of them")

    @cached_property
    def _at(self) -> List[int]:
        return [0, *accumulate(map(len, self._views))]

    @cached_property
    def buffer(self) -> torch.Tensor:
        """All contents, one behind the other: uint8, of all bytes."""
        buffer = torch.empty(self._at[-1], dtype=torch.uint8)
        self._copy(buffer)
        return buffer

    @cached_property
    def offsets(self) -> torch.Tensor:
        """Where in buffer each begins, and the end: n + 1 int64."""
        return torch.tensor(self._at, dtype=torch.int64)

    def __len__(self) -> int:
        return len(self._views)

    if TYPE_CHECKING:
        def __iter__(self) -> Iterator[memoryview]: ...

    @overload
    def __getitem__(self, i: SupportsIndex) -> memoryview: ...

    @overload
    def __getitem__(self, i: slice) -> List[memoryview]: ...

    def __getitem__(self, i: Any) -> Any:
        return self._views[i]

    def tensor(self, i: int) -> torch.Tensor:
        """Content of sample i: uint8, of as many as it has bytes."""
        return _tensor(self._views[i])

    def tensors(self) -> Tuple[torch.Tensor, ...]:
        """tensor(i) of each of the n samples."""
        return tuple(map(_tensor, self._views))

    def _copy(self, into: torch.Tensor) -> memoryview:
        room = _Room.from_address(into.data_ptr())
        room.tensor = into
        view = memoryview(room).cast("B")[:into.numel()]
        for one, begin, end in zip(self._views, self._at, self._at[1:]):
            view[begin:end] = one
        return view

    def pin_memory(self) -> "Contents":
        """A copy in pinned memory."""
        pinned = torch.empty(self._at[-1], dtype=torch.uint8).pin_memory()
        return _parts(self._copy(pinned), self._at, pinned)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (b"".join(self._views), self._at)

    def __repr__(self) -> str:
        return f"<hpdsl.torch.Contents of {len(self)} samples>"


def _tensor(view: memoryview) -> torch.Tensor:
    if not view:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(view, dtype=torch.uint8)


def _parts(view: memoryview, at: List[int], buffer: torch.Tensor) -> Contents:
    contents = Contents([view[a:b] for a, b in zip(at, at[1:])])
    contents.buffer = buffer
    return contents


def _again(whole: bytes, at: List[int]) -> Contents:
    view = memoryview(bytearray(whole))
    return Contents([view[a:b] for a, b in zip(at, at[1:])])


def contents_in(whole: bytearray, sizes: Sequence[int]) -> Contents:
    """Of contents that are at the beginning of this, one behind the other, and
    not changed any more."""
    at = [0, *accumulate(sizes)]
    view = memoryview(whole)
    return Contents([view[a:b] for a, b in zip(at, at[1:])])
