#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Archives that others have for their own tests, packed and compared.

usage: source_archives.py find SOURCE.. OUT   those of source trees, decoded, into OUT
       source_archives.py try ARCHIVE..       a line for each:

    NAME: packed[, as nobody else has it]
    NAME: READER has it otherwise: WHY
    NAME: adopted otherwise: WHY
    NAME: refused STATUS: MESSAGE

A READER is one that ended with status 0 and no word; it has other names or bytes.
"""
import binascii
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile

SUFFIXES = (".zip", ".tar", ".tar.xz", ".tar.gz", ".tar.bz2")
LIMIT = 60  # seconds that another reader has


# ---- Finding them ----------------------------------------------------------


def decoded(text):
    """The bytes of a uuencoded file; some writers pad the last line too much."""
    out, begun = [], False
    for line in text.splitlines():
        if line.startswith(b"begin "):
            begun = True
        elif line.rstrip() == b"end":
            break
        elif begun and line.strip():
            n = (((line[0] - 32) & 63) * 4 + 5) // 3
            out.append(binascii.a2b_uu(line[:n]))
    return b"".join(out)


def find(sources, out):
    os.makedirs(out, exist_ok=True)
    for source in sources:
        for folder, _, names in os.walk(source):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".uu"):
                    with open(path, "rb") as f:
                        data = decoded(f.read())
                    with open(os.path.join(out, name[:-3]), "wb") as f:
                        f.write(data)
                elif name.endswith(SUFFIXES):
                    name = os.path.relpath(path, source).replace(os.sep, "-")
                    shutil.copy(path, os.path.join(out, name))


# ---- What readers find -----------------------------------------------------


def clean(name):
    """A member's path as bytes: no leading ./ and /, nothing twice."""
    parts = [p for p in name.split(b"/") if p not in (b"", b".")]
    return b"/".join(parts)


def digest(data):
    return hashlib.md5(data).hexdigest()


def tree(top):
    """The files below, with what links to files in it lead to."""
    found = {}
    top = os.path.realpath(top).encode()
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            real = os.path.realpath(path)
            if not real.startswith(top + b"/") or not os.path.exists(real):
                continue
            if stat.S_ISREG(os.stat(real).st_mode):
                with open(real, "rb") as f:
                    found[os.path.relpath(path, top)] = digest(f.read())
    return found


