#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Large members.

load ../kit/lib

@test "a sparse file of 5 GiB, little memory" {
	mkdir s
	truncate -s 5G s/large
	printf end >> s/large
	hpdsl-pack -q --memory 64M s out
	[ "$(hpdsl-cat out large | tail -c 5 | od -An -tx1)" = " 00 00 65 6e 64" ]
	python3 "$SRC/tests/kit/trees.py" tars out
}
