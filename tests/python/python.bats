#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The Python package: datasets, choices, orders, and its view of hpdsl.h.  The
# tests themselves are in tests/python.
# bats file_tags=quick

load ../kit/lib
load ../kit/python

@test "python: structs and constants are those of hpdsl.h" {
	local with=()
	py "$SRC/tests/python/layout.py" > layout.c
	[ "$(grep -c offsetof layout.c)" -ge 100 ]
	[ -z "${SAN:-}" ] || with=("-fsanitize=$SAN")
	"${CC:-cc}" -std=c11 -Wall -Werror "${with[@]}" -I"$SRC/lib" \
		-o layout layout.c
	./layout
}

@test "python: samples by number, members by path" {
	cases test_dataset.Reading
}

@test "python: compressed packs, packs without classes, any names" {
	cases test_dataset.Others
}

@test "python: of two members of one suffix the first one wins, of one path twice the last" {
	cases test_dataset.Twice
}

@test "python: errors of a dataset have class, code and text" {
	cases test_dataset.Errors
}

@test "python: a dataset in other processes, pickled, spawned and forked" {
	cases test_dataset.Processes
}

@test "python: paths that lead into a dataset" {
	cases test_place
}

@test "python: samples are made from Python as hpdsl-python(7) has it" {
	cd "$BATS_TEST_TMPDIR" || return 1
	"$PYTHON" "$SRC/tests/kit/programs.py" "$SRC/man/hpdsl-python.7" .
	[ "$(py make_samples.py)" = "200 of 1000" ]
	hpdsl-verify -q made
}

@test "python: choices" {
	cases test_order.Choices
}

@test "python: the order of an epoch is the page's" {
	cases test_order.Orders
}

@test "python: rank and ranks, and batches that they can share" {
	cases test_rank
}

@test "python: help() and annotations of all that users call" {
	cases test_public.Names
}

@test "python: a dataset that changes while it is open" {
	cases test_changed.Changed
}
