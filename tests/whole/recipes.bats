#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-recipes(7) says to type when one has this or that, typed: the lines
# are taken from the page.

load ../kit/lib
load ../kit/mpi

# Not all of them need MPI.
setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
}

# recipe NAME: the lines behind .\" RECIPE NAME, as they read.
recipe()
{
	sed -n '/^\.\\" RECIPE '"$1"'$/,/^\.Ed$/p' "$SRC/man/hpdsl-recipes.7" |
		grep -v '^\.' | sed 's/\\e/\\/g; s/\\&//g' > "$1.sh"
	[ -s "$1.sh" ]
	cat "$1.sh"
}

# type_it NAME: every line has to be right; what it prints is left in out, err.
type_it()
{
	recipe "$1"
	bash -e -o pipefail "$1.sh" > out 2> err || {
		echo "exit $?"
		cat out err
		return 1
	}
}

@test "each recipe is one that is tested here" {
	sed -n 's/^\.\\" RECIPE //p' "$SRC/man/hpdsl-recipes.7" |
		LC_ALL=C sort > page
	[ "$(wc -l < page)" -ge 6 ]
	grep -oE '^	+(type_it|recipe) [a-z]+' "$BATS_TEST_FILENAME" |
		sed 's/.* //' | LC_ALL=C sort -u | diff page -
	# and none is without its mark
	sed -n '/^\.Sh WHAT YOU HAVE/,/^\.Sh OTHER/p' "$SRC/man/hpdsl-recipes.7" |
		grep -B1 '^\.Bd' | grep -v -e '^\.Bd' -e ^-- > marks
	[ "$(grep -c 'RECIPE' marks)" = "$(wc -l < marks)" ]
}

@test "ImageNet, as its tars" {
	local wnid
	mkdir classes
	for wnid in n01440764 n01443537 n01484850; do
		mkdir $wnid
		for i in 10026 10027 9; do
			echo "$wnid $i" > $wnid/${wnid}_$i.JPEG
		done
		tar cf classes/$wnid.tar -C $wnid .
	done
	tar cf ILSVRC2012_img_train.tar -C classes .
	mkdir images
	for i in 1 2 3; do
		echo "val $i" > images/ILSVRC2012_val_0000000$i.JPEG
		echo "ILSVRC2012_val_0000000$i.JPEG n01443537"
	done > val.txt
	tar cf ILSVRC2012_img_val.tar -C images .
	type_it imagenet
	grep -q '^classes: *3; without a class: 0 samples' out
	[ "$(hpdsl-ls train | wc -l)" = 9 ]
	[ "$(hpdsl-cat train n01443537/n01443537_9.JPEG)" = "n01443537 9" ]
	[ "$(hpdsl-ls --samples --label=n01443537 train | wc -l)" = 3 ]
	[ "$(hpdsl-ls --samples --label=n01443537 val | wc -l)" = 3 ]
	grep -q 'hpdsl-verify: sound' err
}

