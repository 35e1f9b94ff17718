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
from collections import deque
from typing import Deque, Dict, NamedTuple, Optional, Tuple, Union

from . import _abi
from ._abi import lib
from ._batch import Room, method
from ._dataset import Handle, text
from ._errors import checked, exception

# How long next() is deaf to Ctrl-C.
WAIT_MS = 50


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
    not.  needs: what its threads use, which goes after them."""

    needs: tuple = ()
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
    return Mapping(fd.value, base.value, size.value)


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

    def __init__(self, dataset: Handle, options: _abi.LoaderOptions, *needs
                 ) -> None:
        self.threads = Threads()
        self.pid, self.thread = os.getpid(), threading.get_ident()
        # What a signal's handler calls may come here again.
        self.lock = threading.RLock()
        self._rooms = itertools.count(1)
        self.stop = ctypes.c_int(0)
        # Filled by the library's threads, emptied by the one that loads.
        self.told: Deque[Union[str, Damage]] = deque()
        options.bad, options.watch.warn = _tellers(self.told)
        options.watch.stop = ctypes.pointer(self.stop)
        self.threads.needs = dataset, options, self.stop, needs
        checked(lib.loader_new, dataset.address, ctypes.byref(options),
                ctypes.byref(self.threads))
        self.mapping = _mapping(self.threads) if options.shared else None

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
            checked(lib.loader_seek, self.threads, epoch, step)

    def reached(self) -> Tuple[int, int]:
        """Epoch and step that the library's loader has come to."""
        state = _abi.State()
        lib.loader_state(self.threads, ctypes.byref(state))
        return state.order.epoch, state.order.step

    def took(self) -> None:
        self.room = None

    def _wait(self, room: Room) -> bool:
        failure = _abi.Failure()
        code = lib.loader_next(self.threads, ctypes.byref(room.batch),
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
                lib.loader_freep(self.threads)
                self._drop()

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
            last = [self.threads]
            del self.threads
            threading.Thread(target=last.clear).start()


def _tellers(told: Deque[Union[str, Damage]]):
    """They must not know the loader, or it would never go."""

    def bad(_, damage) -> None:
        d = damage.contents
        told.append(Damage(d.file and text(d.file),
                           None if d.sample == _abi.NO_MEMBER else d.sample,
                           d.path and text(d.path), text(d.reason)))

    def warn(_, message: bytes) -> None:
        told.append(text(message))

    return _abi.TELL_BAD(bad), _abi.TELL_WARNING(warn)


@atexit.register
def _end_all() -> None:
    """While there is an interpreter that they can tell something."""
    for running in list(_leased.values()):
        running.end()
