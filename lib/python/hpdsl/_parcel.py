# SPDX-License-Identifier: Apache-2.0
"""How hpdsl.torch's batches are made, and how they leave a worker."""

from __future__ import annotations

import inspect
import operator
import pickle
from array import array
from itertools import islice
from typing import (Any, Callable, Iterable, List, NoReturn, Optional,
                    Sequence, Tuple, Union)

import torch
import torch.utils.data as data

from ._boxes import Boxes, taken
from ._contents import Contents
from ._dataset import Dataset
from ._errors import UsageError, annotate
from ._job import Dealt
from ._sample import without_dot
from ._torch_batch import Batch, mapped

# Of each sample a number, or whether something is so.
Column = Union["array[int]", List[int], List[bool]]

# From here on torch's shared memory is faster than a pipe.
_LARGE = 1 << 20
# From here on bytes go into a box: what is less fits into the pipe at once.
_BOXED = 1 << 10

# Of each sample those of its members that are wanted, or, where nothing is made of
# them, one view.
Members = Iterable[Any]


class Decoder:
    """Makes what a training loop gets from what was read."""

    def __init__(self, decode: Optional[Callable[..., Any]],
                 collate: Union[Callable[..., Any], str, None]) -> None:
        if isinstance(collate, str) and collate != "list":
            raise UsageError(f"collate {collate!r}: wanted a function, or "
                             "\"list\"")
        _check_callable("collate", collate if collate != "list" else None)
        _check_callable("decode", decode)
        self.raw = decode is None and collate is None
        self.decode = decode or _first_bytes
        self.collate: Callable[[List[Any]], Any] = stacked
        if self.raw:
            self.collate = Contents
        elif isinstance(collate, str):
            self.collate = listed
        elif collate is not None:
            self.collate = collate

    def batch(self, members: Members, bad: Column, labels: Column,
              numbers: Column, mask: Column, epoch: int, step: int,
              dealt: Optional[Dealt] = None) -> Any:
        """members: of each sample those that decode gets; where nothing is to be
        made of them, one view of each.  A bad sample's place is taken by a good
        one of the step, with its label, which does not count there."""
        made = self.items(members, bad, numbers)
        found = numbers
        if any(bad):
            mask = [bool(real and not none) for real, none in zip(mask, bad)]
            if not all(bad):
                at = bad.index(False)
                made, labels, found = ([of[at if none else i] for i, none in
                                        enumerate(bad)]
                                       for of in (made, labels, numbers))
            elif not self.raw:
                raise ValueError(
                    f"epoch {epoch}, step {step}: no sample of this rank could be "
                    "read; of a step that is short, end=\"mask\" has others")
        return finished(self.collate(made), self.labels(labels, found),
                        numbers, mask, epoch, step, bad, dealt)

    def items(self, members: Members, bad: Column, numbers: Column
              ) -> List[Any]:
        """What decode makes of each sample that is not bad, else None.  What it
        raises knows its sample: sample_of()."""
        if self.raw:
            return list(members)
        made: List[Any] = []
        for of, none, number in zip(members, bad, numbers):
            try:
                made.append(None if none else self.item(of, number))
            except Exception as e:
                _mark(e, number)
                tell_bytes(e)
                raise
        return made

    def item(self, members: Sequence[memoryview], number: int) -> Any:
        return self.decode(*members)

    def where(self, dataset: Dataset, number: int, suffixes: Sequence[str]
              ) -> str:
        """What decode had, for whoever reads what it raised."""
        key = dataset.key(number)
        if not suffixes:
            paths = (m.path for m in dataset.members(number) if not m.generated)
            suffixes = [path[len(key) + 1:] for path in islice(paths, 1)]
        names = ", ".join(repr(without_dot(suffix)) for suffix in suffixes)
        return (f"decode of sample {number} {key!r}, suffix"
                f"{'es' if len(suffixes) > 1 else ''} {names}")

    def labels(self, labels: Sequence[int], numbers: Sequence[int]) -> Any:
        """Numbers, of which a tensor is made, or (what stays as it is,)."""
        return labels


