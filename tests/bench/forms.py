# SPDX-License-Identifier: Apache-2.0
"""Archives as input, compressed chunks, adopted tars, SHA-256."""
import glob
import os
import statistics
import subprocess

from measure import DIR, ROUNDS, TOOLS, Times, dataset, list_files
from measure import note, prepare, print_table, ratio_row, remove, shell, states

OUT = os.path.join(DIR, "out")
WANTED_FROM_TAR = 3.0
WANTED_STREAM = 1.3
WANTED_ZSTD = 1.2
WANTED_ZSTD_SIZE = {"shuffled": 1.25, "in order": 1.12}
WANTED_ADOPT = 1.2


def one_file_list(path):
    """What measure.prepare reads to warm a file up."""
    with open(path + ".list", "wb") as f:
        f.write(os.fsencode(path) + b"\0")
    return path + ".list"


def made(path, command):
    """The file, made by the command if it is not there ({out}: its name)."""
    if not os.path.exists(path):
        note(f"making {path}")
        part = path + ".part"
        shell(command.format(out=part))
        os.rename(part, path)
    return path


def images_tar():
    tree = dataset("images")
    tar = made(tree + ".tar", f"tar -C {tree} --format=posix -cf {{out}} .")
    return tree, tar


def size_of(path):
    """Bytes of a file, or of all chunks of a dataset: without its index."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(p) for p in glob.glob(path + "/chunk-*"))


def run_all(times, commands, prepare_one):
    for rnd in range(ROUNDS):
        note(f"{times.what}: round {rnd + 1}")
        for tool, command in commands.items():
            remove(OUT)
            prepare_one()
            times.run(tool, command)
    remove(OUT)


def bench_from_tar():
    tree, tar = images_tar()
    _, files, size = list_files(tree)
    warm = one_file_list(tar)
    again = f"tar -C {OUT}/tree -cf {OUT}/again.tar . && sync -f {OUT}"
    commands = {
        "hpdsl-pack": f"hpdsl-pack -q {tar} {OUT} && sync -f {OUT}",
        "tar xf, tar cf": f"mkdir -p {OUT}/tree"
        f" && tar -C {OUT}/tree -xf {tar} && {again}",
        "tar xf": f"mkdir {OUT} && tar -C {OUT} -xf {tar} && sync -f {OUT}",
        "bsdtar xf": f"mkdir {OUT} && bsdtar -C {OUT} -xf {tar}"
        f" && sync -f {OUT}",
    }
    for state in states():
        times = Times(f"from a plain tar, {state}")
        run_all(times, commands, lambda st=state: prepare(st, warm))
        print_table(times, commands, files, size)
        ratio_row(
            f"{times.what}: times as fast as tar xf and tar cf",
            times.median("tar xf, tar cf") / times.median("hpdsl-pack"),
            WANTED_FROM_TAR,
            True,
        )


def bench_stream(suffix, pack, unpack):
    """Compressed input: twice the decompressor, and one write of the bytes."""
    tree, tar = images_tar()
    _, files, size = list_files(tree)
    file = made(f"{tar}.{suffix}", f"{pack} < {tar} > {{out}}")
    warm = one_file_list(file)
    write = f"{TOOLS}/writeall {os.path.getsize(tar)} {OUT} buffered 1"
    commands = {
        "hpdsl-pack": f"hpdsl-pack -q {file} {OUT} && sync -f {OUT}",
        unpack: f"{unpack} {file} > /dev/null",
        "write": f"{write} && sync -f {OUT}",
    }
    times = Times(f"from .tar.{suffix}, warm")
    run_all(times, commands, lambda: prepare("warm", warm))
    print_table(times, commands, files, size)
    limit = times.total(unpack, unpack, "write")
    ratio_row(
        f"{times.what}: times 2 x {unpack} and a write ({limit:.2f} s)",
        times.median("hpdsl-pack") / limit,
        WANTED_STREAM,
        False,
    )


def bench_zstd():
    tree = dataset("kernel")
    if not tree:
        return
    paths, files, size = list_files(tree)
    ours = {
        "shuffled": f"hpdsl-pack -q -j2 --zstd=3 {tree} {OUT}",
        "in order": f"hpdsl-pack -q -j2 --zstd=3 --shuffle=none {tree} {OUT}",
    }
    peer = "tar | zstd -3 -T2"
    commands = {
        **ours,
        peer: f"tar -C {tree} -cf - . | zstd -q -3 -T2 -o {OUT}",
        "mksquashfs zstd 3": f"mksquashfs {tree} {OUT} -comp zstd"
        " -Xcompression-level 3 -processors 2 -quiet -no-progress",
    }
    times = Times("compress the kernel tree, level 3, warm")
    sizes = {}
    for rnd in range(ROUNDS):
        note(f"{times.what}: round {rnd + 1}")
        for tool, command in commands.items():
            remove(OUT)
            prepare("warm", paths)
            times.run(tool, f"{command} && sync -f {OUT}")
            sizes[tool] = size_of(OUT)
    remove(OUT)
    print_table(times, commands, files, size)
    for tool in commands:
        print(f"  {tool}: {sizes[tool]} bytes in files that hold contents")
    for tool in ours:
        ratio_row(
            f"--zstd, {tool}: times the seconds of {peer}",
            times.median(tool) / times.median(peer),
            WANTED_ZSTD,
            False,
        )
        ratio_row(
            f"--zstd, {tool}: times the bytes of {peer}",
            sizes[tool] / sizes[peer],
            WANTED_ZSTD_SIZE[tool],
            False,
        )


def bench_sample():
    """The program prints "N microseconds", "N bytes read" lines."""
    tree = dataset("kernel") or dataset("small")
    print("\na random sample through the library, one thread, warm", flush=True)
    for form, option in (("plain", ""), ("zstd", "--zstd=3")):
        remove(OUT)
        shell(f"hpdsl-pack -q {option} {tree} {OUT}")
        values = {}
        for _ in range(ROUNDS):
            out = subprocess.run(
                [os.path.join(TOOLS, "bench_sample"), OUT, "20000"],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            ).stdout
            for line in out.splitlines():
                number, _, what = line.partition(" ")
                values.setdefault(what, []).append(float(number))
        for what, v in values.items():
            print(f"  {form:6}{statistics.median(v):12.1f} {what}")
    remove(OUT)


def shards(tar_tree, n):
    """The images again as n tars of some classes each."""
    folder = f"{tar_tree}-tars"
    if not os.path.isdir(folder):
        note(f"making {folder}")
        part = folder + ".part"
        remove(part)
        os.makedirs(part)
        classes = sorted(
            d for d in os.listdir(tar_tree) if os.path.isdir(f"{tar_tree}/{d}")
        )
        for i in range(n):
            some = " ".join(classes[i::n])
            if some:
                shell(f"tar -C {tar_tree} -cf {part}/s-{i:03}.tar {some}")
        os.rename(part, folder)
    return folder


def bench_adopt():
    tree = dataset("images")
    folder = shards(tree, 16)
    paths, files, size = list_files(folder)
    dd = "dd if={} of=/dev/null bs=4M status=none"
    find = f"find {folder} -name '*.tar' -print0 | sort -z"
    commands = {
        "hpdsl-index -j2": f"hpdsl-index -q -j2 -o {OUT} {folder}/*.tar"
        f" && sync -f {OUT}",
        "dd": f"{find} | xargs -0 -I{{}} {dd}",
        "dd, two at a time": f"{find} | xargs -0 -P2 -I{{}} {dd}",
        "bare read": f"{TOOLS}/readall 2 < {paths}",
    }
    times = Times("adopt 16 tars, warm")
    run_all(times, commands, lambda: prepare("warm", paths))
    print_table(times, commands, files, size)
    ratio_row(
        f"{times.what}: times dd's seconds",
        times.median("hpdsl-index -j2") / times.median("dd"),
        WANTED_ADOPT,
        False,
    )


def bench_sha256():
    """What SHA-256 costs; sha256sum of the chunks alone is its bound."""
    tree = dataset("images")
    paths, files, size = list_files(tree)
    commands = {
        "xxh3": f"hpdsl-pack -q -j2 {tree} {OUT} && sync -f {OUT}",
        "sha256": f"hpdsl-pack -q -j2 --digest=sha256 {tree} {OUT}"
        f" && sync -f {OUT}",
        "sha256sum, two at a time": f"xargs -0 -n64 -P2 sha256sum < {paths}",
    }
    times = Times("pack images with SHA-256, warm")
    run_all(times, commands, lambda: prepare("warm", paths))
    print_table(times, commands, files, size)
    ratio = times.median("sha256") / times.median("xxh3")
    print(f"  --digest=sha256 takes {ratio:.2f} times as long")


BENCHES = {
    "from-tar": bench_from_tar,
    "from-zst": lambda: bench_stream("zst", "zstd -q -3 -T0", "zstd -dcq"),
    "from-gz": lambda: bench_stream("gz", "gzip -1", "gzip -dc"),
    "zstd": bench_zstd,
    "sample": bench_sample,
    "adopt": bench_adopt,
    "sha256": bench_sha256,
}
