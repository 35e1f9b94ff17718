#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes and reads stage directories; written from hpdsl-format(5) alone.

usage: stage_dir.py make DATASET DIR [WORD...]   DATASET is the origin
           here=LIST       chunks that are here: 0,2-4, all (default), none
           coming=LIST     that are coming
           claim=LIST      whose byte says that they are here, without a file
           expanded        compressed chunks are here as the plain tar
           compressed      .. as the dataset stores them (default)
           beat=AGE        age of the last beat; never: there is none
           keep-beating    go on until killed, a beat a second
           end=N           0 at work (default with coming), 1 (default) ..
           boot=other      written in another boot; unknown: zeros
           origin=PATH     another origin
           generation=N    [1]
           part=P/D node=N/M
           damage=LIST     one byte of these chunks' files is flipped
           cut=LIST        the last byte is missing
       stage_dir.py show DIR               header, then a line for each chunk
       stage_dir.py check DIR              every chunk that is here is what the
                                           dataset says; none that is not
       stage_dir.py set DIR CHUNK STATE    one byte, in place
       stage_dir.py end DIR N              the end, in place
       stage_dir.py bring DIR CHUNK        the origin's chunk: file, then byte
       stage_dir.py renew DIR WORD...      a new generation by rename: words as
                                           above, bytes and files as they are
"""
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import time

from read_dataset import Bad, need, xxh3_64, xxh3_128

MAGIC = b"\x89HPDSLT\n"
ABSENT, COMING, READY, EXPANDED = range(4)
WORDS = ["absent", "coming", "ready", "expanded"]
FIXED, BEAT, END, CHUNKS = 4672, 4672, 4680, 4736
HEADER = struct.Struct("<8sII16s16sQQqQIIIII28x128s128s128x4096s")
NAME = "stage.hpdsl"
LOCK = ".stage.lock"


def numbers(text, count):
    """all, none, or 0,2-4"""
    if text in ("all", "none"):
        return set(range(count)) if text == "all" else set()
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    need(all(n < count for n in found), f"{text}: there are {count} chunks")
    return found


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return bytes.fromhex(f.read().strip().replace("-", ""))


def beat_now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Chunks:
    """The chunks' rows of an index, and their names; of adopted tars too."""

    def __init__(self, data):
        need(data[:8] == b"\x89HPDSLI\n", "index: magic")
        self.chunks, = struct.unpack_from("<I", data, 48)
        count, = struct.unpack_from("<I", data, 56)
        for i in range(count):
            kind, _, offset, length = struct.unpack_from("<IIQQ", data,
                                                         80 + 32 * i)
            if kind == 5:
                self.rows = data[offset:offset + length]
            elif kind == 6:
                self.names = data[offset:offset + length]
        need(len(self.rows) == 88 * self.chunks, "index: chunks")

    def row(self, n):
        """Name, bytes, digest: as stored, and of the plain tar."""
        row = self.rows[88 * n:88 * n + 88]
        size, digest, plain, plain_digest = struct.unpack_from("<Q16sQ16s",
                                                               row, 16)
        length, flags = struct.unpack_from("<HI", row, 78)
        at = int.from_bytes(row[72:78], "little")
        return {"name": os.fsdecode(self.names[at:at + length]),
                "bytes": size, "digest": digest, "plain": plain,
                "plain_digest": plain_digest, "compressed": flags == 1}


def file_name(n, row, expanded):
    return "chunk-%06d.tar%s" % (
        n, ".zst" if row["compressed"] and not expanded else "")


# ---- The state file -------------------------------------------------------


