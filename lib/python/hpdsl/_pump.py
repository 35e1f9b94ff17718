# SPDX-License-Identifier: Apache-2.0
"""The trainer's side of turns: a thread that asks the loader for batches as
memory allows, tells them on the board, and gives back those that workers have
done with."""

from __future__ import annotations

import ctypes
import errno
import os
import pickle
import threading
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

from . import _abi
from ._abi import lib
from ._errors import SystemFailure, checked
from ._lend import Board, error_of, turn_of
from ._loader import Loader
from ._measured import Cache
from ._running import Again

# How long the loader is waited for before somebody looks at the board again.
_WAIT_MS = 5
_PAUSE = 0.001
_POLL = 0.5


class Reader(Loader):
    """One that comes back soon where there is nothing yet.  may_lack: that
    samples have not all suffixes is no news."""

    _wait_ms = _WAIT_MS

    def __init__(self, *given: Any, may_lack: bool = False,
                 **options: Any) -> None:
        self._may_lack = may_lack
        super().__init__(*given, **options)

    def place(self) -> Tuple[int, int]:
        """Of the step that comes next."""
        return self._at.next

    def play(self, phase: int, warm_steps: int) -> Tuple[Cache, int]:
        """See hpdsl_loader_play(): what the page cache had, and the lead."""
        running, lead, cache = self._live(), ctypes.c_uint32(), _abi.StallCache()
        with running.lock:
            running._drop()
            try:
                checked(running.ask, lib.loader_play, phase, warm_steps,
                        ctypes.byref(lead), ctypes.byref(cache))
            except SystemFailure as e:
                if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
                    raise
                raise Again from e
        return Cache(cache.asked, cache.there, cache.unknown), lead.value


class Pump:
    """Belongs to the process that made it.  reader: shared.  ahead: how many
    turns are told at most that nobody has done with."""

    def __init__(self, reader: Reader, board: Board, ahead: int) -> None:
        self.reader, self.board, self.ahead = reader, board, ahead
        self._asked = self._told = 0
        self._out: Dict[int, Any] = {}
        self._wake = threading.Event()
        self._order: Optional[_Order] = None
        self._stop = self._fatal = False
        self._thread = threading.Thread(target=_run, args=(weakref.ref(self),
                                                           self._wake),
                                        name="hpdsl-turns", daemon=True)
        self._thread.start()
        weakref.finalize(self, _end, board, self._wake, os.getpid())

    def call(self, function: Callable[[], Any]) -> Any:
        """What it gives, in the pump's thread, which alone has the reader;
        called anew, with a turn between, as long as it raises Again."""
        order = _Order(function)
        self._order = order
        self._wake.set()
        while not order.done.wait(_POLL):
            if not self._thread.is_alive():
                raise RuntimeError("the loader's thread has ended")
        if order.error is not None:
            raise order.error
        return order.result

    def ask(self, turns: int) -> None:
        """Those before that one are wanted."""
        if turns > self._asked:
            self._asked = turns
            self._wake.set()

    def close(self) -> None:
        """Whoever waits for a turn learns that there is none; then the thread
        ends, and with it the loader."""
        self._stop = True
        _end(self.board, self._wake, os.getpid())
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._out.clear()
        self.reader.close()

    def turn(self) -> float:
        """Does what there is to do; how long there is nothing, then."""
        for turn in [t for t in self._out if self.board.is_done(t)]:
            self._over(turn)
        if self._order is not None:
            return self._obey(self._order)
        if (self._fatal or self._told >= self._asked or
                len(self._out) >= self.ahead):
            return _PAUSE if self._out else 3600
        return self._tell()

    def _keep(self, turn: int, batch: Any) -> None:
        self._out[turn] = batch

    def _over(self, turn: int) -> None:
        """Its worker has made a batch of it."""
        del self._out[turn]

    def _obey(self, order: "_Order") -> float:
        try:
            order.result = order.function()
        except Again:
            return _PAUSE
        except Exception as e:
            order.error = e
        self._order = None
        order.done.set()
        return 0

    def _tell(self) -> float:
        before = self.reader.place()
        try:
            batch = self.reader._next_soon(self.reader._live())
        except Again:
            return 0
        except Exception as e:
            if isinstance(e, SystemFailure) and e.errno == errno.ENOBUFS and (
                    self._out):
                return _PAUSE  # workers will give some of it back
            self._told_error(e, before == self.reader.place())
            return 0
        if batch is None:
            self._asked = self._told
            return _PAUSE
        # Before it is told: who has done with it is looked for there.
        self._keep(self._told, batch)
        self.board.tell(self._told, turn_of(batch))
        self._told += 1
        return 0

    def _told_error(self, e: Exception, fatal: bool) -> None:
        """Fatal: it is not this step's, so there is no telling what comes."""
        self.board.tell(self._told, error_of(_pickled(e, fatal)))
        self._told += 1
        self._fatal = fatal


class _Order:
    """Something to be done in the pump's thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.done = function, threading.Event()
        self.result: Any = None
        self.error: Optional[Exception] = None


def _pickled(e: Exception, fatal: bool) -> bytes:
    try:
        found = pickle.dumps((e, fatal))
        pickle.loads(found)
        return found
    except Exception:  # what a caller's function raises may be of any kind
        return pickle.dumps((RuntimeError(f"{type(e).__name__}: {e}"), fatal))


def _end(board: Board, wake: threading.Event, maker: int) -> None:
    """Not in a worker, whose copy of the pump goes when it likes."""
    if maker == os.getpid():
        board.stop()
        wake.set()


def _run(of: "weakref.ref[Pump]", wake: threading.Event) -> None:
    """It must not keep the pump, or that would never go."""
    while True:
        wake.clear()
        pump = of()
        if pump is None or pump._stop:
            return
        pause = pump.turn()
        del pump
        if pause:
            wake.wait(pause)
