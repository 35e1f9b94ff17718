#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl.torch under PyTorch's DataLoader; the cases are in torch_cases.py.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/torch

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 167
	hpdsl-pack -q --labels=dir --chunks=13 tree ds
	mkdir large
	for ((i = 0; i < 144; i++)); do
		head -c $((60000 + i * 300)) /dev/urandom > large/$i.bin
	done
	hpdsl-pack -q --chunks=13 large large.ds
}

setup()
{
	need_torch
	ds=$BATS_FILE_TMPDIR/ds
	large=$BATS_FILE_TMPDIR/large.ds
	cd "$BATS_TEST_TMPDIR" || return 1
}

# cases DATASET CASE..: one that hangs ends.
cases()
{
	timeout -k 5 500 "$python" "$SRC/tests/kit/torch_cases.py" "$@"
}

@test "every sample once, on ranks with workers" {
	cases "$ds" once once:map subset
}

@test "stopped in mid-epoch, and on elsewhere" {
	cases "$ds" resume resume:map go_on ahead finite epochs_that_are_set
}

@test "any number of workers reads the same once, in any memory" {
	cases "$ds" same_reading
	cases "$large" same_reading two_kept
}

@test "loaders that a framework prepares again are not shared out twice" {
	cases "$ds" prepared
}

@test "a state goes through what keeps checkpoints" {
	cases "$ds" checkpointed
}

@test "a state of another dataset or choice is refused" {
	hpdsl-pack -q --labels=dir --seed=1 --chunks=13 \
		"$BATS_FILE_TMPDIR/tree" other
	cases "$ds" other:other
}

@test "DataLoaders of one's own, several members, spawned workers" {
	cases "$ds" plain members spawned
}

@test "two members of one suffix: the first" {
	mkdir twice
	PYTHONPATH+=:$SRC/tests/kit "$python" - <<- END
		from foreign import add, tarfile
		with tarfile.open("twice/x.tar", "w") as tar:
		    for n in range(40):
		        add(tar, f"{n}.txt", b"first")
		        add(tar, f"{n}.jpg", b"other")
		        add(tar, f"{n}.txt", b"second")
	END
	hpdsl-index -q twice
	cases twice first_of_two
}

@test "contents that nothing decodes are views, and stay as they are" {
	cases "$ds" contents one_of_them
	cases "$large" contents
}

@test "what a worker keeps of lent memory is copied, or an error" {
	cases "$ds" borrowed
	cases "$large" borrowed
}

@test "how what a worker makes of a batch is sent" {
	cases "$ds" views
}

@test "arguments that make no sense" {
	cases "$ds" wrong distributed
}

@test "a damaged sample, a decoder that fails, a worker that is killed" {
	cp -r "$ds" damaged
	at=$(LC_ALL=C grep -obUaHF '"class": 1, "n": 77}' damaged/chunk-*.tar)
	IFS=: read -r file at _ <<< "$at"
	printf X | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	cases damaged bad
	cases "$ds" decoder_fails connection lender_gone worker_killed
	cases "$large" worker_killed:SHORT
}

@test "Ctrl-C, and SIGKILL of the trainer, leave nothing" {
	cases "$ds" stopped:SIGINT stopped:SIGKILL
	cases "$large" stopped:SIGINT:SHORT stopped:SIGKILL:SHORT
	cases "$large" orphans not_orphans
}
