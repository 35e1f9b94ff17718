#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns Fashion-MNIST's four archives into 70,000 PNG files in class folders.

usage: fashion_mnist_to_png.py OUTPUT [SOURCE [COUNT]]

SOURCE holds train-images-idx3-ubyte.gz and its three companions; Debian's
package dataset-fashion-mnist puts them where this looks by default.  COUNT
takes only the first so many of each half.  Needs nothing but Python.
"""
import gzip
import os
import struct
import sys
import zlib

SOURCE = "/usr/share/datasets/fashion-mnist"
CLASSES = (
    "T-shirt_top Trouser Pullover Dress Coat "
    "Sandal Shirt Sneaker Bag Ankle_boot"
).split()


def part(kind, data):
    """One part of a PNG file: length, kind, data, checksum."""
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def png(rows, width, height):
    """An 8-bit grey PNG; rows is width * height bytes."""
    lines = b"".join(
        b"\0" + rows[y * width : (y + 1) * width] for y in range(height)
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + part(b"IDAT", zlib.compress(lines, 1))
        + part(b"IEND", b"")
    )


def read_idx(path):
    """Dimensions and bytes of an IDX file of unsigned bytes."""
    try:
        with gzip.open(path) as f:
            data = f.read()
    except (OSError, EOFError, zlib.error) as e:
        sys.exit(f"{path}: {getattr(e, 'strerror', None) or e} (Debian's package "
                 f"dataset-fashion-mnist has it in {SOURCE})")
    if data[:3] != b"\0\0\x08":
        sys.exit(f"{path}: not an IDX file of bytes")
    n = data[3]
    return struct.unpack(f">{n}I", data[4 : 4 + 4 * n]), data[4 + 4 * n :]


def convert(source, half, output, count):
    """Writes the images of one half; returns how many."""
    at = os.path.join(source, half)
    (total, height, width), images = read_idx(at + "-images-idx3-ubyte.gz")
    (labels_total,), labels = read_idx(at + "-labels-idx1-ubyte.gz")
    if total != labels_total:
        sys.exit(f"{at}: {total} images but {labels_total} labels")
    total = min(total, count)
    size = width * height
    for i in range(total):
        image = png(images[i * size : (i + 1) * size], width, height)
        name = f"{half}-{i:05d}.png"
        with open(os.path.join(output, CLASSES[labels[i]], name), "wb") as f:
            f.write(image)
    return total


def main():
    if not 2 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    output = sys.argv[1]
    source = sys.argv[2] if len(sys.argv) > 2 else SOURCE
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 30
    for name in CLASSES:
        os.makedirs(os.path.join(output, name), exist_ok=True)
    done = sum(convert(source, h, output, count) for h in ("train", "t10k"))
    print(f"{done} images in {len(CLASSES)} folders")


if __name__ == "__main__":
    main()
