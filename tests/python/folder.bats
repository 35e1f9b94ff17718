#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl.torch.ImageFolder, and torch.load; the tests themselves are in
# tests/python/test_folder.py and, of trees with a snapshot, test_folder_tree.py.

load ../kit/lib
load ../kit/torch

setup_file()
{
	torch_once
}

setup()
{
	need_torch
	export HPDSL_TORCHVISION=
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Without -W error: torch and torchvision have warnings of their own.
py()
{
	PYTHONPATH=$PYTHONPATH:$SRC/tests/kit torch_python "$@"
}

@test "ImageFolder: the files, their order, items, and its Loader, are those of the tree" {
	if [ -z "$(lacks torchvision)" ]; then
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

@test "torch.load reads members" {
	cases test_file.Others.test_torch
}

@test "ImageFolder: forks, spawned processes, pickles, threads" {
	cases test_folder.Processes test_folder_tree.Elsewhere
}
