# SPDX-License-Identifier: Apache-2.0
"""Turns that are told on a board, and memory that is lent to be read, without
PyTorch and without the library."""

import mmap
import multiprocessing
import os
import resource
import signal
import struct
import threading
import unittest
from unittest import mock

from hpdsl import _files, _hooked, _lend
from common import forked, in_shm, until_true
from hpdsl._boxes import Boxes, taken
from hpdsl._lend import Board, File, Lent, Stopped, read_turn

BASE = 1 << 40


def never():
    return False


def telling(step, contents, wide=1):
    """Of samples at these (place, size)."""
    n = len(contents) // wide
    return b"".join([
        _lend._HEAD.pack(1, 7, step, n, wide, BASE),
        *(struct.pack("<Q", at + BASE if size else 0) for at, size in contents),
        *(struct.pack("<Q", size) for _, size in contents),
        *(struct.pack("<Q", 100 + k) for k in range(n)),
        *(struct.pack("<i", k - 1) for k in range(n)),
        bytes([1] * n), bytes([0] * n)])


def memory(content):
    fd = os.memfd_create("test")
    os.write(fd, content)
    return Lent(File(fd), len(content))


def work(board, lent, first, turns, into):
    """A worker: what it saw of each turn."""
    for number in range(first, turns, 2):
        turn = read_turn(board.wait(number, never))
        into.put((number, turn.step, [[bytes(v) for v in of]
                                      for of in lent.members(turn)]))
        board.done(number)


class Turns(unittest.TestCase):
    def test_what_is_told_arrives(self):
        lent = memory(b"abcdefgh")
        got = read_turn(telling(3, [(0, 2), (0, 0), (4, 3), (7, 1)], 2))
        self.assertEqual((got.epoch, got.step), (7, 3))
        self.assertEqual([*map(list, (got.numbers, got.labels, got.mask,
                                      got.bad))],
                         [[100, 101], [-1, 0], [True] * 2, [False] * 2])
        self.assertEqual(lent.members(got), [(b"ab", b""), (b"efg", b"h")])
        self.assertIsNone(read_turn(_lend.error_of(b"x")))

    def test_a_turn_is_waited_for(self):
        board, told = Board(2), telling(0, [(0, 1)])
        threading.Timer(0.05, board.tell, (0, told)).start()
        self.assertEqual(board.wait(0, never), told)
        self.assertFalse(board.is_done(0))
        board.done(0)
        self.assertTrue(board.is_done(0))
        # another one in its place, a longer one
        other = telling(2, [(0, 1)] * 500)
        board.tell(2, other)
        self.assertEqual(board.wait(2, never), other)
        self.assertFalse(board.is_done(2))

    def test_who_waits_in_vain_learns_it(self):
        board = Board(2)
        with self.assertRaises(Stopped):
            board.wait(0, lambda: True)
        threading.Timer(0.05, board.stop).start()
        with self.assertRaises(Stopped):
            board.wait(0, never)

    def test_a_box_is_filled_and_emptied(self):
        boxes, many = Boxes(2), [b"%d" % k * 5 for k in range(2000)]
        for turn, contents in ((0, [b"abc", b"", b"d"]), (1, many), (2, many)):
            self.assertTrue(boxes.put(turn, contents))
            # The one of the turn that is two later.
            self.assertFalse(boxes.put(turn + 2, [b"x"]))
            self.assertEqual(taken(boxes.number, turn, [*map(len, contents)]),
                             contents)
        boxes.close()

    def test_what_has_no_room_goes_another_way(self):
        boxes = Boxes(1)

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20,) * 2)
            return boxes.put(0, [b"x" * 100])

        self.assertFalse(forked(limited))
        self.assertFalse(boxes.put(0, [b"x" * (1 << 20)] * 4097))
        self.assertTrue(boxes.put(0, [b"x"]))

    def test_only_to_be_read(self):
        lent = memory(b"abc")
        view = lent.members(read_turn(telling(0, [(0, 3)])))[0][0]
        self.assertTrue(view.readonly)

    def test_what_is_kept_is_noticed(self):
        lent = memory(b"abcdef")
        turn = read_turn(telling(0, [(0, 3), (3, 3)]))
        before = lent.holders()
        views = lent.members(turn)
        self.assertTrue(lent.held(before))
        part = views[1][0][1:]
        del views
        self.assertTrue(lent.held(before))
        del part
        self.assertFalse(lent.held(before))
        ring = [lent.members(turn)]
        ring.append(ring)
        del ring
        self.assertFalse(lent.held(before))

    def test_far_larger_than_the_address_space(self):
        """Of a sparse file as much is mapped as was read."""
        far = 100 << 20
        fd = os.memfd_create("test")
        os.ftruncate(fd, 1 << 40)
        os.pwrite(fd, b"near", 5000)
        os.pwrite(fd, b"far", far)
        lent = Lent(File(fd), 1 << 40)

        def look():
            with open("/proc/self/statm") as f:
                here = int(f.read().split()[0]) * mmap.PAGESIZE
            resource.setrlimit(resource.RLIMIT_AS, (here + (1 << 30),) * 2)
            with self.assertRaises(OSError):
                mmap.mmap(fd, 1 << 40)
            return [bytes(lent.members(read_turn(telling(0, at)))[-1][0])
                    for at in ([(5000, 4)], [(0, 1), (far, 3)], [(0, 0)])]

        self.assertEqual(forked(look), [b"near", b"far", b""])
        os.close(fd)

    def test_where_it_is(self):
        lent = memory(b"a" * mmap.PAGESIZE)
        at = _lend._address(lent._mapped())
        for place, has in ((at, True), (at + mmap.PAGESIZE - 1, True),
                           (at - 1, False), (at + mmap.PAGESIZE, False)):
            self.assertEqual(lent.has(place), has)


