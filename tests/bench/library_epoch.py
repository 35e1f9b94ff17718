# SPDX-License-Identifier: Apache-2.0
"""One epoch of one reader, in a process of its own, which imports before it is told to
begin.  For tests/bench/libraries.py, which drops caches and looks at memory between.

    library_epoch.py READER PLACE CONFIGURATION STEP WEIGH
                    CONFIGURATION is a JSON object, STEP what a loop computes, in
                    seconds, WEIGH 1: contents are summed up as well
    library_epoch.py            prints the versions of what is here, a JSON object

Prints "ready", waits for a line, prints a JSON object, and waits for another.
"""
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import time

from library_readers import READERS


def versions():
    found = {}
    for name, (package, *_) in READERS.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            if importlib.util.find_spec(package):
                found[name] = "of this tree"
    return found


def weight(sample):
    """What a sample counts in the sum by which contents are told apart."""
    if hasattr(sample, "long") and sample.dim() > 1:
        return int(sample.long().sum())
    return int.from_bytes(bytes(sample[-8:]), "little")


def epoch(batches, step, weigh):
    said = {"samples": 0, "bytes": 0, "weight": 0, "first": 0.0, "computed": 0.0}
    begin = time.monotonic()
    for batch in batches:
        if not said["first"]:
            said["first"] = time.monotonic() - begin
        said["samples"] += len(batch)
        said["bytes"] += sum(map(len, batch))
        if weigh:
            said["weight"] += sum(map(weight, batch))
        if step:
            now = time.monotonic()
            time.sleep(step)
            said["computed"] += time.monotonic() - now
    said["seconds"] = time.monotonic() - begin
    return said


def main(reader, place, configuration, step, weigh):
    _, modules, function, _, _ = READERS[reader]
    for module in modules.split():
        importlib.import_module(module)
    # What libraries print goes elsewhere.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("ready", file=answer, flush=True)
    sys.stdin.readline()
    said = epoch(function(place, **json.loads(configuration)), float(step),
                 weigh == "1")
    print(json.dumps(said), file=answer, flush=True)
    sys.stdin.readline()
    # Some have threads that do not end.
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(*sys.argv[1:])
    else:
        print(json.dumps(versions()))
