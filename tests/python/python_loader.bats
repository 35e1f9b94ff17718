#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Python package: loaders and their batches, in one process and over its
# end.  The tests themselves are in tests/python.
# uses: shm

load ../kit/lib
load ../kit/python

@test "python: batches are the steps of the order, over ranks and workers" {
	cases test_loader.Batches
}

@test "python: memory goes back with the last view, and not before" {
	cases test_loader.Memory
}

@test "python: shards of others: labels, data and tars that may be meant" {
	cases test_meant
}

@test "python: a state resumes on other ranks and workers" {
	cases test_loader.States
}

@test "python: bad samples are errors, or skipped and listed" {
	cases test_loader.Damage
}

@test "python: Ctrl-C is heard, and loses nothing" {
	[ -z "${SAN:-}" ] || skip "sanitizers come between the reads and the test"
	cases test_process.CtrlC
}

@test "python: a process ends whatever it has open, and leaves nothing" {
	cases test_process.Exits
}

# bats test_tags=more
@test "python: a process ends while another thread loads" {
	cases test_process.ExitsUnderThreads
}

@test "python: loaders and children" {
	forks_are_safe
	cases test_process.Forks
}

@test "python: forks while other threads read and load" {
	forks_are_safe
	cases test_dataset.ForksUnderThreads test_process.ForksUnderThreads
}

@test "python: turns are told, waited for, and done with" {
	cases test_lend.Turns
}

@test "python: turns in other processes" {
	forks_are_safe
	cases test_lend.Processes
}

@test "python: what TensorFlow and DALI take" {
	cases test_feed
}
