#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes trees to take snapshots of.

snapshot_trees.py nasty DIR [SEED]    all that a name space can hold, the hardest
                                      first; the seed is the order of making
snapshot_trees.py many DIR FOLDERS FILES    so many folders of so many empty files
"""

import os
import random
import socket
import stat
import sys

TIMES = {
    b"zero": 0, b"half before": -1500000000, b"one ns before": -1,
    b"1901": -2147483600 * 10**9, b"1901 and 1 ns": -2147483600 * 10**9 + 1,
    b"2038": 2147483648 * 10**9, b"2106": 4294967296 * 10**9 + 999999999,
    b"2400": 13569465600 * 10**9 + 123456789, b"one ns": 1,
}


def many(top, folders, files):
    for i in range(folders):
        folder = os.path.join(top, "%06d" % i)
        os.makedirs(folder)
        fd = os.open(folder, os.O_RDONLY)
        for k in range(files):
            os.close(os.open("%08d.jpg" % k, os.O_CREAT | os.O_WRONLY, 0o644,
                             dir_fd=fd))
            if k % 10 == 0:
                os.utime("%08d.jpg" % k, ns=(0, (i * files + k) * 10**6 + 1),
                         dir_fd=fd)
        os.close(fd)


def file(name, size=0, mode=0o644, ns=None):
    with open(name, "wb") as f:
        f.truncate(size)
    os.chmod(name, mode)
    if ns is not None:
        os.utime(name, ns=(ns, ns))


def special(name):
    """Sockets have short names only."""
    here = socket.socket(socket.AF_UNIX)
    here.bind(name)
    here.close()


def deep(part, total):
    """A path of that many bytes in all, of such parts, made step by step, and
    a file at its end."""
    top = os.open(".", os.O_RDONLY)
    left = total
    while left > 2 * (len(part) + 1):
        os.mkdir(part)
        os.chdir(part)
        left -= len(part) + 1
    last = b"E" * left
    while len(last) > 255:
        os.mkdir(last[:200])
        os.chdir(last[:200])
        last = last[201:]
    file(last, 3)
    os.chdir(top)
    os.close(top)


def jobs():
    """What is made, one by one, in any order."""
    yield lambda: deep(b"d" * 255, 4095)
    yield lambda: deep(b"s", 4095)
    yield lambda: deep(b"four", 4000)
    bytes_ = [bytes([c]) for c in range(1, 256) if c not in b"./"]
    for name in bytes_ + [b"_" + c + b"_" for c in bytes_]:
        yield lambda n=name: file(b"bytes/" + n, len(n))
    for name in (b"...", b".x", b"..x", b"x.", b"new\nline", b"\n\n", b"a",
                 b"a-b", b"a.b", b"a b", b"a\xff", b"a\x01", b"ab", b"A",
                 b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80",
                 "\u65e5\u672c".encode(), "\U0001f98a".encode(), b"\\n",
                 b"\\x41", b"\\\\", b" ", b"  ", b"\t", b"-", b"--help"):
        yield lambda n=name: file(b"odd/" + n, 5)
    # Folders and files whose names begin alike: their order differs from that
    # of the paths.
    for name in (b"a", b"a-", b"a.", b"a0", b"b"):
        yield lambda n=name: os.mkdir(b"order/" + n)
        yield lambda n=name: (os.makedirs(b"order2/" + n),
                              file(b"order2/" + n + b"/f"))
    yield lambda: file(b"order/a!", 1)
    for n in range(1, 256, 6):
        yield lambda n=n: file(b"length/" + b"n" * n)
    yield lambda: os.makedirs(b"empty/empty/empty")
    yield lambda: os.mkdir(b"empty/" + b"e" * 255)
    for mode in (0, 0o001, 0o400, 0o777, 0o1777, 0o2755, 0o4755, 0o6711,
                 0o7777):
        yield lambda m=mode: file(b"mode/%04o" % m, 0, m)
        yield lambda m=mode: (os.mkdir(b"mode/d%04o" % m),
                              os.chmod(b"mode/d%04o" % m, m | 0o500))
    for name, ns in TIMES.items():
        yield lambda n=name, t=ns: file(b"time/" + n, 0, 0o644, t)
        yield lambda n=name, t=ns: (os.symlink(b"x", b"time/l" + n), os.utime(
            b"time/l" + n, ns=(t, t), follow_symlinks=False))
    yield lambda: file(b"size/5G", 5 << 30)
    yield lambda: file(b"size/4G", 1 << 32)
    yield lambda: file(b"size/4G-1", (1 << 32) - 1)
    yield lambda: file(b"size/1T", 1 << 40)
    for name, target in (
            (b"dangling", b"nowhere/at all"), (b"self", b"self"),
            (b"loop1", b"loop2"), (b"loop2", b"loop1"), (b"abs", b"/etc"),
            (b"up", b".."), (b"dot", b"."), (b"folder", b"../mode"),
            (b"file", b"../size/5G"), (b"long", b"t/" * 2000),
            (b"longest", b"u" * 4095), (b"odd", b"new\nline\t\xff\\"),
            (b"\xff\n", b"one"), (b"slash", b"a//b/"), (b"one", b"1")):
        yield lambda n=name, t=target: os.symlink(t, b"link/" + n)
    yield lambda: (file(b"hard/first", 7), os.link(b"hard/first",
                                                   b"hard/second"))
    yield lambda: os.mkfifo(b"special/fifo", 0o640)
    yield lambda: special(b"special/socket")


FOLDERS = (b"bytes", b"odd", b"order", b"order2", b"length", b"empty", b"mode",
           b"time", b"size", b"link", b"hard", b"special")


def devices():
    """For root, and where there may be some."""
    try:
        os.mknod(b"special/char", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        os.mknod(b"special/block", 0o660 | stat.S_IFBLK, os.makedev(7, 99))
    except PermissionError:
        pass


def settle():
    """Times of everything that got none above: the same in every tree."""
    top = os.open(".", os.O_RDONLY)

    def stamp(name):
        # by name alone, so that it does not depend on the order; the two
        # names of one file have one time
        same = b"first" if name == b"second" else name
        ns = 1600000000 * 10**9 + sum(same) * 1000003 + len(same)
        os.utime(name, ns=(ns, ns), follow_symlinks=False)

    def down(where):
        stack = [[where, None]]
        while stack:
            name, left = stack[-1]
            if left is None:
                os.chdir(name)
                left = stack[-1][1] = os.listdir(b".")
            if left:
                sub = left.pop()
                st = os.lstat(sub)
                if stat.S_ISDIR(st.st_mode):
                    stack.append([sub, None])
                elif st.st_mtime_ns not in TIMES.values():
                    stamp(sub)
                continue
            stack.pop()
            if stack:
                os.chdir(b"..")
                stamp(name)

    down(b".")
    os.chdir(top)
    stamp(b".")
    os.close(top)


def nasty(top, seed=0):
    os.umask(0o022)
    os.makedirs(top)
    os.chdir(top)
    todo = list(jobs())
    folders = list(FOLDERS)
    rnd = random.Random(seed)
    if seed:
        rnd.shuffle(todo)
        rnd.shuffle(folders)
    for folder in folders:
        os.mkdir(folder)
    if seed:
        # leftovers that go again: another order in the folder
        for folder in folders:
            for i in range(rnd.randrange(200)):
                file(folder + b"/gone%d" % i)
    for job in todo:
        job()
    devices()
    if seed:
        for folder in folders:
            for name in os.listdir(folder):
                if name.startswith(b"gone"):
                    os.unlink(folder + b"/" + name)
    settle()


def main():
    kind, top = sys.argv[1], sys.argv[2]
    if kind == "nasty":
        nasty(top, *map(int, sys.argv[3:]))
    else:
        many(top, *map(int, sys.argv[3:]))


main()
