# SPDX-License-Identifier: Apache-2.0
"""Memory that one process fills and another one reads, without a copy between.

A Lender has loans: anonymous files, which are in no folder and take nothing of
/dev/shm, so nothing is left behind however their processes end.  Who borrows
opens them below /proc, and gives them back by a byte at their beginning; then
they are filled again, as memory that is used for the first time costs ten times
as much as the copy."""

from __future__ import annotations

import mmap
import os
from typing import List, NamedTuple, Optional, Sequence

# The byte that says where a loan is, and where contents begin.
_FREE, _SENT, _HELD = range(3)
_HEAD = 64
# So many stay open for one lender, unless more are on their way.
_OPEN = 8

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(before=_count_fork)


class Loan(NamedTuple):
    """What the borrower has to know; plain numbers."""

    pid: int
    fd: int
    inode: int
    size: int


class _Memory:
    """A lender's side of a loan."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.fd = os.memfd_create("hpdsl")
        try:
            # Here, as what lacks later is SIGBUS.
            os.posix_fallocate(self.fd, 0, _HEAD + room)
            self.map = mmap.mmap(self.fd, _HEAD + room)
        except BaseException:
            os.close(self.fd)
            raise
        self.inode = os.fstat(self.fd).st_ino

    def state(self) -> int:
        return self.map[0]

    def close(self) -> None:
        self.map.close()
        os.close(self.fd)


class Lender:
    """Belongs to one thread."""

    def __init__(self) -> None:
        self._pid: Optional[int] = None
        self._loans: List[_Memory] = []
        self._able = False

    def able(self) -> bool:
        """Whether this process can lend something to its parent: which can
        look into this one if this one can look into it."""
        if self._pid != os.getpid():
            self._pid, self._loans = os.getpid(), []
            try:
                os.readlink(f"/proc/{os.getppid()}/exe")
                os.close(os.memfd_create("hpdsl"))
                self._able = True
            except (OSError, AttributeError):
                self._able = False
        return self._able

    def lend(self, views: Sequence[memoryview], size: int) -> Loan:
        """A copy of these, one behind the other, size bytes in all.  It must
        be sent to one borrower."""
        memory = self._find(size)
        with memoryview(memory.map) as room:
            at = _HEAD
            for view in views:
                end = at + len(view)
                room[at:end] = view
                at = end
        memory.map[0] = _SENT
        return Loan(os.getpid(), memory.fd, memory.inode, size)

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


class _Borrowed(mmap.mmap):
    """Goes back when the last view of it has gone: but not if a child may look
    at it, too."""

    forks: Optional[int] = None

    def __del__(self, free: int = _FREE) -> None:
        if self.forks == _forks:
            self[0] = free


def borrow(loan: Loan) -> memoryview:
    """What was lent, for as long as this or another view of it exists.
    ConnectionError: the lender has died."""
    try:
        fd = os.open(f"/proc/{loan.pid}/fd/{loan.fd}", os.O_RDWR)
    except (FileNotFoundError, ProcessLookupError, PermissionError) as e:
        # The last of them while it is on its way out.
        raise ConnectionError(f"process {loan.pid}, which has lent memory, is "
                              f"gone: {e.strerror}") from e
    try:
        if os.fstat(fd).st_ino != loan.inode:
            raise ConnectionError(f"process {loan.pid} is not the one which "
                                  "has lent memory")
        borrowed = _Borrowed(fd, _HEAD + loan.size)
    finally:
        os.close(fd)
    borrowed.forks = _forks
    borrowed[0] = _HELD
    return memoryview(borrowed)[_HEAD:]
