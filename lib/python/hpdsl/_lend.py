# SPDX-License-Identifier: Apache-2.0
"""Turns: memory that a training process has read, lent to the processes that
decode it.

The trainer's loader reads into one mapping.  A Board tells of each batch, a turn,
where in it its samples are; a worker waits there for its turn, which any number
of processes may do, maps the same file for itself, only to be read, and says when
it has done with it.  Then the trainer gives the batch back to the loader.  Both
files are anonymous: however their processes end, nothing is left behind."""

from __future__ import annotations

import ctypes
import gc
import mmap
import operator
import os
import struct
import sys
import time
from array import array
from multiprocessing import reduction
from typing import (TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional,
                    Sequence, Tuple)

if TYPE_CHECKING:
    from ._batch import Batch

# Words of 64 bits: whether all is over, then of each place the turn that is told
# there and the one that is done with, each plus one, and the size of its telling.
_STOP, _TOLD, _DONE, _SIZE = 0, 1, 2, 3
# Tellings are in the same file, each place's so far from the other's: what is
# not written takes no memory.
_FAR = 1 << 32
_HEAD = struct.Struct("<BQQQQQ")
# How long somebody sleeps who waits for a turn: as long as it may take to read.
_SHORTEST, _LONGEST = 0.0002, 0.004


class Stopped(Exception):
    """There will be no more turns."""


class Turn(NamedTuple):
    """What is to be known of a batch: for each sample `wide` members one behind
    the other, as places in the mapping and sizes."""

    epoch: int
    step: int
    wide: int
    places: Sequence[int]
    sizes: array[int]
    numbers: array[int]
    labels: array[int]
    mask: array[int]
    bad: array[int]


class File:
    """An open file that processes which were started with it have, too."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __getstate__(self) -> Any:
        return reduction.DupFd(self.fd)

    def __setstate__(self, passed: Any) -> None:
        self.fd = passed.detach()


class Board:
    """The trainer's side, and by pickle, or after a fork, a worker's."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.file = File(os.memfd_create("hpdsl-turns", os.MFD_CLOEXEC))
        os.ftruncate(self.file.fd, self._head())
        self._map()

    def _head(self) -> int:
        size = 8 * (1 + 3 * self.places)
        return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE

    def _map(self) -> None:
        self._words = memoryview(mmap.mmap(self.file.fd, self._head())
                                 ).cast("Q")

    def __getstate__(self) -> Any:
        return self.places, self.file

    def __setstate__(self, state: Any) -> None:
        self.places, self.file = state
        self._map()

    def _place(self, turn: int) -> int:
        return 3 * (turn % self.places)

    # ---- The trainer

    def tell(self, turn: int, telling: bytes) -> None:
        """The turn that was there before has to be over."""
        at = self._place(turn)
        os.pwrite(self.file.fd, telling, (turn % self.places + 1) * _FAR)
        self._words[at + _SIZE] = len(telling)
        self._words[at + _TOLD] = turn + 1

    def is_done(self, turn: int) -> bool:
        return self._words[self._place(turn) + _DONE] == turn + 1

    def stop(self) -> None:
        self._words[_STOP] = 1

    def close(self) -> None:
        """Of this process; nobody may use it any more."""
        fd, self.file.fd = self.file.fd, -1
        if fd >= 0:
            os.close(fd)

    # ---- A worker

    def wait(self, turn: int, gone: Callable[[], bool]) -> bytes:
        """What was told of the turn.  Stopped: nothing will be, or the trainer
        is gone."""
        words, at, pause = self._words, self._place(turn), _SHORTEST
        while words[at + _TOLD] != turn + 1:
            if words[_STOP] or gone():
                raise Stopped
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        return os.pread(self.file.fd, words[at + _SIZE],
                        (turn % self.places + 1) * _FAR)

    def done(self, turn: int) -> None:
        self._words[self._place(turn) + _DONE] = turn + 1


