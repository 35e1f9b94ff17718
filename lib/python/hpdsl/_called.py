# SPDX-License-Identifier: Apache-2.0
"""Names that other libraries have, of arguments, attributes, classes and members:
what they are called here."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Iterable, List, Sequence, TypeVar, cast

# What is only hpdsl.torch.Loader's.
_TORCHS = ("decode", "collate", "form", "num_workers", "pin_memory",
           "prefetch_factor", "persistent_workers", "worker_init_fn",
           "multiprocessing_context", "timeout")
# What is said to any loader, and not to a dataset.
_LOADERS = ("batch_size", "choice", "drop_last", "epochs", "memory", "rank",
            "ranks", "seed", "shuffle", "skip_bad", "suffixes", "windows")
# What a Choice is asked for, and a loader by way of one.
_CHOICES = ("labels", "folder", "tars", "include", "exclude", "samples", "split",
            "split_seed", "balanced", "class_weight", "sample_weight")
# By whose names people come: of DataLoader, DistributedSampler, WebDataset,
# Streaming, LitData, Hugging Face's datasets, Grain, FFCV, torchvision.
_OTHERS: Dict[str, Sequence[str]] = {
    "batch_size": ("batch", "bs", "global_batch_size", "batched"),
    "choice": ("subset",),
    "class_weight": ("class_weights",),
    "collate": ("collate_fn", "collation_fn"),
    "dataset": ("path", "root", "url", "urls", "input_dir", "local", "remote"),
    "decode": ("transform", "transforms", "map", "map_fn", "preprocess",
               "decoder", "operations", "pipelines"),
    "drop_last": ("drop_remainder",),
    "epochs": ("num_epochs", "n_epochs", "max_epochs", "repeat"),
    "folder": ("folders", "subdir", "prefix", "split_dirs"),
    "group": ("process_group", "process_group_name", "replication"),
    "labels": ("classes", "class_names", "targets"),
    "memory": ("predownload", "max_pre_download", "prefetch", "buffer_bytes"),
    "num_workers": ("workers", "num_proc", "worker_count", "nworkers",
                    "num_parallel_calls"),
    "ranks": ("world_size", "num_replicas", "num_ranks", "shard_count"),
    "rank": ("shard_index", "node_rank", "local_rank"),
    "sample_weight": ("weights", "sample_weights", "proportion", "choose"),
    "path": ("root", "url", "urls", "input_dir", "local", "remote"),
    "samples": ("numbers", "indices", "ids", "filter", "select"),
    "seed": ("random_seed", "shuffle_seed", "generator"),
    "skip_bad": ("handler", "error_handler", "ignore_errors"),
    "split": ("subsample",),
    "split_seed": ("seed", "random_state", "generator"),
    "suffixes": ("extensions", "columns", "keys", "fields", "exts", "to_tuple"),
    "windows": ("buffer_size", "shuffle_buffer", "shuffle_block_size",
                "shuffle_size", "shuffle_algo", "shardshuffle"),
}
_HERE: Dict[str, List[str]] = {}
for _here, _names in _OTHERS.items():
    for _name in _names:
        _HERE.setdefault(_name, []).append(_here)
_MORE = {
    "choice": ", as choice=hpdsl.Choice(ds, split=(0, 0.9))",
    "collate": ", and gets what decode has made of n samples; their labels are "
               "collated without it",
    "class_weight": ", {class: how often each of its samples comes in an epoch}, "
                    "and no shares",
    "decode": ", and gets the bytes of a sample",
    "memory": ", in bytes of what was read",
    "rank": ", of all processes of the job",
    "sample_weight": ", of each sample of the dataset how often it comes in an "
                     "epoch, and no shares",
    "split": ", a share as (0, 0.9); what lies in a folder is folder=\"val\"",
    "windows": "; 1 mixes all of the dataset, without a buffer",
}

# How much of a name a guess has to have: of letters that were swapped, or one or two
# that are missing.
_NEAR = 0.8

# What nothing is called here.
_DISK = ("no disk is filled by a loader: hpdsl-stage(1) brings a dataset near, and "
         "memory= bounds what was read")
_NOT_HERE = {
    "cache_limit": _DISK,
    "cache_size": _DISK,
    "max_cache_size": _DISK,
    "device": "batch.to(device) is on one",
    "cache_dir": "hpdsl-stage(1) brings a dataset near, whose folder is then "
                 "opened",
    "epoch_size": "an epoch has each sample once; choice=hpdsl.Choice(ds, split=(0, "
                  "0.5)) is of fewer",
    "streams": "they are one pack of all, and hpdsl.Choice(ds, sample_weight=..)",
    "storage_options": "a dataset lies in a file system; others write it there",
    "validate_hash": "what is read is compared with its checksum, see check=",
    "streaming": "only what is wanted is ever read",
    "nodesplitter": "a loader reads its rank's share",
    "workersplitter": "workers share what the rank reads",
    "num_canonical_nodes": "the order is one on any number of ranks",
    "worker": "workers share what the rank reads, and num_workers= is how many there "
              "are; hpdsl.Loader reads as one of several",
    "partial": "without the last step that samples do not fill, partial=False, it "
               "is drop_last=True",
    "resampled": "each sample comes once in an epoch; hpdsl.Choice(ds, "
                 "sample_weight=..) draws",
}

# What datasets and loaders of torchvision, WebDataset, Hugging Face, Grain and
# TensorFlow have, and what does it here.
_DATASETS: Dict[str, str] = {
    "class_names": "classes",
    "labels": "targets",
    "len(ds.class_names)": "num_classes",
    "its len()": "num_samples n_samples num_examples num_rows",
    "ds[0].keys()": "features column_names element_spec",
    "seed= of a loader, which shuffles": "shuffle",
    "batch_size= of a loader": "batch batched",
    "decode= of hpdsl.torch.Loader":
        "map map_tuple with_transform set_transform decode",
    "suffixes= of a loader": "to_tuple extract_keys",
    "hpdsl.Choice(ds, ..), which is choice= of a loader":
        "filter select take skip train_test_split slice",
    "a loader, which reads this rank's share": "shard split_by_node to_iter_dataset",
    "a loader, of which each `for` is the next epoch": "repeat with_epoch",
    "memory= of a loader, which reads ahead": "prefetch cache",
    "state_dict() of a loader": "state_dict load_state_dict get_state",
    "load_state_dict() of a loader": "set_state",
    "hpdsl.torch.ImageFolder(path), which has them": "samples imgs transform",
    "set_epoch() of the loader itself": "sampler batch_sampler",
    "nothing that a DataLoader could be made of, as a loader reads this rank's share: "
    "prepare_data_loader() of ray.train is left out": "worker_init_fn",
}

# Classes and functions that those libraries have.
_IN_TORCH = ("DatasetFolder", "ImageFolder", "Iterable", "MapLoader", "Sampler",
             "Samples", "evaluate")
_MODULES: Dict[str, str] = {
    "hpdsl.torch.Loader":
        "DataLoader StatefulDataLoader StreamingDataLoader WebLoader",
    "hpdsl.Dataset(folder), over which goes hpdsl.torch.Loader":
        "StreamingDataset StreamingRawDataset LocalDataset IterableDataset "
        "MapDataset IterDataset load_dataset load_from_disk",
    "hpdsl.Dataset(folder), of the tars' folder, in which hpdsl-index(1) was":
        "WebDataset WebDatasetFluid wids ShardListDataset",
    "hpdsl-pack(1), of files or tars that a program has written":
        "MDSWriter ShardWriter TarWriter ArrayRecordWriter DatasetWriter optimize",
    "hpdsl.Choice(ds, ..), which is choice= of a loader":
        "Subset random_split train_test_split",
    "one pack of all, and hpdsl.Choice(ds, sample_weight=..), of each sample how "
    "often it comes in an epoch, or class_weight=":
        "CombinedStreamingDataset ParallelStreamingDataset Stream RandomMix "
        "WeightedRandomSampler ConcatDataset interleave_datasets",
    "seed= and order= of a loader":
        "IndexSampler RandomSampler SequentialSampler BatchSampler",
    "nothing that is needed: a loader reads this rank's share":
        "DistributedSampler split_by_node split_dataset_by_node ShardByJaxProcess",
}

# What a sample has, by names that others have for it.
_SAMPLES: Dict[str, str] = {
    "label": "label labels target targets class cls",
    "class_name": "class_name",
    "key": "__key__ key",
    "number": "number index",
    "data": "data image img",
}

F = TypeVar("F", bound=Callable[..., Any])


def _called(table: Dict[str, str], name: str) -> str:
    """What a name of others is here; "": nobody knows."""
    return next((here for here, names in table.items() if name in names.split()),
                "")


def no_attribute(of: str, name: str, dataset: Any = None) -> AttributeError:
    """That it has no attribute of this name, and what helps: maybe its dataset has
    it."""
    here = _called(_DATASETS, name)
    # What is a property is not asked for: that may read the index, or fail.
    if not name.startswith("_") and dataset is not None and (
            hasattr(type(dataset), name) or name in vars(dataset)):
        here = f"dataset.{name}"
    elif of != "Dataset" and here.isidentifier():
        here = f"dataset.{here}"
    elif of != "Dataset" and here == "its len()":
        here = "len() of its dataset"
    return AttributeError(f"{of!r} object has no attribute {name!r}" + (
        f": here it is {here}" if here else ""))


def no_name(module: str, name: str, ours: Sequence[str]) -> AttributeError:
    """That the module has not this name.  ours: those that hpdsl has."""
    here = _called(_MODULES, name)
    if name in _IN_TORCH:
        here = f"hpdsl.torch.{name}"
    elif name in ours:
        here = f"hpdsl.{name}"
    return AttributeError(f"module {module!r} has no attribute {name!r}" + (
        f": here it is {here}" if here else ""))


def no_member(name: Any) -> str:
    """What a sample has under this name, which is no suffix of it, for a message;
    "": nothing."""
    here = _called(_SAMPLES, name) if isinstance(name, str) else ""
    return f"; wanted is sample.{here}" if here else ""


def no_argument(of: str, name: str, known: Iterable[str]) -> TypeError:
    """That it has no argument of this name, and what helps."""
    known = list(known)
    heres = _HERE.get(name, [name])
    here = next((one for one in heres if one in known), heres[0])
    more = _MORE.get(here, "")
    chosen = next((one for one in (name, *heres) if one in _CHOICES), "")
    if chosen and here not in known:
        here, more = "choice", (f", as choice=hpdsl.Choice(ds, {chosen}=..)"
                                f"{_MORE.get(chosen, '')}")
    text = f"{of} has no argument {name!r}"
    if name in _NOT_HERE:
        return TypeError(f"{text}: {_NOT_HERE[name]}")
    if here in known:
        return TypeError(f"{text}: it is called {here}{more}")
    if here in _TORCHS:
        return TypeError(f"{text}: hpdsl.torch.Loader has {here}{more}")
    if here in _LOADERS and "copy" in known:
        return TypeError(f"{text}: hpdsl.Loader and hpdsl.torch.Loader have "
                         f"{here}{more}")
    import difflib  # it takes its time

    known = [one for one in dict.fromkeys(known) if one != "self"]
    close = difflib.get_close_matches(name, known, 1, _NEAR)
    return TypeError(f"{text}: is it {close[0]}?" if close else
                     f"{text}; there are {', '.join(known)}")


def by_its_names(of: str) -> Callable[[F], F]:
    """For an __init__ that names all of its arguments: one that it has not, or
    that wants a name, is told so."""

    def decorate(init: F) -> F:
        known = inspect.signature(init).parameters
        unnamed = sum(one.kind is not one.KEYWORD_ONLY for one in
                      known.values()) - 1  # self
        # Those that come first are what is meant most often.
        wanted = ", ".join(f"{name}=" for name, one in known.items()
                           if one.kind is one.KEYWORD_ONLY)

        @functools.wraps(init)
        def checked(self: Any, *given: Any, **named: Any) -> None:
            for name in named:
                if name not in known:
                    raise no_argument(of, name, known)
            if len(given) > unnamed:
                raise TypeError(f"{of}: {given[unnamed]!r:.60} wants a name, "
                                f"one of {wanted}")
            init(self, *given, **named)

        return cast(F, checked)

    return decorate
