#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-bench: what it reads, what it says of it, how it stops and goes on.
# bats file_tags=quick

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 4 40
	hpdsl-pack -q --chunks=8 --labels=dir tree ds
	hpdsl-pack -q --chunks=8 --labels=dir --zstd --cls tree zst
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	# shellcheck disable=SC2034
	ds=$BATS_FILE_TMPDIR/ds zst=$BATS_FILE_TMPDIR/zst tree=$BATS_FILE_TMPDIR/tree
}

# reads FIELD NUMBER ARG..: the summary of a read has this number there.
reads()
{
	local field=$1 wanted=$2 got
	shift 2
	hpdsl-bench -q --json "$@" > summary
	got=$(field "$field" < summary)
	[ "$got" = "$wanted" ] ||
		{ echo "$field: $got, wanted $wanted: $*"; cat summary; return 1; }
}

# catches PID SIGNAL: it has a handler for it.
catches()
{
	local set
	kill -0 "$1" || return
	set=$(sed -n 's/^SigCgt:[[:space:]]*/0x/p' "/proc/$1/status")
	[ $(((set >> ($(kill -l "$2") - 1)) & 1)) = 1 ]
}

bytes_of()
{
	(cd "$tree" && find . -type f "$@" -printf '%s\n') |
		awk '{ s += $1 } END { print s + 0 }'
}

@test "an epoch is every sample, and every byte of every member, once" {
	for at in "$ds" "$zst"; do
		reads samples 160 "$at"
		reads bytes "$(bytes_of)" "$at"
		reads bytes "$(bytes_of)" --memory=16M -j1 "$at"
	done
	reads samples 480 --epochs=3 "$ds"
}

@test "each chunk is looked up once, however many threads read" {
	need strace
	for at in "$ds" "$zst"; do
		traced -f -qq -e trace=openat -o calls \
			hpdsl-bench -q -j8 --epochs=2 --memory=64M "$at"
		grep -oE '"chunk-[0-9]+[^"]*"' calls | sort > looked_up
		[ "$(uniq < looked_up | wc -l)" = 8 ]
		[ -z "$(uniq -d < looked_up)" ]
	done
}

# As many files as the limit allows are kept open: each chunk once to look at it
# and once, without a look-up, to read it in its own way.  The index and the
# manifest are files, too.
@test "a shared file system is asked to open no more than there are reads" {
	local limit most reads
	need_root
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	[ -c /dev/fuse ] || skip "no /dev/fuse"
	make_tree many 12 100
	hpdsl-pack -q --chunks=200 many of_many
	reads=$(hpdsl-order --cost --json --lanes=64 --windows=2 of_many |
		field reads)
	mkdir mnt
	for limit in 4096 40; do
		most=404
		[ "$limit" = 4096 ] || most=$((2 * reads + 4))
		"$BUILD/tests/bed/origin" of_many mnt \
			-o "watch=$$,op_ms=1,stats=counters,mapped=index.hpdsl"
		(ulimit -n $limit &&
			hpdsl-bench -q --cache=keep --lanes=64 --windows=2 mnt)
		fusermount3 -u mnt
		until_true test -s counters
		awk '$1 == "opens" { print $2 }' counters > opens
		echo "$(cat opens) opens, $reads reads, $limit files at most"
		[ "$(cat opens)" -ge 200 ]
		[ "$(cat opens)" -le "$most" ]
		rm counters
	done
}

@test "some members: by suffix, and the packer's own only then" {
	reads bytes "$(bytes_of -name '*.png')" --suffix=png "$ds"
	reads bytes "$(bytes_of ! -name '*.png')" --suffix=json --suffix=txt "$zst"
	reads bytes 160 --suffix=cls "$zst"
	reads lacking 0 --suffix=.png "$ds"
	fails 2 "suffix 'none': no sample has such a member; there are '" \
		hpdsl-bench -q --suffix=none "$ds"
}

