#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The archives that libarchive and CPython have for their own tests, as Debian ships
# them: what is packed has the names and bytes that other readers find, where these
# agree; what is refused is on a list.

load ../kit/lib
load ../kit/chroot

@test "no wrong byte and no wrong name; what is refused, and why" {
	local reader
	for reader in bsdtar unzip 7z; do
		need $reader
	done
	cd "$BATS_TEST_TMPDIR" || return 1
	debian_sources sources libarchive python3.11
	"$SRC/tests/kit/source_archives.py" find sources/*-*/ archives
	"$SRC/tests/kit/source_archives.py" try archives/* > got
	echo "# $(find archives -type f | wc -l) archives, $(grep -c ': packed' got) packed" >&3
	grep '^[^#]' "$SRC/tests/data/source_archives.txt" | LC_ALL=C sort |
		diff - <(LC_ALL=C sort got)
}
