# SPDX-License-Identifier: Apache-2.0
# For tests of snapshots: `load ../kit/snapshot` behind `load ../kit/lib`.
# shellcheck shell=bash

# python SCRIPT ARG..: one of tests/kit, which may load the library under test.
python()
{
	local script=$1
	shift
	with_library python3 "$SRC/tests/kit/$script" "$@"
}

# make_snapshot FILE FOLDERS FILES: of no tree, and so quickly made.
make_snapshot()
{
	awk -v folders="$2" -v files="$3" 'BEGIN {
		print "hpdsl-snapshot 1\nd 0755 4096 0.000000000 - - ."
		for (d = 0; d < folders; d++) {
			folder = sprintf("train-%06d", d)
			printf "d 0755 4096 %d.000000000 - - %s\n", d, folder
			for (f = 0; f < files; f++)
				printf "f 0644 %d %d.123456789 - - " \
					"%s/image-%08d.jpg\n", f * 7, f,
					folder, f
		}
	}' | hpdsl-snapshot load -q - -o "$1"
}

# digests FILE: both, and nothing else.
digests()
{
	hpdsl-snapshot verify --json "$1" |
		grep -o '"\(files_\)\{0,1\}digest": "[0-9a-f]\{32\}"'
}

# nothing_beside FOLDER: no temporary file is left in it.
nothing_beside()
{
	! find "$1" -maxdepth 1 -name '.*.part' | grep .
}
