#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures hpdsl-pack and hpdsl-verify beside the tools people use today.

usage: bench.py [NAME...]      (make bench BENCH="NAME...")

NAME is pack-images, pack-small, pack-kernel, verify or lookup; all of them
without one.  Everything runs in BENCH_DIR ($BUILD/bench), BENCH_ROUNDS (3)
times, the tools in turn, and ends on the disk: each command is followed by
`sync -f`, inside the time.  Before a cold run the caches are dropped (root
only), before a warm one every file is read.  BENCH_TOOLS ("tar,cp -a") limits
the others to some of them.  BENCH_SCALE (1) shrinks the datasets, to try this
script.  Prints tables; BENCH_DIR/results.json has all
single times.
"""
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
DIR = os.path.abspath(os.environ.get("BENCH_DIR", os.path.join(BUILD, "bench")))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SCALE = float(os.environ.get("BENCH_SCALE", "1"))
TOOLS = os.path.join(BUILD, "tests/bench")
KERNEL = "/usr/src/linux-source-6.1.tar.xz"
READERS = 16  # hpdsl-pack's, and so the limit's
ROOT = os.geteuid() == 0

OURS = "hpdsl-pack"
# {tree}: the input; {out}: what to make.  Those in PEERS are what we compare
# with; the others are shown beside.
COMMANDS = {
    OURS: "hpdsl-pack -q --labels=parent {tree} {out}",
    "tar": "tar -C {tree} -cf {out} .",
    "bsdtar": "bsdtar -C {tree} -cf {out} .",
    "mksquashfs": "mksquashfs {tree} {out} -noI -noD -noF -noX"
    " -quiet -no-progress",
    "mksquashfs zstd": "mksquashfs {tree} {out} -comp zstd"
    " -Xcompression-level 1 -quiet -no-progress",
    "cp -a": "cp -a {tree} {out}",
    "rsync -a": "rsync -a {tree}/ {out}/",
}
PEERS = ("tar", "bsdtar", "mksquashfs", "mksquashfs zstd")
WANTED = {  # times as fast as the fastest peer: warm, cold
    "images": {"warm": 2.0, "cold": 2.0},
    "small": {"warm": 2.0, "cold": 2.5},
    "kernel": {"warm": 2.0, "cold": 2.5},
}
WANTED_LIMIT = 1.4
WANTED_VERIFY = 1.2
WANTED_LOOKUP = 2.0  # millions a second

results = {"runs": [], "rows": []}


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def shell(command):
    subprocess.run(command, shell=True, check=True)


def make_images(tree):
    shell(f"{TOOLS}/gen {tree} {max(1, int(20000 * SCALE))} 100 JPEG 110000")


def make_small(tree):
    shell(f"{TOOLS}/gen {tree} {max(1, int(200000 * SCALE))} 100 png 2048-4096")


def make_kernel(tree):
    os.makedirs(tree)
    some = " --wildcards '*/kernel/*'" if SCALE < 1 else ""
    shell(f"tar -xJf {KERNEL} --strip-components=1 -C {tree}{some}")


MAKERS = {"images": make_images, "small": make_small, "kernel": make_kernel}


def dataset(name):
    """The tree of a dataset, made if it is not there; None if it can't be."""
    if name == "kernel" and not os.path.exists(KERNEL):
        note(f"kernel tree left out: no {KERNEL} (package linux-source-6.1)")
        return None
    tree = os.path.join(DIR, f"{name}-{SCALE:g}")
    if not os.path.isdir(tree):
        note(f"making {tree}")
        remove(tree + ".part")
        MAKERS[name](tree + ".part")
        os.rename(tree + ".part", tree)
    return tree


