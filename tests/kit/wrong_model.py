# SPDX-License-Identifier: Apache-2.0
"""A packed dataset as a model, read and written from hpdsl-format(5) alone.

What is written has all checksums, counts and offsets right, whatever was done
to the model; hooks change what was computed on its way to the files.
"""
import ctypes
import ctypes.util
import os
import re
import struct

from forge import h64, h128, sha

zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
for name in ("createCCtx", "compress2", "compressBound"):
    getattr(zstd, "ZSTD_" + name).restype = (
        ctypes.c_void_p if name == "createCCtx" else ctypes.c_size_t
    )
LEVEL, WINDOW_LOG, CONTENT_SIZE, CHECKSUM = 100, 101, 200, 201

(SAMPLES, MEMBERS, PATHS, LOOKUP, CHUNKS, NAMES, CLASSES, CLASS_NAMES, STORED,
 MEMBER_SHA256, FRAMES, STORED_PATHS, CHUNK_SHA256, DOUBLES) = range(1, 15)
ROWS = {SAMPLES: 16, MEMBERS: 52, LOOKUP: 8, CHUNKS: 88, CLASSES: 8, STORED: 16,
        MEMBER_SHA256: 32, FRAMES: 16, CHUNK_SHA256: 32}


def u48(n):
    return struct.pack("<Q", n)[:6]


def get48(p, at):
    return int.from_bytes(p[at : at + 6], "little")


def up(n, to):
    return (n + to - 1) // to * to


def xxh64_low(data):
    lib = ctypes.CDLL("libxxhash.so.0")
    lib.XXH64.restype = ctypes.c_uint64
    return lib.XXH64(bytes(data), ctypes.c_size_t(len(data)),
                     ctypes.c_uint64(0)) & 0xFFFFFFFF


def frame(data, checksum=1):
    """One zstd frame."""
    c = ctypes.c_void_p(zstd.ZSTD_createCCtx())
    for key, value in ((LEVEL, 3), (CONTENT_SIZE, 1), (CHECKSUM, checksum)):
        zstd.ZSTD_CCtx_setParameter(c, key, value)
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    n = zstd.ZSTD_compress2(c, out, ctypes.c_size_t(room), bytes(data),
                            ctypes.c_size_t(len(data)))
    zstd.ZSTD_freeCCtx(c)
    return out.raw[:n]


def header(name, m):
    """One ustar block; the names here are short."""
    def octal(value, digits):
        return b"%0*o\0" % (digits, value)

    b = bytearray(512)
    b[: len(name)] = name
    b[100:148] = (octal(m.mode & 0o777, 7) + octal(0, 7) * 2
                  + octal(len(m.data), 11) + octal(m.mtime, 11))
    b[148:156] = b" " * 8
    b[156] = ord("0")
    b[257:265] = b"ustar\00000"
    b[329:345] = octal(0, 7) * 2
    b[148:156] = b"%06o\0 " % sum(b)
    return bytes(b)


class Member:
    pass


class Chunk:
    pass


