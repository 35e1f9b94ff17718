#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Python package: snapshots, asked as os and os.path are.  The tests
# themselves are in tests/python.

load ../kit/lib
load ../kit/python

@test "python: a snapshot of the worst tree says what os says" {
	cases test_snapshot.Nasty
}

@test "python: paths and links of all kinds, at random, against the tree" {
	cases test_snapshot.Random
}

@test "python: a snapshot closed, damaged, in threads and other processes" {
	forks_are_safe
	cases test_snapshot.Plain
}

@test "python: snapshots of datasets, packed, compressed, staged, adopted" {
	cases test_snapshot.OfDatasets
}
