# SPDX-License-Identifier: Apache-2.0
"""Paths that lead into a dataset: which one, and where in it."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Callable, Optional, Tuple, TypeVar

from . import _abi
from ._abi import lib
from ._errors import (Error, NotFolderError, NotFoundError, NotOursError,
                      SystemFailure, UsageError, checked)
from ._sample import Path, raw, text

T = TypeVar("T")

_DATASETS = (_abi.KIND_DATASET, _abi.KIND_STAGE)
# The path of a member may be longer than a path of the system, or have a file
# in the middle: a shorter one may be a dataset all the same.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def dataset_in(path: Path) -> Tuple[str, str]:
    """The longest leading part of a path that is a packed dataset or a stage
    directory, absolute, and what follows it, without slashes at its ends; ""
    if nothing does.  What follows need not be in the dataset.

    ".." goes a name back, whatever links there are.  NotFoundError: no part of
    it is a dataset; SystemFailure: none is, and one cannot be looked at."""
    if not raw(path):
        raise UsageError("a dataset without a name")
    whole = os.path.abspath(text(raw(path)))
    here, unseen = whole, None  # type: str, Optional[SystemFailure]
    while True:
        try:
            if _is_dataset(here):
                return here, whole[len(here):].strip("/")
        except SystemFailure as e:
            if e.errno not in _NOTHING:
                unseen = e
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    if unseen is not None:
        raise unseen
    raise NotFoundError(f"{text(raw(path))}: not in a packed dataset or stage "
                        "directory (hpdsl-info says what is there, and what "
                        "comes next)", -errno.ENOENT)


def advised(path: str, opening: Callable[[], T]) -> T:
    """What opening a dataset gives, or raises: of a path that leads into one with
    the line that is meant."""
    try:
        return opening()
    except (NotOursError, NotFoundError, NotFolderError) as e:
        try:
            dataset, inside = dataset_in(path)
        except Error:
            inside = ""
        if not inside:
            raise
        raise type(e)(f"{e}; the dataset is {dataset}, and the samples of a folder "
                      f"in it are hpdsl.Choice(ds, folder={inside!r})",
                      e.code) from None


def _is_dataset(path: str) -> bool:
    name, kind = raw(path), ctypes.c_int()
    if b"\0" in name:
        raise UsageError(f"{path!r}: no path has a NUL")
    checked(lib.kind_of, name, None, ctypes.byref(kind))
    return kind.value in _DATASETS
