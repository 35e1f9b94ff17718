# SPDX-License-Identifier: Apache-2.0
"""Which process of a job this is, and of how many: as the caller says, or as the
launcher has left it in the environment."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any, Mapping, NamedTuple, Optional, Set, Tuple

from ._errors import UsageError, number

# Each: the variables of the rank and of the number of ranks.
_LAUNCHERS = (("RANK", "WORLD_SIZE"),
              ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
# Slurm's numbers for what is no step of srun's: a batch script, an interactive
# shell, and others from here on.
_NO_STEP = 0xfffffff0

_log = logging.getLogger("hpdsl")
_told: Set[Any] = set()


class Ranks(NamedTuple):
    """Rank of ranks, and who said so."""

    rank: int
    ranks: int
    source: str


def ranks_of(rank: Optional[int] = None, ranks: Optional[int] = None,
             group: Any = None, begins: bool = True) -> Ranks:
    """What was given wins, then a group, then torch.distributed if it is
    initialized, here or in the process that began this one, then the
    environment; else it is one process alone.  begins: reading does, so that
    one which cannot be known is an error."""
    if rank is not None and ranks is not None:
        if group is not None:
            raise UsageError("rank and ranks, and a group too: wanted one of "
                             "them")
        return Ranks(number("rank", rank), number("ranks", ranks), "given")
    if rank is not None or ranks is not None:
        # With a guess at the other one all of them may read the same.
        raise UsageError(f"rank {rank} of ranks {ranks}: wanted both or "
                         "neither")
    if group is not None:
        return _of_group(group)
    return (_of_torch() or _of_parent() or
            _told_once(_of_environment(os.environ)) or
            _alone(os.environ, begins))


def _of_group(group: Any) -> Ranks:
    """Of a process group, or of a DeviceMesh of one dimension."""
    dimensions = getattr(group, "ndim", 1)
    if dimensions != 1:
        raise UsageError(f"group: a mesh of {dimensions} dimensions: wanted "
                         'one of them, as in mesh["data"]')
    if hasattr(group, "get_group"):
        group = group.get_group()
    distributed = sys.modules.get("torch.distributed")
    if distributed is None:
        raise TypeError("group: wanted a process group of torch.distributed, "
                        f"not {type(group).__name__}")
    rank = distributed.get_rank(group)
    if rank < 0:
        raise UsageError("group: this process is not in it")
    return Ranks(rank, distributed.get_world_size(group), "group")


def _of_torch() -> Optional[Ranks]:
    """Without importing it: who has not, has not initialized it either."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or \
            not distributed.is_initialized():
        return None
    return Ranks(distributed.get_rank(), distributed.get_world_size(),
                 "torch.distributed")


class _Heir:
    """Has multiprocessing hand this process's rank on to each that it begins,
    under "spawn" and "forkserver": what is in a process's _config is copied into
    its children's, and pickled with them.  What is forked has torch.distributed
    itself."""

    said: Tuple[int, ...] = ()  # of the process that began this one

    def __reduce__(self) -> Tuple[Any, ...]:
        try:
            found = _of_torch() or _of_parent()
        except Exception:  # it is no matter of those who begin a process
            found = None
        return _inherit, (found[:2] if found else ())


def _inherit(*said: int) -> _Heir:
    """In the child, before anything else is done there."""
    _heir.said = said
    return _heir


_heir = _Heir()


def _handed_on() -> bool:
    """Whether it is: as soon as multiprocessing is there."""
    process: Any = sys.modules.get("multiprocessing.process")
    if not hasattr(process, "_current_process"):  # that is the last that it has
        return False
    # Python's own, in all versions so far; nothing is inherited without it.
    getattr(process.current_process(), "_config", {})["hpdsl"] = _heir
    return True


