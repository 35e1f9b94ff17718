# SPDX-License-Identifier: Apache-2.0
"""What a loop over shards may not mean, told once: that no sample has a label,
though members .cls may say it, and that a description comes first, as in tars
sorted by name, and so is what it gets as data."""

from __future__ import annotations

import ctypes
import os
import shlex
import sys
import warnings
from array import array
from typing import List, Sequence, Set

from . import _abi
from ._abi import lib
from ._errors import Error
from ._rows import Handle, layouts_of
from ._sample import without_dot

# Samples that are looked at, spread over all.
_LOOK = 64
# The suffixes of what says something of the member that is meant.
_DESCRIBES = "cls", "json"
_told: Set[str] = set()


def _looked_at(handle: Handle, samples: int) -> List[List[str]]:
    """The suffixes of some samples.  What is damaged is told where it is read."""
    some = array("Q", range(0, samples, -(-samples // _LOOK) or 1))
    try:
        return [of.suffixes for of in layouts_of(handle, some)[1]] if some else []
    except Error:
        return []


def _is_adopted(path: str) -> bool:
    try:
        with open(os.path.join(path, "dataset.yaml"), "rb") as f:
            return b"\nadopted: true\n" in f.read(4096)
    except OSError:
        return False


def _labels_of(path: str, suffixes: Sequence[str], classes: int,
               looked: List[List[str]]) -> str:
    if classes or "cls" in suffixes or not any("cls" in of for of in looked):
        return ""
    command = "hpdsl-{} --labels=cls {}{}".format(
        *(("index", shlex.quote(path), "") if _is_adopted(path) else
          ("pack", shlex.quote(path), " OUTPUT")))
    return (f"{path}: no sample has a label, so that all labels are -1; "
            f"`{command}` takes them from the members .cls")


def _data_of(path: str, suffixes: Sequence[str], looked: List[List[str]]
             ) -> str:
    for of in looked if not suffixes else ():
        meant = [one for one in of if one not in _DESCRIBES]
        if meant and of[0] in _DESCRIBES:
            return (f"{path}: data is the first member of a sample, and its "
                    f".{of[0]} comes first; with suffixes=[{meant[0]!r}] it is "
                    f"the .{meant[0]}")
    return ""


def _outside() -> int:
    """The stacklevel, seen from who asks, of the first that is no code of ours."""
    here, level = os.path.dirname(__file__), 1
    frame = sys._getframe(1)
    while frame.f_back is not None and (
            os.path.dirname(frame.f_code.co_filename) == here or
            frame.f_globals.get("__name__") == "functools"):
        frame, level = frame.f_back, level + 1
    return level


def tell_meant(handle: Handle, path: str, suffixes: Sequence[str],
               *what: str) -> None:
    """Before "labels" or "data" of a batch are used, or both: what of it was told
    to nobody yet, as a RuntimeWarning.  suffixes: that are wanted; none: all."""
    if _told.issuperset(what):
        return
    suffixes = [without_dot(of) for of in suffixes]
    counts = _abi.Counts()
    lib.count(handle.address, ctypes.byref(counts))
    looked = _looked_at(handle, counts.samples)
    texts = {"labels": _labels_of(path, suffixes, counts.classes, looked),
             "data": _data_of(path, suffixes, looked)}
    for one in what:
        if texts[one] and one not in _told:
            _told.add(one)
            warnings.warn(texts[one], RuntimeWarning, stacklevel=_outside())
