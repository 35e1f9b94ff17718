#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs of Python ask of a tree, of the tree or of what stands in.

usage: stand_in.py WAY WHAT [TREE]

WAY is torchvision (WHAT: a tree) or folder (a dataset): their ImageFolder until
it is ready; prints files, seconds, and the KiB of memory of its own that the
process has more, then and at most.
names (WHAT: a dataset, TREE: it unpacked): listed, looked up and counted, by
turns; prints the least seconds of os.walk, Snapshot.walk, lookup_many in the
order of a walk, count_suffixes, and lookup_many in any order.  zarr-dir, zarr-zip, zarr-hpdsl: all of an array; prints bytes
and seconds.  ranges: 16 pieces of 150,000 bytes of the one member; prints
their bytes, and those that the process has read.
"""
import os
import random
import sys
import time

TURNS = 5


def memory(field):
    with open("/proc/self/status", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith(field)).split()[1])


def ready(kind, what):
    """Mapped files are the system's, and not counted, but in the peak."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
        f.write("5")
    before, resident = memory("RssAnon"), memory("VmRSS")
    begin = time.perf_counter()
    folder = kind(what)
    seconds = time.perf_counter() - begin
    return (len(folder), seconds, memory("RssAnon") - before,
            memory("VmHWM") - resident)


def torchvision_way(what):
    from torchvision.datasets import ImageFolder

    return ready(ImageFolder, what)


def folder_way(what):
    import hpdsl.torch

    return ready(hpdsl.torch.ImageFolder, what)


def least(ways):
    """Seconds of each, by turns."""
    best = [float("inf")] * len(ways)
    for _ in range(TURNS):
        for i, way in enumerate(ways):
            begin = time.perf_counter()
            way()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def names_way(what, tree):
    import hpdsl

    snapshot = hpdsl.Snapshot(what)
    paths = list(snapshot.files())
    mixed = random.Random(1).sample(paths, len(paths))

    def walk(of):
        assert sum(len(files) for _, _, files in of) == len(paths)

    return least([
        lambda: walk(os.walk(tree)),
        lambda: walk(snapshot.walk()),
        lambda: snapshot.lookup_many(paths),
        snapshot.count_suffixes,
        lambda: snapshot.lookup_many(mixed),
    ])


def array_of(store):
    import zarr

    array = zarr.open(store, mode="r")
    begin = time.perf_counter()
    return array[:].nbytes, time.perf_counter() - begin


def zarr_zip(what):
    import zarr

    return array_of(zarr.ZipStore(what, mode="r"))


def zarr_hpdsl(what):
    return array_of("hpdsl://" + os.path.abspath(what))


def have_read():
    with open("/proc/self/io", encoding="ascii") as f:
        return int(f.readline().split()[1])


def ranges_way(what):
    import hpdsl

    size, wanted = 150_000, 0
    rng = random.Random(1)
    with hpdsl.Dataset(what) as ds:
        member = ds.members(0)[0]
        before = have_read()
        with ds.open(member.path) as f:
            for _ in range(16):
                f.seek(rng.randrange(member.size - size))
                wanted += len(f.read(size))
    return wanted, have_read() - before


WAYS = {
    "torchvision": torchvision_way,
    "folder": folder_way,
    "names": names_way,
    "zarr-dir": array_of,
    "zarr-zip": zarr_zip,
    "zarr-hpdsl": zarr_hpdsl,
    "ranges": ranges_way,
}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in WAYS:
        sys.exit(__doc__.strip())
    print(*WAYS[sys.argv[1]](*sys.argv[2:]))
