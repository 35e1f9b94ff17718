#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl.torch.ImageFolder; the tests themselves are in tests/python/test_folder.py.

load ../kit/lib
load ../kit/torch
load ../kit/python

setup()
{
	need_torch
	PYTHON=$python
	export HPDSL_TORCHVISION=
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Without -W error: torch and torchvision have warnings of their own.
py()
{
	PYTHONPATH=$SRC/lib/python:$SRC/tests/python:$SRC/tests/kit \
		PYTHONDONTWRITEBYTECODE=1 timeout -k 5 500 "$PYTHON" "$@"
}

@test "ImageFolder: the files, and their order, are those of the tree" {
	cases test_folder.Order
}

@test "ImageFolder: samples and targets are as lists, items as torchvision's" {
	cases test_folder.Sequences test_folder.Items
}

@test "ImageFolder: what is wrong is said in torchvision's words" {
	cases test_folder.Wrong
}

@test "ImageFolder: forks, spawned processes, pickles, threads" {
	cases test_folder.Processes
}

@test "Loader of an ImageFolder: the same items and targets" {
	cases test_folder.Loaders
}

@test "ImageFolder: all of it beside torchvision's own class" {
	"$python" -c 'import torchvision' 2> /dev/null || skip "no torchvision"
	export HPDSL_TORCHVISION=1
	cases test_folder.Order test_folder.Sequences test_folder.Items \
		test_folder.Wrong
}
