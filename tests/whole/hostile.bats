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
}

# Adds the exit status of a command to $line; "!" behind it: it crashed, or did
# not say what is wrong, or not in one line.
try()
{
	local status=0 lines=0 told=0 said text
	"$@" > out 2> err < /dev/null || status=$?
	line+=" $status"
	[ "$status" != 0 ] || return 0
	mapfile -t said < err
	for text in "${said[@]}"; do
		[[ $text != "$1: "* ]] || lines=$((lines + 1))
		[[ $text == *": warning: "* ]] || told=$((told + 1))
	done
	case $1.$status in
	limited.[123]) [ "$told" -ge 1 ] || line+=! ;;
	hpdsl-cat.[13]) [ "$lines" -ge 1 ] || line+=! ;; # one a member
	hpdsl-ls.1) [ "$lines" -ge 1 ] || line+=! ;; # one a kind of damage
	hpdsl-verify.1) [ -s out ] || line+=! ;;
	snapshot.[13]) [ -s out ] || [[ ${said[*]} == hpdsl-snapshot:* ]] ||
		line+=! ;;
	# a path that is there twice is the input's
	*.1 | *.3 | hpdsl-pack.2) [ "$told" = 1 ] || line+=! ;;
	*) line+="!" ;;
	esac
}

# What is in the folders around the one that files are restored to.
around()
{
	(cd .. && find . -path ./box/u -prune -o -path ./box/h -prune -o -print)
	find /tmp -maxdepth 1 -name 'escaped-*'
}

only_parts_of()
{
	(cd "$1" && find . -type f) | while read -r f; do
		cmp "$1/$f" "$2/$f" || exit
	done
}

