# SPDX-License-Identifier: Apache-2.0
"""Writes a wheel that carries the library, with nothing but Python:

    make_wheel.py LIBRARY DIR

LIBRARY is libhpdsl.so.0, DIR where the wheel goes.  The same files give the same
bytes.  The other libraries that it needs are the system's: hpdsl-python(7)."""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def text(name):
    with open(os.path.join(TREE, name), encoding="utf-8") as f:
        return f.read()


def version():
    return re.search(r'^#define HPDSL_VERSION "(.*)"$', text("lib/hpdsl.h"),
                     re.MULTILINE)[1]


def stripped(library):
    """Without what is for debuggers alone: most of it."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out")
        subprocess.run([os.environ.get("STRIP", "strip"), "--strip-unneeded",
                        "-o", out, library], check=True)
        with open(out, "rb") as f:
            return f.read()


def package(library):
    """Name in the wheel: bytes; the library lies beside the modules."""
    where = text("lib/python/_where.py.in").replace("@LIBDIR@", ".")
    folder = os.path.join(TREE, "lib/python/hpdsl")
    files = {f"hpdsl/{name}": text(f"lib/python/hpdsl/{name}").encode()
             for name in os.listdir(folder)
             if name.endswith(".py") or name == "py.typed"}
    files["hpdsl/_where.py"] = where.encode()
    files["hpdsl/libhpdsl.so.0"] = stripped(library)
    return files


def described(tag):
    """The files of PEP 427 that say what it is, and for whom."""
    return {
        # METADATA has a classifier that no public index takes: none is meant
        # to have it.
        **{name: text(f"lib/python/hpdsl.dist-info/{name}").encode()
           for name in ("METADATA", "entry_points.txt")},
        "WHEEL": ("Wheel-Version: 1.0\nGenerator: hpdsl\n"
                  f"Root-Is-Purelib: false\nTag: {tag}\n").encode(),
        "LICENSE": text("LICENSE").encode(),
    }


def record(files, name):
    def digest(content):
        raw = hashlib.sha256(content).digest()
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    rows = [f"{at},sha256={digest(content)},{len(content)}\n"
            for at, content in files.items()]
    return "".join(rows + [f"{name},,\n"]).encode()


def write(path, files):
    """A zip whose bytes depend on these files alone, seen when complete."""
    with zipfile.ZipFile(path + ".tmp", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            mode = 0o755 if name.endswith(".so.0") else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content)
    os.rename(path + ".tmp", path)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_wheel.py LIBRARY DIR")
    library, folder = sys.argv[1:]
    tag = f"py3-none-linux_{platform.machine()}"
    info = f"hpdsl-{version()}.dist-info"
    files = package(library)
    files.update({f"{info}/{name}": content for name, content
                  in described(tag).items()})
    files = dict(sorted(files.items()))
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"hpdsl-{version()}-{tag}.whl")
    write(path, files)
    print(path)


main()
