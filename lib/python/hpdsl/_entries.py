# SPDX-License-Identifier: Apache-2.0
"""What a snapshot hands out, as `os` has it: status, totals, entries."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Tuple

from . import _abi
from ._abi import lib
from ._errors import checked
from ._lookup import follow
from ._names import FOLDER, LINK, REGULAR
from ._sample import raw

if TYPE_CHECKING:
    from ._snapshot import Snapshot


class Status:
    """What stat() and lstat() return: of os.stat_result the fields that a
    snapshot has.

    st_mode      type and permission bits
    st_size      bytes; of a symbolic link, of its target
    st_mtime_ns  nanoseconds since 1970
    st_mtime     the same in seconds
    st_ino       number of the entry in the snapshot

    Of a dataset's folders nothing but the names is known: their mode is 040755,
    size and mtime 0.
    """

    __slots__ = ("st_mode", "st_ino", "st_size", "st_mtime", "st_mtime_ns")

    def __init__(self, e: _abi.Entry) -> None:
        self.st_mode = e.mode
        self.st_ino = e.number
        self.st_size = e.size
        self.st_mtime = e.mtime + 1e-9 * e.mtime_nsec
        self.st_mtime_ns = e.mtime * 10**9 + e.mtime_nsec

    def _all(self) -> Tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Status) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return (f"<hpdsl.Status st_mode={self.st_mode:#o}, "
                f"st_ino={self.st_ino}, st_size={self.st_size}, "
                f"st_mtime_ns={self.st_mtime_ns}>")


class Totals(NamedTuple):
    """What a snapshot has.  folders: with the top; others: devices, FIFOs and
    sockets; bytes: of the contents of regular files."""

    files: int
    folders: int
    symlinks: int
    others: int
    bytes: int


class Entry:
    """What scandir() gives, an os.DirEntry in all but where it comes from.

    name   in its folder
    path   os.path.join(what scandir() was given, name)
    """

    __slots__ = ("name", "path", "_snapshot", "_type", "_number", "_folder")

    def __init__(self, snapshot: "Snapshot", path: str, name: str, type: int,
                 number: int, folder: int) -> None:
        self.name = name
        self.path = path
        self._snapshot = snapshot
        self._type = type
        self._number = number
        self._folder = folder

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder, or a link to one."""
        return self._is(FOLDER, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a regular file, or a link to one."""
        return self._is(REGULAR, follow_symlinks)

    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
        return self._type == LINK

    def _is(self, type: int, through: bool) -> bool:
        if not (through and self._type == LINK):
            return self._type == type
        try:
            return self._at_end().mode >> 12 == type
        except FileNotFoundError:
            return False

    def _at_end(self) -> _abi.Entry:
        return follow(self._snapshot.handle(), self._folder, raw(self.name), True)

    def stat(self, *, follow_symlinks: bool = True) -> Status:
        """Size in bytes, mode and time, of what a link leads to or of itself."""
        if follow_symlinks and self._type == LINK:
            return Status(self._at_end())
        e = _abi.Entry()
        handle = self._snapshot.handle()
        checked(lib.snapshot_stat, handle.address, self._number,
                ctypes.byref(e))
        return Status(e)

    def inode(self) -> int:
        """The entry's number in the snapshot."""
        return self._number

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<hpdsl.Entry {self.name!r}>"


class Scan(Iterator[Entry]):
    """The iterator that scandir() returns; usable with `with`."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def close(self) -> None:
        self._entries = iter(())

    def __enter__(self) -> "Scan":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
