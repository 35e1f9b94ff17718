# SPDX-License-Identifier: Apache-2.0
"""Loaders and the life of a process: Ctrl-C, forks, exits, kills."""

import ctypes
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import unittest
from unittest import mock

import hpdsl
from common import Packed, forked, in_shm, rounds, run, threads, until_true
from hpdsl import _abi, _pump

ORDER = "hpdsl.Order(batch=18, lanes=6, piece=3, windows=2)"
BEGIN = f"""
import os, signal, sys, threading, time
import hpdsl
ds = hpdsl.Dataset(sys.argv[1])
loader = hpdsl.Loader(ds, order={ORDER})
"""
# The library reads chunks only when the pipe in GATE has a writer, or is gone.
# Whoever comes there makes the file AT_GATE, if one is named.
GATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
static void wait_for(int fd)
{
	char link[40], name[4096] = "";
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (readlink(link, name, sizeof name - 1) <= 0 ||
	    !strstr(name, "/chunk-"))
		return;
	if (getenv("AT_GATE"))
		close(open(getenv("AT_GATE"), O_CREAT | O_WRONLY, 0600));
	do
		fd = open(getenv("GATE"), O_RDONLY);
	while (fd < 0 && errno == EINTR);
}
#define READS(type, name, with, give) \\
	type name with \\
	{ \\
		type(*next) with = (type(*) with)dlsym(RTLD_NEXT, #name); \\
		wait_for(fd); \\
		return next give; \\
	}
READS(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
READS(ssize_t, pread64, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
READS(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at),
      (fd, v, n, at))
READS(ssize_t, preadv64, (int fd, const struct iovec *v, int n, off_t at),
      (fd, v, n, at))
READS(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t at,
      int flags), (fd, v, n, at, flags))
READS(ssize_t, preadv64v2, (int fd, const struct iovec *v, int n, off_t at,
      int flags), (fd, v, n, at, flags))
"""
AT_GATE = BEGIN + """
def open_gate():
    global gate
    gate = os.open(os.environ["GATE"], os.O_RDWR)
    os.unlink(os.environ["GATE"])
"""


class CtrlC(Packed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shim = os.path.join(cls._folder.name, "gate.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-D_FILE_OFFSET_BITS=64",
                        "-U_FILE_OFFSET_BITS", "-x", "c", "-", "-o", cls.shim,
                        "-ldl"], input=GATE, text=True, check=True)

    def setUp(self):
        super().setUp()
        self.gate = self.at + "/gate"
        os.mkfifo(self.gate)
        before = os.environ.get("LD_PRELOAD")
        self.environ = dict(os.environ, GATE=self.gate, LD_PRELOAD=" ".join(
            filter(None, (before, self.shim))))

    def test_in_next_and_nothing_is_lost(self):
        """A timer of the process's own: it is in next() when that comes."""
        got = run(AT_GATE + """
signal.signal(signal.SIGALRM, signal.default_int_handler)
for n in range(5):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.07 * n + 0.01)
        loader.next_batch()
        print("it did not wait")
    except KeyboardInterrupt:
        print("interrupted")
open_gate()
print([b.step for b in loader])
""", self.packed, env=self.environ)
        self.assertEqual(got.stdout, "interrupted\n" * 5 +
                         f"{list(range(12))}\n")
        self.assertEqual(got.returncode, 0)

    def test_none_is_lost(self):
        """Wherever a fast loop is: not in a finalizer, where it would be."""
        many = rounds(100, 200)
        got = run(BEGIN + f"many = {many}" + """
came = heard = 0
def ring(*_):
    global came
    came += 1
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
while came < many:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        while came == heard:
            loader.next_batch().data
    except KeyboardInterrupt:
        heard += 1
print(came, heard)
""", self.packed)
        self.assertEqual((got.stdout, got.returncode),
                         (f"{many} {many}\n", 0))

    def test_no_step_is_lost_or_comes_twice(self):
        got = run(BEGIN + f"many = {rounds(100, 300)}" + """
import random
from dataclasses import replace
def ring(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
def at():
    state = loader.state_dict()
    return state["epoch"], state["step"]
def check(place, batch):
    assert (batch.epoch, batch.step) == place, (place, batch)
    assert batch.numbers == [p.sample for p in epoch(place[0]).step(place[1])]
epochs = {}
def epoch(n):
    if n not in epochs:
        epochs.clear()
        epochs[n] = hpdsl.Epoch(ds, replace(loader.order, epoch=n))
    return epochs[n]
heard = 0
while heard < many:
    place = None
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-6, 1e-4))
        try:
            while True:
                place = loader._at.next
                batch = loader.next_batch()
                assert (batch.epoch, batch.step) == place, (place, batch)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        heard += 1
    here = at()
    one, two = loader.next_batch(), loader.next_batch()
    check(here, one)
    check((two.epoch, two.step), two)
print("all")
""", self.packed)
        self.assertEqual((got.stdout, got.returncode), ("all\n", 0))

    def test_while_it_begins_or_ends(self):
        """Whatever is not heard, as finalizers can tell nobody: it ends."""
        got = run(BEGIN + f"many = {rounds(130, 400)}" + """
import random
sys.unraisablehook = lambda _: None
loader.close()
def threads(): return len(os.listdir("/proc/self/task"))
before = threads()
def ring(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
for n in range(many):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-3))
            loader = hpdsl.Loader(ds, memory=16 << 20)
            loader.close()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    loader = None
assert threads() == before, threads()
print("all")
""", self.packed)
        self.assertEqual((got.stdout, got.returncode), ("all\n", 0))

    def test_a_handler_may_close_it(self):
        got = run(AT_GATE + """
def end(_, frame):
    while frame and frame.f_code.co_name != "_wait":
        frame = frame.f_back
    if frame is None: # not there yet
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        return
    open_gate()
    loader.close()
signal.signal(signal.SIGALRM, end)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    loader.next_batch()
except hpdsl.StoppedError as e:
    print(e)
""", self.packed, env=self.environ)
        self.assertEqual((got.stdout, got.returncode),
                         ("the loader was freed\n", 0))

    def test_a_loop_ends(self):
        with subprocess.Popen([sys.executable, "-c", AT_GATE + """
try:
    print("waiting", flush=True)
    for batch in loader:
        print("it did not wait")
finally:
    open_gate()
"""] + [self.packed], env=self.environ, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            self.assertEqual(child.stdout.readline(), "waiting\n")
            child.send_signal(signal.SIGINT)
            try:
                out, err = child.communicate(timeout=600)
            finally:
                child.kill()
        self.assertEqual(out, "")
        self.assertRegex(err, r"\nKeyboardInterrupt\n$")
        self.assertEqual(child.returncode, -signal.SIGINT)

    def test_the_end_waits_for_no_storage(self):
        """That hangs: for the library's threads, Ctrl-C behind it, or a daemon
        thread that reads by itself."""
        self.environ["AT_GATE"] = self.at + "/at-gate"
        for loader, program, status in (
                ("", "wait()", 0),
                (", threads=1", "wait()\nsignal.setitimer(signal.ITIMER_REAL, "
                 "0.01)\nloader.next_batch()", -signal.SIGINT),
                (", threads=0xffffffff", "threading.Thread(target="
                 "loader.next_batch, daemon=True).start()\nwait()", 0)):
            got = run(f"""
import os, signal, sys, threading
import hpdsl
from common import until_true
def wait():
    until_true(os.path.exists, os.environ["AT_GATE"])
signal.signal(signal.SIGALRM, signal.default_int_handler)
hpdsl._running.PATIENCE = 0
loader = hpdsl.Loader(hpdsl.Dataset(sys.argv[1]){loader})
{program}
""", self.packed, env=self.environ)
            self.assertRegex(got.stdout, r"\A(Traceback[^\0]*\n"
                             r"KeyboardInterrupt\n)?\Z")
            self.assertEqual(got.returncode, status, got.stdout)
            os.remove(self.environ["AT_GATE"])

    def test_other_threads_run_meanwhile(self):
        got = run(AT_GATE + """
def later():
    print("other thread")
    open_gate()
threading.Timer(0.1, later).start()
print(loader.next_batch().step)
""", self.packed, env=self.environ)
        self.assertEqual((got.stdout, got.returncode),
                         ("other thread\n0\n", 0))


class Ends(Packed):
    def ends(self, program, status=0, out="ready\n"):
        got = run(BEGIN + program, self.packed)
        self.assertEqual((got.returncode, got.stdout), (status, out))


class Exits(Ends):
    def test_with_an_unfinished_loader(self):
        self.ends("next(iter(loader)); print('ready')")
        self.ends("print('ready')")
        self.ends("print('ready'); sys.exit(7)", 7)
        self.ends("rest = iter(loader); del loader; next(rest)\n"
                  "print('ready')")

    def test_with_live_batches_and_views(self):
        self.ends("kept = [loader.next_batch() for _ in range(3)]\n"
                  "data = kept[1].data\nloader.close()\nprint('ready')")
        self.ends("view = loader.next_batch().data\nview.append(view)\n"
                  "sys.kept = view\nprint('ready')")
        self.ends("batch = loader.next_batch()\n"
                  "class Late:\n"
                  "    def __del__(self, batch=batch):\n"
                  "        assert len(bytes(batch.data[0])) >= 0\n"
                  "        sys.stdout.write('ready\\n')\n"
                  "late = Late()")

    def test_out_of_an_exception(self):
        got = run(BEGIN + "for b in loader:\n    raise KeyError('mine')",
                  self.packed)
        self.assertEqual(got.returncode, 1)
        self.assertRegex(got.stdout, "KeyError: 'mine'\n$")

    def test_loaded_again_after_the_end(self):
        """What is asked behind the interpreter's exit handlers."""
        self.ends("""
class Late:
    def __del__(self, loader=loader):
        try:
            loader.next_batch()
        except hpdsl.StoppedError:
            sys.stdout.write('ready\\n')
late = Late()
""")

    def test_killed(self):
        """What it has in memory has no name that could be left."""
        files = sorted(os.listdir(self.packed))
        for shared in False, True:
            with subprocess.Popen(
                    [sys.executable, "-c", BEGIN + f"""
loader = hpdsl.Loader(ds, order={ORDER}, shared={shared})
for _ in range(3):
    batch = loader.next_batch()
print("ready", flush=True)
while True:
    batch = loader.next_batch()
"""] + [self.packed], stdout=subprocess.PIPE, text=True) as child:
                self.assertEqual(child.stdout.readline(), "ready\n")
                has = in_shm(child.pid)
                child.kill()
            self.assertEqual(has, [])
        self.assertEqual(sorted(os.listdir(self.packed)), files)
        self.ends("print('ready')")


class ExitsUnderThreads(Ends):
    def test_with_one_that_watches(self):
        """It has read the loader's address, and goes on behind the exit handlers
        of the package; what was freed would be overwritten."""
        with mock.patch.dict(os.environ, MALLOC_PERTURB_="165"):
            got = run("""
import atexit, ctypes, sys, threading
inside, gate, done = (threading.Event() for _ in range(3))
atexit.register(lambda: (gate.set(), done.wait()))
import hpdsl
lib = hpdsl._abi.lib
real = lib.loader_stats
def slow(handle, *others):
    address = ctypes.c_void_p(handle.value)
    inside.set()
    gate.wait()
    real(address, *others)
lib.loader_stats = slow
loader = hpdsl.Loader(hpdsl.Dataset(sys.argv[1]))
def watch():
    print(loader.stats()["lanes"] == loader.order.lanes)
    done.set()
threading.Thread(target=watch, daemon=True).start()
inside.wait()
""", self.packed)
        self.assertEqual((got.stdout, got.returncode), ("True\n", 0))

    def test_with_threads_that_load(self):
        self.ends("""
loads = threading.Event()
def load():
    while True:
        if loader.next_batch().step == 11:
            loads.set()
t = threading.Thread(target=load, daemon=True)
t.start()
loads.wait()
def quiet(args):
    pass
threading.excepthook = quiet
print('ready')
""")


class Loads(Packed):
    def loader(self):
        return hpdsl.Loader(hpdsl.Dataset(self.packed), order=hpdsl.Order(
            batch=18, lanes=6, piece=3, windows=2))


class Inside(Loads):
    """Somebody is in a call of the library's when another thread ends the
    loader: it is freed when that call is over, and not before."""

    def held(self, name, call, loader=None):
        """The thread in which call() comes to that function is held there, when
        it has read the loader's address."""
        before = threads()
        loader = loader or self.loader()
        lib, has = _abi.lib, threads()
        real, inside, gate = getattr(lib, name), *map(
            lambda _: threading.Event(), range(2))

        def slow(handle, *others):
            address = ctypes.c_void_p(handle.value)
            inside.set()
            gate.wait()
            return real(address, *others)

        def run():
            try:
                got.append(call(loader))
            except hpdsl.CorruptError as e:
                got.append(e)

        got, t = [], threading.Thread(target=run)
        with mock.patch.object(lib, name, slow):
            t.start()
            inside.wait()
        try:
            loader.close()
            self.assertEqual(threads(), has + 1)
        finally:
            gate.set()
            t.join()
        until_true(lambda: threads() <= before)
        return got[0]

    def test_statistics(self):
        self.assertEqual(self.held("loader_stats", hpdsl.Loader.stats)["lanes"],
                         6)

    def test_steps(self):
        self.assertEqual(self.held("loader_steps",
                                   lambda loader: loader.steps(7)), 12)

    def test_where_it_is(self):
        """As seek() asks when Ctrl-C came."""
        self.assertEqual(self.held("loader_state",
                                   lambda loader: loader._running.reached()),
                         (0, 0))

    def failing(self, loader):
        return mock.patch.object(loader._running, "next",
                                 side_effect=hpdsl.CorruptError("mine"))

    def test_what_follows_an_error(self):
        def fail(loader):
            with self.failing(loader):
                loader.next_batch()

        self.assertEqual(str(self.held("loader_stats", fail)), "mine")

    def test_a_pump(self):
        """As hpdsl.torch has one, in a thread of its own."""
        def fail(reader):
            with self.failing(reader):
                return _pump.Pump._tell(pump)

        pump = mock.Mock(_out={})
        pump.reader = _pump.Reader(hpdsl.Dataset(self.packed), 18)
        self.held("loader_stats", fail, pump.reader)
        self.assertEqual(str(pump._told_error.call_args[0][0]), "mine")


class Forks(Loads):
    def test_a_loader_belongs_to_its_process(self):
        loader = self.loader()
        loader.next_batch()
        for call in loader.next_batch, loader.state_dict, loader.stats:
            with self.assertRaisesRegex(RuntimeError, "process that made it"):
                forked(call)
        with self.assertRaisesRegex(TypeError, "state_dict"):
            pickle.dumps(loader)
        self.assertEqual(loader.next_batch().step, 1)

    def test_children_leave_the_parents_alone(self):
        """Views stay readable there; what goes in a child stays here."""
        loader = self.loader()
        batch = loader.next_batch()
        want = [bytes(v) for v in batch.data]

        def child():
            nonlocal loader, batch
            got = [bytes(v) for v in batch.data]
            loader = batch = None
            return got

        for _ in range(10):
            self.assertEqual(forked(child), want)
        self.assertEqual(batch.data, want)
        self.assertEqual([b.step for b in loader], list(range(1, 12)))

    def test_a_child_loads_for_itself(self):
        loader = self.loader()
        first = loader.next_batch()
        got = forked(lambda: [b.numbers for b in self.loader()])
        self.assertEqual(got, [first.numbers] + [b.numbers for b in loader])

    def test_children_that_end_as_usual(self):
        """Exit handlers of the parent's run in them."""
        loader = self.loader()
        batch = loader.next_batch()
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            child = context.Process(target=len, args=(batch.data,))
            child.start()
            child.join(600)
            self.assertEqual(child.exitcode, 0)
        got = run(BEGIN + """
batch = loader.next_batch()
if os.fork() == 0:
    sys.exit(5)
print(os.wait()[1] >> 8, loader.next_batch().step)
""", self.packed)
        self.assertEqual((got.stdout, got.returncode), ("5 1\n", 0))


class ForksUnderThreads(Loads):
    def test_forked_while_others_load(self):
        loader, stop = self.loader(), threading.Event()

        def load():
            while not stop.is_set():
                loader.next_batch()

        t = threading.Thread(target=load)
        t.start()
        try:
            for _ in range(20):
                got = forked(lambda: self.loader().next_batch().step)
                self.assertEqual(got, 0)
        finally:
            stop.set()
            t.join()


if __name__ == "__main__":
    unittest.main()
