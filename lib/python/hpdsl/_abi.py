# SPDX-License-Identifier: Apache-2.0
"""The structs and functions of hpdsl.h that this package uses, for ctypes.

Handles and arrays are plain addresses.  Functions are called without the
interpreter's lock; structs for results are made for each call, so that threads
do not share them."""

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p,
                    c_double, c_int, c_int64, c_size_t, c_uint8, c_uint32,
                    c_uint64, c_void_p, string_at)
from typing import TYPE_CHECKING, Any

from . import _where

VERSION = "0.1.0"
NO_MEMBER = (1 << 64) - 1
PEER_NOTE = 912
WEIGHT_ONE = 1 << 32
OPEN_COPY = 1
OPEN_FOREIGN_OWNER = 2
OPEN_NO_PEERS = 4
SPLIT_ONE = 1000000000
STATE_MAX = 512
STATE_MEASURED = 0xff
KIND_DATASET = 1
KIND_STAGE = 2
SNAPSHOT_COPY = 1
NO_ENTRY = (1 << 64) - 1
PATH_MAX = 4095
SNAPSHOT_NEAR = 1024
BATCH_SIZE = 64
LOADER_MEMORY = 1 << 30
LOADER_MEMORY_LEAST = 16 << 20
ENDS = {"mask": 0, "repeat": 1, "drop": 2, "short": 3}
CACHES = {"auto": 0, "keep": 1}


class Failure(Structure):
    c_name = "hpdsl_error"
    _fields_ = [("code", c_int), ("msg", c_char * 1020)]


class Counts(Structure):
    c_name = "hpdsl_counts"
    _fields_ = [("samples", c_uint64), ("members", c_uint64),
                ("chunks", c_uint64), ("classes", c_uint64),
                ("bytes", c_uint64), ("dataset_id", c_uint8 * 16),
                ("shuffled", c_bool)]


class Sample(Structure):
    c_name = "hpdsl_sample"
    _fields_ = [("number", c_uint64), ("first_member", c_uint64),
                ("members", c_uint64), ("chunk", c_uint32),
                ("label", c_uint32), ("key", c_void_p),
                ("key_len", c_size_t)]


class Member(Structure):
    c_name = "hpdsl_member"
    _fields_ = [("number", c_uint64), ("sample", c_uint64),
                ("chunk", c_uint32), ("mode", c_uint32),
                ("generated", c_bool), ("offset", c_uint64),
                ("size", c_uint64), ("checksum", c_uint64),
                ("mtime", c_int64), ("mtime_nsec", c_uint32),
                ("path", c_void_p), ("path_len", c_size_t)]

    @property
    def name(self) -> bytes:
        """The path: whoever writes to the index can take its NUL away."""
        return string_at(self.path, self.path_len)


class Rows(Structure):
    c_name = "hpdsl_rows"
    _fields_ = [("sample", Sample), ("member", c_void_p), ("n", c_uint64)]


class FoldersOptions(Structure):
    c_name = "hpdsl_folders_options"
    _fields_ = [("below", c_char_p), ("below_len", c_size_t),
                ("suffixes", c_void_p), ("n_suffixes", c_size_t)]


class Folder(Structure):
    c_name = "hpdsl_folder"
    _fields_ = [("path", c_void_p), ("path_len", c_size_t),
                ("first", c_uint64), ("members", c_uint64),
                ("utf8", c_bool)]


class Folders(Structure):
    c_name = "hpdsl_folders"
    _fields_ = [("folder", c_void_p), ("n", c_uint64), ("member", c_void_p),
                ("members", c_uint64)]


class Seat(Structure):
    c_name = "hpdsl_seat"
    _fields_ = [("sample", c_uint64), ("before", c_uint64)]


class Request(Structure):
    c_name = "hpdsl_request"
    _fields_ = [("member", c_uint64), ("buf", c_void_p), ("room", c_size_t),
                ("size", c_size_t), ("code", c_int), ("row", c_void_p)]


class Damage(Structure):
    c_name = "hpdsl_damage"
    _fields_ = [("file", c_char_p), ("sample", c_uint64), ("path", c_char_p),
                ("reason", c_char_p)]


class Sources(Structure):
    c_name = "hpdsl_sources"
    _fields_ = [("staged", c_bool), ("local_bytes", c_uint64),
                ("origin_bytes", c_uint64), ("absent_chunks", c_uint64),
                ("overtaken_chunks", c_uint64), ("failed_chunks", c_uint64),
                ("wait_seconds", c_double), ("peer_bytes", c_uint64),
                ("peer_chunks", c_uint64), ("peer_reads", c_uint64),
                ("peer_failed", c_uint64), ("hedged", c_uint64),
                ("adopted", c_uint64)]


