# SPDX-License-Identifier: Apache-2.0
"""A batch whose memory is the library's.

Nothing is copied: contents are memoryviews of what was read.  They are slices of
one view of all memory, at their addresses; whoever holds one of them holds the
Room that view is of, and when that goes, the library gets the batch back."""

from __future__ import annotations

import ctypes
import warnings
from array import array
from functools import cached_property
from itertools import accumulate
from typing import Any, Iterable, Iterator, List, Sequence, Set, Tuple

from . import _abi
from ._abi import lib
from ._errors import checked
from ._meant import tell_meant, tell_unlabelled
from ._rows import Handle, Rows
from ._sample import raw, text, without_dot

NO_LABEL = -1
# Whether somebody was told of samples that only fill a step up.
_told: List[bool] = []


def suffixes_of(given: Iterable[str]) -> Tuple[str, ...]:
    """As they were given, but what is no suffix is said here, and not where one
    is looked for and not found; check_options() says the rest."""
    if isinstance(given, (str, bytes)):
        raise TypeError("suffixes are a list, not one string")
    return tuple(map(_real_suffix, given))


def _real_suffix(given: str) -> str:
    if not isinstance(given, str):
        raise TypeError(f"suffix {given!r}: wanted str, not "
                        f"{type(given).__name__}")
    return given


def leave_out(suffix: str) -> str:
    """What to type where samples lack it, such as a JSON of all pictures' boxes
    that lies among them."""
    return (f"choice=hpdsl.Choice(ds, include=['*.{suffix}']) leaves them out"
            if suffix else "a Choice leaves them out")


def check_options(handle: Handle, chosen: Any, suffixes: Sequence[str],
                  **others: Any) -> None:
    """Whether the library would take them for a loader: see
    hpdsl_loader_check().  chosen: of a Choice, or None."""
    names = (ctypes.c_char_p * len(suffixes))(*map(raw, suffixes))
    options = _abi.LoaderOptions(
        choice=chosen and chosen.address, suffixes=ctypes.addressof(names),
        n_suffixes=len(names), **others)
    checked(lib.loader_check, handle.address, ctypes.byref(options))


class Wanted:
    """What a loader's batches can be asked for: its suffixes, or, where it was
    given none, any that some of its samples have."""

    def __init__(self, dataset: Any, handle: Handle, choice: Any,
                 suffixes: Sequence[str]) -> None:
        self.suffixes = tuple(map(without_dot, suffixes))
        self._path, self._handle, self._choice = dataset.path, handle, choice
        self._known: Set[str] = set()
        # What nobody has asked a batch for so far.
        self._unused = {"labels", "data"}

    def used(self, what: str) -> None:
        """A batch is asked for its labels, or its data."""
        if what in self._unused:
            self._unused.remove(what)
            tell_meant(self._handle, self._path, self.suffixes, what)
            if what == "labels":
                tell_unlabelled(self._handle, self._path, self._choice)

    def check(self, given: str) -> str:
        """The suffix without its dot.  KeyError: it is none of the loader's;
        UsageError: no sample has it."""
        suffix = without_dot(_real_suffix(given))
        if self.suffixes and suffix not in self.suffixes:
            raise KeyError(f"{given!r}: the loader was given "
                           f"{', '.join(map(repr, self.suffixes))}")
        if not self.suffixes and suffix not in self._known:
            choice = self._choice
            check_options(self._handle, choice and choice.chosen, ("." + suffix,))
            self._known.add(suffix)
        return suffix


# Of a function that is no Python, one that a class can have.
method = ctypes.pythonapi.PyInstanceMethod_New
method.restype, method.argtypes = ctypes.py_object, [ctypes.py_object]


class Hold(int):
    """A batch's address, which is given back when this goes.  By the library
    alone: were there any Python in it, Ctrl-C that comes in this moment would
    be printed and forgotten, as whatever a finalizer raises.  A number, because
    the garbage collector knows nothing of these: it goes when everything that
    refers to it has really gone, behind all finalizers that may still look."""

    __slots__ = ()
    __del__ = method(lib.batch_release)


