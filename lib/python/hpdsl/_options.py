# SPDX-License-Identifier: Apache-2.0
"""What hpdsl.torch.Loader takes besides what its signature has, for type checkers and
editors; no program imports it.  A test holds its names against those that there
are."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, TypedDict

from ._choice import Choice
from ._order import Order, Size
from ._running import Damage


class LoaderOptions(TypedDict, total=False):
    # Which samples come, and when.
    rank: Optional[int]
    ranks: Optional[int]
    group: Any
    drop_last: bool
    shuffle: Optional[bool]
    seed: Optional[int]
    windows: Optional[int]
    lanes: Optional[int]
    piece: Optional[int]
    parts: Optional[int]
    order: Optional[Order]
    epochs: Optional[int]
    choice: Optional[Choice]
    end: Optional[str]
    uneven: bool
    # How they are read.
    suffixes: Optional[Sequence[str]]
    memory: Size
    threads: int
    check: bool
    skip_bad: bool
    cache: str
    on_bad: Optional[Callable[[Damage], Any]]
    on_warning: Callable[[str], Any]
    # DataLoader's.
    pin_memory: bool
    pin_memory_device: str
    prefetch_factor: Optional[int]
    persistent_workers: bool
    timeout: float
    worker_init_fn: Optional[Callable[[int], Any]]
    multiprocessing_context: Any
    in_order: bool