class Order(Structure):
    c_name = "hpdsl_order"
    _fields_ = [("seed", c_uint64), ("epoch", c_uint64), ("step", c_uint64),
                ("lanes", c_uint64), ("piece", c_uint64),
                ("batch", c_uint32), ("windows", c_uint32),
                ("parts", c_uint32), ("plain", c_bool)]


class OrderStart(Structure):
    c_name = "hpdsl_order_start"
    _fields_ = [("choice", c_void_p), ("batch_size", c_uint32),
                ("ranks", c_uint32), ("workers", c_uint32)]


class Share(Structure):
    c_name = "hpdsl_share"
    _fields_ = [("rank", c_uint32), ("ranks", c_uint32),
                ("worker", c_uint32), ("workers", c_uint32),
                ("uneven", c_bool)]


class ChoiceOptions(Structure):
    c_name = "hpdsl_choice_options"
    _fields_ = [("labels", c_void_p), ("n_labels", c_size_t),
                ("include", c_void_p), ("exclude", c_void_p),
                ("n_include", c_size_t), ("n_exclude", c_size_t),
                ("folders", c_void_p), ("n_folders", c_size_t),
                ("tars", c_void_p), ("n_tars", c_size_t),
                ("samples", c_void_p), ("n_samples", c_uint64),
                ("split_from", c_uint32), ("split_to", c_uint32),
                ("split_seed", c_uint64), ("balanced", c_bool),
                ("class_weight", c_void_p), ("sample_weight", c_void_p)]


class EpochInfo(Structure):
    c_name = "hpdsl_epoch_info"
    _fields_ = [("order", Order), ("samples", c_uint64),
                ("chunks", c_uint64)]


class CostOptions(Structure):
    c_name = "hpdsl_cost_options"
    _fields_ = [("share", Share), ("memory", c_uint64), ("end", c_int),
                ("first", c_uint64), ("steps", c_uint64),
                ("suffixes", c_void_p), ("n_suffixes", c_size_t)]


class EpochCost(Structure):
    c_name = "hpdsl_epoch_cost"
    _fields_ = [("steps", c_uint64), ("lanes", c_uint64),
                ("share_bytes", c_uint64), ("piece_bytes", c_uint64),
                ("cure", c_uint64), ("reads", c_uint64), ("read_bytes", c_uint64),
                ("wanted_bytes", c_uint64), ("median_read", c_uint64),
                ("held_peak", c_uint64), ("first_batch", c_uint64),
                ("step_pieces", c_double), ("step_chunks", c_double),
                ("mates", c_double)]


class Place(Structure):
    c_name = "hpdsl_place"
    _fields_ = [("position", c_uint64), ("sample", c_uint64),
                ("real", c_bool)]


TELL_BAD = CFUNCTYPE(None, c_void_p, POINTER(Damage))
TELL_WARNING = CFUNCTYPE(None, c_void_p, c_char_p)


class Watch(Structure):
    c_name = "hpdsl_watch"
    _fields_ = [("progress", c_void_p), ("warn", TELL_WARNING),
                ("arg", c_void_p), ("stop", POINTER(c_int)),
                ("io", c_void_p)]


class LoaderOptions(Structure):
    c_name = "hpdsl_loader_options"
    _fields_ = [("order", Order), ("batch_size", c_uint32),
                ("epochs", c_uint64), ("choice", c_void_p),
                ("end", c_int), ("share", Share), ("suffixes", c_void_p),
                ("n_suffixes", c_size_t), ("may_lack", c_bool),
                ("memory", c_uint64),
                ("threads", c_uint32), ("unchecked", c_bool),
                ("skip_bad", c_bool), ("cache", c_int), ("bad", TELL_BAD),
                ("arg", c_void_p), ("watch", Watch), ("shared", c_bool),
                ("wait_ms", c_uint32)]


class Batch(Structure):
    c_name = "hpdsl_batch"
    _fields_ = [("epoch", c_uint64), ("step", c_uint64), ("n", c_size_t),
                ("data", c_size_t), ("size", c_size_t),
                ("number", c_size_t), ("label", c_size_t),
                ("mask", c_size_t), ("bad", c_size_t), ("first", c_size_t),
                ("member_data", c_size_t), ("member_size", c_size_t),
                ("member_number", c_size_t), ("whole", c_uint64)]


class State(Structure):
    c_name = "hpdsl_state"
    _fields_ = [("order", Order), ("end", c_int), ("pack", c_uint8 * 16),
                ("has_choice", c_bool), ("choice", c_uint8 * 16)]


