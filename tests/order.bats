#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The order of an epoch: the library's vectors are those of a second
# implementation.

load lib

@test "the model gives the vectors that the library is held to" {
	"$SRC/tests/order_model.py" order > vectors
	diff vectors "$SRC/tests/unit/order_vectors.h"
	"$SRC/tests/order_model.py" epochs > vectors
	diff vectors "$SRC/tests/unit/epoch_vectors.h"
}