# A line for an index: its name, the exit statuses of verify, ls, ls --samples,
# ls --chunks, cat by path, by number, unpack, index, and verify's first word.
try_index()
{
	local line=${1##*/}: message
	rm -rf h u
	mkdir h
	cp "$good"/tiny/chunk-* h
	cp "$1" h/index.hpdsl
	try hpdsl-verify -q h
	message=$(grep -m 1 '^index.hpdsl: ' out ||
		grep -m 1 'index.hpdsl: ' err ||
		grep -m 1 '^chunk' out || true)
	# nobody else reads what has no manifest; nor do readers look into it
	cp "$good/tiny/dataset.yaml" h
	try hpdsl-ls -l h
	try hpdsl-ls -l --samples h
	try hpdsl-ls -l --chunks h
	try hpdsl-cat h cat/1.jpg dog/2.json
	try hpdsl-cat --member=2 --sample=2 h
	try hpdsl-unpack -q h u
	[ ! -e u ] || only_parts_of u "$good/tree" || line+=" wrong!"
	rm h/dataset.yaml
	try hpdsl-index -q h
	echo "$line${message:+ ${message##*index.hpdsl: }}"
}

# The same for a manifest: verify, verify --quick, pack --resume, index.
try_manifest()
{
	local line=${1##*/}: message
	rm -rf h
	cp -R "$good/tiny" h
	cp "$1" h/dataset.yaml
	try hpdsl-verify -q h
	message=$(grep -m 1 '^dataset.yaml: ' out ||
		grep -m 1 'dataset.yaml: ' err ||
		grep -m 1 : out || true)
	try hpdsl-verify -q --quick h
	try hpdsl-pack -q --resume --shuffle=none --chunks=2 --labels=dir \
		"$good/tree" h
	try hpdsl-index -q h
	echo "$line${message:+ ${message##*dataset.yaml: }}"
}

# For a journal: pack --resume, and then verify.  A pack that is done has the
# right bytes; one that is not leaves no dataset.
try_journal()
{
	local line=${1##*/}: message
	rm -rf h
	mkdir h
	cp "$good/tiny/chunk-000000.tar" h
	cp "$1" h/journal.hpdsl
	try hpdsl-pack -q --resume --shuffle=none --chunks=2 --labels=dir \
		"$good/tree" h
	message=$(head -n 1 err)
	if [ "$line" = "${1##*/}: 0" ]; then
		diff -r h "$good/tiny" || line+=" wrong!"
	else
		[ "$(cd h && echo *)" = "chunk-000000.tar journal.hpdsl" ] ||
			line+=" left: $(cd h && echo *)!"
	fi
	try hpdsl-verify -q h
	echo "$line${message:+ ${message#hpdsl-pack: }}"
}

# For an archive: pack, and with --nested, each in little memory and time; then
# what was packed, and what verify --source and unpack say of it, or the error.
try_archive()
{
	local line=${1##*/}: message="" name nested
	name=${1##*/}
	for nested in "" --nested; do
		rm -rf h u
		cp "$1" "$name"
		try limited -q $nested --group=none "$name" h
		[ "${line##* }" = 0 ] || continue
		try hpdsl-verify -q --source="$name" h
		try hpdsl-unpack -q h u
	done
	if [ -d h ] && [ -e h/dataset.yaml ]; then
		message=$(hpdsl-ls h | head -n 5 | cut -c -60 | tr '\n' ' ')
	else
		message=$(grep -v ': warning: ' err | sed 's/^hpdsl-pack: //' |
			cut -c -150)
	fi
	rm "$name"
	echo "$line${message:+ ${message#"$name": }}"
}

# For a snapshot: verify, ls, stat, find, du, dump, load of what that printed, diff
# with the good one, check of a tree like it, pack --from-snapshot, and verify's
# first word.
try_snapshot()
{
	local line=${1##*/}: message
	rm -rf h u
	try snapshot verify -q "$1"
	message=$(cat out err | grep -m 1 "/${1##*/}: " || true)
	try snapshot ls -lR "$1"
	try snapshot stat "$1" cat cat/1.jpg dog/2.jpg link
	try snapshot find "$1"
	try snapshot du -a "$1"
	try snapshot dump "$1"
	mkdir u
	cp out u/text
	try snapshot load -q u/text -o u/snapshot
	try snapshot diff -q "$good/snapshot" "$1"
	try snapshot check -q "$1" live
	try hpdsl-pack -q --from-snapshot="$1" live h
	[ ! -e h ] || [ -e h/dataset.yaml ] ||
		[ "$(echo h/*)" = h/journal.hpdsl ] ||
		line+=" left: $(echo h/*)!"
	echo "$line${message:+ ${message##*"/${1##*/}: "}}"
}

snapshot()
{
	timeout 60 hpdsl-snapshot "$@"
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

# Sanitizers reserve more than any limit.
limited()
{
	(
		[ -n "${SAN:-}" ] || ulimit -v 1500000
		exec timeout 60 hpdsl-pack "$@"
	)
}

# Tries each file of bad/KIND; compares with what is expected.
try_all()
{
	local file count=0
	touch out err got before
	around > before
	for file in "$data/bad/$1"/*; do
		"try_$1" "$file" >> got
		count=$((count + 1))
	done
	around | diff before -
	[ "$count" -gt 25 ]
	diff "$data/bad/$1.expected" got
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
	hpdsl-pack -q --shuffle=none --chunks=2 --labels=dir "$good/tree" h
	diff -r h "$good/tiny"
	hpdsl-verify -q --source="$good/tree" h
}

@test "the good dataset with SHA-256 is what hpdsl-pack makes" {
	hpdsl-pack -q --shuffle=none --chunks=2 --labels=dir --digest=sha256 \
		"$good/tree" h
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

@test "hostile indexes" {
	try_all index
}

@test "an index of which the lookup table has no end" {
	cp -R "$good/tiny" h
	cp "$data/bad/index/lookup-loops" h/index.hpdsl
	fails 1 "h/index.hpdsl: the lookup table has no end" hpdsl-cat h absent
}

@test "hostile manifests" {
	try_all manifest
}

@test "hostile journals" {
	try_all journal
}

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
