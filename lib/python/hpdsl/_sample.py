# SPDX-License-Identifier: Apache-2.0
"""What a dataset tells and hands out: counts, members, samples; and names as
text."""

from __future__ import annotations

import io
import os
from array import array
from typing import (Any, Dict, ItemsView, KeysView, List, NamedTuple,
                    NoReturn, Optional, Protocol, SupportsIndex, Tuple, Union,
                    ValuesView)

from . import _abi, _file
from ._called import no_member

Path = Union[str, bytes, "os.PathLike[str]"]

# A sample: its number, or its key.
Number = Union[SupportsIndex, Path]


class _Array(Protocol):
    """Of one dimension: NumPy's, a tensor."""

    @property
    def ndim(self) -> int: ...

    def __len__(self) -> int: ...

    def tolist(self) -> Any: ...


# Several of them.
Numbers = Union[slice, range, List[Any], "array[int]", _Array]


def text(name: bytes) -> str:
    """Names may hold any byte: what is no UTF-8 survives both ways."""
    return name.decode("utf-8", "surrogateescape")


def raw(name: Path) -> bytes:
    name = os.fspath(name)
    return name if isinstance(name, bytes) else name.encode(
        "utf-8", "surrogateescape")


class Counts(NamedTuple):
    """What a dataset has; bytes are those of all members' contents."""

    samples: int
    members: int
    chunks: int
    classes: int
    bytes: int
    dataset_id: str


class Member(NamedTuple):
    """A file that was packed.  offset is that of its first byte in the plain
    tar of its chunk, checksum the XXH3-64 of its content, mtime_ns is in
    nanoseconds since 1970; generated: the packer made it."""

    number: int
    sample: int
    chunk: int
    mode: int
    generated: bool
    offset: int
    size: int
    checksum: int
    mtime_ns: int
    path: str


class Sources(NamedTuple):
    """Where bytes came from, since the dataset was opened; staged: it is a
    stage directory, else the rest is 0.  wait_seconds: for chunks that were
    coming, by all threads.  peer_..: from the job's other nodes, where they
    serve (hpdsl-serve); peer_failed requests went to the origin after all."""

    staged: bool
    local_bytes: int
    origin_bytes: int
    absent_chunks: int
    overtaken_chunks: int
    failed_chunks: int
    wait_seconds: float
    peer_bytes: int
    peer_chunks: int
    peer_reads: int
    peer_failed: int
    hedged: int
    adopted: int

    @classmethod
    def _of(cls, c: _abi.Sources) -> "Sources":
        return cls(*(getattr(c, name) for name in cls._fields))


def without_dot(suffix: str) -> str:
    """As the library takes suffixes: ".jpg" is "jpg"."""
    return suffix[suffix.startswith("."):]


class Sample:
    """A sample and the contents of its members, by their suffixes: sample["jpg"],
    "jpg" in sample, dict(sample), sample.keys(), .values(), .items(), .get().

    number      of the sample in its dataset
    key         path of its members up to the first dot of their base name, or
                the last one, as it was packed
    label       class number, -1 without a class
    class_name  str, None without a class
    members     {suffix: bytes}, in stored order; sample["jpg"] is one of them.
                Of two members of one suffix it has the first
    all         [(suffix, bytes), ..]: every member, in stored order
    data        bytes of the first member

    It is no collections.abc.Mapping, as a DataLoader's default_collate would
    take it for a dict, and drop its label; and `img, label = sample` is an error,
    as it would be two suffixes.  Two of them are equal if they are the same one.
    """

    __slots__ = ("number", "key", "label", "class_name", "members", "all")

    def __init__(self, number: int, key: str, label: int,
                 class_name: Optional[str], all: List[Tuple[str, bytes]]
                 ) -> None:
        self.number = number
        self.key = key
        self.label = label
        self.class_name = class_name
        self.all = all
        self.members: Dict[str, bytes] = dict(all)
        if len(self.members) < len(all):
            self.members = {}
            for suffix, content in all:
                self.members.setdefault(suffix, content)

    @property
    def data(self) -> bytes:
        """Content of the first member, empty where there is none."""
        return self.all[0][1] if self.all else b""

    def __getitem__(self, suffix: str) -> bytes:
        return self.members[self._suffix(suffix)]

    def __contains__(self, suffix: Any) -> bool:
        return suffix in self.members or (
            isinstance(suffix, str) and without_dot(suffix) in self.members)

    def get(self, suffix: str, default: Any = None) -> Any:
        """Content of the member of this suffix, or default where there is none."""
        return self[suffix] if suffix in self else default

    def keys(self) -> KeysView[str]:
        """The suffixes, in stored order."""
        return self.members.keys()

    def values(self) -> ValuesView[bytes]:
        """Their contents, in stored order."""
        return self.members.values()

    def items(self) -> ItemsView[str, bytes]:
        """Suffixes and contents, in stored order."""
        return self.members.items()

    def __len__(self) -> int:
        return len(self.members)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> NoReturn:
        first = next(iter(self.members), "jpg")
        raise TypeError(
            f"sample {self.number} {self.key!r} is not to be unpacked: wanted "
            f"sample[{first!r}], sample.label, or sample.keys() and "
            "sample.items(), of suffixes and bytes")

    def _suffix(self, given: str) -> str:
        if given in self.members:
            return given
        if isinstance(given, str) and without_dot(given) in self.members:
            return without_dot(given)
        raise KeyError(f"sample {self.number} {self.key!r} has no {given!r}: "
                       f"there are {', '.join(map(repr, self.members))}"
                       f"{no_member(given)}")

    def open(self, suffix: str) -> io.BytesIO:
        """The content of that member as a file; f.name is its path.  It is in
        memory, and verified: nothing is copied."""
        suffix = self._suffix(suffix)
        path = f"{self.key}.{suffix}" if suffix else self.key
        return _file.ContentFile(self.members[suffix], path)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{s}: {len(b)} bytes" for s, b in self.all)
        return f"<hpdsl.Sample {self.number} {self.key!r} {{{sizes}}}>"


def member_of(m: _abi.Member) -> Member:
    return Member(m.number, m.sample, m.chunk, m.mode, m.generated, m.offset,
                  m.size, m.checksum, m.mtime * 10**9 + m.mtime_nsec,
                  text(m.name))
