# SPDX-License-Identifier: Apache-2.0
"""Members as files, held against io.BytesIO of the same bytes."""

import gc
import io
import multiprocessing
import operator
import os
import pickle
import random
import shutil
import signal
import tarfile
import tempfile
import threading
import unittest

import hpdsl
import stage_dir
from common import command, flip, forked
from hpdsl import _file

SMALL, BUFFER = _file.SMALL, _file.BUFFER
SIZES = (0, 1, 511, 4096, BUFFER - 1, BUFFER, BUFFER + 1, 2 * BUFFER,
         SMALL - 1, SMALL, SMALL + 1, SMALL + BUFFER, 3 * SMALL + 77)
HEX = bytes(b"0123456789abcdef"[n & 15] if n else 10 for n in range(256))


def content(size):
    """Lines of hex digits: they compress, but not to nothing."""
    return random.Random(size).randbytes(size).translate(HEX)


class Sizes(unittest.TestCase):
    """self.content: {path: bytes}, with sizes around all borders; self.kinds:
    datasets of these; self.at is a folder of its own for each test."""

    @classmethod
    def setUpClass(cls):
        if not hasattr(Sizes, "top"):
            Sizes._make()

    @classmethod
    def _make(cls):
        cls.top = tempfile.TemporaryDirectory(dir=os.getcwd())
        unittest.addModuleCleanup(cls.top.cleanup)
        tree, names = cls.top.name + "/tree", ("plain", "zst", "adopted")
        cls.kinds = {name: f"{cls.top.name}/{name}" for name in names}
        cls.content = {f"{size}.txt": content(size) for size in SIZES}
        os.mkdir(tree)
        for name, data in cls.content.items():
            with open(f"{tree}/{name}", "wb") as f:
                f.write(data)
        command("hpdsl-pack", "-q", "--chunks=3", tree, cls.kinds["plain"])
        command("hpdsl-pack", "-q", "--chunks=3", "--zstd", tree,
                cls.kinds["zst"])
        os.mkdir(cls.kinds["adopted"])
        for k in range(2):
            with tarfile.open(f"{cls.kinds['adopted']}/{k}.tar", "w") as tar:
                for name in sorted(cls.content)[k::2]:
                    tar.add(f"{tree}/{name}", name)
        command("hpdsl-index", "-q", cls.kinds["adopted"])
        for name, of, words in (("staged", "plain", {"here": "0-1"}),
                                ("expanded", "zst", {"expanded": ""})):
            cls.kinds[name] = f"{cls.top.name}/{name}"
            stage_dir.make(cls.kinds[of], cls.kinds[name], words)

    def setUp(self):
        self.at = tempfile.mkdtemp(dir=self.top.name)

    def damaged(self, path, at, kind="plain"):
        """A copy of the dataset in which a byte of this member is another."""
        to = tempfile.mkdtemp(dir=self.at) + "/d"
        shutil.copytree(self.kinds[kind], to)
        member = hpdsl.Dataset(to).find(path)
        chunk = f"{to}/chunk-{member.chunk:06}.tar"
        if os.path.exists(chunk):
            flip(chunk, member.offset + at, 16)
        else:
            with open(chunk + ".zst", "rb") as f:
                data = f.read()
            flip(chunk + ".zst", len(data) // 2, 16)
        return to


class Model(Sizes):
    def test_the_kinds_are_what_they_should_be(self):
        files = {kind: os.listdir(path) for kind, path in self.kinds.items()}
        for kind, name in (("zst", "chunk-000000.tar.zst"),
                           ("expanded", "chunk-000000.tar"),
                           ("staged", "stage.hpdsl"), ("adopted", "1.tar")):
            self.assertIn(name, files[kind])
        self.assertNotIn("chunk-000002.tar", files["staged"])

    def test_whole(self):
        for path in self.kinds.values():
            ds = hpdsl.Dataset(path)
            for name, want in self.content.items():
                with ds.open(name) as f:
                    self.assertEqual(f.read(), want)
                    self.assertEqual(f.read(), b"")
                with ds.open(name, buffering=0) as f:
                    self.assertEqual(f.read(), want)
                    self.assertEqual(f.read(), b"")

    def test_in_sequence(self):
        for path in self.kinds.values():
            ds = hpdsl.Dataset(path)
            for name, want in self.content.items():
                for step in 4999, 1 << 20:
                    f = ds.open(name)
                    got = b"".join(iter(lambda: f.read(step), b""))
                    self.assertEqual(got, want)
                self.assertEqual(list(ds.open(name)), list(io.BytesIO(want)))

    def _operate(self, rng, f, model):
        size = len(model.getvalue())
        n = rng.choice((0, 1, 7, 511, 5000, BUFFER - 1, BUFFER, BUFFER + 9,
                        size, size + 1, rng.randrange(size + 2)))
        what = rng.randrange(13)
        if what == 0:
            self.assertEqual(f.read(n), model.read(n))
        elif what == 1:
            a, b = bytearray(n), bytearray(n)
            self.assertEqual(f.readinto(a), model.readinto(b))
            self.assertEqual(a, b)
        elif what == 2 and n < 600:
            self.assertEqual(f.readline(), model.readline())
        elif what == 3:
            self.assertEqual(f.readline(n), model.readline(n))
        elif what == 4:
            # as few as there are at hand, but some
            got = f.read1(n) if n else b""
            self.assertEqual(got, model.read(len(got)))
            self.assertTrue(got or not n or model.tell() >= size)
        elif what == 5:
            got = f.peek(n)
            at = model.tell()
            self.assertEqual(got, model.getvalue()[at:at + len(got)])
            self.assertTrue(got or at >= size)
        elif what == 6:
            for line in f.readlines(min(n, 500) + 1):
                self.assertEqual(line, model.readline())
        elif what == 7 and size < 10000:
            self.assertEqual(f.read(), model.read())
        elif what == 8:
            self.assertEqual(next(f, None), next(model, None))
        elif what in (9, 10):
            at = rng.randrange(size + 10)
            self.assertEqual(f.seek(at), model.seek(at))
        elif what == 11:
            at = rng.randrange(-size, 10) if size else 3
            self.assertEqual(f.seek(at, 2), model.seek(at, 2))
        else:
            by = rng.randrange(-5000, 5000)
            if model.tell() + by >= 0:
                self.assertEqual(f.seek(by, 1), model.seek(by, 1))
        self.assertEqual(f.tell(), model.tell())

    def test_any_operations_with_a_buffer(self):
        rng = random.Random(7)
        for kind, path in self.kinds.items():
            ds = hpdsl.Dataset(path)
            for name, want in self.content.items():
                for buffering in -1, rng.choice((7, 4096, SMALL)):
                    with ds.open(name, buffering=buffering) as f, \
                            self.subTest(kind=kind, name=name, b=buffering):
                        model = io.BytesIO(want)
                        for _ in range(60):
                            self._operate(rng, f, model)

    def test_any_operations_without(self):
        rng = random.Random(8)
        for path in self.kinds.values():
            ds = hpdsl.Dataset(path)
            for name, want in self.content.items():
                f, model = ds.open(name, buffering=0), io.BytesIO(want)
                for _ in range(100):
                    n = rng.choice((0, 1, 7, 5000, SMALL, len(want)))
                    what = rng.randrange(5)
                    if what == 0:
                        self.assertEqual(f.read(n), model.read(n))
                    elif what == 1:
                        a, b = bytearray(n), bytearray(n)
                        self.assertEqual(f.readinto(a), model.readinto(b))
                        self.assertEqual(a, b)
                    elif what == 2 and rng.randrange(4) == 0:
                        self.assertEqual(f.readall(), model.read())
                    else:
                        at = rng.randrange(len(want) + 10)
                        self.assertEqual(f.seek(at), model.seek(at))
                    self.assertEqual(f.tell(), model.tell())

    def test_reads_into_whatever_takes_bytes(self):
        import array
        import ctypes
        want = self.content["4096.txt"]
        for buffering in 0, -1:
            f = hpdsl.Dataset(self.kinds["plain"]).open("4096.txt",
                                                        buffering=buffering)
            for into in (array.array("I", bytes(40)), bytearray(40),
                         (ctypes.c_char * 40)(),
                         memoryview(bytearray(80))[40:]):
                f.seek(17)
                self.assertEqual(f.readinto(into), 40)
                self.assertEqual(bytes(into), want[17:57])
            with self.assertRaises((TypeError, BufferError)):
                f.readinto(bytes(40))
            f.seek(17)
            for shape in (0,), (2, 0), (0, 2), (3, 0, 1):
                into = (ctypes.c_char * 0)()
                for n in reversed(shape):
                    into = (type(into) * n)()
                self.assertEqual(memoryview(into).nbytes, 0)
                self.assertEqual((f.readinto(into), f.tell()), (0, 17))

    def test_text(self):
        ds = hpdsl.Dataset(self.kinds["zst"])
        for name, want in self.content.items():
            with ds.open(name, "r", encoding="ascii") as f:
                self.assertIsInstance(f, io.TextIOWrapper)
                self.assertEqual(f.name, name)
                self.assertEqual(f.read(), want.decode())


class Rules(Sizes):
    def setUp(self):
        super().setUp()
        self.ds = hpdsl.Dataset(self.kinds["plain"])

    def test_what_it_says_of_itself(self):
        for buffering in -1, 0:
            f = self.ds.open("4096.txt", buffering=buffering)
            self.assertIsInstance(f, io.RawIOBase if buffering == 0 else
                                  io.BufferedIOBase)
            self.assertEqual((f.name, f.mode, f.size),
                             ("4096.txt", "rb", 4096))
            self.assertEqual((f.readable(), f.seekable(), f.writable(),
                              f.isatty(), f.closed),
                             (True, True, False, False, False))
            self.assertIn("4096.txt", repr(f))
            for call in (f.fileno, lambda: f.truncate(3)):
                with self.assertRaises(io.UnsupportedOperation):
                    call()
            for call in (lambda: f.write(b"x"),
                         lambda: f.writelines([b"x"])):
                with self.assertRaises(io.UnsupportedOperation):
                    call()

    def test_what_it_is_opened_with(self):
        for mode in "w", "wb", "a", "r+b", "", "x", "rbb", "U":
            with self.assertRaisesRegex(hpdsl.UsageError, "read only"):
                self.ds.open("1.txt", mode)
        for wrong in ({"buffering": -2}, {"encoding": "ascii"},
                      {"newline": ""}, {"mode": "r", "buffering": 0}):
            with self.assertRaises(ValueError):
                self.ds.open("1.txt", **wrong)
        with self.assertRaises(TypeError):
            self.ds.open("1.txt", buffering="8")
        with self.assertRaisesRegex(FileNotFoundError, "no member 'none'"):
            self.ds.open("none")
        for path in b"511.txt", "511.txt", self.ds.find("511.txt"):
            self.assertEqual(self.ds.open(path, "rb").read(),
                             self.content["511.txt"])

    def test_a_member_of_another_dataset(self):
        os.mkdir(self.at + "/t")
        with open(self.at + "/t/other", "wb") as f:
            f.write(b"x")
        command("hpdsl-pack", "-q", self.at + "/t", self.at + "/p")
        other = hpdsl.Dataset(self.at + "/p").find("other")
        with self.assertRaisesRegex(hpdsl.UsageError, "another dataset's"):
            self.ds.open(other)
        with self.assertRaises(hpdsl.RangeError):
            self.ds.open(other._replace(number=1 << 40))

    def test_positions(self):
        for buffering in -1, 0:
            f = self.ds.open("4096.txt", buffering=buffering)
            for at, whence in (-1, 0), (-4097, 2), (-1, 1):
                with self.assertRaises(OSError) as raised:
                    f.seek(at, whence)
                self.assertEqual(raised.exception.errno, 22)
            with self.assertRaises((OSError, ValueError)):
                f.seek(1 << 63)
            with self.assertRaises(ValueError):
                f.seek(0, 9)
            with self.assertRaises(TypeError):
                f.seek(1.5)
            self.assertEqual(f.tell(), 0)
            self.assertEqual(f.seek(1 << 40), 1 << 40)
            self.assertEqual(f.read(10), b"")
            self.assertEqual(f.readinto(bytearray(5)), 0)

    def test_closed(self):
        for buffering in -1, 0:
            f = self.ds.open("4096.txt", buffering=buffering)
            f.read(5)
            f.close()
            f.close()
            for call in (f.read, f.tell, lambda: f.seek(0), f.readable,
                         lambda: f.readinto(bytearray(3)), f.readline,
                         f.fileno, f.isatty, lambda: iter(f).__next__()):
                with self.assertRaises(ValueError):
                    call()
            with self.assertRaisesRegex(ValueError, "" if buffering else
                                        "closed file"):
                f.write(b"x")
            with self.assertRaises(ValueError):
                with f:
                    pass
            with self.assertRaises(ValueError):
                pickle.dumps(f)

    def test_the_dataset_is_closed_meanwhile(self):
        with hpdsl.Dataset(self.kinds["staged"]) as ds:
            f = {name: ds.open(name) for name in self.content}
            g = ds.open("511.txt")
            g.read(11)
        with self.assertRaises(ValueError):
            ds.open("1.txt")
        for name, want in self.content.items():
            self.assertEqual(f[name].read(), want)

        self.assertEqual(forked(g.read), self.content["511.txt"][11:])

    def test_pickled_with_a_closed_dataset(self):
        for buffering in -1, 0:
            for there in False, True:
                with hpdsl.Dataset(self.kinds["plain"]) as ds:
                    f = ds.open("511.txt", buffering=buffering)
                    f.seek(11)
                    if there:
                        pickle.dumps(ds)
                for dump in (pickle.dumps, lambda f: forked(
                        lambda: pickle.dumps(f))):
                    again = pickle.loads(dump(f))
                    self.assertEqual(again.read(),
                                     self.content["511.txt"][11:])
                self.assertEqual(f.tell(), 11)


class Damage(Sizes):
    def _readers(self):
        def of(read):
            def take(f):
                return sum(map(len, iter(lambda: read(f), b"")))
            return take
        return {
            "read": lambda f: len(f.read()) + len(f.read()),
            "1000": of(lambda f: f.read(1000)),
            "buffer": of(lambda f: f.read(BUFFER)),
            "MiB": of(lambda f: f.read(1 << 20)),
            "two": of(lambda f: f.read(f.size // 2 + 1)),
            "1 less": of(lambda f: f.read(f.size - 1 or 1)),
            "lines": lambda f: sum(map(len, f)),
            "copy": lambda f: shutil.copyfileobj(f, io.BytesIO()),
            "read1": of(lambda f: f.read1(70000)),
            "raw": of(lambda f: f.raw.read(50000)),
            "raw all": lambda f: f.raw.read(),
            "seek": lambda f: (f.read(50), f.seek(0), len(f.read()))[-1],
            "back": lambda f: (f.read(f.size // 2), f.seek(f.size // 3),
                               shutil.copyfileobj(f, io.BytesIO())),
            "twice": lambda f: (self._look(f), f.seek(0),
                                shutil.copyfileobj(f, io.BytesIO())),
        }

    @staticmethod
    def _look(f):
        for at in 0, f.size // 2, f.size - 1:
            try:
                f.seek(at)
                f.read(100)
            except hpdsl.CorruptError:
                pass

    def test_a_flipped_byte_is_told_before_the_end(self):
        for size in SIZES[1:]:
            name = f"{size}.txt"
            for at in {0, size // 2, size - 1}:
                ds = hpdsl.Dataset(self.damaged(name, at))
                for how, read in self._readers().items():
                    f = ds.open(name)
                    with self.assertRaisesRegex(
                            hpdsl.CorruptError, f"{name}': checksum differs",
                            msg=(name, at, how)):
                        read(f)
                    # Nor is it told of an end afterwards.
                    with self.assertRaises(hpdsl.CorruptError):
                        read(f)
                shutil.rmtree(ds.path)

    def test_what_was_handed_over_is_not_all(self):
        for size in SIZES[1:]:
            name, got = f"{size}.txt", []
            ds = hpdsl.Dataset(self.damaged(name, 0))
            f = ds.open(name)
            with self.assertRaises(hpdsl.CorruptError):
                while True:
                    got.append(len(f.read(999)))
            self.assertLess(sum(got), size)
            shutil.rmtree(ds.path)

    def test_a_small_one_anywhere(self):
        for size in SIZES[1:]:
            name = f"{size}.txt"
            ds = hpdsl.Dataset(self.damaged(name, size - 1))
            f = ds.open(name)
            if size <= SMALL:
                with self.assertRaises(hpdsl.CorruptError):
                    f.read(1)
            else:
                self.assertEqual(f.read(5), self.content[name][:5])

    def test_once_bad_only_from_the_start(self):
        name = f"{3 * SMALL + 77}.txt"
        to = self.damaged(name, 5)
        f = hpdsl.Dataset(to).open(name, buffering=0)
        size = f.size
        self.assertEqual(f.seek(100), 100)
        f.read(9)           # is not known to be bad
        f.seek(0)
        with self.assertRaises(hpdsl.CorruptError):
            while f.read(1 << 20):
                pass
        for at in 1, size // 2, size - 1, size, size + 5:
            f.seek(at)
            for n in 10, -1:
                with self.assertRaises(hpdsl.CorruptError):
                    f.read(n)
        member = hpdsl.Dataset(to).find(name)
        flip(f"{to}/chunk-{member.chunk:06}.tar", member.offset + 5, 16)
        f.seek(0)
        self.assertEqual(b"".join(iter(lambda: f.read(1 << 20), b"")),
                         self.content[name])
        f.seek(size - 3)
        self.assertEqual(f.read(), self.content[name][-3:])

    def test_compressed(self):
        for name in {f"{size}.txt" for size in (SIZES[-1], SIZES[-3])}:
            ds = hpdsl.Dataset(self.damaged(name, 0, "zst"))
            wrong = []
            for each, want in self.content.items():
                for read in self._readers().values() if want else ():
                    got = []
                    try:
                        f = ds.open(each)
                        got.extend(iter(lambda: f.read(70000), b""))
                        self.assertEqual(b"".join(got), want)
                        read(ds.open(each))
                    except hpdsl.CorruptError:
                        wrong.append(each)
                        self.assertLess(sum(map(len, got)), len(want))
            self.assertTrue(wrong)
            shutil.rmtree(ds.path)

    def test_a_stage_directory_goes_to_its_origin(self):
        for size in SIZES[1], SIZES[-4], SIZES[-3], SIZES[-1]:
            name = f"{size}.txt"
            for how, read in self._readers().items():
                stage = f"{self.at}/{size} {how}"
                stage_dir.make(self.kinds["plain"], stage, {})
                ds = hpdsl.Dataset(stage)
                member = ds.find(name)
                flip(f"{stage}/chunk-{member.chunk:06}.tar",
                     member.offset + size // 2)
                f = ds.open(name)
                try:
                    read(f)
                except hpdsl.CorruptError:
                    # It was handed over before it could be known.
                    self.assertGreater(size, SMALL)
                    self.assertNotEqual(how, "read")
                f.seek(0)
                self.assertEqual(b"".join(iter(lambda: f.read(9999), b"")),
                                 self.content[name])
                self.assertGreater(ds.sources().origin_bytes, 0)
                shutil.rmtree(stage)

    def test_neither_here_nor_at_the_origin(self):
        name = f"{3 * SMALL + 77}.txt"
        origin, stage = self.damaged(name, 9), self.at + "/s"
        stage_dir.make(origin, stage, {})
        f = hpdsl.Dataset(stage).open(name)
        for _ in range(3):
            with self.assertRaises(hpdsl.CorruptError):
                shutil.copyfileobj(f, io.BytesIO())
            f.seek(0)


class Life(Sizes):
    def setUp(self):
        super().setUp()
        self.ds = hpdsl.Dataset(self.kinds["plain"])

    def test_after_a_fork_it_goes_on(self):
        for size in 4096, 3 * SMALL + 77:
            name = f"{size}.txt"
            for buffering in -1, 0, 4096:
                f = self.ds.open(name, buffering=buffering)
                half = f.read(size // 2)
                want = self.content[name]
                self.assertTrue(forked(lambda: (
                    f.tell() == size // 2 and f.read() == want[size // 2:] and
                    f.seek(0) == 0 and f.read() == want)))
                self.assertEqual(half + f.read(), want)

    def test_a_lock_of_a_thread_that_is_not_in_the_child(self):
        class Late:
            """A thread has got it, but not come to say so."""

            def __init__(self):
                self._lock = threading.Lock()
                self.acquire = self._lock.acquire
                self.release = self._lock.release

            def locked(self):
                return False

            def __enter__(self):
                self.acquire()

            def __exit__(self, *_):
                self.release()

        name = f"{3 * SMALL + 77}.txt"

        def read(f):
            signal.alarm(20)
            return f.seek(5), f.read(9)
        for lock in Late(), threading.Lock():
            f = self.ds.open(name, buffering=0)
            f.read(3)
            f._lock = lock
            lock.acquire(False)
            self.assertEqual(forked(lambda: read(f)),
                             (5, self.content[name][5:14]))

    def test_a_child_has_what_passed_before(self):
        name = f"{3 * SMALL + 77}.txt"
        f = hpdsl.Dataset(self.damaged(name, 5)).open(name)
        f.read(2 << 20)
        with self.assertRaises(hpdsl.CorruptError):
            forked(f.read)
        with self.assertRaises(hpdsl.CorruptError):
            f.read()

    def test_after_a_fork_it_has_to_be_the_same_pack(self):
        to = self.at + "/p"
        shutil.copytree(self.kinds["plain"], to)
        ds = hpdsl.Dataset(to)
        f = ds.open("511.txt")
        ds.close()
        shutil.rmtree(to)
        shutil.copytree(self.kinds["zst"], to)
        with self.assertRaisesRegex(hpdsl.DiffersError, "before the fork"):
            forked(f.read)

    def test_pickled(self):
        for size in 0, 4096, 3 * SMALL + 77:
            name = f"{size}.txt"
            for buffering in -1, 0, 5000:
                f = self.ds.open(name, buffering=buffering)
                f.read(size // 2)
                again = pickle.loads(pickle.dumps(f))
                self.assertIs(type(again), type(f))
                self.assertEqual((again.name, again.tell()),
                                 (name, size // 2))
                self.assertEqual(again.read(), f.read())

    def test_spawned(self):
        f = self.ds.open("4096.txt")
        f.seek(1000)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            got = pool.apply(operator.methodcaller("read", 50), (f,))
        self.assertEqual(got, self.content["4096.txt"][1000:1050])
        self.assertEqual(f.tell(), 1000)

    def _together(self, work):
        failed, threads = [], []

        def run(k):
            try:
                work(k)
            except Exception as e:
                failed.append(e)
        threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return failed

    def test_threads_share_one(self):
        name = f"{3 * SMALL + 77}.txt"
        want = self.content[name]
        for buffering in -1, 0:
            f, got = self.ds.open(name, buffering=buffering), []
            n = 10007
            self.assertEqual(self._together(lambda _: got.extend(
                iter(lambda: f.read(n), b""))), [])
            pieces = [want[at:at + n] for at in range(0, len(want), n)]
            self.assertEqual(sorted(got), sorted(pieces))

    def test_threads_do_not_hide_damage(self):
        name = f"{3 * SMALL + 77}.txt"
        f = hpdsl.Dataset(self.damaged(name, 5)).open(name, buffering=0)
        failed = self._together(lambda _: list(iter(lambda: f.read(9999),
                                                    b"")))
        self.assertEqual([type(e) for e in failed], [hpdsl.CorruptError] * 6)

    def test_threads_with_one_each(self):
        def read(k):
            rng = random.Random(k)
            for _ in range(60):
                name, want = rng.choice(list(self.content.items()))
                at = rng.randrange(len(want) + 1)
                with self.ds.open(name) as f:
                    f.seek(at)
                    if f.read(3000) != want[at:at + 3000]:
                        raise ValueError(name, at)
        self.assertEqual(self._together(read), [])

    def test_closed_while_others_read(self):
        for _ in range(20):
            f = self.ds.open(f"{SMALL + 1}.txt", buffering=0)

            def work(k):
                if k == 5:
                    f.close()
                for _ in range(50):
                    f.seek(0)
                    f.read(100)
            for e in self._together(work):
                self.assertIsInstance(e, ValueError)

    def test_nothing_is_left_of_many(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        def some(n):
            for k in range(n):
                f = self.ds.open(("4096.txt", f"{SMALL + 1}.txt")[k % 2])
                f.read(10)
                if k % 3 == 0:
                    f.close()
                elif k % 3 == 1:
                    f.loop = f
        some(500)
        gc.collect()
        before, fds = resident(), len(os.listdir("/proc/self/fd"))
        some(10000)
        gc.collect()
        self.assertEqual(len(os.listdir("/proc/self/fd")), fds)
        self.assertLess(resident() - before, 8 << 20)


class Samples(Sizes):
    def test_like_bytes_io(self):
        ds = hpdsl.Dataset(self.kinds["plain"])
        for number, sample in enumerate(ds):
            f, path = sample.open("txt"), f"{sample.key}.txt"
            self.assertIsInstance(f, io.BytesIO)
            self.assertEqual((f.name, f.mode), (path, "rb"))
            self.assertEqual(f.read(), self.content[path])
            self.assertEqual(ds.members(number)[0].path, f.name)
            for call in (lambda: f.write(b"x"), lambda: f.truncate(0),
                         lambda: f.writelines([b"x"])):
                with self.assertRaises(io.UnsupportedOperation):
                    call()
            self.assertFalse(f.writable())
            f.seek(3)
            again = pickle.loads(pickle.dumps(f))
            self.assertEqual((again.tell(), again.name, again.getvalue()),
                             (3, path, sample["txt"]))
            f.close()
            for call in f.read, f.writable, lambda: pickle.dumps(f):
                with self.assertRaises(ValueError):
                    call()
            with self.assertRaises(KeyError):
                sample.open("none")

    def test_without_suffix(self):
        os.mkdir(self.at + "/t")
        with open(self.at + "/t/plain", "wb") as f:
            f.write(b"x")
        command("hpdsl-pack", "-q", self.at + "/t", self.at + "/p")
        f = hpdsl.Dataset(self.at + "/p")[0].open("")
        self.assertEqual((f.name, f.read()), ("plain", b"x"))

    def test_nothing_is_copied(self):
        import tracemalloc
        sample = hpdsl.Sample(0, "a", -1, None, [("b", bytes(50 << 20))])
        tracemalloc.start()
        f = sample.open("b")
        f.seek(1 << 20)
        f.read(100)
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 20)
        tracemalloc.stop()


class Standard(unittest.TestCase):
    """What reads files, of Python's own modules: from a file of a member it
    makes what it makes of the file."""

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(cls.top.cleanup)
        cls.tree = cls.top.name + "/tree"
        os.mkdir(cls.tree)

    def packed(self, name):
        """A file of the tree as a member, opened in several ways."""
        self.addCleanup(os.remove, f"{self.tree}/{name}")
        for k, options in enumerate(((), ("--zstd",))):
            to = f"{self.top.name}/{name}.{k}"
            command("hpdsl-pack", "-q", "--group=none", *options, self.tree,
                    to)
            ds = hpdsl.Dataset(to)
            suffix = name.partition(".")[2]
            yield ds.open(name)
            yield ds.open(name, buffering=0)
            yield ds.open(name, buffering=100)
            yield ds[ds.find(name).sample].open(suffix)

    def made(self, name, data=b""):
        with open(f"{self.tree}/{name}", "wb") as f:
            f.write(data)
        return f"{self.tree}/{name}"

    def test_zipfile(self):
        import zipfile
        inner = {f"{k}.txt": content(k * 30000) for k in range(14)}
        with zipfile.ZipFile(self.made("a.zip"), "w",
                             zipfile.ZIP_DEFLATED) as z:
            for name, data in inner.items():
                z.writestr(name, data)
        for f in self.packed("a.zip"):
            with zipfile.ZipFile(f) as z:
                self.assertIsNone(z.testzip())
                self.assertEqual({n: z.read(n) for n in z.namelist()}, inner)

    def test_tarfile(self):
        with tarfile.open(self.made("a.tar"), "w") as tar:
            for k in range(20):
                info = tarfile.TarInfo(f"{k}.txt")
                info.size = k * 9999
                tar.addfile(info, io.BytesIO(content(info.size)))
        for f in self.packed("a.tar"):
            with tarfile.open(fileobj=f) as tar:
                for member in tar:
                    self.assertEqual(tar.extractfile(member).read(),
                                     content(member.size))

    def test_gzip(self):
        import gzip
        self.made("a.gz", gzip.compress(content(2500000)))
        for f in self.packed("a.gz"):
            self.assertEqual(gzip.open(f).read(), content(2500000))

    def test_wave(self):
        import wave
        with wave.open(self.made("a.wav"), "wb") as w:
            w.setparams((2, 2, 48000, 0, "NONE", ""))
            w.writeframes(content(1600000))
        for f in self.packed("a.wav"):
            with wave.open(f) as w:
                w.setpos(1000)
                self.assertEqual(w.readframes(5000),
                                 content(1600000)[4000:24000])

    def test_pickle_and_json(self):
        import json
        thing = {"a": list(range(50000)), "b": "x" * 100000}
        self.made("a.pkl", pickle.dumps(thing))
        for f in self.packed("a.pkl"):
            self.assertEqual(pickle.load(f), thing)
        self.made("a.json", json.dumps(thing).encode())
        for f in self.packed("a.json"):
            self.assertEqual(json.load(f), thing)

    def test_csv(self):
        import csv
        rows = [[str(k), f"row {k}\nof two lines"] for k in range(9000)]
        with open(self.made("a.csv"), "w", encoding="utf-8",
                  newline="") as out:
            csv.writer(out).writerows(rows)
        for f in self.packed("a.csv"):
            with io.TextIOWrapper(f, "utf-8", newline="") as text:
                self.assertEqual(list(csv.reader(text)), rows)


class Others(Standard):
    """The same of other packages, if they are here."""

    test_zipfile = test_tarfile = test_gzip = test_wave = None
    test_pickle_and_json = test_csv = None

    def test_PIL(self):
        from PIL import Image
        image = Image.frombytes("RGB", (400, 300), content(360000))
        for name in "a.png", "a.jpg", "a.tiff":
            image.save(self.made(name))
            want = Image.open(f"{self.tree}/{name}").convert("RGB")
            for f in self.packed(name):
                with Image.open(f) as got:
                    self.assertEqual(got.convert("RGB").tobytes(),
                                     want.tobytes())

    def test_numpy(self):
        import numpy
        a = numpy.frombuffer(content(2400000), "<u4").reshape(1000, -1)
        numpy.save(self.made("a.npy"), a)
        for f in self.packed("a.npy"):
            self.assertTrue((numpy.load(f) == a).all())
        numpy.savez(self.made("a.npz"), a=a, b=a[5])
        for f in self.packed("a.npz"):
            with numpy.load(f) as z:
                self.assertTrue((z["b"] == a[5]).all())
                self.assertTrue((z["a"] == a).all())

    def test_h5py(self):
        import h5py
        import numpy
        a = numpy.frombuffer(content(2400000), "<u4").reshape(1000, -1)
        with h5py.File(self.made("a.h5"), "w") as h:
            h.create_dataset("g/a", data=a, chunks=(10, 600),
                             compression="gzip")
            h.create_dataset("b", data=a)
        for f in self.packed("a.h5"):
            with h5py.File(f, "r") as h:
                self.assertTrue((h["g/a"][500:510] == a[500:510]).all())
                self.assertTrue((h["b"][()] == a).all())

    def test_soundfile(self):
        import numpy
        import soundfile
        a = numpy.frombuffer(content(1200000), "<i2").reshape(-1, 2)
        soundfile.write(self.made("a.flac"), a, 48000)
        for f in self.packed("a.flac"):
            with soundfile.SoundFile(f) as sound:
                sound.seek(1000)
                got = sound.read(5000, dtype="int16")
                self.assertTrue((got == a[1000:6000]).all())

    def test_torch(self):
        import torch
        a = torch.arange(400000)
        torch.save({"a": a}, self.made("a.pt"))
        for f in self.packed("a.pt"):
            self.assertTrue(torch.equal(torch.load(f)["a"], a))


if __name__ == "__main__":
    unittest.main()
