# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own DataLoader in a job that hpdsl-stall measures.

Its iterators stay what they are; what they do for a step, and which samples they
ask their workers for, goes through a Loop here, one for each DataLoader.  So the
loop of the script sees as many steps as ever."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from typing import Any, Callable, Iterator, List, Optional, Set, Tuple

from ._files import (OPS, Asks, Ops, Worker, cache_of, first_to_say,
                     kernel_counts, share_what_is_said)
from ._measured import (NONE, WARM, Cache, Counters, Gone, Measured, Player,
                        Source)
from ._rank import ranks_of

# As long as it is not known how many bytes a batch has.
_BATCH_BYTES = 1 << 20

_loops: "weakref.WeakKeyDictionary[Any, Loop]" = weakref.WeakKeyDictionary()


class _Beginning(threading.local):
    """While an iterator is made, which begins to ask for samples at once."""

    loop: Optional["Loop"] = None


_beginning = _Beginning()


def _worker_info() -> Any:
    return sys.modules["torch.utils.data._utils.worker"].get_worker_info()


# Of this process.
_ops: Optional[Ops] = None


def _shared() -> Ops:
    """Of this process: a child has its own."""
    global _ops
    if _ops is None or _ops.pid != os.getpid():
        _ops = Ops()
    return _ops


