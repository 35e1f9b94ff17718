#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Same input, options and seed: same bytes, whoever packs, where, and how.
# need_disk: its trees are on two kinds of file systems.

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in 3 60
	find in -exec touch -d '2021-03-04 05:06:07.25' {} +
	printf '%300s' long > "in/$(printf '%0120d' 0 | tr 0 n).bin"
	touch -d '1 May 2020' in/n*.bin
	pack -q in ref
	dataset_digest ref > digest
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	in=$BATS_FILE_TMPDIR/in
	want=$(cat "$BATS_FILE_TMPDIR/digest")
}

# Small chunks and little memory, so that there are many of both kinds of
# pieces: files whole in a segment, and files cut by one.
pack()
{
	hpdsl-pack --chunk-size 48K --memory 8M --labels=parent --seed 5 "$@"
}

dataset_id()
{
	sed -n 's/^dataset_id: //p' "$1/dataset.yaml"
}

# packs_same OPTION..: the pack of the file's tree is the reference.
packs_same()
{
	pack -q "$@" "$in" out || return
	[ "$(dataset_digest out)" = "$want" ] || {
		echo "other bytes with $*"
		diff -rq out "$BATS_FILE_TMPDIR/ref"
		return 1
	}
	rm -r out
}

@test "the reference has enough of everything to be worth comparing" {
	[ "$(find "$BATS_FILE_TMPDIR/ref" -name 'chunk-*.tar' | wc -l)" -ge 10 ]
	hpdsl-verify -q --source "$in" "$BATS_FILE_TMPDIR/ref"
}

@test "threads: 0, 1, 2 and 8 make the same bytes" {
	local j
	for j in 0 1 2 8; do
		packs_same -j "$j"
	done
}

@test "readers: 1 and 16 make the same bytes" {
	packs_same --readers 1
	packs_same --readers 16
	packs_same -j 0 --readers 1
	packs_same -j 8 --readers 64
}

@test "memory makes no difference" {
	packs_same --memory 8M
	packs_same --memory 64M
}

@test "files longer than a segment: same bytes for any threads and readers" {
	local digest=
	mkdir big
	for n in 1 2 3; do
		yes "line $n of a long file" | head -c 9000001 > "big/$n.bin"
	done
	for o in "-j 0" "-j 1 --readers 1" "-j 2 --readers 3" "-j 8" \
		"--memory 256M"; do
		# shellcheck disable=SC2086
		hpdsl-pack -q --memory 8M --chunks 2 $o big out
		: "${digest:=$(dataset_digest out)}"
		[ "$(dataset_digest out)" = "$digest" ]
		rm -r out
	done
}

@test "a copy of the tree elsewhere, by another name: same bytes" {
	mkdir -p a/b
	cp -a "$in" "a/b/other name"
	in="a/b/other name" packs_same
	cd "a/b/other name"
	in=. packs_same_below
}

packs_same_below()
{
	pack -q . ../../../out
	[ "$(dataset_digest ../../../out)" = "$want" ]
}

@test "the order in which readdir tells names makes no difference" {
	local shm
	shm=$(mktemp -d /dev/shm/hpdsl.XXXXXX) || skip "no /dev/shm"
	# tmpfs tells names in the order of their making, or its reverse
	(cd "$in" && find . -type d) > dirs
	(cd "$in" && find . -type f | LC_ALL=C sort) > forth
	tac forth > back
	for way in forth back; do
		mkdir "$shm/$way"
		(cd "$shm/$way" && xargs -d '\n' mkdir -p) < dirs
		tar -C "$in" --format=posix -cf - -T "$way" |
			tar -C "$shm/$way" -xpf -
	done
	find "$shm/forth" -printf '%P\n' > a
	find "$shm/back" -printf '%P\n' > b
	if cmp -s a b; then
		rm -r "$shm"
		skip "readdir tells the same order"
	fi
	in=$shm/forth packs_same && in=$shm/back packs_same || {
		rm -r "$shm"
		return 1
	}
	rm -r "$shm"
}

@test "locale, umask, time and zone make no difference" {
	LC_ALL=C packs_same
	LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo packs_same
	(umask 077 && packs_same)
}

