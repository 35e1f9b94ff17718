#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every sample of a stage directory by itself, from the moment that it can
be opened, compares it with the tree that was packed, and prints where the bytes
came from, as JSON.

usage: stage_reader.py DIR TREE [--order=use|number] [--patience=S]
                       [--pause=FILE] [--ready=FILE]

With --pause it makes that FILE after the first sample, and goes on when it is
gone; with --ready it makes that one as soon as it waits for DIR.
Chunks are read in the order in which an epoch of seed 0 first wants them, or by
number; samples of a chunk in packed order.
"""
import json
import os
import sys
import time

import hpdsl


def opened(directory):
    """As soon as it can be."""
    end = time.monotonic() + 600 # clock: bound of a poll
    while True:
        try:
            return hpdsl.Dataset(directory)
        except hpdsl.Error:
            if time.monotonic() > end: # clock: bound of a poll
                raise
        time.sleep(0.001) # clock: a poll


def in_order(ds, order):
    """Numbers of the samples, those of a chunk one behind the other."""
    chunk = [ds.members(n)[0].chunk for n in range(len(ds))]
    wanted = range(len(ds)) if order == "number" else hpdsl.Epoch(ds)
    use = dict.fromkeys(chunk[n] for n in wanted)
    for place, c in enumerate(use):
        use[c] = place
    return sorted(range(len(ds)), key=lambda n: (use[chunk[n]], n))


def check(ds, number, tree):
    contents = ds[number].members.values()
    members = ds.members(number)
    assert len(members) == len(contents)
    for member, data in zip(members, contents):
        with open(os.path.join(tree, member.path), "rb") as f:
            assert f.read() == data, f"{member.path}: other bytes"


def pause(path):
    with open(path, "w", encoding="ascii"):
        pass
    while os.path.exists(path):
        time.sleep(0.01) # clock: a poll


def main(words):
    options = dict(w[2:].split("=") for w in words if w.startswith("--"))
    directory, tree = (w for w in words if not w.startswith("--"))
    if "ready" in options:
        with open(options["ready"], "w", encoding="ascii"):
            pass
    ds = opened(directory)
    if "patience" in options:
        ds.patience(float(options["patience"]))
    for seen, number in enumerate(in_order(ds, options.get("order", "use"))):
        check(ds, number, tree)
        if not seen and "pause" in options:
            pause(options["pause"])
    print(json.dumps(ds.sources()._asdict()))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except hpdsl.Error as e:
        sys.exit(f"stage_reader: {e}")
