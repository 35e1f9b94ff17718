#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-verify: its modes, what it prints, its exit statuses.  What damage it
# finds is in damage.bats.
# need_disk: extended attributes, which not every tmpfs has.
# bats file_tags=quick

bats_require_minimum_version 1.5.0

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 5
	touch -d '2020-01-01 12:00:00.123456789' tree/class0/00000.png
	ln -s 00000.png tree/class0/link.png
	hpdsl-pack -q --labels=dir --chunks=3 tree packed
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR/packed" "$BATS_FILE_TMPDIR/tree" .
}

# finds STATUS LINE.. -- ARGUMENTS..: hpdsl-verify ends so and prints just
# these lines, in any order.
finds()
{
	local want=$1 status=0
	shift
	: > want
	while [ "$1" != -- ]; do
		echo "$1" >> want
		shift
	done
	shift
	hpdsl-verify "$@" > out 2> err || status=$?
	if [ "$status" != "$want" ] || ! diff <(sort want) <(sort out); then
		echo "wanted exit $want, got $status from: hpdsl-verify $*"
		cat err
		return 1
	fi
}

# The line for a file that differs from its source.
line()
{
	local number
	number=$(hpdsl-ls --json packed "$1" | grep -o '"sample": [0-9]*')
	echo "sample ${number#*: }: $1: $2"
}

@test "a sound dataset: nothing on stdout, a summary, exit 0" {
	for how in "" -j0 -j1 -j8 --quick --source=tree "--quick --source=tree"; do
		# shellcheck disable=SC2086
		finds 0 -- $how packed
		grep -q '^hpdsl-verify: sound' err
		[ "$(grep -vc 'but not kept: 1 link to a file$' err)" = 1 ]
		# shellcheck disable=SC2086
		finds 0 -- -q $how packed
		[ ! -s err ]
	done
}

@test "--json: one object, its counts those of the dataset" {
	hpdsl-verify --json packed > out
	python3 - <<- 'END'
		import json, os
		r = json.load(open("out"))
		assert r["sound"] is True and r["quick"] is False
		assert (r["chunks"], r["samples"], r["members"]) == (3, 16, 40), r
		assert r["bytes"] == sum(e.stat().st_size for e in os.scandir("packed"))
		for k in "files", "chunks", "samples":
		    assert r["damaged_" + k] == 0
		assert r["unlisted"] == 0 and r["damage"] == []
		assert "differing" not in r and r["seconds"] >= 0
		text = open("packed/dataset.yaml").read()
		assert f"dataset_id: {r['dataset_id']}\n" in text
	END
	hpdsl-verify --json --quick --source=tree packed > out
	grep -q '"quick": true,' out
	grep -q '"differing": 0,' out
}

@test "--json: damage is an array of objects" {
	rm packed/chunk-000000.tar
	printf '\377' | dd of=packed/chunk-000002.tar bs=1 seek=513 \
		conv=notrunc status=none
	run hpdsl-verify -q --json packed
	[ "$status" = 1 ]
	echo "$output" > out
	python3 - <<- 'END'
		import json
		r = json.load(open("out"))
		assert r["sound"] is False
		assert (r["damaged_files"], r["damaged_chunks"]) == (2, 2)
		lost, flipped = sorted(r["damage"], key=lambda d: d["file"])
		assert lost["file"] == "chunk-000000.tar", lost
		assert lost["reason"].startswith("is missing (samples 0-5)"), lost
		assert flipped["file"] == "chunk-000002.tar"
		assert flipped["reason"] == "checksum differs"
		assert flipped["sample"] == 11 and flipped["path"], flipped
		assert r["damaged_samples"] == 7, r
	END
}

@test "names of any bytes are told so that one is a line" {
	mkdir odd
	printf x > odd/$'new\nline.txt'
	printf y > odd/$'back\\slash.txt'
	printf z > odd/$'not-utf-8-\377.txt'
	hpdsl-pack -q --chunks=1 odd packed2
	for at in 512 1536 2560; do
		printf '\377' | dd of=packed2/chunk-000000.tar bs=1 seek=$at \
			conv=notrunc status=none
	done
	run hpdsl-verify -q packed2
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 3 ]
	grep -qF 'new\nline.txt: checksum differs' <<< "$output"
	grep -qF 'back\\slash.txt: checksum differs' <<< "$output"
	run hpdsl-verify -q --json packed2
	echo "$output" | python3 -c '
