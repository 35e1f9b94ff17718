#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Members as Python's files; the tests themselves are in test_file.py.

load ../kit/lib
load ../kit/python

@test "python: files of members are as BytesIO of the same bytes" {
	cases test_file.Model
}
