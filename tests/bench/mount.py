# SPDX-License-Identifier: Apache-2.0
"""hpdsl-mount beside the tree that it shows, in windows by turns: opening and
reading what is in the page cache and what is not, and listing."""
import os
import random
import statistics
import subprocess

from measure import DIR, ROOT, ROUNDS, TOOLS, note, ratio_row, remove, results
from measure import shell
from read import packed

WINDOWS = 15
FEW = {"small": 3000, "images": 500}  # files of a window
# At most so many times the tree's: warm.  So many times as fast: cold.
WARM = {"small": 1.45, "images": 1.10}
COLD = {"small": 4.0, "images": 1.3}
LISTED = 250  # thousand names a second, with attributes
LARGE = 1 << 30
WANTED_LARGE = 2.0  # GB/s


def in_mount(out, command, *options):
    """What a command prints that sees the dataset at DIR/mount."""
    where = os.path.join(DIR, "mount")
    os.makedirs(where, exist_ok=True)
    return subprocess.run(
        ["hpdsl-mount", *options, out, where, "--", "bash", "-ec", command],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=DIR,
    ).stdout


def names_of(tree, count=None):
    names = subprocess.run(
        ["find", tree, "-type", "f", "-printf", "%P\\0"],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.split(b"\0")[:-1]
    random.Random(1).shuffle(names)
    path = os.path.join(DIR, "mount-names")
    with open(path, "wb") as f:
        f.write(b"".join(n + b"\0" for n in names[:count]))
    return path, len(names)


def row(text, value, wanted, at_least):
    ratio_row(f"mount: {text}", value, wanted, at_least)


def bench_warm(name, tree, out):
    names, _ = names_of(tree, FEW[name])
    lines = in_mount(
        out, f"{TOOLS}/openall {WINDOWS} {tree} mount < {names}"
    ).splitlines()
    raw, ours = (float(line.split()[0]) for line in lines)
    print(f"  {name}, warm: tree {raw:.1f}, mount {ours:.1f} us a file")
    row(f"{name}, warm, times the tree", ours / raw, WARM[name], False)


def bench_list(tree, out):
    _, count = names_of(tree)
    command = """
        second() { local b=$EPOCHREALTIME; "$@" > /dev/null
            echo "$b $EPOCHREALTIME"; }
        export LC_ALL=C
        second find mount -size -0
        for i in 1 2 3 4 5; do
            second ls -lR mount; second ls -lR %s
        done"""
    # No stat is left out by find: it asks for sizes.
    times = [
        float(b) - float(a)
        for a, b in map(
            str.split, in_mount(out, command % tree, "--fill=off").splitlines()
        )
    ]
    row(
        "first listing with attributes, thousand names a second",
        count / times[0] / 1e3,
        LISTED,
        True,
    )
    row("ls -lR, warm, times the tree", min(times[1::2][1:]) / min(times[2::2]),
        1.0, False)


def cold_epoch(tree, out, names, how):
    """Seconds for all names, in random order: the tree's, or the mount's with
    a listing before it.  What is dropped is dropped when it is mounted."""
    command = """
        sync; echo 3 > /proc/sys/vm/drop_caches
        find / -maxdepth 1 > /dev/null; %s 0 . < /dev/null || :
        b=$EPOCHREALTIME
        %s
        echo "$b $EPOCHREALTIME" """
    openall = f"{TOOLS}/openall"
    work = f"{openall} 1 {'mount' if how else tree} < {names} > /dev/null"
    if how:
        work = f"find mount -size -0 > /dev/null; {work}"
    times = in_mount(out, command % (openall, work), how or "--fill=off")
    begin, end = map(float, times.split())
    results["runs"].append(
        {"what": "mount, cold", "tool": how or "tree", "seconds": end - begin}
    )
    return end - begin


def bench_cold(name, tree, out):
    names, count = names_of(tree)
    times = {}
    for rnd in range(ROUNDS):
        note(f"mount, {name}, cold: round {rnd + 1}")
        for how in ("", "--fill=on", "--fill=off"):
            times.setdefault(how, []).append(
                cold_epoch(tree, out, names, how)
            )
    for how, v in times.items():
        print(f"  {name}, cold, {count} files, {how or 'tree'}: "
              f"{statistics.median(v):.2f} s ({min(v):.2f}-{max(v):.2f})")
    ratios = [a / b for a, b in zip(times[""], times["--fill=on"])]
    row(f"{name}, cold, listed and filled: times as fast as the tree",
        statistics.median(ratios), COLD[name], True)


def bench_large():
    """A member of a GiB, for the first time, its chunk in the page cache."""
    tree, out = (os.path.join(DIR, n) for n in ("one-large", "one-large.packed"))
    for path in (tree, out):
        remove(path)
    os.makedirs(tree)
    shell(f"head -c {LARGE} /dev/urandom > {tree}/large")
    shell(f"hpdsl-pack -q {tree} {out}")
    rates = []
    for _ in range(ROUNDS):
        shell(f"cat {out}/chunk-* > /dev/null")
        us = in_mount(
            out, f"printf 'large\\0' | {TOOLS}/openall 1 mount"
        ).split()[0]
        rates.append(LARGE / float(us) / 1e3)
    row("a large file, first read, GB/s", max(rates), WANTED_LARGE, True)
    for path in (tree, out):
        remove(path)


def bench_mount():
    for name in FEW:
        tree, out = packed(name)
        bench_warm(name, tree, out)
        if name == "small":
            bench_list(tree, out)
        if ROOT:
            bench_cold(name, tree, out)
        else:
            note("not root: no cold runs")
    bench_large()


BENCHES = {"mount": bench_mount}
