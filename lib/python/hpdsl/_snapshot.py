# SPDX-License-Identifier: Apache-2.0
"""A name space in one file, under the names that `os` has for what is asked."""

from __future__ import annotations

import ctypes
import errno
import os
import stat as _stat
from array import array
from itertools import compress
from typing import (Any, Callable, Dict, Iterable, Iterator, List, NamedTuple,
                    Optional, Sequence, Tuple, Union)

from . import _abi
from ._abi import lib
from ._dataset import Dataset
from ._errors import (DiffersError, NotFolderError, NotFoundError,
                      SystemFailure, UsageError, checked, fail)
from ._names import (FOLDER, IS_FOLDER, IS_OTHER, LINK, REGULAR, Names,
                     SnapshotHandle)
from ._sample import Path, raw, text

LINKS_MOST = 40  # symbolic links on the way to an entry, as Linux has it
TOGETHER = 8192  # paths: their bytes stay in the cache


class Status:
    """What stat() and lstat() return: of os.stat_result the fields that a
    snapshot has.

    st_mode      type and permission bits
    st_size      bytes; of a symbolic link, of its target
    st_mtime_ns  nanoseconds since 1970
    st_mtime     the same in seconds
    st_ino       number of the entry in the snapshot

    Of a dataset's folders nothing but the names is known: their mode is 040755,
    size and mtime 0.
    """

    __slots__ = ("st_mode", "st_ino", "st_size", "st_mtime", "st_mtime_ns")

    def __init__(self, e: _abi.Entry) -> None:
        self.st_mode = e.mode
        self.st_ino = e.number
        self.st_size = e.size
        self.st_mtime = e.mtime + 1e-9 * e.mtime_nsec
        self.st_mtime_ns = e.mtime * 10**9 + e.mtime_nsec

    def _all(self) -> Tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Status) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return (f"<hpdsl.Status st_mode={self.st_mode:#o}, "
                f"st_ino={self.st_ino}, st_size={self.st_size}, "
                f"st_mtime_ns={self.st_mtime_ns}>")


class Totals(NamedTuple):
    """What a snapshot has.  folders: with the top; others: devices, FIFOs and
    sockets; bytes: of the contents of regular files."""

    files: int
    folders: int
    symlinks: int
    others: int
    bytes: int


class Entry:
    """What scandir() gives, an os.DirEntry in all but where it comes from.

    name   in its folder
    path   os.path.join(what scandir() was given, name)
    """

    __slots__ = ("name", "path", "_snapshot", "_type", "_number", "_folder")

    def __init__(self, snapshot: "Snapshot", path: str, name: str, type: int,
                 number: int, folder: int) -> None:
        self.name = name
        self.path = path
        self._snapshot = snapshot
        self._type = type
        self._number = number
        self._folder = folder

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder, or a link to one."""
        return self._is(FOLDER, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a regular file, or a link to one."""
        return self._is(REGULAR, follow_symlinks)

    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
        return self._type == LINK

    def _is(self, type: int, follow: bool) -> bool:
        if not (follow and self._type == LINK):
            return self._type == type
        try:
            return self._at_end().mode >> 12 == type
        except FileNotFoundError:
            return False

    def _at_end(self) -> _abi.Entry:
        return self._snapshot._follow(self._snapshot.handle(), self._folder,
                                      raw(self.name), True)

    def stat(self, *, follow_symlinks: bool = True) -> Status:
        """Size in bytes, mode and time, of what a link leads to or of itself."""
        if follow_symlinks and self._type == LINK:
            return Status(self._at_end())
        e = _abi.Entry()
        handle = self._snapshot.handle()
        checked(lib.snapshot_stat, handle.address, self._number,
                ctypes.byref(e))
        return Status(e)

    def inode(self) -> int:
        """The entry's number in the snapshot."""
        return self._number

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<hpdsl.Entry {self.name!r}>"


