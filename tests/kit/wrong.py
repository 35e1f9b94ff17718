#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For each rule of hpdsl-format(5), "What a checking reader checks", a dataset
that breaks it, and nothing else: all checksums are right.

usage: wrong.py PAGE FOLDER

FOLDER holds the sound datasets that tests/verify/wrong.bats makes.  hpdsl-verify
has to find each of them sound, also when this program has written it again, and
has to say of each wrong one what is wrong, with exit status 1.  A rule of the
page without a wrong dataset, or the reverse, is a failure.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from forge import h64, h128
from wrong_model import (CHUNK_SHA256, CHUNKS, CLASS_NAMES, DOUBLES, FRAMES,
                         LOOKUP, MEMBER_SHA256, MEMBERS, NAMES, PATHS, SAMPLES,
                         STORED, STORED_PATHS, Dataset, frame)

CASES = []


def wrong(rule, base, says):
    """A case; says: a pattern for a whole line of hpdsl-verify."""
    def keep(f):
        CASES.append((rule, base, says, f))
        return f
    return keep


def edit(rule, base, says, old, new):
    """A case that puts new for old in the manifest, once."""
    @wrong(rule, base, "dataset.yaml: " + says)
    def _(d):
        @d.on("manifest")
        def _(text):
            got = re.sub(old, new, text, count=1, flags=re.M)
            assert got != text, old
            return got


def patch(rule, base, says, kind, at, value):
    """A case that writes bytes over those of a section."""
    @wrong(rule, base, "index.hpdsl: " + says)
    def _(d):
        @d.on("sections")
        def _(part):
            assert part[kind][at : at + len(value)] != value
            part[kind][at : at + len(value)] = value


def header(rule, says, at, value):
    """A case that writes bytes over those of the header of the index."""
    @wrong(rule, "plain", "index.hpdsl: " + says)
    def _(d):
        @d.on("index")
        def _(index):
            index = bytearray(index)
            index[at : at + len(value)] = value
            end = min(struct.unpack_from("<I", index, 12)[0], len(index)) - 8
            struct.pack_into("<Q", index, end, h64(index[:end]))
            return bytes(index)


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


# ---- The manifest ---------------------------------------------------------

edit("first-line", "plain", "not an HPDSL manifest", "hpdsl-dataset", "dataset")
edit("manifest-yaml", "plain", "line .*: aliases are not allowed here",
     "^options:", "meta: &x\n  a: b\noptions: *x\nother:")
edit("known-keys", "plain", "line .*: a key that is not known",
     "^options:", "more: 1\noptions:")
edit("known-keys", "plain", "line .*: a key that is not known",
     "bytes: (.*), xxh3", r"bytes: \1, more: 1, xxh3")
edit("keys-once", "plain", "line .*: this key is given twice",
     "^samples: (.*)", r"samples: \1\nsamples: \1")
edit("key-order", "plain", "line .*: a key that is not in its place",
     "^samples: (.*)\nmembers: (.*)", r"members: \2\nsamples: \1")
edit("key-order", "plain", "line .*: a key that is not in its place",
     "name: (.*), bytes: ([0-9]*)", r"bytes: \2, name: \1")
edit("needed-keys", "plain", "'bytes' is missing", "^bytes: .*\n", "")
edit("values", "plain", "line .*: not a number", "^samples: ", "samples: 0")
edit("values", "plain", "line .*: 32 hex digits were expected",
     "(xxh3_128: )[0-9a-f]{32}", r"\g<1>" + "A" * 32)
edit("options-known", "plain", "line .*an option that is not known",
     "^  shuffle:", "  shuffling: global\n  shuffle:")
edit("options-known", "tars", "has options that adopted tars do not have",
     "^  group: key", "  shuffle: none\n  group: key")
edit("options-order", "plain", "line .*an option that is not in its place",
     "^  shuffle: (.*)\n  group: (.*)", r"  group: \2\n  shuffle: \1")
edit("group", "plain", "group is not what the index says",
     "^  group: key", "  group: none")
edit("group", "single", "group is not what the index says",
     "^  group: none", "  group: key")
edit("group", "plain", "group is not what the index says",
     "^  group: key", "  group: last")
edit("double-suffix", "plain", "double_suffix is not what the index says",
     "^  group: key", "  group: key\n  double_suffix:\n  - seg.png")
