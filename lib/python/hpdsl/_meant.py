# SPDX-License-Identifier: Apache-2.0
"""What a loop may not mean, told once: that no sample has a label, though members
.cls may say it, or that some have none; and that a description comes first, as in
tars sorted by name, and so is what it gets as data."""

from __future__ import annotations

import ctypes
import os
import shlex
import sys
import warnings
from array import array
from typing import TYPE_CHECKING, List, Optional, Sequence, Set, Tuple

from . import _abi
from ._abi import lib
from ._errors import Error, checked
from ._rows import Handle, layouts_of
from ._sample import without_dot

if TYPE_CHECKING:
    from ._choice import Choice

# Samples that are looked at, spread over all.
_LOOK = 64
# The suffixes of what says something of the member that is meant.
_DESCRIBES = "cls", "json"
# Samples of a dataset whose classes are counted before a loop, which is some
# nanoseconds for each: of more nobody waits for that.
_COUNTED = 1 << 24
_told: Set[str] = set()
# Path of the dataset, digest of the choice: of these all samples have a class.
_counted: Set[Tuple[str, Optional[str]]] = set()


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


def outside() -> int:
    """The stacklevel, seen from who asks, of the first that is no code of ours."""
    here, level = os.path.dirname(__file__), 1
    frame = sys._getframe(1)
    while frame.f_back is not None and (
            os.path.dirname(frame.f_code.co_filename) == here or
            str(frame.f_globals.get("__name__")).startswith(
                ("functools", "torch.utils.data."))):
        frame, level = frame.f_back, level + 1
    return level


def tell(kind: str, text: str) -> None:
    """Once of each kind; the line that is named is the caller's of this package."""
    if kind not in _told:
        _told.add(kind)
        warnings.warn(text, RuntimeWarning, stacklevel=outside())


def tell_unlabelled(handle: Handle, path: str, choice: Optional[Choice]) -> None:
    """Before labels are used: how many samples have none, where the dataset has
    classes, and whoever made the choice has not said which labels it has."""
    counts = _abi.Counts()
    of = path, None if choice is None else choice.digest
    lib.count(handle.address, ctypes.byref(counts))
    if ("unlabelled" in _told or of in _counted or not counts.classes or
            counts.samples > _COUNTED or
            choice is not None and choice.says_labels):
        return
    times = array("Q", bytes(8 * (counts.classes + 1)))
    checked(lib.count_classes, handle.address, choice and choice.chosen.address,
            times.buffer_info()[0])
    if not times[-1]:
        _counted.add(of)
        return
    tell("unlabelled", f"{path}: {times[-1]} of {sum(times)} samples have no class "
         "and come with label -1: choice=hpdsl.Choice(ds, labels=range("
         f"{counts.classes}){', ..' if choice else ''}) leaves them out")


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
        if texts[one]:
            tell(one, texts[one])