@test "ranks and workers share an epoch" {
	sum=0 steps=
	for rank in 0 1 2 3; do
		for worker in 0 1; do
			hpdsl-bench -q --json --end=drop --batch-size=8 --ranks=4 \
				--rank=$rank --workers=2 --worker=$worker "$ds" > summary
			sum=$((sum + $(field samples < summary)))
			steps+=" $(field steps < summary)"
		done
	done
	[ "$sum" = 160 ]
	[ "$steps" = " 3 2 3 2 3 2 3 2" ]
	why="a batch of 32: 3 ranks do not divide it; 2 or 4 do (uneven: 10 or 11 samples a rank)"
	fails 2 "$why" hpdsl-bench --batch=32 --ranks=3 "$ds"
	fails 2 "$why" hpdsl-order --batch=32 --ranks=3 "$ds"
	sum=0
	for rank in 0 1 2; do
		reads steps 5 --ranks=3 --rank=$rank --uneven --batch=32 "$ds"
		sum=$((sum + $(field samples < summary)))
	done
	[ "$sum" = 160 ]
}

@test "a job of many ranks reads each sample once, in few reads" {
	local rank lanes
	for rank in 0 7 15; do
		reads steps 5 --batch=32 --lanes=32 --ranks=16 --rank=$rank "$ds"
		[ "$(field samples < summary)" = 10 ]
		[ "$(field lanes < summary)" = 2 ]
	done
	# more than the batch cannot be
	fails 2 "33 ranks cannot share a batch of 32" \
		hpdsl-bench --batch=32 --ranks=33 --uneven "$ds"
	# any number of lanes, the same samples
	for lanes in 1 8 32 128; do
		reads samples 160 --batch=32 --lanes=$lanes --piece=3 "$ds"
		[ "$(field lanes < summary)" = $lanes ]
		[ "$(field read_bytes < summary)" -lt 2000000 ]
	done
	# of which there may be more than samples
	for lanes in 1 32; do
		reads samples 160 --batch=$lanes \
			--lanes=$((4294967295 / lanes * lanes)) "$ds"
		[ "$(field lanes < summary)" = 160 ]
	done
	reads samples 160 --no-shuffle --batch=32 "$ds"
}

