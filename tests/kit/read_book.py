#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads and checks books of a job's nodes, from hpdsl-format(5) alone, and says
what is in each, an object of JSON a line.

usage: read_book.py DIR..   the peers.hpdsl in each
"""
import ipaddress
import json
import os
import stat
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read_dataset import xxh3_64  # noqa: E402


def need(condition, text):
    if not condition:
        sys.exit(f"read_book: {text}")


def text_of(raw, what):
    text, _, rest = raw.partition(b"\0")
    need(len(text) < len(raw) and not rest.strip(b"\0"), f"{what}: its end")
    return text.decode()


def read(directory):
    path = os.path.join(directory, "peers.hpdsl")
    st = os.lstat(path)
    need(stat.S_ISREG(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o600,
         f"{path}: mode {st.st_mode:o}")
    with open(path, "rb") as f:
        d = f.read()
    need(d[:8] == b"\x89HPDSLB\n", f"{path}: magic")
    (version, flags, book, pack, secret, size, made, rate, nodes, node, parts,
     addresses, hosts, port, zero) = struct.unpack_from(
        "<II16s16s32sQqQIIIIIHH", d, 8)
    need((version, flags, zero) == (1, 0, 0), f"{path}: version")
    need(size == len(d) == 256 + 16 * nodes + 24 * addresses + hosts + 8,
         f"{path}: size")
    need(xxh3_64(d[:-8]) == struct.unpack("<Q", d[-8:])[0],
         f"{path}: checksum")
    need(node < nodes and parts and 1 <= port <= 65520, f"{path}: numbers")
    names = d[256 + 16 * nodes + 24 * addresses:-8]
    rows, at, name_at = [], 0, 0
    for i in range(nodes):
        host, first, n, rack = struct.unpack_from("<IIII", d, 256 + 16 * i)
        need((host, first) == (name_at, at) and n <= 8, f"{path}: node {i}")
        name = names[host:].partition(b"\0")[0]
        ways = []
        for k in range(at, at + n):
            ip, speed, zero = struct.unpack_from(
                "<16sII", d, 256 + 16 * nodes + 24 * k)
            need(zero == 0, f"{path}: address {k}")
            ip = ipaddress.IPv6Address(ip)
            ways.append([str(ip.ipv4_mapped or ip), speed])
        rows.append({"host": name.decode(), "rack": rack, "addresses": ways})
        at += n
        name_at += len(name) + 1
    need((at, name_at) == (addresses, hosts), f"{path}: sums")
    return {"book": book.hex(), "pack": pack.hex(), "secret": secret.hex(),
            "made": made, "rate": rate, "node": node, "parts": parts,
            "port": port, "drawn_port": 20000 + xxh3_64(secret) % 12000,
            "job": text_of(d[128:256], "job"), "nodes": rows}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    for directory in sys.argv[1:]:
        print(json.dumps(read(directory)))


if __name__ == "__main__":
    main()