edit("shuffle", "bare", "shuffle is not what the index says",
     "^  shuffle: global", "  shuffle: none")
edit("shuffle", "bare", "shuffle is not what the index says",
     "^  shuffle: global\n", "")
edit("shuffle", "ordered", "shuffle is not what the index says",
     "^  shuffle: none", "  shuffle: global")
edit("shuffle", "ordered", "shuffle is not what the index says",
     "^  shuffle: none", "  shuffle: some")
edit("shuffle", "told", "shuffle is not what the index says",
     "^  shuffle: global\n", "")
edit("index-name", "plain", "names another index than index.hpdsl",
     "name: index.hpdsl", "name: index.old")
edit("manifest-samples", "plain", "the chunks' samples do not add up",
     "samples: 2,", "samples: 3,")
edit("file-names", "plain", "line .*: not a file name",
     "name: chunk-000000.tar", "name: ./chunk-000000.tar")
edit("plain-pair", "zst", "line .*: plain_bytes and plain_xxh3_128 come together",
     ", plain_bytes: [0-9]*", "")
edit("sha256-all", "sums", "some files have a SHA-256, others have none",
     r"(\{name: index.*), sha256: .*\}", r"\1}")
edit("sha256-id", "sums", "dataset_id_sha256 is not that of the members",
     "^(dataset_id_sha256: ).*", r"\g<1>" + 64 * "0")


def disagrees(rule, base, says, old, new):
    """As edit, where the index is found not to agree."""
    edit(rule, base, says, old, new)
    case = CASES.pop()
    CASES.append((case[0], case[1], "index.hpdsl: " + says, case[3]))


disagrees("index-row", "plain", "checksum differs",
          "(name: index.hpdsl.*xxh3_128: )[0-9a-f]{32}", r"\g<1>" + 32 * "0")
disagrees("manifest-counts", "plain",
          "counts or dataset id are not the manifest's",
          "^members: ", "members: 1")
disagrees("manifest-counts", "plain",
          "counts or dataset id are not the manifest's",
          "^(dataset_id: ).*", r"\g<1>" + 32 * "0")
disagrees("manifest-classes", "plain", "classes are not the manifest's",
          "^- dog$", "- fox")
disagrees("chunk-rows", "plain",
          "chunk-000000.tar is not as the manifest has it",
          "(name: chunk-000000.tar, bytes: )", r"\g<1>1")
disagrees("adopted", "tars", "is one of adopted tars, the manifest is not",
          "^adopted: true\n", "")
disagrees("adopted", "bare", "is not one of adopted tars",
          "^options:\n(  .*\n)*", "adopted: true\noptions:\n  group: key\n")


@wrong("manifest-checksum", "plain", "dataset.yaml: checksum differs")
def _(d):
    d.on("whole manifest")(lambda text: text[:-33] + b"0" * 32 + b"\n")


@wrong("other-files", "sums", "shards.json: checksum differs")
def _(d):
    @d.on("done")
    def _(to):
        with open(f"{to}/shards.json", "r+b") as f:
            f.write(b"[")


@wrong("other-files", "sums", "shards.json: is missing")
def _(d):
    d.on("done")(lambda to: os.remove(f"{to}/shards.json"))


@wrong("sha256-sections", "sums", "index.hpdsl: has no SHA-256, the manifest has")
def _(d):
    @d.on("sections")
    def _(part):
        del part[MEMBER_SHA256], part[CHUNK_SHA256]


# ---- Header and layout of the index ---------------------------------------

header("magic", "not an HPDSL index", 0, b"\x88")
header("header-length", "header: its length and sections disagree", 56, u32(9))
header("file-size", "has .* bytes, should have .*", 16, u64(1 << 20))


@wrong("header-checksum", "plain", "index.hpdsl: header: checksum differs")
def _(d):
    d.on("index")(lambda p: p[:335] + bytes([p[335] ^ 1]) + p[336:])


@wrong("counts", "plain", "index.hpdsl: header: counts and sections disagree")
def _(d):
    d.counts = {"classes": 1}


@wrong("sum", "plain", "index.hpdsl: header: .* bytes, members have .*")
def _(d):
    d.counts = {"bytes": 77}


