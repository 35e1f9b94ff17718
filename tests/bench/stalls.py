# SPDX-License-Identifier: Apache-2.0
"""What hpdsl-stall says of jobs whose truth is known, and what it costs."""
import json
import os
import statistics
import subprocess
import sys
import time

from measure import BUILD, DIR, ROOT, SCALE, TOOLS, note, remove, results, shell
from stage import origin

MIB = 1 << 20
BATCH = 16
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
# Compute of a step in seconds, bytes a second of the origin.
JOBS = [(c, r) for c in (0.005, 0.02, 0.06) for r in (7 * MIB, 13 * MIB)]
SHARES, REPEATS, HIDDEN = 3, 2, 5  # points of a cold step
OVERHEAD, SECONDS = 1, 300  # percent; of a whole analysis

# Eight seconds of pause in front of each 20 steps: read-ahead hides 20 of them.
PAUSING = """
import sys, time, hpdsl
with hpdsl.Loader(hpdsl.Dataset(sys.argv[1]), batch_size=16, epochs=1000,
                  memory=16 << 20) as loader:
    n = 0
    while True:
        loader.next_batch()
        n += 1
        time.sleep(float(sys.argv[2]) if n % 20 else 8)
"""


def made():
    """Samples of 3 to 30 KB."""
    tree, out = (os.path.join(DIR, f"stalls-{SCALE:g}{s}") for s in ("", ".packed"))
    if not os.path.isdir(out):
        note(f"making {out}")
        for path in (tree, out):
            remove(path)
        n = max(2000, int(8000 * SCALE))
        shell(f"{TOOLS}/gen {tree} {n} 20 bin 3000-30000")
        shell(f"hpdsl-pack -q --labels=dir --chunks=8 {tree} {out}")
    return out


def measured(job, *options):
    """The report, and seconds."""
    begin = time.monotonic()
    done = subprocess.run(
        ["hpdsl-stall", "run", "-q", "--json", *options, "--", *job],
        cwd=DIR, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: exit {done.returncode}: {job}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1]), time.monotonic() - begin


def fetch_share(report):
    return 100 * report["parts"]["fetch"]["ms"] / report["steps"]["cold"]["ms"]


def bench_job(source, compute, epochs=1000):
    return ["hpdsl-bench", "-q", "--memory=16M", f"--batch-size={BATCH}",
            f"--epochs={epochs}", f"--compute={compute}", source]


def step_of(source, compute):
    """Of the job by itself, as it says, behind its first batch."""
    said = json.loads(subprocess.run(
        [*bench_job(source, compute, 5), "--json"], capture_output=True,
        text=True, check=True).stdout)
    return (said["seconds"] - said["first_batch_seconds"]) / (said["steps"] - 1)


def truth_of(packed, mount, compute):
    """Of a step from this storage, what is no longer there from local files."""
    cold = step_of(mount, compute)
    return 100 * max(0, 1 - step_of(packed, compute) / cold)


def row(name, is_, wanted, unit, good):
    verdict = "met" if good else "MISSED"
    print(f"  {name:46}{is_:>9.1f} {unit:7} wanted {wanted:<10} {verdict}")
    results["rows"].append(dict(bench="stall", name=name, value=is_,
                                wanted=wanted, good=good))


def known_truth(packed):
    print(f"\nstall: {len(JOBS)} jobs whose fetch stall is known, medians of "
          f"{ROUNDS}; points of a cold step")
    worst = spread = longest = 0
    for compute, rate in JOBS:
        with origin(packed, f"rate={rate},mapped=index.hpdsl") as mount:
            truth = truth_of(packed, mount, compute)
            said = [measured(bench_job(mount, compute), "--rounds=1",
                             "--steps=40") for _ in range(ROUNDS)]
        shares = [fetch_share(report) for report, _ in said]
        middle = statistics.median(shares)
        print(f"  {1e3 * compute:4.0f} ms, {rate / MIB:3.0f} MiB/s: truth "
              f"{truth:5.1f} %, said {middle:5.1f} ({min(shares):.1f} to "
              f"{max(shares):.1f})")
        worst = max(worst, abs(middle - truth))
        # A/A: the same job again
        spread = max(spread, statistics.median(
            abs(a - b) for a, b in zip(shares, shares[1:] + shares[:1])))
        longest = max(longest, *(seconds for _, seconds in said))
    row("the share that is most wrong", worst, f"<= {SHARES}", "points",
        worst <= SHARES)
    row("two runs of the same (A/A), the worst job", spread, f"<= {REPEATS}",
        "points", spread <= REPEATS)
    row("a whole analysis, at the most", longest, f"<= {SECONDS}", "s",
        longest <= SECONDS)


def hidden_stock(packed):
    rate, compute = 13 * MIB, 0.005
    path = os.path.join(DIR, "pausing.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PAUSING)
    os.environ["PYTHONPATH"] = os.path.join(os.path.dirname(
        os.path.abspath(__file__)), "../../lib/python")
    with origin(packed, f"rate={rate},mapped=index.hpdsl") as mount:
        truth = truth_of(packed, mount, compute)
        report, took = measured([sys.executable, path, mount, str(compute)],
                             "--rounds=1", "--steps=20", "--no-load")
    wrong = abs(fetch_share(report) - truth)
    row("a pause of 8 s before each 20 steps", wrong, f"<= {HIDDEN}", "points",
        wrong <= HIDDEN)
    row("the analysis of that job", took, f"<= {SECONDS}", "s",
        took <= SECONDS)


def overhead(packed):
    """Of a rank that waits for another one, so that nothing is played: pure
    reading, which no compute hides."""
    took = {"with": [], "without": [], "again": []}
    steps = max(50000, int(100000 * SCALE))  # some seconds
    job = ["hpdsl-bench", "--cache=keep", "--memory=64M",
           f"--batch-size={BATCH}", "--epochs=1000", f"--steps={steps}", "--ranks=2", "--rank=0",
           "--json", packed]
    for _ in range(2 * ROUNDS):
        for way, front in (("with", ["hpdsl-stall", "run", "-q", "--"]),
                           ("without", []), ("again", [])):
            done = subprocess.run(front + job, cwd=DIR, capture_output=True,
                                  text=True, check=False)
            took[way].append(json.loads(done.stdout.splitlines()[0])["seconds"])
    more, aa = (100 * (statistics.median(
        a / b for a, b in zip(took[way], took["without"])) - 1)
        for way in ("with", "again"))
    print(f"  reading alone, {1e6 * statistics.median(took['without']) / steps:.1f}"
          f" us a step; A/A {aa:.1f} percent")
    row("a job that is watched and not played", more, f"<= {OVERHEAD}",
        "percent", more <= OVERHEAD)


def bench_stall():
    if not ROOT or not os.access(BUILD + "/tests/bed/origin", os.X_OK):
        note("stall left out: no bed")
        return
    packed = made()
    known_truth(packed)
    hidden_stock(packed)
    overhead(packed)


BENCHES = {"stall": bench_stall}
