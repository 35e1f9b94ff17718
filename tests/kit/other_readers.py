#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other readers of tars make of them, written from their rules with
nothing of HPDSL's own code.

other_readers.py samples READER TAR...   the samples that it finds: a line of
                                         key and suffixes each; or why not
other_readers.py agree HPDSL_VERIFY      one tar for each hazard and reader: the
                                         linter says so if, and only if, the
                                         reader gets other samples than the
                                         names say
"""

import io
import os
import re
import struct
import subprocess
import sys
import tarfile

KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")
META = re.compile(r"__[^/]*__($|/)")


class Refused(Exception):
    pass


def stream(path):
    """Regular members as a stream of Python's tarfile has them."""
    try:
        with open(path, "rb") as f, tarfile.open(fileobj=f, mode="r|*") as tar:
            for m in tar:
                if m.isreg():
                    yield m.name, tar.extractfile(m).read()
    except tarfile.TarError as e:
        raise Refused(str(e)) from e


def group(files, lower=False, strict=True):
    """Adjacent files of one key, as WebDataset's group_by_keys."""
    key, sample = None, None
    for name, data in files:
        match = KEY.match(name)
        if not match:
            continue
        suffix = match.group(2)
        if lower:
            suffix = suffix.lower()
        if key != match.group(1):
            if sample:
                yield key, sample
            key, sample = match.group(1), {"__key__": b""}
        if strict and suffix in sample:
            raise Refused("duplicate " + name)
        sample[suffix] = data
    if sample:
        yield key, sample


def webdataset(path):
    files = ((n, d) for n, d in stream(path)
             if not META.match(n) and
             not ("/" not in n and n.startswith("__") and n.endswith("__")))
    for key, sample in group(files, lower=True):
        yield key, {s: d for s, d in sample.items() if s != "__key__"}


def ray(path):
    for key, sample in group(stream(path)):
        yield key, {s: d for s, d in sample.items() if s != "__key__"}


def hf(path):
    files = ((n, d) for n, d in stream(path)
             if not os.path.basename(n).startswith((".", "__")))
    found = []
    for key, sample in group(files, strict=False):
        if not isinstance(sample["__key__"], bytes) or sample["__key__"]:
            raise Refused("a field __key__")
        key.encode()  # into an Arrow string
        found.append((key, {s: d for s, d in sample.items()
                            if s != "__key__"}))
    if any(f[1].keys() != found[0][1].keys() for f in found[:5]):
        raise Refused("the first five have other fields")
    return found


def energon(path):
    if open(path, "rb").read(3) == b"\x1f\x8b\x08":
        raise Refused("gzip")
    keys, found = set(), []
    try:
        with tarfile.open(path, "r:") as tar:
            for m in tar:
                match = m.isreg() and not META.match(m.name) and \
                    KEY.match(m.name)
                if not match:
                    continue
                key, part = match.groups()
                if not found or found[-1][0] != key:
                    if key in keys:
                        raise Refused("key twice: " + key)
                    key.encode()  # into SQLite
                    keys.add(key)
                    found.append((key, {}))
                found[-1][1][part] = tar.extractfile(m).read()
    except tarfile.TarError as e:
        raise Refused(str(e)) from e
    if not found:
        raise Refused("no samples")
    for _, sample in found:
        if "__key__" in sample:
            raise Refused("a field __key__")
    return found


def wids(path):
    """The name field alone, regular types, octal sizes."""
    data = open(path, "rb").read()
    at, names, members, found = 0, {}, [], []
    while 0 <= at < len(data):
        head = data[at:at + 512]
        try:
            name = head[:100].decode().strip("\0")
            size = head[124:136].decode()
            kind = head[156:157].decode().strip("\0")
            if name and name != "././@PaxHeader" and kind in ("0", ""):
                names[name] = at
                members.append((name, at + 512, int(size[:-1], 8)))
            size = size.strip("\0")
            if not size:
                break
            at += 512 + (int(size, 8) + 511) // 512 * 512
        except ValueError as e:
            raise Refused(str(e)) from e
    for i, name in enumerate(names):
        if "." not in name:
            continue
        match = re.match(r"^((?:.*/)?.*?)(\..*)$", name)
        if not match:
            raise Refused("no extension: " + name)
        name, start, size = members[i]
        if not found or found[-1][0] != match.group(1):
            found.append((match.group(1), {}))
        found[-1][1][match.group(2)[1:]] = data[start:start + size]
    return found


