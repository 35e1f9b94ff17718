#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the manual pages and the README promise besides options: programs that
# compile, files and targets that exist.
# bats file_tags=quick

load ../kit/lib

# Lines between the comments .\" EXAMPLE and .\" END of a page, as they read.
example()
{
	sed -n '/^\.\\" EXAMPLE$/,/^\.\\" END$/p' "$SRC/man/$1" |
		grep -v '^\.' | sed 's/\\e/\\/g'
}

@test "the program in libhpdsl(3) prints a sample" {
	local flags=()
	example libhpdsl.3 > example.c
	[ -z "${SAN:-}" ] || flags+=("-fsanitize=$SAN")
	"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "${flags[@]}" \
		-I"$SRC/lib" -o example example.c "$BUILD/libhpdsl.a" \
		-lxxhash -lyaml -larchive -lzstd -lcrypto -lz -pthread
	mkdir in
	printf 'one ' > in/1.a
	printf 'two' > in/1.b
	hpdsl-pack -q in out
	[ "$(./example out)" = "one two" ]
	printf X | dd of=out/chunk-000000.tar bs=1 seek=512 conv=notrunc \
		status=none
	run bash -c './example out 2>&1 > shown'
	[ "$status" = 1 ]
	[ "$output" = "out/chunk-000000.tar: member 0 '1.a': checksum differs" ]
}

@test "libhpdsl(3) has each call in its table and in its synopsis, once" {
	local sheet
	for sheet in core pack dataset verify unpack snapshot stage peers serve \
		order loader metrics stall look; do
		echo "hpdsl/$sheet.h"
		grep -A1 HPDSL_API "$SRC/lib/hpdsl/$sheet.h" |
			grep -oE 'hpdsl_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort
	done > want
	sed -n 's/^\.It In \(hpdsl[^ ]*\) Ta .*/\1/p; s/^\.It Fn \(hpdsl_[^ ]*\) Ta .*/\1/p' \
		"$SRC/man/libhpdsl.3" > rows
	diff <(LC_ALL=C sort want) <(LC_ALL=C sort rows)
	# under the sheet that declares it
	diff want <(awk '/\.h$/ { close(to); print | to; close(to); next }
		{ print | to }' to='LC_ALL=C sort' rows)
	diff <(grep -v '[.]h$' want | LC_ALL=C sort) \
		<(sed -n 's/^\.Fn \(hpdsl_[a-z0-9_]*\) ["v].*/\1/p' \
			"$SRC/man/libhpdsl.3" | LC_ALL=C sort)
}

@test "each page that a page names is there" {
	local page missing=0
	while read -r page; do
		[ -f "$SRC/man/$page" ] || { echo "$page"; missing=1; }
	done < <(sed -n 's/^\.Xr \([a-z-]*hpdsl[a-z-]*\) \([1-8]\).*/\1.\2/p' \
		"$SRC"/man/*.[1-8] | sort -u)
	[ "$missing" = 0 ]
}

# Who looks one up, or is sent to it, finds the right one.
@test "no page has a heading twice" {
	local page twice=0
	for page in "$SRC"/man/*.[1-8]; do
		sed -n 's/^\.S[hs] //p' "$page" | sort -f | uniq -di > found
		[ ! -s found ] || { echo "$page:"; cat found; twice=1; }
	done
	[ "$twice" = 0 ]
}

@test "what README and CONTRIBUTING name is there" {
	local name missing=0
	while read -r name; do
		[ -e "$SRC/$name" ] || { echo "$name"; missing=1; }
	done < <(cat "$SRC/README.md" "$SRC/CONTRIBUTING.md" |
		grep -oE '(lib|man|tests|examples)/[A-Za-z_.0-9-]*[a-z0-9]' |
		grep -v -e NAME -e ^tests/data | sort -u)
	while read -r name; do
		grep -q "^$name:" "$SRC/Makefile" || { echo "$name"; missing=1; }
	done < <(sed -n 's/^    make \([A-Za-z -]*\)\( #.*\)*$/\1/p' \
		"$SRC/README.md" "$SRC/CONTRIBUTING.md" | tr ' ' '\n' |
		grep '^[a-z]' | sort -u)
	[ "$missing" = 0 ]
}

# More is for the manual pages.
@test "README is short enough to be read" {
	[ "$(wc -l < "$SRC/README.md")" -le 350 ]
}

@test "the table in hpdsl-stage(1) is what the simulation prints" {
	local sim=$BUILD/tests/bench/sim_stage rows
	sed -n '/^mode  *nodes data/,/^\.Ed/p' "$SRC/man/hpdsl-stage.1" |
		grep -v '^\.' > page
	[ "$(wc -l < page)" -gt 10 ]
	# the others take minutes
	"$sim" 100 | tail -n +2 > said
	cat said
	diff said <(awk 'NR == 1 || $2 <= 100' page)
	rows=$(sed -n '/^} games/,/^}/p' "$SRC/tests/bench/sim_stage.c" |
		grep -c '^	{')
	[ "$(wc -l < page)" = $((rows + 1)) ]
}