import base64, json, sys
d = json.load(sys.stdin)["damage"]
paths = [base64.b64decode(x["path_base64"]) for x in d if "path_base64" in x]
assert paths == [b"not-utf-8-\xff.txt"], paths
assert "new\nline.txt" in [x["path"] for x in d]'
}

@test "--source: everything that can differ, and nothing else" {
	local want=()
	echo changed >> tree/class0/00000.json
	want+=("$(line class0/00000.json "size differs")")
	printf X | dd of=tree/class0/00001.json conv=notrunc status=none
	want+=("$(line class0/00001.json "content differs")")
	touch -r "$BATS_FILE_TMPDIR/tree/class0/00001.json" \
		tree/class0/00001.json
	rm tree/class0/00002.json
	want+=("$(line class0/00002.json "is absent")")
	echo new > tree/class0/new.txt
	want+=("class0/new.txt: is not in the dataset")
	touch -d '2020-01-01 12:00:00.123456788' tree/class0/00000.png
	want+=("$(line class0/00000.png "mtime differs")"
		"$(line class0/link.png "mtime differs")")
	chmod 600 tree/class1/00001.png
	want+=("$(line class1/00001.png "mode differs")")
	for j in 0 4; do
		finds 1 "${want[@]}" -- -j $j --source=tree packed
		grep -q 'different from tree: 7 files' err
	done
	finds 1 "${want[@]}" -- -q --quick --source=tree packed
	[ ! -s err ]
	run hpdsl-verify -q --json --source=tree packed
	[ "$status" = 1 ]
	grep -q '"sound": true,.*"differing": 7,' <<< "$output"
	finds 0 -- -q packed
}

@test "--source: a file in the place of a folder, an empty tree" {
	rm -r tree/class1
	echo x > tree/class1
	run hpdsl-verify -q --source=tree packed
	[ "$status" = 1 ]
	grep -qx 'class1: is not in the dataset' <<< "$output"
	n=$(hpdsl-ls packed 'class1/*' | wc -l)
	[ "$(grep -c 'class1/.*: is absent$' <<< "$output")" = "$n" ]
	mkdir empty
	run hpdsl-verify -q --source=empty packed
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 40 ]
}

@test "--source: damage and differences are told together" {
	echo new > tree/new.txt
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=513 \
		conv=notrunc status=none
	run hpdsl-verify -q --source=tree packed
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 2 ]
	grep -q '^chunk-000001.tar: .*checksum differs$' <<< "$output"
	grep -qx 'new.txt: is not in the dataset' <<< "$output"
}

@test "--source: walked with the options of the pack" {
	mkdir -p in/a in/b
	echo 1 > in/a/1.txt
	echo 2 > in/a/2.log
	echo 3 > in/b/3.txt
	hpdsl-pack -q --prefix-input --include='*.txt' in/a in/b packed2
	finds 0 -- -q --source=in/a packed2
	finds 0 -- -q --source=in/b packed2
	echo 4 >> in/b/3.txt
	finds 0 -- -q --source=in/a packed2
	run hpdsl-verify -q --source=in/b packed2
	[ "$status" = 1 ]
}

@test "--quick finds what is missing or cut, and no flipped bit" {
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=513 \
		conv=notrunc status=none
	finds 0 -- -q --quick packed
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=100 \
		conv=notrunc status=none
	run hpdsl-verify -q --quick packed
	[ "$status" = 1 ]
	grep -q 'chunk-000001.tar: .*header differs' <<< "$output"
	truncate -s 20480 packed/chunk-000002.tar
	run hpdsl-verify -q --quick packed
	[ "$status" = 1 ]
	grep -q 'chunk-000002.tar: is 20480 bytes' <<< "$output"
}

@test "what is no dataset, or cannot be read: exit 3, one line" {
	mkdir empty
	fails 3 "hpdsl-verify: absent: No such file" hpdsl-verify absent
	fails 3 "hpdsl-verify: empty: not a dataset (no dataset.yaml): it is empty $(
		)(hpdsl-info says what is there, and what comes next)" \
		hpdsl-verify empty
	fails 3 "tree: not a dataset (no dataset.yaml): other files are in it" \
		hpdsl-verify tree
	fails 3 "Not a directory" hpdsl-verify packed/index.hpdsl
	fails 3 "hpdsl-verify: nowhere: No such file" \
		hpdsl-verify --source=nowhere packed
	fails 2 "" hpdsl-verify
	fails 2 "" hpdsl-verify packed tree
	fails 2 "" hpdsl-verify -j x packed
	run hpdsl-verify --json --source=nowhere packed
	[ "$status" = 3 ]
}

