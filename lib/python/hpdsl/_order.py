# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch: a pure function, defined in hpdsl-order(7)."""

from __future__ import annotations

import ctypes
import errno
import operator
from dataclasses import asdict, dataclass
from typing import List, NamedTuple, Optional

from . import _abi
from ._abi import lib
from ._choice import Choice, address_of
from ._dataset import Dataset
from ._errors import RangeError, UsageError, checked, wanted

# Of a step, as a list: gigabytes.
_PLACES_MOST = 1 << 24


@dataclass(frozen=True)
class Order:
    """Parameters of an order; 0 stands for the default, in brackets.

    seed, epoch  any numbers
    step         where to begin in the epoch
    window       W: chunks that are shuffled together, in each lane [16]
    lanes        L: a multiple of parts [8, or the next multiple]
    run          K: samples in a row that come from one lane [32]
    step_runs    Q: runs a step [8]; a step has run * step_runs samples, of all
                 ranks together
    parts        D: of a dataset that was staged in parts [1]
    """

    seed: int = 0
    epoch: int = 0
    step: int = 0
    window: int = 0
    lanes: int = 0
    run: int = 0
    step_runs: int = 0
    parts: int = 0

    def __post_init__(self) -> None:
        for name, kind in _abi.Order._fields_:
            try:
                value = operator.index(getattr(self, name))
            except TypeError as e:
                raise TypeError(f"order: {name}: {e}") from e
            if not 0 <= value < 1 << 8 * ctypes.sizeof(kind):
                raise UsageError(f"order: {name} {value}")
            object.__setattr__(self, name, value)  # a number of numpy's, too

    def _c(self) -> _abi.Order:
        return _abi.Order(**asdict(self))

    @classmethod
    def _of(cls, c: _abi.Order) -> "Order":
        return cls(*(getattr(c, name) for name, _ in _abi.Order._fields_))


def end_number(end: str) -> int:
    if end not in _abi.ENDS:
        raise UsageError(f"end {end!r}: not one of {', '.join(_abi.ENDS)}")
    return _abi.ENDS[end]


def share_of(rank: int, ranks: int, worker: int, workers: int, uneven: bool
             ) -> _abi.Share:
    for name, of, n in (("rank", rank, ranks), ("worker", worker, workers)):
        if not 0 <= of < n < 1 << 32:
            raise UsageError(f"{name} {of} of {n}")
    return _abi.Share(rank, ranks, worker, workers, uneven)


class Place(NamedTuple):
    """A place of a step: the position in the epoch and the number of the sample
    there; real is False where it only fills the last step up."""

    position: int
    sample: int
    real: bool


class Cost(NamedTuple):
    """What a window costs, in bytes as stored: of the largest window, and of
    those of all lanes at a time; reads, the smallest and the median of them.

    Then, what it is worth: how much likelier than in a full shuffle two samples
    of one chunk meet in a step, as expected, and as measured in this epoch; nan
    where no chunk has two."""

    window_bytes: int
    job_bytes: int
    reads: int
    smallest_read: int
    median_read: int
    mates_expected: float
    mates_measured: float


class Epoch:
    """The order of one epoch, without reading anything of it.

    len(epoch) is the number of its positions; epoch[p] is the number of the
    sample at position p, and for number in epoch gives them all.  order has
    the parameters with defaults filled in; batch is the number of samples of a
    step.  Never changes; any number of threads may use it.

    Raises UsageError for parameters that make no sense, RangeError for no such
    position or step.
    """

    address: Optional[int] = None

    def __init__(self, dataset: Dataset, order: Order = Order(),
                 choice: Optional[Choice] = None) -> None:
        wanted(Dataset, "dataset", dataset)
        wanted(Order, "order", order)
        self._dataset, self._choice = dataset, choice
        self._given = order
        handle, ret = dataset.handle(), ctypes.c_void_p()
        checked(lib.epoch_new, handle.address, address_of(choice, dataset),
                ctypes.byref(order._c()), ctypes.byref(ret))
        self.address = ret.value
        info = _abi.EpochInfo()
        lib.epoch_info(self.address, ctypes.byref(info))
        self.order = Order._of(info.order)
        self.chunks, self.windows = info.chunks, info.windows
        self.batch, self._samples = info.batch, info.samples

    def __del__(self, free=lib.epoch_free) -> None:
        if self.address is not None:
            free(self.address)

    def __reduce__(self):
        return Epoch, (self._dataset, self._given, self._choice)

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, position: int) -> int:
        position = operator.index(position)
        if position < 0:
            position += len(self)
        if not 0 <= position < len(self):
            raise RangeError(f"no position {position}, there are "
                             f"{len(self)}", -errno.ERANGE)
        ret = ctypes.c_uint64()
        checked(lib.epoch_at, self.address, position, ctypes.byref(ret))
        return ret.value

    def __iter__(self):
        for step in range(self.steps()):
            for place in self.step(step):
                if place.real:
                    yield place.sample

    def steps(self, end: str = "mask") -> int:
        """Steps of the epoch, the same for every rank."""
        return lib.epoch_steps(self.address, end_number(end))

    def step(self, step: int, *, rank: int = 0, ranks: int = 1,
             end: str = "mask", uneven: bool = False) -> List[Place]:
        """The places of a step that are this rank's, in its order.  ranks has
        to divide step_runs unless uneven; end is "mask", "repeat" or "drop",
        see Loader."""
        share = share_of(rank, ranks, 0, 1, uneven)
        if step < 0:
            raise RangeError(f"no step {step}, the epoch has "
                             f"{self.steps(end)}", -errno.ERANGE)
        room = self.batch
        if room > _PLACES_MOST:
            raise UsageError(f"{room} samples a step are too many: "
                             f"{_PLACES_MOST} at most")
        places = (_abi.Place * room)()
        n = checked(lib.epoch_step, self.address, end_number(end), step,
                    ctypes.byref(share), places, room)
        view = memoryview(places).cast("B")[:n * ctypes.sizeof(_abi.Place)]
        words, flags = view.cast("Q").tolist(), view.tolist()
        return list(map(Place, words[0::3], words[1::3],
                        map(bool, flags[_abi.Place.real.offset::24])))

    def cost(self) -> Cost:
        handle, ret = self._dataset.handle(), _abi.EpochCost()
        checked(lib.epoch_cost, self.address, handle.address,
                ctypes.byref(ret))
        return Cost(*(getattr(ret, name) for name in Cost._fields))
