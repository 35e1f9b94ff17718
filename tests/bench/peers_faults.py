# SPDX-License-Identifier: Apache-2.0
"""Readers on hosts whose servers are not there, hang, are killed or cut off."""
import os
import time

from measure import BUILD, DIR, remove
from peers_bed import D1, HERE, IN, TWO, result, rounds, row, slowest
from read import PYTHON

LITTLE = "--memory=16M"
STEP = 0.064  # of a rank that computes, with 4 samples a step
APART = 2.0  # seconds of computing between two stalls that are not one


def time_of(reader):
    return result(reader)["seconds"]


# ---- Readers without servers, or with ones that hang ------------------------


def no_server(b):
    """In a directory that no server was ever up for; the same against the same
    shows what of that is noise."""
    same, none = [], []
    for _ in rounds("no server"):
        off = [time_of(b.rank(1, IN, D1, peers=False)) for _ in range(2)]
        none.append(time_of(b.rank(1, IN, D1)) / off[0])
        same.append(off[1] / off[0])
    noise = f"off against off {min(same):.3f}-{max(same):.3f}"
    row(14, "a reader without a server, of HPDSL_PEERS=off", none, 1.05, noise)


def hung_servers(b):
    """All had answered before: for those that nobody has heard of yet there is
    a time of its own.  What one alone held is adopted, at the origin's rate."""
    kinds = {
        "one hangs, two copies": (TWO, [2], 1.0),
        "one hangs, one copy": (IN, [2], None),
        "all others hang": (IN, [2, 3, 4], 1.0),
        "the reader's own hangs": (IN, [1], 1.0),
    }
    more = {k: [] for k in kinds}
    for _ in rounds("servers that hang"):
        off = {name: time_of(b.rank(1, name, D1, peers=False))
               for name in (IN, TWO)}
        for kind, (name, hosts, _) in kinds.items():
            b.new_servers(name)
            time_of(b.rank(1, name, D1))
            for host in hosts:
                b.signal(host, name, "STOP")
            more[kind].append(time_of(b.rank(1, name, D1)) - off[name])
            b.end_servers(name)
    for kind, (name, _, most) in kinds.items():
        row(14, f"{kind}: seconds more than off", more[kind], most,
            f"off {off[name]:.2f} s")


# ---- Faults in the middle of an epoch ---------------------------------------


def python_rank(b, host, *more):
    env = [f"PYTHONPATH={HERE}/../../lib/python", f"BUILD={BUILD}"]
    return b.begin(
        host, "env", *env, PYTHON, f"{HERE}/peers_reader.py", b.path(IN),
        str(STEP), "batch_size=4", f"ranks={len(b.hosts)}", f"rank={host - 1}",
        *more
    )


def steady(b, *more, fault=None):
    """An epoch of ranks that compute; after a quarter of it, the fault."""
    mark = f"{DIR}/mark"
    remove(mark)
    readers = [
        python_rank(b, host, *more, *([f"mark={mark}"] if host == 1 else []))
        for host in b.hosts
    ]
    if fault:
        while not os.path.exists(mark) and readers[0].poll() is None:
            time.sleep(0.01)
        fault()
    return [result(r) for r in readers]


def times_stalled(said):
    """Steps one soon after the other that waited: once."""
    last, n = -APART, 0
    for at, _ in said["stalls"]:
        n += at - last >= APART
        last = at
    return n


def faults(b):
    """Host 3 is the one that is lost; what its own reader has is told beside."""
    kinds = {
        "kill -9 of a server": (lambda: b.signal(3, IN, "KILL"), 1.0),
        "its link cut": (lambda: b.link(3, "down"), 1.0),
        "SIGSTOP of it": (lambda: b.signal(3, IN, "STOP"), 1.0),
    }
    stall, often, ratio, own, origin = ({k: [] for k in kinds}
                                        for _ in range(5))
    b.new_servers(IN)
    for _ in rounds("faults"):
        quiet = steady(b, "parts=1", "memory=16")
        for kind, (fault, _) in kinds.items():
            before = b.stats()["chunk_bytes"]
            said = steady(b, "parts=1", "memory=16", fault=fault)
            b.link(3, "up")
            if [r["digest"] for r in said] != [r["digest"] for r in quiet]:
                raise SystemExit(f"bench: {kind}: other samples came")
            others = said[:2] + said[3:]
            stall[kind].append(slowest(others, "longest"))
            often[kind].append(max(map(times_stalled, others)))
            ratio[kind].append(slowest(others) / slowest(quiet))
            own[kind].append(said[2]["longest"])
            origin[kind].append(b.chunk_bytes() - before)
            b.new_servers(IN)
    for kind, (_, most) in kinds.items():
        row(9, f"{kind}: longest wait of a step, s", stall[kind], most,
            f"quiet {slowest(quiet, 'longest'):.2f} s; the lost host's"
            f" own {max(own[kind]):.2f} s; 16 MiB ahead")
        row(9, f"{kind}: times that a rank stalled", often[kind], 1,
            f"a step computes {STEP} s")
        row(9, f"{kind}: the epoch, of a quiet one", ratio[kind], 1.15,
            f"quiet {slowest(quiet):.1f} s; the origin gave"
            f" {max(origin[kind]) / 1e6:.0f} MB")


def lost_bytes(b, size):
    """Of a server that is gone when the epoch begins."""
    first, after = [], []
    for _ in rounds("a node is lost"):
        b.new_servers(IN)
        b.epoch(IN, D1, LITTLE)
        b.signal(3, IN, "KILL")
        before = b.chunk_bytes()
        b.epoch(IN, D1, LITTLE)
        lost = b.chunk_bytes()
        b.epoch(IN, D1, LITTLE, "--epoch=1")
        first.append((lost - before) / (size / len(b.hosts)))
        after.append(b.chunk_bytes() - lost)
    row(10, "origin bytes of the epoch, of S/N", first, 1.05, "its counter")
    row(10, "origin bytes of the epoch after it", after, 0, "its counter")