@test "train, val and test" {
	local part
	for part in train:30 val:10 test:5; do
		make_tree imagenet/${part%:*} 2 ${part#*:}
	done
	type_it splits
	grep '^val/' out > seen
	[ "$(wc -l < seen)" -gt 0 ]
	[ "$(wc -l < seen)" = "$(find imagenet/val -name '*.png' | wc -l)" ]
	[ "$(hpdsl-info --json packed | grep -o '"name": "class[01]"' | wc -l)" = 2 ]
	grep -q 'one pack does for train, val, test: .* with --folder=val' err
	# from elsewhere, the same dataset
	mkdir b && mv imagenet/val b
	hpdsl-pack -q --prefix-input --labels=dir:2 imagenet/train b/val \
		imagenet/test again
	[ "$(field dataset_id < <(hpdsl-info --json again))" = \
		"$(field dataset_id < <(hpdsl-info --json packed))" ]
}

@test "WebDataset shards" {
	local before
	mkdir shards in
	for i in 1 2 3 4; do
		echo $i > in/$i.jpg
		echo $i > in/$i.cls
	done
	tar --format=ustar -cf shards/a-000000.tar -C in 2.jpg 2.cls 4.jpg 4.cls
	tar --format=ustar -cf shards/a-000001.tar -C in 3.jpg 3.cls 1.jpg 1.cls
	before=$(dataset_digest shards)
	type_it webdataset
	[ "$(wc -l < out)" -ge 3 ]
	[ "$(dataset_digest shards)" = "$before" ]
	grep -q 'hpdsl-verify: sound: 4 samples, 8 members in 2 chunks' err
	[ "$(hpdsl-cat shards.hpdsl 3.jpg)" = 3 ]
	# the other way, also of that page
	hpdsl-pack -q shards/*.tar packed
	[ "$(hpdsl-ls packed | wc -l)" = 8 ]
}

@test "a quota of inodes" {
	make_tree images 2 30
	mkdir other
	echo one > other/1.txt
	tar czf more.tar.gz -C other .
	cp -Rp images copy
	type_it quota
	grep -qE '^needs: .* inodes$' out
	[ ! -e images ]
	hpdsl-verify -q --source=copy packed
	[ "$(find packed | wc -l)" -lt 10 ]
	[ "$(hpdsl-cat more 1.txt)" = one ]
	hpdsl-unpack -q packed some 'class1/*'
	diff -r some/class1 copy/class1
	# what was not packed as it is stays
	rm -r packed more
	cp -Rp copy images
	sed 's/^hpdsl-pack images packed$/&; echo > images\/new/' quota.sh > late.sh
	bash late.sh > out 2>&1
	[ -e images/new ]
}

@test "programs that open files" {
	need_mpi
	[ -w /dev/fuse ] || skip "/dev/fuse is not there, or not for us"
	export DATASET=$PWD/ds TMPDIR=$PWD/tmp
	export OMPI_MCA_btl_vader_backing_directory=$TMPDIR
	mkdir tmp bin
	make_tree tree 2 30
	hpdsl-pack -q --chunks=4 tree ds
	cat > train.py <<- 'END'
		import os, sys, time
		where = os.readlink("/proc/self/ns/mnt")
		open("here.%d" % os.getpid(), "w").close()
		while sum(f.startswith("here.") for f in os.listdir(".")) < 3:
		    time.sleep(0.02) # clock: a poll
		n = 0
		for d, folders, files in os.walk(sys.argv[1]):
		    for f in files:
		        n += len(open(os.path.join(d, f), "rb").read()) > 0
		with open("seen.%d" % os.getpid(), "w") as f:
		    print(n, where, file=f)
	END
	printf '#!/bin/sh\nexec %s -n 3 "$@"\n' "$(command -v "$MPIRUN")" \
		> bin/mpirun
	chmod +x bin/mpirun
	PATH=$PWD/bin:$PATH
	type_it opens
	[ "$(cat seen.* | wc -l)" = 3 ]
	[ "$(sort -u seen.* | wc -l)" = 1 ]
	[ "$(cut -d ' ' -f 1 seen.* | uniq)" = "$(find tree -type f | wc -l)" ]
}

@test "a job array" {
	need_mpi
	local i jobs=()
	export DATASET=$PWD/ds SHARED=$PWD/ssd
	mkdir tmp ssd
	export TMPDIR=$PWD/tmp OMPI_MCA_btl_vader_backing_directory=$PWD/tmp
	make_tree tree 2 30
	hpdsl-pack -q --chunks=4 tree ds
	cat > train.py <<- 'END'
		import os, sys
		print(len([n for n in os.listdir(sys.argv[1]) if n.endswith(".tar")]))
	END
	recipe array
	# the launcher of the MPI under test, as tests need it
	mkdir bin
	MPIRUN=$(command -v "$MPIRUN")
	{ echo '#!/bin/bash'; declare -f launch; echo 'launch "$@"'; } > bin/mpirun
	chmod +x bin/mpirun
	PATH=$PWD/bin:$PATH
	for i in 1 2 3; do
		bash array.sh > out.$i 2> err.$i 3>&- &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do
		wait "$i" || { cat err.*; return 1; }
	done
	[ "$(cat out.1 out.2 out.3)" = $'4\n4\n4' ]
	hpdsl-verify -q ssd/images
	# one of them read the origin, the others nothing
	[ "$(cat err.* | grep -c 'staged 4 chunks')" = 1 ] || { cat err.*; return 1; }
	hpdsl-stage --clean -q "$SHARED/images"
	[ ! -e ssd/images/chunk-000000.tar ]
}

# Launchers that start one task, here; srun's options have their values behind a =,
# or are those that the page has.
one_task()
{
	need_mpi
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	need curl
	mkdir bin tmp
	export TMPDIR=$PWD/tmp OMPI_MCA_btl_vader_backing_directory=$PWD/tmp
	export DATASET=$PWD/ds LOCAL=$TMPDIR SLURM_NNODES=1
	MPIRUN=$(command -v "$MPIRUN")
	cat > bin/srun <<- 'END'
		#!/bin/bash
		while [[ $1 = -* ]]; do
			[[ $1 != -[Nnc] ]] || shift
			shift
		done
		[ "$1" != hpdsl-stage ] || exec mpirun -n 1 "$@"
		exec "$@"
	END
	{
		echo '#!/bin/bash'
		declare -f launch
		cat <<- 'END'
			[ "$1" != --map-by ] || shift 2
			[ "$1" != --enable-recovery ] || shift
			[ "$1" = -n ] || set -- -n 1 "$@"
			launch "$@"
		END
	} > bin/mpirun
	cat > bin/ssh <<- 'END'
		#!/bin/sh
		[ "$1" = nid1 ] && shift && exec "$@"
	END
	chmod +x bin/*
	PATH=$PWD/bin:$PATH
	make_tree tree 2 30
	hpdsl-pack -q --chunks=4 tree ds
	cat > train.py <<- 'END'
		import subprocess, sys, time
		serve = ["hpdsl-serve", "--status", sys.argv[1]]
		while subprocess.run(serve, capture_output=True).returncode:
		    time.sleep(0.1) # clock: a poll
		subprocess.run(["curl", "-sf", "-o", "got", "--unix-socket",
		                sys.argv[1] + "/serve.sock",
		                "http://x/chunk-000003.tar"], check=True)
		print("trained")
	END
}

# served: it was, as the recipe says, and has ended.
served()
{
	grep -qx trained out
	cmp got ds/chunk-000003.tar
	rm -r got tmp/in
}

@test "a dataset larger than a node's SSD" {
	one_task
	# what a step leaves Slurm ends
	recipe larger
	# shellcheck disable=SC2016
	echo 'kill $!; wait $! || [ $? = 143 ]' >> larger.sh
	bash -e -o pipefail larger.sh > out 2> err
	served
	type_it mpirun
	served
	grep -q 'hpdsl-serve: .*has ended' err
	printf 'nid1\nnid1\n' > nodefile
	export PBS_NODEFILE=$PWD/nodefile
	hpdsl-stage -q ds tmp/in
	type_it ssh
	grep -qx "$TMPDIR/in/serve.sock" out
	served
}

@test "servers without MPI, and which ports must be open" {
	one_task
	need openssl
	getent ahosts "$(hostname)" > /dev/null || skip "the host has no address"
	sed -i "s/= nid1 /= $(hostname) /" bin/ssh
	printf '%s\n%s\n' "$(hostname)" "$(hostname)" > nodefile
	export PBS_NODEFILE=$PWD/nodefile PBS_JOBID=7.x HOME=$PWD
	hpdsl-stage -q ds tmp/in
	rm tmp/in/peers.hpdsl
	type_it listed
	[ ! -e .hpdsl-7.x ]
	type_it ports
	grep -qx 'this is the only node of the book' out
	rm tmp/in/peers.hpdsl
	! bash ports.sh > out 2> err || return 1
	grep -q "tmp/in: there is no book of the job's nodes$" err
}

@test "purge rules" {
	need rsync
	export SCRATCH=$PWD/scratch ARCHIVE=$PWD/archive
	mkdir scratch archive
	make_tree tree 2 30
	hpdsl-pack -q --chunks=4 tree archive/images
	# nothing there yet; whole; a chunk gone; the index gone
	type_it purge
	diff -r scratch/images archive/images
	type_it purge
	[ ! -s err ]
	rm scratch/images/chunk-000002.tar
	type_it purge
	diff -r scratch/images archive/images
	rm scratch/images/{index.hpdsl,chunk-000000.tar}
	type_it purge
	diff -r scratch/images archive/images
}

@test "a partner's centre" {
	local told
	make_tree images 2 30
	cp -Rp images copy
	type_it partner
	told=$(cut -d ' ' -f 1 out)
	mkdir far
	mv packed far
	rm -r images
	(
		cd far
		type_it theirs
		grep -q "^$told " out
		diff -r images ../copy
		# a byte that changed on the way is found, and so is another list
		rm -r images
		printf X | dd of=packed/chunk-000000.tar bs=1 seek=700 conv=notrunc \
			status=none
		! bash -e -o pipefail theirs.sh > out 2>&1 || exit 1
		grep -q 'chunk-000000.tar: FAILED' out
		(cd packed && sha256sum index.hpdsl chunk-* > SHA256SUMS)
		! bash -e -o pipefail theirs.sh > out 2>&1 || exit 1
		grep -q 'SHA256SUMS: FAILED' out
	)
}
