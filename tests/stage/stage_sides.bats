#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Side files go along with the chunks that they belong to, read once at the
# origin, and never with a name that they do not deserve.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 40
	hpdsl-pack -q --names=portable --chunks=7 --emit=dali,energon,wids \
		--digest=sha256 tree ds
	hpdsl-pack -q --names=portable --chunks=5 --emit=dali,energon,wids \
		--digest=sha256 --zstd tree zst
	# files of several pieces, and of none; and one of nobody
	hpdsl-pack -q --names=portable --chunks=4 --emit=dali,wids tree large
	"$SRC/tests/kit/side_forge.py" large chunk-000000.idx=1500000 \
		chunk-000001.idx=0 chunk-000002.idx=524288 shards.json=3000001 \
		.nv-meta/split.yaml=40 .nv-meta/index.sqlite=10 notes.txt=9 \
		chunk-000004.idx=5 other/shards.json=7
}

begin()
{
	export STAGE
	STAGE=$BUILD/tests/bed/hpdsl-stage
	[ -x "$STAGE" ] || skip "no $STAGE"
}

# side_files DIR: the readers' own rules, on what is there.
side_files()
{
	python3 "$SRC/tests/kit/side_files.py" "$1"
}

# number NAME: the sum of that column of the report's nodes.
number()
{
	python3 -c 'import json, sys
print(sum(n[sys.argv[1]] for n in json.load(open("report"))["nodes"]))' "$1"
}

# bytes_of FILE..
bytes_of()
{
	stat -c %s "$@" | awk '{ n += $1 } END { print n }'
}

@test "a replica has all of them, and readers read it as the origin" {
	stage 3 -q --pretend-nodes=3 --report=report "$from/ds" node%n
	check_stage placed "$from/ds" replicate "- - -" node0 node1 node2
	check_stage report report "$from/ds" node0 node1 node2
	[ "$(number side_files)" = $((3 * 19)) ]
	all=$(bytes_of "$from"/ds/{*.idx,shards.json,SHA256SUMS} \
		"$from"/ds/.nv-meta/{.info.json,dataset.yaml,split.yaml})
	[ "$(number side_origin_bytes)" = "$all" ]
	[ "$(number side_bytes)" = $((3 * all)) ]
	[ "$(number lost_side_files)" = 0 ]
	for node in node0 node1 node2; do
		hpdsl-verify -q $node
		(cd $node && sha256sum --quiet -c SHA256SUMS)
		[ "$(side_files $node)" = "dali energon wids" ]
		diff -r -x '*.hpdsl' -x .stage.lock "$from/ds" $node
		cmp "$from/ds/index.hpdsl" $node/index.hpdsl
	done
	rm report
	hpdsl-stage -q --report=report "$from/ds" node0
	[ "$(number side_files) $(number side_origin_bytes)" = "0 0" ]
	# the state file is what it was: nothing in it tells of them
	rm -r node?/*.idx node?/.nv-meta node?/shards.json node?/SHA256SUMS
	[ "$(stat -c %s node0/stage.hpdsl)" = $((4736 + 7)) ]
	fails_verify node0 19
	# a directory of an older version: the next run brings them
	stage 2 --pretend-nodes=2 --report=report "$from/ds" node%n 2> text
	grep -q ', 14 of 14 there already, 38 side files$' text
	[ "$(number origin_bytes) $(number side_origin_bytes)" = "0 $all" ]
	check_stage placed "$from/ds" replicate "- -" node0 node1
	hpdsl-verify -q node1
}

# fails_verify DIR N: it misses so many files there, and nothing else.
fails_verify()
{
	local status=0
	hpdsl-verify "$1" > lines 2> /dev/null || status=$?
	[ "$status" = 1 ]
	[ "$(grep -c ': is missing$' lines)" = "$2" ]
	[ "$(wc -l < lines)" = "$2" ]
}

# bats test_tags=wide
@test "parts have those of their chunks, and none of the whole" {
	local how
	for how in "2 partition" "4 copies=2" "5 copies=2"; do
		[ "$how" = "5 copies=2" ] || at_level more || continue
		rm -rf node*
		# shellcheck disable=SC2046
		stage "${how% *}" -q --pretend-nodes="${how% *}" \
			--mode="${how#* }" --report=report "$from/ds" node%n
		# shellcheck disable=SC2046
		check_stage placed "$from/ds" "${how#* }" \
			"$(yes - | head -n "${how% *}" | xargs)" \
			$(nodes node "${how% *}")
		[ "$(number side_origin_bytes)" = \
			"$(bytes_of "$from"/ds/*.idx)" ]
		compgen -G 'node*/.nv-meta' && false
		hpdsl-verify -q node1
	done
	# what an earlier plan has left goes along with its chunk
	rm -rf node*
	hpdsl-stage -q "$from/ds" node0
	cp -r node0 node1
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/ds" node%n
	diff -r -x '*.hpdsl' -x .stage.lock "$from/ds" node1
	hpdsl-verify -q node1
	rm node1/chunk-000000.idx node1/shards.json # no part of its plan
	hpdsl-verify -q node1
	hpdsl-stage -q "$from/ds" node1
	check_stage placed "$from/ds" replicate - node1
}

