#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nasty.py DIR [PART..]: makes a tree of files whose names, sizes, modes and
times are the hardest that are allowed, or parts of it."""

import os
import random
import sys


def at(path, data=b"", mode=0o644, mtime_ns=1600000000123456789):
    """A file; its folders are made."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def places():
    """Around which a tar splits a path in two."""
    return list(range(96, 104)) + list(range(250, 262)) + [154, 155, 156]


def lengths(_):
    for n in range(1, 256):
        at(b"len/" + b"%03d" % n + b"x" * (n - 3) if n > 2 else
           b"len/" + b"y" * n, b"%d" % n)
    for n in places():
        # without a place to split, and with one at every kind of place
        if n < 256:
            at(b"n" * n, b"flat")
        at(b"split/%03d/" % n + b"m" * (n - 10), b"deep") \
            if n < 260 else None
        at(b"P%03d" % n + b"u" * 100 + b"/" + b"v" * (n - 105), b"two") \
            if n > 105 else None


def chains(_):
    for n in places():
        at((b"p/%03d/" % n + b"q/" * 200)[:n - 1] + b"r", b"deeper")


def odd(_):
    for name in (b"new\nline", b"\n", b"two\n\nlines\n", b"tab\tbed",
                 b"back\\slash", b"\\n", b"\\", b"end\\", b" ", b"  lead",
                 b"trail ", b"a b c.jpg", b".hidden", b"..two", b"...",
                 b".a.b", b"-dash", b"--help", b"-", b"--", b"a.b.c.jpg",
                 b"a.json", b"no_suffix", b"dot.", b"dots..", b"\xff\xfe",
                 b"caf\xe9", "caf\u00e9".encode(), "cafe\u0301".encode(),
                 "\u65e5\u672c\u8a9e.txt".encode(), "\U0001f98a".encode(),
                 b"\xed\xa0\x80", b"\xc0\xaf", b"\x01\x02\x1b[31m", b"\x7f",
                 b"quo\"te", b"'", b"$(x)", b"*", b"[a-z]", b"?", b"{a,b}",
                 b"a=b", b"%s%n", b"NUL", b"con", b"#", b"~", b"&", b"|",
                 b"=", b"@LongLink", b"././@LongLink"[4:], b"PaxHeaders",
                 b"chunk-000000.tar", b"dataset.yml", b"index.hpdsl",
                 b"__key__", b"UPPER", b"upper"):
        at(b"odd/" + name, b"content of " + name)
        at(b"odd dir/" + name + b"/" + name + b".bin", name * 3)


def far(_):
    # 16 components of 255 bytes: 4,095 in all
    deep = b"/".join(b"%02d" % i + b"d" * 253 for i in range(16))
    top = os.open(".", os.O_RDONLY)
    for part in deep.split(b"/")[:-1]:
        os.mkdir(part)
        os.chdir(part)
    at(deep.split(b"/")[-1], b"bottom")
    at(b"\xffshort", b"nearly")
    os.chdir(top)
    # 4,095 bytes in short components, one of them no UTF-8
    path = b"many/\xfe/" + b"abcdefghi/" * 410
    path = path[:4085] + b"/" + b"f.ab.cd.ef"
    path = path.replace(b"//", b"/x")
    os.makedirs(os.path.dirname(path))
    at(path[:4095], b"far")


def noise(rnd):
    # a path of which each byte but / is odd
    at(b"/".join(bytes(rnd.choice([c for c in range(1, 256) if c != 47])
                       for _ in range(255)) for _ in range(3)), b"noise")


def contents(rnd):
    for n in (0, 1, 2, 511, 512, 513, 1023, 1024, 10240, 65535, 65536,
              1 << 20, (1 << 20) + 1):
        at(b"size/%d.bin" % n, rnd.randbytes(n))
    at(b"size/zeros", bytes(5000))
    at(b"size/tar", b"ustar\0" * 3000)
    with open("size/holes", "wb") as f:
        f.truncate(300000)


def attributes(_):
    for mode in range(0o400, 0o1000):
        at(b"mode/%03o" % mode, b"", mode)
    # Not packed: bits of which an unpacked file must have none
    at(b"mode/suid", b"", 0o4755)
    for name, ns in (("zero", 0), ("one", 1), ("fraction", 999999999),
                     ("before", -1500000000), ("long before", -2 * 10**18),
                     ("2038", 2147483648 * 10**9 + 1),
                     ("2106", 4294967296 * 10**9),
                     ("2242", 8589934591 * 10**9 + 999999999),
                     ("2243", 8589934592 * 10**9),
                     ("2300", 10413792000 * 10**9 + 7)):
        at(b"time/" + name.encode(), b"", mtime_ns=ns)


def links(_):
    at(b"link/target", b"what links share", 0o640, 86400 * 10**9)
    os.symlink("target", "link/sym")
    os.symlink("sym", "link/sym2")
    os.symlink("../link/target", "link/up")
    os.symlink("../size/0.bin", b"link/\xff\n")
    os.link("link/target", "link/hard")
    os.link("link/target", "hard at the top")
    os.symlink("../size", "link/to a folder")
    os.makedirs("empty/folder")


def samples(rnd):
    for i in range(60):
        for suffix in (b"jpg", b"json", b"seg.png", b"txt"):
            at(b"samples/%02d.%s" % (i, suffix), rnd.randbytes(3000))


PARTS = (lengths, chains, odd, far, noise, contents, attributes, links, samples)


def main():
    os.umask(0o022)
    os.makedirs(sys.argv[1])
    os.chdir(sys.argv[1])
    rnd = random.Random(7)
    for part in PARTS:
        if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
            part(rnd)


main()
