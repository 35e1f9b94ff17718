# SPDX-License-Identifier: Apache-2.0
"""Which files the class folders of a dataset have, and in which order: by
torchvision's rules, without a string for each of them.

A million files are eight bytes each, in memory that children of a fork, and
processes that multiprocessing starts, share."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from array import array
from bisect import bisect_right
from collections import abc
from itertools import repeat
from multiprocessing import context
from operator import index
from typing import (Any, Callable, Container, Iterator, List, NamedTuple, Optional,
                    Sequence, Tuple, Union)

from . import _abi
from ._abi import lib
from ._dataset import Dataset, raw, text
from ._errors import checked
from ._lend import File

# Paths are asked for so many at a time, or bytes; a path is shorter.
_MANY, _ROOM = 4096, 1 << 18
_FOLDER = struct.Struct("=QQQQ?7x")
assert _FOLDER.size == ctypes.sizeof(_abi.Folder)

Valid = Callable[[str], bool]


class Run(NamedTuple):
    """A class folder: its name, and where its files begin and end among
    all."""

    name: str
    first: int
    end: int


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
        self._c = _abi.Folders.from_address(ret.value)

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

    def __del__(self, free=lib.folders_free) -> None:
        if self.address is not None:
            free(self.address)


class Listing:
    """The files of class folders, one class behind the other, in torchvision's
    order.

    dataset  what they are members of
    root     path of the folder as it was given; files' paths begin with it
    folder   the same in the dataset; "": all of it
    runs     a Run for each class folder, in the order of their names

    Never changes; any number of threads may use it.
    """

    def __init__(self, dataset: Dataset, root: str, folder: str,
                 runs: List[Run], numbers: memoryview,
                 extensions: Optional[Tuple[str, ...]] = None) -> None:
        self.dataset, self.root, self.folder = dataset, root, folder
        self.runs, self.numbers = runs, numbers
        # With which it can be made again; None: nobody knows.
        self._extensions = extensions
        self._before = os.path.join(root, "")
        self._skip = len(folder) + 1 if folder else 0
        self._firsts = [run.first for run in runs]
        self._shared: Optional[File] = None

    def __len__(self) -> int:
        return len(self.numbers)

    def run_of(self, place: int) -> int:
        return bisect_right(self._firsts, place) - 1

    def only(self, names: Container[str]) -> "Listing":
        """The same with these classes alone."""
        kept, runs = array("Q"), []
        for run in self.runs:
            if run.name in names:
                first = len(kept)
                kept.extend(self.numbers[run.first:run.end])
                runs.append(Run(run.name, first, len(kept)))
        return Listing(self.dataset, self.root, self.folder, runs,
                       memoryview(kept))

    # ---- Paths

    def path(self, place: int) -> str:
        handle, m = self.dataset.handle(), _abi.Member()
        checked(lib.member_get, handle.address, self.numbers[place],
                ctypes.byref(m))
        return self.outside(text(m.name))

    def paths(self, places: range) -> Iterator[str]:
        """Many at a time: a fraction of what one by one takes."""
        for first in range(0, len(places), _MANY):
            wanted = array("Q", self.some(places[first:first + _MANY]))
            yield from map(self.outside, paths_of(self.dataset, wanted))

    def some(self, places: range) -> Sequence[int]:
        """Numbers of these members."""
        if places.step == 1:
            return self.numbers[places.start:places.stop]
        return [self.numbers[i] for i in places]

    def outside(self, path: str) -> str:
        """A file's path, of the member's in the dataset."""
        return self._before + path[self._skip:]

    def inside(self, path: str) -> Optional[str]:
        """And back; None: it is not below root."""
        if not path.startswith(self._before):
            return None
        rest = path[len(self._before):]
        return f"{self.folder}/{rest}" if self.folder else rest

    # ---- Elsewhere

    def __reduce__(self):
        if context.get_spawning_popen() is not None:
            return _from_file, (self.dataset, self.root, self.folder,
                                self.runs, self._file(), len(self))
        if self._extensions is not None:
            return list_classes, (self.dataset, self.root, self.folder,
                                  self._extensions)
        return _from_bytes, (self.dataset, self.root, self.folder, self.runs,
                             self.numbers.tobytes())

    def _file(self) -> File:
        """With the numbers, for processes that are being started: once."""
        if self._shared is None:
            file = File(os.memfd_create("hpdsl-files", os.MFD_CLOEXEC))
            with open(file.fd, "wb", closefd=False) as f:
                f.write(self.numbers)
            self._shared = file
        return self._shared

    def __del__(self) -> None:
        file = getattr(self, "_shared", None)
        if file is not None:
            os.close(file.fd)


def paths_of(dataset: Dataset, numbers: array) -> Iterator[str]:
    """Of members, in the dataset."""
    handle, buf = dataset.handle(), ctypes.create_string_buffer(_ROOM)
    at, left = numbers.buffer_info()
    while left:
        n = checked(lib.member_paths, handle.address, at, left, buf, _ROOM)
        yield from text(buf.raw).split("\0", n)[:n]
        at, left = at + 8 * n, left - n


def _from_bytes(dataset: Dataset, root: str, inside: str, runs: List[Run],
                numbers: bytes) -> Listing:
    return Listing(dataset, root, inside, runs, memoryview(numbers).cast("Q"))


def _from_file(dataset: Dataset, root: str, inside: str, runs: List[Run],
               file: File, n: int) -> Listing:
    numbers = memoryview(array("Q"))
    if n:
        numbers = memoryview(mmap.mmap(file.fd, 8 * n, prot=mmap.PROT_READ)
                             ).cast("Q")
    listing = Listing(dataset, root, inside, runs, numbers)
    listing._shared = file
    return listing


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


def list_classes(dataset: Dataset, root: str, inside: str,
                 valid: Union[Sequence[str], Valid, None]) -> Listing:
    """valid: what the paths of files end in once they are in small letters, or
    a function of a path; None: all files.  NotFoundError: there is no such
    folder."""
    if valid is not None and (callable(valid) or not valid or
                              not all(map(_is_plain, valid))):
        return _sieved(list_classes(dataset, root, inside, None), valid)
    folders = _Folders(dataset, inside, valid or ())
    skip = len(inside) + 1 if inside else 0
    parts = [_Part(path[skip:], *others) for path, *others in folders.each()]
    numbers = folders.numbers()
    # What lies in the wanted folder itself is of no class, and comes first.
    if parts and not parts[0].path:
        parts, numbers = _without(parts, numbers)
    if not all(part.utf8 for part in parts):
        parts, numbers = _as_strings(dataset, parts, numbers)
    return Listing(dataset, root, inside, _runs(parts), numbers,
                   None if valid is None else tuple(valid))


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
        whole = Listing(dataset, "", "", [], some)
        named = zip(whole.paths(range(part.n)), some)
        again.extend(number for _, number in sorted(named))
    return made, memoryview(again)


def _sieved(of: Listing, valid: Union[Sequence[str], Valid]) -> Listing:
    """What is valid of it."""
    if not callable(valid):
        suffixes = tuple(valid)

        def valid(path: str) -> bool:
            return path.lower().endswith(suffixes)

    kept, runs = array("Q"), []
    for run in of.runs:
        first = len(kept)
        places = range(run.first, run.end)
        kept.extend(number for path, number in zip(
            of.paths(places), of.numbers[run.first:run.end]) if valid(path))
        runs.append(Run(run.name, first, len(kept)))
    return Listing(of.dataset, of.root, of.folder, runs, memoryview(kept))


# ---- What it looks like


class _Sequence(abc.Sequence):
    """Some of a listing's files."""

    def __init__(self, listing: Listing, labels: Sequence[int],
                 places: Optional[range] = None) -> None:
        # labels: of each of the listing's runs.
        self._listing, self._labels = listing, labels
        self._places = range(len(listing)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return type(self)(self._listing, self._labels, self._places[i])
        return self._at(self._places[index(i)])

    def _at(self, place: int):
        raise NotImplementedError

    def targets(self) -> Iterator[int]:
        """Of all, in their order."""
        places = self._places
        if places.step != 1:
            for place in places:
                yield self._labels[self._listing.run_of(place)]
            return
        for run, label in zip(self._listing.runs, self._labels):
            n = min(run.end, places.stop) - max(run.first, places.start)
            yield from repeat(label, max(0, n))

    def __eq__(self, other) -> bool:
        if isinstance(other, _Sequence):
            if (type(other), other._listing, other._places) == (
                    type(self), self._listing, self._places) and (
                        list(other._labels) == list(self._labels)):
                return True
        elif not isinstance(other, list):
            return NotImplemented
        return len(self) == len(other) and all(
            one == of for one, of in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other) -> list:
        return [*self, *other]

    def __radd__(self, other) -> list:
        return [*other, *self]


class Samples(_Sequence):
    """(path, target) of each file, made when it is asked for.  Cannot be
    changed; slices are of this kind too."""

    def numbers(self) -> array:
        """Of the members in their dataset."""
        return array("Q", self._listing.some(self._places))

    def _at(self, place: int) -> Tuple[str, int]:
        listing = self._listing
        return listing.path(place), self._labels[listing.run_of(place)]

    def __iter__(self) -> Iterator[Tuple[str, int]]:
        return zip(self._listing.paths(self._places), self.targets())

    def __repr__(self) -> str:
        return f"<{len(self)} samples of {self._listing.root!r}>"


class Targets(_Sequence):
    """The target of each file: an int.  Cannot be changed; slices are of this
    kind too; numpy.asarray() of it is fast."""

    def _at(self, place: int) -> int:
        return self._labels[self._listing.run_of(place)]

    def __iter__(self) -> Iterator[int]:
        return self.targets()

    def __array__(self, dtype=None, copy=None):
        import numpy
        runs = self._listing.runs
        every = numpy.repeat(
            numpy.asarray(self._labels, dtype=dtype or "int64"),
            [run.end - run.first for run in runs])
        places = self._places
        if not len(places):
            return every[:0]
        return every[places.start::places.step][:len(places)]

    def __repr__(self) -> str:
        return f"<{len(self)} targets of {self._listing.root!r}>"
