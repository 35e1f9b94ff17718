#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random orders of random samples, read by jobs of random sizes.

usage: reading.py GAMES SEED DATASET..

A game is an epoch or two of a DATASET: its order, choice and end are drawn.  It
is read in legs; each leg goes on where the last one stopped, on other numbers of
ranks and workers, with other threads and other memory.  Every batch has to be
the step that hpdsl.Epoch says it is, every sample what hpdsl.Dataset reads, and
each sample has to come as often as it was chosen.  Ends with 1, and the game's
number, at the first thing that is wrong.  With LONG_SECONDS in the environment
no game is begun after so many seconds, but the first.
"""
import os
import random
import sys
import time
import warnings
import zlib
from collections import Counter
from dataclasses import replace

import hpdsl

ENDS = "mask", "repeat", "drop", "short"


class Known:
    """A dataset, and the contents of its samples as read one by one."""

    def __init__(self, path):
        self.path, self.dataset = path, hpdsl.Dataset(path)
        n = len(self.dataset)
        self.sums = [zlib.crc32(sample.data) for first in range(0, n, 1000)
                     for sample in self.dataset.read_many(
                         range(first, min(n, first + 1000)))]
        self.chunks = self.dataset.counts.chunks


def draw_choice(rng, known):
    kind = rng.randrange(5)
    if kind == 0:
        return hpdsl.Choice(known.dataset, split=(0, rng.uniform(0.1, 1)),
                            split_seed=rng.randrange(9))
    if kind == 1:
        return hpdsl.Choice(known.dataset, balanced=True)
    if kind == 2:
        n = len(known.dataset)
        return hpdsl.Choice(known.dataset, samples=sorted(rng.sample(
            range(n), rng.randint(1, n))))
    return None


def draw_order(rng, known):
    batch = rng.randint(1, 12) * rng.choice((1, 3, 32))
    some = [d for d in range(1, batch + 1) if batch % d == 0]
    return hpdsl.Order(
        seed=rng.randrange(1 << 64), epoch=rng.randrange(3), batch=batch,
        lanes=rng.choice((0, rng.choice(some), batch * rng.randint(1, 3))),
        piece=rng.choice((0, 1, 5, 100)), windows=rng.choice((0, 1, 2, 7)),
        parts=rng.choice((1, 1, 1, 2, 3, 4, known.chunks + 1)),
        shuffle=rng.random() > 0.1)


def draw_job(rng, order):
    """How a leg is read: options, ranks and workers."""
    return dict(threads=rng.choice((1, 2, 8)),
                memory=rng.choice((16, 40, 300)) << 20,
                cache=rng.choice(("auto", "keep")),
                uneven=True), rng.randint(1, min(7, order.batch)), \
        rng.randint(1, 3)


def differs(what):
    raise AssertionError(what)


def check_batch(known, batch, places):
    """The rank's places of the step, and what was read for them."""
    if [(p.sample, p.real) for p in places] != \
            list(zip(batch.numbers, batch.mask)):
        differs(f"epoch {batch.epoch}, step {batch.step}: other samples")
    for number, view in zip(batch.numbers, batch.data):
        if zlib.crc32(view) != known.sums[number]:
            differs(f"epoch {batch.epoch}, step {batch.step}: sample {number} "
                    "has other contents")


def read_leg(known, order, choice, end, leg, until, seen):
    """Steps order.step to until of an epoch, by all of the leg's readers.
    Returns the state that one of them ended with."""
    options, ranks, workers = leg
    epoch = hpdsl.Epoch(known.dataset, replace(order, step=0), choice)
    states = []
    for rank in range(ranks):
        for worker in range(workers):
            share = dict(rank=rank, ranks=ranks, worker=worker, workers=workers)
            expected = range(order.step + worker, until, workers)
            with hpdsl.Loader(known.dataset, order=order, choice=choice, end=end,
                              epochs=1, **share, **options) as loader:
                for step in expected:
                    batch = loader.next_batch()
                    if batch is None or (batch.epoch, batch.step) != (
                            order.epoch, step):
                        differs(f"rank {rank}, worker {worker}: not step {step}")
                    check_batch(known, batch, epoch.step(
                        step, rank=rank, ranks=ranks, end=end, uneven=True))
                    seen.update(n for n, real in zip(batch.numbers, batch.mask)
                                if real)
                if expected and expected[-1] == until - 1:
                    states.append(loader.state_dict())
    if any(state != states[0] for state in states):
        differs(f"states differ: {states}")
    return states[0] if states else None


def resumed(known, order, choice, end, state, until, steps):
    """The order of the next leg, which the state has to say, too."""
    after = replace(order, step=until) if until < steps else None
    if state is not None and after is not None:
        with hpdsl.Loader(known.dataset, choice=choice, end=end) as loader:
            loader.load_state_dict(state)
            told = loader.state_dict()
        for name in "epoch", "step", "seed":
            if told[name] != getattr(after, name):
                differs(f"the state says {name} {told[name]}")
    return after


def play(rng, known):
    choice, order, end = draw_choice(rng, known), draw_order(rng, known), \
        rng.choice(ENDS)
    epoch = hpdsl.Epoch(known.dataset, order, choice)
    # The filled and full form, before the choice is drawn again.
    order = epoch.order
    steps, seen, legs = epoch.steps(end), Counter(), 0
    wanted = Counter(epoch[i] for i in range(len(epoch)))
    while order is not None and order.step < steps:
        leg = draw_job(rng, order)
        until = rng.choice((steps, rng.randint(order.step + 1, steps)))
        state = read_leg(known, order, choice, end, leg, until, seen)
        order = resumed(known, order, choice, end, state, until, steps)
        legs += 1
    if end in ("mask", "short") and seen != wanted:
        differs("not each sample as often as it was chosen")
    if end == "drop" and seen - wanted:
        differs("samples that come too often")
    if end == "repeat" and wanted - seen:
        differs("samples that do not come")
    return sum(seen.values()), legs


def main(games, seed, paths):
    warnings.simplefilter("ignore", RuntimeWarning)  # of too little memory
    end = time.monotonic() + float(os.environ.get("LONG_SECONDS", "inf"))
    datasets = [Known(path) for path in paths]
    samples = legs = played = 0
    for game in range(int(games)):
        if game and time.monotonic() > end:
            break
        name = f"game {seed}/{game}"
        rng = random.Random(name)
        known = rng.choice(datasets)
        try:
            n, m = play(rng, known)
        except (AssertionError, hpdsl.Error) as e:
            sys.exit(f"{name}, {known.path}: {e}")
        samples, legs, played = samples + n, legs + m, played + 1
    print(f"# {played} games of {legs} legs, {samples} samples")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