class Room(ctypes.c_ubyte * (1 << 62)):  # type: ignore[misc]
    """All memory, for as long as a batch is needed.  The library fills batch
    in, and what hold() makes gives it back when this goes."""

    batch: ctypes.c_void_p
    number: int
    _holds: List[Hold]

    @classmethod
    def make(cls, number: int) -> "Room":
        room = cls.from_address(0)
        room.batch, room.number, room._holds = ctypes.c_void_p(), number, []
        return room

    def hold(self) -> None:
        """Made and kept in one go: Ctrl-C between the two would give the batch
        back while it is still to be handed out."""
        address = self.batch.value
        if address is not None and not self._holds:
            self._holds.extend(map(Hold, (address,)))


class Pair:
    """What a loop takes as two, `for data, labels in loader`, whatever else it
    has: that is FIELDS.  Of no kind of its own, as a tuple or a list is, it is
    one thing to those who look into these."""

    __slots__ = ()
    FIELDS: Tuple[str, ...] = ()
    data: Any
    labels: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.labels))

    def __getitem__(self, which: int) -> Any:
        if isinstance(which, int) and 0 <= which < 2:
            return self.labels if which else self.data
        kind = IndexError if isinstance(which, int) else TypeError
        raise kind(f"batch[{which!r}]: [0] is its data and [1] its labels; the "
                   f"rest has names: {', '.join(self.FIELDS)}")


