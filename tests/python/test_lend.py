# SPDX-License-Identifier: Apache-2.0
"""Memory that is lent: hpdsl.torch's way out of a worker, without PyTorch."""

import errno
import os
import resource
import subprocess
import sys
import unittest
from unittest import mock

from hpdsl import _lend
from hpdsl._lend import Lender, Loan, borrow

# Lends, says so, and waits to be killed.
CHILD = """
import sys
from hpdsl._lend import Lender
lender = Lender()
loan, view = lender.lend([b"abc", b"", b"de"], 5)
print(lender.able(), *loan, flush=True)
sys.stdin.read()
"""


def views(*contents):
    return [memoryview(c) for c in contents]


class Case(unittest.TestCase):
    def setUp(self):
        self.lender = Lender()
        self.assertTrue(self.lender.able())

    def lend(self, *contents):
        return self.lender.lend(views(*contents), sum(map(len, contents)))[0]

    def inodes(self):
        return {memory.inode for memory in self.lender._loans}


class Lending(Case):
    def test_comes_back_with_the_last_view(self):
        loan = self.lend(b"abc", b"", b"de")
        whole = borrow(loan)
        self.assertEqual(whole, b"abcde")
        part = whole[1:3]
        del whole
        other = borrow(self.lend(b"x" * 5))
        self.assertEqual((part, other), (b"bc", b"x" * 5))
        self.assertEqual(len(self.inodes()), 2)
        del part
        again = self.lend(b"yyyy")
        self.assertEqual((again.inode, borrow(again)), (loan.inode, b"yyyy"))
        self.assertEqual(len(self.inodes()), 2)

    def test_is_not_used_again_before_it_has_arrived(self):
        loans = [self.lend(b"%d" % k) for k in range(12)]
        self.assertEqual(len(self.inodes()), 12)
        self.assertEqual([bytes(borrow(loan)) for loan in loans],
                         [b"%d" % k for k in range(12)])

    def test_grows(self):
        """What is too small is dropped, and a little more is not too much."""
        for size in (1000, 100000, 10 << 20, 11 << 20):
            self.assertEqual(borrow(self.lend(b"a" * size)), b"a" * size)
            self.assertEqual(len(self.inodes()), 1)
        self.assertEqual(borrow(self.lend(b"a" * 1000)), b"a" * 1000)
        self.assertGreater(self.lender._loans[0].room, 11 << 20)

    def test_what_is_kept_takes_few_files_of_the_lender(self):
        kept = [borrow(self.lend(b"%d" % k * 5000)) for k in range(40)]
        self.assertLessEqual(len(self.inodes()), _lend._OPEN + 1)
        for k, view in enumerate(kept):
            self.assertEqual(view, b"%d" % k * 5000)
        del kept, view
        self.assertEqual(borrow(self.lend(b"abc")), b"abc")

    def test_what_is_kept_takes_few_files_of_the_borrower(self):
        """None from Python 3.13 on, and one for each before."""
        before = len(os.listdir("/proc/self/fd"))
        kept = [borrow(self.lend(b"%d" % k)) for k in range(4)]
        mine = 1 if sys.version_info >= (3, 13) else 2
        self.assertEqual(len(os.listdir("/proc/self/fd")) - before,
                         len(self.inodes()) * mine +
                         len(kept) * (mine - 1))

    def test_is_borrowed_once(self):
        """Twice would be two that give it back, and the first does so while the
        second still reads."""
        loan = self.lend(b"abc")

        def refused():
            with self.assertRaisesRegex(RuntimeError, f"{loan.pid}.*before"):
                borrow(loan)

        view = borrow(loan)
        refused()
        self.assertEqual(view, b"abc")
        del view
        refused()
        other = self.lend(b"def")
        self.assertEqual(other.inode, loan.inode)
        refused()
        self.assertEqual(borrow(other), b"def")

    def test_stays_while_the_lender_looks_at_it(self):
        loan, mine = self.lender.lend(views(b"abc"), 3)
        self.assertEqual(borrow(loan), b"abc")
        kept = [self.lender.lend(views(b"%d" % k), 1) for k in range(12)]
        self.assertEqual(mine, b"abc")
        self.assertEqual([bytes(view) for _, view in kept],
                         [b"%d" % k for k in range(12)])
        self.assertEqual(len(self.inodes()), 13)
        del mine
        self.assertEqual(self.lend(b"def").inode, loan.inode)

    def test_borrowing_that_fails_gives_it_back(self):
        for error in OSError(errno.ENOMEM, "ENOMEM"), KeyboardInterrupt():
            with mock.patch.object(_lend.mmap, "mmap", side_effect=error), \
                    self.assertRaises(type(error)):
                borrow(self.lend(b"abc"))
        self.assertEqual(borrow(self.lend(b"def")), b"def")
        self.assertEqual(len(self.inodes()), 1)

    def test_another_process(self):
        """It stays after the lender's end, unless it has not been opened."""
        with subprocess.Popen([sys.executable, "-c", CHILD], text=True,
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            able, *numbers = child.stdout.readline().split()
            self.assertEqual(able, "True")
            loan = Loan(*map(int, numbers))
            view = borrow(loan)
            other = loan._replace(inode=loan.inode + 1)
            with self.assertRaisesRegex(ConnectionError, "is not the one"):
                borrow(other)
            child.kill()
        self.assertEqual(view, b"abcde")
        with self.assertRaisesRegex(ConnectionError, f"{loan.pid}.* gone"):
            borrow(loan)

    def test_no_files_left_is_no_dead_lender(self):
        loan = self.lend(b"abc")
        fd = os.open("/dev/null", os.O_RDONLY)
        os.close(fd)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (fd, hard))
        try:
            with self.assertRaises(OSError) as caught:
                borrow(loan)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(caught.exception.errno, errno.EMFILE)

    def test_who_cannot_lend_knows(self):
        before = os.listdir("/proc/self/fd")
        for name in "readlink", "memfd_create", "open":
            with mock.patch.object(os, name, side_effect=PermissionError):
                self.assertFalse(Lender().able())
        self.assertEqual(os.listdir("/proc/self/fd"), before)


