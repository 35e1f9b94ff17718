# SPDX-License-Identifier: Apache-2.0
"""A dataset, map style: samples by number or key, members by path."""

from __future__ import annotations

import ctypes
import errno
import io
import operator
import os
import struct
from array import array
from typing import (Any, Dict, ItemsView, Iterable, KeysView, List,
                    NamedTuple, NoReturn, Optional, Set, Tuple, Union, ValuesView)

from . import _abi, _file
from ._abi import lib
from ._errors import (DiffersError, NotFoundError, RangeError, UsageError,
                      checked, exception)

THREADS_MOST = 4096
# Samples in which the suffixes of keys are looked for, and how many at once.
_KEYS_LOOK, _KEYS_TOGETHER = 1 << 17, 1 << 13

Path = Union[str, bytes, "os.PathLike[str]"]


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
        return self.all[0][1] if self.all else b""

    def __getitem__(self, suffix: str) -> bytes:
        return self.members[self._suffix(suffix)]

    def __contains__(self, suffix: Any) -> bool:
        return suffix in self.members or (
            isinstance(suffix, str) and without_dot(suffix) in self.members)

    def get(self, suffix: str, default: Any = None) -> Any:
        return self[suffix] if suffix in self else default

    def keys(self) -> KeysView[str]:
        """The suffixes, in stored order."""
        return self.members.keys()

    def values(self) -> ValuesView[bytes]:
        return self.members.values()

    def items(self) -> ItemsView[str, bytes]:
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
                       f"there are {', '.join(map(repr, self.members))}")

    def open(self, suffix: str) -> io.BytesIO:
        """The content of that member as a file; f.name is its path.  It is in
        memory, and verified: nothing is copied."""
        suffix = self._suffix(suffix)
        path = f"{self.key}.{suffix}" if suffix else self.key
        return _file.ContentFile(self.members[suffix], path)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{s}: {len(b)} bytes" for s, b in self.all)
        return f"<hpdsl.Sample {self.number} {self.key!r} {{{sizes}}}>"


class Handle:
    """An open dataset of the library, closed when nobody needs it any more,
    but not by a child: what it has was copied at the fork, locks included."""

    def __init__(self, path: bytes, flags: int = 0) -> None:
        ret = ctypes.c_void_p()
        self.address = None
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

    def __del__(self, close=lib.close, getpid=os.getpid) -> None:
        if self.address is not None and self.pid == getpid():
            close(self.address)


class Rows:
    """Samples and members of them, which are surely the opened index's; they
    are no more when this is gone."""

    def __init__(self, function, handle: Handle, *wanted) -> None:
        self.address = None
        ret = ctypes.c_void_p()
        checked(function, handle.address, *wanted, ctypes.byref(ret))
        self.address = ret.value

    def member(self) -> _abi.Member:
        """The first one of the first sample."""
        at = _abi.Rows.from_address(self.address).member
        return _abi.Member.from_address(at)

    def __del__(self, free=lib.rows_free) -> None:
        free(self.address)


class _Layout(NamedTuple):
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
_ROWS = struct.Struct(
    _some(_abi.Sample, "number", "label", "key", "key_len").format + "QQ")
_MEMBER = _some(_abi.Member, "number", "generated", "size", "path", "path_len")
_REQUEST = _some(_abi.Request, "member", "buf", "room", "row")
_bytes_at = ctypes.string_at
assert (_ROWS.size == ctypes.sizeof(_abi.Rows) and
        _abi.Rows.n.offset == _ROWS.size - 8)


