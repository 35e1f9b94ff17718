# SPDX-License-Identifier: Apache-2.0
"""What a snapshot answers, beside stat, SQLite, LMDB, an array and a hash."""
import os
import random
import statistics
import subprocess

import create
from measure import DIR, ROUNDS, SCALE, TOOLS, dataset, note, ratio_row
from measure import remove, results, shell

KEYS = max(1000, int(2000000 * SCALE))
PROCESSES = 8
WANTED = {
    "one at a time": 3.0,
    "in batches": 8.0,
    "readdir": 20.0,
}
WANTED_LARGE = {"one at a time": 1.2, "in batches": 4.0}
WANTED_TWO = 1.9
WANTED_OPEN = 1000  # microseconds
WANTED_BYTES = 64  # an entry, names apart
PEERS = {
    "stat": "peer_stat",
    "SQLite": "with_sqlite3",
    "LMDB": "with_lmdb",
    "sorted array": "peer_array",
    "hash of paths": "peer_hash",
}


def program(name):
    return os.path.join(TOOLS, name)


def asked(*command):
    """The lines "NUMBER what" that a program prints."""
    out = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout
    lines = (line.partition(" ") for line in out.splitlines())
    return {what: float(number) for number, _, what in lines}


class Keys:
    """Files of paths to look for, each another choice."""

    def __init__(self, choose):
        self.choose = choose
        self.made = []

    def new(self, absent=False):
        rng = random.Random(len(self.made) + 1)
        path = os.path.join(DIR, f"keys.{len(self.made)}")
        keys = self.choose(rng)
        if absent:
            keys = [key[:-1] + b"?" for key in keys]
        with open(path, "wb") as f:
            f.write(b"\0".join(keys) + b"\0")
        self.made.append(path)
        return path

    def drop(self):
        while len(self.made) > 1:
            remove(self.made.pop())


class Rates:
    """Numbers of all rounds, by what they count."""

    def __init__(self, title):
        self.values = {}
        print(f"\n{title}, medians of {ROUNDS}", flush=True)

    def add(self, what, value):
        self.values.setdefault(what, []).append(value)
        results["runs"].append({"what": what, "value": value})

    def median(self, what):
        return statistics.median(self.values[what])

    def show(self, what, unit):
        v = self.values[what]
        print(
            f"  {what:28}{statistics.median(v):10.3f} {unit}"
            f"  ({min(v):.3f}-{max(v):.3f})"
        )


def evict(path):
    """Out of the page cache, as for whoever comes next."""
    shell(f"sync {path}")
    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def list_paths(tree):
    """All paths below the tree but its own, in the order of their bytes."""
    path = tree + ".paths"
    shell(
        f"find {tree} -mindepth 1 -printf '%P\\0' | LC_ALL=C sort -z > {path}"
    )
    with open(path, "rb") as f:
        return path, f.read().split(b"\0")[:-1]


def build_peers(tree, path_list):
    """Where each of those that are there looks."""
    places = {}
    for name, prog in PEERS.items():
        if not os.path.exists(program(prog)):
            note(f"no {prog}: {name} is left out")
            continue
        where = tree if name == "stat" else os.path.join(DIR, prog)
        if name != "stat":
            remove(where)
        seconds = asked(program(prog), "build", where, path_list)
        places[name] = where
        results["runs"].append({"what": f"build {name}", **seconds})
    return places


def run_round(rates, snap, keys, places):
    bench = program("bench_snapshot")
    warm = keys.made[0]
    for what, how in (
        ("one at a time", "single"),
        ("in batches", "many"),
        ("absent, one at a time", "absent"),
    ):
        key_file = keys.new(absent=how == "absent")
        rate = asked(bench, how, snap, warm, key_file)["found a second"]
        rates.add(what, rate / 1e6)
        if how == "single":
            for name, where in places.items():
                out = asked(program(PEERS[name]), "find", where, warm, key_file)
                rates.add(name, out["found a second"] / 1e6)
    two = asked(bench, "two", snap, warm, keys.new(), keys.new())
    for what, value in two.items():
        rates.add(what, value)
    out = asked(bench, "readdir", snap)
    rates.add("readdir", out["entries a second"] / 1e6)
    keys.drop()


