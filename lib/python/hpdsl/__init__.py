# SPDX-License-Identifier: Apache-2.0
"""Packed training datasets, read from Python: libhpdsl's reading half, with
nothing but the standard library.

    ds = hpdsl.Dataset("packed")
    ds[12345]["jpg"], ds.labels, ds.class_names

    train = hpdsl.Choice(ds, split=(0, 0.9))
    loader = hpdsl.Loader(ds, batch_size=64, seed=1, choice=train)
    for data, labels in loader:             # an epoch
        ...
    for batch in loader:                    # the next one
        batch.data, batch.labels, batch.mask

Dataset    samples by number or key, members by path
Snapshot   the names in a tree or a dataset: os.walk, os.stat without them
Choice     a subset, a split, weights
Order      the parameters of an order; Epoch is an order as a function
Loader     epochs in their order, batch by batch, read ahead by threads
hpdsl.feed what TensorFlow and DALI take; hpdsl.torch what PyTorch takes
hpdsl.fs   a file system for fsspec, and so for zarr, xarray and pandas

Errors are of class Error: their text is the library's, code its code."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ._abi import VERSION as __version__
from ._batch import NO_LABEL, Batch
from ._choice import Choice
from ._dataset import Dataset
from ._errors import (ChangedError, CorruptError, DiffersError, Error,
                      NoMemoryError, NotFolderError, NotFoundError, NotOursError,
                      RangeError, StoppedError, SystemFailure, TooNewError,
                      UsageError)
from ._loader import Loader
from ._order import Cost, Epoch, Order, Place
from ._running import Damage
from ._sample import Counts, Member, Sample, Sources
from ._snapshot import Entry, Snapshot, Status, Totals

__all__ = [
    "Batch", "ChangedError", "Choice", "CorruptError", "Cost", "Counts",
    "Damage", "Dataset", "DiffersError", "Entry", "Epoch", "Error",
    "Loader", "Member", "NO_LABEL", "NoMemoryError", "NotFolderError",
    "NotFoundError", "NotOursError", "Order", "Place", "RangeError", "Sample",
    "Snapshot", "Sources", "Status", "StoppedError", "SystemFailure",
    "TooNewError", "Totals", "UsageError", "__version__",
]

if TYPE_CHECKING:
    from . import feed, fs, torch
    _LATE = feed, fs, torch
else:
    def __getattr__(name):
        """These need other packages, and are imported when they are asked for."""
        if name in ("feed", "fs", "torch"):
            return _import_module("." + name, __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
