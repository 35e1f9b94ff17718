# SPDX-License-Identifier: Apache-2.0
"""What the loaders of hpdsl.torch take besides what their signatures have, for type
checkers and editors; no program imports it.  A test holds its names against those that
there are."""

from __future__ import annotations

from typing import Any, Callable, Literal, Optional, Sequence, TypedDict

from ._choice import Choice
from ._order import Order, Size
from ._running import Damage


class _Ranks(TypedDict, total=False):
    rank: Optional[int]
    ranks: Optional[int]
    group: Any


class _Kind(TypedDict, total=False):
    """Of the order that samples come in."""

    drop_last: bool
    shuffle: Optional[bool]
    seed: Optional[int]
    windows: Optional[int]
    lanes: Optional[int]
    piece: Optional[int]
    parts: Optional[int]
    choice: Optional[Choice]
    end: Optional[str]
    uneven: bool


class _Reads(TypedDict, total=False):
    suffixes: Optional[Sequence[str]]
    memory: Size
    threads: int
    check: bool
    skip_bad: bool
    cache: str
    on_bad: Optional[Callable[[Damage], Any]]
    on_warning: Callable[[str], Any]


class _DataLoaders(TypedDict, total=False):
    pin_memory: bool
    pin_memory_device: str
    prefetch_factor: Optional[int]
    persistent_workers: bool
    timeout: float
    worker_init_fn: Optional[Callable[[int], Any]]
    multiprocessing_context: Any


class SamplerOptions(_Ranks, _Kind, total=False):
    order: Optional[Order]
    epochs: Optional[int]


class LoaderOptions(SamplerOptions, _Reads, _DataLoaders, total=False):
    pass


class IterableOptions(_Kind, _Reads, total=False):
    pass


class EvaluateOptions(_Ranks, _Reads, _DataLoaders, total=False):
    # As it is in any case.
    shuffle: Literal[False]
    drop_last: Literal[False]
    uneven: bool


class MapLoaderOptions(_DataLoaders, total=False):
    num_workers: int
