# SPDX-License-Identifier: Apache-2.0
"""Nodes that read from each other, held against what is promised of them, on
hosts of network namespaces."""
import contextlib
import os
import shutil
import time

import peers_faults
import peers_links
from measure import BUILD, DIR, ROOT, TOOLS, dataset, note, remove, shell
from peers_bed import CAP, IN, MBIT, TWO, bed, call, rounds, row, show_table
from stage import size_of

HOSTS = 4


# ---- Many servers -----------------------------------------------------------


def make_tiny(tree):
    shell(f"{TOOLS}/gen {tree}.in 640 100 png 2000 > /dev/null")
    shell(f"hpdsl-pack -q --chunks=128 {tree}.in {tree}")
    remove(tree + ".in")


def list_hosts(n):
    """The list and the secret that servers without staging's book want."""
    hosts, secret = f"{DIR}/hosts.list", f"{DIR}/hosts.secret"
    with open(hosts, "w", encoding="ascii") as f:
        f.writelines(f"bed-n{i:03d}\n" for i in range(1, n + 1))
    remove(secret)
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w",
              encoding="ascii") as f:
        f.write(os.urandom(32).hex() + "\n")
    return [f"--hosts={hosts}", f"--secret={secret}"]


def seconds_of(command):
    begin = time.monotonic()
    call(command)
    return time.monotonic() - begin


def many_servers():
    n, tree = 64, os.path.join(DIR, "peers-tiny")
    if not os.path.isdir(tree):
        make_tiny(tree)
    ratio, asked, took = [], [], []
    with bed("bed64", n, tree) as b:
        one = f"{DIR}/peers-one"
        remove(one)
        call(b.mpirun("-n", "1", "hpdsl-stage", "-q", "--mode=replicate",
                      b.origin, one))
        for host in b.hosts:
            b.ask(host, "cp", "-a", one, b.path(IN))
        serve = b.mpirun("hpdsl-serve", "-q", "--detach", *list_hosts(n),
                         b.path(IN))
        call(b.mpirun("true"))
        for _ in rounds("64 servers"):
            plain = seconds_of(b.mpirun("true"))
            before = b.stats()["operations"]
            took.append(seconds_of(serve))
            asked.append(b.stats()["operations"] - before)
            ratio.append(took[-1] / plain)
            call(b.mpirun("hpdsl-serve", "--stop", b.path(IN)))
        remove(one)
    row(12, "64 servers until all answer, of `true`", ratio, 1.5,
        f"mpirun of `true` {took[-1] / ratio[-1]:.1f} s")
    row(12, "operations on the shared file system", asked, 0, "its counter")


# ---- All --------------------------------------------------------------------

# Some of them: BENCH_TARGETS=9,10.
ON_FOUR = {
    (14,): lambda b, size: peers_faults.hung_servers(b),
    (9,): lambda b, size: peers_faults.faults(b),
    (10,): peers_faults.lost_bytes,
    (6, 7): peers_links.epochs,
    (8,): peers_links.shuffled_over_all,
    (11,): lambda b, size: peers_links.pings(b),
}


def wanted(*targets):
    some = os.environ.get("BENCH_TARGETS")
    return not some or any(str(t) in some.split(",") for t in targets)


def on_four():
    packed = dataset("staged")
    size = size_of(packed)
    with bed("bed4", HOSTS, packed, f"--link={MBIT}mbit",
             f"--options=rate={CAP}") as b:
        b.samples = len(call(["hpdsl-ls", "--samples", packed]).split())
        b.stage(IN, "--mode=partition")
        if wanted(14):
            peers_faults.no_server(b)
        if wanted(6, 7, 14):
            b.stage(TWO, "--mode=copies=2")
        for targets, part in ON_FOUR.items():
            if wanted(*targets):
                part(b, size)


def on_bed():
    if not ROOT or not os.access(f"{BUILD}/tests/bed/origin", os.X_OK):
        note("peers, bed, left out: needs root and fuse3")
        return
    if not shutil.which("mpirun") or not shutil.which("ip"):
        note("peers, bed, left out: no mpirun, or no ip")
        return
    with contextlib.ExitStack() as end:
        end.callback(show_table)
        if wanted(12):
            many_servers()
        if wanted(*(t for targets in ON_FOUR for t in targets)):
            on_four()
        if wanted(5):
            peers_links.cold()