def dali(path):
    """Through an index as wds2idx makes it with GNU tar."""
    def tar(*options):
        return subprocess.run(
            ["tar", *options, "--list", "--file", os.path.abspath(path)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=dict(os.environ, LC_ALL="C")).stdout.split(b"\n")
    blocks, listed = tar("--block-num"), tar("--verbose")
    data, found, last = open(path, "rb").read(), [], None
    for line, following, row in zip(blocks, blocks[1:], listed):
        if not line or not row:
            continue
        try:
            name = str(line[line.find(b":") + 2:], "ascii")
        except UnicodeDecodeError as e:
            raise Refused("not ASCII") from e
        if row[0:1] != b"-":
            continue
        at = int(following[following.find(b"block") + 6:
                           following.find(b":")]) * 512
        size = row[:-len(name)]
        size = size[:size.rfind(b"-") - 8]
        size = int(size[size.rfind(b" "):])
        at = (at - size) // 512 * 512
        dot = name.find(".", name.rfind("/") + 1)
        base, suffix = name[:dot], name[dot + 1:]
        if not base or base.endswith("/"):
            continue
        if " " in name or suffix == "":
            raise Refused("its line cannot be parsed")
        if last != base:
            last = base
            found.append((base, {}))
        found[-1][1][suffix] = data[at:at + size]
    if not found:
        raise Refused("no samples")
    return found


READERS = {"webdataset": webdataset, "dali": dali, "energon": energon,
           "wids": wids, "hf": hf, "ray": ray}


def samples(reader, path):
    try:
        return list(READERS[reader](path))
    except (Refused, UnicodeEncodeError) as e:
        return "refused: %s" % e


def key_of(name):
    base = name.rfind("/") + 1
    while name[base:base + 1] == ".":
        base += 1
    dot = name.find(".", base)
    return (name, None) if dot < 0 else (name[:dot], name[dot + 1:])


def meant(members):
    """The samples that the names say, in order; nothing behind the dot is no
    suffix, and a name has one content."""
    found = {}
    for name, data in members:
        key, suffix = key_of(name.decode(errors="surrogateescape")
                             .removeprefix("./"))
        sample = found.setdefault(key, {})
        sample[None if not suffix or suffix in sample else suffix] = data
    return list(found.items())


def content(i):
    return b"%d" % i * (i * 37 % 700 + 1)


def write(path, names, fmt=tarfile.USTAR_FORMAT, change=None):
    members = [(n, content(i)) for i, n in enumerate(names)]
    with tarfile.open(path, "w", format=fmt, encoding="utf-8",
                      errors="surrogateescape") as tar:
        for i, (name, data) in enumerate(members):
            m = tarfile.TarInfo(name.decode(errors="surrogateescape"))
            m.size = len(data)
            if change:
                change(i, m)
            tar.addfile(m, io.BytesIO(data if m.isreg() else b""))
    return members


GOOD = [b"d/%d.jpg" % i for i in range(5)]
LONG = b"l" * 60 + b"/"
# Names that stand in a tar beside good ones: what is odd about them is what
# the linter may find.
HAZARDS = [
    [b"a/b.jpg"], [b"top.jpg"], [b"a/b"], [b"a/b."], [b"b"], [b"a.x/b"],
    [b"a/.b.jpg"], [b".b.jpg"], [b"a/.b"], [b"a/b c.jpg"],
    [b"__m__/b.jpg"], [b"x/__m__/b.jpg"], [b"__m__.jpg"], [b"__b.jpg"],
    [b"a/__b.jpg"], [b"a/b.JPG"], [b"a/b.jpg", b"a/b.JPG"],
    ["a/\u00e9.jpg".encode()], [b"a/\xff.jpg"], [b"a/b\n.jpg"],
    [b"a\nx/b.jpg"], [b"a.y\nx/b.jpg"], [b"a/\x01b.jpg"], [b"a/b\\c.jpg"],
    [LONG + b"b" * 35 + b".jpg"], [LONG + b"b" * 36 + b".jpg"],
    [LONG + b"b" * 90 + b".jpg"], [LONG * 4 + b"b.jpg"],
    [LONG * 2 + b"b.jpg", LONG * 2 + b"c.jpg", b"a/b.jpg"],
    [b"b" * 101 + b".jpg"], [LONG * 5 + b"b.jpg"],
    [b"a/b.jpg", b"a/c.jpg", b"a/b.png"], [b"a/b.jpg", b"a/c.jpg", b"a/b.jpg"],
    [b"a/b.jpg", b"a/b.jpg"], [b"a/b.__key__"], [b"./a/b.jpg"],
]
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT,
           "pax": tarfile.PAX_FORMAT}


