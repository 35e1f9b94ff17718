# SPDX-License-Identifier: Apache-2.0
"""How fast readers on hosts are over their links, and what others on the link
have of it."""
import json
import os
import subprocess
import time

from measure import DIR, TOOLS, dataset, remove, shell
from peers_bed import D1, IN, MBIT, PAYLOAD, THREADS, TWO, absent, bed, call
from peers_bed import result, rounds, row, slowest, total
from peers_faults import steady

EPOCHS = 3
ADDRESS_OF_2 = "10.83.0.3"


# ---- Speed ------------------------------------------------------------------


def epochs(b, size):
    """Each against what its links allow; and against no peers."""
    one, two, gain, asked, limit = [], [], [], [], size / PAYLOAD
    b.new_servers(IN)
    b.new_servers(TWO)
    some = f"--epochs={EPOCHS}"
    for _ in rounds("epochs over links"):
        before = b.chunk_bytes()
        said = b.epoch(IN, D1, some)
        asked.append(b.chunk_bytes() - before)
        one.append(slowest(said) / (EPOCHS * 0.1875 * limit))
        twice = b.epoch(TWO, D1, some)
        two.append(slowest(twice) / (EPOCHS * 0.125 * limit))
        off = b.epoch(IN, D1, peers=False)
        gain.append(slowest(off) / slowest(said) * EPOCHS)
    beside = f"{0.1875 * limit:.2f} s an epoch at {PAYLOAD / 1e6:.0f} MB/s"
    row(6, "an epoch over the links, of their limit", one, 1.25, beside)
    row(6, "the same, copies=2", two, 1.20, f"{0.125 * limit:.2f} s an epoch")
    row(7, "times as fast as without peers", gain, 4.0,
        f"without: {slowest(off):.2f} s an epoch", at_least=True)
    row(7, "chunk bytes from the origin in these epochs", asked, 0,
        f"without: {total(off, 'origin_bytes') / 1e6:.0f} MB an epoch")


def shuffled_over_all(b, size):
    """Ranks that want half of what a link allows."""
    samples = 64  # a step
    per_step = size / b.samples * samples * 0.75
    compute = per_step / (PAYLOAD / 2)
    ratio = []
    b.new_servers(IN)
    how = (f"--batch-size={samples}", f"--compute={compute:.4f}",
           f"--epochs={EPOCHS}")
    for _ in rounds("shuffled over all"):
        local = slowest(b.epoch(IN, f"--parts={len(b.hosts)}", *how))
        ratio.append(slowest(b.epoch(IN, D1, *how)) / local)
    row(8, "an epoch of D=1 with peers, of D=N from here", ratio, 1.10,
        f"D=N {local / EPOCHS:.2f} s; a step of {samples} computes"
        f" {compute:.3f} s")
    with_peers = steady(b, "parts=1")
    b.end_servers(IN)
    without = steady(b, "parts=1")
    same = [a["digest"] == o["digest"] for a, o in zip(with_peers, without)]
    row(8, "ranks to whom other samples came", [same.count(False)], 0,
        f"{total(without, 'origin_bytes') / 1e6:.0f} MB from the origin")


# ---- Others on the link -----------------------------------------------------


def ping(b, port, seconds=2):
    """p50 of 64 bytes to and fro, in ms, between hosts 1 and 2."""
    said = b.ask(1, f"{TOOLS}/reads_raw", "read", ADDRESS_OF_2, port, "1",
                 "4096", "64", "1", str(seconds))
    return json.loads(said)["p50_us"] / 1e3


def beside_bulk(b, port, *options):
    """The ping, while host 1 reads all that host 2 can send."""
    held = b.ask(2, "sh", "-c", f"cd {b.path(IN)} && echo chunk-*").split()
    numbers = [str(int("".join(c for c in h if c.isdigit()))) for h in held]
    b.new_servers(IN, *options)
    reader = b.begin(1, f"{TOOLS}/reads_peer", b.path(IN), str(4 << 20), "4",
                     "4", *numbers)
    time.sleep(1)
    took = ping(b, port)
    said = result(reader)
    return took, said["bytes"] / said["seconds"]


