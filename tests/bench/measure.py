# SPDX-License-Identifier: Apache-2.0
"""Running commands in turn, their times, tables of medians and ratios."""
import os
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


def touch_memory(n):
    """In a virtual machine, memory that is used for the first time is slower
    than any SSD: has n bytes of it used, just before they are wanted."""
    shell(f"{TOOLS}/touch {n}")


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