class Dataset:
    """A packed dataset, or a stage directory.

    len(ds) is its number of samples, ds[i] reads sample i (0 .. len - 1;
    negative numbers count from the end), ds[i:j] and ds[[i, j, k]] several,
    ds.read(path) one member.  Checksums are verified whenever something is read.

    ds["class/key"] is a sample by its key, as is a key in the place of any
    number; "class/key" in ds asks for one.  It is looked up in the index, once
    with each suffix that the samples have.  These are found when the first key
    is asked for, in 131,072 samples at the most, which takes up to a second; in
    a larger dataset they are taken at equal distances, and a sample of which
    all suffixes are in none of them is not found by its key.
    TypeError: it is the path of a member, which ds.read() takes; NotFoundError:
    no sample has this key; UsageError: two samples have it.

    Any number of threads may use it.  It goes to other processes by its path:
    pickled, and after a fork, it is opened anew, and must be the same pack.
    Usable with `with`; once closed, it raises ValueError.

    ds.shuffled says if its samples were shuffled when they were packed; it is
    False, too, where nobody knows.

    The index is mapped: if somebody cuts it short, look-ups end in SIGBUS, and
    reading is an error.  copy=True reads it into memory instead.

    A stage directory has to belong, and its state file too, to the caller or
    to root, else it is a SystemFailure; foreign_owner=True takes anybody's.
    What it has not got comes from the job's other nodes, where they serve,
    else from the origin; peers=False: from the origin.

    For PyTorch's DataLoader it is hpdsl.torch.Samples(ds), and in the place of
    one hpdsl.torch.Loader(ds).

    Raises NotOursError, CorruptError, TooNewError, ChangedError, and
    SystemFailure or a kind of it, such as NotFoundError, a FileNotFoundError,
    or RangeError, an IndexError.
    """

    def __init__(self, path: Path, *, copy: bool = False,
                 foreign_owner: bool = False, peers: bool = True) -> None:
        if not raw(path):
            raise UsageError("a dataset without a name")
        self.path = os.path.abspath(text(raw(path)))
        self._flags = ((_abi.OPEN_COPY if copy else 0) |
                       (_abi.OPEN_FOREIGN_OWNER if foreign_owner else 0) |
                       (0 if peers else _abi.OPEN_NO_PEERS))
        self._handle: Optional[Handle] = Handle(raw(self.path), self._flags)
        self._patience: Optional[float] = None
        self._pack: Optional[str] = None
        self._class_names: Optional[List[str]] = None
        self._known_suffixes: Optional[Set[bytes]] = None
        n = _abi.Counts()
        lib.count(self._handle.address, ctypes.byref(n))
        self.counts = Counts(n.samples, n.members, n.chunks, n.classes,
                             n.bytes, bytes(n.dataset_id).hex())
        self.shuffled = bool(n.shuffled)

    # ---- Open, closed, elsewhere

    def handle(self) -> Handle:
        """For those who call the library: keep it as long as it is in use."""
        handle = self._handle
        if handle is None:
            raise ValueError(f"{self.path}: the dataset is closed")
        if handle.pid != os.getpid():
            handle = self._reopen(handle)
        return handle

    def _reopen(self, before: Handle) -> Handle:
        self._handle = handle = self._anew(before)
        return handle

    def _anew(self, before: Handle) -> Handle:
        handle = Handle(raw(self.path), self._flags)
        if handle.digest() != before.digest():
            raise DiffersError(f"{self.path}: another pack than before the "
                               "fork")
        if self._patience is not None:
            lib.patience(handle.address, self._patience)
        return handle

    def _here(self, before: Handle) -> Handle:
        """For a file, after a fork: the handle that this process has, or one
        of the file's own where the dataset is closed."""
        return self.handle() if self._handle else self._anew(before)

    def close(self) -> None:
        """What still uses it, such as a loader, keeps it open for itself."""
        self._handle = None

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __reduce__(self):
        return _again, (self.path, self.pack, self._patience, self._flags)

    def __repr__(self) -> str:
        return f"<hpdsl.Dataset {self.path!r}, {len(self)} samples>"

    @property
    def pack(self) -> str:
        """Identifies the pack, numbers of the samples included: 32 hex digits,
        for which the whole index is read once.  The dataset id,
        counts.dataset_id, is the same for every pack of the same files."""
        if self._pack is None:
            self._pack = self.handle().pack()
        return self._pack

    def patience(self, seconds: float) -> None:
        """How long a read waits for a chunk that is coming to a stage
        directory before it goes to the origin; 300 unless set."""
        if not seconds >= 0:
            raise UsageError(f"patience of {seconds} seconds")
        lib.patience(self.handle().address, seconds)
        self._patience = seconds

    def sources(self) -> Sources:
        ret = _abi.Sources()
        lib.sources(self.handle().address, ctypes.byref(ret))
        return Sources._of(ret)

    # ---- What there is

    def __len__(self) -> int:
        return self.counts.samples

    @property
    def class_names(self) -> List[str]:
        """Of each class: class_names[label]."""
        if self._class_names is None:
            handle, name = self.handle(), ctypes.c_char_p()
            names = []
            for label in range(self.counts.classes):
                checked(lib.class_name, handle.address, label,
                        ctypes.byref(name))
                names.append(text(name.value or b""))
            self._class_names = names
        return self._class_names

    @property
    def labels(self) -> array:
        """Class number of each sample, -1 without a class; a new array('i')
        of len(ds), from the index alone."""
        handle, ret = self.handle(), array("i", bytes(4 * len(self)))
        checked(lib.sample_labels, handle.address, 0, len(self),
                ret.buffer_info()[0])
        return ret

    def key(self, number: int) -> str:
        """Key of a sample."""
        handle, sample = self.handle(), _abi.Sample()
        checked(lib.sample_get, handle.address, self._number(number),
                ctypes.byref(sample))
        return text(ctypes.string_at(sample.key, sample.key_len))

    def members(self, number: int) -> List[Member]:
        """All members of a sample, those that the packer made too."""
        handle, sample, m = self.handle(), _abi.Sample(), _abi.Member()
        checked(lib.sample_get, handle.address, self._number(number),
                ctypes.byref(sample))
        found = []
        for k in range(sample.members):
            checked(lib.member_get, handle.address, sample.first_member + k,
                    ctypes.byref(m))
            found.append(_member(m))
        return found

    def find(self, path: Path) -> Member:
        """The member of this path; NotFoundError if there is none."""
        return _member(self._find(self.handle(), path))

    def _find_or_none(self, handle: Handle, path: Path
                      ) -> Optional[_abi.Member]:
        """For who asks whether it is there, which may be often: nobody looks
        for what is near to it."""
        m, name = _abi.Member(), raw(path)
        code = lib.member_find(handle.address, name, len(name),
                               ctypes.byref(m), None)
        if code == -errno.ENOENT:
            return None
        return m if code == 0 else self._find(handle, path)

    @staticmethod
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

    def _find(self, handle: Handle, path: Path) -> _abi.Member:
        m, name = _abi.Member(), raw(path)
        checked(lib.member_find, handle.address, name, len(name),
                ctypes.byref(m))
        return m

    # ---- Reading

    def read(self, path: Path) -> bytes:
        """The content of the member of this path."""
        handle = self.handle()
        name = raw(path)
        rows = Rows(lib.path_rows, handle, name, len(name))
        m = rows.member()
        return _read_member(handle, m.number, ctypes.addressof(m), m.size)

    def open(self, member: Union[Path, Member], mode: str = "rb",
             buffering: int = -1, encoding: Optional[str] = None,
             errors: Optional[str] = None, newline: Optional[str] = None
             ) -> Union[io.BufferedIOBase, io.RawIOBase, io.TextIOWrapper]:
        """The member of this path, or one of members(), as a file for reading,
        seekable; f.name is its path, f.size its bytes.  Other arguments are
        those of the built-in open(), but for the mode: "rb" gives what has the
        methods of an io.BufferedReader, "r" an io.TextIOWrapper.  buffering:
        the buffer's bytes; -1: 128 KiB at most; 0: an io.RawIOBase, whose
        reads are those of the chunk.

        A member of up to 1 MiB is verified before anything of it is handed
        over.  A larger one is when read() has it whole, and when it is read
        from the start to the end in sequence, before the end is told; other
        parts of it are not.

        The file keeps the dataset open for itself.  After a fork it goes on,
        pickled it is opened anew, at the same position, if it is one of bytes.

        NotFoundError: there is no such member; UsageError: not for reading;
        CorruptError, SystemFailure: from reads."""
        _file.check(mode, buffering)
        raw_file = self._raw_file(member)
        return _file.opened(raw_file, "rb" if "b" in mode else "r", buffering,
                            encoding, errors, newline)

    def _raw_file(self, member: Union[Path, Member]) -> "_file.MemberFile":
        handle = self.handle()
        if not isinstance(member, Member):
            name = raw(member)
            rows = Rows(lib.path_rows, handle, name, len(name))
            return _file.MemberFile(self, handle, rows)
        rows = Rows(lib.member_rows, handle, member.number)
        if text(rows.member().name) != member.path:
            raise UsageError(f"{self.path}: member {member.number} is not "
                             f"{member.path!r}: it is another dataset's")
        return _file.MemberFile(self, handle, rows)

    def _open_member(self, number: int, buffering: int
                     ) -> Union[io.BufferedIOBase, io.RawIOBase]:
        handle = self.handle()
        rows = Rows(lib.member_rows, handle, number)
        return _file.opened(_file.MemberFile(self, handle, rows), "rb",
                            buffering, None, None, None)

    def __getitem__(self, number: Union[int, slice, Path, Iterable[int]]):
        if isinstance(number, slice):
            return self.read_many(range(*number.indices(len(self))))
        if type(number) is not int and (
                isinstance(number, (list, range, array)) or
                getattr(number, "ndim", 0) == 1):
            return self.read_many(_listed(number))
        handle = self.handle()
        rows = Rows(lib.sample_rows, handle, self._number(number))
        layout = _layout(_ROWS.unpack(_bytes_at(rows.address, _ROWS.size)))
        return self._made(layout, self._read_sample(handle, rows, layout))

    def read_many(self, numbers: Iterable[int], threads: int = 0
                  ) -> List[Sample]:
        """Reads samples in the order in which they lie in the chunks, with
        that many threads (0: one for each core), and returns them in the
        order of numbers."""
        if not 0 <= threads <= THREADS_MOST:
            raise UsageError(f"{threads} threads: {THREADS_MOST} at most")
        handle = self.handle()
        rows, layouts = self._layouts(handle, numbers)
        wanted = [w for layout in layouts for w in layout.wanted]
        contents = _cut(self._read_members(handle, rows, wanted, threads),
                        [size for _, _, size in wanted])
        made, at = [], 0
        for layout in layouts:
            end = at + len(layout.wanted)
            made.append(self._made(layout, contents[at:end]))
            at = end
        return made

    def _read_one_member(self, numbers: Iterable[int], suffix: Optional[str]
                         ) -> Tuple[bytearray, List[int], List[int],
                                    List[Tuple[int, str]]]:
        """For hpdsl.torch: of each sample the member with this suffix, or with
        None the first one, nothing where there is none.  Returns all contents,
        one behind the other and maybe more bytes, their sizes, labels, and the
        numbers and keys of those that have none."""
        handle = self.handle()
        wanted, sizes, labels, lacking = [], [], [], []
        rows, layouts = self._layouts(handle, numbers)
        for layout in layouts:
            labels.append(layout.label)
            sizes.append(0)
            for k, name in enumerate(layout.suffixes):
                if suffix is None or name == suffix:
                    wanted.append(layout.wanted[k])
                    sizes[-1] = layout.wanted[k][2]
                    break
            else:
                lacking.append((layout.number, layout.key))
        return (self._read_members(handle, rows, wanted, 0), sizes, labels,
                lacking)

    def __contains__(self, key: Path) -> bool:
        return bool(self._numbers_of(raw(key)))

    def _of_key(self, key: Path) -> int:
        found = self._numbers_of(raw(key))
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{self.path}: samples {' and '.join(map(str, found))} have "
                f"the key {key!r}: wanted ds[{found[0]}] or ds[{found[1]}]")
        try:
            m = self._find(self.handle(), key)
        except NotFoundError as e:
            raise NotFoundError(f"{self.path}: no sample has the key {key!r}: "
                                f"{e}", e.code) from None
        raise TypeError(
            f"{key!r}: that is a member, of sample {m.sample} "
            f"{self.key(m.sample)!r}: a member by its path is ds.read({key!r}) "
            f"or ds.open({key!r})")

    def _numbers_of(self, key: bytes) -> List[int]:
        """Of the samples of this key, one or two for each suffix: tars of others
        may have it more than once, with other suffixes or with the same."""
        handle, sample, found = self.handle(), _abi.Sample(), set()
        for suffix in self._suffixes(handle):
            m = self._find_or_none(handle, key + suffix)
            if m is not None:
                found.add(m.sample)
                found.update(self._next_sample(handle, key + suffix, m))
        # What is behind the key may have a dot, so that it is none here.
        for number in list(found):
            checked(lib.sample_get, handle.address, number,
                    ctypes.byref(sample))
            if ctypes.string_at(sample.key, sample.key_len) != key:
                found.remove(number)
        return sorted(found)

    def _suffixes(self, handle: Handle) -> Set[bytes]:
        """What may follow a key, dots included."""
        if self._known_suffixes is None:
            found: Set[str] = set()
            some = range(0, len(self), -(-len(self) // _KEYS_LOOK) or 1)
            for at in range(0, len(some), _KEYS_TOGETHER):
                _, layouts = self._layouts(handle, some[at:at + _KEYS_TOGETHER])
                for layout in layouts:
                    found.update(layout.suffixes)
            self._known_suffixes = {raw("." + suffix) for suffix in found}
            if "" in found:
                self._known_suffixes.add(b"")
        return self._known_suffixes

    def _number(self, number: Union[int, Path]) -> int:
        try:
            n = operator.index(number)
        except TypeError as e:
            if isinstance(number, (str, bytes, os.PathLike)):
                return self._of_key(number)
            raise TypeError(
                f"{number!r}: wanted the number of a sample, as ds[0], or its "
                "key, or a list of them") from e
        if n < 0:
            n += len(self)
        if not 0 <= n < len(self):
            raise RangeError(f"{self.path}: no sample {number}, there are "
                             f"{len(self)}", -errno.ERANGE)
        return n

    def _layouts(self, handle: Handle, numbers: Iterable[int]
                 ) -> Tuple[Rows, List[_Layout]]:
        there = len(self)
        wanted = array("Q", [
            n if type(n) is int and 0 <= n < there else self._number(n)
            for n in numbers])
        rows = Rows(lib.samples_rows, handle, wanted.buffer_info()[0],
                    len(wanted))
        found = _bytes_at(rows.address, _ROWS.size * len(wanted))
        return rows, [_layout(row) for row in _ROWS.iter_unpack(found)]

    def _made(self, layout: _Layout, contents: List[bytes]) -> Sample:
        label = layout.label
        return Sample(layout.number, layout.key, label,
                      self.class_names[label] if label >= 0 else None,
                      list(zip(layout.suffixes, contents)))

    def _read_sample(self, handle: Handle, rows: Rows, layout: _Layout
                     ) -> List[bytes]:
        if len(layout.wanted) == 1:
            return [_read_member(handle, *layout.wanted[0])]
        return _cut(self._read_members(handle, rows, layout.wanted, 1),
                    [size for _, _, size in layout.wanted])

    @staticmethod
    def _read_members(handle: Handle, rows: Rows,
                      wanted: List[Tuple[int, int, int]], threads: int
                      ) -> bytearray:
        """Members, by number, place of their row, and size; rows are held
        for as long as this takes."""
        buf = bytearray(sum(size for _, _, size in wanted) or 1)
        at = _address(buf)
        requests = bytearray(_REQUEST.size * len(wanted) or 1)
        for k, (member, place, size) in enumerate(wanted):
            _REQUEST.pack_into(requests, k * _REQUEST.size, member, at, size,
                               place)
            at += size
        failure = _abi.Failure()
        n = lib.read_many(handle.address, _address(requests), len(wanted),
                          threads, ctypes.byref(failure))
        if n < len(wanted):
            raise exception(failure.code, failure.msg)
        return buf


def _layout(row: Tuple) -> _Layout:
    sample, label, key, key_len, place, n = row
    suffixes, wanted = [], []
    for number, generated, size, path, length in _MEMBER.iter_unpack(
            _bytes_at(place, n * _MEMBER.size)):
        if not generated:
            suffixes.append(text(_bytes_at(path, length)[key_len + 1:]))
            wanted.append((number, place, size))
        place += _MEMBER.size
    return _Layout(sample, label, text(_bytes_at(key, key_len)),
                   suffixes, wanted)


def _listed(numbers: Any) -> list:
    """Of an array's, too; of a mask samples 0 and 1 would come."""
    listed = numbers.tolist() if hasattr(numbers, "tolist") else list(numbers)
    if any(isinstance(one, bool) for one in listed):
        raise TypeError("wanted numbers of samples, not a mask: "
                        "[n for n, yes in enumerate(mask) if yes]")
    return listed


def _address(buf: Union[bytearray, memoryview]) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buf))


