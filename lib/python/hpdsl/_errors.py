# SPDX-License-Identifier: Apache-2.0
"""What the library's codes are in Python."""

import ctypes
import errno
import operator
from typing import (Any, Callable, Dict, Iterable, NoReturn, Set, Tuple,
                    Type)

from . import _abi


class Error(Exception):
    """Something that libhpdsl could not do.  Its text names the object and the
    reason; `code` is the library's: negative, see libhpdsl(3)."""

    code = 0

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code or self.code

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self.code)


class CorruptError(Error):
    """Bytes are not what was written."""

    code = -10001


class NotOursError(Error):
    """Not a dataset."""

    code = -10002


class TooNewError(Error):
    """Of a later version of the format."""

    code = -10003


class DiffersError(Error):
    """Another dataset, another choice, another pack than was expected."""

    code = -10004


class ChangedError(Error):
    """What is read changed meanwhile: the dataset is another one by now."""

    code = -10005


class StoppedError(Error):
    """Stopped early, as it was asked to."""

    code = -10006


class UsageError(Error, ValueError):
    """Options or arguments that make no sense."""

    code = -10007


class SystemFailure(Error, OSError):
    """The operating system said no: `errno` says why."""

    def __init__(self, message: str, code: int = 0) -> None:
        OSError.__init__(self, -code, message)
        self.args = (message,)
        self.code = code


class NotFoundError(SystemFailure, FileNotFoundError):
    """No such file, folder or member."""


class NotFolderError(SystemFailure, NotADirectoryError):
    """What should be a folder is none."""


class RangeError(SystemFailure, IndexError):
    """No such sample, member, step or position."""


class NoMemoryError(SystemFailure, MemoryError):
    """Not enough memory."""


_OURS: Dict[int, Type[Error]] = {
    c.code: c for c in (CorruptError, NotOursError, TooNewError, DiffersError,
                        ChangedError, StoppedError, UsageError)}
_SYSTEM: Dict[int, Type[Error]] = {
    -errno.ENOENT: NotFoundError, -errno.ENOTDIR: NotFolderError,
    -errno.ERANGE: RangeError, -errno.ENOMEM: NoMemoryError}


# How a text of the library goes on, where a command knows more.
_ADVICE = (("not a dataset (", " (hpdsl-info says what is there, and what "
                               "comes next)"),
           ("; a dataset is one", " (hpdsl-info says what this is)"),
           ("}.tar: No such", " (shards are opened by their folder, when "
                              "hpdsl-index was there)"))


def exception(code: int, message: bytes) -> Error:
    kind = _OURS.get(code) or _SYSTEM.get(code) or SystemFailure
    said = message.decode("utf-8", "surrogateescape")
    for has, more in _ADVICE:
        if has in said and kind in (NotOursError, NotFolderError,
                                    NotFoundError):
            said += more
            break
    return kind(said, code)


def fail(failure: _abi.Failure) -> NoReturn:
    """Raises what a function of the library has left in its last argument."""
    raise exception(failure.code, failure.msg)


def checked(function: Callable[..., int], *arguments: Any) -> int:
    """Calls a function of the library whose last argument is the error."""
    failure = _abi.Failure()
    code = function(*arguments, ctypes.addressof(failure))
    if code < 0:
        fail(failure)
    return code


class _Note(Exception):
    """What Python before 3.11 prints of an exception's note."""


def annotate(error: BaseException, text: str) -> None:
    """Says more of an exception that stays what it is, so that whoever catches
    its type, or has it in hand, finds what was raised.  Before Python 3.11,
    which knows no notes, as the first of its causes besides."""
    add = getattr(error, "add_note", None)
    if add is not None:
        add(text)
        return
    notes = getattr(error, "__notes__", [])
    error.__notes__ = [*notes, text]  # type: ignore[attr-defined]
    seen: Set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        behind = error.__cause__ or (
            None if error.__suppress_context__ else error.__context__)
        if behind is None:
            error.__cause__ = _Note(text)
            break
        error = behind


def number(name: str, given: Any, bits: int = 32) -> int:
    """Below 2 to that power; of NumPy's, too."""
    try:
        value = operator.index(given)
    except TypeError as e:
        raise TypeError(f"{name}: {e}") from e
    if not 0 <= value < 1 << bits:
        raise UsageError(f"{name} {value}")
    return value


def wanted(kind: Type[Any], name: str, given: Any) -> None:
    """A line that says so, in place of one about an attribute."""
    if not isinstance(given, kind):
        raise TypeError(f"{name}: wanted hpdsl.{kind.__name__}, not "
                        f"{type(given).__name__}{_subset(given)}")


def one(index: Any) -> Any:
    """The index, which is not that of several."""
    if isinstance(index, slice) or (
            isinstance(index, Iterable) and not isinstance(index, str)
            and getattr(index, "ndim", True)):
        raise TypeError(f"one sample at a time, not [{index!r:.60}]: wanted "
                        "torch.utils.data.Subset(.., numbers)")
    return index


def _subset(given: Any) -> str:
    """How torch.utils.data.Subset is said here, and what takes an ImageFolder."""
    of = getattr(given, "dataset", None)
    if of is None:
        return ""
    if not hasattr(given, "indices"):
        return (": it is folder.dataset here; hpdsl.torch.Loader takes the folder, too"
                if hasattr(given, "samples") else "")
    if hasattr(of, "samples"):
        return (": wanted the ImageFolder itself, and its part as "
                "choice=hpdsl.Choice(folder.dataset, split=(0, 0.9))")
    if hasattr(of, "chosen"):  # a Choice, whose places these are
        return (": wanted choice=hpdsl.Choice(ds, samples=[numbers[i] for i in "
                "subset.indices]) with numbers = list(the choice that it is of)")
    return ": wanted choice=hpdsl.Choice(ds, samples=subset.indices)"
