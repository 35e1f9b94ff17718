#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpdsl.torch, case by case.

usage: torch_cases.py DATASET CASE...

CASE is the name of a function below, with arguments behind colons; its doc
string says what it holds.
"""
import contextlib
import copy
import gc
import inspect
import itertools
import json
import multiprocessing
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Iterable
from unittest import mock

import torch
import torch.utils.data
from PIL import Image
from torch.utils import _pytree
from torch.utils.data._utils.pin_memory import pin_memory

import hpdsl
import hpdsl.torch
from common import rounds, until_true
from hpdsl import (_boxes, _contents, _course, _evaluation, _iterable, _options, _orphan,
                   _parcel, _session, _torch_batch)
from hpdsl._frameworks import watcher
from hpdsl.torch import (Contents, Loader, MapLoader, Sampler, Samples,
                         evaluate)
from test_public import all_unsaid

ORDER = hpdsl.Order(seed=5, batch=36, lanes=12, piece=3, windows=2)
# Three samples a step.
SHORT = hpdsl.Order(seed=5, batch=3, lanes=6, piece=3, windows=2)
# "more workers than cores" is no news here.
warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)


def reference(ds, order=ORDER, epoch=0, choice=None):
    """Of each step the numbers that count, sorted."""
    order = hpdsl.Order(**{**vars(order), "epoch": epoch, "step": 0})
    steps = hpdsl.Epoch(ds, order, choice)
    return [sorted(p.sample for p in steps.step(s) if p.real)
            for s in range(steps.steps())]


def steps_loader(ds, workers=0, order=ORDER, loading=None, **given):
    """With something to decode, so that there are workers."""
    if not workers:
        loading = {}
    return Loader(ds, order=order, num_workers=workers, **(loading or {}),
                  **{"decode": bytes, "collate": list, **given})


def map_loader(ds, workers=0, order=ORDER, loading=None, **given):
    return MapLoader(Samples(ds), Sampler(ds, order=order, **given),
                     num_workers=workers, **(loading or {}))


def counted(batches, into):
    """Adds the numbers that count to their steps; also looks at the bytes."""
    for batch in batches:
        counts = batch.numbers[batch.mask].tolist()
        into.setdefault((batch.epoch, batch.step), []).extend(counts)
        assert len(batch.data) == len(batch.mask) == len(batch.labels)
        yield batch


def all_of(loader, into):
    for _ in counted(loader, into):
        pass


def got(into, epoch=0):
    """The steps of an epoch, from 0 on without a gap."""
    steps = sorted(s for e, s in into if e == epoch)
    assert steps == list(range(len(steps))), steps
    return [sorted(into[epoch, s]) for s in steps]


def place(batch):
    return batch.epoch, batch.step


def same_bytes(ds, batch):
    for number, content, label in zip(batch.numbers.tolist(), batch.data,
                                      batch.labels.tolist()):
        sample = ds[number]
        assert sample.data == content and sample.label == label


def once(ds, kind="steps"):
    """Every sample exactly once, the same steps, on 1 to 4 ranks with 0 to 3
    workers each."""
    make = {"steps": steps_loader, "map": map_loader}[kind]
    for ranks, workers in [(1, 0), (2, 2), (2, 3), (4, 0), *rounds(
            (), ((1, 2), (2, 0), (2, 1)))]:
        seen = {}
        for rank in range(ranks):
            loader = make(ds, workers, rank=rank, ranks=ranks)
            for k, batch in enumerate(counted(loader, seen)):
                assert batch.step == k and loader.step == k + 1
                if workers == 2 and k % 5 == 0:
                    same_bytes(ds, batch)
            assert (loader.epoch, loader.step) == (1, 0)
        assert got(seen) == reference(ds), (ranks, workers)


def subset(ds):
    """The same with a choice, and with what is at the end of an epoch."""
    choice = hpdsl.Choice(ds, split=(0, 0.7))
    wanted = reference(ds, choice=choice)
    for end in "mask", "repeat", "drop":
        seen, sizes = {}, set()
        for rank in range(2):
            for batch in counted(steps_loader(ds, 2, choice=choice, end=end,
                                              rank=rank, ranks=2), seen):
                sizes.add(len(batch.numbers))
        found = got(seen)
        assert sizes == {18}
        if end == "mask":
            assert found == wanted
        elif end == "drop":
            assert found == wanted[:-1]
        else:
            assert found[:-1] == wanted[:-1] and len(found[-1]) == 36


def resume(ds, kind="steps"):
    """Stopped in mid-epoch and begun again on other numbers, several times:
    the steps are the same as undisturbed."""
    make = {"steps": steps_loader, "map": map_loader}[kind]
    rng = random.Random(7)
    plans = ([(2, 2), (1, 3), (4, 0)], [(1, 1), (2, 3), (1, 0)],
             [(3, 0), (2, 1), (1, 2)])
    for plan in plans[:rounds(1, 3)]:
        seen, state = {}, None
        for ranks, workers in plan:
            stop, states = rng.randrange(1, 9), []
            for rank in range(ranks):
                loader = make(ds, workers, rank=rank, ranks=ranks)
                if state:
                    loader.load_state_dict(state)
                for _ in itertools.islice(counted(loader, seen), stop):
                    pass
                states.append(json.dumps(loader.state_dict()))
            assert len(set(states)) == 1, states
            state = json.loads(states[0])
        loader = make(ds, 2)
        loader.load_state_dict(state)
        while loader.epoch < 2:
            all_of(loader, seen)
        assert got(seen, 0) == reference(ds, epoch=0)
        assert got(seen, 1) == reference(ds, epoch=1)


def go_on(ds):
    """After a break a loop goes on where it was; seek() begins elsewhere; a
    state from the last step begins the next epoch."""
    steps = len(reference(ds))
    for workers, persistent in (0, False), (2, False), (2, True):
        loader = steps_loader(ds, workers,
                              loading={"persistent_workers": persistent})
        seen = {}
        for batch in counted(loader, seen):
            if batch.step == 3:
                break
        all_of(loader, seen)
        all_of(loader, seen)
        assert got(seen, 0) == reference(ds, epoch=0)
        assert got(seen, 1) == reference(ds, epoch=1)
        for batch in loader:
            if batch.step == steps - 1:
                break  # the end of the epoch is never asked for
        assert (loader.epoch, loader.step) == (2, steps)
        assert place(next(iter(loader))) == (3, 0)
        loader.seek(7, steps - 1)
        for batch in loader:
            assert (batch.epoch, batch.step) == (7, steps - 1)
            state = loader.state_dict()
        assert (state["epoch"], state["step"]) == (8, 0)
        loader.seek(2)
        loader.load_state_dict(state)
        assert next(iter(loader)).epoch == 8 and len(loader) == steps


def ahead(ds):
    """Workers are ahead of the loop, and its state does not follow them."""
    made = multiprocessing.Value("i", 0)

    def decode(content):
        with made:
            made.value += 1
        return bytes(content)

    loader = steps_loader(ds, 2, decode=decode, loading={"prefetch_factor": 4})
    running = iter(loader)
    for k in range(3):
        next(running)
        until_true(lambda: made.value >= (k + 4) * ORDER.batch)
        assert loader.state_dict()["step"] == k + 1


def finite(ds):
    """Behind the last of the epochs that were asked for a `for` gives nothing,
    wherever the loader came from; of the last one it gives what is left."""
    order = hpdsl.Order(**{**vars(SHORT), "epoch": 3})
    steps = len(reference(ds, order))
    for workers, persistent in (0, False), (2, False), (2, True):
        loader = steps_loader(ds, workers, order, epochs=2,
                              loading={"persistent_workers": persistent})
        assert [sum(1 for _ in loader) for _ in range(4)] == [
            steps, steps, 0, 0]
        state = loader.state_dict()
        assert (loader.epoch, state["epoch"], state["step"]) == (5, 5, 0)
        loader.seek(4, steps - 2)
        assert sum(1 for _ in loader) == 2
        loader.seek(3)
        loader.load_state_dict(state)
        reading = mock.Mock(side_effect=AssertionError("was read"))
        with mock.patch.object(hpdsl.torch, "Reader", reading):
            assert not list(loader)


def other(ds, path):
    """A state of another dataset, or of another choice, is refused, and so is
    its sampler; a dataset that was opened again is the same one."""
    state = steps_loader(ds).state_dict()
    for loader in (steps_loader(hpdsl.Dataset(path)),
                   steps_loader(ds, choice=hpdsl.Choice(ds, split=(0, 0.5)))):
        try:
            loader.load_state_dict(state)
        except hpdsl.DiffersError:
            continue
        raise AssertionError("was taken")
    try:
        MapLoader(Samples(ds), Sampler(hpdsl.Dataset(path)))
    except hpdsl.DiffersError as e:
        assert path in str(e) and ds.path in str(e), e
    else:
        raise AssertionError("was taken")
    again = MapLoader(Samples(ds), Sampler(hpdsl.Dataset(ds.path), order=ORDER))
    assert len(list(again)) == len(reference(ds))


@contextlib.contextmanager
def ranks_begin(rank, ranks):
    """As if torch.distributed were initialized from here on."""
    of = torch.distributed
    with mock.patch.object(of, "is_initialized", return_value=True), \
            mock.patch.object(of, "get_rank", return_value=rank), \
            mock.patch.object(of, "get_world_size", return_value=ranks):
        yield


def distributed(ds):
    """The rank is that of torch.distributed, also if that is initialized later,
    unless both are given."""
    with ranks_begin(1, 2):
        for given, wanted in ({}, (1, 2)), ({"rank": 0, "ranks": 2}, (0, 2)):
            for one in Loader(ds, 18, **given), Sampler(ds, 18, **given):
                assert one.course.ranks[:2] == wanted
                assert one.course.order.batch == 36
                assert len(one) == one.course.steps(0)
        assert Loader(ds, group="of two").plan()["ranks_from"] == "group"
    for alone in {"rank": 0}, {"ranks": 1}:
        try:
            Loader(ds, **alone)
        except hpdsl.UsageError as e:
            assert "both or neither" in str(e), e
        else:
            raise AssertionError(alone)


def asked_early(ds):
    """Who asks a loader for its length, and all else, when it is alone, has what
    its rank has when there are ranks; from the first `for` on that stays."""
    makes = (lambda: Loader(ds, 18), lambda: MapLoader(
        Samples(ds), Sampler(ds, 18)), lambda: evaluate(ds, 18))
    for make in makes:
        early, seen = make(), {}
        alone = len(early)
        for asked in "plan", "state_dict", "order":
            of = getattr(early, asked, None)
            of() if callable(of) else of
        with ranks_begin(1, 2):
            assert len(early) == len(make()) == -(-alone // 2)
            all_of(early, seen)
            order = getattr(early, "_loader", early).order
            assert order.batch == 36
        assert len(early) == -(-alone // 2)
        assert got(seen) == [sorted(
            p.sample for p in hpdsl.Epoch(ds, order).step(s, rank=1, ranks=2)
            if p.real) for s in range(len(early))]
    sampler = Sampler(ds, 18)
    assert len(sampler) == alone
    with ranks_begin(1, 2):
        assert [len(p.numbers) for p in sampler] == [18] * len(sampler)
        assert len(sampler) == len(early)
    # In the midst of an epoch a step is what it was.
    loader = Loader(ds, 18)
    with ranks_begin(1, 2):
        next(iter(loader))
    loader.close()
    refused(hpdsl.UsageError, "has a batch of 36: on 1 ranks that is",
            lambda: next(iter(loader)))
    # A step that there was, and is none any more.
    loader = Loader(ds, 18)
    loader.seek(0, alone - 1)
    with ranks_begin(1, 2):
        refused(hpdsl.RangeError, "no step", lambda: next(iter(loader)))
    with mock.patch.dict(os.environ, WORLD_SIZE="2"):
        for make in makes:
            early = make()
            assert len(early) == alone
            refused(hpdsl.UsageError, "but no RANK", lambda: next(iter(early)))


class Stream(torch.utils.data.IterableDataset):
    """What reads in DataLoader's workers; make is for worker n of so many."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        of = torch.utils.data.get_worker_info()
        for batch in self.make(of.id, of.num_workers):
            yield list(batch.numbers)


