#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch, sample by sample, and which chunks it wants first.

A second implementation, slow and plain, written from the definition of the
order.  Prints the vectors that tests/unit/test_order.c holds the library to.
"""
import ctypes
import itertools
import struct

MASK = (1 << 64) - 1

_xxh = ctypes.CDLL("libxxhash.so.0")
_xxh.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_xxh.XXH3_64bits.restype = ctypes.c_uint64


def key_of(seed, purpose, *numbers):
    data = struct.pack("<Q", seed) + purpose + b"\0"
    data += b"".join(struct.pack("<Q", n) for n in numbers)
    return _xxh.XXH3_64bits(data, len(data))


def permutation(n, key):
    """P(0), P(1), ..: the swap-or-not shuffle of hpdsl-format(5)."""
    state = key

    def draw():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)

    values = list(range(n))
    for _ in range(48):
        shift = draw() * n >> 64
        salt = draw()
        for i, x in enumerate(values):
            y = (shift - x) % n
            v = max(x, y) ^ salt
            v = (v ^ (v >> 32)) * 0xD6E8FEB86659FD93 & MASK
            v = (v ^ (v >> 32)) * 0xD6E8FEB86659FD93 & MASK
            if v >> 63:
                values[i] = y
    return values


def lanes_of(samples, seed, epoch, L, K, D):
    """Of each lane the chunks of its samples, before windows mix them."""
    total = sum(samples)
    runs = [min((j + 1) * K, total) - j * K for j in range(-(-total // K))]
    length = [sum(runs[lane::L]) for lane in range(L)]
    kept, queue = [], []
    for part in range(D):
        need = sum(length[part::D])
        chunks = [c for c in range(part, len(samples), D) if samples[c]]
        shuffled = [chunks[i] for i in permutation(
            len(chunks), key_of(seed, b"chunks", epoch, part))]
        all_of_it = [c for c in shuffled for _ in range(samples[c])]
        kept.append(all_of_it[:need])
        queue += all_of_it[need:]
    lanes = [None] * L
    for part in range(D):
        need = sum(length[part::D])
        lack = need - len(kept[part])
        sequence = kept[part] + queue[:lack]
        queue = queue[lack:]
        for lane in range(part, L, D):
            lanes[lane] = sequence[:length[lane]]
            sequence = sequence[length[lane]:]
        assert not sequence
    assert not queue
    return lanes


def first_use(samples, seed, epoch, step, W, L, K, Q, D):
    best = {}
    for lane, sequence in enumerate(lanes_of(samples, seed, epoch, L, K, D)):
        pieces = [(c, len(list(g))) for c, g in itertools.groupby(sequence)]
        q = len(pieces)
        v = max(1, -(-q // W))
        at = 0
        for i in range(v):
            window = range(i * q // v, (i + 1) * q // v)
            size = sum(pieces[p][1] for p in window)
            runs = {x // K * L + lane for x in range(at, at + size)}
            at += size
            wanted = [j for j in runs if j >= step * Q]
            for p in window:
                use = (0, min(wanted), p) if wanted else (1, min(runs), p)
                chunk = pieces[p][0]
                best[chunk] = min(best.get(chunk, use), use)
    return sorted(range(len(samples)),
                  key=lambda c: (best.get(c, (2, 0, 0)), c))


def cases():
    """Small ones of every kind; the numbers are drawn, always the same."""
    state = 20261122

    def draw(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        return (state >> 33) % n

    yield [1], (0, 0, 0, 16, 8, 32, 8, 1)
    yield [100] * 20, (0, 0, 0, 16, 8, 32, 8, 1)
    yield [100] * 20, (0, 0, 1, 16, 8, 32, 8, 1)
    yield [100] * 20, (0, 1, 0, 16, 8, 32, 8, 1)
    yield [100] * 20, (0, 0, 0, 16, 8, 32, 8, 4)
    yield [100] * 20, (MASK, MASK, 9, 3, 4, 7, 2, 2)
    yield [0, 0, 0], (1, 0, 0, 1, 1, 1, 1, 1)
    for _ in range(90):
        most = [2, 8, 60][draw(3)]
        samples = [draw(most) for _ in range(1 + draw(20))]
        D = 1 + draw(4)
        yield samples, (draw(1 << 31), draw(4), draw(3) * draw(4), 1 + draw(5),
                        D * (1 + draw(4)), 1 + draw(9), 1 + draw(5), D)


def c_list(values):
    lines, line = [], "\t {"
    for v in values:
        if len(line) > 66:
            lines.append(line)
            line = "\t  "
        line += f" {v},"
    lines.append(line + " },")
    return "\n".join(lines)


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by tests/order_model.py. */")
    print("/* clang-format off */")
    for samples, p in cases():
        print("\t{ { .seed = %dU, .epoch = %dU, .step = %dU," % p[:3])
        print("\t    .window = %d, .lanes = %d, .run = %d, .step_runs = %d,"
              " .parts = %d }," % p[3:])
        print(f"\t {len(samples)},")
        print(c_list(samples))
        print(c_list(first_use(samples, *p)))
        print("\t},")


if __name__ == "__main__":
    main()
