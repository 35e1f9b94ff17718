#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpdsl.torch, case by case.

usage: torch_cases.py DATASET CASE...

CASE is the name of a function below, with arguments behind colons; its doc
string says what it holds.
"""
import copy
import gc
import itertools
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from unittest import mock

import torch
import torch.utils.data
from torch.utils.data._utils.pin_memory import pin_memory

import hpdsl
import hpdsl.torch
from hpdsl import _contents, _orphan, _parcel
from hpdsl.torch import Contents, Loader, Sampler, Samples, Steps

ORDER = hpdsl.Order(seed=5, window=2, lanes=6, run=3, step_runs=12)
# Three samples a step.
SHORT = hpdsl.Order(seed=5, window=2, lanes=6, run=3, step_runs=1)
# "more workers than cores" is no news here.
warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)


def reference(ds, order=ORDER, epoch=0, choice=None):
    """Of each step the numbers that count, sorted."""
    order = hpdsl.Order(**{**vars(order), "epoch": epoch, "step": 0})
    steps = hpdsl.Epoch(ds, order, choice)
    return [sorted(p.sample for p in steps.step(s) if p.real)
            for s in range(steps.steps())]


def steps_loader(ds, workers=0, order=ORDER, loading=None, **given):
    return Loader(Steps(ds, order, **given), num_workers=workers,
                  **(loading or {}))


def map_loader(ds, workers=0, order=ORDER, loading=None, **given):
    return Loader(Samples(ds), Sampler(ds, order, **given),
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


def same_bytes(ds, batch):
    for number, content, label in zip(batch.numbers.tolist(), batch.data,
                                      batch.labels.tolist()):
        sample = ds[number]
        assert sample.data == content and sample.label == label


def once(ds, kind="steps"):
    """Every sample exactly once, the same steps, on 1 to 4 ranks with 0 to 3
    workers each."""
    make = {"steps": steps_loader, "map": map_loader}[kind]
    for ranks, workers in [(1, 0), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3),
                           (4, 0)]:
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
    for plan in ([(2, 2), (1, 3), (4, 0)], [(1, 1), (2, 3), (1, 0)],
                 [(3, 0), (2, 1), (1, 2)]):
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
    loader = steps_loader(ds, 2, loading={"prefetch_factor": 4})
    running = iter(loader)
    for k in range(3):
        next(running)
        time.sleep(0.2)
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
        assert not list(loader) and not list(loader.loader)


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
        Loader(Samples(ds), Sampler(hpdsl.Dataset(path)))
    except hpdsl.DiffersError as e:
        assert path in str(e) and ds.path in str(e), e
    else:
        raise AssertionError("was taken")
    again = Loader(Samples(ds), Sampler(hpdsl.Dataset(ds.path), ORDER))
    assert len(list(again)) == len(reference(ds))


def distributed(ds):
    """The rank is that of torch.distributed, unless both are given."""
    of = torch.distributed
    with mock.patch.object(of, "is_initialized", return_value=True), \
            mock.patch.object(of, "get_rank", return_value=1), \
            mock.patch.object(of, "get_world_size", return_value=3):
        for given, wanted in ({}, (1, 3)), ({"rank": 0, "ranks": 2}, (0, 2)):
            for position in Steps(ds, **given), Sampler(ds, **given):
                assert (position.rank, position.ranks) == wanted
        for alone in {"rank": 0}, {"ranks": 1}:
            try:
                Steps(ds, **alone)
            except hpdsl.UsageError as e:
                assert "both or neither" in str(e), e
            else:
                raise AssertionError(alone)


def plain(ds):
    """The dataset alone, in DataLoaders of the user's own making."""
    for workers in 0, 2:
        steps, seen = Steps(ds, ORDER), {}
        mine = torch.utils.data.DataLoader(steps, batch_size=None,
                                           num_workers=workers)
        all_of(mine, seen)
        assert got(seen) == reference(ds)
        steps.seek(1, 2)
        assert next(iter(mine))[4:] == (1, 2)
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
            steps_loader(ds, workers, decode=both, suffixes=["txt", "json"]),
            Loader(Samples(ds, decode=both, suffixes=["txt", "json"]),
                   Sampler(ds, ORDER), num_workers=workers),
        ):
            kept = list(loader)
            for batch in kept[::3]:
                assert batch.data.shape == (36, 2)
                for n, sizes in zip(batch.numbers.tolist(),
                                    batch.data.tolist()):
                    sample = ds[n].members
                    assert sizes == [len(sample.get("txt", b"")),
                                     len(sample["json"])]


