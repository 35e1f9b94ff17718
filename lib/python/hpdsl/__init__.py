# SPDX-License-Identifier: Apache-2.0
"""Packed training datasets, read from Python.

    ds = hpdsl.Dataset("packed")            # ds[12345]["jpg"], ds.labels
    train = hpdsl.Choice(ds, split=(0, 0.9))
    for images, labels in hpdsl.torch.Loader(ds, 64, choice=train, decode=f):
        ...                                 # an epoch; the next `for` the next

Dataset       samples by number or key, members by path
Choice        a subset, a split, weights
Order, Epoch  the parameters of an order; an order as a function
Loader        batches of bytes, read ahead by threads, without PyTorch
Snapshot      the names in a tree or a dataset: os.walk, os.stat without them
Error         what all errors are; .code is the library's
hpdsl.torch   epochs for PyTorch: Loader, evaluate(), ImageFolder
hpdsl.feed    the same epochs for TensorFlow and DALI
hpdsl.fs      a file system for fsspec, and so for zarr, xarray and pandas

help(hpdsl.Loader) and others have all arguments, units and errors; manual pages:
hpdsl-python(7) has whole programs, hpdsl-order(7) says what an epoch is."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ._abi import VERSION as __version__
from ._batch import NO_LABEL, Batch
from ._called import no_name as _no_name
from ._choice import Choice
from ._dataset import Dataset
from ._entries import Entry, Status, Totals
from ._errors import (ChangedError, CorruptError, DiffersError, Error,
                      NoMemoryError, NotFolderError, NotFoundError, NotOursError,
                      RangeError, StoppedError, SystemFailure, TooNewError,
                      UsageError)
from ._loader import Loader
from ._order import Cost, Epoch, Order, Place
from ._running import Damage
from ._sample import Counts, Member, Sample, Sources
from ._snapshot import Snapshot

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
    def __dir__():
        return sorted([*__all__, "feed", "fs", "torch"])

    def __getattr__(name):
        """These need other packages, and are imported when they are asked for."""
        if name in ("feed", "fs", "torch"):
            return _import_module("." + name, __name__)
        raise _no_name(__name__, name, ())
