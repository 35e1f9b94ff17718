#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hostile files of tests/data/bad, each named by its defect, whose checksums
# are right: what each command makes of them, as the .expected files have it,
# and that nothing is written where it does not belong.

bats_require_minimum_version 1.5.0
load ../kit/lib

data=$SRC/tests/data

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -R "$data/good" .
	find good/tree -type f -exec chmod 644 {} + \
		-exec touch -d @1700000000.123456789 {} +
	good=$PWD/good
	mkdir box
	cd box || return 1
	echo . > all
}

# What is in the folders around the one that files are restored to.
around()
{
	(cd .. && find . -path ./box/u -prune -o -path ./box/h -prune -o -print)
	find /tmp -maxdepth 1 -name 'escaped-*'
}

# The tree of good/snapshot.
make_live()
{
	mkdir -p live/cat/big live/dog
	printf meow > live/cat/1.jpg
	printf '{"n": 1}\n' > live/cat/1.json
	printf roar! > live/cat/big/tiger.jpg
	printf 'woof, woof' > live/dog/2.jpg
	printf 'read me' > live/readme
	ln -s cat/1.jpg live/link
	chmod 755 live live/cat live/cat/big live/dog
	chmod 644 live/cat/*.* live/cat/big/* live/dog/* live/readme
	find live -exec touch -h -d @1700000000.000000005 {} +
}

of_this_level()
{
	awk -v every="$(rounds 3 100000 100000)" 'NR % every'
}

# Tries the files of bad/KIND, two of three in check; compares with what is
# expected.
try_all()
{
	local files
	mapfile -t files < <(printf '%s\n' "$data/bad/$1"/* | of_this_level)
	touch out err got before
	around > before
	"$SRC/tests/kit/hostile.py" "$1" "$good" "${files[@]}" > got
	around | diff before -
	[ "${#files[@]}" -gt 16 ]
	of_this_level < "$data/bad/$1.expected" | diff - got
	run grep '!' got
	[ "$status" = 1 ]
}

@test "the files are what make.py makes" {
	"$data/make.py" made
	"$data/make_archives.py" made
	"$data/make_snapshots.py" made
	for part in good bad/index bad/manifest bad/journal bad/archive \
		bad/snapshot; do
		diff -r "made/$part" "$data/$part"
	done
}

@test "the good dataset is what hpdsl-pack makes" {
	hpdsl-pack -q --shuffle=none --chunks=2 --labels=dir --files-from=all \
		"$good/tree" h
	diff -r h "$good/tiny"
	hpdsl-verify -q --source="$good/tree" h
}

@test "the good dataset with SHA-256 is what hpdsl-pack makes" {
	hpdsl-pack -q --shuffle=none --chunks=2 --labels=dir --digest=sha256 \
		--files-from=all "$good/tree" h
	cp "$good"/tiny/chunk-* "$good/sha256"
	diff -r h "$good/sha256"
	(cd h && sha256sum --quiet -c SHA256SUMS)
	hpdsl-verify -q h
}

@test "a later version's unknown parts are passed over" {
	cp -R "$good/tiny" h
	cp "$good/index-later" h/index.hpdsl
	hpdsl-ls h | diff - <(hpdsl-ls "$good/tiny")
	hpdsl-unpack -q h u
	same_trees u "$good/tree"
	cp "$good/tiny/index.hpdsl" h
	cp "$good/manifest-later" h/dataset.yaml
	hpdsl-ls h | diff - <(hpdsl-ls "$good/tiny")
	hpdsl-index -q h
	# whoever checks does not pass them over
	cp "$good/manifest-later" h/dataset.yaml
	run -1 hpdsl-verify -q h
	[ "$output" = "dataset.yaml: line 22: a key that is not known" ]
}

# bats test_tags=wide
@test "hostile indexes" {
	try_all index
}

@test "an index of which the lookup table has no end" {
	cp -R "$good/tiny" h
	cp "$data/bad/index/lookup-loops" h/index.hpdsl
	fails 1 "h/index.hpdsl: the lookup table has no end" hpdsl-cat h absent
}

# bats test_tags=wide
@test "hostile manifests" {
	try_all manifest
}

# bats test_tags=wide
@test "hostile journals" {
	try_all journal
}

# bats test_tags=wide
@test "hostile archives" {
	try_all archive
}

@test "the good snapshot is what hpdsl-snapshot makes" {
	make_live
	hpdsl-snapshot verify -q "$good/snapshot"
	# sizes of folders are the file system's
	hpdsl-snapshot create -q live -o made
	hpdsl-snapshot diff made "$good/snapshot"
	for s in made "$good/snapshot"; do
		hpdsl-snapshot dump "$s" | sed 's/^\(d [0-7]*\) [0-9]*/\1 4096/' |
			hpdsl-snapshot load -q - -o "${s##*/}.loaded"
	done
	cmp made.loaded snapshot.loaded
	cmp snapshot.loaded "$good/snapshot"
}

# bats test_tags=wide
@test "hostile snapshots" {
	make_live
	try_all snapshot
}

@test "a journal of the format page's: completed, its chunk kept" {
	mkdir h
	cp "$good/tiny/chunk-000000.tar" h
	cp "$good/journal" h/journal.hpdsl
	touch -d 2001-01-01 h/chunk-000000.tar
	hpdsl-pack --json --resume --shuffle=none --chunks=2 --labels=dir \
		"$good/tree" h > out
	grep -q '"resumed_chunks": 1,' out
	diff -r h "$good/tiny"
	[ "$(stat -c %Y h/chunk-000000.tar)" = "$(date -d 2001-01-01 +%s)" ]
}
