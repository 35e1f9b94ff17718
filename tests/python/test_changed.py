# SPDX-License-Identifier: Apache-2.0
"""A dataset whose files become other ones while it is open."""

import os
import pickle
import shutil
import tempfile
import unittest
from unittest import mock

import hpdsl
from hpdsl import _rows

from common import forked, make_tree, pack


class Changed(unittest.TestCase):
    def setUp(self):
        top = tempfile.TemporaryDirectory()
        self.addCleanup(top.cleanup)
        self.tree, self.path = top.name + "/tree", top.name + "/p"
        self.other = top.name + "/other"
        make_tree(self.tree, 40)
        pack(self.tree, self.path, "--seed=1")
        pack(self.tree, self.other, "--seed=2")
        os.utime(self.path + "/index.hpdsl", (1, 1))

    def swap(self):
        os.rename(self.path, self.path + ".away")
        os.rename(self.other, self.path)

    def test_swapped_between_opening_and_looking(self):
        """What a child compares is what was opened, not what had its name a
        moment later."""
        checked = _rows.checked

        def swapping(function, *arguments):
            code = checked(function, *arguments)
            if os.path.exists(self.other):
                self.swap()
            return code

        with mock.patch.object(_rows, "checked", swapping):
            ds = hpdsl.Dataset(self.path)
        with self.assertRaisesRegex(hpdsl.DiffersError, "before the fork"):
            forked(lambda: ds[0].key)

    def test_cut_short(self):
        """Contents are an error, in a child, so that SIGBUS is one."""
        ds = hpdsl.Dataset(self.path)
        path = ds.members(3)[0].path
        handle = ds.handle()
        ds[3]

        def read(ask):
            # the handle is the parent's, whose threads are asleep
            handle.pid = os.getpid()
            return ask()

        os.truncate(self.path + "/index.hpdsl", 600)
        for ask in (lambda: ds[3], lambda: ds.read(path),
                    lambda: ds.read_many([3, 5])):
            with self.assertRaises(hpdsl.CorruptError):
                forked(lambda: read(ask))

    def test_in_memory(self):
        ds = hpdsl.Dataset(self.path, copy=True)
        before = [ds[i].members for i in range(len(ds))]
        again = pickle.loads(pickle.dumps(ds))
        os.truncate(self.path + "/index.hpdsl", 0)
        for one in (ds, again):
            self.assertEqual([one[i].members for i in range(len(ds))], before)
            self.assertEqual(len(one.labels), 40)
            self.assertTrue(one.key(0))

    def test_refreshed_in_place(self):
        ds = hpdsl.Dataset(self.path)
        for i in range(len(ds)):
            ds[i]
        for name in os.listdir(self.other):
            with open(f"{self.other}/{name}", "rb") as f:
                data = f.read()
            with open(f"{self.path}/{name}", "r+b") as f:
                f.write(data)
        for i in range(len(ds)):
            with self.assertRaises((hpdsl.ChangedError, hpdsl.CorruptError)):
                ds[i]
        shutil.rmtree(self.other)


if __name__ == "__main__":
    unittest.main()