class LoaderStats(Structure):
    c_name = "hpdsl_loader_stats"
    _fields_ = [("steps", c_uint64), ("samples", c_uint64),
                ("bytes", c_uint64), ("bad_samples", c_uint64),
                ("lacking", c_uint64), ("failed_steps", c_uint64),
                ("sources", Sources), ("reads", c_uint64),
                ("read_bytes", c_uint64), ("direct_bytes", c_uint64),
                ("read_sizes", c_uint64 * 40), ("stall_seconds", c_double),
                ("seconds", c_double), ("memory", c_uint64),
                ("memory_peak", c_uint64), ("held_peak", c_uint64),
                ("lanes", c_uint64), ("share_bytes", c_uint64),
                ("unchecked", c_bool), ("median_read", c_uint64)]


class StallCounters(Structure):
    c_name = "hpdsl_stall_counters"
    _fields_ = [("now", c_double), ("made", c_uint64), ("out", c_uint64),
                ("blocked", c_double)]


class StallPlace(Structure):
    c_name = "hpdsl_stall_place"
    _fields_ = [("time", c_int), ("phase", c_int), ("round", c_uint32),
                ("begins", c_bool), ("counts", c_bool), ("block", c_uint32),
                ("first", c_bool), ("last", c_bool)]


class StallCache(Structure):
    c_name = "hpdsl_stall_cache"
    _fields_ = [("asked", c_uint64), ("there", c_uint64),
                ("unknown", c_uint64)]


class StallAsks(Structure):
    c_name = "hpdsl_stall_asks"
    _fields_ = [(name, c_uint64) for name in (
        "batches", "opens", "stats", "entries", "reads", "bytes", "all_reads",
        "all_bytes", "from_storage")] + [("names", c_double)]


class MeasuredOptions(Structure):
    c_name = "hpdsl_measured_options"
    _fields_ = [("rank", c_uint32), ("ranks", c_uint32), ("io", c_void_p)]


class SnapshotInfo(Structure):
    c_name = "hpdsl_snapshot_info"
    _fields_ = [("entries", c_uint64), ("folders", c_uint64),
                ("files", c_uint64), ("symlinks", c_uint64),
                ("others", c_uint64), ("bytes", c_uint64),
                ("file_bytes", c_uint64), ("digest", c_uint8 * 16),
                ("files_digest", c_uint8 * 16), ("from_dataset", c_bool),
                ("dataset_id", c_uint8 * 16), ("pack", c_uint8 * 16)]


class Entry(Structure):
    c_name = "hpdsl_entry"
    _fields_ = [("number", c_uint64), ("parent", c_uint64),
                ("size", c_uint64), ("mtime", c_int64),
                ("mtime_nsec", c_uint32), ("mode", c_uint32),
                ("member", c_uint64), ("name", c_void_p),
                ("name_len", c_size_t)]


class NameList(Structure):
    c_name = "hpdsl_name_list"
    _fields_ = [("buf", c_void_p), ("room", c_size_t), ("types", c_void_p),
                ("most", c_size_t), ("first", c_uint64), ("total", c_uint64),
                ("used", c_size_t)]


class Found(Structure):
    c_name = "hpdsl_found"
    _fields_ = [("number", c_void_p), ("size", c_void_p), ("mode", c_void_p)]


class Extension(Structure):
    c_name = "hpdsl_extension"
    _fields_ = [("name", c_void_p), ("len", c_size_t), ("files", c_uint64),
                ("bytes", c_uint64)]


