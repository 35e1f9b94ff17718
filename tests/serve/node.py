#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another node of a job, made from hpdsl-format(5) alone: asks a server for
bytes of chunks, with proof, and checks the proof of what it answers.

    node.py BOOK get CHUNK plain|stored FIRST LAST     bytes to stdout
    node.py BOOK adopt CHUNK plain|stored FIRST LAST   the same, and it is to be
                                     fetched for that
    node.py BOOK have                    a digit for each chunk
    node.py BOOK faults CHUNK            every request that is to be refused
    node.py BOOK drip                    silent and dripping connections
"""

import contextlib
import hashlib
import hmac
import os
import select
import socket
import struct
import sys

NONE = 2**64 - 1
NO_CHUNK = 2**32 - 1


def address(ip):
    """As text; IPv4 as such."""
    if ip[:12] == bytes(10) + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, ip[12:])
    return socket.inet_ntop(socket.AF_INET6, ip)


class Book:
    """peers.hpdsl: what a node needs of it."""

    def __init__(self, path):
        p = open(path, "rb").read()
        assert p[:8] == b"\x89HPDSLB\n", p[:8]
        self.id, self.pack, self.secret = p[16:32], p[32:48], p[48:80]
        self.nodes, self.node = struct.unpack_from("<II", p, 104)
        # PORT: another one of the 16 was free.
        self.port = int(os.environ.get("PORT") or
                        struct.unpack_from("<H", p, 124)[0])
        first, n = struct.unpack_from("<II", p, 256 + 16 * self.node + 4)
        rows = 256 + 16 * self.nodes
        self.hosts = [address(p[rows + 24 * i:][:16])
                      for i in range(first, first + n)]

    def proof(self, *numbers, nonce, answer=()):
        """HMAC over the numbers of a request, and of its answer."""
        method, kind, flags, node, chunk, first, last = numbers
        text = struct.pack("<BBBB", 2 if answer else 1, method, kind, flags)
        text += self.id + self.pack
        text += struct.pack("<IIQQ", node, chunk, first, last) + nonce
        if answer:
            text += struct.pack("<HQQ", *answer)
        return hmac.new(self.secret, text, hashlib.sha256).hexdigest()


class Server:
    """A connection to the server of the book's own node, or another one."""

    def __init__(self, book, host=None, port=None):
        self.book = book
        self.socket = socket.create_connection(
            (host or book.hosts[0], port or book.port))
        self.file = self.socket.makefile("rb")

    def send(self, path, *fields, method="GET"):
        """A request in these words; its status, fields and body."""
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *fields, "", ""]
        self.socket.sendall("\r\n".join(lines).encode("latin-1"))
        return self.receive(method)

    def receive(self, method="GET"):
        """An answer: status, fields, body."""
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        status = int(line.split()[1])
        fields = {}
        while True:
            line = self.file.readline().rstrip(b"\r\n").decode("latin-1")
            if not line:
                break
            name, value = line.split(":", 1)
            assert name.lower() not in fields, name
            fields[name.lower()] = value.strip()
        length = int(fields["content-length"])
        body = b"" if method == "HEAD" else self.file.read(length)
        assert method == "HEAD" or len(body) == length
        return status, fields, body

    def ask(self, kind, chunk=NO_CHUNK, first=0, last=NONE, **odd):
        """What a node asks, but for what is odd, and is to be answered so."""
        b = self.book
        o = dict(method=1, flags=0, node=b.node, nonce=os.urandom(16),
                 book=b.id, range=None, path=None, more=(), proof=None)
        o.update(odd)
        method = ("GET", "HEAD")[o["method"] - 1]
        path = o["path"] or ("/v1/have" if kind == 3 else "/v1/status"
                             if kind == 4 else f"/v1/c/{chunk}/" +
                             ("plain" if kind == 1 else "stored"))
        numbers = o["method"], kind, o["flags"], o["node"], chunk, first, last
        proof = o["proof"] or b.proof(*numbers, nonce=o["nonce"])
        fields = [f"HPDSL: v1 {o['book'].hex()} {o['node']} "
                  f"{o['nonce'].hex()} {o['flags']} {proof}"]
        if o["range"] is not None:
            fields += [f"Range: {o['range']}"] if o["range"] else []
        elif last != NONE:
            fields.append(f"Range: bytes={first}-{last}")
        status, f, body = self.send(path, *fields, *o["more"], method=method)
        if status != 403:
            self.check(numbers, o["nonce"], status, f)
        return status, f, body

    def check(self, numbers, nonce, status, f):
        """Is the answer by who was asked, to this request?"""
        version, node, load, proof = f["hpdsl"].split(" ")
        assert version == "v1" and int(node) == self.book.node, f
        assert proof == self.book.proof(
            *numbers, nonce=nonce,
            answer=(status, int(f["content-length"]), int(load))), f
        if status in (200, 206):
            assert f["etag"].startswith(f'"{self.book.pack.hex()}'), f
            assert "content-encoding" not in f