@test "the sums go only where chunks are as they are stored" {
	hpdsl-stage -q "$from/zst" plain
	check_stage placed "$from/zst" replicate - plain
	[ ! -e plain/SHA256SUMS ]
	[ "$(side_files plain)" = "dali energon wids" ]
	hpdsl-verify -q plain
	hpdsl-stage -q --keep-compressed "$from/zst" stored
	check_stage --keep-compressed placed "$from/zst" replicate - stored
	(cd stored && sha256sum --quiet -c SHA256SUMS)
	hpdsl-verify -q stored
	# one that is here expanded stays so
	hpdsl-stage -q --keep-compressed "$from/zst" plain
	[ ! -e plain/SHA256SUMS ]
	hpdsl-verify -q plain
}

@test "several pieces, no bytes, and names of others" {
	stage 2 --pretend-nodes=2 --mode=replicate "$from/large" node%n 2> text
	[ "$(grep -c warning text)" = 4 ]
	for name in notes.txt .nv-meta/index.sqlite other/shards.json \
		chunk-000004.idx; do
		grep -q "warning: $name: in the manifest, but no side file that is known; it is not staged$" \
			text
	done
	check_stage placed "$from/large" replicate "- -" node0 node1
	[ -e node1/chunk-000001.idx ]
	[ ! -e node0/notes.txt ]
	hpdsl-verify -q node0
	rm -r node*
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/large" node%n
	check_stage placed "$from/large" partition "- -" node0 node1
}

