# SPDX-License-Identifier: Apache-2.0
"""What tests of the package share: trees, packs, other processes."""

import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest


def rounds(few, many):
    """How many of what is only repeated: in check, and in levels that do more."""
    return many if os.environ.get("HPDSL_LEVEL") in ("more", "long") else few


def until_true(what, *given):
    """Polls what(*given), for as long as a busy machine may take."""
    end = time.monotonic() + int(os.environ.get("PATIENCE") or 600)
    while not what(*given):
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.005)


def threads():
    """How many there are, without those that were joined: these are listed for
    a while longer, as exiting (Linux's PF_EXITING)."""
    alive = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        alive += not int(fields[6]) & 4
    return alive


def content(number, suffix):
    """Bytes that tell their sample and member, of many sizes, 0 too."""
    head = f"{number} {suffix} ".encode()
    return head * (number * 37 % 101) if number % 11 else b""


def make_tree(path, samples, classes=3):
    """Samples a/b/NUMBER with .bin, .json and, every third, .txt.  Number n is
    of class n % classes; {key: n} is returned."""
    keys = {}
    for n in range(samples):
        folder = os.path.join(path, f"class{n % classes}")
        os.makedirs(folder, exist_ok=True)
        for suffix in ("bin", "json", "txt")[:3 if n % 3 == 0 else 2]:
            name = os.path.join(folder, f"{n:05}.{suffix}")
            with open(name, "wb") as f:
                f.write(content(n, suffix))
        keys[f"class{n % classes}/{n:05}"] = n
    return keys


def command(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def pack(tree, packed, *options):
    command("hpdsl-pack", "-q", "--labels=dir", *options, tree, packed)


def flip(path, offset, mask=1):
    with open(path, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)[0]
        f.seek(offset)
        f.write(bytes([byte ^ mask]))


def run(program, *arguments, **options):
    """Another interpreter, with the same library; all of its output."""
    return subprocess.run([sys.executable, "-W", "error", "-c", program,
                           *arguments], check=False, timeout=600,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options)


def forked(function):
    """What it returns, or raises, in a child that ends without any cleaning
    up.  An alarm ends one that hangs."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(600)
        try:
            got = True, function()
        except BaseException as e:
            got = False, e
        with open(into, "wb") as f:
            pickle.dump(got, f)
        os._exit(0)
    os.close(into)
    with open(out, "rb") as f:
        told = f.read()
    status = os.waitpid(pid, 0)[1]
    if status:
        raise RuntimeError(f"the child ended with {status}")
    returned, got = pickle.loads(told)
    if not returned:
        raise got
    return got


def in_shm(pid="self"):
    """What a process has in /dev/shm by a name, and would leave behind."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        has = f.read().split("\n")
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            has.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return [name for name in has if re.search("/dev/shm/[^/]*$", name) and
            not name.endswith(" (deleted)")]


class Packed(unittest.TestCase):
    """self.tree, self.packed and self.keys, for all tests of a class; self.at
    is a folder of its own for each."""

    samples, options = 200, ("--chunks=7", "--seed=5")

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(cls._folder.cleanup)
        cls.tree = os.path.join(cls._folder.name, "tree")
        cls.packed = os.path.join(cls._folder.name, "packed")
        cls.keys = make_tree(cls.tree, cls.samples)
        pack(cls.tree, cls.packed, *cls.options)

    def setUp(self):
        self.at = tempfile.mkdtemp(dir=self._folder.name)

    def assertSample(self, ds, number, sample):
        n = self.keys[sample.key]
        self.assertEqual(sample.number, number)
        self.assertEqual(ds.class_names[sample.label], f"class{n % 3}")
        self.assertEqual(sample.class_name, f"class{n % 3}")
        self.assertEqual(list(sample.members),
                         ["bin", "json", "txt"][:3 if n % 3 == 0 else 2])
        for suffix, got in sample.members.items():
            self.assertIs(type(got), bytes)
            self.assertEqual(got, content(n, suffix))
        self.assertEqual(sample.data, content(n, "bin"))
        self.assertEqual(sample["json"], content(n, "json"))