def _check_callable(name: str, given: Any) -> None:
    """Here, and not in a worker."""
    if given is not None and not callable(given):
        raise TypeError(
            f"{name} {given!r:.60}: wanted a function" + (
                ", of a sample's bytes, as lambda content: "
                "Image.open(io.BytesIO(content)).convert(\"RGB\")"
                if name == "decode" else ""))


def check_takes(decode: Optional[Callable[..., Any]], suffixes: Sequence[str]) -> None:
    """Whether it may be called so; what Python cannot say of it is tried."""
    n = len(suffixes) or 1
    try:
        takes = inspect.signature(decode) if decode is not None else None
    except (TypeError, ValueError):
        takes = None
    try:
        if takes is not None:
            takes.bind(*[None] * n)
    except TypeError as e:
        name = getattr(decode, "__name__", type(decode).__name__)
        raise TypeError(
            f"decode: {name}{takes} is called with {n} content{'s' * (n > 1)}, " + (
                f"one of each of suffixes={list(suffixes)!r}" if suffixes else
                "that of a sample's first member; suffixes=[\"jpg\", \"json\"] "
                "are two")) from e


def tell_bytes(error: Exception) -> None:
    """That it gets bytes, where that was not known to what it has called."""
    if any(word in str(error) for word in _OF_BYTES):
        annotate(error, "decode gets a memoryview of bytes: what opens files takes "
                 "io.BytesIO(content), others bytes(content)")


# What open(), Pillow, NumPy, json and torchvision say when they get such a thing.
_OF_BYTES = "memoryview", "<memory at ", "embedded null byte"


def _mark(error: Exception, number: int) -> None:
    try:
        error._hpdsl_sample = number  # type: ignore[attr-defined]
    except AttributeError:
        pass  # of a class that wants none: its sample is not said


def sample_of(error: Exception) -> Optional[int]:
    """The sample of which decode raised it; None: something else did.  Once: it
    may be raised again, for something else."""
    return getattr(error, "__dict__", {}).pop("_hpdsl_sample", None)


def _first_bytes(*members: memoryview) -> bytes:
    return bytes(members[0])


def stacked(made: List[Any]) -> Any:
    """As DataLoader does it; what does not go so may be had otherwise."""
    try:
        return data.default_collate(made)
    except (RuntimeError, TypeError) as e:
        if type(e) not in (RuntimeError, TypeError):
            raise
        raise type(e)(f"{e}: collate=\"list\" leaves what decode returned in "
                      "lists, collate=f is called with n of them") from e


def listed(made: List[Any]) -> Any:
    """As DataLoader does it with tuples and dicts; what is in them, of n
    samples, comes in lists, of any sizes."""
    first = made[0]
    if isinstance(first, dict):
        return {name: listed([one[name] for one in made]) for name in first}
    if isinstance(first, tuple):
        parts = map(listed, map(list, zip(*made)))
        return (type(first)(*parts) if hasattr(first, "_fields") else
                tuple(parts))
    return made


def finished(*of: Any) -> Any:
    """A Batch; in a worker what is one when it arrives."""
    here = data.get_worker_info() is None
    return _batch(*of) if here else Parcel(*of)


def _batch(made: Any, labels: Any, numbers: Column, mask: Column,
           epoch: int, step: int, bad: Column,
           dealt: Optional[Dealt] = None) -> Batch:
    batch = Batch(made, labels[0] if isinstance(labels, tuple) else
                  _tensor(labels, torch.int64), _tensor(numbers, torch.int64),
                  _tensor(mask, torch.bool), epoch, step,
                  _tensor(bad, torch.bool), dealt)
    # Of columns that is soon known, and no tensor is looked at for it.
    batch._fills = 0 if all(mask) else (
        [*map(operator.or_, mask, bad)].count(False))
    batch._idle, batch._lost = not any(mask), sum(bad)
    return batch


