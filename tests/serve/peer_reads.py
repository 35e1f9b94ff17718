#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while a node's processes read what another one has: what
they get is right all the same.

    peer_reads.py CASE HERE THERE ORIGIN

HERE and THERE are stage directories of two nodes of a job, on this machine;
HERE has a server, THERE has one that is started here.  CASE is a function
below.
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import hpdsl
from node import Book

HERE, THERE, ORIGIN = sys.argv[2:5] if len(sys.argv) > 4 else ("", "", "")


# ---- Servers


def port_of(place):
    """Where its server listens; 0: it does not yet."""
    told = subprocess.run(["hpdsl-serve", "--status", "--json", place],
                          check=False, capture_output=True, text=True)
    part = told.stdout.partition('"port": ')[2]
    return int(part.split(",")[0].rstrip("}\n ")) if part[:1].isdigit() else 0


def until(true, what):
    """Polled; an alarm ends it all."""
    print("until", what)
    while not (got := true()):
        time.sleep(0.05)  # clock: a poll
    return got


@contextlib.contextmanager
def served(place, **more):
    """It has a server meanwhile."""
    server = subprocess.Popen(["hpdsl-serve", "-q", place],
                              stdin=subprocess.DEVNULL, **more)
    try:
        until(lambda: port_of(place), "served")
        yield server
    finally:
        if server.poll() is None:
            server.terminate()
        server.wait()


