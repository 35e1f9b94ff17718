#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch, sample by sample, and which chunks it wants first.

A second implementation, slow and plain, written from the definition of the
order.  Prints the vectors that tests/unit/order/test_order.c ("order") and
test_epoch.c ("epochs") hold the library to, and those of hpdsl-order(7)
("page", "digests").
"""
import ctypes
import itertools
import struct
import sys

MASK = (1 << 64) - 1

_xxh = ctypes.CDLL("libxxhash.so.0")
_xxh.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_xxh.XXH3_64bits.restype = ctypes.c_uint64


class _XXH128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_xxh.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_xxh.XXH3_128bits.restype = _XXH128


def _xxh128(data):
    h = _xxh.XXH3_128bits(data, len(data))
    return f"{h.high:016x}{h.low:016x}"


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
    """Of each lane its samples as (chunk, occurrence), before windows mix them."""
    total = sum(samples)
    runs = [min((j + 1) * K, total) - j * K for j in range(-(-total // K))]
    length = [sum(runs[lane::L]) for lane in range(L)]
    kept, queue = [], []
    for part in range(D):
        need = sum(length[part::D])
        chunks = [c for c in range(part, len(samples), D) if samples[c]]
        shuffled = [chunks[i] for i in permutation(
            len(chunks), key_of(seed, b"chunks", epoch, part))]
        all_of_it = [(c, i) for c in shuffled for i in range(samples[c])]
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


def windows_of(sequence, W):
    """A lane's windows, each a list of pieces, these lists of samples."""
    pieces = [list(g) for _, g in itertools.groupby(sequence, lambda s: s[0])]
    q = len(pieces)
    v = max(1, -(-q // W))
    return [pieces[i * q // v:(i + 1) * q // v] for i in range(v)]


def first_use(samples, seed, epoch, step, W, L, K, Q, D):
    best = {}
    for lane, sequence in enumerate(lanes_of(samples, seed, epoch, L, K, D)):
        place = at = 0
        for window in windows_of(sequence, W):
            size = sum(len(piece) for piece in window)
            runs = {x // K * L + lane for x in range(at, at + size)}
            at += size
            wanted = [j for j in runs if j >= step * Q]
            for piece in window:
                use = (0, min(wanted), place) if wanted else \
                    (1, min(runs), place)
                chunk = piece[0][0]
                best[chunk] = min(best.get(chunk, use), use)
                place += 1
    return sorted(range(len(samples)),
                  key=lambda c: (best.get(c, (2, 0, 0)), c))


ONE = 1 << 32


def occurrences(samples, weights, seed, epoch):
    """Of each chunk the sample numbers of an epoch, each as often as it comes.

    weights[s] is in units of 1 / ONE; None: all samples once.
    """
    chunks, number = [], 0
    for n in samples:
        chunk = []
        for s in range(number, number + n):
            w = ONE if weights is None else weights[s]
            key = key_of(seed, b"weight", epoch, s)
            chunk += [s] * ((w >> 32) + (key >> 32 < w & MASK >> 32))
        chunks.append(chunk)
        number += n
    return chunks


def epoch_of(samples, weights, seed, epoch, W, L, K, D):
    """The samples of positions 0, 1, .."""
    chunks = occurrences(samples, weights, seed, epoch)
    N = sum(map(len, chunks))
    lanes = []
    for number, sequence in enumerate(lanes_of(list(map(len, chunks)), seed,
                                               epoch, L, K, D)):
        lane = []
        for i, window in enumerate(windows_of(sequence, W)):
            held = [s for piece in window for s in piece]
            if held:
                order = permutation(len(held), key_of(seed, b"window", epoch,
                                                      number, i))
                lane += [held[y] for y in order]
        lanes.append(lane)
    found = []
    for position in range(N):
        run, offset = divmod(position, K)
        chunk, i = lanes[run % L][run // L * K + offset]
        found.append(chunks[chunk][i])
    return found


def steps_of(N, K, Q, end):
    return N // (Q * K) if end == "drop" else -(-N // (Q * K))


def places_of(N, K, Q, end, step, rank, ranks):
    """(position, mask) of a rank's places in a step."""
    places = []
    for run in range(step * Q, (step + 1) * Q):
        if run % Q % ranks != rank:
            continue
        for at in range(run * K, (run + 1) * K):
            places.append((at % N, at < N or end == "repeat"))
    return places


class Draw:
    """Numbers that are always the same."""

    def __init__(self, state):
        self.state = state

    def __call__(self, n):
        self.state = (self.state * 6364136223846793005 +
                      1442695040888963407) & MASK
        return (self.state >> 33) % n


def cases():
    """Small ones of every kind; the numbers are drawn, always the same."""
    draw = Draw(20261122)
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


def epoch_cases():
    """samples, weights, seed, epoch, W, L, K, Q, D, end, rank, ranks"""
    draw = Draw(20261123)
    yield [1], None, 0, 0, 16, 8, 32, 8, 1, "mask", 7, 8
    yield [7] * 9, None, 1, 0, 16, 8, 32, 8, 1, "mask", 0, 1
    yield [7] * 9, None, 1, 1, 16, 8, 32, 8, 1, "repeat", 1, 2
    yield [61], None, 1, 0, 1, 5, 3, 2, 1, "drop", 0, 1
    for _ in range(70):
        most = [2, 6, 20][draw(3)]
        samples = [1 + draw(most) for _ in range(1 + draw(9))]
        kind = draw(3)
        weights = None
        if kind == 1:
            weights = [draw(2) * ONE for _ in range(sum(samples))]
        elif kind == 2:
            weights = [draw(3) * (draw(1 << 31) << 1 | draw(2))
                       for _ in range(sum(samples))]
        seed, epoch = draw(1 << 31), draw(5)
        if not any(occurrences(samples, weights, seed, epoch)):
            continue
        D = 1 + draw(4)
        Q = 1 + draw(5)
        ranks = 1 + draw(Q)
        yield (samples, weights, seed, epoch, 1 + draw(4), D * (1 + draw(4)),
               1 + draw(6), Q, D, ["mask", "repeat", "drop"][draw(3)],
               draw(ranks), ranks)


def c_list(values, suffix=""):
    lines, line = [], "\t {"
    for v in values:
        if len(line) > 66:
            lines.append(line)
            line = "\t  "
        line += f" {v}{suffix},"
    lines.append(line + " },")
    return "\n".join(lines)


def print_order():
    for samples, p in cases():
        print("\t{ { .seed = %dU, .epoch = %dU, .step = %dU," % p[:3])
        print("\t    .window = %d, .lanes = %d, .run = %d, .step_runs = %d,"
              " .parts = %d }," % p[3:])
        print(f"\t {len(samples)},")
        print(c_list(samples))
        print(c_list(first_use(samples, *p)))
        print("\t},")


def print_epochs():
    for (samples, weights, seed, epoch, W, L, K, Q, D, end, rank,
         ranks) in epoch_cases():
        found = epoch_of(samples, weights, seed, epoch, W, L, K, D)
        N = len(found)
        steps = steps_of(N, K, Q, end)
        places = places_of(N, K, Q, end, steps - 1, rank, ranks)
        kind = "ALL" if weights is None else \
            "SOME" if set(weights) <= {0, ONE} else "WEIGHTS"
        print(f"\t{{ {{ .seed = {seed}U, .epoch = {epoch}U,")
        print(f"\t    .window = {W}, .lanes = {L}, .run = {K},"
              f" .step_runs = {Q}, .parts = {D} }},")
        print(f"\t {len(samples)},")
        print(c_list(samples))
        print(f"\t {kind},")
        print(c_list(weights or [0], "U"))
        print(f"\t {N}, HPDSL_END_{end.upper()}, {steps}, {rank}, {ranks},")
        print(c_list(found))
        print(c_list([p for p, _ in places] if steps else [0]))
        print(f"\t {sum(real for _, real in places) if steps else 0},")
        print("\t},")


# ---- hpdsl-order(7) -------------------------------------------------------

PAGE_CHUNKS = [6, 6, 6, 5]
PAGE_CLASSES = [0] * 12 + [1] * 7 + [2] * 4
PAGE_VECTORS = [
    "",
    "--seed=42 --window=2 --lanes=2 --run=3",
    "--seed=42 --epoch=1 --window=2 --lanes=2 --run=3",
    "--seed=42 --window=4 --lanes=1",
    "--window=1 --lanes=6 --run=2",
    "--seed=18446744073709551615 --epoch=7 --window=2 --lanes=2 --run=5 "
    "--parts=2",
    "--seed=3 --window=1 --lanes=6 --run=2 --parts=3",
    "--window=2 --lanes=2 --run=2 --split=0:0.4",
    "--window=2 --lanes=2 --run=2 --split=0.4:1:9",
    "--seed=5 --window=2 --lanes=2 --run=2 --balanced",
]


def chosen(options, n):
    """Weights of the samples, and whether samples are weighed; or None."""
    if "balanced" in options:
        of = [PAGE_CLASSES.count(c) for c in PAGE_CLASSES]
        return [(n << 32) // (len(set(PAGE_CLASSES)) * t) for t in of], True
    if "split" not in options:
        return None
    low, high, seed = (options["split"] + ":0").split(":")[:3]
    low, high = (n * round(float(x) * 10 ** 9) // 10 ** 9 for x in (low, high))
    places = permutation(n, key_of(int(seed), b"split"))
    return [ONE * (low <= p < high) for p in places], False


def digest(weights, weighed):
    n = len(weights)
    bits = sum(1 << s for s in range(n) if weights[s])
    data = struct.pack("<Q", n) + bits.to_bytes(-(-n // 8), "little")
    if weighed:
        data += struct.pack(f"<{n}Q", *weights)
    return _xxh128(data)


def page_vectors():
    """Each line's options, its samples, and its choice's digest or None."""
    for line in PAGE_VECTORS:
        options = dict(word[2:].partition("=")[::2] for word in line.split())
        choice = chosen(options, sum(PAGE_CHUNKS))
        numbers = {"seed": 0, "epoch": 0, "window": 16, "lanes": 8, "run": 32,
                   "parts": 1}
        numbers.update((k, int(options[k])) for k in numbers if k in options)
        found = epoch_of(PAGE_CHUNKS, choice and choice[0], *numbers.values())
        yield line, found, choice and digest(*choice)


def print_page():
    for line, found, _ in page_vectors():
        print(line or "(no options)")
        for i in range(0, len(found), 23):
            print(" ".join(map(str, found[i:i + 23])))


def print_digests():
    for line, _, known in page_vectors():
        if known:
            print(f"{known}  {line.split()[-1]}")


def main():
    if sys.argv[1] in ("page", "digests"):
        {"page": print_page, "digests": print_digests}[sys.argv[1]]()
        return
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by tests/kit/order_model.py. */")
    print("/* clang-format off */")
    {"order": print_order, "epochs": print_epochs}[sys.argv[1]]()


if __name__ == "__main__":
    main()
