# SPDX-License-Identifier: Apache-2.0
"""alone.py DATASET TREE KIND..: jobs that are measured, and hpdsl-stall killed
(SIGKILL) while they replay: nothing of them lives on, and no file has a step
that was after it.

A job writes down, in each file that it makes, when its last step was; what is at
its end, or at an error, makes one named "kept".  All processes become children of
this one, so that they are gone when it has none."""

import ctypes
import os
import random
import subprocess
import sys
import time

from common import until_true

PR_SET_CHILD_SUBREAPER = 36

JOB = """
import atexit, os, select, signal, sys, time
def keep(*_):
    open("kept", "w").close()
atexit.register(keep)
signal.signal(signal.SIGTERM, keep)
kind, data, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
def batches():
    if kind == "torch":
        import glob, torch
        from torch.utils.data import DataLoader, Dataset
        class Files(Dataset):
            names = sorted(glob.glob(data + "/*/*.bin"))
            def __len__(self):
                return len(self.names)
            def __getitem__(self, i):
                with open(self.names[i], "rb") as f:
                    return torch.tensor(len(f.read()))
        while True:
            yield from DataLoader(Files(), 16, shuffle=True,
                                  num_workers=int(os.environ["WORKERS"]))
    import hpdsl
    with hpdsl.Loader(hpdsl.Dataset(data), batch_size=16, memory=16 << 20,
                      rank=rank, ranks=ranks) as loader:
        while True:
            yield loader.next_batch()
try:
    for step, batch in enumerate(batches()):
        time.sleep(0.01)  # clock: what it computes
        last = time.monotonic()  # clock: before or behind the kill
        if kind == "gate" and os.path.exists("shut"):
            while not os.path.exists("go"):
                time.sleep(0.001)  # clock: a poll of a job's own
            open("kept", "w").close()
        if kind == "peer" and select.select([sys.stdin], [], [], 0)[0]:
            raise ConnectionResetError("the other rank")
        if step % 5 == 0:
            with open(f"saved.{rank}.{step}", "w") as f:
                f.write(repr(last))
except BaseException:
    keep()
    raise
"""


def job(kind, dataset, tree):
    python = [sys.executable, "job.py"]
    bench = ("hpdsl-bench -q --memory=16M --batch-size=16 --epochs=100000 "
             f"--compute=0.01 {dataset}")
    return {
        "python": [*python, "plain", dataset, "1"],
        "gate": [*python, "gate", dataset, "1"],
        "c": ["sh", "-c", f"{bench}; : > kept"],
        "agent": ["setsid", "-w", "sh", "-c", f"{bench} & wait; : > kept"],
        "elsewhere": ["sh", "-c", "unshare --net \"$@\" & wait", "-",
                      *python, "plain", dataset, "1"],
        # A rank elsewhere that fails as soon as one is killed here.
        "peer": ["sh", "-c", "sleep infinity | unshare --net \"$@\" & wait",
                 "-", *python, "peer", dataset, "1"],
        "ranks": ["mpirun", "-n", "2", *python, "plain", dataset, "2"],
        "torch": [*python, "torch", tree, "1"],
        "workers": [*python, "torch", tree, "1"],
    }[kind]


def said(what):
    with open("err") as f:
        return what in f.read()


def all_gone():
    """Takes those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def saved():
    return [name for name in os.listdir() if name.startswith("saved.")]


def kill(kind, command, moment):
    """While it replays, after so many of its files and seconds."""
    with open("err", "w") as err:
        stall = subprocess.Popen(["hpdsl-stall", "run", "--steps=1000", "--",
                                  *command], stderr=err,
                                 env=dict(os.environ, WORKERS=str(
                                     4 * (kind == "workers"))))
    until_true(lambda: said("alike by now") or stall.poll() is not None)
    assert stall.poll() is None, open("err").read()
    before = len(saved())
    if kind not in ("c", "agent"):
        until_true(lambda: len(saved()) > before + moment.randrange(5))
    if kind == "gate":
        open("shut", "w").close()
    time.sleep(moment.random() * 0.05)  # clock: any moment is as good
    stall.kill()
    stall.wait()
    return time.monotonic()  # clock: what was before and what behind it


def check(kind, dataset, tree, moment):
    command = job(kind, dataset, tree)
    end = kill(kind, command, moment)
    if kind == "gate":
        open("go", "w").close()
    until_true(all_gone)
    took = time.monotonic() - end  # clock: told, and not judged
    late = []
    for name in saved():
        with open(name) as f:
            last = float(f.read() or 0)
        if last > end:
            late.append(f"{name}: {last - end:.6f} s behind")
    print(f"{kind}: {len(saved())} files, all gone after {took:.3f} s",
          flush=True)
    assert not late, late
    assert not os.path.exists("kept"), kind


def main():
    dataset, tree, *kinds = sys.argv[1:]
    seed = int(os.environ.get("SEED", 0)) or random.randrange(1 << 30)
    print("SEED", seed)
    moment = random.Random(seed)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    top = os.getcwd()
    for i, kind in enumerate(kinds):
        os.mkdir(f"{top}/{i}")
        os.chdir(f"{top}/{i}")
        with open("job.py", "w") as f:
            f.write(JOB)
        check(kind, dataset, tree, moment)


main()