class Scan(Iterator[Entry]):
    """The iterator that scandir() returns; usable with `with`."""

    def __init__(self, entries: Iterator[Entry]) -> None:
        self._entries = entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def close(self) -> None:
        self._entries = iter(())

    def __enter__(self) -> "Scan":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Snapshot:
    """The name space of a tree, frozen: a file of hpdsl-snapshot(1), a packed
    dataset or stage directory by its path, or a Dataset.

        with hpdsl.Snapshot("images.snap") as snap:
            for root, dirs, files in snap.walk("train"):
                ...

    stat, lstat, listdir, scandir, walk and readlink are those of `os`, exists,
    isfile, isdir, islink and getsize those of `os.path`, but that names come in
    the order of their bytes, and that nothing is asked of a file system.

    Paths are relative to the top, which is "" (and "." and "/"); slashes at
    their ends and "." parts are taken as `os` takes them.  ".." is the folder
    above; above the top there is nothing, and a symbolic link that leads there,
    or whose target begins with a slash, is as one that leads nowhere, wherever
    it led in the tree.  Names that are no UTF-8 are surrogate-escaped; paths
    may be bytes, but what is returned is str.

    `path in snap` asks for an entry of any kind, links not followed; len(snap)
    counts these, without the top; iter(snap) gives their paths, folder by
    folder.

    path          what it was made from
    totals        Totals: files, folders, symlinks, others, bytes
    digest        32 hex digits: the same for the same names and attributes
    from_dataset  whether it is of a packed dataset; then it has no empty
                  folders

    A snapshot file is mapped, and a dataset's snapshot, made when it is opened,
    lies in memory or, from 16 MiB on, in a file of $TMPDIR without a name; so
    processes that were forked share it.  If somebody cuts a snapshot file
    short, look-ups end in SIGBUS; copy=True reads it into memory instead.

    Any number of threads may use it.  Pickled, it goes by its path, and must
    have the same digest there, or else it is a DiffersError; one of a dataset
    is made again when it is first used.  Usable with `with`; once closed, it
    raises ValueError.

    Raises NotFoundError, NotFolderError (a NotADirectoryError), CorruptError,
    NotOursError and TooNewError.
    """

    def __init__(self, source: Union[Path, Dataset], *, copy: bool = False
                 ) -> None:
        self._copy = copy
        self._closed = False
        self._dataset: Optional[Dataset] = None
        self._handle: Optional[SnapshotHandle] = None
        if isinstance(source, Dataset):
            self._of_dataset(source)
        elif os.path.isdir(source):
            with Dataset(source) as ds:
                self._of_dataset(ds)
        else:
            if not raw(source):
                raise UsageError("a snapshot without a name")
            self.path = os.path.abspath(text(raw(source)))
            self._handle = SnapshotHandle(
                lib.snapshot_open, raw(self.path),
                _abi.SNAPSHOT_COPY if copy else 0)
        self._tell(self.handle().info)

    def _of_dataset(self, ds: Dataset) -> None:
        self._dataset, self.path = ds, ds.path
        self._handle = SnapshotHandle(lib.snapshot_of, ds.handle().address)
        if ds._pack is None:  # what pickling it would read the index for
            ds._pack = bytes(self._handle.info.pack).hex()

    def _tell(self, info: _abi.SnapshotInfo) -> None:
        self.totals = Totals(info.files, info.folders, info.symlinks,
                             info.others, info.bytes)
        self.digest = bytes(info.digest).hex()
        self.from_dataset = bool(info.from_dataset)

    # ---- Open, closed, elsewhere

    def handle(self) -> SnapshotHandle:
        """For those who call the library: keep it as long as it is in use."""
        handle = self._handle
        if handle is None:
            if self._closed:
                raise ValueError(f"{self.path}: the snapshot is closed")
            handle = self._make_again()
        return handle

    def _make_again(self) -> SnapshotHandle:
        assert self._dataset is not None
        handle = SnapshotHandle(lib.snapshot_of,
                                self._dataset.handle().address)
        if bytes(handle.info.digest).hex() != self.digest:
            raise DiffersError(f"{self.path}: other files than those of the "
                               "snapshot that was pickled")
        self._handle = handle
        return handle

    def close(self) -> None:
        """What still uses it keeps it open to its end."""
        self._closed = True
        self._handle = None

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._closed:
            raise ValueError(f"{self.path}: the snapshot is closed")
        if self._dataset is None:
            return _file_again, (self.path, self._copy, self.digest)
        return _dataset_again, (self._dataset, self._copy, self.totals,
                                self.digest)

    def __repr__(self) -> str:
        return f"<hpdsl.Snapshot {self.path!r}, {len(self)} entries>"

    # ---- One entry

    def stat(self, path: Path, *, follow_symlinks: bool = True) -> Status:
        """Mode, size and mtime; of what a symbolic link leads to, unless
        follow_symlinks is False."""
        return Status(self._find(self.handle(), path, follow_symlinks))

    def lstat(self, path: Path) -> Status:
        """The same, of a symbolic link itself."""
        return self.stat(path, follow_symlinks=False)

    def readlink(self, path: Path) -> str:
        """The target of a symbolic link; of anything else it is a
        SystemFailure, EINVAL."""
        handle = self.handle()
        return text(self._target(handle, self._find(handle, path, False)))

    def exists(self, path: Path) -> bool:
        """False for a link that leads nowhere; so do isfile and isdir."""
        return self._mode(path, True) is not None

    def isfile(self, path: Path) -> bool:
        """Whether it is there and a regular file, or a link to one."""
        return _stat.S_ISREG(self._mode(path, True) or 0)

    def isdir(self, path: Path) -> bool:
        """Whether it is there and a folder, or a link to one."""
        return _stat.S_ISDIR(self._mode(path, True) or 0)

    def islink(self, path: Path) -> bool:
        """Whether it is there and a symbolic link."""
        return _stat.S_ISLNK(self._mode(path, False) or 0)

    def getsize(self, path: Path) -> int:
        """In bytes."""
        return self.stat(path).st_size

    def __contains__(self, path: Path) -> bool:
        return self._mode(path, False) is not None

    def _mode(self, path: Path, follow: bool) -> Optional[int]:
        try:
            return self._find(self.handle(), path, follow).mode
        except OSError:
            return None

    def _find(self, handle: SnapshotHandle, path: Path, follow: bool
              ) -> _abi.Entry:
        """By the path as it is, which is what nearly all are, or step by
        step."""
        e, failure, name = _abi.Entry(), _abi.Failure(), raw(path)
        code = lib.snapshot_lookup(handle.address, name, len(name),
                                   ctypes.byref(e), ctypes.byref(failure))
        if code < 0 and code != -errno.ENOENT:
            fail(failure)
        if code == 0 and not (follow and _stat.S_ISLNK(e.mode)):
            return e
        return self._follow(handle, 0, name, follow)

    def _follow(self, handle: SnapshotHandle, folder: int, path: bytes,
                follow: bool) -> _abi.Entry:
        """From a folder on, as path_resolution(7) has it."""
        e, failure, links = _abi.Entry(), _abi.Failure(), 0
        checked(lib.snapshot_stat, handle.address, folder, ctypes.byref(e))
        todo = path.split(b"/")[::-1]
        while todo:
            name = todo.pop()
            if not _stat.S_ISDIR(e.mode):
                raise self._no(NotFolderError, errno.ENOTDIR, path)
            if name in (b"", b"."):
                continue
            if name == b"..":
                if e.number == 0:
                    raise self._no(NotFoundError, errno.ENOENT, path)
                checked(lib.snapshot_stat, handle.address, e.parent,
                        ctypes.byref(e))
                continue
            above = e.number
            code = lib.snapshot_child(handle.address, above, name, len(name),
                                      ctypes.byref(e), ctypes.byref(failure))
            if code == -errno.ENOENT:
                raise self._no(NotFoundError, errno.ENOENT, path)
            if code < 0:
                fail(failure)
            if _stat.S_ISLNK(e.mode) and (todo or follow):
                links += 1
                target = self._target(handle, e)
                if links > LINKS_MOST:
                    raise self._no(SystemFailure, errno.ELOOP, path)
                if target[:1] in (b"/", b""):
                    raise self._no(NotFoundError, errno.ENOENT, path)
                todo += target.split(b"/")[::-1]
                checked(lib.snapshot_stat, handle.address, above,
                        ctypes.byref(e))
        return e

    def _no(self, kind: type, code: int, path: bytes) -> SystemFailure:
        what = {errno.ENOTDIR: "a part of it is no folder",
                errno.ELOOP: "too many symbolic links",
                errno.ENOENT: "no such entry"}[code]
        return kind(f"{self.path}: '{text(path)}': {what}", -code)

    @staticmethod
    def _target(handle: SnapshotHandle, e: _abi.Entry) -> bytes:
        ret = ctypes.c_void_p()
        checked(lib.snapshot_target, handle.address, ctypes.byref(e),
                ctypes.byref(ret))
        return ctypes.string_at(ret, e.size)

    # ---- Folders

    def _folder(self, handle: SnapshotHandle, path: Path) -> int:
        e = self._find(handle, path, True)
        if not _stat.S_ISDIR(e.mode):
            raise self._no(NotFolderError, errno.ENOTDIR, raw(path))
        return e.number

    def listdir(self, path: Path = "") -> List[str]:
        """Names of what a folder holds, in the order of their bytes."""
        handle = self.handle()
        return Names().of(handle, self._folder(handle, path))[0]

    def scandir(self, path: Path = "") -> Scan:
        """The same as entries, with what os.DirEntry has: name, path,
        is_dir(), is_file(), is_symlink(), stat(), inode()."""
        handle = self.handle()
        folder = self._folder(handle, path)
        names, types, first = Names().of(handle, folder)
        top = _with_slash(text(raw(path)))
        return Scan(Entry(self, top + name, name, type, number, folder)
                    for number, (name, type) in enumerate(zip(names, types),
                                                          first))

    def walk(self, top: Path = "", topdown: bool = True,
             onerror: Optional[Callable[[OSError], Any]] = None,
             followlinks: bool = False
             ) -> Iterator[Tuple[str, List[str], List[str]]]:
        """os.walk: (root, dirs, files) of top and of each folder below it,
        folders before what they hold or, not topdown, behind it.  When topdown,
        dirs may be changed in place, and the walk goes where it then says.
        Links to folders are among dirs, and are entered with followlinks; where
        they lead out of the snapshot, they are among files.  A top that is not
        there is told to onerror, or to nobody; damage is raised."""
        reader = Names()
        todo: List[Tuple[Any, ...]] = [(text(raw(top)), None)]
        while todo:
            root, number, *given = todo.pop()
            if given:
                yield root, given[0], given[1]
                continue
            handle = self.handle()
            if number is None:
                try:
                    number = self._folder(handle, root)
                except OSError as e:
                    if onerror is not None:
                        onerror(e)
                    continue
            names, types, first = reader.of(handle, number)
            dirs, files, numbers = self._split(handle, number, names, types,
                                               first)
            if topdown:
                before = dirs[:]
                yield root, dirs, files
                if dirs != before:
                    known = dict(zip(before, numbers))
                    numbers = [known.get(name) for name in dirs]
            else:
                todo.append((root, number, dirs, files))
            if dirs:
                self._descend(todo, root, dirs, numbers, followlinks)

    def _split(self, handle: SnapshotHandle, folder: int, names: List[str],
               types: bytes, first: int
               ) -> Tuple[List[str], List[str], Iterable[Optional[int]]]:
        """Folders, what is none, and the folders' entries; None for a link."""
        if LINK in types:
            return self._split_links(handle, folder, names, types, first)
        n = types.count(FOLDER)
        if not n:
            return [], names, ()
        numbers = range(first, first + len(names))
        if n == len(names):
            return names, [], numbers
        is_folder = types.translate(IS_FOLDER)
        return (list(compress(names, is_folder)),
                list(compress(names, types.translate(IS_OTHER))),
                list(compress(numbers, is_folder)))

    def _split_links(self, handle: SnapshotHandle, folder: int,
                     names: List[str], types: bytes, first: int
                     ) -> Tuple[List[str], List[str], List[Optional[int]]]:
        dirs: List[str] = []
        files: List[str] = []
        numbers: List[Optional[int]] = []
        for number, (name, type) in enumerate(zip(names, types), first):
            if type == FOLDER:
                dirs.append(name)
                numbers.append(number)
            elif type == LINK and self._leads_to_folder(handle, folder, name):
                dirs.append(name)
                numbers.append(None)
            else:
                files.append(name)
        return dirs, files, numbers

    def _leads_to_folder(self, handle: SnapshotHandle, folder: int, name: str
                         ) -> bool:
        try:
            e = self._follow(handle, folder, raw(name), True)
        except OSError:
            return False
        return _stat.S_ISDIR(e.mode)

    def _descend(self, todo: List[Tuple[Any, ...]], root: str, dirs: List[str],
                 numbers: Iterable[Optional[int]], followlinks: bool) -> None:
        """Number None: a link, or a name that the caller put there."""
        prefix = _with_slash(root)
        below = [(prefix + name, number) for name, number in zip(dirs, numbers)
                 if number is not None or followlinks or
                 not self.islink(prefix + name)]
        below.reverse()
        todo += below

    def files(self, top: Path = "",
              suffixes: Union[None, str, Sequence[str]] = None
              ) -> Iterator[str]:
        """Paths, from the snapshot's top on, of what walk() has among files
        below top, in its order; with suffixes, such as (".jpg", ".png"), of
        those whose names end with one of them."""
        handle = self.handle()
        root = self._path(handle, self._folder(handle, top))
        if suffixes is not None and not isinstance(suffixes, str):
            suffixes = tuple(suffixes)
        return self._files(root, suffixes)

    def _files(self, top: str, suffixes: Union[None, str, Tuple[str, ...]]
               ) -> Iterator[str]:
        for root, _, files in self.walk(top):
            if suffixes is not None:
                files = [name for name in files if name.endswith(suffixes)]
            yield from map(_with_slash(root).__add__, files)

    @staticmethod
    def _path(handle: SnapshotHandle, number: int) -> str:
        buf = ctypes.create_string_buffer(_abi.PATH_MAX + 1)
        checked(lib.snapshot_path, handle.address, number, buf,
                ctypes.byref(ctypes.c_size_t()))
        return text(buf.value)

    def __iter__(self) -> Iterator[str]:
        for root, dirs, files in self.walk():
            prefix = _with_slash(root)
            yield from map(prefix.__add__, dirs)
            yield from map(prefix.__add__, files)

    def __len__(self) -> int:
        n = self.totals
        return n.files + n.folders + n.symlinks + n.others - 1

    def __bool__(self) -> bool:
        return True

    # ---- Many at once

    def count_suffixes(self, top: Path = "") -> Dict[str, int]:
        """How many regular files below top there are of each extension, as
        os.path.splitext has it ("" for none), the most frequent first."""
        handle, ret = self.handle(), ctypes.c_void_p()
        n = checked(lib.snapshot_extensions, handle.address,
                    self._folder(handle, top), ctypes.byref(ret))
        try:
            return {text(ctypes.string_at(e.name, e.len)): e.files for e in
                    (_abi.Extension * n).from_address(ret.value or 0)}
        finally:
            lib.extensions_free(ret)

    def lookup_many(self, paths: Iterable[Path]) -> array[int]:
        """getsize() of many paths, as an array('q'): -1 where nothing is.  It
        is several times as fast for paths in the order of files() or walk()
        as for others, and many times as fast as one by one."""
        handle = self.handle()
        if not isinstance(paths, list):
            paths = list(paths)
        sizes = array("q")
        few = _Few(min(len(paths), TOGETHER))
        for i in range(0, len(paths), TOGETHER):
            some = paths[i:i + TOGETHER]
            if few.look_up(handle, some) < len(some) or handle.info.symlinks:
                self._look_closer(handle, some, few)
            sizes.frombytes(few.bytes[:8 * len(some)])
        return sizes

    def _look_closer(self, handle: SnapshotHandle, paths: List[Path],
                     few: "_Few") -> None:
        """At links, and at what is not there by that path."""
        links = handle.info.symlinks
        for i, path in enumerate(paths):
            if few.sizes[i] < 0:
                if not links and _plain(raw(path)):
                    continue
            elif not _stat.S_ISLNK(few.modes[i]):
                continue
            try:
                few.sizes[i] = self._follow(handle, 0, raw(path), True).size
            except OSError:
                few.sizes[i] = -1