def first_of_two(ds):
    """Of two members of one suffix everybody gets the first."""
    for given in {"decode": bytes, "collate": list}, {}:
        for loader in (
            steps_loader(ds, suffixes=["txt"], **given),
            Loader(Samples(ds, suffixes=["txt"], **given), Sampler(ds, ORDER)),
            steps_loader(ds, **given),
        ):
            for batch in loader:
                assert {bytes(one) for one in batch.data} == {b"first"}


def one_of_them(ds):
    """Of several members the contents are the first wanted one, also where
    that is missing."""
    assert Samples(ds, suffixes=[]).suffixes is None
    for workers in 0, 2:
        for loader in (
            steps_loader(ds, workers, suffixes=["txt", "json"]),
            Loader(Samples(ds, suffixes=["txt", "json"]), Sampler(ds, ORDER),
                   num_workers=workers),
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
        ds, 2, choice=hpdsl.Choice(ds, split=(0, 0.3)), epochs=2,
        loading={"multiprocessing_context": "spawn",
                 "persistent_workers": True})
    for _ in range(2):
        all_of(loader, seen)
    for epoch in range(2):
        assert got(seen, epoch) == reference(ds, epoch=epoch,
                                             choice=loader._position.choice)


def as_list(contents, wanted):
    """Contents are what this list of bytes is, in each of their forms."""
    assert type(contents) is Contents and len(contents) == len(wanted)
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
    for make in steps_loader, map_loader:
        for workers in 0, 2:
            loader = make(ds, workers, SHORT)
            for batch in itertools.islice(loader, 0, None, 7):
                same_bytes(ds, batch)
                wanted = [ds[n].data for n in batch.numbers.tolist()]
                as_list(batch.data, wanted)
                as_list(pickle.loads(pickle.dumps(batch)).data, wanted)
                copy = pin_memory(batch)
                assert copy[4:] == batch[4:]
                del batch
                gc.collect()
                as_list(copy.data, wanted)
    torch.Tensor.pin_memory = pinning
    as_list(_contents.contents_of([b"", b"a", b""]), [b"", b"a", b""])
    as_list(_contents.contents_of([b"", b""]), [b"", b""])
    for given in {"decode": bytes}, {"collate": list}:
        batch = next(iter(steps_loader(ds, 2, **given)))
        assert type(batch.data) is list
        assert set(map(type, batch.data)) == {bytes}
        same_bytes(ds, batch)


def loans():
    """How many each worker has."""
    found = []
    for child in multiprocessing.active_children():
        folder = f"/proc/{child.pid}/fd/"
        inodes = set()
        for fd in os.listdir(folder):
            try:
                if os.readlink(folder + fd).startswith("/memfd:hpdsl"):
                    inodes.add(os.stat(folder + fd).st_ino)
            except FileNotFoundError:
                pass
        found.append(len(inodes))
    return found


def lent(ds):
    """Of large steps the contents are in memory that a worker lends: what is
    kept stays as it was; what has gone is filled again."""
    for context in "fork", "spawn":
        loading = {"multiprocessing_context": context,
                   "persistent_workers": True}
        loader = steps_loader(ds, 2, SHORT, loading=loading)
        seen, kept, views = {}, [], []
        for batch in counted(loader, seen):
            same_bytes(ds, batch)
            if batch.step < 3:
                kept.append(batch)
            elif batch.step < 6:
                views.append((batch.data[1], batch.data.tensor(2),
                              batch.numbers.tolist()))
        # in hand, six kept, two of each worker ahead, and one to be filled
        assert got(seen) == reference(ds, SHORT)
        assert len(loans()) == 2 and 4 <= min(loans()) <= max(loans()) <= 8
        for batch in kept:
            same_bytes(ds, batch)
        for view, tensor, numbers in views:
            assert view == ds[numbers[1]].data
            assert bytes(tensor.tolist()) == ds[numbers[2]].data
        del batch, kept, views, view, tensor
        # all that is dropped has come back, nothing more is needed
        before = loans()
        all_of(loader, seen)
        assert loans() == before
        kept = list(loader)
        assert max(loans()) <= 12 < len(kept) / 2
        for batch in kept:
            same_bytes(ds, batch)
        del loader


