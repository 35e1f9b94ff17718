#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""killed.py TREE DATASET MNT KILLS [random]: the servers of a mount are killed while
one of their threads is seen to wait in the kernel, for a page that somebody reads, to
give it what is to be in it; whatever was killed has to end, and what is not goes on.

In turn it is the worker, the keeper, both, and all with the readers; and what is
waited for is a READ that a server has taken, and one that none has.  With random
they are killed at any moment.  Nothing is cut off by hand, but what hangs, in the end,
as a test that fails is to leave nothing.  Prints how many of the kills counted: those
where the thread was seen.
"""

import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests/python"))
from common import until_true  # noqa: E402
from model import cut_off  # noqa: E402

TREE, DATASET, MNT, KILLS = sys.argv[1:5]
RANDOM = sys.argv[5:] == ["random"]
NAMES = sorted(os.listdir(TREE))
KINDS = "worker", "keeper", "both", "all"
LOOKS = 2000
# Seconds until all have ended, where the clock is asked.
GONE = 10 if os.environ.get("HPDSL_LEVEL") == "long" else None
# The first READ is answered, and with it the chunk is filled: of what is given then
# the second file waits at a gate, and behind another one all answers do.
GATES = "op=give,after=1,wait=give;op=answer,after=1,times=0,wait=answer"
SLOW = "op=answer,times=0,slow=20"


def states(pid):
    """Of its threads, a letter each; none: it is no more."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as f:
                found.append(f.read().rpartition(")")[2].split()[0])
    except OSError:
        pass
    return found


def is_gone(pid):
    """It may be that nobody has asked for its status."""
    return not set(states(pid)) - set("ZX")


def kill(pids):
    """All of them, which may have ended."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def open_gates():
    """Of all servers that there are."""
    for gate in "give", "answer":
        if os.path.exists(gate):
            os.unlink(gate)


def servers():
    """Of this mount: who keeps, and its child."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                words = f.read().split("\0")
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if words[0].endswith("hpdsl-mount") and MNT in words:
            parents[int(pid)] = parent
    return next((p, pid) for pid, p in parents.items() if p in parents)


class Mount:
    """One for a command that is only there, and readers of it."""

    def __init__(self, faults):
        bed = os.path.join(os.environ["BUILD"], "tests/bed/hpdsl-mount")
        self.command = subprocess.Popen(
            [bed, "--fill=on", DATASET, MNT, "--", "sleep", "infinity"],
            env={**os.environ, "HPDSL_FAULT": faults},
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.readers = []
        until_true(self.is_there)
        self.top = f"/proc/{self.command.pid}/root{MNT}"
        self.device = os.minor(os.stat(self.top).st_dev)
        # the kernel is told names, so that it takes what is given to it
        assert sorted(os.listdir(self.top)) == NAMES
        self.keeper, self.worker = servers()

    def is_there(self):
        """It is another program then."""
        with open(f"/proc/{self.command.pid}/comm", encoding="utf-8") as f:
            return f.read() == "sleep\n"

    def read(self, names):
        """In a process: 0 if all of it is right, 1 if there was an error."""
        for name in names:
            with open(os.path.join(TREE, name), "rb") as f:
                want = f.read()
            try:
                with open(os.path.join(self.top, name), "rb", 0) as f:
                    if f.read() != want:
                        return 2
            except OSError:
                return 1
        return 0

    def begin(self, names):
        """A reader of those."""
        pid = os.fork()
        if pid == 0:
            os._exit(self.read(names))
        self.readers.append(pid)
        return pid

    def asks(self, name):
        """A reader that waits for its READ."""
        pid = self.begin([name])
        until_true(lambda: set(states(pid)) & set("SDZ"))

    def processes(self):
        """All that are left."""
        try:
            with open(f"/proc/{self.keeper}/task/{self.keeper}/children",
                      encoding="ascii") as f:
                workers = f.read().split()
        except OSError:
            workers = []
        return [*self.readers, self.command.pid, self.keeper, self.worker,
                *map(int, workers)]

    def kill(self, kind):
        """As the kind says; and then all the rest."""
        kill({"worker": [self.worker], "keeper": [self.keeper],
              "both": [self.worker, self.keeper],
              "all": self.processes()}[kind])
        if kind == "worker":
            until_true(self.have_read)
            until_true(is_gone, self.worker)
        left = self.processes()
        kill([*self.readers, self.command.pid])
        begin = time.monotonic()  # clock: of check-long
        try:
            until_true(lambda: all(map(is_gone, left)))
        except AssertionError:
            cut_off(self.device)
            raise
        took = time.monotonic() - begin  # clock: of check-long
        assert not GONE or took < GONE, (kind, took)

    def have_read(self):
        """The readers, what is right, whoever has answered."""
        open_gates()
        for pid in self.readers[:]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self.readers.remove(pid)
                assert status == 0, status
        return not self.readers

    def end(self):
        """Nothing is left of it here."""
        for pid in self.readers:
            os.waitpid(pid, 0)
        self.command.wait()
        open_gates()


def waits(pid):
    """Is a thread seen that does?"""
    for _ in range(LOOKS):
        if "D" in states(pid):
            return True
        time.sleep(0.005)  # clock: between looks, of which there are so many
    return False


def seen(kind, taken):
    """A kill of the kind; did it count?"""
    m = Mount(GATES)
    assert os.waitpid(m.begin(NAMES[:1]), 0)[1] == 0
    m.readers.clear()
    until_true(os.path.exists, "give")
    # Two are taken, as there are two threads for that.
    for name in NAMES[1:5] if taken else NAMES[3:5] + NAMES[1:3]:
        m.asks(name)
    os.unlink("give")
    counts = waits(m.worker)
    m.kill(kind)
    m.end()
    return counts


def at_random(kind):
    """A kill at any moment."""
    m = Mount(SLOW)
    for _ in range(4):
        m.begin(random.sample(NAMES, len(NAMES)))
    time.sleep(random.uniform(0, 0.3))  # clock: in check-long
    m.kill(kind)
    m.end()
    return True


def main():
    """KILLS of them, of which half have to count."""
    counted = told = 0
    for i in range(int(KILLS)):
        kind = KINDS[i % len(KINDS)]
        counted += at_random(kind) if RANDOM else seen(kind, i // 4 % 2)
        # a loop of check-long may be cut off
        if counted - told == 20 or i + 1 == int(KILLS):
            print("#", counted - told, "kills", flush=True)
            told = counted
    assert counted >= int(KILLS) // 2, "it showed nothing"


main()
