#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Damaged snapshots: each damage is found, no answer is wrong, and nothing
# crashes or goes on for ever.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/snapshot

# Two small ones with all there is: of a tree, and of a dataset.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p tree/a/b/c tree/a/empty tree/d
	echo 1 > tree/x
	echo 22 > tree/a/yy
	echo 333 > tree/a/b/c/zzz.jpg
	echo 4 > tree/d/first
	echo 5 > tree/d/second
	ln -s ../x tree/a/link
	ln -s nowhere tree/d/dangling
	mkfifo tree/d/fifo
	hpdsl-snapshot create -q tree -o snap
	rm tree/a/link tree/d/dangling tree/d/fifo
	hpdsl-pack -q tree packed
	hpdsl-snapshot create -q packed -o snap-packed
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp "$BATS_FILE_TMPDIR/snap" "$BATS_FILE_TMPDIR/snap-packed" .
}

# bats test_tags=wide
@test "bits flipped, in check-more each: found, and no answer is wrong" {
	local step
	step=$(rounds 7 1 1)
	[ -z "${SAN:-}" ] || step=11
	python snapshot_damage.py flip snap "$step"
	python snapshot_damage.py flip snap-packed "$step"
}

@test "every length but the right one is refused" {
	python snapshot_damage.py cut snap
	python snapshot_damage.py cut snap-packed
}

# bats test_tags=wide
@test "flips and cuts through the commands: right or refused" {
	python snapshot_damage.py commands snap "$(rounds 20 100 1000)" 1
	python snapshot_damage.py commands snap-packed "$(rounds 20 60 600)" 2
}

# bats test_tags=wide
@test "random lies with fitting checksums: every question has an end" {
	python snapshot_damage.py lie snap "$(rounds 300 4000 40000)" 3
	python snapshot_damage.py lie snap-packed "$(rounds 300 2000 20000)" 4
}

@test "forgeries: verify finds each, and every command ends" {
	python snapshot_damage.py forged snap
}

