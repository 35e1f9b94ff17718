#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images as programs for training read them: folders are classes.

images.py make DIR             PNG and JPEG, the same size each
images.py pil DIR DIR2         both have the same pixels, says PIL
images.py torch DIR DIR2       and a DataLoader with workers of PyTorch
images.py torchvision DIR DIR2 the same, over torchvision's ImageFolder
"""

import collections
import hashlib
import os
import random
import sys

from PIL import Image

SIZE = 40, 30


def make(top):
    """Twelve of each of three classes."""
    rnd = random.Random(3)
    for name in ("cat", "dog", "ünused name"):
        os.makedirs(os.path.join(top, name))
        for i in range(12):
            image = Image.frombytes("RGB", SIZE, rnd.randbytes(40 * 30 * 3))
            image.save(os.path.join(top, name, "%02d.%s" % (
                i, ("png", "jpg")[i % 2])))


def pixels(image):
    """As numbers."""
    import torch
    return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)


def by_pil(top):
    """Of each file what PIL finds in it."""
    found = []
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            with Image.open(path) as image:
                found.append((os.path.relpath(path, top), image.format,
                              image.mode, image.size,
                              hashlib.sha256(image.tobytes()).hexdigest()))
    return sorted(found)


class Folder:
    """What ImageFolder does, for where there is none."""

    def __init__(self, top, transform):
        self.transform = transform
        with os.scandir(top) as found:
            self.classes = sorted(e.name for e in found if e.is_dir())
        self.samples = [
            (os.path.join(folder, name), label)
            for label, c in enumerate(self.classes)
            for folder, _, files in sorted(os.walk(os.path.join(top, c)))
            for name in sorted(files)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        path, label = self.samples[i]
        with open(path, "rb") as f:
            return self.transform(Image.open(f).convert("RGB")), label


def by_loader(folder, top, workers):
    """Of each epoch which pixels had which label, how often."""
    import torch.utils.data
    dataset = folder(top, transform=pixels)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=5, shuffle=True, num_workers=workers)
    epochs = []
    for _ in range(2):
        seen = collections.Counter()
        for data, labels in loader:
            for row, label in zip(data, labels.tolist()):
                digest = hashlib.sha256(bytes(row.tolist())).hexdigest()
                seen[digest, dataset.classes[label]] += 1
        epochs.append(seen)
    return epochs


def main():
    """Compares."""
    how, *tops = sys.argv[1:]
    if how == "make":
        make(*tops)
        return
    if how == "pil":
        a, b = map(by_pil, tops)
    else:
        folder = Folder
        if how == "torchvision":
            from torchvision.datasets import ImageFolder as folder
        a, b = (by_loader(folder, top, n) for top, n in zip(tops, (0, 2)))
        assert all(sum(seen.values()) == 36 for seen in b), b
    assert len(a) and a == b, (a, b)


if __name__ == "__main__":
    main()
