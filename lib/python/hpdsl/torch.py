# SPDX-License-Identifier: Apache-2.0
"""Epochs for PyTorch, on any number of ranks and of DataLoader's workers.

    loader = hpdsl.torch.Loader("imagenet.hpdsl", batch_size=64, seed=1,
                                epochs=90, decode=my_decode, num_workers=8)
    while loader.epoch < 90:
        for batch in loader:
            images, labels = batch
            losses = cross_entropy(model(images), labels, reduction="none")
            batch.mean(losses).backward()
            ...
            if it_is_time:
                torch.save({..., "loader": loader.state_dict()}, path)

One reader, in the training process, reads ahead for all workers, which find in
its memory what they decode: any number of them reads the same and takes the same
memory once.  With nothing to decode a batch has Contents, views of that memory,
and no workers are needed.

ImageFolder and DatasetFolder are torchvision's, over a packed dataset, which a
Loader takes, too, or over a tree of which there is a snapshot.

Samples and Sampler are the same order over a map-style dataset, for code that
wants one: each sample is then read by itself or with its neighbours of the step,
in the worker.  Iterable is it one sample at a time, for a DataLoader of others.

Manual pages: hpdsl-python(7) has whole programs, hpdsl-order(7) defines the order.
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List,
                    Literal, Optional, Sequence, Type, Union, overload)

from . import __all__ as _hpdsls
from ._batch import check_options, suffixes_of
from ._called import no_name
from ._choice import Choice, opened
from ._contents import Contents
from ._course import Course
from ._dataset import Dataset
from ._decoding import Failed
from ._errors import Error, UsageError
from ._evaluation import ORDERS, AllOnce, Evaluation, check_named
from ._iterable import Iterable
from ._job import LEFT_OUT, reads_of
from ._loop import Loop, T
from ._map_style import MapLoader, Places, Sampler, Samples
from ._meant import tell_meant, tell_unlabelled
from ._measured import Measured, is_measured
from ._parcel import Decoder, check_takes
from ._pump import Reader
from ._rank import check_trainer
from ._sample import Path
from ._session import Session, effective, only_dataloaders
from ._torch_batch import Batch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._folder import DatasetFolder, ImageFolder
    from ._options import EvaluateOptions, LoaderOptions

__all__ = ["Batch", "Contents", "DatasetFolder", "Evaluation", "ImageFolder",
           "Iterable", "Loader", "MapLoader", "Places", "Sampler", "Samples", "evaluate"]

# Options of hpdsl.Loader that say how it reads, and not what.
_READS = "memory", "threads", "check", "skip_bad", "cache"
_HOW = ("suffixes", "on_bad", "on_warning", *_READS)
_OWN = "decode", "collate", "form", "num_workers"


Data = Union[Dataset, Choice, "DatasetFolder", Path]
Decode = Optional[Callable[..., Any]]
Collate = Union[Callable[[List[Any]], Any], Literal["list"], None]


class Loader(Loop[T]):
    """Steps as Batches, decoded by workers.

    `for images, labels in loader`, or `for batch in loader`, gives the rest of
    the epoch in which the loop is, the next one the next epoch, and behind the
    last of `epochs` nothing; after a `break` it goes on where it was.  So
    next(iter(loader)) is a step of the epoch that has been taken.  A RuntimeWarning
    says so once, and seek(epoch) begins the epoch anew.  A loader is at
    one place: a new `for` supersedes, at its first batch, the one before it,
    which raises RuntimeError if it is gone on with, as in zip(loader, loader) or
    in nested loops.

    dataset, batch_size
                 and most others as for hpdsl.Loader, as are memory, 1 GiB of
                 which are enough for all workers together, suffixes, check,
                 skip_bad, cache, threads, on_bad and on_warning.  The last two
                 are called in a thread
    decode       called with the content of a sample's first member, a memoryview
                 of bytes, or with those of all members of `suffixes`; what it
                 returns has to be its own, not another view: tensors, arrays
                 and views in lists, tuples and dicts are copied, of anything
                 else it is an error.  None: bytes
    collate      makes one of the n results; None: as DataLoader does, also of
                 tuples and dicts, or, where nothing is decoded either,
                 Contents; "list": the same, but with lists of n, of what has no
                 common size, as boxes
    form         called with each Batch, in this process, when it is handed out
                 and counts as a step done: what it returns is what the loop
                 gets, as of form=tuple a tuple (data, labels)
    num_workers  processes that decode; 0: this one.  With nothing to decode
                 there are none
    dataloader   others, as prefetch_factor, persistent_workers, pin_memory,
                 multiprocessing_context, worker_init_fn and timeout, are those
                 of DataLoader, which refuses those of workers where there
                 are none; generator is none of them: what comes depends on
                 seed alone

    dataset may be an ImageFolder, of a dataset: then the samples are those that
    it has now, decode is its loader and its transform, and labels are its
    targets, by its target_transform; decode and suffixes are not to be given.
    choice, of folder.dataset, is a part of it, as of a split.  Each of its files
    has to be of a sample of its own, and to come once: UsageError; so is one of a
    tree.

    Under the start method "spawn" decode and collate have to be picklable.

    It is no DataLoader: its batches are this rank's share already, and who
    prepares loaders for several processes leaves it as it is.  Which rank this
    is, if it was not said, is looked for anew, by len() and plan(), too, until
    the first `for` begins.

    A worker that dies, whatever the reason, is a RuntimeError.  What decode
    raises is raised in the loop, as is a bad sample; the next `for` goes on
    behind that step, while state_dict() still has it until another is handed
    out.  A note says of which sample, by number, key and suffix.  Without
    workers it is the very exception; from a worker it comes as DataLoader has
    it: of its type, with the worker's traceback as its text, or, of a type that
    is not made of one text, as a RuntimeError.
    """

    _session: Optional[Session] = None
    _options: Dict[str, Any]
    _course: Type[Course] = Course
    _measurable = True
    _above = 0
    # By whom arguments were taken, and which of them it has not.
    _called = "Loader"
    _not_said: Sequence[str] = ("self",)

    @overload
    def __init__(self: "Loader[Batch]", dataset: Data, batch_size: int = LEFT_OUT, *,
                 decode: Decode = None, collate: Collate = None,
                 form: None = None, num_workers: int = 0,
                 **options: Unpack[LoaderOptions]) -> None: ...

    @overload
    def __init__(self, dataset: Data, batch_size: int = LEFT_OUT, *,
                 decode: Decode = None, collate: Collate = None,
                 form: Callable[[Batch], T], num_workers: int = 0,
                 **options: Unpack[LoaderOptions]) -> None: ...

    def __init__(self, dataset: Data, batch_size: int = LEFT_OUT, *,
                 decode: Decode = None, collate: Collate = None,
                 form: Optional[Callable[[Batch], Any]] = None,
                 num_workers: int = 0, **options: Any) -> None:
        reading = _reading_of(dataset, collate, decode, options)
        if reading is not None:
            self._folder = dataset if options.get("choice") is None else None
            dataset = reading.dataset
            options.update(choice=reading.choice, suffixes=reading.suffixes)
        dataset, options["choice"] = opened(dataset, options.get("choice"))
        how = {name: options.pop(name) for name in _HOW if name in options}
        courses = inspect.signature(Course).parameters
        what = {name: options.pop(name) for name in list(options)
                if name in courses}
        only_dataloaders(self._called, num_workers, options,
                         [*(one for one in courses if one not in self._not_said),
                          *_OWN, *_HOW])
        self.form = form
        self.course = self._course(dataset, batch_size, **what)
        # Here, and not when it begins.
        how["suffixes"] = suffixes_of(how.get("suffixes") or ())
        reads = reads_of(**{name: how[name] for name in _READS if name in how})
        check_options(dataset.handle(), self.course.choice and
                      self.course.choice.chosen, how["suffixes"], **reads)
        self._memory, self._may_lack = reads["memory"], reading is not None
        self._decoder = (Decoder(decode, collate) if reading is None
                         else reading.decoder)
        check_takes(decode, how["suffixes"])
        self._how, self._skips_bad = how, reads["skip_bad"]
        self._options: Dict[str, Any] = effective(self._decoder, num_workers,
                                                  options)
        # Behind a step that failed; None: where the course is.
        self._skipped = 0

    def plan(self) -> Dict[str, Any]:
        """See hpdsl.Loader.plan()."""
        return self.course.plan(self._memory, self._how["suffixes"])

    def stats(self) -> Dict[str, Any]:
        """See hpdsl.Loader.stats(): since reading began, of the one reader of
        this process.  ValueError: there is none."""
        if self._session is None:
            raise ValueError("nothing is being read")
        return self._session.reader.stats()

    def close(self) -> None:
        """Ends workers and reading; the next `for` begins them anew."""
        session, self._session = self._session, None
        self._skipped = 0
        if session is not None and session.reader._running is not None and (
                session.reader._running.pid == os.getpid()):
            session.close()

    def seek(self, epoch: int, step: int = 0) -> None:
        """The next `for` gives the rest of that epoch."""
        # What is played is of no epoch.
        if self._session is not None and self._session.plays():
            self.course.seek(epoch, step)
        else:
            super().seek(epoch, step)

    def __del__(self) -> None:
        # Where the interpreter ends modules have nothing any more.
        if os is not None:
            self.close()

    def __iter__(self) -> Iterator[T]:
        return self._rest(object())

    def _rest(self, mine: object) -> Iterator[T]:
        """Of the epoch.  mine: stands for this iterator."""
        self._newest = mine
        if not self._skipped:
            self._tell_going_on()
        if self._session is None:
            check_trainer("hpdsl.torch.Loader")
            self.course.begin()
        if not self._begin():
            return
        session = self._session or self._open()
        course, epoch = self.course, self.course.epoch
        session.begin(course.steps(epoch) - course.step - self._skipped)
        while True:
            try:
                made = session.next()
            except StopIteration:
                break
            except BaseException:
                self.close()
                raise
            if isinstance(made, Failed):
                self._skipped += 1
                if made.fatal:
                    self.close()
                made.throw(self._where)
            self._skip()
            made = self._handed(made, session.plays(), session.whole())
            here = course.epoch, course.step
            try:
                yield made
            except GeneratorExit:
                # Who counts steps by len() never asks for the next one.
                if os is not None and self._heard is not None:
                    self._heard.tell(1)
                raise
            self._still(mine, self._above)
            if here != (course.epoch, course.step):
                return  # it was sought meanwhile
            if self._session is not session:
                if course.step < course.steps(epoch):
                    raise ValueError("the loader was closed within its loop")
                break
        self._skip()
        self._ended(epoch)

    def _where(self, number: int) -> str:
        try:
            return self._decoder.where(self.course.dataset, number,
                                       self._how["suffixes"])
        except (Error, ValueError):  # it was changed or closed meanwhile
            return f"sample {number}"

    def _skip(self) -> None:
        """Steps that failed are behind us when a later one has come."""
        for _ in range(self._skipped):
            self.course.behind(self.course.epoch, self.course.step)
        self._skipped = 0

    def _open(self) -> Session:
        course = self.course
        rank, ranks, _ = course.ranks
        workers = self._options["num_workers"]
        measured = (Measured(rank, ranks) if workers and is_measured() and
                    self._measurable else None)
        # A reader that lends its memory is not measured by itself.
        lends = bool(workers) or is_measured() and not self._measurable
        reader = Reader(
            course.dataset, order=course.at(),
            epochs=course.left() if measured is None else None,
            choice=course.choice, end=course.end, rank=rank, ranks=ranks,
            uneven=course.uneven, shared=lends,
            may_lack=self._may_lack, **self._how)
        if not self._may_lack:  # else it is a folder, whose labels are its own
            of = course.dataset.handle(), course.dataset.path
            tell_meant(*of, self._how["suffixes"], "labels", "data")
            tell_unlabelled(*of, course.choice)
        self._session = Session(reader, self._decoder, self._how["suffixes"],
                                 self._options, measured)
        return self._session


class _Passes(Loader[T]):
    """What an evaluation goes through.  hpdsl-stall measures the training that is
    beside it: of a pass that ends nothing could be played."""

    _course = AllOnce
    _measurable = False
    _above = 1
    _called = "evaluate"
    _not_said = ("self", "drop_last", *ORDERS)


@overload
def evaluate(dataset: Data, batch_size: int = LEFT_OUT, *, decode: Decode = None,
             collate: Collate = None, form: None = None, num_workers: int = 0,
             choice: Optional[Choice] = None, end: Optional[str] = None,
             **options: Unpack[EvaluateOptions]) -> Evaluation[Batch]: ...


@overload
def evaluate(dataset: Data, batch_size: int = LEFT_OUT, *, decode: Decode = None,
             collate: Collate = None, form: Callable[[Batch], T],
             num_workers: int = 0, choice: Optional[Choice] = None,
             end: Optional[str] = None, **options: Unpack[EvaluateOptions]
             ) -> Evaluation[T]: ...


def evaluate(dataset: Data, batch_size: int = LEFT_OUT, *, decode: Decode = None,
             collate: Collate = None,
             form: Optional[Callable[[Batch], Any]] = None,
             num_workers: int = 0, choice: Optional[Choice] = None,
             end: Optional[str] = None, **options: Any) -> Evaluation[Any]:
    """All samples, each once, in stored order, for validation and test:

        for images, labels in hpdsl.torch.evaluate(ds, 256, decode=decode,
                                                   num_workers=8):
            right += (model(images).argmax(1) == labels).sum()

    Each `for` gives all steps from the first on, also behind a `break`; so
    next(iter(..)) takes nothing away.  A new `for` supersedes an older one.
    len() is the number of steps.  There is no state_dict(): an evaluation that
    was interrupted begins anew.

    dataset, batch_size, decode, collate, form, num_workers, choice and most
    others are as for Loader; what says in which order samples come is no
    argument here.

    end   what the last step is where samples do not fill it.  None: "short" on
          one rank, which gives every sample once and nothing besides.  On
          several ranks "mask": all batches are equally long, as gather() of
          torch.distributed wants them, and mask is False where a sample only
          fills the step up: right += ((out.argmax(1) == batch.labels) &
          batch.mask).sum().  "short" on several ranks, too, for those who add
          up sums or use torchmetrics: each sample once over all ranks, in
          batches that may differ by a sample; where a last step has fewer
          samples than ranks, those without one have one whose mask is False.
          With skip_bad it is "mask" on one rank, too, and counts what mask has

    Workers and memory are given back when a `for` ends, unless
    persistent_workers=True keeps both.  TypeError, UsageError: as for Loader.
    """
    check_named(options)
    # Of a short step a rank may have none that can be read.
    if end is None and options.get("skip_bad"):
        end = "mask"
    options.update(decode=decode, collate=collate, form=form,
                   num_workers=num_workers, choice=choice, end=end)
    return Evaluation(_Passes(dataset, batch_size, **options))


def _reading_of(dataset: Any, collate: Collate, decode: Decode,
                options: Dict[str, Any]) -> Any:
    """What to read of a folder; None: it is none."""
    module = sys.modules.get(__package__ + "._folder")
    if module is None or not isinstance(dataset, module.DatasetFolder):
        return None
    for name, of in ("decode", decode), ("suffixes", options.get("suffixes")):
        if of is not None:
            raise UsageError(f"{name}: {type(dataset).__name__} itself says "
                             "that")
    if dataset.dataset is None:
        raise UsageError(f"{dataset.root}: a tree has no chunks to read: pack "
                         "it, or take torch.utils.data.DataLoader")
    from ._folder_reading import reading_of
    return reading_of(dataset, collate, options.get("choice"))


if not TYPE_CHECKING:
    def __dir__():
        return sorted(__all__)

    def __getattr__(name):
        """torchvision takes its time, and is imported when it is asked for."""
        if name in ("DatasetFolder", "ImageFolder"):
            from . import _folder
            globals()[name] = getattr(_folder, name)
            return globals()[name]
        raise no_name(__name__, name, _hpdsls)