def pings(b):
    help_ = call(["hpdsl-serve", "--help"])
    if "--rate=" not in help_:
        absent(11, "ping beside --rate", "hpdsl-serve has no --rate")
        return
    rate = int(MBIT * 125000 * 0.6)
    index = f"{b.path(IN)}/index.hpdsl"
    alone, capped, free = [], [], []
    with b.raw(2, ADDRESS_OF_2, index) as port:
        for _ in rounds("pings"):
            alone.append(ping(b, port, 1))
            capped.append(beside_bulk(b, port, f"--rate={rate}"))
            free.append(beside_bulk(b, port))
    row(11, "ping beside --rate of 60 %, p50 in ms", [c[0] for c in capped],
        0.15, f"alone {max(alone):.3f} ms; bulk"
        f" {max(c[1] for c in capped) / 1e6:.0f} MB/s")
    row(11, "ping beside one without a rate, p50 in ms", [f[0] for f in free],
        None, f"bulk {max(f[1] for f in free) / 1e6:.0f} MB/s")


# ---- Cold chunks ------------------------------------------------------------


def make_cold(folder):
    for e in os.scandir(folder):
        if e.is_file():
            fd = os.open(e.path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def direct(folder):
    """Bytes a second past the page cache, four files at a time."""
    chunks = [e.path for e in os.scandir(folder) if "chunk-" in e.name]
    begin = time.monotonic()
    subprocess.run(
        ["xargs", "-P4", "-I{}", "dd", "if={}", "of=/dev/null", "bs=4M",
         "iflag=direct", "status=none"],
        input="\n".join(chunks), text=True, check=True,
    )
    return sum(map(os.path.getsize, chunks)) / (time.monotonic() - begin)


def over_link(b, disk):
    """What TCP alone gets over it, from memory."""
    chunks = sorted(e.path for e in os.scandir(disk) if "chunk-" in e.name)
    seen = [c.replace(disk, b.path(IN)) for c in chunks]
    small = min(map(os.path.getsize, chunks))
    with b.raw(2, ADDRESS_OF_2, *seen) as port:
        said = json.loads(b.ask(
            1, f"{TOOLS}/reads_raw", "read", ADDRESS_OF_2, port,
            str(len(chunks)), str(small), str(min(small, 4 << 20)), "4", "2"
        ))
    return said["bytes"] / said["seconds"]


def from_other(b):
    """Bytes a second, verified, of host 2's half at host 1."""
    said = result(b.begin(
        1, "hpdsl-bench", "--json", "-q", THREADS, "--ranks=2", "--rank=1",
        "--parts=2", b.path(IN)
    ))
    if said["peer_bytes"] * 10 < said["read_bytes"] * 9:
        raise SystemExit(f"bench: not from the other host: {said}")
    return said["read_bytes"] / said["seconds"]


def cold_over(packed, text, *options):
    """Two hosts whose SSDs are folders on the disk; host 1 wants what is on
    host 2's."""
    ratio, seen = [], {}
    disks = [f"{DIR}/disk{n}" for n in (1, 2)]
    with bed("bed2", 2, packed, *options) as b:
        for host, disk in zip(b.hosts, disks):
            remove(disk)
            os.makedirs(disk)
            b.ask(host, "mount", "--bind", disk, f"{b.dir}/ssd")
        b.stage(IN, "--mode=partition")
        b.new_servers(IN)
        far = f"{disks[1]}/{IN}"
        for _ in rounds(f"cold, {text}"):
            tcp = over_link(b, far)
            make_cold(far)
            disk = direct(far)
            make_cold(far)
            ours = from_other(b)
            # Again, from the memory of that host.
            for e in os.scandir(far):
                if "chunk-" in e.name:
                    shell(f"cat {e.path} > /dev/null")
            seen = {"disk": disk, "TCP": tcp, "ours": ours,
                    "ours, cached": from_other(b)}
            ratio.append(ours / min(tcp, disk))
    for disk in disks:
        remove(disk)
    row(5, f"cold chunks, {text}, of min(disk, link)", ratio, 0.85,
        ", ".join(f"{k} {v / 1e6:.0f} MB/s" for k, v in seen.items()), True)


def cold():
    packed = dataset("staged")
    cold_over(packed, f"{MBIT} Mbit/s", f"--link={MBIT}mbit")
    cold_over(packed, "no bound on the link")
