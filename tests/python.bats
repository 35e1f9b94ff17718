#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Python package: datasets, choices, orders, and its view of hpdsl.h.  The
# tests themselves are in tests/python.

load lib
load python

@test "python: samples by number, members by path" {
	cases test_dataset.Reading
}

@test "python: compressed packs, packs without classes, any names" {
	cases test_dataset.Others
}

@test "python: errors of a dataset have class, code and text" {
	cases test_dataset.Errors
}

@test "python: a dataset in other processes, pickled, spawned and forked" {
	cases test_dataset.Processes
}