def other_id(base):
    @wrong("dataset-id", base,
           "index.hpdsl: the dataset id is not that of the members")
    def _(d):
        d.on("id")(lambda _: bytes(16))


for name in "plain", "zst", "single", "tars", "dashes":
    other_id(name)


@wrong("kinds", "plain",
       "index.hpdsl: header: sections are missing or out of order")
def _(d):
    @d.on("table rows")
    def _(rows):
        rows[6][0], rows[7][0] = 8, 7


@wrong("row-sizes", "plain",
       "index.hpdsl: header: a section's row size or flags are wrong")
def _(d):
    @d.on("table rows")
    def _(rows):
        rows[2][4] = 1


@wrong("table-zeros", "plain",
       "index.hpdsl: header: a section's padding is not zero")
def _(d):
    @d.on("table rows")
    def _(rows):
        rows[2][5] = 1


@wrong("places", "plain", "index.hpdsl: header: a section's place is impossible")
def _(d):
    @d.on("table rows")
    def _(rows):
        rows[1][2] += 8


@wrong("end", "plain", "index.hpdsl: header: the sections do not fill the file")
def _(d):
    d.on("body")(lambda body: body + bytes(8))


@wrong("together", "named",
       "index.hpdsl: header: counts and sections disagree")
def _(d):
    @d.on("sections")
    def _(part):
        del part[STORED_PATHS]


def empty(base, says, *kinds):
    @wrong("not-empty", base, "index.hpdsl: section %s: is empty" % says)
    def _(d):
        @d.on("sections")
        def _(part):
            part.update((kind, bytearray()) for kind in kinds)


@wrong("doubles", "plain", "index.hpdsl: header: its flags contradict")
def _(d):
    d.flags |= 9


def doubles(says, flags, strings):
    @wrong("doubles", "plain", "index.hpdsl: " + says)
    def _(d):
        d.flags |= flags

        @d.on("sections")
        def _(part):
            part[DOUBLES] = bytearray(strings)


NO_LIST = "section DOUBLES: is no list of suffixes"
doubles("header: flags and sections disagree", 0, b"seg.png\0")
doubles(NO_LIST, 8, b"seg.png\0a.b\0")
doubles(NO_LIST, 8, b"seg.png\0seg.png\0")
doubles(NO_LIST, 8, b"png\0")
doubles(NO_LIST, 8, b"seg.png")
doubles(NO_LIST, 8, b"")

empty("plain", "STORED", STORED, STORED_PATHS)
empty("plain", "STORED_PATHS", STORED, STORED_PATHS)
empty("plain", "FRAMES", FRAMES)


@wrong("blocks", "plain",
       "index.hpdsl: section CLASS_NAMES, block 0: checksum differs")
def _(d):
    d.on("body")(lambda body: body[:-1] + bytes([body[-1] ^ 1]))


@wrong("padding", "named",
       "index.hpdsl: section NAMES: its padding is not zero")
def _(d):
    @d.on(f"padded {NAMES}")
    def _(data):
        assert data[-2] == 0
        return data[:-1] + b"x"


# ---- Samples and members --------------------------------------------------

patch("sample-members", "plain", "sample 0: has an impossible range of members",
      SAMPLES, 16, u64(0))
patch("sample-chunk", "plain", "sample 0: says chunk 1, lies in chunk 0",
      SAMPLES, 8, u32(1))
patch("labels", "plain", "sample 0: has a label without a class",
      SAMPLES, 12, u32(2))
patch("member-place", "plain", "member 0: its data lie where they cannot",
      MEMBERS, 0, u64(513))
patch("member-inside", "plain", "member 0: lies outside of its chunk",
      MEMBERS, 0, u64(1 << 20))
patch("nanoseconds", "plain", "member 0: has an impossible time",
      MEMBERS, 32, u32(10**9))
patch("member-sample", "plain",
      "member 0: is not among the members of its sample", MEMBERS, 46, b"\1")
patch("path", "plain", "member 0: has an invalid path", PATHS, 0, b"/")
patch("paths-dense", "bare", "member 0: gap or overlap of paths",
      MEMBERS, 36, struct.pack("<HHH", 5, 0o644, 4))


def in_sample(d, sample):
    return [i for i, m in enumerate(d.members) if m.sample == sample]


