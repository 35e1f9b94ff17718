# SPDX-License-Identifier: Apache-2.0
"""The library's loader, with its threads: who may free it, and when.

It goes with the Loader that has it; its batches stay valid.  Never in a child,
which has no such threads; and when the interpreter ends, the threads end first.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import itertools
import os
import threading
import time
from collections import deque
from typing import (Any, Callable, Deque, Dict, NamedTuple, Optional, Tuple,
                    Union)

from . import _abi
from ._abi import lib
from ._batch import Room, method
from ._errors import StoppedError, checked, exception
from ._rows import Handle
from ._sample import text

# How long next() is deaf to Ctrl-C.
WAIT_MS = 50
# Seconds that the end of the interpreter waits for whoever is in next(): it is
# out of there at once, unless it hangs in storage.
PATIENCE = 2.0


class Again(Exception):
    """Nothing has come yet: ask again."""


class Damage(NamedTuple):
    """What is wrong with a sample: file of the dataset, number of the sample,
    path of the member, each None where there is none, and the reason."""

    file: Optional[str]
    sample: Optional[int]
    path: Optional[str]
    reason: str


class Threads(ctypes.c_void_p):
    """The library's loader, NULL when there is none any more.  The library
    fills it in and takes it back in one step each, so Ctrl-C finds it there or
    not.  It goes when nobody refers to this any more, so whoever calls the
    library with it keeps it for that long, whatever becomes of its Running.
    needs: what its threads use, which goes after them."""

    needs: Tuple[Any, ...] = ()
    __del__ = method(lib.loader_freep)


class Mapping(NamedTuple):
    """The file that all contents are in, and where it is mapped here."""

    fd: int
    base: int
    size: int


def _mapping(threads: Threads) -> Mapping:
    fd, base, size = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t()
    checked(lib.loader_mapping, threads, ctypes.byref(fd), ctypes.byref(base),
            ctypes.byref(size))
    return Mapping(fd.value, base.value or 0, size.value)


_leased: "Dict[int, Running]" = {}
_numbers = itertools.count()


class Lease(int):
    """While it exists, its Running does, and with it the dataset.  A number for
    the same reason as a Hold: garbage that a loader is part of is finalized in
    any order, and the dataset's turn must not come before its threads have
    ended."""

    __slots__ = ()
    __del__ = method(_leased.pop)

    @classmethod
    def of(cls, running: "Running") -> "Lease":
        number = next(_numbers)
        lease = cls(number)
        _leased[number] = running
        return lease


class Running:
    """options: without what has to do with threads.  needs: what they point to,
    kept as long as the threads."""

    room: Optional[Room] = None
    pid = thread = 0

    def __init__(self, dataset: Handle, options: _abi.LoaderOptions,
                 *needs: Any) -> None:
        self._threads = Threads()
        self.pid, self.thread = os.getpid(), threading.get_ident()
        # For next(), and what must not come between.  What a signal's handler
        # calls may come here again.
        self.lock = threading.RLock()
        self._rooms = itertools.count(1)
        self.stop = ctypes.c_int(0)
        # Filled by the library's threads, emptied by the one that loads.
        self.told: Deque[Union[str, Damage]] = deque()
        options.bad, options.watch.warn = _tellers(self.told)
        options.watch.stop = ctypes.pointer(self.stop)
        self._threads.needs = dataset, options, self.stop, needs
        checked(lib.loader_new, dataset.address, ctypes.byref(options),
                ctypes.byref(self._threads))
        self.mapping = _mapping(self._threads) if options.shared else None

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the library with its loader.  Any thread, at any
        time: a loader that is ended meanwhile is freed when this is over."""
        threads = self._threads
        if not threads:
            raise StoppedError("the loader was freed")
        return function(threads, *arguments)

    def next(self) -> Optional[Room]:
        """The next batch; None at the end.  The same again until took(): Ctrl-C
        may come at any moment.  Again: not within the options' wait_ms."""
        if self.pid != os.getpid():
            raise RuntimeError("a loader can be used only by the process that "
                               "made it")
        with self.lock:
            room = self.room
            if room is None:
                self.room = room = Room.make(next(self._rooms))
            if room.batch.value is None and not self._wait(room):
                return None
            room.hold()
            return room

    def seek(self, epoch: int, step: int) -> None:
        """What next() could not return is of no use then."""
        with self.lock:
            self._drop()
            checked(self.ask, lib.loader_seek, epoch, step)

    def reached(self) -> Optional[Tuple[int, int]]:
        """Epoch and step that the library's loader has come to; None: it was
        ended."""
        state = _abi.State()
        try:
            self.ask(lib.loader_state, ctypes.byref(state))
        except StoppedError:
            return None
        return state.order.epoch, state.order.step

    def took(self) -> None:
        self.room = None

    def _wait(self, room: Room) -> bool:
        failure = _abi.Failure()
        code = self.ask(lib.loader_next, ctypes.byref(room.batch),
                        ctypes.byref(failure))
        if code == -errno.EAGAIN:
            raise Again
        if code < 0:
            raise exception(code, failure.msg)
        return code > 0

    def end(self) -> None:
        """Ends the threads, for good.  What is out stays valid."""
        self.stop.value = 1
        if self.pid == os.getpid():
            with self.lock:
                self._threads = Threads()
                self._drop()

    def leave(self, until: float) -> None:
        """The interpreter ends.  It waits neither for a thread that hangs in
        storage, one of the library's or one that is in next() beyond that time,
        nor for a daemon thread that is somewhere else in the library: these go
        on with what they have, so it is never freed."""
        self.stop.value = 1
        if self.pid != os.getpid():
            return
        threads, self._threads = self._threads, Threads()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(threads))
        if self.lock.acquire(timeout=max(0, until - time.monotonic())):
            try:
                lib.loader_leave(threads)
                self._drop()
            finally:
                self.lock.release()

    def _drop(self) -> None:
        """What next() could not return."""
        room, self.room = self.room, None
        if room is not None:
            room.hold()

    def __del__(self) -> None:
        self._drop()
        if threading.get_ident() != self.thread and self.pid == os.getpid():
            # This may be a thread of the loader's own, collecting garbage
            # while it tells something: it cannot wait for itself.
            last = [self._threads]
            del self._threads
            threading.Thread(target=last.clear).start()


def _tellers(told: Deque[Union[str, Damage]]) -> Tuple[Any, Any]:
    """They must not know the loader, or it would never go."""

    def bad(_: Any, damage: Any) -> None:
        d = damage.contents
        told.append(Damage(d.file and text(d.file),
                           None if d.sample == _abi.NO_MEMBER else d.sample,
                           d.path and text(d.path), text(d.reason)))

    def warn(_: Any, message: bytes) -> None:
        told.append(text(message))

    return _abi.TELL_BAD(bad), _abi.TELL_WARNING(warn)


@atexit.register
def _end_all() -> None:
    """While there is an interpreter that they can tell something."""
    until = time.monotonic() + PATIENCE
    for running in list(_leased.values()):
        running.leave(until)
