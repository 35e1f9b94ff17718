#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-pack --emit: index files of other readers, held against the chunks as
# Python's tarfile reads them.
# bats file_tags=quick

load ../kit/lib
load ../kit/stopped

all=dali,energon,wids

# checked DATASET KINDS: the dataset has just these, and they are right.
checked()
{
	run python3 "$SRC/tests/kit/side_files.py" "$1"
	echo "$output"
	[ "$status" = 0 ] && [ "$output" = "$2" ]
	hpdsl-verify -q "$1"
}

@test "emit: every reader's files, alone and together" {
	make_tree tree 3 20
	for emit in dali energon wids energon,dali $all; do
		hpdsl-pack -q --chunks=4 --emit="$emit" tree "$emit"
	done
	checked dali dali
	checked energon energon
	checked wids wids
	checked energon,dali "dali energon"
	checked $all "dali energon wids"
	# each reader's files do not depend on the others'
	cmp dali/chunk-000003.idx $all/chunk-000003.idx
	diff -r energon/.nv-meta $all/.nv-meta
	cmp wids/shards.json $all/shards.json
	[ "$(find dali -type f | wc -l)" = 10 ]
	[ "$(find energon -type f | wc -l)" = 13 ]
	# chunks and index are those of a pack without
	hpdsl-pack -q --chunks=4 tree none
	for f in none/chunk-* none/index.hpdsl; do
		cmp "$f" "$all/${f#none/}"
	done
}

@test "emit: the same bytes for any threads, listed in the manifest" {
	make_tree tree 2 30
	hpdsl-pack -q --chunks=7 --emit=$all tree one
	for j in 0 1 5; do
		hpdsl-pack -q -j $j --chunks=7 --emit=$all tree j$j
		diff -r one j$j
	done
	grep -qx '  emit: dali,energon,wids' one/dataset.yaml
	[ "$(sed '1,/^files:/d' one/dataset.yaml | grep -c xxh3_128)" = 18 ]
	need xxhsum
	(cd one && sed '1,/^files:/d' dataset.yaml | sed -n \
		"s/.*name: '\{0,1\}\([^',]*\).*xxh3_128: \([0-9a-f]*\).*/\2  \1/p" \
		> ../sums && [ "$(wc -l < ../sums)" = 18 ] &&
		xxhsum -c --quiet ../sums)
}

@test "emit: long names, pax headers, sizes around a block, many members" {
	long=$(printf 'd%.0s' {1..90})
	mkdir -p "tree/$long/$long" tree/empty tree/big
	for n in 0 1 511 512 513 70000 3000000; do
		head -c $n /dev/zero > "tree/big/$n.bin"
		head -c $n /dev/zero > "tree/$long/$n.bin"
		head -c $n /dev/zero > "tree/$long/$long/$n-$long.bin"
		head -c 3 /dev/zero > "tree/$long/$long/$n-$long.txt"
	done
	for n in {1..200}; do
		echo "$n" > "tree/big/many.$n"
	done
	hpdsl-pack -q --group=key --chunks=2 --emit=dali,energon tree out
	checked out "dali energon"
	grep -qa PaxHeaders out/chunk-00000?.tar
	fails 2 "wids: its index cannot hold" \
		hpdsl-pack -q --group=key --emit=wids tree no
	[[ $message = *"over 100 bytes (and "*"--names=portable"* ]]
	[ ! -e no ]
}

@test "emit: one sample, and chunks of one sample each" {
	mkdir tree
	echo a > tree/a.txt
	hpdsl-pack -q --emit=$all tree one
	checked one "dali energon wids"
	for n in {1..30}; do
		echo "$n" > "tree/$n.txt"
		echo "$n" > "tree/$n.txt2"
	done
	hpdsl-pack -q --chunks=31 --emit=$all tree many
	checked many "dali energon wids"
}

@test "emit: blanks: DALI's version 1.1 where they are, and a warning" {
	mkdir tree
	for n in {1..20}; do
		echo "$n" > "tree/$n.txt"
	done
	echo blank > "tree/a b.txt"
	echo blank > tree/$'a\tb.txt'
	hpdsl-pack --emit=$all --chunks=5 tree out 2> err
	grep -q 'warning: 2 names with a blank: DALI' err
	checked out "dali energon wids"
	[ "$(grep -l '^v1.1 ' out/*.idx | wc -l)" -ge 1 ]
	[ "$(grep -l '^v1.2 ' out/chunk-00000?.idx | wc -l)" -ge 3 ]
	echo blank > "tree/a.t t"
	fails 2 "dali: its index cannot hold 'a.t t': a blank in the suffix" \
		hpdsl-pack -q --emit=dali tree no
	hpdsl-pack -q --emit=energon,wids tree two
	checked two "energon wids"
}