@wrong("one-key", "bare", "index.hpdsl: member 1: has another key .*")
def _(d):
    d.members[1].path = d.members[1].path.replace(b".", b"x.")


@wrong("member-order", "bare",
       "index.hpdsl: member 1: is not in the order of its sample's paths")
def _(d):
    d.members[:2] = d.members[1], d.members[0]


def split_first(d):
    """The second member of sample 0 becomes a sample of its own."""
    for m in d.members[1:]:
        m.sample += 1
    d.samples.insert(1, list(d.samples[0]))


@wrong("keys-unique", "bare", "index.hpdsl: sample .*: another sample has its key")
def _(d):
    split_first(d)


@wrong("keys-unique", "ordered", "index.hpdsl: sample 1: another sample has its key")
def _(d):
    split_first(d)


@wrong("single", "bare", "index.hpdsl: sample 0: has more than one member")
def _(d):
    d.flags |= 1
    d.manifest = d.manifest.replace(b"  group: key", b"  group: none")


@wrong("shuffle", "ordered",
       "dataset.yaml: shuffle is not what the index says")
def _(d):
    d.flags |= 4


@wrong("shuffle", "tars", "dataset.yaml: shuffle is not what the index says")
def _(d):
    d.flags |= 4


@wrong("runs", "tars", "index.hpdsl: sample 1: has the key of the one before it")
def _(d):
    split_first(d)


@wrong("member-checksum", "plain",
       "chunk-000000.tar: sample 0: .*: checksum differs")
def _(d):
    @d.on("sections")
    def _(part):
        part[MEMBERS][16] ^= 1


@wrong("generated", "bare",
       "index.hpdsl: member 0: is marked as generated, and is not its sample's "
       "key with .cls")
def _(d):
    d.members[0].mode |= 0x1000


@wrong("generated", "tars",
       "index.hpdsl: member 0: is marked as generated, and is not its sample's "
       "key with .cls")
def _(d):
    d.members[0].mode |= 0x1000


def generated(d):
    return next(m for m in d.members if m.mode & 0x1000)


@wrong("cls", "plain", "index.hpdsl: sample 0: has no generated member")
def _(d):
    generated(d).mode &= 0xFFF


@wrong("cls", "plain",
       "index.hpdsl: sample .*: has a generated member, but the manifest no cls")
def _(d):
    d.manifest = d.manifest.replace(b"  cls: true\n", b"")


@wrong("cls-content", "plain",
       "index.hpdsl: member .*: was generated, and its content is not the label")
def _(d):
    generated(d).data = b"7"


@wrong("cls-content", "plain",
       "index.hpdsl: member .*: was generated, and its content is not the label")
def _(d):
    generated(d).data += b"\n"


@wrong("cls-stat", "plain",
       "index.hpdsl: member .*: was generated, and has not mtime and mode .*")
def _(d):
    generated(d).nsec += 1


@wrong("paths-dense", "plain",
       "index.hpdsl: section PATHS: bytes that nothing points to")
def _(d):
    d.on("sections")(lambda part: part[PATHS].extend(b"x\0"))


@wrong("paths-unique", "bare",
       "index.hpdsl: member 1: cannot be found by its path")
def _(d):
    d.members[1].path = d.members[0].path


@wrong("lookup", "plain",
       "index.hpdsl: lookup slot .*: is not where it is looked for")
def _(d):
    @d.on("sections")
    def _(part):
        used = [i for i in range(0, len(part[LOOKUP]), 8)
                if any(part[LOOKUP][i : i + 8])]
        a, b = used[:2]
        t = part[LOOKUP]
        t[a : a + 8], t[b : b + 8] = t[b : b + 8], t[a : a + 8]


@wrong("lookup-size", "plain", "index.hpdsl: lookup table: is of a wrong size")
def _(d):
    d.on("sections")(lambda part: part[LOOKUP].extend(bytes(8)))


# ---- Chunks, classes, names and frames ------------------------------------

patch("chunk-range", "plain", "chunk 0: has an impossible range of samples",
      CHUNKS, 88, u64(0))
patch("chunk-first", "plain",
      "chunk 1: its first member is not its first sample's",
      CHUNKS, 88 + 8, u64(1))
patch("chunk-forms", "plain", "chunk 0: stored and plain form disagree",
      CHUNKS, 40, u64(20480))