def list_files(tree):
    """A file of NUL-terminated paths for readall, and the bytes they hold."""
    paths = tree + ".list"
    shell(f"find {tree} -type f -print0 > {paths}")
    out = subprocess.run(
        f"find {tree} -type f -printf '%s\\n'",
        shell=True,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return paths, len(out), sum(map(int, out))


def prepare(state, paths):
    shell("sync")
    if state == "cold":
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("3")
    else:
        shell(f"{TOOLS}/readall {READERS} < {paths} > /dev/null")


def timed(command):
    """Seconds, CPU seconds and largest resident set of a shell command."""
    begin = time.monotonic()
    child = subprocess.Popen(["bash", "-c", command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"bench: exit {child.returncode}: {command}")
    cpu = usage.ru_utime + usage.ru_stime
    return seconds, cpu, usage.ru_maxrss // 1024


class Times:
    """All runs of one comparison, and their medians."""

    def __init__(self, what):
        self.what = what
        self.runs = {}

    def run(self, tool, command):
        seconds, cpu, mib = timed(command)
        self.runs.setdefault(tool, []).append((seconds, cpu, mib))
        results["runs"].append(
            {
                "what": self.what,
                "tool": tool,
                "command": command,
                "seconds": seconds,
                "cpu_seconds": cpu,
                "max_rss_mib": mib,
            }
        )

    def median(self, tool, field=0):
        return statistics.median(r[field] for r in self.runs[tool])

    def total(self, *tools):
        """The median of sums, round by round."""
        rounds = zip(*(self.runs[t] for t in tools))
        return statistics.median(sum(r[0] for r in rnd) for rnd in rounds)

    def spread(self, tool):
        seconds = [r[0] for r in self.runs[tool]]
        return f"{min(seconds):.2f}-{max(seconds):.2f}"


def states():
    if not ROOT:
        note("not root: warm runs only")
        return ("warm",)
    return ("cold", "warm")


WRITES = (("buffered", 1), ("direct", 1), ("direct", 4))


def run_limit(times, state, tree, paths, size):
    """A bare walk, a bare read, a bare write, one after another."""
    prepare(state, paths)
    times.run("walk", f"find {tree} -printf '%s\\n'")
    times.run("read", f"{TOOLS}/readall {READERS} < {paths}")
    for how, threads in WRITES:
        out = os.path.join(DIR, "limit.out")
        command = f"{TOOLS}/writeall {size} {out} {how} {threads}"
        times.run(f"write {how} {threads}", f"{command} && sync -f {out}")
        remove(out)
        shell("sync")


def run_tool(times, state, tool, tree, paths):
    out = os.path.join(DIR, "out")
    remove(out)
    prepare(state, paths)
    command = COMMANDS[tool].format(tree=tree, out=out)
    times.run(tool, f"{command} && sync -f {out}")
    remove(out)


def ratio_row(text, value, wanted, at_least):
    good = value >= wanted if at_least else value <= wanted
    sign = "at least" if at_least else "at most"
    verdict = "met" if good else "MISSED"
    print(f"  {text}: {value:.2f} (wanted {sign} {wanted:g}): {verdict}")
    results["rows"].append(
        {"what": text, "value": value, "wanted": wanted, "met": good}
    )


def print_table(times, tools, files, size):
    print(f"\n{times.what}: {files} files, {size} bytes, n={ROUNDS}")
    head = f"{'':18}{'median s':>9}{'spread':>14}{'CPU s':>8}{'MiB':>6}"
    print(f"{head}{'files/s':>10}{'MB/s':>7}")
    for tool in tools:
        seconds = times.median(tool)
        line = f"{tool:18}{seconds:9.2f}{times.spread(tool):>14}"
        line += f"{times.median(tool, 1):8.2f}{times.median(tool, 2):6.0f}"
        line += f"{files / seconds:10.0f}{size / seconds / 1e6:7.0f}"
        print(line)


def bench_pack(name):
    tree = dataset(name)
    if not tree:
        return
    paths, files, size = list_files(tree)
    tools = [t for t in COMMANDS if shutil.which(t.split()[0])]
    if some := os.environ.get("BENCH_TOOLS"):
        tools = [t for t in tools if t == OURS or t in some.split(",")]
    for state in states():
        times = Times(f"pack {name} {state}")
        for rnd in range(ROUNDS):
            note(f"{times.what}: round {rnd + 1}")
            run_limit(times, state, tree, paths, size)
            for tool in tools:
                run_tool(times, state, tool, tree, paths)
        writes = [f"write {how} {n}" for how, n in WRITES]
        print_table(times, ["walk", "read"] + writes + tools, files, size)
        peers = [t for t in PEERS if t in tools]
        if not peers:
            continue
        best = min(peers, key=times.median)
        ours = times.median(OURS)
        ratio_row(
            f"{times.what}: times as fast as {best}",
            times.median(best) / ours,
            WANTED[name][state],
            True,
        )
        write = min(writes, key=times.median)
        limit = times.total("walk", "read", write)
        ratio_row(
            f"{times.what}: times the limit of {limit:.2f} s ({write})",
            ours / limit,
            WANTED_LIMIT,
            False,
        )


def bench_verify():
    """Warm: reading the chunks is then bound by memory, the harder case."""
    for name in ("images", "small"):
        packed = os.path.join(DIR, f"packed-{name}")
        remove(packed)
        shell(f"hpdsl-pack -q --labels=parent {dataset(name)} {packed}")
        chunks = f"find {packed} -name 'chunk-*' -print0 | sort -z"
        dd = "dd if={} of=/dev/null bs=4M status=none"
        times = Times(f"verify {name} warm")
        commands = {
            "hpdsl-verify -j2": f"hpdsl-verify -q -j2 {packed}",
            "hpdsl-verify -j1": f"hpdsl-verify -q -j1 {packed}",
            "dd": f"{chunks} | xargs -0 -I{{}} {dd}",
            "dd, two at a time": f"{chunks} | xargs -0 -P2 -I{{}} {dd}",
        }
        shell(commands["dd"])
        for _ in range(ROUNDS):
            for tool, command in commands.items():
                times.run(tool, command)
        _, files, size = list_files(packed)
        print_table(times, commands, files, size)
        ratio_row(
            f"{times.what}: -j2, times dd's seconds",
            times.median("hpdsl-verify -j2") / times.median("dd"),
            WANTED_VERIFY,
            False,
        )
        remove(packed)
        remove(packed + ".list")


def bench_lookup():
    """The program prints "N lookups a second by WHAT" lines."""
    program = os.path.join(TOOLS, "bench_lookup")
    if not os.path.exists(program):
        note("no bench_lookup")
        return
    print("\nlookup, one core, millions a second", flush=True)
    rates = {}
    for _ in range(ROUNDS):
        out = subprocess.run(
            [program], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        for line in out.splitlines():
            number, _, what = line.partition(" ")
            rates.setdefault(what, []).append(float(number) / 1e6)
    for what, values in rates.items():
        ratio_row(what, statistics.median(values), WANTED_LOOKUP, True)


BENCHES = {
    "pack-images": lambda: bench_pack("images"),
    "pack-small": lambda: bench_pack("small"),
    "pack-kernel": lambda: bench_pack("kernel"),
    "verify": bench_verify,
    "lookup": bench_lookup,
}


def version_of(tool):
    flag = "-version" if tool == "mksquashfs" else "--version"
    try:
        out = subprocess.run(
            [tool, flag], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return (out.stdout or out.stderr).splitlines()[0]


def describe():
    results["machine"] = {
        "kernel": platform.release(),
        "processors": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "file_system": subprocess.run(
            ["stat", "-f", "-c", "%T", DIR],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip(),
    }
    results["versions"] = {
        t: version_of(t)
        for t in sorted({c.split()[0] for c in COMMANDS.values()})
    }
    results["rounds"] = ROUNDS
    results["scale"] = SCALE
    print("commands, each followed by `&& sync -f {out}`:")
    for tool, command in COMMANDS.items():
        print(f"  {tool:18}{command}")
    for key, value in results["machine"].items():
        print(f"  {key}: {value}")


def main():
    names = sys.argv[1:] or list(BENCHES)
    unknown = [n for n in names if n not in BENCHES]
    if unknown:
        sys.exit(__doc__.strip())
    os.environ["PATH"] = BUILD + os.pathsep + os.environ["PATH"]
    os.makedirs(DIR, exist_ok=True)
    describe()
    for name in names:
        BENCHES[name]()
    path = os.path.join(DIR, "results.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    print(f"\nall single times: {path}")


if __name__ == "__main__":
    main()
