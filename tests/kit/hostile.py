#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries the commands on each of many hostile files.

usage: hostile.py KIND GOOD FILE...

Prints a line for each FILE of KIND (index, manifest, journal, archive or
snapshot): its name, the exit status of each command, and what was said.  "!"
behind a status: the command crashed, or did not say what is wrong, or not in
one line.  GOOD has the good dataset; what is tried is made in the current
folder.  All of it is one process: there are thousands of commands, and a shell
would begin several programs for each.
"""
import filecmp
import os
import re
import resource
import shutil
import subprocess
import sys

# For hpdsl-pack and archives.  Sanitizers reserve more than any limit.
MEMORY = None if os.environ.get("SAN") else 1500000 << 10
PATIENCE = 600


def lines_of(path):
    with open(path, "rb") as f:
        data = f.read().replace(b"\0", b"")
    lines = data.decode(errors="surrogateescape").split("\n")
    return lines if lines[-1] else lines[:-1]


def first(pattern, path):
    """The first line that has the pattern, or nothing."""
    return next((s for s in lines_of(path) if re.search(pattern, s)), "")


def behind(message, mark):
    return message.rsplit(mark, 1)[-1]


def run(args, little=False):
    """The exit status, as a shell has it; what is said is in out and err."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with open("out", "wb") as out, open("err", "wb") as err:
        if little and MEMORY:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limits[1]))
        try:
            child = subprocess.Popen(
                args, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
    try:
        status = child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        status = 124
    return status if status >= 0 else 128 - status


def is_told(program, status):
    """Does what a command said fit its exit status?"""
    said = lines_of("err")
    own = sum(s.startswith(program + ": ") for s in said)
    told = sum(": warning: " not in s for s in said)
    if program == "hpdsl-pack limited" and status in (1, 2, 3):
        return told >= 1
    if program == "hpdsl-cat" and status in (1, 3):  # one a member
        return own >= 1
    if program == "hpdsl-ls" and status == 1:  # one a kind of damage
        return own >= 1
    if program == "hpdsl-verify" and status == 1:
        return os.path.getsize("out") > 0
    if program == "hpdsl-snapshot" and status in (1, 3):
        return os.path.getsize("out") > 0 or (
            bool(said) and said[0].startswith("hpdsl-snapshot:")
        )
    # a path that is there twice is the input's
    if status in (1, 3) or (program == "hpdsl-pack" and status == 2):
        return told == 1
    return False


class Line:
    def __init__(self, path):
        self.text = os.path.basename(path) + ":"

    def run(self, *args, little=False):
        """Adds the exit status of a command, and returns it."""
        status = run(args, little)
        self.text += f" {status}"
        if status and not is_told(
            args[0] + (" limited" if little else ""), status
        ):
            self.text += "!"
        return status

    def finish(self, message, said):
        """Adds said, if there was a message at all, and prints it."""
        text = self.text + (f" {said}" if message else "")
        sys.stdout.buffer.write(text.encode(errors="surrogateescape") + b"\n")


def remove(*names):
    for name in names:
        if os.path.isdir(name):
            shutil.rmtree(name)


def files_of(tree):
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, tree)


def only_parts_of(tree, whole):
    return all(
        os.path.isfile(os.path.join(whole, f))
        and filecmp.cmp(
            os.path.join(tree, f), os.path.join(whole, f), shallow=False
        )
        for f in files_of(tree)
    )


def same_folders(a, b):
    names = sorted(os.listdir(a))
    return names == sorted(os.listdir(b)) and not any(
        filecmp.cmpfiles(a, b, names, shallow=False)[1:]
    )


def seen(folder):
    """What a shell's * has there."""
    return " ".join(sorted(f for f in os.listdir(folder) if f[0] != "."))


def pack_again(good):
    # a list, which is all: the data are of before litter was left out
    return (
        "hpdsl-pack", "-q", "--resume", "--shuffle=none", "--chunks=2",
        "--labels=dir", "--files-from=all", good + "/tree", "h",
    )


def try_index(file, good):
    """verify, ls, ls --samples, ls --chunks, cat by path, by number, unpack,
    index, and verify's first word."""
    line = Line(file)
    remove("h", "u")
    os.mkdir("h")
    for name in os.listdir(good + "/tiny"):
        if name.startswith("chunk-"):
            shutil.copy(f"{good}/tiny/{name}", "h")
    shutil.copy(file, "h/index.hpdsl")
    line.run("hpdsl-verify", "-q", "h")
    message = (
        first("^index.hpdsl: ", "out")
        or first("index.hpdsl: ", "err")
        or first("^chunk", "out")
    )
    # nobody else reads what has no manifest; nor do readers look into it
    shutil.copy(good + "/tiny/dataset.yaml", "h")
    line.run("hpdsl-ls", "-l", "h")
    line.run("hpdsl-ls", "-l", "--samples", "h")
    line.run("hpdsl-ls", "-l", "--chunks", "h")
    line.run("hpdsl-cat", "h", "cat/1.jpg", "dog/2.json")
    line.run("hpdsl-cat", "--member=2", "--sample=2", "h")
    line.run("hpdsl-unpack", "-q", "h", "u")
    if os.path.exists("u") and not only_parts_of("u", good + "/tree"):
        line.text += " wrong!"
    os.remove("h/dataset.yaml")
    line.run("hpdsl-index", "-q", "h")
    line.finish(message, behind(message, "index.hpdsl: "))


