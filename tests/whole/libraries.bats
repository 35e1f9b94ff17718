#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The environment of others' libraries, which tests of this level run in.
# bats file_tags=libraries

load ../kit/lib
load ../kit/torch

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "the libraries are of the versions that are pinned" {
	"$python" - "$SRC/tests/libraries/requirements.txt" <<-'E'
		import importlib.metadata as metadata, sys
		for line in open(sys.argv[1]).read().split("# streaming")[0].splitlines():
		    name, _, version = line.partition("==")
		    if version:
		        assert metadata.version(name) == version, (name, version)
	E
}

@test "where no index answers one line says so" {
	run env PIP_CONFIG_FILE=/dev/null PIP_INDEX_URL="file://$PWD/none" \
		PIP_EXTRA_INDEX_URL= PIP_FIND_LINKS= \
		"$SRC/tests/libraries/environment" /usr/bin/python3 made
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output = "libraries: no package index that has "* ]]
	[ ! -e made/made ]
}
