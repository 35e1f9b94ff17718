#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forges the content of a dataset's first member, as an attacker would.

usage: forge.py DATASET WHAT

All XXH3 checksums are made to fit again, with the dataset id, and of SHA-256,
each with what comes before it: WHAT is xxh3 (none), index (that of the index), members (those of
member and chunk, SHA256SUMS), all (dataset_id_sha256).  Plain chunks with
--digest=sha256, contents of more than 240 bytes or of at most 8.
"""
import ctypes
import hashlib
import os
import re
import struct
import sys

xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


xxhash.XXH3_128bits.restype = Hash128


def h64(data):
    data = bytes(data)
    return xxhash.XXH3_64bits(data, ctypes.c_size_t(len(data)))


def h128(data):
    data = bytes(data)
    h = xxhash.XXH3_128bits(data, ctypes.c_size_t(len(data)))
    return struct.pack(">QQ", h.high, h.low)


def sha(data):
    return hashlib.sha256(bytes(data)).digest()


class Index:
    def __init__(self, data):
        self.d = bytearray(data)
        self.rows = {}
        for i in range(struct.unpack_from("<I", self.d, 56)[0]):
            kind, _, at, length = struct.unpack_from("<IIQQ", self.d, 80 + 32 * i)
            self.rows[kind] = at, length

    def put(self, kind, at, data):
        at += self.rows[kind][0]
        self.d[at : at + len(data)] = data

    def get(self, kind, at, n):
        at += self.rows[kind][0]
        return bytes(self.d[at : at + n])

    def set_id(self, dataset_id):
        self.d[64:80] = dataset_id

    def repair(self):
        for at, length in self.rows.values():
            end = at + (length + 7) // 8 * 8
            for i, block in enumerate(range(at, end, 65536)):
                sum_ = h64(self.d[block : min(block + 65536, end)])
                struct.pack_into("<Q", self.d, end + 8 * i, sum_)
        at = struct.unpack_from("<I", self.d, 12)[0] - 8
        struct.pack_into("<Q", self.d, at, h64(self.d[:at]))
        return bytes(self.d)

    def paths(self):
        return self.get(3, 0, self.rows[3][1]).split(b"\0")[:-1]


def id_sha256(ix):
    """Of the dataset, from the index."""
    rows = []
    for i, path in enumerate(ix.paths()):
        size = ix.get(2, 52 * i + 8, 8)
        rows.append(path + b"\0" + size + ix.get(10, 32 * i, 32))
    return sha(b"".join(sorted(rows)))


def id_xxh3(ix, chunks):
    """Of the dataset, from the index and the bytes of its plain chunks."""
    rows = []
    for i, path in enumerate(ix.paths()):
        offset, size = struct.unpack("<QQ", ix.get(2, 52 * i, 16))
        mode, = struct.unpack("<H", ix.get(2, 52 * i + 38, 2))
        sample = int.from_bytes(ix.get(2, 52 * i + 46, 6), "little")
        chunk, = struct.unpack("<I", ix.get(1, 16 * sample + 8, 4))
        if not mode & 0x1000:
            content = chunks[chunk][offset : offset + size]
            rows.append((path + b"\0", struct.pack("<Q", size) + h128(content)))
    return h128(b"".join(path + rest for path, rest in sorted(rows)))


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    os.chdir(sys.argv[1])
    level = ["xxh3", "index", "members", "all"].index(sys.argv[2])
    with open("chunk-000000.tar", "rb") as f:
        chunk = bytearray(f.read())
    with open("index.hpdsl", "rb") as f:
        ix = Index(f.read())
    with open("dataset.yaml", "rb") as f:
        manifest = f.read()
    offset, size = struct.unpack("<QQ", ix.get(2, 0, 16))
    old = bytes(chunk)
    chunk[offset] ^= 1
    content = chunk[offset : offset + size]
    old_index = bytes(ix.d)
    ix.put(2, 16, struct.pack("<Q", h64(content)))
    ix.put(5, 24, h128(chunk))
    ix.put(5, 48, h128(chunk))
    if level >= 2:
        ix.put(10, 0, sha(content))
        ix.put(13, 0, sha(chunk))
    old_id = old_index[64:80]
    names = sorted(n for n in os.listdir(".") if n.startswith("chunk-"))
    chunks = [chunk if n == names[0] else open(n, "rb").read() for n in names]
    ix.set_id(id_xxh3(ix, chunks))
    index = ix.repair()

    def replace(text, old, new):
        assert old.hex().encode() in text, old.hex()
        return text.replace(old.hex().encode(), new.hex().encode())

    manifest = replace(manifest, old_id, index[64:80])
    manifest = replace(manifest, h128(old), h128(chunk))
    manifest = replace(manifest, h128(old_index), h128(index))
    if level >= 1:
        manifest = replace(manifest, sha(old_index), sha(index))
    if level >= 2:
        manifest = replace(manifest, sha(old), sha(chunk))
    if level >= 1:
        with open("SHA256SUMS", "rb") as f:
            was = f.read()
        sums = replace(was, sha(old_index), sha(index))
        if level >= 2:
            sums = replace(sums, sha(old), sha(chunk))
        manifest = replace(manifest, h128(was), h128(sums))
        manifest = replace(manifest, sha(was), sha(sums))
        with open("SHA256SUMS", "wb") as f:
            f.write(sums)
    if level >= 3:
        new = b"dataset_id_sha256: " + id_sha256(ix).hex().encode()
        manifest = re.sub(rb"dataset_id_sha256: [0-9a-f]{64}", new, manifest)
    body = manifest[: manifest.rindex(b"checksum: ")]
    manifest = body + b"checksum: " + h128(body).hex().encode() + b"\n"
    for name, data in (
        ("chunk-000000.tar", chunk),
        ("index.hpdsl", index),
        ("dataset.yaml", manifest),
    ):
        with open(name, "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