def _read_member(handle: Handle, number: int, place: int, size: int) -> bytes:
    """The member of the row at place, which is held for as long."""
    def fill(view: memoryview) -> None:
        request = bytearray(_REQUEST.size)
        _REQUEST.pack_into(request, 0, number, _address(view) if size else 0,
                           size, place)
        failure = _abi.Failure()
        if lib.read_many(handle.address, _address(request), 1, 1,
                         ctypes.byref(failure)) < 1:
            raise exception(failure.code, failure.msg)

    return _file.filled(size, fill)


def _cut(buf: bytearray, sizes: List[int]) -> List[bytes]:
    view, at, pieces = memoryview(buf), 0, []
    for size in sizes:
        pieces.append(bytes(view[at:at + size]))
        at += size
    return pieces


def _member(m: _abi.Member) -> Member:
    return Member(m.number, m.sample, m.chunk, m.mode, m.generated, m.offset,
                  m.size, m.checksum, m.mtime * 10**9 + m.mtime_nsec,
                  text(m.name))


def _again(path: str, pack: str, patience: Optional[float],
           flags: int) -> Dataset:
    """Opens what was pickled."""
    ds = Dataset(path, copy=bool(flags & _abi.OPEN_COPY),
                 foreign_owner=bool(flags & _abi.OPEN_FOREIGN_OWNER),
                 peers=not flags & _abi.OPEN_NO_PEERS)
    if ds.pack != pack:
        raise DiffersError(f"{path}: another pack than the one that was "
                           "pickled")
    if patience is not None:
        ds.patience(patience)
    return ds
