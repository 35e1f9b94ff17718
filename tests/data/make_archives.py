#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes hostile and odd archives, each named by its defect.

usage: make_archives.py OUTPUT

OUTPUT/bad/archive gets them.  Bytes are put together by hand, without a
compressor whose output could be another one tomorrow.
"""
import os
import struct
import sys
import zlib

MTIME = 1700000000
END = bytes(1024)
made = {}


def is_(name, data):
    made[name] = data


# ---- tar ------------------------------------------------------------------


def head(path, size=0, kind=b"0", link=b"", **over):
    """A ustar header; over: fields by name, as bytes."""
    f = {
        "path": (0, 100, path),
        "mode": (100, 8, b"0000644\0"),
        "uid": (108, 8, b"0000000\0"),
        "gid": (116, 8, b"0000000\0"),
        "size": (124, 12, b"%011o\0" % size if size < 8**11 else b""),
        "mtime": (136, 12, b"%011o\0" % MTIME),
        "kind": (156, 1, kind),
        "link": (157, 100, link),
        "magic": (257, 8, b"ustar\00000"),
        "prefix": (345, 155, b""),
        "rest": (500, 12, b""),
    }
    h = bytearray(512)
    for key, (at, room, value) in f.items():
        value = over.get("raw_" + key, over.get(key, value))
        assert len(value) <= room, key
        h[at:at + len(value)] = value
    h[148:156] = b" " * 8
    h[148:156] = over.get("sum", b"%06o\0 " % sum(h))
    return bytes(h)


def pad(data):
    return data + bytes(-len(data) % 512)


def file(path, data=b"content\n", **over):
    return head(path, len(data), **over) + pad(data)


def record(key, value):
    body = b" " + key + b"=" + value + b"\n"
    n = len(body) + 1
    while len(b"%d" % n) + len(body) != n:
        n = len(b"%d" % n) + len(body)
    return b"%d" % n + body


def pax(*records, kind=b"x"):
    body = b"".join(r if isinstance(r, bytes) else record(*r) for r in records)
    return head(b"PaxHeaders/x", len(body), kind) + pad(body)


def tar(*parts):
    return b"".join(parts) + END


def symlink(path, target):
    return head(path, 0, b"2", target)


def hardlink(path, target):
    return head(path, 0, b"1", target)


GNU = {"magic": b"ustar  \0"}
GOOD = file(b"good")

# Paths
is_("path-dot-dot", tar(GOOD, file(b"../escaped-1")))
is_("path-dot-dot-inside", tar(file(b"a/../../escaped-2")))
is_("path-dot-dot-harmless", tar(file(b"a/../b")))
is_("path-is-dot-dot", tar(file(b"..")))
is_("path-absolute", tar(file(b"/tmp/escaped-3")))
is_("path-empty", tar(file(b"")))
is_("path-is-slash", tar(file(b"/", b"")))
is_("path-is-dot", tar(file(b".")))
is_("path-control-bytes", tar(file(b"a\x1b[31m\r\nb\x7f")))
is_("path-no-utf-8", tar(file(b"\xff\xfe\x80"), pax((b"path", b"\xc0\xaf")),
                         file(b"x")))
is_("path-4096", tar(pax((b"path", b"p/" * 2047 + b"pp")), file(b"x")))
is_("path-huge", tar(pax((b"path", b"p" * 100000)), file(b"x")))
is_("path-nul", tar(pax((b"path", b"be\0hind")), file(b"x")))
is_("path-prefix-dot-dot", tar(file(b"escaped-4", prefix=b"../..")))
is_("path-folder-dot-dot", tar(GOOD, head(b"../../escaped-5/", 0, b"5")))
is_("path-twice", tar(GOOD, file(b"./good")))
is_("path-file-and-folder", tar(file(b"a"), file(b"a/b")))
is_("path-component-256", tar(pax((b"path", b"c" * 256)), file(b"x")))

# Links
is_("link-out", tar(symlink(b"a/l", b"../../etc/passwd")))
is_("link-absolute", tar(symlink(b"l", b"/etc/passwd")))
is_("link-dangling", tar(GOOD, symlink(b"l", b"gone")))
is_("link-loop", tar(symlink(b"a", b"b"), symlink(b"b", b"a")))
is_("link-itself", tar(symlink(b"a", b"a")))
is_("link-chain-41", tar(GOOD, *(symlink(b"l%d" % i, b"l%d" % (i - 1) if i else
                                         b"good") for i in range(41))))
is_("link-hard-to-itself", tar(GOOD, file(b"a"), hardlink(b"./a", b"a"),
                               hardlink(b"b", b"a"), hardlink(b"a", b"a")))
is_("link-hard-to-itself-before", tar(hardlink(b"a", b"a"), file(b"a")))
is_("link-doubles", tar(GOOD, *(symlink(b"d%d" % i, b"d%d/../d%d" % (i + 1, i + 1))
                                for i in range(60))))
is_("link-empty", tar(GOOD, symlink(b"l", b"")))
is_("link-target-long", tar(GOOD, pax((b"linkpath", b"./" * 40000 + b"good")),
                            symlink(b"l", b"x")))
is_("link-below-a-link", tar(symlink(b"d", b"/tmp"), file(b"d/escaped-6")))
is_("link-hard-out", tar(hardlink(b"l", b"../../etc/passwd")))
is_("link-hard-absolute", tar(hardlink(b"l", b"/etc/passwd")))
is_("link-hard-dangling", tar(GOOD, hardlink(b"l", b"gone")))
is_("link-hard-loop", tar(hardlink(b"a", b"b"), hardlink(b"b", b"a")))
is_("link-hard-chain-100", tar(GOOD, *(
    hardlink(b"l%d" % i, b"l%d" % (i - 1) if i else b"good") for i in range(100))))
is_("link-hard-loop-of-50", tar(GOOD, *(
    hardlink(b"l%d" % i, b"l%d" % (i - 1) if i else b"l49") for i in range(50))))
is_("link-hard-to-folder", tar(GOOD, head(b"d/", 0, b"5"), hardlink(b"l", b"d")))
is_("link-hard-with-content", tar(GOOD, head(b"l", 8, b"1", b"good") +
                                  pad(b"content\n")))

# Sizes
is_("size-base-256-huge",
    tar(file(b"x", b"", **GNU, raw_size=b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7)))
is_("size-base-256-negative",
    tar(file(b"x", b"", **GNU, raw_size=b"\xff" * 12)))
is_("size-beyond-the-end", tar(head(b"x", 8**11 - 1), GOOD))
is_("size-no-octal", tar(GOOD, file(b"y", b"", raw_size=b"zzzzzzzzzzz\0")))
is_("size-pax-negative", tar(pax((b"size", b"-1")), file(b"x")))
is_("size-pax-huge", tar(pax((b"size", b"18446744073709551615")), file(b"x")))
is_("size-pax-2-to-63", tar(pax((b"size", b"9223372036854775807")), file(b"x")))
is_("size-pax-no-number", tar(pax((b"size", b"many")), file(b"x")))
is_("size-of-folder", tar(GOOD, head(b"d/", 512, b"5"), bytes(512), file(b"y")))

# Checksums
is_("checksum-wrong-first", tar(file(b"x", sum=b"000000\0 ")))
is_("checksum-wrong-later", tar(GOOD, file(b"x", sum=b"000000\0 ")))
is_("checksum-empty", tar(GOOD, file(b"x", sum=b"\0" * 8)))

# Extended headers
is_("pax-length-lies", tar(pax(b"99 path=x\n"), GOOD))
is_("pax-length-0", tar(pax(b"0 path=x\n"), GOOD))
is_("pax-length-huge", tar(pax(b"99999999999999999999 path=x\n"), GOOD))
is_("pax-no-newline", tar(pax(b"8 path=x"), GOOD))
is_("pax-no-equals", tar(pax(b"7 path\n"), GOOD))
is_("pax-larger-than-1m", tar(head(b"P", 2 << 20, b"x"), bytes(512), GOOD))
is_("pax-huge", tar(head(b"P", 8**11 - 1, b"x"), GOOD))
is_("pax-40-in-a-row", tar(*(pax((b"comment", b"%d" % i)) for i in range(40)),
                           GOOD))
is_("pax-100-in-a-row", tar(*[pax((b"comment", b"c"))] * 100, GOOD))
is_("pax-then-end", tar(GOOD, pax((b"path", b"x"))))
is_("pax-mtime-before-1970", tar(
    pax((b"mtime", b"-0.25")), file(b"x"), pax((b"mtime", b"-100.25")), file(b"y")))
is_("pax-global", tar(pax((b"mtime", b"77.5"), kind=b"g"), file(b"x"),
                      pax((b"mtime", b"5")), file(b"y"),
                      pax((b"path", b"all"), kind=b"g"), file(b"z")))
is_("pax-mtime-odd", tar(pax((b"mtime", b"99999999999999999999999.5")),
                         file(b"x"), pax((b"mtime", b"abc")), file(b"y")))
is_("pax-binary", tar(pax((b"hdrcharset", b"BINARY"), (b"path", b"\xff\xfe")),
                      file(b"x")))
is_("gnu-name-larger-than-1m", tar(head(b"././@LongLink", 2 << 20, b"L", **GNU),
                                   GOOD))
is_("gnu-name-cut", head(b"././@LongLink", 4096, b"L", **GNU) + bytes(512))
is_("gnu-name-dot-dot", tar(head(b"././@LongLink", 600, b"L", **GNU),
                            pad(b"../" * 199 + b"xx\0"), GOOD))
is_("gnu-name-0", tar(head(b"././@LongLink", 0, b"L", **GNU), GOOD))


def sparse(path, real, *blocks, data=b"", extended=b"\0", kind=b"S"):
    h = bytearray(head(path, len(data), kind, **GNU))
    at = 386
    for where, n in blocks:
        h[at:at + 24] = b"%011o\0%011o\0" % (where, n)
        at += 24
    h[482:483] = extended
    h[483:495] = b"%011o\0" % real if real < 8**11 else \
        b"\x80" + real.to_bytes(11, "big")
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h) + pad(data)


is_("sparse-good", tar(sparse(b"x", 5000, (4992, 8), data=b"the end\n")))
is_("sparse-only-a-hole", tar(sparse(b"x", 5000, (5000, 0))))
is_("sparse-huge", tar(sparse(b"x", 1 << 60, (4992, 8), data=b"the end\n")))
is_("sparse-overlaps", tar(sparse(b"x", 5000, (100, 8), (50, 8),
                                  data=b"sixteen bytes...")))
is_("sparse-beyond", tar(sparse(b"x", 100, (4992, 8), data=b"the end\n")))
is_("sparse-longer-than-data", tar(sparse(b"x", 5000, (0, 4000), data=b"few")))
is_("sparse-map-cut", sparse(b"x", 5000, (0, 8), extended=b"1", data=b""))
is_("sparse-pax-0.0", tar(
    pax((b"GNU.sparse.size", b"5000"), (b"GNU.sparse.numblocks", b"1"),
        (b"GNU.sparse.offset", b"4992"), (b"GNU.sparse.numbytes", b"8")),
    file(b"x"), GOOD))
is_("sparse-pax-0.1", tar(
    pax((b"GNU.sparse.size", b"5000"), (b"GNU.sparse.numblocks", b"1"),
        (b"GNU.sparse.map", b"4992,8"), (b"GNU.sparse.name", b"real")),
    file(b"x"), GOOD))
V1 = ((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"))
is_("sparse-pax-1.0", tar(
    pax(*V1, (b"GNU.sparse.realsize", b"5000"), (b"GNU.sparse.name", b"x")),
    head(b"x", 520), pad(b"1\n4992\n8\n"), pad(b"content\n"), GOOD))
is_("sparse-pax-1.0-whole", tar(
    pax(*V1, (b"GNU.sparse.realsize", b"8"), (b"GNU.sparse.name", b"x")),
    head(b"x", 520), pad(b"1\n0\n8\n"), pad(b"content\n"), GOOD))
# Without a map: what follows in the archive is no part of them.
for name, key in (("schily-realsize", b"SCHILY.realsize"),
                  ("gnu-realsize", b"GNU.sparse.realsize"),
                  ("gnu-size", b"GNU.sparse.size")):
    for size in b"3", b"8", b"100", b"5000", b"999999999":
        is_(f"sparse-alone-{name}-{size.decode()}",
            tar(pax((key, size)), file(b"x"), GOOD, file(b"y", b"more\n" * 2000)))
is_("sparse-alone-global", tar(pax((b"GNU.sparse.realsize", b"100"), kind=b"g"),
                               file(b"x"), GOOD))
is_("sparse-map-of-another-type", tar(
    sparse(b"x", 8, (4992, 8), data=b"content\n", kind=b"7"), GOOD))
is_("sparse-map-empty", tar(sparse(b"x", 5000, data=b"content\n"), GOOD,
                            file(b"y", b"more\n" * 2000)))
is_("sparse-map-empty-near", tar(sparse(b"x", 100, data=b"content\n"), GOOD))
is_("sparse-map-empty-pax", tar(
    pax((b"GNU.sparse.size", b"100"), (b"GNU.sparse.map", b"")), file(b"x"), GOOD))
is_("sparse-map-empty-1.0", tar(
    pax(*V1, (b"GNU.sparse.realsize", b"100"), (b"GNU.sparse.name", b"x")),
    head(b"x", 520), pad(b"0\n"), pad(b"content\n"), GOOD))
is_("sparse-all-a-hole-1.0", tar(
    pax(*V1, (b"GNU.sparse.realsize", b"100"), (b"GNU.sparse.name", b"x")),
    head(b"x", 512), pad(b"0\n"), GOOD))
is_("sparse-holes-of-solaris", tar(
    pax((b"SUN.holesdata", b" 0 512 1024")), file(b"x", b"d" * 512 + bytes(512)), GOOD))
is_("sparse-size-and-pax-size", tar(
    pax((b"SCHILY.realsize", b"100"), (b"size", b"16")),
    head(b"x", 8) + pad(b"sixteen bytes..."), GOOD))
is_("sparse-pax-map-bad",
    tar(pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
            (b"GNU.sparse.realsize", b"5000"), (b"GNU.sparse.name", b"x")),
        file(b"x", b"99999999999999999999\n")))
is_("sparse-pax-count-huge",
    tar(pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
            (b"GNU.sparse.realsize", b"5000")),
        file(b"x", b"100000000\n0\n1\n")))

# Types, modes, times
is_("v7", tar(head(b"old", 8, b"\0", magic=b"\0" * 8, prefix=b"") +
              pad(b"content\n")))
for kind, name in ((b"3", "character"), (b"4", "block"), (b"6", "fifo")):
    is_(f"type-{name}", tar(GOOD, head(b"dev/it", 0, kind)))
is_("type-unknown", tar(file(b"x", kind=b"Z")))
is_("type-multivolume", tar(head(b"x", 8, b"M", **GNU) + pad(b"content\n")))
is_("type-volume", tar(head(b"label", 0, b"V", **GNU), GOOD))
is_("type-contiguous", tar(file(b"x", kind=b"7")))
is_("mode-odd", tar(file(b"x", mode=b"7777777\0"), file(b"y", mode=b"rwxrwxrw")))
is_("mtime-base-256", tar(file(b"x", **GNU, mtime=b"\xff" * 8 + b"\xff\xff\xff\x00")))
is_("type-volume-with-content", tar(head(b"label", 8, b"V", **GNU) +
                                    pad(b"content\n"), GOOD))
is_("folder-named-file", tar(file(b"d/"), GOOD))
is_("folder-named-file-v7", tar(head(b"d/", 8, b"\0", magic=b"\0" * 8) +
                                pad(b"content\n"), GOOD))
is_("only-folders", tar(head(b"d/", 0, b"5"), head(b"d/e/", 0, b"5")))

# Ends
is_("empty", b"")
is_("text", b"Not an archive at all.\n" * 50)
is_("zeros", bytes(10240))
is_("one-zero-block", bytes(512))
is_("end-missing", GOOD + file(b"x"))
STALE = b"".join(file(b"f%02d" % i) for i in range(25))
END_AT = len(STALE) + 1024
LEFT = (STALE + bytes(1024))[END_AT - 10240:30720 - 10240]
is_("end-then-a-stale-record", STALE + bytes(1024) + LEFT)
is_("end-then-a-stale-record-changed", STALE + bytes(1024) +
    LEFT.replace(file(b"f17"), file(b"g17")))
is_("end-then-a-stale-record-and-more", STALE + bytes(1024) + LEFT + file(b"f00"))
is_("end-one-block", GOOD + bytes(512))
is_("end-then-another-tar", tar(GOOD) + bytes(8192) + tar(file(b"x")))
is_("end-one-block-then-a-header", GOOD + bytes(512) + tar(file(b"x")))
# Compressed, a piece that is decoded ends in the header behind the end mark.
is_("end-then-a-header-in-pieces", GOOD + file(b"y", b"c" * 1536) + bytes(512) + tar(file(b"x")))
is_("cut-in-header", (GOOD + file(b"x") + END)[:1024 + 300])
is_("cut-in-content", file(b"x", b"c" * 5000)[:3000])
is_("cut-before-padding", file(b"x", b"c" * 100)[:612])
is_("garbage-behind", tar(GOOD) + b"\xa5" * 700)

# ---- compressed -----------------------------------------------------------


def gz(data, crc=None, size=None, flags=0, extra=b""):
    out = b"\x1f\x8b\x08" + bytes([flags]) + bytes(4) + b"\0\x03" + extra
    for at in range(0, max(len(data), 1), 65535):
        part = data[at:at + 65535]
        last = at + 65535 >= len(data)
        out += struct.pack("<BHH", last, len(part), 65535 ^ len(part)) + part
    return out + struct.pack("<II", zlib.crc32(data) if crc is None else crc,
                             len(data) % 2**32 if size is None else size)


def zst(data):
    out = b"\x28\xb5\x2f\xfd\x00\x58"
    for at in range(0, len(data), 65536):
        part = data[at:at + 65536]
        last = at + 65536 >= len(data)
        out += struct.pack("<I", last | len(part) << 3)[:3] + part
    return out


T = tar(GOOD, file(b"large", b"l" * 9000))
is_("gzip-good", gz(T))
is_("gzip-crc-wrong", gz(T, crc=1))
is_("gzip-size-wrong", gz(T, size=1))
is_("gzip-cut-in-data", gz(T)[:5000])
is_("gzip-cut-in-trailer", gz(T)[:-3])
is_("gzip-cut-behind-the-end-mark", gz(T + bytes(4096))[:-3000])
is_("gzip-two-members", gz(T[:1000]) + gz(T[1000:]))
is_("gzip-second-member-damaged", gz(T[:1000]) + b"\x1f\x8b\x08\xe0" + gz(T[1000:]))
is_("gzip-garbage-behind", gz(T) + b"garbage" * 10)
is_("gzip-of-text", gz(b"text\n" * 200))
is_("gzip-of-nothing", gz(b""))
is_("gzip-of-gzip", gz(gz(T)))
is_("gzip-of-zip", gz(b"PK\x05\x06" + bytes(18)))
is_("gzip-header-flags", gz(T, flags=0xe0))
is_("gzip-second-tar-behind", gz(T + bytes(1024) + T))
is_("bzip2-damaged", b"BZh91AY&SY" + b"\x5a" * 900)
is_("xz-damaged", b"\xfd7zXZ\0\0\x04" + b"\x5a" * 900)
is_("xz-header-only", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46")
is_("zstd-good", zst(T))
is_("zstd-cut", zst(T)[:5000])
is_("zstd-of-text", zst(b"text\n" * 200))
is_("zstd-window-huge", b"\x28\xb5\x2f\xfd\x00\xff" + b"\x5a" * 900)
is_("zstd-only-skippable", b"\x50\x2a\x4d\x18\x04\0\0\0abcd")
is_("zstd-skippable-huge", b"\x5f\x2a\x4d\x18\xff\xff\xff\xffabcd" + zst(T))

# ---- nested ---------------------------------------------------------------


def deep(n):
    data = tar(GOOD)
    for i in range(n):
        data = tar(file(b"%d.tar" % i, data))
    return data


is_("nested-15", deep(15))
is_("nested-16", deep(16))
is_("nested-50", deep(50))
is_("nested-15-compressed", gz(deep(15)))
is_("nested-no-archive", tar(file(b"x.tar", b"text"), file(b"y.zip", b"")))
is_("nested-cut", tar(file(b"x.tar", T[:1000])))
is_("nested-damaged-gzip", tar(file(b"x.tgz", gz(T, crc=1))))
is_("nested-gzip-of-text", tar(file(b"x.tgz", gz(b"text"))))
is_("nested-dot-dot", tar(file(b"x.tar", tar(file(b"../../escaped-7")))))
is_("nested-name-dot-dot", tar(file(b"../x.tar", tar(GOOD))))
is_("nested-link-out", tar(file(b"x.tar", tar(symlink(b"l", b"../../good"))), GOOD))
is_("nested-link-to-outer", tar(file(b"x.tar", tar(symlink(b"l", b"../good"))), GOOD))
is_("nested-hard-link-to-outer", tar(file(b"x.tar", tar(hardlink(b"l", b"good"))),
                                     GOOD))
is_("nested-same-path", tar(file(b"x.tar", tar(GOOD)), file(b"x/good")))
is_("nested-only-suffix", tar(file(b".tar", tar(GOOD)), file(b"d/.zip", b"x")))

# ---- zip ------------------------------------------------------------------


def local(name, data, method=0, flags=0, crc=None, size=None, stored=None,
          extra=b""):
    crc = zlib.crc32(data) if crc is None else crc
    size = len(data) if size is None else size
    stored = len(data) if stored is None else stored
    return struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, method, 0x6000, 0x5767,
                       crc, stored, size, len(name), len(extra)) + name + extra


def central(name, at, data, method=0, flags=0, crc=None, size=None, stored=None,
            mode=0o100644, extra=b"", system=3):
    crc = zlib.crc32(data) if crc is None else crc
    size = len(data) if size is None else size
    stored = len(data) if stored is None else stored
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", system << 8 | 20, 20, flags, method, 0x6000,
                       0x5767, crc, stored, size, len(name), len(extra), 0, 0, 0,
                       mode << 16, at) + name + extra


def zip_end(count, size, at, comment=b""):
    return struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, size, at,
                       len(comment)) + comment


def zip_of(*members, **end):
    """Members: (name, data, what to say in the local header, in the directory)"""
    body, directory = b"", b""
    for name, data, here, there in members:
        there = dict(there)
        directory += central(there.pop("name", name), there.pop("at", len(body)),
                             data, **there)
        here = dict(here)
        content = here.pop("data", data)
        body += local(here.pop("name", name), data, **here) + content
    return body + directory + zip_end(end.get("count", len(members)),
                                      end.get("size", len(directory)),
                                      end.get("at", len(body)),
                                      end.get("comment", b""))


def both(name, data=b"content\n", **what):
    return name, data, what, what


def deflated(data):
    return struct.pack("<BHH", 1, len(data), 65535 ^ len(data)) + data


def squeezed(name, data, **lies):
    what = {"method": 8, "crc": zlib.crc32(data), "size": len(data), **lies}
    return name, deflated(data), what, what


Z = both(b"good")
is_("zip-good", zip_of(Z))
is_("zip-deflated-good", zip_of(squeezed(b"x", b"c" * 1000)))
is_("zip-empty", zip_of())
is_("zip-cut", zip_of(Z)[:60])
is_("zip-cut-in-the-end", zip_of(Z)[:-5])
is_("zip-path-dot-dot", zip_of(Z, both(b"../../escaped-8")))
is_("zip-path-absolute", zip_of(both(b"/tmp/escaped-9")))
is_("zip-path-backslash", zip_of(both(b"..\\..\\escaped-10")))
for system, name in (0, "dos"), (3, "unix"), (7, "macintosh"), (10, "ntfs"), \
        (11, "mvs"), (14, "vfat"), (19, "darwin"):
    is_(f"zip-path-backslash-{name}", zip_of(
        (b"a\\b", b"content\n", {}, {"system": system})))
    is_(f"zip-path-both-slashes-{name}", zip_of(
        (b"d/a\\b", b"content\n", {}, {"system": system})))
is_("zip-path-backslash-out", zip_of((b"..\\..\\escaped-12", b"content\n", {},
                                      {"system": 0})))
is_("zip-path-drive", zip_of(both(b"C:\\escaped-11")))
is_("zip-path-nul", zip_of(both(b"be\0hind")))
is_("zip-path-empty", zip_of(both(b"")))
is_("zip-path-twice", zip_of(Z, Z))
is_("zip-encrypted", zip_of(both(b"x", flags=1)))
is_("zip-strongly-encrypted", zip_of(both(b"x", flags=0x41, method=99)))
is_("zip-method-unknown", zip_of(both(b"x", method=77)))
is_("zip-crc-wrong", zip_of(both(b"x", crc=1)))
is_("zip-deflated-crc-wrong", zip_of(squeezed(b"x", b"c" * 1000, crc=1)))
is_("zip-size-too-large", zip_of(squeezed(b"x", b"c" * 1000, size=2000)))
is_("zip-size-too-small", zip_of(squeezed(b"x", b"c" * 1000, size=10)))
is_("zip-size-huge", zip_of(both(b"x", size=0xfffffffe, stored=0xfffffffe)))
is_("zip-deflate-damaged", zip_of((b"x", b"\xff" * 100, {"method": 8},
                                   {"method": 8})))
is_("zip-names-differ", zip_of((b"one", b"content\n", {}, {"name": b"two"})))
is_("zip-crcs-differ", zip_of((b"x", b"content\n", {}, {"crc": 1})))
is_("zip-sizes-differ", zip_of((b"x", b"content\n", {}, {"size": 100})))
is_("zip-offset-beyond", zip_of((b"x", b"content\n", {}, {"at": 100000})))
is_("zip-offset-no-header", zip_of((b"x", b"content\n", {}, {"at": 3})))
is_("zip-overlap", zip_of(Z, (b"x", b"content\n", {}, {"at": 0})))
is_("zip-directory-beyond", zip_of(Z, at=100000))
is_("zip-directory-size", zip_of(Z, size=100000))
is_("zip-count-too-large", zip_of(Z, count=500))
is_("zip-count-too-small", zip_of(Z, both(b"x"), count=1))
is_("zip-link-out", zip_of(both(b"l", b"../../etc/passwd")[:3] +
                           ({"mode": 0o120777},)))
LINK = squeezed(b"l", b"d/target")
LINK = LINK[:3] + ({**LINK[3], "mode": 0o120777},)
is_("zip-link-deflated", zip_of(both(b"d/target"), LINK))
is_("zip-link-deflated-first", zip_of(LINK, both(b"d/target")))
# What a sanitizer fills memory with goes on behind the end of its path.
BAD = squeezed(b"l\0" + b"\xbe" * 200, b"d/target")
is_("zip-link-deflated-nul", zip_of(both(b"d/target"), BAD[:3] +
                                    ({**BAD[3], "mode": 0o120777},)))
BAD = squeezed(b"l", b"d/target", size=9)
is_("zip-link-deflated-size", zip_of(both(b"d/target"), BAD[:3] +
                                     ({**BAD[3], "mode": 0o120777},)))
BAD = squeezed(b"l", b"d/target", crc=1)
is_("zip-link-deflated-crc", zip_of(both(b"d/target"), BAD[:3] +
                                    ({**BAD[3], "mode": 0o120777},)))
BAD = {"method": 8, "size": 8, "crc": 0}
is_("zip-link-deflated-damaged", zip_of(both(b"d/target"), (
    b"l", b"\xff" * 20, BAD, {**BAD, "mode": 0o120777})))
BAD = {"method": 77, "size": 8, "crc": 0}
is_("zip-link-method-unknown", zip_of(both(b"d/target"), (
    b"l", b"d/target", BAD, {**BAD, "mode": 0o120777})))
is_("zip-link-huge", zip_of((b"l", b"t", {"size": 0xfffffffe, "stored": 0xfffffffe},
                             {"mode": 0o120777, "size": 0xfffffffe,
                              "stored": 0xfffffffe})))
is_("zip-device", zip_of((b"d", b"", {}, {"mode": 0o020644})))
is_("zip-comment-long", zip_of(Z, comment=b"c" * 65535))
is_("zip-second-in-comment", zip_of(Z, comment=zip_of(both(b"inner"))))
Z64 = struct.pack("<HHQQ", 1, 16, 8, 8)
is_("zip64-good", zip_of((b"x", b"content\n",
                          {"size": 2**32 - 1, "stored": 2**32 - 1, "extra": Z64},
                          {"size": 2**32 - 1, "stored": 2**32 - 1, "extra": Z64})))
D64 = zip_of((b"a\\b", b"content\n", {}, {
    "system": 0, "at": 2**32 - 1, "extra": struct.pack("<HHQ", 1, 8, 0)}))
BEGIN = len(local(b"a\\b", b"content\n")) + 8
is_("zip64-directory", D64[:-22] + struct.pack(
    "<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(D64) - 22 - BEGIN, BEGIN) +
    struct.pack("<4sIQI", b"PK\6\7", 0, len(D64) - 22, 1) +
    struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, 2**32 - 1, 2**32 - 1, 0))
Z64BAD = struct.pack("<HHQQ", 1, 16, 1 << 62, 1 << 62)
is_("zip64-size-huge", zip_of((b"x", b"content\n",
                               {"size": 2**32 - 1, "stored": 2**32 - 1,
                                "extra": Z64BAD},
                               {"size": 2**32 - 1, "stored": 2**32 - 1,
                                "extra": Z64BAD})))
is_("zip64-extra-short", zip_of((b"x", b"content\n",
                                 {"size": 2**32 - 1, "stored": 2**32 - 1,
                                  "extra": Z64[:8]},
                                 {"size": 2**32 - 1, "stored": 2**32 - 1,
                                  "extra": Z64[:8]})))


def zip64_of(*members, disks=1, count=None, skip=0):
    """The same of a zip64; its directory is said to begin skip bytes late."""
    data = zip_of(*members)[:-22]
    begin = data.index(b"PK\1\2")
    count = len(members) if count is None else count
    return data + struct.pack(
        "<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count,
        len(data) - begin - skip, begin + skip) + struct.pack(
        "<4sIQI", b"PK\6\7", 0, len(data), disks) + struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)


Y = both(b"other")
is_("zip64-of-explorer", zip64_of(Z, Y, disks=0))
is_("zip64-count-too-large", zip64_of(Z, Y, count=3))
is_("zip64-directory-at-second", zip64_of(Z, Y, skip=50))
is_("zip-joined", zip_of(Z) + zip_of(Y))
is_("zip-joined-empty-first", zip_of() + zip_of(Y))
is_("zip64-joined", zip64_of(Z) + zip64_of(Y))
is_("zip-inside-of-one-that-is-cut",
    zip_of((b"x.zip", zip_of(Z), {}, {}))[:-22 - 46 - 5])
GAP = (b"good", b"content\n", {"data": b"content\n" + bytes(999)}, {})
is_("zip-gap", zip_of(GAP, Y))
is_("zip-gap-with-an-end", zip_of(
    (b"good", b"content\n", {"data": b"content\n" + bytes(70000) + zip_of(Y)}, {}),
    Y))
DOS = {"system": 0}
SJIS = b"cat\\\x83\\.jpg"
is_("zip-path-backslash-half", zip_of((SJIS, b"1", {}, DOS)))
is_("zip-path-backslash-utf8", zip_of(
    ("cat\\\u00e9\\\u00e8.jpg".encode(), b"1", {"flags": 0x800},
     {"flags": 0x800, **DOS})))
UP = "cat\\\u30bd\\a.jpg".encode()
for name, crc in ("", 0), ("-stale", 1):
    extra = struct.pack("<HHBI", 0x7075, 5 + len(UP), 1, zlib.crc32(SJIS) ^ crc) + UP
    is_("zip-path-unicode" + name, zip_of(
        (SJIS, b"1", {"extra": extra}, {"extra": extra, **DOS})))
is_("zip-path-folder-backslash", zip_of(
    (b"\x84a\\", b"", {}, {**DOS, "mode": 0}), (b"\x84a\\b", b"1", {}, DOS)))
is_("zip-slashes-differ", zip_of(
    (b"a/b/c", b"1", {}, {"name": b"a\\b\\c"}),
    (b"a\\b/d", b"2", {}, {"name": b"a/b\\d"})))
is_("zip-method-9", zip_of(squeezed(b"first", b"c" * 1000),
                           squeezed(b"x", b"c" * 1000, method=9)))
D = struct.pack("<4sIII", b"PK\7\10", zlib.crc32(b"content\n"), 8, 8)
is_("zip-descriptor-good", zip_of(
    (b"x", b"content\n", {"flags": 8, "crc": 0, "size": 0, "stored": 0,
                          "data": b"content\n" + D}, {"flags": 8})))
D = struct.pack("<4sIII", b"PK\7\10", 1, 8, 8)
is_("zip-descriptor-wrong", zip_of(
    (b"x", b"content\n", {"flags": 8, "crc": 0, "size": 0, "stored": 0,
                          "data": b"content\n" + D}, {"flags": 8})))


def main():
    folder = os.path.join(sys.argv[1], "bad", "archive")
    os.makedirs(folder, exist_ok=True)
    for name, data in made.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
