# SPDX-License-Identifier: Apache-2.0
"""A loop's state without a loader, for those who count by themselves."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from . import _abi
from ._abi import lib
from ._choice import Choice, address_of
from ._dataset import Dataset
from ._errors import CorruptError, checked, number
from ._order import Order, end_number, filled


def make_state(order: Order, end: str, dataset: Dataset,
               choice: Optional[Choice]) -> Dict[str, Any]:
    """Of a loop for which the order's step is the next one."""
    state = _abi.State(order=order._c(), end=end_number(end),
                       has_choice=choice is not None)
    state.pack[:] = (bytes([_abi.STATE_MEASURED] * 16)
                     if os.environ.get("HPDSL_STALL")
                     else bytes.fromhex(dataset.pack))
    if choice is not None:
        state.choice[:] = bytes.fromhex(choice.digest)
    text = ctypes.create_string_buffer(_abi.STATE_MAX)
    n = lib.state_format(ctypes.byref(state), text)
    return json.loads(text.raw[:n])


def behind(place: Any) -> Tuple[int, int]:
    """The step behind that of a batch, or of its epoch and step, numbers of any
    kind."""
    epoch, step = (place.epoch, place.step) if hasattr(place, "step") else place
    return number("epoch", epoch, 64), number("step", step, 64) + 1


def read_state(state: Union[str, Mapping[str, Any]], dataset: Dataset,
               choice: Optional[Choice], batch_size: int = 0, ranks: int = 1,
               workers: int = 1) -> Tuple[Order, str]:
    """Its order, where it has no number with that of a job that is started so,
    and its end.  CorruptError: it is no state; DiffersError: it is of another
    pack or choice, or its epoch has no such step."""
    # What JSON has not, as tensors of an optimizer's, is no state either: that
    # is for the library to say.
    text = (state if isinstance(state, str) else json.dumps(dict(state),
                                                            default=str)
            ).encode()
    c, handle = _abi.State(), dataset.handle()
    try:
        checked(lib.state_parse, text, len(text), b"state", ctypes.byref(c))
    except CorruptError as e:
        raise CorruptError(f"{e}; wanted is what state_dict() of an hpdsl loader "
                           "has given: where another one was, seek(epoch, step) "
                           "goes") from None
    order = filled(Order._of(c.order), dataset, choice,
                   0 if c.order.batch else batch_size, ranks, workers)
    c.order = order._c()
    checked(lib.state_check, ctypes.byref(c), handle.address,
            address_of(choice, dataset), b"state")
    return order, list(_abi.ENDS)[c.end]
