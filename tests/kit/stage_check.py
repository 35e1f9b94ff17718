#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds stage directories against the dataset and against what the pages say
of plans; written from hpdsl-format(5) and hpdsl-stage(1) alone.

usage: stage_check.py placed DATASET MODE CAPACITIES DIR..   all is as planned
       stage_check.py sound DATASET DIR..     what has its name is as it should
                                              be, and nothing else is there
       stage_check.py missing DATASET DIR..   bytes of chunks that no DIR has
       stage_check.py report FILE DATASET DIR..  an account of a fresh start
       stage_check.py named DATASET DIR..     the same after a kill: temporary
                                              files may be left
       stage_check.py reads DATASET TRACE..   what strace saw of a dataset

CAPACITIES are numbers, or -, with blanks between them.  MODE is hpdsl-stage's,
or parts=D for auto and an order of D parts.  --keep-compressed as the first word
is hpdsl-stage's.
"""
import json
import os
import re
import stat
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from order_model import (Order, Set, fill, first_use,  # noqa: E402
                         lists_of)
from read_dataset import xxh3_64, xxh3_128  # noqa: E402

ABSENT, COMING, READY, EXPANDED = range(4)
KEEP = False


def need(condition, text):
    if not condition:
        sys.exit(f"stage_check: {text}")


# ---- The dataset ----------------------------------------------------------


class Chunk:
    def __init__(self, n, row):
        name, size, samples, digest, plain, plain_digest = row
        self.n, self.samples = n, int(samples)
        self.name = name.strip("'")
        self.bytes, self.digest = int(size), digest
        self.compressed = plain != ""
        self.plain = int(plain or size)
        self.plain_digest = plain_digest or digest
        stored = self.name if "/" not in self.name else f"chunk-{n:06}.tar"
        self.forms = {stored: (self.bytes, self.digest, READY)}
        self.local = stored
        if self.compressed:
            expanded = stored.removesuffix(".zst")
            self.forms[expanded] = (self.plain, self.plain_digest, EXPANDED)
            if not KEEP:
                self.local = expanded
        self.size = self.weight = self.forms[self.local][0]  # side files come


def load(dataset):
    with open(os.path.join(dataset, "dataset.yaml"), encoding="utf-8") as f:
        text = f.read()
    rows = re.findall(r"^- {name: ([^,]+), bytes: (\d+), samples: (\d+), "
                      r"xxh3_128: '?([0-9a-f]{32})'?(?:, plain_bytes: (\d+), "
                      r"plain_xxh3_128: '?([0-9a-f]{32})'?)?", text, re.M)
    need(rows, f"{dataset}: no chunks in the manifest")
    chunks = [Chunk(n, row) for n, row in enumerate(rows)]
    for size, _, n in side_files(dataset, chunks).values():
        if n is not None:
            chunks[n].weight += size
    return chunks


# ---- A stage directory ----------------------------------------------------


class State:
    def __init__(self, directory):
        with open(os.path.join(directory, "stage.hpdsl"), "rb") as f:
            d = f.read()
        need(d[:8] == b"\x89HPDSLT\n", f"{directory}: magic")
        (self.version, flags, self.pack, self.boot, chunks, self.generation,
         self.started, _, self.pid, self.node, self.nodes, self.parts,
         self.part) = struct.unpack_from("<II16s16sQQqQIIIII", d, 8)
        need(self.version == 1 and flags == 0, f"{directory}: version")
        need(xxh3_64(d[:4608]) == struct.unpack_from("<Q", d, 4608)[0],
             f"{directory}: checksum of the state")
        need(len(d) == 4736 + chunks, f"{directory}: size of the state")
        self.beat, self.end = struct.unpack_from("<QI", d, 4672)
        self.chunks = d[4736:]


def files(directory):
    return sorted(os.listdir(directory))


# ---- Side files -----------------------------------------------------------

WHOLE = ("shards.json", ".nv-meta/.info.json", ".nv-meta/split.yaml",
         ".nv-meta/dataset.yaml", "SHA256SUMS")


def side_files(dataset, chunks):
    """{name: (bytes, digest, number of the chunk or None)} that go along."""
    with open(os.path.join(dataset, "dataset.yaml"), encoding="utf-8") as f:
        _, _, text = f.read().partition("\nfiles:\n")
    found = {}
    for name, size, digest in re.findall(
            r"^- {name: ([^,]+), bytes: (\d+), xxh3_128: '?([0-9a-f]{32})'?",
            text, re.M):
        name = name.strip("'")
        of = re.fullmatch(r"chunk-(\d{6})(?:\.tar)?\.idx", name)
        if of and int(of[1]) < len(chunks):
            found[name] = (int(size), digest, int(of[1]))
        elif name in WHOLE:
            if name != "SHA256SUMS" or all(c.local == c.name for c in chunks):
                found[name] = (int(size), digest, None)
    return found


def check_sides(dataset, directory, chunks, held, mode, whole=False):
    """mode: those of the chunks held are here, with those of the whole, and no
    others ("all"), or what is here is as it should be ("some")."""
    for name, (size, digest, n) in side_files(dataset, chunks).items():
        path = os.path.join(directory, name)
        wanted = n in held if n is not None else whole
        if not os.path.lexists(path):
            need(mode == "some" or not wanted, f"{path}: is missing")
            continue
        need(mode == "some" or wanted, f"{path}: was not to be here")
        need(stat.S_ISREG(os.lstat(path).st_mode), f"{path}: no file")
        with open(path, "rb") as f:
            data = f.read()
        need(len(data) == size and xxh3_128(data).hex() == digest,
             f"{path}: has its name and does not verify")


def chunk_files(chunks, directory):
    """{number: file's name}; each of them sound."""
    found = {}
    for c in chunks:
        for name, (size, digest, _) in c.forms.items():
            path = os.path.join(directory, name)
            if not os.path.lexists(path):
                continue
            need(stat.S_ISREG(os.lstat(path).st_mode), f"{path}: no file")
            with open(path, "rb") as f:
                data = f.read()
            need(len(data) == size and xxh3_128(data).hex() == digest,
                 f"{path}: has its name and does not verify")
            need(c.n not in found, f"{path}: twice")
            found[c.n] = name
    return found


def sound(dataset, directory, parts_left=False):
    """What is here; that, the state and nothing else."""
    chunks = load(dataset)
    found = chunk_files(chunks, directory)
    mode = os.stat(directory).st_mode & 0o7777
    need(mode == 0o700, f"{directory}: mode {mode:o}")
    known = set(found.values()) | {"dataset.yaml", "index.hpdsl",
                                   "stage.hpdsl", ".stage.lock", "peers.hpdsl"}
    sides = side_files(dataset, chunks)
    known |= {name.partition("/")[0] for name in sides}
    check_sides(dataset, directory, chunks, found, "some")
    folder = os.path.join(directory, ".nv-meta")
    for name in files(folder) if os.path.isdir(folder) else ():
        need(f".nv-meta/{name}" in sides or parts_left and
             name.endswith(".part"), f"{folder}: {name} is left there")
    for name in files(directory):
        left = parts_left and name.startswith(".")
        need(name in known or left, f"{directory}: {name} is left there")
    for name in ("dataset.yaml", "index.hpdsl"):
        if not os.path.exists(os.path.join(directory, name)):
            need(parts_left, f"{directory}: no {name}")
            continue
        with open(os.path.join(dataset, name), "rb") as a, \
                open(os.path.join(directory, name), "rb") as b:
            need(a.read() == b.read(), f"{directory}: {name} differs")
    return chunks, found


# ---- Plans ----------------------------------------------------------------


def parts_of(mode, chunks, capacities, whole):
    nodes = len(capacities)
    if mode == "replicate":
        return 1
    if mode == "partition":
        return nodes
    if mode.startswith("copies="):
        return max(1, nodes // int(mode[7:]))
    tried = list(range(1, nodes + 1))
    if mode.startswith("parts="):
        tried.insert(1, int(mode[6:]))
    for parts in tried:
        if all(sum(c.weight for c in chunks
                   if c.n % parts in parts_at(n, nodes, parts)) +
               (whole if parts == 1 else 0) <= room
               for n, room in enumerate(capacities)):
            return parts
    return nodes


def parts_at(node, nodes, parts):
    """Nodes hold parts in blocks."""
    return range(node * parts // nodes, -(-(node + 1) * parts // nodes))


def order_of_use(chunks, nodes, parts):
    """By the defaults of a job with a rank a node, of batches of 64."""
    samples = [c.samples for c in chunks]
    of = Set(sum(samples), sum(c.plain for c in chunks), len(chunks), True,
             64, nodes, 1)
    return first_use(Order(0, 0, *fill(of), parts), lists_of(samples),
                     len(chunks), 0)


def planned(mode, chunks, capacities, whole):
    """whole: bytes of side files of the whole dataset."""
    parts = parts_of(mode, chunks, capacities, whole)
    out = []
    for n, room in enumerate(capacities):
        held = parts_at(n, len(capacities), parts)
        mine = {c.n for c in chunks if c.n % parts in held}
        room -= whole if parts == 1 else 0
        if sum(chunks[c].weight for c in mine) > room:
            order = [c for c in order_of_use(chunks, len(capacities), parts)
                     if c in mine]
            mine = set()
            for c in order:
                if chunks[c].weight > room:
                    break
                room -= chunks[c].weight
                mine.add(c)
        out.append(mine)
    return parts, out


def placed(dataset, mode, capacities, *directories):
    capacities = [float("inf") if c == "-" else int(c)
                  for c in capacities.split()]
    need(len(capacities) == len(directories), "as many capacities as nodes")
    chunks = load(dataset)
    whole = sum(size for size, _, n in side_files(dataset, chunks).values()
                if n is None)
    parts, want = planned(mode, chunks, capacities, whole)
    for n, directory in enumerate(directories):
        chunks, found = sound(dataset, directory)
        need(set(found) == want[n],
             f"{directory}: has {sorted(found)}, planned {sorted(want[n])}")
        for c, name in found.items():
            need(name == chunks[c].local, f"{directory}: {name}: its form")
        check_sides(dataset, directory, chunks, found, "all",
                    parts == 1 and len(found) == len(chunks))
        s = State(directory)
        need((s.node, s.nodes, s.parts, s.part, s.end) ==
             (n, len(directories), parts,
              parts_at(n, len(directories), parts)[0], 1),
             f"{directory}: {vars(s)}")
        for c in chunks:
            is_ = c.forms[found[c.n]][2] if c.n in found else ABSENT
            need(s.chunks[c.n] == is_, f"{directory}: state of {c.name}")


# ---- Accounts -------------------------------------------------------------


def report(path, dataset, *directories):
    with open(path, encoding="utf-8") as f:
        r = json.load(f)
    need(r["status"] == "complete", f"status {r['status']}")
    need(len(r["nodes"]) == len(directories), "nodes of the report")
    origin, everywhere = 0, {}
    for n, directory in enumerate(directories):
        row = r["nodes"][n]
        chunks, found = sound(dataset, directory)
        need(row["node"] == n and row["host"], f"node {n}: {row}")
        need(row["chunks"] == len(found), f"node {n}: chunks {row}")
        stored = sum(chunks[c].bytes for c in found)
        need(row["origin_bytes"] + row["peer_bytes"] == stored,
             f"node {n}: {row}, {stored} stored bytes")
        need(row["retries"] == 0 and row["refetch_bytes"] == 0,
             f"node {n}: {row}")
        need(row["written_bytes"] >= sum(chunks[c].size for c in found),
             f"node {n}: {row}")
        origin += row["origin_bytes"]
        for c in found:
            everywhere.setdefault(c, []).append(n)
    need(origin == sum(chunks[c].bytes for c in everywhere),
         f"{origin} bytes from the origin")
    told = {}
    for row in r["chunks"]:
        need(row["ready_seconds"] >= 0, f"{row}")
        told.setdefault(row["name"], []).append(row["node"])
    for c, holders in everywhere.items():
        need(sorted(told.pop(chunks[c].name)) == holders,
             f"{chunks[c].name}: nodes of the report")
    need(not told, f"chunks of the report: {told}")


def missing(dataset, *directories):
    chunks = load(dataset)
    here = set()
    for directory in directories:
        if os.path.isdir(directory):
            here |= set(chunk_files(chunks, directory))
    print(sum(c.bytes for c in chunks if c.n not in here))


def reads(dataset, *traces):
    """Each byte of a chunk at most once, index and manifest once; no maps."""
    top = os.path.realpath(dataset) + "/"
    spans, once, bad = {}, {}, []
    for trace in traces:
        with open(trace, encoding="utf-8", errors="surrogateescape") as f:
            for line in f:
                if "unfinished" in line and top in line:
                    bad.append(line)
                made = re.search(r"(\w+)\((.*)\) += (\d+)", line)
                if not made or f"<{top}" not in line:
                    continue
                name = re.search("<" + re.escape(top) + "([^>]*)>", line)[1]
                call, args, n = made[1], made[2], int(made[3])
                if call == "pread64":
                    at = int(args.rsplit(", ", 1)[1])
                    spans.setdefault(name, []).append((at, at + n))
                    once[name] = once.get(name, 0) + n
                elif call == "read":
                    once[name] = once.get(name, 0) + n
                elif call in ("mmap", "preadv", "preadv2", "readv",
                              "sendfile", "copy_file_range"):
                    bad.append(line)
    need(not bad, f"not to be judged: {bad[:3]}")
    for name, ranges in spans.items():
        end = 0
        for a, b in sorted(ranges):
            need(a >= end or a == b, f"{name}: byte {a} was read twice")
            end = max(end, b)
    for c in load(dataset):
        need(once.pop(c.name, 0) == c.bytes, f"{c.name}: was not read once")
    for name in ("dataset.yaml", "index.hpdsl",
                 *side_files(dataset, load(dataset))):
        size = os.path.getsize(os.path.join(dataset, name))
        need(once.pop(name, 0) == size, f"{name}: was not read once")
    need(not once, f"other files were read: {once}")


def main(words):
    global KEEP
    if words and words[0] == "--keep-compressed":
        KEEP = True
        words = words[1:]
    if len(words) < 2:
        sys.exit(__doc__)
    command, words = words[0], words[1:]
    if command == "sound":
        for directory in words[1:]:
            sound(words[0], directory)
    elif command == "named":
        for directory in words[1:]:
            if os.path.isdir(directory):
                sound(words[0], directory, parts_left=True)
    else:
        {"placed": placed, "report": report, "missing": missing,
         "reads": reads}[command](*words)


if __name__ == "__main__":
    main(sys.argv[1:])
