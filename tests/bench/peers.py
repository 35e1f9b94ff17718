# SPDX-License-Identifier: Apache-2.0
"""Nodes that read from each other: what a server gives a reader, beside what
TCP allows on the same core; jobs in virtual time, see sim_peers.c; and hosts of
network namespaces, see peers_targets.py."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import time

import measure
from measure import DIR, ROOT, ROUNDS, SCALE, TOOLS, dataset, note, ratio_row
from measure import remove, results, shell
from peers_targets import on_bed
from stage import MPIRUN

NODES = os.path.join(DIR, "peers")
# All on one core, as nice as a server is.
CORE = max(os.sched_getaffinity(0))
ON_CORE = ["taskset", "-c", str(CORE), "nice", "-n", "5"]
SECONDS = 1 if SCALE >= 1 else 0.4
# Bytes of a read, and how many are under way.
SHAPES = {
    "4 MiB, 4": (4 << 20, 4),
    "100 KB, 16": (102400, 16),
    "100 KB, 1": (102400, 1),
}
RAW, NGINX, OURS = "TCP, sendfile", "nginx, libcurl", "hpdsl-serve"
LOADER = "loader, verified"
NGINX_PORT = 18080
NGINX_CONF = """
user root; worker_processes 1; daemon off; pid {dir}/nginx.pid;
events {{ worker_connections 64; }}
http {{
    access_log off; sendfile on; keepalive_requests 100000000;
    server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""
# Together they had less of the core than this: something else ran there.
SHARE = 0.9


def make_chunks(tree):
    """256 MiB in chunks of 64 MiB."""
    shell(f"{TOOLS}/gen {tree}.in {max(1200, int(1200 * SCALE))} 100 JPEG"
          " 220000")
    shell(f"hpdsl-pack -q --chunk-size=64M {tree}.in {tree}")
    remove(tree + ".in")


measure.MAKERS["chunks-64M"] = make_chunks


class Server:
    """A program on the core, its CPU time."""

    def __init__(self, *command, **how):
        # pylint: disable-next=consider-using-with
        self.program = subprocess.Popen(
            ON_CORE + list(command), text=True, **how
        )

    def tasks(self):
        """Its threads, and its children, as nginx has them."""
        pid = self.program.pid
        for task in os.listdir(f"/proc/{pid}/task"):
            yield f"/proc/{pid}/task/{task}"
            with open(f"/proc/{pid}/task/{task}/children",
                      encoding="ascii") as f:
                yield from (f"/proc/{child}" for child in f.read().split())

    def seconds(self):
        """That they ran, those that live."""
        total = 0
        for task in self.tasks():
            with open(f"{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def stop(self):
        self.program.send_signal(signal.SIGTERM)
        self.program.wait()


def chunks_in(folder):
    return sorted(e for e in os.listdir(folder) if e.startswith("chunk-"))


def until_it_serves(folder):
    for _ in range(200):
        done = subprocess.run(
            ["hpdsl-serve", "--status", "--json", folder],
            capture_output=True, text=True, check=False,
        )
        if re.search(r'"port": [1-9]', done.stdout):
            return
        time.sleep(0.05)
    raise SystemExit(f"bench: no server answers for {folder}")


def nginx_conf(root):
    path = os.path.join(DIR, "nginx.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write(NGINX_CONF.format(dir=DIR, port=NGINX_PORT, root=root))
    return path


@contextlib.contextmanager
def servers(folders):
    """One for each, and the raw one over the first one's chunks."""
    paths = [f"{folders[0]}/{c}" for c in chunks_in(folders[0])]
    made = {f: Server("hpdsl-serve", "-q", f) for f in folders}
    made[RAW] = Server(
        f"{TOOLS}/reads_raw", "serve", "127.0.0.1", *paths,
        stdout=subprocess.PIPE
    )
    if shutil.which("nginx") and ROOT:
        made[NGINX] = Server("nginx", "-c", nginx_conf(folders[0]))
    else:
        note("no nginx, or not root: nothing beside it but TCP")
    try:
        for folder in folders:
            until_it_serves(folder)
        made[OURS] = made.pop(folders[0])
        yield made
    finally:
        for server in made.values():
            server.stop()


def used_by_children():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def run(server, command):
    """What it prints, and the CPU seconds of it and its server."""
    before, ours = server.seconds(), used_by_children()
    out = subprocess.run(
        ON_CORE + command, capture_output=True, text=True, check=True
    ).stdout
    said = json.loads(out)
    said["client"] = used_by_children() - ours
    said["server"] = server.seconds() - before
    cpu = said["client"] + said["server"]
    said["share"] = cpu / said["seconds"]
    # Of a core that is theirs alone.
    said["per_second"] = said["bytes"] / cpu
    said["load"] = os.getloadavg()[0]
    return said


def commands(folders, port, nginx):
    smallest = min(
        os.path.getsize(f"{folders[0]}/{c}") for c in chunks_in(folders[0])
    )
    numbers = [str(int(re.sub(r"\D", "", c))) for c in chunks_in(folders[0])]
    for text, (size, n) in SHAPES.items():
        shape = [str(size), str(n), str(SECONDS)]
        yield text, RAW, [
            f"{TOOLS}/reads_raw", "read", "127.0.0.1", port, str(len(numbers)),
            str(smallest), *shape
        ]
        if nginx:
            yield text, NGINX, [
                f"{TOOLS}/reads_curl", f"http://127.0.0.1:{NGINX_PORT}",
                str(smallest), *shape, *chunks_in(folders[0])
            ]
        yield text, OURS, [f"{TOOLS}/reads_peer", folders[1], *shape, *numbers]
    # The share of the other node's rank: nothing of it is here.
    yield "4 MiB, 4", LOADER, [
        "hpdsl-bench", "--json", "--parts=2", "--ranks=2", "--rank=0",
        "--lanes=4", "--epochs=24", "-j1", folders[1]
    ]


def median(runs, what):
    return statistics.median(r[what] for r in runs)


def show(runs):
    print(f"{'':14}{'':18}{'GB/s':>7}{'a core':>8}{'p50 us':>8}"
          f"{'client + server CPU s/GB':>26}{'share':>7}{'load':>6}")
    for (text, who), rs in runs.items():
        p50 = f"{median(rs, 'p50_us'):8.0f}" if "p50_us" in rs[0] else " " * 8
        client = statistics.median(r["client"] / r["bytes"] for r in rs) * 1e9
        server = statistics.median(r["server"] / r["bytes"] for r in rs) * 1e9
        wall = statistics.median(r["bytes"] / r["seconds"] for r in rs) / 1e9
        print(f"{text:14}{who:18}{wall:7.2f}"
              f"{median(rs, 'per_second') / 1e9:8.2f}{p50}"
              f"{client:17.3f} + {server:.3f} {median(rs, 'share'):6.2f}"
              f"{median(rs, 'load'):6.1f}", flush=True)
    if any(median(rs, "share") < SHARE for rs in runs.values()):
        note(f"core {CORE} was not theirs alone; ratios are of GB/s of a core")


def judge(runs, idle):
    def of(text, who, other=RAW):
        pairs = zip(runs[text, who], runs[text, other])
        return statistics.median(
            a["per_second"] / b["per_second"] for a, b in pairs
        )

    ours = runs["4 MiB, 4", OURS]
    cpu = statistics.median(1e9 / r["per_second"] for r in ours)
    ratio_row("4 MiB, of TCP's speed", of("4 MiB, 4", OURS), 0.60, True)
    if ("4 MiB, 4", NGINX) in runs:
        ratio_row("4 MiB, of nginx, libcurl", of("4 MiB, 4", OURS, NGINX),
                  0.90, True)
    ratio_row("into a loader, verified", of("4 MiB, 4", LOADER), 0.45,
              True)
    ratio_row("100 KB, 16, of TCP's", of("100 KB, 16", OURS), 0.42, True)
    ratio_row("100 KB, 1, p50 in us", median(runs["100 KB, 1", OURS],
                                             "p50_us"), 95, False)
    ratio_row("4 MiB, CPU s per GB", cpu, 0.40, False)
    ratio_row("idle, CPU %", idle, 0.05, False)


def idle_percent(server):
    before, begin = server.seconds(), time.monotonic()
    time.sleep(3)
    return (server.seconds() - before) / (time.monotonic() - begin) * 100


def speeds():
    packed = dataset("chunks-64M")
    remove(NODES)
    os.makedirs(NODES)
    shell(f"{MPIRUN} -n 2 hpdsl-stage -q --mode=partition --pretend-nodes=2"
          f" {packed} '{NODES}/%n'")
    folders = [f"{NODES}/{n}" for n in range(2)]
    runs = {}
    with servers(folders) as made:
        port = made[RAW].program.stdout.readline().strip()
        for i in range(ROUNDS):
            note(f"peers: round {i + 1}")
            for text, who, command in commands(
                folders, port, NGINX in made
            ):
                said = run(made.get(who, made[OURS]), command)
                runs.setdefault((text, who), []).append(said)
        idle = idle_percent(made[OURS])
    remove(NODES)
    print(f"\npeers: both ends on core {CORE}, nice 5, from memory, n={ROUNDS}")
    show(runs)
    judge(runs, idle)
    results["peers_reads"] = [
        {"what": text, "who": who, "runs": rs}
        for (text, who), rs in runs.items()
    ]


def simulated():
    print("\npeers: jobs whose nodes read from each other, no byte moved")
    lines = []
    with subprocess.Popen(
        [f"{TOOLS}/sim_peers"], stdout=subprocess.PIPE, text=True
    ) as program:
        for line in program.stdout:
            print("  " + line.rstrip(), flush=True)
            lines.append(line.split())
    if program.returncode:
        raise SystemExit("bench: the simulation of peers failed")
    results["peers"] = lines


# BENCH_PARTS: some of these.
PARTS = {"speeds": speeds, "simulated": simulated, "bed": on_bed}


def peers():
    wanted = os.environ.get("BENCH_PARTS")
    for name in wanted.split(",") if wanted else PARTS:
        if name in PARTS:
            PARTS[name]()


BENCHES = {"peers": peers}
