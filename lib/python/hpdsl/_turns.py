# SPDX-License-Identifier: Apache-2.0
"""Turns of a job that hpdsl-stall measures: what workers make of what was read,
as a source that phases are played on."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Tuple

from ._decoding import Failed
from ._lend import Board
from ._measured import NONE, Cache, Counters, Source
from ._pump import Pump, Reader


class CountingPump(Pump):
    """One that knows what workers make a second.  A worker is at work while
    there is a turn for it that was asked for and is not done; so of the time
    that passes counts the share of the workers that are."""

    def __init__(self, reader: Reader, board: Board, ahead: int, workers: int
                 ) -> None:
        self.workers = workers
        self.made, self.blocked = 0, 0.0
        # Of turns that the loop has not taken, and that are being made.
        self.sizes: Dict[int, int] = {}
        self._making: Dict[int, int] = {}
        self._done, self._open = 0, 0
        self._last = time.monotonic()
        super().__init__(reader, board, ahead)

    def turn(self) -> float:
        now = time.monotonic()
        idle = max(0, self.workers - self._open) / self.workers
        self.blocked += (now - self._last) * idle
        self._last = now
        pause = super().turn()
        self._open = self._asked - self._done
        return pause

    def _keep(self, turn: int, batch: Any) -> None:
        self.sizes[turn] = self._making[turn] = sum(batch.sizes)
        super()._keep(turn, batch)

    def _over(self, turn: int) -> None:
        self.made += self._making.pop(turn)
        self._done = max(self._done, turn + 1)
        super()._over(turn)


class Turns(Source):
    """take: the session's next batch, of turn number."""

    def __init__(self, pump: CountingPump, take: Callable[[], Any],
                 ahead: int) -> None:
        self._pump, self._take, self._ahead = pump, take, ahead
        self._turn = self._out = self._lead = 0

    def take(self) -> Any:
        made = self._take()
        # Of a step that failed there is no size.
        self._out += self._pump.sizes.pop(self._turn, 0)
        self._turn += 1
        return made

    def keeps(self, batch: Any) -> bool:
        return not isinstance(batch, Failed)

    def ready(self) -> bool:
        return self._pump.board.is_done(self._turn)

    def lead(self) -> int:
        if not self._lead and self._turn:
            self._lead = self._reader_plays(NONE, 0)[1]
        return self._lead + self._ahead

    def counters(self) -> Counters:
        return Counters(self._pump.made, self._out, self._pump.blocked)

    def play(self, phase: int, warm_steps: int) -> Cache:
        return self._reader_plays(phase, warm_steps)[0]

    def _reader_plays(self, phase: int, warm_steps: int
                      ) -> Tuple[Cache, int]:
        pump = self._pump
        return pump.call(lambda: pump.reader.play(phase, warm_steps))
