#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a snapshot with the live tree that it is of, entry by entry, and
everything that the library says of an entry with everything else.  Prints what
differs; exit status 1 then.

snapshot_same.py live FILE TREE       through the library
snapshot_same.py text FILE TREE       `hpdsl-snapshot dump`, read by its page
snapshot_same.py json FILE TREE       `hpdsl-snapshot find --json`
snapshot_same.py dataset FILE DATASET TREE    the files alone, and what
                                      hpdsl-ls says of them
"""

import base64
import json
import os
import re
import stat
import subprocess
import sys

import snapshot_lib
from snapshot_lib import NO_MEMBER, Snapshot

bad = 0


def differs(what, *values):
    global bad
    bad += 1
    if bad <= 20:
        print(what, *(("%r" % (v,))[:500] for v in values))


def equal(what, got, want):
    if got != want:
        differs(what, got, want)


def attributes(name, st):
    """Mode, size, mtime, target: as a snapshot has them."""
    target = None
    size = st.st_size
    if stat.S_ISLNK(st.st_mode):
        target = os.readlink(name)
        size = len(target)
    return (st.st_mode, size, st.st_mtime_ns // 10**9,
            st.st_mtime_ns % 10**9, target)


def live(top):
    """Of each folder of a tree, in no order: its path, its attributes, and
    those of what is in it.  Goes down by chdir, since paths are long."""
    back = os.open(b".", os.O_RDONLY)
    stack = [(os.fsencode(top), b"", None)]
    while stack:
        name, path, left = stack.pop()
        if left is None:
            os.chdir(name)
            here = {}
            for sub in os.listdir(b"."):
                here[sub] = attributes(sub, os.lstat(sub))
            yield path, attributes(b".", os.lstat(b".")), here
            left = [n for n, a in here.items() if stat.S_ISDIR(a[0])]
        if left:
            sub = left.pop()
            stack.append((name, path, left))
            stack.append((sub, path + b"/" + sub if path else sub, None))
        elif stack:
            os.chdir(b"..")
    os.chdir(back)
    os.close(back)


def got_attributes(fields):
    return fields[5], fields[2], fields[3], fields[4]


class Compare:
    """One snapshot with one tree."""

    def __init__(self, s):
        self.s = s
        self.seen = self.strings = 0
        self.many = []
        self.kinds = dict.fromkeys(("folders", "files", "symlinks", "others",
                                    "bytes"), 0)

    def count(self, a):
        kind = stat.S_IFMT(a[0])
        self.kinds[{stat.S_IFDIR: "folders", stat.S_IFREG: "files",
                    stat.S_IFLNK: "symlinks"}.get(kind, "others")] += 1
        if kind == stat.S_IFREG:
            self.kinds["bytes"] += a[1]
        self.seen += 1

    def entry(self, path, fields, want, parent):
        """All ways to one entry, that readdir has given."""
        s, number = self.s, fields[0]
        self.count(want)
        self.strings += len(fields[7]) + 1
        if want[4] is not None:
            self.strings += len(want[4]) + 1
        equal(path, got_attributes(fields), want[:4])
        equal(path, (fields[1], fields[6]), (parent, NO_MEMBER))
        for way, got in ("lookup", s.lookup(path)), ("stat", s.stat(number)):
            equal((way, path), got and got.fields(), fields)
        equal("path", s.path(number), path)
        if want[4] is not None:
            equal(("target", path), s.target(number), want[4])
        self.many += (path, fields), (path + b"\1\1", None)
        if len(self.many) > 999:
            self.ask_many()
        if self.seen % 64 == 0:
            self.absent(path, number, want)

    def ask_many(self):
        got = self.s.lookup_many([p for p, _ in self.many])
        for (path, want), answer in zip(self.many, got):
            equal(("many", path), answer, want)
        self.many = []

    def absent(self, path, number, want):
        s = self.s
        for wrong in (path + b"/", b"/" + path, path + b"/x", path[:-1] + b"/",
                      path + b"\0", path.replace(b"/", b"//") + b"/.",
                      b"./" + path, path + b"/..", path + b"x" * 5000):
            equal(wrong, s.lookup(wrong), None)
        if want[4] is None:
            equal(path, s.target(number), None)
        equal(path, s.checksum(number), None)

    def folder(self, path, here, room):
        s = self.s
        at = s.lookup(path)
        if at is None:
            differs("not there:", path)
            return
        number = at.number
        got = list(s.readdir(number, room))
        names = [f[7] for f in got]
        equal(("names in", path), names, sorted(here))
        first, n, end = s.folder(number)
        equal(("folder", path), n, len(here))
        if n:
            equal(("numbers", path), [f[0] for f in got],
                  list(range(first, first + n)))
        self.below[path] = end - first
        for fields in got:
            if fields[7] in here:
                self.entry(path + b"/" + fields[7] if path else fields[7],
                           fields, here[fields[7]], number)

    def all(self, tree):
        self.below = {}
        sizes = {}
        for i, (path, own, here) in enumerate(live(tree)):
            if path == b"":
                top = self.s.lookup(b"").fields()
                equal("the top", got_attributes(top), own[:4])
                equal("the top", (top[0], top[1], top[7]), (0, 0, b""))
                self.count(own)
            sizes[path] = len(here)
            self.folder(path, here, (1, 3, 1000)[i % 3] if len(here) < 100
                        else 1000)
        self.ask_many()
        for path in sorted(sizes, key=len, reverse=True):
            if path:
                up = path.rpartition(b"/")[0]
                sizes[up] += sizes[path]
        equal("below", self.below, sizes)
        info = self.s.info()
        equal("entries", info.entries, self.seen)
        if info.file_bytes > 64 * self.seen + self.strings + 1024:
            differs("bytes besides names",
                    (info.file_bytes - self.strings) / self.seen)
        for what, n in self.kinds.items():
            equal(what, getattr(info, what), n)
        equal("from a dataset", info.from_dataset, False)
        for past in self.seen, self.seen + 1, NO_MEMBER:
            self.refused(past, -34, self.s.stat, self.s.path, self.s.folder,
                         lambda n: list(self.s.readdir(n)))
        equal("damage", self.s.verify(), [])

    def refused(self, number, code, *functions):
        for function in functions:
            try:
                function(number)
                differs("takes it", function, number)
            except snapshot_lib.Failed as e:
                equal("code", e.code, code)


def compare_live(file, tree):
    for flags in 0, snapshot_lib.COPY:
        with Snapshot(file, flags) as s:
            equal("bytes", s.info().file_bytes, os.stat(file).st_size)
            if flags == 0:
                c = Compare(s)
                c.all(tree)
                print(c.seen, "entries")
                want = bytes(s.info().digest)
            equal("digest", bytes(s.info().digest), want)


# ---- Texts ----------------------------------------------------------------

def wanted(tree):
    want = {}
    for path, own, here in live(tree):
        if not path:
            want[b""] = own
        for name, a in here.items():
            want[path + b"/" + name if path else name] = a
    return want


def compare_all(got, want):
    if got == want:
        print(len(got), "entries")
        return
    for path in want.keys() - got.keys():
        differs("not there:", path)
    for path in got.keys() - want.keys():
        differs("too many:", path)
    for path in want.keys() & got.keys():
        equal(path, got[path], want[path])


ESCAPE = re.compile(rb"\\(\\|n|t|x[0-9a-f]{2})")


def unescape(text):
    assert not re.search(rb"[\0-\x1f\x7f]", text), text
    text.decode()
    assert b"\\" not in ESCAPE.sub(b"", text), text
    return ESCAPE.sub(lambda m: {b"\\": b"\\", b"n": b"\n", b"t": b"\t"}.get(
        m[1]) or bytes([int(m[1][1:], 16)]), text)


TYPES = dict(f=stat.S_IFREG, d=stat.S_IFDIR, l=stat.S_IFLNK, p=stat.S_IFIFO,
             c=stat.S_IFCHR, b=stat.S_IFBLK, s=stat.S_IFSOCK)
LINE = re.compile(rb"([fdlpcbs]) ([0-7]{4}) (\d+) (-?\d+)\.(\d{9}) (\d+|-) "
                  rb"([0-9a-f]{16}|-) ([^\t]*)(?:\t([^\t]*))?\n")


def dump(file):
    return subprocess.run(["hpdsl-snapshot", "dump", file], check=True,
                          stdout=subprocess.PIPE).stdout


def compare_text(file, tree):
    lines = dump(file).splitlines(keepends=True)
    equal("first line", lines[0], b"hpdsl-snapshot 1\n")
    got, order = {}, []
    for line in lines[1:]:
        m = LINE.fullmatch(line)
        if not m or (m[1] == b"l") != (m[9] is not None):
            differs("line", line)
            continue
        path = b"" if m[8] == b"." else unescape(m[8])
        assert path not in got, path
        got[path] = (TYPES[m[1].decode()] | int(m[2], 8), int(m[3]),
                     int(m[4]), int(m[5]), m[9] and unescape(m[9]))
        order.append(path)
        equal(path, (m[6], m[7]), (b"-", b"-"))
    compare_all(got, wanted(tree))
    equal("order", order, sorted(order, key=lambda p: p.split(b"/")
                                 if p else []))


def text_or_base64(row, name):
    if name + "_base64" in row:
        return base64.b64decode(row[name + "_base64"])
    return row[name].encode() if name in row else None


def rows(file, *command):
    """Of what a command prints as JSON, by paths."""
    out = subprocess.run(["hpdsl-snapshot", *command, "--json", file],
                         check=True, stdout=subprocess.PIPE).stdout
    got = {}
    for line in out.splitlines():
        row = json.loads(line)
        path = text_or_base64(row, "path")
        assert path not in got, path
        got[b"" if path == b"." else path] = row
    return got


def row_attributes(row):
    return (TYPES[row["type"]] | int(row["mode"], 8), row["size"],
            row["mtime"], row["mtime_nsec"])


def compare_json(file, tree):
    want = wanted(tree)
    compare_all({p: row_attributes(r) for p, r in rows(file, "find").items()},
                {p: a[:4] for p, a in want.items()})
    below = {p: [0, 0] for p in want}
    for path, a in want.items():
        up, size = path, 0 if stat.S_ISDIR(a[0]) else a[1]
        while True:
            below[up][0] += size
            below[up][1] += 1
            if not up:
                break
            up = up.rpartition(b"/")[0]
    compare_all({p: [r["bytes"], r["entries"]]
                 for p, r in rows(file, "du", "-a").items()}, below)
    del want[b""]
    compare_all({p: (*row_attributes(r), text_or_base64(r, "target"))
                 for p, r in rows(file, "ls", "-R").items()}, want)


def compare_dataset(file, dataset, tree):
    """Of a dataset: every file of the tree, folders by name alone."""
    members = {}
    out = subprocess.run(["hpdsl-ls", "--json", dataset], check=True,
                         stdout=subprocess.PIPE).stdout
    for number, line in enumerate(out.splitlines()):
        row = json.loads(line)
        members[text_or_base64(row, "path")] = number, int(row["xxh3_64"], 16)
    want = {}
    folders = {b""}
    for path, a in wanted(tree).items():
        if stat.S_ISREG(a[0]):
            want[path] = (a[0] & ~0o7000,) + a[1:4]
            while path:
                path = path.rpartition(b"/")[0]
                folders.add(path)
    with Snapshot(file) as s:
        info = s.info()
        equal("from a dataset", info.from_dataset, True)
        equal("entries", info.entries, len(want) + len(folders))
        equal("files", info.files, len(want))
        equal("bytes", info.bytes, sum(a[1] for a in want.values()))
        for path in folders:
            got = s.lookup(path)
            equal(path, got and got_attributes(got.fields()),
                  (stat.S_IFDIR | 0o755, 0, 0, 0))
            below = [p for p in want.keys() | folders
                     if p and p.rpartition(b"/")[0] == path] \
                if len(want) < 20000 else None
            if below is not None:
                equal(("in", path), [path + b"/" + f[7] if path else f[7]
                                     for f in s.readdir(got.number)],
                      sorted(below))
        for path, a in want.items():
            got = s.lookup(path)
            if got is None:
                differs("not there:", path)
                continue
            number, fields = got.number, got.fields()
            equal(path, got_attributes(fields), a)
            equal(path, (fields[6], s.checksum(number)),
                  members.get(path))
            equal("path", s.path(number), path)
        equal("damage", s.verify(), [])
    print(len(want), "files")


sys.setrecursionlimit(10000)
{"live": compare_live, "text": compare_text, "json": compare_json,
 "dataset": compare_dataset}[sys.argv[1]](*sys.argv[2:])
if bad:
    print(bad, "differences")
sys.exit(bad > 0)
