# SPDX-License-Identifier: Apache-2.0
"""hpdsl-stall(1) puts this folder in front of PYTHONPATH, so that Python imports
this when it begins: scripts with PyTorch's DataLoader are measured without being
changed.  It waits for PyTorch, and then lets the site's own sitecustomize have
its turn."""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGES = os.path.dirname(os.path.dirname(_HERE))
# What is changed once it is there, and by which function of hpdsl._hooked.
_WANTED = {"torch.utils.data.dataloader": "change_dataloader",
           "torch.serialization": "change_save"}


def _without_this(path):
    return [p for p in path if os.path.abspath(p or os.getcwd()) != _HERE]


class _Finder:
    """Finds nothing by itself, but learns when something is there."""

    _asking = set()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in _WANTED or name in cls._asking:
            return None
        cls._asking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            cls._asking.discard(name)
        run = getattr(spec and spec.loader, "exec_module", None)
        if run is None:
            return spec

        def exec_module(module):
            run(module)
            _hooked(_WANTED[name], module)

        spec.loader.exec_module = exec_module
        return spec


def _hooked(change, module):
    path = list(sys.path)
    # Behind all others: a script that has a package of its own means that.
    sys.path.append(_PACKAGES)
    try:
        from hpdsl import _hooked as hooked
        getattr(hooked, change)(module)
    except Exception as e:  # of a version that is not known here
        sys.stderr.write("hpdsl-stall: %s is not measured: %s: %s\n"
                         % (module.__name__, type(e).__name__, e))
    finally:
        sys.path[:] = path


def _next_one():
    """The one that would have been imported without this one."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


sys.path[:] = _without_this(sys.path)
if os.environ.get("HPDSL_STALL"):
    sys.meta_path.insert(0, _Finder)
_next_one()
