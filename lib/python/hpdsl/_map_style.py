# SPDX-License-Identifier: Apache-2.0
"""A dataset, map style, for PyTorch, and the steps of an order over it: workers
read for themselves."""

from __future__ import annotations

import warnings
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, List,
                    NamedTuple, NoReturn, Optional, Set, Union, overload)

import torch.utils.data as data

from ._batch import check_options, leave_out, suffixes_of
from ._choice import Choice
from ._contents import contents_in
from ._course import Course, whose
from ._dataset import Dataset
from ._errors import DiffersError, UsageError, annotate, one, wanted
from ._job import LEFT_OUT, Dealt
from ._loop import Loop, T
from ._meant import tell_meant, tell_unlabelled
from ._measured import is_measured
from ._orphan import watch_trainer
from ._parcel import Decoder, check_takes, finished, sample_of, tell_bytes
from ._rank import check_trainer
from ._rest import tell_no_step
from ._sample import Sample, without_dot
from ._session import not_ours, same
from ._torch_batch import Batch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import MapLoaderOptions, SamplerOptions


class Places(NamedTuple):
    """What Sampler yields: the sample numbers of a step, those of this rank,
    whether they count, and how the epoch is dealt to all ranks."""

    numbers: List[int]
    mask: List[bool]
    epoch: int
    step: int
    dealt: Dealt


class Samples(data.Dataset):
    """A dataset, map style: samples[n] is (what decode made of it, its label),
    samples[places] the Batch of a step that Sampler has yielded.

    decode, collate  as for Loader
    suffixes         of the members that decode gets; None: the first one.  One
                     that no sample has is a UsageError; what some lack is
                     empty, and a RuntimeWarning, once
    """

    def __init__(self, dataset: Dataset, *,
                 decode: Optional[Callable[..., Any]] = None,
                 collate: Union[Callable[..., Any], str, None] = None,
                 suffixes: Optional[Iterable[str]] = None) -> None:
        wanted(Dataset, "dataset", dataset)
        self.dataset = dataset
        self.suffixes = suffixes_of(suffixes or ()) or None
        self._names = tuple(map(without_dot, self.suffixes or ()))
        check_options(dataset.handle(), None, self.suffixes or ())
        tell_meant(dataset.handle(), dataset.path, self._names, "labels", "data")
        self._told: Set[str] = set()
        self._decoder = Decoder(decode, collate)
        check_takes(decode, self._names)

    def __repr__(self) -> str:
        return f"<hpdsl.torch.Samples of {whose(self)}, {len(self)} samples>"

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Union[int, Places]) -> Any:
        watch_trainer()
        if isinstance(index, Places):
            return self._batch(index)
        sample = self.dataset[one(index)]
        members = self._members(sample)
        try:
            return self._decoder.decode(*members), sample.label
        except Exception as e:
            tell_bytes(e)
            annotate(e, self._where(sample.number))
            raise

    def _where(self, number: int) -> str:
        return self._decoder.where(self.dataset, number, self._names)

    def _members(self, sample: Sample) -> List[memoryview]:
        if not self._names:
            return [memoryview(sample.data)]
        for name in self._names:
            if name not in sample.members:
                self._tell(name, sample.number, sample.key)
        return [memoryview(sample.members.get(name, b""))
                for name in self._names]

    def _tell(self, name: str, number: int, key: str) -> None:
        if name not in self._told:
            self._told.add(name)
            warnings.warn(f"sample {number} {key!r} has no member of suffix "
                          f"{name!r}: such samples come without its bytes"
                          f"; {leave_out(name)}",
                          RuntimeWarning)

    def _batch(self, places: Places) -> Any:
        if self._decoder.raw:
            name = self._names[0] if self._names else None
            whole, sizes, labels, lacking = self.dataset._read_one_member(
                places.numbers, name)
            if lacking and name is not None:
                self._tell(name, *lacking[0])
            return finished(contents_in(whole, sizes), labels, *places[:4],
                            [False] * len(labels), places.dealt)
        samples = self.dataset.read_many(places.numbers)
        try:
            return self._decoder.batch(
                map(self._members, samples), [False] * len(samples),
                [sample.label for sample in samples], *places)
        except Exception as e:
            number = sample_of(e)
            if number is not None:
                annotate(e, self._where(number))
            raise


