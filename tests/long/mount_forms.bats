#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount of large real trees, in each form that a dataset may have, is the
# tree that was packed; and so for R and OpenCV, which know nothing of it.
# shellcheck disable=SC2016,SC2154

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount
load ../kit/serve
load ../kit/forms

# no path is too long for diff, which compares contents
export how=sizes

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	kernel
	images
}

# kernel: its source tree, or what is most like it here.
kernel()
{
	local archive
	archive=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' \
		2> /dev/null | head -n 1)
	mkdir -p kernel/tree
	if [ -n "$archive" ]; then
		tar -xJf "$archive" -C kernel/tree --strip-components=1
	else
		echo "# NO PACKAGE linux-source: /usr/include in its place" >&3
		tar -C /usr/include -cf - . | tar -C kernel/tree -xpf -
	fi
	packed kernel
}

images()
{
	[ -d /usr/share/datasets/fashion-mnist ] || return 0
	mkdir images
	"$SRC/examples/fashion_mnist_to_png.py" images/tree > said
	packed images --chunk-size=1M
}

need_images()
{
	[ -d "$from/images" ] || skip "no package dataset-fashion-mnist"
}

# What a program finds in all files of a folder: a digest, and how many.
by_r()
{
	(cd "$1" && Rscript --vanilla - <<- 'END'
		all <- list.files(".", recursive = TRUE, all.files = TRUE)
		out <- pipe("sha256sum", "wb")
		for (f in all) {
			size <- file.size(f)
			writeBin(charToRaw(paste(f, size)), out)
			writeBin(readBin(f, "raw", size + 1), out)
		}
		close(out)
		cat(length(all), "files\n")
	END
	)
}

by_opencv()
{
	(cd "$1" && "$python" -c '
import glob, hashlib, cv2
all, digest = sorted(glob.glob("*/*.png")), hashlib.sha256()
for name in all:
    image = cv2.imread(name, cv2.IMREAD_UNCHANGED)
    digest.update(repr((name, image.shape, image.dtype)).encode())
    digest.update(image.tobytes())
print(digest.hexdigest(), len(all), "files")')
}
export -f by_r by_opencv

# alike HOW DIR NAMES: what a program finds in the tree and in the mount; and not
# in a tree where one of the files with such names is another one.
alike()
{
	local files
	"$1" "$2/tree" > want
	timeout 600 hpdsl-mount "$2/ds" "$PWD/mnt" -- "$BASH" -ec "$1 mnt" > got
	cat got
	cmp want got
	cp -rpl "$2/tree" other
	find other -type f -name "$3" -size +0 | sort > files
	cp "$(head -n 1 files)" x
	mv -f x "$(tail -n 1 files)"
	"$1" other > another
	run ! cmp -s another got
	files=$(grep -o '[0-9]* files$' got)
	[ "$files" = "$(grep -o '[0-9]* files$' another)" ]
	[ "${files% files}" -gt 1000 ]
}

@test "R: list.files and readBin of the kernel" {
	need Rscript
	alike by_r "$from/kernel" "*.c"
}

@test "OpenCV: imread of Fashion-MNIST" {
	local p
	need_images
	for p in python3 /usr/bin/python3; do
		! "$p" -c 'import cv2' 2> /dev/null || export python=$p
	done
	[ -n "${python:-}" ] || skip "no Python with OpenCV (python3-opencv)"
	alike by_opencv "$from/images" "*.png"
}

@test "the kernel: plain" {
	plain_is_tree "$from/kernel"
}

@test "the kernel: compressed" {
	compressed_is_tree "$from/kernel"
}

@test "the kernel: adopted" {
	adopted_is_tree "$from/kernel"
}

@test "the kernel: staged, and the origin is gone" {
	need_stage
	staged_is_tree "$from/kernel"
}

@test "the kernel: half staged" {
	need_stage
	half_staged_is_tree "$from/kernel"
}

@test "the kernel: served by peers, and the origin is gone" {
	need_serve
	peer_served_is_tree "$from/kernel"
}

@test "Fashion-MNIST: plain" {
	need_images
	plain_is_tree "$from/images"
}

@test "Fashion-MNIST: compressed" {
	need_images
	compressed_is_tree "$from/images"
}

@test "Fashion-MNIST: adopted" {
	need_images
	adopted_is_tree "$from/images"
}

@test "Fashion-MNIST: staged, and the origin is gone" {
	need_images
	need_stage
	staged_is_tree "$from/images"
}

@test "Fashion-MNIST: half staged" {
	need_images
	need_stage
	half_staged_is_tree "$from/images"
}

@test "Fashion-MNIST: served by peers, and the origin is gone" {
	need_images
	need_serve
	peer_served_is_tree "$from/images"
}
