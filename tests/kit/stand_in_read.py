# SPDX-License-Identifier: Apache-2.0
"""All files of a packed or staged dataset, by one of the stand-ins, against the
tree that was packed.

    stand_in_read.py files|fsspec|folder DATASET TREE
"""

import os
import random
import sys

import hpdsl


def files_of(tree):
    """Path below the tree: content."""
    found = {}
    for top, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(top, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, tree)] = f.read()
    return found


def pieces(file, content):
    """Read here and there, it is that."""
    for _ in range(20):
        at = random.randrange(len(content) + 1)
        file.seek(at)
        n = random.randrange(1 << 16)
        assert file.read(n) == content[at:at + n]


def files(at, tree):
    with hpdsl.Dataset(at) as ds:
        for path, content in files_of(tree).items():
            with ds.open(path) as f:
                pieces(f, content)
            with ds.open(path) as f:
                assert f.read() == content, path


def fsspec(at, tree):
    from fsspec import filesystem
    fs = filesystem("hpdsl")
    there = files_of(tree)
    top = at.lstrip("/")
    found = fs.find(f"/{top}")
    assert sorted(os.path.relpath(p, at) for p in found) == sorted(there)
    got = fs.cat([os.path.join(at, p) for p in there])
    for path, content in got.items():
        assert content == there[os.path.relpath(path, at)], path
    large = os.path.join(at, "class1/large.png")
    with fs.open(large) as f:
        pieces(f, there["class1/large.png"])


def folder(at, tree):
    from hpdsl.torch import ImageFolder
    there = files_of(tree)
    ours = ImageFolder(at, loader=lambda file: file.read())
    assert len(ours) == sum(p.endswith(".png") for p in there)
    order = list(range(len(ours)))
    random.shuffle(order)
    for i in order:
        path, target = ours.samples[i]
        content, label = ours[i]
        path = os.path.relpath(path, at)
        assert content == there[path], path
        assert label == target and ours.classes[label] == path.split("/")[0]


if __name__ == "__main__":
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print("SEED", seed)
    random.seed(seed)
    {"files": files, "fsspec": fsspec, "folder": folder}[sys.argv[1]](
        *sys.argv[2:])
