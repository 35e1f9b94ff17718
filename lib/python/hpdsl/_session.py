# SPDX-License-Identifier: Apache-2.0
"""What is open while a training loop goes on: one reader, DataLoader's workers,
and the turns between them."""

from __future__ import annotations

import inspect
import sys
import traceback
from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Sequence

import torch
import torch.utils.data as data

from ._batch import Batch
from ._boxes import Boxes
from ._called import no_argument
from ._decoding import Asked, Here, There
from ._lend import Board, File, Lent
from ._measured import Measured, Player
from ._parcel import Decoder, Members
from ._pump import Pump, Reader
from ._turns import CountingPump, Turns


class Session:
    """What is open while a loop goes on: a reader, and those who decode.  It
    begins with turn 0 and ends with close().

    One that is measured goes on over the borders of epochs, as its reader has to:
    what its player has of it is not of the epoch that the loop is in."""

    player: Optional[Player] = None

    def __init__(self, reader: Reader, decoder: Decoder,
                 suffixes: Sequence[str], options: Dict[str, Any],
                 measured: Optional[Measured] = None) -> None:
        self.turn = 0
        self.here: Optional[Here] = None
        self.rest: Optional[Iterator[Any]] = None
        self._left = 0
        workers = options["num_workers"]
        self.pump: Optional[Pump] = None
        self._boxes: Optional[Boxes] = None
        self.reader = reader
        if workers:
            ahead = options.get("prefetch_factor") or 2
            board = Board(workers * ahead + workers + 8)
            mapping = reader._live().mapping
            if measured is None:
                self.pump = Pump(reader, board, workers + 2)
            else:
                self._play(measured, CountingPump(
                    reader, board, workers + 2, workers), workers * ahead)
            assert mapping is not None and self.pump is not None
            self._boxes = Boxes(workers * ahead)
            dataset: data.Dataset = There(board, Lent(
                File(mapping.fd), mapping.size), self._boxes, decoder)
            self.asked = Asked(self.pump.ask)
        else:
            dataset = self.here = Here(reader, _converter(decoder, suffixes))
            self.asked = Asked(_nothing)
        self.loader = data.DataLoader(dataset, batch_size=None,
                                      sampler=self.asked, collate_fn=same,
                                      **options)

    def _play(self, measured: Measured, pump: CountingPump, ahead: int
              ) -> None:
        self.pump = pump
        self.player = Player(measured, Turns(pump, self._take, ahead))

    def begin(self, steps: int) -> None:
        """Of an epoch so many steps are left."""
        if self.player is not None:
            self._left = steps
            self.player.source.steps = max(self.player.source.steps, steps)
            if self.rest is None:
                self.asked.end = sys.maxsize
                self.rest = iter(self.loader)
            return
        if self.rest is not None and self.turn == self.asked.end:
            # Its last turn was taken, and then nobody asked for the end.
            next(self.rest, None)
            self.rest = None
        if self.rest is None:
            self.asked.first = self.turn
            self.asked.end = self.turn + steps
            self.rest = iter(self.loader)

    def next(self) -> Any:
        """StopIteration: the epoch is over."""
        if self.player is None:
            return self._take()
        if not self._left:
            raise StopIteration
        self._left -= 1
        return self.player.next()

    def _take(self) -> Any:
        assert self.rest is not None
        try:
            made = _next(self.rest)
        except StopIteration:
            self.rest = None
            raise
        except (ConnectionError, EOFError, FileNotFoundError) as e:
            # That is what it looks like where a large batch was on its way.
            if not _from_queue(e):
                raise
            raise RuntimeError("a worker of the DataLoader has died") from e
        self.turn += 1
        return made

    def plays(self) -> bool:
        """Whether what next() gives is of another step than the loop's."""
        return self.player is not None and self.player.plays

    def whole(self) -> Optional[int]:
        """How many of the step count that was taken last, as the library has it;
        None: it was another process's."""
        return self.here.whole if self.here is not None else None

    def again(self) -> bool:
        """Begins anew with the first step of its reader; False: workers have
        turns in hand."""
        if self.pump is None:
            self.rest = None
            self.reader.seek(0, 0)
        elif self.rest is None:
            self.pump.call(partial(self.reader.seek, 0, 0))
        return self.rest is None

    def close(self) -> None:
        """First those who wait for turns, then who waits for them."""
        if self.player is not None:
            self.player.measured.close()
        if self.pump is not None:
            self.pump.board.stop()
        if self.player is not None:
            self.player.hold()
        rest, self.rest = self.rest, None
        # An exception that is under way may keep it longer.
        getattr(rest, "_shutdown_workers", _nothing_at_all)()
        del rest, self.loader
        if self.pump is not None:
            self.pump.close()
            self.pump.board.close()
        if self._boxes is not None:
            self._boxes.close()
        self.reader.close()


