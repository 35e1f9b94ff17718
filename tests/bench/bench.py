#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the commands beside the tools people use today.

usage: bench.py [NAME...]      (make bench BENCH="NAME...")

NAME is pack-images, pack-small, pack-kernel, verify, lookup, from-tar,
from-zst, from-gz, zstd, sample, adopt, sha256, create, metadata, stage,
simulation, peers, read, mount, python, libraries or stall; all of them without one.  Everything runs in
BENCH_DIR ($BUILD/bench), BENCH_ROUNDS (3; 5 for stage) times, the tools in turn, and ends
on the disk: each command is followed by `sync -f`, inside the time; for
snapshots the commands shown are all there is.  Before a cold run the caches are
dropped (root only), before a warm one every file is read, or, for snapshots,
asked for its attributes.  LARGE=1: metadata looks into a snapshot of
100,000,000 entries too, which takes 7 GB of disk, 16 GB of memory and some
minutes.  BENCH_TOOLS ("tar,cp -a") limits the packers to some of them, and what
stage is put beside ("cp").  BENCH_PARTS limits stage to some of
capped,uncapped,links,rerun, read to some of disk,origin,python,overlap,
peers to some of speeds,simulated,bed and libraries to some of
images,small,tensors,copies,hand-over,decode,step; BENCH_LIBRARIES ("litdata,lmdb"):
of what is in build/libraries (make libraries); HPDSL_TCP_CONGESTION: peers' and TCP's;
BENCH_TARGETS (5 to 12, 14) limits the bed to some of them, BENCH_MBIT (1000) are
its links; BENCH_NODES: the folder of its pretend nodes' SSDs
(BENCH_DIR/nodes).  BENCH_SCALE (1) shrinks the datasets, to try this script.
Prints tables; BENCH_DIR/results.json has all single times.
"""
import json
import os
import platform
import subprocess
import sys

import create
import forms
import libraries
import metadata
import mount
import packing
import peers
import python
import read
import simulation
import stage
import stalls
from measure import BUILD, DIR, ROUNDS, SCALE, results

BENCHES = {
    **packing.BENCHES,
    **forms.BENCHES,
    **create.BENCHES,
    **metadata.BENCHES,
    **stage.BENCHES,
    **simulation.BENCHES,
    **peers.BENCHES,
    **read.BENCHES,
    **mount.BENCHES,
    **python.BENCHES,
    **libraries.BENCHES,
    **stalls.BENCHES,
}
VERSIONS = (
    "bsdtar", "cp", "find", "gzip", "hpdsl-pack", "mksquashfs", "rsync", "tar",
    "zstd"
)


def version_of(tool):
    flag = "-version" if tool == "mksquashfs" else "--version"
    try:
        out = subprocess.run(
            [tool, flag], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return (out.stdout or out.stderr).splitlines()[0]


def describe():
    results["machine"] = {
        "kernel": platform.release(),
        "processors": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "file_system": subprocess.run(
            ["stat", "-f", "-c", "%T", DIR],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip(),
    }
    results["versions"] = {
        t: version_of(t) for t in VERSIONS
    }
    results["rounds"] = ROUNDS
    results["scale"] = SCALE
    for key, value in results["machine"].items():
        print(f"  {key}: {value}")


def show_pack_commands(names):
    if any(n.startswith("pack-") for n in names):
        print("commands, each followed by `&& sync -f {out}`:")
        for tool, command in packing.COMMANDS.items():
            print(f"  {tool:18}{command}")


def main():
    names = sys.argv[1:] or list(BENCHES)
    unknown = [n for n in names if n not in BENCHES]
    if unknown:
        sys.exit(__doc__.strip())
    os.environ["PATH"] = BUILD + os.pathsep + os.environ["PATH"]
    os.makedirs(DIR, exist_ok=True)
    show_pack_commands(names)
    describe()
    for name in names:
        BENCHES[name]()
    path = os.path.join(DIR, "results.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    print(f"\nall single times: {path}")


if __name__ == "__main__":
    main()
