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
from typing import Deque, Dict, NamedTuple, Optional, Union

from . import _abi
from ._abi import lib
from ._batch import Room
from ._dataset import Handle, text
from ._errors import StoppedError, checked, exception

# How long next() is deaf to Ctrl-C.
WAIT_MS = 50


class Damage(NamedTuple):
    """What is wrong with a sample: file of the dataset, number of the sample,
    path of the member, each None where there is none, and the reason."""

    file: Optional[str]
    sample: Optional[int]
    path: Optional[str]
    reason: str


_method = ctypes.pythonapi.PyInstanceMethod_New
_method.restype, _method.argtypes = ctypes.py_object, [ctypes.py_object]


class Hold(int):
    """A batch's address, which is given back when this goes.  By the library
    alone: were there any Python in it, Ctrl-C that comes in this moment would
    be printed and forgotten, as whatever a finalizer raises.  A number, because
    the garbage collector knows nothing of these: it goes when everything that
    refers to it has really gone, behind all finalizers that may still look."""

    __slots__ = ()
    __del__ = _method(lib.batch_release)


_leased: "Dict[int, Running]" = {}
_numbers = itertools.count()


class Lease(int):
    """While it exists, its Running does, and with it the dataset.  A number for
    the same reason: garbage that a loader is part of is finalized in any order,
    and the dataset's turn must not come before its threads have ended."""

    __slots__ = ()
    __del__ = _method(_leased.pop)


def lease(running: "Running") -> Lease:
    number = next(_numbers)
    _leased[number] = running
    return Lease(number)


class Running:
    """options: without what has to do with threads.  needs: what they point to,
    kept as long as this."""

    def __init__(self, dataset: Handle, options: _abi.LoaderOptions, *needs
                 ) -> None:
        self.address: Optional[int] = None
        self.pid, self.thread = os.getpid(), threading.get_ident()
        self.lock = threading.Lock()
        self.room: Optional[Room] = None
        self.stop = ctypes.c_int(0)
        # Filled by the library's threads, emptied by the one that loads.
        self.told: Deque[Union[str, Damage]] = deque()
        options.bad, options.watch.warn = _tellers(self.told)
        options.watch.stop = ctypes.pointer(self.stop)
        options.wait_ms = WAIT_MS
        self.needs = dataset, options, self.stop, needs
        ret = ctypes.c_void_p()
        checked(lib.loader_new, dataset.address, ctypes.byref(options),
                ctypes.byref(ret))
        self.address = ret.value

    def next(self) -> Optional[Room]:
        """The next batch; None at the end.  Ctrl-C is heard, and the call that
        follows it gets what this one would have got."""
        if self.pid != os.getpid():
            raise RuntimeError("a loader can be used only by the process that "
                               "made it")
        with self.lock:
            if self.room is None:
                self.room = Room.from_address(0)
            room = self.room
            if room.batch.value is None and not self._wait(room):
                return None
            # Whatever Ctrl-C comes in between, the next call goes on from.
            if room.hold is None:
                room.hold = Hold(room.batch.value)
            self.room = None
            return room

    def _wait(self, room: Room) -> bool:
        failure, code = _abi.Failure(), -errno.EAGAIN
        arguments = ctypes.byref(room.batch), ctypes.byref(failure)
        while code == -errno.EAGAIN:
            if self.address is None:
                raise StoppedError("the loader has been stopped")
            code = lib.loader_next(self.address, *arguments)
        if code < 0:
            raise exception(code, failure.msg)
        return code > 0

    def _take(self) -> Optional[int]:
        """The loader, which now is the caller's to be freed; None: there is none
        any more."""
        self.stop.value = 1
        address, self.address = self.address, None
        room, self.room = self.room, None
        # Ctrl-C came before next() could return it.
        if room is not None and room.hold is None:
            lib.batch_release(room.batch)
        return address

    def __del__(self) -> None:
        address = self._take()
        if address is None or self.thread == threading.get_ident():
            lib.loader_free(address)
        elif self.pid == os.getpid():
            # This may be a thread of the loader's own, collecting garbage
            # while it tells something: it cannot wait for itself.
            threading.Thread(target=_free, args=(address, self.needs)).start()

    def end(self) -> None:
        """Ends the threads, for good.  What is out stays valid."""
        self.stop.value = 1
        if self.pid == os.getpid():
            with self.lock:
                lib.loader_free(self._take())


def _free(address: int, needs: object) -> None:
    lib.loader_free(address)


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