def in_workers(ds):
    """Loaders that are made in DataLoader's workers, or iterated there: those that
    were not told which is theirs would give each sample once a worker."""
    def all_by(make, workers):
        return sorted(n for numbers in torch.utils.data.DataLoader(
            Stream(make), batch_size=None, num_workers=workers)
            for n in numbers)

    def fails(text, make, workers):
        refused(hpdsl.UsageError, text, lambda: all_by(make, workers))
        gc.collect()  # before others are forked

    def alone(*_, **of):
        return hpdsl.Loader(ds, 3, epochs=1, **of)

    every = list(range(len(ds)))
    assert all_by(lambda n, of: alone(worker=n, workers=of), 2) == every
    assert all_by(alone, 1) == every
    fails("say worker= and workers=", alone, 2)
    ours = steps_loader(ds), map_loader(ds), evaluate(ds, 3)
    for loader, workers in zip(ours, (1, 2, 1)):
        fails("it has workers of its own", lambda *_: loader, workers)


def accelerate_prepares(loader, rank, ranks):
    """As its prepare() does: a DataLoader's batches are dealt to the processes,
    anything else is left."""
    of = torch.utils.data
    if not isinstance(loader, of.DataLoader):
        return loader
    if isinstance(loader.sampler, of.BatchSampler):
        getattr(loader.sampler, "sampler", None)
    shard = list(loader.batch_sampler or loader.sampler)[rank::ranks]
    return of.DataLoader(loader.dataset, batch_size=None, sampler=shard)


def lightning_prepares(loader, rank, ranks):
    """As its trainer does: a DataLoader is made anew with a sampler of
    Lightning's, and told the epoch."""
    of = torch.utils.data
    if isinstance(loader, of.DataLoader):
        if not isinstance(loader.sampler, of.DistributedSampler):
            sampler = of.DistributedSampler(loader.dataset, ranks, rank)
            return type(loader)(loader.dataset, sampler=sampler)
    sampler = getattr(loader, "sampler", loader)
    if callable(getattr(sampler, "set_epoch", None)):
        sampler.set_epoch(0)
    return loader


def options_known():
    """Type checkers know those that each takes."""
    def of(kind):
        return set(inspect.signature(kind).parameters)

    courses = of(_course.Course) - {"dataset", "batch_size"}
    reads, data = set(hpdsl.torch._HOW), of(torch.utils.data.DataLoader) - {
        "dataset", *_session._OURS, *_session._NOT_THEIRS}
    orders = {*_evaluation.ORDERS, "drop_last", "choice", "end"}
    for name, wanted in (
            ("Loader", courses | reads | data),
            ("Evaluate", courses - orders | {"shuffle", "drop_last"} | reads | data),
            ("Sampler", courses), ("MapLoader", data),
            ("Iterable", of(hpdsl.Loader) - {"dataset", "batch_size"} -
             set(_iterable._NOT_SAID))):
        known = set(getattr(_options, name + "Options").__annotations__)
        if name != "MapLoader":
            wanted = wanted - {"num_workers"}
        # Another torch may have others.
        assert known >= wanted - data, (name, wanted - known)
        assert known - wanted <= {"pin_memory_device"}, (name, known - wanted)


def prepared(ds):
    """Loaders that a framework prepares for its processes again give each
    sample once; what they are is printed."""
    for one, name in ((steps_loader(ds), "Loader"), (map_loader(ds), "MapLoader"),
                      (Samples(ds), "Samples"), (Sampler(ds), "Sampler"),
                      (evaluate(ds, 3), "Evaluation"),
                      (hpdsl.torch.Iterable(ds), "Iterable")):
        assert repr(one).startswith(f"<hpdsl.torch.{name} of '{ds.path}"), one
    assert not {"Any", "Course"} & set(dir(hpdsl.torch)), dir(hpdsl.torch)
    options_known()
    assert {"Loader", "ImageFolder"} <= set(dir(hpdsl.torch))
    for prepare in accelerate_prepares, lightning_prepares:
        seen = {}
        for rank in range(2):
            loader = steps_loader(ds, rank, rank=rank, ranks=2)
            for _ in range(2):
                loader = prepare(loader, rank, 2)
            for batch in loader:
                seen.setdefault((batch.epoch, batch.step), []).extend(
                    batch.numbers[batch.mask].tolist())
        assert got(seen) == reference(ds)
    seen = {}
    for rank in range(2):
        loader = torch.utils.data.DataLoader(Samples(ds), None, sampler=Sampler(
            ds, order=ORDER, rank=rank, ranks=2))
        loader.sampler.seek(3)
        refused(hpdsl.UsageError, "prepare() loses the Sampler",
                lambda: accelerate_prepares(loader, rank, 2))
        all_of(lightning_prepares(loader, rank, 2), seen)
    assert got(seen) == reference(ds)


def accelerate_skips(loader, n):
    """As its skip_first_batches() does, for one pass."""
    return torch.utils.data.DataLoader(
        loader.dataset, collate_fn=loader.collate_fn,
        batch_sampler=itertools.islice(loader.batch_sampler, n, None))


def first_skipped(ds):
    """A DataLoader that was made of a loader gives the same batches, reads nothing
    of what it passes over, and leaves the loader at the next epoch."""
    steps = len(reference(ds))
    for make, workers in (steps_loader, 0), (steps_loader, 2), (map_loader, 0):
        loader = make(ds, workers, epochs=4)
        for epoch, n in (0, 3), (1, 0), (2, steps - 1):
            loader.batch_sampler.set_epoch(epoch)
            seen = list(map(place, accelerate_skips(loader, n)))
            assert seen == [(epoch, s) for s in range(n, steps)], (n, seen)
        if make is steps_loader:
            assert loader.stats()["steps"] <= 1 + max(2, workers * 2)
        some = iter(accelerate_skips(loader, 5))
        assert [place(next(some)) for _ in "12"] == [(3, 5), (3, 6)]
        assert (loader.epoch, loader.step) == (3, 7)
        # Who has looked at it only has moved nothing.
        assert len(list(loader.batch_sampler)) == steps
        assert place(next(iter(loader))) == (3, 7)
        refused(TypeError, "collate_fn", lambda: loader.collate_fn([1]))
        forgotten = weakref.ref(loader)
        loader = some = None
        assert forgotten() is None


def epochs_that_are_set(ds):
    """set_epoch() goes to the beginning of an epoch, but a loader that is in
    it stays where it is."""
    loader = steps_loader(ds, 2)
    next(iter(loader))
    loader.set_epoch(0)
    assert next(iter(loader)).step == 1
    loader.set_epoch(4)
    batch = next(iter(loader))
    assert (batch.epoch, batch.step) == (4, 0)
    state = loader.state_dict()
    loader.set_epoch(0)
    loader.load_state_dict(state)
    loader.set_epoch(4)
    assert next(iter(loader)).step == 1


def lightning_says(loader, epoch):
    """As it does before each epoch, when it has called iter(): to each sampler that
    it finds."""
    found = {id(of): of for of in (loader.sampler, loader.batch_sampler.sampler)}
    assert len(found) == 1
    for one in found.values():
        one.set_epoch(epoch)


