#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the programs of a manual page as somebody who pastes them has them.

usage: programs.py PAGE FOLDER

A program begins behind a comment .\\" PROGRAM NAME and ends before .\\" END.
Prints the names.  What a formatter prints as something else than was written is
not taken.
"""
import os
import re
import sys


def programs(page):
    for name, text in re.findall(r'^\.\\" PROGRAM (\S+)\n\.Bd -literal.*\n'
                                 r'((?:.*\n)*?)\.Ed\n\.\\" END$', page, re.M):
        odd = re.search(r"[\\'`^~]|^\.|[^\n -~]|^.{76}", text, re.M)
        if odd:
            sys.exit(f"{name}: {odd[0]!r} is not printed as it is written")
        yield name, text


def main():
    page, folder = sys.argv[1:]
    with open(page) as f:
        found = dict(programs(f.read()))
    for name, text in found.items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
        print(name)


if __name__ == "__main__":
    main()
