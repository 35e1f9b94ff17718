#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The proofs of the page, made by somebody else from its text.

bats_require_minimum_version 1.5.0
load ../kit/lib

@test "hpdsl-format(5) has the proofs that Python makes of its text" {
	python3 "$SRC/tests/peers/vectors.py" "$SRC/man/hpdsl-format.5"
}