def kinds():
    def link(i, m):
        if i == 5:
            m.type, m.linkname, m.size = tarfile.LNKTYPE, "d/0.jpg", 0

    def symlink(i, m):
        if i == 5:
            m.type, m.linkname, m.size = tarfile.SYMTYPE, "0.jpg", 0

    def contiguous(i, m):
        if i == 5:
            m.type = tarfile.CONTTYPE

    def fifo(i, m):
        if i == 5:
            m.type, m.size = tarfile.FIFOTYPE, 0
    return {"link": link, "symlink": symlink, "contiguous": contiguous,
            "fifo": fifo}


def base256(path):
    """The size of the sixth header in base 256."""
    data = bytearray(open(path, "rb").read())
    at = 0
    for _ in range(5):
        at += 512 + (int(data[at + 124:at + 135], 8) + 511) // 512 * 512
    size = int(data[at + 124:at + 135], 8)
    data[at + 124:at + 136] = b"\x80" + struct.pack(">3xQ", size)
    data[at + 148:at + 156] = b" " * 8
    data[at + 148:at + 156] = b"%06o\0 " % sum(data[at:at + 512])
    open(path, "wb").write(data)


def lint(program, reader, path):
    done = subprocess.run([program, "-q", "--compat=" + reader, path],
                          stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit("%s: exit %d" % (path, done.returncode))
    return done.returncode == 1, done.stdout.decode(errors="replace")


def agree(program):
    bad = total = 0

    def compare(what, path, members, but=""):
        nonlocal bad, total
        want = meant(members)
        for reader in READERS.keys() - {but}:
            got = samples(reader, path)
            trips, said = lint(program, reader, path)
            total += 1
            if trips != (got != want):
                bad += 1
                print(what, reader, "gets", got if got != want else "all",
                      "and the linter says", said)
    for form, fmt in FORMATS.items():
        for names in HAZARDS:
            try:
                members = write("x.tar", GOOD + names, fmt)
            except ValueError:
                continue  # too long for ustar
            # DALI hands out no keys; other versions of its wds2idx fail at
            # GNU's long names.
            gnu = form == "gnu" and any(len(n) > 100 for n in names)
            compare((form, names), "x.tar", members,
                    but="dali" if gnu or names[0][:2] == b"./" else "")
    for what, change in kinds().items():
        members = write("x.tar", GOOD + [b"a/b.jpg"], change=change)
        compare(what, "x.tar", members)
    members = write("x.tar", GOOD + [b"a/b.jpg"])
    base256("x.tar")
    compare("base 256", "x.tar", members, but="dali")  # as without an index
    print("%d of %d differ" % (bad, total))
    return bad or total < 400


if sys.argv[1] == "agree":
    sys.exit(1 if agree(sys.argv[2]) else 0)
for tar in sys.argv[3:]:
    result = samples(sys.argv[2], tar)
    if isinstance(result, str):
        print(result)
    else:
        for k, s in result:
            print(ascii(k), *(ascii(x) for x in s))
