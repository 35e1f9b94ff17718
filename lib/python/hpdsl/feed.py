# SPDX-License-Identifier: Apache-2.0
"""A Loader's epochs in the forms that TensorFlow and DALI take.

TensorFlow asks for an iterator at the beginning of each of its epochs, and takes
bytes, a step at a time or a sample:

    for contents, labels, mask, place in hpdsl.feed.tf(loader): ...

    signature = (tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int32))
    tf.data.Dataset.from_generator(hpdsl.feed.samples(loader),
                                   output_signature=signature)

DALI's external source takes arrays, by the number of epoch and step, so that DALI's
own checkpoints go on where they were, or as they come:

    fn.external_source(hpdsl.feed.dali(loader), num_outputs=3, batch=True,
                       batch_info=True)
    fn.external_source(hpdsl.feed.Dali(loader), num_outputs=3, batch=True,
                       cycle="raise")

Both fetch steps ahead, which the loader's state counts when they are fetched.  With
place=True, which tf() always has, each output ends with epoch and step, and the
state behind what was trained on is loader.state_dict(place).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Iterator, List, Sequence, Tuple

from ._batch import Batch, suffixes_of
from ._errors import UsageError, wanted
from ._loader import Loader

__all__ = ["Dali", "batches", "dali", "samples", "tf"]


def __dir__() -> List[str]:
    return __all__


def _wanted(loader: Loader, given: Sequence[str]) -> Tuple[str, ...]:
    """What there is none of is said here, and not at the first batch."""
    wanted(Loader, "loader", loader)
    suffixes = suffixes_of(given)
    for suffix in suffixes:
        loader._wanted.check(suffix)
    return suffixes


def _members(batch: Batch, suffixes: Sequence[str]) -> List[List[memoryview]]:
    """For each suffix those of all samples; none given: the first members."""
    return [batch.members(s) for s in suffixes] or [batch.data]


def samples(loader: Loader, *suffixes: str, place: bool = False
            ) -> Callable[[], Iterator[Tuple[Any, ...]]]:
    """A function for from_generator.  Each call gives the rest of the epoch, a
    sample at a time: bytes of its first member, or of each of the members with
    these suffixes, and its label (-1: none).  What has no bytes because it is
    bad, or only fills the last step up, is left out.

    So ranks do not give equally many, and who batches these has steps on one that
    the others have not, which then wait for ever: on several ranks take batches(),
    of which each gives as many, with a mask.

    place  True: the last output is (epoch, step), of shape (2,)"""
    suffixes = _wanted(loader, suffixes)

    def epoch() -> Iterator[Tuple[Any, ...]]:
        for batch in loader:
            rows = zip(batch.mask, batch.bad, batch.labels,
                       *_members(batch, suffixes))
            at = _place(batch, place)
            for real, bad, label, *views in rows:
                if real and not bad:
                    yield (*map(bytes, views), label, *at)

    return epoch


def batches(loader: Loader, *suffixes: str, place: bool = False
            ) -> Callable[[], Iterator[Tuple[Any, ...]]]:
    """The same, a step at a time: a list of bytes for each member asked for,
    the list of labels and that of the mask, which is also False for what is
    bad."""
    suffixes = _wanted(loader, suffixes)

    def epoch() -> Iterator[Tuple[Any, ...]]:
        for batch in loader:
            yield (*([bytes(v) for v in views]
                     for views in _members(batch, suffixes)),
                   batch.labels, _counts(batch), *_place(batch, place))

    return epoch


def tf(loader: Loader, *suffixes: str, prefetch: int = 2) -> Any:
    """batches(loader, .., place=True) as a tf.data.Dataset: for each member asked for
    strings of shape (n,), labels int32 (n,), mask bool (n,), and epoch and step,
    int64 (2,).  Each iteration is the rest of the epoch; the cardinality is that of an
    epoch, or unknown where the loader begins in the midst of one, or a Choice has
    weights, by which epochs differ.

    prefetch  steps ahead"""
    tensorflow: Any = import_module("tensorflow")
    data, spec = tensorflow.data.Dataset, tensorflow.TensorSpec
    source = batches(loader, *suffixes, place=True)
    made = data.from_generator(source, output_signature=(
        *[spec((None,), tensorflow.string)] * max(1, len(suffixes)),
        spec((None,), tensorflow.int32), spec((None,), tensorflow.bool),
        spec((2,), tensorflow.int64)))
    if loader._at.next[1] == 0 and not (loader.choice and loader.choice._weighted()):
        made = made.apply(tensorflow.data.experimental.assert_cardinality(
            len(loader)))
    return made.prefetch(prefetch)


def _place(batch: Batch, wanted: bool) -> List[Tuple[int, int]]:
    return [(batch.epoch, batch.step)] if wanted else []


def _counts(batch: Batch) -> List[bool]:
    return [real and not bad for real, bad in zip(batch.mask, batch.bad)]


class Dali:
    """An iterable for external_source: each iteration is the rest of the epoch,
    a step at a time: for each member asked for a list of n arrays of uint8,
    shape (size,), then arrays of shape (n,): labels (int32, -1: none) and mask
    (bool, False also for what is bad).

    The arrays of members are the library's memory, not copies; DALI copies them
    before it asks for more.  place=True: the last output is epoch and step, the
    same for each sample: int64, shape (n, 2).  An empty one stands for what is
    missing; a decoder
    wants something in its place.  Needs NumPy, as DALI does.
    """

    def __init__(self, loader: Loader, *suffixes: str, place: bool = False
                 ) -> None:
        self._loader, self._suffixes = loader, _wanted(loader, suffixes)
        self._place = place

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        for batch in self._loader:
            yield _arrays(batch, self._suffixes, self._place)


def dali(loader: Loader, *suffixes: str, place: bool = False
         ) -> Callable[[Any], Tuple[Any, ...]]:
    """The same for DALI's checkpoints: a function of nvidia.dali.types.BatchInfo, with
    batch_info=True, that gives the step of that epoch and iteration, wherever the
    loader is; it is the pipeline's state that says where to go on, and not the
    loader's.  Steps in their order are read ahead; another one is sought."""
    suffixes = _wanted(loader, suffixes)

    def step_of(info: Any) -> Tuple[Any, ...]:
        if not hasattr(info, "epoch_idx"):
            raise UsageError("DALI's external_source has not told which epoch it is "
                             "in: say batch_info=True, and batch=True")
        at = info.epoch_idx, info.iteration
        if (loader._epochs and at[0] >= loader._until) or (
                at[1] >= loader.steps(at[0])):
            raise StopIteration
        if loader._at.next != at:
            loader.seek(*at)
        batch = loader.next_batch()
        if batch is None:
            raise StopIteration
        return _arrays(batch, suffixes, place)

    return step_of


def _arrays(batch: Batch, suffixes: Sequence[str], place: bool) -> Tuple[Any, ...]:
    import numpy as np

    return (*([np.frombuffer(v, np.uint8) if v else np.empty(0, np.uint8)
               for v in views] for views in _members(batch, suffixes)),
            np.array(batch.labels, np.int32), np.array(_counts(batch), np.bool_),
            *(np.array([of] * len(batch), np.int64)
              for of in _place(batch, place)))