@test "a worker that reads by itself has the lanes of its steps" {
	local of=(--batch=16 --lanes=64 --piece=2 --json) i
	set -- "--workers=8 --worker=3" 16 "--workers=2" 32 "--workers=3" 64
	while [ $# -gt 0 ]; do
		# shellcheck disable=SC2086
		hpdsl-order --cost "${of[@]}" $1 "$ds" > cost
		[ "$(field rank_lanes < cost)" = "$2" ]
		# shellcheck disable=SC2086
		reads lanes "$2" "${of[@]}" $1 "$ds"
		for i in share_bytes held_peak; do
			[ "$(field $i < summary)" = "$(field $i < cost)" ]
		done
		shift 2
	done
}

@test "ends: filled up, or left out" {
	reads samples 160 --batch=60 "$ds"
	reads steps 3 --batch=60 "$ds"
	reads samples 180 --batch=60 --end=repeat "$ds"
	reads samples 120 --batch=60 --end=drop "$ds"
}

@test "some samples: by class, path, list, share" {
	reads samples 40 --label=class2 "$ds"
	reads samples 80 --label=class2 --label=0 "$ds"
	reads samples 40 --include='class1/*' "$ds"
	reads samples 120 --exclude='class1/*' "$ds"
	reads samples 40 --folder=class1 "$ds"
	reads samples 80 --folder=./class1/ --folder=class2 "$ds"
	reads samples 40 --folder=class1 --folder=class2 --label=1 "$ds"
	printf '3\n159\n3\n' > list
	reads samples 2 --samples=list "$ds"
	reads samples 2 --samples=- "$ds" < list
	reads samples 144 --split=0:0.9 "$ds"
	reads samples 16 --split=0.9:1 "$ds"
	fails 2 "--label: no class 'nobody'; there are '" hpdsl-bench --label=nobody "$ds"
	fails 2 "no sample is in folder 'class9', there are 'class0', 'class1'" \
		hpdsl-bench --folder=class9 "$ds"
	fails 2 "'' names no folder" hpdsl-bench --folder= "$ds"
	fails 2 "--split: '0.9'" hpdsl-bench --split=0.9 "$ds"
	fails 2 "" hpdsl-bench --label=class1 --include='class2/*' "$ds"
}

@test "the state goes on where the run stopped, on another number of ranks" {
	hpdsl-bench -q --batch=32 --seed=7 --steps=3 --save=state "$ds"
	[ "$(field step < state)" = 3 ]
	[ "$(field samples < <(hpdsl-bench -q --json --state=state "$ds"))" = 64 ]
	for rank in 0 1; do
		reads samples 32 --state=state --ranks=2 --rank=$rank "$ds"
	done
	reads samples 64 --state=state --seed=7 --batch=32 "$ds"
	fails 2 "state: the state has another --seed: 7, and not 8" \
		hpdsl-bench --state=state --seed=8 "$ds"
	fails 2 "state: the state has another --end: mask, and not drop" \
		hpdsl-bench --state=state --end=drop "$ds"
	fails 2 "state: the state is shuffled, and not --no-shuffle" \
		hpdsl-bench --state=state --no-shuffle "$ds"
	fails 3 "another" hpdsl-bench --state=state "$zst"
	fails 3 "" hpdsl-bench --state=state --label=class1 "$ds"
	fails 3 "absent: No such file" hpdsl-bench --state=absent "$ds"
}

@test "a state that is none says what it lacks, or has too much" {
	local command
	hpdsl-bench -q --batch=32 --steps=3 --save=state "$ds"
	sed 's/"step": 3/"step": 6/' state > behind
	sed 's/"step": 3/"step": -1/' state > negative
	sed 's/"version": 2/"version": 3/' state > later
	echo '{"batch": 4294967296}' > large
	sed 's/"seed"/"sead"/' state > lacks
	echo '{' > broken
	echo '{"seed": 3, "lr": 0.1}' > other
	for command in hpdsl-order hpdsl-bench; do
		fails 3 "broken: line 2: " $command --state=broken "$ds"
		fails 3 "lacks: 'seed' is missing" $command --state=lacks "$ds"
		fails 3 "other: line 1: 'lr' is no field of a loader's state" \
			$command --state=other "$ds"
		fails 3 "negative: line 1: not a number" $command --state=negative "$ds"
		fails 3 "later: line 1: 3 is no version of a state but 2" \
			$command --state=later "$ds"
		fails 3 "large: line 1: 4294967296 is not below 2^32" \
			$command --state=large "$ds"
		fails 3 "behind: no step 6, epoch 0 has 5" $command --state=behind "$ds"
		fails 2 "no step 6, the epoch has 5" $command --batch=32 --step=6 "$ds"
	done
}

@test "an old state stays when the new one cannot be written" {
	need_root
	mkdir full
	mount -t tmpfs -o size=8k none full
	echo old > full/state
	head -c 8192 /dev/zero > full/x || :
	status=0
	hpdsl-bench -q --save=full/state "$ds" 2> said || status=$?
	ls full > left
	was=$(cat full/state)
	umount full
	[ "$status" = 3 ]
	grep -q "full/state: No space left on device" said
	[ "$was" = old ]
	[ "$(cat left)" = "$(printf 'state\nx')" ]
}

@test "--save: what is no regular file is written to, what cannot be is told first" {
	ln -s /dev/stdout out
	hpdsl-bench -q --batch=160 --save=out "$ds" > state
	[ -L out ]
	[ "$(field step < state)" = 1 ]
	fails 3 "absent/state: No such file" \
		hpdsl-bench --compute=1000 --save=absent/state "$ds"
	fails 3 ".: Is a directory" hpdsl-bench --compute=1000 --save=. "$ds"
}

@test "nothing was read: the error is all that is told" {
	cp -r "$ds" bad
	rm bad/chunk-*
	status=0
	hpdsl-bench bad 2> said || status=$?
	[ "$status" = 3 ]
	grep -q '^hpdsl-bench: sample .* bad/chunk-.*: No such file' said
	[ "$(wc -l < said)" = 1 ]
	# a program is told all the same
	status=0
	hpdsl-bench --json bad > summary 2> /dev/null || status=$?
	[ "$status" = 3 ]
	[ "$(field complete < summary)" = false ]
}

@test "damage: an error with its name, or skipped, and told" {
	cp -r "$ds" bad
	read -r chunk at <<< "$(hpdsl-ls -l bad class1/00007.png |
		awk '{ print $5, $6 }')"
	chunk=$(printf 'chunk-%06d.tar' "$chunk")
	printf X | dd of="bad/$chunk" bs=1 seek="$at" conv=notrunc status=none
	hpdsl-verify -q bad > damage || :
	sample=$(sed -n 's/.*sample \([0-9]*\):.*/\1/p' damage)
	status=0
	hpdsl-bench -q bad > out 2> said || status=$?
	[ "$status" = 1 ]
	grep -q "$chunk" said
	status=0
	hpdsl-bench -q --json --skip-bad bad > out 2> said || status=$?
	[ "$status" = 1 ]
	[ "$(wc -l < said)" = 1 ]
	grep -q "$chunk: sample $sample: class1/00007.png: checksum differs" said
	[ "$(field bad_samples < out)" = 1 ]
	[ "$(field samples < out)" = 160 ]
	lost=$(stat -c %s "$tree/class1/00007".* | awk '{ n += $1 } END { print n }')
	[ "$(field bytes < out)" = $(($(bytes_of) - lost)) ]
	hpdsl-bench --skip-bad bad 2> said || :
	grep -q '^hpdsl-bench: 160 samples (1 bad), ' said
	reads bad_samples 0 --unchecked bad
}