class State:
    """Fields of the header by name, beat, end, states: a byte a chunk."""

    def __init__(self, data=None):
        if data is None:
            return
        need(data[:8] == MAGIC, "magic")
        need(len(data) >= CHUNKS, "too short")
        (_, version, flags, self.pack, self.boot, chunks, self.generation,
         self.started, self.pid_start, self.pid, self.node, self.nodes,
         self.parts, self.part, self.host, self.job,
         self.origin) = HEADER.unpack_from(data)
        need(version == 1 and flags == 0, "version, flags")
        need(len(data) == CHUNKS + chunks, "size")
        need(struct.unpack_from("<Q", data, 4608)[0] == xxh3_64(data[:4608]),
             "checksum")
        for a, b in ((100, 128), (384, 512), (4616, 4672), (4684, 4736)):
            need(not any(data[a:b]), f"bytes {a} to {b} are not zeros")
        for key in ("host", "job", "origin"):
            text = getattr(self, key)
            need(text.endswith(b"\0") and
                 not text.rstrip(b"\0").count(b"\0"), key)
            setattr(self, key, os.fsdecode(text.rstrip(b"\0")))
        need(self.origin.startswith("/"), "origin")
        need(self.generation >= 1, "generation")
        need(self.node < self.nodes and self.part < self.parts, "node, part")
        self.beat, self.end = struct.unpack_from("<QI", data, BEAT)
        self.states = bytearray(data[CHUNKS:])

    def format(self):
        data = bytearray(CHUNKS)
        HEADER.pack_into(data, 0, MAGIC, 1, 0, self.pack, self.boot,
                         len(self.states), self.generation, self.started,
                         self.pid_start, self.pid, self.node, self.nodes,
                         self.parts, self.part, os.fsencode(self.host),
                         os.fsencode(self.job), os.fsencode(self.origin))
        struct.pack_into("<Q", data, 4608, xxh3_64(bytes(data[:4608])))
        struct.pack_into("<QI", data, BEAT, self.beat, self.end)
        return bytes(data) + bytes(self.states)


def load(folder):
    with open(os.path.join(folder, NAME), "rb") as f:
        return State(f.read())


def save(folder, state):
    """A new file, by rename."""
    part = os.path.join(folder, f".{NAME}.part")
    with open(part, "wb") as f:
        f.write(state.format())
    os.rename(part, os.path.join(folder, NAME))


def poke(folder, at, data):
    fd = os.open(os.path.join(folder, NAME), os.O_WRONLY)
    os.pwrite(fd, data, at)
    os.close(fd)


# ---- Chunks ---------------------------------------------------------------


def load_index(folder):
    with open(os.path.join(folder, "index.hpdsl"), "rb") as f:
        data = f.read()
    return Chunks(data), xxh3_128(data)


def bring(origin, folder, n, row, expanded):
    """The file of a chunk, complete before it gets its name."""
    name = file_name(n, row, expanded)
    part = os.path.join(folder, f".{name}.part")
    source = os.path.join(origin, row["name"])
    if row["compressed"] and expanded:
        with open(part, "wb") as f:
            subprocess.run(["zstd", "-qdc", source], stdout=f, check=True)
    else:
        shutil.copyfile(source, part)
    os.rename(part, os.path.join(folder, name))
    return os.path.join(folder, name)


def flip(path):
    with open(path, "r+b") as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 4]))


# ---- Commands -------------------------------------------------------------


def apply(state, words):
    """What the words say of the header, beat and end."""
    for key in ("node", "part"):
        if key in words:
            a, b = words[key].split("/")
            setattr(state, key, int(a))
            setattr(state, key + "s", int(b))
    if "generation" in words:
        state.generation = int(words["generation"])
    if "origin" in words:
        state.origin = words["origin"]
    if words.get("boot") == "other":
        state.boot = bytes(15) + b"\1"
    elif words.get("boot") == "unknown":
        state.boot = bytes(16)
    elif "boot" in words:
        state.boot = boot_id()
    if words.get("beat") == "never":
        state.beat = 0
    else:
        state.beat = beat_now() - int(float(words.get("beat", "0")) * 1e9)
    state.end = int(words.get("end", 0 if COMING in state.states else 1))


def keep_beating(folder):
    while True:
        poke(folder, BEAT, struct.pack("<Q", beat_now()))
        time.sleep(1) # clock: its beat, of the clock that readers look at


