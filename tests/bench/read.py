# SPDX-License-Identifier: Apache-2.0
"""Shuffled epochs: hpdsl-bench beside the disk, raw files, LMDB and Python's
loaders; while a dataset is being staged."""
import json
import os
import statistics
import subprocess

import measure
from measure import BUILD, DIR, ROOT, TOOLS, Times, dataset, list_files
from measure import note, ratio_row, remove, shell, states, touch_memory

ROUNDS = measure.ROUNDS
HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = 2
MIB = 1 << 20
RATE = 64 * MIB  # of the capped origin
NODES = 4
WINDOWS = 8  # while staging
ORDER = f"--batch-size=32 --ranks={NODES} --windows={WINDOWS}"
OUT = os.path.join(DIR, "read-out")
# Parts of the bench, and the share of the best dd's speed that is wanted cold.
SETS = {"images": 1.10, "small": 0.92}
PYTHON = os.environ.get("BENCH_PYTHON", "/usr/bin/python3")


def packed(name):
    """The dataset as hpdsl-pack makes it, beside the tree it was made of."""
    tree = dataset(name)
    out = tree + ".packed"
    if not os.path.isdir(out):
        note(f"making {out}")
        remove(out + ".part")
        shell(f"hpdsl-pack -q {tree} {out}.part && mv {out}.part {out}")
    return tree, out


def chunks_of(out):
    return sorted(
        e.path for e in os.scandir(out) if e.name.startswith("chunk-")
    )


def cool_or_warm(state, paths):
    shell("sync")
    if state == "cold":
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("3")
        touch_memory(4 << 30)
        return
    # Again afterwards, in case that it has taken some of the page cache.
    for path in paths:
        shell(f"cat {path} > /dev/null")
    touch_memory(4 << 30)
    for path in paths:
        shell(f"cat {path} > /dev/null")


def in_turn(text, commands, prepare, after=lambda tool: None):
    """Medians of all commands, run in turn, each after prepare()."""
    times = Times(text)
    for rnd in range(ROUNDS):
        note(f"{text}: round {rnd + 1}")
        for tool, command in commands.items():
            prepare(tool)
            times.run(tool, command)
            after(tool)
    return times


def show(times, size, samples):
    print(f"\n{times.what}: {samples} samples, {size} bytes, n={ROUNDS}")
    print(f"{'':26}{'median s':>9}{'spread':>14}{'CPU s':>8}{'MB/s':>8}"
          f"{'samples/s':>11}")
    for tool in times.runs:
        s = times.median(tool)
        print(f"{tool:26}{s:9.3f}{times.spread(tool):>14}"
              f"{times.median(tool, 1):8.2f}{size / s / 1e6:8.0f}"
              f"{samples / s:11.0f}", flush=True)


# ---- The plain disk -------------------------------------------------------


def lmdb_of(tree, paths):
    program = f"{TOOLS}/with_lmdb-samples"
    if not os.access(program, os.X_OK):
        note("LMDB left out: no liblmdb-dev")
        return None
    file = tree + ".lmdb"
    if not os.path.exists(file):
        note(f"making {file}")
        shell(f"{program} build {file}.part < {paths} && mv {file}.part {file}")
    return file


def commands_of(tree, out, state):
    """What is measured: the name of the command, and what it reads."""
    paths, _, _ = list_files(tree)
    shuffled = paths + ".shuffled"
    shell(f"shuf -z --random-source={paths} {paths} > {shuffled}")
    every = " ".join(chunks_of(out))
    halves = [" ".join(chunks_of(out)[i::THREADS]) for i in range(THREADS)]
    dd = "for f in {}; do dd if=$f of=/dev/null bs=4M {} status=none; done"
    two = "; ".join(f"({dd.format(h, '')}) &" for h in halves)
    commands = {
        "hpdsl-bench": (f"hpdsl-bench -q -j{THREADS} {out}", [f"{out}/*"]),
        "raw files, random": (f"{TOOLS}/readall {THREADS} < {shuffled}",
                              [tree]),
    }
    if state == "cold":
        commands["dd"] = (dd.format(every, ""), [])
        commands["dd iflag=direct"] = (dd.format(every, "iflag=direct"), [])
    else:
        commands["two dd"] = (two.replace("&;", "&") + " wait",
                              [f"{out}/*"])
    file = lmdb_of(tree, paths)
    if file:
        commands["LMDB, random"] = (
            f"{TOOLS}/with_lmdb-samples read {file} {THREADS}", [file])
    return commands