class Dataset:
    def __init__(self, folder):
        self.folder = folder
        with open(folder + "/index.hpdsl", "rb") as f:
            self.was = f.read()
        with open(folder + "/dataset.yaml", "rb") as f:
            self.manifest = f.read()
        self.frames = self.cut
        self.counts = {}
        self.hooks = {}
        self.parse(self.was)

    def on(self, what):
        """Decorates a hook: it changes its argument, or returns another."""
        def keep(f):
            self.hooks[what] = f
            return f
        return keep

    def call(self, what, value):
        if what not in self.hooks:
            return value
        got = self.hooks[what](value)
        return value if got is None else got

    # ---- Reading -----------------------------------------------------------

    def parse(self, p):
        n = struct.unpack_from("<I", p, 56)[0]
        part = {}
        for i in range(n):
            kind, _, at, length = struct.unpack_from("<IIQQ", p, 80 + 32 * i)
            part[kind] = p[at : at + length]
        self.flags = struct.unpack_from("<I", p, 60)[0]
        self.adopted = bool(self.flags & 2)
        self.sha256 = MEMBER_SHA256 in part
        self.classes = part[CLASS_NAMES].split(b"\0")[:-1]
        self.chunks = []
        names = part[NAMES].split(b"\0")
        for i in range(len(part[CHUNKS]) // 88):
            c = Chunk()
            c.name = names[i]
            c.zst = part[CHUNKS][88 * i + 80] & 1
            c.n_frames = struct.unpack_from("<I", part[CHUNKS], 88 * i + 84)[0]
            path = os.path.join(self.folder.encode(), c.name)
            with open(path, "rb") as f:
                c.raw = f.read()
            c.plain = self.expand(c) if c.zst else c.raw
            self.chunks.append(c)
        self.samples = [
            list(struct.unpack_from("<QII", part[SAMPLES], at))
            for at in range(0, len(part[SAMPLES]), 16)
        ]
        stored = {}
        for i, at in enumerate(range(0, len(part.get(STORED, b"")), 16)):
            key = struct.unpack_from("<Q", part[STORED], at)[0]
            stored[key] = part[STORED_PATHS].split(b"\0")[i]
        self.members = []
        for i, path in enumerate(part[PATHS].split(b"\0")[:-1]):
            row = part[MEMBERS][52 * i : 52 * i + 52]
            m = Member()
            m.offset, size, _, m.mtime, m.nsec = struct.unpack_from("<QQQqI", row)
            m.mode = struct.unpack_from("<H", row, 38)[0]
            m.sample = get48(row, 46)
            m.path, m.stored = path, stored.get(i)
            chunk = self.chunks[self.samples[m.sample][1]]
            m.data = chunk.plain[m.offset : m.offset + size]
            self.members.append(m)
        self.samples = [[chunk, label] for _, chunk, label in self.samples]

    def expand(self, c):
        import subprocess
        return subprocess.run(["zstd", "-dcq"], input=c.raw, check=True,
                              stdout=subprocess.PIPE).stdout

    # ---- Writing -----------------------------------------------------------

    def tar(self, number):
        """The plain tar, and where its samples end."""
        out, ends, last = bytearray(), [], None
        for m in self.members:
            if self.samples[m.sample][0] != number:
                continue
            if last is not None and m.sample != last:
                ends.append(len(out))
            last = m.sample
            out += header(m.stored or m.path, m)
            m.offset = len(out)
            out += m.data + bytes(-len(m.data) % 512)
        ends.append(len(out))
        return out + bytes(up(len(out) + 1024, 10240) - len(out)), ends

    @staticmethod
    def cut(ends, total):
        """Where frames end: whole samples up to 128 KiB, then the rest."""
        got, at, last = [], 0, 0
        for end in ends:
            if end - at > 131072 and last > at:
                got.append(last)
                at = last
            if end - at > 131072:
                got.append(end)
                at = end
            last = end
        if last > at:
            got.append(last)
        return got + [total]

    def store(self, c, number):
        if self.adopted:
            c.plain = c.raw
        else:
            c.plain, c.ends = self.tar(number)
        c.plain = bytes(self.call(f"tar {number}", c.plain))
        c.raw, c.rows = c.plain, []
        if c.zst:
            self.compress(c)
        c.raw = bytes(self.call(f"file {number}", c.raw))

    def compress(self, c):
        out, entries, at = b"", [], 0
        for i, end in enumerate(self.frames(c.ends, len(c.plain))):
            f = self.call(f"frame {i}", frame(c.plain[at:end]))
            c.rows.append((at, len(out)))
            entries.append((len(f), end - at, xxh64_low(c.plain[at:end])))
            out += f
            at = end
        table = b"".join(struct.pack("<III", *e) for e in entries)
        table += struct.pack("<IBI", len(entries), 0x80, 0x8F92EAB1)
        table = struct.pack("<II", 0x184D2A5E, len(table)) + table
        c.raw = out + self.call("table", table)

    def lookup(self):
        m = len(self.members)
        homes = m + m * 3 // 7 + 1
        slots, nxt = {}, 0
        for h, i in sorted((h64(x.path), i) for i, x in enumerate(self.members)):
            at = max(h * homes >> 64, nxt)
            slots[at] = i + 1 | (h & 0xFFFFFF) << 40
            nxt = at + 1
        return b"".join(struct.pack("<Q", slots.get(i, 0))
                        for i in range(max(nxt + 1, homes)))

    def dataset_id(self, digest):
        kept = [m for m in self.members if not m.mode & 0x1000]
        kept.sort(key=lambda m: m.path)
        return digest(b"".join(
            m.path + b"\0" + struct.pack("<Q", len(m.data)) + digest(m.data)
            for m in kept))

    @staticmethod
    def strings(names):
        """Their bytes, and offset and length of each."""
        data, where = b"", []
        for s in names:
            where.append((len(data), len(s)))
            data += s + b"\0"
        return data, where

    def sections(self):
        part, firsts = {}, []
        for s in range(len(self.samples)):
            firsts.append(next(i for i, m in enumerate(self.members)
                               if m.sample == s))
        part[SAMPLES] = b"".join(
            struct.pack("<QII", first, chunk, label)
            for first, (chunk, label) in zip(firsts, self.samples))
        part[PATHS], where = self.strings(m.path for m in self.members)
        part[MEMBERS] = b"".join(
            struct.pack("<QQQqIHH", m.offset, len(m.data), h64(m.data),
                        m.mtime, m.nsec, len(m.path), m.mode)
            + u48(at) + u48(m.sample)
            for m, (at, _) in zip(self.members, where))
        part[LOOKUP] = self.lookup()
        part[NAMES], where = self.strings(c.name for c in self.chunks)
        part[CHUNKS], frames = b"", b""
        for number, (c, (at, n)) in enumerate(zip(self.chunks, where)):
            sample = [chunk for chunk, _ in self.samples].index(number)
            part[CHUNKS] += (
                struct.pack("<QQQ16sQ16sQ", sample, firsts[sample], len(c.raw),
                            h128(c.raw), len(c.plain), h128(c.plain),
                            len(frames) // 16 if c.zst else 0)
                + u48(at) + struct.pack("<HII", n, c.zst, len(c.rows)))
            frames += b"".join(struct.pack("<QQ", *r) for r in c.rows)
        if frames:
            part[FRAMES] = frames
        part[CLASS_NAMES], where = self.strings(self.classes)
        part[CLASSES] = b"".join(u48(at) + struct.pack("<H", n)
                                 for at, n in where)
        stored = [(i, m.stored) for i, m in enumerate(self.members) if m.stored]
        if stored:
            part[STORED_PATHS], where = self.strings(s for _, s in stored)
            part[STORED] = b"".join(
                struct.pack("<Q", i) + u48(at) + struct.pack("<H", n)
                for (i, _), (at, n) in zip(stored, where))
        if self.sha256:
            part[MEMBER_SHA256] = b"".join(sha(m.data) for m in self.members)
            part[CHUNK_SHA256] = b"".join(sha(c.raw) for c in self.chunks)
        return {kind: bytearray(data) for kind, data in part.items()}

    def index(self):
        part = self.call("sections", self.sections())
        table = [[kind, int(kind not in (MEMBER_SHA256, CHUNK_SHA256)), 0,
                  len(part[kind]), ROWS.get(kind, 0), 0] for kind in sorted(part)]
        body, at = b"", 80 + 32 * len(table) + 8
        for row in table:
            data = part[row[0]] + bytes(-len(part[row[0]]) % 8)
            row[2] = at + len(body)
            body += self.call(f"padded {row[0]}", data)
            body += b"".join(struct.pack("<Q", h64(data[i : i + 65536]))
                             for i in range(0, len(data), 65536))
        body = self.call("body", body)
        table = self.call("table rows", table)
        self.id = self.call("id", self.dataset_id(h128))
        n = {"version": 1, "length": at, "size": at + len(body),
             "samples": len(self.samples), "members": len(self.members),
             "bytes": sum(len(m.data) for m in self.members),
             "chunks": len(self.chunks), "classes": len(self.classes),
             "sections": len(table), "flags": self.flags, **self.counts}
        head = b"\x89HPDSLI\n" + struct.pack(
            "<IIQQQQIIII", *n.values()) + self.id
        head += b"".join(struct.pack("<IIQQII", *row) for row in table)
        self.n = n
        head += struct.pack("<Q", h64(head))
        return self.call("index", head + body)

    # ---- The manifest ------------------------------------------------------

    def row(self, name, data, more=""):
        with_sha = f", sha256: {sha(data).hex()}" if self.sha256 else ""
        if "samples" in more:
            a, _, b = more.partition("|")
            return (f"{{name: {name}, bytes: {len(data)}, {a}, "
                    f"xxh3_128: {h128(data).hex()}{b}{with_sha}}}")
        return (f"{{name: {name}, bytes: {len(data)}, "
                f"xxh3_128: {h128(data).hex()}{with_sha}}}")

    def chunk_row(self, number, c):
        samples = sum(chunk == number for chunk, _ in self.samples)
        plain = (f", plain_bytes: {len(c.plain)}, "
                 f"plain_xxh3_128: {h128(c.plain).hex()}") if c.zst else ""
        return self.row(c.name.decode(), c.raw, f"samples: {samples}|{plain}")

    def side_files(self):
        return re.findall(r"(?m)^- \{name: ([^,]*), ",
                          self.manifest.decode().partition("\nfiles:\n")[2])

    def read(self, name):
        with open(f"{self.folder}/{name}", "rb") as f:
            return f.read()

    def text(self, index):
        t = self.manifest.decode()
        t = t[: t.rindex("checksum: ")]

        def put(key, value):
            nonlocal t
            t = re.sub(rf"(?m)^{key}: .*$", lambda _: f"{key}: {value}", t)

        put("dataset_id", self.id.hex())
        put("dataset_id_sha256", self.dataset_id(sha).hex())
        put("samples", len(self.samples))
        put("members", len(self.members))
        put("bytes", self.n["bytes"])
        put("index", self.row("index.hpdsl", index))
        t = re.sub(r"(?m)^classes:\n(- .*\n)*", "", t)
        if self.classes:
            names = "".join(f"- {c.decode()}\n" for c in self.classes)
            t = re.sub(r"(?m)^(?=meta:|index:)", f"classes:\n{names}", t,
                       count=1)
        t = t[: t.index("\nchunks:\n") + 9]
        rows = [self.chunk_row(i, c) for i, c in enumerate(self.chunks)]
        t += "".join(f"- {r}\n" for r in rows)
        files = self.side_files()
        if "SHA256SUMS" in files:
            sums = [("index.hpdsl", index)]
            sums += [(c.name.decode(), c.raw) for c in self.chunks]
            sums += [(n, self.read(n)) for n in files if n != "SHA256SUMS"]
            sums = "".join(f"{sha(d).hex()}  {n}\n" for n, d in sums).encode()
            self.sums = self.call("sums", sums)
        if files:
            t += "files:\n"
        for n in files:
            data = self.sums if n == "SHA256SUMS" else self.read(n)
            t += f"- {self.row(n, data)}\n"
        return t

    def write(self, to):
        """Over a copy of what was read."""
        for number, c in enumerate(self.chunks):
            self.store(c, number)
        index = bytes(self.index())
        text = self.call("manifest", self.text(index)).encode()
        text += b"checksum: " + h128(text).hex().encode() + b"\n"
        text = self.call("whole manifest", text)
        files = {"index.hpdsl": index, "dataset.yaml": text}
        if not self.adopted:
            files.update((c.name.decode(), c.raw) for c in self.chunks
                         if b"/" not in c.name)
        if hasattr(self, "sums"):
            files["SHA256SUMS"] = self.sums
        for name, data in files.items():
            with open(f"{to}/{name}", "wb") as f:
                f.write(data)
        self.call("done", to)
