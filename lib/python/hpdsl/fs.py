# SPDX-License-Identifier: Apache-2.0
"""Packed datasets as a file system of fsspec, for what opens its files by
that: zarr, xarray, pandas.

    zarr.open("hpdsl:///data/packed/x.zarr", mode="r")
    pandas.read_csv("hpdsl:///data/packed/a/b.csv")
    fsspec.filesystem("hpdsl").glob("/data/packed/**/*.csv")

fsspec finds it by itself where the package is installed; elsewhere, import
hpdsl.fs once."""

from __future__ import annotations

import datetime
import errno
import os
import stat
from glob import has_magic
from typing import (Any, Dict, Iterable, List, NoReturn, Optional, Set, Tuple,
                    Union, cast)

import fsspec

from ._entries import Status
from ._errors import UsageError
from ._fs_opened import Opened, absent, everywhere, no_file
from ._pieces import Content, Found, Piece, read, unread
from ._place import dataset_in
from ._sample import Member, text

__all__ = ["HpdslFileSystem"]

Info = Dict[str, Any]
Paths = Union[str, "os.PathLike[str]", Iterable[str]]


class HpdslFileSystem(fsspec.AbstractFileSystem):
    """Packed datasets and stage directories, read only.

    A path is that of a dataset and what follows it: of /data/packed/a/b.csv the
    longest leading part that is a dataset.  A relative one begins at the
    working directory.  A dataset that is open is not asked for others in it.

    Options are those of hpdsl.Dataset: copy, foreign_owner, peers.

    A dataset is opened when something in it is asked for, and stays open; who
    packs it anew calls invalidate_cache(), which opens it again, and until then
    has the old one, as far as it is there, or ChangedError.  What once was a
    dataset for this file system and cannot be opened again is an error, no
    missing file.  File systems of one process and the same options share it.
    In another process, after a fork or when they were pickled, it is opened
    anew.

    Files are found by the index.  Folders are none of its things: when one is
    listed, or what is asked for is no file, all names are read once, which
    takes about 130 bytes for each.  Members that the packer made are not there.

    cat() of a list, and what zarr asks with it, is one hpdsl_read_many().
    Checksums are verified of what is read whole, and of files up to 1 MiB.
    on_error of cat() is for what is not there; a folder is IsADirectoryError
    where it is raised, and as any name that is no file where it is returned or
    left out, for which no names are read.  What is there and cannot be read is
    always raised, as hpdsl.Error and no OSError: zarr takes that for a chunk
    that was never written, and gives its fill value.  cat_ranges() returns it,
    if that is asked for.

    checksum() is the XXH3-64 of the content, and so is ukey(), in hex digits.
    modified() is in UTC.  What writes is OSError EROFS."""

    protocol = "hpdsl"
    root_marker = "/"

    def __init__(self, *, copy: bool = False, foreign_owner: bool = False,
                 peers: bool = True, **storage_options: Any) -> None:
        if "fo" in storage_options or "target_protocol" in storage_options:
            raise UsageError("hpdsl:// is a dataset in folders of this system: "
                             "nothing follows it behind ::")
        super().__init__(**storage_options)
        self._options = {"copy": copy, "foreign_owner": foreign_owner,
                         "peers": peers}
        self._open_ones: Dict[str, Opened] = {}
        self._once: Set[str] = set()  # all that were

    # ---- Paths

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        """Absolute, and of one form, as hpdsl.Dataset takes it."""
        if isinstance(path, (list, tuple, set)):
            return [cls._strip_protocol(p) for p in path]
        path = fsspec.utils.stringify_path(path)
        if isinstance(path, bytes):
            path = text(path)
        whole = path
        for before in ("hpdsl://", "hpdsl::"):
            if path.startswith(before):
                path = path[len(before):]
        if path[:1] == "/" or path is not whole and _lost_its_slash(path):
            path = "/" + path.lstrip("/")
        return os.path.abspath(path)

    def invalidate_cache(self, path: Any = None) -> None:
        """Opens what is at this path, or everything, anew when it is needed;
        files that are open stay as they are."""
        super().invalidate_cache(path)
        at = None if path is None else self._strip_protocol(path)
        kept = {}
        for root, opened in self._open_ones.items():
            if at is not None and not (_is_below(root, at) or
                                       _is_below(at, root)):
                kept[root] = opened
            elif everywhere.get(self._key(root)) is opened:
                everywhere.pop(self._key(root), None)
        self._open_ones = kept

    def _key(self, root: str) -> Tuple[Any, ...]:
        return (root, *self._options.values())

    def _at(self, path: str) -> Tuple[Opened, str]:
        """The dataset that a path leads into, and where in it."""
        if "\0" in path:
            raise absent(path)
        for root, one in self._open_ones.items():
            if _is_below(path, root):
                return one, path[len(root):].lstrip("/")
        root, inside = self._leads_to(path)
        opened = everywhere.get(self._key(root))
        if opened is None:
            try:
                opened = Opened(root, self._options)
            except (FileNotFoundError, NotADirectoryError) as e:
                raise unread(e) from e
            everywhere[self._key(root)] = opened
        self._once.add(root)
        # The longest first.  Another thread may look through the other one.
        known = {**self._open_ones, root: opened}
        self._open_ones = dict(sorted(known.items(), key=lambda k: -len(k[0])))
        return opened, inside

    def _leads_to(self, path: str) -> Tuple[str, str]:
        """As dataset_in(), but what was a dataset is one for ever: if it is
        gone, opening it says so."""
        once = max((r for r in tuple(self._once) if _is_below(path, r)),
                   key=len, default="")
        try:
            root, inside = dataset_in(path)
        except OSError:
            if not once:
                raise
            root, inside = "", path
        if len(root) < len(once):
            return once, path[len(once):].lstrip("/")
        return root, inside

    # ---- What there is

    def _file(self, path: str) -> Tuple[Opened, str, Optional[Member]]:
        """By the index alone; None: there is no such file."""
        opened, inside = self._at(path)
        return opened, inside, opened.member(inside)

    def _member(self, path: str) -> Member:
        path = self._strip_protocol(path)
        opened, inside, member = self._file(path)
        if member is None:
            raise no_file(path, opened, inside)
        return member

    def info(self, path: str, **kwargs: Any) -> Info:
        """name, size, type ("file", "directory"), mode, mtime (seconds since
        1970; not of a folder), islink."""
        path = self._strip_protocol(path)
        opened, inside, m = self._file(path)
        if m is not None:
            return _info(path, m.size, m.mode, m.mtime_ns)
        if not opened.is_folder(inside):
            raise absent(path)
        return _folder_info(path)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> List[Any]:
        path = self._strip_protocol(path)
        opened, inside, m = self._file(path)
        if m is not None:
            return [_info(path, m.size, m.mode, m.mtime_ns) if detail else path]
        if not opened.is_folder(inside):
            raise absent(path)
        before = path.rstrip("/") + "/"
        if not detail:
            return [before + name for name in opened.names().listdir(inside)]
        return [_folder_info(before + e.name) if e.is_dir() else
                _stat_info(before + e.name, e.stat())
                for e in opened.names().scandir(inside)]

    def exists(self, path: str, **kwargs: Any) -> bool:
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def isfile(self, path: str) -> bool:
        try:
            return self._file(self._strip_protocol(path))[2] is not None
        except FileNotFoundError:
            return False

    def isdir(self, path: str) -> bool:
        try:
            return self.info(path)["type"] == "directory"
        except FileNotFoundError:
            return False

    def du(self, path: str, total: bool = True, maxdepth: Optional[int] = None,
           withdirs: bool = False, **kwargs: Any) -> Union[int, Dict[str, int]]:
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs,
                          detail=True, **kwargs)
        sizes = {name: (info or self.info(name))["size"]
                 for name, info in found.items()}
        return sum(sizes.values()) if total else sizes

    def expand_path(self, path: Paths, recursive: bool = False,
                    maxdepth: Optional[int] = None, **kwargs: Any
                    ) -> List[str]:
        """As fsspec does it, but a file's own name is no pattern."""
        given: List[str] = list(map(self._strip_protocol, _several(path)))
        as_they_are = {p for p in given if not recursive and
                       (not has_magic(p) or self.isfile(p))}
        rest = [p for p in given if p not in as_they_are]
        if rest or not given:
            try:
                as_they_are.update(super().expand_path(rest, recursive,
                                                       maxdepth, **kwargs))
            except FileNotFoundError:
                if not as_they_are:
                    raise
        return sorted(as_they_are)

    def checksum(self, path: str) -> int:
        return self._member(path).checksum

    def ukey(self, path: str) -> str:
        return f"{self.checksum(path):016x}"

    def modified(self, path: str) -> datetime.datetime:
        seconds, ns = divmod(self._member(path).mtime_ns, 10**9)
        return datetime.datetime.fromtimestamp(
            seconds, datetime.timezone.utc).replace(microsecond=ns // 1000)

    # ---- Reading

    def _open(self, path: str, mode: str = "rb",
              block_size: Optional[int] = None, autocommit: bool = True,
              cache_options: Any = None, **kwargs: Any) -> Any:
        if mode != "rb":
            self._refuse(path)
        member = self._member(path)
        opened, _ = self._at(path)
        return opened.dataset.open(member, buffering=block_size or -1)

    def cat_file(self, path: str, start: Optional[int] = None,
                 end: Optional[int] = None, **kwargs: Any) -> bytes:
        path = self._strip_protocol(path)
        return cast(bytes, read([Piece.of(self._found(path), start, end)])[0])

    def cat(self, path: Paths, recursive: bool = False,
            on_error: str = "raise", start: Optional[int] = None,
            end: Optional[int] = None, **kwargs: Any
            ) -> Union[bytes, Dict[str, Content]]:
        single = isinstance(path, (str, os.PathLike))
        given: List[str] = list(map(self._strip_protocol, _several(path)))
        paths = self._to_cat(given, recursive, kwargs)
        if single and paths == given:
            return self.cat_file(paths[0], start, end)
        got: Dict[str, Content] = {}
        pieces = {}
        for p in paths:
            try:
                pieces[p] = Piece.of(self._found(p, on_error == "raise"),
                                     start, end)
            except FileNotFoundError as e:
                if on_error == "raise":
                    raise
                if on_error == "return":
                    got[p] = e
        got.update(zip(pieces, read(list(pieces.values()))))
        return got

    def _to_cat(self, given: List[str], recursive: bool,
                options: Dict[str, Any]) -> List[str]:
        """Files that these are, or are in them, or match them; a pattern that
        nothing matches is the name of a file that is not there."""
        if recursive:
            return [p for p in self.expand_path(given, True, **options)
                    if self.isfile(p)]
        paths: Set[str] = set()
        for p in given:
            paths.update([p] if not has_magic(p) or self.isfile(p) else
                         self.glob(p, **options) or [p])
        return sorted(paths)

    def cat_ranges(self, paths: List[str], starts: Any, ends: Any,
                   max_gap: Optional[int] = None, on_error: str = "return",
                   **kwargs: Any) -> List[Content]:
        """Of each path the bytes from its start to its end."""
        if not isinstance(paths, list):
            raise TypeError(f"paths: wanted a list, not {type(paths).__name__}")
        n = len(paths)
        starts = starts if isinstance(starts, list) else [starts] * n
        ends = ends if isinstance(ends, list) else [ends] * n
        if len(starts) != n or len(ends) != n:
            raise ValueError(f"{n} paths, {len(starts)} starts and "
                             f"{len(ends)} ends")
        found: Dict[str, Union[Found, Exception]] = {}
        wanted: List[Union[Piece, Exception]] = []
        for path, start, end in zip(map(self._strip_protocol, paths), starts,
                                    ends):
            if path not in found:
                try:
                    found[path] = self._found(path, on_error != "return")
                except Exception as e:
                    if on_error != "return":
                        raise
                    found[path] = e
            one = found[path]
            wanted.append(one if isinstance(one, Exception) else
                          Piece.of(one, start, end))
        contents = iter(read([p for p in wanted if isinstance(p, Piece)],
                             on_error == "return"))
        return [next(contents) if isinstance(p, Piece) else p for p in wanted]

    def _found(self, path: str, or_folder: bool = True) -> Found:
        """FileNotFoundError: there is no such file; or_folder: nor such a
        folder, which would be IsADirectoryError."""
        try:
            opened, inside = self._at(path)
        except FileNotFoundError as e:
            raise absent(path) from e
        except OSError as e:
            raise unread(e) from e
        found = opened.found(inside)
        if found is None:
            raise (no_file(path, opened, inside) if or_folder else
                   absent(path, "file"))
        return found

    # ---- Writing

    def _refuse(self, *paths: Any, **_: Any) -> NoReturn:
        """OSError, of errno EROFS: a packed dataset is only read."""
        path = next((p for p in paths if isinstance(p, (str, os.PathLike))),
                    "hpdsl://")
        raise OSError(errno.EROFS, "packed datasets are read only", str(path))

    mkdir = rmdir = rm = rm_file = _rm = cp_file = copy = mv = _refuse
    pipe = pipe_file = put = put_file = touch = write_text = _refuse

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        if not exist_ok or not self.isdir(path):
            self._refuse(path)


def _several(paths: Paths) -> List[Any]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _lost_its_slash(path: str) -> bool:
    """Hugging Face's datasets makes hpdsl://a of hpdsl:///a."""
    first = path.split("/", 1)[0]
    return bool(first) and not os.path.lexists(first) and (
        os.path.lexists("/" + first))


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root) and path[len(root):len(root) + 1] in (
        "", "/") or root == "/"


def _info(path: str, size: int, mode: int, mtime_ns: int) -> Info:
    return {"name": path, "size": size, "type": "file",
            "mode": stat.S_IFREG | stat.S_IMODE(mode),
            "mtime": mtime_ns // 10**9 + 1e-9 * (mtime_ns % 10**9),
            "islink": False}


def _stat_info(path: str, s: Status) -> Info:
    return _info(path, s.st_size, s.st_mode, s.st_mtime_ns)


def _folder_info(path: str) -> Info:
    return {"name": path, "size": 0, "type": "directory",
            "mode": stat.S_IFDIR | 0o755, "islink": False}


fsspec.register_implementation("hpdsl", HpdslFileSystem, clobber=True)


def __dir__() -> List[str]:
    return __all__
