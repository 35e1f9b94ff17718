#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What code that reads a tree writes for a packed dataset: a line each.

    hpdsl-pack --labels=dir:2 data packed    # data/train/CLASS/.., data/val/..
    stand_ins.py packed

Prints what it finds.  What needs a package that is not here is left out, and
said.
"""
import io
import sys

import hpdsl


def names(packed):
    """os.walk, os.stat: without a question to the file system."""
    tree = hpdsl.Snapshot(packed)
    for root, dirs, files in tree.walk("train"):
        print(f"{root}: {len(dirs)} folders, {len(files)} files")
    largest = max(tree.files("train"), key=tree.getsize)
    print(f"the largest file: {largest}, {tree.getsize(largest)} bytes")
    print("by extension:", tree.count_suffixes())


def files(packed):
    """open(path, "rb"): what takes a file takes this."""
    with hpdsl.Dataset(packed) as ds:
        path = ds.members(0)[0].path
        with ds.open(path) as f:
            f.seek(0, io.SEEK_END)
            print(f"{f.name}: {f.tell()} bytes")


def splits(packed):
    """One pack, and folders of it."""
    with hpdsl.Dataset(packed) as ds:
        for folder in "train", "val":
            choice = hpdsl.Choice(ds, folder=folder)
            with hpdsl.Loader(ds, batch_size=16, choice=choice) as loader:
                n = sum(sum(batch.mask) for batch in loader)
            print(f"{folder}: {n} samples")


def images(packed):
    """torchvision.datasets.ImageFolder, and a DataLoader over it."""
    import torch
    import torch.utils.data

    import hpdsl.torch

    def pixels(image):
        return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)

    folder = hpdsl.torch.ImageFolder(f"{packed}/train", transform=pixels)
    print(f"{len(folder)} images of {', '.join(folder.classes)}")
    image, target = folder[0]
    print(f"{folder.samples[0][0]}: {len(image)} bytes, "
          f"{folder.classes[target]}")
    plain = torch.utils.data.DataLoader(folder, batch_size=16, shuffle=True)
    print(sum(len(targets) for _, targets in plain), "by a DataLoader")
    # The same, read as hpdsl.torch.Loader reads: large reads, resumable.
    with_large_reads = hpdsl.torch.Loader(folder, batch_size=16, epochs=1)
    n = sum(int(batch.mask.sum()) for batch in with_large_reads)
    print(n, "by hpdsl.torch.Loader")


def table(packed):
    """pandas, and all that takes an address."""
    import fsspec

    of = fsspec.filesystem("hpdsl")
    for path in of.glob(f"{packed}/*.csv"):
        with fsspec.open(f"hpdsl://{path}", "r") as f:
            print(f"{path}: {f.readline().strip()}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    for part in names, files, splits, images, table:
        try:
            part(sys.argv[1])
        except ImportError as e:
            print(f"left out: {part.__name__}: {e}", file=sys.stderr)


if __name__ == "__main__":
    main()
