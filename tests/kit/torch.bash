# SPDX-License-Identifier: Apache-2.0
# For bats files that need PyTorch: $python has it, and this tree's package.
# shellcheck shell=bash

# shellcheck source=tests/kit/python.bash
source "$SRC/tests/kit/python.bash"
python=$PYTHON
export PYTHONPATH=$SRC/lib/python:$SRC/tests/python PYTHONDONTWRITEBYTECODE=1

need_torch()
{
	[[ ${SAN:-} != *thread* && ${SAN:-} != *address* ]] ||
		skip "the library has a sanitizer, Python has not"
	need_module torch PIL
}

# torch_once: in setup_file: what torch_python runs is a child of this one.
torch_once()
{
	[ -z "$(lacks torch PIL)" ] || return 0
	export ONE_PYTHON=$BATS_FILE_TMPDIR/.python
	"$python" "$SRC/tests/kit/one_python.py" keep "$ONE_PYTHON" torch \
		torch.utils.data PIL.Image 3>&- 4>&- &
	until_true test -S "$ONE_PYTHON"
}

# torch_python PROGRAM..: as $python does, without an import of torch of its own.
torch_python()
{
	"$python" -IS "$SRC/tests/kit/one_python.py" run "$ONE_PYTHON" "$@"
}

# torch_cases DATASET CASE..: of tests/kit/torch_cases.py.
torch_cases()
{
	torch_python "$SRC/tests/kit/torch_cases.py" "$@"
}