def forked(ds):
    """A child may look at a batch that its parent has dropped; and what it does
    with its own gives nothing back."""
    loader = steps_loader(ds, 1, SHORT)
    running = iter(loader)
    for end in False, True:
        batch = next(running)
        wanted = [ds[n].data for n in batch.numbers.tolist()]
        go, wait = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            if not end:
                os.read(go[0], 1)
                os._exit(list(batch.data) != wanted)
            del batch
            os.write(wait[1], b".")
            os._exit(0)
        if not end:
            del batch
        else:
            os.read(wait[0], 1)
        for _ in range(12):
            next(running)
        os.write(go[1], b".")
        assert os.waitpid(child, 0)[1] == 0
        if end:
            assert list(batch.data) == wanted


def not_lent(ds):
    """Where processes must not open what others have, or cannot lend, or have
    no memory for it, it goes through the pipe."""
    for of, name in (os, "readlink"), (_contents._lender, "lend"):
        for make in steps_loader, map_loader:
            with mock.patch.object(of, name, side_effect=OSError(name)):
                batches = list(make(ds, 2, SHORT))
            assert len(batches) == len(reference(ds, SHORT))
            for batch in batches:
                same_bytes(ds, batch)


class Wrapped(torch.utils.data.IterableDataset):
    """Steps, of each of which it makes several things."""

    def __init__(self, steps, make):
        self.steps, self.make = steps, make

    def __iter__(self):
        for batch in self.steps:
            yield from self.make(batch)


def twice(batch):
    return batch, batch, copy.deepcopy(batch)


def sent_twice(ds):
    """What a worker sends several times arrives as often, each the same, and
    whichever is dropped first."""
    loader = torch.utils.data.DataLoader(
        Wrapped(Steps(ds, SHORT), twice), batch_size=None, num_workers=1)
    kept = []
    for k, batch in enumerate(loader):
        same_bytes(ds, batch)
        if k % 3 == k // 3 % 3:
            kept.append(batch)
    assert [b.step for b in kept] == list(range(len(reference(ds, SHORT))))
    for batch in kept:
        same_bytes(ds, batch)


def look_in(batch):
    return [batch.labels]


def in_worker(ds):
    """Who looks for a Batch in a worker learns when it will be one."""
    for look in ({"dataset": Wrapped(Steps(ds), look_in)},
                 {"dataset": Steps(ds), "collate_fn": attribute}):
        loader = torch.utils.data.DataLoader(**look, batch_size=None,
                                             num_workers=1)
        try:
            next(iter(loader))
        except AttributeError as e:
            assert "no 'labels' here: in a worker" in str(e), e
        else:
            raise AssertionError("was there")


def attribute(batch):
    assert not hasattr(batch, "__len__")
    return batch.labels


def views(ds):
    """Of small views of large memory pickle would write all of it each time:
    torch's way is taken."""
    for tensors, way in (
            ((torch.zeros(25600).split(256)), _parcel._batch),
            ([torch.zeros(256) for _ in range(100)], _parcel._unpacked),
            ({"a": [torch.zeros(1 << 18)]}, _parcel._batch),
            ([torch.eye(3).to_sparse()], _parcel._unpacked)):
        parcel = _parcel._Parcel(tensors, [], [], [], 0, 0)
        assert parcel.__reduce__()[0] is way


