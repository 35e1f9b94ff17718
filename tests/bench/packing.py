# SPDX-License-Identifier: Apache-2.0
"""hpdsl-pack from trees, hpdsl-verify and lookups, beside today's tools."""
import os
import shutil
import statistics
import subprocess

from measure import DIR, READERS, ROUNDS, TOOLS, Times, dataset, list_files
from measure import note, prepare, print_table, ratio_row, remove, shell, states

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
