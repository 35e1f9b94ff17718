#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training script for a tree of class folders, as others have it: knows nothing
of HPDSL.

    image_folder.py --data DIR

It reads every image, by torchvision's ImageFolder if that is there, else in the
way that does it, and says how many there are and in which mount name space.
"""
import argparse
import os


def folder(root):
    """What torchvision.datasets.ImageFolder finds: (path, class), in order."""
    classes = sorted(e.name for e in os.scandir(root) if e.is_dir())
    for number, name in enumerate(classes):
        for top, _, files in sorted(os.walk(os.path.join(root, name),
                                            followlinks=True)):
            for f in sorted(files):
                if f.lower().endswith((".png", ".jpg", ".jpeg")):
                    yield os.path.join(top, f), number


def load(path):
    with open(path, "rb") as f:
        return f.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    root = parser.parse_args().data
    try:
        from torchvision.datasets import ImageFolder
        data = ImageFolder(root, loader=load)
        how = "torchvision"
    except ImportError:
        data = [(load(path), number) for path, number in folder(root)]
        how = "no torchvision"
    size = sum(len(image) for image, _ in data)
    classes = {number for _, number in data}
    print(f"{len(data)} images in {len(classes)} classes, {size} bytes, {how}, "
          f"{os.readlink('/proc/self/ns/mnt')}")


main()