# refused TEXT FILE: by every command that reads a snapshot.
refused()
{
	local command
	for command in ls find du dump verify "stat FILE x" "diff FILE good" \
		"diff good FILE" "check FILE ."; do
		[[ $command = *FILE* ]] || command="$command FILE"
		# shellcheck disable=SC2086
		run --separate-stderr timeout 600 \
			hpdsl-snapshot ${command//FILE/$2}
		echo "$command: exit $status, $stderr"
		[ "$status" = 3 ] || [ "$status" = 1 ]
		[ "$output" = "" ] || [ "$command" = "verify FILE" ]
		[[ $stderr = "hpdsl-snapshot: "*"$2"*"$1"* ]]
		[ "${#stderr_lines[@]}" = 1 ]
	done
}

@test "what is no snapshot is not taken for one" {
	cp snap good
	: > empty
	refused "" empty
	head -c 5000 /dev/urandom > noise
	refused "" noise
	tar -cf tar good
	refused "" tar
	cp "$BATS_FILE_TMPDIR/packed/index.hpdsl" .
	refused "" index.hpdsl
	hpdsl-snapshot dump good > text
	refused "" text
	mkdir folder
	refused "" folder
	mkfifo pipe
	refused "" pipe
	refused "" /dev/null
	refused "No such file" missing
	refused "" "$BATS_FILE_TMPDIR/packed"
	# neither is it anything else
	fails 3 "snap" hpdsl-ls snap
	fails 3 "snap" hpdsl-verify snap
}

@test "a later version is told from damage" {
	cp snap good
	python3 - <<- 'END'
		import ctypes, struct
		x = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
		x.restype = ctypes.c_uint64
		d = bytearray(open("snap", "rb").read())
		d[8] = 2
		n = struct.unpack_from("<I", d, 12)[0] - 8
		struct.pack_into("<Q", d, n, x(bytes(d[:n]), ctypes.c_size_t(n)))
		open("later", "wb").write(d)
	END
	refused "version" later
}

# reads_text: takes ./text, or refuses it in one line that names it and leaves
# nothing; $taken says which.
reads_text()
{
	local status=0
	rm -f new
	timeout 600 hpdsl-snapshot load -q text -o new 2> err || status=$?
	taken=
	echo "exit $status"
	cat err
	head -c 1000 text
	nothing_beside .
	if [ "$status" = 0 ]; then
		hpdsl-snapshot verify -q new
		[ ! -s err ]
		taken=1
	else
		[ "$status" = 1 ] || [ "$status" = 3 ]
		grep -q '^hpdsl-snapshot: text' err
		[ ! -e new ]
		[ "$(wc -l < err)" = 1 ]
	fi
}

refuses_text()
{
	reads_text
	[ -z "$taken" ]
}

@test "hostile texts: refused with the line, and no file" {
	local head='hpdsl-snapshot 1' top='d 0755 0 0.000000000 - - .' line
	for line in '' ' ' 'x' 'f 0644 0 0.000000000 - -' \
		'f 0644 0 0.000000000 - - ' \
		'f 0644 0 0.000000000 - - a/b' \
		'f 0644 0 0.000000000 - - /a' 'f 0644 0 0.000000000 - - a/' \
		'f 0644 0 0.000000000 - - a//b' 'f 0644 0 0.000000000 - - ..' \
		'f 0644 0 0.000000000 - - ./a' 'f 0644 0 0.000000000 - - \x00' \
		$'f 0644 0 0.000000000 - - a\\' 'f 0644 0 0.000000000 - - a\q' \
		'f 0644 0 0.000000000 - - a\x4' 'f 0644 0 0.000000000 - - \xg0' \
		'f 0644 0 0.000000000 - - \x2e\x2e' \
		'f 0644 18446744073709551616 0.000000000 - - a' \
		'f 0644 -1 0.000000000 - - a' 'f 0644 1e3 0.000000000 - - a' \
		'f 0644 0 0.00000000 - - a' 'f 0644 0 0.0000000000 - - a' \
		'f 0644 0 9223372036854775808.000000000 - - a' \
		'f 0644 0 -9223372036854775809.000000000 - - a' \
		'f 0644 0 0 - - a' 'f 0644 0 .000000000 - - a' \
		'f 0644 0 0.-00000001 - - a' 'f 10644 0 0.000000000 - - a' \
		'f 0844 0 0.000000000 - - a' 'f 644 0 0.000000000 - - a' \
		'x 0644 0 0.000000000 - - a' '- 0644 0 0.000000000 - - a' \
		'f 0644  0 0.000000000 - - a' \
		'd 0755 0 0.000000000 - - .' 'f 0755 0 0.000000000 - - .' \
		'l 0777 1 0.000000000 - - a' \
		$'l 0777 1 0.000000000 - - a\t' \
		$'l 0777 5 0.000000000 - - a\tb' \
		$'l 0777 2 0.000000000 - - a\tb\\x00' \
		$'l 0777 1 0.000000000 - - a\tb\tc' \
		$'f 0777 1 0.000000000 - - a\tb' \
		'f 0644 0 0.000000000 0 - a' \
		'f 0644 0 0.000000000 - 00000000000000000 a' \
		'd 0644 0 0.000000000 1 - a' \
		$'f 0644 0 0.000000000 - - a\nf 0644 0 0.000000000 - - a' \
		$'f 0644 0 0.000000000 - - a\nf 0644 0 0.000000000 - - a/b' \
		$'hpdsl-snapshot 1' \
		"f 0644 0 0.000000000 - - $(printf '%*s' 4096 x)" \
		"f 0644 0 0.000000000 - - $(printf '%*s' 70000 x)"; do
		printf '%s\n' "$head" "$top" "$line" > text
		refuses_text
	done
	for line in "" "hpdsl-snapshot 2" "hpdsl-snapshot" "hpdsl-snapshot 1 " \
		"$head" "$top" "$head"$'\r\n'"$top" \
		"$head"$'\ndataset x y\n'"$top"; do
		printf '%s' "$line" > text
		refuses_text
	done
	head -c 100000 /dev/urandom > text
	refuses_text
	{ echo "$head"; echo "$top"; head -c 100000 /dev/urandom; } > text
	refuses_text
}

@test "a text without its last newline, or with a hole: taken or refused" {
	local n size
	hpdsl-snapshot dump snap > whole
	size=$(stat -c %s whole)
	for ((n = 0; n < size; n += 23)); do
		head -c "$n" whole > text
		reads_text
	done
}
