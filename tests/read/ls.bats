#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-ls: paths, long form, patterns, samples, chunks, JSON.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 20
	printf 1 > $'tree/class0/new\nline.txt'
	printf 2 > 'tree/class0/back\slash.txt'
	printf 3 > $'tree/class1/no\xffutf8.txt'
	chmod 640 tree/class1/00007.json
	touch -d '2024-05-01 12:00:00.5 UTC' tree/class1/00007.json
	hpdsl-pack -q --labels=dir --chunks 3 tree ds
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "ls: every path once, in the chunks' order" {
	hpdsl-ls -0 ds > "$BATS_TEST_TMPDIR/names"
	for chunk in ds/chunk-*.tar; do
		tar tf "$chunk" --quoting-style=literal --null
	done > "$BATS_TEST_TMPDIR/tar" || true
	tr '\0' '\n' < "$BATS_TEST_TMPDIR/names" |
		cmp - "$BATS_TEST_TMPDIR/tar"
}

@test "ls: newline and backslash are escaped, -0 prints names as they are" {
	hpdsl-ls ds | grep -Fx 'class0/new\nline.txt'
	hpdsl-ls ds | grep -Fx 'class0/back\\slash.txt'
	hpdsl-ls -0 ds | tr '\0\n' '\n?' | grep -Fx 'class0/new?line.txt'
	hpdsl-ls -0 ds | grep -zFx 'class0/back\slash.txt'
}

@test "ls -l: mode, size, time, place and label of a member" {
	hpdsl-ls -l ds class1/00007.json > "$BATS_TEST_TMPDIR/out"
	read -r mode size day clock chunk offset sample label path \
		< "$BATS_TEST_TMPDIR/out"
	[ "$mode" = -rw-r----- ]
	[ "$day $clock" = "2024-05-01 12:00:00" ]
	[ "$label" = class1 ]
	[ "$path" = class1/00007.json ]
	[ "$size" = "$(stat -c %s tree/class1/00007.json)" ]
	dd if="ds/chunk-$(printf %06d "$chunk").tar" bs=1 skip="$offset" \
		count="$size" status=none | cmp - tree/class1/00007.json
	hpdsl-cat ds --sample "$sample" |
		cmp - <(cat tree/class1/00007.{json,png,txt})
}

@test "ls: a glob without a slash matches base names, with one the path" {
	[ "$(hpdsl-ls ds '0000?.png' | wc -l)" = 20 ]
	[ "$(hpdsl-ls ds 'class1/0000?.png' | wc -l)" = 10 ]
	[ "$(hpdsl-ls ds '*/*.png' | wc -l)" = 40 ]
	[ "$(hpdsl-ls ds 00003.png)" = "$(hpdsl-ls ds '*/00003.png')" ]
}

@test "ls: a slash at the end is all below, one in front the top" {
	[ "$(hpdsl-ls ds class1/)" = "$(hpdsl-ls ds 'class1/**')" ]
	[ "$(hpdsl-ls ds class1/ | wc -l)" -gt 20 ]
	[ "$(hpdsl-ls ds /class0/00001.png)" = class0/00001.png ]
	fails 1 "/00001.png: no member matches; the first is 'class" hpdsl-ls ds /00001.png
}

@test "ls: each member once, however many patterns match" {
	[ "$(hpdsl-ls ds class0/00001.png '*00001.png' class0/00001.png |
		wc -l)" = 2 ]
}

@test "ls: an exact path may hold glob characters" {
	[ "$(hpdsl-ls ds 'class0/back\slash.txt')" = \
		'class0/back\\slash.txt' ]
}

@test "ls: what matches nothing is named, the rest is listed, exit 1" {
	run --separate-stderr hpdsl-ls ds nothing class0/00001.png no/such
	[ "$status" = 1 ]
	[ "$output" = class0/00001.png ]
	[[ $stderr = *"hpdsl-ls: nothing: "* ]]
	[[ $stderr = *"hpdsl-ls: no/such: "* ]]
}

@test "ls --samples, --chunks, --label" {
	[ "$(hpdsl-ls --samples ds | wc -l)" = 43 ]
	hpdsl-ls --samples ds | grep -Fx class0/00003
	[ "$(hpdsl-ls --chunks ds | tr '\n' ' ')" = \
		"chunk-000000.tar chunk-000001.tar chunk-000002.tar " ]
	[ "$(hpdsl-ls --chunks ds 'class0/00001.*' | wc -l)" = 1 ]
	hpdsl-ls --label class1 ds | LC_ALL=C sort > "$BATS_TEST_TMPDIR/out"
	(cd tree && find class1 -type f | LC_ALL=C sort) |
		cmp - "$BATS_TEST_TMPDIR/out"
	fails 1 "no class 'class9'; there are 'class0'" hpdsl-ls --label class9 ds
	fails 2 "once" hpdsl-ls --samples --chunks ds
}

