#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages a small snapshot and asks what is left of it.

snapshot_damage.py flip FILE STEP      every STEP-th bit flipped, one at a time:
                                       verify says so, and whatever else is
                                       asked fails or is answered rightly
snapshot_damage.py cut FILE            every length but the right one is refused
snapshot_damage.py commands FILE COUNT SEED    so many random flips and cuts,
                                       asked through the commands
snapshot_damage.py lie FILE COUNT SEED random changes, checksums made to fit:
                                       each question has an end
snapshot_damage.py forged FILE         changes with a purpose, checksums made to
                                       fit: verify says so, and each command
                                       ends

FILE itself is not touched.
"""

import ctypes
import os
import random
import signal
import struct
import subprocess
import sys

from snapshot_lib import Failed, Snapshot

xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
ENTRIES, FOLDERS, NAMES, TARGETS, CHECKSUMS, LOOKUP = range(1, 7)
REFUSED = (-10001, -10002, -10003)
bad = 0


def wrong(what, *values):
    global bad
    bad += 1
    if bad <= 20:
        print(what, *values)


def h64(data):
    data = bytes(data)
    return xxhash.XXH3_64bits(data, ctypes.c_size_t(len(data)))


class Image:
    """The bytes of a snapshot, by hpdsl-format(5)."""

    def __init__(self, data):
        self.d = bytearray(data)
        self.sections = {}
        for i in range(self.u32(56)):
            kind, _, at, length = struct.unpack_from("<IIQQ", self.d,
                                                     136 + 32 * i)
            self.sections[kind] = at, length
        self.entries, self.folders = struct.unpack_from("<QQ", self.d, 24)

    def u32(self, at):
        return struct.unpack_from("<I", self.d, at)[0]

    def put(self, kind, at, value, size):
        at += self.sections[kind][0]
        self.d[at:at + size] = value.to_bytes(size, "little")

    def get(self, kind, at, size):
        at += self.sections[kind][0]
        return int.from_bytes(self.d[at:at + size], "little")

    def repair(self):
        """All checksums, but not the digests."""
        for at, length in self.sections.values():
            end = at + (length + 7) // 8 * 8
            for i, block in enumerate(range(at, end, 65536)):
                struct.pack_into("<Q", self.d, end + 8 * i,
                                 h64(self.d[block:min(block + 65536, end)]))
        header = self.u32(12)
        struct.pack_into("<Q", self.d, header - 8, h64(self.d[:header - 8]))
        return bytes(self.d)

    # Fields of entries: offset and bytes
    SIZE, NSEC, MODE, LENGTH, NAME, PARENT, LINK = (
        (0, 8), (16, 4), (20, 2), (22, 2), (24, 6), (30, 5), (35, 5))

    def field(self, number, which, value=None):
        at, size = which
        if value is None:
            return self.get(ENTRIES, 40 * number + at, size)
        return self.put(ENTRIES, 40 * number + at, value, size)

    def name(self, number):
        at = self.sections[NAMES][0] + self.field(number, self.NAME)
        return bytes(self.d[at:at + self.field(number, self.LENGTH)])

    def of_type(self, letter):
        kind = {"d": 4, "f": 8, "l": 10, "p": 1}[letter]
        return [n for n in range(self.entries)
                if self.field(n, self.MODE) >> 12 == kind]


class Memory:
    """A file in memory, which has a path."""

    def __init__(self):
        self.fd = os.memfd_create("snapshot")
        self.path = f"/proc/self/fd/{self.fd}"

    def put(self, data):
        os.ftruncate(self.fd, len(data))
        os.pwrite(self.fd, data, 0)


def truth(file):
    with Snapshot(file) as s:
        assert s.verify() == []
        paths = [s.path(n) for n in range(s.info().entries)]
        paths += [b"not there", paths[-1] + b"/x"]
        return paths, list(s.answers(paths))


def ask(path, paths, want, flags, where):
    """Everything, of one damaged file."""
    try:
        with Snapshot(path, flags) as s:
            for got, expected in zip(s.answers(paths), want):
                if got[0] != expected[0]:
                    wrong(where, "another question", got, expected)
                elif isinstance(got[1], Failed) and isinstance(expected[1],
                                                               Failed):
                    pass
                elif isinstance(got[1], Failed):
                    if got[1].code not in REFUSED:
                        wrong(where, "code", got)
                elif isinstance(expected[1], Failed):
                    wrong(where, "answered", got, expected)
                elif got[1] != expected[1]:
                    wrong(where, "a wrong answer", got, expected)
            if not s.verify():
                wrong(where, "verify finds nothing")
            return True
    except Failed as e:
        if e.code not in REFUSED:
            wrong(where, "code", e)
        return False


def flip(file, step):
    paths, want = truth(file)
    with open(file, "rb") as f:
        data = f.read()
    memory = Memory()
    memory.put(data)
    opened = count = 0
    for bit in range(0, len(data) * 8, int(step)):
        at = bit // 8
        os.pwrite(memory.fd, bytes([data[at] ^ 1 << bit % 8]), at)
        opened += ask(memory.path, paths, want, bit // int(step) % 2,
                      f"bit {bit % 8} of byte {at}:")
        os.pwrite(memory.fd, data[at:at + 1], at)
        count += 1
    print(f"{count} flips, {opened} that could be opened")
    ask_whole(memory, paths, want)


def ask_whole(memory, paths, want):
    with Snapshot(memory.path) as s:
        for (_, got), (_, expected) in zip(s.answers(paths), want):
            if not isinstance(got, Failed):
                assert got == expected
        assert s.verify() == []


def cut(file):
    with open(file, "rb") as f:
        data = f.read()
    memory = Memory()
    lengths = list(range(len(data))) + [len(data) + n for n in
                                        (1, 7, 8, 4096, 65544, 1 << 20)]
    for n in lengths:
        memory.put((data + bytes(max(0, n - len(data))))[:n])
        for flags in 0, 1:
            try:
                with Snapshot(memory.path, flags):
                    wrong("opened with", n, "bytes of", len(data))
            except Failed as e:
                if e.code not in REFUSED:
                    wrong("length", n, e)
    print(len(lengths), "lengths")


# ---- Through the commands -------------------------------------------------

COMMANDS = [["verify", "-q", None], ["dump", None], ["ls", "-lR", None],
            ["find", None], ["du", "-a", None], ["find", "--json", None]]


def run(command, file):
    done = subprocess.run(
        ["hpdsl-snapshot", *(a or file for a in command)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    return done.returncode, done.stdout, done.stderr


def ask_commands(name, where, right, damaged=(1,)):
    """Each of them, of the damaged file name: what it prints is right, or it
    says what is wrong with the file."""
    for command, want in zip(COMMANDS, right):
        code, out, err = run(command, name)
        if code not in (0, 1, 3):
            wrong(where, command[0], "exit", code, err)
        elif command[0] == "verify" and damaged:
            later = b"later version" in err or b"unknown flags" in err
            if code not in damaged + (3,) * later or name.encode() not in out + err:
                wrong(where, "verify: exit", code, out, err)
        elif code == 0:
            if want is not None and out != want:
                wrong(where, command[0], "wrong and exit 0", out[:200])
        elif err.count(b"\n") != 1 or name.encode() not in err or \
                not err.startswith(b"hpdsl-snapshot: "):
            wrong(where, command[0], "says", err)


def commands(file, count, seed):
    rnd = random.Random(int(seed))
    with open(file, "rb") as f:
        data = f.read()
    right = []
    for command in COMMANDS:
        code, out, err = run(command, file)
        assert code == 0 and not err, (command, code, err)
        right.append(out)
    header = struct.unpack_from("<I", data, 12)[0]
    for i in range(int(count)):
        name = f"damaged-{i}"
        bit = rnd.randrange(8 * (header if i % 4 == 1 else len(data)))
        now = bytearray(data)
        now[bit // 8] ^= 1 << bit % 8
        if i % 4 == 0:
            now = data[:rnd.randrange(len(data))]
        with open(name, "wb") as f:
            f.write(now)
        # without its mark it is no snapshot
        ask_commands(name, f"cut to {len(now)}" if i % 4 == 0 else
                     f"bit {bit % 8} of byte {bit // 8}", right,
                     (1, 3) if now[:8] != data[:8] else (1,))
        os.unlink(name)


# ---- Lies -----------------------------------------------------------------

def harmless(before, now):
    """Nothing but what no digest covers: targets, sizes and times of folders,
    what a snapshot of a dataset says of its dataset."""
    image = Image(before)
    may = [(image.u32(12) - 8, image.u32(12))]
    at, length = image.sections[ENTRIES]
    may += [(at + 40 * n, at + 40 * n + 20) for n in image.of_type("d")]
    may.append((at + length, at + (length + 7) // 8 * 8 + 8))
    at, length = image.sections[TARGETS]
    may.append((at, at + (length + 7) // 8 * 8 + 8))
    if image.u32(60) & 1:
        may.append((96, 128))
        at, length = image.sections[CHECKSUMS]
        may.append((at, at + length + 8))
    return all(any(a <= i < b for a, b in may)
               for i in range(len(before)) if before[i] != now[i])


def lie(file, count, seed):
    """Numbers of a kind that break things, anywhere, some at a time."""
    rnd = random.Random(int(seed))
    with open(file, "rb") as f:
        data = f.read()
    paths, _ = truth(file)
    memory = Memory()
    opened = found = 0
    for i in range(int(count)):
        image = Image(data)
        changes = []
        for _ in range(rnd.choice((1, 1, 2, 5))):
            kind = rnd.choice((0, ENTRIES, ENTRIES, FOLDERS, NAMES, TARGETS,
                               LOOKUP))
            at, length = image.sections.get(kind, (16, 120))
            if not length:
                continue
            size = rnd.choice((1, 2, 4, 5, 6, 8))
            where = at + rnd.randrange(max(1, length - size))
            value = rnd.choice((
                rnd.randrange(256), 0, (1 << 8 * size) - 1, 1 << 8 * size - 1,
                rnd.randrange(image.entries + 2), rnd.randrange(1 << 8 * size),
                image.entries, image.folders))
            changes.append((kind, where, size, value))
            image.d[where:where + size] = (value % (1 << 8 * size)).to_bytes(
                size, "little")
        now = image.repair()
        memory.put(now)
        try:
            with Snapshot(memory.path, i % 2) as s:
                opened += 1
                for _ in s.answers(paths):
                    pass
                if s.verify():
                    found += 1
                elif not harmless(data, now):
                    wrong(changes, "verify finds nothing")
        except Failed as e:
            if e.code not in REFUSED:
                wrong(changes, e)
        except AssertionError as e:
            wrong(changes, "assertion", e)
    print(f"{count} lies, {opened} that could be opened, {found} of these found")


class Forge:
    """Named changes; each takes an image."""

    def __init__(self, image):
        self.i = image
        self.files = image.of_type("f")
        self.links = image.of_type("l")
        self.dirs = image.of_type("d")
        # the last one that is deeper than the top
        self.deep = [n for n in self.dirs
                     if image.field(n, image.PARENT) != 0][-1]
        self.over = image.field(self.deep, image.PARENT)

    def put(self, number, which, value):
        self.i.field(number, which, value)

    def all(self):
        i, I = self.i, Image
        f, l, d = self.files[-1], self.links[-1], self.deep
        cases = {
            "a folder in itself": lambda: self.put(d, I.PARENT, d),
            "two folders in each other":
                lambda: (self.put(self.over, I.PARENT, d)),
            "a file's folder is itself": lambda: self.put(f, I.PARENT, f),
            "the top in another": lambda: self.put(0, I.PARENT, d),
            "parent past the end":
                lambda: self.put(f, I.PARENT, i.entries),
            "parent far past the end":
                lambda: self.put(f, I.PARENT, (1 << 40) - 1),
            "parent is a file": lambda: self.put(f, I.PARENT, self.files[0]),
            "a folder is the top": lambda: self.put(d, I.LINK, 0),
            "a folder is the one over it":
                lambda: self.put(d, I.LINK, i.field(self.over, I.LINK)),
            "folder number past the end":
                lambda: self.put(d, I.LINK, i.folders),
            "folder number far past the end":
                lambda: self.put(d, I.LINK, (1 << 40) - 1),
            "nanoseconds": lambda: self.put(f, I.NSEC, 10**9),
            "type 0": lambda: self.put(f, I.MODE, 0o644),
            "type 15": lambda: self.put(f, I.MODE, 0o170644),
            "the top is a file": lambda: self.put(0, I.MODE, 0o100644),
            "a file is a folder": lambda: self.put(f, I.MODE, 0o40755),
            "a folder is a file": lambda: self.put(d, I.MODE, 0o100755),
            "a file is a link": lambda: self.put(f, I.MODE, 0o120777),
            "a link is a file": lambda: self.put(l, I.MODE, 0o100644),
            "name far away": lambda: self.put(f, I.NAME, (1 << 48) - 1),
            "name at the end": lambda: self.put(f, I.NAME,
                                                i.sections[NAMES][1]),
            "name of another": lambda: self.put(f, I.NAME,
                                                i.field(1, I.NAME)),
            "name too long": lambda: self.put(f, I.LENGTH, 65535),
            "name longer": lambda: self.put(f, I.LENGTH,
                                            i.field(f, I.LENGTH) + 1),
            "name shorter": lambda: self.put(f, I.LENGTH,
                                             i.field(f, I.LENGTH) - 1),
            "no name": lambda: self.put(f, I.LENGTH, 0),
            "a member in a tree": lambda: self.put(f, I.LINK, 1),
            "a member far away": lambda: self.put(f, I.LINK, (1 << 40) - 1),
            "target far away": lambda: self.put(l, I.LINK, (1 << 40) - 1),
            "target at the end": lambda: self.put(l, I.LINK,
                                                  i.sections[TARGETS][1]),
            "target of 2^64-1": lambda: self.put(l, I.SIZE, (1 << 64) - 1),
            "target of 2^63": lambda: self.put(l, I.SIZE, 1 << 63),
            "target longer": lambda: self.put(l, I.SIZE,
                                              i.field(l, I.SIZE) + 1),
            "target shorter": lambda: self.put(l, I.SIZE,
                                               i.field(l, I.SIZE) - 1),
            "lookup empty": lambda: self.lookup(0),
            "lookup full": lambda: self.lookup((1 << 64) - 1),
            "lookup full of one": lambda: self.lookup_full(),
        }
        for n, byte in enumerate((b"/", b"\0")):
            cases["name with byte %r" % byte] = lambda b=byte: self.rename(
                f, b + i.name(f)[1:])
        cases["name dot"] = lambda: self.rename(self.short(1), b".")
        cases["name dot dot"] = lambda: self.rename(self.short(2), b"..")
        for row in range(i.folders + 1):
            for what, value in (("0", 0), ("entries", i.entries),
                                ("past", i.entries + 1),
                                ("far", (1 << 48) - 1),
                                ("one more", i.get(FOLDERS, 12 * row, 6) + 1)):
                if value != i.get(FOLDERS, 12 * row, 6):
                    cases[f"folder {row} begins: {what}"] = (
                        lambda r=row, v=value: i.put(FOLDERS, 12 * r, v, 6))
            for what, value in (("0", 0), ("itself", row),
                                ("folders", i.folders),
                                ("past", i.folders + 1),
                                ("far", (1 << 48) - 1)):
                if value != i.get(FOLDERS, 12 * row + 6, 6):
                    cases[f"folder {row} ends: {what}"] = (
                        lambda r=row, v=value: i.put(FOLDERS, 12 * r + 6, v,
                                                     6))
        for what, at, size in (("entries", 24, 8), ("folders", 32, 8),
                               ("bytes", 40, 8), ("files", 48, 8),
                               ("sections", 56, 4), ("flags", 60, 4),
                               ("digest", 64, 16), ("files digest", 80, 16),
                               ("dataset id", 96, 16), ("pack", 112, 16),
                               ("symlinks", 128, 8)):
            was = int.from_bytes(i.d[at:at + size], "little")
            for value in {0, 1, was + 1, was - 1, 1 << 40, 1 << 63,
                          (1 << 8 * size) - 1}:
                value %= 1 << 8 * size
                if value != was:
                    cases[f"{what} {value:#x} for {was:#x}"] = (
                        lambda a=at, s=size, v=value: self.header(a, v, s))
        for row in range(6):
            for what, at, size in (("kind", 0, 4), ("flags", 4, 4),
                                   ("offset", 8, 8), ("length", 16, 8),
                                   ("row", 24, 4), ("zero", 28, 4)):
                at += 136 + 32 * row
                was = int.from_bytes(i.d[at:at + size], "little")
                for value in {0, was + 8, was ^ 1, (1 << 8 * size) - 1,
                              (1 << 8 * size) - 8, 1 << 8 * size - 1}:
                    if value != was:
                        cases[f"section {row}, {what} {value:#x} "
                              f"for {was:#x}"] = (
                            lambda a=at, s=size, v=value: self.header(a, v, s))
        return cases

    def header(self, at, value, size):
        self.i.d[at:at + size] = value.to_bytes(size, "little")

    def short(self, n):
        return [k for k in self.files if self.i.field(k, Image.LENGTH) == n][0]

    def rename(self, number, name):
        at = self.i.sections[NAMES][0] + self.i.field(number, Image.NAME)
        self.i.d[at:at + len(name)] = name

    def lookup(self, value):
        for at in range(0, self.i.sections[LOOKUP][1], 8):
            self.i.put(LOOKUP, at, value, 8)

    def lookup_full(self):
        for at in range(0, self.i.sections[LOOKUP][1], 8):
            if not self.i.get(LOOKUP, at, 8):
                self.i.put(LOOKUP, at, 1 + self.files[0], 8)


def forged(file):
    with open(file, "rb") as f:
        data = f.read()
    paths, _ = truth(file)
    memory = Memory()
    names = list(Forge(Image(data)).all())
    for k, name in enumerate(names):
        forge = Forge(Image(data))
        sections = dict(forge.i.sections)
        forge.all()[name]()
        forge.i.sections = sections
        now = forge.i.repair()
        memory.put(now)
        signal.alarm(60)
        try:
            with Snapshot(memory.path) as s:
                for _ in s.answers(paths):
                    pass
                if not s.verify():
                    wrong(name + ": verify finds nothing")
        except Failed as e:
            if e.code not in REFUSED:
                wrong(name, e)
        except AssertionError as e:
            wrong(name, "assertion", e)
        if k % 5 == 0 or os.environ.get("HPDSL_LEVEL") == "long":
            with open("forged", "wb") as f:
                f.write(now)
            ask_commands("forged", name, [None] * len(COMMANDS))
    print(len(names), "forgeries")


{"flip": flip, "cut": cut, "commands": commands, "lie": lie,
 "forged": forged}[sys.argv[1]](*sys.argv[2:])
if bad:
    print(bad, "findings")
sys.exit(bad > 0)