def bench_rates(title, snap, keys, places, wanted):
    rates = Rates(title)
    keys.new()
    for path in (snap, *places.values()):
        if os.path.isfile(path):
            evict(path)
    for rnd in range(ROUNDS):
        note(f"{title}: round {rnd + 1}")
        run_round(rates, snap, keys, places)
    for what in rates.values:
        rates.show(what, "" if what.startswith("times") else "M/s")
    for what, least in wanted.items():
        ratio_row(f"{title}: {what}, M/s", rates.median(what), least, True)
    ratio_row(
        f"{title}: two threads, times one",
        rates.median("times as fast, two threads"),
        WANTED_TWO,
        True,
    )
    for name in places:
        ratio = rates.median("one at a time") / rates.median(name)
        print(f"  one at a time: {ratio:.2f} times as fast as {name}")


def bench_open(snap):
    values = [
        asked(program("bench_snapshot"), "open", snap) for _ in range(ROUNDS)
    ]
    entries = int(values[0]["entries"])
    ratio_row(
        f"open and close, {entries} entries, microseconds",
        statistics.median(v["microseconds"] for v in values),
        WANTED_OPEN,
        False,
    )
    return entries, values[0]["bytes"]


def bytes_an_entry(snap, places, paths):
    entries, size = bench_open(snap)
    names = sum(len(p) - p.rfind(b"/") for p in paths)
    print("\nbytes an entry")
    print(f"  {'snapshot':18}{size / entries:8.1f}")
    for name, where in places.items():
        if os.path.isfile(where):
            used = os.stat(where).st_blocks * 512
            print(f"  {name:18}{used / entries:8.1f}  (16 of attributes)")
    ratio_row(
        "snapshot: bytes an entry without names",
        (size - names) / entries,
        WANTED_BYTES,
        False,
    )


def rollup(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        lines = (line.split() for line in f)
        return {v[0]: int(v[1]) / 1024 for v in lines if v[-1] == "kB"}


def memory_of_many(snap, warm):
    """RSS and PSS of processes that touched all of it, summed up."""
    command = [program("bench_snapshot"), "hold", snap, warm]
    children = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(PROCESSES)
    ]
    for c in children:
        c.stdout.readline()
    sizes = [rollup(c.pid) for c in children]
    for c in children:
        c.communicate()
    return sum(s["Rss:"] for s in sizes), sum(s["Pss:"] for s in sizes)


def bench_memory(snap, few, warm, warm_few):
    """What the file takes: more than a small one, by the same programs."""
    rss, pss = memory_of_many(snap, warm)
    _, base = memory_of_many(few, warm_few)
    size = os.path.getsize(snap) / 2**20
    print(f"\nmemory of {PROCESSES} processes that touched all of it, MiB")
    print(f"  file {size:.1f}, resident {rss:.1f}, PSS {pss:.1f}")
    print(f"  the same with a small snapshot: PSS {base:.1f}")
    ratio_row(
        "PSS of all of them, less that, times the file",
        (pss - base) / size,
        1.1,
        False,
    )


def bench_metadata():
    tree = dataset("million")
    snap = os.path.join(DIR, "million.snapshot")
    shell(create.COMMANDS[create.OURS].format(tree=tree, out=snap))
    path_list, paths = list_paths(tree)
    places = build_peers(tree, path_list)
    shell(f"{TOOLS}/walkall 16 {tree} > /dev/null")
    keys = Keys(lambda rng: rng.choices(paths, k=KEYS))
    bench_rates(f"{len(paths)} paths", snap, keys, places, WANTED)
    bytes_an_entry(snap, places, paths)
    few = os.path.join(DIR, "few.snapshot")
    shell(f"{TOOLS}/gen_snapshot {few} 10 100 > /dev/null")
    bench_open(few)
    with open(few + ".keys", "wb") as f:
        f.write(b"class00000\0")
    bench_memory(snap, few, keys.made[0], few + ".keys")
    for path in (*keys.made, few, few + ".keys", path_list):
        remove(path)
    if os.environ.get("LARGE"):
        bench_large()


def bench_large():
    """A hundred million entries that never were: size and lookups only."""
    folders, files = max(1, int(100000 * SCALE)), 1000
    snap = os.path.join(DIR, f"large-{SCALE:g}.snapshot")
    if not os.path.exists(snap):
        note(f"making {snap}")
        shell(f"{TOOLS}/gen_snapshot {snap} {folders} {files}")

    def choose(rng):
        some = rng.choices(range(folders * files), k=KEYS)
        return [b"class%05d/%08d.JPEG" % divmod(i, files) for i in some]

    keys = Keys(choose)
    bench_rates(f"{folders * files} paths", snap, keys, {}, WANTED_LARGE)
    entries, size = bench_open(snap)
    print(f"  {size / entries:.1f} bytes an entry, 14 of them its name")
    remove(keys.made[0])


BENCHES = {"metadata": bench_metadata}
