# SPDX-License-Identifier: Apache-2.0
"""Evaluation: all samples, each once, in stored order, as often as a `for`
begins."""

from __future__ import annotations

from typing import (TYPE_CHECKING, Any, Dict, Generic, Iterator, Optional,
                    TypeVar)

from ._called import no_attribute
from ._course import Course, whose
from ._dataset import Dataset
from ._errors import UsageError
from ._job import LEFT_OUT
from ._loop import T
from ._order import end_number

if TYPE_CHECKING:
    from .torch import Loader

# What says in which order samples come, and has nothing to say here.
ORDERS = ("shuffle", "seed", "windows", "lanes", "piece", "parts", "order",
           "epochs")
# None where the interpreter ends.
_here = True
_STATES = "state_dict", "load_state_dict", "seek", "epoch", "step"


class AllOnce(Course):
    """One pass in stored order, whose end, if none was said, depends on how many
    ranks share it."""

    _said_end: Optional[str] = None

    def __init__(self, dataset: Dataset, batch_size: int = LEFT_OUT, *,
                 end: Optional[str] = None, **what: Any) -> None:
        super().__init__(dataset, batch_size, shuffle=False, epochs=1, **what)
        if end is not None:
            end_number(end)
        self._said_end = end

    @property
    def end(self) -> str:
        return self._said_end or ("short" if self.ranks.ranks == 1 else "mask")

    @end.setter
    def end(self, _: str) -> None:
        """It is said above, when it is known."""

    def seek(self, epoch: int, step: int = 0) -> None:
        """Behind its only epoch there is nothing to be looked up."""
        self.epoch, self.step = epoch, step


This = TypeVar("This", bound="Evaluation[Any]")


class Evaluation(Generic[T]):
    """What evaluate() gives."""

    __module__ = "hpdsl.torch"
    # Accelerate's prepare_data_loader() gives it back.
    _is_accelerate_prepared = True

    def __init__(self, loader: "Loader[T]") -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[T]:
        return self._pass(object())

    def _pass(self, mine: object) -> Iterator[T]:
        loader = self._loader
        self._rewind()
        try:
            yield from loader._rest(mine)
        finally:
            if _here and loader._newest is mine:
                self._rewind()

    def _rewind(self) -> None:
        """To the first step.  Who is there and has nothing in hand may stay, if
        that was asked for."""
        loader, session = self._loader, self._loader._session
        keep = loader._options.get("persistent_workers")
        if session is not None and not (keep and session.again()):
            loader.close()
        loader.course.seek(0)

    def __repr__(self) -> str:
        return f"<hpdsl.torch.Evaluation of {whose(self._loader.course)}>"

    def __len__(self) -> int:
        """Steps of a pass, the same on each rank."""
        return len(self._loader)

    @property
    def dataset(self) -> Any:
        """What was given, an ImageFolder, a Choice or a Dataset, whose len() is the
        number of samples of a pass."""
        return self._loader.dataset

    @property
    def batch_size(self) -> int:
        """Samples of a step of this rank, at most."""
        return self._loader.batch_size

    def plan(self) -> Dict[str, Any]:
        """See hpdsl.Loader.plan()."""
        return self._loader.plan()

    def set_epoch(self, epoch: int) -> None:
        """Nothing: each pass has the same steps.  For those who say it to every
        loader."""

    def close(self) -> None:
        """Ends workers and reading; the next `for` begins them anew."""
        self._loader.close()

    def __enter__(self: This) -> This:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            """No method, so that nobody who looks for one keeps a state."""
            if name in _STATES:
                raise AttributeError(
                    f"an evaluation has no {name}: each `for` gives all samples "
                    "from the first on; a loop that goes on where it was is "
                    "hpdsl.torch.Loader")
            raise no_attribute("Evaluation", name, self.dataset if "_loader" in
                               vars(self) else None)

    def __reduce__(self) -> Any:
        raise TypeError("an evaluation belongs to the process that made it: "
                        "pass on its dataset")


def check_named(options: Dict[str, Any]) -> None:
    """Of what is no loader's own: nothing that says another order."""
    for name in "shuffle", "drop_last":  # as it is in any case
        if options.get(name) is False:
            del options[name]
    for name in ORDERS:
        if name in options:
            raise TypeError(f"evaluate has no argument {name!r}: it gives all "
                            "samples once, in stored order; Loader has it")
    if "drop_last" in options:
        raise UsageError("drop_last: an evaluation has all samples; "
                         "end=\"drop\" leaves out what does not fill a step")
