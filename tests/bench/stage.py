# SPDX-License-Identifier: Apache-2.0
"""hpdsl-stage beside cp, tar and rsync on every node, and beside what the
origin, the links and the disks allow."""
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess

import measure
from measure import BUILD, DIR, ROOT, SCALE, TOOLS, Times, dataset, note
from measure import ratio_row, remove, shell, touch_memory

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
# Where pretend nodes have their SSDs; /dev/shm/NAME if the disk is too slow.
NODES = os.path.abspath(os.environ.get("BENCH_NODES", DIR + "/nodes"))
BED = os.path.join(os.path.dirname(__file__), "../bed")
MIB = 1 << 20
RATE = 64 * MIB  # of the origin
COUNTS = (1, 2, 4, 8)
LINK = 125000000  # 1 Gbit/s
# As in most clusters.  With 1500 headers take 4 % of a link, which the bound
# leaves out, and the few cores that play all hosts a sixth more of their time.
MTU = 9000
MPIRUN = "mpirun -q --oversubscribe --bind-to none"
OURS = "hpdsl-stage"
# For each node in {nodes}, all at the same time.
PEERS = {
    "cp": "cp {origin}/* {dir}",
    "tar | tar": "tar -C {origin} -cf - . | tar -C {dir} -xf -",
    "rsync": "rsync -a {origin}/ {dir}",
}
CHUNKS = max(100, int(10000 * SCALE))


def make_staged(tree, files=2400):
    """512 MiB of images, in chunks of 8 MiB."""
    files = max(100, int(files * SCALE))
    shell(f"{TOOLS}/gen {tree}.in {files} 100 JPEG 220000")
    shell(f"hpdsl-pack -q --chunk-size=8M {tree}.in {tree}")
    remove(tree + ".in")


def make_many(tree):
    shell(f"{TOOLS}/gen {tree}.in {CHUNKS} 100 png 1000")
    shell(f"hpdsl-pack -q --chunks={CHUNKS} {tree}.in {tree}")
    remove(tree + ".in")


measure.MAKERS["staged"] = make_staged
measure.MAKERS["many-chunks"] = make_many


def size_of(packed):
    return sum(e.stat().st_size for e in os.scandir(packed))


@contextlib.contextmanager
def origin(packed, options):
    """The FUSE origin over a folder; its own count of what was read."""
    mount = os.path.join(DIR, "origin")
    os.makedirs(mount, exist_ok=True)
    shell(
        f"{BUILD}/tests/bed/origin {packed} {mount} -o"
        f" watch={os.getpid()},{options}"
    )
    try:
        yield mount
    finally:
        shell(f"umount {mount}")


def operations(mount):
    with open(mount + "/.origin-stats", encoding="utf-8") as f:
        return int(re.search(r"^operations (\d+)$", f.read(), re.M).group(1))


def bytes_read(mount):
    with open(mount + "/.origin-stats", encoding="utf-8") as f:
        return int(re.search(r"^bytes (\d+)$", f.read(), re.M).group(1))


def stage(n, source, more=""):
    return (
        f"{MPIRUN} -n {n} hpdsl-stage -q --mode=replicate --pretend-nodes={n}"
        f" --report={DIR}/report.json {more} {source} '{NODES}/%n'"
        f" && sync -f {NODES}"
    )


def on_nodes(n, command, source):
    one = command.format(origin=source, dir=f"{NODES}/$i")
    return (
        f"for i in $(seq 0 {n - 1}); do mkdir {NODES}/$i; ({one}) & done;"
        f" wait; sync -f {NODES}"
    )


def report():
    with open(DIR + "/report.json", encoding="utf-8") as f:
        return json.load(f)


def first_ready(said):
    return min(c["ready_seconds"] for c in said["chunks"])


def empty_nodes():
    remove(NODES)
    os.makedirs(NODES)
    shell("sync")


def peers():
    wanted = os.environ.get("BENCH_TOOLS")
    names = wanted.split(",") if wanted else PEERS
    return [p for p in PEERS if p in names and shutil.which(p.split()[0])]


def line(text, seconds, spread="", more=""):
    print(f"{text:34}{seconds:9.2f}{spread:>14}  {more}", flush=True)


def show(n, times, tool):
    line(f"{n} nodes: {tool}", times.median(tool), times.spread(tool))


def head(title):
    print(f"\n{title}, n={ROUNDS}")
    print(f"{'':34}{'median s':>9}{'spread':>14}")


def bench_capped():
    packed = dataset("staged")
    size = size_of(packed)
    bound = size / RATE
    chunk = size / len([f for f in os.listdir(packed) if "chunk" in f])
    head(
        f"{size} bytes from an origin of {RATE / MIB:.0f} MiB/s,"
        f" {bound:.2f} s at best; nodes on {NODES}"
    )
    with origin(packed, f"rate={RATE}") as mount:
        for n in COUNTS:
            times = Times(f"stage capped, {n} nodes")
            first, own, read = [], [], []
            for rnd in range(ROUNDS):
                note(f"{times.what}: round {rnd + 1}")
                empty_nodes()
                before = bytes_read(mount)
                times.run(OURS, stage(n, mount))
                read.append((bytes_read(mount) - before) / size)
                said = report()
                first.append(first_ready(said))
                own.append(said["seconds"])
                for tool in peers():
                    empty_nodes()
                    times.run(tool, on_nodes(n, PEERS[tool], mount))
            for tool in [OURS] + peers():
                show(n, times, tool)
            print(
                f"{'':34} of it, by its own report:"
                f" {statistics.median(own):.2f}; read {max(read):.4f} times"
            )
            ratio_row(
                f"{n} nodes: times the seconds of the origin alone",
                times.median(OURS) / bound,
                1.15,
                False,
            )
            ratio_row(
                f"{n} nodes: first chunk ready after seconds",
                statistics.median(first),
                1 + n * chunk / RATE,
                False,
            )
    remove(NODES)


