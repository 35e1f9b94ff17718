# SPDX-License-Identifier: Apache-2.0
"""The snapshot functions of libhpdsl through ctypes, for tests: the library of
the build under test, and nothing of HPDSL's own code but what is asked.  Paths
and names are bytes."""

import ctypes
import os
from ctypes import (Structure, byref, c_bool, c_char, c_char_p, c_int,
                    c_int64, c_size_t, c_uint, c_uint8, c_uint32, c_uint64,
                    c_void_p)

CORRUPT = -10001
COPY = 1
NO_MEMBER = (1 << 64) - 1
PATH_MAX = 4095


class Error(Structure):
    _fields_ = [("code", c_int), ("msg", c_char * 1020)]


class Info(Structure):
    _fields_ = [("entries", c_uint64), ("folders", c_uint64),
                ("files", c_uint64), ("symlinks", c_uint64),
                ("others", c_uint64), ("bytes", c_uint64),
                ("file_bytes", c_uint64), ("digest", c_uint8 * 16),
                ("files_digest", c_uint8 * 16), ("from_dataset", c_bool),
                ("dataset_id", c_uint8 * 16), ("pack", c_uint8 * 16)]


class Entry(Structure):
    _fields_ = [("number", c_uint64), ("parent", c_uint64),
                ("size", c_uint64), ("mtime", c_int64),
                ("mtime_nsec", c_uint32), ("mode", c_uint32),
                ("member", c_uint64), ("name", c_void_p),
                ("name_len", c_size_t)]

    def name_bytes(self):
        got = ctypes.string_at(self.name, self.name_len + 1)
        assert got[-1] == 0 and b"\0" not in got[:-1], got
        return got[:-1]

    def fields(self):
        return (self.number, self.parent, self.size, self.mtime,
                self.mtime_nsec, self.mode, self.member, self.name_bytes())


class Path(Structure):
    _fields_ = [("path", c_char_p), ("len", c_size_t)]


class Failed(Exception):
    def __init__(self, code, msg):
        super().__init__(f"{code}: {msg}")
        self.code, self.msg = code, msg


TOLD = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
lib = ctypes.CDLL(os.path.join(os.environ["BUILD"], "libhpdsl.so.0"))


def declare(name, result, *arguments):
    function = getattr(lib, "hpdsl_snapshot_" + name)
    function.restype, function.argtypes = result, arguments
    return function


# Handles, entries and outputs are passed as plain addresses: that is faster.
_open = declare("open", c_int, c_char_p, c_uint, c_void_p, c_void_p, c_void_p)
_close = declare("close", None, c_void_p)
_info = declare("info", None, c_void_p, c_void_p)
_maps = declare("maps", c_bool, c_void_p, c_void_p)
_stat = declare("stat", c_int, c_void_p, c_uint64, c_void_p, c_void_p)
_lookup = declare("lookup", c_int, c_void_p, c_char_p, c_size_t, c_void_p,
                  c_void_p)
_many = declare("lookup_many", c_int64, c_void_p, c_void_p, c_size_t, c_void_p,
                c_void_p, c_void_p)
_readdir = declare("readdir", c_int64, c_void_p, c_uint64, c_void_p, c_void_p,
                   c_size_t, c_void_p)
_folder = declare("folder", c_int, c_void_p, c_uint64, c_void_p, c_void_p,
                  c_void_p, c_void_p)
_path = declare("path", c_int, c_void_p, c_uint64, c_void_p, c_void_p,
                c_void_p)
_target = declare("target", c_int, c_void_p, c_void_p, c_void_p, c_void_p)
_checksum = declare("checksum", c_int, c_void_p, c_void_p, c_void_p, c_void_p)
_verify = declare("verify", c_int, c_void_p, c_void_p, c_void_p, c_void_p)


