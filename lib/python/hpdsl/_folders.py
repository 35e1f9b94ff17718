# SPDX-License-Identifier: Apache-2.0
"""The folders of a dataset, which its index does not have: made from it when
they are first asked for."""

from __future__ import annotations

import ctypes
import os
import stat
from ctypes import (POINTER, Structure, c_char_p, c_int, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from typing import Iterator, NamedTuple, Optional

from ._abi import lib
from ._dataset import Dataset, raw, text
from ._errors import checked, fail
from . import _abi

_P = c_void_p
_shared = ctypes.CDLL(lib.path)


class _Entry(Structure):
    _fields_ = [("number", c_uint64), ("parent", c_uint64), ("size", c_uint64),
                ("mtime", c_int64), ("mtime_nsec", c_uint32),
                ("mode", c_uint32), ("member", c_uint64), ("name", c_void_p),
                ("name_len", c_size_t)]


def _function(name, result, *arguments):
    function = getattr(_shared, "hpdsl_snapshot_" + name)
    function.restype, function.argtypes = result, arguments
    return function


_of = _function("of", c_int, _P, _P, POINTER(_P), _P)
_close = _function("close", None, _P)
_lookup = _function("lookup", c_int, _P, c_char_p, c_size_t, _P, _P)
_readdir = _function("readdir", c_int64, _P, c_uint64, _P, _P, c_size_t, _P)


class Entry(NamedTuple):
    name: str
    folder: bool
    size: int
    mode: int
    mtime_ns: int


class Names:
    def __init__(self, ds: Dataset) -> None:
        ret = c_void_p()
        self.address: Optional[int] = None
        checked(_of, ds.handle().address, None, ctypes.byref(ret))
        self.address, self.pid = ret.value, os.getpid()

    def folder(self, path: str) -> Optional[int]:
        """Its number; None: there is no such folder."""
        e, name = _Entry(), raw(path)
        failure = _abi.Failure()
        code = _lookup(self.address, name, len(name), ctypes.byref(e),
                       ctypes.addressof(failure))
        if code == -2:
            return None
        if code < 0:
            fail(failure)
        return e.number if stat.S_ISDIR(e.mode) else None

    def inside(self, folder: int) -> Iterator[Entry]:
        cursor, some = c_uint64(), (_Entry * 256)()
        while True:
            failure = _abi.Failure()
            n = _readdir(self.address, folder, ctypes.byref(cursor), some, 256,
                         ctypes.addressof(failure))
            if n < 0:
                fail(failure)
            if not n:
                return
            for e in some[:n]:
                yield Entry(text(ctypes.string_at(e.name, e.name_len)),
                            stat.S_ISDIR(e.mode), e.size, e.mode,
                            e.mtime * 10**9 + e.mtime_nsec)

    def __del__(self, close=_close, getpid=os.getpid) -> None:
        if self.address is not None and self.pid == getpid():
            close(self.address)
