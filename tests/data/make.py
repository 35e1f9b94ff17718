#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny dataset, and hostile variants of its index, manifest and journal.

usage: make.py OUTPUT

Written from hpdsl-format(5) alone, so it checks that page, too.  OUTPUT gets
good/tiny, which is what hpdsl-pack --shuffle=none --chunks=2 --labels=dir makes
of good/tree, and good/sha256, what is other with --digest=sha256, and bad/index, bad/manifest, bad/journal with a file for each
defect, named by it.  Checksums are those of the hostile bytes, as an attacker
would have them, so that the defects are met behind the checksums.
"""
import ctypes
import hashlib
import os
import struct
import sys

MTIME, NSEC = 1700000000, 123456789
U64 = (1 << 64) - 1

# Path, content; sorted by key and path.
FILES = [
    (b"cat/1.jpg", b"meow"),
    (b"cat/1.json", b'{"n": 1}\n'),
    (b"dog/2.jpg", b"woof, woof"),
    (b"dog/2.json", b'{"n": 2}\n'),
    (b"dog/3.txt", b""),
]
# Sample: first member, chunk, label.
SAMPLES = [(0, 0, 0), (2, 0, 1), (4, 1, 1)]
CLASSES = [b"cat", b"dog"]

# ---- Hashes ---------------------------------------------------------------

xxhash = ctypes.CDLL("libxxhash.so.0")


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
xxhash.XXH3_128bits.restype = Hash128
xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def h64(data):
    return xxhash.XXH3_64bits(bytes(data), len(data))


def sha(data):
    return hashlib.sha256(bytes(data)).digest()


def h128(data):
    h = xxhash.XXH3_128bits(bytes(data), len(data))
    return struct.pack(">QQ", h.high, h.low)


# ---- Chunks ---------------------------------------------------------------


def padded(n, to):
    return (n + to - 1) // to * to


def tar_header(path, size):
    b = bytearray(512)
    b[0 : len(path)] = path
    b[100:124] = b"0000644\0" + b"0000000\0" * 2
    b[124:148] = b"%011o\0%011o\0" % (size, MTIME)
    b[148:157] = b" " * 8 + b"0"
    b[257:265] = b"ustar\0" + b"00"
    b[329:345] = b"0000000\0" * 2
    b[148:156] = b"%06o\0 " % sum(b)
    return bytes(b)


def tar(members):
    out = b""
    for path, content in members:
        out += tar_header(path, len(content)) + content
        out += bytes(padded(len(out), 512) - len(out))
    out += bytes(1024)
    return out + bytes(padded(len(out), 10240) - len(out))


CHUNKS = [tar(FILES[:4]), tar(FILES[4:])]


def identity(digest):
    return digest(
        b"".join(
            path + b"\0" + struct.pack("<Q", len(content)) + digest(content)
            for path, content in sorted(FILES)
        )
    )


ID = identity(h128)

# ---- Index ----------------------------------------------------------------


class Index:
    """Rows as lists, to be spoilt; bytes() makes the file."""

    def __init__(self):
        self.samples = [list(s) for s in SAMPLES]
        self.members = []
        self.paths = b""
        offset = 0
        for number, (path, content) in enumerate(FILES):
            if number == 4:
                offset = 0
            offset += 512
            sample = sum(s[0] <= number for s in SAMPLES) - 1
            self.members.append(
                dict(offset=offset, size=len(content), checksum=h64(content))
                | dict(mtime=MTIME, nsec=NSEC, path_len=len(path), mode=0o644)
                | dict(path=len(self.paths), sample=sample)
            )
            self.paths += path + b"\0"
            offset += padded(len(content), 512)
        self.lookup = self.make_lookup()
        self.names = b"chunk-000000.tar\0chunk-000001.tar\0"
        self.chunks = [
            dict(sample=sample, member=member, bytes=len(data), sum=h128(data))
            | dict(plain=len(data), plain_sum=h128(data), frame=0)
            | dict(name=17 * i, name_len=16, flags=0, frames=0)
            for i, (sample, member, data) in enumerate(
                [(0, 0, CHUNKS[0]), (2, 4, CHUNKS[1])]
            )
        ]
        self.classes = [[0, 3], [4, 3]]
        self.class_names = b"cat\0dog\0"
        self.head = dict(version=1, flags=0, bytes=sum(len(c) for _, c in FILES))
        self.table = {}  # (row, field): value instead of the right one
        self.order = list(range(8))  # of the rows of the table
        self.extra = []  # (kind, flags, row size, data)
        self.cut = None  # length of the file

    def homes(self):
        return 5 + 5 * 3 // 7 + 1

    def make_lookup(self):
        slots = []
        hashed = sorted((h64(path), n) for n, (path, _) in enumerate(FILES))
        for h, number in hashed:
            slot = max(len(slots), (h * self.homes()) >> 64)
            slots += [0] * (slot - len(slots))
            slots.append((h & 0xFFFFFF) << 40 | (number + 1))
        return slots + [0] * max(1, self.homes() - len(slots))

    def sections(self):
        """(kind, flags, row size, data) of each."""
        members = b"".join(
            struct.pack("<QQQqIHH", *[m[k] for k in list(m)[:7]])
            + struct.pack("<Q", m["path"])[:6]
            + struct.pack("<Q", m["sample"])[:6]
            for m in self.members
        )
        chunks = b"".join(
            struct.pack("<QQQ16sQ16sQ", *[c[k] for k in list(c)[:7]])
            + struct.pack("<Q", c["name"])[:6]
            + struct.pack("<HII", c["name_len"], c["flags"], c["frames"])
            for c in self.chunks
        )
        classes = b"".join(
            struct.pack("<Q", at)[:6] + struct.pack("<H", n)
            for at, n in self.classes
        )
        samples = b"".join(struct.pack("<QII", *s) for s in self.samples)
        lookup = struct.pack(f"<{len(self.lookup)}Q", *self.lookup)
        known = [
            (1, 1, 16, samples),
            (2, 1, 52, members),
            (3, 1, 0, self.paths),
            (4, 1, 8, lookup),
            (5, 1, 88, chunks),
            (6, 1, 0, self.names),
            (7, 1, 8, classes),
            (8, 1, 0, self.class_names),
        ]
        return [known[i] for i in self.order] + self.extra

    def __bytes__(self):
        sections = self.sections()
        length = 80 + 32 * len(sections) + 8
        table, body = b"", b""
        for i, (kind, flags, row_size, data) in enumerate(sections):
            row = dict(kind=kind, flags=flags, offset=length + len(body))
            row |= dict(length=len(data), row_size=row_size, zero=0)
            row |= {k: v for (r, k), v in self.table.items() if r == i}
            table += struct.pack("<IIQQII", *row.values())
            full = data + bytes(padded(len(data), 8) - len(data))
            body += full
            if full:
                body += struct.pack("<Q", h64(full))
        head = dict(length=length, size=length + len(body))
        head |= dict(samples=3, members=5, chunks=2, classes=2)
        head |= dict(sections=len(sections), magic=b"\x89HPDSLI\n") | self.head
        fields = "magic version length size samples members bytes chunks "
        fields += "classes sections flags"
        head = struct.pack(
            "<8sIIQQQQIIII16s", *[head[k] for k in fields.split()], ID
        )
        head += table
        out = head + struct.pack("<Q", h64(head)) + body
        return out[: self.cut]


def set_path(ix, number, path):
    """Another path for a member, found by the lookup table, too."""
    paths = [p for p, _ in FILES]
    paths[number] = path
    ix.paths = b""
    for m, p in zip(ix.members, paths):
        m["path"], m["path_len"] = len(ix.paths), len(p)
        ix.paths += p + b"\0"
    saved = list(FILES)
    FILES[:] = list(zip(paths, [c for _, c in FILES]))
    ix.lookup = ix.make_lookup()
    FILES[:] = saved


def set_chunk_name(ix, name):
    ix.names = name + b"\0chunk-000001.tar\0"
    ix.chunks[0]["name_len"] = len(name)
    ix.chunks[1]["name"] = len(name) + 1


def whole_file(ix):
    """A chunk said to be of 2^62 bytes, of which a member has nearly all."""
    ix.chunks[0]["bytes"] = ix.chunks[0]["plain"] = 1 << 62
    ix.members[3]["size"] = (1 << 62) - ix.members[3]["offset"]
    ix.head["bytes"] += ix.members[3]["size"] - 9


def stored(ix, rows, names, flags=1, row_size=16):
    """Names in chunks: of rows (member, offset, length)."""
    data = b"".join(
        struct.pack("<Q", member)
        + struct.pack("<Q", at)[:6]
        + struct.pack("<H", n)
        for member, at, n in rows
    )
    ix.extra += [(9, flags, row_size, data), (12, 1, 0, names)]


def rename(ix, name):
    """Another name for member 2 in its chunk."""
    stored(ix, [(2, 0, len(name))], name + b"\0")


def sha256(ix, members, chunks):
    ix.extra += [(10, 0, 32, members), (13, 0, 32, chunks)]


SHA_MEMBERS = b"".join(sha(content) for _, content in FILES)
SHA_CHUNKS = b"".join(sha(chunk) for chunk in CHUNKS)


def compress(ix, rows, **fields):
    """Chunk 0, of 1000 bytes, with rows (plain, stored) of frames.

    The frame of cat/1 begins at 0, that of dog/2 at 2048; the trailer at 4096.
    """
    c = ix.chunks[0]
    c.update(bytes=1000, sum=bytes(16), flags=1, frames=len(rows))
    c.update(fields)
    data = b"".join(struct.pack("<QQ", *row) for row in rows)
    ix.extra.append((11, 1, 16, data))


def adopt(ix, name):
    """A chunk by path, as of adopted tars."""
    ix.head["flags"] = 2
    set_chunk_name(ix, name)


FRAMES = [(0, 0), (2048, 300), (4096, 600)]

INDEXES = {
    # The header and its table
    "not-an-index": lambda ix: ix.head.update(magic=b"\x89PNG\r\n\x1a\n"),
    "truncated": lambda ix: setattr(ix, "cut", 200),
    "truncated-header": lambda ix: setattr(ix, "cut", 60),
    "version-0": lambda ix: ix.head.update(version=0),
    "version-99": lambda ix: ix.head.update(version=99),
    "unknown-flag": lambda ix: ix.head.update(flags=32),
    "group-none-untrue": lambda ix: ix.head.update(flags=1),
    "header-length-huge": lambda ix: ix.head.update(length=0xFFFFFFF8),
    "sections-65": lambda ix: ix.head.update(sections=65),
    "sections-7": lambda ix: ix.order.pop(),
    "sections-out-of-order": lambda ix: ix.order.reverse(),
    "sections-twice": lambda ix: setattr(ix, "order", [0, 1, 2, 3, 4, 5, 6, 6]),
    "section-offset-wraps": lambda ix: ix.table.update({(3, "offset"): U64 - 7}),
    "section-length-wraps": lambda ix: ix.table.update({(3, "length"): U64 - 7}),
    "section-length-all-ones": lambda ix: ix.table.update({(3, "length"): U64}),
    "section-past-the-end": lambda ix: ix.table.update({(7, "length"): 4096}),
    "sections-overlap": lambda ix: ix.table.update({(1, "offset"): 344}),
    "section-row-size-0": lambda ix: ix.table.update({(1, "row_size"): 0}),
    "section-not-required": lambda ix: ix.table.update({(1, "flags"): 0}),
    "unknown-required-section": lambda ix: ix.extra.append((99, 1, 0, b"new")),
    "unknown-section-flag": lambda ix: ix.extra.append((99, 2, 0, b"new")),
    "samples-wrap": lambda ix: ix.head.update(samples=3 + (1 << 60)),
    "members-wrap": lambda ix: ix.head.update(members=5 + (1 << 62)),
    "samples-too-many": lambda ix: ix.head.update(samples=4),
    "bytes-untrue": lambda ix: ix.head.update(bytes=U64),
    "chunks-0": lambda ix: (ix.head.update(chunks=0), ix.chunks.clear()),
    # Samples
    "sample-first-wraps": lambda ix: ix.samples[1].__setitem__(0, U64),
    "sample-empty": lambda ix: ix.samples[1].__setitem__(0, 4),
    "sample-chunk-out-of-range": lambda ix: ix.samples[1].__setitem__(1, 2),
    "sample-of-another-chunk": lambda ix: ix.samples[2].__setitem__(1, 0),
    "sample-label-out-of-range": lambda ix: ix.samples[1].__setitem__(2, 2),
    # Members
    "member-offset-wraps": lambda ix: ix.members[2].update(
        offset=U64 - 511, size=1024
    ),
    "member-past-chunk": lambda ix: ix.members[2].update(offset=10240),
    "member-size-wraps": lambda ix: ix.members[2].update(size=U64),
    "member-of-exabytes": whole_file,
    "member-overlaps": lambda ix: ix.members[1].update(offset=512),
    "member-unaligned": lambda ix: ix.members[1].update(offset=1537),
    "member-time-impossible": lambda ix: ix.members[2].update(nsec=1000000000),
    "member-mode-unknown": lambda ix: ix.members[2].update(mode=0o020644),
    "member-sample-out-of-range": lambda ix: ix.members[2].update(
        sample=(1 << 48) - 1
    ),
    "member-of-another-sample": lambda ix: ix.members[2].update(sample=0),
    "member-checksum-untrue": lambda ix: ix.members[2].update(checksum=1),
    # Paths
    "path-escapes": lambda ix: set_path(ix, 2, b"../escaped.jpg"),
    "path-escapes-within": lambda ix: set_path(ix, 2, b"a/../../escaped.jpg"),
    "path-absolute": lambda ix: set_path(ix, 2, b"/tmp/escaped-hpdsl.jpg"),
    "path-is-slash": lambda ix: set_path(ix, 2, b"/"),
    "path-is-dot": lambda ix: set_path(ix, 2, b"."),
    "path-is-dot-dot": lambda ix: set_path(ix, 2, b".."),
    "path-dot-inside": lambda ix: set_path(ix, 2, b"dog/./2.jpg"),
    "path-slashes": lambda ix: set_path(ix, 2, b"dog//2.jpg"),
    "path-ends-in-slash": lambda ix: set_path(ix, 2, b"dog/2.jpg/"),
    "path-empty": lambda ix: set_path(ix, 2, b""),
    "path-nul": lambda ix: set_path(ix, 2, b"dog/2.jpg\0x"),
    "path-without-end": lambda ix: ix.members[2].update(path_len=4),
    "path-offset-wraps": lambda ix: ix.members[2].update(path=(1 << 48) - 1),
    "path-too-long": lambda ix: set_path(ix, 2, b"x" * 4096),
    "path-twice": lambda ix: set_path(ix, 2, b"cat/1.jpg"),
    "path-below-a-file": lambda ix: set_path(ix, 2, b"cat/1.jpg/x"),
    "paths-overlap": lambda ix: ix.members[2].update(path=10),
    # Lookup
    "lookup-loops": lambda ix: setattr(
        ix, "lookup", [s or 1 for s in ix.lookup]
    ),
    "lookup-number-out-of-range": lambda ix: setattr(
        ix, "lookup", [s | 0xFF if s else 0 for s in ix.lookup]
    ),
    "lookup-numbers-0": lambda ix: setattr(
        ix, "lookup", [s & ~0xFF for s in ix.lookup]
    ),
    "lookup-empty": lambda ix: setattr(ix, "lookup", [0] * len(ix.lookup)),
    "lookup-too-short": lambda ix: setattr(ix, "lookup", ix.lookup[:5]),
    "lookup-too-long": lambda ix: setattr(ix, "lookup", ix.lookup + [0] * 9),
    # Chunks
    "chunk-name-escapes": lambda ix: set_chunk_name(ix, b"../chunk-000000.tar"),
    "chunk-name-absolute": lambda ix: set_chunk_name(ix, b"/etc/passwd"),
    "chunk-name-is-slash": lambda ix: set_chunk_name(ix, b"/"),
    "chunk-name-is-dot-dot": lambda ix: set_chunk_name(ix, b".."),
    "chunk-name-empty": lambda ix: set_chunk_name(ix, b""),
    "chunk-name-nul": lambda ix: set_chunk_name(ix, b"chunk-000000.tar\0x"),
    "chunk-name-wraps": lambda ix: ix.chunks[0].update(name=(1 << 48) - 1),
    "chunk-is-the-index": lambda ix: set_chunk_name(ix, b"index.hpdsl"),
    "chunk-sample-wraps": lambda ix: ix.chunks[1].update(sample=1 << 63),
    "chunk-member-wraps": lambda ix: ix.chunks[1].update(member=U64),
    "chunk-compressed": lambda ix: ix.chunks[0].update(flags=1),
    "chunk-forms-differ": lambda ix: ix.chunks[0].update(plain=20480),
    "chunk-size-untrue": lambda ix: ix.chunks[0].update(bytes=20480, plain=20480),
    "chunk-flags-unknown": lambda ix: ix.chunks[0].update(flags=2),
    "chunk-adopted-name-nul": lambda ix: adopt(ix, b"../a\0b"),
    "chunk-adopted-name-empty": lambda ix: adopt(ix, b""),
    "chunk-adopted-is-gone": lambda ix: adopt(ix, b"../no/such.tar"),
    "chunk-adopted-is-a-device": lambda ix: adopt(ix, b"/dev/zero"),
    "chunk-adopted-is-a-folder": lambda ix: adopt(ix, b".."),
    "chunk-adopted-is-other": lambda ix: adopt(ix, b"/etc/passwd"),
    # Names in chunks
    "stored-untrue": lambda ix: rename(ix, b"dog/x.jpg"),
    "stored-escapes": lambda ix: rename(ix, b"../escaped.jpg"),
    "stored-absolute": lambda ix: rename(ix, b"/tmp/escaped-hpdsl.jpg"),
    "stored-too-long": lambda ix: rename(ix, b"x" * 4096),
    "stored-empty": lambda ix: rename(ix, b""),
    "stored-nul": lambda ix: rename(ix, b"dog/\0.jpg"),
    "stored-is-the-path": lambda ix: rename(ix, b"dog/2.jpg"),
    "stored-is-another-path": lambda ix: rename(ix, b"dog/2.json"),
    "stored-twice": lambda ix: stored(
        ix, [(2, 0, 1), (3, 2, 1)], b"x\0x\0"
    ),
    "stored-out-of-order": lambda ix: stored(
        ix, [(3, 0, 1), (2, 2, 1)], b"x\0y\0"
    ),
    "stored-of-no-member": lambda ix: stored(ix, [(5, 0, 1)], b"x\0"),
    "stored-number-wraps": lambda ix: stored(ix, [(U64, 0, 1)], b"x\0"),
    "stored-offset-wraps": lambda ix: stored(
        ix, [(2, (1 << 48) - 1, 65535)], b"x\0"
    ),
    "stored-overlap": lambda ix: stored(
        ix, [(2, 0, 2), (3, 1, 1)], b"xy\0"
    ),
    "stored-too-many": lambda ix: stored(
        ix, [(i, 2 * i, 1) for i in range(6)], b"x\0" * 6
    ),
    "stored-not-required": lambda ix: stored(ix, [(2, 0, 1)], b"x\0", 0),
    "stored-row-size-17": lambda ix: stored(ix, [(2, 0, 1)], b"x\0", 1, 17),
    "stored-without-names": lambda ix: (
        stored(ix, [(2, 0, 1)], b""),
        ix.extra.pop(),
    ),
    "stored-names-unused": lambda ix: stored(ix, [(2, 0, 1)], b"x\0y\0"),
    # SHA-256
    "sha256-of-members-missing": lambda ix: sha256(ix, bytes(128), bytes(64)),
    "sha256-of-chunks-missing": lambda ix: sha256(ix, bytes(160), bytes(32)),
    "sha256-too-many": lambda ix: sha256(ix, bytes(192), bytes(64)),
    "sha256-of-member-untrue": lambda ix: sha256(
        ix, SHA_MEMBERS[:64] + bytes(32) + SHA_MEMBERS[96:], SHA_CHUNKS
    ),
    "sha256-of-chunk-untrue": lambda ix: sha256(
        ix, SHA_MEMBERS, bytes(32) + SHA_CHUNKS[32:]
    ),
    "sha256-of-members-alone": lambda ix: ix.extra.append(
        (10, 0, 32, SHA_MEMBERS)
    ),
    "sha256-required": lambda ix: ix.extra.extend(
        [(10, 1, 32, SHA_MEMBERS), (13, 1, 32, SHA_CHUNKS)]
    ),
    "sha256-half-a-row": lambda ix: sha256(ix, bytes(150), bytes(64)),
    # Frames
    "frames-0": lambda ix: compress(ix, []),
    "frames-of-a-plain-chunk": lambda ix: compress(ix, FRAMES, flags=0),
    "frames-too-many": lambda ix: compress(ix, FRAMES, frames=4),
    "frames-too-few": lambda ix: compress(ix, FRAMES, frames=2),
    "frames-wrap": lambda ix: compress(ix, FRAMES, frame=U64),
    "frames-2-to-the-32": lambda ix: compress(ix, FRAMES, frames=(1 << 32) - 1),
    "frames-table-too-large": lambda ix: compress(ix, FRAMES, bytes=53),
    "frames-file-wraps": lambda ix: compress(ix, FRAMES, bytes=U64),
    "frames-plain-wraps": lambda ix: compress(ix, FRAMES, plain=U64),
    "frames-half-a-row": lambda ix: (
        compress(ix, FRAMES),
        ix.extra.append((11, 1, 16, ix.extra.pop()[3] + b"x")),
    ),
    "frames-not-required": lambda ix: ix.extra.append((11, 0, 16, bytes(16))),
    "frames-unused": lambda ix: ix.extra.append((11, 1, 16, bytes(16))),
    "frame-first-not-0": lambda ix: compress(ix, [(512, 0)] + FRAMES[1:]),
    "frame-stored-not-0": lambda ix: compress(ix, [(0, 8)] + FRAMES[1:]),
    "frame-empty": lambda ix: compress(ix, [(0, 0), (0, 300), (4096, 600)]),
    "frame-of-0-bytes": lambda ix: compress(ix, [(0, 0), (2048, 0), (4096, 600)]),
    "frame-wraps": lambda ix: compress(ix, [(0, 0), (U64, 300), (4096, 600)]),
    "frame-out-of-order": lambda ix: compress(
        ix, [(0, 0), (4096, 300), (2048, 600)]
    ),
    "frame-past-the-table": lambda ix: compress(ix, FRAMES[:2] + [(4096, 947)]),
    "frame-past-the-chunk": lambda ix: compress(ix, FRAMES[:2] + [(10240, 600)]),
    "frame-in-a-sample": lambda ix: compress(
        ix, [(0, 0), (1024, 300), (4096, 600)]
    ),
    "frame-of-tebibytes": lambda ix: compress(ix, FRAMES, plain=1 << 40),
    # Classes
    "class-name-wraps": lambda ix: ix.classes[1].__setitem__(0, (1 << 48) - 1),
    "class-name-empty": lambda ix: ix.classes[1].__setitem__(1, 0),
    "class-names-overlap": lambda ix: ix.classes[1].__setitem__(0, 0),
}


def make_index(defect=None):
    ix = Index()
    if defect:
        defect(ix)
    return bytes(ix)


def later_index():
    """What a later version may add: sections that need not be known."""
    ix = Index()
    ix.extra = [(99, 0, 0, b"new"), (100, 0, 0, b""), (4000000000, 0, 0, b"x" * 100)]
    return bytes(ix)


# ---- Manifest -------------------------------------------------------------


def sum_line(text):
    return text + b"checksum: " + h128(text).hex().encode() + b"\n"


def sha256_dataset():
    """Index, SHA256SUMS and manifest of --digest=sha256."""
    index = make_index(lambda ix: sha256(ix, SHA_MEMBERS, SHA_CHUNKS))
    named = [("index.hpdsl", index)] + [
        (f"chunk-00000{i}.tar", c) for i, c in enumerate(CHUNKS)
    ]
    sums = "".join(f"{sha(d).hex()}  {n}\n" for n, d in named).encode()
    text = manifest(index).decode()
    text = text.replace(
        "\nsamples:",
        f"\ndataset_id_sha256: {identity(sha).hex()}\nsamples:",
        1,
    ).replace("  chunks: 2\n", "  chunks: 2\n  digest: sha256\n")
    for _, data in named:
        old = f"xxh3_128: {h128(data).hex()}"
        assert old in text
        text = text.replace(old, f"{old}, sha256: {sha(data).hex()}")
    text += (
        f"files:\n- {{name: SHA256SUMS, bytes: {len(sums)}, "
        f"xxh3_128: {h128(sums).hex()}, sha256: {sha(sums).hex()}}}\n"
    )
    return index, sums, sum_line(text.encode())


def manifest(index=None):
    index = index or make_index()
    lines = [
        "format: hpdsl-dataset",
        "version: 1",
        f"dataset_id: {ID.hex()}",
        "samples: 3",
        "members: 5",
        f"bytes: {sum(len(c) for _, c in FILES)}",
        "seed: 0",
        "options:",
        "  shuffle: none",
        "  group: key",
        "  labels: dir:1",
        "  symlinks: follow",
        "  prefix_input: false",
        "  chunks: 2",
        "classes:",
        "- cat",
        "- dog",
        f"index: {{name: index.hpdsl, bytes: {len(index)}, "
        f"xxh3_128: {h128(index).hex()}}}",
        "chunks:",
    ] + [
        f"- {{name: chunk-00000{i}.tar, bytes: {len(c)}, "
        f"samples: {n}, xxh3_128: {h128(c).hex()}}}"
        for i, (n, c) in enumerate(zip([2, 1], CHUNKS))
    ]
    return "\n".join(lines).encode() + b"\n"


def replaced(old, new):
    def change(text):
        assert old in text, old
        return text.replace(old, new, 1)

    return change


def behind(line, more):
    return replaced(line, line + more)


def alias_bomb(text):
    bomb = b"bomb0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 12):
        refs = b", ".join([b"*a%d" % (i - 1)] * 10)
        bomb += b"bomb%d: &a%d [%s]\n" % (i, i, refs)
    return text + bomb


FILE_ROW = b"files: [{name: %s, bytes: 1, xxh3_128: '11111111111111111111111111111111'}]\n"

MANIFESTS = {
    "alias-bomb": alias_bomb,
    "alias-of-itself": lambda t: t + b"loop: &a [*a]\n",
    "nested-deeply": lambda t: t + b"deep: " + b"[" * 20000 + b"\n",
    "nested-closed": lambda t: t + b"deep: " + b"[" * 500 + b"]" * 500 + b"\n",
    "nested-mappings": lambda t: t + b"deep: " + b"{a: " * 500 + b"}" * 500 + b"\n",
    "number-too-large": replaced(b"samples: 3", b"samples: 18446744073709551616"),
    "number-negative": replaced(b"samples: 3", b"samples: -3"),
    "number-octal": replaced(b"samples: 3", b"samples: 03"),
    "number-real": replaced(b"samples: 3", b"samples: 3e0"),
    "number-is-text": replaced(b"samples: 3", b"samples: three"),
    "number-is-list": replaced(b"samples: 3", b"samples: [3]"),
    "number-of-many-digits": replaced(b"samples: 3", b"samples: " + b"9" * 5000),
    "samples-do-not-add-up": replaced(b"samples: 3", b"samples: 4"),
    "samples-wrap": lambda t: replaced(b"samples: 1,", b"samples: %d," % U64)(
        replaced(b"samples: 3", b"samples: 1")(t)
    ),
    "key-twice": behind(b"members: 5\n", b"members: 5\n"),
    "option-twice": behind(b"  group: key\n", b"  group: none\n"),
    "key-missing": replaced(b"members: 5\n", b""),
    "chunks-missing": lambda t: t[: t.index(b"chunks:\n")],
    "chunks-empty": lambda t: t[: t.index(b"chunks:\n")] + b"chunks: []\n",
    "version-0": replaced(b"version: 1", b"version: 0"),
    "version-99": replaced(b"version: 1", b"version: 99"),
    "digest-short": replaced(b"dataset_id: ", b"dataset_id: 00 #"),
    "chunk-name-escapes": replaced(b"chunk-000000", b"../chunk-000000"),
    "chunk-name-absolute": replaced(b"chunk-000000.tar", b"/etc/passwd"),
    "chunk-name-is-dot-dot": replaced(b"chunk-000000.tar", b'".."'),
    "chunk-name-nul": replaced(b"chunk-000000.tar", b'"chunk\\0x"'),
    "chunk-name-empty": replaced(b"chunk-000000.tar", b"''"),
    "index-name-escapes": replaced(b"index.hpdsl", b"../index.hpdsl"),
    "not-a-mapping": lambda t: t + b"- a list\n",
    "not-utf-8": lambda t: t + b"meta: {a: \xff\xfe}\n",
    "two-documents": lambda t: t + b"---\nformat: hpdsl-dataset\n",
    "binary-damaged": lambda t: t + b"meta: {a: !!binary 'A===='}\n",
    "binary-with-nul": lambda t: t + b"meta: {a: !!binary 'YQBi'}\n",
    "tag-unknown": lambda t: t + b"meta: !<tag:example.org,2002:x> 7\n",
    "directive": lambda t: b"%YAML 9.9\n" + t,
    "not-ours": replaced(b"hpdsl-dataset", b"hpdsl-nonsense"),
    "size-huge": replaced(b"bytes: 10240, samples: 2", b"bytes: %d, samples: 2" % U64),
    "plain-bytes-alone": replaced(b"samples: 2,", b"samples: 2, plain_bytes: 9,"),
    "chunk-said-compressed": replaced(
        b"samples: 2,",
        b"samples: 2, plain_bytes: 10240, plain_xxh3_128: %s," % (b"1" * 32),
    ),
    "sha256-of-one-chunk": replaced(
        b"samples: 2,", b"samples: 2, sha256: '%s'," % (b"1" * 64)
    ),
    "sha256-short": replaced(b"samples: 2,", b"samples: 2, sha256: ab,"),
    "file-escapes": lambda t: t + FILE_ROW % b"../x",
    "file-absolute": lambda t: t + FILE_ROW % b"/x",
    "file-two-folders": lambda t: t + FILE_ROW % b"a/b/c",
    "file-missing": lambda t: t + FILE_ROW % b".nv-meta/x",
    "adopted-too-late": lambda t: replaced(b"chunk-000000", b"../chunk-000000")(t)
    + b"adopted: true\n",
    "adopted-elsewhere": lambda t: replaced(
        b"chunk-000000.tar", b"/nowhere/chunk-000000.tar"
    )(replaced(b"seed: 0\n", b"seed: 0\nadopted: true\n")(t)),
}


def later_manifest(text):
    """Keys of a later version are passed over."""
    return text + b"new: {a: [1, 2, {b: c}]}\nmore: x\n"


# ---- Journal --------------------------------------------------------------

OPTIONS = (
    b"shuffle none seed 0 group key labels dir:1 symlinks follow "
    b"prefix_input false chunks 2 "
).replace(b" ", b"\0")


class Journal:
    """What a pack of good/tree leaves that got its first chunk done."""

    def __init__(self):
        self.options = OPTIONS
        self.files = [
            [len(c), MTIME, NSEC, 0o644, len(path), path] for path, c in FILES
        ]
        self.list = None  # bytes instead of the files
        self.records = [[0, len(CHUNKS[0]), h128(CHUNKS[0])]]
        self.head = {}
        self.tail = b""

    def __bytes__(self):
        files = self.list
        if files is None:
            files = b"".join(
                struct.pack("<QqIHH", *f[:5]) + f[5] for f in self.files
            )
        h = dict(magic=b"\x89HPDSLJ\n", version=1, zero=0)
        h |= dict(options=len(self.options), list=len(files), files=5)
        h |= dict(sum=h64(self.options + files), chunks=0, host=b"nowhere")
        h |= self.head
        owner = struct.pack("<I64s60x", 1, h.pop("host"))
        head = struct.pack("<8sIIQQQQQ", *h.values())
        out = head + struct.pack("<Q", h64(head)) + owner
        out += self.options + files
        for record in self.records:
            row = b"CHNK" + struct.pack("<IQ16s", *record)
            out += row + struct.pack("<Q", h64(row))
        return out + self.tail


def record(number, size, digest=bytes(16)):
    return lambda j: j.records.append([number, size, digest])


JOURNALS = {
    "not-a-journal": lambda j: j.head.update(magic=b"\x89PNG\r\n\x1a\n"),
    "version-0": lambda j: j.head.update(version=0),
    "version-99": lambda j: j.head.update(version=99),
    "options-wrap": lambda j: j.head.update(options=U64),
    "options-huge": lambda j: j.head.update(options=16 << 20),
    "options-without-end": lambda j: setattr(j, "options", OPTIONS[:-1]),
    "options-odd": lambda j: setattr(j, "options", OPTIONS + b"x\0"),
    "option-differs": lambda j: setattr(
        j, "options", OPTIONS.replace(b"chunks\x002", b"chunks\x003")
    ),
    "option-unknown": lambda j: setattr(j, "options", OPTIONS + b"new\0x\0"),
    "option-twice": lambda j: setattr(j, "options", OPTIONS + b"seed\x001\0"),
    "list-wraps": lambda j: j.head.update(list=U64),
    "list-huge": lambda j: j.head.update(list=1 << 59),
    "list-too-short": lambda j: j.head.update(list=20),
    "files-wrap": lambda j: j.head.update(files=U64),
    "files-too-many": lambda j: j.head.update(files=6),
    "files-too-few": lambda j: j.head.update(files=4),
    "body-checksum-differs": lambda j: j.head.update(sum=1),
    "host-without-end": lambda j: j.head.update(host=b"x" * 64),
    "file-path-escapes": lambda j: j.files[1].__setitem__(
        slice(4, 6), [9, b"../../abc"]
    ),
    "file-path-empty": lambda j: j.files[1].__setitem__(slice(4, 6), [0, b""]),
    "file-path-cut": lambda j: j.files[4].__setitem__(4, 4000),
    "file-time-impossible": lambda j: j.files[1].__setitem__(2, 1 << 31),
    "file-gone": lambda j: j.files.append(
        [1, MTIME, NSEC, 0o644, 5, b"e/f.g"]
    ) or j.head.update(files=6),
    "file-new": lambda j: j.files.pop() and j.head.update(files=4),
    "file-changed": lambda j: j.files[2].__setitem__(0, 11),
    "files-out-of-order": lambda j: j.files.reverse(),
    "record-of-no-chunk": record(4000000000, 10240),
    "record-of-untrue-size": lambda j: record(1, U64)(j),
    "record-untrue": lambda j: record(0, 10240)(j),
    "record-torn": lambda j: setattr(j, "tail", b"CHNK\1\0\0\0"),
    "record-garbage": lambda j: setattr(j, "tail", b"\xff" * 100),
    "records-many": lambda j: setattr(j, "records", j.records * 500),
}


def make_journal(defect=None):
    j = Journal()
    if defect:
        defect(j)
    return bytes(j)


# ---- All of them ----------------------------------------------------------


def put(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    good, bad = (os.path.join(sys.argv[1], d) for d in ("good", "bad"))
    for path, content in FILES:
        at = os.path.join(good, "tree", path.decode())
        put(os.path.dirname(at), os.path.basename(at), content)
    tiny = os.path.join(good, "tiny")
    for i, chunk in enumerate(CHUNKS):
        put(tiny, f"chunk-00000{i}.tar", chunk)
    put(tiny, "index.hpdsl", make_index())
    put(tiny, "dataset.yaml", sum_line(manifest()))
    index, sums, text = sha256_dataset()
    put(os.path.join(good, "sha256"), "index.hpdsl", index)
    put(os.path.join(good, "sha256"), "SHA256SUMS", sums)
    put(os.path.join(good, "sha256"), "dataset.yaml", text)
    put(good, "index-later", later_index())
    put(good, "manifest-later", sum_line(later_manifest(manifest())))
    put(good, "journal", make_journal())
    for name, defect in INDEXES.items():
        put(os.path.join(bad, "index"), name, make_index(defect))
    for name, change in MANIFESTS.items():
        put(os.path.join(bad, "manifest"), name, sum_line(change(manifest())))
    for name, defect in JOURNALS.items():
        put(os.path.join(bad, "journal"), name, make_journal(defect))


if __name__ == "__main__":
    main()
