# SPDX-License-Identifier: Apache-2.0
"""Arguments by the names that other loaders have for them: what they are called
here."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Iterable, List, Sequence, TypeVar, cast

# What is only hpdsl.torch.Loader's.
_TORCHS = ("decode", "collate", "form", "num_workers", "pin_memory",
           "prefetch_factor", "persistent_workers", "worker_init_fn",
           "multiprocessing_context", "timeout")
# What a Choice is asked for, and a loader by way of one.
_CHOICES = "labels", "samples", "folder"
# By whose names people come: of DataLoader, DistributedSampler, WebDataset,
# Streaming, LitData, Hugging Face's datasets, Grain, FFCV, torchvision.
_OTHERS: Dict[str, Sequence[str]] = {
    "batch_size": ("batch", "bs", "global_batch_size"),
    "choice": ("subset", "indices", "split", "split_dirs", "samples", "numbers",
               "labels", "classes", "folder"),
    "collate": ("collate_fn", "collation_fn"),
    "dataset": ("root", "path", "url", "urls", "input_dir", "local", "remote"),
    "decode": ("transform", "transforms", "map_fn", "preprocess", "decoder",
               "operations", "pipelines"),
    "drop_last": ("drop_remainder",),
    "epochs": ("num_epochs", "n_epochs", "max_epochs", "repeat"),
    "folder": ("folders", "subdir", "prefix"),
    "group": ("process_group", "process_group_name"),
    "labels": ("classes", "class_names", "targets"),
    "memory": ("cache_limit", "max_cache_size", "predownload", "prefetch",
               "buffer_bytes"),
    "num_workers": ("workers", "num_proc", "worker_count", "nworkers"),
    "ranks": ("world_size", "num_replicas", "num_ranks", "shard_count"),
    "rank": ("shard_index", "node_rank", "local_rank"),
    "sample_weight": ("weights", "sample_weights"),
    "samples": ("numbers", "indices", "ids"),
    "seed": ("random_seed", "shuffle_seed", "generator"),
    "skip_bad": ("handler", "error_handler", "ignore_errors"),
    "split_seed": ("seed", "random_state", "generator"),
    "suffixes": ("extensions", "columns", "keys", "fields", "exts"),
    "windows": ("buffer_size", "shuffle_buffer", "shuffle_block_size",
                "shuffle_size"),
}
_HERE: Dict[str, List[str]] = {}
for _here, _names in _OTHERS.items():
    for _name in _names:
        _HERE.setdefault(_name, []).append(_here)
_MORE = {
    "choice": ", as choice=hpdsl.Choice(ds, split=(0, 0.9))",
    "collate": ", and gets what decode has made of n samples; their labels are "
               "collated without it",
    "decode": ", and gets the bytes of a sample",
    "memory": ", in bytes of what was read",
    "rank": ", of all processes of the job",
    "windows": "; 1 mixes all of the dataset, without a buffer",
}

F = TypeVar("F", bound=Callable[..., Any])


def no_argument(of: str, name: str, known: Iterable[str]) -> TypeError:
    """That it has no argument of this name, and what helps."""
    known = list(known)
    heres = _HERE.get(name, [name])
    here = next((one for one in heres if one in known), heres[0])
    more = _MORE.get(here, "")
    if here == "choice":
        for one in name, *heres:
            if one in _CHOICES:
                more = f", as choice=hpdsl.Choice(ds, {one}=..)"
    text = f"{of} has no argument {name!r}"
    if name == "device":
        return TypeError(f"{text}: batch.to(device) is on one")
    if here in known:
        return TypeError(f"{text}: it is called {here}{more}")
    if here in _TORCHS:
        return TypeError(f"{text}: hpdsl.torch.Loader has {here}{more}")
    import difflib  # it takes its time

    close = difflib.get_close_matches(name, known, 1)
    return TypeError(f"{text}: is it {close[0]}?" if close else text)


def by_its_names(of: str) -> Callable[[F], F]:
    """For an __init__ that names all of its arguments: one that it has not is
    told so."""

    def decorate(init: F) -> F:
        known = inspect.signature(init).parameters

        @functools.wraps(init)
        def checked(self: Any, *given: Any, **named: Any) -> None:
            for name in named:
                if name not in known:
                    raise no_argument(of, name, known)
            init(self, *given, **named)

        return cast(F, checked)

    return decorate