@test "they count as room, and in the plan" {
	chunks=$(bytes_of "$from"/large/*.tar)
	each=$(bytes_of "$from"/large/chunk-00000[0-3].idx)
	whole=$((3000001 + 40))
	all=$((chunks + each + whole))
	hpdsl-stage --plan --json --nodes=2 "$from/large" > plan
	[ "$(field bytes < plan)" = $all ]
	python3 - $all <<- 'END'
		import json, sys
		plan = json.load(open("plan"))
		assert plan["origin_bytes"] == int(sys.argv[1])
		nodes = plan["nodes"]
		assert [n["held_bytes"] for n in nodes] == [int(sys.argv[1])] * 2
		assert sum(n["received_bytes"] for n in nodes) == int(sys.argv[1])
		assert sum(n["sent_bytes"] for n in nodes) == int(sys.argv[1])
	END
	hpdsl-stage --plan --json --nodes=2 --mode=partition "$from/large" > plan
	[ "$(field bytes < plan)" = $((chunks + each)) ]
	# a byte less than all, and it is in parts
	hpdsl-stage --plan --json --nodes=2 --capacity=$all "$from/large" > plan
	[ "$(field parts < plan)" = 1 ]
	hpdsl-stage --plan --json --nodes=2 --capacity=$((all - 1)) \
		"$from/large" > plan
	[ "$(field parts < plan)" = 2 ]
	fails 3 "has room for" hpdsl-stage -q --mode=replicate \
		--capacity=$((all - 1)) "$from/large" here
	hpdsl-stage -q --mode=replicate --capacity=$all "$from/large" here
	check_stage placed "$from/large" replicate "$all" here
	# on one node that has no room for all of it, what speaks of all of it is
	# left at the origin with the rest
	hpdsl-stage -q --capacity=$((all - 1)) "$from/large" less
	check_stage placed "$from/large" auto $((all - 1)) less
	[ ! -e less/shards.json ]
	hpdsl-verify -q less
	# so they do where a place for them is looked for: this may be /tmp, where
	# nothing of this name was before, and is left
	fails 3 "room for" hpdsl-stage -q --mode=replicate \
		--capacity=$((all - 1)) "$from/large" "auto:sides-$$"
	hpdsl-stage -q --mode=replicate --capacity=$all "$from/large" \
		"auto:sides-$$" > place
	check_stage placed "$from/large" replicate "$all" "$(cat place)"
	hpdsl-stage -q --clean "auto:sides-$$"
	[ ! -e "$(cat place)" ]
}

# ready_with_sides DIR: wherever its state file says that a chunk is here, so are its
# side files, and those of the whole; prints how many chunks that are.
ready_with_sides()
{
	python3 - "$@" <<- 'END'
		import os, sys
		at = sys.argv[1]
		whole = ("shards.json", "SHA256SUMS", ".nv-meta/.info.json",
		         ".nv-meta/split.yaml", ".nv-meta/dataset.yaml")
		with open(at + "/stage.hpdsl", "rb") as f:
		    here = [c for c, is_ in enumerate(f.read()[4736:]) if is_ in (2, 3)]
		for name in whole:
		    assert os.path.exists(f"{at}/{name}"), name
		for c in here:
		    for end in (".idx", ".tar.idx"):
		        name = f"{at}/chunk-{c:06}{end}"
		        assert os.path.exists(name), name
		print(len(here))
	END
}

@test "they are there before readers are told of chunks" {
	# at the first chunk's name, and two later ones, behind those of side files
	local gate=op=rename,name=chunk-,wait=$PWD/gate
	at_gate "$gate,after=14;$gate,after=17;$gate,after=20" 1 -q -j 0 \
		"$from/ds" here
	for _ in 1 2 3; do
		[ -e gate ]
		ready_with_sides here
		rm gate
		until_true is_at_gate
	done
	wait "$stager"
	[ "$(ready_with_sides here)" = 7 ]
	check_stage placed "$from/ds" replicate - here
}

@test "--rate is for them, too, and a stop among them is in order" {
	time_stands
	in_our_time "" 1 -q --rate=1500K "$from/large" here
	until_true compgen -G "here/.shards.json.part"
	kill -USR1 "$(launcher_of "$stager")"
	status=0
	wait "$stager" || status=$?
	cat said
	[ "$status" = 75 ]
	[ ! -e here/stage.hpdsl ] && [ ! -e here/shards.json ]
	compgen -G "here/.*.part" && false
	# killed, it leaves some, which the next run takes away
	HPDSL_FAULT=op=pwrite,name=shards.json,after=1,kill "$STAGE" -q \
		"$from/large" here || :
	[ -e here/.shards.json.part ]
	check_stage named "$from/large" here
	touch here/.nv-meta/.split.yaml.part here/.nv-meta/mine.part
	hpdsl-stage -q "$from/large" here
	[ -e here/.nv-meta/mine.part ] && rm here/.nv-meta/mine.part
	check_stage placed "$from/large" replicate - here
}

# bats test_tags=wide
@test "what the origin cannot give is told, and nothing else is lacking" {
	cp -r "$from/ds" bad
	rm bad/chunk-000002.idx
	echo >> bad/shards.json
	flip bad/chunk-000003.tar.idx 9
	rm bad/.nv-meta/split.yaml
	mkfifo bad/.nv-meta/split.yaml
	status=0
	stage 2 -q --pretend-nodes=2 --report=report bad node%n 2> text ||
		status=$?
	cat text
	[ "$status" = 1 ]
	for what in "chunk-000002.idx: is missing" \
		"shards.json: is [0-9]* bytes, [0-9]* expected" \
		"chunk-000003.tar.idx: is damaged: its checksum differs" \
		".nv-meta/split.yaml: is no regular file"; do
		[ "$(grep -c "warning: node [01] (.*): $PWD/bad/$what$" text)" = 1 ]
	done
	[ "$(grep -vc warning text)" = 1 ]
	[ "$(number lost_side_files)" = 4 ]
	for node in node0 node1; do
		fails_verify $node 4
		check_stage sound "$from/ds" $node
		[ "$(hpdsl-stage --status --json $node | field ready)" = 7 ]
	done
	rm -r bad
	cp -r "$from/ds" bad
	stage 2 -q --pretend-nodes=2 bad node%n
	check_stage placed "$from/ds" replicate "- -" node0 node1
	at_level more || return 0
	# a bit that a node gets otherwise is asked for again
	rm -r node?
	HPDSL_FAULT="op=read,times=0,name=bad/shards.json,node=0,flip=5;op=pread,times=0,name=bad/shards.json,node=0,flip=5" \
		stage 2 -q --pretend-nodes=2 --report=report bad node%n
	check_stage placed "$from/ds" replicate "- -" node0 node1
	# and of an error of reading there is a name
	rm -r node?
	HPDSL_FAULT="op=pread,times=0,name=bad/shards.json,error=EIO" \
		fails 1 "bad/shards.json: cannot be read: Input/output error" \
		"$STAGE" -q bad node0
}

@test "a node that cannot write ends the job, and the next run completes" {
	HPDSL_FAULT="op=pwrite,node=1,name=shards.json,error=ENOSPC" \
		fails 3 "node1/shards.json: cannot write: No space left on device" \
		stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	[ ! -e node0/stage.hpdsl ]
	check_stage named "$from/ds" node0 node1
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	check_stage placed "$from/ds" replicate "- -" node0 node1
	# what is damaged there
	flip node1/chunk-000001.idx 3
	echo >> node1/.nv-meta/split.yaml
	stage 2 --pretend-nodes=2 --recheck "$from/ds" node%n 2> text
	grep -q 'warning: node 1 .*: chunk-000001.idx: damaged; removed$' text
	grep -q 'warning: node 1 .*: .nv-meta/split.yaml: not of its size; removed$' \
		text
	check_stage placed "$from/ds" replicate "- -" node0 node1
}

@test "--clean removes them by name, and leaves what is of others" {
	hpdsl-stage -q "$from/ds" here
	cp -r here was
	touch here/.nv-meta/index.sqlite here/chunk-000007.idx
	hpdsl-stage --clean here 2> text
	[ "$(find here -type f | sort)" = "here/.nv-meta/index.sqlite
here/chunk-000007.idx" ]
	grep -q 'here: stays, for 2 files of others in it$' text
	: > was/.nv-meta/..info.json.part
	hpdsl-stage --clean -q was
	[ ! -e was ]
	# names of side files that nobody has staged
	rm -r here
	hpdsl-pack -q --chunks=3 "$from/tree" bare
	hpdsl-stage -q bare here
	touch here/shards.json here/chunk-000001.idx
	mkdir here/.nv-meta
	touch here/.nv-meta/split.yaml
	hpdsl-stage -q --clean here 2> text
	grep -q 'here: stays, for 3 files of others in it$' text
	[ "$(find here -type f | wc -l)" = 3 ]
}

@test "what is no file in the place of one goes, and no link is followed" {
	hpdsl-stage -q "$from/ds" here
	mkdir elsewhere
	rm -r here/.nv-meta here/shards.json here/chunk-00000[12].idx
	ln -s ../elsewhere here/.nv-meta
	ln -s ../elsewhere/new here/shards.json
	mkfifo here/chunk-000001.idx
	mkdir here/chunk-000002.idx
	cp -a here other
	hpdsl-stage "$from/ds" here 2> text
	grep -q 'warning: .nv-meta: no folder; removed$' text
	[ "$(grep -c 'warning: .*: no regular file; removed$' text)" = 3 ]
	check_stage placed "$from/ds" replicate - here
	hpdsl-verify -q here
	[ -z "$(ls elsewhere)" ]
	hpdsl-stage -q --clean other
	[ ! -e other ] && [ -z "$(ls elsewhere)" ]
	# what is in a folder is somebody's
	rm here/shards.json
	mkdir here/shards.json
	touch here/shards.json/mine
	fails 3 "here/shards.json: is a folder that is not empty, where a side file has to be" \
		hpdsl-stage -q --recheck "$from/ds" here
	hpdsl-stage -q --clean here 2> text
	grep -q 'here: stays, for 1 file of others in it$' text
	[ "$(find here -mindepth 1 | sort | xargs)" = \
		"here/shards.json here/shards.json/mine" ]
}

# same DIR NODE..: that is there, and nothing else.
same()
{
	local node
	for node in "${@:2}"; do
		diff -r -x stage.hpdsl -x peers.hpdsl -x .stage.lock "$1" "$node"
		hpdsl-verify "$node" > lines 2>&1
		run ! grep -i warning lines
	done
}

# bats test_tags=more
@test "packed again with other side files, those of before go" {
	# of the same chunks and the same index: none, DALI's, and others of
	# the same size
	hpdsl-pack -q --names=portable --chunks=4 "$from/tree" none
	cp -r none all
	"$SRC/tests/kit/side_forge.py" all chunk-00000{0,1,2,3}.idx=9 \
		shards.json=90 .nv-meta/split.yaml=40 .nv-meta/.info.json=5
	cp -r none dali
	"$SRC/tests/kit/side_forge.py" dali chunk-00000{0,1,2,3}.idx=9
	cp -r all again
	printf 012345678 > again/chunk-000002.idx
	"$SRC/tests/kit/side_forge.py" again chunk-000001.idx=8 \
		chunk-000002.idx=9 chunk-000003.idx=9
	sed -n 's/^checksum: //p' {none,all,dali,again}/dataset.yaml |
		sort -u | wc -l | grep -qx 4
	hpdsl-stage -q all here
	cp -r here was
	for what in dali again all none; do
		hpdsl-stage $what here 2> text
		cat text
		[ "$(wc -l < text)" = 1 ]
		grep -q '4 of 4 there already\|nothing to do: ' text
		same $what here
	done
	# killed on the way: who goes on, and who cleans, leaves nothing
	for op in unlink,name=.idx,after=2 unlink,name=.nv-meta \
		fsync rename,name=dataset.yaml; do
		rm -rf here
		cp -r was here
		status=0
		HPDSL_FAULT="op=$op,kill" "$STAGE" -q none here \
			2> /dev/null || status=$?
		[ "$status" != 0 ]
		cp -r here other
		hpdsl-stage -q --clean other
		[ ! -e other ]
		case $op in unlink,name=.idx* | rename*)
			hpdsl-stage -q none here
			same none here ;;
		esac
	done
}

# bats test_tags=wide
@test "killed at any instant, the next run completes" {
	local op
	# some of them go on with what the one before has left
	for op in open,name=.idx.part,after=3 mkdir,name=.nv-meta \
		rename,name=split.yaml fresh pwrite,name=shards.json.part \
		fresh rename,name=SHA256SUMS; do
		case $op in mkdir* | rename,name=split*) at_level more || continue ;;
		esac
		if [ $op = fresh ]; then
			hpdsl-stage -q "$from/ds" here
			check_stage placed "$from/ds" replicate - here
			rm -r here
			continue
		fi
		status=0
		HPDSL_FAULT="op=$op,kill" "$STAGE" -q "$from/ds" here \
			2> /dev/null || status=$?
		[ "$status" != 0 ]
		check_stage named "$from/ds" here
	done
	hpdsl-stage -q "$from/ds" here
	check_stage placed "$from/ds" replicate - here
}

@test "one node opens each at the origin, once, and the others do not" {
	need strace
	strace -qq -o /dev/null true || skip "strace may not trace"
	cat > traced <<- 'END'
		#!/bin/sh
		exec strace -ff -qq -y -s 0 -o "trace.$$" -e trace=openat hpdsl-stage "$@"
	END
	chmod +x traced
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
	STAGE=$PWD/traced stage 3 -q --pretend-nodes=3 "$from/ds" node%n
	grep -ho "<$from/ds/[^>]*\(idx\|shards.json\|SHA256SUMS\|nv-meta/[^>]*\)>$" \
		trace.* | sort > opened
	[ "$(wc -l < opened)" = 19 ]
	[ "$(sort -u opened | wc -l)" = 19 ]
}

# bats test_tags=more
@test "a slow origin counts one open and all bytes of each" {
	need_root
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	[ -c /dev/fuse ] || skip "no /dev/fuse"
	mkdir mnt
	"$BUILD/tests/bed/origin" "$from/large" mnt -o "watch=$$,rate=20M"
	stage 2 -q --pretend-nodes=2 mnt node%n 2> /dev/null
	awk '$1 == "file" && $5 ~ /(idx|shards.json|split.yaml)$/ {
		print $2, $4, $5 }' mnt/.origin-stats | sort -k 3 > counted
	cat counted
	fusermount3 -u mnt
	[ "$(cut -d' ' -f 1-2 counted | xargs)" = \
		"40 1 1500000 1 0 1 524288 1 $(stat -c %s "$from"/large/chunk-000003.idx) 1 3000001 1" ]
	check_stage placed "$from/large" replicate "- -" node0 node1
}