patch("chunk-frames", "zst", "chunk 0: has an impossible range of frames",
      CHUNKS, 84, u32(99))
patch("stored-order", "named", "section STORED, row 1: out of order",
      STORED, 16, u64(0))
patch("stored-name", "named", "member .*: has an invalid name in its chunk",
      STORED_PATHS, 0, b"/")
patch("frame-place", "zst", "chunk 0: frame 0 lies where it cannot",
      FRAMES, 0, u64(512))


@wrong("chunk-name", "plain", "index.hpdsl: chunk 1: is not called chunk-000001.tar")
def _(d):
    d.chunks[1].name = b"chunk-000002.tar"


@wrong("adopted-names", "tars",
       "index.hpdsl: chunk 1: is not in the order of the tars' names")
def _(d):
    # the tars are looked for below the copy
    d.chunks[1].name = b"0.tar"
    d.on("done")(lambda to: os.rename(f"{to}/b.tar", f"{to}/0.tar"))


@wrong("names-dense", "plain",
       "index.hpdsl: section NAMES: bytes that nothing points to")
def _(d):
    d.on("sections")(lambda part: part[NAMES].extend(b"x\0"))


@wrong("names-dense", "plain",
       "index.hpdsl: section CLASS_NAMES: bytes that nothing points to")
def _(d):
    d.on("sections")(lambda part: part[CLASS_NAMES].extend(b"x\0"))


@wrong("class-order", "plain",
       "index.hpdsl: class 1: is not in the order of the names")
def _(d):
    d.classes.reverse()


@wrong("class-order", "plain",
       "index.hpdsl: class 1: has the name of the one before")
def _(d):
    d.classes[1] = d.classes[0]


@wrong("stored-other", "named",
       "index.hpdsl: member .*: its name in its chunk is its path")
def _(d):
    m = next(m for m in d.members if m.stored)
    m.stored = m.path


@wrong("stored-unique", "named",
       "index.hpdsl: member .*: its name in its chunk is another member's too")
def _(d):
    a, b = [m for m in d.members if m.stored][:2]
    b.stored = a.stored


@wrong("stored-unique", "named",
       "index.hpdsl: member .*: its name in its chunk is the path of another .*")
def _(d):
    a = next(m for m in d.members if not m.stored)
    next(m for m in d.members if m.stored).stored = a.path


@wrong("stored-dense", "named",
       "index.hpdsl: section STORED_PATHS: bytes that nothing points to")
def _(d):
    d.on("sections")(lambda part: part[STORED_PATHS].extend(b"x\0"))


@wrong("member-sha256", "sums", "chunk-000000.tar: sample 0: .*: SHA-256 differs")
def _(d):
    @d.on("sections")
    def _(part):
        part[MEMBER_SHA256][0] ^= 1


@wrong("chunk-sha256", "sums",
       "index.hpdsl: chunk-000000.tar is not as the manifest has it")
def _(d):
    @d.on("sections")
    def _(part):
        part[CHUNK_SHA256][0] ^= 1


@wrong("frames-dense", "zst",
       "index.hpdsl: section FRAMES: rows that no chunk has")
def _(d):
    d.on("sections")(lambda part: part[FRAMES].extend(bytes(16)))


CUT = ("index.hpdsl: chunk 0: frame .* does not hold the samples that it has to")


@wrong("frames-cut", "zst", CUT)
def _(d):
    d.frames = lambda ends, total: [total]


@wrong("frames-cut", "zst", CUT)
def _(d):
    d.frames = lambda ends, total: ends + [total]


@wrong("frames-cut", "zst", "index.hpdsl: chunk 0: frame .* begins within a sample")
def _(d):
    d.frames = lambda ends, total: [ends[0] - 512] + d.cut(ends, total)


@wrong("frames-cut", "zst", CUT)
def _(d):
    d.frames = lambda ends, total: d.cut(ends, total)[:-2] + [total]


# ---- Chunks as files ------------------------------------------------------

@wrong("chunk-file", "plain", "chunk-000000.tar: is missing .*")
def _(d):
    d.on("done")(lambda to: os.remove(f"{to}/chunk-000000.tar"))


@wrong("chunk-file", "plain", "chunk-000000.tar: is 512 bytes, .* expected.*")
def _(d):
    d.on("done")(lambda to: os.truncate(f"{to}/chunk-000000.tar", 512))


