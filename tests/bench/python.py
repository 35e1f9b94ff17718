# SPDX-License-Identifier: Apache-2.0
"""What stands in for ImageFolder, os.walk and files of zarr, beside those."""
import os
import statistics
import subprocess
import sys

from measure import DIR, ROUNDS, SCALE, TOOLS, note, ratio_row, remove
from measure import results, shell, states

HERE = os.path.dirname(os.path.abspath(__file__))
PROCESSES = (1, 8)
FASTER = 20  # times, cold
MEMORY = 0.1
# Times as long as os.walk of the tree, warm.
NAMES = {"walk": 0.3, "lookup_many": 0.05, "count_suffixes": 0.05}
CHUNKS = 2000  # of 50 KB, of an array
LARGE = 300_000_000


def begin(*words):
    return subprocess.Popen(
        [sys.executable, os.path.join(HERE, "stand_in.py"), *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.path.join(HERE, "../../lib/python")},
    )


def ask(*words, processes=1):
    """What each of so many prints, numbers."""
    answers = []
    for child in [begin(*words) for _ in range(processes)]:
        out = child.communicate()[0]
        if child.returncode:
            sys.exit(f"bench: exit {child.returncode}: stand_in.py {words}")
        answers.append([float(word) for word in out.split()])
    return answers


def drop(state):
    if state == "cold":
        shell("sync; echo 3 > /proc/sys/vm/drop_caches")


def has(module):
    there = subprocess.run([sys.executable, "-c", f"import {module}"],
                           stderr=subprocess.DEVNULL, check=False)
    if there.returncode:
        note(f"no {module} here: left out")
    return there.returncode == 0


def many():
    """A tree of a million files, packed."""
    n = max(1000, int(1_000_000 * SCALE))
    tree, out = (os.path.join(DIR, f"many-{SCALE:g}{s}") for s in ("", ".packed"))
    if not os.path.isdir(out):
        note(f"making {tree}")
        for path in (tree, out):
            remove(path)
        shell(f"{TOOLS}/gen {tree} {n} {max(2, n // 1000)} png 100-200")
        shell(f"hpdsl-pack -q {tree} {out}")
    return tree, out


def seconds_and_kib(answers):
    """The slowest one's; of all together; then, and at most."""
    return (max(a[1] for a in answers), sum(a[2] for a in answers),
            sum(a[3] for a in answers))


def bench_folder(tree, out):
    for state in states():
        for processes in PROCESSES:
            took = {"torchvision": [], "folder": []}
            for _ in range(ROUNDS):
                for way, what in (("torchvision", tree), ("folder", out)):
                    drop(state)
                    took[way].append(seconds_and_kib(
                        ask(way, what, processes=processes)))
            middle = {}
            for way, runs in took.items():
                middle[way] = [statistics.median(r) for r in zip(*runs)]
                results["runs"].append({"what": f"ImageFolder, {state}",
                                        "tool": way, "processes": processes,
                                        "runs": runs})
                s, kib, peak = middle[way]
                print(f"  ImageFolder, {state}, {processes} processes, {way}: "
                      f"{s:.2f} s, {kib / 1024:.0f} MiB, "
                      f"{peak / 1024:.0f} MiB at most")
            theirs, ours = middle["torchvision"], middle["folder"]
            name = f"python: ImageFolder, {state}, {processes} processes"
            ratio_row(f"{name}, times as fast", theirs[0] / ours[0],
                      FASTER if state == "cold" else 1, True)
            ratio_row(f"{name}, times the memory",
                      max(ours[1], 0) / theirs[1], MEMORY, False)


def bench_names(tree, out):
    live, *ours, mixed = ask("names", out, tree)[0]
    for (name, wanted), seconds in zip(NAMES.items(), ours):
        ratio_row(f"python: Snapshot.{name}, times os.walk", seconds / live,
                  wanted, False)
    print(f"  lookup_many of paths in any order: {mixed / live:.2f}")


MAKE_ZARR = """
import sys
import numpy, zarr
at, chunks = sys.argv[1], int(sys.argv[2])
of = numpy.random.default_rng(1).integers(0, 255, (chunks, 50_000), "u1")
for store in zarr.DirectoryStore(at + "/x.zarr"), zarr.ZipStore(at + "/x.zip"):
    zarr.array(of, chunks=(1, 50_000), store=store)
    store.close()
"""


def bench_zarr():
    at = os.path.join(DIR, "zarr")
    remove(at)
    os.makedirs(at)
    subprocess.run([sys.executable, "-c", MAKE_ZARR, at,
                    str(max(10, int(CHUNKS * SCALE)))], check=True)
    shell(f"hpdsl-pack -q --group=none {at}/x.zarr {at}/packed")
    stores = {"zarr-dir": "x.zarr", "zarr-zip": "x.zip", "zarr-hpdsl": "packed"}
    for state in states():
        took = {way: [] for way in stores}
        for _ in range(ROUNDS):
            for way, name in stores.items():
                drop(state)
                took[way].append(ask(way, os.path.join(at, name))[0])
        for way, runs in took.items():
            size, s = statistics.median(r[0] for r in runs), statistics.median(
                r[1] for r in runs)
            print(f"  an array, {state}, {way}: {s:.2f} s, "
                  f"{size / s / 1e6:.0f} MB/s")
            results["runs"].append({"what": f"zarr, {state}", "tool": way,
                                    "runs": runs})
    remove(at)


def bench_ranges():
    at = os.path.join(DIR, "one-member")
    remove(at)
    os.makedirs(f"{at}/tree")
    shell(f"head -c {LARGE} /dev/urandom > {at}/tree/film")
    shell(f"hpdsl-pack -q {at}/tree {at}/packed")
    wanted, read = ask("ranges", f"{at}/packed")[0]
    print(f"  16 pieces of a member of {LARGE} bytes: {wanted:.0f} bytes "
          f"wanted, {read:.0f} read, {read / wanted:.2f} times as many")
    results["runs"].append({"what": "ranges", "wanted": wanted, "read": read})
    remove(at)


def bench_python():
    tree, out = many()
    if has("torchvision"):
        bench_folder(tree, out)
    bench_names(tree, out)
    if has("zarr") and has("fsspec"):
        bench_zarr()
    bench_ranges()


BENCHES = {"python": bench_python}
