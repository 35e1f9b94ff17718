#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what is beside a dataset; written from hpdsl-format(5) alone.

usage: read_records.py journal FILE [INPUT...]   a line for each record; INPUTs
                                                 are held against their rows
       read_records.py seek FILE [LEVEL]         frames of a compressed chunk,
                                                 by the seek table alone; made
                                                 again and compared
       read_records.py staged DIR N              sample N, from where the state
                                                 file says that it is
"""
import ctypes
import os
import struct
import sys

from read_dataset import (Bad, check_path, decompress, load, need,
                          read_content, xxh3_64, xxh3_128)

_xxh = ctypes.CDLL("libxxhash.so.0")
_xxh.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
_xxh.XXH64.restype = ctypes.c_uint64


def read(path):
    with open(path, "rb") as f:
        return f.read()


def text(data):
    """A text padded with NUL bytes."""
    end = data.index(b"\0")
    need(not any(data[end:]), "text: bytes behind its end")
    return data[:end]


# ---- The journal ----------------------------------------------------------


def journal_options(data):
    need(data.endswith(b"\0"), "options: end")
    words = data[:-1].split(b"\0")
    need(len(words) % 2 == 0, "options: pairs")
    for name, value in zip(words[::2], words[1::2]):
        yield b"option %s %s" % (name, value)


def journal_list(data, files):
    at = 0
    for _ in range(files):
        size, mtime, nsec, mode, length = struct.unpack_from("<QqIHH", data,
                                                             at)
        path = data[at + 24:at + 24 + length]
        need(len(path) == length and nsec <= 999999999 and mode <= 0o7777,
             f"list: row at {at}")
        check_path(path)
        yield b"file %o %d %d.%09d %s" % (mode, size, mtime, nsec, path)
        at += 24 + length
    need(at == len(data), "list: end")


def check_input(path, archive):
    if os.path.isdir(path):
        need(archive == xxh3_64(load(path).dataset_id),
             f"{path}: another dataset")
        return
    st = os.stat(path)
    seconds, nsec = divmod(st.st_mtime_ns, 10 ** 9)
    need(archive == xxh3_64(struct.pack("<QqQ", st.st_size, seconds, nsec)),
         f"{path}: another archive")


def journal_rows(data, inputs):
    for at in range(0, len(data) - 39, 40):
        row = data[at:at + 40]
        if struct.unpack_from("<Q", row, 32)[0] != xxh3_64(row[:32]):
            return
        number, = struct.unpack_from("<I", row, 4)
        if row[:4] == b"CHNK":
            size, digest = struct.unpack_from("<Q16s", row, 8)
            form = b".zst" if number >> 31 else b""
            yield b"chunk %d%s %d %s" % (number & 0x7FFFFFFF, form, size,
                                         digest.hex().encode())
        else:
            need(row[:4] == b"STRM" and number <= 65535, f"row at {at}")
            files, size, archive = struct.unpack_from("<QQQ", row, 8)
            if number < len(inputs):
                check_input(inputs[number], archive)
            yield b"input %d %d %d" % (number, files, size)


def read_journal(path, inputs):
    data = read(path)
    need(data[:8] == b"\x89HPDSLJ\n", "journal: magic")
    version, zero, options, listed, files, body, chunks = struct.unpack_from(
        "<IIQQQQQ", data, 8)
    need(version == 1 and zero == 0 and chunks <= files, "journal: head")
    need(struct.unpack_from("<Q", data, 56)[0] == xxh3_64(data[:56]),
         "journal: checksum of the head")
    need(len(data) >= 192, "journal: the packer")
    end = 192 + options + listed
    need(options > 0 and body == xxh3_64(data[192:end]),
         "journal: checksum of options and list")
    yield from journal_options(data[192:192 + options])
    yield from journal_list(data[192 + options:end], files)
    yield from journal_rows(data[end:], inputs)


# ---- The seek table -------------------------------------------------------


_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
for _name, _arguments in (
        ("ZSTD_freeCCtx", [ctypes.c_void_p]),
        ("ZSTD_CCtx_setParameter", [ctypes.c_void_p, ctypes.c_int,
                                    ctypes.c_int]),
        ("ZSTD_CCtx_setPledgedSrcSize", [ctypes.c_void_p, ctypes.c_ulonglong]),
        ("ZSTD_compressStream2", [ctypes.c_void_p, ctypes.c_void_p,
                                  ctypes.c_void_p, ctypes.c_int])):
    getattr(_zstd, _name).argtypes = _arguments
    getattr(_zstd, _name).restype = ctypes.c_size_t

# Numbers of zstd.h: parameters, and what to do with the input.
LEVEL, WINDOW_LOG, HASH_LOG, CHAIN_LOG, MIN_MATCH = 100, 101, 102, 103, 105
CONTENT_SIZE, CHECKSUM = 200, 201
GO_ON, END = 0, 2


class _Buffer(ctypes.Structure):
    _fields_ = [("p", ctypes.c_void_p), ("size", ctypes.c_size_t),
                ("pos", ctypes.c_size_t)]


def compress(content, level):
    """A frame as hpdsl-pack makes it."""
    settings = {LEVEL: level, CONTENT_SIZE: 1, CHECKSUM: 1}
    if level == 3:
        settings.update({HASH_LOG: 17, CHAIN_LOG: 16, MIN_MATCH: 4})
    elif level >= 9:
        settings[WINDOW_LOG] = 21
    context = _zstd.ZSTD_createCCtx()
    for key, value in settings.items():
        _zstd.ZSTD_CCtx_setParameter(context, key, value)
    room = ctypes.create_string_buffer(len(content) + len(content) // 64 +
                                       65536)
    out = _Buffer(ctypes.cast(room, ctypes.c_void_p), len(room), 0)
    calls = [(content, END)]
    if len(content) > 131072:
        _zstd.ZSTD_CCtx_setPledgedSrcSize(context, len(content))
        calls = [(content[:100001], GO_ON), (content[100001:], GO_ON),
                 (b"", END)]
    for piece, end in calls:
        source = _Buffer(ctypes.cast(ctypes.c_char_p(piece), ctypes.c_void_p),
                         len(piece), 0)
        while True:
            left = _zstd.ZSTD_compressStream2(context, ctypes.byref(out),
                                              ctypes.byref(source), end)
            if source.pos == source.size and (end == GO_ON or left == 0):
                break
            need(left <= len(content), "compression fails")
    _zstd.ZSTD_freeCCtx(context)
    return room.raw[:out.pos]


def read_frames(path, level):
    """The plain bytes of each frame, by the table at the file's end."""
    data = read(path)
    frames, descriptor, magic = struct.unpack("<IBI", data[-9:])
    need(magic == 0x8F92EAB1 and descriptor == 0x80 and
         1 <= frames <= 1 << 27, "seek table: end")
    begin = len(data) - (8 + 12 * frames + 9)
    need(begin > 0 and struct.unpack_from("<II", data, begin) ==
         (0x184D2A5E, 12 * frames + 9), "seek table: head")
    at = 0
    for i in range(frames):
        stored, plain, checksum = struct.unpack_from("<III", data,
                                                     begin + 8 + 12 * i)
        content = decompress(data[at:at + stored], plain)
        need(_xxh.XXH64(content, plain, 0) & 0xFFFFFFFF == checksum ==
             struct.unpack_from("<I", data, at + stored - 4)[0],
             f"frame {i}: checksum")
        need(level is None or compress(content, level) ==
             data[at:at + stored], f"frame {i}: another writer's")
        at += stored
        yield content
    need(at == begin, "seek table: frames")


