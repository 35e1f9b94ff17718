# SPDX-License-Identifier: Apache-2.0
"""What hpdsl.torch.Loader makes of an ImageFolder: which samples it reads, which
member of each, and what becomes of it."""

from __future__ import annotations

from array import array
from typing import (Any, Callable, Dict, Iterable, List, NamedTuple, Optional,
                    Sequence, Tuple, Union)

import torch.utils.data as data

from . import _abi
from ._abi import lib
from ._choice import Choice, address_of
from ._dataset import Dataset
from ._errors import UsageError, checked
from ._file import ContentFile
from ._folder import DatasetFolder
from ._listing import Samples
from ._packed import paths_of
from ._parcel import Decoder
from ._sample import raw, text

_NONE = -1
# Members of this many suffixes are read of a sample where its first one is not
# the one that is wanted.
_SUFFIXES = 16


class Reading(NamedTuple):
    """What Loader needs; choice None: all samples, suffixes (): the first
    member."""

    dataset: Dataset
    choice: Optional[Choice]
    suffixes: Sequence[str]
    decoder: Decoder


class _File(ContentFile):
    """Its name is looked up by who asks for it."""

    def __init__(self, content: Union[bytes, memoryview], of: Any) -> None:
        super().__init__(content, of)

    @property  # type: ignore[override]
    def name(self) -> str:
        folder, number, which = self._of
        files = [m for m in folder.dataset.members(number) if not m.generated]
        return folder._all.outside(files[which].path)

    @name.setter
    def name(self, of: Any) -> None:
        self._of = of


class FolderDecoder(Decoder):
    """Items and targets as the folder gives them.

    target  of each sample of the dataset
    before  how many members it has before the one that is wanted; None: none
    which   which of the suffixes that has; None: it is the first member
    """

    def __init__(self, folder: DatasetFolder, target: array[int],
                 before: Optional[array[int]], which: Optional[bytearray],
                 collate: Union[Callable[..., Any], str, None]) -> None:
        super().__init__(self._item, collate)
        self._folder, self._target = folder, target
        self._before, self._which = before, which

    def __getstate__(self) -> Any:
        return {**self.__dict__, "decode": None}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state, decode=self._item)

    def _place(self, number: int) -> int:
        return self._before[number] if self._before else 0

    def _item(self, content: memoryview, number: int) -> Any:
        folder, before = self._folder, self._place(number)
        item = folder.loader(_File(content, (folder, number, before)))
        return item if folder.transform is None else folder.transform(item)

    def item(self, members: Sequence[memoryview], number: int) -> Any:
        which = self._which
        return self._item(members[which[number] if which else 0], number)

    def where(self, dataset: Dataset, number: int, suffixes: Sequence[str]
              ) -> str:
        file = _File(b"", (self._folder, number, self._place(number)))
        return f"sample {number}, {file.name!r}"

    def labels(self, labels: Sequence[int], numbers: Sequence[int]) -> Any:
        targets = [self._target[number] for number in numbers]
        transform = self._folder.target_transform
        if transform is None:
            return targets
        return data.default_collate([transform(of) for of in targets]),


def reading_of(folder: DatasetFolder,
               collate: Union[Callable[..., Any], str, None],
               choice: Optional[Choice] = None) -> Reading:
    """choice: of the folder's dataset; None: all of its samples.  UsageError: it
    cannot be read in large reads."""
    dataset, samples = folder.dataset, folder.samples
    assert dataset is not None  # that of a tree was refused
    address_of(choice, dataset)  # or it is none of this dataset
    numbers, targets = _members(folder, dataset)
    seats = (_abi.Seat * len(numbers))()
    checked(lib.member_seats, dataset.handle().address,
            numbers.buffer_info()[0], len(numbers), seats)
    seat = memoryview(seats).cast("B").cast("Q")
    target, taken = array("q", [_NONE]) * len(dataset), bytearray(len(dataset))
    for k, (sample, of) in enumerate(zip(seat[::2], targets)):
        if taken[sample]:
            raise _twice(samples, seat, k)
        taken[sample] = 1
        try:
            target[sample] = of
        except (TypeError, OverflowError) as e:
            raise UsageError(f"{samples[k][0]}: target {of!r}: wanted a whole "
                             "number") from e
    before = which = None
    suffixes: List[str] = []
    if any(seat[1::2]):
        before, which, suffixes = _later(dataset, numbers, seat)
    if not all(taken):
        choice = (choice.within(seat[::2]) if choice is not None else
                  Choice(dataset, samples=seat[::2]))
    return Reading(dataset, choice, suffixes, FolderDecoder(
        folder, target, before, which, collate))


def _members(folder: DatasetFolder, dataset: Dataset
             ) -> Tuple[array[int], Iterable[Any]]:
    """Numbers of the files' members, and their targets."""
    samples = folder.samples
    if not len(samples):
        raise UsageError(f"{folder.root}: there are no samples")
    if isinstance(samples, Samples):
        return samples.numbers(), samples.targets()
    numbers, targets = array("Q"), []
    for path, target in samples:
        numbers.append(dataset.find(folder.inside_of(path)).number)
        targets.append(target)
    return numbers, targets


def _twice(samples: Sequence[Tuple[str, Any]], seat: memoryview, k: int) -> UsageError:
    one = samples[seat[::2].tolist().index(seat[2 * k])][0]
    other = samples[k][0]
    if one == other:
        return UsageError(f"{one}: is there twice; a Choice with weights gives "
                          "samples more often")
    return UsageError(f"{one} and {other} are members of one sample; packed "
                      "with --group=none each file is one")


def _has(dataset: Dataset, sample: int, n: int, suffix: str) -> bool:
    """Is a suffix that of one of the first n files of a sample?"""
    size = len(raw(dataset.key(sample))) + 1
    files = [m for m in dataset.members(sample) if not m.generated]
    return any(text(raw(m.path)[size:]) == suffix for m in files[:n])


def _later(dataset: Dataset, numbers: array[int], seat: memoryview
           ) -> Tuple[array[int], bytearray, List[str]]:
    """Where the members that are wanted are not the first ones: they are asked
    for by their suffixes."""
    handle = dataset.handle()
    before, which = array("Q", [0]) * len(dataset), bytearray(len(dataset))
    found: Dict[str, int] = {}
    for path, sample, place in zip(paths_of(dataset, numbers), seat[::2],
                                   seat[1::2]):
        name = raw(path)
        suffix = text(name[lib.dataset_key_length(handle.address, name,
                                                  len(name)) + 1:])
        # The first member of a suffix is what is read.
        if place and _has(dataset, sample, place, suffix):
            raise UsageError(f"{path}: a member before it in its sample has its "
                             "suffix; packed with --group=none each file is one")
        number = found.setdefault(suffix, len(found))
        if number == _SUFFIXES:
            raise UsageError(
                f"{dataset.path}: files of more than {_SUFFIXES} suffixes are "
                "in samples with others: packed with --group=none each file is "
                "a sample")
        before[sample], which[sample] = place, number
    # A dot in front is passed over, and a suffix may begin with one.
    return before, which, ["." + suffix for suffix in found]
