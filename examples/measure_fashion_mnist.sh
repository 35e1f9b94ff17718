#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a step of training waits for: from a tree of files, from the same packed, and
# from a copy of that on a node's SSD, each measured by hpdsl-stall.
#
#     fashion_mnist_to_png.py "$PROJECT/png"
#     hpdsl-pack --labels=dir "$PROJECT/png" "$PROJECT/fashion.hpdsl"
#     measure_fashion_mnist.sh "$PROJECT/png" "$PROJECT/fashion.hpdsl" "$TMPDIR/copy"
#
# The first two should lie on the file system that the job is to read from.  The
# reports, raw.txt, packed.txt and staged.txt, come into the current folder; options
# of hpdsl-stall run go into STALL_OPTIONS, those of the scripts, as --batch=64, into
# TRAIN_OPTIONS, an interpreter with PyTorch into PYTHON.
set -eu -o pipefail
if [ $# -ne 3 ]; then
	echo "usage: measure_fashion_mnist.sh TREE DATASET COPY" >&2
	exit 2
fi
tree=$1 dataset=$2 copy=$3
here=$(dirname "$(realpath "$0")")

# measure NAME SCRIPT DATA: epochs enough for all phases.
measure()
{
	local step
	# shellcheck disable=SC2086
	hpdsl-stall run -q ${STALL_OPTIONS:-} -o "$1.txt" -- \
		"${PYTHON:-python3}" "$here/$2" --epochs=1000 --workers=2 \
		${TRAIN_OPTIONS:-} "$3" \
		> "$1.log" 2>&1 || { tail -n 3 "$1.log" >&2; return 1; }
	step=$(sed -n 's/^a step of a first epoch *\([0-9.]*\) ms.*/\1/p' "$1.txt")
	printf '%-7s %8s ms a step: %s\n' "$1" "$step" "$(head -n 1 "$1.txt")"
}

measure raw train_raw_fashion_mnist.py "$tree"
measure packed train_fashion_mnist.py "$dataset"
hpdsl-stage -q "$dataset" "$copy"
measure staged train_fashion_mnist.py "$copy"
