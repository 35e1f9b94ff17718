#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""squeeze.py TREE MNT READS SEED: eight processes read the same files of both, so
often each, at the same time, in parts that overlap, all of them once, and compare.  Each has
to come forward; if one does not, where it is in the kernel is told, and the mount
is cut off, so that all end.  Prints how many reads there were."""

import mmap
import os
import random
import signal
import struct
import sys
import time

from model import anew, answer, cut_off, direct, mapped, pread, sent

READERS = 8
# Seconds for one read where many others are at work.
PATIENCE = 600
# So many files are read by all at a time: of two chunks, or three.
WINDOW = 24


class Counts:
    """A number for each reader, which all see."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 8 * READERS)

    def all(self):
        """As they are now."""
        return struct.unpack("%dQ" % READERS, self.memory)

    def add(self, me):
        """One more."""
        n = self.all()[me] + 1
        struct.pack_into("Q", self.memory, 8 * me, n)


def read(me, counts):
    """Parts; then all of one file."""
    tree, mnt, reads, seed = sys.argv[1:]
    rnd = random.Random(int(seed) * READERS + me)
    # the kernel is told names, so that it takes what is given to it
    with os.scandir(mnt) as found:
        names = sorted(e.name for e in found)
    assert len(names) > WINDOW
    for done in range(int(reads)):
        i = done * len(names) // int(reads) + rnd.randrange(WINDOW)
        if rnd.random() < 0.1:
            i = rnd.randrange(len(names))
        name = names[min(i, len(names) - 1)]
        size = os.path.getsize(os.path.join(tree, name))
        at = rnd.randrange(size) if rnd.random() < 0.7 else 0
        n = rnd.choice((1, 4096, 70000, 300000))
        how = rnd.choice((pread, pread, pread, mapped, anew, direct, sent))
        a, b = (answer(f, os.path.join(top, name), at, n)
                for f, top in ((sent if how is sent else pread, tree),
                               (how, mnt)))
        assert a == b, (how.__name__, name, at, n, a[:20], b[:20])
        counts.add(me)
    name = names[me]
    assert pread(os.path.join(tree, name), 0, 1 << 30) == pread(
        os.path.join(mnt, name), 0, 1 << 30), name
    assert len(os.listdir(mnt)) == len(names)


def begun(me, counts):
    """The number of a reader's process."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            read(me, counts)
            status = 0
        finally:
            sys.excepthook(*sys.exc_info()) if status else None
            sys.stderr.flush()
            os._exit(status)
    return pid


def stuck(pid, device):
    """Where it is; and no request is waited for any longer."""
    for name in ("wchan", "stack", "syscall"):
        try:
            with open("/proc/%d/%s" % (pid, name), encoding="ascii") as f:
                print(name, f.read(), file=sys.stderr)
        except OSError as e:
            print(name, e, file=sys.stderr)
    cut_off(device)


def main():
    """Watches them."""
    device = os.minor(os.stat(sys.argv[2]).st_dev)
    counts = Counts()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    pids = {begun(me, counts): me for me in range(READERS)}
    since, before, bad = [time.monotonic()] * READERS, counts.all(), []  # clock: of a hang
    while pids and not bad:
        signal.sigtimedwait([signal.SIGCHLD], 1)
        for pid, me in list(pids.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del pids[pid]
                bad += [(me, status)] if status else []
            elif counts.all()[me] != before[me]:
                since[me] = time.monotonic()  # clock: of a hang
            elif time.monotonic() - since[me] > PATIENCE:  # clock: of a hang
                bad.append((me, "stuck"))
                stuck(pid, device)
        before = counts.all()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert not bad, bad
    print("#", sum(counts.all()), "reads")


if __name__ == "__main__":
    main()
