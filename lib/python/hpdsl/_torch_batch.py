# SPDX-License-Identifier: Apache-2.0
"""hpdsl.torch's batches: what a loop gets of a step."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Iterator, List, Optional, Set, Tuple, Union

import torch
from torch.utils.data._utils.pin_memory import pin_memory

from ._batch import Pair
from ._errors import UsageError, number
from ._job import ENDLESS, Dealt
from ._sample import Sample

_told: Set[str] = set()


class Heard:
    """What a loop is told when it asks for the next batch, and not before: who
    takes batch.mean() of the one at hand has done right.

    stored  the loop is over samples in stored order, as an evaluation is: what
            counts there is no loss, and the training beside it was told before
    """

    __slots__ = "right", "kind", "text", "stored"

    def __init__(self, stored: bool = False) -> None:
        self.right, self.kind, self.text = False, "", ""
        self.stored = stored

    def note(self, kind: str, text: str) -> None:
        if self.stored:
            kind += ", stored"
            text += "; what is counted is divided by batch.mask.sum()"
        if not self.right and kind not in _told:
            self.kind, self.text = kind, text

    def tell(self, stacklevel: int) -> None:
        """Each kind once."""
        kind, self.kind = self.kind, ""
        if kind and kind not in _told:
            _told.add(kind)
            warnings.warn(self.text, RuntimeWarning, stacklevel=stacklevel + 1)

    def is_right(self) -> None:
        self.right, self.kind = True, ""


# Of batches that come from no loader of ours.
_others = Heard()


class Batch(Pair):
    """A step's samples, those of this rank: n of them.  Unpacked, and as [0] and
    [1], it is two, `for images, labels in loader`, whatever decode returns: of a
    pair it is `for (image, mask), label in loader`.

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
    ranks        how many share the step
    whole        how many of the step's samples count, on all ranks together: as
                 many as it has, less in the last step, which others fill up.  A
                 sample that could not be read is one of them

    The loss that is right on any number of ranks is batch.mean(losses).

    It is no tuple.  to(), pin_memory(), copy, pickle and torch.utils._pytree do
    with it what they do with a tuple of tensors; for those who want a tuple
    there is tuple(batch), or form=tuple of the loader.
    """

    __module__ = "hpdsl.torch"
    __slots__ = ("data", "labels", "numbers", "mask", "epoch", "step", "bad",
                 "_dealt", "_heard", "_idle", "_fills", "_lost", "__weakref__")
    FIELDS = ("numbers", "mask", "bad", "epoch", "step", "ranks", "whole")

    data: Any
    labels: Any
    numbers: torch.Tensor
    mask: torch.Tensor
    epoch: int
    step: int
    bad: torch.Tensor
    # Set by whoever hands it out.
    _dealt: Dealt
    _heard: Optional[Heard]
    # Whether none of the samples counts; None: nobody has looked yet.
    _idle: Optional[bool]
    # How many of them only fill the step up, and could not be read.
    _fills: int
    _lost: int

    def __init__(self, data: Any, labels: Any, numbers: torch.Tensor,
                 mask: torch.Tensor, epoch: int, step: int,
                 bad: torch.Tensor, dealt: Optional[Dealt] = None) -> None:
        self.data, self.labels, self.numbers = data, labels, numbers
        self.mask, self.bad = mask, bad
        self.epoch, self.step = epoch, step
        # Of a batch that no loader has dealt all places count.
        self._dealt = dealt or Dealt(1, len(numbers), ENDLESS)
        self._heard = self._idle = None
        self._fills = self._lost = 0

    @property
    def ranks(self) -> int:
        """How many share the step."""
        return self._dealt.ranks

    @property
    def whole(self) -> int:
        """How many of the step's samples count, on all ranks together."""
        return self._dealt.whole(self.step)

    def mean(self, losses: torch.Tensor, steps: int = 1) -> torch.Tensor:
        """This rank's share of the mean of the step's losses, over all ranks,
        of the samples that count: the mean over ranks of what this gives, which
        is what DDP and FSDP make of gradients, is that mean, also with
        uneven=.  No rank waits for another, and one of whose samples none
        counts gets 0, and gradients of 0.

        losses  of each of the n samples: n numbers, as reduction="none" gives
                them; of more than one dimension the mean of each sample's
        steps   for gradients that are added up over so many steps before the
                optimizer's: the share of the mean over all of these, by which
                nothing is divided any more.  They are those from a multiple of
                steps on, and fewer at the epoch's end:

            batch.mean(losses, steps=4).backward()
            if batch.step % 4 == 3 or batch.step + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
        """
        steps = number("steps", steps)
        if not steps:
            raise UsageError("steps 0")
        if losses.shape[:1] != (len(self),):
            raise UsageError(
                f"losses of shape {tuple(losses.shape)}: wanted one of each of "
                f"{len(self)} samples, as reduction=\"none\" gives them")
        each = losses if losses.dim() == 1 else losses.flatten(1).mean(1)
        if each.dtype in (torch.float16, torch.bfloat16):
            each = each.float()  # a sum of many would be too large
        mask = self.mask.to(device=each.device, dtype=torch.bool)
        whole = self._dealt.whole(self.step, steps)
        (self._heard or _others).is_right()
        return each.masked_fill(~mask, 0).sum() * (self.ranks / whole)

    def to(self, device: Union[str, int, torch.device],
           non_blocking: bool = False) -> "Batch":
        """With all of its tensors there, and those in lists, tuples and dicts."""
        def moved(of: Any) -> Any:
            return (of.to(device, non_blocking=non_blocking) if _moves(of)
                    else of)

        self._look()  # no GPU is asked for that
        return self._each(lambda of: mapped(of, moved, _moves))

    def pin_memory(self) -> "Batch":
        """With all of its tensors in pinned memory, as a GPU copies from it
        fastest."""
        return self._each(pin_memory)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        self._look()
        heard, at = self._heard or _others, f"epoch {self.epoch}, step {self.step}:"
        if self._lost:
            heard.note("lost", f"{at} {self._lost} of {len(self)} samples could "
                       "not be read, others of the step stand in their places, "
                       "and batch.mask is False: batch.mean(losses) leaves them "
                       "out")
        elif self._idle and self.ranks > 1:
            heard.note("idle", f"{at} no sample of this rank counted, as other "
                       "ranks have those of the last step: a mean over "
                       "batch.mask is 0/0 there; batch.mean(losses) is right")
        elif self._fills:
            heard.note("fills", f"{at} {self._fills} of {len(self)} samples "
                       "only fill the last step up, and batch.mask is False: "
                       "batch.mean(losses) leaves them out; end=\"short\" has "
                       "none")
        if heard is _others:
            heard.tell(2)
        return super().__iter__()

    def _look(self) -> None:
        """What of it does not count, unless a GPU had to be asked."""
        if self._idle is None and self.mask.device.type == "cpu":
            self._idle = not bool(self.mask.any())
            self._fills = int((~(self.mask | self.bad)).sum())
            self._lost = int(self.bad.sum())

    def _each(self, change: Callable[[Any], Any]) -> "Batch":
        fields = dict(zip(_NAMES, map(change, _parts(self))))
        return self._likened(Batch(**fields, dealt=self._dealt))

    def _likened(self, made: "Batch") -> "Batch":
        made._heard, made._idle = self._heard, self._idle
        made._fills, made._lost = self._fills, self._lost
        return made

    def _replace(self, **others: Any) -> "Batch":
        """The same with other fields."""
        for name in others:
            if name not in _NAMES:
                raise TypeError(f"a batch has no {name!r} to be replaced: there "
                                f"are {', '.join(_NAMES)}")
        fields = dict(zip(_NAMES, _parts(self)), **others)
        made = self._likened(Batch(**fields, dealt=self._dealt))
        if others.keys() & {"mask", "bad"}:
            made._idle = None
        return made

    def __reduce__(self) -> Tuple[Any, ...]:
        return Batch, (*_parts(self), self._dealt)

    def __repr__(self) -> str:
        return (f"<hpdsl.torch.Batch of epoch {self.epoch}, step {self.step}, "
                f"{len(self)} samples>")


