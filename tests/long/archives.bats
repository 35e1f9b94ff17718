#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A whole kernel, as its archive, as its tree, in every form.

load ../kit/lib

kernel=/usr/src/linux-source-6.1.tar.xz

setup_file()
{
	[ -f "$kernel" ] || skip "no $kernel (package linux-source-6.1)"
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir tree
	tar -xJf "$kernel" -C tree
	hpdsl-pack -q tree want
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	tree=$BATS_FILE_TMPDIR/tree
	want=$BATS_FILE_TMPDIR/want
}

@test "the archive that Debian ships gives what its tree gives" {
	hpdsl-pack -q --digest=sha256 "$kernel" out
	for f in "$want"/chunk-*; do
		cmp "$f" "out/${f##*/}"
	done
	diff <(grep ^dataset_id: "$want/dataset.yaml") \
		<(grep ^dataset_id: out/dataset.yaml)
	(cd out && sha256sum --check --quiet SHA256SUMS)
	hpdsl-verify -q --thorough --source="$kernel" out
}

@test "killed up to ten times, in the scan and in the middle" {
	local n killed=0
	for ((n = 0; n < 10; n++)); do
		timeout -s KILL $((5 + 2 * n)) hpdsl-pack -q --resume \
			"$kernel" out && break
		killed=$((killed + 1))
	done
	[ "$killed" -gt 0 ]
	hpdsl-pack -q --resume "$kernel" out
	diff -r "$want" out
}

@test "portable names, compressed, with all side files, and back" {
	hpdsl-pack -q --names=portable --zstd --emit=dali,energon,wids \
		"$tree" out
	hpdsl-verify -q --thorough out
	# links have become files
	hpdsl-unpack -q out back
	hpdsl-pack -q back again
	diff -r "$want" again
	rm -r again
	hpdsl-pack -q out again
	diff -r "$want" again
}
