# SPDX-License-Identifier: Apache-2.0
"""Members as files: what open() gives, of what is in chunks."""

from __future__ import annotations

import ctypes
import errno
import io
import operator
import os
import sys
import threading
from typing import (IO, TYPE_CHECKING, Any, Callable, NoReturn, Optional, Tuple,
                    Union, cast)

from ._abi import lib
from ._errors import UsageError, checked

if TYPE_CHECKING:
    from ._dataset import Dataset
    from ._rows import Handle, Rows
    from ._sample import Path

SMALL = 1 << 20
BUFFER = 128 << 10


def filled(size: int, fill: Callable[[memoryview], None]) -> bytes:
    """Bytes that fill has put there; large ones are not copied."""
    if size < SMALL:
        buf = bytearray(size)
        with memoryview(buf) as view:
            fill(view)
        return bytes(buf)
    made = io.BytesIO()
    made.seek(size - 1)
    made.write(b"\0")
    with made.getbuffer() as view:
        fill(view)
    return made.getvalue()


class Reading:
    """A member of the library's that is read in parts: what has passed is
    verified at the end.  It is of no handle, and a child goes on with it."""

    def __init__(self, rows: "Rows") -> None:
        self.address: Optional[int] = None
        ret = ctypes.c_void_p()
        checked(lib.reading_new, ctypes.addressof(rows.member()),
                ctypes.byref(ret))
        self.address = ret.value

    def read(self, handle: "Handle", offset: int, into: memoryview) -> None:
        """As much as there is room for, which is there."""
        at = (ctypes.addressof(ctypes.c_char.from_buffer(into)) if len(into)
              else None)
        checked(lib.reading_read, self.address, handle.address, offset, at,
                len(into))

    def __del__(self, free: Callable[..., Any] = lib.reading_free) -> None:
        free(self.address)


class MemberFile(io.RawIOBase):
    """A member as a raw file, for reading: what Dataset.open() gives with
    buffering=0, and what is below the buffer without it.

    name    path of the member in the dataset
    size    bytes

    A member of up to 1 MiB is read whole, and verified, when something is read
    of it for the first time, and kept until the file is closed.  Of a larger
    one it is read what is asked for.  That is verified when it is all of it,
    as with read(), and when it is read from the start to the end, one read
    behind the other: CorruptError is raised in place of the last of them.
    From there on others are refused, but for one at the start, with which it
    begins anew.  What is read elsewhere, or not to the end, is not verified.

    The file keeps the dataset open for itself.  After a fork it goes on where
    it is, and pickled it is opened anew at the same position, also when the
    dataset is closed.  Threads may use it: each read is at the one position
    that it has.  With a buffer, a process that forks while one of its threads
    reads leaves the buffer's lock to the child, which waits for it for ever."""

    mode = "rb"
    _handle: Optional["Handle"] = None

    def __init__(self, ds: "Dataset", handle: "Handle", rows: "Rows") -> None:
        super().__init__()
        member = rows.member()
        self.name = member.name.decode("utf-8", "surrogateescape")
        self.size = member.size
        self._number = member.number
        self._ds = ds
        self._handle = handle
        self._rows: Optional["Rows"] = rows
        self._reading: Optional[Reading] = Reading(rows)
        self._lock = threading.Lock()
        self._content: Optional[bytearray] = None
        self._at = 0

    # ---- Open, closed, elsewhere

    def _opened(self) -> "Handle":
        """The handle; after a fork one of this process."""
        handle = self._handle
        if handle is None:
            raise ValueError(f"{self.name}: I/O operation on closed file")
        if handle.pid != os.getpid():
            # locked() is told late of a thread that has just got it.
            if self._lock.acquire(False):
                self._lock.release()
            else:                       # by a thread that is not here
                self._lock = threading.Lock()
                assert self._rows is not None
                self._reading = Reading(self._rows)
            self._handle = handle = self._ds._here(handle)
        return handle

    def close(self) -> None:
        super().close()
        self._handle = self._rows = self._reading = self._content = None

    def _dataset(self) -> "Dataset":
        """For pickle, which a closed one would refuse but for its pack."""
        handle = self._opened()
        if self._ds._pack is None:
            self._ds._pack = handle.pack()
        return self._ds

    def __reduce_ex__(self, _: object = None) -> Tuple[Any, ...]:
        return _again, (self._dataset(), self._number, 0, self._at)

    def __reduce__(self) -> Tuple[Any, ...]:
        return self.__reduce_ex__()

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<hpdsl.MemberFile {self.name!r}, {self.size} bytes{closed}>"

    # ---- Where

    def readable(self) -> bool:
        self._opened()
        return True

    def seekable(self) -> bool:
        self._opened()
        return True

    def tell(self) -> int:
        self._opened()
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Behind the end there is nothing to be read, and no error."""
        self._opened()
        offset = operator.index(offset)
        with self._lock:
            if whence == os.SEEK_CUR:
                offset += self._at
            elif whence == os.SEEK_END:
                offset += self.size
            elif whence != os.SEEK_SET:
                raise ValueError(f"whence {whence}: 0, 1 or 2")
            if not 0 <= offset <= sys.maxsize:
                raise OSError(errno.EINVAL, f"no position {offset}",
                              self.name)
            self._at = offset
        return offset

    # ---- Reading

    def readinto(self, buffer: Any) -> int:
        self._opened()
        with memoryview(buffer) as given, _flat(given) as view, self._lock:
            n = max(0, min(len(view), self.size - self._at))
            with view[:n] as into:
                self._fill(into)
        return n

    def readall(self) -> bytes:
        """What follows; at the start, all of it in one read, which is
        verified."""
        return self.read()

    def read(self, size: Optional[int] = -1) -> bytes:
        """As many bytes as there are; -1, None: as readall()."""
        self._opened()
        with self._lock:
            n = max(0, self.size - self._at)
            if size is not None and size >= 0:
                n = min(n, size)
            return filled(n, self._fill)

    def _fill(self, into: memoryview) -> None:
        """With what is there from here on, which is as much."""
        handle, reading, content = (self._opened(), self._reading,
                                    self._content)
        if reading is None:
            raise ValueError(f"{self.name}: I/O operation on closed file")
        if self.size > SMALL:
            reading.read(handle, self._at, into)
        else:
            if content is None:
                content = bytearray(self.size)
                with memoryview(content) as whole:
                    reading.read(handle, 0, whole)
                self._content = content
            with memoryview(content) as whole:
                into[:] = whole[self._at:self._at + len(into)]
        self._at += len(into)

    # ---- Writing

    def write(self, _: Any) -> NoReturn:
        self._opened()
        raise io.UnsupportedOperation("write")

    def writelines(self, _: Any) -> NoReturn:
        self._opened()
        raise io.UnsupportedOperation("write")


def _flat(view: memoryview) -> memoryview:
    """Its bytes; without any, cast() takes one dimension only."""
    return view.cast("B") if view.nbytes or view.ndim == 1 else \
        memoryview(bytearray())


class MemberReader(io.BufferedIOBase):
    """The same with a buffer: what io.BufferedReader does, it does, and can.

    It is none itself: NumPy before 1.25 takes every io.BufferedReader for a
    file of the system's, and asks for its descriptor."""

    raw: MemberFile

    def __init__(self, raw: MemberFile, buffering: int) -> None:
        super().__init__()
        self.raw = raw
        self._buffering = buffering
        self._buffered = io.BufferedReader(
            raw, min(BUFFER, raw.size or 1) if buffering < 0 else buffering)
        # Called as they are, without a detour.
        for method in ("peek", "read", "read1", "readable", "readinto",
                       "readinto1", "readline", "readlines", "seek",
                       "seekable", "tell"):
            setattr(self, method, getattr(self._buffered, method))

    def __del__(self) -> None:
        """What it has goes with it; a method of it may be in use still."""

    @property
    def name(self) -> str:
        """The member's path."""
        return self.raw.name

    @property
    def mode(self) -> str:
        return self.raw.mode

    @property
    def size(self) -> int:
        """Bytes of the member."""
        return self.raw.size

    @property
    def closed(self) -> bool:
        return self._buffered.closed

    def close(self) -> None:
        self._buffered.close()

    def __reduce_ex__(self, _: object = None) -> Tuple[Any, ...]:
        at = self.tell()
        return _again, (self.raw._dataset(), self.raw._number,
                        self._buffering, at)

    def __reduce__(self) -> Tuple[Any, ...]:
        return self.__reduce_ex__()

    def __repr__(self) -> str:
        return f"<hpdsl.MemberReader of {self.raw!r}>"


