#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A pack that was stopped, killed or disturbed is completed to the bytes of an
# undisturbed one, or refused with the reason.
# need_disk: kills at random come while a disk is waited for.

load ../kit/lib
load ../kit/stopped

CHUNKS=60

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in 4 60
	find in -exec touch -d '2022-02-02 02:02:02.123456789' {} +
	hpdsl-pack -q --chunks "$CHUNKS" in ref
	dataset_digest ref > digest
	make_tree small 2 30
	hpdsl-pack -q --chunks 12 small small.ref
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	in=$BATS_FILE_TMPDIR/in
	small=$BATS_FILE_TMPDIR/small
	want=$(cat "$BATS_FILE_TMPDIR/digest")
}

pack()
{
	hpdsl-pack --chunks "$CHUNKS" "$@" "$in" out
}

# is_ref DIR: the bytes of the undisturbed run, and nothing else left over.
is_ref()
{
	[ "$(dataset_digest "$1")" = "$want" ] || {
		echo "$1 is not as it should be:"
		diff -rq "$1" "$BATS_FILE_TMPDIR/ref"
		return 1
	}
	nothing_beside "$1"
}

nothing_beside()
{
	! { find "$1" -name '*.part' -o -name journal.hpdsl
		find "$(dirname "$1")" -maxdepth 1 -name '.*.hpdsl-*'; } | grep .
}

# chunks_there DIR: how many chunks have their name.
chunks_there()
{
	local names
	shopt -s nullglob
	names=("$1"/chunk-*.tar)
	shopt -u nullglob
	echo "${#names[@]}"
}

# chunk N: where that one, counted from 0, is about to get its name.
chunk()
{
	echo "op=rename,name=chunk-,after=$1"
}

# unfinished N: an output that was killed with N chunks.
unfinished()
{
	rm -rf out
	killed_at "$(chunk "$1")" hpdsl-pack -q -j 0 --chunks "$CHUNKS" \
		"$in" out
}

# packing N OPTION..: one that stands still where it has read what N chunks hold, of
# four samples each, as $pid.  Where it writes it would read on, and a stop would come
# when all is under way.
packing()
{
	at_gate "op=open,name=.png,after=$((4 * $1))" hpdsl-pack -q -j 1 --readers 1 \
		--chunks "$CHUNKS" "${@:2}" "$in" out
}

resumed_chunks()
{
	pack -q --json --resume | field resumed_chunks
}

# bats test_tags=more
@test "SIGKILL at random moments, then --resume: the bytes of an undisturbed run" {
	local kills landed=0 tries=0 start ms=
	kills=$(rounds 10 10 200)
	start=$(date +%s%N)
	pack -q
	ms=$((($(date +%s%N) - start) / 1000000))
	is_ref out
	[ -z "${LONG_SECONDS:-}" ] || kills=1
	while [ "$landed" -lt "$kills" ] || longer; do
		tries=$((tries + 1))
		[ "$tries" -lt $(((kills + landed) * 10)) ]
		rm -rf out
		hpdsl-pack -q --chunks "$CHUNKS" "$in" out 3>&- &
		pid=$!
		sleep "$(awk -v ms="$ms" -v r="$RANDOM" \
			'BEGIN { printf "%.4f", ms / 1000 * r / 32768 }')"
		kill -KILL "$pid" 2> /dev/null || :
		# the machine may be busier now than then, or less
		if wait "$pid"; then
			pid=
			ms=$((ms * 9 / 10 + 1))
			continue
		fi
		pid=
		ms=$((ms * 51 / 50 + 1))
		landed=$((landed + 1))
		[ ! -e out/dataset.yaml ] || hpdsl-verify -q out
		pack -q --resume
		is_ref out
	done
	echo "# $landed kills in $tries runs of $ms ms" >&3
}

@test "finished chunks are kept: verified, not written again" {
	local there kept
	unfinished 20
	there=$(chunks_there out)
	find out -name 'chunk-*.tar' -printf '%f %i %T@\n' | sort > before
	kept=$(resumed_chunks)
	echo "$there there, $kept kept"
	[ "$kept" -ge 15 ]
	[ "$kept" -le "$there" ]
	find out -name 'chunk-*.tar' -printf '%f %i %T@\n' | sort > after
	[ "$(comm -12 before after | wc -l)" -ge "$kept" ]
	is_ref out
}

@test "killed again while resuming, again and again" {
	local n
	unfinished 5
	for n in 10 10 15 15; do
		killed_at "$(chunk "$n")" hpdsl-pack -q -j 1 --readers 1 \
			--chunks "$CHUNKS" --resume "$in" out
	done
	pack -q --resume
	is_ref out
}