def turn_of(batch: "Batch") -> bytes:
    """The telling of an hpdsl.Batch."""
    c, memory, base = batch._c, batch._memory, batch._mapping.base
    n, wide = c.n, len(batch._wanted.suffixes) or 1
    data, size = ((c.member_data, c.member_size) if batch._wanted.suffixes else
                  (c.data, c.size))
    arrays = ((data, 8 * wide * n), (size, 8 * wide * n), (c.number, 8 * n),
              (c.label, 4 * n), (c.mask, n), (c.bad, n))
    return b"".join([_HEAD.pack(1, c.epoch, c.step, n, wide, base),
                     *(memory[at:at + size] for at, size in arrays)])


def error_of(pickled: bytes) -> bytes:
    """The telling of a step that gave an error in place of a batch."""
    return b"\0" + pickled


def read_turn(telling: bytes) -> Optional[Turn]:
    """None: it is an error, which follows the first byte."""
    if not telling[0]:
        return None
    _, epoch, step, n, wide, base = _HEAD.unpack_from(telling)
    rest, at = memoryview(telling), _HEAD.size
    found: List[Any] = []
    for kind, count in (("Q", wide * n), ("Q", wide * n), ("Q", n), ("i", n),
                        ("B", n), ("B", n)):
        column = array(kind)
        column.frombytes(rest[at:at + column.itemsize * count])
        found.append(column)
        at += column.itemsize * count
    places = [a - base if a else 0 for a in found[0]]
    sizes, numbers, labels, mask, bad = found[1:]
    return Turn(epoch, step, wide, places, sizes, numbers, labels, mask, bad)


# Of a mapping, at least.
_FIRST = 64 << 20


class Lent:
    """The trainer's mapping as a worker has it: of a file that is sparse, and far
    larger than what is read, its beginning, as far as turns need it, since an
    address space may be limited."""

    def __init__(self, file: File, size: int) -> None:
        self.file, self.size = file, size
        self._map: Any = None
        self._pid = 0

    def __getstate__(self) -> Any:
        return self.file, self.size

    def __setstate__(self, state: Any) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def _mapped(self, end: int = 0) -> mmap.mmap:
        if self._pid != os.getpid() or len(self._map) < end:
            size = min(self.size, max(_FIRST, 1 << end.bit_length()))
            self._map, self._pid = mmap.mmap(self.file.fd, size,
                                             prot=mmap.PROT_READ), os.getpid()
        return self._map

    def reach(self, turn: Turn) -> None:
        """Maps as much as it needs; who looks at another mapping that was there
        before does not count any more."""
        self._mapped(max(map(operator.add, turn.places, turn.sizes),
                         default=0))

    def members(self, turn: Turn) -> List[Tuple[memoryview, ...]]:
        """Views of each sample's."""
        self.reach(turn)
        whole = memoryview(self._mapped())
        views = [whole[a:a + s] for a, s in zip(turn.places, turn.sizes)]
        return list(zip(*[iter(views)] * turn.wide))

    def holders(self) -> int:
        """How many look at it; what members() gave counts as one, as long as
        there is any of it."""
        return sys.getrefcount(self._mapped())

    def held(self, before: int) -> bool:
        """Whether there are more than before; garbage, for which it takes some
        time to look, does not count."""
        if self.holders() > before:
            gc.collect()
        return self.holders() > before

    def has(self, address: int) -> bool:
        """Whether the mapping has this place of memory."""
        base = _address(self._mapped())
        return base <= address < base + len(self._map)


class _Buffer(ctypes.Structure):
    """Python's Py_buffer; only where it is, is wanted of it."""

    _fields_ = [("at", ctypes.c_void_p), ("rest", ctypes.c_ssize_t * 15)]


def _address(of: mmap.mmap) -> int:
    """Of one that is only to be read, nobody else tells."""
    found, python = _Buffer(), ctypes.pythonapi
    python.PyObject_GetBuffer(ctypes.py_object(of), ctypes.byref(found), 0)
    try:
        return found.at
    finally:
        python.PyBuffer_Release(ctypes.byref(found))
