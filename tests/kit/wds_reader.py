#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads tar files as WebDataset's tariterators do, and compares.

wds_reader.py list TAR...             its samples, one JSON object a line
wds_reader.py compare DATASET TREE    they must be those of the index, in
                                      order, with the contents of TREE
"""
import json
import os
import re
import subprocess
import sys
import tarfile


def base_plus_ext(path):
    match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", path)
    return match.groups() if match else (None, None)


def members(path):
    with tarfile.open(path, mode="r|", errors="surrogateescape") as stream:
        for info in stream:
            name = info.name
            if not info.isreg() or name is None:
                continue
            if ("/" not in name and name.startswith("__")
                    and name.endswith("__")):
                continue
            if re.match(r"__[^/]*__($|/)", name):
                continue
            yield name, stream.extractfile(info).read()


def samples(path):
    """Members that follow each other with one key; suffixes in lower case."""
    current = None
    for name, data in members(path):
        key, suffix = base_plus_ext(name)
        if key is None:
            continue
        suffix = suffix.lower()
        if current is None or key != current["__key__"]:
            if current:
                yield current
            current = {"__key__": key}
        if suffix in current:
            raise ValueError(f"{name}: duplicate in tar file {suffix}")
        current[suffix] = data
    if current:
        yield current


def name_of(row, field):
    raw = row.get(field + "_base64")
    if raw is None:
        return os.fsencode(row[field])
    import base64
    return base64.b64decode(raw)


def rows(dataset, *options):
    out = subprocess.run(["hpdsl-ls", "--json", *options, dataset],
                         check=True, capture_output=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def wanted(dataset, tree):
    """What the index says: a list of samples for each chunk."""
    chunks = [[] for _ in rows(dataset, "--chunks")]
    last = None
    for row in rows(dataset, "--stored"):
        name = os.fsdecode(name_of(row, "stored"))
        key, suffix = name.split(".", 1)
        if row["sample"] != last:
            chunks[row["chunk"]].append({"__key__": key})
            last = row["sample"]
        sample = chunks[row["chunk"]][-1]
        assert sample["__key__"] == key, name
        assert suffix not in sample, name
        if row.get("generated"):
            data = str(row["label"]).encode()
        else:
            with open(os.path.join(os.fsencode(tree),
                                   name_of(row, "path")), "rb") as file:
                data = file.read()
        sample[suffix] = data
    return chunks


def compare(dataset, tree):
    for number, want in enumerate(wanted(dataset, tree)):
        chunk = os.path.join(dataset, f"chunk-{number:06}.tar")
        have = list(samples(chunk))
        assert have == want, (chunk, have, want)
        keys = [sample["__key__"] for sample in have]
        assert len(set(keys)) == len(keys), keys


def main():
    if sys.argv[1] == "compare":
        compare(*sys.argv[2:])
        return
    for path in sys.argv[2:]:
        for sample in samples(path):
            fields = sorted(set(sample) - {"__key__"})
            print(json.dumps({"key": sample["__key__"], "fields": fields}))


main()
