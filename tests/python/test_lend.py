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
print(lender.able(), *lender.lend([b"abc", b"", b"de"], 5), flush=True)
sys.stdin.read()
"""


def views(*contents):
    return [memoryview(c) for c in contents]


class Lending(unittest.TestCase):
    def setUp(self):
        self.lender = Lender()
        self.assertTrue(self.lender.able())

    def lend(self, *contents):
        return self.lender.lend(views(*contents), sum(map(len, contents)))

    def inodes(self):
        return {memory.inode for memory in self.lender._loans}

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
        for name in "readlink", "memfd_create":
            with mock.patch.object(os, name, side_effect=PermissionError):
                self.assertFalse(Lender().able())


if __name__ == "__main__":
    unittest.main()