def bench_disk():
    for name, share in SETS.items():
        tree, out = packed(name)
        _, samples, size = list_files(tree)
        for state in states():
            commands = commands_of(tree, out, state)

            def prepare(tool):
                what = commands[tool][1]
                if what == [tree]:
                    what = []
                    if state == "warm":
                        shell("sync")
                        shell(f"{TOOLS}/readall 2 < {tree}.list > /dev/null")
                        return
                cool_or_warm(state, what)

            times = in_turn(f"epoch, {name}, {state}",
                            {t: c for t, (c, _) in commands.items()}, prepare)
            show(times, size, samples)
            ours = times.median("hpdsl-bench")
            raw = times.median("raw files, random") / ours
            if state == "cold":
                best = min(times.median("dd"), times.median("dd iflag=direct"))
                ratio_row("times the speed of the best dd", best / ours, share,
                          True)
                ratio_row("times the speed of raw files", raw,
                          1.7 if name == "images" else 10, True)
            else:
                ratio_row("times the speed of two dd",
                          times.median("two dd") / ours, 1.0, True)
            if "LMDB, random" in times.runs:
                ratio_row("times the speed of LMDB",
                          times.median("LMDB, random") / ours, 2.0, True)


# ---- An origin with costs -------------------------------------------------


def bench_origin():
    """Each metadata operation takes a millisecond."""
    from stage import operations, origin

    for name in SETS:
        tree, out = packed(name)
        _, samples, size = list_files(tree)
        some = max(1, samples // (20 if name == "small" else 4))
        paths, _, _ = list_files(tree)
        shell(f"shuf -z -n {some} --random-source={paths} {paths} >"
              f" {paths}.some")
        options = "op_ms=1,keep=30,mapped=index.hpdsl"
        with origin(os.path.dirname(tree), options) as mount:
            ds = os.path.join(mount, os.path.basename(out))
            shell(f"sed -z 's|^{os.path.dirname(tree)}|{mount}|' {paths}.some >"
                  f" {paths}.mounted")
            asked, at = {}, [0]

            def prepare(tool):
                cool_or_warm("cold", [])
                at[0] = operations(mount)

            def count(tool):
                asked[tool] = operations(mount) - at[0]

            times = in_turn(
                f"epoch on the origin ({options}), {name}",
                {
                    "hpdsl-bench": f"hpdsl-bench -q {ds}",
                    f"raw files, {some} of them":
                        f"{TOOLS}/readall {THREADS} < {paths}.mounted",
                },
                prepare,
                count,
            )
        show(times, size, samples)
        for n, tool in zip((samples, some), asked):
            print(f"  {tool}: {asked[tool] / n:.3f} operations a sample")
        ours, raw = (times.median(t) for t in times.runs)
        ratio_row("times the speed of raw files", raw * samples / some / ours,
                  50, True)


# ---- Python ---------------------------------------------------------------


def bench_python():
    env = f"PYTHONPATH={HERE}/../../lib/python BUILD={BUILD}"
    for name, wanted in (("images", 5), ("small", 20)):
        tree, out = packed(name)
        paths, samples, size = list_files(tree)
        run = f"{env} {PYTHON} {HERE}/read_python.py"
        commands = {
            "hpdsl-bench": f"hpdsl-bench -q -j{THREADS} {out}",
            "hpdsl.Loader": f"{run} loader {out}",
            "tarfile, shuffle buffer": f"{run} tarfile {out}",
            "start of Python": f"{run} start {out}",
        }
        if subprocess.run([PYTHON, "-c", "import numpy"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            commands["hpdsl.Loader, arrays"] = f"{run} arrays {out}"
        if subprocess.run([PYTHON, "-c", "import torch"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            commands["torch, raw files, 2 workers"] = f"{run} torch_raw {paths}"
            commands["hpdsl.torch, 2 workers"] = f"{run} torch {out}"
            commands["start of torch"] = f"{run} torch_start {out}"

        def prepare(tool):
            if "raw" in tool:
                shell(f"{TOOLS}/readall 2 < {paths} > /dev/null")
            elif "start" not in tool:
                cool_or_warm("warm", [f"{out}/*"])

        times = in_turn(f"Python, {name}, warm", commands, prepare)
        show(times, size, samples)
        start = times.median("start of Python")
        ours = times.median("hpdsl.Loader") - start
        if name == "images":
            ratio_row("Loader, of hpdsl-bench's speed",
                      times.median("hpdsl-bench") / ours, 0.8, True)
        peers = [times.median("tarfile, shuffle buffer") - start]
        if "start of torch" in times.runs:
            begin = times.median("start of torch")
            raw = times.median("torch, raw files, 2 workers") - begin
            peers.append(raw)
            ratio_row("hpdsl.torch, times torch on raw files",
                      raw / (times.median("hpdsl.torch, 2 workers") - begin),
                      1.5, True)
        ratio_row("Loader, times the fastest of the others",
                  min(peers) / ours, wanted, True)


# ---- While it is being staged ---------------------------------------------


def report_of(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def readers(place):
    """One hpdsl-bench a node, at the same time; each writes its summary."""
    return " ".join(
        f"hpdsl-bench -q --json {ORDER} --rank={n}"
        f" --compute=0.005 {place.format(n)} > {OUT}/read-{n}.json &"
        for n in range(NODES)
    )


def order_of(source):
    """That order from its first step on, for hpdsl-stage: chunks come as it
    needs them."""
    path = OUT + "/order.json"
    shell(f"hpdsl-bench -q {ORDER} --steps=1 --save={path} {source}")
    with open(path, encoding="utf-8") as f:
        order = json.load(f)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**order, "step": 0}, f)
    return path


def bench_overlap():
    import stage

    os.environ["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
    os.environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    source = dataset("staged")
    size = stage.size_of(source)
    remove(OUT)
    os.makedirs(OUT)
    place = OUT + "/node-{}"
    wait = "; ".join(f"until [ -e {place.format(n)}/stage.hpdsl ]; do sleep"
                     f" 0.01; done" for n in range(NODES))
    with stage.origin(source, f"rate={RATE},mapped=index.hpdsl") as mount:
        staging = (f"{stage.MPIRUN} -n {NODES} hpdsl-stage -q --mode=replicate"
                   f" --order-from={order_of(source)} --pretend-nodes={NODES}"
                   f" {mount} '{OUT}/node-%n'")
        commands = {
            "stage": staging,
            "epoch, staged": readers(place) + " wait",
            "stage, then train": f"{staging} && {{ {readers(place)} wait; }}",
            "train while staging":
                f"{staging} & {wait}; {readers(place)} wait",
            "train from the origin": readers(mount) + " wait",
        }
        first = []

        def prepare(tool):
            if tool != "epoch, staged":
                for n in range(NODES):
                    remove(place.format(n))
            shell("sync")

        times = Times("overlap")
        for rnd in range(ROUNDS):
            note(f"overlap: round {rnd + 1}")
            for tool, command in commands.items():
                prepare(tool)
                times.run(tool, command)
                if tool == "train while staging":
                    first.append(max(
                        report_of(f"{OUT}/read-{n}.json")["first_batch_seconds"]
                        for n in range(NODES)))
    show(times, size, 2400)
    longer = max(times.median("stage"), times.median("epoch, staged"))
    ratio_row("times the longer of staging and an epoch from the node",
              times.median("train while staging") / longer, 1.1, False)
    # It begins anywhere in a chunk, and so ends in one more.
    window = size * (1 / WINDOWS + 1 / len(chunks_of(source))) / RATE
    ratio_row("seconds to the first batch beyond the first window at B",
              statistics.median(first) - window, 1, False)
    remove(OUT)


def bench_read():
    parts = os.environ.get("BENCH_PARTS", "disk,origin,python,overlap")
    bed = ROOT and os.access(BUILD + "/tests/bed/origin", os.X_OK)
    for part, bench, needs_bed in (
        ("disk", bench_disk, False),
        ("origin", bench_origin, True),
        ("python", bench_python, False),
        ("overlap", bench_overlap, True),
    ):
        if part not in parts.split(","):
            continue
        if needs_bed and not bed:
            note(f"read, {part}, left out: needs root and fuse3")
        else:
            bench()


BENCHES = {"read": bench_read}