class Processes(unittest.TestCase):
    def test_what_workers_have_told_is_told_once(self):
        """They are begun anew in each epoch, and know nothing of each other."""
        with mock.patch.dict(os.environ), mock.patch("sys.stderr") as err:
            _files.share_what_is_said()
            there = os.environ["HPDSL_STALL_SAID"]
            told = [forked(lambda: _files.first_to_say("a line"))
                    for _ in range(3)]
            self.assertEqual(told, [True, False, False])
            _files.share_what_is_said()
            self.assertEqual(os.environ["HPDSL_STALL_SAID"], there)
            _hooked._say_once("a line")
            err.write.assert_not_called()
            _hooked._say_once("another")
            err.write.assert_called_once_with("hpdsl-stall: another\n")
            os.close(int(there.rpartition("/")[2]))
        self.assertTrue(_files.first_to_say("a line"))

    def test_workers_however_they_were_started(self):
        content = bytes(range(256))
        for method in "fork", "spawn", "forkserver":
            context = multiprocessing.get_context(method)
            board, lent, into = Board(4), memory(content), context.Queue()
            workers = [context.Process(target=work, daemon=True, args=(
                board, lent, first, 20, into)) for first in (0, 1)]
            for worker in workers:
                worker.start()
            for turn in range(20):
                if turn > 3:
                    until_true(board.is_done, turn - 4)
                board.tell(turn, telling(turn, [(turn, 2), (turn + 9, 1)]))
            got = sorted(into.get(timeout=600) for _ in range(20))
            self.assertEqual(got, [
                (t, t, [[content[t:t + 2]], [content[t + 9:t + 10]]])
                for t in range(20)])
            for worker in workers:
                worker.join(600)
                self.assertEqual(worker.exitcode, 0)

    def test_killed_it_leaves_nothing(self):
        board, lent = Board(4), memory(b"abc")
        context = multiprocessing.get_context("fork")
        into = context.Queue()
        worker = context.Process(target=work, args=(board, lent, 0, 2, into))
        worker.start()
        self.assertEqual(in_shm() + in_shm(worker.pid), [])
        os.kill(worker.pid, signal.SIGKILL)
        worker.join(600)
        self.assertEqual(worker.exitcode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
