#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Compressed chunks: what other programs make of them, the seek table, damage,
# rebuilding, and that every command serves them as it does the plain form.

load ../kit/lib

# A tree of text, which compresses, with one sample of several frames' size, and
# one chunk's worth of noise, which does not; in both forms, named alike.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 40
	seq 150000 > tree/class1/large.txt
	mkdir tree/odd
	printf '%*s' 70000 x > "$(printf 'tree/odd/%0130d.b' 1)"
	: > tree/odd/empty.a
	find tree -exec touch -d '2023-03-03 03:03:03 UTC' {} +
	hpdsl-pack -q --labels=dir --chunks=4 --seed=3 tree plain
	hpdsl-pack -q --labels=dir --chunks=4 --seed=3 --zstd tree z
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
}

copy()
{
	cp -a "$BATS_FILE_TMPDIR/z" "$BATS_TEST_TMPDIR/z"
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "zstd -t, GNU tar and bsdtar read them; the tars are those of the plain form" {
	local c
	[ "$(find z -name '*.tar.zst' | wc -l)" = 4 ]
	[ -z "$(find z -name '*.tar')" ]
	zstd -tq z/*.tar.zst
	for c in z/*.tar.zst; do
		zstd -dcq "$c" | cmp - "plain/$(basename "$c" .zst)"
		tar --zstd -tf "$c" > "$BATS_TEST_TMPDIR/gnu"
		bsdtar -tf "$c" | diff - "$BATS_TEST_TMPDIR/gnu"
		tar -tf "plain/$(basename "$c" .zst)" |
			diff - "$BATS_TEST_TMPDIR/gnu"
	done
	mkdir "$BATS_TEST_TMPDIR/out"
	for c in z/*.tar.zst; do
		tar --zstd -xf "$c" -C "$BATS_TEST_TMPDIR/out"
	done
	same_trees tree "$BATS_TEST_TMPDIR/out"
}

@test "seek tables are exact, frames hold whole samples" {
	# An independent reader checks each frame, size, checksum and entry.
	python3 "$SRC/tests/kit/read_dataset.py" check z > "$BATS_TEST_TMPDIR/a"
	python3 "$SRC/tests/kit/read_dataset.py" check plain |
		diff - "$BATS_TEST_TMPDIR/a"
	# And one that knows nothing but the seekable format.
	python3 - z/*.tar.zst <<-'END'
	import struct, subprocess, sys
	for name in sys.argv[1:]:
	    data = open(name, "rb").read()
	    n, bits, magic = struct.unpack("<IBI", data[-9:])
	    assert magic == 0x8F92EAB1 and bits == 0x80 and n > 1
	    table = len(data) - (8 + 12 * n + 9)
	    assert struct.unpack_from("<II", data, table) == \
	        (0x184D2A5E, 12 * n + 9)
	    at = 0
	    for i in range(n):
	        stored, plain, _ = struct.unpack_from("<III", data,
	                                              table + 8 + 12 * i)
	        out = subprocess.run(["zstd", "-dcq"], check=True,
	                             input=data[at:at + stored],
	                             stdout=subprocess.PIPE).stdout
	        assert len(out) == plain
	        at += stored
	    assert at == table
	END
}

@test "the index describes the plain tar: same members, dataset id, labels" {
	local a=$BATS_TEST_TMPDIR/a
	hpdsl-ls --json plain > "$a"
	hpdsl-ls --json z | diff - "$a"
	hpdsl-ls --json --samples plain > "$a"
	hpdsl-ls --json --samples z | diff - "$a"
	diff <(grep ^dataset_id plain/dataset.yaml) \
		<(grep ^dataset_id z/dataset.yaml)
}

@test "cat and unpack give what the plain form gives" {
	local a=$BATS_TEST_TMPDIR
	hpdsl-ls plain > "$a/names"
	hpdsl-cat --files-from="$a/names" plain > "$a/want"
	hpdsl-cat --files-from="$a/names" z | cmp - "$a/want"
	[ -s "$a/want" ]
	shuf --random-source=<(yes) "$a/names" > "$a/mixed"
	hpdsl-cat --files-from="$a/mixed" plain > "$a/want"
	hpdsl-cat --files-from="$a/mixed" z | cmp - "$a/want"
	hpdsl-cat z class1/large.txt | cmp - tree/class1/large.txt
	hpdsl-unpack -q z "$a/out"
	same_trees tree "$a/out"
	hpdsl-unpack -q -j1 z "$a/one" 'class2/*'
	diff -r tree/class2 "$a/one/class2"
}

@test "ls -l --chunks: bytes of the files" {
	hpdsl-ls -l --chunks z | {
		while read -r _ _ _ bytes sum name; do
			[ "$bytes" = "$(stat -c %s "z/$name")" ]
			grep -q "$name, .*$sum" z/dataset.yaml
		done
	}
	hpdsl-ls --json --chunks z | python3 -c '
import json, os, sys
for line in sys.stdin:
    c = json.loads(line)
    assert c["compressed"] and c["frames"] > 1
    assert c["bytes"] == os.stat("z/" + c["name"]).st_size
    plain = "plain/" + c["name"][:-4]
    assert c["plain_bytes"] == os.stat(plain).st_size
'
	hpdsl-ls --json --chunks plain | grep -c '"compressed": false' |
		grep -qx 4
}

@test "a sample costs one frame: a read of the file, and no more" {
	need strace
	copy
	hpdsl-cat z class0/00007.png > /dev/null # may the system do without
	traced -f -y -e trace=pread64 -o trace hpdsl-cat z class0/00007.png \
		> out
	cmp out "$BATS_FILE_TMPDIR/tree/class0/00007.png"
	[ "$(grep -c 'tar\.zst>' trace)" = 1 ]
	local got
	got=$(sed -n 's/.*tar\.zst>.* = \([0-9]*\)$/\1/p' trace)
	[ "$got" -gt 0 ]
	[ "$got" -lt 131072 ]
}

# bats test_tags=wide
@test "flips and cuts: every one is found" {
	copy
	python3 "$SRC/tests/kit/damage.py" flip z "$(rounds 150 500 5000)" 7
	python3 "$SRC/tests/kit/damage.py" cut z "$(rounds 30 100 1000)" 8
}

@test "a damaged frame costs its own samples" {
	local bad
	copy
	# The first frame of chunk 2, in the middle of its data.
	printf 'X' | dd of=z/chunk-000002.tar.zst bs=1 seek=300 conv=notrunc \
		status=none
	run hpdsl-verify -q z
	[ "$status" = 1 ]
	[[ $output = *"chunk-000002.tar.zst: sample "*": frame 0: "* ]]
	bad=$(grep -c ': frame 0: ' <<< "$output")
	[ "$bad" -gt 0 ]
	[ "$bad" -lt "$(hpdsl-ls --json --chunks z | sed -n 3p |
		field samples)" ]
	run hpdsl-unpack -q z out
	[ "$status" = 1 ]
	# All that verify did not name is there.
	run hpdsl-verify -q --quick z
	[ "$status" = 1 ]
	[ "$(find out -type f | wc -l)" -gt 200 ]
}

@test "verify: a cut, a missing chunk, one that is longer" {
	copy
	truncate -s -1 z/chunk-000000.tar.zst
	fails 1 "" hpdsl-verify -q z || :
	run hpdsl-verify -q --quick z
	[ "$status" = 1 ]
	[[ $output = *"chunk-000000.tar.zst: is "*" expected"* ]]
	printf 'ab' >> z/chunk-000000.tar.zst
	run hpdsl-verify -q z
	[ "$status" = 1 ]
	[[ $output = *"chunk-000000.tar.zst: "* ]]
	rm z/chunk-000001.tar.zst
	run hpdsl-verify -q z
	[ "$status" = 1 ]
	[[ $output = *"chunk-000001.tar.zst: is missing (samples "* ]]
}

@test "index: rebuilt byte for byte" {
	local file
	for file in index.hpdsl dataset.yaml; do
		rm -rf "$BATS_TEST_TMPDIR/z"
		copy
		rm "z/$file"
		hpdsl-index -q z
		hpdsl-verify -q z
		cmp z/index.hpdsl "$BATS_FILE_TMPDIR/z/index.hpdsl"
		hpdsl-index -q z
		cd "$BATS_FILE_TMPDIR"
	done
	rm -rf "$BATS_TEST_TMPDIR/z"
	copy
	rm z/index.hpdsl
	hpdsl-index -q z
	cmp z/dataset.yaml "$BATS_FILE_TMPDIR/z/dataset.yaml"
	# From the chunks alone the labels are lost, all else is there.
	rm z/index.hpdsl z/dataset.yaml
	fails 3 "hpdsl-index makes" hpdsl-ls z
	hpdsl-index -q z
	hpdsl-verify -q z --source="$BATS_FILE_TMPDIR/tree"
	python3 "$SRC/tests/kit/read_dataset.py" check z > a
	[ -s a ]
}

@test "index: both forms in one directory; not both forms of one chunk" {
	copy
	zstd -dq --rm z/chunk-000001.tar.zst
	rm z/index.hpdsl z/dataset.yaml
	hpdsl-index -q z
	hpdsl-verify -q z
	[ "$(hpdsl-ls --json --chunks z | grep -c '"compressed": true')" = 3 ]
	hpdsl-unpack -q z out
	same_trees "$BATS_FILE_TMPDIR/tree" out
	cp "$BATS_FILE_TMPDIR/z/chunk-000001.tar.zst" z
	fails 3 "both chunk-000001.tar and chunk-000001.tar.zst are there" \
		hpdsl-index z
}

@test "index: frames that others made are refused, with advice" {
	copy
	zstd -dcq z/chunk-000001.tar.zst > one.tar
	# One frame without a seek table, as zstd writes it.
	zstd -qf one.tar -o z/chunk-000001.tar.zst
	rm z/index.hpdsl z/dataset.yaml
	fails 1 "chunk-000001.tar.zst: " hpdsl-index z
	# A seek table, but frames of 5000 bytes.
	python3 - one.tar z/chunk-000001.tar.zst <<-'END'
	import struct, subprocess, sys
	data = open(sys.argv[1], "rb").read()
	out = table = b""
	for at in range(0, len(data), 5000):
	    piece = data[at:at + 5000]
	    open("piece", "wb").write(piece)
	    frame = subprocess.run(["zstd", "-cq", "--check", "piece"],
	                           check=True, stdout=subprocess.PIPE).stdout
	    out += frame
	    table += struct.pack("<II", len(frame), len(piece)) + frame[-4:]
	n = len(table) // 12
	out += struct.pack("<II", 0x184D2A5E, len(table) + 9) + table
	out += struct.pack("<IBI", n, 0x80, 0x8F92EAB1)
	open(sys.argv[2], "wb").write(out)
	END
	zstd -tq z/chunk-000001.tar.zst
	fails 1 "does not begin with a member" hpdsl-index z
	[[ $message = *"zstd -d"* ]]
}

@test "index: damage in a frame or table is named, nothing is written" {
	copy
	rm z/index.hpdsl z/dataset.yaml
	printf 'X' | dd of=z/chunk-000002.tar.zst bs=1 seek=300 conv=notrunc \
		status=none
	fails 1 "chunk-000002.tar.zst: frame 0: " hpdsl-index z
	cp "$BATS_FILE_TMPDIR/z/chunk-000002.tar.zst" z
	printf 'X' | dd of=z/chunk-000003.tar.zst bs=1 conv=notrunc status=none \
		seek=$(($(stat -c %s z/chunk-000003.tar.zst) - 20))
	fails 1 "chunk-000003.tar.zst: the seek table is damaged" hpdsl-index z
	[ ! -e z/index.hpdsl ]
	[ ! -e z/dataset.yaml ]
}

# Kills a pack into out when two of its chunks are there.
kill_half_way()
{
	local pid
	for _ in 1 2 3 4 5; do
		rm -rf out
		hpdsl-pack -q --zstd=19 --chunks=30 more out &
		pid=$!
		until [ -e out/chunk-000001.tar.zst ] || [ -e out/dataset.yaml ]; do
			kill -0 "$pid" 2> /dev/null || break
		done
		kill -KILL "$pid" 2> /dev/null || :
		wait "$pid" || :
		[ -e out/dataset.yaml ] || return 0
	done
	echo "always faster than the kill"
	return 1
}

@test "resume: finished chunks are read again, a damaged one is made anew" {
	cd "$BATS_TEST_TMPDIR"
	make_tree more 4 300
	hpdsl-pack -q --zstd=19 --chunks=30 more ref
	kill_half_way
	cp -a out damaged
	[ "$(hpdsl-pack -q --json --zstd=19 --chunks=30 --resume more out |
		field resumed_chunks)" -gt 0 ]
	[ "$(dataset_digest out)" = "$(dataset_digest ref)" ]
	printf 'X' | dd of=damaged/chunk-000000.tar.zst bs=1 seek=100 \
		conv=notrunc status=none
	# And one that is there in the form that it will not get.
	rm -f damaged/chunk-000029.tar*
	cp damaged/chunk-000001.tar.zst damaged/chunk-000029.tar
	hpdsl-pack -q --zstd=19 --chunks=30 --resume more damaged
	[ "$(dataset_digest damaged)" = "$(dataset_digest ref)" ]
}

@test "--force replaces a compressed dataset; nothing of it stays" {
	copy
	hpdsl-pack -q --force --chunks=2 "$BATS_FILE_TMPDIR/tree" z
	[ -z "$(find z -name '*.zst')" ]
	hpdsl-verify -q z
}

@test "what is no dataset yet is told in the compressed form too" {
	copy
	rm z/dataset.yaml z/index.hpdsl
	fails 3 "hpdsl-index makes" hpdsl-ls z
	fails 3 "hpdsl-index makes" hpdsl-verify z
}
