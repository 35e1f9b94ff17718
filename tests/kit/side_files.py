#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""side_files.py DATASET: the index files of other readers, as these would read
them, against the chunks as Python's tarfile reads them.  Prints which files
were there; says what differs, exit status 1 then."""

import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile

KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")  # WebDataset's, Energon's
top = sys.argv[1]


def check(what, got, want):
    if got != want:
        print("%s:\n  there is %r\n  wanted   %r" % (what, got, want))
        sys.exit(1)


def plain(path):
    """The plain tar's bytes."""
    if os.path.exists(path):
        with open(path, "rb") as f:
            return f.read()
    return subprocess.run(["zstd", "-dcq", path + ".zst"], check=True,
                          stdout=subprocess.PIPE).stdout


def samples(tar):
    """Adjacent members of one key: lists of tarfile's members; where the
    archive ends."""
    out = []
    for m in tar:
        if m.isreg():
            key = KEY.match(m.name)
            key = key and key.group(1)
            if not out or key is None or out[-1][0] != key:
                out.append((key, []))
            out[-1][1].append(m)
    return [s for _, s in out], tar.offset


def first_dot(name):
    base = name.rfind("/") + 1
    while name[base:base + 1] == ".":
        base += 1
    return name[name.index(".", base) + 1:]


def dali(name, found):
    with open(os.path.join(top, name), encoding="utf-8",
              errors="surrogateescape", newline="\n") as f:
        head, *lines = f.read().split("\n")
    check(name + ": its end", lines.pop(), "")
    version, count = head.split(" ")
    blanks = any(c in m.name for s in found for m in s for c in " \t\n\v\f\r")
    check(name + ": version", version, "v1.1" if blanks else "v1.2")
    if len(found) != int(count):  # samples of one key, with --group=none
        found = [[m] for s in found for m in s]
    check(name + ": samples", (int(count), len(lines)), (len(found),) * 2)
    for line, sample in zip(lines, found):
        want = []
        for m in sample:
            want += [first_dot(m.name), str(m.offset_data), str(m.size)]
            want += [] if blanks else [m.name]
        check(name, line.split(" "), want)


def energon(name, found, end):
    with open(os.path.join(top, name), "rb") as f:
        data = f.read()
    check(name, list(struct.unpack("<%dQ" % (len(data) // 8), data)),
          [s[0].offset for s in found] + [end])


def energon_meta(counts):
    meta = os.path.join(top, ".nv-meta")
    with open(os.path.join(meta, ".info.json"), encoding="ascii") as f:
        check(".info.json", json.load(f), {"shard_counts": counts})
    with open(os.path.join(meta, "split.yaml"), encoding="ascii") as f:
        check("split.yaml", f.read().split("\n"),
              ["exclude: []", "split_parts:", "  train:"] +
              ["  - " + name for name in counts] + [""])
    check("order of the chunks", list(counts), sorted(counts))


def wids(counts, sizes):
    with open(os.path.join(top, "shards.json"), encoding="ascii") as f:
        index = json.load(f)
    check("__kind__", index["__kind__"], "wids-shard-index-v1")
    check("wids_version", index["wids_version"], 1)
    check("shardlist", index["shardlist"],
          [{"url": n, "nsamples": counts[n], "filesize": sizes[n]}
           for n in counts])


def main():
    there = set(os.listdir(top))
    counts, sizes, seen = {}, {}, set()
    for chunk in sorted(n for n in there if re.match(r"chunk-\d+\.tar(\.zst)?$", n)):
        chunk = chunk.removesuffix(".zst")
        data = plain(os.path.join(top, chunk))
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:",
                          encoding="utf-8", errors="surrogateescape") as tar:
            found, end = samples(tar)
        check(chunk + ": the end", data[end:], bytes(len(data) - end))
        counts[chunk], sizes[chunk] = len(found), len(data)
        if chunk[:-4] + ".idx" in there:
            dali(chunk[:-4] + ".idx", found)
            seen.add("dali")
        if chunk + ".idx" in there:
            energon(chunk + ".idx", found, end)
            seen.add("energon")
    if ".nv-meta" in there:
        energon_meta(counts)
    if "shards.json" in there:
        wids(counts, sizes)
        seen.add("wids")
    print(*sorted(seen))


main()
