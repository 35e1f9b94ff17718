# SPDX-License-Identifier: Apache-2.0
"""Shuffled epochs beside the libraries that people use for them, each in the best of
its configurations: cold, warm, and with a fifth of the data as memory.

BENCH_LIBRARIES ("litdata,lmdb") limits the readers, which are all that the environment
has (make libraries); hpdsl.Loader is always there.  BENCH_PARTS limits what is measured
to some of images, small (epochs), tensors, copies, hand-over, decode, step (what is
promised), BENCH_STATES epochs to some of cold, warm, memory.  A run of over
BENCH_SECONDS (120) is ended.
"""
import json
import os
import statistics
import subprocess
import sys

import measure
from library_readers import READERS
from library_runs import LIBRARIES, PYTHON, Cgroup, Failed, begin, one_epoch
from measure import ROUNDS, SCALE, note, ratio_row, remove, results, shell
from measure import states, timed, touch_memory
from read import chunks_of

SETS = {"images": "A, 110 KB a sample", "small": "B, 3 KB a sample"}
PARTS = ("images", "small", "tensors", "copies", "hand-over", "decode", "step")
LEAST = 96 << 20  # bytes of memory that a library gets
DIRECT = 4  # dd at a time
OURS = "hpdsl.Loader"
JPEGS = 3000
MAKE_JPEGS = """
import os, random, sys
import numpy
from PIL import Image
out, n = sys.argv[1], int(sys.argv[2])
rng = numpy.random.default_rng(1)
for i in range(n):
    where = f"{out}/class{i % 10:02}"
    os.makedirs(where, exist_ok=True)
    small = Image.fromarray(rng.integers(0, 255, (90, 120, 3), "u1"))
    small.resize((480, 360)).save(f"{where}/{i:05}.jpg", quality=95)
"""


# ---- What is read


def make_jpegs(tree):
    subprocess.run([PYTHON, "-c", MAKE_JPEGS, tree, str(max(64, int(JPEGS * SCALE)))],
                   check=True)


measure.MAKERS["jpegs"] = make_jpegs


def in_form(tree, form):
    """Its path, and what making it took: kept beside it, as it is made once."""
    if form == "raw":
        return tree, None
    out = f"{tree}.{form}"
    if not os.path.exists(out + ".made"):
        note(f"making {out}")
        for path in (out, out + ".cache"):
            remove(path)
        before = os.times()
        if form == "hpdsl":
            shell(f"hpdsl-pack -q --emit=dali,energon {tree} {out}")
        else:
            path = os.path.join(LIBRARIES, f"form-{form}.log")
            with open(path, "wb") as log:
                status = begin("library_forms.py", form, tree, out, stdout=log,
                               stderr=log).wait()
            if status:
                raise Failed(f"no {form}: {path} says why")
        shell("sync")
        after = os.times()
        remove(out + ".cache")
        with open(out + ".made", "w", encoding="utf-8") as f:
            json.dump({"seconds": after.elapsed - before.elapsed,
                       "cpu": sum(after[2:4]) - sum(before[2:4])}, f)
    with open(out + ".made", encoding="utf-8") as f:
        return out, json.load(f)


def truth_of(tree):
    """Samples, their bytes, and the sum of what their last eight bytes are."""
    kept = tree + ".truth"
    if not os.path.exists(kept):
        said = {"samples": 0, "bytes": 0, "weight": 0}
        for where, _, names in os.walk(tree):
            for name in names:
                with open(os.path.join(where, name), "rb") as f:
                    content = f.read()
                said["samples"] += 1
                said["bytes"] += len(content)
                said["weight"] += int.from_bytes(content[-8:], "little")
        with open(kept, "w", encoding="utf-8") as f:
            json.dump(said, f)
    with open(kept, encoding="utf-8") as f:
        return json.load(f)


def fresh(state, place):
    """What is done while a reader waits."""
    shell("sync")
    if state != "warm":
        shell("echo 3 > /proc/sys/vm/drop_caches")
    touch_memory(int(min(1, SCALE) * (4 << 30)))
    if state == "warm":
        shell(f"find {place} -type f -print0 | xargs -0 cat > /dev/null")


# ---- Runs of several, in turn


