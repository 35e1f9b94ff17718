#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl.torch under PyTorch's DataLoader: what workers get and send, and how it
# ends, well or badly.

load ../kit/lib
load ../kit/torch

setup_file()
{
	torch_once
	standard samples
	export ds=$set/ds
	standard blobs
	export large=$set/ds
}

setup()
{
	need_torch
	cd "$BATS_TEST_TMPDIR" || return 1
}

# bats test_tags=wide
@test "contents that nothing decodes are views, and stay as they are" {
	torch_cases "$ds" contents one_of_them no_call_a_sample
	torch_cases "$large" contents
}

@test "what a worker keeps of lent memory is copied, or an error" {
	torch_cases "$ds" borrowed
	torch_cases "$large" borrowed
}

@test "how what a worker makes of a batch is sent" {
	torch_cases "$ds" views in_boxes
}

# bats test_tags=wide
@test "single samples for a DataLoader of others come once" {
	torch_cases "$ds" one_by_one
}

# bats test_tags=more
@test "loaders in workers of a DataLoader" {
	torch_cases "$ds" in_workers
}

@test "arguments that make no sense" {
	torch_cases "$ds" wrong distributed
}

@test "a damaged sample, a decoder that fails, a worker that has gone" {
	cp -r --no-preserve=mode "$ds" damaged
	at=$(LC_ALL=C grep -obUaHF '"class": 1, "n": 77}' damaged/chunk-*.tar)
	IFS=: read -r file at _ <<< "$at"
	printf X | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	torch_cases damaged bad
	torch_cases "$ds" decoder_fails which_fails connection lender_gone
}

# bats test_tags=wide
@test "a worker that is killed" {
	torch_cases "$ds" worker_killed
	! at_level more || torch_cases "$large" worker_killed:SHORT
}

# bats test_tags=more
@test "Ctrl-C, and SIGKILL of the trainer, leave nothing" {
	torch_cases "$ds" stopped:SIGINT stopped:SIGKILL
	torch_cases "$large" stopped:SIGINT:SHORT stopped:SIGKILL:SHORT
}

# bats test_tags=more
@test "workers end with their trainer, and not before" {
	torch_cases "$large" orphans not_orphans
}