class _Watch:
    """Importing multiprocessing takes ten milliseconds, and who begins no processes
    needs none of it.  Where others import it later, as torch does, that is seen
    here: its other modules, which it imports behind that one, are looked for here
    first."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if _handed_on() and self in sys.meta_path:
            # Another list: somebody is going through this one.
            sys.meta_path = [of for of in sys.meta_path if of is not self]


if not _handed_on():
    sys.meta_path.insert(0, _Watch())  # type: ignore[arg-type]


def _of_parent() -> Optional[Ranks]:
    """The rank of the process that began this one."""
    said = _heir.said
    return Ranks(said[0], said[1], "parent process") if said else None


def _of_environment(environ: Mapping[str, str]) -> Optional[Ranks]:
    for rank, ranks in _LAUNCHERS:
        if rank in environ and ranks in environ:
            return _numbers(environ, rank, ranks)
    if _in_step(environ):
        return _numbers(environ, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    return None


def _in_step(environ: Mapping[str, str]) -> bool:
    """Whether srun has started this process beside others.  In the shell of
    sbatch or salloc SLURM_NTASKS and SLURM_PROCID are set as well, and what is
    started there has to read everything."""
    try:
        tasks = int(environ.get("SLURM_STEP_NUM_TASKS", "1"))
        step = int(environ.get("SLURM_STEP_ID", "0"))
    except ValueError:
        return False
    return tasks > 1 and step < _NO_STEP and "SLURM_PROCID" in environ


def _numbers(environ: Mapping[str, str], rank: str, ranks: str) -> Ranks:
    said = environ[rank], environ[ranks]
    if not all(s.isascii() and s.isdigit() for s in said) or not (
            int(said[0]) < int(said[1])):
        raise UsageError(f"{rank}={said[0]} and {ranks}={said[1]} in the "
                         "environment: say rank= and ranks=")
    return Ranks(int(said[0]), int(said[1]), rank)


def _alone(environ: Mapping[str, str], begins: bool) -> Ranks:
    """One of a launcher's two variables makes no rank: that is said, as others
    may be meant to read their shares.  The number of ranks alone is what
    Lightning's launcher leaves until it has initialized torch.distributed."""
    for rank, ranks in _LAUNCHERS:
        if ranks in environ and rank not in environ:
            if begins and environ[ranks].strip() not in ("", "0", "1"):
                raise UsageError(
                    f"{ranks}={environ[ranks]} in the environment, but no {rank}, "
                    "and torch.distributed is not initialized: say rank= and "
                    "ranks= (rank=0, ranks=1 reads everything)")
        elif rank in environ and ranks not in environ and rank not in _told:
            _told.add(rank)
            _log.warning("%s=%s in the environment, but no %s: this process reads "
                         "everything, unless rank= and ranks= are said", rank,
                         environ[rank], ranks)
    return Ranks(0, 1, "alone")


def _told_once(found: Optional[Ranks]) -> Optional[Ranks]:
    """Nobody has asked for it, so it has to be said."""
    if found is not None and found.ranks > 1 and found not in _told:
        _told.add(found)
        _log.warning("rank %d of %d (%s)", found.rank, found.ranks,
                     found.source)
    return found


def tell_share(found: Ranks) -> None:
    """Of samples that come in stored order, as for an evaluation.  A loop over
    them that only rank 0 has gives a part of them, and from inside it looks like
    any other."""
    if found.rank == 0 < found.ranks - 1 and "share" not in _told and (
            found.source not in ("given", "group")):
        _told.add("share")
        _log.warning("samples in stored order, too, are shared by all %d ranks "
                     "(%s): if only this one reads them, say rank=0, ranks=1",
                     found.ranks, found.source)


def check_alone(found: Ranks) -> None:
    """For one that has read since it was made, when nothing told of other ranks."""
    if found.ranks > 1:
        raise UsageError(
            f"this is rank {found.rank} of {found.ranks} ({found.source}), and the "
            "loader was made before that was known: make it behind "
            "init_process_group(), or say rank= and ranks=")


def worker_of(worker: Optional[int], workers: Optional[int]) -> Tuple[int, int]:
    """Which of a rank's processes that read for themselves: as it was given, or one
    alone, which a worker of a DataLoader is not where there are others."""
    if (worker is None) != (workers is None):
        raise UsageError(f"worker {worker} of workers {workers}: wanted both or "
                         "neither")
    of = _dataloaders_worker()
    if workers is None and of is not None and of.num_workers > 1:
        raise UsageError(
            f"in worker {of.id} of {of.num_workers} of a DataLoader, each of which "
            "would read the same: say worker= and workers=, which "
            "torch.utils.data.get_worker_info() has as id and num_workers "
            "(worker=0, workers=1 reads everything)")
    return worker or 0, 1 if workers is None else workers


def dealt_by(share: Optional[str], rank: int, ranks: int) -> Tuple[int, int, bool]:
    """Where others may deal samples out, too: the rank and ranks to read as, and
    whether a rank's workers divide what that has."""
    if share not in (None, "caller", "rank", "none"):
        raise UsageError(f"share {share!r}: not one of caller, rank, none")
    if share is None and ranks > 1:
        raise UsageError(
            f"rank {rank} of {ranks}: who deals samples out cannot be seen from "
            "here; say share=\"caller\" where Accelerate's prepare() or Trainer "
            "does, \"rank\" where nobody else does, or \"none\" where others deal "
            "them to workers, too")
    if share in (None, "rank"):
        return rank, ranks, True
    return 0, 1, share == "caller"


def check_trainer(what: str) -> None:
    """For a loader that has workers itself."""
    if _dataloaders_worker() is not None:
        raise UsageError(
            f"{what} in a worker of a DataLoader: it has workers of its own, "
            "num_workers=, and wants no DataLoader around it, or one without "
            "workers (of a Trainer dataloader_num_workers=0); what reads in a "
            "worker is hpdsl.Loader(.., worker=, workers=)")


def _dataloaders_worker() -> Any:
    """PyTorch's description of this process; None: it is none."""
    data = sys.modules.get("torch.utils.data")
    return data.get_worker_info() if data is not None else None