@test "a chunk that is gone is not a line for each of its samples" {
	local n status=0
	cp -r "$ds" bad
	rm bad/chunk-000003.tar
	hpdsl-bench -q --json --epochs=2 --skip-bad bad > out 2> said || status=$?
	cat said
	[ "$status" = 1 ]
	n=$(field bad_samples < out)
	[ "$n" = 40 ]
	[ "$(wc -l < said)" = 4 ]
	[ "$(grep -c 'chunk-000003.tar: sample .*: No such file or directory$' said)" = 3 ]
	tail -n 1 said | grep -qx "hpdsl-bench: warning: chunk-000003.tar: and 37 samples more: bad/chunk-000003.tar: No such file or directory"
	# another chunk, another reason
	truncate -s 1000 bad/chunk-000005.tar
	hpdsl-bench -q --skip-bad bad 2> said || :
	cat said
	[ "$(grep -c 'chunk-000005.tar: sample ' said)" = 3 ]
	grep -q "chunk-000005.tar: and 1[0-9] samples more: the chunk ends" said
	[ "$(wc -l < said)" -le 12 ]
}

@test "a signal or a deadline stops it, with the state" {
	hpdsl-bench -q --compute=0.05 --epochs=100000 --save=state "$ds" 3>&- &
	until_true catches $! USR1
	kill -USR1 $!
	status=0
	wait $! || status=$?
	[ "$status" = 75 ]
	hpdsl-bench -q --steps=1 --state=state "$ds"
	fails 75 "" hpdsl-bench -q --compute=0.05 --epochs=100000 --deadline=2 "$ds"
}

@test "SIGINT and SIGTERM: the state of what was handed out, then 128 + signal" {
	local signal status
	for signal in INT TERM; do
		rm -f state
		# a shell's background jobs ignore SIGINT
		env --default-signal=INT hpdsl-bench --json --compute=0.05 \
			--batch=8 --epochs=100000 --save=state "$ds" \
			> summary 2> said 3>&- &
		until_true is_reading $!
		kill -$signal $!
		status=0
		wait $! || status=$?
		[ "$status" = $((128 + $(kill -l $signal))) ]
		grep -qx "hpdsl-bench: ended by SIG$signal" said
		[ "$(wc -l < said)" = 1 ]
		[ ! -s summary ]
		hpdsl-bench -q --steps=1 --state=state "$ds"
	done
	# with nothing to write it ends at once
	env --default-signal=INT hpdsl-bench -q --compute=1000 "$ds" 2> said 3>&- &
	until_true catches $! INT
	kill -INT $!
	status=0
	wait $! || status=$?
	[ "$status" = 130 ]
	grep -qx "hpdsl-bench: ended by SIGINT" said
}

# is_reading PID: it has read several epochs, so that it is well past its start.
is_reading()
{
	kill -0 "$1" || return
	[ "$(awk '/^rchar/ { print $2 }' "/proc/$1/io")" -gt 2000000 ]
}

