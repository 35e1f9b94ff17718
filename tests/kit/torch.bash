# SPDX-License-Identifier: Apache-2.0
# For bats files that need PyTorch: $python has it, and this tree's package.
# shellcheck shell=bash

export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1

need_torch()
{
	local p

	[[ ${SAN:-} != *thread* && ${SAN:-} != *address* ]] ||
		skip "the library has a sanitizer, Python has not"
	for p in python3 /usr/bin/python3; do
		! "$p" -c 'import torch, PIL' 2> /dev/null || python=$p
	done
	[ -n "${python:-}" ] || skip "no Python with torch and PIL"
}
