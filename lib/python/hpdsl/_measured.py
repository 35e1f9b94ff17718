# SPDX-License-Identifier: Apache-2.0
"""A job that hpdsl-stall measures: phases played above a source of batches, by
whoever hands these to the training loop.

hpdsl.Loader plays by itself, in the library.  This is for batches that workers
make of what was read."""

from __future__ import annotations

import ctypes
import os
import queue
import threading
import time
from typing import Any, List, NamedTuple, Optional, Tuple

from . import _abi
from ._abi import lib
from ._errors import checked

REPLAY, LOAD, WARM, COLD, REAL, NONE = range(6)
_IN, _BEHIND = 1, 2
# Batches that are handed out again and again.
_KEPT = 4
_POLL = 0.05


def is_measured() -> bool:
    return bool(os.environ.get("HPDSL_STALL"))


class Cache(NamedTuple):
    """Bytes that a phase asked for, that the page cache had, and of which that
    cannot be known."""

    asked: int = 0
    there: int = 0
    unknown: int = 0


class Counters(NamedTuple):
    """Bytes made ready and handed out, and seconds in which nothing was made for
    want of room; all zero where nobody knows."""

    made: int = 0
    out: int = 0
    blocked: float = 0.0


class Gone(Exception):
    """There is nothing left to take from, and nobody who wants it."""


class Source:
    """What a Player plays on."""

    steps = 0  # of an epoch; 0: not known

    def reads_ahead(self) -> bool:
        """Whether others go on making batches while the loop computes."""
        return True

    def keeps(self, batch: Any) -> bool:
        """Whether it may be handed out again."""
        return True

    def take(self) -> Any:
        """The next batch, with what that takes."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether take() would have it at once."""
        return False

    def lead(self) -> int:
        """Steps until what is in hand is used up behind play()."""
        raise NotImplementedError

    def counters(self) -> Counters:
        return Counters()

    def play(self, phase: int, warm_steps: int) -> Cache:
        """What is read from now on is of this phase; what was there of the one
        before."""
        raise NotImplementedError


class Measured:
    """The library's hpdsl_measured of this process, and its steps."""

    def __init__(self, rank: int, ranks: int) -> None:
        options = _abi.MeasuredOptions(rank=rank, ranks=ranks)
        found = ctypes.c_void_p()
        checked(lib.measured_new, ctypes.byref(options), ctypes.byref(found))
        if not found:
            raise RuntimeError("HPDSL_STALL is set, and this program has more "
                               "rights than its caller: it is not measured")
        self._handle: Optional[ctypes.c_void_p] = found
        self._pid = os.getpid()
        self._place = _abi.StallPlace()

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle and self._pid == os.getpid():
            lib.measured_free(handle)

    def lead(self, steps: int, epoch: int) -> None:
        lib.measured_lead(self._handle, steps, epoch)

    def enter(self, at: Counters) -> _abi.StallPlace:
        counters = _abi.StallCounters(time.monotonic(), *at)
        checked(lib.measured_enter, self._handle, ctypes.byref(counters),
                ctypes.byref(self._place))
        return self._place

    def leave(self, ready: bool) -> None:
        lib.measured_leave(self._handle, time.monotonic(), ready)

    def cache(self, phase: int, cache: Cache) -> None:
        checked(lib.measured_cache, self._handle, phase,
                ctypes.byref(_abi.StallCache(*cache)))

    def asks(self, phase: int, batches: int, of: Tuple[float, ...]) -> None:
        checked(lib.measured_asks, self._handle, phase,
                ctypes.byref(_abi.StallAsks(batches, *of)))

    def warm_steps(self) -> int:
        return lib.measured_steps(self._handle, WARM)


class Player:
    """next() for the training loop, step by step.  plays: what comes is no
    longer the source's next batch."""

    def __init__(self, measured: Measured, source: Source) -> None:
        self.measured, self.source = measured, source
        self.plays = False
        self._phase: Optional[int] = None
        self._begun = False  # a step that failed may be asked for again
        self._lead = 0
        self._kept: List[Any] = []
        self._handed = 0
        self._taker: Optional[_Taker] = None

    def next(self) -> Any:
        while True:
            if not self.plays and self.source.lead() != self._lead:
                self._lead = self.source.lead()
                self.measured.lead(self._lead, self.source.steps)
            place = self.measured.enter(self.source.counters())
            if place.time != _BEHIND:
                return self._step(place)
            self._end_phase()
            time.sleep(_POLL)

    def hold(self) -> None:
        """Nobody takes until go_on()."""
        if self._taker is not None:
            self._taker.end()

    def go_on(self) -> None:
        if self._taker is not None:
            self._taker = _Taker(self.source)

    def _step(self, place: _abi.StallPlace) -> Any:
        ready = False
        if place.time == _IN:
            self.plays = True
            if place.begins and not self._begun:
                self._begin_phase(place.phase)
            self._begun = place.begins
        try:
            if place.time == _IN and place.phase <= LOAD:
                batch = self._again()
            else:
                ready = self.source.ready()
                batch = self.source.take()
        except Exception as e:
            # One that failed is behind us, too, but at an epoch's end.
            if not isinstance(e, StopIteration):
                self.measured.leave(False)
            raise
        self.measured.leave(ready)
        return batch

    def _begin_phase(self, phase: int) -> None:
        self._end_phase()
        self._phase = phase
        # A replay needs something to hand out before reading stops for it.
        if phase != REPLAY or len(self._kept) == _KEPT:
            self._play(phase)
        if phase == LOAD and self.source.reads_ahead():
            self._taker = _Taker(self.source)

    def _play(self, phase: int) -> Cache:
        return self.source.play(phase, self.measured.warm_steps())

    def _end_phase(self) -> None:
        phase, self._phase = self._phase, None
        if self._taker is not None:
            self._taker.end()
            self._taker = None
        if phase is None:
            return
        cache = self._play(NONE)
        if phase >= WARM:
            self.measured.cache(phase, cache)

    def _again(self) -> Any:
        """The first ones are the source's.  They are handed out as they are: to
        copy them takes time that no step takes by itself."""
        if len(self._kept) < _KEPT:
            batch = self.source.take()
            if self.source.keeps(batch):
                self._kept.append(batch)
            if len(self._kept) == _KEPT and self._phase == REPLAY:
                self._play(REPLAY)
            return batch
        if self._taker is not None:
            self._taker.drop()
        self._handed += 1
        return self._kept[self._handed % _KEPT]


class _Taker:
    """Takes on while the loop is handed something else, a batch a step."""

    def __init__(self, source: Source) -> None:
        self._source, self._stop = source, False
        self._got: "queue.Queue[Tuple[bool, Any]]" = queue.Queue(1)
        self._thread = threading.Thread(target=self._run, name="hpdsl-taker",
                                        daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop:
            try:
                got = True, self._source.take()
            except Gone:
                return
            except BaseException as e:  # the loop's to see
                got = False, e
            self._got.put(got)
            if not got[0]:
                return
            del got

    def drop(self) -> None:
        """What it has, if it has something."""
        try:
            fine, got = self._got.get_nowait()
        except queue.Empty:
            return
        if not fine:
            raise got

    def end(self) -> None:
        self._stop = True
        while self._thread.is_alive():
            try:
                self._got.get(timeout=_POLL)
            except queue.Empty:
                pass
        self._thread.join()
