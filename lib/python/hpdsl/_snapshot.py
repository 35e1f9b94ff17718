# SPDX-License-Identifier: Apache-2.0
"""A name space in one file, under the names that `os` has for what is asked."""

from __future__ import annotations

import ctypes
import os
import stat as _stat
from array import array
from itertools import compress
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Optional,
                    Sequence, Tuple, Union)

from . import _abi
from ._abi import lib
from ._dataset import Dataset
from ._entries import Entry, Scan, Status, Totals
from ._errors import DiffersError, UsageError, checked
from ._lookup import find, folder_of, follow, path_of, sizes_of, target, wanted
from ._names import FOLDER, IS_FOLDER, IS_OTHER, LINK, Names, SnapshotHandle
from ._sample import Path, raw, text


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
                self.path, lib.snapshot_open, raw(self.path),
                _abi.SNAPSHOT_COPY if copy else 0)
        self._tell(self.handle().info)

    def _of_dataset(self, ds: Dataset) -> None:
        self._dataset, self.path = ds, ds.path
        self._handle = SnapshotHandle(self.path, lib.snapshot_of,
                                      ds.handle().address)
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
        handle = SnapshotHandle(self.path, lib.snapshot_of,
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
        return Status(wanted(self.handle(), path, follow_symlinks))

    def lstat(self, path: Path) -> Status:
        """The same, of a symbolic link itself."""
        return self.stat(path, follow_symlinks=False)

    def readlink(self, path: Path) -> str:
        """The target of a symbolic link; of anything else it is a
        SystemFailure, EINVAL."""
        handle = self.handle()
        return text(target(handle, wanted(handle, path, False)))

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

    def _mode(self, path: Path, through: bool) -> Optional[int]:
        try:
            return find(self.handle(), path, through).mode
        except OSError:
            return None

    # ---- Folders

    def listdir(self, path: Path = "") -> List[str]:
        """Names of what a folder holds, in the order of their bytes."""
        handle = self.handle()
        return Names().of(handle, folder_of(handle, path))[0]

    def scandir(self, path: Path = "") -> Scan:
        """The same as entries, with what os.DirEntry has: name, path,
        is_dir(), is_file(), is_symlink(), stat(), inode()."""
        handle = self.handle()
        folder = folder_of(handle, path)
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
                    number = folder_of(handle, root)
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
            e = follow(handle, folder, raw(name), True)
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
        root = path_of(handle, folder_of(handle, top))
        if suffixes is not None and not isinstance(suffixes, str):
            suffixes = tuple(suffixes)
        return self._files(root, suffixes)

    def _files(self, top: str, suffixes: Union[None, str, Tuple[str, ...]]
               ) -> Iterator[str]:
        for root, _, files in self.walk(top):
            if suffixes is not None:
                files = [name for name in files if name.endswith(suffixes)]
            yield from map(_with_slash(root).__add__, files)

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
                    folder_of(handle, top), ctypes.byref(ret))
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
        return sizes_of(handle, paths)


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