def told_each_epoch(ds):
    """A framework that counts epochs by itself, and breaks off in them, has each
    from its first step on, but for the one in which a state put the loader."""
    steps = len(reference(ds))
    for make in steps_loader, map_loader:
        loader = make(ds)
        for epoch, limit in ((0, 2), (0, 3), (1, steps), (2, 2), (2, 1),
                             (5, steps), (5, steps), (6, 1)):
            running = iter(loader)
            lightning_says(loader, epoch)
            seen = list(map(place, itertools.islice(running, limit)))
            assert seen == [(epoch, s) for s in range(limit)], (epoch, seen)
        state = {**loader.state_dict(), "epoch": 4, "step": 7}
        hpdsl._meant._told.add("left out")
        for epoch, wanted in (4, (4, 7)), (6, (6, 0)):
            loader.load_state_dict(state)
            running = iter(loader)
            lightning_says(loader, epoch)
            lightning_says(loader, epoch)
            assert place(next(running)) == wanted
        # Told once where a state's epoch is left: by either set_epoch(), and not in
        # that epoch, nor behind a batch or a seek().
        for step, between, to, n in ((7, None, 4, 0), (7, None, 6, 1), (0, None, 6, 0),
                                     (7, lambda of: next(iter(of)), 6, 0),
                                     (7, lambda of: of.seek(4, 7), 6, 0)):
            for say in lightning_says, type(loader).set_epoch:
                hpdsl._meant._told.discard("left out")
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    loader.load_state_dict({**state, "step": step})
                    if between is not None:
                        between(loader)
                    say(loader, to)
                texts = [str(w.message) for w in caught if "do not come" in str(w.message)]
                assert len(texts) == n, (step, to, texts)
                assert not n or "set_epoch(6)" in texts[0] and "7 of" in texts[0]
        loader.seek(3, 5)
        lightning_says(loader, 3)
        assert place(next(iter(loader))) == (3, 5)
        lightning_says(loader, 3)
        assert place(next(iter(loader))) == (3, 0)
        of = loader.batch_sampler
        assert (of.batch_size, of.drop_last, len(of), len(of.sampler)) == (
            36, False, steps, steps)
        dropping = make(ds, end="drop")
        assert dropping.batch_sampler.drop_last
        refused(TypeError, "gives no numbers", lambda: list(of.sampler))
        sequential = torch.utils.data.SequentialSampler
        assert not isinstance(loader.sampler, sequential)
        plain = make(ds, shuffle=False)
        assert isinstance(plain.sampler, sequential)
    # What is read ahead of the next epoch is kept, and a loader that was
    # forgotten ends at once, whoever has its sampler.
    loader = steps_loader(ds, 2)
    assert len(list(itertools.islice(loader, steps))) == steps
    session, forgotten = loader._session, weakref.ref(loader)
    lightning_says(loader, 1)
    assert place(next(iter(loader))) == (1, 0) and loader._session is session
    of = loader.sampler
    del loader, session
    assert forgotten() is None
    refused(ReferenceError, "is gone", lambda: of.set_epoch(0))
    sampler = Sampler(ds, order=ORDER)
    sampler.seek(1, 2)
    for epoch, wanted in (1, (1, 2)), (1, (1, 0)), (3, (3, 0)), (3, (3, 0)):
        sampler.set_epoch(epoch)
        assert next(iter(sampler))[2:4] == wanted


def one_by_one(ds):
    """Samples for DataLoaders of others: each once, whoever deals them out, in the
    epoch that was said, which workers that are there already hear."""
    every = sorted(ds[n].data for n in range(len(ds)))
    two = rounds(0, 2)

    def order(epoch):
        return [ds[n].data for n in hpdsl.Epoch(ds, hpdsl.Order(
            seed=5, batch=64, epoch=epoch))]

    def all_by(of, workers=0):
        return [content for batch in torch.utils.data.DataLoader(
            of, 10, num_workers=workers) for content in batch[0]]

    alone = hpdsl.torch.Iterable(ds, seed=5)
    assert len(alone) == len(ds) and all_by(alone) == order(0)
    assert [label for _, label in alone] == [
        ds.labels[n] for n in hpdsl.Epoch(ds, hpdsl.Order(seed=5, batch=64))]
    assert sorted(all_by(alone, two)) == every
    kept = torch.utils.data.DataLoader(alone, None, num_workers=two // 2,
                                       persistent_workers=bool(two))
    for epoch in 2, 0:
        alone.set_epoch(epoch)
        assert [content for content, _ in kept] == order(epoch)
    del kept
    for end, n in ("drop", 448), ("short", 501), ("repeat", 512):
        assert len(hpdsl.torch.Iterable(ds, end=end)) == n
    few = hpdsl.torch.Iterable(ds.path, suffixes=["txt", "json"], decode=both,
                               choice=hpdsl.Choice(ds, split=(0, 0.1)),
                               drop_last=True, batch_size=10, memory="32M")
    assert len(few) == len(list(few)) == 50
    seen, lengths = [], []
    for rank in range(2):
        with ranks_begin(rank, 2):
            refused(hpdsl.UsageError, 'share="caller"', lambda: len(alone))
            refused(hpdsl.UsageError, 'share="caller"', lambda: next(iter(alone)))
            of = hpdsl.torch.Iterable(ds, share="rank", seed=5)
            got = all_by(of, rank and two)
            lengths.append(len(of))
            assert len(got) == len(of)
            seen += got
            assert all_by(hpdsl.torch.Iterable(ds, share="caller", seed=5)) == (
                order(0))
    assert sorted(seen) == every and lengths == [250, 251], lengths
    none = hpdsl.torch.Iterable(ds, share="none", seed=5)
    assert sorted(all_by(none, two)) == sorted(every * (two or 1))
    refused(hpdsl.UsageError, "not one of", lambda: hpdsl.torch.Iterable(
        ds, share="all"))
    for name, text in ("rank", "Iterable has no argument"), (
            "transform", "it is called decode"):
        refused(TypeError, text, lambda: hpdsl.torch.Iterable(ds, **{name: 0}))
    e = raised(lambda: list(hpdsl.torch.Iterable(ds, decode=fail_of_two)), Ours)
    assert re.match("decode of sample", note_of(e)), note_of(e)


class Gradients:
    """As Accelerate's GradientState: one for all, with the loops under way."""

    _shared_state = {}

    def __init__(self):
        self.__dict__ = self._shared_state
        self.__dict__.setdefault("loops", [])

    def _add_dataloader(self, loop):
        self.loops = [*self.loops, weakref.ref(loop)]

    def _remove_dataloader(self, loop):
        self.loops = [of for of in self.loops if of() is not loop]

    def seen(self):
        return [(of().end_of_dataloader, of().remainder) for of in self.loops]


def shown(ds):
    """Accelerate sees which batch of a loop is the last, and how many of it count,
    on all ranks; of a validation within, and of a loop that went on, too."""
    steps = len(reference(ds))
    with mock.patch.dict(sys.modules, {
            "accelerate.state": mock.Mock(GradientState=Gradients)}):
        assert watcher() is None
        of = Gradients()
        for make in steps_loader, map_loader:
            loader = make(ds, rank=0, ranks=2)
            for stop in 3, steps:
                for batch in loader:
                    end = batch.step == steps - 1
                    assert of.seen() == [(end, len(ds) % 36)]
                    for inner in evaluate(ds, 200):
                        last = inner.step == 2
                        assert of.seen()[1:] == [(last, len(ds) % 200)]
                    assert len(of.seen()) == 1
                    if batch.step == stop:
                        break
            assert not of.seen() and loader.epoch == 1
            assert loader._is_accelerate_prepared
        for given, left in ({"end": "drop"}, 0), ({"end": "repeat"}, 0), (
                {"skip_bad": True}, -1):
            loader = steps_loader(ds, **given)
            next(iter(loader))
            assert of.seen() == [(False, left)], (given, of.seen())
            loader.close()
            del loader
            of.loops = []
    Gradients._shared_state.clear()


def checkpointed(ds):
    """A state goes through torch.save, and through torch.distributed.checkpoint
    where there is one, which takes each value by itself, and another loader's
    state to be filled in."""
    loader = steps_loader(ds)
    next(iter(loader))
    state = {"loader": loader.state_dict()}
    assert {type(of) for of in state["loader"].values()} <= {int, str, bool}
    kept = {"loader": steps_loader(ds).state_dict()}
    assert kept["loader"].keys() == state["loader"].keys()
    with tempfile.TemporaryDirectory() as at:
        try:
            from torch.distributed import checkpoint as dcp
        except ImportError:
            kept = pickle.loads(pickle.dumps(state))
        else:
            through = dict(storage_writer=dcp.FileSystemWriter(at))
            back = dict(storage_reader=dcp.FileSystemReader(at))
            if hasattr(dcp, "save"):
                dcp.save(state, **through)
                dcp.load(kept, **back)
            else:
                dcp.save_state_dict(state, no_dist=True, **through)
                dcp.load_state_dict(kept, no_dist=True, **back)
        assert kept == state
        torch.save(kept, at + "/state")
        kept = torch.load(at + "/state")
    other = steps_loader(ds, 2)
    other.load_state_dict(kept["loader"])
    assert next(iter(other)).step == 1


def far_ahead(loader, reads):
    """All of these have been made, or there is no more memory for them."""
    stats = loader.stats()
    return (stats["reads"] == reads or
            stats["memory_peak"] > 0.95 * stats["memory"])


def same_reading(ds):
    """Whatever the number of workers and what they fetch ahead, the batches are
    the same, and so are, within a tenth, bytes that were read and the memory
    for it; also in the least memory."""
    for memory in 1 << 30, 16 << 20:
        found = {}
        for workers, fetched in ((0, None), (2, 4), (8, 2), *rounds(
                (), ((2, 2), (8, 4)))):
            loader = steps_loader(
                ds, workers, hpdsl.Order(seed=5, batch=16), epochs=2,
                memory=memory, loading={"prefetch_factor": fetched})
            batches = []
            for batch in itertools.chain(loader, loader):
                batches.append((batch.epoch, batch.step,
                                batch.numbers.tolist(), batch.data))
                if len(batches) == 1:
                    until_true(far_ahead, loader, 2 * loader.plan()["reads"])
            stats = loader.stats()
            found[workers, fetched] = batches
            first = found[0, None]
            assert [b[:3] for b in batches] == [b[:3] for b in first]
            assert [b[3] for b in batches] == [b[3] for b in first]
            if not workers:
                base = stats
            for name in "read_bytes", "memory_peak":
                assert stats[name] <= 1.1 * base[name], (name, workers, fetched,
                                                         stats, base)
            assert stats["memory_peak"] <= memory
            loader.close()


def two_kept(ds):
    """As gradient accumulation keeps them."""
    for workers in 0, 2:
        kept = []
        for batch in Loader(ds, order=SHORT, num_workers=workers, epochs=1,
                            memory=16 << 20):
            kept = kept[-1:] + [batch]
            for one in kept:
                same_bytes(ds, one)


def part(content):
    return torch.frombuffer(content, dtype=torch.uint8)


