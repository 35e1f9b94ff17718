#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Portable names, by the rules of hpdsl-format(5) alone.

usage: portable_names.py key | last | none    paths on stdin, each with a NUL byte
       behind it: a line of path, tab, name for each, sorted as lines
       portable_names.py tree DIR N    N files with all sorts of names
"""
import os
import random
import re
import sys

from read_dataset import key_of, key_of_last, xxh3_64

ROOM = 100


def mark(data, counter):
    if counter:
        data += b"\0%d" % counter
    return b"-%08x" % (xxh3_64(data) & 0xFFFFFFFF)


def cut_of(paths):
    """Rule 1: where the names of a sample are cut."""
    end = len(key_of(paths[0]))
    while True:
        dots = [path.find(b".", end + 1) for path in paths]
        if min(dots) < 0 or len({path[:dot]
                                 for path, dot in zip(paths, dots)}) > 1:
            return end
        if any(dot > len(key_of_last(path))
               for path, dot in zip(paths, dots)):
            return end
        end = dots[0]


def plain_suffix(path, cut):
    """Rule 2."""
    raw = path[cut + 1:]
    name = re.sub(rb"[^a-z0-9_+.-]", b"_", raw.lower())
    name = re.sub(rb"^__", b"x__", name) or b"bin"
    return name, name == raw


def suffixes_of(paths, cut):
    """Rule 3."""
    plain = [plain_suffix(path, cut) for path in paths]
    taken, found = set(), [None] * len(paths)

    def take(i, name):
        if len(name) <= 20 and name not in taken:
            taken.add(name)
            found[i] = name
        return found[i] is not None

    for i, (name, same) in enumerate(plain):
        if same:
            take(i, name)
    for i, (name, _) in enumerate(plain):
        counter = 0
        if found[i] is None and not take(i, name):
            while not take(i, name[:11] + mark(paths[i], counter)):
                counter += 1
    return found


def plain_key(raw):
    """Rule 4."""
    name = re.sub(rb"[^A-Za-z0-9/_+-]", b"_", raw)
    return re.sub(rb"(^|/)__", rb"\1x__", name)


def names_of(samples, group):
    """Rule 5: a list of names for each sample, of the list in its order."""
    taken, result = set(), [None] * len(samples)
    work = []
    for paths in samples:
        cut = len(key_of_last(paths[0])) if group == "last" else cut_of(paths)
        suffixes = suffixes_of(paths, cut)
        room = ROOM - 1 - max([3] + [len(s) for s in suffixes])
        work.append((paths[0][:cut], suffixes, room))

    def take(i, key):
        _, suffixes, room = work[i]
        if len(key) > room or key in taken:
            return False
        taken.add(key)
        result[i] = key, [key + b"." + s for s in suffixes]
        return True

    for i, (raw, _, _) in enumerate(work):
        if plain_key(raw) == raw:
            take(i, raw)
    for i, (raw, _, room) in enumerate(work):
        key, counter = plain_key(raw), 0
        if result[i] or take(i, key):
            continue
        hashed = samples[i][0] if group == "none" else \
            (key_of_last if group == "last" else key_of)(samples[i][0])
        while not take(i, key[:room - 9] + mark(hashed, counter)):
            counter += 1
    return result


def make_tree(top, n):
    draw = random.Random(7)
    parts = [b"a", b"A", b"b", b"1", b".", b".", b"_", b" ", b"-", b"\xc3\xa9",
             b"\xff", b"jpg", b".x", b"\n", b"longlong", b"__", b"bin"]
    folders = [b"d", b"D.x/y", b"__e", b"f" * 70 + b"/" + b"g" * 40]
    for _ in range(n):
        folder = os.path.join(os.fsencode(top), draw.choice(folders))
        name = b"".join(draw.choice(parts)
                        for _ in range(draw.randrange(1, 7)))
        os.makedirs(folder, exist_ok=True)
        if name not in (b".", b".."):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(name)


def print_names(group):
    paths = sys.stdin.buffer.read().split(b"\0")[:-1]
    key = key_of_last if group == "last" else key_of
    paths.sort(key=lambda path: (key(path), path))
    samples = []
    for path in paths:
        if group != "none" and samples and key(samples[-1][0]) == key(path):
            samples[-1].append(path)
        else:
            samples.append([path])
    lines = []
    for sample, (_, names) in zip(samples,
                                  names_of(samples, group)):
        lines += [path + b"\t" + name for path, name in zip(sample, names)]
    lines = [line.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
             for line in lines]
    sys.stdout.buffer.write(b"".join(line + b"\n" for line in sorted(lines)))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        make_tree(sys.argv[2], int(sys.argv[3]))
    else:
        print_names(sys.argv[1])
