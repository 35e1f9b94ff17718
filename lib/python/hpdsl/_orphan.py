# SPDX-License-Identifier: Apache-2.0
"""Ends a worker of DataLoader's whose trainer was killed.

torch sees that and leaves its loop, but Python then waits for the thread that
writes batches to a pipe; and where the pipe is full, that writes for ever, as
each worker itself, and its siblings, could still read from there."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from typing import Any

import torch.utils.data as data

# torch looks every 5 seconds; what ends by itself may.
_GRACE = 10.0

_watching = 0


def watch_trainer() -> None:
    """Once in a worker, and whenever else it is asked for nothing happens."""
    global _watching
    if data.get_worker_info() is None or _watching == os.getpid():
        return
    _watching = os.getpid()
    trainer = multiprocessing.parent_process()
    if trainer is not None:
        threading.Thread(target=_watch, args=(trainer, os.getppid()),
                         name="hpdsl-orphan", daemon=True).start()


def _watch(trainer: Any, parent: int) -> None:
    """Under "forkserver" the parent is not the trainer; under "fork" siblings
    keep the pipe open that tells of the trainer's end."""
    while trainer.is_alive() and os.getppid() == parent:
        trainer.join(1)
    time.sleep(_GRACE)
    os._exit(1)
