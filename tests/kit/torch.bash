# SPDX-License-Identifier: Apache-2.0
# For bats files that need PyTorch: $python has it, and this tree's package.
# shellcheck shell=bash

export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1

need_torch()
{
	local p

	[[ ${SAN:-} != *thread* && ${SAN:-} != *address* ]] ||
		skip "the library has a sanitizer, Python has not"
	# looked for once a file: it takes seconds
	if [ ! -e "$BATS_FILE_TMPDIR/.torch" ]; then
		for p in python3 /usr/bin/python3; do
			! "$p" -c 'import torch, PIL' 2> /dev/null || python=$p
		done
		echo "${python:-}" > "$BATS_FILE_TMPDIR/.torch"
	fi
	read -r python < "$BATS_FILE_TMPDIR/.torch"
	[ -n "${python:-}" ] || skip "no Python with torch and PIL"
}

# torch_sets: in a file's folder, one of small samples and one of large ones.
torch_sets()
{
	local i
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 167
	hpdsl-pack -q --labels=dir --chunks=13 tree ds
	mkdir large
	for ((i = 0; i < 144; i++)); do
		head -c $((60000 + i * 300)) /dev/urandom > large/$i.bin
	done
	hpdsl-pack -q --chunks=13 large large.ds
}

# torch_cases DATASET CASE..: of tests/kit/torch_cases.py; one that hangs ends.
torch_cases()
{
	timeout -k 5 500 "$python" "$SRC/tests/kit/torch_cases.py" "$@"
}
