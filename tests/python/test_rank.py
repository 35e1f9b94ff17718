# SPDX-License-Identifier: Apache-2.0
"""Where rank and ranks come from, and which batches they can share."""

import logging
import multiprocessing
import os
import pickle
import sys
import types
import unittest
from multiprocessing import process
from unittest import mock

import hpdsl
from common import rounds, run
from hpdsl import _rank
from hpdsl._job import Dealt, check_shares, end_of, order_of
from hpdsl._order import size_of
from hpdsl._rank import ranks_of


def distributed(rank, ranks, initialized=True):
    """Stands for torch.distributed, in which a group is (rank, ranks)."""
    return types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: initialized,
        get_rank=lambda group=None: group[0] if group else rank,
        get_world_size=lambda group=None: group[1] if group else ranks)


def tell_rank(to):
    """In a child."""
    to.send(tuple(ranks_of()))


class Mesh:
    def __init__(self, ndim, group):
        self.ndim, self.group = ndim, group

    def get_group(self):
        return self.group


class Found(unittest.TestCase):
    def setUp(self):
        _rank._told.clear()

    def found(self, environ, torch=None, **given):
        with mock.patch.dict(os.environ, environ, clear=True), \
                mock.patch.dict(sys.modules, {"torch.distributed": torch}):
            return tuple(ranks_of(**given))

    def test_alone(self):
        self.assertEqual(self.found({}), (0, 1, "alone"))

    def test_half_of_a_launcher(self):
        with self.assertLogs("hpdsl", "WARNING") as told:
            for _ in range(2):
                self.assertEqual(self.found({"RANK": "1"}), (0, 1, "alone"))
        self.assertEqual([r.getMessage() for r in told.records], [
            "RANK=1 in the environment, but no WORLD_SIZE: this process "
            "reads everything, unless rank= and ranks= are said"])
        for ranks in "", "0", "1":
            self.assertEqual(self.found({"WORLD_SIZE": ranks}), (0, 1, "alone"))
        for ranks in "2", "x":
            environ = {"WORLD_SIZE": ranks}
            self.assertEqual(self.found(environ, begins=False),
                             (0, 1, "alone"))
            with self.assertRaises(hpdsl.UsageError) as raised:
                self.found(environ)
            self.assertEqual(str(raised.exception), (
                f"WORLD_SIZE={ranks} in the environment, but no RANK, and "
                "torch.distributed is not initialized: say rank= and ranks= "
                "(rank=0, ranks=1 reads everything)"))
            self.assertEqual(self.found(environ, distributed(1, 4)),
                             (1, 4, "torch.distributed"))

    def test_of_the_process_that_began_this_one(self):
        """What multiprocessing pickles for a child, and the child's child."""
        here = process.current_process()._config["hpdsl"]
        self.addCleanup(setattr, here, "said", ())
        with mock.patch.dict(sys.modules,
                             {"torch.distributed": distributed(1, 4)}):
            handed = pickle.dumps(here)
        for _ in range(2):
            self.assertIs(pickle.loads(handed), here)
            environ = {"WORLD_SIZE": "4", "LOCAL_RANK": "1"}
            self.assertEqual(self.found(environ), (1, 4, "parent process"))
            self.assertEqual(self.found(environ, distributed(0, 2)),
                             (0, 2, "torch.distributed"))
            handed = pickle.dumps(here)
        here.said = ()
        self.assertIs(pickle.loads(pickle.dumps(here)), here)
        self.assertEqual(self.found({}), (0, 1, "alone"))

    def test_a_process_that_is_spawned(self):
        for method in rounds(("spawn",), ("spawn", "forkserver")):
            context = multiprocessing.get_context(method)
            here, there = context.Pipe(False)
            with mock.patch.dict(sys.modules,
                                 {"torch.distributed": distributed(1, 4)}):
                child = context.Process(target=tell_rank, args=(there,))
                child.start()
                self.assertEqual(here.recv(), (1, 4, "parent process"))
                child.join()

    def test_multiprocessing_is_left_to_who_needs_it(self):
        """However late that is; nothing is left behind in what finds modules."""
        got = run("""
import sys
before = list(sys.meta_path)
import hpdsl
assert not [name for name in sys.modules if "multiprocessing" in name]
import multiprocessing
assert "hpdsl" in multiprocessing.current_process()._config
assert sys.meta_path == before, sys.meta_path
""")
        self.assertEqual((got.stdout, got.returncode), ("", 0))

    def test_a_share_in_stored_order_is_told_once(self):
        for found, told in (
                ((0, 1, "alone"), 0), ((1, 2, "RANK"), 0), ((0, 2, "given"), 0),
                ((0, 2, "group"), 0), ((0, 2, "RANK"), 1)):
            with self.assertLogs("hpdsl", "WARNING") as logged:
                logging.getLogger("hpdsl").warning("the first")
                for _ in range(2):
                    _rank.tell_share(_rank.Ranks(*found))
            self.assertEqual([r.getMessage() for r in logged.records[1:]], [
                "samples in stored order, too, are shared by all 2 ranks "
                "(RANK): if only this one reads them, say rank=0, ranks=1"
            ] * told)

    def test_launchers(self):
        for environ, rank in (
                ({"RANK": "3", "WORLD_SIZE": "8"}, "RANK"),
                ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"},
                 "OMPI_COMM_WORLD_RANK"),
                ({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8",
                  "SLURM_STEP_ID": "2"}, "SLURM_PROCID")):
            with self.assertLogs("hpdsl", "WARNING") as told:
                for _ in range(3):
                    self.assertEqual(self.found(environ), (3, 8, rank))
            self.assertEqual([r.getMessage() for r in told.records],
                             [f"rank 3 of 8 ({rank})"])

    def test_shells_of_slurm_read_everything(self):
        shell = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8",
                 "SLURM_NPROCS": "8", "SLURM_PROCID": "0"}
        for more in ({}, {"SLURM_STEP_NUM_TASKS": "1"},
                     {"SLURM_STEP_NUM_TASKS": "8",
                      "SLURM_STEP_ID": str(0xfffffffb)},
                     {"SLURM_STEP_NUM_TASKS": "x"}):
            self.assertEqual(self.found({**shell, **more}), (0, 1, "alone"))

    def test_who_wins(self):
        environ = {"RANK": "3", "WORLD_SIZE": "8",
                   "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
        torch = distributed(1, 4)
        self.assertEqual(self.found(environ, torch, rank=0, ranks=2),
                         (0, 2, "given"))
        self.assertEqual(self.found(environ, torch, group=(2, 3)),
                         (2, 3, "group"))
        self.assertEqual(self.found(environ, torch, group=Mesh(1, (2, 3))),
                         (2, 3, "group"))
        self.assertEqual(self.found(environ, torch),
                         (1, 4, "torch.distributed"))
        for other in None, distributed(1, 4, initialized=False):
            with self.assertLogs("hpdsl"):
                _rank._told.clear()
                self.assertEqual(self.found(environ, other), (3, 8, "RANK"))

    def test_workers_of_a_dataloader(self):
        def of(info, *given):
            torch = types.SimpleNamespace(get_worker_info=lambda: info)
            with mock.patch.dict(sys.modules, {"torch.utils.data": torch}):
                if given == ("trainer",):
                    return _rank.check_trainer("this")
                return _rank.worker_of(*given)

        one, two = (types.SimpleNamespace(id=n - 1, num_workers=n)
                    for n in (1, 2))
        for info in None, one, two:
            self.assertEqual(of(info, 1, 3), (1, 3))
            self.assertEqual(of(info, 0, 1), (0, 1))
            for half in (0, None), (None, 2):
                with self.assertRaisesRegex(hpdsl.UsageError, "both or nei"):
                    of(info, *half)
        for info in None, one:
            self.assertEqual(of(info, None, None), (0, 1))
        with self.assertRaisesRegex(hpdsl.UsageError, (
                "in worker 1 of 2 of a DataLoader, each of which would read the "
                "same: say worker= and workers=")):
            of(two, None, None)
        of(None, "trainer")
        for info in one, two:
            with self.assertRaisesRegex(hpdsl.UsageError, (
                    "^this in a worker of a DataLoader: .*num_workers=")):
                of(info, "trainer")

    def test_who_deals_samples_out(self):
        for share, ranks, wanted in (
                (None, 1, (0, 1, True)), ("rank", 4, (3, 4, True)),
                ("caller", 4, (0, 1, True)), ("none", 4, (0, 1, False))):
            self.assertEqual(_rank.dealt_by(share, ranks - 1, ranks), wanted)
        with self.assertRaisesRegex(hpdsl.UsageError, (
                '^rank 3 of 4: .* share="caller" .*"rank" .*"none"')):
            _rank.dealt_by(None, 3, 4)
        with self.assertRaisesRegex(hpdsl.UsageError, "'all': not one of"):
            _rank.dealt_by("all", 0, 1)

    def test_what_makes_no_sense(self):
        torch = distributed(1, 4)
        for text, environ, given in (
                ("both or neither", {}, {"rank": 1}),
                ("both or neither", {}, {"ranks": 1}),
                ("wanted one of them", {},
                 {"rank": 0, "ranks": 1, "group": (0, 2)}),
                ("mesh of 2 dimensions", {}, {"group": Mesh(2, None)}),
                ("not in it", {}, {"group": (-1, 2)}),
                ("RANK=8 and WORLD_SIZE=8", {"RANK": "8", "WORLD_SIZE": "8"},
                 {}),
                ("RANK=x", {"RANK": "x", "WORLD_SIZE": "8"}, {})):
            with self.assertRaisesRegex(hpdsl.UsageError, text):
                self.found(environ, torch if given else None, **given)
        with self.assertRaisesRegex(TypeError, "process group"):
            self.found({}, None, group=3)


class Shares(unittest.TestCase):
    def test_ranks_that_do_not_divide(self):
        with self.assertRaises(hpdsl.UsageError) as raised:
            check_shares(4096, 0, 24, False)
        self.assertEqual(str(raised.exception), (
            "the run has a batch of 4096: 24 ranks do not divide it; 16 or 32 "
            "do, or uneven=True (170 or 171 samples)"))
        for batch, ranks, text in ((4096, 3, "2 or 4 do"),
                                   (4095, 4094, "1365 or 4095 do"),
                                   (257, 2, "1 or 257 do")):
            with self.assertRaisesRegex(hpdsl.UsageError, text):
                check_shares(batch, 0, ranks, False)
            check_shares(batch, 0, ranks, True)
        with self.assertRaisesRegex(hpdsl.UsageError, "less than a sample"):
            check_shares(4, 0, 5, True)

    def test_batch_size_has_to_be_the_runs(self):
        for size in 0, 64:
            check_shares(256, size, 4, False)
        for size in 0, 170, 171:
            check_shares(4096, size, 24, True)
        for size, uneven, text in ((32, False, "batch_size=64, not 32"),
                                   (32, True, "batch_size=64, not 32")):
            with self.assertRaisesRegex(hpdsl.UsageError, text):
                check_shares(256, size, 4, uneven)

    def test_what_counts_of_steps(self):
        # 50 samples, in steps of 8
        of = Dealt(3, 8, 50)
        self.assertEqual([of.whole(step) for step in range(7)],
                         [8] * 6 + [2])
        self.assertEqual([of.whole(step, 4) for step in range(7)],
                         [32] * 4 + [18] * 3)
        self.assertEqual(of.whole(5, 100), 50)

    def test_words(self):
        self.assertEqual(end_of(None, True), end_of("drop", True), "drop")
        self.assertEqual((end_of(None, False), end_of("repeat", False)),
                         ("mask", "repeat"))
        for given in ("mask", True), ("stop", False):
            with self.assertRaises(hpdsl.UsageError):
                end_of(*given)
        order = hpdsl.Order(seed=3, windows=2)
        self.assertEqual(order_of(order, seed=None, windows=1, shuffle=False),
                         hpdsl.Order(seed=3, windows=1, shuffle=False))
        self.assertEqual(order_of(None), hpdsl.Order())

    def test_sizes(self):
        for given, want in ((5, 5), ("5", 5), ("2G", 2 << 30), ("16m", 16 << 20),
                            ("1K", 1024), ("3T", 3 << 40), ("2GiB", 2 << 30),
                            ("16mib", 16 << 20)):
            self.assertEqual(size_of(given), want)
        with self.assertRaisesRegex(hpdsl.UsageError, "^memory '2gb': no size, as "
                                    "2G or 2GiB, powers of 1024, is one$"):
            size_of("2gb")
        for given in ("", "G", "2GB", "2Gi", "2B", "2iB", "-1", "1.5G",
                      "20000000000T", -1, 1 << 64):
            with self.assertRaises(hpdsl.UsageError):
                size_of(given)


if __name__ == "__main__":
    unittest.main()