@test "a list in any order makes the same chunks and index as the walk" {
	(cd "$in" && find . -type f) | shuf > list
	(cd "$in" && find . -type f -print0) | shuf -z > list0
	pack -q --files-from list "$in" a
	pack -q -0 --files-from list0 "$in" b
	diff -r a b
	# the manifest says that litter was left out
	diff -r -x dataset.yaml a "$BATS_FILE_TMPDIR/ref"
}

@test "two inputs in either order make the same bytes" {
	pack -q "$in/class0" "$in/class1" --prefix-input ab
	pack -q "$in/class1" "$in/class0" --prefix-input ba
	[ "$(dataset_digest ab)" = "$(dataset_digest ba)" ]
}

@test "the dataset id names the content, not how it is packed" {
	local id n=0
	id=$(dataset_id "$BATS_FILE_TMPDIR/ref")
	[[ $id =~ ^[0-9a-f]{32}$ ]]
	for o in --seed=6 --shuffle=none --chunk-size=1M --chunks=7 \
		--samples-per-chunk=11 --group=none --labels=none \
		--meta=a=b --multiple-of=8; do
		n=$((n + 1))
		hpdsl-pack -q "$o" "$in" "o$n"
		[ "$(dataset_id "o$n")" = "$id" ] || { echo "$o"; return 1; }
	done
	cp -a "$in" touched
	find touched -exec touch {} + -exec chmod u=rwX,go= {} +
	hpdsl-pack -q touched touched.out
	[ "$(dataset_id touched.out)" = "$id" ]
}

@test "the dataset id changes with a byte, a name, a file more or less" {
	local id ids=
	id=$(dataset_id "$BATS_FILE_TMPDIR/ref")
	cp -a "$in" c
	for change in "printf X | dd of=c/class0/00001.png conv=notrunc" \
		"mv c/class1/00002.json c/class1/00002.jsoN" \
		"rm c/class2/00003.json" "touch c/empty"; do
		eval "$change" 2> /dev/null
		hpdsl-pack -q c o
		ids+="$(dataset_id o)"$'\n'
		rm -r o
	done
	# shellcheck disable=SC2086
	[ "$(printf '%s\n' "$id" $ids | sort -u | wc -l)" = 5 ]
}

@test "another seed makes other chunks, the same number of samples in each" {
	hpdsl-pack -q --chunks 10 --seed 1 "$in" one
	hpdsl-pack -q --chunks 10 --seed 2 "$in" two
	hpdsl-pack -q --chunks 10 --seed 18446744073709551615 "$in" last
	for c in one/chunk-*.tar; do
		for other in two last; do
			if cmp -s "$c" "$other/${c#*/}"; then
				echo "$c is the same in $other"
				return 1
			fi
		done
	done
	hpdsl-ls one | sort > a
	hpdsl-ls two | sort > b
	cmp a b
}

# If this fails, what is on disk has changed: is that meant?  Then the format
# page says so, too, and datasets of before must still be read.
@test "golden: a small dataset's bytes are what they always were" {
	umask 022
	mkdir -p g/cat g/dog
	printf 'meow' > g/cat/1.png
	printf '{"legs": 4}\n' > g/cat/1.json
	printf 'purr%.0s' {1..300} > g/cat/2.png
	: > g/dog/empty.txt
	printf 'wuff' > "g/dog/big dog.v2.jpg"
	printf '\x00\xff' > g/dog/.hidden
	printf 'long' > "g/dog/$(printf '%0150d' 0)"
	chmod 644 g/*/* g/dog/.hidden
	chmod 400 g/cat/1.json
	chmod 755 g/cat/2.png
	find g -exec touch -d '2020-02-29 12:34:56.789012345 UTC' {} +
	touch -d '1969-12-31 23:59:58.5 UTC' g/dog/empty.txt
	hpdsl-pack -q --chunks 2 --seed 42 --labels=dir --meta licence=CC0 g out
	(cd out && sha256sum -- *) > got
	diff got - <<'END'
904be1ca7c7538c953fa9e898b0adddab53f9f1c039c84bfe23f02e6f34e0645  chunk-000000.tar
5e70f2f79b675c1d95c8d3249040e3775d9fcb652fa3aae142a858dd39fbce0e  chunk-000001.tar
46980c23eace6abba0a5ab47ca0b0124a7ea3187bb5fc0381e4d717160872763  dataset.yaml
0ffa0936102a67acb4cedfc99fd49d18bf554288731035a0797e29c42276dd0b  index.hpdsl
END
}