def get(book, chunk, kind, first, last, flags=0):
    """One stretch, and the same by HEAD."""
    s = Server(book)
    kind = 1 if kind == "plain" else 2
    status, f, body = s.ask(kind, chunk, first, last, flags=flags)
    assert status == 206, status
    assert f["content-range"].startswith(f"bytes {first}-{last}/"), f
    # The same connection goes on.
    status, _, none = s.ask(kind, chunk, first, last, method=2)
    assert status == 206 and none == b"", status
    sys.stdout.buffer.write(body)


def have(book):
    """Of all chunks."""
    status, _, body = Server(book).ask(3)
    assert status == 200, status
    print("".join(str(body[i // 4] >> i % 4 * 2 & 3)
                  for i in range(4 * len(body))))


def refused(book, *fields, path="/v1/have", method="GET"):
    """403, nothing more, and the connection is closed."""
    s = Server(book)
    status, f, body = s.send(path, *fields, method=method)
    assert status == 403 and body == b"" and "hpdsl" not in f, (status, f)
    assert s.file.read() == b""


def faults(book, chunk):
    """Everything that is wrong with a request, a server says by its number."""
    nonce = os.urandom(16)
    numbers = 1, 1, 0, book.node, chunk, 0, 9
    proof = book.proof(*numbers, nonce=nonce)
    good = f"HPDSL: v1 {book.id.hex()} {book.node} {nonce.hex()} 0 {proof}"
    path = f"/v1/c/{chunk}/plain"
    ten = "Range: bytes=0-9"
    # Without proof, or with that of another request, nothing is said.
    refused(book)
    refused(book, path="/")
    refused(book, path="/etc/passwd")
    refused(book, ten, path=path)
    refused(book, good.replace(" 0 ", " 1 "), ten, path=path)
    refused(book, good, "Range: bytes=0-10", path=path)
    refused(book, good, ten, path=f"/v1/c/{chunk + 1}/plain")
    refused(book, good, ten, path=f"/v1/c/{chunk}/stored")
    refused(book, good, ten, path=path, method="HEAD")
    refused(book, good, good, ten, path=path)
    refused(book, good.replace("v1", "v2"), ten, path=path)
    refused(book, good.upper(), ten, path=path)
    refused(book, good.replace(book.id.hex(), "0" * 32), ten, path=path)
    for other in (book.node + 1, 2**32 - 1, 2**32, -1):
        refused(book, good.replace(f" {book.node} ", f" {other} ", 1), ten,
                path=path)
    # What is repeated is answered again.
    s = Server(book)
    first = s.send(path, good, ten)
    assert first[0] == 206 and s.send(path, good, ten)[2] == first[2]
    # Whoever knows the secret is told what is wrong.
    for status, what in [
            (404, dict(kind=1, chunk=NO_CHUNK - 1, first=0, last=9)),
            (404, dict(kind=2, chunk=chunk, first=0, last=9)),
            (416, dict(kind=1, chunk=chunk, first=2**40, last=2**40 + 9)),
            (416, dict(kind=1, chunk=chunk, range=f"bytes=0-{4 << 20}")),
            (416, dict(kind=1, chunk=chunk)),
            (416, dict(kind=1, chunk=chunk, range="bytes=0-9,20-29")),
            (416, dict(kind=1, chunk=chunk, range="bytes=9-0")),
            (416, dict(kind=1, chunk=chunk, range="bytes=-9")),
            (416, dict(kind=1, chunk=chunk, range="bytes=5-")),
            (416, dict(kind=1, chunk=chunk,
                       range=f"bytes=0-{2**64}")),
            (416, dict(kind=3, range="bytes=0-0")),
            (404, dict(kind=0, path="/v1/c//plain")),
            (404, dict(kind=0, path="/v1/c/01/plain")),
            (404, dict(kind=0, path="/v1/c/%31/plain")),
            (404, dict(kind=0, path="/v1/c/../../index.hpdsl")),
            (404, dict(kind=0, path="//v1/have")),
            (404, dict(kind=0, path="/v1/have?")),
            (404, dict(kind=0, path="/v1/have%00")),
            (404, dict(kind=0, path="/v1/have/"))]:
        got = Server(book).ask(**what)[0]
        assert got == status, (what, got)
    # A path that holds a NUL is no other one than what was proven.
    status, _, body = s.send(path.replace("plain", "plain\0/../stored"), good,
                             ten)
    assert status in (400, 403, 404) or body == first[2], status
    # A header of any size ends somehow, and others are served.
    for size in (4000, 8000, 9000, 200000):
        try:
            t = Server(book)
            status = t.send("/v1/have", f"X: {'x' * size}")[0]
            assert status in (400, 403, 413, 414, 431), status
        except OSError:
            pass
    assert Server(book).ask(3)[0] == 200


def drip(book):
    """S5: they have three seconds and 64 places; who is honest is served."""
    held = []
    for i in range(300):
        held.append(socket.create_connection((book.hosts[0], book.port)))
        if i % 50 == 0:
            assert Server(book).ask(3)[0] == 200
    while held:
        assert Server(book).ask(3)[0] == 200
        for s in select.select(held, [], [], 0.2)[0]:
            held.remove(s)
            with contextlib.suppress(ConnectionError):
                assert s.recv(1) == b""
        for s in held:
            with contextlib.suppress(ConnectionError):
                s.send(b"G")


def slow(book, chunk, size, pid):
    """F18, S10: they ask for so much of it, and read nothing."""
    held = []

    def more(n):
        while len(held) < n:
            s = Server(book)
            # Its answer, which check() would not look at.
            s.receive = lambda method: (403, {}, b"")
            s.ask(1, chunk, 0, size - 1)
            held.append(s)

    # Twice what one reader has under way: others have theirs.
    more(16)
    status, _, body = Server(book).ask(1, chunk, 0, size - 1)
    assert status == 206, status
    sys.stdout.buffer.write(body)
    sys.stdout.flush()
    # Of so many it is said that there is too much to do, at once.
    more(200)
    for _ in range(20):
        assert Server(book).ask(3)[0] == 200
        assert Server(book).ask(1, chunk, 0, size - 1)[0] in (206, 503)
    # While they are still there.
    print(memory(pid), file=sys.stderr)


def memory(pid):
    """What a process has in memory, in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(l.split()[1]) for l in f if l.startswith("VmRSS"))


def main():
    """By what is asked for."""
    book = Book(sys.argv[1])
    what, *rest = sys.argv[2:]
    if what in ("get", "adopt"):
        get(book, int(rest[0]), rest[1], int(rest[2]), int(rest[3]),
            int(what == "adopt"))
    elif what == "have":
        have(book)
    elif what == "faults":
        faults(book, int(rest[0]))
    elif what == "drip":
        drip(book)
    elif what == "slow":
        slow(book, *map(int, rest))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
