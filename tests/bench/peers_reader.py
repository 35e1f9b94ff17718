#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that computes for a while at each step: how long each step waited for
its data, and a digest of all that came.

usage: peers_reader.py DIR COMPUTE [NAME=NUMBER..] [memory=MIB] [mark=FILE]

NAME is batch_size, parts, rank or ranks.  COMPUTE is seconds a step; with mark,
FILE is made after a quarter of the steps.  Prints one JSON object.
"""
import json
import sys
import time
import warnings
import zlib

import hpdsl

STALL = 0.1  # seconds that somebody would notice


def run(loader, compute, mark):
    """What each step waited, and the digest."""
    waits, digest, at = [], 0, loader.plan()["steps"] // 4
    batches = iter(loader)
    while True:
        begin = time.monotonic()
        batch = next(batches, None)
        if batch is None:
            return waits, digest
        waits.append(time.monotonic() - begin)
        for number, data in zip(batch.numbers, batch.data):
            digest = zlib.crc32(data, digest ^ number)
        if mark and len(waits) == at:
            with open(mark, "w", encoding="ascii"):
                pass
        time.sleep(max(0, begin + waits[-1] + compute - time.monotonic()))


def main(place, compute, *more):
    compute = float(compute)
    given = dict(a.split("=", 1) for a in more)
    mark = given.pop("mark", None)
    memory = int(given.pop("memory", "64")) << 20
    how = {name: int(value) for name, value in given.items()}
    told = []
    with hpdsl.Dataset(place) as ds, hpdsl.Loader(
            ds, epochs=1, seed=3, threads=8, memory=memory,
            on_warning=told.append, **how) as loader:
        begin = time.monotonic()
        waits, digest = run(loader, compute, mark)
        seconds = time.monotonic() - begin
        sources = loader.stats()["sources"]
    print(json.dumps({
        "seconds": seconds,
        "digest": digest,
        "steps": len(waits),
        "first": waits[0],
        # The first one fills the pipe.
        "longest": max(waits[1:]),
        "stalls": [(i * compute, w) for i, w in enumerate(waits[1:], 1)
                   if w > STALL],
        "warnings": told,
        **sources._asdict(),
    }))


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(*sys.argv[1:])
