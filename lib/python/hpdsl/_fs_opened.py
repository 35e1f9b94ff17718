# SPDX-License-Identifier: Apache-2.0
"""The datasets that hpdsl.fs has open, with their folders, and what it says of a
path that is no file."""

from __future__ import annotations

import errno
import os
import threading
from typing import Any, Dict, Optional, Tuple
from weakref import WeakValueDictionary

from ._abi import lib
from ._dataset import Dataset
from ._errors import NotFoundError, UsageError
from ._keys import find_or_none
from ._pieces import Found, unread
from ._rows import Handle, Rows
from ._sample import Member, member_of, raw
from ._snapshot import Snapshot


class Opened:
    """A dataset, and once something is listed its folders: for all file
    systems of this process."""

    def __init__(self, path: str, options: Dict[str, bool]) -> None:
        self.dataset = Dataset(path, **options)
        self._names: Optional[Snapshot] = None
        self._nameless = ""  # why it has no folders
        self._making = os.getpid(), threading.Lock()

    def handle(self) -> Handle:
        """That there is none any more, after a fork, is no missing file."""
        try:
            return self.dataset.handle()
        except OSError as e:
            raise unread(e) from e

    def member(self, inside: str) -> Optional[Member]:
        """Of those that were packed; None: there is no such file."""
        found = find_or_none(self.handle(), inside)
        member = None if found is None else member_of(found)
        return None if member is None or member.generated else member

    def found(self, inside: str) -> Optional[Found]:
        """The same, for reading; what else fails is no OSError."""
        handle, name = self.handle(), raw(inside)
        try:
            rows = Rows(lib.path_rows, handle, name, len(name))
        except NotFoundError:
            return None
        except OSError as e:
            raise unread(e) from e
        return None if rows.member().generated else Found.of(handle, rows)

    def names(self) -> Snapshot:
        pid, lock = self._making
        if pid != os.getpid():
            # Whoever had the other one at the fork is not here.
            lock = threading.Lock()
            self._making = os.getpid(), lock
        with lock:
            if self._nameless:  # all names were read for that
                raise UsageError(self._nameless)
            if self._names is None:
                try:
                    self._names = Snapshot(self.dataset)
                except UsageError as e:
                    self._nameless = str(e)
                    raise
                except OSError as e:
                    raise unread(e) from e
            return self._names

    def is_folder(self, inside: str) -> bool:
        return not inside or self.names().isdir(inside)


everywhere: "WeakValueDictionary[Tuple[Any, ...], Opened]" = WeakValueDictionary()


def absent(path: str, what: str = "file or folder") -> NotFoundError:
    return NotFoundError(f"{path}: no such {what} in a dataset", -errno.ENOENT)


def no_file(path: str, opened: Opened, inside: str) -> OSError:
    """What there is in place of a file."""
    try:
        folder = opened.is_folder(inside)
    except UsageError:  # adopted tars that have a path twice
        return absent(path, "file")
    if folder:
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    try:
        opened.dataset.find(inside)
    except NotFoundError as e:
        return NotFoundError(f"{absent(path)}: {e}", e.code)
    return absent(path)  # the packer made it
