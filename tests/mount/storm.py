#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads that always ask the server, of a mount whose workers are killed.

    storm.py TREE MNT KILLS

One thread kills the worker again and again, after times drawn anew, as often as
KILLS says; others read files past the page cache and ask for names that are not
there.  With KILLS 0 it is somebody else who kills: they read some files.  Each
answer is held against TREE.  The killed are listed in the file "killed".  Prints
how long the longest of a hundred answers took, in the middle, and in all.
"""

import json
import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time

TREE, MNT = sys.argv[1:3]
KILLS = int(sys.argv[3])
READERS = 4
READS = 10  # of each, where nobody is killed here
over = threading.Event()
took = []
wrong = []
seen = set()


def worker():
    """Its number, or 0: none answers just now."""
    said = subprocess.run(["hpdsl-mount", "--status", "--json", MNT],
                          check=False, capture_output=True, text=True).stdout
    try:
        return json.loads(said)["mounts"][0]["worker"]
    except (ValueError, LookupError):
        return 0


def storm():
    """Each worker once."""
    dice, done, before = random.Random(1), 0, 0
    while done < KILLS and not wrong:
        now = worker()
        if now in (0, before):
            continue
        time.sleep(dice.random() * 0.02)  # clock: in check-more
        with open("killed", "a", encoding="ascii") as f:
            print(now, file=f)
        os.kill(now, signal.SIGKILL)
        before = now
        done += 1
    over.set()


def look():
    """Who is it that answers?"""
    with open(os.path.join(MNT, ".hpdsl/status"), encoding="utf-8") as f:
        seen.add(json.load(f)["mounts"][0]["worker"])


def past_the_cache(path, size):
    """All of it, as the server says."""
    room = mmap.mmap(-1, (size + 4096) // 4096 * 4096)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        n = os.preadv(fd, [room], 0)
        return room[:n]
    finally:
        os.close(fd)


def reader(number):
    """Until the storm is over, and once more."""
    dice = random.Random(number)
    names = sorted(os.listdir(TREE))
    last = False
    i = 0
    while not last and not wrong:
        last = over.is_set() if KILLS else i == READS
        name = dice.choice(names)
        with open(os.path.join(TREE, name), "rb") as f:
            want = f.read()
        begin = time.monotonic()  # clock: told
        try:
            got = past_the_cache(os.path.join(MNT, name), len(want))
            there = os.path.exists(os.path.join(MNT, f"no{number}.{i}"))
            if not KILLS:
                look()
        except OSError as e:
            wrong.append(f"{name}: {e}")
            return
        took.append(time.monotonic() - begin)  # clock: told
        if got != want or there:
            wrong.append(f"{name}: wrong")
        i += 1


def main():
    """An exit status."""
    threads = [threading.Thread(target=reader, args=(i,))
               for i in range(READERS)]
    if KILLS:
        threads.append(threading.Thread(target=storm))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if not KILLS:
        look()
        with open("killed", "w", encoding="ascii") as f:
            print(*sorted(seen - {worker()}), sep="\n", file=f)
    for w in wrong:
        print(w, file=sys.stderr)
    took.sort()
    print(f"{KILLS} kills, {len(took)} times a read and a name: "
          f"{took[len(took) // 2] * 1000:.2f} ms in the middle, "
          f"{took[len(took) * 99 // 100] * 1000:.1f} ms of a hundred, "
          f"{took[-1] * 1000:.1f} ms at most")
    sys.exit(bool(wrong))


main()
