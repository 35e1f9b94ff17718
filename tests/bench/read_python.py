#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One epoch in Python, in several ways.  Each sample's first and last byte is
looked at, as memory may be mapped only when it is.

usage: read_python.py WAY WHAT

WAY is loader, arrays (the same, all samples of a batch at once, with NumPy) or
torch (WHAT: a dataset), tarfile (the same, chunk by chunk with
a shuffle buffer of 5,000 samples), torch_raw (a list of NUL-terminated paths);
start and torch_start do nothing but import.  Prints samples and bytes.
"""
import glob
import importlib
import os
import random
import sys
import tarfile

BUFFER = 5000
BATCH = 256


def used(contents):
    """Their bytes in all; none is empty."""
    size = 0
    for content in contents:
        content[0], content[-1]
        size += len(content)
    return size


def loader(what):
    import hpdsl

    samples = size = 0
    with hpdsl.Dataset(what) as ds, hpdsl.Loader(
            ds, BATCH, epochs=1, threads=2) as batches:
        for batch in batches:
            samples += len(batch)
            size += used(batch.data)
    return samples, size


def arrays(what):
    import hpdsl
    import numpy as np

    samples = size = 0
    with hpdsl.Dataset(what) as ds, hpdsl.Loader(
            ds, BATCH, epochs=1, threads=2, shared=True) as batches:
        for batch in batches:
            content = np.asarray(batch.buffer)
            first, sizes = np.asarray(batch.offsets), np.asarray(batch.sizes)
            content[first], content[first + sizes - 1]
            samples += len(batch)
            size += int(sizes.sum())
    return samples, size


def tar_stream(what):
    """As readers of tar streams do: shuffled chunks, a shuffle buffer."""
    chunks = sorted(glob.glob(os.path.join(what, "chunk-*.tar")))
    random.Random(0).shuffle(chunks)
    for chunk in chunks:
        with tarfile.open(chunk) as tar:
            for member in tar:
                if member.isfile():
                    yield tar.extractfile(member).read()


def tarfile_way(what):
    rng, held = random.Random(0), []
    samples = size = 0
    for sample in tar_stream(what):
        samples += 1
        if len(held) < BUFFER:
            held.append(sample)
            continue
        i = rng.randrange(BUFFER)
        size += used([held[i]])
        held[i] = sample
    return samples, size + used(held)


class RawFiles:
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with open(self.paths[i], "rb") as f:
            return f.read()


def torch_raw(what):
    from torch.utils.data import DataLoader

    with open(what, "rb") as f:
        paths = f.read().split(b"\0")[:-1]
    samples = size = 0
    for batch in DataLoader(RawFiles(paths), batch_size=BATCH, shuffle=True,
                            num_workers=2, collate_fn=list):
        samples += len(batch)
        size += used(batch)
    return samples, size


def torch_way(what):
    import hpdsl
    import hpdsl.torch

    samples = size = 0
    with hpdsl.Dataset(what) as ds:
        for batch in hpdsl.torch.Loader(ds, BATCH, threads=2):
            samples += len(batch.data)
            size += used(batch.data)
    return samples, size


def start(_):
    importlib.import_module("hpdsl")
    return 0, 0


def torch_start(_):
    importlib.import_module("torch.utils.data")
    return 0, 0


WAYS = {
    "loader": loader,
    "arrays": arrays,
    "tarfile": tarfile_way,
    "torch_raw": torch_raw,
    "torch": torch_way,
    "start": start,
    "torch_start": torch_start,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in WAYS:
        sys.exit(__doc__.strip())
    print(*WAYS[sys.argv[1]](sys.argv[2]))