@test "a manifest or an index of a later version is no damage: exit 3" {
	cp -R "$SRC/tests/data/good/tiny" later
	cp "$SRC/tests/data/bad/manifest/version-99" later/dataset.yaml
	fails 3 "later: dataset.yaml: version 99" hpdsl-verify later
	rm later/dataset.yaml
	cp "$SRC/tests/data/bad/index/version-99" later/index.hpdsl
	run hpdsl-verify -q later
	[ "$status" = 3 ]
	grep -q 'later: index.hpdsl: index of version 99' <<< "$output"
}

@test "an unfinished pack is no dataset" {
	rm packed/dataset.yaml packed/index.hpdsl
	touch packed/journal.hpdsl
	fails 3 "packed: an unfinished pack (hpdsl-pack --resume" \
		hpdsl-verify packed
}

@test "damage that cannot be told, for a full disk: exit 3" {
	rm packed/chunk-000000.tar
	for how in -q --json; do
		status=0
		hpdsl-verify $how packed > /dev/full 2> err || status=$?
		[ "$status" = 3 ]
		grep -q 'No space left' err
	done
}

@test "verify: a hostile name of a chunk in the manifest takes one line" {
	need xxhsum
	hpdsl-pack -q tree "$BATS_TEST_TMPDIR/ds"
	cd "$BATS_TEST_TMPDIR/ds"
	sed -e '$d' -e 's/chunk-000000\.tar/"a\\nb"/' dataset.yaml > text
	echo "checksum: $(xxhsum -H2 < text | cut -d ' ' -f 1)" |
		cat text - > dataset.yaml
	rm text
	status=0
	hpdsl-verify -q . > out 2> err || status=$?
	[ "$status" = 1 ]
	cat out
	grep -F 'a\nb' out
	[ "$(grep -cx 'b.*' out)" = 0 ]
}

@test "--thorough: two tar readers find what the index says" {
	python3 "$SRC/tests/kit/nasty.py" nasty
	hpdsl-pack -q --chunks=2 nasty nasty2
	hpdsl-pack -q --chunks=2 --names=portable nasty portable
	for ds in packed nasty2 portable; do
		for j in 0 3; do
			finds 0 -- -j $j --thorough $ds
			grep -q '^hpdsl-verify: sound' err
		done
		LC_ALL=C finds 0 -- -q --thorough $ds
	done
	finds 0 -- -q --thorough --source=tree packed
	hpdsl-verify --json --thorough packed > out
	grep -q '"thorough": true,' out
	fails 2 "exclude each other" hpdsl-verify --thorough --quick packed
}

@test "--thorough: compressed chunks, and adopted tars" {
	hpdsl-pack -q --chunks=3 --zstd tree zst
	ls zst/chunk-000000.tar.zst
	finds 0 -- -q --thorough zst
	tar -cf a.tar --format=gnu tree
	tar -cf b.tar --format=pax -C tree .
	hpdsl-index -q -o adopted a.tar b.tar
	finds 0 -- -q --thorough adopted
	# damage is told once
	printf X | dd of=a.tar bs=1 seek=2000 conv=notrunc status=none
	run hpdsl-verify -q --thorough adopted
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
}

# reword DATASET OLD NEW: in its manifest, whose checksum then fits.
reword()
{
	PYTHONPATH=$SRC/tests/kit python3 - "$@" <<- 'END'
		import sys
		from forge import h128
		name = sys.argv[1] + "/dataset.yaml"
		old, new = (s.encode().decode("unicode_escape") for s in sys.argv[2:])
		with open(name) as f:
		    text = f.read()
		assert text.count(old) == 1
		body = text.replace(old, new)[: text.rindex("checksum: ") - len(text)]
		with open(name, "w") as f:
		    f.write(body + f"checksum: {h128(body.encode()).hex()}\n")
	END
}