# Lightning deals a DistributedSampler out no more, and a DataLoader without a batch_size
# has a BatchSampler where others have samplers: so Accelerate asks for its sampler.
class Sampler(data.DistributedSampler, data.BatchSampler):
    """The same steps for a map-style dataset:
    DataLoader(samples, sampler=sampler, batch_size=None).  Each iteration gives
    the rest of the epoch that seek() set, as Places.  Arguments, as far as they
    say which samples come, are those of Loader."""

    def __init__(self, dataset: Dataset, batch_size: int = LEFT_OUT,
                 **options: Unpack[SamplerOptions]) -> None:
        self.course = Course(dataset, batch_size, **options)

    def seek(self, epoch: int, step: int = 0) -> None:
        """The next iteration gives the rest of that epoch."""
        self.course.seek(epoch, step)

    @property
    def dataset(self) -> Union[Dataset, Choice]:
        """Of whose samples the steps are."""
        return self.course.part

    @property
    def sampler(self) -> NoReturn:
        """There is none below it.  Accelerate's prepare(), which looks for one, would
        leave this one out, or deal its steps to ranks again."""
        raise UsageError(
            "Accelerate's prepare() loses the Sampler of a DataLoader, or deals its "
            "steps out to ranks once more: this DataLoader is its rank's already, so "
            "leave it out there, or take hpdsl.torch.Loader, which prepare() leaves "
            "as it is")

    def set_epoch(self, epoch: int) -> None:
        """seek() to its beginning, for frameworks that say it before each epoch,
        unless that was done to a step of it and nothing was given since."""
        if self.course.elsewhere(epoch):
            self.course.seek(epoch)

    def __repr__(self) -> str:
        return f"<hpdsl.torch.Sampler of {whose(self.course)}>"

    def __len__(self) -> int:
        """Steps of the epoch that seek() set, all of them."""
        course = self.course
        return course.epoch_of(course.epoch).steps(course.end)

    def __iter__(self) -> Iterator[Places]:
        course = self.course
        course.begin()
        tell_unlabelled(course.dataset.handle(), course.dataset.path,
                        course.choice)
        epoch, first = course.epoch, course.step
        order, repeat = course.epoch_of(epoch), course.end == "repeat"
        if not order.steps(course.end):
            tell_no_step(order.batch)
        rank, ranks, _ = course.ranks
        dealt = course.dealt(epoch)
        for number in range(first, order.steps(course.end)):
            places = order.step(number, rank=rank, ranks=ranks,
                                end=course.end, uneven=course.uneven)
            yield Places([p.sample for p in places],
                         [p.real or repeat for p in places], epoch, number,
                         dealt)


class MapLoader(Loop[T]):
    """As Loader, of Samples and a Sampler: workers read for themselves.
    loader is the DataLoader, to which the options go."""

    @overload
    def __init__(self: "MapLoader[Batch]", samples: Samples, sampler: Sampler,
                 *, form: None = None,
                 **options: Unpack[MapLoaderOptions]) -> None: ...

    @overload
    def __init__(self, samples: Samples, sampler: Sampler, *,
                 form: Callable[[Batch], T],
                 **options: Unpack[MapLoaderOptions]) -> None: ...

    def __init__(self, samples: Samples, sampler: Sampler, *,
                 form: Optional[Callable[[Batch], Any]] = None,
                 **options: Any) -> None:
        if not isinstance(samples, Samples) or not isinstance(sampler, Sampler):
            raise TypeError("wanted Samples and a Sampler")
        course = sampler.course
        if not _same_pack(samples.dataset, course.dataset):
            raise DiffersError(
                f"sampler: of {course.dataset.path}, which is another pack "
                f"than {samples.dataset.path}")
        not_ours("MapLoader", options)
        self.form, self.course = form, course
        self.loader = data.DataLoader(samples, batch_size=None,
                                      sampler=sampler, collate_fn=same,
                                      **options)

    def __iter__(self) -> Iterator[T]:
        mine = self._newest = object()
        check_trainer("MapLoader")
        self._tell_going_on()
        self.course.begin()
        if not self._begin():
            return
        steps = self.course.steps(self.epoch)
        for batch in self.loader:
            # Steps that are played are of no epoch, and have no end.
            played = is_measured()
            if played and self.step >= steps:
                break
            yield self._handed(batch, played)
            self._still(mine)
        self._ended(self.epoch)


def _same_pack(one: Dataset, other: Dataset) -> bool:
    """Cheaper to see than by the packs' names."""
    return one.handle().digest() == other.handle().digest()
