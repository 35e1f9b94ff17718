#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: a choice of a dataset's files, and nothing else of it.
# shellcheck disable=SC2016,SC2154
# uses: meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree/train 3 40
	make_tree tree/val 3 20
	printf 'not a picture' > tree/train/LICENSE
	# the newest file of all is in the last folder
	find tree -type f -exec touch -d 2020-01-01 {} +
	touch -d 2024-01-01 tree/val/class2/00000.json
	hpdsl-pack -q --labels=parent --chunk-size=200K tree ds
	hpdsl-pack -q --labels=parent --chunk-size=200K --zstd=1 tree zst
}

# sees DIR OPTION.. -- TEST..: below MNT is what find finds below DIR, its
# folders where there is something in them, and the bytes are those; $packs may
# name the packs that are tried.
sees()
{
	local dir=$1 options=() ds
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf want
	mkdir want
	(cd "$from/tree/$dir" && find . -type f "$@" -print0 |
		xargs -0 cp -p --parents -t "$BATS_TEST_TMPDIR/want")
	for ds in ${packs:-ds}; do
		timeout 600 hpdsl-mount "${options[@]}" "$from/$ds" "$PWD/mnt" \
			-- bash -ec '
			diff -r want mnt
			[ "$(stat -f -c %b mnt)" -gt 0 ]
			[ "$(find mnt -links 1 | wc -l)" = \
				"$(find want | wc -l)" ]'
	done
}

@test "--include and --exclude: what is seen is what find finds" {
	packs="ds zst" sees . --include='*.png' -- -name '*.png'
	sees . --include='val/' --include='*/class1/*.json' --fill=on -- \
		'(' -path './val/*' -o -path './*/class1/*.json' ')'
	sees . --exclude='class[02]/' --exclude='*.txt' --fill=off -- \
		! -path '*/class[02]/*' ! -name '*.txt'
	sees . --folder=./ --include=train/LICENSE --exclude=val -- -name LICENSE
	# a pattern is for the whole path, whatever the top is
	sees train --folder=.//train/./ --include='train/*/*.json' --exclude=class1 \
		-- -path './class[02]/*.json'
}

@test "--label: the files of samples of a class" {
	sees . --label=class1 -- -path '*/class1/*'
	sees val --folder=val --label=class0 --label=class2 \
		--exclude='*.png' -- -path '*/class[02]/*' ! -name '*.png'
	[ "$(hpdsl-ls --label=class2 "$from/ds" | grep -c 'train/.*[.]txt$')" \
		= "$(hpdsl-mount --label=class2 --include='train/class2/*.txt' \
			"$from/ds" "$PWD/mnt" -- find mnt -type f | wc -l)" ]
}

@test "what is left out is not there, counts for nothing, and is not read" {
	hpdsl-mount --include='train/class1/*.png' --fill=on "$from/ds" \
		"$PWD/mnt" -- bash -ec '
		cd mnt
		for name in val train/LICENSE train/class0 train/class0/00001.png \
			train/class1/00001.json; do
			[ ! -e "$name" ]
			! cat "$name" 2> ../said
			grep -q "No such file" ../said
		done
		[ "$(stat -f -c %c .)" = 40 ]
		# what has the latest time is not chosen
		[ "$(date -ur train +%Y)" = 2020 ]
		cat train/class1/* | cksum > ../sum
		# 3: that of another test hangs, as it is to
		hpdsl-mount --status "$PWD" > ../words || [ $? = 3 ]
		hpdsl-mount --status --json "$PWD" > ../object || [ $? = 3 ]'
	cat "$from"/tree/train/class1/*.png | cksum | cmp - sum
	grep -q "^[^ ]*: .*/ds, some of its files\$" words
	python3 -c '
import json
m, = json.load(open("object"))["mounts"]
assert m["chosen"] is True and m["filled"] <= 40, m'
}

@test "nothing is chosen, or not all that was asked for: one line" {
	local option
	for option in --include='*.none' --exclude='*' --label=0\ --include=none; do
		# shellcheck disable=SC2086
		(set -f && fails 1 "$from/ds: no file is chosen" \
			hpdsl-mount $option "$from/ds" "$PWD/mnt" -- true
		[ "$(wc -l <<< "$message")" = 1 ])
	done
	fails 1 "no file in folder 'val' is chosen" hpdsl-mount --folder=val \
		--include=LICENSE "$from/ds" "$PWD/mnt" -- true
	fails 1 "no file in folder 'val' is chosen" hpdsl-mount --folder=val \
		--exclude=val/ "$from/ds" "$PWD/mnt" -- true
	fails 3 "no sample is in folder 'va', there are '" hpdsl-mount --folder=va \
		--exclude=val/ "$from/ds" "$PWD/mnt" -- true
	fails 1 "--label: no class 'class3'; there are 'class0', 'class1', 'class2'" \
		hpdsl-mount --label=class3 "$from/ds" "$PWD/mnt" -- true
	hpdsl-mount --include=LICENSE --include='*.none' "$from/ds" \
		"$PWD/mnt" -- find mnt -type f > found 2> said
	[ "$(cat found)" = mnt/train/LICENSE ]
	[ "$(wc -l < said)" = 1 ]
	grep -q -- "--include=\*[.]none: no file matches" said
}

@test "--join: another choice is another mount" {
	export -f until_true
	hpdsl-mount --join --include='*.png' "$from/ds" "$PWD/mnt" -- bash -c '
		readlink /proc/self/ns/mnt > one
		until_true test -e end' 3>&- &
	until_true test -s one
	hpdsl-mount --join --include='*.png' "$from/ds" "$PWD/mnt" -- \
		readlink /proc/self/ns/mnt > same
	hpdsl-mount --join --exclude='*.png' "$from/ds" "$PWD/mnt" -- \
		readlink /proc/self/ns/mnt > other
	touch end
	wait
	cmp one same
	run ! cmp -s one other
}