def as_dict(results):
    return {"all": list(results), "first": results[0]}


def keep(content):
    keep.kept.append(content[:1])
    return len(content)


keep.kept = []


def borrowed(ds):
    """Views of what a worker has for this batch only are copied, or else an
    error; and it cannot be written to."""
    for collate in list, tuple, as_dict:
        kept = list(steps_loader(ds, 2, SHORT, decode=part, collate=collate))
        for batch in kept:
            data = (batch.data["all"] if collate is as_dict else batch.data)
            assert [bytes(t.tolist()) for t in data] == [
                ds[n].data for n in batch.numbers.tolist()]
    try:
        list(steps_loader(ds, 1, SHORT, decode=keep))
    except hpdsl.UsageError as e:
        assert "keeps a view of memory that is lent" in str(e), e
    else:
        raise AssertionError("was not noticed")


def plain(ds):
    """The dataset alone, in DataLoaders of the user's own making."""
    for workers in 0, 2:
        sampler, seen = Sampler(ds, order=ORDER), {}
        mine = torch.utils.data.DataLoader(
            Samples(ds), batch_size=None, sampler=sampler, num_workers=workers)
        all_of(mine, seen)
        assert got(seen) == reference(ds)
        sampler.seek(1, 2)
        assert place(next(iter(mine))) == (1, 2)
    samples = torch.utils.data.DataLoader(Samples(ds), batch_size=8)
    first, labels = next(iter(samples))
    assert list(first) == [ds[n].data for n in range(8)]
    assert labels.tolist() == list(ds.labels[:8])


def both(*members):
    return torch.tensor([len(m) for m in members])


def members(ds):
    """Several members of a sample, some of which lack one, made into tensors;
    a worker's tensors are its own."""
    for workers in 0, 2:
        for loader in (
            steps_loader(ds, workers, decode=both, suffixes=["txt", "json"],
                         collate=None),
            MapLoader(Samples(ds, decode=both, suffixes=["txt", "json"]),
                      Sampler(ds, order=ORDER), num_workers=workers),
        ):
            kept = list(loader)
            for batch in kept[::3]:
                assert batch.data.shape == (36, 2)
                for n, sizes in zip(batch.numbers.tolist(),
                                    batch.data.tolist()):
                    sample = ds[n].members
                    assert sizes == [len(sample.get("txt", b"")),
                                     len(sample["json"])]


def last_of_two(ds):
    """Of a path that an adopted tar has twice everybody gets the last."""
    for given in {"decode": bytes, "collate": list}, {}:
        for loader in (
            Loader(ds, order=ORDER, suffixes=["txt"], **given),
            MapLoader(Samples(ds, suffixes=["txt"], **given),
                      Sampler(ds, order=ORDER)),
        ):
            for batch in loader:
                assert {bytes(one) for one in batch.data} == {b"second"}


def meant(ds):
    """Once, in the line of the loop, whoever reads."""
    for kind in hpdsl.torch.Loader, hpdsl.torch.evaluate:
        for workers in 0, 1:
            hpdsl._meant._told.clear()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                for _ in kind(ds, batch_size=4, decode=bytes, collate=list,
                              num_workers=workers):
                    pass
            for text, w in zip(("no sample has a label", "its .cls comes first"),
                               told):
                assert text in str(w.message), w
            assert len(told) == 2 and {w.filename for w in told} == {__file__}
    hpdsl._meant._told.clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Samples(ds, suffixes=["jpg"])
    assert [w.filename for w in told] == [__file__], told


def some_unlabelled(ds):
    """Told once, before the first batch, with the line of the loop."""
    def plain():
        return torch.utils.data.DataLoader(
            Samples(ds, decode=bytes, collate=list),
            sampler=Sampler(ds, batch_size=4), batch_size=None)

    loading = {"batch_size": 4, "decode": bytes, "collate": list}
    for made in (lambda: Loader(ds, **loading), plain,
                 lambda: evaluate(ds, **loading), lambda: map_loader(ds)):
        hpdsl._meant._told.clear()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            loader = made()
            for _ in range(2):
                assert list(loader)
        assert [w.filename for w in told] == [__file__], told
        assert "1 of 5 samples have no class" in str(told[0].message), told
    hpdsl._meant._told.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(evaluate(hpdsl.Choice(ds, labels=range(len(ds.class_names))), 4))


def one_of_them(ds):
    """Of several members the contents are the first wanted one, also where
    that is missing."""
    assert Samples(ds, suffixes=[]).suffixes is None
    for workers in 0, 2:
        for loader in (
            Loader(ds, order=ORDER, num_workers=workers,
                   suffixes=["txt", "json"]),
            MapLoader(Samples(ds, suffixes=["txt", "json"]),
                      Sampler(ds, order=ORDER), num_workers=workers),
        ):
            missing = 0
            for batch in itertools.islice(loader, 0, None, 3):
                wanted = [ds[n].members.get("txt", b"")
                          for n in batch.numbers.tolist()]
                as_list(batch.data, wanted)
                missing += wanted.count(b"")
            assert missing


def spawned(ds):
    """Workers that begin anew, and are kept over epochs."""
    seen = {}
    loader = steps_loader(
        ds, rounds(1, 2), choice=hpdsl.Choice(ds, split=(0, 0.3)), epochs=2,
        loading={"multiprocessing_context": "spawn",
                 "persistent_workers": True})
    for _ in range(2):
        all_of(loader, seen)
    for epoch in range(2):
        assert got(seen, epoch) == reference(ds, epoch=epoch,
                                             choice=loader.course.choice)


def refused(kind, text, call):
    try:
        call()
    except kind as e:
        assert text in str(e), e
    else:
        raise AssertionError(text)


def image_and_mask(content):
    """As a decoder of several things returns them."""
    image = torch.full((2, 3), float(len(content)))
    return image, {"mask": image > 0, "n": len(content)}


def a_pair(ds):
    """A batch is two, whatever decode returns, and has the rest by name."""
    for workers in 0, 2:
        for loader in (
            steps_loader(ds, workers, decode=image_and_mask, collate=None),
            MapLoader(Samples(ds, decode=image_and_mask),
                      Sampler(ds, order=ORDER), num_workers=workers),
        ):
            seen = 0
            for (images, masks), labels in loader:
                assert images.shape == masks["mask"].shape == (36, 2, 3)
                assert images[:, 0, 0].tolist() == masks["n"].tolist()
                seen += len(labels)
            assert seen == 36 * len(loader)
            batch = next(iter(loader))
            assert batch[0] is batch.data and batch[1] is batch.labels
            assert len(batch) == 36 and tuple(batch)[1] is batch.labels
            for kind, of in ((IndexError, 2), (IndexError, -1),
                             (TypeError, slice(4, 6)), (TypeError, "data")):
                refused(kind, "numbers, mask, bad, epoch, step, ranks, whole",
                        lambda: batch[of])
    tensors = [batch.data[0], batch.data[1]["n"], batch.labels, batch.numbers,
               batch.mask, batch.bad]
    others = {
        "copy": copy.copy(batch), "deepcopy": copy.deepcopy(batch),
        "pickle": pickle.loads(pickle.dumps(batch)),
        "to": batch.to("cpu", non_blocking=True),
        "tree": _pytree.tree_unflatten(*_pytree.tree_flatten(batch)),
        "replace": batch._replace(step=batch.step)}
    for how, one in others.items():
        assert type(one) is hpdsl.torch.Batch, how
        of = [one.data[0], one.data[1]["n"], one.labels, one.numbers,
              one.mask, one.bad]
        assert all(map(torch.equal, of, tensors)), how
        assert place(one) == place(batch), how
        assert (one.ranks, one.whole) == (1, 36), how
    assert len(_pytree.tree_flatten(batch)[0]) == 7
    there = batch.to("meta")
    assert {of.device.type for of in (
        there.data[0], there.data[1]["n"], there.labels, there.mask,
        there.bad, there.numbers)} == {"meta"}
    assert place(batch._replace(epoch=7, step=1)) == (7, 1)
    refused(TypeError, "no 'place'", lambda: batch._replace(place=1))
    assert repr(batch) == (f"<hpdsl.torch.Batch of epoch {batch.epoch}, step "
                           f"{batch.step}, 36 samples>")
    for text, of in ("batch_size=None", batch), ("Samples(ds", ds[0]):
        refused(TypeError, text,
                lambda: torch.utils.data.default_collate([of]))


def boxes(content):
    return torch.ones(3), torch.ones(len(content) % 5, 4)


def no_form(batch):
    raise LookupError("of step %d" % batch.step)


def formed(ds):
    """What the loop gets in the batch's place, behind the count of steps; and
    what has no common size, in lists."""
    steps = len(reference(ds))
    for workers in 0, 2:
        loaders = [steps_loader(ds, workers, decode=length, collate=None,
                                form=tuple)]
        if not workers:
            loaders.append(MapLoader(Samples(ds, decode=length),
                                     Sampler(ds, order=ORDER), form=tuple))
        for loader in loaders:
            for k, got in enumerate(loader):
                assert type(got) is tuple and got[0].shape == got[1].shape
                assert loader.step == k + 1
            assert k + 1 == steps
        (images, found), labels = next(iter(
            steps_loader(ds, workers, decode=boxes, collate="list")))
        assert type(images) is type(found) is list
        assert len(images) == len(found) == len(labels)
        assert images[0].shape == (3,) and found[-1].shape[1] == 4
        refused(RuntimeError, "collate=\"list\"", lambda: next(iter(
            steps_loader(ds, workers, decode=boxes, collate=None))))
    loader = steps_loader(ds, form=no_form)
    for k in range(steps):
        refused(LookupError, f"of step {k}", lambda: next(iter(loader)))
        assert loader.step == k + 1
    refused(LookupError, "of step 0", lambda: next(iter(loader)))
    assert loader.epoch == 1


# Seven steps of 8 places, and two samples in the last of them.
FEW = hpdsl.Order(seed=5, batch=8, lanes=8)


def few(ds, rank, ranks, **given):
    return Loader(ds, order=FEW, choice=hpdsl.Choice(ds, samples=range(50)),
                  decode=features, rank=rank, ranks=ranks, uneven=True, **given)


