# SPDX-License-Identifier: Apache-2.0
# For tests of the Python package: `load ../kit/python` behind
# `load ../kit/lib`.
# shellcheck shell=bash

# Debian's, which has Debian's modules, whatever else is first in PATH.
PYTHON=${PYTHON:-$(command -v /usr/bin/python3 || command -v python3)}

# lacks MODULE..: prints those that it has not.  None is imported: that may take
# seconds.
lacks()
{
	"$PYTHON" -c 'import importlib.util, sys
print(*(n for n in sys.argv[1:] if not importlib.util.find_spec(n)))' "$@"
}

need_module()
{
	local none

	none=$(lacks "$@")
	[ -z "$none" ] || skip "no $none for $PYTHON"
}

# py ARGUMENT..: the interpreter with the package of the source tree, over the
# library under test (`unhurried`: with its clock of tests), or with the one in the
# folder PACKAGE.
py()
{
	BUILD=$BUILD${HPDSL_FAULT_SLOW:+/tests/bed} \
		PYTHONPATH=${PACKAGE:-$SRC/lib/python}:$SRC/tests/python:$SRC/tests/kit \
		PYTHONDONTWRITEBYTECODE=1 with_library "$PYTHON" -W error "$@"
}

# cases CLASS..: the tests of these classes of tests/python, all of them.
cases()
{
	local ran
	py -m unittest -v "$@" 2> said || { cat said; return 1; }
	cat said
	ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' said)
	[ "$ran" -ge 1 ]
	! grep -i 'skipped=' said
}

# A child takes on the allocator's locks as they are: glibc takes care of its
# own, sanitizers do not.
forks_are_safe()
{
	[ -z "${SAN:-}" ] || skip "sanitizers and threads do not survive a fork"
}
