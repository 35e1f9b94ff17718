# SPDX-License-Identifier: Apache-2.0
"""What hpdsl.torch's loaders have in common: where the loop is, and what it
gets."""

from __future__ import annotations

from typing import (TYPE_CHECKING, Any, Callable, Dict, Generic, List, NoReturn,
                    Optional, TypeVar, Union)

from ._called import no_attribute
from ._course import Course, whose
from ._frameworks import BatchSteps, Shown, Steps, watcher
from ._order import Order
from ._rest import superseded, tell_going_on, tell_no_step
from ._torch_batch import Batch, Heard


T = TypeVar("T")
This = TypeVar("This", bound="Loop[Any]")


class Loop(Generic[T]):
    """What loaders have in common: where the loop is, and what it gets.

    Of a type: of what the loop gets, which is a Batch without `form`.
    """

    course: Course
    # The ImageFolder that was given; None: a dataset, or a choice, was.
    _folder: Any = None
    # What the loop gets of a batch; None: the batch.
    form: Optional[Callable[[Batch], Any]] = None
    # Stands for the iterator that began last: the others are superseded.
    _newest: Optional[object] = None
    _heard: Optional[Heard] = None
    _steps: Optional[BatchSteps] = None
    _shown: Optional[Shown] = None
    # Whether samples that cannot be read are left out.
    _skips_bad = False
    # For Accelerate: prepare_data_loader() gives it back, save_state() keeps its
    # state, and skip_first_batches() makes a DataLoader without workers.
    _is_accelerate_prepared = use_stateful_dataloader = True
    prefetch_factor = None

    def _still(self, mine: object, above: int = 0) -> None:
        """Behind a yield; above: so many generators are between it and the loop."""
        if self._heard is not None:
            self._heard.tell(2 + 1 + above)
        if self._newest is not mine:
            raise superseded()

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            raise no_attribute("Loader", name,
                               self.dataset if "course" in vars(self) else None)

    def __repr__(self) -> str:
        course = vars(self).get("course")
        at = f", epoch {course.epoch}, step {course.step}" if course else ""
        return f"<hpdsl.torch.{type(self).__name__} of {whose(course)}{at}>"

    @property
    def dataset(self) -> Any:
        """What was given, whose len() is the number of samples: an ImageFolder, a
        Choice, or a Dataset, also where that was given by its path."""
        return self.course.part if self._folder is None else self._folder

    @property
    def epoch(self) -> int:
        """Of the batch that is next; within the loop's body that is the one
        behind the batch at hand, though workers are ahead of it.  The next
        epoch begins when the `for` has ended: behind the last batch step is
        len(loader)."""
        return self.course.epoch

    @property
    def step(self) -> int:
        """Of the batch that is next, from 0 on: how many of the epoch were
        handed out."""
        return self.course.step

    @property
    def batch_size(self) -> int:
        """Samples of a step of this rank, at most.  Where it was given, nobody
        looks for the rank yet."""
        course = self.course
        return course.batch_size or -(-course.order.batch // course.ranks.ranks)

    @property
    def order(self) -> Order:
        """The Order, with all of its numbers."""
        return self.course.order

    def __len__(self) -> int:
        """Steps of the epoch: all of them, not those that are left."""
        return self.course.steps(self.epoch)

    def __getitem__(self, index: Any) -> NoReturn:
        """So that a DataLoader around it is told what is wrong."""
        raise TypeError("a loader has no [..] and wants no DataLoader around "
                        "it: it gives whole batches, `for images, labels in "
                        "loader`")

    def seek(self, epoch: int, step: int = 0) -> None:
        """The next `for` gives the rest of that epoch."""
        self.course.seek(epoch, step)
        self.close()

    def set_epoch(self, epoch: int) -> None:
        """The same, but where the loop is in that epoch it stays: for those who
        say it before each epoch, also after load_state_dict()."""
        if epoch != self.epoch:
            self.course.tell_leaving(epoch)
            self.seek(epoch)

    @property
    def batch_sampler(self) -> BatchSteps:
        """As sampler is, with batch_size, drop_last and sampler.  Iterated, it gives
        what collate_fn makes batches of, step by step of the epoch."""
        if self._steps is None:
            self._steps = BatchSteps(self)
        return self._steps

    def collate_fn(self, numbers: List[Any]) -> Any:
        """For a DataLoader that a framework makes of this one, with batch_sampler."""
        return self.batch_sampler.made(numbers)

    @property
    def sampler(self) -> Steps:
        """For frameworks that look for a DataLoader's, and not to be iterated.  Its
        set_epoch() begins an epoch, where that of the loader stays in one."""
        return self.batch_sampler.sampler

    def state_dict(self) -> Dict[str, Any]:
        """Where the loop is, counted by the steps that it was handed: numbers
        and strings only, for load_state_dict() of a loader with the same
        dataset and choice, on any number of ranks and workers.  As JSON in a
        file, hpdsl-stage --order-from takes it too."""
        return self.course.state_dict()

    def load_state_dict(self, state: Union[str, Dict[str, Any]]) -> None:
        """Not while a `for` is under way.  Raises DiffersError: of another pack
        or choice; UsageError: this many ranks cannot share its batch, or
        batch_size says another one."""
        self.course.load_state_dict(state)
        self.close()

    def close(self) -> None:
        """Ends workers and reading; the next `for` begins them anew."""

    def __enter__(self: This) -> This:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loader belongs to the process that made it: pass on "
                        "its dataset, and its state_dict()")

    def _tell_going_on(self) -> None:
        """Where a `for` begins."""
        course = self.course
        if course.left_in_midst():
            tell_going_on(course.epoch, course.step, course.steps(course.epoch))

    def _begin(self) -> bool:
        """False: there is nothing left."""
        course = self.course
        if course.step >= course.steps(course.epoch):
            course.seek(course.epoch + 1)
        if not course.steps(course.epoch):
            tell_no_step(course.order.batch)
        return not course.over()

    def _handed(self, batch: Batch, played: bool = False,
                whole: Optional[int] = None) -> Any:
        """What the loop gets, which counts as handed out from here on.  played:
        it may be another step's, and then as many count as do there.  whole: how
        many count, where the library, which may have played it, knows that."""
        here = self.course.epoch, self.course.step
        dealt = self.course.dealt(batch.epoch)
        if played:
            dealt = dealt.alike(dealt.whole(batch.step))
            batch = batch._replace(epoch=here[0], step=here[1])
        elif (batch.epoch, batch.step) != here:
            raise RuntimeError(f"epoch {batch.epoch}, step {batch.step} has "
                               f"come in the place of epoch {here[0]}, step "
                               f"{here[1]}")
        elif whole is not None and whole != dealt.whole(batch.step):
            dealt = dealt.alike(whole)
        if self._heard is None:
            self._heard = Heard(self.course.given.shuffle is False)
        batch._dealt, batch._heard = dealt, self._heard
        self.course.behind(*here)
        self._show(here[0])
        return batch if self.form is None else self.form(batch)

    def _show(self, epoch: int) -> None:
        """To who counts batches beside the loop."""
        to, course = watcher(), self.course
        if to is None:
            return
        if self._shown is None:
            self._shown = Shown(to)
        self._shown.end_of_dataloader = course.step == course.steps(epoch)
        self._shown.remainder = -1 if self._skips_bad else (
            course.dealt(epoch).rest())

    def _ended(self, epoch: int) -> None:
        if self._shown is not None:
            self._shown.gone()
            self._shown = None
        course, steps = self.course, self.course.steps(epoch)
        if (course.epoch, course.step) != (epoch, steps):
            self.close()
            raise RuntimeError(f"epoch {epoch} has ended at step "
                               f"{course.step} of {steps}")
        course.seek(epoch + 1)
