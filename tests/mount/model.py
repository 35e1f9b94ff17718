#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model.py TREE MNT N [SEED [LIMIT [GROUP]]]: asks N things of both, at
random, and compares.  TREE is mounted read only, since what would write is asked
for, too.  LIMIT: of seconds; it ends then.  GROUP: the folder of a control
group, of which all caches are dropped now and then."""

import ctypes
import errno
import mmap
import os
import random
import subprocess
import sys
import time

PAGE = 4096
LIBC = ctypes.CDLL(None, use_errno=True)
for _name, _gives, _takes in (
        ("opendir", ctypes.c_void_p, [ctypes.c_char_p]),
        ("readdir", ctypes.c_void_p, [ctypes.c_void_p]),
        ("telldir", ctypes.c_long, [ctypes.c_void_p]),
        ("seekdir", None, [ctypes.c_void_p, ctypes.c_long]),
        ("rewinddir", None, [ctypes.c_void_p]),
        ("closedir", ctypes.c_int, [ctypes.c_void_p])):
    getattr(LIBC, _name).restype = _gives
    getattr(LIBC, _name).argtypes = _takes
# Where in struct dirent the name is.
NAME = 19


def answer(f, *args):
    """What it gives, or which error."""
    try:
        return f(*args)
    except OSError as e:
        return ("error", e.errno)
    except ValueError as e:
        return ("error", str(e))


def walk(top):
    """All paths below it."""
    found = []
    for folder, folders, files in os.walk(top):
        at = os.path.relpath(folder, top)
        found += [os.path.normpath(os.path.join(at, n))
                  for n in folders + files]
    return sorted(found)


def cut_off(device):
    """The mount with this minor number: whoever waits for it gets an error."""
    top = "/sys/fs/fuse/connections"
    if not os.listdir(top):
        subprocess.run(["mount", "-t", "fusectl", "none", top], check=False)
    try:
        with open("%s/%d/abort" % (top, device), "w", encoding="ascii") as f:
            f.write("1")
    except OSError as e:
        print(e, file=sys.stderr)


# ---- What is read

def stat(path):
    """But for what differs: numbers, owners, and all but the type of folders."""
    s = os.lstat(path)
    if os.path.isdir(path):
        return s.st_mode >> 12
    return s.st_mode, s.st_size, s.st_mtime_ns, s.st_nlink


def space(path):
    """What is alike in all that is read only."""
    s = os.statvfs(path)
    return s.f_flag & os.ST_RDONLY, s.f_namemax


def pread(path, at, n):
    """Some of it."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.pread(fd, n, at)
    finally:
        os.close(fd)


def anew(path, at, n):
    """The same, when the kernel has forgotten it."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.pread(fd, n, at)
    finally:
        os.close(fd)


def direct(path, at, n):
    """The same, past the page cache: whole pages, into a page's beginning."""
    skip = at % PAGE
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, (skip + n + PAGE - 1) // PAGE * PAGE) as m:
            got = os.preadv(fd, [m], at - skip)
            return m[skip:min(got, skip + n)]
    finally:
        os.close(fd)


def mapped(path, at, n):
    """The same, as memory."""
    with open(path, "rb") as f:
        with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
            return m[at:at + n]


def written(path, at, n):
    """The same, as memory of which a part is changed, for this process alone."""
    with open(path, "rb") as f:
        with mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY) as m:
            m[at:at + 1] = b"x" * len(m[at:at + 1])
            return m[at:at + n]


def sent(path, at, n):
    """The same, by sendfile."""
    r, w = os.pipe()
    fd = os.open(path, os.O_RDONLY)
    try:
        k = os.sendfile(w, fd, at, min(n, 60000))
        return os.read(r, k) if k else b""
    finally:
        for d in (r, w, fd):
            os.close(d)