class Batch(Pair):
    """A step's samples, those of this rank.  Unpacked, and as [0] and [1], it is
    two: `for data, labels in loader`.

    epoch, step  where it belongs
    whole        how many of the step's samples count, on all ranks together
    len(batch)   n, the number of samples; the rest are lists of n:
    data         a read-only memoryview of bytes of each sample: its first
                 wanted member; empty if it has none or is bad
    labels       class numbers, -1 without a class
    numbers      of the samples in the dataset
    mask         bools; False: fills the last step up, and does not count
    bad          bools; True: could not be read

    For those who work on all at once:
    buffer       a read-only memoryview of bytes in which all contents are: the
                 memory of a loader with shared=True, of others a copy
    offsets,     arrays of n: the first wanted member of sample i is
    sizes        buffer[offsets[i]:offsets[i] + sizes[i]]; numpy.asarray() takes
                 them, and buffer, without a copy

    Each list is made when it is first asked for.  The memoryviews stay valid for
    as long as they exist, whatever becomes of batch, loader and dataset; the
    memory goes back to the loader when they, their slices and the batch are all
    gone.  To keep contents for long, copy them: bytes(view).
    """

    FIELDS = ("numbers", "mask", "bad", "epoch", "step", "whole", "members",
              "buffer", "offsets", "sizes")

    def __init__(self, room: Room, handle: Handle, wanted: Wanted,
                 mapping: Any = None) -> None:
        self._c = c = _abi.Batch.from_address(room.batch.value or 0)
        self._memory = memoryview(room).cast("B").toreadonly()
        self._handle, self._wanted = handle, wanted
        self._mapping = mapping
        self.epoch: int = c.epoch
        self.step: int = c.step
        self.whole: int = c.whole
        self._n: int = c.n

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[Any]:
        if not _told and not all(self.mask):
            _told.append(True)
            warnings.warn(
                f"epoch {self.epoch}, step {self.step}: {self.mask.count(False)} "
                f"of {len(self)} samples only fill the last step up, and must not "
                "count: batch.mask is False there" + (
                    "; end=\"short\" has none" if any(self.mask) else ""),
                RuntimeWarning, stacklevel=2)
        return super().__iter__()

    def __repr__(self) -> str:
        return (f"<hpdsl.Batch of epoch {self.epoch}, step {self.step}, "
                f"{len(self)} samples>")

    @cached_property
    def data(self) -> List[memoryview]:
        """Of each sample the bytes of its first wanted member."""
        self._wanted.used("data")
        return self._views(self._c.data, self._c.size, self._n)

    @cached_property
    def buffer(self) -> memoryview:
        """All contents, as bytes."""
        at = self._mapping
        if at is None:
            return memoryview(b"".join(self.data))
        return self._memory[at.base:at.base + at.size]

    @cached_property
    def offsets(self) -> array[int]:
        """Where in buffer each sample's first wanted member begins."""
        if self._mapping is None:
            return array("Q", [0, *accumulate(self.sizes[:-1])])
        base = self._mapping.base
        # What has no bytes is nowhere.
        return array("Q", [a - base if a else 0 for a in self._array(
            self._c.data, self._n, "Q", 8)])

    @cached_property
    def sizes(self) -> array[int]:
        """Bytes of each sample's first wanted member."""
        return array("Q", self._array(self._c.size, self._n, "Q", 8))

    @cached_property
    def labels(self) -> List[int]:
        """Class number of each sample, -1 without a class."""
        self._wanted.used("labels")
        # HPDSL_NO_LABEL is -1 in 32 bits.
        return self._array(self._c.label, self._n, "i", 4)

    @cached_property
    def numbers(self) -> List[int]:
        """Number of each sample in the dataset."""
        return self._array(self._c.number, self._n, "Q", 8)

    @cached_property
    def mask(self) -> List[bool]:
        """Of each sample whether it counts."""
        return self._array(self._c.mask, self._n, "?", 1)

    @cached_property
    def bad(self) -> List[bool]:
        """Of each sample whether it could not be read."""
        return self._array(self._c.bad, self._n, "?", 1)

    def columns(self) -> Tuple[array[int], array[int], array[int],
                               array[int]]:
        """bad, labels, numbers and mask as arrays, each in one call: nothing is
        done of every sample."""
        c, n = self._c, self._n
        return (self._column(c.bad, n, "B"), self._column(c.label, n, "i"),
                self._column(c.number, n, "Q"), self._column(c.mask, n, "B"))

    def members(self, suffix: str) -> List[memoryview]:
        """Of each sample the first member with this suffix, empty where it has
        none or is bad.  KeyError if it is not among the suffixes that the loader was
        given; a loader that was given none looks every name up, which takes
        some microseconds a member, and raises UsageError if none of its samples
        has one."""
        first, views = self._first, self._member_views
        suffix, given = self._wanted.check(suffix), self._wanted.suffixes
        if not given:
            return self._by_name(suffix)
        k = given.index(suffix)
        return [views[at + k] for at in first[:-1]]

    @cached_property
    def _first(self) -> List[int]:
        return self._array(self._c.first, self._n + 1, "Q", 8)

    @cached_property
    def _member_views(self) -> List[memoryview]:
        return self._views(self._c.member_data, self._c.member_size,
                           self._first[-1])

    def _by_name(self, suffix: str) -> List[memoryview]:
        first, views = self._first, self._member_views
        numbers = self._array(self._c.member_number, first[-1], "Q", 8)
        found = []
        for begin, end in zip(first, first[1:]):
            found.append(self._memory[:0])
            for k in range(begin, end):
                if self._suffix(numbers[k]) == suffix:
                    found[-1] = views[k]
                    break
        return found

    def _suffix(self, member: int) -> str:
        rows = Rows(lib.member_rows, self._handle, member)
        path = rows.member().name
        return text(path[lib.dataset_key_length(self._handle.address, path,
                                                len(path)) + 1:])

    def _array(self, address: int, n: int, kind: Any, size: int
               ) -> List[Any]:
        return self._memory[address:address + n * size].cast(kind).tolist()

    def _column(self, address: int, n: int, kind: str) -> array[int]:
        made: array[int] = array(kind)
        made.frombytes(self._memory[address:address + n * made.itemsize])
        return made

    def _views(self, data: int, size: int, n: int) -> List[memoryview]:
        memory = self._memory
        return [memory[a:a + s] for a, s in zip(self._array(data, n, "Q", 8),
                                                self._array(size, n, "Q", 8))]
