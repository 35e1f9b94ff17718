#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tars of other writers, and what Python's tarfile finds in them.

usage: foreign.py make DIR [FORMAT...]   DIR/python-FORMAT.tar, of odd members
       foreign.py check DATASET         every member against tarfile's reading
       foreign.py one FILE NAME SIZE..   a tar of members of these sizes
"""
import io
import json
import os
import subprocess
import sys
import tarfile

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT,
           "pax": tarfile.PAX_FORMAT}


def add(tar, name, content, mtime=1600000000, **more):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mtime = mtime
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(content))


def make(path, kind):
    """Long names, names of any bytes, odd times, what is no file."""
    long = "long/" + "/".join(["d" * 50] * 3) + "/"
    with tarfile.open(path, "w", format=FORMATS[kind],
                      encoding="utf-8", errors="surrogateescape") as tar:
        add(tar, f"{kind}/a.jpg", b"\xff" * 1000, mode=0o640)
        add(tar, f"./{kind}/a.txt", b"text")
        add(tar, f"/{kind}//b.jpg", b"")
        add(tar, f"{kind}/sub", b"", type=tarfile.DIRTYPE)
        add(tar, f"{kind}/b.cls", b"7", mtime=0)
        add(tar, f"{kind}/link", b"", type=tarfile.SYMTYPE, linkname="a.jpg")
        add(tar, f"{kind}/hard", b"", type=tarfile.LNKTYPE,
            linkname=f"{kind}/a.jpg")
        add(tar, f"{kind}/fifo", b"", type=tarfile.FIFOTYPE)
        add(tar, f"{kind}/large.bin", bytes(range(256)) * 3000)
        add(tar, long + f"{kind}.txt", b"long name")
        if kind == "ustar":
            return
        add(tar, f"{kind}/" + "n" * 200 + ".bin", b"longer")
        add(tar, f"{kind}/caf\u00e9 \u65e5.txt", b"utf-8")
        add(tar, f"{kind}/\udcff\udcfe.bin", b"bytes")
        add(tar, f"{kind}/early.bin", b"1", mtime=-77)


def rows(dataset):
    out = subprocess.run(["hpdsl-ls", "--json", dataset], check=True,
                         stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def path_of(row):
    if "path_base64" in row:
        import base64
        return base64.b64decode(row["path_base64"])
    return row["path"].encode()


def clean(name):
    parts = os.fsencode(name).split(b"/")
    return b"/".join(p for p in parts if p not in (b"", b"."))


def check(dataset):
    """The members are those of tarfile, in order, where it finds them."""
    chunks = subprocess.run(["hpdsl-ls", "--chunks", dataset], check=True,
                            stdout=subprocess.PIPE).stdout.splitlines()
    got = rows(dataset)
    n = 0
    for number, name in enumerate(chunks):
        path = os.path.join(os.fsencode(dataset), name)
        with tarfile.open(path, encoding="utf-8",
                          errors="surrogateescape") as tar, \
                open(path, "rb") as raw:
            for info in tar:
                if not info.isreg():
                    continue
                row = got[n]
                n += 1
                want = (clean(info.name), info.size, int(info.mtime // 1),
                        info.mode & 0o7777, number)
                have = (path_of(row), row["size"], row["mtime"],
                        int(row["mode"], 8), row["chunk"])
                assert want == have, (want, have)
                raw.seek(row["offset"])
                content = tar.extractfile(info).read()
                assert raw.read(info.size) == content, have
                assert info.offset_data == row["offset"], have
    assert n == len(got), (n, len(got))
    print(n)


def one(path, name, sizes):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, size in enumerate(sizes):
            add(tar, f"{name}/{i:04}.bin", bytes([i % 251]) * int(size))


def main(words):
    if words[0] == "make":
        for kind in words[2:] or FORMATS:
            make(f"{words[1]}/python-{kind}.tar", kind)
    elif words[0] == "check":
        check(words[1])
    else:
        one(words[1], words[2], words[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
