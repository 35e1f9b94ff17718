#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is what hpdsl-order --cost prints what the loader does?

usage: cost_check.py DATASET BATCH_SIZE RANKS MEMORY [BYTES]

Asks for the last of so many ranks, and lets it read: the first steps, some in
the middle, and the last ones, at most BYTES (20G) of each.  The chunks may be
holes, as tests/bench/gen_sparse makes them: checksums are not compared.  Prints
a line for each cell; the status is 1 if one of them is wrong.
"""
import json
import subprocess
import sys

UNITS = {"K": 10, "M": 20, "G": 30}
SLACK = 0.05
# What differs by a read or two, or by a batch, is no difference in small cells.
READS, MIB, PAGE = 3, 1 << 20, 4096


def size(text):
    if text[-1] in UNITS:
        return int(text[:-1]) << UNITS[text[-1]]
    return int(text)


def answer(*command):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout), done.stderr


class Rank:
    """The last rank of a job, and what it is asked."""

    def __init__(self, dataset, batch_size, ranks, memory):
        self.memory = size(memory)
        self.options = [
            f"--batch-size={batch_size}", f"--ranks={ranks}",
            f"--rank={ranks - 1}", f"--memory={memory}", "--json",
        ]
        self.dataset = dataset

    def cost(self, first, steps):
        return answer(
            "hpdsl-order", "--cost", *self.options, f"--step={first}",
            *([f"--steps={steps}"] if steps else []), self.dataset,
        )[0]

    def read(self, first, steps):
        return answer(
            "hpdsl-bench", "-q", "--unchecked", *self.options,
            f"--step={first}", *([f"--steps={steps}"] if steps else []),
            self.dataset,
        )


def between(what, low, found, high, more):
    """Nothing, or what is wrong."""
    if low * (1 - SLACK) - more <= found <= high * (1 + SLACK) + more:
        return []
    return [f"{what}: {found}, and not {low} to {high}"]


def lanes(some, found, to_the_end):
    """Those of a few steps may be fewer than the loader has until the end."""
    if found < some or (to_the_end and found != some):
        return [f"lanes: {found}, and not {some}"]
    return []


def cell(rank, first, steps, whole):
    """The loader reads ahead of the last step that it is asked for, so what it
    has read then is what this many steps cost, or some more, as many as there
    is memory for; where the epoch ends, it is just that."""
    low = rank.cost(first, steps)
    high = low
    if steps:
        step = max(1, low["wanted_bytes"] // max(1, low["counted_steps"]))
        ahead = rank.memory // step + 1
        high = rank.cost(first, min(steps + ahead, whole["steps"] - first))
    found, said = rank.read(first, steps)
    wrong = (
        between("reads", low["reads"], found["reads"], high["reads"], READS)
        + between("bytes", low["read_bytes"], found["read_bytes"],
                  high["read_bytes"], 0)
        + between("median", min(low["median_read"], high["median_read"]),
                  found["median_read"],
                  max(low["median_read"], high["median_read"]), PAGE)
        + between("held", low["held_peak"], found["held_peak"],
                  high["held_peak"], MIB)
        + lanes(low["rank_lanes"], found["lanes"], not steps)
        + between("share", low["share_bytes"], found["share_bytes"],
                  low["share_bytes"], 0)
    )
    # what an awaited step needs is told where it does not fit
    if found["memory_peak"] > rank.memory and "memory" not in said:
        wrong.append(f"memory: {found['memory_peak']} of {rank.memory}")
    if found["steps"] != low["counted_steps"]:
        wrong.append(f"steps: {found['steps']}")
    return low, found, wrong


def main():
    if not 5 <= len(sys.argv) <= 6:
        sys.exit(__doc__.strip())
    dataset, batch_size, ranks, memory = sys.argv[1:5]
    most = size(sys.argv[5] if len(sys.argv) > 5 else "20G")
    rank = Rank(dataset, int(batch_size), int(ranks), memory)
    whole = rank.cost(0, 1)
    steps = whole["steps"]
    some = max(1, most // max(1, whole["wanted_bytes"]))
    cells = [("all", 0, 0)]
    if some < steps:
        cells = [
            ("first", 0, some),
            ("middle", (steps - some) // 2, some),
            ("last", steps - some, 0),
        ]
    bad = False
    for name, first, count in cells:
        low, found, wrong = cell(rank, first, count, whole)
        bad |= bool(wrong)
        print(f"# 1 cells of {dataset}, {ranks} ranks, {memory}, {name}:"
              f" {low['reads']} reads, {found['reads']} found;"
              f" held {low['held_peak'] / MIB:.1f} MiB,"
              f" {found['held_peak'] / MIB:.1f} found", flush=True)
        for line in wrong:
            print(f"wrong: {line}", flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
