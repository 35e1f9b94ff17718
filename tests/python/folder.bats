#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl.torch.ImageFolder; the tests themselves are in tests/python/test_folder.py
# and, of trees with a snapshot, test_folder_tree.py.

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

@test "ImageFolder: the files, their order, items, and its Loader, are those of the tree" {
	if "$python" -c 'import torchvision' 2> /dev/null; then
		export HPDSL_TORCHVISION=1
	else
		echo "# no torchvision: held against its rules alone" >&3
	fi
	cases test_folder.Order test_folder.Sequences test_folder.Items \
		test_folder.Loaders test_folder_tree.Files
}

@test "ImageFolder: where there is no torchvision; what is wrong is said in its words" {
	cases test_folder.Wrong test_folder.Items test_folder_tree.Refused
}

@test "ImageFolder: forks, spawned processes, pickles, threads" {
	cases test_folder.Processes test_folder_tree.Elsewhere
}
