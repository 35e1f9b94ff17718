# SPDX-License-Identifier: Apache-2.0
"""What a loader shows while it runs: the names and values of its statistics."""

import os
import re
import shutil
import tempfile
import unittest
import warnings
from unittest import mock

import hpdsl
from common import Packed, forked

LINE = re.compile(r'(\w+)\{job="(.*)",rank="(\d*)",node="(.+)",pid="(\d+)",'
                  r'loader="(\d+)"\} (.*)')
# A rule has its exceptions; hpdsl-metrics(7) tells this one.
OTHER = {"wait_seconds": "staging_wait_seconds"}


def read(path):
    """{name: (type, value)} and the labels, which are the same in each line."""
    types, values, labels = {}, {}, set()
    with open(path) as f:
        for line in f:
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                types[name] = kind
            elif not line.startswith("#"):
                name, *of, value = LINE.fullmatch(line.rstrip("\n")).groups()
                assert name not in values
                values[name] = float(value)
                labels.add(tuple(of))
    assert types.keys() == values.keys()
    [of] = labels
    return {n: (types[n], values[n]) for n in types}, of


def keys_of(name, kind, keys):
    """Of statistics, those that a metric may be of."""
    assert name.endswith("_total") == (kind == "counter"), name
    name = re.sub("_total$", "", name[len("hpdsl_loader_"):])
    return [k for k in keys if OTHER.get(k, k) in (
        name, re.sub("_bytes$", "", name))]


def flat(stats):
    told = {k: v for k, v in stats.items() if k not in ("sources",
                                                        "read_sizes")}
    of = stats["sources"]
    return {**told, **{k: getattr(of, k) for k in of._fields}}


class Metrics(Packed):
    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        os.mkdir(os.path.join(self.dir, "last"))
        env = mock.patch.dict(os.environ, HPDSL_METRICS=self.dir,
                              SLURM_JOB_ID="12", RANK="3")
        env.start()
        self.addCleanup(env.stop)

    def files(self, folder=""):
        at = os.path.join(self.dir, folder)
        return sorted(os.path.join(at, n) for n in os.listdir(at)
                      if n != "last")

    def loader(self, **options):
        return hpdsl.Loader(hpdsl.Dataset(self.packed), 6, epochs=1, **options)

    def test_statistics_and_metrics_are_of_one_name_and_value(self):
        with self.loader(check=False) as loader:
            self.assertEqual(len(self.files()), 1)
            for _ in loader:
                pass
            stats = flat(loader.stats())
        self.assertEqual(self.files(), [])
        [path] = self.files("last")
        rows, labels = read(path)
        self.assertEqual(labels, ("12", "3", os.uname().nodename,
                                  str(os.getpid()), "0"))
        found = []
        for name, (kind, value) in rows.items():
            [key] = keys_of(name, kind, stats)
            found.append(key)
            if key == "seconds":
                self.assertGreaterEqual(value + 1e-6, stats[key])
            else:
                self.assertAlmostEqual(value, stats[key], 5, key)
        self.assertEqual(sorted(found), sorted(stats))
        self.assertGreater(stats["steps"], 3)
        self.assertGreater(stats["read_bytes"], 0)
        self.assertTrue(stats["unchecked"])

    def test_loaders_of_a_process_are_told_apart(self):
        with self.loader(rank=0, ranks=2), self.loader(rank=1, ranks=2):
            of = [read(path)[1] for path in self.files()]
            self.assertEqual(sorted((i[1], i[4]) for i in of),
                             [("0", "0"), ("1", "1")])
        self.assertEqual(self.files(), [])

    def test_a_child_writes_and_removes_nothing(self):
        with self.loader() as loader:
            before = {p: os.stat(p).st_ino for p in self.files()}

            def child():
                loader.close()
                with self.loader():
                    return len(self.files())
            self.assertEqual(forked(child), 2)
            self.assertEqual({p: os.stat(p).st_ino for p in self.files()},
                             before)
        self.assertEqual(self.files(), [])

    def test_what_cannot_be_written_is_one_warning(self):
        os.environ["HPDSL_METRICS"] = os.path.join(self.dir, "absent")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with self.loader() as loader:
                self.assertGreater(len(list(loader)), 3)
        self.assertEqual([str(w.message) for w in told],
                         [f"HPDSL_METRICS: {self.dir}/absent: "
                          "No such file or directory"])


if __name__ == "__main__":
    unittest.main()