def features(content):
    return torch.tensor([len(content), sum(content[:64])]).double() / 1000


def model_for(ds):
    torch.manual_seed(3)
    return torch.nn.Linear(2, max(2, len(ds.class_names))).double()


def losses_of(model, batch):
    data, labels = batch.data, batch.labels.clamp(min=0)
    return torch.nn.functional.cross_entropy(model(data), labels,
                                             reduction="none")


def gradient(model, loss):
    parts = torch.autograd.grad(loss, list(model.parameters()))
    return torch.cat([part.flatten() for part in parts])


def shares(ds):
    """The mean over ranks of what each has of a step's mean loss is that of one
    process, and so is its gradient, of several steps, too; also where a rank
    has nothing that counts."""
    model = model_for(ds)
    of_one = list(few(ds, 0, 1, epochs=1))
    for ranks in 2, 3, 5:
        batches = [list(few(ds, rank, ranks, epochs=1))
                   for rank in range(ranks)]
        assert not batches[-1][-1].mask.any()
        for step, together in enumerate(zip(*batches)):
            assert {(b.ranks, b.whole) for b in together} == {
                (ranks, 2 if step == 6 else 8)}
            assert sum(int(b.mask.sum()) for b in together) == (
                together[0].whole)
        for steps in 1, 4:
            for begin in range(0, 7, steps):
                window = slice(begin, begin + steps)
                real = [losses_of(model, b)[b.mask] for b in of_one[window]]
                wanted = gradient(model, torch.cat(real).mean())
                found = sum(gradient(model, b.mean(losses_of(model, b), steps))
                            for of in batches for b in of[window]) / ranks
                assert torch.allclose(found, wanted, rtol=0, atol=1e-12), (
                    ranks, steps, begin)
    last = batches[-1][-1]
    assert last.mean(losses_of(model, last)).item() == 0
    # Whatever else a sample's losses are, of each it is their mean.
    images = torch.rand(len(of_one[0]), 3, 5)
    assert torch.allclose(of_one[0].mean(images), images.mean())
    for text, call in (("wanted one of each of 8", lambda: of_one[0].mean(
            images.mean())), ("steps 0", lambda: of_one[0].mean(images, 0))):
        refused(hpdsl.UsageError, text, call)
    # Of a DataLoader of one's own, and by hand.
    for batch in torch.utils.data.DataLoader(
            Samples(ds), batch_size=None, sampler=Sampler(
                ds, order=ORDER, rank=1, ranks=2, end="repeat")):
        assert (batch.ranks, batch.whole) == (2, 36)
    one = of_one[0]
    alone = hpdsl.torch.Batch(*one, one.numbers, one.mask, one.epoch, one.step,
                              one.bad)
    assert (alone.ranks, alone.whole) == (1, 8)


def played(ds):
    """A step that hpdsl-stall plays in another's place, forth and back: of it
    counts what counted in its own."""
    for make in steps_loader, map_loader:
        batches = list(make(ds))
        full, last = batches[0], batches[-1]
        assert (full.whole, last.whole) == (36, int(last.mask.sum()))
        assert last.whole < 36
        for batch, at in (last, (0, 0)), (full, (3, len(batches) - 1)):
            loader = make(ds)
            loader.seek(*at)
            found = loader._handed(batch, played=True)
            assert (place(found), place(batch)[0]) == (at, 0)
            assert (found.ranks, found.whole) == (1, batch.whole)
            ones = torch.ones(len(found))
            assert found.mean(ones).item() == 1
            assert torch.isclose(4 * found.mean(ones, steps=4), torch.tensor(1.))
    # Without workers the library plays it, and says how many count.
    loader, last = steps_loader(ds), list(steps_loader(ds))[-1]
    found = loader._handed(last._replace(epoch=0, step=0), whole=last.whole)
    assert found.whole == int(found.mask.sum()) < 36
    assert found.mean(torch.ones(36)).item() == 1


def told_nothing():
    _torch_batch._told.clear()
    _torch_batch._others.right = False


def idle(ds):
    """A batch of which nothing counts is told when it is unpacked, once, also
    behind to(); its share is no nan."""
    for moved in False, True:
        told_nothing()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for times in range(2):
                for batch in few(ds, 1, 2, epochs=1):
                    if moved:
                        batch = batch.to("meta")
                    assert len(batch.data) == 4 and len(told) == times
                    data, labels = batch
        assert [str(one.message)[:16] for one in told] == ["epoch 0, step 6:"]
        assert told[0].category is RuntimeWarning
        assert told[0].filename == __file__, told[0].filename
    told_nothing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in few(ds, 1, 2, epochs=1):
            data, labels = batch
            batch.mean(torch.ones(len(batch)))
    half = batch._replace(mask=torch.ones(len(batch), dtype=torch.bool))
    assert half.mean(torch.full((len(batch),), 3e4).half()).isfinite()
    # An evaluation beside it is another loop.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for data, labels in few(ds, 0, 1, epochs=1):
            pass
    assert ["only fill" in str(one.message) for one in told] == [True], told


def filled(ds):
    """Samples that only fill the last step up are told when it is unpacked, once
    and how many; with end="short" there are none."""
    for moved, end in (False, "mask"), (True, "mask"), (False, "short"):
        told_nothing()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                for batch in few(ds, 0, 1, epochs=1, end=end):
                    data, labels = batch.to("cpu") if moved else batch
        texts = [str(one.message) for one in told]
        assert [text[:42] for text in texts] == [
            "epoch 0, step 6: 6 of 8 samples only fill "] * (end == "mask"), texts
        assert all(one.filename == __file__ for one in told)
    # Who counts steps by len() never asks for the next one.
    told_nothing()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loader = few(ds, 0, 1, epochs=1)
        rest = iter(loader)
        for _ in range(len(loader)):
            data, labels = next(rest)
        assert not told, told
        del rest
    assert ["6 of 8" in str(one.message) for one in told] == [True], told
    # One in stored order counts something else, and is told by itself.
    told_nothing()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for stored in {}, {"shuffle": False}, {"shuffle": False}:
            for data, labels in few(ds, 0, 1, epochs=1, **stored):
                pass
    assert ["batch.mask.sum()" in str(one.message) for one in told] == [False, True]


def short(ds):
    """Each sample once over any ranks, in what they make of the last step; and
    the mean of its losses is that of one process."""
    model = model_for(ds)
    for end, ranks in itertools.product(("short", "repeat", "drop"), (1, 2, 3, 5)):
        of_one = list(few(ds, 0, 1, epochs=1, end=end))
        seen, batches = [], [list(few(ds, rank, ranks, epochs=1, end=end))
                             for rank in range(ranks)]
        for one, together in zip(of_one, zip(*batches)):
            assert {b.whole for b in together} == {one.whole}
            assert sum(int(b.mask.sum()) for b in together) == one.whole
            found = sum(gradient(model, b.mean(losses_of(model, b)))
                        for b in together) / ranks
            wanted = gradient(model, losses_of(model, one)[one.mask].mean())
            assert torch.allclose(found, wanted, rtol=0, atol=1e-12)
            seen += torch.cat([b.numbers[b.mask] for b in together]).tolist()
        assert {len(of) for of in batches} == {7 - (end == "drop")}
        assert len(of_one[-1]) == (2 if end == "short" else 8)
        assert end != "short" or sorted(seen) == list(range(50))


