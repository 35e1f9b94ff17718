#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""foreign_tars.py DIR: tars that other readers trip over by more than a name."""

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile


def tar(path, names, fmt=tarfile.USTAR_FORMAT, change=None, **more):
    with tarfile.open(path, "w", format=fmt, **more) as t:
        for n in names:
            m = tarfile.TarInfo(n)
            m.size = 3
            if change:
                change(m)
            t.addfile(m, io.BytesIO(b"abc" if m.isreg() else b""))


def link(m):
    if m.name == "b/2.txt":
        m.type, m.linkname, m.size = tarfile.LNKTYPE, "b/1.txt", 0
    if m.name == "b/3.txt":
        m.type, m.linkname, m.size = tarfile.SYMTYPE, "1.txt", 0
    if m.name == "b/4.txt":
        m.type, m.size = tarfile.FIFOTYPE, 0


def patch(path, change):
    with open(path, "rb") as f:
        data = bytearray(f.read())
    change(data)
    with open(path, "wb") as f:
        f.write(data)


def v7(data):
    data[257:512] = bytes(255)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])


def main():
    os.makedirs(sys.argv[1])
    os.chdir(sys.argv[1])
    good = ["a/%d.txt" % i for i in range(7)]
    tar("good.tar", good)
    tar("links.tar", ["b/%d.txt" % i for i in range(6)], change=link)
    tar("apart.tar", ["c/1.a", "c/2.a", "c/1.b", "c/2.b"])
    tar("split1.tar", ["d/1.a", "d/1.b", "d/2.a"])
    tar("split2.tar", ["d/2.b", "d/3.a", "d/3.b"])
    tar("again1.tar", ["e/1.txt", "e/2.txt"])
    tar("again2.tar", ["e/1.txt", "e/3.txt", "e/2.txt"])
    tar("twice.tar", ["f/1.txt", "f/1.txt"])
    tar("gnu.tar", ["g" * 120 + ".txt"], tarfile.GNU_FORMAT)
    tar("pax.tar", ["h" * 120 + ".txt"], tarfile.PAX_FORMAT)
    tar("global.tar", ["i/1.txt"], tarfile.PAX_FORMAT,
        pax_headers={"comment": "x"})
    tar("v7.tar", ["j/1.txt"])
    patch("v7.tar", v7)
    tar("empty.tar", [])
    tar("flip.tar", ["k/1.txt", "k/2.txt", "k/3.txt"])
    patch("flip.tar", lambda d: d.__setitem__(1025, d[1025] ^ 1))
    tar("cut.tar", ["l/1.txt", "l/2.txt"])
    os.truncate("cut.tar", 1024 + 700)
    tar("inner.tar", ["m/1.txt"])
    with open("inner.tar", "rb") as f:
        data = f.read()
    os.remove("inner.tar")
    for name, pack in ("gz", gzip.compress), ("bz2", bz2.compress), \
            ("xz", lzma.compress):
        with open("packed.tar." + name, "wb") as f:
            f.write(pack(data))
    tar("v1.5.tar", ["n/1.txt"])
    tar("noname", ["o/1.txt"])
    tar("fields.tar", ["p/%d.%s" % (i, s) for i in range(9)
                       for s in ("a", "b") if (i, s) not in [(4, "b"),
                                                             (6, "b")]])
    tar("late.tar", ["q/%d.%s" % (i, s) for i in range(9)
                     for s in ("a", "b") if (i, s) != (5, "b")])
    os.makedirs("folder/below/deep")
    tar("folder/a.tar", good)
    tar("folder/below/deep/b.tar", good)
    tar("folder/below/c.tgz", good)
    # a large content: headers alone are read
    tar("large.tar", ["r/1.txt"])
    with open("large.tar", "r+b") as f:
        size = 6 << 30
        head = bytearray(f.read(512))
        head[124:136] = b"%011o\0" % size
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        f.seek(0)
        f.write(head)
        f.truncate(512 + size)
        f.seek(0, 2)
        tail = io.BytesIO()
        with tarfile.open(fileobj=tail, mode="w") as t:
            m = tarfile.TarInfo("r/README")
            m.size = 0
            t.addfile(m)
        f.write(tail.getvalue())


main()
