# SPDX-License-Identifier: Apache-2.0
"""Runs one reader for an epoch: what it took, in how much memory, in which cgroup."""
import json
import os
import select
import signal
import subprocess
import time

from measure import BUILD, note

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = os.environ.get("LIBRARIES", os.path.join(BUILD, "libraries"))
PYTHON = os.path.join(LIBRARIES, "bin/python")
LIMIT = float(os.environ.get("BENCH_SECONDS", "120"))
EVERY = 0.2  # seconds between two looks at memory
CGROUPS = "/sys/fs/cgroup"


def environment():
    """Our package is the tree's."""
    paths = [os.path.join(HERE, "../../lib/python"), HERE]
    return {**os.environ, "BUILD": BUILD, "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
            "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}


def begin(name, *words, **how):
    env = environment()
    # What conflicts with the others lies in a folder.
    if not words or "mds" in words:
        env["PYTHONPATH"] += os.pathsep + os.path.join(LIBRARIES, "streaming")
    return subprocess.Popen(
        [PYTHON, "-W", "ignore", os.path.join(HERE, name), *words], text=True,
        env=env, start_new_session=True, **how)


# ---- A bound of memory


class Cgroup:
    """One that holds processes to so many bytes; false where none may be made."""

    def __init__(self, limit):
        first = os.path.join(CGROUPS, "memory")
        one = os.path.isdir(first)
        self.path = f"{first if one else CGROUPS}/hpdsl-bench-{os.getpid()}"
        self.bound = os.path.join(
            self.path, "memory.limit_in_bytes" if one else "memory.max")
        try:
            os.makedirs(self.path, exist_ok=True)
            self.write(self.bound, limit)
            self.there = True
        except OSError as error:
            note(f"no cgroup with a bound of memory may be made: {error}")
            self.there = False

    def __bool__(self):
        return self.there

    @staticmethod
    def write(path, value):
        with open(path, "w", encoding="ascii") as f:
            f.write(str(value))

    def take(self, pid):
        self.write(os.path.join(self.path, "cgroup.procs"), pid)

    def end(self):
        try:
            os.rmdir(self.path)
        except OSError:
            pass


# ---- What processes have


def tree_of(pid):
    """A process and those that it began, and theirs."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children",
                          encoding="ascii") as f:
                    found += map(int, f.read().split())
        except OSError:
            pass
    return found


def mib_of(pid):
    """Proportional set size of all of them."""
    kib = 0
    for one in tree_of(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as f:
                kib += sum(int(line.split()[1]) for line in f
                           if line.startswith("Pss:"))
        except OSError:
            pass
    return kib / 1024


def cpu_of(pid):
    """CPU seconds of all of them, and of children that have ended."""
    ticks = 0
    for one in tree_of(pid):
        try:
            with open(f"/proc/{one}/stat", encoding="ascii") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15 if one == pid else 13]))
    return ticks / os.sysconf("SC_CLK_TCK")


# ---- One epoch


class Failed(Exception):
    pass


def line_of(child, until, look=lambda: None):
    """Its next line; look() is called while there is none."""
    while time.monotonic() < until:
        if select.select([child.stdout], [], [], EVERY)[0]:
            line = child.stdout.readline()
            if not line:
                raise Failed("killed, as where memory is short"
                             if child.wait() == -signal.SIGKILL
                             else f"ended: status {child.returncode}")
            return line
        look()
    raise Failed(f"over {LIMIT:g} s")


def one_epoch(reader, place, configuration, prepare, cgroup=None, step=0,
              weigh=False):
    """What it says of itself, its CPU seconds and its memory; Failed."""
    path = os.path.join(LIBRARIES, f"bench-{reader}.log")
    with open(path, "wb") as log:
        child = begin("library_epoch.py", reader, place,
                      json.dumps(configuration), str(step), "01"[weigh],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    peak = [0.0]

    def look():
        peak[0] = max(peak[0], mib_of(child.pid))

    try:
        line_of(child, time.monotonic() + LIMIT)
        prepare()
        if cgroup:
            cgroup.take(child.pid)
        before = cpu_of(child.pid)
        child.stdin.write("go\n")
        child.stdin.flush()
        said = json.loads(line_of(child, time.monotonic() + LIMIT, look))
        look()
        return {**said, "cpu": cpu_of(child.pid) - before, "mib": peak[0],
                "waited": said["seconds"] - said["computed"]}
    except Failed as error:
        with open(path, encoding="utf-8", errors="replace") as log:
            last = (log.read().rstrip().splitlines() or [""])[-1]
        raise Failed(f"{error} ({last[:100]}; {path})") from None
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        child.stdin.close()
        child.stdout.close()
