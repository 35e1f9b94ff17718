# SPDX-License-Identifier: Apache-2.0
# For .ci/run: the commands on a tree of 2,000 files, as somebody would use them one
# after another, under whatever finds mistakes in them.
# shellcheck shell=bash
: "${logs:=build/ci}"

# tour BIN COMMAND..: of programs in BIN, COMMAND in front of each.
tour()
{
	local bin=$1 at=$logs/tour
	shift
	rm -rf "$at" && mkdir -p "$at" &&
		make -s build/tests/bench/gen &&
		build/tests/bench/gen "$at/tree" 2000 20 png 300-3000 &&
		"$@" "$bin/hpdsl-pack" -j4 --labels=dir --chunks=8 \
			"$at/tree" "$at/packed" &&
		"$@" "$bin/hpdsl-verify" -j4 --source "$at/tree" \
			"$at/packed" &&
		"$@" "$bin/hpdsl-ls" -l "$at/packed" > "$at/listing" &&
		[ "$(wc -l < "$at/listing")" -ge 2000 ] &&
		"$@" "$bin/hpdsl-unpack" -j4 "$at/packed" "$at/restored" &&
		diff -r "$at/tree" "$at/restored" &&
		"$@" "$bin/hpdsl-index" --force "$at/packed" &&
		"$bin/hpdsl-verify" "$at/packed" &&
		tar -C "$at/tree" -czf "$at/tree.tar.gz" . &&
		"$@" "$bin/hpdsl-pack" -j4 --labels=dir --chunks=8 --cls \
			--names=portable --zstd --digest=sha256 \
			--emit=dali,energon,wids "$at/tree.tar.gz" "$at/all" &&
		"$@" "$bin/hpdsl-verify" -j4 --thorough "$at/all" &&
		"$@" "$bin/hpdsl-unpack" -j4 "$at/all" "$at/restored2" &&
		diff -r "$at/tree" "$at/restored2" &&
		"$@" "$bin/hpdsl-pack" -j4 "$at/all" "$at/again" &&
		"$@" "$bin/hpdsl-verify" --compat=all "$at/again" &&
		"$@" "$bin/hpdsl-index" -j4 -o "$at/adopted" \
			"$at"/again/chunk-*.tar &&
		"$@" "$bin/hpdsl-verify" -j4 "$at/adopted" &&
		"$@" "$bin/hpdsl-order" --cost --classes "$at/packed" &&
		"$@" "$bin/hpdsl-order" --where=7 --ranks=2 "$at/packed" &&
		"$@" "$bin/hpdsl-bench" -j4 --cache=keep --memory=64M --epochs=2 "$at/packed" &&
		"$@" "$bin/hpdsl-bench" -j4 --cache=keep --memory=64M --batch-size=8 "$at/all" &&
		tour_snapshot "$bin" "$at" "$@"
}

# The same for snapshots of the tour's tree and dataset.
tour_snapshot()
{
	local bin=$1 at=$2
	shift 2
	"$@" "$bin/hpdsl-snapshot" create -j4 "$at/tree" -o "$at/tree.snap" &&
		"$@" "$bin/hpdsl-snapshot" create -j4 "$at/packed" \
			-o "$at/packed.snap" &&
		"$@" "$bin/hpdsl-snapshot" verify "$at/tree.snap" &&
		"$@" "$bin/hpdsl-snapshot" ls -lR "$at/tree.snap" \
			> "$at/listing" &&
		"$@" "$bin/hpdsl-snapshot" find --type=f "$at/tree.snap" \
			> "$at/found" &&
		[ "$(wc -l < "$at/found")" = 2000 ] &&
		"$@" "$bin/hpdsl-snapshot" du -s "$at/tree.snap" &&
		"$@" "$bin/hpdsl-snapshot" diff "$at/tree.snap" \
			"$at/packed.snap" &&
		"$@" "$bin/hpdsl-snapshot" check -j4 --since=@0 \
			"$at/tree.snap" "$at/tree" &&
		"$@" "$bin/hpdsl-snapshot" dump "$at/packed.snap" \
			> "$at/text" &&
		"$@" "$bin/hpdsl-snapshot" load -j4 "$at/text" \
			-o "$at/loaded.snap" &&
		cmp "$at/packed.snap" "$at/loaded.snap" &&
		"$@" "$bin/hpdsl-pack" -j4 --labels=dir --chunks=8 \
			--from-snapshot "$at/tree.snap" \
			--snapshot "$at/second.snap" "$at/tree" "$at/second" &&
		diff -r "$at/packed" "$at/second" &&
		cmp "$at/packed.snap" "$at/second.snap"
}

# And onto three pretend nodes.
tour_stage()
{
	local bin=$1 at=$logs/tour
	shift
	[ -x "$bin/hpdsl-stage" ] || return 0
	rm -rf "$at"/node*
	env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun -q --oversubscribe -n 3 "$@" "$bin/hpdsl-stage" \
		--pretend-nodes=3 "$at/all" "$at/node%n" &&
		"$bin/hpdsl-verify" "$at/node2"
}
