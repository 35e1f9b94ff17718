# SPDX-License-Identifier: Apache-2.0
"""Files in a folder of mounts' figures that no server of ours would write.

    liars.py SOUND COMMAND..

They are like SOUND, or not, and held while COMMAND runs; 1: that one's status.
"""

import fcntl
import os
import subprocess
import sys

sound, *command = sys.argv[1:]
folder = os.path.dirname(sound)
with open(sound, "rb") as f:
    sound = f.read()
TEXT = len(sound) - 3 * 4096  # where the place is


def but(at, what):
    return sound[:at] + what + sound[at + len(what):]


held, names = [], []


def name():
    names.append(f"{folder}/mount-{len(names) + 1}-0.status")
    return names[-1]


# 1 to 4: cut off, longer, text without an end, absurd; 5: another version;
# 6, 7: sound, and nobody renews them; 8: nobody holds it; 9: a pipe
for what in (sound[:100], sound + b"x", but(TEXT, b"/" * 4096),
             but(48, b"\xff" * 8), but(8, b"\x02"),
             but(TEXT, b"/red\n\x1b[31m\0".ljust(4096, b"\0")), sound, sound):
    f = open(name(), "wb")
    f.write(what)
    f.flush()
    held.append(f)
    if len(held) < 8:
        fcntl.lockf(f, fcntl.LOCK_EX)
os.mkfifo(name())
try:
    status = subprocess.run(command).returncode
    # what nobody holds is gone
    assert not os.path.exists(names[7])
finally:
    for n in names:
        if os.path.exists(n):
            os.unlink(n)
sys.exit(status)
