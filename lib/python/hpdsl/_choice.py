# SPDX-License-Identifier: Apache-2.0
"""Which samples an epoch has, and how often each."""

from __future__ import annotations

import ctypes
import errno
import operator
import os
from array import array
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List,
                    Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast,
                    overload)

from . import _abi
from ._abi import lib
from ._called import by_its_names, no_attribute
from ._dataset import Dataset
from ._errors import (DiffersError, NotFoundError, RangeError, UsageError,
                      checked, wanted)
from ._rows import Handle
from ._sample import Path, Sample, raw

Label = Union[int, str, None]
# Of samples chosen, as many as are asked for at a time.
_SOME = 1 << 13
_T = TypeVar("_T")


class Chosen:
    """A choice of the library's, which goes when nobody needs it any more."""

    address: Optional[int] = None

    def __init__(self, handle: Handle, options: _abi.ChoiceOptions) -> None:
        ret = ctypes.c_void_p()
        checked(lib.choose, handle.address, ctypes.byref(options),
                ctypes.byref(ret))
        self.address = ret.value

    def __del__(self, free: Callable[..., Any] = lib.choice_free) -> None:
        if self.address is not None:
            free(self.address)


class Choice:
    """Some of a dataset's samples, decided on its index alone.  A sample has to
    pass all that is given:

    labels    class numbers or names; None or -1: samples without a class
    folder    a folder of the dataset, "val" or "train/cat", or a list of them:
              all samples below; how one pack of train/ and val/ is read in parts
    tars      names of chunks or adopted tars, or patterns such as
              "train-*.tar", or a list of them: all samples in these files
    include,  patterns: a sample is in if one of its members' paths matches;
    exclude   exclude wins.  With a slash a pattern is matched against the whole
              path, "*" and "?" not crossing one, else against the base name;
              "dir/" is all below folders dir
    samples   sample numbers, in any order; one that repeats counts once
    split     (a, b), 0 <= a < b <= 1: the part from a to b of a shuffled list
              of all samples, whatever else is asked; with one split_seed, parts
              that do not overlap have no sample in common.  (0, 0.9) trains,
              (0.9, 1) validates.  With a folder, about that share of it.

    and comes once in an epoch, or as often on average as one of these says:

    balanced       each class equally often, as many samples in all as chosen;
                   those without a class count as one
    class_weight   {class number or name, or None: weight}; 1 unless given
    sample_weight  a weight for each sample of the dataset

    len(choice) is the number of samples chosen, each counted once;
    `number in choice` asks for one, and iterating gives their numbers, from the
    lowest on; choice[i] is the i-th Sample, choice[i:j] a list of them, for which
    the numbers are kept, 8 bytes each.  A loader takes it in the place of its
    dataset.  Never changes; any number of threads may use it.  Goes to other
    processes with its dataset.

    dataset  a Dataset, or the path of one.  Of which it is a part, and whose
             numbers samples and classes have

    Raises UsageError for what makes no sense, or leaves not one sample.
    """

    @by_its_names("Choice")
    def __init__(self, dataset: Union[Dataset, Path], *,
                 labels: Optional[Iterable[Label]] = None,
                 folder: Union[Path, Iterable[Path], None] = None,
                 tars: Union[Path, Iterable[Path], None] = None,
                 include: Sequence[str] = (), exclude: Sequence[str] = (),
                 samples: Optional[Iterable[int]] = None,
                 split: Optional[Tuple[float, float]] = None,
                 split_seed: int = 0, balanced: bool = False,
                 class_weight: Optional[Mapping[Label, float]] = None,
                 sample_weight: Optional[Iterable[float]] = None) -> None:
        dataset = _opened(dataset)
        if samples is not None:
            samples = _numbers(samples)
        if sample_weight is not None:
            sample_weight = array("d", sample_weight)
        self.dataset: Dataset = dataset
        self._kept: Optional[array[int]] = None
        self._given: Dict[str, Any] = dict(
            labels=None if labels is None else _listed("labels", labels),
            folder=_names("folder", folder), tars=_names("tars", tars),
            include=_listed("include", include),
            exclude=_listed("exclude", exclude),
            samples=samples, split=split, split_seed=split_seed,
            balanced=balanced, class_weight=class_weight,
            sample_weight=sample_weight)
        options = _Options(dataset, **self._given)
        # Without the dataset: a loader keeps it.
        self.chosen: Chosen = Chosen(dataset.handle(), options.c)
        digest = (ctypes.c_uint8 * 16)()
        lib.choice_digest(self.chosen.address, digest)
        self.digest: str = bytes(digest).hex()

    def __len__(self) -> int:
        return lib.choice_samples(self.chosen.address)

    def _weighted(self) -> bool:
        """Whether epochs may differ in their length."""
        given = self._given
        return (bool(given["balanced"]) or given["class_weight"] is not None or
                given["sample_weight"] is not None)

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self.dataset) and lib.choice_has(
            self.chosen.address, number)

    def __iter__(self) -> Iterator[int]:
        at, some = 0, array("Q", bytes(8 * _SOME))
        while True:
            n = lib.choice_list(self.chosen.address, at, some.buffer_info()[0], _SOME)
            yield from some[:n]
            if n < _SOME:
                return
            at = some[-1] + 1

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> List[Sample]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Sample, List[Sample]]:
        if self._kept is None:
            self._kept = array("Q", self)
        if isinstance(index, slice):
            return self.dataset.read_many(self._kept[index])
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise RangeError(f"no sample {at} of a choice of {len(self)}",
                             -errno.ERANGE)
        return self.dataset[self._kept[at]]

    def within(self, samples: Iterable[int]) -> "Choice":
        """What it has of these samples, with its weights."""
        given = self._given["samples"]
        both = _numbers(samples) if given is None else array(
            "Q", sorted(set(given).intersection(samples)))
        options: Dict[str, Any] = {**self._given, "samples": both}
        return Choice(self.dataset, **options)

    @property
    def says_labels(self) -> bool:
        """Whether it was made by labels, so that who made it knows which."""
        return self._given["labels"] is not None

    @property
    def class_names(self) -> List[str]:
        """Those of the whole dataset: class_names[label]."""
        return self.dataset.class_names

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            raise no_attribute("Choice", name, self.__dict__.get("dataset"))

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (self.dataset, self._given)

    def __repr__(self) -> str:
        return (f"<hpdsl.Choice {self.digest} of {self.dataset.path!r}, "
                f"{len(self)} samples>")


