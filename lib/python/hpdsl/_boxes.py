# SPDX-License-Identifier: Apache-2.0
"""Boxes: memory in which workers hand over the bytes that they have made.

A pipe has bytes copied some five times, and wakes both of its ends for every 64
KiB.  A box is a part of one anonymous file: a worker writes there what it has
made of a turn, the trainer reads it from there, and only where it is goes
through the pipe.  However their processes end, nothing is left behind."""

from __future__ import annotations

import mmap
import os
from itertools import count
from typing import Any, List, Sequence
from weakref import WeakValueDictionary

from ._lend import File

# What is not written takes no memory.
_FAR = 1 << 32
# Of one call of the system, which takes at most 1,024.
_MANY = 512

_numbers = count()
_all: "WeakValueDictionary[int, Boxes]" = WeakValueDictionary()


class Boxes:
    """The trainer's, and by pickle, or after a fork, a worker's.  n: how many
    turns are under way at most.  A turn's box is that of the turn n before it;
    should that still be full, bytes go another way."""

    def __init__(self, n: int) -> None:
        self.n, self.number = n, next(_numbers)
        self.file = File(os.memfd_create("hpdsl-boxes", os.MFD_CLOEXEC))
        os.ftruncate(self.file.fd, self._head())
        self._map()
        _all[self.number] = self

    def _head(self) -> int:
        return -(-self.n // mmap.PAGESIZE) * mmap.PAGESIZE

    def _map(self) -> None:
        self._full = mmap.mmap(self.file.fd, self._head())

    def __getstate__(self) -> Any:
        return self.n, self.number, self.file

    def __setstate__(self, state: Any) -> None:
        self.n, self.number, self.file = state
        self._map()

    def put(self, turn: int, contents: Sequence[bytes]) -> bool:
        """A worker's; False: there is no room."""
        box = turn % self.n
        at = (box + 1) * _FAR
        if self._full[box] or sum(map(len, contents)) > _FAR:
            return False
        try:
            for first in range(0, len(contents), _MANY):
                some = contents[first:first + _MANY]
                size = sum(map(len, some))
                if os.pwritev(self.file.fd, some, at) < size:
                    return False
                at += size
        except OSError:  # as of a limit to the size of files
            return False
        self._full[box] = 1
        return True

    def close(self) -> None:
        """Of this process; nobody may use it any more."""
        fd, self.file.fd = self.file.fd, -1
        if fd >= 0:
            os.close(fd)
            self._full.close()  # which has a descriptor of its own


def taken(number: int, turn: int, sizes: Sequence[int]) -> List[bytes]:
    """The trainer's: what was put of a turn into those boxes of its."""
    boxes = _all[number]
    box = turn % boxes.n
    at, contents = (box + 1) * _FAR, []
    for size in sizes:
        contents.append(os.pread(boxes.file.fd, size, at))
        at += size
    boxes._full[box] = 0
    return contents