# ---- The stage directory --------------------------------------------------

FIXED = "<8sII16s16sQQqQIIIII28x128s128s128x4096s"


def this_boot():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return bytes.fromhex(f.read().strip().replace("-", ""))


def read_state(directory, index):
    """Bytes of the chunks that count, and where the origin is."""
    data = read(os.path.join(directory, "stage.hpdsl"))
    (magic, version, flags, pack, boot, chunks, generation, _, _, _, node,
     nodes, parts, part, host, job, origin) = struct.unpack_from(FIXED, data)
    need(magic == b"\x89HPDSLT\n" and version == 1 and flags == 0,
         "state: magic, version, flags")
    need(struct.unpack_from("<Q", data, 4608)[0] == xxh3_64(data[:4608]),
         "state: checksum")
    need(pack == xxh3_128(read(os.path.join(directory, "index.hpdsl"))),
         "state: pack")
    need(chunks == index.chunks and len(data) == 4736 + chunks,
         "state: size")
    for begin, end in ((100, 128), (384, 512), (4616, 4672), (4684, 4736)):
        need(not any(data[begin:end]), f"state: bytes from {begin} on")
    need(generation >= 1 and node < nodes and part < parts, "state: numbers")
    text(host)
    text(job)
    origin = text(origin)
    need(origin.startswith(b"/"), "state: origin")
    here = data[4736:] if boot == this_boot() else bytes(chunks)
    return here, os.fsdecode(origin)


def print_staged(directory, number):
    index = load(directory)
    here, origin = read_state(directory, index)
    s = index.sample(number)
    c = index.chunk(s["chunk"])
    name, state = os.fsdecode(c["name"]), here[s["chunk"]]
    if state == 3:
        need(c["compressed"], "state: expanded, and not compressed")
        name, c = name[:-len(".zst")], dict(c, compressed=False)
    path = os.path.join(directory if state in (2, 3) else origin, name)
    print("from", path, file=sys.stderr)
    with open(path, "rb") as f:
        for n in range(s["first"], s["end"]):
            m = index.member(n)
            content = read_content(index, c, f, m)
            need(xxh3_64(content) == m["checksum"], f"member {n}: checksum")
            sys.stdout.buffer.write(content)


def main(args):
    out = sys.stdout.buffer
    if len(args) >= 2 and args[0] == "journal":
        for line in read_journal(args[1], args[2:]):
            out.write(line.replace(b"\n", b"\\n") + b"\n")
    elif len(args) in (2, 3) and args[0] == "seek":
        for content in read_frames(args[1], int(args[2]) if args[2:] else None):
            out.write(content)
    elif len(args) == 3 and args[0] == "staged":
        print_staged(args[1], int(args[2]))
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Bad as bad:
        sys.exit(f"read_records.py: {bad}")