class Runs:
    """All epochs of one comparison.  A contestant is a reader and its configuration;
    its key is what the table calls it."""

    def __init__(self, text, tree, state, cgroup=None, step=0):
        self.text, self.tree, self.state = text, tree, state
        self.cgroup, self.step, self.of, self.failed = cgroup, step, {}, {}
        self.truth = truth_of(tree)
        self.decoded = None

    def run(self, key, reader, configuration, weigh=False):
        """Notes an epoch, if every sample came once in it; else says why not."""
        try:
            place, _ = in_form(self.tree, READERS[reader][3])
            said = one_epoch(reader, place, configuration,
                             lambda: fresh(self.state, place), self.cgroup,
                             self.step, weigh)
            self.check(said, weigh, configuration)
        except Failed as error:
            note(f"{self.text}: {key}: {error}")
            self.of.pop(key, None)
            self.failed[key] = str(error)
            return None
        if not weigh:
            self.of.setdefault(key, []).append(said)
        results["runs"].append({"what": self.text, "tool": key, **said})
        return said["seconds"]

    def check(self, said, weigh, configuration):
        wanted = dict(self.truth)
        if configuration.get("decode") == "picture":
            # Of a picture only the sum of its pixels is known, by the first reader.
            wanted["bytes"] = said["bytes"]
            if weigh:
                self.decoded = self.decoded or said["weight"]
            wanted["weight"] = self.decoded
        for field, value in wanted.items():
            if (field != "weight" or weigh) and said[field] != value:
                raise Failed(f"{said[field]} {field} in place of {value}")

    def median(self, key, field="seconds"):
        return statistics.median(r[field] for r in self.of[key])

    def rounds(self, contestants, done=0):
        for rnd in range(done, ROUNDS):
            note(f"{self.text}: round {rnd + 1}")
            for key, (reader, configuration) in contestants.items():
                if not rnd or key in self.of:
                    self.run(key, reader, configuration)

    def show(self, base):
        size = self.truth["bytes"]
        print(f"\n{self.text}: {self.truth['samples']} samples, {size} bytes, "
              f"n={ROUNDS}")
        print(f"{'':32}{'median s':>9}{'spread':>14}{'CPU s':>8}{'first s':>8}"
              f"{'PSS MiB':>8}{'MB/s':>7}  times {base}")
        for key in sorted(self.of, key=self.median):
            seconds = [r["seconds"] for r in self.of[key]]
            s = statistics.median(seconds)
            spread = f"{min(seconds):.2f}-{max(seconds):.2f}"
            line = (f"{key:32}{s:9.2f}{spread:>14}{self.median(key, 'cpu'):8.2f}"
                    f"{self.median(key, 'first'):8.2f}"
                    f"{self.median(key, 'mib'):8.0f}{size / s / 1e6:7.0f}")
            if base in self.of:
                line += f"  {s / self.median(base):.2f}"
            print(line, flush=True)
        for key, why in self.failed.items():
            print(f"{key:32} {why}", flush=True)


def called(reader, configuration):
    return " ".join([reader, *(f"{k}={v}" for k, v in configuration.items())])


def best_of_each(runs, readers):
    """The first round, of all configurations; then it is each reader's fastest."""
    note(f"{runs.text}: round 1, all configurations")
    best = {}
    for reader in readers:
        took = {}
        for configuration in READERS[reader][4]:
            key = called(reader, configuration)
            seconds = runs.run(key, reader, configuration)
            if seconds:
                took[key] = (seconds, configuration)
        if took:
            key = min(took, key=took.get)
            best[key] = (reader, took[key][1])
            for other in set(took) - {key}:
                print(f"  {runs.text}: {other}: {took[other][0]:.2f} s, no more runs")
                del runs.of[other]
    return best


# ---- Epochs


def direct(out, text, size):
    """What the disk gives: parallel dd, past the page cache."""
    names = " ".join(chunks_of(out))
    took = []
    for _ in range(ROUNDS):
        fresh("cold", out)
        took.append(timed(f"printf '%s\\n' {names} | xargs -P{DIRECT} -I{{}} dd if={{}}"
                          " of=/dev/null bs=4M iflag=direct status=none")[0])
    s = statistics.median(took)
    print(f"  {text}: {DIRECT} dd iflag=direct of the chunks: {s:.2f} s, "
          f"{size / s / 1e6:.0f} MB/s")


def show_forms(tree, readers):
    print(f"\nconversion of {os.path.basename(tree)}, {truth_of(tree)['bytes']} bytes")
    for form in sorted({READERS[r][3] for r in readers} - {"raw"}):
        try:
            out, made = in_form(tree, form)
        except Failed as error:
            note(str(error))
            continue
        size = subprocess.run(["du", "-sb", out], check=True, capture_output=True,
                              text=True).stdout.split()[0]
        print(f"  {form:12}{made['seconds']:8.1f} s{made['cpu']:8.1f} CPU s"
              f"{int(size):14} bytes", flush=True)


def weighed(tree, readers):
    """Those that give each sample once, by their contents."""
    runs = Runs("every sample once", tree, "warm")
    return [r for r in readers if runs.run(r, r, READERS[r][4][0], weigh=True)]


