#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Datasets as a file system of fsspec, and zarr, xarray and pandas on it.  The
# tests themselves are in tests/python.

load ../kit/lib
load ../kit/python

@test "fsspec: names and contents are those of the tree, in all forms" {
	need_module fsspec
	cases test_fs.Tree test_fs.Forms test_fs.Index test_public.FileSystem
}

@test "fsspec: in threads, pickled, after a fork, damaged, packed anew" {
	need_module fsspec
	forks_are_safe
	cases test_fs.Elsewhere test_fs.Broken
}

@test "fsspec: zarr, xarray and pandas" {
	need_module fsspec zarr xarray pandas
	[ -z "${SAN:-}" ] || skip "numpy has no sanitizer"
	cases test_fs_readers
}
