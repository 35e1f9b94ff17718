# SPDX-License-Identifier: Apache-2.0
"""Memory that one process fills and another one reads, without a copy between.

A Lender has loans: anonymous files, which are in no folder and take nothing of
/dev/shm, so nothing is left behind however their processes end.  Who borrows
opens them below /proc; then they are filled again, as memory that is used for the
first time costs ten times as much as the copy.  Each filling has a number of its
own, so that nobody reads what is not meant for him.

Whoever has a loan holds a lock on it.  The kernel takes that back with the last
mapping, that of a child too: no finalizer has anything to do, in which Ctrl-C
would be lost."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import sys
import weakref
from itertools import count
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

# Where a loan is, in its file; of one that was borrowed the lock says whether it
# still is, which the lender looks at before he fills it again.
_FREE, _SENT, _HELD = range(3)
# That and the filling's number, and where contents begin.
_KEY = struct.Struct("<B7xQ")
_HEAD = 64
# So many stay open for one lender, unless more are on their way.
_OPEN = 8
# A mapping need not keep a file open, if Python lets it.
_NO_FILE: Dict[str, Any] = (
    {"trackfd": False} if sys.version_info >= (3, 13) else {})


class Loan(NamedTuple):
    """What the borrower has to know; plain numbers."""

    pid: int
    fd: int
    inode: int
    size: int
    serial: int


class _Memory:
    """A lender's side of a loan."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.fd = os.memfd_create("hpdsl")
        try:
            # Here, as what lacks later is SIGBUS.
            os.posix_fallocate(self.fd, 0, _HEAD + room)
            self.map = mmap.mmap(self.fd, _HEAD + room, **_NO_FILE)
        except BaseException:
            os.close(self.fd)
            raise
        self.inode = os.fstat(self.fd).st_ino
        self._lent: Any = None

    def fill(self, views: Sequence[memoryview], serial: int) -> memoryview:
        with memoryview(self.map) as room:
            at = _HEAD
            for view in views:
                end = at + len(view)
                room[at:end] = view
                at = end
            lent = room[_HEAD:at]
        _KEY.pack_into(self.map, 0, _SENT, serial)
        self._lent = weakref.ref(lent)
        return lent

    def state(self) -> int:
        """Not free as long as the lender looks at it himself."""
        if self._lent is not None and self._lent() is not None:
            return _SENT
        if self.map[0] == _HELD and _lock(self.fd):
            fcntl.flock(self.fd, fcntl.LOCK_UN)
            self.map[0] = _FREE
        return self.map[0]

    def close(self) -> None:
        self.map.close()
        os.close(self.fd)


class Lender:
    """Belongs to one thread."""

    def __init__(self) -> None:
        self._pid: Optional[int] = None
        self._loans: List[_Memory] = []
        self._serials = count(1)
        self._able = False

    def able(self) -> bool:
        """Whether this process can lend something to its parent: which can
        look into this one if this one can look into it."""
        if self._pid != os.getpid():
            self._pid, self._loans = os.getpid(), []
            try:
                os.readlink(f"/proc/{os.getppid()}/exe")
                _try_opening()
                self._able = True
            except (OSError, AttributeError):
                self._able = False
        return self._able

    def lend(self, views: Sequence[memoryview],
             size: int) -> Tuple[Loan, memoryview]:
        """A copy of these, one behind the other, size bytes in all: for one
        borrower, and to be looked at here, too.  OSError: no memory, or no
        more files."""
        memory, serial = self._find(size), next(self._serials)
        return (Loan(os.getpid(), memory.fd, memory.inode, size, serial),
                memory.fill(views, serial))

    def _find(self, size: int) -> _Memory:
        for memory in self._loans:
            if memory.room >= size and memory.state() == _FREE:
                return memory
        self._drop_some()
        room = -(-(size + size // 8) // mmap.PAGESIZE) * mmap.PAGESIZE - _HEAD
        self._loans.append(_Memory(max(room, size)))
        return self._loans[-1]

    def _drop_some(self) -> None:
        """What is too small; and what is kept where it was sent to, needs no
        file here any more."""
        kept: List[_Memory] = []
        over = len(self._loans) - _OPEN
        for memory in self._loans:
            state = memory.state()
            if state == _FREE or state == _HELD and over > 0:
                memory.close()
                over -= 1
            else:
                kept.append(memory)
        self._loans = kept


def _lock(fd: int) -> bool:
    """False: another opening of the file has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_opening() -> None:
    fd = os.memfd_create("hpdsl")
    try:
        other = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
        try:
            if not _lock(other) or _lock(fd):
                raise OSError("no locks")
        finally:
            os.close(other)
    finally:
        os.close(fd)


def borrow(loan: Loan) -> memoryview:
    """What was lent, for as long as this or another view of it exists.
    ConnectionError: the lender has died; RuntimeError: it was borrowed before.
    """
    fd = _open(loan)
    try:
        sent = _KEY.pack(_SENT, loan.serial)
        if not _lock(fd) or os.pread(fd, _KEY.size, 0) != sent:
            raise RuntimeError(f"what process {loan.pid} has lent was borrowed "
                               "before, and can be only once")
        try:
            borrowed = mmap.mmap(fd, _HEAD + loan.size, **_NO_FILE)
        finally:
            # From here on it is free when what holds the lock is closed.
            os.pwrite(fd, bytes([_HELD]), 0)
    finally:
        os.close(fd)
    return memoryview(borrowed)[_HEAD:]


def _open(loan: Loan) -> int:
    try:
        fd = os.open(f"/proc/{loan.pid}/fd/{loan.fd}", os.O_RDWR)
    except (FileNotFoundError, ProcessLookupError, PermissionError) as e:
        # The last of them while it is on its way out.
        raise ConnectionError(f"process {loan.pid}, which has lent memory, is "
                              f"gone: {e.strerror}") from e
    if os.fstat(fd).st_ino != loan.inode:
        os.close(fd)
        raise ConnectionError(f"process {loan.pid} is not the one which has "
                              "lent memory")
    return fd
