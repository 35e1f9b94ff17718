#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on Fashion-MNIST, straight from packed chunks.

    fashion_mnist_to_png.py png
    hpdsl-pack --labels=dir --chunks=240 png fashion.hpdsl
    train_fashion_mnist.py --checkpoint=fashion.pt fashion.hpdsl

A stage directory does as well, even while it is being filled.  Started again,
it goes on behind its last checkpoint, with just the samples of the epoch that
were still to come, on as many processes as there are now: any number that
divides the batch.  torchrun and srun start several, and each reads its share of
every step.
"""
import argparse
import errno
import io
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from PIL import Image
from torch import nn

import hpdsl
import hpdsl.torch

# The two halves of Fashion-MNIST, by the names that the converter gives.
TRAINING, TEST = "train-*", "t10k-*"


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def image(png):
    """From the bytes of a file: 1 x 28 x 28 numbers around 0."""
    pixels = bytearray(Image.open(io.BytesIO(png)).tobytes())
    grey = torch.frombuffer(pixels, dtype=torch.uint8).view(1, 28, 28)
    return normal(grey)


def normal(grey):
    return (grey.float() / 255 - 0.3) / 0.35


def rate(highest, done):
    """The learning rate: up for three tenths of the training, then down."""
    return highest * max(0.0, min(done / 0.3, (1 - done) / 0.7))


def train_step(net, optimizer, batch):
    """What only fills the last step up has mask False and does not count; of
    some processes that may be all of it.  batch.mean() is this one's share of
    the step's mean.  Returns the sum of losses, and how many count."""
    images, labels = batch.data, batch.labels
    losses = F.cross_entropy(net(images), labels, reduction="none")
    optimizer.zero_grad()
    batch.mean(losses).backward()
    optimizer.step()
    counts = losses.detach()[batch.mask]
    return torch.tensor([counts.sum().item(), len(counts)])


def mean(total):
    """Of a sum and a number, each of which every process has a part of."""
    if dist.is_initialized():
        dist.all_reduce(total)
    return (total[0] / total[1]).item()


@torch.no_grad()
def accuracy(net, batches):
    right = torch.zeros(2)
    for batch in batches:
        hit = (net(batch.data).argmax(1) == batch.labels) & batch.mask
        right += torch.tensor([hit.sum(), batch.mask.sum()])
    return mean(right)


def join():
    """Finds the other processes; returns this one's number.  In the shell of an
    sbatch script Slurm has a rank and tasks as well, but no step: what srun has
    not started is alone."""
    rank, ranks = (
        int(os.environ.get(ours, os.environ.get(slurms, default)))
        for ours, slurms, default in (
            ("RANK", "SLURM_PROCID", 0),
            ("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", 1),
        )
    )
    if ranks > 1:
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
    return rank


def save(path, net, optimizer, loader):
    """Both files appear whole or not at all.  The second one is for
    `hpdsl-stage --order-from`, which then brings first what comes next."""
    state = loader.state_dict()
    kept = {
        "net": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "loader": state,
    }
    torch.save(kept, path + ".new")
    os.replace(path + ".new", path)
    with open(path + ".order.new", "w") as f:
        json.dump(state, f)
    os.replace(path + ".order.new", path + ".order")


def try_to_save(path):
    """So that training that cannot be kept does not begin."""
    try:
        for name in path, path + ".order":
            if os.path.isdir(name):
                raise IsADirectoryError(errno.EISDIR, "Is a directory")
            with open(name + ".new", "w"):
                pass
            os.remove(name + ".new")
    except OSError as e:
        sys.exit(f"{path}: cannot be written: {e.strerror}")


def resume(path, net, optimizer, loader):
    kept = torch.load(path)
    net.load_state_dict(kept["net"])
    optimizer.load_state_dict(kept["optimizer"])
    loader.load_state_dict(kept["loader"])


def count(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset", help="packed dataset or stage directory")
    parser.add_argument("--epochs", type=count, default=5)
    parser.add_argument("--steps", type=count, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.006)
    parser.add_argument(
        "--batch", type=count, default=256, help="of all processes together"
    )
    parser.add_argument("--workers", type=count, default=0)
    parser.add_argument("--checkpoint", metavar="FILE")
    parser.add_argument(
        "--every",
        type=count,
        default=100,
        metavar="STEPS",
        help="between checkpoints; 0: only where an epoch ends",
    )
    return parser.parse_args()


def main():
    args = arguments()
    rank = join()
    if args.checkpoint and rank == 0:
        try_to_save(args.checkpoint)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = module = network()
    if dist.is_initialized():
        net = nn.parallel.DistributedDataParallel(module)
    optimizer = torch.optim.Adam(net.parameters())

    dataset = hpdsl.Dataset(args.dataset)

    def loader(half, epochs):
        return hpdsl.torch.Loader(
            dataset,
            order=hpdsl.Order(seed=args.seed, batch=args.batch),
            choice=hpdsl.Choice(dataset, include=[half]),
            epochs=epochs,
            decode=image,
            num_workers=args.workers,
        )

    training = loader(TRAINING, args.epochs)
    if args.checkpoint and os.path.exists(args.checkpoint):
        resume(args.checkpoint, module, optimizer, training)
        print(f"goes on in epoch {training.epoch}, step {training.step}")
    left = args.steps
    while training.epoch < args.epochs and left != 0:
        total = torch.zeros(2)
        for batch in training:
            done = batch.epoch + batch.step / len(training)
            for group in optimizer.param_groups:
                group["lr"] = rate(args.rate, done / args.epochs)
            total += train_step(net, optimizer, batch)
            left = left and left - 1
            last = left == 0 or batch.step + 1 == len(training)
            if last or args.every and (batch.step + 1) % args.every == 0:
                if args.checkpoint and rank == 0:
                    save(args.checkpoint, module, optimizer, training)
            if left == 0:
                break
        loss = mean(total)
        if rank == 0:
            print(f"epoch {batch.epoch}: {batch.step + 1} steps, loss {loss:.3f}")
    found = accuracy(net, loader(TEST, 1))
    if rank == 0:
        print(f"{found:.2%} of the test images are recognised")


if __name__ == "__main__":
    sys.exit(main())
