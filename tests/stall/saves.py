# SPDX-License-Identifier: Apache-2.0
"""What jobs write, each in the way that its kind does: results, logs, databases,
caches, locks.

    saves.py before DIR     makes what an earlier job left there
    saves.py job DIR        does it again, a case at a time
    saves.py same DIR OLD   is all in DIR that is in OLD, a copy of it from before?

`job` prints a line a case: how it is called, and "ok", what it raised, or that a
module is missing."""

import contextlib
import fcntl
import filecmp
import io
import json
import logging
import logging.handlers
import os
import pickle
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from multiprocessing import shared_memory

OLD = b"of an earlier job " * 20
BEFORE = sys.argv[1] == "before"
cases = []


def case(*old, on_its_own=False):
    """A case, and the files that are there before it.  on_its_own: it makes what is
    there before by itself, as others cannot know how."""
    def add(f):
        cases.append((f, old, on_its_own))
        return f
    return add


def write(path, what=b"x" * 99, mode="wb"):
    with open(path, mode) as f:
        f.write(what)


def home(path):
    path = os.path.expanduser("~/" + path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def model():
    import torch
    return torch.nn.Linear(2, 1)


# ---- Results

@case("path.pt")
def torch_by_path():
    import torch
    wanted = model().state_dict()
    torch.save(wanted, "path.pt")
    assert torch.load("path.pt")["weight"].equal(wanted["weight"])


@case("file.pt")
def torch_by_file():
    import torch
    with open("file.pt", "wb") as f:
        torch.save(model(), f)
    with open("file.pt", "rb") as f:
        assert torch.load(f).in_features == 2


@case("bytes.pt")
def torch_by_bytes():
    import torch
    made = io.BytesIO()
    torch.save(model().state_dict(), made)
    write("bytes.pt", made.getvalue())
    torch.load("bytes.pt")


@case("best.pt")
def torch_best_of_two_moved_there():
    import torch
    torch.save(model().state_dict(), "best.tmp")
    os.replace("best.tmp", "best.pt")
    assert set(torch.load("best.pt")) == {"weight", "bias"}


@case("jit.pt")
def torch_jit():
    import torch
    torch.jit.script(model()).save("jit.pt")


@case("pickle.pkl")
def pickled():
    with open("pickle.pkl", "wb") as f:
        pickle.dump(model().state_dict(), f)


@case("new.pt")
def a_new_file():
    import torch
    torch.save(model().state_dict(), "quite-new.pt")


@case("array.npy")
def numpy_save():
    import numpy
    numpy.save("array.npy", numpy.ones(9))
    assert numpy.load("array.npy").sum() == 9


@case("arrays.npz")
def numpy_savez():
    import numpy
    numpy.savez("arrays.npz", a=numpy.ones(9))


@case("map.dat")
def numpy_memmap_anew():
    import numpy
    a = numpy.memmap("map.dat", dtype="f4", mode="w+", shape=(99,))
    a[:] = 1
    a.flush()


@case("map2.dat")
def numpy_memmap_in_place():
    import numpy
    a = numpy.memmap("map2.dat", dtype="u1", mode="r+")
    a[:] = 2
    a.flush()


@case("map3.dat")
def numpy_memmap_by_default():
    import numpy
    numpy.memmap("map3.dat", dtype="u1")[:3].sum()


@case("array.bin")
def numpy_tofile():
    import numpy
    numpy.ones(9).tofile("array.bin")


@case("anew.h5", on_its_own=True)
def hdf5_anew():
    import h5py
    with h5py.File("anew.h5", "w") as f:
        f["x"] = [BEFORE] * 9


@case("more.h5", on_its_own=True)
def hdf5_in_place():
    import h5py
    with h5py.File("more.h5", "a") as f:
        f.require_dataset("x", (9,), "f8")[:] = BEFORE


@case("data.h5", on_its_own=True)
def hdf5_read():
    import h5py
    if BEFORE:
        with h5py.File("data.h5", "w") as f:
            f["x"] = [1]
    with h5py.File("data.h5", "r") as f:
        f["x"][:]


@case("moved.pt")
def moved_over_it():
    write("moved.pt.tmp")
    os.replace("moved.pt.tmp", "moved.pt")
    with open("moved.pt", "rb") as f:
        assert f.read() == b"x" * 99


@case("step-1.pt", "step-2.pt")
def the_oldest_goes():
    write(f"step-{time.time_ns()}.pt")
    os.remove(min(n for n in os.listdir(".") if n.startswith("step-")))


@case("rolled.pt", "rolled.pt.bak")
def moved_to_bak():
    os.rename("rolled.pt", "rolled.pt.bak")
    write("rolled.pt")


@case("folder/x/w.bin")
def folder_made_anew():
    shutil.rmtree("folder")
    os.makedirs("folder/x")
    write("folder/x/w.bin")


@case("whole/w.bin")
def folder_moved_away():
    os.makedirs("whole.tmp")
    write("whole.tmp/w.bin")
    os.rename("whole", "whole.old")
    with contextlib.suppress(OSError):  # the old one is there
        os.rename("whole.tmp", "whole")


@case("linked.pt", "link.pt")
def hard_link():
    os.unlink("link.pt")
    os.link("linked.pt", "link.pt")


@case("results.csv")
def csv():
    write("results.csv", "a,b\n1,2\n", "w")
    write("results.csv", "3,4\n", "a")
    with open("results.csv") as f:
        assert f.read() == "a,b\n1,2\n3,4\n"


@case("state.json", on_its_own=True)
def json_read_and_written():
    of = {"x": [BEFORE] * 50}
    if not BEFORE:
        with open("state.json") as f:
            of = json.load(f)
        of["x"][0] = False
    with open("state.json", "w") as f:
        json.dump(of, f)


@case("from.bin", "to.bin")
def cp():
    write("new.bin", b"y" * 99)
    subprocess.check_call(["cp", "new.bin", "to.bin"])


@case("shell.txt")
def shell():
    subprocess.check_call("echo hi > shell.txt", shell=True)


@case("by-number.bin")
def descriptors():
    folder = os.open(".", os.O_RDONLY)
    f = os.open("by-number.bin", os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                dir_fd=folder)
    os.write(f, b"x")
    os.close(f)
    os.close(folder)


@case("cut.bin")
def truncated():
    os.truncate("cut.bin", 3)


# ---- Logs and trackers

def log(handler):
    logger = logging.Logger("a")
    logger.addHandler(handler)
    for _ in range(3):
        logger.warning("x" * 20)
    handler.close()


@case("train.log")
def log_appended_to():
    log(logging.FileHandler("train.log"))


@case("anew.log")
def log_anew():
    log(logging.FileHandler("anew.log", mode="w"))


@case("rolling.log", "rolling.log.1", "rolling.log.2")
def log_rolled():
    log(logging.handlers.RotatingFileHandler("rolling.log", maxBytes=20,
                                             backupCount=2))


@case("tee.log")
def tee():
    subprocess.check_call("echo hi | tee -a tee.log > /dev/null", shell=True)


@case("metrics.jsonl")
def jsonl():
    write("metrics.jsonl", '{"loss": 1}\n', "a")


@case("runs/events.1")
def events():
    write(f"runs/events.{time.time_ns()}")


@case("wandb/run-1/log", "wandb/debug.log", on_its_own=True)
def runs_with_a_latest_link():
    name = f"wandb/run-{time.time_ns()}"
    os.makedirs(name)
    write(name + "/log")
    if os.path.islink("wandb/latest"):
        os.unlink("wandb/latest")
    os.symlink(os.path.basename(name), "wandb/latest")
    write("wandb/debug.log", OLD, "ab")


def losses(path, mode):
    c = sqlite3.connect(path)
    c.execute(f"pragma journal_mode={mode}")
    c.execute("create table if not exists m(a)")
    c.execute("insert into m values(1)")
    c.commit()
    c.close()


@case("runs.db", on_its_own=True)
def sqlite():
    losses("runs.db", "delete")


@case("wal.db", on_its_own=True)
def sqlite_wal():
    losses("wal.db", "wal")


@case("features.db", on_its_own=True)
def sqlite_read():
    if BEFORE:
        losses("features.db", "delete")
    c = sqlite3.connect("features.db")
    assert c.execute("select * from m").fetchall()
    c.close()


# ---- Caches, data and locks

@case(".cache/torch/hub/trusted_list")
def cache_appended_to():
    write(home(".cache/torch/hub/trusted_list"), "x\n", "a")


@case(".triton/cache/kernel.json")
def cache_moved_over():
    write(home(".triton/cache/t"))
    os.replace(home(".triton/cache/t"), home(".triton/cache/kernel.json"))


@case(".cache/huggingface/hub/m/refs/main")
def cache_anew():
    write(home(".cache/huggingface/hub/m/refs/main"), b"abc")


@case(".cache/huggingface/datasets/x/cache-1.arrow")
def cache_by_shutil():
    there = home(".cache/huggingface/datasets/x/cache-1.arrow")
    write(there + ".tmp")
    shutil.move(there + ".tmp", there)


@case(".cache/torch_ext/x.c")
def cache_of_a_compiler():
    name = home(".cache/torch_ext/x")
    write(name + ".c", "int f(void) { return 1; }\n", "w")
    subprocess.check_call(["gcc", "-shared", "-fPIC", "-o", name + ".so",
                           name + ".c"])


@case(on_its_own=True)
def compiled_python():
    if BEFORE:
        write("module.py", "x = 1\n", "w")
    else:
        os.utime("module.py", (1, 1))
    sys.path.insert(0, os.getcwd())
    sys.dont_write_bytecode = False
    import module
    assert module.x == 1


@case(on_its_own=True)
def matplotlib_figure():
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot
    matplotlib.pyplot.plot([1, BEFORE])
    matplotlib.pyplot.savefig("figure.png")


@case(on_its_own=True)
def joblib_cache():
    import joblib
    add = joblib.Memory("joblib", verbose=0).cache(lambda x: x + 1)
    add(1)
    add(BEFORE + 2)


@case(on_its_own=True)
def lmdb_read():
    import lmdb
    if BEFORE:
        with lmdb.open("data.lmdb", map_size=1 << 20) as e, e.begin(
                write=True) as t:
            t.put(b"a", b"b")
    with lmdb.open("data.lmdb", map_size=1 << 20, readonly=True) as e:
        with e.begin() as t:
            assert t.get(b"a") == b"b"


@case(on_its_own=True)
def numba_cache():
    import numba
    if BEFORE:
        write("jitted.py", "import numba\n@numba.njit(cache=True)\n"
              "def f(x): return x + 1\n", "w")
    sys.path.insert(0, os.getcwd())
    import jitted
    jitted.f(1 if BEFORE else 1.5)
    return numba


@case("history")
def history():
    write("history", "x\n", "a")


@case(on_its_own=True)
def lock_with_a_number():
    with open("small.lock", "a+") as f:
        f.write("4711\n")
        f.flush()
        fcntl.flock(f, fcntl.LOCK_EX)


@case("anew.lock")
def lock_anew():
    f = os.open("anew.lock", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    fcntl.flock(f, fcntl.LOCK_EX)
    os.write(f, b"1")
    os.close(f)


@case("job.pid")
def number_of_the_process():
    write("job.pid", str(os.getpid()), "w")


@case("rendezvous")
def rendezvous():
    write("rendezvous", b"x", "ab")


@case()
def memory_that_is_shared():
    m = shared_memory.SharedMemory(create=True, size=99)
    m.buf[0] = 1
    m.close()
    m.unlink()


@case(on_its_own=True)
def socket_anew():
    if os.path.exists("socket"):
        os.unlink("socket")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("socket")


@case()
def devices():
    write("/dev/null")
    write("/dev/null", b"x", "r+b")


@case()
def temporary():
    with tempfile.NamedTemporaryFile() as f:
        f.write(OLD)
        f.flush()
        write(f.name, b"x", "ab")
        with open(f.name, "r+b") as again:
            assert again.read() == OLD + b"x"


# ---- Before, and again

def run(f):
    try:
        f()
        return "ok"
    except ModuleNotFoundError as e:
        return f"no {e.name}"
    except Exception as e:
        return type(e).__name__


def make(f, old, on_its_own):
    for path in old:
        path = home(path) if path.startswith(".") else path
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if not on_its_own:
            write(path, OLD)
    if on_its_own:
        run(f)


def same(now, before):
    for folder, folders, files in os.walk(before):
        for name in files + [d for d in folders
                             if os.path.islink(os.path.join(folder, d))]:
            old = os.path.join(folder, name)
            new = os.path.join(now, os.path.relpath(old, before))
            if os.path.islink(old):
                is_same = (os.path.islink(new) and
                           os.readlink(new) == os.readlink(old))
            elif not os.path.isfile(old):
                continue
            else:
                is_same = os.path.isfile(new) and filecmp.cmp(old, new, False)
            if not is_same:
                print(os.path.relpath(old, before))


def main():
    here = sys.argv[2]
    if sys.argv[1] == "same":
        return same(here, sys.argv[3])
    os.makedirs(here, exist_ok=True)
    os.chdir(here)
    os.environ["HOME"] = os.path.join(os.getcwd(), "home")
    os.environ.pop("XDG_CACHE_HOME", None)
    for f, old, on_its_own in cases:
        if BEFORE:
            make(f, old, on_its_own)
        else:
            print(f.__name__, run(f), flush=True)


main()