_NAMES = "data", "labels", "numbers", "mask", "epoch", "step", "bad"


def _parts(batch: Batch) -> Tuple[Any, ...]:
    return tuple(getattr(batch, name) for name in _NAMES)


def _moves(of: Any) -> bool:
    return hasattr(of, "to")


def mapped(made: Any, change: Callable[[Any], Any],
           is_one: Callable[[Any], bool] = lambda of: False) -> Any:
    """The same with what change makes of each thing in dicts, lists and tuples,
    but for those that are one."""
    if not is_one(made):
        if isinstance(made, dict):
            return {name: mapped(of, change, is_one)
                    for name, of in made.items()}
        if isinstance(made, tuple) and hasattr(made, "_fields"):
            return type(made)(*(mapped(of, change, is_one) for of in made))
        if isinstance(made, (list, tuple)):
            return type(made)(mapped(of, change, is_one) for of in made)
    return change(made)


# ---- What torch is told of it

_TENSORS = "data", "labels", "numbers", "mask", "bad"


def _flatten(batch: Batch) -> Tuple[List[Any], Tuple[Any, ...]]:
    return ([getattr(batch, name) for name in _TENSORS],
            (batch.epoch, batch.step, batch._dealt, batch._idle, batch._fills,
             batch._lost))


def _unflatten(values: List[Any], context: Tuple[Any, ...]) -> Batch:
    epoch, step, dealt, idle, fills, lost = context
    data, labels, numbers, mask, bad = values
    batch = Batch(data, labels, numbers, mask, epoch, step, bad, dealt)
    # Nobody looks at what may be no real tensors.
    batch._idle, batch._fills, batch._lost = idle, fills, lost
    return batch


def _whole_already(batch: List[Any], *, collate_fn_map: Any = None) -> Any:
    raise TypeError("default_collate: an hpdsl.torch.Batch is a step already: "
                    "wanted DataLoader(.., batch_size=None)")


def _no_samples(batch: List[Any], *, collate_fn_map: Any = None) -> Any:
    raise TypeError("default_collate: an hpdsl.Sample is not decoded: wanted "
                    "DataLoader(hpdsl.torch.Samples(ds, decode=..)), or "
                    "hpdsl.torch.Loader(ds, decode=..)")


def _tell_torch() -> None:
    """Neither of these is promised by every torch."""
    try:
        from torch.utils import _pytree
        register = getattr(_pytree, "register_pytree_node", None) or (
            _pytree._register_pytree_node)
        register(Batch, _flatten, _unflatten)
    except (ImportError, AttributeError):
        pass
    try:
        from torch.utils.data._utils.collate import default_collate_fn_map
    except ImportError:
        return
    default_collate_fn_map[Batch] = _whole_already
    default_collate_fn_map[Sample] = _no_samples


_tell_torch()
