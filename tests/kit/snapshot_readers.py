#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several readers of one snapshot, and one whose file is cut short.

snapshot_readers.py shared FILE PROCESSES   all of them hold one copy of it
snapshot_readers.py cut FILE                mapped and copied; FILE is cut
snapshot_readers.py replaced FILE COMMAND.. COMMAND writes another FILE under
                                            an open one
"""

import os
import re
import signal
import subprocess
import sys

from snapshot_lib import COPY, Snapshot


def memory(pid, file):
    """KiB of a process: its part of what is mapped of the file, and what is its
    own alone, of no file."""
    of_file = own = 0
    here = False
    with open(f"/proc/{pid}/smaps", errors="surrogateescape") as f:
        for line in f:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                here = line.rstrip("\n").endswith(os.path.realpath(file))
            elif line.startswith("Pss:"):
                of_file += int(line.split()[1]) if here else 0
            elif line.startswith("Anonymous:"):
                own += int(line.split()[1])
    return of_file, own


READER = """
import sys
sys.path.insert(0, sys.argv[2])
from snapshot_lib import Snapshot
print(0, flush=True)
input()
s = Snapshot(sys.argv[1])
assert s.verify() == []
print(len([s.lookup(s.path(n)) for n in range(0, s.info().entries, 100)]),
      flush=True)
input()
"""


def shared(file, processes):
    readers = [subprocess.Popen(
        [sys.executable, "-c", READER, file, os.path.dirname(__file__)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(int(processes))]
    try:
        def step():
            for r in readers:
                r.stdin.write("\n")
                r.stdin.flush()

        def numbers():
            return [int(r.stdout.readline()) for r in readers]

        numbers()
        before = [memory(r.pid, file)[1] for r in readers]
        step()
        assert min(numbers()) > 0
        parts = [memory(r.pid, file) for r in readers]
        size = os.stat(file).st_size / 1024
        copies = sum(p for p, _ in parts) / size
        print(f"{processes} readers of {size:.0f} KiB: {copies:.3f} copies")
        assert 0.95 < copies < 1.05, parts
        # Nor is there a copy elsewhere.
        other = [own - was for (_, own), was in zip(parts, before)]
        print("KiB besides it:", other)
        assert max(other) < 1000, other
        step()
        assert all(r.wait() == 0 for r in readers)
    finally:
        for r in readers:
            r.kill()
            r.wait()


def cut(file):
    mapped, copied = Snapshot(file), Snapshot(file, COPY)
    with copied:
        name = copied.lookup(b"train-000000").name
        assert not copied.maps(name)
        name = mapped.lookup(b"train-000000").name
        assert mapped.maps(name) and not mapped.maps(id(name))
        assert not copied.maps(name)
        want = list(copied.readdir(0))
        os.truncate(file, 4096)
        pid = os.fork()
        if pid == 0:
            # a sanitizer may have another plan
            signal.signal(signal.SIGBUS, signal.SIG_DFL)
            mapped.verify()
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS
        assert copied.verify() == []
        assert list(copied.readdir(0)) == want


def replaced(file, *command):
    with Snapshot(file) as s:
        before = bytes(s.info().digest)
        subprocess.run(command, check=True)
        with Snapshot(file) as now:
            assert bytes(now.info().digest) != before
            assert now.verify() == []
        assert s.verify() == []
        for n in range(s.info().entries):
            assert s.lookup(s.path(n)).number == n


{"shared": shared, "cut": cut, "replaced": replaced}[sys.argv[1]](*sys.argv[2:])
