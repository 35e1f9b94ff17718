#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages a dataset at random, over and over, and asks hpdsl-verify.

usage: damage.py flip|cut DATASET COUNT SEED

Each time one bit of one file is flipped, or one file is cut at a random place.
hpdsl-verify must say so, by exit status 1 and a line that begins with the
file's name; then the file is made whole again.  Half of the flips hit any bit
of all files alike, the others any file alike, so that small files get some.
"""
import os
import random
import subprocess
import sys


def flip(data, rng):
    at = rng.randrange(len(data) * 8)
    data[at // 8] ^= 1 << at % 8
    return f"bit {at % 8} of byte {at // 8} flipped"


def cut(data, rng):
    was = len(data)
    del data[rng.randrange(was) :]
    return f"cut from {was} to {len(data)} bytes"


def found(dataset, name):
    """What hpdsl-verify did wrong, or None."""
    done = subprocess.run(
        ["hpdsl-verify", "-q", dataset], capture_output=True, text=True
    )
    if done.returncode != 1:
        return f"exit status {done.returncode}, stderr: {done.stderr}"
    if not any(s.startswith(name + ": ") for s in done.stdout.splitlines()):
        return f"says: {done.stdout}{done.stderr}"
    return None


def main():
    how = {"flip": flip, "cut": cut}[sys.argv[1]]
    dataset, count = sys.argv[2], int(sys.argv[3])
    rng = random.Random(int(sys.argv[4]))
    files = {}
    for folder, _, names in os.walk(dataset):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, dataset)] = f.read()
    files = dict(sorted(files.items()))
    names = list(files)
    sizes = [len(b) for b in files.values()]
    missed = 0
    hit = dict.fromkeys(files, 0)
    for i in range(count):
        even = how is cut or i % 2
        name = rng.choices(names, None if even else sizes)[0]
        data = bytearray(files[name])
        what = how(data, rng)
        path = os.path.join(dataset, name)
        with open(path, "wb") as f:
            f.write(data)
        wrong = found(dataset, name)
        with open(path, "wb") as f:
            f.write(files[name])
        hit[name] += 1
        if wrong:
            missed += 1
            print(f"{name}: {what}: {wrong}")
    print(*(f"{name}: {n}" for name, n in hit.items()), sep=", ")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
