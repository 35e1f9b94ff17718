#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Epochs from stage directories, whole, in part, being filled, and damaged while
# they are read: what comes is what would come from the origin.

load ../kit/lib
load ../kit/mpi
load ../kit/python

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 233 40000
	hpdsl-pack -q --chunks=24 tree ds
	hpdsl-pack -q --chunks=24 --zstd tree zst
	make_random large 96 400000
	hpdsl-pack -q --chunks=24 large wide
}

order="batch=16 lanes=16 piece=4 windows=2"

# epoch NAME DIR ORIGIN OPTION..: its summary, in file NAME.
epoch()
{
	local name=$1 dir=$2 origin=$3
	shift 3
	# shellcheck disable=SC2086
	py "$SRC/tests/kit/stage_loader.py" "$dir" "$origin" $order "$@" > "$name" ||
		return
}

# holds NAME CONDITION: in Python, of a summary.
holds()
{
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(sys.argv[1], len(r["warnings"]), str({k: r[k] for k in r if k != "warnings"}))
r["share"] = r["local_bytes"] / (r["local_bytes"] + r["origin_bytes"])
assert eval("(" + sys.argv[2] + ")", {}, r), sys.argv[2]' "$@"
}

@test "whole: nothing comes from the origin; nor from compressed chunks" {
	for ds in ds zst; do
		stage 1 -q "$from/$ds" "$PWD/$ds"
		epoch a "$ds" "$from/$ds"
		holds a 'staged and origin_bytes == 0 and local_bytes > 4000000
and failed_chunks == 0 and not warnings and not bad'
	done
	stage 1 -q --keep-compressed "$from/zst" kept
	epoch a kept "$from/zst"
	holds a 'origin_bytes == 0 and failed_chunks == 0'
}

@test "being filled, too slowly: who has seen enough does not wait for it" {
	at_gate op=pwrite,times=0,name=chunk- 1 -q "$from/ds" "$PWD/node0"
	# far less than its patience, and than the stager takes
	py - node0 <<- 'END'
		import os, signal, sys, threading
		import hpdsl
		signal.alarm(600)
		threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
		try:
		    with hpdsl.Loader(hpdsl.Dataset(sys.argv[1])) as loader:
		        loader.next_batch()
		except KeyboardInterrupt:
		    print("heard")
		else:
		    sys.exit("it did not wait")
	END
	rm gate
	wait "$stager"
}

@test "being filled, slowly: every sample in its order, nothing read twice" {
	epoch a node0 "$from/ds" rank=0 ranks=2 ready=ready.a 3>&- &
	first=$!
	epoch b node1 "$from/ds" rank=1 ranks=2 ready=ready.b 3>&- &
	second=$!
	until_true test -e ready.a -a -e ready.b
	at_gate op=pread,node=1,after=2,name=/ds/chunk- 2 -q \
		--pretend-nodes=2 --report=report "$from/ds" "$PWD/node%n"
	until_true sees "$first"
	until_true sees "$second"
	rm gate
	wait "$second"
	wait "$first"
	wait "$stager" || { cat said; false; }
	for r in a b; do
		holds "$r" 'staged and origin_bytes == 0 and absent_chunks == 0
and overtaken_chunks == 0'
	done
}

# A window has a quarter of the chunks; half of them come, and then no more.
@test "being filled: the first batch comes after one window, not after all" {
	local own=(seed=3 batch=32 lanes=32 piece=2 windows=4)
	order="" epoch a node "$from/ds" "${own[@]:1}" ready=ready pause=paused \
		3>&- &
	first=$!
	until_true test -e ready
	at_gate op=rename,after=12,times=0,name=chunk- 1 -q "${own[@]/#/--}" \
		"$from/ds" "$PWD/node"
	until_true test -e paused
	here=$(chunks_in node)
	kill -TERM "$(launcher_of "$stager")"
	wait "$stager" || :
	rm paused
	wait "$first"
	echo "$here of 24 chunks were here"
	[ "$here" -ge 6 ] && [ "$here" -le 13 ]
	holds a 'staged and local_bytes > 0'
}

@test "room for a share of it: that share is local in every epoch" {
	local size held
	size=$(cat "$from"/ds/chunk-* | wc -c)
	stage 1 -q --capacity=$((size * 2 / 5)) "$from/ds" node 2> said || cat said
	here=$(chunks_in node)
	echo "$here of 24 chunks are here"
	[ "$here" -ge 8 ] && [ "$here" -le 10 ]
	held=$(cat node/chunk-* | wc -c)
	for e in 0 1 2; do
		epoch "e$e" node "$from/ds" epoch=$e
		holds "e$e" "abs(share - $held / $size) < 0.02 and failed_chunks == 0
and absent_chunks == 24 - $here"
	done
}

@test "parts: a node's rank reads its own chunks but for the fill" {
	stage 4 -q --pretend-nodes=4 --mode=partition "$from/ds" "$PWD/node%n"
	for rank in 0 1 2 3; do
		epoch "r$rank" node$rank "$from/ds" parts=4 rank=$rank ranks=4
		holds "r$rank" 'share > 0.9 and failed_chunks == 0'
	done
	# Orders without parts want all chunks.
	epoch all node1 "$from/ds"
	holds all '0.15 < share < 0.35'
}

@test "deleted, cut and damaged under a running epoch: on from the origin" {
	stage 1 -q "$from/wide" node
	epoch a node "$from/wide" windows=1 memory=16 pause=here 3>&- &
	until_true test -e here
	i=0
	for f in node/chunk-*.tar; do
		case $((i++ % 4)) in
		0) rm "$f" ;;
		1) truncate -s 700000 "$f" ;;
		2) flip "$f" 700000 ;;
		esac
	done
	rm here
	wait $!
	holds a 'local_bytes > 0 and origin_bytes > 0 and not bad and
failed_chunks >= 3 and sum("origin" in w for w in warnings) == failed_chunks
and all("origin" in w or "reads of" in w for w in warnings)'
}

@test "damaged at the origin, too: an error with chunk and sample, or skipped" {
	cp -r "$from/wide" origin
	stage 1 -q origin node
	for f in node origin; do
		flip "$f/chunk-000007.tar" 500000
	done
	hpdsl-verify -q origin > damage || :
	n=$(sed -n 's/^chunk-000007.tar: sample \([0-9]*\): .*/\1/p' damage)
	status=0
	epoch a node "$from/wide" > out 2> said || status=$?
	cat said
	[ "$status" = 1 ]
	grep -q "chunk-000007.tar: .*checksum differs; and at the origin: .*" said
	grep -q "sample $n" said
	epoch a node "$from/wide" skip_bad=1
	holds a "bad == [$n] and failed_chunks == 1"
}