@test "what fills the last step up: told by the summary and by --cost" {
	local counted
	hpdsl-bench --batch=1000 --lanes=1 "$ds" 2> said
	grep -q '^hpdsl-bench: 160 samples, .*, in 1 step (filled up with 840 again) in ' said
	reads filling_samples 840 --batch=1000 --lanes=1 "$ds"
	[ "$(field samples < summary)" = 160 ]
	# it is read, and counted as what is read
	counted=$(field reads < summary)
	hpdsl-order --cost --json --batch=1000 --lanes=1 "$ds" > cost
	[ "$(field filling_samples < cost)" = 840 ]
	[ "$(field reads < cost)" = "$counted" ]
	[ "$(hpdsl-order --cost --batch=1000 --lanes=1 "$ds" | sed -n 2p)" = \
		"epoch:       160 samples in 8 chunks, 1 step, 840 again to fill the last" ]
	# of a rank its own; counted as samples they are none; a step more is none
	reads filling_samples 250 --batch=1000 --lanes=1 --ranks=4 --rank=3 "$ds"
	reads filling_samples 90 --batch=1000 --lanes=1 --ranks=4 "$ds"
	reads filling_samples 0 --batch=1000 --lanes=1 --end=repeat "$ds"
	[ "$(field samples < summary)" = 1000 ]
	reads filling_samples 0 --batch=100 --end=drop "$ds"
	reads filling_samples 0 --batch=100 --steps=1 "$ds"
	[ "$(hpdsl-order --cost --batch=100 --end=drop "$ds" | sed -n 2p)" = \
		"epoch:       160 samples in 8 chunks, 1 step" ]
}

@test "pace and compute time: the summary says what was waited" {
	hpdsl-bench --batch=32 --compute=0.02 "$ds" 2> said
	grep -q '^hpdsl-bench: 160 samples, .*, in 5 steps in ' said
	grep -q '^hpdsl-bench: waited .* for data, ' said
	grep -q '^hpdsl-bench: .* of chunk files, ' said
	[ "$(wc -l < said)" = 3 ]
	hpdsl-bench -q --json --batch=32 --pace=800 "$ds" > summary
	python3 -c 'import json
s = json.load(open("summary"))
assert s["seconds"] >= 0.19, s
assert s["stall_seconds"] <= s["seconds"]
assert s["complete"] and s["memory_peak"] <= s["memory"] and s["reads"] > 0'
}

# big_samples N: packed has so many, of a MiB each.
big_samples()
{
	mkdir big
	for ((i = 0; i < $1; i++)); do
		head -c 1M /dev/urandom > big/$i.bin
	done
	hpdsl-pack -q --chunks=4 big packed
}

