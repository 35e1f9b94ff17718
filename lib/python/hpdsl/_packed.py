# SPDX-License-Identifier: Apache-2.0
"""Class folders of a packed dataset: which files they have, by torchvision's
rules, and what is in them."""

from __future__ import annotations

import ctypes
import struct
from array import array
from typing import (Any, Callable, Iterator, List, NamedTuple, Optional,
                    Sequence, Tuple)

from . import _abi
from ._abi import lib
from ._dataset import Dataset
from ._errors import checked
from ._listing import Files, Listing, Run, Valid, sieve
from ._sample import Path, raw, text

_ROOM = 1 << 18  # bytes of paths that are asked for at a time; one is shorter
_FOLDER = struct.Struct("=QQQQ?7x")
assert _FOLDER.size == ctypes.sizeof(_abi.Folder)


class Packed:
    """What a DatasetFolder is of.

    dataset  a Dataset
    inside   path of the folder in it; "": all of it
    """

    def __init__(self, dataset: Dataset, inside: str) -> None:
        self.dataset, self.inside = dataset, inside
        self.snapshot = None

    def classes(self, root: str, valid: Valid) -> Listing:
        return list_members(self.dataset, root, self.inside, valid)

    def read(self, inside: str, path: Path) -> bytes:
        return self.dataset.read(inside)


class Members(Files):
    """Of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    def path(self, number: int) -> str:
        handle, m = self.dataset.handle(), _abi.Member()
        checked(lib.member_get, handle.address, number, ctypes.byref(m))
        return text(m.name)

    def paths(self, numbers: array[int]) -> Iterator[str]:
        return paths_of(self.dataset, numbers)


def paths_of(dataset: Dataset, numbers: array[int]) -> Iterator[str]:
    """Of members, in the dataset."""
    handle, buf = dataset.handle(), ctypes.create_string_buffer(_ROOM)
    at, left = numbers.buffer_info()
    while left:
        n = checked(lib.member_paths, handle.address, at, left, buf, _ROOM)
        yield from text(buf.raw).split("\0", n)[:n]
        at, left = at + 8 * n, left - n


class _Numbers(ctypes.c_uint64 * (1 << 58)):  # type: ignore[misc]
    """Numbers in somebody's memory, for as long as they are needed; made by
    from_address()."""

    owner: Any = None


class _Folders:
    """The library's."""

    address: Optional[int] = None

    def __init__(self, dataset: Dataset, inside: str,
                 suffixes: Sequence[str]) -> None:
        below, ret = raw(inside), ctypes.c_void_p()
        names = (ctypes.c_char_p * len(suffixes))(*map(raw, suffixes))
        options = _abi.FoldersOptions(
            below, len(below), ctypes.addressof(names) if names else None,
            len(names))
        checked(lib.folders_of, dataset.handle().address,
                ctypes.byref(options), ctypes.byref(ret))
        self.address = ret.value
        self._c = _abi.Folders.from_address(ret.value or 0)

    def each(self) -> Iterator[Tuple[str, int, int, bool]]:
        """Path, first member, members, and whether all is UTF-8."""
        if self._c.n:
            found = ctypes.string_at(self._c.folder,
                                     self._c.n * _FOLDER.size)
            for path, size, first, n, utf8 in _FOLDER.iter_unpack(found):
                yield text(ctypes.string_at(path, size)), first, n, utf8

    def numbers(self) -> memoryview:
        if not self._c.members:
            return memoryview(array("Q"))
        here = _Numbers.from_address(self._c.member)
        here.owner = self
        return memoryview(here).cast("B").cast("Q")[:self._c.members]

    def __del__(self, free: Callable[..., Any] = lib.folders_free) -> None:
        if self.address is not None:
            free(self.address)


# ---- What torchvision finds


class _Part(NamedTuple):
    """A folder that holds files: its path below the wanted one, where they are
    among the numbers, and whether all of it is UTF-8."""

    path: str
    first: int
    n: int
    utf8: bool

    @property
    def name(self) -> str:
        """Of the class."""
        return self.path.partition("/")[0]


def list_members(dataset: Dataset, root: str, inside: str,
                 valid: Optional[Valid]) -> Listing:
    """valid None: all files.  NotFoundError: there is no such folder."""
    if valid is not None and (callable(valid) or not valid or
                              not all(map(_is_plain, valid))):
        return _sieved(list_members(dataset, root, inside, None), sieve(valid))
    folders = _Folders(dataset, inside, valid or ())
    skip = len(inside) + 1 if inside else 0
    parts = [_Part(path[skip:], first, n, utf8)
             for path, first, n, utf8 in folders.each()]
    numbers = folders.numbers()
    # What lies in the wanted folder itself is of no class, and comes first.
    if parts and not parts[0].path:
        parts, numbers = _without(parts, numbers)
    if not all(part.utf8 for part in parts):
        parts, numbers = _as_strings(dataset, parts, numbers)
    return Listing(Members(dataset), root, inside, _runs(parts), numbers,
                   None if valid is None else
                   (list_members, (dataset, root, inside, tuple(valid))))


def _is_plain(suffix: str) -> bool:
    """Whether it is enough to take A to Z for small ones.  Of characters that
    are no ASCII the Kelvin sign alone becomes one."""
    return suffix.isascii() and not set(suffix) & set("k/\0")


def _without(parts: List[_Part], numbers: memoryview
             ) -> Tuple[List[_Part], memoryview]:
    above = parts[0].n
    return ([part._replace(first=part.first - above) for part in parts[1:]],
            numbers[above:])


def _runs(parts: List[_Part]) -> List[Run]:
    runs: List[Run] = []
    for part in parts:
        first = part.first
        if runs and runs[-1].name == part.name:
            first = runs.pop().first
        runs.append(Run(part.name, first, part.first + part.n))
    return runs


def _as_strings(dataset: Dataset, parts: List[_Part], numbers: memoryview
                ) -> Tuple[List[_Part], memoryview]:
    """Bytes that are no UTF-8 have another place in the order of strings than
    in that of bytes."""
    again, made = array("Q"), []
    for part in sorted(parts, key=lambda part: (part.name, part.path)):
        some = numbers[part.first:part.first + part.n]
        made.append(part._replace(first=len(again)))
        if part.utf8:
            again.extend(some)
            continue
        named = zip(paths_of(dataset, array("Q", some)), some)
        again.extend(number for _, number in sorted(named))
    return made, memoryview(again)


def _sieved(of: Listing, valid: Callable[[str], bool]) -> Listing:
    """What is valid of it."""
    kept, runs = array("Q"), []
    for run in of.runs:
        first = len(kept)
        places = range(run.first, run.end)
        kept.extend(number for path, number in zip(
            of.paths(places), of.numbers[run.first:run.end]) if valid(path))
        runs.append(Run(run.name, first, len(kept)))
    return Listing(of.files, of.root, of.folder, runs, memoryview(kept))
