# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch: a pure function, defined in hpdsl-order(7)."""

from __future__ import annotations

import ctypes
import errno
import operator
import re
from dataclasses import dataclass
from typing import (Any, Callable, Dict, Iterator, List, NamedTuple, Optional,
                    Sequence, Tuple, Union)

from . import _abi
from ._abi import lib
from ._batch import suffixes_of
from ._choice import Choice, address_of
from ._dataset import Dataset
from ._errors import (NotFoundError, RangeError, UsageError, checked, number,
                      wanted)
from ._sample import raw

Size = Union[int, str]
_SIZE = re.compile(r"([0-9]{1,20})(?:([KMGTkmgt])([iI]?[bB])?)?")

# Of a step, as a list: gigabytes.
_PLACES_MOST = 1 << 24


@dataclass(frozen=True)
class Order:
    """Parameters of an order, defined in hpdsl-order(7).  Of those from batch to
    parts 0 stands for a default that follows from the dataset, the choice and
    the number of ranks.

    seed, epoch  any numbers
    step         where to begin in the epoch
    batch        samples of a step, of all ranks together
    lanes        streams that are read at a time: a multiple or a divisor of
                 batch
    piece        samples in a row that a lane reads
    windows      parts of an epoch that are shuffled by themselves; 1 mixes as
                 a full shuffle does
    parts        of a dataset that was staged in parts
    shuffle      False: stored order; lanes, piece, windows and parts play no
                 part
    """

    seed: int = 0
    epoch: int = 0
    step: int = 0
    batch: int = 0
    lanes: int = 0
    piece: int = 0
    windows: int = 0
    parts: int = 0
    shuffle: bool = True

    def __post_init__(self) -> None:
        for name, kind in _NUMBERS.items():
            object.__setattr__(self, name, number(
                "order: " + name, getattr(self, name),
                8 * ctypes.sizeof(kind)))
        object.__setattr__(self, "shuffle", bool(self.shuffle))

    def _c(self) -> _abi.Order:
        return _abi.Order(plain=not self.shuffle, **{
            name: getattr(self, name) for name in _NUMBERS})

    @classmethod
    def _of(cls, c: _abi.Order) -> "Order":
        return cls(shuffle=not c.plain, **{
            name: getattr(c, name) for name in _NUMBERS})


_NUMBERS: Dict[str, Any] = {field[0]: field[1] for field in _abi.Order._fields_
                            if field[0] != "plain"}


def filled(order: Order, dataset: Dataset, choice: Optional[Choice] = None,
           batch_size: int = 0, ranks: int = 1, workers: int = 1) -> Order:
    """With the defaults of a job that is started so."""
    wanted(Dataset, "dataset", dataset)
    wanted(Order, "order", order)
    start = _abi.OrderStart(address_of(choice, dataset),
                            number("batch_size", batch_size),
                            number("ranks", ranks), number("workers", workers))
    c, handle = order._c(), dataset.handle()
    checked(lib.order_fill, handle.address, ctypes.byref(start),
            ctypes.byref(c))
    return Order._of(c)


def end_number(end: str) -> int:
    if end not in _abi.ENDS:
        raise UsageError(f"end {end!r}: not one of {', '.join(_abi.ENDS)}")
    return _abi.ENDS[end]


def share_of(rank: int, ranks: int, worker: int, workers: int, uneven: bool
             ) -> _abi.Share:
    share = [number(name, n) for name, n in (
        ("rank", rank), ("ranks", ranks), ("worker", worker),
        ("workers", workers))]
    for name, of, n in (("rank", share[0], share[1]),
                        ("worker", share[2], share[3])):
        if of >= n:
            raise UsageError(f"{name} {of} of {n}")
    return _abi.Share(*share, uneven)


class Place(NamedTuple):
    """A place of a step: the position in the epoch and the number of the sample
    there; real is False where it only fills the last step up."""

    position: int
    sample: int
    real: bool


class Cost(NamedTuple):
    """What a loader of this share does to read these steps; bytes as stored.

    steps        how many
    lanes        that have samples of the rank
    share_bytes  that are read of a lane at a time, at most
    piece_bytes  the mean of pieces; of those that are larger than a chunk or
                 a lane, what one read can have of them
    cure         a memory with which reads are not smaller than pieces; 0: they
                 are not
    reads        of chunk files, and their read_bytes
    wanted_bytes of the rank's samples
    median_read  half of the bytes are in reads of no more
    held_peak    bytes held at a time for steps that are not over
    first_batch  bytes until the first step is there
    step_pieces, step_chunks
                 that a step has samples of, on average
    mates        how much more often than in a full shuffle two samples of one
                 chunk meet in a step; nan where no chunk has two
    """

    steps: int
    lanes: int
    share_bytes: int
    piece_bytes: int
    cure: int
    reads: int
    read_bytes: int
    wanted_bytes: int
    median_read: int
    held_peak: int
    first_batch: int
    step_pieces: float
    step_chunks: float
    mates: float


