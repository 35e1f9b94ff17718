#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every sample of a stage directory through libhpdsl, from the moment
that it can be opened, compares it with the tree that was packed, and prints
where the bytes came from, as JSON.

usage: stage_reader.py DIR TREE [--order=use|number] [--patience=SECONDS]
                       [--pause=FILE]

With a FILE it makes that after the first sample, and goes on when it is gone.
Chunks are read in the order of use, or by number; samples of a chunk in packed
order.
"""
import ctypes
import json
import os
import sys
import time
from ctypes import (POINTER, Structure, byref, c_bool, c_char, c_char_p,
                    c_double, c_int, c_int64, c_size_t, c_uint8, c_uint32,
                    c_uint64, c_void_p)


class Error(Structure):
    _fields_ = [("code", c_int), ("msg", c_char * 1020)]


class Counts(Structure):
    _fields_ = [("samples", c_uint64), ("members", c_uint64),
                ("chunks", c_uint64), ("classes", c_uint64),
                ("bytes", c_uint64), ("dataset_id", c_uint8 * 16)]


class Sample(Structure):
    _fields_ = [("number", c_uint64), ("first_member", c_uint64),
                ("members", c_uint64), ("chunk", c_uint32),
                ("label", c_uint32), ("key", c_void_p),
                ("key_len", c_size_t)]


class Member(Structure):
    _fields_ = [("number", c_uint64), ("sample", c_uint64),
                ("chunk", c_uint32), ("mode", c_uint32),
                ("generated", c_bool), ("offset", c_uint64),
                ("size", c_uint64), ("checksum", c_uint64),
                ("mtime", c_int64), ("mtime_nsec", c_uint32),
                ("path", c_char_p), ("path_len", c_size_t)]


class Chunk(Structure):
    _fields_ = [("number", c_uint32), ("name", c_char_p),
                ("first_sample", c_uint64), ("samples", c_uint64),
                ("first_member", c_uint64), ("members", c_uint64),
                ("bytes", c_uint64), ("plain_bytes", c_uint64),
                ("checksum", c_uint8 * 16), ("plain_checksum", c_uint8 * 16),
                ("compressed", c_bool), ("first_frame", c_uint64),
                ("frames", c_uint32)]


class Order(Structure):
    _fields_ = [("seed", c_uint64), ("epoch", c_uint64), ("step", c_uint64),
                ("window", c_uint32), ("lanes", c_uint32), ("run", c_uint32),
                ("step_runs", c_uint32), ("parts", c_uint32)]


class Sources(Structure):
    _fields_ = [("staged", c_bool), ("local_bytes", c_uint64),
                ("origin_bytes", c_uint64), ("absent_chunks", c_uint64),
                ("overtaken_chunks", c_uint64), ("failed_chunks", c_uint64),
                ("wait_seconds", c_double)]


lib = ctypes.CDLL(os.path.join(os.environ["BUILD"], "libhpdsl.so.0"))
lib.hpdsl_open.argtypes = [c_char_p, c_void_p, POINTER(c_void_p),
                           POINTER(Error)]
lib.hpdsl_count.argtypes = [c_void_p, POINTER(Counts)]
lib.hpdsl_sample_get.argtypes = [c_void_p, c_uint64, POINTER(Sample),
                                 POINTER(Error)]
lib.hpdsl_member_get.argtypes = [c_void_p, c_uint64, POINTER(Member),
                                 POINTER(Error)]
lib.hpdsl_chunk_get.argtypes = [c_void_p, c_uint32, POINTER(Chunk),
                                POINTER(Error)]
lib.hpdsl_sample_read.argtypes = [c_void_p, POINTER(Sample), c_void_p,
                                  c_size_t, POINTER(c_size_t), POINTER(Error)]
lib.hpdsl_order_first_use.argtypes = [c_void_p, POINTER(Order),
                                      POINTER(c_uint32), POINTER(Error)]
lib.hpdsl_sources.argtypes = [c_void_p, POINTER(Sources)]
lib.hpdsl_patience.argtypes = [c_void_p, c_double]
lib.hpdsl_close.argtypes = [c_void_p]


def ok(code, err, what):
    if code < 0:
        sys.exit(f"{what}: {code}: {err.msg.decode(errors='replace')}")


def opened(directory):
    """As soon as it can be."""
    err, handle, end = Error(), c_void_p(), time.monotonic() + 60
    while True:
        code = lib.hpdsl_open(os.fsencode(directory), None, byref(handle),
                              byref(err))
        if code == 0:
            return handle
        if time.monotonic() > end:
            ok(code, err, directory)
        time.sleep(0.001)


def chunk_order(ds, n, order):
    err, chunk, samples = Error(), Chunk(), []
    for c in range(n):
        ok(lib.hpdsl_chunk_get(ds, c, byref(chunk), byref(err)), err, "chunk")
        samples.append((chunk.first_sample, chunk.samples))
    numbers = range(n)
    if order == "use":
        numbers = (c_uint32 * n)()
        ok(lib.hpdsl_order_first_use(ds, byref(Order()), numbers, byref(err)),
           err, "order")
    return [samples[c] for c in numbers]


def read_sample(ds, number, tree):
    err, s, m, got = Error(), Sample(), Member(), c_size_t()
    ok(lib.hpdsl_sample_get(ds, number, byref(s), byref(err)), err, "sample")
    want = b""
    for k in range(s.first_member, s.first_member + s.members):
        ok(lib.hpdsl_member_get(ds, k, byref(m), byref(err)), err, "member")
        with open(os.path.join(os.fsencode(tree), m.path), "rb") as f:
            want += f.read()
    buf = ctypes.create_string_buffer(len(want) + 1)
    ok(lib.hpdsl_sample_read(ds, byref(s), buf, len(want), byref(got),
                             byref(err)), err, f"sample {number}")
    if got.value != len(want) or buf.raw[:len(want)] != want:
        sys.exit(f"sample {number}: other bytes")


def pause(path):
    with open(path, "w", encoding="ascii"):
        pass
    while os.path.exists(path):
        time.sleep(0.01)


def main(words):
    options = dict(w[2:].split("=") for w in words if w.startswith("--"))
    directory, tree = (w for w in words if not w.startswith("--"))
    ds, counts, sources = opened(directory), Counts(), Sources()
    if "patience" in options:
        lib.hpdsl_patience(ds, float(options["patience"]))
    lib.hpdsl_count(ds, byref(counts))
    seen = 0
    for first, n in chunk_order(ds, counts.chunks,
                                options.get("order", "use")):
        for number in range(first, first + n):
            read_sample(ds, number, tree)
            seen += 1
            if seen == 1 and "pause" in options:
                pause(options["pause"])
    if seen != counts.samples:
        sys.exit(f"{seen} samples of {counts.samples}")
    lib.hpdsl_sources(ds, byref(sources))
    print(json.dumps({name: getattr(sources, name)
                      for name, _ in Sources._fields_}))
    lib.hpdsl_close(ds)


main(sys.argv[1:])