class Proxy:
    """Before the server of THERE: it has the port where that is looked for
    first.  flip: a bit of each chunk's bytes; stall: half of them, then
    nothing."""

    def __init__(self):
        self.flip = self.stall = False
        self.bodies = 0  # of chunks
        self.stalled = threading.Event()
        self.to = None
        self.socket = socket.create_server(
            (Book(THERE + "/peers.hpdsl").hosts[0], port_of(HERE) + 1))

    def run(self):
        """Once there is a server behind it."""
        self.to = self.socket.getsockname()[0], port_of(THERE)
        assert self.to[1] != self.socket.getsockname()[1]
        self._begin(self._accept)

    @staticmethod
    def _begin(function, *given):
        threading.Thread(target=function, args=given, daemon=True).start()

    def _accept(self):
        while True:
            client = self.socket.accept()[0]
            server = socket.create_connection(self.to)
            self._begin(self._requests, client, server)
            self._begin(self._answers, server, client)

    @staticmethod
    def _requests(client, server):
        with contextlib.suppress(OSError):
            while got := client.recv(65536):
                server.sendall(got)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _answers(self, server, client):
        with contextlib.suppress(OSError):
            file = server.makefile("rb")
            while line := file.readline():
                head, length = line, 0
                while line not in (b"\r\n", b""):
                    line = file.readline()
                    head += line
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                body = bytearray(file.read(length))
                if b"\r\ncontent-range:" in head.lower() and body:
                    self.bodies += 1
                    if self.flip:
                        body[len(body) // 2] ^= 1
                    if self.stall:
                        client.sendall(head + body[:len(body) // 2])
                        self.stalled.set()
                        threading.Event().wait()
                client.sendall(head + body)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


# ---- Readers


def compare(ds, origin, begin=0, step=1):
    """These samples, and the members of each."""
    for i in range(begin, len(ds), step):
        assert ds[i].all == origin[i].all, i


def read_all(ds=None):
    """All of it, and where it came from."""
    ds = ds or hpdsl.Dataset(HERE)
    with hpdsl.Dataset(ORIGIN) as origin:
        compare(ds, origin)
    return ds.sources()


def check_peers(s):
    """It came from other nodes."""
    assert s.peer_bytes > 0 and s.local_bytes > 0, s
    assert s.origin_bytes == 0 and s.peer_failed == 0, s


# ---- Cases


def flips():
    """Found, read elsewhere, counted; after three times not asked again."""
    proxy = Proxy()
    with served(THERE):
        proxy.run()
        proxy.flip = True
        s = read_all()
        assert proxy.bodies >= 3 and s.peer_failed >= 3, s
        # For nothing, by nobody here.
        before = proxy.bodies
        proxy.flip = False
        # What an adopter was given wrong he fetches again after a moment.
        until(lambda: not read_all().peer_failed, "given anew")
        s = read_all()
        assert proxy.bodies == before, (before, proxy.bodies)
        assert s.peer_failed == 0 and s.adopted > 0, s


def removed():
    """What it has goes away under way, then its server."""
    with served(THERE):
        ds = hpdsl.Dataset(HERE)
        with hpdsl.Dataset(ORIGIN) as origin:
            compare(ds, origin, 0, 2)
            check_peers(ds.sources())
            for name in os.listdir(THERE):
                if name.endswith(".tar"):
                    os.unlink(f"{THERE}/{name}")
            compare(ds, origin, 1, 2)
            subprocess.run(["hpdsl-stage", "--clean", "-q", THERE], check=True)
            compare(ds, origin)
        assert ds.sources().failed_chunks == 0


def hangs():
    """Its reads do not return; some time later they do."""
    hung = dict(os.environ, LD_PRELOAD=os.path.abspath("hangs.so"))
    with served(THERE, env=hung) as server:
        ds = hpdsl.Dataset(HERE)
        with hpdsl.Dataset(ORIGIN) as origin:
            until(lambda: compare(ds, origin, 0, 4) or ds.sources().peer_bytes,
                  "read there")
            with open("hang", "w", encoding="ascii"):
                pass
            compare(ds, origin)
            s = ds.sources()
            assert s.failed_chunks == 0 and s.adopted > 0, s
            os.unlink("hang")
            compare(ds, origin)
        until(lambda: port_of(THERE), "well again")
        assert server.poll() is None
        subprocess.run(["hpdsl-serve", "--stop", THERE], check=True)
        server.wait()


def open_files(pid):
    """Of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def killed():
    """A reader, in the middle of an answer: nothing of it is left."""
    proxy = Proxy()
    with served(THERE) as server:
        proxy.run()
        read_all()
        listed = sorted(os.listdir(HERE))
        proxy.stall = True
        reader = subprocess.Popen([sys.executable, __file__, "read_all",
                                   HERE, THERE, ORIGIN])
        assert proxy.stalled.wait()
        reader.send_signal(signal.SIGKILL)
        assert reader.wait() == -signal.SIGKILL
        proxy.stall = False
        check_peers(read_all())
        assert sorted(os.listdir(HERE)) == listed
        assert server.poll() is None


def others(method):
    """Children, of whom some begin while this process reads."""
    way = multiprocessing.get_context(method)
    with served(THERE):
        ds = hpdsl.Dataset(HERE)
        check_peers(read_all(ds))
        reader = threading.Thread(target=read_all, args=(ds,))
        reader.start()
        with way.Pool(3, initializer=signal.alarm, initargs=(600,)) as pool:
            got = [pool.apply_async(read_all, (ds,)) for _ in range(6)]
            for g in got:
                check_peers(g.get())
        reader.join()
        check_peers(read_all(ds))


def forked():
    """By fork()."""
    others("fork")


def spawned():
    """By fork() and exec()."""
    others("spawn")


def often(children=500):
    """Children one after the other of a process whose threads always ask: no
    lock that one of these held is waited for, however it was met."""
    with served(THERE), hpdsl.Dataset(ORIGIN) as origin:
        ds, ended = hpdsl.Dataset(HERE), threading.Event()

        def ask(k):
            while not ended.is_set():
                compare(ds, origin, k, 3)

        readers = [threading.Thread(target=ask, args=(k,)) for k in range(3)]
        for reader in readers:
            reader.start()
        for n in range(int(os.environ.get("CHILDREN", children))):
            child = os.fork()
            if child == 0:
                signal.alarm(300)
                try:
                    compare(ds, origin, n % 7, len(ds) // 2)
                    os._exit(0)  # pylint: disable=protected-access
                finally:
                    os._exit(1)  # pylint: disable=protected-access
            assert os.waitpid(child, 0)[1] == 0, n
            signal.alarm(600)
        ended.set()
        for reader in readers:
            reader.join()


def torch():
    """Workers of a DataLoader, after this process has read."""
    from torch.utils import data

    class Samples(data.Dataset):
        """By their number."""

        def __init__(self):
            self.ds = hpdsl.Dataset(HERE)

        def __len__(self):
            return len(self.ds)

        def __getitem__(self, i):
            return i, self.ds[i].all, self.ds.sources()

    with served(THERE), hpdsl.Dataset(ORIGIN) as origin:
        samples = Samples()
        check_peers(read_all(samples.ds))
        last = {}
        for batch in data.DataLoader(samples, batch_size=8, num_workers=2,
                                     collate_fn=list, timeout=600):
            for i, members, sources in batch:
                assert members == origin[i].all, i
                last[i] = sources
        assert len(last) == len(samples)
        assert all(s.origin_bytes == 0 for s in last.values())
        assert any(s.peer_bytes > 0 for s in last.values())


if __name__ == "__main__":
    signal.alarm(600)
    globals()[sys.argv[1]]()