def opened(given: Any, choice: Optional[Choice] = None
           ) -> Tuple[Dataset, Optional[Choice]]:
    """A Dataset as it is; that of a path, opened; that of a Choice, with it."""
    if isinstance(given, Choice):
        if choice is not None:
            raise UsageError("choice: the dataset that was given is one itself")
        return given.dataset, given
    return _opened(given), choice


def _opened(given: Any) -> Dataset:
    if isinstance(given, (str, bytes, os.PathLike)):
        return Dataset(given)
    wanted(Dataset, "dataset", given)
    return cast(Dataset, given)


def address_of(choice: Optional[Choice], dataset: Dataset) -> Optional[int]:
    """For the library, which cannot tell that numbers of samples are of another
    pack."""
    if choice is None:
        return None
    wanted(Choice, "choice", choice)
    of = choice.dataset
    if of.path != dataset.path and of.pack != dataset.pack:
        raise DiffersError(f"choice: of {of.path}, which is another pack than "
                           f"{dataset.path}")
    return choice.chosen.address


def _again(dataset: Dataset, given: Dict[str, Any]) -> Choice:
    return Choice(dataset, **given)


def _listed(name: str, given: Iterable[_T]) -> List[_T]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name}: wanted a list, not one string")
    return list(given)


def _names(name: str, given: Union[Path, Iterable[Path], None]
           ) -> Optional[List[bytes]]:
    """Of folders or files, one or several."""
    if given is None:
        return None
    if isinstance(given, (str, bytes, os.PathLike)):
        given = [given]
    names = [raw(of) for of in given]
    if not names:
        raise UsageError(f"{name}: there are none")
    for of in names:
        if b"\0" in of:
            raise UsageError(f"{name} {of!r}: a NUL")
    return names


def _numbers(given: Iterable[int]) -> array[int]:
    try:
        return array("Q", given)
    except OverflowError as e:
        raise UsageError(f"samples: a number that is none: {e}") from e


