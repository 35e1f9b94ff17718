#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A stage directory is a dataset: made by a writer that knows the page of the
# format alone, whole or in part, at work or dead, and damaged.

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in 2 30
	hpdsl-pack -q --chunks 6 in out
	hpdsl-pack -q --chunks 6 --zstd in zout
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	from=$BATS_FILE_TMPDIR
	cp -a "$from/in" "$from/out" .
}

teardown()
{
	[ ! -s stager.pid ] || kill "$(cat stager.pid)"
}

stage()
{
	"$SRC/tests/kit/stage_dir.py" "$@"
}

# A stager that is at work until the test ends.
stager()
{
	stage make "$@" keep-beating 3>&- &
	echo $! > stager.pid
	until_true test -e "$2/stage.hpdsl"
}

# opened PID: it looks at the state of st.
opened()
{
	find "/proc/$1/fd" -lname '*/st/stage.hpdsl' 2> /dev/null | grep -q .
}

# naps PID: how often it has gone to sleep.
naps()
{
	cat "/proc/$1/task/"*/status 2> /dev/null |
		awk '/^voluntary/ { n += $2 } END { print n + 0 }'
}

has_napped()
{
	[ "$(naps "$1")" -ge "$2" ]
}

# waits PID: it has the state of st, and looks at it again and again.
waits()
{
	until_true opened "$1"
	until_true has_napped "$1" $(($(naps "$1") + 5))
}

# all_of DIR: every member is what it was.
all_of()
{
	rm -rf unpacked
	hpdsl-unpack -q "$1" unpacked
	same_trees in unpacked
}

lacks()
{
	[ "$(grep -c "$1" "$2")" = 0 ]
}

@test "a whole one needs no origin" {
	stage make out st
	mv out gone
	all_of st
	hpdsl-verify st 2> text
	grep -q 'sound: 60 samples' text
	lacks 'not staged' text
	[ "$(hpdsl-verify --json st | field staged)" = true ]
}

@test "what is not here comes from the origin" {
	stage make out st here=0,2-3 part=0/2 node=0/2
	all_of st
	hpdsl-cat --sample 0 --sample 59 st | cmp - \
		<(hpdsl-cat --sample 0 --sample 59 out)
	hpdsl-ls st | cmp - <(hpdsl-ls out)
	# Nothing is written.
	stage check st
}

@test "expanded chunks are read as plain tars" {
	cp -a "$from/zout" .
	stage make zout st expanded here=1-4
	all_of st
	hpdsl-verify --thorough --source in st 2> text
	grep -q 'in 4 chunks' text
	grep -q 'not staged here: 2 chunks' text
	rm -r st
	stage make zout st here=1-4
	all_of st
	hpdsl-verify st
	rm -r st
	stage make zout st expanded
	mv zout gone
	all_of st
	[ "$(hpdsl-verify --json st | field chunks)" = 6 ]
}

@test "a chunk that is damaged, cut or missing here comes from the origin" {
	stage make out st here=0-4 claim=5 damage=1 cut=2
	all_of st
	cp -a "$from/zout" .
	for form in expanded compressed; do
		rm -rf st2
		stage make zout st2 $form here=0-4 claim=5 damage=1 cut=2
		all_of st2
	done
}

@test "hpdsl-verify finds that damage, and no other" {
	stage make out st here=0-3 claim=4 damage=1 cut=2
	fails_with_damage()
	{
		local status=0
		hpdsl-verify "$@" > lines 2> text || status=$?
		[ "$status" = 1 ]
	}
	fails_with_damage st
	grep -q '^chunk-000001.tar: ' lines
	grep -q '^chunk-000002.tar: is .* bytes, .* expected' lines
	grep -q '^chunk-000004.tar: is missing' lines
	lacks 'chunk-00000[035]' lines
	grep -q 'not staged here: 1 chunk$' text
	hpdsl-verify --json st > json || true
	[ "$(field absent_chunks < json)" = 1 ]
	[ "$(field damaged_chunks < json)" = 3 ]
	cp -a "$from/zout" .
	stage make zout st2 expanded here=0-3 damage=1
	fails_with_damage st2
	[ "$(grep -vc '^chunk-000001.tar: ' lines)" = 0 ]
}

