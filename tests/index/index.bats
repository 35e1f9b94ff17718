#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-index: index and manifest made anew from the chunks, what is lost by
# that, and when it refuses.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 5
	touch -d '2020-01-01 12:00:00.123456789' tree/class0/00000.png
	hpdsl-pack -q --labels=dir --seed=9 --chunks=3 --meta licence=none \
		tree packed
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR/packed" "$BATS_FILE_TMPDIR/tree" .
	cp -a packed was
}

# rebuilt LOST: hpdsl-index makes a sound dataset of the same chunks, with the
# same id, and says that this was lost.
rebuilt()
{
	hpdsl-index packed 2> err || { cat err; return 1; }
	cat err
	grep -q '^hpdsl-index: rebuilt: 15 samples, 39 members' err
	lost=$(sed -n 's/^hpdsl-index: lost: //p' err)
	[ "$lost" = "$1" ]
	grep -qx 'rebuilt: true' packed/dataset.yaml
	lost=$(sed -n 's/^lost: //p' packed/dataset.yaml)
	[ "$lost" = "$1" ]
	hpdsl-verify -q packed
	for chunk in was/chunk-*; do
		cmp "$chunk" "packed/${chunk#was/}"
	done
	[ "$(grep dataset_id packed/dataset.yaml)" = \
		"$(grep dataset_id was/dataset.yaml)" ]
	[ -z "$(find packed -name '.*' -type f)" ]
}

# refuses STATUS TEXT: it says so in one line and changes nothing.
refuses()
{
	cp -a packed before
	fails "$1" "$2" hpdsl-index packed
	[ "$(grep -vc 'warning: ' <<< "$message")" = 1 ]
	diff -r before packed
	rm -r before
}

flip_content()
{
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=515 \
		conv=notrunc status=none
}

