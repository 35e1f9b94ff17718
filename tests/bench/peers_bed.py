# SPDX-License-Identifier: Apache-2.0
"""Hosts on one machine whose readers read from each other: tests/bed/nodes with
a stage directory and a server on each; and the table of what is held against
what was promised."""
import contextlib
import json
import os
import statistics
import subprocess
import time

from measure import BUILD, DIR, ROUNDS, TOOLS, note, results

HERE = os.path.dirname(os.path.abspath(__file__))
NODES = os.path.join(HERE, "../bed/nodes")
# Of all hosts, together: of the origin.
CAP = 100000000
# Of a host's link, each way.  With less the cores that play all hosts at once
# are further from being what binds.
MBIT = int(os.environ.get("BENCH_MBIT", "1000"))
# What the target counts as a link's payload.
PAYLOAD = 0.120e9 * MBIT / 1000
MTU = 9000
# Of a reader: so many reads are under way.  Nodes of real jobs have more cores
# than this, of which there is a thread each.
THREADS = "-j8"
PATIENCE = 150

IN, TWO = "in", "two"  # stage directories: a copy of each chunk, two
D1 = "--parts=1"  # shuffled over all that there is

rows = []


def rounds(what):
    for i in range(ROUNDS):
        note(f"peers, {what}: round {i + 1}")
        yield i