@test "side files, part files and the stager's own are no surprise" {
	hpdsl-pack -q --chunks 6 --zstd --emit=dali,energon,wids \
		--digest=sha256 in zout
	stage make zout st expanded here=0-3
	: > st/.chunk-000004.tar.part
	cp st/chunk-000000.tar st/chunk-000005.tar
	cp zout/chunk-00000[0-3]*.idx st
	hpdsl-verify st 2> text
	lacks warning text
	[ "$(hpdsl-verify --json st | field unlisted)" = 0 ]
	: > st/other
	hpdsl-verify st 2> text
	grep -q 'other: not a file of this dataset' text
	rm st/stage.hpdsl
	hpdsl-verify st 2> text
	grep -q 'not staged here: 6 chunks' text
	grep -q '^hpdsl-verify: no chunk is here: ' text
	lacks '0 samples' text
}

# missing WHAT: what hpdsl-verify misses in st, and that is all.
missing()
{
	hpdsl-verify st > lines 2> /dev/null || [ $? = 1 ]
	diff <(sed -n 's/: is missing$//p' lines | sort) \
		<(printf '%s\n' "$@" | sed '/^$/d' | sort)
	[ "$(wc -l < lines)" = "$(grep -c 'is missing$' lines)" ]
}

@test "a side file that the plan has here and that is missing is damage" {
	hpdsl-pack -q --chunks 4 --zstd --emit=dali,energon,wids \
		--digest=sha256 in zout
	idx=("chunk-00000"{0..3}.{,tar.}idx)
	meta=(shards.json .nv-meta/{.info.json,dataset.yaml,split.yaml})
	stage make zout st expanded
	missing "${idx[@]}" "${meta[@]}"
	cp -r zout/.nv-meta zout/shards.json st
	missing "${idx[@]}"
	cp zout/*.idx st
	hpdsl-verify st
	# the sums are of the chunks as they are stored
	rm -r st
	stage make zout st compressed
	missing "${idx[@]}" "${meta[@]}" SHA256SUMS
	# those of the whole dataset want all of it
	rm -r st
	stage make zout st expanded here=0-2
	missing chunk-00000{0..2}.{,tar.}idx
	# and the plan has parts of others for other nodes
	rm -r st
	stage make zout st expanded part=1/2 node=1/2
	missing chunk-00000{1,3}.{,tar.}idx
	# of another boot nothing counts, and of what is coming nothing yet
	rm -r st
	stage make zout st boot=other
	missing ""
	rm -r st
	stage make zout st expanded here=0,1 coming=2,3
	missing chunk-00000{0,1}.{,tar.}idx
	# what is here is verified in any case
	cp zout/chunk-000003.idx zout/shards.json st
	hpdsl-verify st > lines 2> /dev/null || :
	lacks 'shards.json\|chunk-000003' lines
	echo >> st/shards.json
	rm st/chunk-000003.idx
	ln -s nowhere st/chunk-000003.idx
	hpdsl-verify st > lines 2> /dev/null || :
	grep -q '^shards.json: is .* bytes, .* expected$' lines
	# one that is no side file is nowhere asked for
	rm -r st
	stage make out st
	hpdsl-verify st
}

@test "hpdsl-verify --source compares what is here" {
	stage make out st here=0-2
	hpdsl-verify --source in st
	hpdsl-verify --quick --source in st
	echo more >> in/class0/00000.json
	echo more >> in/class1/00001.json
	chunks=$(hpdsl-ls --members --json st |
		grep -e class0/00000.json -e class1/00001.json |
		field chunk | awk '$1 < 3' | wc -l)
	hpdsl-verify --source in st > lines || [ $? = 1 ]
	[ "$(wc -l < lines)" = "$chunks" ]
}

@test "without the origin, the message names it" {
	stage make out st here=0-2
	hpdsl-ls st > /dev/null
	mv out gone
	hpdsl-verify st
	hpdsl-unpack -q st all2 2> text || [ $? = 1 ]
	grep -q "st: chunk-00000[345].tar is not staged here, and at the origin: $PWD/out/chunk-00000[345].tar: No such file" text
	# Damaged here besides: both are named.
	stage make gone st2 "origin=$PWD/out" damage=0-5
	status=0
	hpdsl-unpack -q st2 all3 2> text || status=$?
	[ "$status" = 1 ]
	grep -q "st2/chunk-00000..tar: member .*: checksum differs; and at the origin: $PWD/out/chunk-00000..tar: No such file" text
}

@test "what lies at the origin now may be another dataset" {
	stage make out st here=0-2
	mv out old
	hpdsl-pack -q --chunks 6 --seed 5 in out
	status=0
	hpdsl-unpack -q st all 2> text || status=$?
	[ "$status" = 1 ]
	grep -q "$PWD/out/chunk-00000" text
	# What could be read is right.
	[ "$(diff -r in all | grep -vc '^Only in in')" = 0 ]
}

@test "of another boot nothing counts" {
	for boot in other unknown; do
		rm -rf st
		stage make out st boot=$boot damage=all
		all_of st
		hpdsl-verify st 2> text
		grep -q 'not staged here: 6 chunks' text
		grep -q 'warning: st: staged before' text
		mv out gone
		status=0
		hpdsl-cat --sample 0 st 2> text || status=$?
		[ "$status" = 1 ]
		grep -q "at the origin: $PWD/out/chunk-000000.tar" text
		mv gone out
	done
}

# bats test_tags=wide
@test "nobody waits for a dead stager, whatever it left behind" {
	for how in beat=20 end=77 $(rounds "" "beat=never end=1 end=2 end=3" \
		"beat=never end=1 end=2 end=3"); do
		rm -rf st
		stage make out st here=0 coming=1-5 beat=20 "$how"
		[ "$how" != end=77 ] || stage end st 77
		timeout 600 hpdsl-unpack -q st all
		diff -r in all
		rm -r all
	done
}

@test "what is coming is waited for" {
	stager out st here=0-4 coming=5
	mv out gone
	hpdsl-cat --sample 59 st > got 2> text 3>&- &
	reader=$!
	waits $reader
	mkdir out
	cp gone/chunk-000005.tar out
	stage bring st 5
	mv out other
	wait $reader
	cmp got <(hpdsl-cat --sample 59 gone)
	# hpdsl-verify does not wait.
	stage set st 4 coming
	hpdsl-verify st 2> text
	grep -q 'not staged here: 1 chunk$' text
}

@test "a stager that gives up sends its readers to the origin" {
	stager out st here=0-4 coming=5
	hpdsl-cat --sample 59 st > got 3>&- &
	reader=$!
	waits $reader
	stage set st 5 absent
	stage end st 2
	wait $reader
	cmp got <(hpdsl-cat --sample 59 out)
}

@test "a reader that waits sees the next generation" {
	stager out st here=0-4 coming=5
	mv out gone
	hpdsl-cat --sample 59 st > got 3>&- &
	reader=$!
	waits $reader
	cp gone/chunk-000005.tar st
	stage renew st here=5
	wait $reader
	cmp got <(hpdsl-cat --sample 59 gone)
}

@test "a state file that is damaged is told" {
	stage make out st
	cp st/stage.hpdsl keep
	printf X | dd of=st/stage.hpdsl bs=1 seek=600 conv=notrunc status=none
	fails 1 "st/stage.hpdsl: checksum differs" hpdsl-cat --sample 0 st
	hpdsl-verify st > lines 2> text || [ $? = 1 ]
	grep -q '^stage.hpdsl: checksum differs$' lines
	head -c 4738 keep > st/stage.hpdsl
	fails 1 "st/stage.hpdsl: " hpdsl-cat --sample 0 st
	head -c 100 keep > st/stage.hpdsl
	fails 1 "st/stage.hpdsl: " hpdsl-cat --sample 0 st
	: > st/stage.hpdsl
	fails 1 "st/stage.hpdsl: is empty" hpdsl-ls st
	echo "no state at all, but long enough to be looked at" > st/stage.hpdsl
	fails 3 "st/stage.hpdsl: not the state of a stage directory" hpdsl-ls st
	# Of a dataset with another number of chunks.
	hpdsl-pack -q --chunks 4 in out4
	stage make out4 st4
	cp st4/stage.hpdsl st
	fails 1 "st/stage.hpdsl: is about 4 chunks" hpdsl-ls st
	hpdsl-pack -q --chunks 6 --seed 3 in out6
	stage make out6 st6
	cp st6/stage.hpdsl st
	hpdsl-verify st > lines 2> text || [ $? = 1 ]
	grep -q '^stage.hpdsl: is of another dataset' lines
	# Bytes that no version writes are those of chunks that are not here.
	cp keep st/stage.hpdsl
	stage set st 2 200
	all_of st
	hpdsl-verify st 2> text
	grep -q 'not staged here: 1 chunk$' text
}

@test "hpdsl-index and hpdsl-pack leave it alone" {
	stage make out st here=0-2
	before=$(dataset_digest st)
	fails 2 "st: a stage directory" hpdsl-index st
	fails 2 "st: a stage directory" hpdsl-index --force st
	fails 3 "st: holds 'stage.hpdsl'" hpdsl-pack -q --force in st
	rm st/stage.hpdsl
	fails 2 "st: a stage directory" hpdsl-index st
	stage make out st2 here=0-2
	[ "$(dataset_digest st2)" != "$before" ] # the time in it
	hpdsl-pack -q --chunks 3 st2 again 2> /dev/null
	hpdsl-verify --source in again
	hpdsl-snapshot create -o st.snap st2
	hpdsl-snapshot create -o out.snap out
	cmp st.snap out.snap
}

@test "--compat looks at the tars that are here" {
	cp -a "$from/zout" .
	stage make zout st expanded here=0-2
	[ "$(hpdsl-verify --compat=webdataset st)" = \
		"webdataset: takes all of it" ]
	hpdsl-verify --json --compat=webdataset st > json
	[ "$(field tars < json)" = 3 ]
}

@test "adopted tars have numbers for names" {
	mkdir -p far/tars
	tar -cf far/tars/one.tar -C in class0
	tar -cf far/tars/two.tar -C in class1
	hpdsl-index -q -o mine far/tars/one.tar far/tars/two.tar
	stage make mine st here=0
	[ -e st/chunk-000000.tar ]
	all_of st
	hpdsl-verify --thorough st 2> text
	grep -q 'not staged here: 1 chunk$' text
	[ "$(hpdsl-verify --json --compat=hf st | field tars)" = 1 ]
	rm -r far
	fails 1 "/two.tar: No such file" \
		hpdsl-cat st class1/00000.json
	hpdsl-cat st class0/00000.json | cmp - in/class0/00000.json
}

@test "with a damaged index or manifest what is here is still checked" {
	cp -a "$from/zout" .
	stage make zout st expanded here=0-3 damage=2
	cp -r st st2
	printf X | dd of=st/index.hpdsl bs=1 seek=3000 conv=notrunc status=none
	hpdsl-verify st > lines 2> text || [ $? = 1 ]
	grep -q '^index.hpdsl: ' lines
	grep -q '^chunk-000002.tar: checksum differs (samples 20-29)' lines
	lacks 'chunk-00000[01345]' lines
	grep -q 'not staged here: 2 chunks' text
	printf X | dd of=st2/dataset.yaml bs=1 seek=60 conv=notrunc status=none
	hpdsl-verify st2 > lines 2> text || [ $? = 1 ]
	grep -q '^dataset.yaml: ' lines
	grep -q '^chunk-000002.tar: sample ' lines
	lacks 'chunk-00000[01345]' lines
	grep -q 'not staged here: 2 chunks' text
}

# bats test_tags=more
@test "chunks that are taken away meanwhile are no damage" {
	stage make out st here=0-4 coming=5
	# Taken away, as hpdsl-stage --clean does it: the byte, then the file.
	(
		for ((i = 0; i < 5; i++)); do
			stage set st $i absent
			rm "st/chunk-00000$i.tar"
		done
	) 3>&- &
	while kill -0 $! 2> /dev/null; do
		hpdsl-verify -q st
		hpdsl-verify -q --thorough st
	done
	wait
	[ "$(hpdsl-verify --json st | field absent_chunks)" = 6 ]
	all_of st
}
