# SPDX-License-Identifier: Apache-2.0
"""A dataset, map style: samples by number or key, members by path."""

from __future__ import annotations

import ctypes
import errno
import io
import operator
import os
from array import array
from typing import (TYPE_CHECKING, Any, Iterable, Iterator, List, Literal,
                    Optional, Set, Tuple, Union, overload)

from . import _abi, _file
from ._abi import lib
from ._called import by_its_names, no_attribute
from ._errors import (DiffersError, NotFoundError, RangeError, UsageError,
                      checked)
from ._keys import find, numbers_of, suffixes_in
from ._place import advised
from ._rows import (ROWS, Handle, Layout, Rows, bytes_at, cut, layout_of,
                    layouts_of, read_member, read_members)
from ._sample import (Counts, Member, Number, Numbers, Path, Sample, Sources,
                      member_of, raw, text)

THREADS_MOST = 4096


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

    @by_its_names("Dataset")
    def __init__(self, path: Path, *, copy: bool = False,
                 foreign_owner: bool = False, peers: bool = True) -> None:
        if not raw(path):
            raise UsageError("a dataset without a name")
        self.path = os.path.abspath(text(raw(path)))
        self._flags = ((_abi.OPEN_COPY if copy else 0) |
                       (_abi.OPEN_FOREIGN_OWNER if foreign_owner else 0) |
                       (0 if peers else _abi.OPEN_NO_PEERS))
        self._handle: Optional[Handle] = advised(self.path, lambda: Handle(
            raw(self.path), self._flags))
        self._patience: Optional[float] = None
        self._pack: Optional[str] = None
        self._class_names: Optional[List[str]] = None
        self._known_suffixes: Optional[Set[bytes]] = None
        n = _abi.Counts()
        lib.count(self._handle.address, ctypes.byref(n))
        self.counts = Counts(n.samples, n.members, n.chunks, n.classes,
                             n.bytes, bytes(n.dataset_id).hex())
        self.shuffled = bool(n.shuffled)

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            raise no_attribute("Dataset", name)

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

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
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
        """Where bytes came from since the dataset was opened."""
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
    def labels(self) -> array[int]:
        """Class number of each sample, -1 without a class; a new array('i')
        of len(ds), from the index alone."""
        handle, ret = self.handle(), array("i", bytes(4 * len(self)))
        checked(lib.sample_labels, handle.address, 0, len(self),
                ret.buffer_info()[0])
        return ret

    def key(self, number: Number) -> str:
        """Key of a sample."""
        handle, sample = self.handle(), _abi.Sample()
        checked(lib.sample_get, handle.address, self._number(number),
                ctypes.byref(sample))
        return text(ctypes.string_at(sample.key, sample.key_len))

    def members(self, number: Number) -> List[Member]:
        """All members of a sample, those that the packer made too."""
        handle, sample, m = self.handle(), _abi.Sample(), _abi.Member()
        checked(lib.sample_get, handle.address, self._number(number),
                ctypes.byref(sample))
        found = []
        for k in range(sample.members):
            checked(lib.member_get, handle.address, sample.first_member + k,
                    ctypes.byref(m))
            found.append(member_of(m))
        return found

    def find(self, path: Path) -> Member:
        """The member of this path; NotFoundError if there is none."""
        return member_of(find(self.handle(), path))

    # ---- Reading

    def read(self, path: Path) -> bytes:
        """The content of the member of this path."""
        handle = self.handle()
        name = raw(path)
        rows = Rows(lib.path_rows, handle, name, len(name))
        m = rows.member()
        return read_member(handle, m.number, ctypes.addressof(m), m.size)

    @overload
    def open(self, member: Union[Path, Member],
             mode: Literal["rb", "br"] = "rb", *, buffering: Literal[0]
             ) -> _file.MemberFile: ...

    @overload
    def open(self, member: Union[Path, Member],
             mode: Literal["rb", "br"] = "rb", buffering: Literal[-1] = -1
             ) -> _file.MemberReader: ...

    @overload
    def open(self, member: Union[Path, Member],
             mode: Literal["r", "rt", "tr"], buffering: int = -1,
             encoding: Optional[str] = None, errors: Optional[str] = None,
             newline: Optional[str] = None) -> io.TextIOWrapper: ...

    @overload
    def open(self, member: Union[Path, Member], mode: str = "rb",
             buffering: int = -1, encoding: Optional[str] = None,
             errors: Optional[str] = None, newline: Optional[str] = None
             ) -> Union[_file.MemberFile, _file.MemberReader,
                        io.TextIOWrapper]: ...

    def open(self, member: Union[Path, Member], mode: str = "rb",
             buffering: int = -1, encoding: Optional[str] = None,
             errors: Optional[str] = None, newline: Optional[str] = None
             ) -> Union[_file.MemberFile, _file.MemberReader,
                        io.TextIOWrapper]:
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
                     ) -> Union[_file.MemberFile, _file.MemberReader]:
        handle = self.handle()
        rows = Rows(lib.member_rows, handle, number)
        f = _file.MemberFile(self, handle, rows)
        return _file.MemberReader(f, buffering) if buffering else f

    @overload
    def __getitem__(self, number: Numbers) -> List[Sample]: ...

    @overload
    def __getitem__(self, number: Number) -> Sample: ...

    def __getitem__(self, number: Union[Number, Numbers]
                    ) -> Union[Sample, List[Sample]]:
        if isinstance(number, slice):
            return self.read_many(range(*number.indices(len(self))))
        if type(number) is not int and (
                isinstance(number, (list, range, array)) or
                getattr(number, "ndim", 0) == 1):
            return self.read_many(_listed(number))
        handle = self.handle()
        rows = Rows(lib.sample_rows, handle, self._number(number))
        layout = layout_of(ROWS.unpack(bytes_at(rows.address, ROWS.size)))
        return self._made(layout, self._read_sample(handle, rows, layout))

    def read_many(self, numbers: Iterable[Number], threads: int = 0
                  ) -> List[Sample]:
        """Reads samples in the order in which they lie in the chunks, with
        that many threads (0: one for each core), and returns them in the
        order of numbers."""
        if not 0 <= threads <= THREADS_MOST:
            raise UsageError(f"{threads} threads: {THREADS_MOST} at most")
        handle = self.handle()
        rows, layouts = self._layouts(handle, numbers)
        wanted = [w for layout in layouts for w in layout.wanted]
        contents = cut(read_members(handle, rows, wanted, threads),
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
        return (read_members(handle, rows, wanted, 0), sizes, labels,
                lacking)

    def __iter__(self) -> Iterator[Sample]:
        """All samples, in stored order, each read by itself: a loader is many
        times as fast."""
        return (self[number] for number in range(len(self)))

    def __contains__(self, key: Path) -> bool:
        return bool(self._numbers_of(key))

    def _numbers_of(self, key: Path) -> List[int]:
        handle = self.handle()
        if self._known_suffixes is None:
            self._known_suffixes = suffixes_in(handle, len(self))
        return numbers_of(handle, raw(key), self._known_suffixes)

    def _of_key(self, key: Path) -> int:
        found = self._numbers_of(key)
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{self.path}: samples {' and '.join(map(str, found))} have "
                f"the key {key!r}: wanted ds[{found[0]}] or ds[{found[1]}]")
        try:
            m = find(self.handle(), key)
        except NotFoundError as e:
            raise NotFoundError(f"{self.path}: no sample has the key {key!r}: "
                                f"{e}", e.code) from None
        raise TypeError(
            f"{key!r}: that is a member, of sample {m.sample} "
            f"{self.key(m.sample)!r}: a member by its path is ds.read({key!r}) "
            f"or ds.open({key!r})")

    def _number(self, number: Any) -> int:
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

    def _layouts(self, handle: Handle, numbers: Iterable[Number]
                 ) -> Tuple[Rows, List[Layout]]:
        there = len(self)
        wanted = array("Q", [
            n if type(n) is int and 0 <= n < there else self._number(n)
            for n in numbers])
        return layouts_of(handle, wanted)

    def _made(self, layout: Layout, contents: List[bytes]) -> Sample:
        label = layout.label
        return Sample(layout.number, layout.key, label,
                      self.class_names[label] if label >= 0 else None,
                      list(zip(layout.suffixes, contents)))

    def _read_sample(self, handle: Handle, rows: Rows, layout: Layout
                     ) -> List[bytes]:
        if len(layout.wanted) == 1:
            return [read_member(handle, *layout.wanted[0])]
        return cut(read_members(handle, rows, layout.wanted, 1),
                   [size for _, _, size in layout.wanted])


def _listed(numbers: Any) -> List[Any]:
    """Of an array's, too; of a mask samples 0 and 1 would come."""
    listed = numbers.tolist() if hasattr(numbers, "tolist") else list(numbers)
    if any(isinstance(one, bool) for one in listed):
        raise TypeError("wanted numbers of samples, not a mask: "
                        "[n for n, yes in enumerate(mask) if yes]")
    return listed


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
