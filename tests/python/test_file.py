# SPDX-License-Identifier: Apache-2.0
"""Members as files."""

import io
import os
import pickle
import random
import unittest

import hpdsl
from common import Packed, command

SIZES = (0, 1, 511, 4096, (128 << 10) - 1, 128 << 10, (128 << 10) + 1,
         (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 * (1 << 20) + 77)


def lines(size):
    """Bytes with a line end now and then."""
    rng = random.Random(size)
    data = bytearray(rng.getrandbits(8 * size).to_bytes(size, "little")
                     if size else b"")
    for at in range(50, size, 301):
        data[at] = 10
    return bytes(data)


class Sizes(Packed):
    """self.content: {path: bytes}, of sizes around all borders."""

    options = ("--chunks=3", "--group=none")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sized = os.path.join(cls._folder.name, "sized")
        top = os.path.join(cls._folder.name, "sizes")
        os.mkdir(top)
        cls.content = {f"{size}.bin": lines(size) for size in SIZES}
        for name, content in cls.content.items():
            with open(os.path.join(top, name), "wb") as f:
                f.write(content)
        command("hpdsl-pack", "-q", *cls.options, top, cls.sized)
        cls.sources = top


class Model(Sizes):
    samples = 6

    def test_whole(self):
        ds = hpdsl.Dataset(self.sized)
        for path, content in self.content.items():
            with ds.open(path) as f:
                self.assertIsInstance(f, io.BufferedReader)
                self.assertEqual((f.name, f.mode), (path, "rb"))
                self.assertEqual(f.read(), content)
                self.assertEqual(f.read(), b"")
            self.assertTrue(f.closed)

    def test_what_open_takes(self):
        ds = hpdsl.Dataset(self.sized)
        for mode in "w", "a", "r+b", "", "x":
            with self.assertRaisesRegex(hpdsl.UsageError, "read only"):
                ds.open("1.bin", mode)
        self.assertIsInstance(ds.open("1.bin", buffering=0), io.RawIOBase)
        with self.assertRaises(hpdsl.NotFoundError):
            ds.open("none")

    def test_again(self):
        ds = hpdsl.Dataset(self.sized)
        f = ds.open("4096.bin")
        f.seek(1000)
        again = pickle.loads(pickle.dumps(f))
        self.assertEqual(again.read(5), self.content["4096.bin"][1000:1005])


if __name__ == "__main__":
    unittest.main()