class _Few:
    """Sizes and modes of paths that are looked up together."""

    def __init__(self, most: int) -> None:
        self.sizes = array("q", bytes(8 * most))
        self.modes = array("I", bytes(4 * most))
        self.bytes = memoryview(self.sizes).cast("B")
        self._into = _abi.Found(None, self.sizes.buffer_info()[0],
                                self.modes.buffer_info()[0])
        self._failure = _abi.Failure()
        self._places = (ctypes.addressof(self._into),
                        ctypes.addressof(self._failure))

    def look_up(self, handle: SnapshotHandle, paths: List[Any]) -> int:
        try:
            joined = "\0".join(paths).encode("utf-8", "surrogateescape")
        except TypeError:
            joined = b"\0".join(map(raw, paths))
        # The NUL behind the last one is that of every bytes object.
        n = lib.snapshot_lookup_list(handle.address, joined, len(joined) + 1,
                                     len(paths), *self._places)
        if n < 0:
            for path in paths:
                if b"\0" in raw(path):
                    raise UsageError(f"a path with a NUL: {path!r}")
            fail(self._failure)
        return n


def _plain(path: bytes) -> bool:
    """Has it the one form in which it is found by its hash?"""
    path = b"/" + path + b"/"
    return not (b"//" in path or b"/./" in path or b"/../" in path)


def _with_slash(path: str) -> str:
    return path if not path or path.endswith("/") else path + "/"


def _file_again(path: str, copy: bool, digest: str) -> Snapshot:
    again = Snapshot(path, copy=copy)
    if again.digest != digest:
        raise DiffersError(f"{path}: another snapshot than the one that was "
                           "pickled")
    return again


def _dataset_again(dataset: Dataset, copy: bool, totals: Totals, digest: str
                   ) -> Snapshot:
    again = Snapshot.__new__(Snapshot)
    again._dataset, again.path = dataset, dataset.path
    again._copy, again._handle, again._closed = copy, None, False
    again.totals, again.digest = totals, digest
    again.from_dataset = True
    return again
