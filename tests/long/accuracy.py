#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the order in which samples come change what a network learns?

usage: accuracy.py [OPTION]... TREE DATASET [SORTED]

TREE has Fashion-MNIST as examples/fashion_mnist_to_png.py writes it, DATASET is
`hpdsl-pack --labels=dir --include='train-*'` of it, SORTED the same, class after
class, with --shuffle=none.  Trains the network of
examples/train_fashion_mnist.py, as often as there are seeds, in each of these
orders, and prints the mean and the standard deviation of the share of test
images that are recognised:

  full shuffle       the files of TREE, in a new random order each epoch
  defaults           that of DATASET as hpdsl.Loader(batch_size=..) reads it
  one window         the same with windows=1
  parts of 4         a dataset in four parts, as four nodes hold one: each of 4
                     ranks reads the chunks of its part
  sorted             the defaults of SORTED
  not shuffled       the files by name, class after class: what a bad order
                     costs, so that it shows that this study can see one

All images are in memory, and a step's gradient is computed in one process; it
is the mean over the ranks' shares.  Ends with 1 where an order's mean differs
from that of the full shuffle by more than chance would have it: Welch's t above
that of a probability of 1 in 1,000, or 3 in 100 images with only one seed.
With --seconds no seed but the first is begun that would not end in time.
"""
import argparse
import importlib.util
import io
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections import namedtuple

import torch
from PIL import Image

import hpdsl
from hpdsl._job import Dealt
from hpdsl.torch import Batch

HERE = os.path.dirname(os.path.abspath(__file__))
NODES = 4
# Two-sided, 1 in 1,000, for so many degrees of freedom.
T = {2: 31.60, 4: 8.61, 6: 5.96, 8: 5.04, 10: 4.59, 12: 4.32, 14: 4.14,
     16: 4.01, 18: 3.92}

Images = namedtuple("Images", "pixels labels")


def example():
    path = os.path.join(HERE, "../../examples/train_fashion_mnist.py")
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def images(example, pngs, labels):
    grey = b"".join(Image.open(io.BytesIO(png)).tobytes() for png in pngs)
    grey = torch.frombuffer(bytearray(grey), dtype=torch.uint8)
    return Images(example.normal(grey.view(-1, 1, 28, 28)),
                  torch.tensor(labels))


def raw_files(example, tree, half):
    """The files by name, as a plain data loader lists them."""
    classes = sorted(os.listdir(tree))
    pngs, labels = [], []
    for label, name in enumerate(classes):
        folder = os.path.join(tree, name)
        for file in sorted(os.listdir(folder)):
            if file.startswith(half):
                with open(os.path.join(folder, file), "rb") as f:
                    pngs.append(f.read())
                labels.append(label)
    return images(example, pngs, labels)


def packed(example, dataset):
    """The samples by their numbers."""
    names = sorted(dataset.class_names)
    renamed = [names.index(name) for name in dataset.class_names]
    pngs = (sample.data for at in range(0, len(dataset), 1000)
            for sample in dataset[at:at + 1000])
    return images(example, pngs, [renamed[n] for n in dataset.labels])


class FullShuffle:
    source = "files"

    def __init__(self, batch):
        self.batch = batch

    def steps(self, n, seed, epoch):
        drawn = torch.Generator().manual_seed(1000 * seed + epoch)
        return [(numbers, torch.ones(len(numbers), dtype=torch.bool))
                for numbers in torch.randperm(
                    n, generator=drawn).split(self.batch)]


class NotShuffled(FullShuffle):
    def steps(self, n, seed, epoch):
        return [(numbers, torch.ones(len(numbers), dtype=torch.bool))
                for numbers in torch.arange(n).split(self.batch)]


class Packed:
    """One process a part, each with its share of a step."""

    def __init__(self, dataset, batch, source, parts=1, **given):
        self.dataset, self.batch, self.source = dataset, batch, source
        self.parts, self.given = parts, given

    def epoch(self, seed, epoch):
        return hpdsl.Epoch(self.dataset, hpdsl.Order(
            seed=seed, epoch=epoch, parts=self.parts, **self.given),
            batch_size=self.batch // self.parts, ranks=self.parts)

    def steps(self, n, seed, epoch):
        order = self.epoch(seed, epoch)
        for step in range(order.steps()):
            places = [place for rank in range(self.parts)
                      for place in order.step(step, rank=rank,
                                              ranks=self.parts)]
            yield (torch.tensor([p.sample for p in places]),
                   torch.tensor([p.real for p in places]))


def own_share(order, chunk_of):
    """The share of samples that a rank reads from the chunks of its part."""
    epoch, own, read = order.epoch(0, 0), 0, 0
    for step in range(epoch.steps()):
        for rank in range(order.parts):
            for place in epoch.step(step, rank=rank, ranks=order.parts):
                mine = chunk_of[place.sample] % order.parts == rank
                own += place.real and mine
                read += place.real
    return own / read


def train(example, order, data, seed, epochs):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    net = example.network()
    optimizer = torch.optim.Adam(net.parameters())
    n = len(data.labels)
    for epoch in range(epochs):
        for step, (numbers, mask) in enumerate(order.steps(n, seed, epoch)):
            done = (epoch + step * order.batch / n) / epochs
            for group in optimizer.param_groups:
                group["lr"] = example.rate(0.006, done)
            example.train_step(net, optimizer, Batch(
                data.pixels[numbers], data.labels[numbers], numbers, mask,
                epoch, step, ~mask, Dealt(1, len(mask), n)))
    return net


def one_run(name, seed):
    """In a process of its own, which has `study` from the one before it."""
    begin = time.process_time()
    order = study.orders[name]
    net = train(study.example, order, study.data[order.source], seed,
                study.epochs)
    with torch.no_grad():
        found = net(study.test.pixels).argmax(1) == study.test.labels
    return name, seed, found.float().mean().item(), (
        time.process_time() - begin)


class Study:
    def __init__(self, args):
        dataset = hpdsl.Dataset(args.dataset)
        self.example, self.epochs = example(), args.epochs
        self.test = raw_files(self.example, args.tree, "t10k-")
        self.batch = batch = args.batch
        self.data = {"files": raw_files(self.example, args.tree, "train-"),
                     "chunks": packed(self.example, dataset)}
        self.orders = {
            "full shuffle": FullShuffle(batch),
            "defaults": Packed(dataset, batch, "chunks"),
            "one window": Packed(dataset, batch, "chunks", windows=1),
            f"parts of {NODES}": Packed(dataset, batch, "chunks", NODES),
        }
        if args.sorted is not None:
            of = hpdsl.Dataset(args.sorted)
            self.data["sorted"] = packed(self.example, of)
            self.orders["sorted"] = Packed(of, batch, "sorted")
        self.orders["not shuffled"] = NotShuffled(batch)
        self.chunk_of = [dataset.members(i)[0].chunk
                         for i in range(len(dataset))]
        self.chunks = dataset.counts.chunks


def same_images(a, *others):
    """Whatever the order: as many of each class, and the same pixels in sum."""
    return all(same_as(a, b) for b in others)


def same_as(a, b):
    return (torch.equal(a.labels.bincount(), b.labels.bincount()) and
            torch.allclose(a.pixels.sum(0), b.pixels.sum(0), rtol=1e-3,
                           atol=1))


def agrees(ours, full):
    difference = abs(statistics.mean(ours) - statistics.mean(full))
    n = len(full)
    if n == 1:
        return difference <= 0.03
    noise = math.sqrt((statistics.variance(ours) +
                       statistics.variance(full)) / n)
    return difference <= T[2 * n - 2] * noise


def report(found):
    """Prints the table; returns the orders that do not agree."""
    print(f"{study.epochs} epochs of {len(study.data['chunks'].labels)} samples "
          f"in {study.chunks} chunks, {len(study.test.labels)} test images, "
          f"{len(found['full shuffle'])} seeds, steps of {study.batch}")
    strange = []
    for name, runs in found.items():
        spread = statistics.stdev(runs) if len(runs) > 1 else 0
        print(f"{name:24} {100 * statistics.mean(runs):6.2f} "
              f"+- {100 * spread:4.2f} %   "
              + " ".join(f"{100 * run:.2f}" for run in runs))
        if not agrees(runs, found["full shuffle"]):
            strange.append(name)
    return strange


def train_all(args, end):
    """The shares recognised by each order, with one seed after the other."""
    found = {name: [] for name in study.orders}
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        for seed in range(args.seeds):
            begin = time.monotonic()
            for run in [pool.apply_async(one_run, (name, seed))
                        for name in found]:
                name, _, accuracy, seconds = run.get()
                found[name].append(accuracy)
                print(f"# 1 trainings of {name}, seed {seed}: {accuracy:.4f}, "
                      f"{seconds:.1f} s", file=sys.stderr, flush=True)
            now = time.monotonic()
            if now + (now - begin) > end:
                break
    return found


def main():
    global study
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], epilog=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree")
    parser.add_argument("dataset")
    parser.add_argument("sorted", nargs="?")
    parser.add_argument("--seeds", type=int, default=5, choices=range(1, 11))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    begin = time.monotonic()
    torch.set_num_threads(1)
    study = Study(args)
    if not same_images(*study.data.values()):
        sys.exit("the dataset has other images than the files")
    for name, order in study.orders.items():
        if getattr(order, "parts", 1) > 1:
            share = own_share(order, study.chunk_of)
            print(f"{name}: {share:.2%} of the samples are read from the "
                  "rank's own chunks", flush=True)
    found = train_all(args, begin + args.seconds)
    strange = report(found)
    if strange != ["not shuffled"]:
        sys.exit(f"other than the full shuffle: {', '.join(strange)}")


if __name__ == "__main__":
    main()
