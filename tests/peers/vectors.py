#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The proofs of hpdsl-format(5), "WIRE OF A JOB'S NODES", made from its text
alone: prints what the page should have, or with the page as an argument says
whether it has it."""

import hashlib
import hmac
import struct
import sys

SECRET = bytes(range(32))
BOOK = bytes(range(16, 32))
PACK = bytes(range(32, 48))
NONCE = bytes(range(48, 64))
NONE = 2**64 - 1

# role, method, kind, flags, server, chunk, first, last, and of an answer
# status, length, load
VECTORS = [
    (1, 1, 1, 0, 3, 7, 4096, 1052671),
    (1, 2, 3, 0, 1048575, 2**32 - 1, 0, NONE),
    (2, 1, 2, 1, 3, 999999, 0, 4194303, 206, 4194304, 123456789),
]


def message(v, nonce=NONCE):
    """What the proof is over."""
    role, method, kind, flags, node, chunk, first, last = v[:8]
    out = struct.pack("<BBBB", role, method, kind, flags) + BOOK + PACK
    out += struct.pack("<IIQQ", node, chunk, first, last) + nonce
    if role == 2:
        out += struct.pack("<HQQ", *v[8:])
    return out


def proof(v, nonce=NONCE):
    """In hexadecimal digits."""
    return hmac.new(SECRET, message(v, nonce), hashlib.sha256).hexdigest()


def main():
    """Of all vectors."""
    page = open(sys.argv[1], encoding="utf-8").read() if sys.argv[1:] else None
    for v in VECTORS:
        if page is None:
            print(len(message(v)), proof(v))
        elif proof(v) not in page:
            sys.exit(f"{sys.argv[1]} has no {proof(v)}")


if __name__ == "__main__":
    main()
