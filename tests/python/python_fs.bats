#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Datasets as a file system of fsspec, and zarr, xarray and pandas on it.  The
# tests themselves are in tests/python.

load ../kit/lib
load ../kit/python

# need_module NAME..: for the interpreter; they are no part of it.
need_module()
{
	local name

	for name; do
		"$PYTHON" -W ignore -c "import $name" 2> /dev/null ||
			skip "no $name for $PYTHON"
	done
}

@test "fsspec: names and contents are those of the tree" {
	need_module fsspec
	cases test_fs.Tree
}

@test "fsspec: what the index is asked, one reading for many" {
	need_module fsspec
	cases test_fs.Index
}

@test "fsspec: in threads, pickled, after a fork, known without an import" {
	need_module fsspec
	forks_are_safe
	cases test_fs.Elsewhere
}

@test "fsspec: damage, a dataset that is packed anew" {
	need_module fsspec
	forks_are_safe
	cases test_fs.Broken
}

@test "fsspec: compressed, staged, adopted" {
	need_module fsspec
	cases test_fs.Forms
}

@test "fsspec: zarr, xarray and pandas" {
	need_module fsspec zarr xarray pandas
	[ -z "${SAN:-}" ] || skip "numpy has no sanitizer"
	cases test_fs_readers
}
