#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hazards.py DIR: a tree of good samples and of every kind of name that some
reader of tars trips over; each kind has a folder of its own."""

import os
import sys

TREE = {
    b"good": [b"%d.%s" % (i, s) for i in range(9) for s in (b"jpg", b"txt")],
    b"nosuffix": [b"README", b"dir.d/file", b"dot.", b"a", b"a.jpg"],
    b"dots": [b"Track 2.0 x.mp3", b"v1.5_a.png", b"v1.5_a.txt", b"x.seg.png",
              b"x.png"],
    b"blank": [b"a b.jpg", b" lead.jpg", b"trail .jpg", b"a.j g"],
    b"hidden": [b".hid", b".hid.jpg", b"..two.x", b".config/a.jpg"],
    b"__meta__": [b"a.jpg", b"b.jpg"],
    b"__": [b"x__/a.jpg"],
    b"underscore": [b"__a.jpg", b"__b__.jpg", b"__dir__/a.jpg"],
    b"field": [b"a.__key__", b"b.__url__"],
    b"upper": [b"a.JPG", b"B.jpg", b"c.Jpg"],
    b"same": [b"a.jpg", b"a.JPG", b"a.Jpg", b"b.tar.gz", b"b.tar.GZ"],
    b"long": [b"l" * 90 + b".jpg", b"l" * 96 + b".jpg", b"m" * 250,
              b"d" * 90 + b"/" + b"e" * 90 + b".jpg",
              b"d" * 90 + b"/" + b"e" * 91 + b".jpg",
              (b"p" * 60 + b"/") * 6 + b"deep.jpg"],
    b"unicode": ["caf\u00e9.jpg".encode(), "\u65e5\u672c.jpg".encode(),
                 b"latin\xe9.jpg", b"bad\xff\xfe.jpg", b"\xed\xa0\x80.jpg"],
    b"control": [b"a\x01.jpg", b"tab\tb.jpg", b"del\x7f.jpg"],
    b"newline": [b"a\nb.jpg", b"n\nl/a.jpg", b"x.y\nz/a.jpg"],
    b"quote": [b"a\\b.jpg", b"a.j;g", b"semi;colon.jpg", b"colon:.jpg"],
    b"compressed": [b"a.txt.gz", b"b.npy.zst"],
}


def main():
    os.makedirs(os.fsencode(sys.argv[1]))
    os.chdir(sys.argv[1])
    number = 0
    for folder, names in TREE.items():
        for name in names:
            path = folder + b"/" + name
            os.makedirs(os.path.dirname(path), exist_ok=True)
            number += 1
            with open(path, "wb") as f:
                f.write(b"%d " % number * (number * 7 % 300))


main()