class _Options:
    """The options as the library takes them, with the arrays that they point
    to."""

    def __init__(self, dataset: Dataset, labels: Optional[List[Label]],
                 folder: Optional[List[bytes]], tars: Optional[List[bytes]],
                 include: List[str], exclude: List[str],
                 samples: Optional[array[int]],
                 split: Optional[Tuple[float, float]], split_seed: int,
                 balanced: bool, class_weight: Optional[Mapping[Label, float]],
                 sample_weight: Optional[array[float]]) -> None:
        if not 0 <= split_seed < 1 << 64:
            raise UsageError(f"split_seed {split_seed}")
        self.c = c = _abi.ChoiceOptions(split_seed=split_seed,
                                        balanced=balanced)
        self.kept: List[Any] = []
        if labels is not None:
            numbers = array("I", (_label(dataset, of) & 0xffffffff
                                  for of in labels))
            if not numbers:
                raise UsageError("labels: there are none")
            c.labels, c.n_labels = self._keep(numbers)
        c.folders, c.n_folders = self._strings(folder or ())
        c.tars, c.n_tars = self._strings(tars or ())
        c.include, c.n_include = self._strings(include)
        c.exclude, c.n_exclude = self._strings(exclude)
        if samples is not None:
            if not samples:
                raise UsageError("samples: there are none")
            c.samples, c.n_samples = self._keep(samples)
        if split is not None:
            c.split_from, c.split_to = _split(split)
        if class_weight is not None:
            c.class_weight, _ = self._keep(_weights(
                _of_classes(dataset, class_weight)))
        if sample_weight is not None:
            if len(sample_weight) != len(dataset):
                raise UsageError(f"sample_weight: {len(sample_weight)} for "
                                 f"{len(dataset)} samples")
            c.sample_weight, _ = self._keep(_weights(sample_weight))

    def _keep(self, numbers: array[int]) -> Tuple[int, int]:
        self.kept.append(numbers)
        return numbers.buffer_info()

    def _strings(self, strings: Sequence[Path]) -> Tuple[Optional[int], int]:
        if not strings:
            return None, 0
        kept = (ctypes.c_char_p * len(strings))(*map(raw, strings))
        self.kept.append(kept)
        return ctypes.addressof(kept), len(kept)


def _label(dataset: Dataset, of: Label) -> int:
    if of is None:
        return -1
    if isinstance(of, str):
        if of not in dataset.class_names:
            raise _no_class(dataset, of)
        return dataset.class_names.index(of)
    if not -1 <= of < dataset.counts.classes:
        raise UsageError(f"{dataset.path}: no class {of}, there are "
                         f"{dataset.counts.classes}")
    return operator.index(of)


def _no_class(dataset: Dataset, of: str) -> UsageError:
    try:
        checked(lib.class_find, dataset.handle().address, raw(of),
                ctypes.byref(ctypes.c_uint32()))
    except NotFoundError as e:
        return UsageError(f"{dataset.path}: {e}")
    return UsageError(f"{dataset.path}: no class {of!r}")  # with a NUL


def _split(split: Tuple[float, float]) -> Tuple[int, int]:
    """In billionths: of (0, 0) the library would make no split at all."""
    if not isinstance(split, (tuple, list)) or len(split) != 2:
        folder = f"folder={split!r}" if isinstance(split, str) else "folder=\"val\""
        raise UsageError(f"split {split!r}: wanted (a, b), a share as (0, 0.9); what "
                         f"lies in a folder is {folder}")
    a, b = split
    if not 0 <= a < b <= 1:
        raise UsageError(f"split ({a}, {b}): wanted 0 <= a < b <= 1")
    begin, end = round(a * _abi.SPLIT_ONE), round(b * _abi.SPLIT_ONE)
    if begin == end:  # (0, 0) would be no split at all
        raise UsageError(f"split ({a}, {b}): less than a billionth")
    return begin, end


def _of_classes(dataset: Dataset, given: Mapping[Label, float]
                ) -> List[float]:
    """A weight for each class, and at the end for samples without one."""
    weights = [1.0] * (dataset.counts.classes + 1)
    for of, weight in given.items():
        weights[_label(dataset, of)] = weight
    return weights


def _weights(given: Iterable[float]) -> array[int]:
    try:
        return array("Q", (round(w * _abi.WEIGHT_ONE) for w in given))
    except (OverflowError, ValueError) as e:
        raise UsageError(f"a weight that is none: {e}") from e