@test "what the page cache has is not read far ahead" {
	local peak held
	big_samples 160
	cat packed/* > /dev/null
	hpdsl-bench -q --json -j2 --cache=keep --batch=4 --lanes=4 \
		--compute=0.02 packed > summary
	peak=$(field memory_peak < summary)
	held=$(field held_peak < summary)
	# 64 MiB, and what was begun
	[ "$peak" -lt $((held + (88 << 20))) ]
}

@test "memory too small for whole pieces: smaller reads, and it says so" {
	local of=(--batch=8 --lanes=8 --piece=4)
	big_samples 40
	hpdsl-bench -q --json "${of[@]}" --memory=16M packed > summary 2> said
	grep -qx 'hpdsl-bench: warning: reads of 1.0 MiB: with a memory of 77 MiB they would be 4.0 MiB' said
	[ "$(field share_bytes < summary)" -lt $((2 << 20)) ]
	[ "$(field memory_peak < summary)" -le $((16 << 20)) ]
	[ "$(field held_peak < summary)" -ge $((8 << 20)) ]
	[ "$(field held_peak < summary)" -le $((9 << 20)) ]
	hpdsl-order --cost "${of[@]}" --memory=16M packed |
		grep -x 'memory: *reads are smaller than pieces: not so with 7[67]\.[0-9] MiB'
	# what it said is enough
	hpdsl-order --cost "${of[@]}" --memory=77M packed > cost
	[ "$(grep -c '^memory:' cost)" = 0 ]
	hpdsl-bench -q --json "${of[@]}" --memory=77M packed > summary 2> said
	[ ! -s said ]
	[ "$(field share_bytes < summary)" -ge $((4 << 20)) ]
	[ "$(field memory_peak < summary)" -le $((77 << 20)) ]
	# a step that is larger than the memory is read, and told
	hpdsl-bench -q --json --batch=40 --memory=16M packed > summary 2> said
	grep -qx 'hpdsl-bench: warning: the samples of a step do not fit into the memory: more is taken' said
	[ "$(wc -l < said)" = 1 ]
	[ "$(field samples < summary)" = 40 ]
	[ "$(field memory_peak < summary)" -gt $((40 << 20)) ]
}

@test "a share without a step reads nothing, and says why" {
	nothing() {
		local text=$1
		shift
		hpdsl-bench -q "$@" 2> said
		cat said
		[ "$(wc -l < said)" = 1 ]
		grep -qF "nothing was read: $text" said
	}
	nothing "epoch 7 ends at step 5 (--epochs=2: go on with the next)" \
		--batch=32 --epoch=7 --step=5 "$ds"
	nothing "worker 1 of 2 has no step, epoch 0 has 1 step from step 4" \
		--batch=32 --workers=2 --worker=1 --step=4 "$ds"
	nothing "worker 6 of 7 has no step, epoch 1 has 5 steps from step 0" \
		--batch=32 --epochs=2 --workers=7 --worker=6 --step=4 "$ds"
	nothing "epoch 0 has no whole step (--end=drop)" --batch=256 --end=drop "$ds"
	hpdsl-bench --batch=256 --workers=3 --worker=2 "$ds" 2>&1 | tee said
	grep -q '^hpdsl-bench: 0 samples, 0 bytes, in 0 steps ' said
	grep -q '^hpdsl-bench: 0 reads of chunk files, 0 bytes; 0 bytes past' said
	grep -q 'nothing was read: worker 2 of 3 has no step, epoch 0 has 1 step from' said
	hpdsl-bench "$ds" > all 2>&1
	[ "$(wc -l < all)" = 3 ]
	grep -q ' reads of .*, the median [1-9]' all
	grep -q 'a step half of the time up to ' all
}

@test "usage" {
	fails 2 "DATASET is missing" hpdsl-bench
	fails 2 "--rank=2 is not below --ranks=2" hpdsl-bench --ranks=2 --rank=2 "$ds"
	fails 2 "--memory: '1M' is no size from 16M" hpdsl-bench --memory=1M "$ds"
	fails 2 "--cache: 'no' is neither auto nor keep" hpdsl-bench --cache=no "$ds"
	fails 2 "--end: 'cut' is none of" hpdsl-bench --end=cut "$ds"
	fails 2 "--pace: '-1' is no number" hpdsl-bench --pace=-1 "$ds"
	fails 2 "lanes have to be a multiple or a divisor of batch" \
		hpdsl-bench --lanes=3 "$ds"
	fails 3 "No such file" hpdsl-bench absent
	fails 2 "step" hpdsl-bench --step=1000 "$ds"
	fails 2 "--batch: '4294967296' is no number from 1 to 4294967295" \
		hpdsl-bench --batch=4294967296 "$ds"
	fails 2 "4294967296 lanes are too many: they have to be below 2^32" hpdsl-bench --lanes=4294967296 "$ds"
	fails 2 "--piece: '0' is no number from 1" hpdsl-bench --piece=0 "$ds"
	fails 2 "--no-shuffle leaves no lanes" \
		hpdsl-bench --no-shuffle --piece=3 "$ds"
	fails 2 "a batch of 64 is not --batch-size=64 of 2 ranks" \
		hpdsl-bench --batch=64 --batch-size=64 --ranks=2 "$ds"
	fails 2 "0 <= FROM < TO <= 1" hpdsl-bench --split=0.9:0.1 "$ds"
	fails 2 "--epochs: '0' is no number from 1" hpdsl-bench --epochs=0 "$ds"
	fails 2 "--seed: '-1' is no number of 64 bits" hpdsl-bench --seed=-1 "$ds"
	fails 2 "--from: 'x' is no number of 64 bits" hpdsl-order --from=x "$ds"
	fails 2 "--deadline: '0' is neither seconds nor [D-]HH:MM:SS" \
		hpdsl-bench --deadline=0 "$ds"
}
