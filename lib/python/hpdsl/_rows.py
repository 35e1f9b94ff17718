# SPDX-License-Identifier: Apache-2.0
"""What the library tells of an open dataset: rows of samples and members, many
at once, and what is read by them."""

from __future__ import annotations

import ctypes
import os
import struct
import warnings
from array import array
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union

from . import _abi, _file
from ._abi import lib
from ._errors import checked, exception
from ._sample import text


class Handle:
    """An open dataset of the library, closed when nobody needs it any more,
    but not by a child: what it has was copied at the fork, locks included."""

    def __init__(self, path: bytes, flags: int = 0) -> None:
        ret = ctypes.c_void_p()
        self.address: Optional[int] = None
        self.pid = os.getpid()
        checked(lib.open_with, path, flags, None, ctypes.byref(ret))
        self.address = ret.value

    def pack(self) -> str:
        ret = (ctypes.c_uint8 * 16)()
        lib.pack_id(self.address, ret)
        return bytes(ret).hex()

    def digest(self) -> bytes:
        """Another one for every pack, of what was read when it was opened:
        cheaper than the pack, and to be had by a child, too."""
        ret = (ctypes.c_uint8 * 16)()
        lib.index_digest(self.address, ret)
        return bytes(ret)

    def __del__(self, close: Callable[..., Any] = lib.close,
                getpid: Callable[[], int] = os.getpid) -> None:
        if self.address is not None and self.pid == getpid():
            close(self.address)


class Rows:
    """Samples and members of them, which are surely the opened index's; they
    are no more when this is gone."""

    address = 0

    def __init__(self, function: Callable[..., int], handle: Handle,
                 *wanted: Any) -> None:
        ret = ctypes.c_void_p()
        checked(function, handle.address, *wanted, ctypes.byref(ret))
        self.address = ret.value or 0

    def member(self) -> _abi.Member:
        """The first one of the first sample."""
        at = _abi.Rows.from_address(self.address).member
        return _abi.Member.from_address(at)

    def __del__(self, free: Callable[..., Any] = lib.rows_free) -> None:
        free(self.address)


class Layout(NamedTuple):
    """What is to be read for a sample; label -1: without a class.  wanted: of
    each member its number, where its row is as long as there are the Rows, and
    its size."""

    number: int
    label: int
    key: str
    suffixes: List[str]
    wanted: List[Tuple[int, int, int]]


_CODES = {1: "?", 4: "i", 8: "Q"}


def _some(kind: type, *names: str) -> struct.Struct:
    """These fields, at once: far faster than one by one."""
    form, at = "=", 0
    for name in names:
        field = getattr(kind, name)
        form += f"{field.offset - at}x{_CODES[field.size]}"
        at = field.offset + field.size
    return struct.Struct(f"{form}{ctypes.sizeof(kind) - at}x")


# a sample, and what follows it in Rows
ROWS = struct.Struct(
    _some(_abi.Sample, "number", "label", "key", "key_len").format + "QQ")
_MEMBER = _some(_abi.Member, "number", "generated", "size", "path", "path_len")
REQUEST = _some(_abi.Request, "member", "buf", "room", "row")
bytes_at = ctypes.string_at
assert (ROWS.size == ctypes.sizeof(_abi.Rows) and
        _abi.Rows.n.offset == ROWS.size - 8)


def layout_of(row: Tuple[Any, ...]) -> Layout:
    sample, label, key, key_len, place, n = row
    suffixes, wanted = [], []
    for number, generated, size, path, length in _MEMBER.iter_unpack(
            bytes_at(place, n * _MEMBER.size)):
        if not generated:
            suffixes.append(text(bytes_at(path, length)[key_len + 1:]))
            wanted.append((number, place, size))
        place += _MEMBER.size
    return Layout(sample, label, text(bytes_at(key, key_len)),
                   suffixes, wanted)


def layouts_of(handle: Handle, numbers: array[int]
               ) -> Tuple[Rows, List[Layout]]:
    """Of samples that there are, by their numbers, an array("Q")."""
    rows = Rows(lib.samples_rows, handle, numbers.buffer_info()[0],
                len(numbers))
    found = bytes_at(rows.address, ROWS.size * len(numbers))
    return rows, [layout_of(row) for row in ROWS.iter_unpack(found)]


_Note = ctypes.c_char * _abi.PEER_NOTE


def tell_peers(handle: Handle) -> None:
    """What reading has found out of the job's other nodes that cannot be used:
    a warning, each thing once."""
    note = _Note()
    while lib.peer_note(handle.address, note):
        from ._meant import outside
        warnings.warn(text(note.value), RuntimeWarning, stacklevel=outside())


def read_many(handle: Handle, requests: int, n: int, threads: int,
              failure: _abi.Failure) -> int:
    got: int = lib.read_many(handle.address, requests, n, threads,
                             ctypes.byref(failure))
    tell_peers(handle)
    return got


def start_of(buf: Union[bytearray, memoryview]) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buf))


def read_members(handle: Handle, rows: Rows,
                 wanted: List[Tuple[int, int, int]], threads: int
                 ) -> bytearray:
    """Members, by number, place of their row, and size; rows are held for as
    long as this takes."""
    buf = bytearray(sum(size for _, _, size in wanted) or 1)
    at = start_of(buf)
    requests = bytearray(REQUEST.size * len(wanted) or 1)
    for k, (member, place, size) in enumerate(wanted):
        REQUEST.pack_into(requests, k * REQUEST.size, member, at, size,
                           place)
        at += size
    failure = _abi.Failure()
    n = read_many(handle, start_of(requests), len(wanted), threads, failure)
    if n < len(wanted):
        raise exception(failure.code, failure.msg)
    return buf


def read_member(handle: Handle, number: int, place: int, size: int) -> bytes:
    """The member of the row at place, which is held for as long."""
    def fill(view: memoryview) -> None:
        request = bytearray(REQUEST.size)
        REQUEST.pack_into(request, 0, number, start_of(view) if size else 0,
                           size, place)
        failure = _abi.Failure()
        if read_many(handle, start_of(request), 1, 1, failure) < 1:
            raise exception(failure.code, failure.msg)

    return _file.filled(size, fill)


def cut(buf: bytearray, sizes: List[int]) -> List[bytes]:
    view, at, pieces = memoryview(buf), 0, []
    for size in sizes:
        pieces.append(bytes(view[at:at + size]))
        at += size
    return pieces
