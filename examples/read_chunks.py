#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the samples of packed chunks with Python's tarfile alone.

usage: read_chunks.py DATASET

Prints each sample's key and the suffixes and sizes of its members, in the
shuffled order in which they lie.  Members of a sample are adjacent and share
the path up to the first dot of the base name; that is all there is to it.
"""
import glob
import itertools
import os
import signal
import sys
import tarfile


def key_and_suffix(path):
    """Leading dots of the base name belong to the key."""
    folder, name = os.path.split(path)
    bare = name.lstrip(".")
    dots = name[: len(name) - len(bare)]
    key, _, suffix = bare.partition(".")
    return os.path.join(folder, dots + key), suffix


def samples(chunk):
    """Yields (key, {suffix: bytes}) for every sample of a chunk."""
    with tarfile.open(chunk, "r:", errors="surrogateescape") as tar:
        grouped = itertools.groupby(tar, lambda m: key_and_suffix(m.name)[0])
        for key, members in grouped:
            sample = {}
            for m in members:  # of two with one suffix the first one counts
                content = tar.extractfile(m).read()
                sample.setdefault(key_and_suffix(m.name)[1], content)
            yield key, sample


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" is no error
    sys.stdout.reconfigure(errors="surrogateescape")
    for chunk in sorted(glob.glob(os.path.join(sys.argv[1], "chunk-*.tar"))):
        for key, members in samples(chunk):
            sizes = (f"{s or '-'}={len(b)}" for s, b in members.items())
            print(key, *sizes, sep="\t")


if __name__ == "__main__":
    main()
