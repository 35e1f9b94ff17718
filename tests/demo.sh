#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tour on real data: pack, verify, list, print, extract, stage; and plain tar
# reads the same chunks.  demo.sh [DIR]: a tree of your own instead of Fashion-MNIST.
# Works in DEMO_DIR ($BUILD/demo); every line that begins with $ can be typed as it is.
set -eu -o pipefail

: "${BUILD:=$PWD/build}"
src=$(cd "$(dirname "$0")/.." && pwd)
export PATH="$BUILD:$PATH" LC_ALL=C.UTF-8
images=/usr/share/datasets/fashion-mnist

say()
{
	printf '\n# %s\n' "$*"
}

# Shows a command line, then runs it.
show()
{
	printf '$ %s\n' "$1"
	bash -eu -o pipefail -c "$1"
}

# The first lines of a command's output, without a broken pipe's noise.
first()
{
	printf '$ %s | head -n %d\n' "$2" "$1"
	bash -c "$2" > .first
	head -n "$1" .first
	rm .first
}

make_tree()
{
	if [ -f $images/train-images-idx3-ubyte.gz ]; then
		say "Fashion-MNIST: 70,000 images as PNG files in class folders"
		"$src/examples/fashion_mnist_to_png.py" tree.part
	else
		say "No package dataset-fashion-mnist here: a generated tree"
		"$BUILD/tests/bench/gen" tree.part 20000 10 png 300-900
	fi
	mv tree.part tree
}

# tree: made once, or a link to the user's folder.
: "${DEMO_DIR:=$BUILD/demo}"
mkdir -p "$DEMO_DIR"
cd "$DEMO_DIR"
rm -rf tree.part tree.tar.gz from-tar from-archive restored theirs all node? half?
size=' --chunk-size=8M'
if [ $# -gt 0 ]; then
	size=
	input=$(cd "$OLDPWD" && cd "$1" && pwd)
	rm -rf tree
	ln -s "$input" tree
elif [ -L tree ] || [ ! -d tree ]; then
	rm -rf tree
	make_tree
fi
echo "# in $PWD"

say "Pack: shuffled chunks, each of whole samples, labels by folder"
show "hpdsl-pack --labels=dir$size --force tree/ packed"
show 'ls packed | head -n 5'

say "Verify every byte, and against the files it came from"
show 'hpdsl-verify packed'
show 'hpdsl-verify --source tree/ packed'

say "List; the last column, the path, is what cat and unpack take"
first 5 'hpdsl-ls -l packed'

say "One file of a sample, by its path: it is what was packed"
show 'hpdsl-ls packed > names'
path=$(printf %q "$(grep -v '[\]' names | sed -n 1p)")
show "hpdsl-cat packed $path > one"
show "cmp one tree/$path"

say "Chunks are ordinary tar files"
first 3 'tar tvf packed/chunk-000000.tar'
mkdir from-tar
show 'tar xf packed/chunk-000000.tar -C from-tar'
show '(cd from-tar && find . -type f -print0 | xargs -0 sha256sum) > sums'
show '(cd tree && sha256sum --check --quiet) < sums && wc -l < sums'

say "Restore a part of the tree"
show 'head -n 100 names | hpdsl-unpack --files-from=- packed restored'
show 'find restored -type f | wc -l'
say "The tree, for a program that opens files: mounted while that runs, and for it"
if why=$(hpdsl-mount --check | sed -n 's/^-- COMMAND *no *//p') && [ -z "$why" ]; then
	show 'mkdir -p mnt'
	first 5 'hpdsl-mount packed mnt -- ls -l mnt'
	show "hpdsl-mount packed mnt -- cmp mnt/$path tree/$path && echo the same bytes"
else
	echo "left out: hpdsl-mount cannot mount here: $why"
fi
say "The same from a compressed tar: nothing is extracted, the bytes are the same"
show 'tar --format=posix -C tree -czf tree.tar.gz .'
show "hpdsl-pack -q --labels=dir$size --force tree.tar.gz from-archive"
show 'diff -r packed from-archive && echo the same files'

say "Compressed chunks, SHA-256, index files for other readers"
show "hpdsl-pack --labels=dir$size --force --zstd --digest=sha256 --names=portable --emit=dali,energon,wids tree/ all"
show 'hpdsl-verify all'
show '(cd all && sha256sum --check --quiet SHA256SUMS) && zstd -tq all/*.zst'

say "What would other readers make of the plain chunks?"
show 'hpdsl-verify -q --compat=webdataset,ray,hf packed || [ $? = 1 ]'

say "Tars of somebody else, made a dataset where they lie"
show 'mkdir theirs && tar -C tree -cf theirs/some.tar .'
show 'hpdsl-index theirs'
show 'hpdsl-verify theirs'
say "The names of all that, frozen in one file: no question to the file system"
show 'hpdsl-snapshot create tree/ -o tree.snap'
show 'hpdsl-snapshot create packed -o packed.snap'
show 'hpdsl-snapshot diff tree.snap packed.snap && echo the same files || [ $? = 1 ]'
first 3 'hpdsl-snapshot find --type=f tree.snap'
first 5 'hpdsl-snapshot du -d 1 tree.snap'
show 'hpdsl-snapshot check tree.snap tree/ && echo still true'

say "The order of an epoch, when a sample comes in it, and what it costs a rank"
first 3 'hpdsl-order --seed=1 packed'
show 'hpdsl-order --seed=1 --where=0 packed'
show 'hpdsl-order --cost --classes --ranks=4 packed'

say "An epoch as a training job reads it: shuffled, verified, a batch at a time"
show 'hpdsl-bench --batch-size=256 packed'
show 'hpdsl-bench -q --batch-size=256 --steps=20 --save=state packed && cat state'
show 'hpdsl-bench --state=state --ranks=2 --rank=1 packed'

say "What do its steps wait for?  hpdsl-stall measures a job, and ends it"
show "hpdsl-stall run -q --rounds=1 --steps=8 -- hpdsl-bench -q \\
    --batch-size=64 --memory=16M --epochs=100000 --compute=0.005 packed"

say "On four pretend nodes, every byte read once, and verified on each"
stage='mpirun -q --oversubscribe -n 4 hpdsl-stage --pretend-nodes=4'
if [ -x "$BUILD/hpdsl-stage" ] && command -v mpirun > /dev/null; then
	# as root, in a container
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	show "hpdsl-stage --plan --nodes=4 --rates=origin=1G,link=1G,write=500M packed"
	show "$stage packed node%n"
	show 'hpdsl-verify node3'
	show "hpdsl-ls packed | cmp - <(hpdsl-ls node3)"
	show 'hpdsl-bench --ranks=4 --rank=3 node3'
	show "$stage --mode=copies=2 --report=report.json packed half%n"
	show 'hpdsl-stage --status half1'
	show "$stage --clean node%n && $stage --clean half%n"
else
	echo "left out: hpdsl-stage was not built, for want of MPI"
fi
printf '\ndemo: all good\n'
