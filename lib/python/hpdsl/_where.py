# SPDX-License-Identifier: Apache-2.0
"""Where the shared library lies.  This is the answer of the source tree;
`make install` puts another one in the place of this file."""

import os

_HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(
    os.environ.get("BUILD") or os.path.join(_HERE, "../../../build"),
    "libhpdsl.so.0")
