# SPDX-License-Identifier: Apache-2.0
"""An open snapshot of the library, and the names of its folders: a folder's
are made in one decoding and one split, which is what walking fast is about."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Optional, Tuple

from . import _abi
from ._abi import lib
from ._errors import CorruptError, checked, fail

FOLDER, LINK, REGULAR = 4, 10, 8  # types of entries: DT_DIR, DT_LNK, DT_REG
# For types.translate().
IS_FOLDER = bytes(i == FOLDER for i in range(256))
IS_OTHER = bytes(i != FOLDER for i in range(256))


class SnapshotHandle:
    """Closed when nobody needs it any more, by a child too: reading takes no
    lock, and what it closes is its own mapping of the file."""

    address: Optional[int] = None

    def __init__(self, path: str, function: Callable[..., int], *source: Any
                 ) -> None:
        self.path = path  # for messages
        ret = ctypes.c_void_p()
        checked(function, *source, None, ctypes.byref(ret))
        self.address = ret.value
        self.info = _abi.SnapshotInfo()
        lib.snapshot_info(self.address, ctypes.byref(self.info))

    def __del__(self, close: Callable[..., Any] = lib.snapshot_close) -> None:
        if self.address is not None:
            close(self.address)


class Names:
    """Reads folders, one at a time: not for two threads, nor for two at once
    in one thread, which a signal's handler could be."""

    def __init__(self) -> None:
        self._list = _abi.NameList()
        self._cursor = ctypes.c_uint64()
        self._failure = _abi.Failure()
        self._arguments = tuple(map(ctypes.addressof, (
            self._cursor, self._list, self._failure)))
        self._make_room(_abi.PATH_MAX + 1 << 2, 512)

    def _make_room(self, room: int, most: int) -> None:
        buf, types = bytearray(room), bytearray(most)
        self._buf, self._types = memoryview(buf), memoryview(types)
        self._list.room, self._list.most = room, most
        self._list.buf, self._list.types = map(_address, (buf, types))

    def of(self, handle: SnapshotHandle, folder: int
           ) -> Tuple[List[str], bytes, int]:
        """Names, types, and the number of the first entry."""
        self._cursor.value = 0
        names, types, first = self._some(handle, folder)
        total = self._list.total
        while len(names) < total:
            if total > self._list.most:
                self._make_room(1 << 20, min(total, 1 << 16))
            more, their, _ = self._some(handle, folder)
            if not more:
                raise CorruptError(f"entry {folder}: what it holds changed")
            names += more
            types += their
        return names, types, first

    def some(self, handle: SnapshotHandle, folder: int, place: int, most: int
             ) -> Tuple[List[str], int]:
        """At most so many names, from a place among a folder's entries on, and
        the number of the first."""
        self._cursor.value = place
        room = self._list.most
        self._list.most = min(room, most)
        try:
            names, _, first = self._some(handle, folder)
        finally:
            self._list.most = room
        return names, first

    def _some(self, handle: SnapshotHandle, folder: int
              ) -> Tuple[List[str], bytes, int]:
        n = lib.snapshot_names(handle.address, folder, *self._arguments)
        if n < 0:
            fail(self._failure)
        if n == 0:
            return [], b"", 0
        names = str(self._buf[:self._list.used - 1], "utf-8",
                    "surrogateescape").split("\0")
        return names, bytes(self._types[:n]), self._list.first


def _address(buf: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buf))
