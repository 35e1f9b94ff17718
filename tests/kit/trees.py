#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares, with nothing of HPDSL's own code, what was packed with what came
back.  Says what differs; exit status 1 then.

trees.py same A B [seconds]    regular files: contents, modes, mtimes (seconds:
                               as tar keeps them)
trees.py same A B sizes        sizes instead of contents
trees.py tars DATASET          the chunks as tarfile reads them, and hpdsl-ls
trees.py content A             stdin: paths, each ended by a NUL; stdout: what
                               these files hold
"""

import base64
import hashlib
import json
import os
import stat
import subprocess
import sys
import tarfile

TAR_TIME_MAX = 8**11 - 1
bad = 0


def differs(what, *values):
    global bad
    bad += 1
    if bad <= 20:
        print(what, *("%r" % (v,) for v in values))


def walk(fd, prefix=b""):
    """Paths and descriptors of regular files, links to them included."""
    for name in os.listdir(fd):
        name = os.fsencode(name)
        st = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISDIR(st.st_mode):
            sub = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=fd)
            yield from walk(sub, prefix + name + b"/")
            os.close(sub)
            continue
        if not stat.S_ISREG(os.stat(name, dir_fd=fd).st_mode):
            continue
        file = os.open(name, os.O_RDONLY, dir_fd=fd)
        yield prefix + name, file
        os.close(file)


def tree(top, how):
    fd = os.open(top, os.O_RDONLY)
    files = {}
    for path, file in walk(fd):
        st = os.fstat(file)
        data = st.st_size
        if how != "sizes":
            with open(file, "rb", closefd=False) as f:
                data = f.read()
            if len(data) != st.st_size:
                differs("size:", path, st.st_size, len(data))
            data = hashlib.sha256(data).hexdigest()
        files[path] = data, st.st_mode & 0o7777, st.st_mtime_ns
    os.close(fd)
    return files


def tar_time(ns):
    return min(max(ns // 10**9, 0), TAR_TIME_MAX)


def same(a, b, how=None):
    a, b = tree(a, how), tree(b, how)
    for path in a.keys() - b.keys():
        differs("did not come back:", path)
    for path in b.keys() - a.keys():
        differs("was never there:", path)
    for path in a.keys() & b.keys():
        (data, mode, time), (data2, mode2, time2) = a[path], b[path]
        if how == "seconds":
            time, time2 = tar_time(time), time2 // 10**9
        if data != data2:
            differs("content:", path)
        if mode & 0o777 != mode2:
            differs("mode:", path, oct(mode), oct(mode2))
        if time != time2:
            differs("mtime:", path, time, time2)
    if not a:
        differs("nothing there")


def listed(dataset):
    """What the index says, by chunk, in its order."""
    chunks = {}
    out = subprocess.run(["hpdsl-ls", "--json", dataset], check=True,
                         stdout=subprocess.PIPE).stdout
    for line in out.splitlines():
        row = json.loads(line)
        if "path_base64" in row:
            path = base64.b64decode(row["path_base64"])
        else:
            path = row["path"].encode()
        chunks.setdefault(row["chunk"], []).append((path, row))
    return chunks


def key(path):
    base = path.rfind(b"/") + 1
    while path[base:base + 1] == b".":
        base += 1
    dot = path.find(b".", base)
    return path if dot < 0 else path[:dot]


def tars(dataset):
    chunks = listed(dataset)
    names = sorted(n for n in os.listdir(dataset) if n.endswith(".tar"))
    if len(names) != len(chunks):
        differs("chunks:", len(names), len(chunks))
    keys = {}
    for number, name in enumerate(names):
        rows = chunks.get(number, [])
        with tarfile.open(os.path.join(dataset, name), "r:",
                          encoding="utf-8", errors="surrogateescape") as t:
            members = t.getmembers()
        if len(members) != len(rows):
            differs("members of " + name, len(members), len(rows))
        for m, (path, row) in zip(members, rows):
            tar = (os.fsencode(m.name), m.size, m.offset_data, m.mode,
                   m.mtime, m.type, m.uid, m.gid, m.uname, m.gname)
            index = (path, row["size"], row["offset"], int(row["mode"], 8),
                     min(max(row["mtime"], 0), TAR_TIME_MAX), b"0", 0, 0, "",
                     "")
            if tar != index:
                differs("member of " + name, tar, index)
            keys.setdefault(row["sample"], set()).add((key(path), number))
    for sample, where in keys.items():
        if len(where) != 1:
            differs("sample has several keys or chunks:", sample, where)
    if len({k for where in keys.values() for k, _ in where}) != len(keys):
        differs("a key has several samples")


def content(top):
    os.chdir(top)
    for path in sys.stdin.buffer.read().split(b"\0")[:-1]:
        with open(path, "rb") as f:
            sys.stdout.buffer.write(f.read())


{"same": same, "tars": tars, "content": content}[sys.argv[1]](*sys.argv[2:])
sys.exit(bad > 0)
