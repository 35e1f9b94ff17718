#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads snapshots; written from hpdsl-format(5) alone.

It shares no code with HPDSL, so that the page can be held against what
hpdsl-snapshot writes.  All of a file is checked whatever is asked: every row,
name and checksum, that the lookup table is just the one that the page says, and
both digests.

usage: read_snapshot.py dump FILE         the text of hpdsl-snapshot dump
       read_snapshot.py info FILE         what the header says
       read_snapshot.py find FILE PATH    number of an entry, by LOOKUP
"""
import ctypes
import os
import re
import struct
import sys

BLOCK = 65536
ROWS = {1: 40, 2: 12, 3: 0, 4: 0, 5: 8, 6: 8}
FIFO, CHARACTER, FOLDER, BLOCK_DEVICE, FILE, LINK, SOCKET = \
    1, 2, 4, 6, 8, 10, 12
LETTERS = {FILE: "f", FOLDER: "d", LINK: "l", FIFO: "p", CHARACTER: "c",
           BLOCK_DEVICE: "b", SOCKET: "s"}


class Bad(Exception):
    """The snapshot is not as the page says."""


def need(condition, text):
    if not condition:
        raise Bad(text)


# ---- Hashes ---------------------------------------------------------------

_xxh = ctypes.CDLL("libxxhash.so.0")


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


for _name, _result in (("XXH3_64bits", ctypes.c_uint64),
                       ("XXH3_128bits", _Hash128)):
    _function = getattr(_xxh, _name)
    _function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    _function.restype = _result


def xxh3_64(data):
    return _xxh.XXH3_64bits(data, len(data))


def xxh3_128(data):
    h = _xxh.XXH3_128bits(data, len(data))
    return struct.pack(">QQ", h.high, h.low)


def little(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


# ---- The file -------------------------------------------------------------


class Entry:
    pass


class Snapshot:
    def __init__(self, data):
        self.data = data
        self.read_header()
        self.read_sections()
        self.read_folders()
        self.read_entries()
        self.read_checksums()
        self.check_lookup()
        self.check_digests()
        self.check_counts()

    def read_header(self):
        d = self.data
        need(d[:8] == b"\x89HPDSLS\n", "magic")
        need(len(d) >= 136 + 8, "too short")
        (version, length, size, self.n_entries, self.n_folders, self.bytes,
         self.files, self.n_sections, self.flags, self.digest,
         self.files_digest, self.dataset_id, self.pack, self.symlinks) = \
            struct.unpack_from("<IIQQQQQII16s16s16s16sQ", d, 8)
        need(version == 1, "version")
        need(length == 136 + 32 * self.n_sections + 8 <= len(d),
             "header length")
        need(xxh3_64(d[:length - 8]) == little(d, length - 8, 8),
             "header checksum")
        need(size == len(d), "file size")
        need(6 <= self.n_sections <= 64 and self.flags in (0, 1),
             "sections, flags")
        need(1 <= self.n_entries <= 2**40 - 2 and self.n_folders >= 1, "counts")
        self.from_dataset = self.flags == 1
        if not self.from_dataset:
            need(self.dataset_id + self.pack == bytes(32), "id of no dataset")
        self.header_length = length

    def read_sections(self):
        self.sections, end, last = {}, self.header_length, 0
        for i in range(self.n_sections):
            kind, flags, offset, length, row, zero = struct.unpack_from(
                "<IIQQII", self.data, 136 + 32 * i)
            need(kind > last and offset == end and zero == 0,
                 f"section {kind}: place")
            need(i >= 6 or kind == i + 1, f"section {kind}: row")
            need(kind not in ROWS or (flags, row) == (1, ROWS[kind]),
                 f"section {kind}: row")
            need(kind in ROWS or flags == 0, f"section {kind}: too new")
            end = self.read_section(kind, offset, length)
            last = kind
        need(end == len(self.data), "end")
        need(len(self.sections[1]) == 40 * self.n_entries, "ENTRIES: length")
        need(len(self.sections[2]) == 12 * (self.n_folders + 1),
             "FOLDERS: length")

    def read_section(self, kind, offset, length):
        padded = (length + 7) // 8 * 8
        blocks = (padded + BLOCK - 1) // BLOCK
        sums, end = offset + padded, offset + padded + 8 * blocks
        need(end <= len(self.data), f"section {kind}: length")
        need(not any(self.data[offset + length:sums]),
             f"section {kind}: padding")
        for i in range(blocks):
            at = offset + i * BLOCK
            block = self.data[at:min(at + BLOCK, sums)]
            need(xxh3_64(block) == little(self.data, sums + 8 * i, 8),
                 f"section {kind}: block {i}")
        self.sections[kind] = self.data[offset:offset + length]
        return end

    # ---- Folders and entries

    def read_folders(self):
        rows = self.sections[2]
        self.first = [little(rows, 12 * i, 6)
                      for i in range(self.n_folders + 1)]
        self.end = [little(rows, 12 * i + 6, 6)
                    for i in range(self.n_folders + 1)]
        need(self.first[0] == 1 and self.first[-1] == self.n_entries and
             self.first == sorted(self.first), "FOLDERS: first")
        need(self.end[-1] == self.n_folders, "FOLDERS: end")

    def string(self, kind, at, length):
        data = self.sections[kind]
        need(at + length < len(data), f"section {kind}: string at {at}")
        s = data[at:at + length]
        need(b"\0" not in s and data[at + length] == 0,
             f"section {kind}: string at {at}")
        return s

    def read_entries(self):
        self.entries, self.names_at, self.targets_at = [], 0, 0
        self.folder_entry = {}
        for n in range(self.n_entries):
            self.entries.append(self.read_entry(n))
        need(self.names_at == len(self.sections[3]), "NAMES: end")
        need(self.targets_at == len(self.sections[4]), "TARGETS: end")
        self.number_folders()

    def read_entry(self, n):
        row, e = self.sections[1][40 * n:40 * n + 40], Entry()
        e.size, e.mtime, e.nsec, e.mode, length = \
            struct.unpack_from("<QqIHH", row, 0)
        name, e.parent, e.link = \
            little(row, 24, 6), little(row, 30, 5), little(row, 35, 5)
        e.number, e.type = n, e.mode >> 12
        need(e.type in LETTERS and e.nsec < 10**9, f"entry {n}: type, time")
        need(name == self.names_at, f"entry {n}: place of its name")
        self.names_at += length + 1
        e.name = self.string(3, name, length)
        e.target, e.member = None, None
        if e.type == FOLDER:
            need(e.link < self.n_folders and e.link not in self.folder_entry,
                 f"entry {n}: folder")
            self.folder_entry[e.link] = n
        elif e.type == LINK:
            need(e.link == self.targets_at, f"entry {n}: place of its target")
            e.target = self.string(4, e.link, e.size)
            self.targets_at += e.size + 1
        elif e.type == FILE:
            e.member = e.link - 1 if e.link else None
        else:
            need(e.link == 0, f"entry {n}: link")
        if n == 0:
            need(e.type == FOLDER and e.link == 0 and e.parent == 0 and
                 e.name == b"", "entry 0")
            e.path = b""
        else:
            self.place_entry(e)
        return e

    def place_entry(self, e):
        n = e.number
        need(e.parent < n and 1 <= len(e.name) <= 4095 and
             b"/" not in e.name and e.name not in (b".", b".."),
             f"entry {n}: parent, name")
        parent = self.entries[e.parent]
        need(parent.type == FOLDER and
             self.first[parent.link] <= n < self.first[parent.link + 1],
             f"entry {n}: parent")
        if n > self.first[parent.link]:
            need(self.entries[n - 1].name < e.name, f"entry {n}: order")
        e.path = parent.path + b"/" + e.name if e.parent else e.name
        need(len(e.path) <= 4095, f"entry {n}: path")

    def number_folders(self):
        """Pre-order, and where each one's end is."""
        need(len(self.folder_entry) == self.n_folders, "number of folders")
        order, stack = [], [0]
        last = {}
        while stack:
            f = stack.pop()
            if f < 0:
                last[~f] = len(order)
                continue
            order.append(f)
            stack.append(~f)
            stack.extend(reversed([self.entries[n].link
                                   for n in self.children(f)
                                   if self.entries[n].type == FOLDER]))
        need(order == list(range(self.n_folders)), "FOLDERS: order")
        need([last[f] for f in order] == self.end[:-1], "FOLDERS: end")

    def children(self, folder):
        return range(self.first[folder], self.first[folder + 1])

    # ---- The rest

    def read_checksums(self):
        table = self.sections[5]
        numbers = {}
        for e in self.entries:
            e.checksum = None
            if e.member is not None:
                need(self.from_dataset and e.member not in numbers,
                     f"entry {e.number}: member")
                need(8 * e.member < len(table), f"entry {e.number}: member")
                e.checksum = little(table, 8 * e.member, 8)
                numbers[e.member] = e
        members = max(numbers) + 1 if numbers else 0
        need(len(table) == 8 * members, "CHECKSUMS: length")
        for n in range(members):
            need(n in numbers or little(table, 8 * n, 8) == 0,
                 f"CHECKSUMS: row {n}")

    def check_lookup(self):
        m = self.n_entries - 1
        homes = m + m * 3 // 7 + 1
        hashed = sorted((xxh3_64(e.path), e.number) for e in self.entries[1:])
        slots, used = {}, 0
        for h, n in hashed:
            at = max(used, (h * homes) >> 64)
            slots[at] = (h & 0xFFFFFF) << 40 | (n + 1)
            used = at + 1
        table = [slots.get(i, 0) for i in range(max(used + 1, homes))]
        need(struct.pack(f"<{len(table)}Q", *table) == self.sections[6],
             "LOOKUP: differs")

    def check_digests(self):
        everything, files = [], []
        for e in self.entries:
            tail = struct.pack("<QqI", e.size, e.mtime, e.nsec)
            everything.append(e.path + b"\0" + struct.pack("<H", e.mode) +
                              (b"" if e.type == FOLDER else tail))
            if e.type == FILE:
                files.append(e.path + b"\0" +
                             struct.pack("<H", e.mode & 0o170777) + tail)
        need(xxh3_128(b"".join(everything)) == self.digest, "digest")
        need(xxh3_128(b"".join(files)) == self.files_digest, "files digest")

    def check_counts(self):
        files = [e for e in self.entries if e.type == FILE]
        need(len(files) == self.files, "files")
        need(sum(e.size for e in files) % 2**64 == self.bytes, "bytes")
        need(sum(e.type == LINK for e in self.entries) == self.symlinks,
             "symbolic links")
        if not self.from_dataset:
            return
        for e in self.entries:
            need(e.type in (FILE, FOLDER), f"entry {e.number}: type")
            if e.type == FOLDER:
                need((e.mode, e.size, e.mtime, e.nsec) == (0o40755, 0, 0, 0),
                     f"entry {e.number}: attributes")
                need(e.number == 0 or len(self.children(e.link)),
                     f"entry {e.number}: empty")
            else:
                need(e.mode & 0o7000 == 0, f"entry {e.number}: mode")
                need(e.member is not None, f"entry {e.number}: member")

    # ---- Answers

    def find(self, path):
        m = self.n_entries - 1
        h = xxh3_64(path)
        slot = (h * (m + m * 3 // 7 + 1)) >> 64
        while True:
            value = little(self.sections[6], 8 * slot, 8)
            if value == 0:
                return None
            number = (value & (2**40 - 1)) - 1
            if value >> 40 == h & 0xFFFFFF and \
                    self.entries[number].path == path:
                return number
            slot += 1

    def lines(self):
        yield b"hpdsl-snapshot 1"
        if self.from_dataset:
            yield b"dataset %s %s" % (self.dataset_id.hex().encode(),
                                      self.pack.hex().encode())
        stack = [0]
        while stack:
            e = self.entries[stack.pop()]
            yield line_of(e)
            if e.type == FOLDER:
                stack.extend(reversed(self.children(e.link)))


def escape(data):
    text = data.decode("utf-8", "surrogateescape")

    def one(m):
        c = ord(m[0])
        return {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(
            m[0], f"\\x{c - 0xDC00 if c > 0x7F else c:02x}")

    return re.sub("[\x00-\x1f\\\\\x7f\udc80-\udcff]", one, text).encode()


def line_of(e):
    fields = (LETTERS[e.type], f"{e.mode & 0o7777:04o}", str(e.size),
              f"{e.mtime}.{e.nsec:09d}",
              "-" if e.member is None else str(e.member),
              "-" if e.checksum is None else f"{e.checksum:016x}")
    line = " ".join(fields).encode() + b" " + (escape(e.path) or b".")
    return line + b"\t" + escape(e.target) if e.type == LINK else line


def print_info(s):
    for name in ("n_entries", "n_folders", "files", "symlinks", "bytes"):
        print(name.replace("n_", ""), getattr(s, name))
    for name in ("digest", "files_digest") + \
            (("dataset_id", "pack") if s.from_dataset else ()):
        print(name, getattr(s, name).hex())


def main(args):
    if len(args) not in (2, 3) or \
            args[0] not in {2: ("dump", "info"), 3: ("find",)}[len(args)]:
        sys.exit(__doc__.strip())
    with open(args[1], "rb") as f:
        s = Snapshot(f.read())
    if args[0] == "find":
        print(s.find(os.fsencode(args[2])))
    elif args[0] == "info":
        print_info(s)
    else:
        out = sys.stdout.buffer
        out.writelines(line + b"\n" for line in s.lines())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Bad as bad:
        sys.exit(f"read_snapshot.py: {bad}")
