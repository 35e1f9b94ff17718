# SPDX-License-Identifier: Apache-2.0
"""The files of class folders, in torchvision's order, as numbers of what has
them: without a string for each.

A million files are eight bytes each, in memory that children of a fork, and
processes that multiprocessing starts, share."""

from __future__ import annotations

import mmap
import os
from array import array
from bisect import bisect_right
from itertools import repeat
from multiprocessing import context
from operator import index
from typing import (Any, Callable, Container, Iterable, Iterator, List, NamedTuple,
                    Optional, Sequence, Tuple, TypeVar, Union, overload)

from ._lend import File

_MANY = 4096  # paths are asked for so many at a time

# What the paths of files end in once they are in small letters, or a function
# of a path.
Valid = Union[Sequence[str], Callable[[str], bool]]
_T = TypeVar("_T")


class Run(NamedTuple):
    """A class folder: its name, and where its files begin and end among
    all."""

    name: str
    first: int
    end: int


class Files:
    """What has the files of a listing, by numbers."""

    def path(self, number: int) -> str:
        raise NotImplementedError

    def paths(self, numbers: array[int]) -> Iterator[str]:
        """Of many."""
        raise NotImplementedError


class Listing:
    """The files of class folders, one class behind the other, in torchvision's
    order.

    files    what has them
    root     path of the folder as it was given; files' paths begin with it
    folder   path with which those that `files` gives begin; "": none
    runs     a Run for each class folder, in the order of their names
    again    function that makes it again, and its arguments; None: nobody
             knows

    Never changes; any number of threads may use it.
    """

    def __init__(self, files: Files, root: str, folder: str, runs: List[Run],
                 numbers: memoryview,
                 again: Optional[Tuple[Callable[..., Any], Tuple[Any, ...]]] = None
                 ) -> None:
        self.files, self.root, self.folder = files, root, folder
        self.runs, self.numbers = runs, numbers
        self._again = again
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
        return Listing(self.files, self.root, self.folder, runs,
                       memoryview(kept))

    # ---- Paths

    def path(self, place: int) -> str:
        return self.outside(self.files.path(self.numbers[place]))

    def paths(self, places: range) -> Iterator[str]:
        """Many at a time: a fraction of what one by one takes."""
        for first in range(0, len(places), _MANY):
            wanted = array("Q", self.some(places[first:first + _MANY]))
            yield from map(self.outside, self.files.paths(wanted))

    def some(self, places: range) -> Sequence[int]:
        """Numbers of these files."""
        if places.step == 1:
            return self.numbers[places.start:places.stop]
        return [self.numbers[i] for i in places]

    def outside(self, path: str) -> str:
        """A file's path, of the one that `files` gives."""
        return self._before + path[self._skip:]

    def inside(self, path: str) -> Optional[str]:
        """And back; None: it is not below root."""
        if not path.startswith(self._before):
            return None
        rest = path[len(self._before):]
        return f"{self.folder}/{rest}" if self.folder else rest

    # ---- Elsewhere

    def __reduce__(self) -> Tuple[Any, ...]:
        if context.get_spawning_popen() is not None:
            return _from_file, (self.files, self.root, self.folder,
                                self.runs, self._file(), len(self))
        if self._again is not None:
            return self._again
        return _from_bytes, (self.files, self.root, self.folder, self.runs,
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


def _from_bytes(files: Files, root: str, folder: str, runs: List[Run],
                numbers: bytes) -> Listing:
    return Listing(files, root, folder, runs, memoryview(numbers).cast("Q"))


def _from_file(files: Files, root: str, folder: str, runs: List[Run],
               file: File, n: int) -> Listing:
    numbers = memoryview(array("Q"))
    if n:
        numbers = memoryview(mmap.mmap(file.fd, 8 * n, prot=mmap.PROT_READ)
                             ).cast("Q")
    listing = Listing(files, root, folder, runs, numbers)
    listing._shared = file
    return listing


def sieve(valid: Valid) -> Callable[[str], bool]:
    """As a function of a path."""
    if callable(valid):
        return valid
    suffixes = tuple(valid)
    return lambda path: path.lower().endswith(suffixes)


# ---- What it looks like


class _Sequence(Sequence[_T]):
    """Some of a listing's files."""

    def __init__(self, listing: Listing, labels: Sequence[int],
                 places: Optional[range] = None) -> None:
        # labels: of each of the listing's runs.
        self._listing, self._labels = listing, labels
        self._places = range(len(listing)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, i: int) -> _T: ...

    @overload
    def __getitem__(self, i: slice) -> Sequence[_T]: ...

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return type(self)(self._listing, self._labels, self._places[i])
        return self._at(self._places[index(i)])

    def _at(self, place: int) -> _T:
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

    def __eq__(self, other: object) -> bool:
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

    def __add__(self, other: Iterable[Any]) -> List[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> List[Any]:
        return [*other, *self]


class Samples(_Sequence[Tuple[str, int]]):
    """(path, target) of each file, made when it is asked for.  Cannot be
    changed; slices are of this kind too."""

    def numbers(self) -> array[int]:
        """Of what has the files."""
        return array("Q", self._listing.some(self._places))

    def _at(self, place: int) -> Tuple[str, int]:
        listing = self._listing
        return listing.path(place), self._labels[listing.run_of(place)]

    def __iter__(self) -> Iterator[Tuple[str, int]]:
        return zip(self._listing.paths(self._places), self.targets())

    def __repr__(self) -> str:
        return f"<{len(self)} samples of {self._listing.root!r}>"


class Targets(_Sequence[int]):
    """The target of each file: an int.  Cannot be changed; slices are of this
    kind too; numpy.asarray() of it is fast."""

    def _at(self, place: int) -> int:
        return self._labels[self._listing.run_of(place)]

    def __iter__(self) -> Iterator[int]:
        return self.targets()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
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
