#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a small snapshot, and hostile variants of it.

usage: make_snapshots.py OUTPUT

Written from hpdsl-format(5) alone, so it checks that page, too.  OUTPUT gets
good/snapshot and bad/snapshot with a file for each defect, named by it.
Checksums are those of the hostile bytes, as an attacker would have them.
"""
import os
import struct
import sys

from make import U64, h64, h128, padded, put

FOLDER, FILE, LINK, FIFO = 0o040755, 0o100644, 0o120777, 0o010644

# Name, folder, mode, size, link; by entry.  Folders: 0 top, 1 cat, 2 cat/big,
# 3 dog.
ENTRIES = [
    (b"", 0, FOLDER, 4096, 0),
    (b"cat", 0, FOLDER, 4096, 1),
    (b"dog", 0, FOLDER, 4096, 3),
    (b"link", 0, LINK, 9, 0),
    (b"readme", 0, FILE, 7, 0),
    (b"1.jpg", 1, FILE, 4, 0),
    (b"1.json", 1, FILE, 9, 0),
    (b"big", 1, FOLDER, 4096, 2),
    (b"tiger.jpg", 7, FILE, 5, 0),
    (b"2.jpg", 2, FILE, 10, 0),
]
# First entry, end.
FOLDERS = [(1, 4), (5, 3), (8, 3), (9, 4), (10, 4)]
TARGET = b"cat/1.jpg"


def u48(n):
    return struct.pack("<Q", n)[:6]


def u40(n):
    return struct.pack("<Q", n)[:5]


class Snapshot:
    """Rows as dicts and lists, to be spoilt; bytes() makes the file."""

    def __init__(self):
        self.entries = []
        self.names = b""
        for name, folder, mode, size, link in ENTRIES:
            self.entries.append(
                dict(size=size, mtime=1700000000, nsec=5, mode=mode)
                | dict(name_len=len(name), name=len(self.names))
                | dict(parent=folder, link=link)
            )
            self.names += name + b"\0"
        self.folders = [list(f) for f in FOLDERS]
        self.targets = TARGET + b"\0"
        self.checksums = b""
        self.head = dict(version=1, flags=0, ids=bytes(32))
        self.table = {}  # (row, field): value instead of the right one
        self.cut = None  # length of the file
        self.lookup = self.make_lookup()
        self.digests = self.digest(False) + self.digest(True)

    def path(self, number):
        e = self.entries[number]
        name = self.names[e["name"] :][: e["name_len"]]
        if not number:
            return b""
        above = self.path(e["parent"])
        return above + b"/" + name if above else name

    def homes(self):
        m = len(ENTRIES) - 1
        return m + m * 3 // 7 + 1

    def make_lookup(self):
        slots = []
        paths = [(h64(self.path(n)), n) for n in range(1, len(ENTRIES))]
        for h, number in sorted(paths):
            slot = max(len(slots), (h * self.homes()) >> 64)
            slots += [0] * (slot - len(slots))
            slots.append((h & 0xFFFFFF) << 40 | (number + 1))
        return slots + [0] * max(1, self.homes() - len(slots))

    def digest(self, files):
        out = b""
        for n, e in enumerate(self.entries):
            if files and e["mode"] >> 12 != 8:
                continue
            mode = e["mode"] & 0o170777 if files else e["mode"]
            out += self.path(n) + b"\0" + struct.pack("<H", mode)
            if e["mode"] >> 12 != 4:
                out += struct.pack("<QqI", e["size"], e["mtime"], e["nsec"])
        return h128(out)

    def sections(self):
        rows = b"".join(
            struct.pack("<QqIHH", *[e[k] for k in list(e)[:5]])
            + u48(e["name"])
            + u40(e["parent"])
            + u40(e["link"])
            for e in self.entries
        )
        folders = b"".join(u48(a) + u48(b) for a, b in self.folders)
        lookup = struct.pack(f"<{len(self.lookup)}Q", *self.lookup)
        return [
            (1, 40, rows),
            (2, 12, folders),
            (3, 0, self.names),
            (4, 0, self.targets),
            (5, 8, self.checksums),
            (6, 8, lookup),
        ]

    def __bytes__(self):
        sections = self.sections()
        length = 136 + 32 * len(sections) + 8
        table, body = b"", b""
        for i, (kind, row_size, data) in enumerate(sections):
            row = dict(kind=kind, flags=1, offset=length + len(body))
            row |= dict(length=len(data), row_size=row_size, zero=0)
            row |= {k: v for (r, k), v in self.table.items() if r == i}
            table += struct.pack("<IIQQII", *row.values())
            full = data + bytes(padded(len(data), 8) - len(data))
            body += full
            if full:
                body += struct.pack("<Q", h64(full))
        head = dict(length=length, size=length + len(body), sections=6)
        head |= dict(entries=10, folders=4, bytes=35, files=5, links=1)
        head |= dict(magic=b"\x89HPDSLS\n", digests=self.digests) | self.head
        fields = "magic version length size entries folders bytes files "
        fields += "sections flags digests ids links"
        head = struct.pack(
            "<8sIIQQQQQII32s32sQ", *[head[k] for k in fields.split()]
        )
        head += table
        out = head + struct.pack("<Q", h64(head)) + body
        return out[: self.cut]


def entry(number, **fields):
    return lambda s: s.entries[number].update(fields)


def head(**fields):
    return lambda s: s.head.update(fields)


def folder(number, first, end):
    return lambda s: s.folders.__setitem__(number, [first, end])


def table(row, field, value):
    return lambda s: s.table.update({(row, field): value})


def rename(number, name):
    """Another name, found by lookups and in the digests, too."""

    def defect(s):
        old = [s.names[e["name"] :][: e["name_len"]] for e in s.entries]
        old[number] = name
        s.names = b""
        for e, n in zip(s.entries, old):
            e["name"], e["name_len"] = len(s.names), len(n)
            s.names += n + b"\0"
        s.lookup = s.make_lookup()
        s.digests = s.digest(False) + s.digest(True)

    return defect


def slots(change):
    return lambda s: setattr(s, "lookup", change(s.lookup))


NUMBER = (1 << 40) - 1

SNAPSHOTS = {
    # The header and its table
    "not-a-snapshot": head(magic=b"\x89HPDSLI\n"),
    "truncated": lambda s: setattr(s, "cut", 500),
    "truncated-header": lambda s: setattr(s, "cut", 100),
    "version-99": head(version=99),
    "unknown-flag": head(flags=2),
    "header-length-huge": head(length=0xFFFFFFF8),
    "sections-65": head(sections=65),
    "sections-5": head(sections=5),
    "section-offset-wraps": table(2, "offset", U64 - 7),
    "section-length-wraps": table(2, "length", U64 - 7),
    "section-past-the-end": table(5, "length", 4096),
    "section-row-size-0": table(0, "row_size", 0),
    "entries-all-ones": head(entries=U64),
    "entries-wrap": head(entries=10 + (1 << 61)),
    "entries-0": head(entries=0),
    "folders-all-ones": head(folders=U64),
    "folders-0": head(folders=0),
    "files-all-ones": head(files=U64),
    "links-all-ones": head(links=U64),
    "files-untrue": head(files=6),
    "bytes-untrue": head(bytes=36),
    "of-a-dataset-untrue": head(flags=1),
    "dataset-of-none": head(ids=b"x" * 32),
    "digest-untrue": lambda s: setattr(s, "digests", b"x" * 32),
    # Entries
    "parent-is-itself": entry(7, parent=7),
    "parents-circle": entry(1, parent=7),
    "parent-out-of-range": entry(5, parent=NUMBER),
    "parent-is-a-file": entry(8, parent=6),
    "parent-is-another": entry(9, parent=1),
    "top-is-a-file": entry(0, mode=FILE),
    "type-unknown": entry(5, mode=0o070644),
    "time-impossible": entry(5, nsec=1000000000),
    "size-untrue": entry(5, size=U64),
    "fifo-with-a-link": entry(5, mode=FIFO, link=1),
    "member-of-no-dataset": entry(5, link=1),
    "folder-number-out-of-range": entry(7, link=4),
    "folder-number-another": entry(7, link=3),
    # Names
    "name-empty": rename(5, b""),
    "name-slash": rename(5, b"/"),
    "name-is-a-path": rename(5, b"../../escaped.jpg"),
    "name-is-dot": rename(5, b"."),
    "name-is-dot-dot": rename(5, b".."),
    "folder-is-dot-dot": rename(1, b".."),
    "name-nul": rename(5, b"0\0.jpg"),
    "name-too-long": rename(5, b"0" * 4096),
    "name-twice": rename(6, b"1.jpg"),
    "names-out-of-order": rename(5, b"2.jpg"),
    "name-without-end": entry(5, name_len=4),
    "name-wraps": entry(5, name=(1 << 48) - 1),
    "names-overlap": entry(9, name=21),
    # Folders
    "children-out-of-range": folder(4, 11, 4),
    "children-wrap": folder(4, (1 << 48) - 1, 4),
    "children-backwards": folder(2, 4, 3),
    "children-are-above": folder(2, 1, 3),
    "children-of-another": folder(2, 5, 3),
    "children-overlap": folder(3, 8, 4),
    "end-out-of-range": folder(1, 5, 9),
    "end-is-itself": folder(1, 5, 1),
    "end-too-soon": folder(0, 1, 3),
    # Targets
    "target-past-the-end": entry(3, link=8),
    "target-wraps": entry(3, link=NUMBER, size=U64),
    "target-nul": lambda s: setattr(s, "targets", b"cat\0" + TARGET[4:] + b"\0"),
    # Lookup
    "lookup-loops": slots(lambda v: [x or 1 << 40 | 2 for x in v]),
    "lookup-number-out-of-range": slots(
        lambda v: [x | NUMBER if x else 0 for x in v]
    ),
    "lookup-numbers-0": slots(lambda v: [x & ~NUMBER for x in v]),
    "lookup-top": slots(lambda v: [x & ~NUMBER | 1 if x else 0 for x in v]),
    "lookup-one": slots(lambda v: [x & ~NUMBER | 6 if x else 0 for x in v]),
    "lookup-empty": slots(lambda v: [0] * len(v)),
    "lookup-too-short": slots(lambda v: v[:8]),
    "lookup-too-long": slots(lambda v: v + [0] * 20),
}


def make_snapshot(defect=None):
    s = Snapshot()
    if defect:
        defect(s)
    return bytes(s)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    good, bad = (os.path.join(sys.argv[1], d) for d in ("good", "bad"))
    put(good, "snapshot", make_snapshot())
    for name, defect in SNAPSHOTS.items():
        put(os.path.join(bad, "snapshot"), name, make_snapshot(defect))


if __name__ == "__main__":
    main()