def bench_uncapped():
    packed = dataset("staged")
    head(f"plain directories, nodes on {NODES}")
    write = (
        "for f in {origin}/*; do dd if=$f of={dir}/${{f##*/}} bs=4M conv=fsync"
        " status=none; done"
    )
    for n in COUNTS[1:]:
        times = Times(f"stage uncapped, {n} nodes")
        for rnd in range(ROUNDS):
            note(f"{times.what}: round {rnd + 1}")
            for tool, command in (
                ("dd conv=fsync", on_nodes(n, write, packed)),
                (OURS, stage(n, packed)),
            ):
                empty_nodes()
                shell(f"cat {packed}/* > /dev/null")
                times.run(tool, command)
        for tool in times.runs:
            show(n, times, tool)
        ratio_row(
            f"{n} nodes: times the seconds of dd conv=fsync",
            times.median(OURS) / times.median("dd conv=fsync"),
            1.25,
            False,
        )
    remove(NODES)


def planned(packed, n):
    """What --plan says beforehand of links of 1 Gbit/s."""
    out = subprocess.run(
        ["hpdsl-stage", "--plan", "--json", f"--nodes={n}", "--mode=replicate",
         f"--rates=link={LINK}", packed],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    return json.loads(out)


def bench_links():
    packed, n = dataset("staged"), 4
    size = size_of(packed)
    bed = os.path.join(DIR, "bed")
    plan = planned(packed, n)
    bound = size * (n - 1) / n / LINK
    shell(f"{BED}/nodes up {bed} {n} --link=1gbit --mtu={MTU} --ssd=4G"
          f" --origin={packed} --watch={os.getpid()}")
    run = f"{BED}/nodes run {bed} mpirun -q -n {n} --map-by ppr:1:node"
    times = Times("stage over links")
    own = []
    head(f"{n} hosts with links of 1 Gbit/s, MTU {MTU}, fast origin:"
         f" {bound:.2f} s at best; --plan says {plan['seconds']:.2f} s, bound by"
         f" {plan['bound']}")
    try:
        for rnd in range(ROUNDS):
            note(f"{times.what}: round {rnd + 1}")
            times.run("empty MPI program", f"{run} {TOOLS}/mpi_empty")
            touch_memory(n * size + (2 << 30))
            times.run(
                OURS,
                f"{run} hpdsl-stage -q --mode=replicate"
                f" --report={DIR}/report.json {bed}/origin {bed}/ssd/stage",
            )
            own.append(report()["seconds"])
            shell(f"{run} hpdsl-stage -q --clean {bed}/ssd/stage")
    finally:
        shell(f"{BED}/nodes down {bed}")
    for tool in times.runs:
        line(tool, times.median(tool), times.spread(tool))
    print(f"{'':34} of it, by its own report: {statistics.median(own):.2f}")
    took = times.median(OURS) - times.median("empty MPI program")
    ratio_row("share of what links allow, without MPI's start", bound / took,
              0.85, True)


def bench_rerun():
    packed, n = dataset("many-chunks"), 4
    times = Times(f"rerun, {CHUNKS} chunks")
    head(f"{CHUNKS} chunks that are there, {n} nodes")
    empty_nodes()
    shell(stage(n, packed))
    for rnd in range(ROUNDS):
        note(f"{times.what}: round {rnd + 1}")
        times.run("empty MPI program", f"{MPIRUN} -n {n} {TOOLS}/mpi_empty")
        times.run(OURS, stage(n, packed))
    for tool in times.runs:
        line(tool, times.median(tool), times.spread(tool))
    ratio_row(
        "seconds beyond an empty MPI program",
        times.median(OURS) - times.median("empty MPI program"),
        1.0,
        False,
    )
    remove(NODES)


def bench_stage():
    os.environ["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
    os.environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    built = os.access(BUILD + "/hpdsl-stage", os.X_OK)
    if not built or not shutil.which("mpirun"):
        note("stage left out: no MPI")
        return
    os.makedirs(NODES, exist_ok=True)
    beds = ROOT and os.access(BUILD + "/tests/bed/origin", os.X_OK)
    parts = os.environ.get("BENCH_PARTS", "capped,uncapped,links,rerun")
    for part, bench, needs_bed in (
        ("capped", bench_capped, True),
        ("uncapped", bench_uncapped, False),
        ("links", bench_links, True),
        ("rerun", bench_rerun, False),
    ):
        if part not in parts.split(","):
            continue
        if needs_bed and not beds:
            note(f"stage, {part}, left out: needs root and fuse3")
        else:
            bench()


BENCHES = {"stage": bench_stage}