# refused NAME EMIT REASON: a tree with this file cannot have this index.
refused()
{
	rm -rf tree no
	mkdir -p "tree/$(dirname "$1")"
	echo a > tree/good.txt
	echo b > "tree/$1"
	fails 2 "--emit=$2: its index cannot hold '$4$1': $3" \
		hpdsl-pack -q --emit="$2" tree no
	[[ $message = *"--names=portable"* ]]
	fails 2 "--emit=$2" hpdsl-pack -nq --emit="$2" tree no
	[ ! -e no ]
}

# taken NAME EMIT
taken()
{
	rm -rf tree yes
	mkdir -p "tree/$(dirname "$1")"
	echo a > tree/good.txt
	echo b > "tree/$1"
	hpdsl-pack -q --emit="$2" tree yes
}

@test "emit: names that an index cannot hold, before a byte is written" {
	for e in dali energon wids; do
		refused README $e "no suffix"
		refused a/b.c/README $e "no suffix"
		refused a/dot. $e "no suffix"
		refused a/.hidden $e "no suffix"
	done
	for e in energon wids; do
		refused a/.hidden.txt $e "leading dot"
	done
	taken a/.hidden.txt dali
	refused __meta__/a.txt energon "first component __x__"
	taken a/__meta__/a.txt energon
	taken __meta__/a.txt dali,wids
	printf -v bad 'a\377.txt'
	taken "$bad" dali,energon
	mkdir -p tree && rm -rf tree && mkdir tree
	echo a > "tree/$bad"
	fails 2 "not UTF-8" hpdsl-pack -q --emit=wids tree no
	taken "caf$(printf '\303\251').txt" $all
	taken "a;b\\c.t;t" $all
	taken "a.JPG" $all
	taken "a.b.c.d" $all
}

@test "emit: keys that repeat, with --group=none" {
	mkdir tree
	echo a > tree/a.txt
	echo a > tree/a.json
	for e in energon wids; do
		fails 2 "$e: its index cannot hold 'a.json': the key of another" \
			hpdsl-pack -q --group=none --emit=$e tree no
	done
	hpdsl-pack -q --group=none --shuffle=none --emit=dali tree out
	diff out/chunk-000000.idx - <<- 'END'
		v1.2 2
		json 512 2 a.json
		txt 1536 2 a.txt
	END
	rm tree/a.txt
	hpdsl-pack -q --group=none --emit=$all tree out2
	checked out2 "dali energon wids"
}

@test "emit: verify finds what is wrong with side files" {
	make_tree tree 2 10
	hpdsl-pack -q --chunks=2 --emit=$all tree out
	hpdsl-verify -q --quick out
	printf X | dd of=out/chunk-000001.idx bs=1 seek=30 conv=notrunc status=none
	rm out/.nv-meta/split.yaml
	echo >> out/shards.json
	hpdsl-verify -q --quick out > found && return 1
	diff <(sort found) - <<- 'END'
		.nv-meta/split.yaml: is missing
		shards.json: is 265 bytes, 264 expected
	END
	hpdsl-verify out > found 2> err && return 1
	grep -qx 'chunk-000001.idx: checksum differs' found
	[ "$(wc -l < found)" = 3 ]
	grep -q 'damaged: 3 files (0 chunks), 0 samples' err
	run hpdsl-verify -q --json out
	[ "$status" = 1 ]
	[ "$(echo "$output" | field damaged_files)" = 3 ]
}

@test "emit: files of other tools beside ours are told, and are no damage" {
	make_tree tree 2 4
	hpdsl-pack -q --emit=energon tree out
	touch out/.nv-meta/index.sqlite out/chunk-000000.idx
	hpdsl-verify out 2> err
	grep -q 'warning: .nv-meta/index.sqlite: not a file of this' err
	grep -q 'warning: chunk-000000.idx: not a file of this' err
	[ "$(grep -c warning err)" = 2 ]
	# without the manifest nobody knows
	rm out/chunk-000000.idx out/.nv-meta/index.sqlite out/dataset.yaml
	run hpdsl-verify out
	[ "$status" = 1 ]
	[[ $output != *"not a file"* ]]
}

