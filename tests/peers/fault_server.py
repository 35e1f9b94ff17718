#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers of a job's nodes that can be told to go wrong, each in one way.

    fault_server.py FOLDER PORT ADDRESS..

Node n answers at the n-th ADDRESS ("-": it has no server) and PORT with the
bytes of FOLDER/NUMBER, chunk by chunk, as hpdsl-format(5) "WIRE OF A JOB'S
NODES" says.  Lines on stdin say what happens next, each answered by a line:

    do NODE FAULT [TIMES]   its next answers to chunks; without TIMES all
    have NODE HEX           what it says that it has
    port NODE PORT          it is there instead
    gone NODE               it is nowhere
    squat NODE PORT WHAT    another program at its address: banner, html, mute
    asked NODE              how many requests for chunks it had, and how many
                            of these with the flag "adopt"
"""

import os
import socket
import struct
import sys
import threading
import time

import vectors

DIGEST_OF = 16  # a chunk's digest: its number, so often
WRONG_RANGE = 1
LONG = 3600


class Node:
    """One server and what it was told."""

    def __init__(self, number, folder, address):
        self.number = number
        self.folder = folder
        self.address = address
        self.fault, self.times = "well", None
        self.have = None
        self.asked = self.adopt = 0
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.held = 0
        self.listener = None
        self.open = set()

    def listen(self, port):
        """At another port than before, if there was one."""
        self.gone()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((self.address, port))
        self.listener.listen(128)
        threading.Thread(
            target=self.accept, args=(self.listener,), daemon=True
        ).start()

    def gone(self):
        """No listener, and no connection that it had."""
        with self.lock:
            if self.listener:
                self.listener.shutdown(socket.SHUT_RDWR)
                self.listener.close()
                self.listener = None
            for c in self.open:
                c.shutdown(socket.SHUT_RDWR)
            self.open.clear()

    def accept(self, listener):
        """Until it is closed."""
        while True:
            try:
                c, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(c)
            threading.Thread(
                target=self.serve, args=(c,), daemon=True
            ).start()

    def next_fault(self):
        """What is to go wrong with this answer."""
        with self.lock:
            fault = self.fault
            if self.times is not None:
                self.times -= 1
                if self.times == 0:
                    self.fault, self.times = "well", None
            return fault

    def serve(self, c):
        """One connection."""
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            before = b""
            while True:
                while b"\r\n\r\n" not in before:
                    got = c.recv(65536)
                    if not got:
                        return
                    before += got
                head, before = before.split(b"\r\n\r\n", 1)
                if not Request(self, c, head.decode()).answer():
                    return
        except OSError:
            pass
        finally:
            with self.lock:
                self.open.discard(c)
            c.close()


class Request:
    """One request, read and answered."""

    def __init__(self, node, c, head):
        self.node, self.c = node, c
        lines = head.split("\r\n")
        self.method, self.path, _ = lines[0].split(" ")
        self.fields = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            self.fields[name.lower()] = value.strip()
        self.chunk, self.kind = 2**32 - 1, 0
        self.first, self.last = 0, vectors.NONE
        word = self.path.split("/")
        if self.path.startswith("/v1/c/"):
            self.chunk = int(word[3])
            self.kind = {"plain": 1, "stored": 2}[word[4]]
            a, b = self.fields["range"].removeprefix("bytes=").split("-")
            self.first, self.last = int(a), int(b)
        elif self.path == "/v1/have":
            self.kind = 3
        elif self.path == "/v1/status":
            self.kind = 4
        self.proof = self.fields.get("hpdsl", "").split(" ")

    def numbers(self, role):
        """What its proof and its answer's begin with."""
        return (
            role,
            1,
            self.kind,
            int(self.proof[4]),
            self.node.number,
            self.chunk,
            self.first,
            self.last,
        )

    def proven(self):
        """By who knows the secret, to this node."""
        if len(self.proof) != 6 or self.proof[2] != str(self.node.number):
            return False
        self.nonce = bytes.fromhex(self.proof[3])
        return vectors.proof(self.numbers(1), self.nonce) == self.proof[5]

    def say(self, status, body, more=(), length=None, mac=None, send=None):
        """An answer; body is what it has, send what of it is sent."""
        length = len(body) if length is None else length
        load = 0
        mac = mac or vectors.proof(
            self.numbers(2) + (status, max(length, 0), load), self.nonce
        )
        lines = [f"HTTP/1.1 {status} X", f"HPDSL: v1 {self.node.number} 0 {mac}"]
        if length >= 0:
            lines.append(f"Content-Length: {length}")
        lines += more
        self.c.sendall(
            ("\r\n".join(lines) + "\r\n\r\n").encode()
            + (body if send is None else send)
        )
        return True

    def answer(self):
        """False: the connection is to be closed."""
        if not self.proven():
            self.c.sendall(b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n")
            return False
        if self.kind == 3:
            return self.answer_have()
        if self.kind == 4:
            tag = f'ETag: "{vectors.PACK.hex()}"'
            return self.say(200, b"well\n", (tag,))
        with self.node.lock:
            self.node.asked += 1
            self.node.adopt += int(self.proof[4])
        with open(os.path.join(self.node.folder, str(self.chunk)), "rb") as f:
            self.size = os.fstat(f.fileno()).st_size
            f.seek(self.first)
            self.body = f.read(self.last - self.first + 1)
        digest = f"{self.chunk:02x}" * DIGEST_OF
        self.tag = f'ETag: "{vectors.PACK.hex()}-{digest}"'
        self.range = (
            f"Content-Range: bytes {self.first}-{self.last}/{self.size}"
        )
        self.well = (self.tag, self.range)
        word = self.node.next_fault().split(":")
        return getattr(self, "do_" + word[0])(*word[1:])

    def answer_have(self):
        """All of it, plain, unless told otherwise."""
        tag = f'ETag: "{vectors.PACK.hex()}"'
        chunks = len(os.listdir(self.node.folder))
        have = bytearray((chunks + 3) // 4)
        for i in range(chunks):
            have[i // 4] |= 3 << i % 4 * 2
        if self.node.have is not None:
            have = self.node.have
        if self.node.fault == "silent":
            time.sleep(LONG)  # clock: a fault that is played
        if self.node.fault == "nothave":
            return self.say(404, b"no list\n")
        return self.say(200, bytes(have), (tag,))

    # ---- What goes wrong

    def do_well(self):
        """Nothing."""
        return self.say(206, self.body, self.well)

    do_nothave = do_well

    def do_slow(self, seconds):
        """It takes a while."""
        time.sleep(float(seconds))  # clock: a fault that is played
        return self.do_well()

    def do_silent(self):
        """No answer, ever."""
        time.sleep(LONG)  # clock: a fault that is played

    def do_stall(self):
        """In the middle of the body."""
        self.say(206, self.body, self.well, send=self.body[: len(self.body) // 2])
        time.sleep(LONG)  # clock: a fault that is played

    def do_drip(self):
        """A byte now and then, as long as somebody takes it."""
        self.say(206, self.body, self.well, send=b"")
        try:
            for i in range(len(self.body)):
                self.c.sendall(self.body[i : i + 1])
                time.sleep(0.2)  # clock: a fault that is played
        except OSError:
            pass
        return False

    def do_hold(self):
        """The same, until another is told; "do" is done when it was sent."""
        half = len(self.body) // 2
        self.say(206, self.body, self.well, send=self.body[:half])
        with self.node.changed:
            self.node.held += 1
            self.node.changed.wait_for(lambda: self.node.fault != "hold")
        try:
            self.c.sendall(self.body[half:])
        except OSError:
            pass
        with self.node.changed:
            self.node.held -= 1
            self.node.changed.notify_all()
        return False

    def do_pause(self, seconds):
        """The same, for a while."""
        half = len(self.body) // 2
        self.say(206, self.body, self.well, send=self.body[:half])
        time.sleep(float(seconds))  # clock: a fault that is played
        self.c.sendall(self.body[half:])
        return True

    def do_cut(self):
        """The same, and closed."""
        self.say(206, self.body, self.well, send=self.body[: len(self.body) // 2])
        return False

    def do_reset(self):
        """The same, with a reset."""
        self.c.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        return self.do_cut()

    def do_close(self):
        """Without a word."""
        return False

    def do_mac(self):
        """A proof of somebody else."""
        return self.say(206, self.body, self.well, mac="0" * 64) and False

    def do_replay(self):
        """A right proof, of another request."""
        self.nonce = bytes(16)
        return self.do_well() and False

    def do_strange(self):
        """403 of a server with another secret."""
        self.c.sendall(b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n")
        return False

    def do_whole(self):
        """200 with all of it."""
        with open(os.path.join(self.node.folder, str(self.chunk)), "rb") as f:
            return self.say(200, f.read(), (self.tag,))

    def do_other(self):
        """Another range, of the same length."""
        a, b = self.first + WRONG_RANGE, self.last + WRONG_RANGE
        other = f"Content-Range: bytes {a}-{b}/{self.size}"
        return self.say(206, self.body, (self.tag, other))

    def do_size(self):
        """Of a file of another size."""
        other = f"Content-Range: bytes {self.first}-{self.last}/{self.size + 1}"
        return self.say(206, self.body, (self.tag, other))

    def do_tag(self):
        """Of another chunk."""
        return self.say(206, self.body, ('ETag: "x"', self.range))

    def do_twice(self):
        """A field that is there twice."""
        return self.say(206, self.body, (self.tag, self.tag, self.range))

    def do_short(self):
        """Fewer bytes, said so."""
        return self.say(206, self.body[:-1], self.well)

    def do_long(self):
        """More bytes than it says."""
        return self.say(206, self.body, self.well, send=self.body + b"x" * 65536)

    def do_nolength(self):
        """To the end of the connection."""
        return self.say(206, self.body, self.well, length=-1) and False

    def do_gzip(self):
        """Packed, as it says."""
        return self.say(206, self.body, self.well + ("Content-Encoding: gzip",))

    def do_multipart(self):
        """As several ranges would be."""
        more = "Content-Type: multipart/byteranges; boundary=x"
        return self.say(206, self.body, (self.tag, more))

    def do_absent(self):
        """It has it not."""
        return self.say(404, b"not here\n")

    def do_busy(self):
        """Not now."""
        return self.say(503, b"later\n", ("Retry-After: 1",))

    def do_error(self):
        """A disk that fails."""
        return self.say(500, b"sorry\n")

    def do_flip(self):
        """One bit is another."""
        body = bytearray(self.body)
        body[len(body) // 2] ^= 1
        return self.say(206, bytes(body), self.well)

    def do_race(self):
        """A good answer, and the connection goes with the next request."""
        self.do_well()
        self.c.recv(1)
        self.c.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        return False


SQUATTERS = {
    "banner": b"SSH-2.0-x\r\n",
    "html": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmoin",
}


def squat(address, port, what):
    """Somebody else's port; the mute one takes connections and no more."""
    listener = socket.create_server((address, port))

    def run():
        kept = []
        while True:
            c, _ = listener.accept()
            kept.append(c)
            if what in SQUATTERS:
                c.recv(65536)
                c.sendall(SQUATTERS[what])
                c.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=run, daemon=True).start()


def obey(nodes, word):
    """One line of what is to be; its answer."""
    node = nodes[int(word[1])]
    with node.lock:
        if word[0] == "do":
            node.fault = word[2]
            node.times = int(word[3]) if word[3:] else None
            node.changed.notify_all()
            if node.fault != "hold":
                node.changed.wait_for(lambda: not node.held)
        elif word[0] == "have":
            node.have = bytes.fromhex(word[2])
        elif word[0] == "asked":
            answer = f"{node.asked} {node.adopt}"
            node.asked = node.adopt = 0
            return answer
    if word[0] == "port":
        node.listen(int(word[2]))
    elif word[0] == "gone":
        node.gone()
    elif word[0] == "squat":
        squat(node.address, int(word[2]), word[3])
    return "ok"


def main():
    """All nodes, until stdin ends."""
    folder, port, addresses = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    nodes = [Node(i, folder, a) for i, a in enumerate(addresses)]
    for node in nodes:
        if node.address != "-":
            node.listen(port)
    print("ready", flush=True)
    for line in sys.stdin:
        print(obey(nodes, line.split()), flush=True)


if __name__ == "__main__":
    main()
