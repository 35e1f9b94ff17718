# SPDX-License-Identifier: Apache-2.0
"""One epoch of shuffled batches, as each library is meant to be used for it.

A reader is a function of the place of what it reads and of its configuration, that
gives batches, each a sequence of samples: what has a length, or, decoded, one tensor.
It imports in the function, but READERS names the modules, which are imported before
the time counts.  Batches are of 64, shuffling is on.
"""
import glob
import io
import random

BATCH = 64
SEED = 1


def real(batch, samples, steps):
    """Without those that fill up the last step."""
    if batch.step < steps - 1:
        return samples
    return [s for s, counts in zip(samples, batch.mask) if counts]


def hpdsl_loader(place, copy=False, memory=0):
    import hpdsl

    with hpdsl.Loader(place, BATCH, seed=SEED, epochs=1, memory=memory) as batches:
        steps = -(-len(batches.dataset) // BATCH)
        for batch in batches:
            samples = list(map(bytes, batch.data)) if copy else batch.data
            yield real(batch, samples, steps)


def hpdsl_torch(place, decode=None, workers=0, memory=0, collate=None):
    import hpdsl
    import hpdsl.torch

    more = {"collate": collate} if collate else {}
    batches = hpdsl.torch.Loader(
        place, BATCH, seed=SEED, memory=memory, num_workers=workers,
        decode=DECODERS[decode], **more)
    steps = -(-len(batches.dataset) // BATCH)
    for batch in batches:
        # Decoded samples are a tensor, whose parts are no bytes.
        samples = batch.data if collate or decode else list(batch.data)
        yield real(batch, samples, steps)


def picture(content):
    """A JPEG as a tensor of 224 x 224 pixels."""
    import numpy
    import torch
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        small = image.convert("RGB").resize((224, 224))
    return torch.from_numpy(numpy.array(small)).permute(2, 0, 1).contiguous()


DECODERS = {None: None, "bytes": bytes, "picture": picture}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def read_picture(path):
    return picture(read(path))


def only_data(samples):
    return [sample[0] for sample in samples]


def data_of(samples):
    return [sample["data"] for sample in samples]


def torch_raw(place, workers=0, decode=None):
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    files = ImageFolder(place, loader=read_picture if decode else read)
    batches = DataLoader(files, BATCH, shuffle=True, num_workers=workers,
                         collate_fn=None if decode else only_data)
    for batch in batches:
        yield batch[0] if decode else batch


def webdataset(place, workers=0, buffer=1000):
    import webdataset as wds

    tars = sorted(glob.glob(place + "/chunk-*.tar"))
    samples = wds.WebDataset(tars, shardshuffle=len(tars), seed=SEED,
                             nodesplitter=wds.split_by_node, empty_check=False)
    samples = samples.shuffle(buffer).to_tuple("jpg;jpeg;png").batched(BATCH)
    if workers:
        samples = wds.WebLoader(samples, batch_size=None, num_workers=workers)
    for batch in samples:
        yield batch[0]


def litdata(place, workers=0):
    from litdata import StreamingDataLoader, StreamingDataset

    samples = StreamingDataset(place, shuffle=True, drop_last=False)
    return StreamingDataLoader(samples, batch_size=BATCH, num_workers=workers,
                               collate_fn=data_of)


def mds(place, workers=0):
    from streaming import StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    samples = StreamingDataset(local=place, shuffle=True, batch_size=BATCH)
    return StreamingDataLoader(samples, batch_size=BATCH, num_workers=workers,
                               collate_fn=data_of)


def hf_map(place, workers=0, arrow=False):
    import datasets

    samples = datasets.load_from_disk(place).shuffle(seed=SEED)
    if workers:
        from torch.utils.data import DataLoader

        yield from DataLoader(samples, BATCH, num_workers=workers,
                              collate_fn=data_of)
        return
    if arrow:
        samples = samples.with_format("arrow")
    for batch in samples.iter(BATCH):
        yield batch["data"].to_pylist() if arrow else batch["data"]


def hf_iterable(place, shards=64, buffer=1000):
    import datasets

    samples = datasets.load_from_disk(place)
    samples = samples.to_iterable_dataset(num_shards=min(shards, len(samples)))
    for batch in samples.shuffle(seed=SEED, buffer_size=buffer).iter(BATCH):
        yield batch["data"]


def tfdata(place, cycle=16, threads=0, buffer=1000):
    import tensorflow as tf

    files = tf.data.Dataset.list_files(place + "/*.tfrecord", shuffle=True)
    samples = files.interleave(
        tf.data.TFRecordDataset, cycle_length=cycle, deterministic=False,
        num_parallel_calls=tf.data.AUTOTUNE).shuffle(buffer).batch(BATCH)
    field = {"data": tf.io.FixedLenFeature([], tf.string)}
    samples = samples.map(lambda b: tf.io.parse_example(b, field),
                          num_parallel_calls=tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    for batch in samples.prefetch(
            tf.data.AUTOTUNE).with_options(options).as_numpy_iterator():
        yield batch["data"]


def dali(place, threads=2, mapped=True):
    from nvidia.dali import fn, pipeline_def

    tars = sorted(glob.glob(place + "/chunk-*.tar"))

    @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None)
    def pipe():
        return fn.readers.webdataset(
            paths=tars, index_paths=[t[:-3] + "idx" for t in tars],
            ext=["JPEG;jpg;png"], random_shuffle=True, initial_fill=1024, seed=SEED,
            dont_use_mmap=not mapped, name="reader", pad_last_batch=False)

    running = pipe()
    running.build()
    left = running.epoch_size("reader")
    while left > 0:
        out = running.run()[0]
        here = [out.at(i) for i in range(min(len(out), left))]
        left -= len(here)
        yield here


def grain(place, threads=16, ahead=16):
    import grain.python as pygrain

    source = pygrain.ArrayRecordDataSource(sorted(glob.glob(place + "/*.array")))
    samples = pygrain.MapDataset.source(source).shuffle(SEED)
    yield from samples.batch(BATCH, batch_fn=list).to_iter_dataset(
        pygrain.ReadOptions(num_threads=threads, prefetch_buffer_size=ahead))


def in_order(n):
    numbers = list(range(n))
    random.Random(SEED).shuffle(numbers)
    return [numbers[i:i + BATCH] for i in range(0, n, BATCH)]


def taken(take, batches, threads):
    """Of some batches at a time, one a thread, in order."""
    from collections import deque
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        ahead = deque()
        for batch in batches:
            ahead.append(pool.submit(take, batch))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def lance(place, threads=2):
    import lance as pylance

    ds = pylance.dataset(place)

    def take(numbers):
        return ds.take(numbers).column("data").to_pylist()

    return taken(take, in_order(ds.count_rows()), threads)


def lmdb(place, threads=2, readahead=True):
    import lmdb as db

    env = db.open(place, readonly=True, lock=False, readahead=readahead)

    def take(numbers):
        with env.begin() as txn:
            return [txn.get(b"%08d" % n) for n in numbers]

    return taken(take, in_order(env.stat()["entries"]), threads)


def spdl(place, threads=4):
    from spdl.pipeline import PipelineBuilder

    paths = sorted(glob.glob(place + "/*/*"))
    batches = [[paths[n] for n in numbers] for numbers in in_order(len(paths))]
    pipe = PipelineBuilder().add_source(batches).pipe(
        lambda some: [read(path) for path in some], concurrency=threads
    ).add_sink(8).build(num_threads=threads)
    with pipe.auto_stop():
        yield from pipe.get_iterator(timeout=60)


def energon(place, workers=0, buffer=100):
    from megatron import energon as en

    @en.stateless
    def cook(sample):
        return en.basic_sample_keys(sample) | {"data": next(
            v for k, v in sample.items() if not k.startswith("_"))}

    class Task(en.DefaultTaskEncoder):
        cookers = [en.Cooker(cook)]
        decoder = None  # bytes

        def batch(self, samples):
            return [s["data"] for s in samples]

    samples = en.get_train_dataset(
        place, worker_config=en.WorkerConfig(
            rank=0, world_size=1, num_workers=workers), task_encoder=Task(),
        batch_size=BATCH, shuffle_buffer_size=buffer, max_samples_per_sequence=100,
        repeat=False)
    yield from en.get_savable_loader(samples)


# Name: package, modules, function, form of the data, configurations.
WORKERS = [{"workers": n} for n in (0, 1, 2)]
READERS = {
    "hpdsl.Loader": ("hpdsl", "hpdsl", hpdsl_loader, "hpdsl", [{}]),
    "hpdsl.torch": ("hpdsl", "hpdsl.torch PIL.Image", hpdsl_torch, "hpdsl", [{}]),
    "torch": ("torch", "torchvision.datasets", torch_raw, "raw", WORKERS),
    "webdataset": ("webdataset", "webdataset", webdataset, "hpdsl", WORKERS),
    "litdata": ("litdata", "litdata", litdata, "litdata", WORKERS),
    "mds": ("mosaicml-streaming", "streaming", mds, "mds", WORKERS),
    "hf-map": ("datasets", "datasets torch.utils.data", hf_map, "arrow",
               [{}, {"arrow": True}, {"workers": 2}]),
    "hf-iterable": ("datasets", "datasets torch.utils.data", hf_iterable, "arrow",
                    [{}, {"shards": 8}, {"buffer": 200}]),
    "tf.data": ("tensorflow-cpu", "tensorflow", tfdata, "tfrecord",
                [{}, {"cycle": 4}, {"threads": 2}]),
    "dali": ("nvidia-dali-cuda120", "nvidia.dali.fn", dali, "hpdsl",
             [{}, {"threads": 1}, {"mapped": False}]),
    "grain": ("grain", "grain.python", grain, "array",
              [{}, {"threads": 2, "ahead": 16}, {"threads": 1, "ahead": 4}]),
    "lance": ("pylance", "lance", lance, "lance",
              [{"threads": n} for n in (1, 2, 4)]),
    "lmdb": ("lmdb", "lmdb", lmdb, "lmdb",
             [{}, {"threads": 1}, {"readahead": False}]),
    "spdl": ("spdl", "spdl.pipeline", spdl, "raw",
             [{"threads": n} for n in (2, 4, 16)]),
    "energon": ("megatron-energon", "megatron.energon", energon, "hpdsl", WORKERS),
}
