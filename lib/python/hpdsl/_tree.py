# SPDX-License-Identifier: Apache-2.0
"""Class folders of a tree, found by a snapshot of it: which files they have, by
torchvision's rules and without a question to a file system, and what is in
them."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from array import array
from itertools import compress
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _abi
from ._abi import lib
from ._errors import (ChangedError, NotFolderError, NotFoundError,
                      SystemFailure, UsageError, checked)
from ._listing import Files, Listing, Run, Valid, sieve
from ._lookup import folder_of, follow, path_of
from ._names import FOLDER, IS_FOLDER, IS_OTHER, LINK, Names
from ._sample import Path, raw, text
from ._entries import Status
from ._snapshot import Snapshot

# A number is that of an entry.  Where the way to it leads through a link to a
# folder, and so is not the entry's own path, the bits above say by which.
_BITS = 40  # a snapshot has fewer entries
_ENTRY = (1 << _BITS) - 1
_WAYS_MOST = (1 << 64 - _BITS) - 1


class Tree:
    """What a DatasetFolder is of.

    snapshot  a Snapshot
    inside    path of the folder in it; "": all of it
    """

    def __init__(self, snapshot: Snapshot, inside: str) -> None:
        self.snapshot, self.inside = snapshot, inside
        self.dataset = None

    def classes(self, root: str, valid: Valid) -> Listing:
        return list_entries(self.snapshot, root, self.inside, valid)

    def read(self, inside: str, path: Path) -> bytes:
        """ChangedError: it is not there, or another one than in the
        snapshot."""
        known = self._status(inside)
        try:
            # What has become a FIFO is not waited for.
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError) as e:
            if known is None:
                raise NotFoundError(f"{text(raw(path))}: leads nowhere",
                                    -errno.ENOENT) from e
            raise self._changed(path, "is not there") from e
        try:
            regular = stat.S_ISREG(os.fstat(fd).st_mode)
            content = (open(fd, "rb", 0, closefd=False).read() if regular
                       else b"")
        finally:
            os.close(fd)
        if not regular:
            if known is not None and stat.S_ISREG(known.st_mode):
                raise self._changed(path, "is no regular file")
            raise SystemFailure(f"{text(raw(path))}: no regular file",
                                -errno.EINVAL)
        if known is not None and len(content) != known.st_size:
            raise self._changed(path, f"has {len(content)} bytes, not "
                                f"{known.st_size}")
        return content

    def _status(self, inside: str) -> Optional[Status]:
        """None: not known, a link leads out of the snapshot."""
        try:
            return self.snapshot.stat(inside)
        except OSError:
            if not self.snapshot.islink(inside):
                raise
            return None

    def _changed(self, path: Path, how: str) -> ChangedError:
        return ChangedError(f"{text(raw(path))}: {how}; it changed since "
                            f"{self.snapshot.path} was made")


class Entries(Files):
    """Of a snapshot.

    ways  paths of folders that are reached through links, from the snapshot's
          top on
    """

    def __init__(self, snapshot: Snapshot, ways: List[str]) -> None:
        self.snapshot, self._ways = snapshot, ways

    def path(self, number: int) -> str:
        way, entry = number >> _BITS, number & _ENTRY
        if not way:
            return path_of(self.snapshot.handle(), entry)
        return next(self.paths(array("Q", [number])))

    def paths(self, numbers: array[int]) -> Iterator[str]:
        """Names that lie together are made together: the more of them, the more
        of the last ones were wanted."""
        near = _Near(self.snapshot, self._ways)
        first, names, used = 0, [], 0  # type: int, List[str], int
        for number in numbers:
            if not first <= number < first + len(names):
                first, names, used = number, near.names(number, 4 * used), 0
            used += 1
            yield near.prefix + names[number - first]


class _Near:
    """Reads names from an entry on.

    prefix  path of the folder that they are in, and a slash
    """

    prefix = ""

    def __init__(self, snapshot: Snapshot, ways: List[str]) -> None:
        self._snapshot, self._ways = snapshot, ways
        self._handle, self._reader = snapshot.handle(), Names()
        self._folder: Optional[Tuple[int, int]] = None
        self._first = 0

    def names(self, number: int, most: int) -> List[str]:
        e, entry = _abi.Entry(), number & _ENTRY
        checked(lib.snapshot_stat, self._handle.address, entry,
                ctypes.byref(e))
        self._enter(number >> _BITS, e.parent)
        return self._reader.some(self._handle, e.parent, entry - self._first,
                                 max(1, most))[0]

    def _enter(self, way: int, folder: int) -> None:
        if self._folder == (way, folder):
            return
        self._folder = way, folder
        path = (self._ways[way - 1] if way else
                path_of(self._handle, folder))
        self.prefix = f"{path}/" if path else ""
        self._first = self._reader.some(self._handle, folder, 0, 1)[1]


# ---- What torchvision finds


class _Folder(NamedTuple):
    """Its path below the wanted one, its entry, and whether a link led there or
    to what is above it."""

    path: str
    entry: int
    linked: bool


def list_entries(snapshot: Snapshot, root: str, inside: str, valid: Valid
                 ) -> Listing:
    """NotFoundError: there is no such folder."""
    walk = _Walk(snapshot, root, inside, valid)
    runs = []
    for folder in walk.classes():
        first = len(walk.numbers)
        walk.take(folder)
        runs.append(Run(folder.path, first, len(walk.numbers)))
    return Listing(
        Entries(snapshot, walk.ways), root, walk.top, runs,
        memoryview(walk.numbers), None if callable(valid) else
        (list_entries, (snapshot, root, inside, tuple(valid))))


class _Walk:
    """Through class folders.

    top      path of the folder that has them in the snapshot
    numbers  of files
    ways     as of Entries
    """

    def __init__(self, snapshot: Snapshot, root: str, inside: str,
                 valid: Valid) -> None:
        self._snapshot, self._handle = snapshot, snapshot.handle()
        try:
            self._top = folder_of(self._handle, inside)
        except NotFolderError as e:
            raise NotFoundError(str(e), e.code) from e
        self.top = path_of(self._handle, self._top)
        self.numbers, self.ways = array("Q"), []  # type: array[int], List[str]
        self._before = os.path.join(root, "")
        self._reader = Names()
        # Of names or, where these do not say it, of paths.
        self._of_paths = callable(valid) or any("/" in s for s in valid)
        self._valid = sieve(valid)
        self._suffixes = () if callable(valid) else tuple(valid)

    def classes(self) -> List[_Folder]:
        return sorted(self._read(_Folder("", self._top, False))[0])

    def take(self, top: _Folder) -> None:
        """Its files, and of all folders below it, in the order of their
        paths."""
        found, todo = [], [top]
        while todo:
            folder = todo.pop()
            below, names, numbers = self._read(folder)
            todo += below
            chosen = self._choose(folder, names, numbers)
            if chosen:
                found.append((folder, chosen))
        found.sort()
        for folder, chosen in found:
            if folder.linked:
                way = self._way(folder) << _BITS
                chosen = array("Q", (way | number for number in chosen))
            self.numbers.extend(chosen)

    def _way(self, folder: _Folder) -> int:
        if len(self.ways) == _WAYS_MOST:
            raise UsageError(f"{self._snapshot.path}: more than {_WAYS_MOST} "
                             "folders with files are found through links")
        self.ways.append(self._in_snapshot(folder.path))
        return len(self.ways)

    def _in_snapshot(self, path: str) -> str:
        return f"{self.top}/{path}" if self.top else path

    def _read(self, folder: _Folder
              ) -> Tuple[List[_Folder], List[str], Sequence[int]]:
        """Folders in it, and the names and numbers of what is none."""
        names, types, first = self._reader.of(self._handle, folder.entry)
        numbers, ends = range(first, first + len(names)), {}
        if LINK in types:
            ends = self._ends(folder, names, types, numbers)
            types = bytes(FOLDER if n in ends else type
                          for n, type in zip(numbers, types))
        if FOLDER not in types:
            return [], names, numbers
        is_folder, is_file = (types.translate(IS_FOLDER),
                              types.translate(IS_OTHER))
        prefix = f"{folder.path}/" if folder.path else ""
        below = [_Folder(prefix + name, ends.get(n, n),
                         folder.linked or n in ends)
                 for name, n in zip(compress(names, is_folder),
                                    compress(numbers, is_folder))]
        return (below, list(compress(names, is_file)),
                array("Q", compress(numbers, is_file)))

    def _ends(self, folder: _Folder, names: List[str], types: bytes,
              numbers: range) -> Dict[int, int]:
        """Where links to folders lead.  They are followed from the top on, so
        that as many of them as on Linux are too many."""
        ends = {}
        prefix = self._in_snapshot(f"{folder.path}/" if folder.path else "")
        for name, type, number in zip(names, types, numbers):
            if type != LINK:
                continue
            try:
                e = follow(self._handle, 0, raw(prefix + name), True)
            except OSError:
                continue
            if stat.S_ISDIR(e.mode):
                ends[number] = e.number
        return ends

    def _choose(self, folder: _Folder, names: List[str],
                numbers: Sequence[int]) -> array[int]:
        """Those that are valid, in the order of their names."""
        if names != sorted(names):
            # Bytes that are no UTF-8 have another place among strings.
            numbers = [n for _, n in sorted(zip(names, numbers))]
            names = sorted(names)
        if self._of_paths:
            valid, prefix = self._valid, f"{self._before}{folder.path}/"
            return array("Q", (n for name, n in zip(names, numbers)
                               if valid(prefix + name)))
        suffixes = self._suffixes
        return array("Q", [n for name, n in zip(names, numbers)
                           if name.lower().endswith(suffixes)])