def evaluated(ds):
    """Each pass of an evaluation has every sample once, from the first on,
    whatever was taken before."""
    everything = list(range(len(ds)))
    for workers, loading in (0, {}), (2, {"persistent_workers": True}):
        of = evaluate(ds, 36, decode=bytes, collate=list, num_workers=workers,
                      **loading)
        steps, left = -(-len(ds) // 36), len(ds) % 36
        assert (len(of), of.batch_size, of.dataset) == (steps, 36, ds)
        assert next(iter(of)).step == 0
        for _ in range(2):
            batches = list(of)
            assert torch.cat([b.numbers for b in batches]).tolist() == everything
            assert all(b.mask.all() and b.whole == len(b) for b in batches)
            assert len(batches) == steps and len(batches[-1]) == left
            of.set_epoch(3)
            # Who may stay does.
            assert (of._loader._session is None) == (not workers)
        for batch in of:
            if batch.step == 2:
                break
        assert next(iter(of)).step == 0
        of.close()
    with evaluate(ds, 36, shuffle=False, drop_last=False) as of:
        rest = iter(of)
        next(rest)
    refused(ValueError, "closed within its loop", lambda: next(rest))
    # On several ranks batches are equally long, unless asked otherwise.
    for end, long in (None, 12), ("mask", 12), ("short", left // 3):
        of = [evaluate(ds, 12, rank=rank, ranks=3, end=end) for rank in range(3)]
        last = [list(one)[-1] for one in of]
        assert {len(b) for b in last} == {long}
        assert sum(int(b.mask.sum()) for b in last) == left
    for name in "state_dict", "load_state_dict", "seek", "step":
        assert not hasattr(of[0], name)
        refused(AttributeError, f"an evaluation has no {name}: each `for` gives "
                "all samples from the first on", lambda: getattr(of[0], name))
    for given, kind, text in (({"shuffle": True}, TypeError, "no argument 'sh"),
                              ({"drop_last": True}, hpdsl.UsageError, "end=\"dr"),
                              ({"end": "all"}, hpdsl.UsageError, "not one of"),
                              ({"collate_fn": list}, TypeError, "collate")):
        refused(kind, text, lambda: evaluate(ds, 12, **given))
    refused(TypeError, "pass on its dataset", lambda: pickle.dumps(of[0]))


def not_measured(ds):
    """In a job that hpdsl-stall measures an evaluation reads what it always
    reads."""
    with mock.patch.object(hpdsl.torch, "is_measured", return_value=True), \
            mock.patch.object(hpdsl.torch, "Measured", side_effect=TypeError):
        for workers in 0, 1:
            of = evaluate(ds, 100, decode=bytes, collate=list,
                          num_workers=workers)
            for batch in of:
                # Lent memory: the library, too, leaves it alone.
                assert of._loader._session.reader._live().mapping is not None
            assert len(batch) == len(ds) % 100


def superseded(ds):
    """A new `for` supersedes the one before it, at its first batch; which raises
    when it is gone on with."""
    def training(make):
        return lambda: make(ds, order=ORDER)

    for make, goes_on in ((training(steps_loader), True),
                          (training(map_loader), True),
                          (training(hpdsl.Loader), True),
                          (lambda: evaluate(ds, 36), False)):
        def raises(call):
            refused(RuntimeError, "this `for` was superseded: another one has "
                    "begun over the same loader", call)

        def nested(of):
            for _ in of:
                for _ in of:
                    pass

        # break: a loop goes on where it was, an evaluation begins anew
        loader = make()
        for batch in loader:
            if batch.step == 2:
                break
        assert next(iter(loader)).step == (3 if goes_on else 0)
        # two iterators: it is not iter() that supersedes, but the first batch
        one, other = iter(loader), iter(loader)
        first = next(one).step
        assert next(one).step == first + 1
        assert next(other).step == (first + 2 if goes_on else 0)
        raises(lambda: next(one))
        assert next(other).step == (first + 3 if goes_on else 1)
        raises(lambda: nested(make()))
        twice = make()
        raises(lambda: list(zip(twice, twice)))
        # one that had come to its end stays there
        over = iter(loader)
        steps = len(list(over))
        assert steps == (len(loader) - first - 4 if goes_on else len(loader))
        next(iter(loader))
        assert next(over, None) is None


def left_in_midst(ds):
    """Told once, at the `for` that goes on, in its line; not who has said the place,
    keeps the iterator or evaluates, nor a framework's next epoch."""
    def told(of, *between):
        hpdsl._meant._told.add("data")
        hpdsl._meant._told.discard("going on")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for call in (None, *between):
                if call is not None:
                    call(of)
                for batch in of:
                    if batch.step >= 1:
                        break
        assert {w.filename for w in caught} <= {__file__}, caught
        return [str(w.message) for w in caught]

    for made in lambda: steps_loader(ds), lambda: map_loader(ds):
        texts = told(made(), None, None)
        assert len(texts) == 1 and "goes on with step 2 of " in texts[0], texts
        for call in (lambda of: of.seek(0), lambda of: of.seek(0, 2),
                     lambda of: of.set_epoch(1), lambda of: of.sampler.set_epoch(1),
                     lambda of: of.load_state_dict(of.state_dict())):
            assert not told(made(), call), call
        loader = made()
        it = iter(loader)
        assert not told(it) and next(it).step == 2
    assert len(told(steps_loader(ds, 1), None, None)) == 1
    assert not told(evaluate(ds, 36, decode=bytes, collate=list), None)
    for kind in Loader, Sampler:
        hpdsl._meant._told.discard("no step")
        texts = told(kind(ds, len(ds) + 1, drop_last=True), None)
        assert len(texts) == 1 and "an epoch has no step" in texts[0], texts


def with_validation(ds):
    """As Lightning's trainer goes through loaders: a sanity check of some steps of
    each of two val loaders, then epochs with validation in between, while old
    iterators are still about."""
    train = steps_loader(ds, epochs=2)
    val = [evaluate(ds, 36), evaluate(ds, 100)]
    kept, seen = [], []

    def validate(steps):
        for loader in val:
            fetcher = iter(loader)
            kept.append(fetcher)
            found = list(itertools.islice(fetcher, steps))
            assert [b.step for b in found] == list(range(min(steps, len(loader))))

    validate(2)
    while train.epoch < 2:
        fetcher = iter(train)
        kept.append(fetcher)
        for batch in fetcher:
            seen.append(place(batch))
            if batch.step == 4:
                validate(1000)
    assert seen == [(e, s) for e in range(2) for s in range(len(train))]


def trained(ds, wrap, rank, ranks, steps):
    """The loop of the manual page, for two epochs."""
    model = wrap(model_for(ds))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loader = few(ds, rank, ranks, epochs=2)
    while loader.epoch < 2:
        for batch in loader:
            batch.mean(losses_of(model, batch), steps=steps).backward()
            if (batch.step % steps == steps - 1 or
                    batch.step + 1 == len(loader)):
                optimizer.step()
                optimizer.zero_grad()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def trains(ds, file, rank, ranks, found):
    """Not a case: a rank of a job."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method="file://" + file, rank=rank, world_size=ranks)
    wrap = torch.nn.parallel.DistributedDataParallel
    found.put([trained(ds, wrap, rank, ranks, steps).tolist()
               for steps in (1, 4)])
    torch.distributed.destroy_process_group()


def ddp(ds):
    """Weights that ranks have trained together are those of one process.  Not
    behind another case: what has called backward() cannot fork one that does."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    of, every = multiprocessing.get_context("fork"), {}
    for ranks in 2, 3, 5:
        with tempfile.TemporaryDirectory() as at:
            found = of.Queue()
            jobs = [of.Process(target=trains, args=(
                ds, at + "/meet", rank, ranks, found))
                for rank in range(ranks)]
            for job in jobs:
                job.start()
            every[ranks] = [torch.tensor(found.get(), dtype=torch.float64)
                            for _ in jobs]
            for job in jobs:
                job.join()
    wanted = [trained(ds, lambda model: model, 0, 1, steps)
              for steps in (1, 4)]
    for ranks, all_ranks in every.items():
        for got in all_ranks:
            for one, right in zip(got, wanted):
                assert torch.allclose(one, right, rtol=0, atol=1e-12), ranks


def like_others(ds):
    """Loaders have what a DataLoader has, and take a path."""
    mapped = MapLoader(Samples(ds), Sampler(ds, 9))
    with Loader(ds.path, 9, decode=bytes, num_workers=2) as loader:
        for one in loader, mapped:
            assert one.batch_size == 9 and one.dataset.path == ds.path
            assert len(one) == -(-len(ds) // 9)
        next(iter(loader))
        assert loader._session
    assert not loader._session
    assert Loader(ds, order=FEW, rank=0, ranks=3, uneven=True).batch_size == 3
    assert hpdsl.__getattr__("torch") is hpdsl.torch
    for text, get in (("decode= of the loader", lambda: next(iter(
            Loader(ds, 9))).data.to("cpu")),
                      ("set_epoch() of the loader",
                       lambda: evaluate(ds, 9).sampler),
                      # what Ray asks of it on several ranks
                      ("prepare_data_loader() of ray.train is left out",
                       lambda: mapped.worker_init_fn)):
        try:
            get()
        except AttributeError as e:
            assert text in str(e), e
        else:
            raise AssertionError(text)


def given_back(ds):
    """A loader's dataset is what was given, and its len() the number of samples."""
    part = hpdsl.Choice(ds, split=(0, 0.3))
    ours = hpdsl.torch.DatasetFolder(ds, lambda file: 0, ".json")
    ours.samples = ours.samples[::2]
    assert part.dataset is ds and 0 < len(ours) < len(ds)
    for given, more in ((ds, {}), (ours, {}), (part, {})):
        for of in (evaluate(given, 36, **more),
                   Loader(given, 36, end="short", epochs=1, **more)):
            assert of.dataset is given
            assert len(given) == sum(map(len, of))
    for of in (evaluate(ds, 36, choice=part), Loader(ds, 36, choice=part),
               MapLoader(Samples(ds), Sampler(ds, 36, choice=part))):
        assert of.dataset is part
        refused(AttributeError, "here it is dataset.class_names",
                lambda: of.class_names)
    assert Sampler(ds, choice=part).dataset is part
    assert Loader(Loader(part, 36).dataset, 8).course.choice is part
    refused(TypeError, "part as choice=hpdsl.Choice(folder.dataset, split=(0, 0.9))",
            lambda: Loader(torch.utils.data.Subset(ours, [1, 2])))
    refused(TypeError, "DatasetFolder: it is folder.dataset here; hpdsl.torch.Load",
            lambda: hpdsl.Loader(ours))
    refused(AttributeError, "here it is dataset.class_to_idx",
            lambda: Loader(ours).class_to_idx)
    for name, here in (("DataLoader", "hpdsl.torch.Loader"),
                       ("StreamingDataLoader", "hpdsl.torch.Loader"),
                       ("Order", "hpdsl.Order")):
        refused(AttributeError, f"module 'hpdsl.torch' has no attribute '{name}': "
                f"here it is {here}", lambda: getattr(hpdsl.torch, name))


def all_said(ds):
    """What users call has docstrings and annotations."""
    left = all_unsaid(hpdsl.torch)
    assert not left, left


def as_list(contents, wanted):
    """Contents are what this list of bytes is, in each of their forms."""
    assert type(contents) is Contents and len(contents) == len(wanted)
    assert not isinstance(contents, Iterable)  # or Lightning looks at each byte
    assert list(contents) == wanted == contents[:]
    assert contents[-1] == wanted[-1] and contents[1::2] == wanted[1::2]
    assert all(type(view) is memoryview for view in contents)
    for i in len(wanted), -len(wanted) - 1:
        for of in contents.__getitem__, contents.tensor:
            try:
                of(i)
            except IndexError:
                continue
            raise AssertionError(i)
    for i, tensor in enumerate(contents.tensors()):
        assert bytes(tensor.tolist()) == wanted[i]
        assert torch.equal(tensor, contents.tensor(i))
    at = contents.offsets
    assert at.dtype == torch.int64 and at.tolist()[0] == 0
    assert at.diff().tolist() == list(map(len, wanted))
    assert bytes(contents.buffer.tolist()) == b"".join(wanted)


def contents(ds):
    """Where nothing is decoded, a step's contents lie in one tensor: from
    workers and without, by either way, pickled and pinned."""
    def pinned(tensor, device=None):
        return tensor.clone()

    pinning, torch.Tensor.pin_memory = torch.Tensor.pin_memory, pinned
    for workers in 0, 2:
        for loader in (Loader(ds, order=SHORT, num_workers=workers),
                       map_loader(ds, workers, SHORT)):
            for batch in itertools.islice(loader, 0, None, rounds(21, 7)):
                same_bytes(ds, batch)
                wanted = [ds[n].data for n in batch.numbers.tolist()]
                as_list(batch.data, wanted)
                as_list(pickle.loads(pickle.dumps(batch)).data, wanted)
                copy = pin_memory(batch)
                assert place(copy) == place(batch)
                del batch
                gc.collect()
                as_list(copy.data, wanted)
    torch.Tensor.pin_memory = pinning
    for of in [b"", b"a", b""], [b"", b""]:
        as_list(_contents.contents_in(bytearray().join(of), map(len, of)), of)
    for given in {"decode": bytes}, {"collate": list}:
        batch = next(iter(Loader(ds, order=ORDER, num_workers=2, **given)))
        assert type(batch.data) is list
        assert set(map(type, batch.data)) == {bytes}
        same_bytes(ds, batch)


def no_call_a_sample(ds):
    """A batch that nothing decodes is made with as many calls, of Python and of
    C, whatever its size; and next() tells torch's profiler of it, if there is
    one."""
    convert = _session._converter(_parcel.Decoder(None, None), ())

    def calls(batch_size):
        found = []
        with hpdsl.Loader(ds, batch_size) as loader:
            batch = next(iter(loader))
        sys.setprofile(lambda frame, event, arg: found.append(event))
        made = convert(batch)
        sys.setprofile(None)
        assert len(made) == len(made.data) == batch_size
        return sum(event in ("call", "c_call") for event in found)

    assert calls(2) == calls(30)
    with Loader(ds, order=SHORT) as loader:
        batches = iter(loader)
        next(batches)
        with torch.autograd.profiler.profile() as profile:
            next(batches)
    assert any("DataLoader" in event.name for event in profile.function_events)


def views(ds):
    """Of small views of large memory pickle would write all of it each time:
    torch's way is taken.  So it is of what torch has nothing to do with: that is
    pickled once."""
    for tensors, way in (
            ((torch.zeros(25600).split(256)), _parcel._batch),
            ([torch.zeros(256) for _ in range(100)], _parcel._unpacked),
            ({"a": [torch.zeros(1 << 18)]}, _parcel._batch),
            ([b"a", b"b" * (1 << 21)], _parcel._batch),
            (({"a": [b"a", "b"]}, [1, None], (2.0, [True])), _parcel._batch),
            ([b"a", torch.zeros(256)], _parcel._unpacked),
            ([torch.eye(3).to_sparse()], _parcel._unpacked)):
        parcel = _parcel.Parcel(tensors, [], [], [], 0, 0)
        assert parcel.__reduce__()[0] is way
    parcel = _parcel.Parcel([b"a"], (torch.zeros(1),), [], [], 0, 0)
    assert parcel.__reduce__()[0] is _parcel._unpacked


def in_boxes(ds):
    """What is long of bytes that workers make goes by a box, in whatever it is,
    and arrives as it was; where the box is full, it goes through the pipe."""
    boxes, large = _boxes.Boxes(2), b"x" * 5000
    made = {"a": [large, b"y" * 1024, b"z"], "b": ((large, 1), [None, "c"])}
    parcel = _parcel.Parcel(made, [7], [1], [True], 3, 4, [False])
    parcel.box = boxes, 5
    batch = pickle.loads(pickle.dumps(parcel))
    assert batch.data == made and batch.labels.tolist() == [7]
    assert len(pickle.dumps(parcel)) < 1000
    assert parcel.__reduce__()[0] is _parcel._batch
    assert pickle.loads(pickle.dumps(parcel)).data == made
    boxes.close()
    with Loader(ds, order=ORDER, num_workers=2, collate="list",
                decode=lambda view: (bytes(view) * 3000, len(view))) as loader:
        for batch in loader:
            for n, content, size in zip(batch.numbers.tolist(), *batch.data):
                assert content == bytes(ds[n].data) * 3000
                assert size == len(ds[n].data)
    assert not any("hpdsl-boxes" in os.readlink(f"/proc/self/fd/{fd}")
                   for fd in os.listdir("/proc/self/fd")
                   if os.path.islink(f"/proc/self/fd/{fd}"))


def wrong(ds):
    """What makes no sense is said at once, and not in a worker."""
    for text, make in (
            ("no argument 'foo'", lambda: Loader(ds, foo=1)),
            ("'epoch': is it epochs?", lambda: Loader(ds, epoch=1)),
            ("it is called collate, and gets what decode has made of n",
             lambda: Loader(ds, collate_fn=list)),
            ("it is called collate", lambda: MapLoader(
                Samples(ds), Sampler(ds), collate_fn=list)),
            ("it is called decode, and gets the bytes of a sample",
             lambda: Loader(ds, transform=len)),
            ("it is called ranks", lambda: Loader(ds, world_size=2)),
            ("Sampler has no argument 'world_size': it is called ranks",
             lambda: Sampler(ds, world_size=2)),
            ("it is called num_workers", lambda: Loader(ds, workers=2)),
            ("batch.to(device)", lambda: Loader(ds, device="cuda")),
            ("collate 'tuple': wanted", lambda: Loader(ds, collate="tuple")),
            ("hpdsl.Choice(ds, folder='a')", lambda: Loader(ds.path + "/a")),
            ("decode 'pil': wanted a function, of a sample's bytes",
             lambda: Loader(ds, decode="pil")),
            ("decode 'pil'", lambda: Samples(ds, decode="pil")),
            ("collate 3: wanted a function", lambda: Loader(ds, collate=3)),
            ("No such file", lambda: Loader("nowhere")),
            ("'sampler'", lambda: Loader(ds, sampler=[1])),
            ("rank 5 of 1", lambda: Loader(ds, rank=5, ranks=1)),
            ("both or neither", lambda: Loader(ds, rank=1)),
            ("both or neither", lambda: Sampler(ds, ranks=2)),
            ("'generator': what comes is said by seed",
             lambda: Loader(ds, generator=torch.Generator())),
            ("'generator'", lambda: MapLoader(Samples(ds), Sampler(ds),
                                              generator=torch.Generator())),
            ("'in_order'", lambda: Loader(ds, in_order=False)),
            ("prefetch_factor", lambda: Loader(ds, prefetch_factor=5)),
            ("persistent_workers", lambda: Loader(ds, persistent_workers=True)),
            ("num_workers", lambda: Loader(ds, decode=bytes, num_workers=-1)),
            ("timeout", lambda: Loader(ds, timeout=5)),
            ("16 MiB or more, not 1000 b", lambda: Loader(ds, memory=1000)),
            ("5000 threads", lambda: Loader(ds, threads=5000)),
            ("cache 'all'", lambda: Loader(ds, cache="all")),
            ("suffix 'jpgg': no sample has such a member; there are 'json', ",
             lambda: Loader(ds, suffixes=["json", ".jpgg"])),
            ("there are 'json', ", lambda: Samples(ds, suffixes=["jpgg"])),
            ("hpdsl.Dataset", lambda: Samples(ds.path)),
            ("not one string", lambda: Loader(ds, suffixes="json")),
            ("not one string", lambda: Samples(ds, suffixes="json")),
            ("suffix 3", lambda: Samples(ds, suffixes=["json", 3])),
            ("epochs -1", lambda: Loader(ds, epochs=-1)),
            ("memory '2X'", lambda: Loader(ds, memory="2X")),
            ("wanted hpdsl.Dataset, not int", lambda: Loader(5)),
            ("wanted hpdsl.Choice", lambda: Loader(ds, choice=[1])),
            ("Subset: wanted choice=hpdsl.Choice(ds, samples=subset.indices)",
             lambda: Loader(torch.utils.data.Subset(Samples(ds), [1, 2]))),
            ("samples=subset.indices)", lambda: Loader(
                ds, choice=torch.utils.data.Subset(ds, [1, 2]))),
            ("samples=[numbers[i] for i in subset.indices])", lambda: Loader(
                torch.utils.data.Subset(hpdsl.Choice(ds, samples=[3, 5]), [1]))),
            ("3 ranks do not divide it; 2 or 4 do", lambda: Loader(
                ds, order=hpdsl.Order(batch=4), rank=0, ranks=3)),
            ("no DataLoader around it", lambda: Loader(ds)[0]),
            ("Loader has no argument 'foo'; there are dataset, batch_size, rank, ",
             lambda: Loader(ds, foo=1)),
            ("evaluate has no argument 'foo'; there are dataset, batch_size, rank, ",
             lambda: evaluate(ds, foo=1)),
            ("evaluate has no argument 'collate_fn': it is called collate",
             lambda: evaluate(ds, collate_fn=list)),
            ("MapLoader has no argument 'in_order'", lambda: MapLoader(
                Samples(ds), Sampler(ds), in_order=False)),
            ("workers share what the rank reads", lambda: Loader(ds, worker=1)),
            ("decode: refused(kind, text, call) is called with 1 content, that of a "
             "sample's first member; suffixes=", lambda: Loader(ds, decode=refused)),
            ("decode: length(content) is called with 2 contents, one of each of "
             "suffixes=", lambda: Samples(ds, decode=length, suffixes=["json", "png"])),
            ("one sample at a time, not [slice(0, 2, None)]",
             lambda: Samples(ds)[0:2]),
            ("one sample at a time", lambda: Samples(ds)[[1, 2]]),
            ("wanted Samples and", lambda: MapLoader(Samples(ds), 5)),
            ("wanted Samples and", lambda: MapLoader(ds, Sampler(ds)))):
        try:
            make()
        except (TypeError, ValueError, OSError) as e:
            assert text in str(e), e
        else:
            raise AssertionError(text)


def bad(ds):
    """DATASET has a damaged sample, which is an error, in a worker too, behind
    which the next `for` goes on; or it is skipped, and does not count."""
    wanted = reference(ds)
    for workers in 0, 2:
        loader, seen = steps_loader(ds, workers, epochs=1), {}
        try:
            all_of(loader, seen)
        except hpdsl.CorruptError as e:
            assert "checksum" in str(e), e
        else:
            raise AssertionError("not noticed")
        failed = len(seen)
        assert loader.state_dict()["step"] == loader.step == failed
        all_of(loader, seen)
        assert sorted(s for _, s in seen) == [
            s for s in range(len(wanted)) if s != failed]
        assert loader.state_dict()["epoch"] == 1
        seen = {}
        loader = steps_loader(ds, workers, decode=length, skip_bad=True,
                              collate=None)
        for batch in counted(loader, seen):
            assert batch.data.shape == (36,)
        assert sum(map(len, got(seen))) == len(ds) - 1
        for batch in Loader(ds, order=ORDER, num_workers=workers,
                            skip_bad=True):
            if not all(batch.mask):
                break
        counts = batch.mask.tolist()
        assert counts.count(False) == 1
        # Other ranks do not know of it.
        assert batch.whole == 36
        # What stands in its place has its own label.
        assert batch.labels[counts.index(False)] == (
            batch.labels[counts.index(True)])
        # What is not there says so, wherever the batch was made.
        assert batch.bad.dtype == torch.bool
        assert batch.bad.tolist() == [not real for real in counts]
        assert len(batch.data) == 36 and (
            batch.data[counts.index(False)] == batch.data[counts.index(True)])


    of = evaluate(ds, len(ds), decode=length, skip_bad=True)
    told_nothing()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for data, labels in of:
            pass
    assert "1 of 501 samples could not be read" in str(told[0].message), told
    # A batch of it alone: a short step may have no other.
    number = batch.numbers[counts.index(False)].item()
    alone = evaluate(ds, 1, choice=hpdsl.Choice(ds, samples=[number]),
                     decode=length, skip_bad=True)
    refused(ValueError, "end=\"mask\" has others", lambda: list(alone))


def length(content):
    return torch.tensor(len(content))


def fail_at_ten(content):
    fail_at_ten.calls += 1
    if fail_at_ten.calls == 10:
        raise KeyError("no such thing")
    return bytes(content)


fail_at_ten.calls = 0


def decoder_fails(ds):
    """What decode raises is raised in the loop, as what it is, with a note of
    its sample."""
    for make in steps_loader, map_decoder:
        for workers in 0, 2:
            fail_at_ten.calls = 0
            loader = make(ds, workers, decode=fail_at_ten)
            try:
                list(loader)
            except KeyError as e:
                assert "no such thing" in str(e)
                told = note_of(e) if not (workers and make is map_decoder) else (
                    str(e).replace("\\n", "\n").replace("\\'", "'"))
                assert re.search(r"decode of sample \d+ 'class\d/\d+', suffix "
                                 "'json'", told), told
            else:
                raise AssertionError("not noticed")
            del loader
            gc.collect()  # before others are forked


def map_decoder(ds, workers=0, decode=None):
    return MapLoader(Samples(ds, decode=decode, collate=list), Sampler(
        ds, order=ORDER), num_workers=workers)


def note_of(e):
    return "".join(getattr(e, "__notes__", ()))


class Ours(Exception):
    """Is not made of one text."""

    def __init__(self, path, code):
        super().__init__(path, code)
        self.code = code


def fail_of_two(*members):
    raise Ours("a", 5) from ZeroDivisionError("first")


def which_fails(ds):
    """The exception itself without workers, with all that it has; of several
    suffixes all of them; of one sample its own."""
    e = raised(lambda: list(steps_loader(
        ds, decode=fail_of_two, suffixes=["json", ".png"])), Ours)
    assert e.code == 5 and isinstance(e.__cause__, ZeroDivisionError)
    number = int(re.search(r"sample (\d+)", note_of(e)).group(1))
    assert note_of(e) == (f"decode of sample {number} {ds.key(number)!r}, "
                          "suffixes 'json', 'png'"), note_of(e)
    e = raised(lambda: list(steps_loader(ds, 1, decode=fail_of_two)),
               RuntimeError)
    assert "Ours: ('a', 5)" in str(e) and "first" in str(e), e
    assert re.match("decode of sample", note_of(e)), note_of(e)
    assert f"in worker 0, {note_of(e)}.\n" in str(e), e
    e = raised(lambda: Samples(ds, decode=fail_of_two)[3], Ours)
    assert f"sample 3 {ds.key(3)!r}" in note_of(e), note_of(e)
    for opens, workers in (Image.open, 0), (open, 0), (json.loads, 0), (Image.open, 1):
        for make in (lambda: next(iter(steps_loader(ds, workers, decode=opens))),
                     lambda: Samples(ds, decode=opens)[3]):
            e = raised(make, (AttributeError, TypeError))
            assert "files takes io.BytesIO(content), others" in str(e) + note_of(e), e
            del e
            gc.collect()  # before others are forked
    e = raised(lambda: list(steps_loader(ds, collate=fail_of_two)), Ours)
    assert not note_of(e), note_of(e)


def raised(call, kind):
    try:
        call()
    except kind as e:
        return e
    raise AssertionError(f"no {kind}")


def no_connection(*members):
    raise ConnectionError("to my server")


def connection(ds):
    """A decoder's error is not taken for that of a worker which has died."""
    for workers in 0, 2:
        try:
            list(steps_loader(ds, workers, decode=no_connection))
        except ConnectionError as e:
            assert "to my server" in str(e), e
        else:
            raise AssertionError("not noticed")


class Unreceived:
    """Cannot be had where it was sent to."""

    def __init__(self, results):
        pass

    def __reduce__(self):
        return unreceived, (unreceived.error,)


def unreceived(error):
    raise error


def lender_gone(ds):
    """What cannot be had from its worker is one that has died."""
    for error in ConnectionError, EOFError, FileNotFoundError:
        unreceived.error = error
        try:
            list(steps_loader(ds, 1, collate=Unreceived))
        except RuntimeError as e:
            assert "has died" in str(e), e
        else:
            raise AssertionError("not noticed")


def worker_killed(ds, order="ORDER"):
    """A worker that is killed is an error, and no hang."""
    for persistent in False, True:
        before = multiprocessing.active_children()
        loader = steps_loader(ds, 2, globals()[order],
                              loading={"persistent_workers": persistent})
        try:
            for epoch in range(1000):
                for batch in loader:
                    if (batch.epoch, batch.step) == (0, 1):
                        victim = next(
                            child for child in multiprocessing.active_children()
                            if child not in before)
                        os.kill(victim.pid, signal.SIGKILL)
        except RuntimeError as e:
            said = "killed", "exited", "has died"
            assert any(text in str(e) for text in said), e
        else:
            raise AssertionError("not noticed")


def for_ever(ds, workers, order):
    """Not a case: trains until it is stopped, or alone, and says who its
    workers are."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = steps_loader(ds, int(workers), globals()[order])
    parent = os.getppid()
    while os.getppid() == parent:
        for batch in loader:
            if (batch.epoch, batch.step) == (0, 2):
                print(*(c.pid for c in multiprocessing.active_children()),
                      flush=True)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def stopped(ds, name, order="ORDER"):
    """A trainer that gets the signal ends, and so do its workers; there is
    nothing in /dev/shm that it has made."""
    number = getattr(signal, name)
    for workers in "0", "2":
        child = subprocess.Popen(
            [sys.executable, __file__, ds.path, f"for_ever:{workers}:{order}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        pids = list(map(int, child.stdout.readline().split()))
        assert len(pids) == int(workers)
        # the terminal's Ctrl-C goes to all of them
        if number == signal.SIGINT:
            os.killpg(child.pid, number)
        else:
            os.kill(child.pid, number)
        said = child.communicate()[1]
        # Workers that are ended amid their own end say so in between; torch
        # may notice one of these before the trainer is through.
        assert child.returncode == -number or (
            number == signal.SIGINT and "exited unexpectedly" in said), said
        assert number != signal.SIGINT or "KeyboardInterrupt" in said, said
        until_true(lambda: not any(map(alive, pids)))
        mine = [f"torch_{pid}_" for pid in pids + [child.pid]]
        left = [f for f in os.listdir("/dev/shm")
                if f.startswith(tuple(mine))]
        assert not left, left


def asleep(ds, make, context):
    """Not a case: trains a step, says who its workers are, and sleeps; they have
    more for it than a pipe takes."""
    loading = {"multiprocessing_context": context}
    loader = (steps_loader(ds, 2, SHORT, loading)
              if make == "steps" else
              MapLoader(Samples(ds, decode=bytes), Sampler(ds, order=SHORT),
                        num_workers=2, **loading))
    running = iter(loader)
    assert sum(map(len, next(running).data)) > 128 << 10
    print(*(c.pid for c in multiprocessing.active_children()), flush=True)
    sys.stdin.read()


def orphans(ds):
    """Workers end that wait for a trainer to take what they have, if it is
    killed; whichever way they were started."""
    trainers = [subprocess.Popen(
        [sys.executable, __file__, ds.path, f"asleep:{how}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for how in ("steps:fork", "map:fork", "steps:spawn", "map:forkserver")]
    pids = []
    for trainer in trainers:
        pids += map(int, trainer.stdout.readline().split())
        trainer.kill()
        trainer.wait()
    assert len(pids) == 2 * len(trainers)
    try:
        until_true(lambda: not any(map(alive, pids)))
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)


def at_once(worker):
    """In a worker: it ends the moment that it takes its trainer for dead."""
    _orphan._GRACE = 0


def not_orphans(ds):
    """Workers whose trainer lives are not taken for orphans, whichever way they
    were started; each has one thread that looks."""
    for context in "fork", "spawn", "forkserver":
        loading = {"multiprocessing_context": context,
                   "persistent_workers": True, "worker_init_fn": at_once}
        for loader in (
                steps_loader(ds, 2, SHORT, loading, collate=watchers),
                MapLoader(Samples(ds, collate=watchers),
                          Sampler(ds, order=SHORT), num_workers=2, **loading)):
            for _ in range(2):
                assert {batch.data for batch in loader} == {1}


def watchers(results):
    return sum(t.name == "hpdsl-orphan" for t in threading.enumerate())


def main():
    path, *cases = sys.argv[1:]
    ds = hpdsl.Dataset(path)
    for case in cases:
        print("#", case, file=sys.stderr)
        name, *arguments = case.split(":")
        globals()[name](ds, *arguments)
        left = [f for f in os.listdir("/dev/shm")
                if f.startswith(f"torch_{os.getpid()}_")]
        assert not left, left
        gc.collect()
        # DataLoader gives those that fail some seconds.
        until_true(lambda: not multiprocessing.active_children())


if __name__ == "__main__":
    main()