class ContentFile(io.BytesIO):
    """Bytes that are there already, as a file that has a name, for reading."""

    mode = "rb"

    def __init__(self, content: Union[bytes, memoryview], name: Path) -> None:
        super().__init__(content)
        self.name = name

    def writable(self) -> bool:
        super().writable()
        return False

    def write(self, _: Any) -> NoReturn:
        raise io.UnsupportedOperation("write")

    def writelines(self, _: Any) -> NoReturn:
        raise io.UnsupportedOperation("write")

    def truncate(self, _: Any = None) -> NoReturn:
        raise io.UnsupportedOperation("truncate")

    def __reduce__(self) -> Tuple[Any, ...]:
        return _content_again, (self.getvalue(), self.name, self.tell())

    def __repr__(self) -> str:
        return f"<hpdsl.ContentFile {self.name!r}>"


def opened(raw: MemberFile, mode: str, buffering: int, encoding: Optional[str],
           errors: Optional[str], newline: Optional[str]
           ) -> Union[MemberFile, MemberReader, io.TextIOWrapper]:
    """What open() gives for these."""
    if mode == "rb":
        if (encoding, errors, newline) != (None, None, None):
            raise UsageError("encoding, errors and newline are for text, mode "
                             "'r'")
        return MemberReader(raw, buffering) if buffering else raw
    if not buffering:
        raise UsageError("text needs a buffer")
    return io.TextIOWrapper(
        cast("IO[bytes]", MemberReader(raw, max(buffering, -1))), encoding,
        errors, newline)


def check(mode: str, buffering: int) -> None:
    """Before anything is looked up."""
    if mode not in ("rb", "br", "r", "rt", "tr"):
        raise UsageError(f"mode {mode!r}: members are read only, 'rb', or 'r' "
                         "for text")
    if operator.index(buffering) < -1:
        raise UsageError(f"a buffer of {buffering} bytes")


def _again(ds: "Dataset", number: int, buffering: int, at: int
           ) -> Union[MemberFile, MemberReader]:
    """Opens what was pickled, where it was."""
    f = ds._open_member(number, buffering)
    f.seek(at)
    return f


def _content_again(content: bytes, name: Path, at: int) -> ContentFile:
    f = ContentFile(content, name)
    f.seek(at)
    return f
