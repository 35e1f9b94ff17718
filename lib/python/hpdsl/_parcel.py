# SPDX-License-Identifier: Apache-2.0
"""hpdsl.torch's batches: what they are made of, and how they leave a worker."""

from __future__ import annotations

import pickle
from typing import (Any, Callable, Iterator, List, NamedTuple, Optional,
                    Sequence)

import torch
import torch.utils.data as data

from ._contents import Contents

# From here on torch's shared memory is faster than a pipe.
_LARGE = 1 << 20


class Batch(NamedTuple):
    """A step's samples, those of this rank: n of them.

    data         what collate made of n results of decode; with neither of
                 them Contents, the bytes of n samples
    labels       tensor of n int64: class numbers, -1 without a class; of a
                 folder with a target_transform what default_collate makes
    numbers      tensor of n int64: of the samples in the dataset
    mask         tensor of n bools; False: fills the last step up, or could not
                 be read, and must not count
    epoch, step  where it belongs
    bad          tensor of n bools; True: could not be read, and data has another
                 sample of the step in its place
    """

    data: Any
    labels: torch.Tensor
    numbers: torch.Tensor
    mask: torch.Tensor
    epoch: int
    step: int
    bad: torch.Tensor


class Decoder:
    """Makes what a training loop gets from what was read."""

    def __init__(self, decode: Optional[Callable],
                 collate: Optional[Callable]) -> None:
        self.raw = decode is None and collate is None
        self.decode = decode or _first_bytes
        self.collate = (Contents if self.raw else
                        collate or data.default_collate)

    def batch(self, members: Iterator, bad: List[bool], labels: List[int],
              numbers: List[int], mask: List[bool], epoch: int, step: int):
        """A bad sample's place is taken by a good one of the step, which does
        not count there."""
        made = self.items(members, bad, numbers)
        if any(bad):
            if all(bad):
                raise ValueError(f"epoch {epoch}, step {step}: no sample "
                                 "could be read")
            good = made[bad.index(False)]
            made = [good if none else one for one, none in zip(made, bad)]
            mask = [real and not none for real, none in zip(mask, bad)]
        return finished(self.collate(made), self.labels(labels, numbers),
                        numbers, mask, epoch, step, bad)

    def items(self, members: Iterator, bad: Sequence[bool],
              numbers: Sequence[int]) -> List[Any]:
        """What decode makes of each sample that is not bad, else None."""
        decode = _first if self.raw else self.decode
        return [None if none else decode(*of)
                for of, none in zip(members, bad)]

    def labels(self, labels: Sequence[int], numbers: Sequence[int]) -> Any:
        """Numbers, of which a tensor is made, or (what stays as it is,)."""
        return labels


def _first(*members) -> memoryview:
    return members[0]


def _first_bytes(*members) -> bytes:
    return bytes(members[0])


def finished(*of):
    """A Batch; in a worker what is one when it arrives."""
    here = data.get_worker_info() is None
    return (_batch if here else _Parcel)(*of)


def _batch(made: Any, labels: Any, numbers: List[int], mask: List[bool],
           epoch: int, step: int, bad: List[bool]) -> Batch:
    return Batch(made, labels[0] if isinstance(labels, tuple) else
                 torch.tensor(labels, dtype=torch.int64),
                 torch.tensor(numbers, dtype=torch.int64),
                 torch.tensor(mask, dtype=torch.bool), epoch, step,
                 torch.tensor(bad, dtype=torch.bool))


class _Parcel:
    """A batch on its way out of a worker, and a batch again when it arrives.
    All but large tensors go as plain bytes: that is faster than torch's way, by
    a file in /dev/shm and a socket for each tensor; and a worker that is killed
    leaves no socket behind."""

    def __init__(self, made: Any, *others) -> None:
        self.made, self.others = made, others

    def __getattr__(self, name: str):
        if name.startswith("__"):  # what copy and others ask everybody for
            raise AttributeError(name)
        raise AttributeError(
            f"no {name!r} here: in a worker of DataLoader's this is not yet a "
            "Batch, but only when it arrives; decode and collate are the place "
            "to work on it in a worker")

    def __reduce__(self):
        if _size(self.made) >= _LARGE:
            return _batch, (self.made, *self.others)
        return _unpacked, (pickle.dumps((self.made, *self.others), 5),)


def _unpacked(parcel: bytes) -> Batch:
    return _batch(*pickle.loads(parcel))


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