class Forks(Case):
    def fork(self, function=lambda: None):
        """A child that does this, and then waits to be let go."""
        (said, say), (go, let) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            function()
            os.write(say, b".")
            os.read(go, 1)
            os._exit(0)
        os.close(go)
        os.read(said, 1)
        os.close(said)
        os.close(say)

        def end():
            os.write(let, b".")
            os.close(let)
            os.waitpid(child, 0)

        return end

    def test_what_a_child_may_look_at_is_not_filled_again(self):
        view = borrow(self.lend(b"abc"))
        ends = [self.fork(), self.fork()]
        del view
        held = self.lender._loans[0]
        for end in ends:
            self.assertEqual(held.state(), _lend._HELD)
            end()
        self.assertEqual(held.state(), _lend._FREE)

    def test_a_child_gives_nothing_back(self):
        kept = [borrow(self.lend(b"abc"))]
        self.fork(kept.clear)()
        self.assertEqual(self.lender._loans[0].state(), _lend._HELD)
        self.assertEqual(kept, [b"abc"])
        kept.clear()
        self.assertEqual(self.lender._loans[0].state(), _lend._FREE)

    def test_what_a_child_keeps_is_dropped(self):
        """In favour of what is needed more."""
        ends = []
        for k in range(_lend._OPEN + 4):
            view = borrow(self.lend(b"%d" % k))
            ends.append(self.fork())
            del view
        self.lend(b"abc")
        self.assertEqual(len(self.inodes()), _lend._OPEN + 1)
        for end in ends:
            end()


if __name__ == "__main__":
    unittest.main()
