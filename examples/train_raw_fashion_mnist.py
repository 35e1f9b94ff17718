#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on Fashion-MNIST as many scripts do it: a file for each
image, opened when it is wanted, by PyTorch's DataLoader.

    fashion_mnist_to_png.py png
    train_raw_fashion_mnist.py png

It knows nothing of HPDSL: it is here to be measured, beside train_fashion_mnist.py,
which reads the same images packed (measure_fashion_mnist.sh).
"""
import argparse
import os
import sys

import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    """Images in class folders: one of the training half and its class."""

    def __init__(self, root):
        self.classes = sorted(e.name for e in os.scandir(root) if e.is_dir())
        self.files = [
            (os.path.join(root, name, file), label)
            for label, name in enumerate(self.classes)
            for file in sorted(os.listdir(os.path.join(root, name)))
            if file.startswith("train-")
        ]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        path, label = self.files[number]
        with Image.open(path) as image:
            pixels = bytearray(image.tobytes())
        grey = torch.frombuffer(pixels, dtype=torch.uint8).view(1, 28, 28)
        return (grey.float() / 255 - 0.3) / 0.35, label


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tree", help="of images in class folders")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images = Folder(args.tree)
    if not images:
        sys.exit(f"{args.tree}: no images train-* in class folders")
    loader = DataLoader(
        images, args.batch, shuffle=True, num_workers=args.workers
    )
    net = network()
    optimizer = torch.optim.Adam(net.parameters(), 0.002)
    for epoch in range(args.epochs):
        for image, label in loader:
            loss = F.cross_entropy(net(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {len(loader)} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    sys.exit(main())
