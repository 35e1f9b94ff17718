# SPDX-License-Identifier: Apache-2.0
"""What a measured job's processes ask file systems for: in memory that the
trainer and its workers share, forked or spawned, and that goes with them.

Its first page is the preload library's (cmd/stall/preload/count.c), those behind
it have what workers of a DataLoader each have done."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from ._measured import Cache

_PHASES = 6
_WORDS = 10  # of a phase, as of the head
_SLOT = struct.Struct("QQ")
_LOADERS = 15
OPS, _LOADER = "HPDSL_STALL_OPS", "HPDSL_STALL_LOADER"
_SAID = "HPDSL_STALL_SAID"


class Asks(NamedTuple):
    """hpdsl_stall_asks, without batches."""

    opens: int = 0
    stats: int = 0
    entries: int = 0
    reads: int = 0
    bytes: int = 0
    all_reads: int = 0
    all_bytes: int = 0
    from_storage: int = 0
    names: float = 0.0


def _counts(path: str, loader: int) -> None:
    """Tells the preload library, if this process has it."""
    try:
        tell = ctypes.CDLL(None).hpdsl_stall_counts
    except (AttributeError, OSError):
        return
    tell.argtypes, tell.restype = (ctypes.c_char_p, ctypes.c_uint64), None
    tell(path.encode(), loader)


class Ops:
    """The trainer's: one of a process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._fd = os.memfd_create("hpdsl-stall", os.MFD_CLOEXEC)
        size = (1 + _LOADERS) * mmap.PAGESIZE
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self._words = memoryview(self._map).cast("Q")
        self._words[0] = _PHASES - 1
        self._loaders = self._now = 0
        # For workers, also those that are no fork of this process.
        self._path = f"/proc/{self.pid}/fd/{self._fd}"
        os.environ[OPS] = self._path

    def phase(self, number: int, loader: int) -> None:
        self._words[1] = loader
        self._words[0] = number

    def seen(self, phase: int) -> List[int]:
        """What was counted in it: Asks as far as they were seen, then Cache."""
        at = (phase + 1) * _WORDS
        return self._words[at:at + _WORDS].tolist()

    def new_loader(self) -> int:
        """From 1 on; those beyond the last share a place."""
        self._loaders += 1
        return (self._loaders - 1) % _LOADERS + 1

    def begin(self, loader: int) -> None:
        """Workers that begin now are that one's, and so is what this process
        asks for itself."""
        if loader != self._now:
            self._now = loader
            os.environ[_LOADER] = str(loader)
            _counts(self._path, loader)

    def workers_did(self, loader: int) -> Tuple[int, int]:
        """Nanoseconds, and batches."""
        at = loader * mmap.PAGESIZE // 8
        words = self._words[at:at + mmap.PAGESIZE // 8].tolist()
        return sum(words[0::2]), sum(words[1::2])


class Worker:
    """A worker's own place there."""

    def __init__(self, number: int) -> None:
        fd = os.open(os.environ[OPS], os.O_RDWR | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(fd, (1 + _LOADERS) * mmap.PAGESIZE)
        finally:
            os.close(fd)
        places = mmap.PAGESIZE // _SLOT.size
        self._at = (int(os.environ[_LOADER]) * mmap.PAGESIZE +
                    number % places * _SLOT.size)

    def did(self, ns: int) -> None:
        """Another batch, in so many nanoseconds."""
        was = _SLOT.unpack_from(self._map, self._at)
        _SLOT.pack_into(self._map, self._at, was[0] + ns, was[1] + 1)


def share_what_is_said() -> None:
    """Before there are children: a place for the lines that this process and they
    have told, unless there is one already."""
    if _SAID not in os.environ:
        fd = os.memfd_create("hpdsl-stall-said", os.MFD_CLOEXEC)
        os.environ[_SAID] = f"/proc/{os.getpid()}/fd/{fd}"


def first_to_say(text: str) -> bool:
    """Whether none of them has told it.  Workers are begun anew in each epoch, so
    what one of them knows is not enough."""
    try:
        f = open(os.environ[_SAID], "r+b", buffering=0)
    except (KeyError, OSError):
        return True
    with f:
        fcntl.flock(f, fcntl.LOCK_EX)
        line = text.encode() + b"\n"
        if line in f.readall():
            return False
        f.write(line)
        return True


def kernel_counts(pids: Iterable[int]) -> Optional[List[int]]:
    """Reads, bytes and bytes from storage of these processes, all together; None:
    one of them is not there, or not to be looked at."""
    total = [0, 0, 0]
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", "rb") as f:
                io: Dict[bytes, int] = {}
                for line in f:
                    name, _, value = line.partition(b":")
                    io[name] = int(value)
        except (OSError, ValueError):
            return None
        for i, name in enumerate((b"syscr", b"rchar", b"read_bytes")):
            total[i] += io.get(name, 0)
    return total


def cache_of(words: List[int]) -> Cache:
    return Cache(*words[5:8])