def make(origin, folder, words):
    os.makedirs(folder, mode=0o700)
    for name in ("dataset.yaml", "index.hpdsl"):
        shutil.copyfile(os.path.join(origin, name),
                        os.path.join(folder, name))
    index, pack = load_index(folder)
    here = numbers(words.get("here", "all"), index.chunks)
    coming = numbers(words.get("coming", "none"), index.chunks)
    claim = numbers(words.get("claim", "none"), index.chunks)
    expanded = "expanded" in words
    state = State()
    state.pack, state.boot, state.generation = pack, boot_id(), 1
    state.started = int(time.time())  # clock: a date
    state.pid_start, state.pid = 1, os.getpid()
    state.node, state.nodes, state.parts, state.part = 0, 1, 1, 0
    state.host, state.job = os.uname().nodename, "a test"
    state.origin = os.path.abspath(origin)
    state.states = bytearray(index.chunks)
    damage = numbers(words.get("damage", "none"), index.chunks)
    cut = numbers(words.get("cut", "none"), index.chunks)
    for n in range(index.chunks):
        row = index.row(n)
        as_plain = expanded and row["compressed"]
        if n in here:
            path = bring(origin, folder, n, row, as_plain)
            if n in damage:
                flip(path)
            if n in cut:
                os.truncate(path, os.path.getsize(path) - 1)
        if n in here or n in claim:
            state.states[n] = EXPANDED if as_plain else READY
        elif n in coming:
            state.states[n] = COMING
    with open(os.path.join(folder, LOCK), "w", encoding="ascii") as f:
        f.write("nobody\n")
        f.flush()
        if "keep-beating" in words:  # held before it beats, as by a stager
            fcntl.flock(f, fcntl.LOCK_EX)
        apply(state, words)
        save(folder, state)
        if "keep-beating" in words:
            keep_beating(folder)


def renew(folder, words):
    state = load(folder)
    state.generation += 1
    for word, value in (("here", READY), ("coming", COMING),
                        ("absent", ABSENT)):
        for n in numbers(words.get(word, "none"), len(state.states)):
            state.states[n] = value
    apply(state, words)
    save(folder, state)


def show(folder):
    s = load(folder)
    print(f"pack {s.pack.hex()}")
    print(f"boot {'this' if s.boot == boot_id() else s.boot.hex()}")
    print(f"generation {s.generation}\nstarted {s.started}")
    print(f"pid {s.pid} {s.pid_start}\nnode {s.node}/{s.nodes}")
    print(f"part {s.part}/{s.parts}\nhost {s.host}\njob {s.job}")
    print(f"origin {s.origin}")
    print(f"beat {(beat_now() - s.beat) / 1e9:.1f}" if s.beat
          else "beat never")
    print(f"end {s.end}")
    for n, value in enumerate(s.states):
        print(f"{n} {WORDS[value] if value < 4 else value}")


def check(folder):
    """What is said to be here is, byte for byte, and nothing else is."""
    s = load(folder)
    index, pack = load_index(folder)
    need(pack == s.pack, "pack")
    need(len(s.states) == index.chunks, "chunks")
    need(os.stat(folder).st_mode & 0o777 == 0o700, "mode of the directory")
    known = {"dataset.yaml", "index.hpdsl", NAME, LOCK}
    for n, value in enumerate(s.states):
        row = index.row(n)
        need(value != EXPANDED or row["compressed"], f"chunk {n}: expanded")
        if value not in (READY, EXPANDED):
            continue
        name = file_name(n, row, value == EXPANDED)
        known.add(name)
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        want = ("plain", "plain_digest") if value == EXPANDED else \
            ("bytes", "digest")
        need(len(data) == row[want[0]], f"{name}: size")
        need(xxh3_128(data) == row[want[1]], f"{name}: checksum")
    others = {name for name in os.listdir(folder)
              if not (name.startswith(".") and name.endswith(".part"))}
    need(not others - known, f"not known: {sorted(others - known)}")
    for value, word in enumerate(WORDS):
        print(f"{word} {s.states.count(value)}")


def set_state(folder, n, word):
    value = WORDS.index(word) if word in WORDS else int(word)
    poke(folder, CHUNKS + int(n), bytes([value]))


def bring_one(folder, n):
    n = int(n)
    state = load(folder)
    row = load_index(folder)[0].row(n)
    bring(state.origin, folder, n, row, False)
    set_state(folder, n, "ready")


def main(argv):
    command, args = argv[1], argv[2:]
    fixed = 2 if command == "make" else 1
    words = dict((w.split("=", 1) + [""])[:2] for w in args[fixed:])
    if command == "make":
        make(args[0], args[1], words)
    elif command == "renew":
        renew(args[0], words)
    elif command == "show":
        show(args[0])
    elif command == "check":
        check(args[0])
    elif command == "set":
        set_state(*args)
    elif command == "end":
        poke(args[0], END, struct.pack("<I", int(args[1])))
    elif command == "bring":
        bring_one(*args)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv)
    except Bad as e:
        sys.exit(f"stage_dir.py: {e}")
