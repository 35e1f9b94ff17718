# SPDX-License-Identifier: Apache-2.0
"""The dataset that DataLoader has of a Loader: a turn becomes a batch, in the
trainer or in a worker."""

from __future__ import annotations

import os
import pickle
from typing import Any, Callable, Iterator, NoReturn, Optional

import torch
import torch.utils.data as data
from torch._utils import ExceptionWrapper

from ._boxes import Boxes
from ._errors import UsageError, annotate
from ._lend import Board, Lent, read_turn
from ._orphan import watch_trainer
from ._parcel import Decoder, Parcel, sample_of
from ._torch_batch import mapped


class Failed:
    """An error on its way to the loop, behind which the next turn comes; fatal:
    nothing does.  sample: of which decode raised it; None: something else did."""

    def __init__(self, error: Any, fatal: bool = False,
                 sample: Optional[int] = None) -> None:
        self.error, self.fatal, self.sample = error, fatal, sample

    def throw(self, where: Callable[[int], str]) -> NoReturn:
        """The very exception that was raised here; of a worker's one of the same
        type, made of its traceback's text, or where that cannot be made so a
        RuntimeError.  With a note of where() its sample is, which that text has,
        too."""
        note = None if self.sample is None else where(self.sample)
        try:
            if isinstance(self.error, ExceptionWrapper):
                if note is not None:
                    self.error.where += ", " + note
                self.error.reraise()
            raise self.error
        except Exception as e:
            if note is not None:
                annotate(e, note)
            raise


class Asked(data.Sampler):
    """Yields the turns of what is left of an epoch, and never waits."""

    def __init__(self, ask: Callable[[int], None]) -> None:
        self.first = self.end = 0
        self._ask = ask

    def __iter__(self) -> Iterator[int]:
        for turn in range(self.first, self.end):
            self._ask(turn + 1)
            yield turn

    def __len__(self) -> int:
        return self.end - self.first


class Here(data.Dataset):
    """In the process that reads.  convert: of an hpdsl.Batch."""

    def __init__(self, reader: Any, convert: Callable[..., Any]) -> None:
        self._reader, self._convert = reader, convert
        self.whole: Optional[int] = None

    def __getitem__(self, turn: int) -> Any:
        before = self._reader.place()
        try:
            batch = self._reader.next_batch()
        except Exception as e:
            return Failed(e, before == self._reader.place())
        self.whole = batch.whole
        try:
            made = [self._convert(batch)]
        except Exception as e:
            return Failed(e, sample=sample_of(e))
        # The library gets its memory back.
        del batch
        return made.pop()


class There(data.Dataset):
    """In workers: what they have of the trainer's memory is theirs only until
    they have made a batch of it."""

    def __init__(self, board: Board, lent: Lent, boxes: Boxes,
                 decoder: Decoder) -> None:
        self._board, self._lent, self._boxes = board, lent, boxes
        self._decoder = decoder

    def __getitem__(self, number: int) -> Any:
        watch_trainer()
        parent = os.getppid()
        telling = self._board.wait(number, lambda: os.getppid() != parent)
        try:
            made = self._made(telling)
            if isinstance(made, Parcel):
                made.box = self._boxes, number
            return made
        except Exception as e:
            sample = sample_of(e)
            return Failed(ExceptionWrapper(
                where=f"in worker {data.get_worker_info().id}"), sample=sample)
        finally:
            self._board.done(number)

    def _made(self, telling: bytes) -> Any:
        turn, lent = read_turn(telling), self._lent
        if turn is None:
            return Failed(*pickle.loads(telling[1:]))
        lent.reach(turn)
        before = lent.holders()
        made = self._decoder.batch(
            lent.members(turn), turn.bad, turn.labels, turn.numbers,
            turn.mask, turn.epoch, turn.step)
        if lent.holders() > before:
            made.made = own(made.made, lent)
            if lent.held(before):
                raise UsageError(
                    f"epoch {turn.epoch}, step {turn.step}: decode or collate "
                    "keeps a view of memory that is lent to it for this batch "
                    "only: wanted bytes(view) or another copy")
        return made


def own(made: Any, lent: Lent) -> Any:
    """The same with copies of what is a part of the memory that was lent."""
    def copy(of: Any) -> Any:
        if isinstance(of, memoryview):
            return bytes(of)
        if isinstance(of, torch.Tensor):
            return of.clone() if lent.has(of.data_ptr()) else of
        if hasattr(of, "__array_interface__") and hasattr(of, "copy"):
            at = of.__array_interface__["data"][0]
            return of.copy() if lent.has(at) else of
        return of

    return mapped(made, copy)