def wrong(ds):
    """What makes no sense is said at once, and not in a worker."""
    for text, make in (
            ("foo", lambda: Steps(ds, foo=1)),
            ("rank 5 of 1", lambda: Steps(ds, rank=5, ranks=1)),
            ("both or neither", lambda: Steps(ds, rank=1)),
            ("both or neither", lambda: Sampler(ds, ranks=2)),
            ("not one string", lambda: Steps(ds, suffixes="json")),
            ("not one string", lambda: Samples(ds, suffixes="json")),
            ("suffix 3", lambda: Samples(ds, suffixes=["json", 3])),
            ("epochs -1", lambda: Steps(ds, epochs=-1)),
            ("hpdsl.Dataset", lambda: Steps(ds.path)),
            ("wanted hpdsl.Choice", lambda: Steps(ds, choice=[1])),
            ("wanted Steps, or", lambda: Loader(Samples(ds), 5)),
            ("wanted Steps, or", lambda: Loader(Steps(ds), 5))):
        try:
            make()
        except (TypeError, ValueError) as e:
            assert text in str(e), e
        else:
            raise AssertionError(text)


def bad(ds):
    """DATASET has a damaged sample, which is an error, in a worker too; or it
    is skipped, and does not count."""
    for workers in 0, 2:
        try:
            list(steps_loader(ds, workers))
        except (hpdsl.CorruptError, RuntimeError) as e:
            assert "checksum" in str(e), e
        else:
            raise AssertionError("not noticed")
        seen = {}
        loader = steps_loader(ds, workers, decode=length, skip_bad=True)
        for batch in counted(loader, seen):
            assert batch.data.shape == (36,)
        assert sum(map(len, got(seen))) == len(ds) - 1
        for batch in steps_loader(ds, workers, skip_bad=True):
            if not all(batch.mask):
                break
        counts = batch.mask.tolist()
        assert counts.count(False) == 1
        assert len(batch.data) == 36 and (
            batch.data[counts.index(False)] == batch.data[counts.index(True)])


def length(content):
    return torch.tensor(len(content))


def fail_at_ten(content):
    fail_at_ten.calls += 1
    if fail_at_ten.calls == 10:
        raise KeyError("no such thing")
    return bytes(content)


fail_at_ten.calls = 0


def decoder_fails(ds):
    """What decode raises is raised in the loop."""
    for workers in 0, 2:
        fail_at_ten.calls = 0
        try:
            list(steps_loader(ds, workers, decode=fail_at_ten))
        except KeyError as e:
            assert "no such thing" in str(e)
        else:
            raise AssertionError("not noticed")


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
        while any(map(alive, pids)):
            time.sleep(0.05)
        mine = [f"torch_{pid}_" for pid in pids + [child.pid]]
        left = [f for f in os.listdir("/dev/shm")
                if f.startswith(tuple(mine))]
        assert not left, left


def asleep(ds, make, context):
    """Not a case: trains a step, says who its workers are, and sleeps; they have
    more for it than a pipe takes."""
    loading = {"multiprocessing_context": context}
    loader = (steps_loader(ds, 2, SHORT, loading, decode=bytes)
              if make == "steps" else
              Loader(Samples(ds, decode=bytes), Sampler(ds, SHORT),
                     num_workers=2, **loading))
    running, parent = iter(loader), os.getppid()
    assert sum(map(len, next(running).data)) > 128 << 10
    print(*(c.pid for c in multiprocessing.active_children()), flush=True)
    while os.getppid() == parent:
        time.sleep(0.05)


def orphans(ds):
    """Workers end that wait for a trainer to take what they have, if it is
    killed; whichever way they were started."""
    trainers = [subprocess.Popen(
        [sys.executable, __file__, ds.path, f"asleep:{how}"],
        stdout=subprocess.PIPE, text=True)
        for how in ("steps:fork", "map:fork", "steps:spawn", "map:forkserver")]
    pids = []
    for trainer in trainers:
        pids += map(int, trainer.stdout.readline().split())
        trainer.kill()
        trainer.wait()
    assert len(pids) == 2 * len(trainers)
    until = time.monotonic() + 200
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    left = list(filter(alive, pids))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, left


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
                Loader(Samples(ds, collate=watchers), Sampler(ds, SHORT),
                       num_workers=2, **loading)):
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
        while multiprocessing.active_children():
            time.sleep(0.05)


if __name__ == "__main__":
    main()