class Snapshot:
    """An open snapshot.  What fails raises Failed; lookups of what is not
    there return None."""

    def __init__(self, path, flags=0):
        self.err = Error()
        self.perr = ctypes.addressof(self.err)
        self.entry = Entry()
        self.pentry = ctypes.addressof(self.entry)
        self.buf = ctypes.create_string_buffer(PATH_MAX + 1)
        self.len = c_size_t()
        self.h = None
        handle = c_void_p()
        self._check(_open(os.fsencode(path), flags, None, byref(handle),
                          self.perr))
        self.h = handle.value

    def close(self):
        _close(self.h)
        self.h = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _check(self, code):
        if code < 0:
            assert self.err.code == code, (self.err.code, code)
            msg = self.err.msg
            assert msg and b"\n" not in msg, msg
            raise Failed(code, msg.decode(errors="replace"))
        return code

    def info(self):
        info = Info()
        _info(self.h, byref(info))
        return info

    def maps(self, address):
        return _maps(self.h, address)

    # These three return self.entry, which the next call overwrites.
    def stat(self, number):
        self._check(_stat(self.h, number, self.pentry, self.perr))
        return self.entry

    def lookup(self, path):
        code = _lookup(self.h, path, len(path), self.pentry, self.perr)
        if code == -2:
            return None
        self._check(code)
        return self.entry

    def lookup_many(self, paths):
        """What lookup would return for each, as fields, None or a code."""
        n = len(paths)
        asked = (Path * n)(*((p, len(p)) for p in paths))
        entries, codes = (Entry * n)(), (c_int * n)()
        found = _many(self.h, asked, n, entries, codes, self.perr)
        if found < 0:
            self._check(found)
        out = []
        for entry, code in zip(entries, codes):
            out.append(entry.fields() if code == 0 else
                       None if code == -2 else code)
        assert found == sum(c == 0 for c in codes)
        return out

    def readdir(self, number, room=1024):
        """Fields of what is in a folder, asked for room at a time."""
        entries, cursor = (Entry * room)(), c_uint64(0)
        while True:
            n = self._check(_readdir(self.h, number, byref(cursor), entries,
                                     room, self.perr))
            if n == 0:
                return
            assert n <= room, n
            for i in range(n):
                yield entries[i].fields()

    def folder(self, number):
        first, n, end = c_uint64(), c_uint64(), c_uint64()
        self._check(_folder(self.h, number, byref(first), byref(n), byref(end),
                            self.perr))
        return first.value, n.value, end.value

    def path(self, number):
        self._check(_path(self.h, number, self.buf, byref(self.len),
                          self.perr))
        got = self.buf.raw[:self.len.value + 1]
        assert got[-1] == 0 and b"\0" not in got[:-1], got
        return got[:-1]

    def target(self, number):
        """Of a symbolic link; None of anything else."""
        self.stat(number)
        target = c_void_p()
        code = _target(self.h, self.pentry, byref(target), self.perr)
        if code == -22:
            return None
        self._check(code)
        return ctypes.string_at(target.value)

    def checksum(self, number):
        """Of a file's content; None where it is not known."""
        self.stat(number)
        checksum = c_uint64()
        code = _checksum(self.h, self.pentry, byref(checksum), self.perr)
        if code == -61:
            return None
        self._check(code)
        return checksum.value

    def verify(self):
        """What is wrong with it, [] if nothing is."""
        told = []
        hear = TOLD(lambda _, reason: told.append(reason))
        code = _verify(self.h, ctypes.cast(hear, c_void_p), None, self.perr)
        if code == CORRUPT:
            assert told, self.err.msg
            return told
        self._check(code)
        assert not told, told
        return []

    def answers(self, paths=()):
        """Every question there is, about each entry and about these paths
        too, with its answer: ((what, of), value), where a Failed is its
        code."""
        info = self.info()
        yield "info", tuple(bytes(v) if isinstance(v, ctypes.Array) else v
                            for v in (getattr(info, n) for n, _ in
                                      Info._fields_))
        questions = [lambda n: self.stat(n).fields(), self.path, self.target,
                     self.checksum, self.folder,
                     lambda n: list(self.readdir(n, 7))]
        for number in range(min(info.entries, 1000)):
            for k, question in enumerate(questions):
                try:
                    yield (k, number), question(number)
                except Failed as e:
                    yield (k, number), e
        for path in paths:
            try:
                got = self.lookup(path)
                yield ("lookup", path), got and got.fields()
            except Failed as e:
                yield ("lookup", path), e
        if paths:
            try:
                yield "many", self.lookup_many(paths)
            except Failed as e:
                yield "many", e
