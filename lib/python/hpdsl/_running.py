# SPDX-License-Identifier: Apache-2.0
"""The library's loader, with its threads: who may free it, and when.

It goes when neither a Loader nor a batch nor a view of one needs it.  Never in a
child, which has no such threads; and when the interpreter ends, the threads end
first."""

from __future__ import annotations

import atexit
import ctypes
import errno
import itertools
import os
import threading
import weakref
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


# Loaders whose batches are out, by the number of their Hold.
_out: "Dict[int, Running]" = {}
_numbers = itertools.count()
_method = ctypes.pythonapi.PyInstanceMethod_New
_method.restype, _method.argtypes = ctypes.py_object, [ctypes.py_object]


class Hold(int):
    """While it exists, its batch is not given back.  A number, because the
    garbage collector knows nothing of these: it goes when everything that
    refers to it has really gone, behind all finalizers that may still look."""

    __slots__ = ()

    # None of Python's code: what a signal's handler raises there is lost, and
    # Ctrl-C with it.
    __del__ = _method(_out.pop)


class Running:
    """options: without what has to do with threads.  needs: what they point to,
    kept as long as this."""

    def __init__(self, dataset: Handle, options: _abi.LoaderOptions, *needs
                 ) -> None:
        self.address: Optional[int] = None
        self.pid, self.thread = os.getpid(), threading.get_ident()
        self.lock = threading.Lock()
        self.room: Optional[Room] = None
        self.batches: Dict[int, int] = {}  # by the number of their Hold
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
        _all.add(self)

    def next(self) -> Optional[Room]:
        """The next batch; None at the end.  Ctrl-C is heard, and the call that
        follows it gets what this one would have got."""
        if self.pid != os.getpid():
            raise RuntimeError("a loader can be used only by the process that "
                               "made it")
        with self.lock:
            self._give_back()
            if self.room is None:
                self.room = Room.from_address(0)
            room = self.room
            if room.batch.value is None and not self._wait(room):
                return None
            # Whatever Ctrl-C comes between, the next call goes on from.
            if room.hold is None:
                number = next(_numbers)
                _out[number] = self
                room.hold = Hold(number)
            self.batches[int(room.hold)] = room.batch.value
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

    def _give_back(self) -> None:
        """Batches whose Hold has gone; each as soon as it is off the list,
        whatever is raised meanwhile."""
        gone = [number for number in self.batches if number not in _out]
        if gone and self.address is not None:
            deque(map(lib.batch_release, itertools.repeat(self.address),
                      map(self.batches.pop, gone)), 0)

    def __del__(self) -> None:
        self.stop.value = 1
        address, self.address = self.address, None
        if address is None or self.pid != os.getpid():
            return
        if self.thread == threading.get_ident():
            lib.loader_free(address)
        else:
            # This may be a thread of the loader's own, collecting garbage
            # while it tells something: it cannot wait for itself.
            threading.Thread(target=_free, args=(address, self.needs)).start()

    def end(self) -> None:
        """Ends the threads, for good.  What is out stays valid."""
        self.stop.value = 1
        if self.pid != os.getpid():
            return
        with self.lock:
            address, self.address = self.address, None
            if address is None:
                return
            if any(running is self for running in list(_out.values())):
                # Threads that are still reading need it to the very end.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.needs))
                batch = ctypes.c_void_p()
                while lib.loader_next(address, ctypes.byref(batch), None) in (
                        1, -errno.EAGAIN):
                    pass
            else:
                lib.loader_free(address)


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


_all: "weakref.WeakSet[Running]" = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """While there is an interpreter that they can tell something."""
    for running in list(_all):
        running.end()