def try_manifest(file, good):
    """verify, verify --quick, pack --resume, index, and verify's first word."""
    line = Line(file)
    remove("h")
    shutil.copytree(good + "/tiny", "h")
    shutil.copy(file, "h/dataset.yaml")
    line.run("hpdsl-verify", "-q", "h")
    message = (
        first("^dataset.yaml: ", "out")
        or first("dataset.yaml: ", "err")
        or first(":", "out")
    )
    line.run("hpdsl-verify", "-q", "--quick", "h")
    line.run(*pack_again(good))
    line.run("hpdsl-index", "-q", "h")
    line.finish(message, behind(message, "dataset.yaml: "))


def try_journal(file, good):
    """pack --resume, and then verify.  A pack that is done has the right bytes;
    one that is not leaves no dataset."""
    line = Line(file)
    remove("h")
    os.mkdir("h")
    shutil.copy(good + "/tiny/chunk-000000.tar", "h")
    shutil.copy(file, "h/journal.hpdsl")
    status = line.run(*pack_again(good))
    message = (lines_of("err") or [""])[0]
    if status == 0:
        if not same_folders("h", good + "/tiny"):
            line.text += " wrong!"
    elif seen("h") != "chunk-000000.tar journal.hpdsl":
        line.text += f" left: {seen('h')}!"
    line.run("hpdsl-verify", "-q", "h")
    if message.startswith("hpdsl-pack: "):
        line.finish(message, message[len("hpdsl-pack: ") :])
    else:
        line.finish(message, message)


def start(text, n):
    """The first n bytes of it."""
    data = text.encode(errors="surrogateescape")[:n]
    return data.decode(errors="surrogateescape")


def try_archive(file, good):
    """pack, and with --nested, each in little memory and time; then what was
    packed, and what verify --source and unpack say of it, or the error."""
    line = Line(file)
    name = os.path.basename(file)
    for nested in (), ("--nested",):
        remove("h", "u")
        shutil.copy(file, name)
        pack = ("hpdsl-pack", "-q", *nested, "--group=none", name, "h")
        if line.run(*pack, little=True) == 0:
            line.run("hpdsl-verify", "-q", "--source=" + name, "h")
            line.run("hpdsl-unpack", "-q", "h", "u")
    if os.path.exists("h/dataset.yaml"):
        run(("hpdsl-ls", "h"))
        message = "".join(start(s, 60) + " " for s in lines_of("out")[:5])
    else:
        message = "\n".join(
            start(re.sub("^hpdsl-pack: ", "", s), 150)
            for s in lines_of("err")
            if ": warning: " not in s
        )
    os.remove(name)
    # How much room there is depends on the machine.
    message = re.sub("goes, [0-9.]+ MiB", "goes, N MiB", message)
    said = message
    if message.startswith(name + ": "):
        said = message[len(name) + 2 :]
    line.finish(message, said)


def try_snapshot(file, good):
    """verify, ls, stat, find, du, dump, load of what that printed, diff with the
    good one, check of a tree like it (live), pack --from-snapshot, and verify's
    first word."""
    line = Line(file)
    mark = f"/{os.path.basename(file)}: "
    tool = "hpdsl-snapshot"
    remove("h", "u")
    line.run(tool, "verify", "-q", file)
    message = first(re.escape(mark), "out") or first(re.escape(mark), "err")
    line.run(tool, "ls", "-lR", file)
    line.run(tool, "stat", file, "cat", "cat/1.jpg", "dog/2.jpg", "link")
    line.run(tool, "find", file)
    line.run(tool, "du", "-a", file)
    line.run(tool, "dump", file)
    os.mkdir("u")
    shutil.copy("out", "u/text")
    line.run(tool, "load", "-q", "u/text", "-o", "u/snapshot")
    line.run(tool, "diff", "-q", good + "/snapshot", file)
    line.run(tool, "check", "-q", file, "live")
    line.run("hpdsl-pack", "-q", "--from-snapshot=" + file, "live", "h")
    if os.path.exists("h") and not os.path.exists("h/dataset.yaml"):
        if seen("h") != "journal.hpdsl":
            line.text += f" left: {seen('h')}!"
    line.finish(message, behind(message, mark))


def main():
    kinds = {
        "index": try_index,
        "manifest": try_manifest,
        "journal": try_journal,
        "archive": try_archive,
        "snapshot": try_snapshot,
    }
    for file in sys.argv[3:]:
        kinds[sys.argv[1]](file, sys.argv[2])


if __name__ == "__main__":
    main()