@wrong("chunk-checksum", "plain",
       "chunk-000000.tar: checksum differs, but nothing inside does")
def _(d):
    def other(text):
        was = h128(d.chunks[0].raw).hex()
        return text.replace(was, bytes(16).hex())

    @d.on("sections")
    def _(part):
        part[CHUNKS][24:40] = part[CHUNKS][48:64] = bytes(16)
    d.on("manifest")(other)


@wrong("plain-checksum", "zst",
       "chunk-000000.tar.zst: the checksum of the plain tar differs")
def _(d):
    @d.on("sections")
    def _(part):
        part[CHUNKS][48:64] = bytes(16)
    d.on("manifest")(lambda text: text.replace(
        h128(d.chunks[0].plain).hex(), bytes(16).hex()))


def at(offset, value):
    def change(tar):
        tar[offset : offset + len(value)] = value
    return change


@wrong("tar-header", "plain", "chunk-000000.tar: sample 0: .*: header differs")
def _(d):
    d.on("tar 0")(at(265, b"root"))


@wrong("tar-place", "plain",
       "chunk-000000.tar: sample 0: .*: is not where the index puts it")
def _(d):
    def move(tar):
        for m in d.members:
            if d.samples[m.sample][0] == 0:
                m.offset += 512
        return bytes(512) + tar[:-512]
    d.on("tar 0")(move)


@wrong("tar-padding", "plain",
       "chunk-000000.tar: sample 0: .*: padding is not zeros")
def _(d):
    d.on("tar 0")(at(1023, b"x"))


@wrong("tar-end", "plain",
       "chunk-000000.tar: the blocks behind the last member are not zeros")
def _(d):
    d.on("tar 0")(at(10239, b"x"))


@wrong("tar-size", "plain",
       "chunk-000000.tar: has another size than its members make")
def _(d):
    d.on("tar 0")(lambda tar: tar + bytes(10240))


@wrong("frame-header", "zst",
       "chunk-000000.tar.zst: .*has a header that is none of ours")
def _(d):
    def bare(_):
        c = d.chunks[0]
        return frame(c.plain[: d.cut(c.ends, len(c.plain))[0]], checksum=0)
    d.on("frame 0")(bare)


def wide(f):
    """The same frame with a window of 2^28 bytes."""
    single, size = f[4] & 0x20, f[4] >> 6
    assert single and size < 3
    n = {0: 1, 1: 2, 2: 4}[size]
    plain = int.from_bytes(f[5 : 5 + n], "little") + (256 if size == 1 else 0)
    return f[:4] + bytes([0x80 | 4, 18 << 3]) + u32(plain) + f[5 + n :]


@wrong("frame-window", "zst",
       "chunk-000000.tar.zst: .*has too large a window")
def _(d):
    d.on("frame 0")(wide)


@wrong("frame-size", "zst", "chunk-000000.tar.zst: .*frame 0: has another size")
def _(d):
    def less(_):
        c = d.chunks[0]
        return frame(c.plain[: d.cut(c.ends, len(c.plain))[0] - 512])
    d.on("frame 0")(less)


@wrong("frame-checksum", "zst",
       "chunk-000000.tar.zst: .*frame 0: checksum differs")
def _(d):
    d.on("frame 0")(lambda f: f[:-1] + bytes([f[-1] ^ 1]))


@wrong("frame-checksum", "zst", "chunk-000000.tar.zst: .*frame 0: ends early")
def _(d):
    d.on("frame 0")(lambda f: f + f[:4])


@wrong("seek-table", "zst", "chunk-000000.tar.zst: the seek table is damaged")
def _(d):
    d.on("table")(lambda t: t[:16] + bytes([t[16] ^ 1]) + t[17:])


# ---- Other files ----------------------------------------------------------

@wrong("sums", "sums", "SHA256SUMS: does not say what the manifest says")
def _(d):
    d.on("sums")(lambda sums: sums.replace(b"  ", b" *"))


