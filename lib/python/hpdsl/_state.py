# SPDX-License-Identifier: Apache-2.0
"""A loop's state without a loader, for those who count by themselves."""

from __future__ import annotations

import ctypes
import json
import os
import warnings
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from . import _abi
from ._abi import lib
from ._choice import Choice, address_of
from ._dataset import Dataset
from ._errors import CorruptError, checked, number
from ._meant import outside
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


def overruled(said: Mapping[str, Any], order: Order, end: str) -> str:
    """What a state has otherwise than the caller has said, for a message; "":
    nothing."""
    has = dict(vars(order), end=end)
    # In stored order these are 1, whatever was said.
    idle = () if order.shuffle else ("lanes", "piece", "windows", "parts")
    others = [name for name, value in said.items()
              if has[name] != value and name not in idle]
    if not others:
        return ""

    def listed(of: Mapping[str, Any]) -> str:
        return ", ".join(f"{name}={of[name]!r}" for name in others)

    return (f"state: it has {listed(has)}, which holds, where the loader was given "
            f"{listed(said)}; seek(epoch) in place of load_state_dict() begins an "
            "epoch as that says")


def tell_overruled(said: Mapping[str, Any], order: Order, end: str) -> None:
    text = overruled(said, order, end)
    if text:
        warnings.warn(text, RuntimeWarning, stacklevel=outside())


def read_state(state: Union[str, Mapping[str, Any]], dataset: Dataset,
               choice: Optional[Choice], batch_size: int = 0, ranks: int = 1,
               workers: int = 1) -> Tuple[Order, str]:
    """Its order, where it has no number with that of a job that is started so,
    and its end.  CorruptError: it is no state; DiffersError: it is of another
    pack or choice, or its epoch has no such step."""
    if not isinstance(state, (str, Mapping)):
        raise TypeError("state: wanted what state_dict() has given, or that as JSON "
                        f"text, not {type(state).__name__}")
    # What JSON has not, as tensors of an optimizer's, is no state either: that
    # is for the library to say.
    text = (state if isinstance(state, str) else json.dumps(dict(state),
                                                            default=str)
            ).encode()
    c, handle = _abi.State(), dataset.handle()
    try:
        checked(lib.state_parse, text, len(text), b"state", ctypes.byref(c))
        # What a person wrote comes as text; such a dict is some other program's.
        if not isinstance(state, str) and "format" not in state:
            raise CorruptError("state: 'format' is missing")
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