class Epoch:
    """The order of one epoch, without reading anything of it.

    len(epoch) is the number of its positions; epoch[p] is the number of the
    sample at position p, and for number in epoch gives them all.  order has
    the parameters with defaults filled in, those of a job that is started with
    batch_size and ranks; batch is the number of samples of a step.  Never
    changes; any number of threads may use it.

    Raises UsageError for parameters that make no sense, RangeError for no such
    position or step.
    """

    address: Optional[int] = None

    def __init__(self, dataset: Dataset, order: Order = Order(),
                 choice: Optional[Choice] = None, *, batch_size: int = 0,
                 ranks: int = 1) -> None:
        order = filled(order, dataset, choice, batch_size, ranks)
        self._dataset, self._choice = dataset, choice
        handle, ret = dataset.handle(), ctypes.c_void_p()
        checked(lib.epoch_new, handle.address, address_of(choice, dataset),
                ctypes.byref(order._c()), ctypes.byref(ret))
        self.address = ret.value
        info = _abi.EpochInfo()
        lib.epoch_info(self.address, ctypes.byref(info))
        self.order = Order._of(info.order)
        self.chunks, self._samples = info.chunks, info.samples
        self.batch = self.order.batch

    def __del__(self, free: Callable[..., Any] = lib.epoch_free) -> None:
        if self.address is not None:
            free(self.address)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Epoch, (self._dataset, self.order, self._choice)

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

    def __iter__(self) -> Iterator[int]:
        for step in range(self.steps()):
            for place in self.step(step):
                if place.real:
                    yield place.sample

    def where(self, sample: int, nth: int = 0) -> Optional[int]:
        """The inverse: the position at which the sample comes, for the nth time
        from 0 on, if it comes that often; else None."""
        ret = ctypes.c_uint64()
        for name, n in (("sample", sample), ("nth", nth)):
            if not 0 <= operator.index(n) < 1 << 64:
                raise RangeError(f"no {name} {n}", -errno.ERANGE)
        try:
            checked(lib.epoch_where, self.address, sample, nth,
                    ctypes.byref(ret))
        except NotFoundError:
            return None
        return ret.value

    def steps(self, end: str = "mask") -> int:
        """Steps of the epoch, the same for every rank."""
        return lib.epoch_steps(self.address, end_number(end))

    def step(self, step: int, *, rank: int = 0, ranks: int = 1,
             end: str = "mask", uneven: bool = False) -> List[Place]:
        """The places of a step that are this rank's, in its order.  ranks has
        to divide the batch unless uneven; end is "mask", "repeat", "drop" or
        "short", see Loader."""
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

    def cost(self, *, rank: int = 0, ranks: int = 1, worker: int = 0,
             workers: int = 1, uneven: bool = False, memory: Size = 0,
             end: str = "mask", first: int = 0, steps: int = 0,
             suffixes: Sequence[str] = ()) -> Cost:
        """What a loader of this share and memory, and of these suffixes, does
        for the steps from first on; 0 steps: to the end of the epoch.  Reads
        nothing.  UsageError: no sample has such a suffix."""
        suffixes = suffixes_of(suffixes)
        names = (ctypes.c_char_p * len(suffixes))(*map(raw, suffixes))
        for name, n in (("first", first), ("steps", steps)):
            if not 0 <= n < 1 << 64:
                raise RangeError(f"{name} {n}", -errno.ERANGE)
        options = _abi.CostOptions(
            share_of(rank, ranks, worker, workers, uneven), size_of(memory),
            end_number(end), first, steps,
            ctypes.addressof(names) if suffixes else None, len(suffixes))
        handle, ret = self._dataset.handle(), _abi.EpochCost()
        checked(lib.epoch_cost, self.address, handle.address,
                ctypes.byref(options), ctypes.byref(ret))
        return Cost(*(getattr(ret, name) for name in Cost._fields))


def size_of(given: Size, name: str = "memory") -> int:
    """Of bytes: a number, or text with K, M, G or T behind it, of 1024, as KiB,
    MiB .. are.  KB, MB .. are refused: they mean powers of 1000, too."""
    if isinstance(given, str):
        found = _SIZE.fullmatch(given)
        if found is None or len(found[3] or "iB") == 1:
            raise UsageError(f"{name} {given!r}: no size, as " + (
                "2G is one" if found is None else
                f"{found[1]}{found[2].upper()} or {found[1]}{found[2].upper()}iB, "
                "powers of 1024, is one"))
        power = " KMGT".index((found[2] or " ").upper())
        given = int(found[1]) << 10 * power
    given = operator.index(given)
    if not 0 <= given < 1 << 64:
        raise UsageError(f"{name} {given}")
    return given