# bats test_tags=wide
@test "killed before every rename, removal and sync of a pack" {
	local call k status step
	step=$(rounds 4 1 1)
	want=$(dataset_digest "$BATS_FILE_TMPDIR/small.ref")
	for call in rename unlink fsync; do
		for ((k = 0; ; k += step)); do
			rm -rf out
			status=0
			HPDSL_FAULT=op=$call,after=$k,kill \
				"$BUILD/tests/bed/hpdsl-pack" -q -j 0 \
				--chunks 12 "$small" out || status=$?
			[ "$status" != 0 ] || break
			[ "$status" = 137 ]
			[ ! -e out/dataset.yaml ] || hpdsl-verify -q out
			hpdsl-pack -q --chunks 12 --resume "$small" out
			[ "$(dataset_digest out)" = "$want" ] || {
				echo "$call $k"
				diff -rq out "$BATS_FILE_TMPDIR/small.ref"
				return 1
			}
			nothing_beside out
		done
		[ "$k" -gt 0 ]
	done
}

@test "with another -j, --readers and --memory: the same" {
	unfinished 30
	pack -q --resume -j 2 --readers 5 --memory 9M
	is_ref out
}

@test "with nothing there --resume starts afresh" {
	[ "$(resumed_chunks)" = 0 ]
	is_ref out
	rm -r out
	mkdir out
	[ "$(resumed_chunks)" = 0 ]
	is_ref out
}

@test "on a complete dataset --resume is done: nothing is touched" {
	pack -q
	find out -printf '%p %i %T@ %C@\n' | sort > before
	pack -q --resume
	find out -printf '%p %i %T@ %C@\n' | sort > after
	diff before after
	[ "$(resumed_chunks)" = "$CHUNKS" ]
	is_ref out
}

@test "without --resume an unfinished pack is refused, and stays" {
	unfinished 10
	find out -printf '%p %i %s\n' | sort > before
	fails 3 "--resume" pack -q
	[[ $message = *out*unfinished* ]]
	find out -printf '%p %i %s\n' | sort > after
	diff before after
	pack -q --resume
	is_ref out
}

@test "--force on an unfinished pack begins afresh" {
	unfinished 10
	hpdsl-pack -q --seed 9 --chunks 3 --force "$small" out
	hpdsl-verify -q --source "$small" out
	[ "$(chunks_there out)" = 3 ]
	nothing_beside out
}

refuses_differences()
{
	fails 3 "seed" pack -q --resume --seed 7
	fails 3 "chunks" hpdsl-pack -q --resume --chunks 9 "$in" out
	fails 3 "labels" pack -q --resume --labels=parent
	fails 3 "group" pack -q --resume --group=none
	fails 3 "shuffle" pack -q --resume --shuffle=none
	fails 3 "meta" pack -q --resume --meta=licence=CC0
	echo x >> in/class1/00005.json
	fails 3 "class1/00005.json" pack -q --resume
	git_back class1/00005.json
	touch in/class1/00006.json
	fails 3 "class1/00006.json" pack -q --resume
	git_back class1/00006.json
	chmod 600 in/class2/00007.json
	fails 3 "class2/00007.json" pack -q --resume
	git_back class2/00007.json
	touch in/class2/new.json
	fails 3 "class2/new.json" pack -q --resume
	rm in/class2/new.json
	rm in/class3/00008.png
	fails 3 "class3/00008.png" pack -q --resume
	git_back class3/00008.png
	mv in/class3/00009.png in/class3/other.png
	fails 3 "class3/" pack -q --resume
	mv in/class3/other.png in/class3/00009.png
}

git_back()
{
	cp -a "$BATS_FILE_TMPDIR/in/$1" "in/$1"
}

@test "--resume of an unfinished pack refuses what is different, by name" {
	cp -a "$in" in
	in=in
	unfinished 30
	refuses_differences
	pack -q --resume
	is_ref out
}

@test "--resume refuses another tar or dataset with the same names, sizes and times" {
	local form word
	cp -a "$small" tree
	tar --format=pax -C tree -cf a.tar .
	hpdsl-pack -q tree a.ds
	find tree -type f -exec sed -i --posix 'y/0123456789/1234567890/' {} +
	(cd tree && find . -type f -exec touch -r "$small/{}" {} \;)
	tar --format=pax -C tree -cf b.tar .
	hpdsl-pack -q tree b.ds
	touch -d 2001-01-01 b.tar
	for form in tar ds; do
		word=archive
		[ $form = tar ] || word=dataset
		rm -rf out input
		cp -a a.$form input
		killed_at "$(chunk 4)" hpdsl-pack -q -j 0 --chunks 12 input out
		rm -r input
		cp -a b.$form input
		fails 3 "the interrupted run: input is another $word" \
			hpdsl-pack -q --resume --chunks 12 input out
		rm -r input
		cp -a a.$form input
		killed_at "$(chunk 1)" hpdsl-pack -q -j 0 --chunks 12 --resume \
			input out
		hpdsl-pack -q --resume --chunks 12 input out
		diff -r "$BATS_FILE_TMPDIR/small.ref" out
	done
}