@test "ls -l --chunks: samples and bytes add up" {
	hpdsl-ls -l --chunks ds | {
		samples=0
		while read -r first n members bytes sum name; do
			[ "$first" = "$samples" ]
			[ "$members" -gt 0 ]
			[ "$bytes" = "$(stat -c %s "ds/$name")" ]
			grep -q "$name, .*$sum" ds/dataset.yaml
			samples=$((samples + n))
		done
		[ "$samples" = 43 ]
	}
}

@test "ls --json: one object a line; a name that is no UTF-8 comes back" {
	hpdsl-ls --json ds > "$BATS_TEST_TMPDIR/out"
	hpdsl-ls --json --samples ds > "$BATS_TEST_TMPDIR/samples"
	hpdsl-ls --json --chunks ds > "$BATS_TEST_TMPDIR/chunks"
	python3 - tree "$BATS_TEST_TMPDIR" <<-'END'
	import base64, json, os, sys
	tree, out = os.fsencode(sys.argv[1]), sys.argv[2]
	seen = 0
	for line in open(out + "/out", encoding="utf-8"):
	    m = json.loads(line)
	    path = m["path"].encode()
	    if "path_base64" in m:
	        path = base64.b64decode(m["path_base64"])
	        assert "\ufffd" in m["path"]
	    s = os.stat(os.path.join(tree, path))
	    assert s.st_size == m["size"]
	    assert s.st_mtime_ns == m["mtime"] * 10**9 + m["mtime_nsec"]
	    assert s.st_mode & 0o777 == int(m["mode"], 8)
	    assert m["class"] == path.split(b"/")[0].decode()
	    with open("ds/chunk-%06d.tar" % m["chunk"], "rb") as chunk, \
	            open(os.path.join(tree, path), "rb") as f:
	        chunk.seek(m["offset"])
	        assert chunk.read(m["size"]) == f.read()
	    seen += 1
	samples = [json.loads(s) for s in open(out + "/samples")]
	chunks = [json.loads(s) for s in open(out + "/chunks")]
	assert sum(s["members"] for s in samples) == seen
	assert sum(c["samples"] for c in chunks) == len(samples)
	assert sum(c["members"] for c in chunks) == seen
	END
}

@test "ls: no dataset is trouble; a full disk is, too" {
	fails 3 "none" hpdsl-ls none
	fails 3 "no dataset.yaml" hpdsl-ls tree
	for form in "" -l --json --samples --chunks; do
		status=0
		# shellcheck disable=SC2086
		hpdsl-ls $form ds > /dev/full 2> "$BATS_TEST_TMPDIR/err" ||
			status=$?
		[ "$status" = 3 ]
		grep "standard output: No space left" "$BATS_TEST_TMPDIR/err"
	done
}

@test "ls: a reader that leaves ends it quietly" {
	mkdir "$BATS_TEST_TMPDIR/big"
	cd "$BATS_TEST_TMPDIR"
	for ((i = 0; i < 3000; i++)); do : > "big/$i.x"; done
	hpdsl-pack -q big packed
	status=0
	(set -o pipefail
	env --default-signal=PIPE hpdsl-ls --json packed 2> err |
		head -n 1 > /dev/null) || status=$?
	[ "$status" = 141 ]
	[ ! -s err ]
}

@test "ls: a pattern finds what lies behind a damaged block of the index" {
	mkdir "$BATS_TEST_TMPDIR/big"
	cd "$BATS_TEST_TMPDIR"
	# rows of more than three blocks of 64 KiB
	(cd big && seq -f '%06g.x' 4000 | xargs touch)
	hpdsl-pack -q --shuffle=none big packed
	# in the middle of MEMBERS, behind header, table and 4000 samples
	printf X | dd of=packed/index.hpdsl bs=1 seek=$((3 * 65536)) \
		conv=notrunc status=none
	status=0
	hpdsl-ls packed > all 2> err || status=$?
	[ "$status" = 1 ]
	[ "$(wc -l < err)" = 1 ]
	[ "$(wc -l < all)" -lt 4000 ]
	grep -qx 004000.x all
	status=0
	hpdsl-ls packed '*.x' > found 2> err || status=$?
	[ "$status" = 1 ]
	cmp all found
}