@test "emit: --force replaces the files, too; others are in the way" {
	make_tree tree 2 10
	hpdsl-pack -q --chunks=3 --emit=$all tree out
	hpdsl-pack -q --force --chunks=2 tree out
	[ "$(find out -mindepth 1 | wc -l)" = 4 ]
	hpdsl-pack -q --force --chunks=2 --emit=energon tree out
	checked out energon
	touch out/.nv-meta/index.sqlite
	fails 3 "holds '.nv-meta/index.sqlite'" \
		hpdsl-pack -q --force --chunks=2 tree out
	rm out/.nv-meta/index.sqlite
	hpdsl-pack -q --force --chunks=2 tree out
	[ ! -e out/.nv-meta ]
	[ "$(find . -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
}

# bats test_tags=wide
@test "emit: resumed, with the same bytes" {
	make_tree tree 2 40
	hpdsl-pack -q --chunks=6 --emit=$all tree want
	for k in $(rounds "2 19" "2 8 19" "2 8 19") 30; do
		killed_at op=fsync,after="$k" hpdsl-pack -q -j 1 --chunks=6 \
			--emit=$all tree got
		[ ! -e got/journal.hpdsl ] || [ "$k" -gt 19 ] ||
			fails 3 "--emit is not given now, was 'dali,energon" \
				hpdsl-pack -q --resume --chunks=6 tree got
		hpdsl-pack -q --resume --chunks=6 --emit=$all tree got
		diff -r want got
		rm -r got
	done
	# complete: nothing to do, unless a side file has gone
	hpdsl-pack -q --resume --chunks=6 --emit=$all tree want
	rm want/shards.json
	fails 3 "shards.json: is missing; it can be replaced (--force)" \
		hpdsl-pack -q --resume --chunks=6 --emit=$all tree want
}

@test "emit: portable names are what the files hold" {
	mkdir -p "tree/a b"
	for n in {1..20}; do
		echo "$n" > "tree/a b/IMG $n.v1.JPG"
		echo "$n" > "tree/a b/IMG $n.v1.json"
		echo "$n" > "tree/a b/.hidden$n"
		echo "$n" > "tree/README$n"
	done
	hpdsl-pack -q --names=portable --chunks=3 --emit=$all tree out
	checked out "dali energon wids"
	[ "$(grep -l '^v1.2 ' out/chunk-00000?.idx | wc -l)" = 3 ]
	hpdsl-pack -q --names=portable --group=none --emit=$all tree out2
	checked out2 "dali energon wids"
}

@test "emit: compressed chunks: the files describe the plain tar" {
	need zstd
	make_tree tree 2 30
	hpdsl-pack -q --chunks=3 --emit=$all tree plain
	hpdsl-pack -q --chunks=3 --emit=$all --zstd tree out
	ls out/chunk-000000.tar.zst
	checked out "dali energon wids"
	for f in shards.json .nv-meta chunk-00000{0,1,2}{,.tar}.idx; do
		diff -r "plain/$f" "out/$f"
	done
}

@test "emit: SHA-256 of the files, too" {
	make_tree tree 2 10
	hpdsl-pack -q --chunks=3 --digest=sha256 --emit=$all tree out
	(cd out && sha256sum --quiet -c SHA256SUMS)
	[ "$(wc -l < out/SHA256SUMS)" = 14 ]
	checked out "dali energon wids"
	hpdsl-pack -q --force --chunks=3 tree out
	[ "$(find out -mindepth 1 | wc -l)" = 5 ]
}

@test "emit: hpdsl-index keeps the files that are what they were" {
	make_tree tree 2 10
	for digest in xxh3 sha256; do
		hpdsl-pack -q --chunks=3 --labels=dir --digest=$digest \
			--emit=$all tree out
		rm out/index.hpdsl
		# labels are lost with it: the manifest is written anew
		hpdsl-index -q out
		grep -q 'rebuilt: true' out/dataset.yaml
		checked out "dali energon wids"
		[ "$(sed '1,/^files:/d' out/dataset.yaml | grep -c xxh3_128)" = \
			$((10 + (${#digest} - 4) / 2)) ]
		rm -r out
	done
	hpdsl-pack -q --chunks=3 --labels=dir --emit=$all tree out
	rm out/index.hpdsl out/.nv-meta/split.yaml
	echo >> out/shards.json
	hpdsl-index out 2> err
	grep 'warning: .*shards.json: not what the manifest said' err
	grep 'warning: .*.nv-meta/split.yaml: not what the manifest said' err
	hpdsl-verify out 2> err
	grep 'shards.json: not a file of this dataset' err
	[ "$(grep -c warning err)" = 1 ]
	# without an old manifest none are listed
	rm out/dataset.yaml
	hpdsl-index -q out
	run grep files: out/dataset.yaml
	[ "$status" = 1 ]
}

@test "emit: from archives and from a dataset, the same files" {
	make_tree tree 2 20
	hpdsl-pack -q --chunks=3 --emit=$all tree want
	tar -cf in.tar --format=pax -C tree .
	gzip -k in.tar
	for input in in.tar in.tar.gz want; do
		hpdsl-pack -q --chunks=3 --emit=$all $input out
		for f in shards.json .nv-meta chunk-00000{0,1,2}{,.tar}.idx; do
			diff -r "want/$f" "out/$f"
		done
		checked out "dali energon wids"
		rm -r out
	done
}
