#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""side_forge.py DATASET NAME=BYTES..: puts files of these names and sizes into
a dataset, in the place of others or beside them, and lists them in its
manifest.  The bytes follow from name and size.  Datasets without SHA-256.
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read_dataset import xxh3_128  # noqa: E402


def main(dataset, *files):
    path = os.path.join(dataset, "dataset.yaml")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"^checksum: .*\n\Z", "", text, flags=re.M)
    if "\nfiles:\n" not in text:
        text += "files:\n"
    head, _, rows = text.partition("\nfiles:\n")
    for name, size in (word.split("=") for word in files):
        data = random.Random(name + size).randbytes(int(size))
        place = os.path.join(dataset, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as f:
            f.write(data)
        rows = re.sub(rf"^- {{name: '?{re.escape(name)}'?,.*\n", "", rows,
                      flags=re.M)
        rows += (f"- {{name: '{name}', bytes: {size}, "
                 f"xxh3_128: '{xxh3_128(data).hex()}'}}\n")
    text = f"{head}\nfiles:\n{rows}"
    digest = xxh3_128(text.encode()).hex()
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{text}checksum: {digest}\n")


main(*sys.argv[1:])