def call(command, **how):
    """What it prints; where it fails, what it says of that ends the bench."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=PATIENCE, **how
    )
    if done.returncode:
        raise SystemExit(f"bench: exit {done.returncode}: {command}\n"
                         f"{done.stdout}{done.stderr}")
    return done.stdout


def load():
    return os.getloadavg()[0]


def row(target, what, values, wanted, beside, at_least=False):
    """A line of the table: the median is held against wanted; None: it is only
    told."""
    value = statistics.median(values)
    met = wanted is None or (value >= wanted if at_least else value <= wanted)
    rows.append({
        "target": target, "what": what, "values": list(values),
        "value": value, "wanted": wanted, "at_least": at_least, "met": met,
        "beside": beside, "load": load(),
    })
    print(text_of(rows[-1]), flush=True)


def absent(target, what, why):
    rows.append({"target": target, "what": what, "absent": why})
    print(text_of(rows[-1]), flush=True)


def text_of(r):
    if "absent" in r:
        return f"{r['target']:>3} {r['what']:50} not here: {r['absent']}"
    sign = ">=" if r["at_least"] else "<="
    wanted = "told" if r["wanted"] is None else f"{sign} {r['wanted']:g}"
    verdict = "" if r["wanted"] is None else "met" if r["met"] else "MISSED"
    spread = f"{min(r['values']):.3g}-{max(r['values']):.3g}"
    return (f"{r['target']:>3} {r['what']:50}{wanted:>9}{r['value']:9.3f}"
            f"{spread:>16} {verdict:7}{r['load']:5.1f}  {r['beside']}")


def show_table():
    print(f"\npeers: the bed, links of {MBIT} Mbit/s, MTU {MTU}, an origin of"
          f" {CAP / 1e6:.0f} MB/s for all hosts, n={ROUNDS}")
    print(f"{'':3} {'':50}{'wanted':>9}{'median':>9}{'spread':>16} {'':7}"
          f"{'load':>5}  beside")
    for r in rows:
        print(text_of(r))
    results["peers_bed"] = rows


class Bed:
    """So many hosts over one origin."""

    def __init__(self, name, n):
        self.dir = os.path.join(DIR, name)
        self.hosts = range(1, n + 1)
        self.origin = f"{self.dir}/origin"
        self.pids = {}

    def on(self, host, *command):
        """The words of a command on a host."""
        return [NODES, "on", self.dir, str(host), *command]

    def ask(self, host, *command):
        return call(self.on(host, *command))

    def mpirun(self, *command):
        """One of each host."""
        return [NODES, "run", self.dir, "mpirun", "-q", "--mca",
                "oob_tcp_keepalive_time", "0", "--map-by", "ppr:1:node",
                *command]

    def path(self, name):
        """Each host has another folder there."""
        return f"{self.dir}/ssd/{name}"

    def stage(self, name, *options):
        call(self.mpirun("hpdsl-stage", "-q", *options, self.origin,
                         self.path(name)))

    def stats(self):
        """Operations and bytes of chunks that the origin was asked for."""
        count = {"operations": 0, "chunk_bytes": 0}
        for line in call([NODES, "stats", self.dir]).splitlines():
            words = line.split()
            if words[0] == "file" and "chunk-" in words[4]:
                count["chunk_bytes"] += int(words[1])
            # Its own counters are asked for by this.
            if words[0] in ("opens", "opendirs", "readdirs", "reads"):
                count["operations"] += int(words[1])
        return count

    def chunk_bytes(self):
        """Once nobody asks it for more."""
        while True:
            before = self.stats()["chunk_bytes"]
            time.sleep(0.5)
            if self.stats()["chunk_bytes"] == before:
                return before

    def link(self, host, how):
        call([NODES, "link", self.dir, str(host), how])

    # ---- Servers

    def serve(self, host, name, *options):
        self.ask(host, "hpdsl-serve", "-q", "--detach", *options,
                 self.path(name))
        said = self.ask(host, "hpdsl-serve", "--status", "--json",
                        self.path(name))
        self.pids[host, name] = json.loads(said.splitlines()[-1])["pid"]

    def signal(self, host, name, what):
        self.ask(host, "kill", "-s", what, str(self.pids[host, name]))

    def end_servers(self, name):
        """What they adopted goes with them."""
        for host, of in list(self.pids):
            if of == name:
                with contextlib.suppress(SystemExit):
                    self.signal(host, name, "KILL")
                del self.pids[host, of]

    def new_servers(self, name, *options):
        """Of which none knows anything of the ones before."""
        self.end_servers(name)
        for host in self.hosts:
            self.serve(host, name, *options)

    # ---- Readers

    def begin(self, host, *command, peers=True):
        env = dict(os.environ, HPDSL_PEERS="on" if peers else "off")
        if peers:
            env.pop("HPDSL_PEERS")
        # pylint: disable-next=consider-using-with
        return subprocess.Popen(
            self.on(host, *command), env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE
        )

    @contextlib.contextmanager
    def raw(self, host, address, *files):
        """TCP alone: the port at which these files are given."""
        server = self.begin(host, "sh", "-c", 'echo $$; exec "$@"', "sh",
                            f"{TOOLS}/reads_raw", "serve", address, *files)
        pid = server.stdout.readline().strip()
        try:
            yield server.stdout.readline().strip()
        finally:
            # Who was started here is not itself, but waits for it.
            self.ask(host, "kill", pid)
            server.communicate()

    def rank(self, host, name, *options, peers=True):
        """The rank of a host, as a job of one rank a host has it."""
        return self.begin(
            host, "hpdsl-bench", "--json", "-q", THREADS,
            f"--ranks={len(self.hosts)}", f"--rank={host - 1}", *options,
            self.path(name), peers=peers
        )

    def epoch(self, name, *options, peers=True):
        """By all ranks: what each says."""
        return [result(r) for r in [
            self.rank(host, name, *options, peers=peers) for host in self.hosts
        ]]


def result(reader):
    """What a reader says in the end."""
    try:
        out, err = reader.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        reader.kill()
        raise
    if reader.returncode:
        raise SystemExit(f"bench: a reader ended with {reader.returncode}:"
                         f" {err}")
    return json.loads(out)


@contextlib.contextmanager
def bed(name, n, packed, *options):
    made = Bed(name, n)
    os.environ["BUILD"] = BUILD
    subprocess.run([NODES, "down", made.dir], check=False,
                   stderr=subprocess.DEVNULL)
    call([NODES, "up", made.dir, str(n), f"--origin={packed}",
          f"--mtu={MTU}", f"--watch={os.getpid()}", *options])
    try:
        yield made
    finally:
        call([NODES, "down", made.dir])


def slowest(said, what="seconds"):
    return max(r[what] for r in said)


def total(said, what):
    return sum(r[what] for r in said)