class Files(Source):
    """A DataLoader, whatever its workers do for a batch.  Warm steps are samples
    that were read before, cold ones what comes next of the sampler."""

    def __init__(self, loader: Any, take: Callable[[Any], Any]) -> None:
        self._take = take
        self.workers = loader.num_workers
        self.ahead = (loader.prefetch_factor or 2) * self.workers
        # Not kept: without it workers end.
        self.it: Callable[[], Any] = lambda: None
        self.plays = False
        self._mode = NONE
        self._warm: List[Any] = []
        self._at = 0
        self._taken, self._bytes = 0, _BATCH_BYTES
        self.ops = _shared()
        self.number = self.ops.new_loader()
        self._before: Optional[_Count] = None
        self.tell_asks: Callable[[int, int, Asks], None]

    def begin(self, it: Any) -> None:
        self.it = weakref.ref(it)

    # ---- Which samples

    def index(self, it: Any, own: Callable[[Any], Any]) -> Any:
        if self._mode != WARM:
            return self._fresh(it, own)
        self._at += 1
        return self._warm[(self._at - 1) % len(self._warm)]

    def _fresh(self, it: Any, own: Callable[[Any], Any]) -> Any:
        try:
            return own(it)
        except StopIteration:
            if not self.plays:
                raise
        it._sampler_iter = iter(it._index_sampler)
        return own(it)

    # ---- What a Player asks

    def take(self) -> Any:
        it = self.it()
        if it is None:
            raise Gone
        if not self.workers:
            self.ops.begin(self.number)  # another one may have been looked at
        made = self._take(it)
        self._taken += 1
        return made

    def reads_ahead(self) -> bool:
        return self.workers > 0

    def ready(self) -> bool:
        """Of an older PyTorch, or a newer one, nobody knows."""
        it = self.it()
        try:
            return self.workers > 0 and (
                len(it._task_info.get(it._rcvd_idx, ())) == 2 or
                not it._data_queue.empty())
        except (AttributeError, OSError):
            return False

    def lead(self) -> int:
        return self.ahead + 2

    def counters(self) -> Counters:
        if not self.workers:
            return Counters(0, self._taken * self._bytes, 0.0)
        busy, made = self._did()
        return Counters(made * self._bytes, self._taken * self._bytes,
                        time.monotonic() - busy / 1e9 / self.workers)

    def _did(self) -> Tuple[int, int]:
        return self.ops.workers_did(self.number)

    def _pids(self) -> List[int]:
        workers = getattr(self.it(), "_workers", ())
        return [os.getpid(), *(w.pid for w in workers)]

    def look_at_bytes(self) -> None:
        """About how many bytes a batch takes, which says how much memory warm
        steps need."""
        read = self.ops.seen(NONE)[4]
        if not read:
            read = (kernel_counts(self._pids()) or [0, 0, 0])[1]
        if read:
            self._bytes = max(1, read // (self._taken + self.ahead))

    def play(self, phase: int, warm_steps: int) -> Cache:
        self.ops.phase(phase, self.number)
        self._mode = phase
        if phase == WARM:
            self.ops.phase(NONE, 0)
            self._begin_warm(warm_steps + self.ahead)
            self.ops.phase(WARM, self.number)
        before, self._before = self._before, _Count(self, phase)
        if before is None or before.phase == NONE:
            return Cache()
        cache, asks = self._before.since(before)
        self.tell_asks(before.phase, self._before.batches - before.batches,
                       asks)
        return cache

    def _begin_warm(self, n: int) -> None:
        """Draws samples, once, and has them read; then, and each time, until what
        was asked for before is out of the way."""
        first, it = not self._warm, self.it()
        if first:
            own = type(it)._next_index.hpdsl_own
            self._warm = [self._fresh(it, own) for _ in range(n)]
        self._at = 0
        for _ in range((n if first else 0) + self.ahead):
            self.take()


class _Count:
    """All that was counted when a phase began."""

    def __init__(self, of: Files, phase: int) -> None:
        self.phase = phase
        # Those that it was for: the loop takes them later.
        self.batches = of._did()[1] if of.workers else of._taken
        self._seen = {p: of.ops.seen(p) for p in range(NONE)}
        self._beside = max(1, of.workers)
        self._pids = of._pids()
        self._kernel = kernel_counts(self._pids)

    def since(self, before: "_Count") -> "tuple[Cache, Asks]":
        seen = [now - was for now, was in zip(
            self._seen[before.phase], before._seen[before.phase])]
        kernel = [0, 0, 0]
        if self._kernel and before._kernel and self._pids == before._pids:
            kernel = [now - was for now, was in zip(self._kernel,
                                                    before._kernel)]
        return cache_of(seen), Asks._make(
            (*seen[:5], *kernel, seen[8] / 1e9 / self._beside))


class Loop:
    """Of one DataLoader, over all of its iterators."""

    def __init__(self, loader: Any, take: Callable[[Any], Any]) -> None:
        self.source, self._of = Files(loader, take), weakref.ref(loader)
        self.player: Optional[Player] = None
        self._shown, self._steps, self._pid = 0, 0, os.getpid()
        self._looks = 8

    def begin(self, it: Any) -> None:
        self.source.begin(it)
        self._shown = 0
        try:
            self._steps = len(it._index_sampler)
        except Exception:  # as samplers without a length raise
            self._steps = 0  # then it never ends by itself
        self.source.steps = self._steps

    def hold(self) -> None:
        if self.player is not None:
            self.player.hold()

    def go_on(self) -> None:
        if self.player is not None:
            self.player.go_on()

    def next(self, it: Any, take: Callable[[Any], Any]) -> Any:
        if it is not self.source.it() or self._pid != os.getpid():
            return take(it)  # an older one, or of a process that was forked
        player = self.player
        if player is None:
            player = self._play()
        if self.source.plays and self._steps and self._shown >= self._steps:
            raise StopIteration
        if not player.plays and self.source._taken >= self._looks:
            self.source.look_at_bytes()
            self._looks *= 2
        made = player.next()
        self.source.plays = player.plays
        self._shown += 1
        if not player.plays and self._shown > self._steps:
            self._steps = 0  # it has no end, whatever its length says
        return made

    def _play(self) -> Player:
        # As late as this: torch.distributed knows by now.
        rank, ranks, _ = ranks_of(begins=False)
        measured = Measured(rank, ranks)
        self.source.tell_asks = measured.asks
        loader = self._of()
        if loader is not None:
            # The next one may be measured in its place.
            weakref.finalize(loader, measured.close)
        self.player = Player(measured, self.source)
        return self.player


# ---- What of PyTorch is changed ---------------------------------------------

def _is_ours(loader: Any) -> bool:
    """One within hpdsl.torch.Loader, which plays by itself; or in a worker."""
    return type(loader.dataset).__module__ == "hpdsl._decoding" or (
        _worker_info() is not None)


def _can_play(loader: Any, module: Any) -> bool:
    return loader._dataset_kind == module._DatasetKind.Map


def change_dataloader(module: Any) -> None:
    share_what_is_said()
    # All of them, before anything is changed.
    base, begin = module._BaseDataLoaderIter, module.DataLoader.__iter__
    take, index = base.__next__, base._next_index
    fetcher = module._utils.fetch._MapDatasetFetcher
    fetch, _ = fetcher.fetch, module._DatasetKind.Map

    def __iter__(self: Any) -> Iterator[Any]:
        if _is_ours(self):
            return begin(self)
        if not _can_play(self, module):
            _say_once("a DataLoader over an IterableDataset is not measured: "
                      "there is no telling which samples it has read")
            return begin(self)
        loop = _loops.get(self)
        if loop is None:
            loop = _loops[self] = Loop(self, take)
        loop.hold()
        loop.source.ops.begin(loop.source.number)
        before, _beginning.loop = _beginning.loop, loop
        try:
            it = begin(self)
        finally:
            _beginning.loop = before
        if not isinstance(it, base):
            _say_once(f"a {type(self).__name__} with iterators of its own is "
                      "not measured")
            return it
        it.__dict__["_hpdsl_loop"] = loop
        loop.begin(it)
        loop.go_on()
        return it

    def __next__(self: Any) -> Any:
        loop = self.__dict__.get("_hpdsl_loop")
        return take(self) if loop is None else loop.next(self, take)

    def _next_index(self: Any) -> Any:
        loop = self.__dict__.get("_hpdsl_loop") or _beginning.loop
        return index(self) if loop is None else loop.source.index(self, index)

    _next_index.hpdsl_own = index  # type: ignore[attr-defined]
    module.DataLoader.__iter__ = __iter__
    base.__next__, base._next_index = __next__, _next_index
    fetcher.fetch = _counting(fetch)


def _counting(fetch: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Makes a batch, in a worker: how long that takes is counted."""
    from ._orphan import watch_trainer  # of PyTorch, which is there by now

    def counting(self: Any, index: Any) -> Any:
        info = _worker_info()
        if info is None or not os.environ.get(OPS):
            return fetch(self, index)
        watch_trainer()
        worker = self.__dict__.get("_hpdsl_worker")
        if worker is None:
            worker = self.__dict__["_hpdsl_worker"] = Worker(info.id)
        begin = time.monotonic_ns()
        made = fetch(self, index)
        worker.did(time.monotonic_ns() - begin)
        return made

    return counting


# A pickle of its own: whoever loads it looks for a module of that name, and says
# that there is none.
_MARK = (b"\x80\x02cwritten by a job that hpdsl-stall measured: no result, do not "
         b"use\nit\n.")


class _Behind:
    """What of a file is behind the mark, as torch.load() reads it."""

    def __init__(self, f: Any, begin: int) -> None:
        self._f, self._begin = f, begin
        self.read, self.readline = f.read, f.readline

    def tell(self) -> int:
        return self._f.tell() - self._begin

    def seek(self, to: int, whence: int = 0) -> int:
        if whence == 0:
            to += self._begin
        self._f.seek(to, whence)
        return self.tell()

    def seekable(self) -> bool:
        return True


def _behind(f: Any) -> Any:
    """As it is, where it has no mark."""
    if not hasattr(f, "seek"):
        return f
    begin = f.tell()
    if f.read(len(_MARK)) == _MARK:
        return _Behind(f, begin + len(_MARK))
    f.seek(begin)
    return f


def change_save(module: Any) -> None:
    """A measured run trains nothing: nothing that it saves is to be taken for a
    result.  Within the job it can be loaded, as of the best model so far."""
    if os.environ.get("HPDSL_STALL_SAVES"):
        return

    share_what_is_said()
    own_save, own_load = module.save, module.load

    def save(obj: Any, f: Any, *others: Any, **named: Any) -> None:
        if isinstance(f, (str, bytes, os.PathLike)):
            with open(f, "wb") as out:
                return save(obj, out, *others, **named)
        _say_once("torch.save() marks what it writes: torch.load() refuses it "
                  "but in this job (--keep-saves: it is not marked)")
        f.write(_MARK)
        return own_save(obj, f, *others, **named)

    def load(f: Any, *others: Any, **named: Any) -> Any:
        if not isinstance(f, (str, bytes, os.PathLike)):
            return own_load(_behind(f), *others, **named)
        with open(f, "rb") as file:
            found = _behind(file)
            if found is not file:
                named.pop("mmap", None)  # it needs a file of its own
                return own_load(found, *others, **named)
        return own_load(f, *others, **named)

    module.save, module.load = save, load


_said: Set[str] = set()


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        if first_to_say(text):
            sys.stderr.write(f"hpdsl-stall: {text}\n")
