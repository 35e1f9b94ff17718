# SPDX-License-Identifier: Apache-2.0
"""Samples by their keys, and members by their paths, in the index."""

from __future__ import annotations

import ctypes
import errno
from array import array
from typing import List, Optional, Set

from . import _abi
from ._abi import lib
from ._errors import checked, exception
from ._rows import Handle, layouts_of
from ._sample import Path, raw

# Samples in which the suffixes of keys are looked for, and how many at once.
_LOOK, _TOGETHER = 1 << 17, 1 << 13


def find(handle: Handle, path: Path) -> _abi.Member:
    m, name = _abi.Member(), raw(path)
    checked(lib.member_find, handle.address, name, len(name), ctypes.byref(m))
    return m


def find_or_none(handle: Handle, path: Path) -> Optional[_abi.Member]:
    """For who asks whether it is there, which may be often: nobody looks for
    what is near to it."""
    m, name = _abi.Member(), raw(path)
    code = lib.member_find(handle.address, name, len(name), ctypes.byref(m),
                           None)
    if code == -errno.ENOENT:
        return None
    return m if code == 0 else find(handle, path)


def _next_sample(handle: Handle, path: bytes, m: _abi.Member) -> List[int]:
    """The next one that has this path, too, as m has it: one or none."""
    found, failure = _abi.Member.from_buffer_copy(m), _abi.Failure()
    while found.sample == m.sample:
        code = lib.member_next(handle.address, path, len(path),
                               found.number, ctypes.byref(found),
                               ctypes.byref(failure))
        if code == -errno.ENOENT:
            return []
        if code < 0:
            raise exception(failure.code, failure.msg)
    return [found.sample]


def numbers_of(handle: Handle, key: bytes, suffixes: Set[bytes]) -> List[int]:
    """Of the samples of this key, one or two for each suffix: tars of others
    may have it more than once, with other suffixes or with the same."""
    sample, found = _abi.Sample(), set()
    for suffix in suffixes:
        m = find_or_none(handle, key + suffix)
        if m is not None:
            found.add(m.sample)
            found.update(_next_sample(handle, key + suffix, m))
    # What is behind the key may have a dot, so that it is none here.
    for number in list(found):
        checked(lib.sample_get, handle.address, number, ctypes.byref(sample))
        if ctypes.string_at(sample.key, sample.key_len) != key:
            found.remove(number)
    return sorted(found)


def suffixes_in(handle: Handle, samples: int) -> Set[bytes]:
    """What may follow a key, dots included, in a dataset of so many samples."""
    found: Set[str] = set()
    some = range(0, samples, -(-samples // _LOOK) or 1)
    for at in range(0, len(some), _TOGETHER):
        for layout in layouts_of(handle, array("Q", some[at:at + _TOGETHER]))[1]:
            found.update(layout.suffixes)
    known = {raw("." + suffix) for suffix in found}
    if "" in found:
        known.add(b"")
    return known