def bench_epochs(name, readers):
    tree = measure.dataset(name)
    show_forms(tree, readers)
    readers = weighed(tree, readers)
    print(f"  every sample once: {', '.join(readers)}")
    size = truth_of(tree)["bytes"]
    wanted = os.environ.get("BENCH_STATES", "cold,warm,memory").split(",")
    for state in (*states(), "memory"):
        if state not in wanted:
            continue
        cgroup, text = None, f"{SETS[name]}, {state}"
        if state == "memory":
            limit = max(size // 5, LEAST)
            cgroup, text = Cgroup(limit), f"{SETS[name]}, {limit >> 20} MiB of memory"
            if not cgroup:
                continue
        runs = Runs(text, tree, state, cgroup)
        best = best_of_each(runs, readers)
        runs.rounds(best, 1)
        runs.show(OURS)
        if cgroup:
            cgroup.end()
        if state == "cold":
            direct(in_form(tree, "hpdsl")[0], text, size)


# ---- What is promised


def compared(name, text, contestants, state="warm", step=0):
    runs = Runs(f"{text}, {state}", measure.dataset(name), state, step=step)
    if "decode" in text:
        for key, (reader, configuration) in contestants.items():
            runs.run(key, reader, configuration, weigh=True)
    runs.rounds(contestants)
    if runs.of:
        runs.show(next(iter(runs.of)))
    return runs


def at_most(text, runs, keys, wanted, field="seconds"):
    """The first one's median, or its share of the fastest other's."""
    if any(key not in runs.of for key in keys):
        note(f"{text}: left out")
        return
    value, *others = (runs.median(key, field) for key in keys)
    ratio_row(text, value / min(others) if others else value, wanted, False)


def bench_tensors():
    runs = compared("small", "tensors of B", {
        "hpdsl.torch": ("hpdsl.torch", {}), OURS: (OURS, {})})
    at_most("hpdsl.torch.Loader, no workers, seconds", runs, ["hpdsl.torch"],
            0.7 * SCALE)


def bench_copies():
    runs = compared("images", "copies to bytes of A", {
        "hpdsl.Loader": (OURS, {"copy": True}),
        "hpdsl.Loader, views": (OURS, {}), "torch": ("torch", {})})
    at_most("copies to bytes, seconds", runs, [OURS], 0.8 * SCALE)
    at_most("copies to bytes, times torch's", runs, [OURS, "torch"], 1.0)


def bench_hand_over():
    runs = compared("images", "hand-over of bytes by 2 workers", {
        "hpdsl.torch": ("hpdsl.torch", {"decode": "bytes", "collate": "list",
                                        "workers": 2}),
        "torch": ("torch", {"workers": 2}), "litdata": ("litdata", {"workers": 2})})
    for other in ("torch", "litdata"):
        at_most(f"hand-over, times {other}'s", runs, ["hpdsl.torch", other], 1.0)
        at_most(f"hand-over, times {other}'s CPU seconds", runs,
                ["hpdsl.torch", other], 1.0, "cpu")


def bench_decode():
    how = {"decode": "picture", "workers": 2}
    runs = compared("jpegs", "JPEGs decoded by 2 workers", {
        "hpdsl.torch": ("hpdsl.torch", how), "torch": ("torch", how)})
    at_most("decoding, times DataLoader's", runs, ["hpdsl.torch", "torch"], 1.02)


def bench_step():
    runs = compared("images", "steps of 20 ms, A", {
        "default": (OURS, {}), "memory=256M": (OURS, {"memory": "256M"})}, step=0.02)
    for key in runs.of:
        print(f"  {key}: waited {runs.median(key, 'waited'):.2f} s of "
              f"{runs.median(key):.2f}")
    at_most("a step of 20 ms: PSS, MiB", runs, ["default"], 400, "mib")


ROWS = {"tensors": bench_tensors, "copies": bench_copies,
        "hand-over": bench_hand_over, "decode": bench_decode, "step": bench_step}


# ---- All of it


def bench_libraries():
    if not os.path.exists(PYTHON):
        note(f"libraries left out: no {LIBRARIES} (make libraries)")
        return
    with begin("library_epoch.py", stdout=subprocess.PIPE) as child:
        versions = json.loads(child.stdout.read())
    wanted = os.environ.get("BENCH_LIBRARIES", ",".join(READERS)).split(",")
    parts = os.environ.get("BENCH_PARTS", ",".join(PARTS)).split(",")
    for what, known in ((wanted, READERS), (parts, PARTS)):
        if set(what) - set(known):
            sys.exit(f"bench: none of {', '.join(known)}: {', '.join(what)}")
    readers = [OURS] + [r for r in wanted if r in versions and r != OURS]
    for reader in wanted:
        if reader not in versions:
            note(f"{reader} left out: no {READERS[reader][0]} in {LIBRARIES}")
    results["libraries"] = versions
    print("  " + ", ".join(f"{r} {versions[r]}" for r in versions))
    for part in parts:
        if part in SETS:
            bench_epochs(part, readers)
        else:
            ROWS[part]()


BENCHES = {"libraries": bench_libraries}