def extracted(*command):
    """What a program extracts here, or None: it complains, or is not there."""
    if not shutil.which(command[0]):
        return None
    shutil.rmtree("x", ignore_errors=True)
    os.mkdir("x")
    try:
        done = subprocess.run(command, cwd="x", stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    subprocess.run(["chmod", "-R", "u+rwX", "x"], check=False)
    return tree("x") if done.returncode == 0 and not done.stderr else None


def by_tarfile(path):
    """Read, not extracted: tarfile of old follows names and links anywhere."""
    found = {}
    with tarfile.open(path, encoding="utf-8", errors="surrogateescape") as tar:
        for member in tar:
            if member.isreg() or member.islnk() or member.issym():
                try:
                    file = tar.extractfile(member)
                except KeyError:
                    continue
                name = clean(member.name.encode(errors="surrogateescape"))
                found[name] = digest(file.read())
    return found


def raw_name(member):
    """The bytes of a zip's name, which zipfile takes for cp437 if nothing says."""
    utf8 = member.flag_bits & 0x800
    return clean(member.orig_filename.encode("utf-8" if utf8 else "cp437"))


def by_zipfile(path):
    found, links = {}, {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name, data = raw_name(member), archive.read(member)
            if stat.S_ISLNK(member.external_attr >> 16):
                links[name] = os.path.normpath(os.path.join(os.path.dirname(name), data))
            elif not member.is_dir():
                found[name] = digest(data)
    for name, to in links.items():
        if to in found:
            found[name] = found[to]
    return found


def by_python(read, path):
    try:
        return read(path)
    except Exception:  # of many kinds, for what is damaged
        return None


def readers(path):
    """Name and finding of each that says nothing against the archive."""
    with open(path, "rb") as f:
        head = f.read(4)
    yield "bsdtar", extracted("bsdtar", "-xf", path)
    if head[:2] == b"PK":
        yield "unzip", extracted("unzip", "-qq", path)
        yield "7z", extracted("7z", "x", "-y", "-bd", path)
        yield "zipfile", by_python(by_zipfile, path)
    elif head[:2] == b"7z":
        yield "7z", extracted("7z", "x", "-y", "-bd", path)
    else:
        yield "tar", extracted("tar", "-xf", path)
        yield "tarfile", by_python(by_tarfile, path)


# ---- And what is packed ----------------------------------------------------


def difference(ours, theirs):
    for name in sorted(set(ours) | set(theirs)):
        text = name.decode(errors="backslashreplace")
        if name not in theirs:
            return f"lacks {text!r}"
        if name not in ours:
            return f"has {text!r}"
        if ours[name] != theirs[name]:
            return f"other bytes in {text!r}"
    return ""


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, errors="replace")


def message(done, name):
    """The last line, which is the error, without the command and the archive."""
    last = (done.stderr.splitlines() or [""])[-1]
    last = re.sub(r"^hpdsl-\w+: ", "", last)
    last = last.removeprefix(name + ": ")
    return re.sub("goes, [0-9.]+ MiB", "goes, N MiB", last)


def pack(name, *options):
    """Others unpack what is litter to us, too."""
    shutil.rmtree("p", ignore_errors=True)
    return run("hpdsl-pack", "-q", "--group=none", "--keep-litter",
               *options, name, "p")


def adopted(name, ours):
    """What an adopted tar has otherwise; it may lack links, but nothing else."""
    for folder in "p", "u2":
        shutil.rmtree(folder, ignore_errors=True)
    if run("hpdsl-index", "-q", "-o", "p", name).returncode:
        return
    for command in (("hpdsl-verify", "-q", "p"), ("hpdsl-unpack", "-q", "p", "u2")):
        done = run(*command)
        if done.returncode:
            yield f"adopted, and {command[0]} says {done.returncode}: {done.stderr}"
    theirs = tree("u2")
    why = difference({k: v for k, v in ours.items() if k in theirs}, theirs)
    if why:
        yield f"adopted otherwise: {why}"


def try_one(path):
    name = os.path.basename(path)
    if os.path.realpath(path) != os.path.realpath(name):
        shutil.copy(path, name)
    done, how = pack(name), ""
    if done.returncode and "follow-all" in done.stderr:
        how = f" (refused: {message(done, name)}; with follow-all)"
        done = pack(name, "--symlinks=follow-all")
    if done.returncode:
        print(f"{name}: refused {done.returncode}: {message(done, name)}", flush=True)
        os.remove(name)
        return
    shutil.rmtree("u", ignore_errors=True)
    for command in (("hpdsl-verify", "-q", "p"), ("hpdsl-unpack", "-q", "p", "u")):
        done = run(*command)
        if done.returncode:
            print(f"{name}: {command[0]} says {done.returncode}: {done.stderr}")
    ours, same = tree("u"), 0
    other = list(adopted(name, ours))
    for reader, theirs in readers(os.path.realpath(name)):
        if theirs is not None:
            why = difference(ours, theirs)
            same += not why
            if why:
                other.append(f"{reader} has it otherwise: {why}")
    print(f"{name}: packed{how}" + ("" if same else ", as nobody else has it"))
    for line in other:
        print(f"{name}: {line}")
    sys.stdout.flush()
    os.remove(name)


def main():
    if sys.argv[1] == "find":
        find(sys.argv[2:-1], sys.argv[-1])
    for path in sys.argv[2:] if sys.argv[1] == "try" else ():
        try_one(path)


if __name__ == "__main__":
    main()
