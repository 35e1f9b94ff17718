#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-order --cost prints is what the loader does, for datasets of the
# sizes that people have: forged, with chunks that are holes.

load ../kit/lib

# shape NAME: makes it, if there is room for its index, and else fails.
shape()
{
	local of
	case $1 in
	imagenet) of=(1281167 55000-165000 2115 1) ;;
	sorted) of=(1281167 55000-165000 2115 1 sorted) ;;
	records) of=(20000000 300-700 305 4) ;;
	10TB) of=(100000000 50000-150000 32768 20) ;;
	1TB) of=(10000000 50000-150000 3277 2) ;;
	esac
	[ ! -d "$1" ] || return 0
	[ "$(df --output=avail -B1G . | tail -n 1)" -ge "${of[3]}" ] ||
		{ echo "# $1: left out, no room for its index" >&3; return 1; }
	"$BUILD/tests/bench/gen_sparse" "$1" "${of[@]:0:3}" ${of[4]:+sorted}
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
}

# cells LARGE: all of them, in some order.
cells()
{
	local set ranks memory
	for set in imagenet:64 sorted:64 records:1024 "$1:32"; do
		for ranks in 1 4 64 512 4096; do
			for memory in 64M 256M 1G; do
				echo "${set%:*} ${set#*:} $ranks $memory"
			done
		done
	done | shuf --random-source=<(yes "${SEED:-1}")
}

# An index of 10 TB takes minutes to be made.
@test "ranks, memory, and steps from the first to the last: within 5 %" {
	local bytes=20G large=10TB bad=0 line
	[ "${LONG_SECONDS:-0}" -ge 1200 ] || bytes=2G large=1TB
	while read -ra line; do
		longer || break
		shape "${line[0]}" || continue
		"$SRC/tests/kit/cost_check.py" "${line[@]}" "$bytes" > said ||
			bad=1
		cat said >&3
	done < <(cells $large)
	[ "$bad" = 0 ]
}
