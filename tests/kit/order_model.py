#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of an epoch, sample by sample, and which chunks it wants first.

A second implementation, slow and plain, written from the text of hpdsl-order(7)
and not from its listing or the library.  Prints the vectors of that page:

    order_model.py page|ends|short|weights|times|digests|nodes|defaults

or the order of a dataset, a line of samples by position:

    order_model.py --chunks=6,6,6,5 --seed=42 --batch=4 --lanes=4 --piece=2 ..
"""
import ctypes
import struct
import sys
import textwrap
from collections import namedtuple
from fractions import Fraction
from math import ceil, floor

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


# ---- Samples of an epoch --------------------------------------------------

ONE = 1 << 32


def times_of(weights, seed, epoch):
    """How often each sample comes; weights are in units of 1 / ONE."""
    return [w // ONE + (key_of(seed, b"weight", epoch, s) // ONE < w % ONE)
            for s, w in enumerate(weights)]


List = namedtuple("List", "chunk samples")


def lists_of(sizes, times=None):
    """Of chunks of so many samples; times: how often each comes, None: once."""
    lists, number = [], 0
    for chunk, size in enumerate(sizes):
        left = {s: 1 if times is None else times[s]
                for s in range(number, number + size)}
        number += size
        while any(left.values()):
            lists.append(List(chunk, [s for s, n in left.items() if n]))
            left = {s: n - 1 for s, n in left.items() if n > 0}
    return lists


# ---- The order ------------------------------------------------------------

Order = namedtuple("Order", "seed epoch batch lanes piece windows parts")


class Lane:
    """What a lane is dealt, from front to back, and where that goes."""

    def __init__(self, number, order):
        self.number = number
        self.part = number * order.parts // order.lanes
        self.positions = {}  # by x
        self.got = []

    def needs(self):
        return len(self.positions) - len(self.got)

    def take(self, n, of):
        """From the head of a queue."""
        self.got += of[:n]
        del of[:n]


def deal(order, N):
    """1: the lanes, each with the positions that hold its samples."""
    G, L = order.batch, order.lanes
    each, every = max(1, G // L), max(1, L // G)
    lanes = [Lane(number, order) for number in range(L)]
    for position in range(N):
        step, slot = position // G, position % G
        lane = lanes[slot // each * every + step % every]
        lane.positions[step // every * each + slot % each] = position
    return lanes


def sequence(order, lists, part):
    """2 and 3: all samples of the part, those of its windows' pieces first."""
    own = [of.samples for of in lists if of.chunk % order.parts == part]
    places = permutation(len(own), key_of(order.seed, b"chunks", order.epoch,
                                          part))
    Z = [sample for place in places for sample in own[place]]
    for _ in range(key_of(order.seed, b"turn", order.epoch, part) * len(Z)
                   >> 64):
        Z.append(Z.pop(0))
    size = order.piece
    pieces = [Z[i:i + size] for i in range(0, len(Z), size)]
    rest = pieces.pop() if len(Z) % size else []
    found = []
    for w in range(order.windows):
        low, high = (k * len(pieces) // order.windows for k in (w, w + 1))
        key = key_of(order.seed, b"pieces", order.epoch, part, w)
        for place in permutation(high - low, key):
            found += pieces[low + place]
    return found + rest


def epoch_of(order, lists):
    """The samples of positions 0, 1, .."""
    N = sum(len(of.samples) for of in lists)
    lanes = deal(order, N)
    parts = [[lane for lane in lanes if lane.part == part]
             for part in range(order.parts)]
    kept, surplus = [], []
    for part, own in enumerate(parts):  # 4
        whole = sequence(order, lists, part)
        need = sum(lane.needs() for lane in own)
        kept.append(whole[:need])
        surplus += whole[need:]
    found = [None] * N
    for own, share in zip(parts, kept):
        while len(share) < sum(lane.needs() for lane in own):
            share.append(surplus.pop(0))
        while own and min(lane.needs() for lane in own) >= order.piece:  # 5
            for lane in own:
                lane.take(order.piece, share)
        for lane in own:
            lane.take(lane.needs(), share)
            n = len(lane.got)
            phase = Fraction(lane.number * 0x9E3779B97F4A7C15 & MASK, 1 << 64)
            for x, position in lane.positions.items():
                found[position] = lane.got[(x + floor(phase * order.piece))
                                           % n]
        assert not share
    assert not surplus
    return found


def plain_of(lists):
    return [sample for of in lists for sample in of.samples]


def first_use(order, lists, chunks, step):
    """The chunks in the order in which the epoch, from the step on, first wants
    them; then those that it had before, then the rest."""
    of = {s: lst.chunk for lst in lists for s in lst.samples}
    use = {}
    for position, sample in enumerate(epoch_of(order, lists)):
        when = (position < step * order.batch, position)
        use[of[sample]] = min(use.get(of[sample], when), when)
    return sorted(range(chunks), key=lambda c: (c not in use, use.get(c), c))


# ---- Steps ----------------------------------------------------------------

def steps_of(N, G, end):
    return N // G if end == "drop" else -(-N // G)


def places_of(N, G, L, end, step, rank=0, ranks=1):
    """(position, mask) of a rank's slots in a step.  A plain order has an L of
    1."""
    left = N % G
    if end == "short" and left and step == N // G:
        return _short(N, G, L, rank, ranks)
    places = []
    for slot in range(rank * G // ranks, (rank + 1) * G // ranks):
        position = step * G + slot
        real = position < N
        if not real:
            position -= max(1, L // G) * G
            if position < 0:
                position = slot % N
        places.append((position, real or end == "repeat"))
    return places


def _short(N, G, L, rank, ranks):
    """Of the last step, of which N does not fill all."""
    step, left = divmod(N, G)
    places = [(step * G + i, True)
              for i in range(rank * left // ranks, (rank + 1) * left // ranks)]
    slot = rank * G // ranks
    back = (step - max(1, L // G)) * G + slot
    return places or [(back if back >= 0 else slot % N, False)]


# ---- Defaults -------------------------------------------------------------

MIB = 1 << 20
Set = namedtuple("Set", "samples bytes chunks shuffled batch_size ranks workers")


def fill(of, batch=0, lanes=0, piece=0, windows=0):
    """(batch, lanes, piece, windows): those that are 0 by the page's rules."""
    T, A, U = (64, MIB, 4 * MIB) if of.shuffled else (512, MIB // 8, MIB)
    n, B = of.samples, of.bytes
    z = of.batch_size or 64
    if batch:
        z = ceil(Fraction(batch, of.ranks))
    G = batch or z * of.ranks
    L = lanes or _lanes(z, G, of, T, max(
        Fraction(B, 8 * MIB),
        min(Fraction(T), max(Fraction(B, A), Fraction(n, 8)))))
    u = max(Fraction(B, 8 * L), min(Fraction(MIB), Fraction(B, 8 * T)))
    u = min(u, Fraction(U))
    p = max(1, floor(B / (L * u) + Fraction(1, 2)))
    b = piece or max(1, min(floor(u * n / B), n // L // p))
    v = windows or (max(1, min(16, p, of.chunks // 32)) if of.shuffled else 1)
    return G, L, b, v


def _lanes(z, G, of, T, cap):
    fit = [K for K in range(1, z + 1)
           if z % K == 0 and G % K == 0 and Fraction(z, K) <= 256
           and Fraction(G, K) <= max(of.ranks, cap)]
    K = fit[0] if fit else 1
    if K > 1 and not (Fraction(z, K) < 64 and G <= cap):
        return G // K
    m = max(1, min(ceil(Fraction(T, G)), floor(cap / G)))
    return G * (ceil(Fraction(m, of.workers)) * of.workers)


# ---- Cases ----------------------------------------------------------------

class Draw:
    """Numbers that are always the same."""

    def __init__(self, state):
        self.state = state

    def __call__(self, n):
        self.state = (self.state * 6364136223846793005 +
                      1442695040888963407) & MASK
        return (self.state >> 33) % n


def epoch_cases():
    """(order, sizes, times or None): small ones of every kind."""
    draw = Draw(20261125)
    while True:
        sizes = [draw([2, 6, 20][draw(3)]) for _ in range(1 + draw(9))]
        times = None
        if draw(2):
            times = [draw(2 + draw(4)) for _ in range(sum(sizes))]
        if not any(times or sizes):
            continue
        batch = 1 + draw(9)
        lanes = batch * (1 + draw(4))
        if draw(2):
            lanes = [d for d in range(1, batch + 1) if batch % d == 0][
                draw(sum(batch % d == 0 for d in range(1, batch + 1)))]
        yield Order(draw(1 << 31) << draw(33), draw(5), batch, lanes,
                    1 + draw(7), 1 + draw(5), 1 + draw(4)), sizes, times


def read_vectors(text):
    """Those of tests/unit/kit/sequence_vectors.h: (order, sizes, times or None,
    samples)."""
    text = text[text.index("{") + 1:text.rindex("}")]
    joined = "".join(line.strip() for line in text.splitlines())
    for row in joined.replace('""', "").split(","'"'):
        fields = row.strip(' ,"').split("|")
        numbers = [int(x) for x in fields[2:9]]
        yield (Order(*numbers), [int(x) for x in fields[0].split(",")],
               None if fields[1] == "-" else
               [int(x) for x in fields[1].split(",")],
               [int(x) for x in fields[9].split()])


# ---- hpdsl-order(7) -------------------------------------------------------

PAGE_CHUNKS = [6, 6, 6, 5]
PAGE_CLASSES = [0] * 12 + [1] * 7 + [2] * 4
PAGE_TIMES = [0, 1, 2, 3] * 5 + [1, 1, 1]
PAGE_VECTORS = [
    "--batch=4 --lanes=4 --piece=2 --windows=1",
    "--seed=42 --epoch=1 --batch=4 --lanes=4 --piece=2 --windows=2",
    "--seed=42 --batch=2 --lanes=4 --piece=2 --windows=1",
    "--seed=42 --batch=6 --lanes=2 --piece=3 --windows=1",
    "--seed=18446744073709551615 --epoch=7 --batch=5 --lanes=5 --piece=3 "
    "--windows=2 --parts=2",
    "--seed=3 --batch=4 --lanes=4 --piece=1 --windows=1 --parts=3",
    "--seed=9 --batch=6 --lanes=6 --piece=2 --windows=2 --parts=4",
    "--seed=9 --batch=6 --lanes=6 --piece=5 --windows=2",
    "--seed=9 --batch=16 --lanes=4 --piece=1 --windows=2 --parts=2",
    "--batch=4 --lanes=4 --piece=2 --windows=1 --split=0:0.4",
    "--batch=4 --lanes=8 --piece=2 --windows=2 --split=0.4:1:9",
    "--seed=5 --batch=4 --lanes=4 --piece=2 --windows=1 --balanced",
    "--batch=4 --no-shuffle --split=0.4:1:9",
    "--seed=5 --batch=4 --no-shuffle --balanced",
    "--seed=5 --epoch=1 --batch=4 --lanes=4 --piece=2 --windows=1 --balanced",
    "--batch=4 --lanes=4 --piece=2 --windows=1 --split=0.4:1:9 --balanced",
]
PAGE_DIGESTS = ["--split=0:0.4", "--split=0.4:1:9", "--balanced",
                "--split=0.4:1:9 --balanced"]
# (seed, epoch, sample, w): on either side of h, and with more in front.
PAGE_WS = [(5, 0, 7, 974037019), (5, 0, 7, 974037020), (5, 1, 7, 974037020),
           (5, 1, 7, (2 << 32) + 3647092674)]
PAGE_ENDS = [
    "--batch=4 --lanes=4 --end=repeat --step=5",
    "--batch=4 --lanes=8 --end=repeat --step=5",
    "--batch=8 --lanes=2 --end=repeat --step=2",
    "--batch=16 --lanes=32 --end=repeat --step=1",
    "--batch=32 --lanes=32 --end=repeat --step=0",
    "--batch=4 --no-shuffle --end=repeat --step=5",
    "--batch=4 --lanes=4 --end=mask --step=5",
    "--batch=4 --lanes=4 --end=drop --step=4",
    "--batch=4 --lanes=4 --end=short --step=5",
    "--batch=16 --lanes=32 --end=short --ranks=3 --uneven --rank=2 --step=1",
    "--batch=7 --lanes=7 --ranks=3 --uneven --rank=1",
    "--batch=7 --lanes=7 --ranks=3 --uneven --rank=2",
    "--batch=4 --lanes=8 --ranks=2 --rank=1 --workers=3 --worker=1 --step=1",
]
# G, L and R, of 23 samples.
PAGE_SHORT = [(4, 4, 1), (4, 4, 2), (4, 8, 4), (5, 5, 5), (16, 32, 3),
              (11, 11, 3), (8, 2, 5), (22, 22, 2), (32, 32, 5), (32, 64, 32),
              (4, 1, 3)]
PAGE_NODES = [(2, 8), (4, 2), (3, 2), (5, 3)]
IMAGES = 1281167, 1281167 * 110900, 2115
LARGE = 100000000, 10 ** 13, 32768
RECORDS = 2000000000, 2000000000 << 10, 32768
PAGE_SETS = [
    Set(*IMAGES, True, 64, 1, 1),
    Set(*IMAGES, True, 64, 8, 1),
    Set(*IMAGES, True, 64, 64, 1),
    Set(*IMAGES, True, 64, 512, 1),
    Set(*IMAGES, True, 64, 1, 8),
    Set(*IMAGES, True, 257, 1, 1),
    Set(*IMAGES, True, 257, 512, 1),
    Set(*IMAGES, False, 64, 1, 1),
    Set(*LARGE, True, 32, 1, 1),
    Set(*LARGE, True, 32, 4096, 1),
    Set(*LARGE, True, 32, 1, 3),
    Set(*LARGE, False, 32, 8, 1),
    Set(*RECORDS, True, 1024, 1, 1),
    Set(*RECORDS, True, 1024, 512, 1),
    Set(200, 10 ** 11, 200, True, 1, 8, 1),
    Set(10, 1000, 1, True, 64, 4, 1),
    Set(1, 1, 1, True, 1, 1, 1),
    Set(200, 600000, 1, True, 32, 1, 1),
    Set(60000, 30000000, 16, True, 256, 1, 1),
    Set(60000, 30000000, 16, False, 32, 8, 1),
    Set(*IMAGES, True, 24, 1, 1),
    Set(*LARGE, True, 32, 1, 2),
    Set(1000000, 10 ** 9, 100, False, 100, 1, 2),
    (Set(1000000, 10 ** 9, 100, True, 64, 1, 1), "lanes=256 piece=100"),
    (Set(*IMAGES, True, 0, 8, 1), "batch=2555"),
]


def words(line):
    return dict(word[2:].partition("=")[::2] for word in line.split())


def order_in(options):
    numbers = {"seed": 0, "epoch": 0, "batch": 64, "lanes": 0, "piece": 1,
               "windows": 1, "parts": 1}
    numbers.update((k, int(options[k])) for k in numbers if k in options)
    numbers["lanes"] = numbers["lanes"] or numbers["batch"]
    return Order(**numbers)


def share_of(split, n):
    low, high, seed = (split + ":0").split(":")[:3]
    low, high = (n * round(float(x) * 10 ** 9) // 10 ** 9 for x in (low, high))
    places = permutation(n, key_of(int(seed), b"split"))
    return [low <= p < high for p in places]


def chosen(options, n):
    """Weights of the samples, and whether samples are weighted; or None."""
    if not options.keys() & {"split", "balanced"}:
        return None
    has = share_of(options.get("split", "0:1"), n)
    if "balanced" not in options:
        return [ONE * of for of in has], False
    classes = [c for c, of in zip(PAGE_CLASSES, has) if of]
    return [(len(classes) << 32) // (len(set(classes)) * classes.count(c))
            if of else 0 for c, of in zip(PAGE_CLASSES, has)], True


def digest(weights, weighed):
    n = len(weights)
    bits = sum(1 << s for s in range(n) if weights[s])
    data = struct.pack("<Q", n) + bits.to_bytes(-(-n // 8), "little")
    if weighed:
        data += struct.pack(f"<{n}Q", *weights)
    return _xxh128(data)


def found_by(line, sizes):
    """The samples by position, of the options of hpdsl-order(1)."""
    options = words(line)
    order, choice = order_in(options), chosen(options, sum(sizes))
    lists = lists_of(sizes, choice and times_of(choice[0], order.seed,
                                                order.epoch))
    return plain_of(lists) if "no-shuffle" in options else \
        epoch_of(order, lists)


def print_numbers(numbers):
    for i in range(0, len(numbers), 23):
        print(" ".join(map(str, numbers[i:i + 23])))


def print_page():
    for line in PAGE_VECTORS:
        print(textwrap.fill(line, 79, break_on_hyphens=False))
        print_numbers(found_by(line, PAGE_CHUNKS))


def print_ends():
    for line in PAGE_ENDS:
        options = {"lanes": 1, "end": "mask", "step": 0, "rank": 0, "ranks": 1,
                   "worker": 0, "workers": 1, **words(line)}
        end = options.pop("end")
        of = {name: int(value or 0) for name, value in options.items()}
        steps = range(of["step"] + of["worker"],
                      steps_of(sum(PAGE_CHUNKS), of["batch"], end),
                      of["workers"])
        print(line)
        print_numbers([position for step in steps
                       for position, counts in places_of(
                           sum(PAGE_CHUNKS), of["batch"], of["lanes"], end,
                           step, of["rank"], of["ranks"]) if counts])


def print_short():
    N = sum(PAGE_CHUNKS)
    for G, L, R in PAGE_SHORT:
        told = (" ".join(str(position) if counts else f"({position})"
                         for position, counts in places_of(
                             N, G, L, "short", N // G, t, R))
                for t in range(R))
        print(textwrap.fill(f"{G} {L} {R}: " + " | ".join(told), 72))


def print_weights():
    order = order_in(words("--seed=5 --batch=4 --lanes=4 --piece=2"))
    print_numbers(epoch_of(order, lists_of(PAGE_CHUNKS, PAGE_TIMES)))


def print_times():
    for seed, epoch, sample, w in PAGE_WS:
        weights = [0] * sample + [w]
        print(seed, epoch, sample, end=f" {w}: ")
        print(times_of(weights, seed, epoch)[sample])


def print_nodes():
    for n, D in PAGE_NODES:
        print(n, end=f" {D}:")
        for k in range(n):
            parts = [p for p in range(D) if p * n < (k + 1) * D and
                     k * D < (p + 1) * n]
            print(f" {parts[0]}-{parts[-1]}", end="")
        print()


def print_digests():
    for line in PAGE_DIGESTS:
        choice = chosen(words(line), sum(PAGE_CHUNKS))
        print(f"{digest(*choice)}  {line}")


def print_defaults():
    for of, given in (row if len(row) == 2 else (row, "") for row in PAGE_SETS):
        print(*of[:3], "yes" if of.shuffled else "no", of.batch_size or "-",
              *of[5:], *given.split(), end=": ")
        print(*fill(of, **{name: int(n) for name, n in (
            word.split("=") for word in given.split())}))


def main():
    prints = {"page": print_page, "ends": print_ends, "short": print_short,
              "weights": print_weights, "times": print_times,
              "digests": print_digests, "nodes": print_nodes, "defaults": print_defaults}
    if sys.argv[1:] and sys.argv[1] in prints:
        prints[sys.argv[1]]()
        return
    line = " ".join(sys.argv[1:])
    sizes = [int(n) for n in words(line)["chunks"].split(",")]
    print(*found_by(line, sizes))


if __name__ == "__main__":
    main()