_KINDS = {"Q": torch.int64, "q": torch.int64, "i": torch.int32,
          "B": torch.bool}


def _tensor(column: Column, kind: torch.dtype) -> torch.Tensor:
    """Of an array without a look at each of its numbers; it is then the
    tensor's memory."""
    if not isinstance(column, array) or not column:
        return torch.tensor(column, dtype=kind)
    made = torch.frombuffer(column, dtype=_KINDS[column.typecode])
    return made if made.dtype is kind else made.to(kind)


class Parcel:
    """A batch on its way out of a worker, and a batch again when it arrives.
    Large tensors go torch's way.  So does what torch has nothing to do with: it is
    pickled once, and its bytes go by its turn's box.  All else goes as plain
    bytes: that is faster than torch's way, by a file in /dev/shm and a socket for
    each tensor; and a worker that is killed leaves no socket behind."""

    box: Optional[Tuple[Boxes, int]] = None

    def __init__(self, made: Any, *others: Any) -> None:
        self.made, self.others = made, others

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # what copy and others ask everybody for
            raise AttributeError(name)
        raise AttributeError(
            f"no {name!r} here: in a worker of DataLoader's this is not yet a "
            "Batch, but only when it arrives; decode and collate are the place "
            "to work on it in a worker")

    def __reduce__(self) -> Tuple[Any, ...]:
        if _is_plain((self.made, self.others[0])):
            return self._boxed() or (_batch, (self.made, *self.others))
        if _size(self.made) >= _LARGE:
            return _batch, (self.made, *self.others)
        return _unpacked, (pickle.dumps((self.made, *self.others), 5),)

    def _boxed(self) -> Optional[Tuple[Any, ...]]:
        """With its bytes in a box; None: it has none, or there is no room."""
        if self.box is None:
            return None
        contents: List[bytes] = []

        def beside(of: Any) -> Any:
            if type(of) is not bytes or len(of) < _BOXED:
                return of
            contents.append(of)
            return pickle.PickleBuffer(of)

        rest = pickle.dumps(mapped(self.made, beside), 5,
                            buffer_callback=lambda _: None)
        boxes, turn = self.box
        if not contents or not boxes.put(turn, contents):
            return None
        sizes = array("Q", map(len, contents))
        return _unboxed, (boxes.number, turn, sizes, rest, self.others)


def _unpacked(parcel: bytes) -> Batch:
    return _batch(*pickle.loads(parcel))


def _unboxed(number: int, turn: int, sizes: array[int], rest: bytes,
             others: Tuple[Any, ...]) -> Batch:
    # Of bytes that are beside a pickle it makes no copy.
    made = pickle.loads(rest, buffers=taken(number, turn, sizes))
    return _batch(made, *others)


_PLAIN = {array, bool, bytes, float, int, str, type(None)}


def _is_plain(of: Any) -> bool:
    """Whether torch has nothing to do with it, whoever pickles it."""
    if type(of) is dict:
        return all(map(_is_plain, of.values()))
    if type(of) not in (list, tuple):
        return type(of) in _PLAIN
    return _PLAIN.issuperset(map(type, of)) or all(map(_is_plain, of))


def _size(of: Any) -> int:
    """How much of it pickle would write as tensors, each with all of the memory
    that it is a part of."""
    if isinstance(of, torch.Tensor):
        return _storage_size(of)
    if isinstance(of, dict):
        return sum(map(_size, of.values()))
    if isinstance(of, (list, tuple)):
        return sum(map(_size, of))
    return 0


def _storage_size(tensor: torch.Tensor) -> int:
    try:
        # Only the second one is there before PyTorch 2.
        of = getattr(tensor, "untyped_storage", None) or tensor.storage
        return of().nbytes()
    except NotImplementedError:  # a sparse one
        return tensor.numel() * tensor.element_size()