def state(rule, says, at=None, value=b"", raw=False):
    """A case of a stage directory with other bytes in its state file."""
    @wrong(rule, "plain", says if raw else "stage.hpdsl: " + says)
    def _(d):
        @d.on("done")
        def _(to):
            fixed = bytearray(4608)
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
                boot = bytes.fromhex(f.read().strip().replace("-", ""))
            index = h128(open(f"{to}/index.hpdsl", "rb").read())
            fixed[:16] = b"\x89HPDSLT\n" + u32(1) + u32(0)
            fixed[16:56] = index + boot + u64(len(d.chunks))
            fixed[56:72] = u64(1) + u64(0)
            fixed[84:100] = u32(0) + u32(1) + u32(1) + u32(0)
            fixed[128:132] = fixed[256:260] = b"node"
            fixed[512:517] = b"/none"
            rest = bytearray(4736 - 4616) + bytearray(b"\2" * len(d.chunks))
            struct.pack_into("<I", rest, 4680 - 4616, 1)
            if at is not None and at < 4608:
                fixed[at : at + len(value)] = value
            elif at is not None and at >= 4616:
                rest[at - 4616 : at - 4616 + len(value)] = value
            sum_ = h64(fixed) ^ (at == 4608)
            with open(f"{to}/stage.hpdsl", "wb") as f:
                f.write(fixed + u64(sum_) + rest)
            if rule == "state-chunks":
                os.remove(f"{to}/chunk-000001.tar")


state("state-checksum", "checksum differs", 4608)
state("state-pack", "is of another dataset", 16, b"pack")
state("state-size", "its size is not that of its chunks", 48, u64(3))
state("state-zeros", "not zero where it has to be", 100, b"x")
state("state-generation", "it has no generation", 56, u64(0))
state("state-nodes", "nodes or parts make no sense", 84, u32(1))
state("state-texts", "a text does not end", 128, b"x" * 128)
state("state-texts", "the origin is no absolute path", 512, b"n")
state("state-chunks", "chunk-000001.tar: is missing .*", raw=True)


# ---- Running them ---------------------------------------------------------

def verify(path):
    done = subprocess.run(["hpdsl-verify", "-q", path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def try_sound(folder, base):
    """Written again it is sound, and the index is the same, byte for byte."""
    d = Dataset(f"{folder}/{base}")
    to = f"{folder}/again-{base}"
    shutil.copytree(d.folder, to)
    d.write(to)
    status, said = verify(to)
    with open(f"{to}/dataset.yaml", "rb") as f:
        same = base == "zst" or f.read() == d.read("dataset.yaml")
    shutil.rmtree(to)
    return None if status == 0 and same else f"{base}: not sound: {said}"


def try_wrong(folder, number):
    rule, base, says, make = CASES[number]
    d = Dataset(f"{folder}/{base}")
    to = f"{folder}/wrong-{number}"
    shutil.copytree(d.folder, to)
    try:
        make(d)
        d.write(to)
    except Exception as e:  # pylint: disable=broad-except
        return f"{rule}, {number}: cannot be made: {e!r}"
    status, said = verify(to)
    if status == 1 and any(re.fullmatch(says, s) for s in said.splitlines()):
        shutil.rmtree(to)
        return None
    return f"{rule}, {to}: wanted {says!r}, got exit status {status}: {said}"


def rules_of(page):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    text = text.partition('.\\" RULES\n')[2].partition('.\\" END RULES')[0]
    names = re.findall(r"(?m)^\.It rule Ta (\S+) Ta ", text)
    lines = re.findall(r"(?m)^\.It ", text)
    choices = re.findall(r'(?m)^\.It writer\'s choice Ta "" Ta ', text)
    assert len(lines) == len(names) + len(choices), "a line without a mark"
    assert len(set(names)) == len(names), "a name that comes twice"
    return set(names)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    page, folder = sys.argv[1:]
    rules, tried = rules_of(page), {case[0] for case in CASES}
    failed = [f"{name}: a rule without a wrong dataset" for name in
              sorted(rules - tried)]
    failed += [f"{name}: no rule of the page" for name in sorted(tried - rules)]
    with ThreadPoolExecutor(2) as pool:
        bases = sorted({case[1] for case in CASES})
        failed += pool.map(lambda b: try_sound(folder, b), bases)
        failed += pool.map(lambda n: try_wrong(folder, n), range(len(CASES)))
    failed = [f for f in failed if f]
    print(*failed, sep="\n", end="")
    print(f"{len(rules)} rules, {len(CASES)} wrong datasets, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
