#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random trees, random edits, and what they come to, told from lstat alone.

snapshot_edits.py make TREE SEED N      a tree of about N names
snapshot_edits.py edit TREE SEED N      N edits of it
snapshot_edits.py scan TREE > STATE     what is there
snapshot_edits.py check BEFORE AFTER    stdin: what 'diff -0' or 'check -0'
                                        printed; says what is missing or wrong
snapshot_edits.py json BEFORE AFTER     the same with --json
snapshot_edits.py dump STATE            the text that dump has to print
"""

import base64
import json
import os
import pickle
import random
import shutil
import stat
import sys

NASTY = [b"\n", b"\t", b"\\", b"\xff", b"\xc3\xa9", b"a b", b"\x1b[0m", b"-",
         b"\xed\xa0\x80", b"x" * 255, b"\r", b"\xc3", b"...", b"a.b", b"~",
         b"\xf0\x9f\x98\x80", b"\\x41", b"\x7f"]
TYPES = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l",
         stat.S_IFIFO: "p", stat.S_IFSOCK: "s", stat.S_IFCHR: "c",
         stat.S_IFBLK: "b"}


class Tree:
    def __init__(self, top, seed):
        self.top = os.fsencode(top)
        self.rnd = random.Random(seed)
        self.all = {}  # path: is it a folder
        for at, folders, files in os.walk(self.top):
            for name in folders:
                path = os.path.join(at, name)
                self.all[path] = not os.path.islink(path)
            for name in files:
                self.all[os.path.join(at, name)] = False
        self.all = dict(sorted(self.all.items()))

    def some(self, want=lambda path: True):
        known = list(self.all)
        for _ in range(20):
            if known:
                path = self.rnd.choice(known)
                if want(path):
                    return path
        return None

    def place(self):
        """A path that is not there yet."""
        r = self.rnd
        while True:
            folder = self.some(self.all.get) if r.random() < 0.9 else None
            name = r.choice(NASTY) if r.random() < 0.1 else \
                b"%c%d" % (r.choice(b"abAB"), r.randrange(10000))
            path = (folder or self.top) + b"/" + name
            if not os.path.lexists(path) and len(path) < 1000:
                return path

    def create(self, path):
        what = self.rnd.random()
        if what < 0.65:
            self.write(path)
        elif what < 0.8:
            os.mkdir(path)
        elif what < 0.95:
            os.symlink(self.target(), path)
        else:
            os.mkfifo(path)
        self.all[path] = 0.65 <= what < 0.8

    def target(self):
        return self.rnd.choice(NASTY) * self.rnd.randrange(1, 4)

    def write(self, path):
        with open(path, "wb") as f:
            f.write(b"x" * self.rnd.randrange(300))
        if self.rnd.random() < 0.5:
            self.touch(path)

    def touch(self, path):
        when = self.rnd.randrange(-2 * 10**18, 2 * 10**18)
        os.utime(path, ns=(0, when), follow_symlinks=False)

    def remove(self, path):
        if self.all[path]:
            shutil.rmtree(path)
            for p in [p for p in self.all if p.startswith(path + b"/")]:
                del self.all[p]
        else:
            os.unlink(path)
        del self.all[path]

    def move(self, path):
        to = self.place()
        if (to + b"/").startswith(path + b"/"):
            return
        os.rename(path, to)
        for p in [p for p in self.all
                  if (p + b"/").startswith(path + b"/")]:
            self.all[to + p[len(path):]] = self.all.pop(p)

    def is_file(self, path):
        return stat.S_ISREG(os.lstat(path).st_mode)

    def edit(self):
        what = self.rnd.randrange(12)
        path = self.some()
        if what < 3 or path is None:
            self.create(self.place())
        elif what == 3:
            self.remove(self.some(lambda p: not self.all[p]) or path)
        elif what == 4:
            if self.rnd.random() < 0.2:
                self.remove(path)
        elif what == 5:  # of the same size
            path = self.some(self.is_file)
            if path:
                os.chmod(path, 0o644)
                with open(path, "r+b") as f:
                    f.write(b"y" * os.fstat(f.fileno()).st_size)
        elif what == 6:
            self.touch(path)
        elif what == 7:
            if not os.path.islink(path):
                os.chmod(path, self.rnd.randrange(0o10000) | 0o700)
        elif what == 8:
            self.move(path)
        elif what == 9:  # by something else
            self.remove(path)
            self.create(path)
        elif what == 10:
            path = self.some(os.path.islink)
            if path:
                os.unlink(path)
                os.symlink(self.target(), path)
        else:
            path = self.some(self.is_file)
            if path:
                os.chmod(path, 0o600)
                with open(path, "ab") as f:
                    f.write(b"more")


def scan(top):
    top = os.fsencode(top)
    found = {}

    def add(path):
        st = os.lstat(path)
        found[path[len(top) + 1:]] = (
            st.st_mode, st.st_size, st.st_mtime_ns,
            os.readlink(path) if stat.S_ISLNK(st.st_mode) else None)

    add(top)
    for at, folders, files in os.walk(top):
        for name in folders + files:
            add(os.path.join(at, name))
    return found


def load(name):
    with open(name, "rb") as f:
        return pickle.load(f)


def order(path):
    return path.split(b"/") if path else []


def fields(a, b):
    (mode, size, mtime, target), (mode2, size2, mtime2, target2) = a, b
    if stat.S_IFMT(mode) != stat.S_IFMT(mode2):
        return ["type %s -> %s" % (TYPES[stat.S_IFMT(mode)],
                                   TYPES[stat.S_IFMT(mode2)])]
    found = []
    if not stat.S_ISDIR(mode):
        if size != size2:
            found.append("size %d -> %d" % (size, size2))
        if mtime != mtime2:
            found.append("mtime")
    if mode != mode2:
        found.append("mode %04o -> %04o" % (mode & 0o7777, mode2 & 0o7777))
    if target != target2:
        found.append("target")
    return found


def expected(before, after):
    for path in sorted(set(before) | set(after), key=order):
        shown = path or b"."
        if path not in after:
            yield "-", shown, []
        elif path not in before:
            yield "+", shown, []
        else:
            found = fields(before[path], after[path])
            if found:
                yield "~", shown, found


def printed():
    data = sys.stdin.buffer.read()
    for line in data.split(b"\0")[:-1]:
        kind, path = line[:1].decode(), line[2:]
        found = []
        if kind == "~":
            path, _, changed = path.rpartition(b"\t")
            found = changed.decode().split(", ")
            # Times are somebody else's test.
            found = ["mtime" if f.startswith("mtime ") else f for f in found]
        yield kind, path, found


def from_json():
    kinds = {"added": "+", "removed": "-", "changed": "~"}
    for d in json.load(sys.stdin)["differences"]:
        path = base64.b64decode(d["path_base64"]) if "path_base64" in d \
            else d["path"].encode()
        yield kinds[d["change"]], path, d.get("fields", [])


def compare(want, got):
    want, got = list(want), list(got)
    if want == got:
        print("%d differences" % len(want))
        return 0
    bad = [("missing", w) for w in want if w not in got] + \
        [("wrong", g) for g in got if g not in want]
    for what, one in bad[:10]:
        print(what, one)
    print("%d wanted, %d found, the order is %s" % (
        len(want), len(got), sorted(g[:2] for g in got) ==
        sorted(w[:2] for w in want) and "another" or "moot"))
    return 1


def escape(name):
    out = ""
    for c in name.decode("utf-8", "surrogateescape"):
        n = ord(c)
        if 0xdc80 <= n <= 0xdcff:
            out += "\\x%02x" % (n - 0xdc00)
        elif c in "\\\n\t":
            out += {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}[c]
        elif n < 0x20 or n == 0x7f:
            out += "\\x%02x" % n
        else:
            out += c
    return out


def dump(state):
    print("hpdsl-snapshot 1")
    for path in sorted(state, key=order):
        mode, size, mtime, target = state[path]
        print("%s %04o %d %d.%09d - - %s%s" % (
            TYPES[stat.S_IFMT(mode)], mode & 0o7777, size, mtime // 10**9,
            mtime % 10**9, escape(path) or ".",
            "" if target is None else "\t" + escape(target)))


def main():
    what, *args = sys.argv[1:]
    if what == "make":
        os.mkdir(args[0])
        tree = Tree(args[0], args[1])
        for _ in range(int(args[2])):
            tree.create(tree.place())
    elif what == "edit":
        tree = Tree(args[0], args[1])
        for _ in range(int(args[2])):
            tree.edit()
    elif what == "scan":
        pickle.dump(scan(args[0]), sys.stdout.buffer)
    elif what == "dump":
        sys.stdout.reconfigure(encoding="utf-8")
        dump(load(args[0]))
    elif what == "check":
        return compare(expected(load(args[0]), load(args[1])), printed())
    elif what == "json":
        return compare(((k, p, [f.split()[0] for f in found])
                        for k, p, found in expected(load(args[0]),
                                                    load(args[1]))),
                       from_json())
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
