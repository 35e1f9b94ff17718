#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads packed datasets; written from hpdsl-format(5) alone.

It shares no code with HPDSL, so that the page can be held against what
hpdsl-pack writes: every count, row, checksum and header is checked.

usage: read_dataset.py check DATASET        everything; a line for each member
       read_dataset.py sample DATASET N     contents of sample N, one by one
       read_dataset.py find DATASET PATH    number of a member, by LOOKUP
       read_dataset.py order SEED N         packed order of N samples
       read_dataset.py vectors              checks vectors of the page on stdin
"""
import ctypes
import hashlib
import os
import re
import struct
import subprocess
import sys

MASK = (1 << 64) - 1
BLOCK = 65536
ROWS = {1: 16, 2: 52, 3: 0, 4: 8, 5: 88, 6: 0, 7: 8, 8: 0, 9: 16, 11: 16,
        12: 0, 14: 0}
OPTIONAL = {10: 32, 13: 32}
NO_LABEL = 0xFFFFFFFF


class Bad(Exception):
    """The dataset is not as the page says."""


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


_xxh.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
_xxh.XXH64.restype = ctypes.c_uint64


def xxh3_64(data):
    return _xxh.XXH3_64bits(data, len(data))


def xxh3_128(data):
    h = _xxh.XXH3_128bits(data, len(data))
    return struct.pack(">QQ", h.high, h.low)


# ---- Order ----------------------------------------------------------------


def order_key(seed, purpose, numbers=()):
    data = struct.pack("<Q", seed) + purpose.encode() + b"\0"
    return xxh3_64(data + b"".join(struct.pack("<Q", n) for n in numbers))


class Permutation:
    def __init__(self, n, key):
        self.n, self.state = n, key
        self.rounds = []
        for _ in range(48):
            shift = (self.next() * n) >> 64
            self.rounds.append((shift, self.next()))

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def swap_or_not(self, x, shift, salt):
        y = (shift - x) % self.n
        v = max(x, y) ^ salt
        v = ((v ^ (v >> 32)) * 0xD6E8FEB86659FD93) & MASK
        v = ((v ^ (v >> 32)) * 0xD6E8FEB86659FD93) & MASK
        return y if v >> 63 else x

    def at(self, x):
        for shift, salt in self.rounds:
            x = self.swap_or_not(x, shift, salt)
        return x

    def inverse(self, x):
        for shift, salt in reversed(self.rounds):
            x = self.swap_or_not(x, shift, salt)
        return x


def check_vectors(lines):
    count = 0
    for line in lines:
        if m := re.fullmatch(r'H\((\d+), "(\w+)"([\d, ]*)\) *= 0x(\w+)', line):
            numbers = [int(n) for n in m[3].split(",") if n.strip()]
            value = order_key(int(m[1]), m[2], numbers)
            need(value == int(m[4], 16), f"{line}: is {value:#x}")
        elif m := re.fullmatch(r"n (\d+), key (\w+): ([\d ]+) \.\. (\d+)",
                               line):
            n = int(m[1])
            p = Permutation(n, int(m[2], 0))
            want = [int(v) for v in m[3].split()]
            is_ = [p.at(i) for i in range(len(want))]
            need(is_ == want, f"{line}: is {is_}")
            need(p.at(n - 1) == int(m[4]), f"{line}: ends otherwise")
            need(p.inverse(p.at(n // 2)) == n // 2, f"{line}: inverse")
        elif m := re.fullmatch(r'\.It "(.*)" Ta "(.*)" Ta "(.*)"', line):
            path, key, suffix = (s.encode() for s in m.groups())
            is_ = key_of_last(path, (b"seg.png", b"a.seg.png"))
            need(is_ == key and path[len(key) + 1:] == suffix,
                 f"{line}: is {is_}")
        elif line.startswith((".Bl", ".El")):
            continue
        else:
            raise Bad(f"{line}: not understood")
        count += 1
    print(count)


# ---- Paths ----------------------------------------------------------------


def check_path(path):
    need(1 <= len(path) <= 4095 and b"\0" not in path, f"path {path}")
    for component in path.split(b"/"):
        need(component not in (b"", b".", b".."), f"path {path}")


def key_of(path):
    base = path.rfind(b"/") + 1
    while path[base:base + 1] == b".":
        base += 1
    dot = path.find(b".", base)
    return path if dot < 0 else path[:dot]


def key_of_last(path, doubles=()):
    """--group=last"""
    base = path.rfind(b"/") + 1
    while path[base:base + 1] == b".":
        base += 1
    rest = path[base:]
    if b"." not in rest:
        return path
    packed = re.search(rb"\.[A-Za-z][A-Za-z0-9]{0,7}\."
                       rb"(?:gz|bz2|xz|zst|lz4|br|lzma|Z)\Z", rest)
    suffix = packed[0] if packed else rest[rest.rfind(b"."):]
    for double in doubles:
        if rest[1:].endswith(b"." + double) and len(double) >= len(suffix):
            suffix = b"." + double
    return path[:len(path) - len(suffix)]


# ---- Index ----------------------------------------------------------------


def u48(data, at):
    return int.from_bytes(data[at:at + 6], "little")


class Index:
    def __init__(self, data):
        self.data = data
        self.stored = {}
        self.read_header()
        self.read_sections()

    def read_header(self):
        d = self.data
        need(d[:8] == b"\x89HPDSLI\n", "index: magic")
        need(len(d) >= 88, "index: too short")
        (version, length, size, self.samples, self.members, self.bytes,
         self.chunks, self.classes, self.n_sections, self.flags,
         self.dataset_id) = struct.unpack_from("<IIQQQQIIII16s", d, 8)
        need(version == 1, "index: version")
        need(length == 80 + 32 * self.n_sections + 8 <= len(d),
             "index: header length")
        need(xxh3_64(d[:length - 8]) ==
             struct.unpack_from("<Q", d, length - 8)[0],
             "index: header checksum")
        need(size == len(d), "index: file size")
        need(8 <= self.n_sections <= 64 and self.flags <= 15 and
             self.flags & 9 != 9, "index: sections, flags")
        self.single, self.adopted = self.flags & 1, self.flags & 2
        self.header_length = length

    def read_sections(self):
        self.sections, end, last = {}, self.header_length, 0
        for i in range(self.n_sections):
            kind, flags, offset, length, row, zero = struct.unpack_from(
                "<IIQQII", self.data, 80 + 32 * i)
            need(kind > last and offset == end and zero == 0,
                 f"section {kind}: place")
            need(i >= 8 or kind == i + 1, f"section {kind}: row")
            if kind in ROWS:
                need(flags == 1 and row == ROWS[kind], f"section {kind}: row")
            elif kind in OPTIONAL:
                need(flags == 0 and row == OPTIONAL[kind],
                     f"section {kind}: row")
            else:
                need(flags == 0, f"section {kind}: too new")
            end = self.read_section(kind, offset, length)
            last = kind
        need(end == len(self.data), "index: end")
        for kind, count in ((1, self.samples), (2, self.members),
                            (5, self.chunks), (7, self.classes)):
            need(len(self.sections[kind]) == count * ROWS[kind],
                 f"section {kind}: length")
        self.sha256 = 10 in self.sections
        need(self.sha256 == (13 in self.sections), "index: SHA-256")
        if self.sha256:
            need(len(self.sections[10]) == 32 * self.members and
                 len(self.sections[13]) == 32 * self.chunks,
                 "index: number of SHA-256")
        self.read_doubles()
        self.read_stored()

    def read_doubles(self):
        """Double suffixes."""
        strings = self.sections.get(14, b"").split(b"\0")
        self.doubles = strings[:-1]
        need(strings[-1] == b"" and
             (14 in self.sections) == bool(self.doubles) and
             self.doubles == sorted(set(self.doubles)) and
             len(self.doubles) <= 64, "DOUBLES: order")
        need(self.flags & 8 or not self.doubles, "DOUBLES: out of place")
        for s in self.doubles:
            need(3 <= len(s) <= 255 and b"/" not in s and b"." in s[1:-1] and
                 s[:1] != b"." and s[-1:] != b".", f"DOUBLES: {s}")

    def key_of(self, path):
        if self.flags & 8:
            return key_of_last(path, self.doubles)
        return key_of(path)

    def read_stored(self):
        """Names in chunks that are not the paths."""
        last, at = -1, 0
        need((9 in self.sections) == (12 in self.sections), "index: STORED")
        rows = self.sections.get(9, b"")
        need(len(rows) % 16 == 0, "STORED: length")
        for i in range(0, len(rows), 16):
            member, = struct.unpack_from("<Q", rows, i)
            length, = struct.unpack_from("<H", rows, i + 14)
            need(last < member < self.members and u48(rows, i + 8) == at,
                 f"STORED: row {i // 16}")
            self.stored[member] = self.name(12, at, length)
            if not self.adopted:
                check_path(self.stored[member])
            need(self.stored[member] != self.member(member)["path"],
                 f"member {member}: stored name")
            last, at = member, at + length + 1
        need(at == len(self.sections.get(12, b"")), "STORED_PATHS: end")

    def member_sha256(self, n):
        return self.sections[10][32 * n:32 * n + 32]

    def chunk_sha256(self, n):
        return self.sections[13][32 * n:32 * n + 32]

    def read_section(self, kind, offset, length):
        padded = (length + 7) // 8 * 8
        blocks = (padded + BLOCK - 1) // BLOCK
        data = self.data[offset:offset + padded]
        need(len(data) == padded and not any(data[length:]),
             f"section {kind}: padding")
        sums = self.data[offset + padded:offset + padded + 8 * blocks]
        need(len(sums) == 8 * blocks, f"section {kind}: checksums")
        for i in range(blocks):
            is_ = xxh3_64(data[i * BLOCK:(i + 1) * BLOCK])
            need(is_ == struct.unpack_from("<Q", sums, 8 * i)[0],
                 f"section {kind}, block {i}: checksum")
        self.sections[kind] = data[:length]
        return offset + padded + 8 * blocks

    def sample(self, n):
        need(n < self.samples, f"no sample {n}")
        first, chunk, label = struct.unpack_from("<QII", self.sections[1],
                                                 16 * n)
        end = self.members
        if n + 1 < self.samples:
            end = struct.unpack_from("<Q", self.sections[1], 16 * n + 16)[0]
        need(first < end <= self.members, f"sample {n}: members")
        need(chunk < self.chunks, f"sample {n}: chunk")
        need(label == NO_LABEL or label < self.classes, f"sample {n}: label")
        return {"first": first, "end": end, "chunk": chunk, "label": label}

    def member(self, n):
        row = self.sections[2][52 * n:52 * n + 52]
        offset, size, checksum, mtime, nsec, length, mode = \
            struct.unpack_from("<QQQqIHH", row)
        at = u48(row, 40)
        path = self.sections[3][at:at + length]
        need(self.sections[3][at + length:at + length + 1] == b"\0",
             f"member {n}: path")
        need(nsec <= 999999999 and mode & 0xE000 == 0, f"member {n}: row")
        check_path(path)
        return {"offset": offset, "size": size, "checksum": checksum,
                "mtime": mtime, "nsec": nsec, "mode": mode, "path": path,
                "path_at": at, "sample": u48(row, 46),
                "name": self.stored.get(n, path)}

    def chunk(self, n):
        row = self.sections[5][88 * n:88 * n + 88]
        sample, member, size, digest, plain, plain_digest, frame = \
            struct.unpack_from("<QQQ16sQ16sQ", row)
        length, flags, frames = struct.unpack_from("<HII", row, 78)
        if flags == 0:
            need(frame == 0 and frames == 0 and
                 (size, digest) == (plain, plain_digest), f"chunk {n}: form")
        else:
            need(flags == 1 and frames > 0, f"chunk {n}: form")
        name = self.name(6, u48(row, 72), length)
        need(self.adopted or
             name == b"chunk-%06d.tar%s" % (n, b".zst" if flags else b""),
             f"chunk {n}: name")
        return {"sample": sample, "member": member, "bytes": size,
                "digest": digest, "plain": plain,
                "plain_digest": plain_digest, "name": name,
                "compressed": flags == 1, "frame": frame, "frames": frames}

    def frames(self, c):
        """(plain, plain end, stored, stored end) of each frame of a chunk."""
        rows = [struct.unpack_from("<QQ", self.sections[11], 16 * i)
                for i in range(c["frame"], c["frame"] + c["frames"])]
        rows.append((c["plain"], c["bytes"] - (8 + 12 * c["frames"] + 9)))
        need(rows[0] == (0, 0), f"{c['name']}: first frame")
        frames = [(a[0], b[0], a[1], b[1]) for a, b in zip(rows, rows[1:])]
        for p, p_end, s, s_end in frames:
            need(p < p_end <= p + (1 << 30) and s < s_end,
                 f"{c['name']}: frame at {p}")
        return frames

    def name(self, kind, at, length):
        name = self.sections[kind][at:at + length]
        need(len(name) == length > 0 and b"\0" not in name and
             self.sections[kind][at + length:at + length + 1] == b"\0",
             f"section {kind}: name at {at}")
        return name

    def class_name(self, n):
        row = self.sections[7][8 * n:8 * n + 8]
        return self.name(8, u48(row, 0), struct.unpack_from("<H", row, 6)[0])

    def find(self, path):
        h = xxh3_64(path)
        slot = (h * (self.members + self.members * 3 // 7 + 1)) >> 64
        while True:
            value = struct.unpack_from("<Q", self.sections[4], 8 * slot)[0]
            if value == 0:
                return None
            number = (value & ((1 << 40) - 1)) - 1
            if value >> 40 == h & 0xFFFFFF and \
                    self.member(number)["path"] == path:
                return number
            slot += 1


def check_lookup(index):
    """The table is exactly the one that the page describes."""
    homes = index.members + index.members * 3 // 7 + 1
    hashed = sorted((xxh3_64(index.member(n)["path"]), n)
                    for n in range(index.members))
    slots, used = {}, 0
    for h, n in hashed:
        at = max(used, (h * homes) >> 64)
        slots[at] = (h & 0xFFFFFF) << 40 | (n + 1)
        used = at + 1
    table = [slots.get(i, 0) for i in range(max(used + 1, homes))]
    need(struct.pack(f"<{len(table)}Q", *table) == index.sections[4],
         "LOOKUP: differs")


def check_strings(index):
    names = b"".join(index.chunk(n)["name"] + b"\0"
                     for n in range(index.chunks))
    need(names == index.sections[6], "NAMES: differs")
    if index.adopted:
        bases = [os.path.basename(name) for name in names.split(b"\0")[:-1]]
        need(bases == sorted(set(bases)), "NAMES: order")
    classes = [index.class_name(n) for n in range(index.classes)]
    numbers = [b"%d" % n for n in range(index.classes)]
    need(classes in (sorted(set(classes)), numbers), "CLASSES: order")
    need(b"".join(c + b"\0" for c in classes) == index.sections[8],
         "CLASS_NAMES: differs")


# ---- Manifest -------------------------------------------------------------


def check_manifest(text, index, index_bytes):
    """As far as a reader without YAML can."""
    need(text.startswith(b"format: hpdsl-dataset\nversion: 1\n"),
         "manifest: first lines")
    need(text[-43:] == b"checksum: %s\n" %
         xxh3_128(text[:-43]).hex().encode(), "manifest: checksum")
    text = text.decode()
    head = dict(re.findall(r"^(\w+): '?([0-9a-f]+)'?$", text, re.M))
    need(head["dataset_id"] == index.dataset_id.hex(), "manifest: id")
    need(("\nadopted: true\n" in text) == bool(index.adopted),
         "manifest: adopted")
    for name in ("samples", "members", "bytes"):
        need(int(head[name]) == getattr(index, name), f"manifest: {name}")
    need(f"\nindex: {{name: index.hpdsl, bytes: {len(index_bytes)}, xxh3_128: "
         in text, "manifest: index")
    need(xxh3_128(index_bytes).hex() in text, "manifest: index checksum")
    chunks = re.findall(r"^- {name: ([^,]+), bytes: (\d+), samples: (\d+), "
                        r"xxh3_128: '?([0-9a-f]{32})'?(?:, plain_bytes: (\d+), "
                        r"plain_xxh3_128: '?([0-9a-f]{32})'?)?"
                        r"(?:, sha256: '?([0-9a-f]{64})'?)?}$", text, re.M)
    need(len(chunks) == index.chunks, "manifest: chunks")
    need(index.sha256 == ("dataset_id_sha256" in head), "manifest: SHA-256")
    for n, (name, size, samples, digest, plain, plain_digest, sha256) in \
            enumerate(chunks):
        c = index.chunk(n)
        need(sha256 == (index.chunk_sha256(n).hex() if index.sha256 else ""),
             f"manifest: {name}, SHA-256")
        need((plain, plain_digest) ==
             ((str(c["plain"]), c["plain_digest"].hex())
              if c["compressed"] else ("", "")), f"manifest: {name}, plain")
        end = index.chunk(n + 1)["sample"] if n + 1 < index.chunks \
            else index.samples
        need((name.strip("'").encode(), int(size), int(samples), digest) ==
             (c["name"], c["bytes"], end - c["sample"], c["digest"].hex()),
             f"manifest: {name}")


# ---- Chunks ---------------------------------------------------------------


def ustar(name, prefix, mode, size, mtime, kind):
    block = struct.pack(
        "100s8s8s8s12s12s8sc100s6s2s32s32s8s8s155s12x", name,
        b"%07o" % mode, b"%07o" % 0, b"%07o" % 0, b"%011o" % size,
        b"%011o" % mtime, b" " * 8, kind, b"", b"ustar", b"00", b"", b"",
        b"%07o" % 0, b"%07o" % 0, prefix)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def split_path(path):
    """(prefix, name), or None if ustar has no place for the path."""
    if len(path) <= 100:
        return b"", path
    slash = path[:156].rfind(b"/")
    if len(path) > 256 or slash <= 0 or not 1 <= len(path) - slash - 1 <= 100:
        return None
    return path[:slash], path[slash + 1:]


def pax_record(keyword, value):
    rest = len(keyword) + len(value) + 3
    n = rest + 1
    while rest + len(str(n)) != n:
        n += 1
    return b"%d %s=%s\n" % (n, keyword, value)


def header(m):
    path, size, records = m["name"], m["size"], b""
    mtime = min(max(m["mtime"], 0), 0o77777777777)
    place = split_path(path)
    if place is None:
        if any(byte > 0x7F for byte in path):
            records += pax_record(b"hdrcharset", b"BINARY")
        records += pax_record(b"path", path)
        tail = path[-100:]
        place = b"", tail[1:] if tail[:1] == b"/" else tail
    if size > 0o77777777777:
        records += pax_record(b"size", b"%d" % size)
        size = 0
    out = b""
    if records:
        name = b"PaxHeaders/%016x" % xxh3_64(records)
        out = ustar(name, b"", 0o644, len(records), mtime, b"x") + records
        out += bytes(-len(records) % 512)
    return out + ustar(place[1], place[0], m["mode"] & 0o777, size, mtime,
                       b"0")


def decompress(frame, size):
    """The one zstd frame that these bytes are."""
    bits = frame[4]
    need(frame[:4] == b"\x28\xb5\x2f\xfd" and bits & 0b111 == 0b100,
         "frame: header")
    length = (1 if bits & 0x20 else 0, 2, 4, 8)[bits >> 6]
    need(length > 0, "frame: no content size")
    at = 5 if bits & 0x20 else 6
    value = int.from_bytes(frame[at:at + length], "little") + \
        (256 if length == 2 else 0)
    need(value == size, "frame: content size")
    done = subprocess.run(["zstd", "-dcq"], input=frame, capture_output=True)
    need(done.returncode == 0 and len(done.stdout) == size,
         f"frame: {done.stderr.decode()}")
    return done.stdout


def check_cut(index, c, number, frames):
    """Frames are cut as the page says."""
    end = index.chunk(number + 1)["sample"] if number + 1 < index.chunks \
        else index.samples
    want, begin, at = [], 0, 0
    for n in range(c["sample"], end):
        last = index.member(index.sample(n)["end"] - 1)
        stop = (last["offset"] + last["size"] + 511) // 512 * 512
        if stop - begin > 131072 and at > begin:
            want.append(begin)
            begin = at
        while stop - begin > 131072:
            want.append(begin)
            begin = min(begin + (1 << 30), stop)
            if begin == stop:
                break
        at = stop
    if at > begin:
        want.append(begin)
    need([f[0] for f in frames] == want + [at], f"{c['name']}: cut")


def expand(index, c, number, data):
    """The plain tar of a compressed chunk."""
    frames = index.frames(c)
    check_cut(index, c, number, frames)
    table = struct.pack("<II", 0x184D2A5E, 12 * len(frames) + 9)
    plain = b""
    for p, p_end, s, s_end in frames:
        plain += decompress(data[s:s_end], p_end - p)
        # The frame's own checksum is the low half of XXH64 of its data.
        low = _xxh.XXH64(plain[p:], p_end - p, 0) & 0xFFFFFFFF
        need(data[s_end - 4:s_end] == struct.pack("<I", low),
             f"{c['name']}: frame at {p}: checksum")
        table += struct.pack("<III", s_end - s, p_end - p, low)
    table += struct.pack("<IBI", len(frames), 0x80, 0x8F92EAB1)
    need(data[frames[-1][3]:] == table, f"{c['name']}: seek table")
    need(len(plain) == c["plain"] and xxh3_128(plain) == c["plain_digest"],
         f"{c['name']}: plain checksum")
    return plain


def check_chunk(index, directory, number, told):
    """Every byte of a chunk; calls told(member, content)."""
    c = index.chunk(number)
    with open(os.path.join(os.fsencode(directory), c["name"]), "rb") as f:
        data = f.read()
    need(len(data) == c["bytes"] and xxh3_128(data) == c["digest"],
         f"chunk {number}: checksum")
    need(not index.sha256 or
         hashlib.sha256(data).digest() == index.chunk_sha256(number),
         f"chunk {number}: SHA-256")
    if c["compressed"]:
        data = expand(index, c, number, data)
    end = index.chunk(number + 1)["member"] if number + 1 < index.chunks \
        else index.members
    at = 0
    for n in range(c["member"], end):
        m = index.member(n)
        if index.adopted:
            need(m["offset"] % 512 == 0 and m["offset"] >= at + 512,
                 f"member {n}: offset")
            at = m["offset"]
        else:
            head = header(m)
            need(data[at:at + len(head)] == head and
                 at + len(head) == m["offset"], f"member {n}: header")
            at += len(head)
        content = data[at:at + m["size"]]
        need(xxh3_64(content) == m["checksum"], f"member {n}: checksum")
        need(not index.sha256 or
             hashlib.sha256(content).digest() == index.member_sha256(n),
             f"member {n}: SHA-256")
        at += m["size"]
        need(index.adopted or not any(data[at:at + -at % 512]),
             f"member {n}: padding")
        at += -at % 512
        told(n, m, content)
    need(index.adopted or
         (at + 1024 + 10239) // 10240 * 10240 == len(data) and
         not any(data[at:]), f"chunk {number}: end")


# ---- Datasets -------------------------------------------------------------


def load(directory):
    with open(os.path.join(directory, "index.hpdsl"), "rb") as f:
        return Index(f.read())


def check_samples(index):
    """Samples, members and chunks follow each other without gaps."""
    q, r = divmod(index.samples, index.chunks)
    path_at = member = 0
    last = None
    for n in range(index.samples):
        s = index.sample(n)
        need(s["first"] == member, f"sample {n}: first member")
        c = index.chunk(s["chunk"])
        need(index.adopted or
             c["sample"] == s["chunk"] * q + min(s["chunk"], r),
             f"chunk {s['chunk']}: first sample")
        need(c["sample"] <= n and c["member"] <= member,
             f"sample {n}: chunk")
        keys = set()
        for k in range(s["first"], s["end"]):
            m = index.member(k)
            need(m["sample"] == n and m["path_at"] == path_at,
                 f"member {k}: sample, path")
            keys.add(index.key_of(m["path"]))
            path_at += len(m["path"]) + 1
        need(len(keys) == 1, f"sample {n}: keys")
        # Of adopted tars a sample is a run that could not be longer.
        now = s["chunk"], keys.pop()
        need(not index.adopted or index.single or now != last,
             f"sample {n}: one with that before it")
        last, member = now, s["end"]
    need(member == index.members and path_at == len(index.sections[3]),
         "index: end of members")


def check_sums(directory, text, index):
    """SHA256SUMS, and what the manifest says of the same files."""
    rows = re.findall(rb"^(?:index: |- ){name: ([^,]+),.* sha256: "
                      rb"'?([0-9a-f]{64})'?}$", text, re.M)
    rows = [(name.strip(b"'"), digest) for name, digest in rows]
    if not index.sha256:
        need(not rows, "manifest: SHA-256 out of place")
        return
    with open(os.path.join(directory, "SHA256SUMS"), "rb") as f:
        sums = f.read()
    need(rows[0][0] == b"index.hpdsl" and
         sum(name == b"SHA256SUMS" for name, _ in rows) == 1,
         "manifest: rows with SHA-256")
    for name, digest in rows:
        with open(os.path.join(os.fsencode(directory), name), "rb") as f:
            need(hashlib.sha256(f.read()).hexdigest().encode() == digest,
                 f"manifest: SHA-256 of {name}")
    need(sums == b"".join(digest + b"  " + name + b"\n"
                          for name, digest in rows if name != b"SHA256SUMS"),
         "SHA256SUMS: differs")


def check(directory):
    index = load(directory)
    check_samples(index)
    check_lookup(index)
    check_strings(index)
    with open(os.path.join(directory, "index.hpdsl"), "rb") as f:
        index_bytes = f.read()
    with open(os.path.join(directory, "dataset.yaml"), "rb") as f:
        manifest = f.read()
    check_manifest(manifest, index, index_bytes)
    check_sums(directory, manifest, index)
    identity, sha256, total = {}, {}, 0

    def told(n, m, content):
        nonlocal total
        key = m["path"], n if index.adopted else 0
        need(key not in identity, f"member {n}: path twice")
        if not m["mode"] & 0x1000:
            size = m["path"] + b"\0" + struct.pack("<Q", m["size"])
            identity[key] = size + xxh3_128(content)
            sha256[key] = size + hashlib.sha256(content).digest()
        total += m["size"]
        label = index.sample(m["sample"])["label"]
        name = b"-" if label == NO_LABEL else index.class_name(label)
        path = m["path"].replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
        sys.stdout.buffer.write(
            b"%d %d %d %s %016x %s\n" %
            (n, m["sample"], m["size"], name, m["checksum"], path))

    for number in range(index.chunks):
        check_chunk(index, directory, number, told)
    need(total == index.bytes, "index: bytes")
    stream = b"".join(identity[p] for p in sorted(identity))
    need(xxh3_128(stream) == index.dataset_id, "dataset id")
    if index.sha256:
        stream = b"".join(sha256[p] for p in sorted(sha256))
        need(b"\ndataset_id_sha256: %s\n" %
             hashlib.sha256(stream).hexdigest().encode() in manifest,
             "dataset id over SHA-256")


def read_content(index, c, f, m):
    if not c["compressed"]:
        f.seek(m["offset"])
        return f.read(m["size"])
    content, end = b"", m["offset"] + m["size"]
    for p, p_end, s, s_end in index.frames(c):
        if p < end and p_end > m["offset"]:
            f.seek(s)
            plain = decompress(f.read(s_end - s), p_end - p)
            content += plain[max(m["offset"] - p, 0):end - p]
    return content


def print_sample(directory, number):
    """How to read one sample, step by step."""
    index = load(directory)
    s = index.sample(number)
    c = index.chunk(s["chunk"])
    with open(os.path.join(os.fsencode(directory), c["name"]), "rb") as f:
        for n in range(s["first"], s["end"]):
            m = index.member(n)
            content = read_content(index, c, f, m)
            need(xxh3_64(content) == m["checksum"], f"member {n}: checksum")
            sys.stdout.buffer.write(content)


def print_order(seed, n):
    p = Permutation(n, order_key(seed, "pack"))
    for i in range(n):
        print(p.at(i))


def main(args):
    if len(args) == 2 and args[0] == "check":
        check(args[1])
    elif len(args) == 3 and args[0] == "sample":
        print_sample(args[1], int(args[2]))
    elif len(args) == 3 and args[0] == "find":
        print(load(args[1]).find(os.fsencode(args[2])))
    elif len(args) == 3 and args[0] == "order":
        print_order(int(args[1]), int(args[2]))
    elif args == ["vectors"]:
        check_vectors(sys.stdin.read().splitlines())
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Bad as bad:
        sys.exit(f"read_dataset.py: {bad}")
