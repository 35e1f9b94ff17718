# SPDX-License-Identifier: Apache-2.0
"""Paths in a snapshot, and the entries that they lead to: one, through symbolic
links, or many at once."""

from __future__ import annotations

import ctypes
import errno
import stat
from array import array
from typing import Any, List

from . import _abi
from ._abi import lib
from ._errors import (NotFolderError, NotFoundError, SystemFailure, UsageError,
                      checked, fail)
from ._names import SnapshotHandle
from ._sample import Path, raw, text

LINKS_MOST = 40  # symbolic links on the way to an entry, as Linux has it
TOGETHER = 8192  # paths: their bytes stay in the cache


def find(handle: SnapshotHandle, path: Path, through: bool) -> _abi.Entry:
    """By the path as it is, which is what nearly all are, or step by step.
    through: a symbolic link at its end, too, is followed."""
    e, failure, name = _abi.Entry(), _abi.Failure(), raw(path)
    code = lib.snapshot_lookup(handle.address, name, len(name), ctypes.byref(e),
                               ctypes.byref(failure))
    if code < 0 and code != -errno.ENOENT:
        fail(failure)
    if code == 0 and not (through and stat.S_ISLNK(e.mode)):
        return e
    return follow(handle, 0, name, through)


def wanted(handle: SnapshotHandle, path: Path, through: bool = True) -> _abi.Entry:
    """The same, for who wants it to be there: what is near to a path that is not
    is looked for, which takes its time."""
    try:
        return find(handle, path, through)
    except NotFoundError as e:
        near = _near(handle, raw(path))
        if not near:
            raise
        raise NotFoundError(f"{e}; {near}", e.code) from None


def follow(handle: SnapshotHandle, folder: int, path: bytes, through: bool
           ) -> _abi.Entry:
    """From a folder on, as path_resolution(7) has it."""
    e, failure, links = _abi.Entry(), _abi.Failure(), 0
    checked(lib.snapshot_stat, handle.address, folder, ctypes.byref(e))
    todo = path.split(b"/")[::-1]
    while todo:
        name = todo.pop()
        if not stat.S_ISDIR(e.mode):
            raise _no(handle, NotFolderError, errno.ENOTDIR, path)
        if name in (b"", b"."):
            continue
        if name == b"..":
            if e.number == 0:
                raise _no(handle, NotFoundError, errno.ENOENT, path)
            checked(lib.snapshot_stat, handle.address, e.parent,
                    ctypes.byref(e))
            continue
        above = e.number
        code = lib.snapshot_child(handle.address, above, name, len(name),
                                  ctypes.byref(e), ctypes.byref(failure))
        if code == -errno.ENOENT:
            raise _no(handle, NotFoundError, errno.ENOENT, path)
        if code < 0:
            fail(failure)
        if stat.S_ISLNK(e.mode) and (todo or through):
            links += 1
            leads_to = target(handle, e)
            if links > LINKS_MOST:
                raise _no(handle, SystemFailure, errno.ELOOP, path)
            if leads_to[:1] in (b"/", b""):
                raise _no(handle, NotFoundError, errno.ENOENT, path)
            todo += leads_to.split(b"/")[::-1]
            checked(lib.snapshot_stat, handle.address, above, ctypes.byref(e))
    return e


def _no(handle: SnapshotHandle, kind: type, code: int, path: bytes
        ) -> SystemFailure:
    what = {errno.ENOTDIR: "a part of it is no folder",
            errno.ELOOP: "too many symbolic links",
            errno.ENOENT: "no such entry"}[code]
    return kind(f"{handle.path}: '{text(path)}': {what}", -code)


def _near(handle: SnapshotHandle, path: bytes) -> str:
    """Of the last folder on its way that there is, links followed: the names that
    are nearest to the next one; "" where one goes up."""
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        return ""
    above = b""
    for k in range(len(parts) - 1, 0, -1):
        try:
            e = find(handle, b"/".join(parts[:k]), True)
        except SystemFailure:
            continue
        if stat.S_ISDIR(e.mode):
            above, parts = raw(path_of(handle, e.number)), parts[k:]
            break
    name = b"/".join(([above] if above else []) + parts)
    buf = ctypes.create_string_buffer(_abi.SNAPSHOT_NEAR)
    return text(lib.snapshot_near(handle.address, name, len(name), buf))


def target(handle: SnapshotHandle, e: _abi.Entry) -> bytes:
    """Of a symbolic link."""
    ret = ctypes.c_void_p()
    checked(lib.snapshot_target, handle.address, ctypes.byref(e),
            ctypes.byref(ret))
    return ctypes.string_at(ret, e.size)


def folder_of(handle: SnapshotHandle, path: Path) -> int:
    """The number of the folder that a path leads to."""
    e = wanted(handle, path)
    if not stat.S_ISDIR(e.mode):
        raise _no(handle, NotFolderError, errno.ENOTDIR, raw(path))
    return e.number


def path_of(handle: SnapshotHandle, number: int) -> str:
    """Of an entry, from the top on."""
    buf = ctypes.create_string_buffer(_abi.PATH_MAX + 1)
    checked(lib.snapshot_path, handle.address, number, buf,
            ctypes.byref(ctypes.c_size_t()))
    return text(buf.value)


# ---- Many at once


def sizes_of(handle: SnapshotHandle, paths: List[Path]) -> array[int]:
    """Of what they lead to, as an array('q'); -1: nothing is there."""
    sizes = array("q")
    few = _Few(min(len(paths), TOGETHER))
    for i in range(0, len(paths), TOGETHER):
        some = paths[i:i + TOGETHER]
        if few.look_up(handle, some) < len(some) or handle.info.symlinks:
            few.look_closer(handle, some)
        sizes.frombytes(few.bytes[:8 * len(some)])
    return sizes


class _Few:
    """Sizes and modes of paths that are looked up together."""

    def __init__(self, most: int) -> None:
        self.sizes = array("q", bytes(8 * most))
        self.modes = array("I", bytes(4 * most))
        self.bytes = memoryview(self.sizes).cast("B")
        self._into = _abi.Found(None, self.sizes.buffer_info()[0],
                                self.modes.buffer_info()[0])
        self._failure = _abi.Failure()
        self._places = (ctypes.addressof(self._into),
                        ctypes.addressof(self._failure))

    def look_up(self, handle: SnapshotHandle, paths: List[Any]) -> int:
        try:
            joined = "\0".join(paths).encode("utf-8", "surrogateescape")
        except TypeError:
            joined = b"\0".join(map(raw, paths))
        # The NUL behind the last one is that of every bytes object.
        n = lib.snapshot_lookup_list(handle.address, joined, len(joined) + 1,
                                     len(paths), *self._places)
        if n < 0:
            for path in paths:
                if b"\0" in raw(path):
                    raise UsageError(f"a path with a NUL: {path!r}")
            fail(self._failure)
        return n

    def look_closer(self, handle: SnapshotHandle, paths: List[Any]) -> None:
        """At links, and at what is not there by that path."""
        links = handle.info.symlinks
        for i, path in enumerate(paths):
            if self.sizes[i] < 0:
                if not links and _plain(raw(path)):
                    continue
            elif not stat.S_ISLNK(self.modes[i]):
                continue
            try:
                self.sizes[i] = follow(handle, 0, raw(path), True).size
            except OSError:
                self.sizes[i] = -1


def _plain(path: bytes) -> bool:
    """Has it the one form in which it is found by its hash?"""
    path = b"/" + path + b"/"
    return not (b"//" in path or b"/./" in path or b"/../" in path)
