# SPDX-License-Identifier: Apache-2.0
"""Writes a tree of class folders in another library's form: a record a file, in the
order of the paths, with its bytes as "data" and its class as "label".

    library_forms.py FORM TREE OUT
"""
import glob
import os
import sys

PART = 64 << 20  # bytes of a file, where the form has files
FILES = 16  # where that takes their number


def records(tree):
    paths = sorted(glob.glob(tree + "/*/*"))
    labels = {d: n for n, d in enumerate(sorted(os.listdir(tree)))}
    for path in paths:
        with open(path, "rb") as f:
            yield {"data": f.read(),
                   "label": labels[os.path.basename(os.path.dirname(path))]}


def record_of(path):
    with open(path, "rb") as f:
        return {"data": f.read(), "label": os.path.dirname(path)}


def litdata(tree, out):
    from litdata import optimize

    optimize(record_of, sorted(glob.glob(tree + "/*/*")), out, chunk_bytes="64MB",
             num_workers=2)


def mds(tree, out):
    from streaming import MDSWriter

    with MDSWriter(out=out, columns={"data": "bytes", "label": "int"},
                   size_limit=PART) as writer:
        for record in records(tree):
            writer.write(record)


def arrow(tree, out):
    import datasets

    features = datasets.Features({"data": datasets.Value("binary"),
                                  "label": datasets.Value("int64")})
    cache = out + ".cache"
    made = datasets.Dataset.from_generator(
        records, features=features, gen_kwargs={"tree": tree}, cache_dir=cache)
    made.save_to_disk(out)


def lmdb(tree, out):
    import lmdb as db

    size = sum(os.path.getsize(p) for p in glob.glob(tree + "/*/*"))
    env = db.open(out, map_size=2 * size + (64 << 20))
    with env.begin(write=True) as txn:
        for n, record in enumerate(records(tree)):
            txn.put(b"%08d" % n, record["data"], append=True)
    env.close()


def lance(tree, out):
    import lance as pylance
    import pyarrow as pa

    schema = pa.schema([("data", pa.large_binary()), ("label", pa.int64())])

    def batches():
        some = []
        for record in records(tree):
            some.append(record)
            if len(some) == 256:
                yield pa.RecordBatch.from_pylist(some, schema)
                some = []
        if some:
            yield pa.RecordBatch.from_pylist(some, schema)

    pylance.write_dataset(
        pa.RecordBatchReader.from_batches(schema, batches()), out)


def array(tree, out):
    from array_record.python.array_record_module import ArrayRecordWriter

    files = [ArrayRecordWriter(f"{out}/{n:03}.array", "group_size:1")
             for n in range(FILES)]
    for n, record in enumerate(records(tree)):
        files[n % FILES].write(record["data"])
    for file in files:
        file.close()


def tfrecord(tree, out):
    import tensorflow as tf

    files = [tf.io.TFRecordWriter(f"{out}/{n:03}.tfrecord")
             for n in range(2 * FILES)]
    for n, record in enumerate(records(tree)):
        fields = {"data": tf.train.Feature(bytes_list=tf.train.BytesList(
            value=[record["data"]])), "label": tf.train.Feature(
                int64_list=tf.train.Int64List(value=[record["label"]]))}
        files[n % len(files)].write(tf.train.Example(features=tf.train.Features(
            feature=fields)).SerializeToString())
    for file in files:
        file.close()


if __name__ == "__main__":
    form, tree, out = sys.argv[1:]
    if form in ("lmdb", "array", "tfrecord"):
        os.makedirs(out)
    globals()[form](tree, out)