@test "a manifest that contradicts its index, however sound both are" {
	mkdir small
	echo 1 > small/1.txt
	hpdsl-pack -q --labels=parent --prefix-input small named
	reword named '\n- small\n' '\n- door\n'
	run -1 hpdsl-verify -q named
	[[ $output = "index.hpdsl: classes are not the manifest's"* ]]
	mkdir tars
	tar -cf tars/a.tar -C small 1.txt
	hpdsl-index -q tars
	cp -R tars ours
	reword ours 'adopted: true\n' ''
	run -1 hpdsl-verify -q ours
	[[ $output = "index.hpdsl: is one of adopted tars, the manifest is not"* ]]
	hpdsl-pack -q small theirs
	reword theirs 'options:' 'adopted: true\noptions:'
	run -1 hpdsl-verify -q theirs
	[[ $output = "index.hpdsl: is not one of adopted tars"* ]]
}

# not_kept NAME: what `hpdsl-verify --json` in the file out counts.
not_kept()
{
	sed 's/.*"not_kept": {\([^}]*\)}.*/{\1}/' out | field "$1"
}

@test "--source: what the dataset does not keep is counted, exit 0" {
	mkdir tree/empty tree/class1/void
	ln tree/class1/00001.png tree/hard.png
	truncate -s 1M tree/hole.bin
	ln -s ../class0 tree/class1/inside
	ln -s . tree/self
	hpdsl-pack -q --exclude='*.json' --exclude=gone/ tree packed2
	finds 0 -- --source=tree packed2
	grep -x 'hpdsl-verify: sound, but not kept: 15 files left out, 2 linked folders, 2 empty folders, 1 link to a file, 2 hard links, 1 file.s holes' err
	grep -E '^hpdsl-verify: [0-9]+ samples, [0-9]+ members in 1 chunk, ' err
	mkdir tree/gone
	touch tree/gone/1
	if python3 -c 'import os; os.setxattr("tree/hard.png", "user.x", b"1")'
	then
		finds 0 -- --quick --source=tree packed2
		grep 'sound (quick), but not kept: .*1 folder left out.* 2 files. attributes or ACLs, ' err
	else
		echo "# verify.bats: no user attributes here" >&3
	fi
	finds 0 -- -q --source=tree packed2
	[ ! -s err ]
	hpdsl-verify --json --source=tree packed2 > out
	[ "$(not_kept excluded) $(not_kept excluded_folders)" = "15 1" ]
	[ "$(not_kept symlinks_to_folders) $(not_kept linked_files)" = "2 0" ]
	[ "$(not_kept empty_folders) $(not_kept symlinks_followed)" = "2 1" ]
	[ "$(not_kept hard_links) $(not_kept sparse)" = "2 1" ]
	# where nobody looks, nothing is known
	tar -cf tree.tar -C tree .
	hpdsl-verify --json --source=tree.tar packed2 > out || :
	[ "$(not_kept xattrs) $(not_kept symlinks_to_folders)" = "null 2" ]
}

# far: a folder outside of the tree, to which links lead.
far()
{
	mkdir -p far/sub
	echo 1 > far/1.txt
	echo 2 > far/sub/2.txt
	echo 3 > far/sub/3.log
	ln -s ../far tree/lnk
}

behind()
{
	echo "$1: is behind a link to a folder, and not in the dataset"
}

@test "--source: files behind a linked folder that are nowhere: exit 1" {
	far
	for how in "" --symlinks=follow-all; do
		# shellcheck disable=SC2086
		hpdsl-pack -q --force $how tree packed
		finds 1 "$(behind lnk/1.txt)" "$(behind lnk/sub/2.txt)" \
			"$(behind lnk/sub/3.log)" -- --source=tree packed
		grep 'not kept: 1 linked folder (3 files), 1 link to a file$' err
		grep 'different from tree: 3 files' err
		finds 1 "$(behind lnk/1.txt)" "$(behind lnk/sub/2.txt)" \
			"$(behind lnk/sub/3.log)" -- -q --quick --source=tree packed
	done
	hpdsl-verify --json --source=tree packed > out || [ $? = 1 ]
	[ "$(field differing < out) $(not_kept linked_files)" = "3 3" ]
	hpdsl-verify -q packed
}

