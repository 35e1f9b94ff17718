#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hostile files of tests/data/bad, each named by its defect, whose checksums
# are right: what each command makes of them, as the .expected files have it,
# and that nothing is written where it does not belong.

load lib

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
	local status=0 lines
	"$@" > out 2> err < /dev/null || status=$?
	line+=" $status"
	lines=$(grep -c "^$1: " err || true)
	case $1.$status in
	*.0) ;;
	limited.[123]) [ "$(grep -v -c "warning: " err)" -ge 1 ] || line+=! ;;
	hpdsl-cat.[13]) [ "$lines" -ge 1 ] || line+=! ;; # one a member
	hpdsl-ls.1) [ "$lines" -ge 1 ] || line+=! ;; # one a kind of damage
	hpdsl-verify.1) [ -s out ] || line+=! ;;
	*.1 | *.3) [ "$(grep -v -c ": warning: " err)" = 1 ] || line+=! ;;
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
	try hpdsl-ls -l h
	try hpdsl-ls -l --samples h
	try hpdsl-ls -l --chunks h
	try hpdsl-cat h cat/1.jpg dog/2.json
	try hpdsl-cat --member=2 --sample=2 h
	try hpdsl-unpack -q h u
	[ ! -e u ] || only_parts_of u "$good/tree" || line+=" wrong!"
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
	for part in good bad/index bad/manifest bad/journal bad/archive; do
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
	rm h/dataset.yaml
	hpdsl-ls h | diff - <(hpdsl-ls "$good/tiny")
	hpdsl-unpack -q h u
	same_trees u "$good/tree"
	cp "$good/tiny/index.hpdsl" h
	cp "$good/manifest-later" h/dataset.yaml
	hpdsl-verify -q h
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
