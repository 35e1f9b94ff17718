# SPDX-License-Identifier: Apache-2.0
"""What users call says what it does, takes and gives."""

import inspect
import pydoc
import unittest

import hpdsl


def plain(one):
    """The function that a property, a class's method or the like is made of."""
    for name in "fget", "func", "__func__":
        one = getattr(one, name, one)
    return one


def unsaid(name, one):
    """Names below this one that have no docstring or lack an annotation.  A
    __init__ is told by its class's docstring."""
    if not (inspect.getdoc(one) or "").strip():
        yield f"{name}: no docstring"
    members = vars(one) if isinstance(one, type) else {}
    for inner, member in members.items():
        if inner == "__init__" or not inner.startswith("_"):
            member = plain(member)
            if inspect.isfunction(member):
                yield from unsaid_of(f"{name}.{inner}", member,
                                     inner == "__init__" or
                                     inspect.getdoc(getattr(one, inner)))
    if inspect.isfunction(one):
        yield from unsaid_of(name, one, one.__doc__)


def unsaid_of(name, function, said):
    if not said:
        yield f"{name}: no docstring"
    given = inspect.signature(function)
    for parameter in given.parameters.values():
        if parameter.annotation is parameter.empty and parameter.name not in (
                "self", "cls"):
            yield f"{name}: no type of {parameter.name}"
    if given.return_annotation is given.empty:
        yield f"{name}: no type of what it returns"


def all_unsaid(module):
    names = getattr(module, "__all__", None) or [
        name for name, one in vars(module).items()
        if getattr(one, "__module__", "") == module.__name__ and
        not name.startswith("_")]
    return [line for name in names if callable(getattr(module, name))
            for line in unsaid(name, getattr(module, name))]


class Names(unittest.TestCase):
    def test_all_is_said(self):
        for module in hpdsl, hpdsl.feed:
            self.assertEqual(all_unsaid(module), [])

    def test_names_of_others(self):
        for name, here in (("StreamingDataset", r"hpdsl.Dataset\(folder\), over"),
                           ("WebDataset", ".*in which hpdsl-index"),
                           ("ImageFolder", "hpdsl.torch.ImageFolder$"),
                           ("DataLoader", "hpdsl.torch.Loader$"),
                           ("MDSWriter", r"hpdsl-pack\(1\), of files or tars"),
                           ("CombinedStreamingDataset", "one pack of all, and")):
            with self.assertRaisesRegex(
                    AttributeError, f"^module 'hpdsl' has no attribute '{name}': "
                    f"here it is {here}"):
                getattr(hpdsl, name)
        with self.assertRaisesRegex(AttributeError, "'Datasett'$"):
            hpdsl.Datasett

    def test_names_to_complete(self):
        """What dir() has is what users call."""
        self.assertLess({"Loader", "feed", "fs", "torch"}, set(dir(hpdsl)))
        for module in hpdsl, hpdsl.feed, hpdsl.fs:
            self.assertNotIn("Any", dir(module))
            self.assertNotIn("annotations", dir(module))
            for name in module.__all__:
                self.assertIn(name, dir(module))
                getattr(module, name)

    def test_help_begins_with_one_screen(self):
        """Of 24 rows, the last of which is the pager's."""
        first = pydoc.plain(pydoc.render_doc(hpdsl)).splitlines()[:23]
        self.assertIn(hpdsl.__doc__.splitlines()[-1].strip(),
                      [line.strip() for line in first])


class FileSystem(unittest.TestCase):
    def test_all_is_said(self):
        self.assertEqual(all_unsaid(hpdsl.fs), [])