@test "--source: files behind a linked folder that was packed as its own" {
	far
	for how in "tree far" "--prefix-input tree far" \
		"--prefix-input tree tree/lnk"; do
		# shellcheck disable=SC2086
		hpdsl-pack -q --force $how two
		finds 0 -- --source=tree two
		grep 'sound, but not kept: 1 linked folder (3 files), ' err
	done
	# a folder in it, by another link
	ln -s ../../far/sub tree/class0/other
	hpdsl-pack -q --force --prefix-input tree/class0 far two
	finds 0 -- --source=tree/class0 two
	grep 'sound, but not kept: 1 linked folder (2 files), ' err
	# the same name is not enough
	echo 4 > far/sub/2.txt
	finds 1 "$(behind class0/other/2.txt)" -- -q --source=tree/class0 two
}

@test "--source: what was a folder is compared though it is a link now" {
	mv tree/class1 moved
	ln -s "$PWD/moved" tree/class1
	finds 0 -- --source=tree packed
	grep 'not kept: 1 linked folder (13 files), ' err
	echo changed >> moved/00000.json
	rm moved/00001.json
	touch moved/00002.json moved/new.txt
	finds 1 "$(line class1/00000.json "size differs")" \
		"$(line class1/00001.json "is absent")" \
		"$(line class1/00002.json "mtime differs")" \
		"$(behind class1/new.txt)" -- -q --source=tree packed
}

@test "--source: a tree of nothing but links to folders" {
	mkdir links
	ln -s "$PWD/tree/class0" "$PWD/tree/class1" "$PWD/tree/class2" links
	finds 0 -- --source=links packed
	grep 'sound, but not kept: 3 linked folders (40 files)$' err
	# nothing is left of the input's own, and the other one is not asked for
	hpdsl-pack -q --prefix-input tree/class0 tree/class1 two
	mkdir -p again/class0
	ln -s "$PWD/tree/class1" again/class0/lnk
	run -1 hpdsl-verify -q --source=again/class0 two
	[ "$(grep -c 'class0/.*: is absent$' <<< "$output")" = "${#lines[@]}" ]
	[ "${#lines[@]}" = "$(hpdsl-ls two 'class0/*' | wc -l)" ]
}

@test "--source: links in linked folders, loops, and each folder once" {
	far
	ln -s lnk tree/again
	ln -s ../../far/sub tree/class0/sub
	ln -s .. far/up
	ln -s . far/sub/here
	ln -s "$PWD/tree" far/tree
	ln -s "$PWD/tree/class0/00000.png" far/png
	ln -s nowhere far/dangling
	ln -s round far/round
	mkfifo far/fifo
	mkdir far/none far/deep
	ln -s ../../more far/deep/more
	mkdir more
	echo 5 > more/5.txt
	ln -s ../packed far/packed
	timeout 600 hpdsl-verify --source=tree packed > said 2> err ||
		[ $? = 1 ] || { cat err; return 1; }
	# "up" leads to all that lies here, but the tree and the dataset
	sed 's,^.*/,,' said | sort > names
	diff names - <<- END
		$(behind 1.txt)
		$(behind 2.txt)
		$(behind 3.log)
		$(behind 5.txt)
		$(behind err)
		$(behind said)
	END
	grep 'not kept: 3 linked folders (7 files), 1 special file, ' err
}

@test "--source: patterns hold behind links, too" {
	far
	hpdsl-pack -q --include='*.txt' --include='*.png' tree txt
	finds 1 "$(behind lnk/1.txt)" "$(behind lnk/sub/2.txt)" -- \
		-q --source=tree txt
	for pattern in lnk lnk/ '/lnk' '1.txt --exclude=sub'; do
		# shellcheck disable=SC2086
		hpdsl-pack -q --force --include='*.txt' --exclude=$pattern \
			tree txt
		finds 0 -- -q --source=tree txt
	done
	hpdsl-verify --json --source=tree txt > out
	[ "$(not_kept symlinks_to_folders) $(not_kept linked_files)" = "1 0" ]
	[ "$(not_kept excluded_folders)" = 1 ]
}

@test "--source: what cannot be read behind a link: exit 3" {
	far
	chmod 0 far/sub
	plain=()
	if [ "$(id -u)" = 0 ]; then
		need setpriv
		plain=(setpriv "--bounding-set=-dac_override,-dac_read_search")
	fi
	! "${plain[@]}" ls far/sub 2> /dev/null || skip "root can read all"
	status=0
	"${plain[@]}" hpdsl-verify --source=tree packed > out 2> err || status=$?
	chmod 700 far/sub
	[ "$status" = 3 ]
	grep -x 'hpdsl-verify: tree/lnk/sub: Permission denied' err
}
