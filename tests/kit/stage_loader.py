#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An epoch from a stage directory, held against the origin: the same samples in
the same order with the same bytes.  Prints one JSON object: what was read where,
what was told.

usage: stage_loader.py DIR ORIGIN [NAME=NUMBER..] [memory=MIB] [pause=FILE]
                       [ready=FILE]

NAME is epoch, batch, lanes, piece, windows, parts, rank, ranks or skip_bad.
With pause, FILE is made after the first batch, and waited for to go away; with
ready it is made before DIR is waited for.
"""
import json
import os
import sys
import time

import hpdsl

ORDER = ("epoch", "batch", "lanes", "piece", "windows", "parts")


def compare(batch, wanted, origin, bad):
    assert batch.numbers == [p.sample for p in wanted], batch.step
    assert list(batch.mask) == [p.real for p in wanted], batch.step
    for number, data, is_bad in zip(batch.numbers, batch.data, batch.bad):
        if is_bad:
            bad.append(number)
        else:
            assert bytes(data) == origin[number].data, number


def pause(name):
    with open(name, "w", encoding="ascii"):
        pass
    while os.path.exists(name):
        time.sleep(0.01) # clock: a poll


def wait_for(place, ready):
    with open(ready, "w", encoding="ascii"):
        pass
    while not os.path.exists(os.path.join(place, "stage.hpdsl")):
        time.sleep(0.001) # clock: a poll


def main():
    place, at = sys.argv[1:3]
    given = dict(a.split("=") for a in sys.argv[3:])
    order = hpdsl.Order(seed=3, **{n: int(given[n])
                                   for n in ORDER if n in given})
    share = {n: int(given[n]) for n in ("rank", "ranks") if n in given}
    if "ready" in given:
        wait_for(place, given["ready"])
    warnings, bad = [], []
    with hpdsl.Dataset(at) as origin, hpdsl.Dataset(place) as staged:
        epoch = hpdsl.Epoch(origin, order, ranks=share.get("ranks", 1))
        with hpdsl.Loader(staged, order=order, epochs=1, threads=2,
                          memory=int(given.get("memory", "64")) << 20,
                          skip_bad="skip_bad" in given,
                          on_warning=warnings.append, **share) as loader:
            steps = 0
            for batch in loader:
                compare(batch, epoch.step(batch.step, **share), origin, bad)
                assert batch.step == steps
                steps += 1
                if steps == 1 and "pause" in given:
                    pause(given["pause"])
                del batch
            told = loader.stats()
        assert steps == epoch.steps("mask")
    sources = told["sources"]
    print(json.dumps({
        "steps": steps,
        "bad": bad,
        "warnings": warnings,
        **{n: getattr(sources, n) for n in (
            "staged", "local_bytes", "origin_bytes", "absent_chunks",
            "overtaken_chunks", "failed_chunks", "wait_seconds",
            "peer_bytes", "peer_chunks", "peer_reads", "peer_failed",
            "hedged", "adopted")},
    }))


if __name__ == "__main__":
    try:
        main()
    except hpdsl.Error as e:
        sys.exit(f"stage_loader: {e}")