def hole(path, at):
    """Where data and holes are: there is but one stretch of data."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.lseek(fd, at, os.SEEK_DATA), os.lseek(fd, at, os.SEEK_HOLE)
    finally:
        os.close(fd)


def listing(path):
    """Names and types."""
    with os.scandir(path) as found:
        return sorted((e.name, e.is_dir(), e.is_file()) for e in found)


def rest(folder, most):
    """What readdir says next, each with the place before it."""
    found = []
    while len(found) < most:
        at = LIBC.telldir(folder)
        entry = LIBC.readdir(folder)
        found.append((at, entry and ctypes.string_at(entry + NAME)))
        if not entry:
            break
    return found


def sought(path, seed):
    """Names, by who goes back, and on, to where it was."""
    folder = LIBC.opendir(os.fsencode(path))
    if not folder:
        raise OSError(ctypes.get_errno(), "opendir")
    try:
        found = rest(folder, sys.maxsize)
        rnd = random.Random(seed)
        for _ in range(8):
            i = rnd.randrange(len(found))
            LIBC.seekdir(folder, found[i][0])
            assert rest(folder, 3) == found[i:i + 3], (path, i)
        LIBC.rewinddir(folder)
        assert rest(folder, sys.maxsize) == found, path
        return sorted(name for _, name in found[:-1])
    finally:
        LIBC.closedir(folder)


def opened(path, flags):
    """Can it be?"""
    os.close(os.open(path, flags, 0o644))
    return True


# ---- What would write

def moved(path, to):
    """To another name, beside it."""
    os.rename(path, path + to)


def linked(path, to):
    """With another name, beside it."""
    os.link(path, path + to)


def pointed(path):
    """A link there."""
    os.symlink("x", path)


READS = (
    [(stat,)] * 3 + [(space,), (listing,), (listing,), (sought, "seed")] +
    [(os.readlink,), (hole, "at"), (mapped, "at", "n"), (written, "at", "n")] +
    [(pread, "at", "n")] * 4 + [(anew, "at", "n"), (direct, "at", "n")] * 2 +
    [(sent, "at", "n")] * 2 +
    [(os.access, how) for how in (os.F_OK, os.R_OK, os.X_OK)] +
    [(opened, how) for how in (
        os.O_RDONLY, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_PATH,
        os.O_RDONLY | os.O_CREAT | os.O_EXCL)])
WRITES = (
    [(opened, how) for how in (
        os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_TRUNC,
        os.O_CREAT, os.O_CREAT | os.O_RDWR, os.O_TMPFILE | os.O_RDWR,
        os.O_WRONLY | os.O_DIRECT)] +
    [(moved, ".new"), (moved, ""), (linked, ".new"), (linked, ""), (pointed,),
     (os.mkdir,), (os.mknod,), (os.mkfifo,), (os.unlink,), (os.rmdir,),
     (os.truncate, "at"), (os.chmod, 0o600), (os.chown, 0, 0), (os.utime,),
     (os.setxattr, "user.x", b"x"), (os.removexattr, "user.x"),
     (os.access, os.W_OK)])
MAKES = pointed, os.mkdir, os.mknod, os.mkfifo
# Not every file system that a tree may be on can do it.
INSTEAD = {direct: pread}


def nearly(rnd, path):
    """A path that is not there, or under another name, or none at all."""
    return rnd.choice([
        path + "x", path + "/x", path[:-1], path + "/..", path + "/.",
        "x" * 300, path + "\x01", path + "/" + "y" * 255, "y" * 255,
        path + "/" + "z" * 256, path + "z" * 256, "é" * 128, "d/" * 2100,
        path + "/." * 2000, path + "/../x", path.swapcase()])


def regular(path):
    """A file, in which there is something."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def dropped(group):
    """What the kernel keeps for the group it drops, as far as it can."""
    for name, text in (("memory.force_empty", "0"), ("memory.reclaim", "1G")):
        name = os.path.join(group, name)
        if os.path.exists(name):
            # which says that it could not all
            answer(write, name, text)


def write(name, text):
    """As a whole."""
    with open(name, "w", encoding="ascii") as f:
        f.write(text)


def main():
    """Each at random, for a path that is there, or nearly."""
    tree, mnt, n, seed, seconds, group = (sys.argv[1:] + [""] * 3)[:6]
    n, rnd = int(n), random.Random(int(seed or 7))
    end = time.monotonic() + float(seconds or "inf")  # clock: in check-long
    # some paths are as long as can be
    assert len(tree) == len(mnt)
    for top in (tree, mnt):
        assert os.statvfs(top).f_flag & os.ST_RDONLY, top
    paths = walk(tree)
    assert paths == walk(mnt)
    files = [p for p in paths if os.path.isfile(os.path.join(mnt, p))]
    folders = sorted(set(paths) - set(files))
    # those of many names more often
    folders += [p for p in folders
                if len(os.listdir(os.path.join(mnt, p))) > 20] * 100
    total = os.statvfs(mnt)
    assert (total.f_bfree, total.f_bavail, total.f_ffree) == (0, 0, 0), total
    assert total.f_files >= len(files), total
    assert total.f_blocks * total.f_frsize >= sum(
        os.path.getsize(os.path.join(mnt, p)) for p in files), total
    refused = done = 0
    while done < n and (done % 256 or time.monotonic() < end):  # clock: in check-long
        if group and done % 20000 == 0:
            dropped(group)
        path = rnd.choice(files if rnd.random() < 0.7 else paths)
        if rnd.random() < 0.1:
            path = nearly(rnd, path)
        ask, *args = rnd.choice(WRITES if rnd.random() < 0.15 else READS)
        if ask in MAKES and rnd.random() < 0.7:
            path += ".new"
        if ask in (listing, sought) and rnd.random() < 0.7:
            path = rnd.choice(folders)
        if ask in (hole, direct) and not regular(os.path.join(tree, path)):
            # of a folder, and of nothing, each file system says what it likes
            continue
        if "at" in args:
            size = answer(os.path.getsize, os.path.join(tree, path))
            size = size if isinstance(size, int) else 0
            at = rnd.choice([0, 0, rnd.randrange(size + 2), max(size - 5, 0)])
            more = rnd.choice([1, 100, 4096, 70000, 1 << 20])
            args = [{"at": at, "n": more}.get(a, a) for a in args]
        args = [rnd.randrange(1 << 30) if a == "seed" else a for a in args]
        a = answer(INSTEAD.get(ask, ask), os.path.join(tree, path), *args)
        b = answer(ask, os.path.join(mnt, path), *args)
        assert a == b, (done, ask.__name__, path, args, a, b)
        refused += b == ("error", errno.EROFS)
        done += 1
    assert refused > done / 50, refused
    print("#", done, "operations")


if __name__ == "__main__":
    main()
