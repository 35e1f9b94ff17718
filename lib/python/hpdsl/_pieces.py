# SPDX-License-Identifier: Apache-2.0
"""Members that are read for who names them by path: whole ones together,
parts of large ones by themselves."""

from __future__ import annotations

import ctypes
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._abi import lib
from ._errors import Error, checked, exception
from ._file import SMALL
from ._rows import (REQUEST, Handle, Rows, read_many, read_member, start_of,
                    tell_peers)

Content = Union[bytes, Exception]

_REQUEST_CODE = _abi.Request.code.offset
# Bytes that nobody has seen yet, which may be written to.
_new_bytes = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p,
                               ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi))
_bytes_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(
    ("PyBytes_AsString", ctypes.pythonapi))


class Found(NamedTuple):
    """A member that is to be read; its row is at place as long as there is
    this."""

    handle: Handle
    rows: Rows
    number: int
    place: int
    size: int

    @classmethod
    def of(cls, handle: Handle, rows: Rows) -> "Found":
        m = rows.member()
        return cls(handle, rows, m.number, ctypes.addressof(m), m.size)


class Piece(NamedTuple):
    """What is wanted of it."""

    member: Found
    begin: int
    end: int

    @classmethod
    def of(cls, member: Found, start: Optional[int], end: Optional[int]
           ) -> "Piece":
        """The slice [start:end] of its content."""
        if start is None and end is None:
            return cls(member, 0, member.size)
        begin, stop, _ = slice(start, end).indices(member.size)
        return cls(member, begin, max(begin, stop))

    def is_read_whole(self) -> bool:
        return self.member.size <= SMALL or (
            self.begin == 0 and self.end == self.member.size)


def unread(e: Exception) -> Exception:
    """Readers of zarr take an OSError for a chunk that was never written, and
    give its fill value: what cannot be read is another error."""
    return Error(str(e), getattr(e, "code", 0)) if isinstance(e, OSError) else e


def read(pieces: Sequence[Piece], each: bool = False) -> List[Content]:
    """One call of the library for all of a dataset that are read whole.  each:
    errors are in the places of contents, else the first one is raised."""
    of: Dict[Handle, Dict[int, Found]] = {}
    for p in pieces:
        if p.is_read_whole():
            of.setdefault(p.member.handle, {})[p.member.place] = p.member
    whole: Dict[int, Content] = {}
    for handle, members in of.items():
        whole.update(zip(members, _whole(handle, list(members.values()), each)))
    got: List[Content] = []
    for p in pieces:
        content = whole.get(p.member.place)
        if content is None:
            content = _part(p)
            if isinstance(content, Exception) and not each:
                raise content
        elif isinstance(content, bytes):
            content = content[p.begin:p.end]
        got.append(content)
    return got


def _whole(handle: Handle, members: List[Found], each: bool) -> List[Content]:
    # Each to where it stays: as one, all of it would be touched twice.
    contents: List[Content] = [_new_bytes(None, m.size) for m in members]
    requests = bytearray(REQUEST.size * len(members))
    for k, (m, content) in enumerate(zip(members, contents)):
        REQUEST.pack_into(requests, k * REQUEST.size, m.number,
                           _bytes_at(content), m.size, m.place)
    failure = _abi.Failure()
    n = read_many(handle, start_of(requests), len(members), 0, failure)
    if n == len(members):
        return contents
    if not each:
        raise unread(exception(failure.code, failure.msg))
    for k, m in enumerate(members):
        code = ctypes.c_int.from_buffer(requests,
                                        k * REQUEST.size + _REQUEST_CODE)
        if code.value:
            contents[k] = _alone(m)
    return contents


def _alone(m: Found) -> Content:
    """One that could not be read together with others, for its own error."""
    try:
        return read_member(m.handle, m.number, m.place, m.size)
    except Exception as e:
        return unread(e)


def _part(p: Piece) -> Content:
    size = p.end - p.begin
    content: bytes = _new_bytes(None, size)
    try:
        checked(lib.member_read, p.member.handle.address, p.member.place,
                p.begin, _bytes_at(content), size)
        tell_peers(p.member.handle)
    except Exception as e:
        return unread(e)
    return content
