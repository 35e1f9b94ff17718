# SPDX-License-Identifier: Apache-2.0
"""Epochs in their order, batch by batch."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import warnings
from dataclasses import replace
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping,
                    NamedTuple, NoReturn, Optional, Sequence, Tuple, Union)

from . import _abi
from ._abi import lib
from ._batch import Batch, Room, Wanted, suffixes_of
from ._called import by_its_names, no_attribute
from ._choice import Choice, address_of, opened
from ._dataset import Dataset
from ._errors import Error, StoppedError, SystemFailure, UsageError, number
from ._job import (LEFT_OUT, batch_size_of, check_shares, end_of, order_of, plan_of,
                   reads_of, said_of)
from ._order import Epoch, Order, Size, end_number, filled, share_of
from ._rank import Ranks, check_alone, ranks_of, tell_share, worker_of
from ._rest import Rest
from ._running import WAIT_MS, Again, Damage, Lease, Running
from ._sample import Path, Sources, raw
from ._state import behind, make_state, read_state, tell_overruled


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


class _At(NamedTuple):
    """Where a loader is.  Replaced as a whole: Ctrl-C finds this or the next."""

    reached: Tuple[int, int]  # by the job: epoch, step
    next: Tuple[int, int]  # the step that this share has next
    turns: int  # handed out, or failed
    room: int  # that was handed out last, and is what the place is behind; or 0


class Loader:
    """Reads epochs in the order that hpdsl-order(7) defines: threads of the
    library's read ahead what each lane has next, in large reads, and verify it;
    batches point into what was read.

        with hpdsl.Loader(dataset, batch_size=64, seed=1) as loader:
            for epoch in range(90):
                for data, labels in loader:
                    ...

    or `for batch in loader`: a Batch has more than these two.  `for` gives the
    rest of the epoch that the loader is in; the next one gives the next epoch,
    and reading ahead does not stop at the border.  After a `break` the next one
    goes on where it was, and next(iter(loader)) is a step that has been taken; a
    RuntimeWarning says so once, and seek(epoch) begins the epoch anew.  A
    new `for` supersedes, at its first batch, the one before it, which raises
    RuntimeError if it is gone on with, as in zip(loader, loader).

    dataset     a Dataset, the path of one, or a Choice, in place of choice=
    batch_size  samples of a step of this rank; left out: 64, or, of a run that
                goes on, the share of one rank
    rank, ranks who reads: both, or neither
    group       of which process group of torch.distributed, or of which
                dimension of a DeviceMesh, this is one; ranks outside of it that
                have the same rank in theirs read the same
                With none of these it is as torch.distributed says, if that is
                initialized, here or in the process that began this one, then as
                RANK and WORLD_SIZE, Open MPI's or, within a step of srun's,
                Slurm's variables say, which is told in the log "hpdsl"; else it
                is one process alone.  UsageError: WORLD_SIZE says that it is
                not, and no RANK which one
    drop_last   there is no last step that samples do not fill
    shuffle     False: stored order
    seed        of the order
    windows,    and others of the order's: see Order
    lanes, piece, parts
    order       an Order with these; it begins at its epoch and step, and its
                batch is that of a run
    epochs      how many there are in all; 0: no end
    choice      a Choice of the dataset; None: all samples
    end         where samples do not fill the last step: "mask": it is filled
                with other samples, whose mask is False; "repeat": the same, but
                they count; "drop": there is no such step; "short": it has
                what is left and no more, which ranks share anew, so that each
                has a sample where there are as many, else one whose mask is
                False
    uneven      ranks that do not divide a run's batch are taken: they differ by
                a sample
    worker,     of a rank's steps this loader has every workers-th, from step +
    workers     worker on: for processes that have to read for themselves.
                UsageError: one of several workers of a DataLoader has neither
    suffixes    of the members that are wanted, in this order, "jpg" or
                ".jpg"; None: all but those that the packer made.  One that none
                of the samples has is a UsageError; what some lack is empty,
                stats() has how often, and on_warning is called once
    memory      bytes for what was read, at least 16 MiB, as a number or as in
                "2G" or "2GiB"; 0: 1 GiB.  With less, reads are smaller, and on_warning
                says so; a slow loop takes less, see hpdsl-python(7)
    threads     that read and verify, at most 4096; 0: one a core, at least 4
    check       False: checksums are not compared
    skip_bad    a bad sample comes without bytes and is marked in batch.bad;
                otherwise it raises CorruptError or SystemFailure, and the next
                call goes on behind its step
    cache       "auto", or "keep": all is read through the page cache
    shared      what is read lies in one piece of memory, of which batch.buffer
                then is no copy; children that are forked have it, too
    on_bad      called with a Damage for each bad sample that is skipped
    on_warning  called with a line of text; else it is a RuntimeWarning

    Both are called in the thread that asks for batches.  A loader belongs to
    the process that made it, and to one thread at a time; batches may go
    anywhere in it.  It ends with close(), `with`, or when it is forgotten;
    views of its batches stay valid.

    order has the parameters with their defaults, rank, ranks and ranks_from
    what was found.

    Raises UsageError for what makes no sense.  SystemFailure with errno ENOBUFS
    says that batches which were kept hold all the memory.
    """

    _at: _At
    _running: Optional[Running] = None
    _lease: Optional[Lease] = None
    _wait_ms = WAIT_MS
    _may_lack = _telling = False
    # Stands for the iterator that began last: the others are superseded.
    _newest: Optional[object] = None

    @by_its_names("Loader")
    def __init__(self, dataset: Union[Dataset, Choice, Path],
                 batch_size: int = LEFT_OUT, *,
                 rank: Optional[int] = None, ranks: Optional[int] = None,
                 group: Any = None, drop_last: bool = False,
                 shuffle: Optional[bool] = None, seed: Optional[int] = None,
                 windows: Optional[int] = None, lanes: Optional[int] = None,
                 piece: Optional[int] = None, parts: Optional[int] = None,
                 order: Optional[Order] = None, epochs: Optional[int] = None,
                 choice: Optional[Choice] = None, end: Optional[str] = None,
                 uneven: bool = False, worker: Optional[int] = None,
                 workers: Optional[int] = None,
                 suffixes: Optional[Sequence[str]] = None, memory: Size = 0,
                 threads: int = 0, check: bool = True, skip_bad: bool = False,
                 cache: str = "auto", shared: bool = False,
                 on_bad: Optional[Callable[[Damage], Any]] = None,
                 on_warning: Callable[[str], Any] = _warn) -> None:
        self._dataset, self.choice = opened(dataset, choice)
        said = dict(shuffle=shuffle, seed=seed, windows=windows, lanes=lanes,
                    piece=piece, parts=parts)
        self._said = said_of(order, **said, end="drop" if drop_last else end)
        order = order_of(order, **said)
        epochs = number("epochs", epochs or 0, 64)
        self._plain = dict(reads_of(memory, threads, check, skip_bad, cache),
                           shared=shared, may_lack=self._may_lack)
        batch_size = batch_size_of(batch_size)
        self.suffixes = suffixes_of(suffixes or ())
        self.rank, self.ranks, self.ranks_from = ranks_of(rank, ranks, group)
        self._share = share_of(self.rank, self.ranks,
                               *worker_of(worker, workers), uneven)
        self._batch_size, self._memory = batch_size, self._plain["memory"]
        self._epochs, self._end = epochs, end_of(end, drop_last)
        self._on_bad, self._on_warning = on_bad, on_warning
        self._until = order.epoch + epochs
        if not order.shuffle:
            tell_share(Ranks(self.rank, self.ranks, self.ranks_from))
        self._start(self._fits(order, order.batch and batch_size))

    def _fits(self, order: Order, batch_size: int) -> Order:
        """The order with its numbers, if this loader's ranks can share it."""
        share = self._share
        if order.batch:
            check_shares(order.batch, batch_size, share.ranks, share.uneven)
        return filled(order, self._dataset, self.choice,
                      0 if order.batch else self._batch_size, share.ranks,
                      share.workers)

    # ---- Beginning and ending

    def _start(self, order: Order) -> None:
        first = order
        if self._epochs and order.epoch >= self._until:
            first = replace(order, epoch=self._until - 1, step=0)
        choice, names = self.choice, (ctypes.c_char_p * len(self.suffixes))(
            *map(raw, self.suffixes))
        options = _abi.LoaderOptions(
            order=first._c(), end=end_number(self._end), share=self._share,
            epochs=self._until - first.epoch if self._epochs else 0,
            choice=address_of(choice, self._dataset),
            suffixes=ctypes.addressof(names) if names else None,
            n_suffixes=len(names), wait_ms=self._wait_ms, **self._plain)
        self.order = order
        self._handle = self._dataset.handle()
        self._wanted = Wanted(self._dataset, self._handle, choice,
                              self.suffixes)
        running = Running(self._handle, options, names,
                          choice and choice.chosen)
        self._running, self._lease = running, Lease.of(running)
        # A state of the very end: there is nothing to read.
        if order.epoch > first.epoch:
            running.seek(order.epoch, order.step)
        self._steps: Dict[int, int] = {}
        reached = self._normal(order.epoch, order.step)
        self._at = _At(reached, (reached[0], reached[1] + self._share.worker),
                       0, 0)

    def close(self) -> None:
        """Stops reading.  Batches and views of them stay valid."""
        running = self._running
        if running is not None:
            running.end()
        self._running = self._lease = None

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loader belongs to the process that made it: pass on "
                        "its dataset, and its state_dict()")

    def __repr__(self) -> str:
        return (f"<hpdsl.Loader of {self._dataset.path!r}, rank "
                f"{self._share.rank} of {self._share.ranks}>")

    def _live(self) -> Running:
        running = self._running
        if running is None:
            raise ValueError("the loader is closed")
        if running.pid != os.getpid():
            raise RuntimeError("a loader can be used only by the process that "
                               "made it")
        return running

    # ---- Where it is

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            of = vars(self)
            raise no_attribute("Loader", name, of.get("choice") or
                               of.get("_dataset"))

    @property
    def dataset(self) -> Union[Dataset, Choice]:
        """The Choice, if one was given, else the Dataset: its len() is the number
        of samples."""
        return self._dataset if self.choice is None else self.choice

    @property
    def epoch(self) -> int:
        """The epoch that the next `for` gives, or the rest of."""
        return self._at.next[0]

    @property
    def step(self) -> int:
        """Of the batch that is next, in that epoch: 0 behind the last of one."""
        return self._at.next[1]

    @property
    def batch_size(self) -> int:
        """Samples of a step of this rank, at most."""
        return -(-self.order.batch // self._share.ranks)

    def steps(self, epoch: Optional[int] = None) -> int:
        """Steps of an epoch, of all workers, the same for every rank."""
        epoch = self.epoch if epoch is None else epoch
        if epoch not in self._steps:
            self._steps = {epoch: self._live().ask(lib.loader_steps, epoch)}
        return self._steps[epoch]

    def __len__(self) -> int:
        """Steps of the epoch that are this worker's, the first to the last."""
        share = self._share
        return len(range(share.worker, self.steps(), share.workers))

    def _normal(self, epoch: int, step: int) -> Tuple[int, int]:
        """The end of an epoch is the beginning of the next."""
        return (epoch, step) if step < self.steps(epoch) else (epoch + 1, 0)

    def _behind(self, epoch: int, step: int) -> Tuple[int, int]:
        """The step of this share that comes after one of it."""
        step += self._share.workers
        return (epoch, step) if step < self.steps(epoch) else (
            epoch + 1, self._share.worker)

    def _handed(self, epoch: int, step: int, room: int) -> None:
        # Workers have taken a step each when one of them comes to its next.
        behind = self._behind(epoch, step)
        self._at = _At((behind[0], behind[1] - self._share.worker), behind,
                       self._at.turns + 1, room)

    def _left_in_midst(self) -> bool:
        """Whether it is in an epoch because a loop was left there."""
        epoch, step = self._at.next
        return (self._newest is not None and self._at.room > 0 and
                self._share.workers <= step < self.steps(epoch))

    def _pass_by(self, epoch: int) -> None:
        """Not one of its steps is this worker's."""
        self._at = self._at._replace(next=(epoch + 1, self._share.worker))

    # ---- Batches

    def __iter__(self) -> Iterator[Batch]:
        return Rest(self)

    def next_batch(self) -> Optional[Batch]:
        """The next batch, over the borders of epochs; None behind the last."""
        running = self._live()
        if self.ranks_from == "alone" and not self._at.turns:
            check_alone(ranks_of())
        while True:
            try:
                return self._next_soon(running)
            except Again:
                pass

    def _next_soon(self, running: Running) -> Optional[Batch]:
        """Again: it has not come within _wait_ms."""
        while True:
            try:
                room = self._next_room(running)
            except StoppedError:
                raise
            except Error:
                running.took()
                self._see_failed(running)
                raise
            finally:
                self._tell(running)
            if room is None:
                return None
            batch = Batch(room, self._handle, self._wanted,
                          running.mapping)
            # Ctrl-C came between the two lines that are next.
            before = room.number == self._at.room
            if not before:
                self._handed(batch.epoch, batch.step, room.number)
            running.took()
            if not before:
                return batch

    def _see_failed(self, running: Running) -> None:
        """After an error: is that step behind us, as with a bad sample, or still
        to come?  For want of memory it may be either, so no code tells.  It
        counts as reached only when a later one is handed out."""
        c, at = _abi.LoaderStats(), self._at
        running.ask(lib.loader_stats, ctypes.byref(c))
        if c.steps + c.failed_steps > at.turns:
            self._at = at._replace(next=self._behind(*at.next),
                                   turns=at.turns + 1, room=0)

    @staticmethod
    def _next_room(running: Running) -> Optional[Room]:
        try:
            return running.next()
        except SystemFailure as e:
            if e.errno != errno.ENOBUFS:
                raise
        # Batches that nobody can get at any more may hold the memory.
        gc.collect()
        return running.next()

    def _tell(self, running: Running) -> None:
        self._telling = True
        try:
            while running.told:
                told = running.told.popleft()
                if isinstance(told, str):
                    self._on_warning(told)
                elif self._on_bad is not None:
                    self._on_bad(told)
        finally:
            self._telling = False

    # ---- State and statistics

    def state_dict(self, batch: Union[Batch, Sequence[int], None] = None
                   ) -> Dict[str, Any]:
        """What to keep, as a dict or as JSON, to go on later behind this batch, or
        behind what has its (epoch, step), or behind the last one that was handed
        out: on any number of ranks and workers; without a batch, and with
        workers=, in this worker, or in all when each has handed out a step.  The
        text is what `hpdsl-order --state` and `hpdsl-stage --order-from` take."""
        self._live()
        epoch, step = self._at.reached if batch is None else self._normal(
            *behind(batch))
        return make_state(replace(self.order, epoch=epoch, step=step),
                          self._end, self._dataset, self.choice)

    def load_state_dict(self, state: Union[str, Mapping[str, Any]]) -> None:
        """Goes on from there: with the state's order and end; where something else
        was given, a RuntimeWarning says so.  state: what state_dict() gave, or as
        text what a person wrote, see hpdsl-order(7).  CorruptError: it is no
        state; DiffersError: it is of
        another pack or choice, or its epoch has no such step; UsageError: its
        batch cannot be shared by this many ranks, or is another one than
        batch_size says.  After these all is as it was before."""
        self._live()
        share = self._share
        order, end = read_state(state, self._dataset, self.choice,
                                self._batch_size, share.ranks, share.workers)
        order = self._fits(order, self._batch_size)
        tell_overruled(self._said, order, end)
        self.close()
        self._end = end
        self._start(order)

    def seek(self, epoch: int, step: int = 0) -> None:
        """Goes on with this step of this epoch, forwards or back, as behind steps
        that are to be left out; nothing between is read.  The last epoch is the
        same as before.  UsageError: the epoch has no such step, and is not so
        long either.  Not within on_bad and on_warning.

            if loss.isnan():
                behind = batch.step + 100
                loader.seek(batch.epoch, min(behind, loader.steps(batch.epoch)))
        """
        epoch, step = number("epoch", epoch, 64), number("step", step, 64)
        running = self._live()
        if self._telling:
            raise RuntimeError("a loader cannot seek() while it tells something")
        steps = self.steps(epoch)
        if step > steps:
            raise UsageError(f"no step {step}, epoch {epoch} has {steps}")
        before, reached = self._at, self._normal(epoch, step)
        there = before._replace(
            reached=reached, next=(reached[0], reached[1] + self._share.worker),
            room=0)
        try:
            running.seek(epoch, step)
            self._at = there
        except BaseException:
            # Ctrl-C may have come when it was there.
            at = running.reached()
            self._at = there if at == (epoch, step) else before
            raise

    def plan(self) -> Dict[str, Any]:
        """What this loader does in the epoch that it is in, counted and not
        read: rank, ranks, and ranks_from, who said so; batch, of all ranks, and
        batch_size, of this one at most; lanes that have samples of this rank;
        piece, in samples; windows, parts; steps; reads of chunk files, their
        read_bytes, half of which are in reads of no more than median_read;
        held_peak, at most at a time for steps that are not over;
        first_batch_bytes, until the first step is there; mates: how much more
        often than in a full shuffle samples of one chunk meet in a step."""
        return plan_of(Epoch(self._dataset, replace(
            self.order, epoch=self.epoch, step=0), self.choice), self._share,
            self._memory, self._end, self.ranks_from, self.suffixes)

    def set_epoch(self, epoch: int) -> None:
        """seek() to its beginning, unless the loader is in it: for those who say
        it before each epoch, also after load_state_dict()."""
        if epoch != self.epoch:
            self.seek(epoch)

    def stats(self) -> Dict[str, Any]:
        """Since the loader was made: steps, samples and bytes handed out;
        bad_samples, of these, that came without bytes; lacking, members that
        suffixes named and these samples have not; failed_steps, which
        raised an error and were not handed out; sources, see
        Dataset.sources(); reads of chunk files, their read_bytes, half of
        which are in reads of no more than median_read, and direct_bytes, past
        the page cache; read_sizes[i], reads of 2**i bytes up to twice that;
        stall_seconds, for which the caller had to wait, of
        seconds; memory, its bound, memory_peak, and held_peak, without what
        was read ahead; lanes that have samples of this rank, and share_bytes,
        read of one at a time, at most; unchecked."""
        c = _abi.LoaderStats()
        self._live().ask(lib.loader_stats, ctypes.byref(c))
        told = {field[0]: getattr(c, field[0]) for field in c._fields_}
        told["sources"] = Sources._of(c.sources)
        told["read_sizes"] = list(c.read_sizes)
        return told