@test "a sound dataset: nothing to do, nothing changes" {
	before=$(stat -c '%i %Y %Z' packed/*)
	hpdsl-index packed 2> err
	grep -q 'nothing to rebuild' err
	diff -r was packed
	[ "$(stat -c '%i %Y %Z' packed/*)" = "$before" ]
}

@test "no index: nanoseconds are lost, all else is in the manifest" {
	rm packed/index.hpdsl
	rebuilt "nanoseconds of mtimes"
	grep -qx 'seed: 9' packed/dataset.yaml
	grep -qx '  licence: none' packed/dataset.yaml
	diff <(hpdsl-ls was) <(hpdsl-ls packed)
	diff <(hpdsl-ls --samples -l was) <(hpdsl-ls --samples -l packed)
	# Times are compared in whole seconds then.
	hpdsl-verify -q --source=tree packed
	hpdsl-unpack -q packed restored
	same_trees tree restored
	[ "$(stat -c %.9Y restored/class0/00000.png)" = 1577880000.000000000 ]
	touch -d '2020-01-01 12:00:01' tree/class0/00000.png
	run hpdsl-verify -q --source=tree packed
	[ "$status" = 1 ]
}

@test "no manifest: the index is as it was, the options are lost" {
	rm packed/dataset.yaml
	rebuilt "seed, options, meta"
	cmp was/index.hpdsl packed/index.hpdsl
	hpdsl-verify -q --source=tree packed
	hpdsl-ls --label=class1 packed | diff - <(hpdsl-ls --label=class1 was)
}

@test "neither: what the chunks hold comes back" {
	rm packed/dataset.yaml packed/index.hpdsl
	rebuilt "nanoseconds of mtimes, labels, seed, options, meta"
	diff <(hpdsl-ls was) <(hpdsl-ls packed)
	hpdsl-verify -q --source=tree packed
	# Once more: nothing new to do, and what was lost is not forgotten.
	cp -a packed again
	hpdsl-index packed
	diff -r again packed
}

@test "a damaged index, a damaged manifest: replaced, with a warning" {
	printf '\377' | dd of=packed/index.hpdsl bs=1 seek=30 conv=notrunc \
		status=none
	rebuilt "nanoseconds of mtimes"
	grep -q 'warning: packed: index.hpdsl: header: checksum differs' err
	cp was/* packed
	sed -i 's/^seed: 9/seed: 8/' packed/dataset.yaml
	rebuilt "seed, options, meta"
	grep -q 'warning: packed: dataset.yaml: checksum differs' err
	cmp was/index.hpdsl packed/index.hpdsl
	cp was/* packed
	truncate -s 0 packed/dataset.yaml packed/index.hpdsl
	hpdsl-index --force -q packed
	hpdsl-verify -q packed
}

@test "--group=none: each member stays a sample of its own" {
	hpdsl-pack -q --group=none --chunks=3 tree single
	cp -a single single.was
	rm single/index.hpdsl
	hpdsl-index -q single
	hpdsl-verify -q single
	diff <(hpdsl-ls --samples single.was) <(hpdsl-ls --samples single)
	rm single/dataset.yaml
	hpdsl-index -q single
	diff <(hpdsl-ls --samples single.was) <(hpdsl-ls --samples single)
}

@test "--group: what neither manifest nor index says any more has to be said" {
	local group i
	mkdir in
	for i in run{1..9}.{1..6}; do echo "$i" > "in/$i.npy"; echo > "in/$i.json"; done
	for group in last none; do
		hpdsl-pack -q --group=$group --chunks=3 in $group
		hpdsl-ls --samples $group > samples
		cp $group/dataset.yaml .
		# the manifest alone says it, and so does the index
		rm $group/index.hpdsl
		hpdsl-index -q $group
		hpdsl-verify -q $group
		diff samples <(hpdsl-ls --samples $group)
		rm $group/dataset.yaml
		hpdsl-index -q $group
		diff samples <(hpdsl-ls --samples $group)
		rm $group/dataset.yaml $group/index.hpdsl
		fails 2 "what a sample is has to be said (--group=key, last or none, as it was packed)" \
			hpdsl-index -q $group
		[ ! -e $group/index.hpdsl ]
		hpdsl-index -q --group=$group $group
		hpdsl-verify -q $group
		diff samples <(hpdsl-ls --samples $group)
		# keys repeat by it
		fails 2 "it was not packed with group key" \
			hpdsl-index -q --group=key $group
		# what was rebuilt wrongly can be mended
		hpdsl-index -q --group=none $group
		hpdsl-index --json --group=$group $group > json
		grep "\"group\": \"$group\"" json
		hpdsl-verify -q $group
		diff samples <(hpdsl-ls --samples $group)
		rm $group/index.hpdsl
		cp dataset.yaml $group
		fails 2 "it was packed with group $group" \
			hpdsl-index -q --group=key $group
	done
	# double suffixes stay, or are given again
	hpdsl-pack -q --group=last --double-suffix=a.json --chunks=1 in d
	hpdsl-pack -q --group=last --double-suffix=b.json --chunks=1 in e
	rm d/index.hpdsl d/dataset.yaml
	hpdsl-index -q --group=last --double-suffix=a.json d
	grep -x '  - a.json' d/dataset.yaml
	rm d/index.hpdsl
	hpdsl-index -q --group=last d
	hpdsl-verify -q d
	# where only portable names are left, these have their keys
	hpdsl-pack -q --group=last --names=portable --double-suffix=7.json \
		--double-suffix=1.json --chunks=1 in f
	hpdsl-ls --samples f | wc -l > samples
	rm f/index.hpdsl
	hpdsl-index -q f
	hpdsl-verify -q f
	grep -x '  group: key' f/dataset.yaml
	hpdsl-ls --samples f | wc -l | diff samples -
	hpdsl-index -q --group=last f
	hpdsl-verify -q f
	fails 2 "double_suffix: goes with group last alone" \
		hpdsl-index -q --double-suffix=a.json e
	fails 2 "and other double suffixes" \
		hpdsl-index -q --group=last --double-suffix=a.json e
}

@test "what is little doubt when it is packed is one when all else is lost" {
	local i
	mkdir in
	for i in {1..200}; do
		echo "$i" > "in/$i.jpg"
	done
	for i in 2 3 4; do
		echo "$i" > "in/run1.$i.npy"
	done
	hpdsl-pack -q --shuffle=none --group=last in d
	rm d/index.hpdsl d/dataset.yaml
	fails 2 "what a sample is has to be said" hpdsl-index -q d
	# the index says it, where it alone is left
	hpdsl-pack -q --group=last in e
	rm e/dataset.yaml
	fails 2 "it was packed with group last" hpdsl-index -q --group=none e
	hpdsl-index -q e
	[ "$(hpdsl-ls --samples e | wc -l)" = 203 ]
}

@test "compressed apart by a declared suffix: what a sample is has to be said" {
	local i
	mkdir in
	for i in 1 2 3 4; do
		head -c 60000 /dev/zero |
			tee "in/$i.jpg" "in/$i.seg.png" > "in/$i.seg.json"
	done
	hpdsl-pack -q --zstd --shuffle=none --group=last --double-suffix=seg.png \
		in d
	rm d/index.hpdsl d/dataset.yaml
	fails 2 "what a sample is has to be said" hpdsl-index -q d
	hpdsl-index -q --group=last --double-suffix=seg.png d
	[ "$(hpdsl-ls --samples d | wc -l)" = 8 ]
}

@test "odd names come back, long ones and ones of any bytes" {
	python3 - <<- 'END'
		import os
		long = b"odd/" + b"/".join([b"d" * 200] * 15)
		os.makedirs(long)
		names = [long + b"/x.txt", b"odd/new\nline.txt", b"odd/\xff\xfe.bin"]
		names += [b"odd/ blank .txt", b"odd/..hidden", b"odd/back\\slash"]
		for name in names:
		    with open(name, "wb") as f:
		        f.write(name)
		    os.utime(name, (1700000000, 1700000000))
	END
	hpdsl-pack -q --chunks=2 odd p
	cp -a p p.was
	rm p/index.hpdsl
	hpdsl-index -q p
	# Times are in whole seconds here, so nothing at all is lost.
	cmp p/index.hpdsl p.was/index.hpdsl
	hpdsl-unpack -q p restored
	same_trees odd restored
}

@test "any number of threads makes the same files" {
	rm packed/index.hpdsl packed/dataset.yaml
	cp -a packed two
	hpdsl-index -q -j 0 packed
	hpdsl-index -q -j 4 two
	diff -r packed two
}

@test "a chunk that contradicts the index: refused, unless forced" {
	flip_content
	refuses 1 "packed: chunk-000001.tar: member '"
	[[ $message = *"' is not as index.hpdsl has it" ]]
	hpdsl-index --force packed 2> err
	grep -q "warning: packed: chunk-000001.tar: member '" err
	grep -q "warning: packed: chunk-000001.tar is not as dataset.yaml has it" err
	hpdsl-verify -q packed
	grep -qx 'rebuilt: true' packed/dataset.yaml
	# The content that is there is another one now.
	! grep -qxF "$(grep dataset_id was/dataset.yaml)" packed/dataset.yaml ||
		return 1
	diff <(hpdsl-ls was) <(hpdsl-ls packed)
}

@test "a chunk that contradicts the manifest: refused, unless forced" {
	rm packed/index.hpdsl
	flip_content
	refuses 1 "packed: chunk-000001.tar is not as dataset.yaml has it"
	hpdsl-index --force -q packed
	hpdsl-verify -q packed
}

@test "two chunks swapped: refused, unless forced" {
	mv packed/chunk-000000.tar x
	mv packed/chunk-000001.tar packed/chunk-000000.tar
	mv x packed/chunk-000001.tar
	refuses 1 "packed: chunk-000000.tar: member '"
	hpdsl-index --force -q packed
	hpdsl-verify -q packed
	diff <(hpdsl-ls was | sort) <(hpdsl-ls packed | sort)
}

@test "what is no chunk of this format: refused, forced or not" {
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=10 \
		conv=notrunc status=none
	refuses 1 "packed: chunk-000001.tar: at offset 0: header checksum differs"
	fails 1 "packed: chunk-000001.tar: at offset 0" hpdsl-index --force packed
	tar cf packed/chunk-000001.tar tree
	refuses 1 "packed: chunk-000001.tar: at offset"
	truncate -s 1000 packed/chunk-000001.tar
	refuses 1 "packed: chunk-000001.tar: "
	truncate -s 0 packed/chunk-000001.tar
	refuses 1 "packed: chunk-000001.tar: "
	cp was/chunk-000001.tar packed
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=30719 \
		conv=notrunc status=none
	refuses 1 "packed: chunk-000001.tar: "
}

@test "a missing chunk: refused; a last one can be given up" {
	rm packed/chunk-000001.tar
	refuses 3 "packed: chunk-000001.tar is missing"
	fails 3 "packed: chunk-000001.tar is missing" \
		hpdsl-index --force packed
	cp was/chunk-000001.tar packed
	rm packed/chunk-000002.tar
	refuses 3 "packed: chunk-000002.tar is missing"
	hpdsl-index --force -q packed
	hpdsl-verify -q packed
	[ "$(hpdsl-ls --chunks packed | wc -l)" = 2 ]
}

@test "a member twice: refused, forced or not" {
	cp packed/chunk-000000.tar packed/chunk-000003.tar
	refuses 1 "packed: chunk-000003.tar is not as index.hpdsl has it"
	status=0
	hpdsl-index --force packed 2> err || status=$?
	[ "$status" = 1 ]
	grep -q "one from chunk-000000.tar, one from chunk-000003.tar" err
	diff was/dataset.yaml packed/dataset.yaml
}

@test "no dataset, an unfinished pack, wrong options" {
	mkdir empty
	fails 3 "empty: not a dataset" hpdsl-index empty
	fails 3 "absent: No such file" hpdsl-index absent
	fails 2 "" hpdsl-index
	fails 2 "" hpdsl-index packed tree
	rm packed/dataset.yaml
	touch packed/journal.hpdsl
	refuses 3 "packed: an unfinished pack"
}

@test "a manifest of a later version is not replaced" {
	cp "$SRC"/tests/data/good/tiny/* .
	mkdir later
	mv ./*.tar index.hpdsl later
	cp "$SRC/tests/data/bad/manifest/version-99" later/dataset.yaml
	rm -r packed
	mv later packed
	refuses 3 "packed: dataset.yaml: version 99 is too new"
}

@test "index files of other readers: kept by a manifest, else told in one line" {
	local line name
	hpdsl-pack -q --chunks=3 --names=portable --emit=dali,energon,wids tree sides
	cp -R sides now
	# known by the manifest, and one is not what it says
	rm now/index.hpdsl
	hpdsl-index -q now 2> err
	[ ! -s err ]
	grep -q 'shards.json' now/dataset.yaml
	rm -r now
	cp -R sides now
	rm now/index.hpdsl
	echo >> now/shards.json
	hpdsl-index -q now 2> err
	[ "$(cat err)" = "hpdsl-index: warning: now: shards.json: not what the manifest said; no longer listed" ]
	grep -q 'chunk-000002.tar.idx' now/dataset.yaml
	# the manifest lost, or damaged
	for line in 1 2; do
		rm -rf now
		cp -R sides now
		[ $line = 1 ] && rm now/dataset.yaml || echo >> now/dataset.yaml
		hpdsl-index -q now 2> err
		[ "$(wc -l < err)" = $line ]
		[ "$(tail -n 1 err)" = "hpdsl-index: warning: now: 10 index files for dali,energon,wids, first .nv-meta/.info.json: the manifest that listed them is lost (hpdsl-pack --emit=LIST DIR OUTPUT makes such again)" ]
		run ! grep -q idx now/dataset.yaml
		# said once
		hpdsl-index -q now 2> err
		[ ! -s err ]
	done
	# a name alone makes none: another number, a folder
	mkdir plain
	cp sides/chunk-*.tar plain
	touch plain/chunk-000003.idx plain/other.idx
	mkdir plain/shards.json
	hpdsl-index -q plain 2> err
	[ ! -s err ]
	rm plain/dataset.yaml
	cp sides/chunk-000001.idx plain
	hpdsl-index -q plain 2> err
	grep -q ' 1 index file for dali, first chunk-000001.idx: the manifest that listed it is lost (' err
	# what is told to be typed does it
	hpdsl-pack -q --emit=dali,energon,wids now again
	hpdsl-verify -q again
	for name in .nv-meta/split.yaml shards.json chunk-000000.idx; do
		[ -e again/$name ]
	done
}

@test "--json: what was done, and what was lost" {
	rm packed/index.hpdsl
	hpdsl-index -q --json packed > out
	python3 - <<- 'END'
		import json
		r = json.load(open("out"))
		assert (r["chunks"], r["samples"], r["members"]) == (3, 15, 39), r
		assert r["lost"] == "nanoseconds of mtimes"
		text = open("packed/dataset.yaml").read()
		assert f"dataset_id: {r['dataset_id']}\n" in text
	END
}