@test "--resume on a complete dataset refuses what is different, by name" {
	cp -a "$in" in
	in=in
	pack -q
	refuses_differences
	pack -q --resume
	is_ref out
}

@test "SIGUSR1: exit 75, then --resume completes" {
	local status=0 there
	packing 10
	signalled USR1
	goes_on || status=$?
	[ "$status" = 75 ]
	[ "$(wc -l <<< "$message")" = 1 ]
	[[ $message = "hpdsl-pack: "* ]]
	[ ! -e out/dataset.yaml ]
	# what was open is finished, not left
	! find out -name '*.part' | grep . || return 1
	there=$(chunks_there out)
	[ "$(resumed_chunks)" = "$there" ]
	is_ref out
}

@test "--deadline: exit 75 in time, then --resume completes" {
	local status=0
	# each chunk takes as long as it has
	HPDSL_FAULT="$(chunk 5),slow=1000,times=0" \
		"$BUILD/tests/bed/hpdsl-pack" -q -j 1 --readers 1 --deadline 1 \
		--chunks "$CHUNKS" "$in" out || status=$?
	[ "$status" = 75 ]
	[ ! -e out/dataset.yaml ]
	pack -q --resume
	is_ref out
}

@test "SIGTERM and SIGINT: at once, 128 + signal, resumable" {
	local signal status
	for signal in TERM INT; do
		rm -rf out
		status=0
		packing 5
		kill -"$signal" "$pid"
		# the gate is closed
		wait "$pid" || status=$?
		pid=
		rm gate
		[ "$status" = $((128 + $(kill -l "$signal"))) ]
		pack -q --resume
		is_ref out
	done
}

@test "a finished chunk that was damaged is written again" {
	local c
	unfinished 20
	# the oldest: these are in the journal, whatever came last
	mapfile -t c < <(find out -name 'chunk-*.tar' -printf '%T@ %p\n' |
		sort | cut -d ' ' -f 2)
	# one bit, in a header; another in a content; one cut short; one longer
	flip "${c[0]}" 3
	flip "${c[1]}" 1000
	truncate -s -512 "${c[2]}"
	echo more >> "${c[3]}"
	rm "${c[4]}"
	there=$(chunks_there out)
	kept=$(resumed_chunks)
	echo "$there there, $kept kept"
	[ "$kept" -le $((there - 4)) ]
	is_ref out
}

