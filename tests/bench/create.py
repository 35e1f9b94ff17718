# SPDX-License-Identifier: Apache-2.0
"""hpdsl-snapshot create and check, beside find, du and a bare walk."""
import json
import os
import subprocess

import measure
from measure import DIR, ROUNDS, SCALE, TOOLS, Times, dataset, note
from measure import ratio_row, remove, shell, states

FOLDERS = 1000
OURS = "hpdsl-snapshot"
# {tree}: the input; {out}: the file to make, on the same disk as the tree.
COMMANDS = {
    OURS: "hpdsl-snapshot create -q {tree} -o {out}",
    "find": "find {tree} -printf '%p %s %m %T@\\n' > {out}",
    "du -a": "du -a {tree} > {out}",
    "find, fsync": "find {tree} -printf '%p %s %m %T@\\n' > {out}"
    " && sync {out}",
    "bare walk, 2": f"{TOOLS}/walkall 2 {{tree}}",
    "bare walk, 16": f"{TOOLS}/walkall 16 {{tree}}",
}
WALKS = [t for t in COMMANDS if t.startswith("bare walk")]
WANTED = {  # of the median times: at least
    "warm": {"find": 1.8, "du -a": 1.4},
    "cold": {"find": 2.0},
}
WANTED_WALK = 1.5  # at most


def make_million(tree):
    """Empty files, some of a size and no blocks; 1,000 in a folder."""
    files = max(1, int(1000 * SCALE))
    os.makedirs(tree)
    for c in range(FOLDERS):
        path = f"{tree}/class{c:05}"
        os.mkdir(path)
        top = os.open(path, os.O_PATH)
        for i in range(c * files, (c + 1) * files):
            os.mknod(f"{i:08}.JPEG", 0o644, dir_fd=top)
        os.close(top)


measure.MAKERS["million"] = make_million


def prepare_walk(state, tree):
    shell("sync")
    if state == "cold":
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("3")
    else:
        shell(f"{TOOLS}/walkall 16 {tree} > /dev/null")


def show_commands(commands):
    for tool, command in commands.items():
        print(f"  {tool:18}{command}")


def print_times(times, tools, entries):
    print(f"\n{times.what}: {entries} entries, n={ROUNDS}")
    head = f"{'':18}{'median s':>9}{'spread':>14}{'CPU s':>8}{'MiB':>6}"
    print(f"{head}{'entries/s':>11}")
    for tool in tools:
        seconds = times.median(tool)
        line = f"{tool:18}{seconds:9.3f}{times.spread(tool):>14}"
        line += f"{times.median(tool, 1):8.2f}{times.median(tool, 2):6.0f}"
        print(f"{line}{entries / seconds:11.0f}")


def count_entries(snapshot):
    out = subprocess.run(
        ["hpdsl-snapshot", "verify", "--json", snapshot],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return json.loads(out)["entries"]


def run_all(times, state, commands, tree, out):
    for rnd in range(ROUNDS):
        note(f"{times.what}: round {rnd + 1}")
        for tool, command in commands.items():
            remove(out)
            prepare_walk(state, tree)
            times.run(tool, command.format(tree=tree, out=out))


def bench_tree(name):
    tree = dataset(name)
    if not tree:
        return
    out = os.path.join(DIR, "out")
    shell(COMMANDS[OURS].format(tree=tree, out=out))
    entries = count_entries(out)
    for state in states():
        times = Times(f"create {name} {state}")
        run_all(times, state, COMMANDS, tree, out)
        print_times(times, COMMANDS, entries)
        ours = times.median(OURS)
        for peer, wanted in WANTED[state].items():
            ratio_row(
                f"{times.what}: times as fast as {peer}",
                times.median(peer) / ours,
                wanted,
                True,
            )
        walk = min(WALKS, key=times.median)
        ratio_row(
            f"{times.what}: times the seconds of {walk}",
            ours / times.median(walk),
            WANTED_WALK,
            False,
        )
    remove(out)
    bench_others(name, tree, entries)


def bench_others(name, tree, entries):
    """Out of an index; and the comparison with the live tree."""
    packed = os.path.join(DIR, "packed")
    known = os.path.join(DIR, "known.snapshot")
    remove(packed)
    shell(f"hpdsl-pack -q {tree} {packed}")
    shell(f"hpdsl-snapshot create -q {tree} -o {known}")
    commands = {
        "create PACKED": f"hpdsl-snapshot create -q {packed} -o {{out}}",
        "create TREE": COMMANDS[OURS],
        "check": f"hpdsl-snapshot check -q {known} {{tree}}",
        "check --since": f"hpdsl-snapshot check -q --since {known} {known}"
        " {tree}",
        "verify": f"hpdsl-snapshot verify -q {known}",
        "bare walk, 2": COMMANDS["bare walk, 2"],
        "bare walk, 16": COMMANDS["bare walk, 16"],
    }
    times = Times(f"{name}, warm")
    run_all(times, "warm", commands, tree, os.path.join(DIR, "out"))
    show_commands(commands)
    print_times(times, commands, entries)
    for path in (packed, known, os.path.join(DIR, "out")):
        remove(path)


def bench_create():
    print("\ncommands:")
    show_commands(COMMANDS)
    for name in ("million", "kernel"):
        bench_tree(name)


BENCHES = {"create": bench_create}