def _next(rest: Iterator[Any]) -> Any:
    """Without workers a step is not told to torch's profiler while there is none:
    that takes longer than to make a tensor."""
    straight = getattr(rest, "_next_data", None)
    if getattr(rest, "_num_workers", 1) or straight is None or (
            _is_profiled()):
        return next(rest)
    return straight()


_is_profiled = getattr(torch.autograd, "_profiler_enabled", lambda: True)


def same(batch: Any) -> Any:
    return batch


def _nothing(_: int) -> None:
    pass


def _nothing_at_all() -> None:
    pass


def _converter(decoder: Decoder, suffixes: Sequence[str]
               ) -> Callable[[Batch], Any]:
    """Of what was read in this process: with nothing to decode it points into
    the library's memory, else nothing does that decode has not kept."""

    def convert(batch: Batch) -> Any:
        members: Members = (batch.data if decoder.raw else
                            zip(*map(batch.members, suffixes)) if suffixes
                            else zip(batch.data))
        return decoder.batch(members, *batch.columns(), batch.epoch, batch.step)

    return convert


# What is decided here, and by which argument.
_OURS = {"dataset": "dataset", "sampler": "order and choice",
         "batch_sampler": "order and batch_size", "generator": "seed",
         "in_order": "order"}
# What has another name here, and what a loader's own arguments are, if it has them.
_NOT_THEIRS = "collate_fn", "batch_size", "shuffle", "drop_last"


def not_ours(of: str, options: Dict[str, Any]) -> None:
    """What DataLoader would take, and what would have no effect."""
    if "collate_fn" in options:
        raise no_argument(of, "collate_fn", ["collate"])
    for name, instead in _OURS.items():
        if name in options:
            raise TypeError(f"{of} has no argument {name!r}: what comes is "
                            f"said by {instead}")


def only_dataloaders(of: str, num_workers: int, options: Dict[str, Any],
                     ours: Iterable[str]) -> None:
    """What is left has to be DataLoader's, and not what is decided here; and
    what that refuses is refused now.  of: who has been given them."""
    not_ours(of, options)
    theirs = inspect.signature(data.DataLoader).parameters
    for name in options:
        if name not in theirs:
            raise no_argument(of, name, [*ours, *(
                one for one in theirs if one not in (*_OURS, *_NOT_THEIRS))])
    if options.get("timeout") and not num_workers:
        raise ValueError("timeout: there are no workers that could be late")
    data.DataLoader([], batch_size=None, sampler=[], num_workers=num_workers,
                    **options)


def effective(decoder: Decoder, num_workers: int,
               options: Dict[str, Any]) -> Dict[str, Any]:
    """Without workers that would have nothing to do, and what is for them."""
    if num_workers and not decoder.raw:
        return {**options, "num_workers": num_workers}
    theirs = ("prefetch_factor", "persistent_workers", "worker_init_fn",
              "multiprocessing_context", "timeout")
    return {"num_workers": 0, **{name: of for name, of in options.items()
                                 if name not in theirs}}


def _from_queue(e: BaseException) -> bool:
    """Whether it was raised while something was received, as borrow() and torch
    do, and is not decode's, in a worker or here."""
    modules = (frame.f_globals.get("__name__")
               for frame, _ in traceback.walk_tb(e.__traceback__))
    return "multiprocessing.queues" in modules
