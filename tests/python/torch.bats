#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl.torch under PyTorch's DataLoader: which samples, and in which order.

load ../kit/lib
load ../kit/torch

setup_file()
{
	torch_once
	standard samples
	export ds=$set/ds tree=$set/tree
	standard blobs
	export large=$set/ds
}

setup()
{
	need_torch
	cd "$BATS_TEST_TMPDIR" || return 1
}

# bats test_tags=wide
@test "every sample once, on ranks with workers" {
	torch_cases "$ds" once once:map subset
}

# bats test_tags=wide
@test "stopped in mid-epoch, and on elsewhere" {
	torch_cases "$ds" resume resume:map go_on ahead finite epochs_that_are_set
}

# bats test_tags=wide
@test "any number of workers reads the same once, in any memory" {
	torch_cases "$ds" same_reading
	torch_cases "$large" same_reading two_kept
}

@test "who asks before there are ranks is answered anew when there are" {
	torch_cases "$ds" asked_early
}

@test "loaders that a framework prepares again are not shared out twice" {
	torch_cases "$ds" prepared told_each_epoch first_skipped shown
}

@test "a batch is data and labels, and has the rest by name" {
	torch_cases "$ds" a_pair formed like_others given_back all_said
}

@test "ranks' shares of a step's mean loss are that of one process" {
	torch_cases "$ds" shares short played idle filled
}

@test "an evaluation has each sample once, as often as a for begins" {
	torch_cases "$ds" evaluated not_measured with_validation
}

@test "a new for supersedes the one before it" {
	torch_cases "$ds" superseded left_in_midst
}

# bats test_tags=more
@test "ranks of DDP train the weights of one process" {
	torch_cases "$ds" ddp
}

@test "a state goes through what keeps checkpoints" {
	torch_cases "$ds" checkpointed
}

@test "a state of another dataset or choice is refused" {
	hpdsl-pack -q --labels=dir --seed=1 --chunks=13 "$tree" other
	torch_cases "$ds" other:other
}

# bats test_tags=wide
@test "DataLoaders of one's own, several members, spawned workers" {
	torch_cases "$ds" plain members spawned
}

@test "a path twice in an adopted tar: the last" {
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
	torch_cases twice last_of_two
}

@test "labels that some samples lack, or that are in members .cls: told" {
	local n
	mkdir -p t shards some/a some/b
	touch some/{,a/,b/,a/2,b/2}1.jpg
	hpdsl-pack -q --labels=dir some some.hpdsl
	torch_cases some.hpdsl some_unlabelled
	for n in 0 1 2 3; do
		echo $n > t/$n.cls
		echo picture $n > t/$n.jpg
	done
	tar --sort=name -cf shards/x.tar -C t .
	hpdsl-index -q shards
	torch_cases shards meant
}