# flip FILE OFFSET: changes one bit.
flip()
{
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059
	printf "$(printf '\\%03o' $((byte ^ 4)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Puts back the unfinished output that was saved as u.
again()
{
	rm -rf out
	cp -a u out
}

@test "a torn end of the journal costs one chunk, garbage behind it none" {
	local n all cuts="1 20 39"
	! at_level long || cuts=$(seq 39)
	in=$small CHUNKS=12
	want=$(dataset_digest "$BATS_FILE_TMPDIR/small.ref")
	at_gate "$(chunk 7)" hpdsl-pack -q -j 0 --chunks 12 "$in" out
	signalled USR1
	goes_on || [ $? = 75 ]
	[ ! -e out/dataset.yaml ]
	mv out u
	again
	all=$(resumed_chunks)
	[ "$all" -ge 8 ]
	is_ref out
	for n in $cuts; do
		again
		truncate -s "-$n" out/journal.hpdsl
		[ "$(resumed_chunks)" = $((all - 1)) ]
		is_ref out
	done
	for n in 1 39 40 41 4000; do
		again
		head -c "$n" /dev/urandom >> out/journal.hpdsl
		[ "$(resumed_chunks)" = "$all" ]
		is_ref out
	done
	again
	tail -c 40 u/journal.hpdsl >> out/journal.hpdsl
	head -c 80 /dev/zero >> out/journal.hpdsl
	[ "$(resumed_chunks)" = "$all" ]
	is_ref out
}

# bats test_tags=wide
@test "a damaged journal: refused or begun afresh, never believed" {
	local at size
	unfinished 10
	mv out u
	size=$(stat -c %s u/journal.hpdsl)
	for at in $(rounds "9 250" "0 9 100 250" "0 9 100 250") \
		$((size / 3)) $((size - 100)); do
		again
		flip out/journal.hpdsl "$at"
		if pack -q --resume 2> err; then
			is_ref out
		else
			grep journal.hpdsl err
			[ "$(wc -l < err)" = 1 ]
			pack -q --force
			is_ref out
		fi
	done
	for at in $(rounds "1 64 192" "0 1 63 64 191 192" \
		"0 1 63 64 191 192") $((size - 100)); do
		again
		truncate -s "$at" out/journal.hpdsl
		if ! pack -q --resume 2> err; then
			grep journal.hpdsl err
			pack -q --force
		fi
		is_ref out
	done
}

@test "a journal without a head: refused without --resume, then it can be resumed" {
	unfinished 10
	truncate -s 60 out/journal.hpdsl
	fails 3 "--resume" pack -q
	pack -q --resume
	is_ref out
}

@test "two packers at once: the second is refused and names the process" {
	packing 5
	for o in -q --resume --force; do
		fails 3 "process $pid" pack -q $o
		[[ $message = *out* ]]
	done
	goes_on
	is_ref out
}

@test "two packers at once that replace a dataset: the second is refused" {
	hpdsl-pack -q "$small" out
	packing 5 --force
	fails 3 "process $pid" pack -q --force
	hpdsl-verify -q --source "$small" out
	goes_on
	is_ref out
}

@test "killed while a dataset is replaced: the old one is sound until then" {
	local n
	hpdsl-pack -q "$small" out
	for n in 1 20 50; do
		killed_at "$(chunk "$n")" hpdsl-pack -q -j 0 --chunks "$CHUNKS" \
			--force "$in" out
		hpdsl-verify -q --source "$small" out
	done
	pack -q --force --resume --json > json
	[ "$(field resumed_chunks < json)" -gt 40 ]
	is_ref out
}

# replace_killed CALL K [FAULT]: a dataset is replaced and that is killed at its
# Kth CALL, from 0; fails if there was none.
replace_killed()
{
	local status=0
	rm -rf out .out*
	cp -a old out
	HPDSL_FAULT="op=$1,after=$2,kill;${3:-}" \
		"$BUILD/tests/bed/hpdsl-pack" -q -j 0 --chunks 12 --force \
		"$small" out || status=$?
	[ "$status" != 0 ]
}

# Until its end a pack holds its lock, the journal, also in a new dataset.
is_old_or_new()
{
	hpdsl-verify -q "$1" || return
	rm -rf found
	cp -a "$1" found
	rm -f found/journal.hpdsl
	case $(dataset_digest found) in
	"$old" | "$want") ;;
	*)
		echo "$1 is neither"
		return 1
		;;
	esac
}

# bats test_tags=wide
@test "killed at any rename, removal or sync of a replacement: one of both is there, whole" {
	local call k step old
	step=$(rounds 3 1 1)
	want=$(dataset_digest "$BATS_FILE_TMPDIR/small.ref")
	hpdsl-pack -q --chunks 2 --seed 3 "$small" old
	old=$(dataset_digest old)
	for call in rename unlink fsync; do
		for ((k = 0; ; k += step)); do
			replace_killed "$call" "$k" || break
			is_old_or_new out
			hpdsl-pack -q --chunks 12 --force --resume "$small" out
			is_ref out
		done
		is_ref out
		[ "$k" -gt 0 ]
	done
}

@test "the same on a file system that cannot exchange names" {
	local k old here no=op=rename,name=out,error=EINVAL
	want=$(dataset_digest "$BATS_FILE_TMPDIR/small.ref")
	hpdsl-pack -q --chunks 2 --seed 3 "$small" old
	old=$(dataset_digest old)
	# 12 chunks, index, manifest, the exchange; then out of the way, and in
	for k in 13 14 15 16; do
		replace_killed rename "$k" "$no"
		here=out
		[ -e out ] || here=.out.hpdsl-old
		is_old_or_new "$here"
		hpdsl-pack -q --chunks 12 --force --resume "$small" out
		[ "$(dataset_digest out)" = "$want" ]
		nothing_beside out
	done
	! replace_killed rename 17 "$no" || return 1
	is_ref out
	# the old one is half removed when it ends; the next one takes it away
	replace_killed unlink 4 "$no"
	[ -e .out.hpdsl-old ]
	is_old_or_new out
	HPDSL_FAULT=$no "$BUILD/tests/bed/hpdsl-pack" -q -j 0 --chunks 12 \
		--force "$small" out
	is_ref out
}

@test "what --force replaces is not counted" {
	make_tree in 2 40
	hpdsl-pack -q --zstd --digest=sha256 --chunks=3 in out
	hpdsl-pack -q --json --resume --force --zstd --chunks=2 in out > json
	python3 - json <<- 'END'
		import json, os, sys
		s = json.load(open(sys.argv[1]))
		n = [e.stat().st_size for e in os.scandir("out")
		     if e.name.startswith("chunk-")]
		assert s["stored_bytes"] == sum(n), s
		assert s["compressed_chunks"] <= 2, s
		assert s["resumed_chunks"] == 0, s
		assert "dataset_id_sha256" not in s, s
	END
}