_P = c_void_p
FUNCTIONS = {
    "version": (c_char_p,),
    "open_with": (c_int, c_char_p, c_uint32, _P, _P, _P),
    "close": (None, _P),
    "pack_id": (None, _P, _P),
    "index_digest": (None, _P, _P),
    "peer_note": (c_bool, _P, _P),
    "count": (None, _P, _P),
    "sample_get": (c_int, _P, c_uint64, _P, _P),
    "sample_labels": (c_int, _P, c_uint64, c_uint64, _P, _P),
    "member_get": (c_int, _P, c_uint64, _P, _P),
    "sample_rows": (c_int, _P, c_uint64, _P, _P),
    "samples_rows": (c_int, _P, _P, c_size_t, _P, _P),
    "member_rows": (c_int, _P, c_uint64, _P, _P),
    "path_rows": (c_int, _P, c_char_p, c_size_t, _P, _P),
    "rows_free": (None, _P),
    "member_find": (c_int, _P, c_char_p, c_size_t, _P, _P),
    "member_next": (c_int, _P, c_char_p, c_size_t, c_uint64, _P, _P),
    "folders_of": (c_int, _P, _P, _P, _P),
    "folders_free": (None, _P),
    "member_paths": (c_int64, _P, _P, c_size_t, _P, c_size_t, _P),
    "member_seats": (c_int, _P, _P, c_size_t, _P, _P),
    "class_name": (c_int, _P, c_uint32, _P, _P),
    "split": (c_uint32, c_char_p, c_size_t),
    "class_find": (c_int, _P, c_char_p, _P, _P),
    "kind_of": (c_int, c_char_p, _P, _P, _P),
    "sources": (None, _P, _P),
    "patience": (None, _P, c_double),
    "dataset_key_length": (c_size_t, _P, c_char_p, c_size_t),
    "reading_new": (c_int, _P, _P, _P),
    "reading_read": (c_int64, _P, _P, c_uint64, _P, c_size_t, _P),
    "reading_free": (None, _P),
    "member_read": (c_int, _P, _P, c_uint64, _P, c_size_t, _P),
    "read_many": (c_int64, _P, _P, c_size_t, c_uint32, _P),
    "choose": (c_int, _P, _P, _P, _P),
    "choice_free": (None, _P),
    "choice_samples": (c_uint64, _P),
    "choice_has": (c_bool, _P, c_uint64),
    "choice_list": (c_uint64, _P, c_uint64, _P, c_uint64),
    "count_classes": (c_int, _P, _P, _P, _P),
    "choice_digest": (None, _P, _P),
    "order_fill": (c_int, _P, _P, _P, _P),
    "epoch_new": (c_int, _P, _P, _P, _P, _P),
    "epoch_free": (None, _P),
    "epoch_info": (None, _P, _P),
    "epoch_steps": (c_uint64, _P, c_int),
    "epoch_at": (c_int, _P, c_uint64, _P, _P),
    "epoch_step": (c_int64, _P, c_int, c_uint64, _P, _P, c_size_t, _P),
    "epoch_where": (c_int, _P, c_uint64, c_uint64, _P, _P),
    "epoch_cost": (c_int, _P, _P, _P, _P, _P),
    "loader_check": (c_int, _P, _P, _P),
    "loader_new": (c_int, _P, _P, _P, _P),
    "loader_freep": (None, POINTER(_P)),
    "loader_leave": (None, _P),
    "loader_next": (c_int, _P, _P, _P),
    "loader_mapping": (c_int, _P, _P, _P, _P, _P),
    "batch_release": (None, _P),
    "loader_seek": (c_int, _P, c_uint64, c_uint64, _P),
    "loader_steps": (c_uint64, _P, c_uint64),
    "loader_state": (None, _P, _P),
    "loader_play": (c_int, _P, c_int, c_uint64, _P, _P, _P),
    "measured_new": (c_int, _P, _P, _P),
    "measured_free": (None, _P),
    "measured_lead": (None, _P, c_uint32, c_uint64),
    "measured_enter": (c_int, _P, _P, _P, _P),
    "measured_leave": (None, _P, c_double, c_bool),
    "measured_cache": (c_int, _P, c_int, _P, _P),
    "measured_asks": (c_int, _P, c_int, _P, _P),
    "measured_steps": (c_uint64, _P, c_int),
    "loader_stats": (None, _P, _P),
    "state_format": (c_size_t, _P, _P),
    "state_parse": (c_int, c_char_p, c_size_t, c_char_p, _P, _P),
    "state_check": (c_int, _P, _P, _P, c_char_p, _P),
    "snapshot_open": (c_int, c_char_p, c_uint32, _P, _P, _P),
    "snapshot_of": (c_int, _P, _P, _P, _P),
    "snapshot_close": (None, _P),
    "snapshot_info": (None, _P, _P),
    "snapshot_stat": (c_int, _P, c_uint64, _P, _P),
    "snapshot_lookup": (c_int, _P, c_char_p, c_size_t, _P, _P),
    "snapshot_lookup_list": (c_int64, _P, c_char_p, c_size_t, c_size_t, _P,
                             _P),
    "snapshot_near": (c_char_p, _P, c_char_p, c_size_t, _P),
    "snapshot_child": (c_int, _P, c_uint64, c_char_p, c_size_t, _P, _P),
    "snapshot_names": (c_int64, _P, c_uint64, _P, _P, _P),
    "snapshot_path": (c_int, _P, c_uint64, _P, _P, _P),
    "snapshot_target": (c_int, _P, _P, _P, _P),
    "snapshot_extensions": (c_int64, _P, c_uint64, _P, _P),
    "extensions_free": (None, _P),
}


class Library:
    """Each function of hpdsl.h under its name without the prefix."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, path: str) -> None:
        # Where it was installed, or else where the system finds libraries.
        self.path = path if os.path.exists(path) else os.path.basename(path)
        shared = ctypes.CDLL(self.path)
        for name, (result, *arguments) in FUNCTIONS.items():
            function = getattr(shared, "hpdsl_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)


def _load() -> Library:
    try:
        library = Library(_where.LIBRARY)
    except (OSError, AttributeError) as e:
        raise ImportError(f"hpdsl: no library of version {VERSION}: {e}"
                          ) from e
    version = library.version().decode()
    if version != VERSION:
        raise ImportError(f"hpdsl: {library.path} is of version {version}, "
                          f"this package of version {VERSION}")
    return library


lib = _load()
