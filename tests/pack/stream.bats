#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Compressed archives on their way into the chunks: mixed with other inputs,
# killed, stopped, changed, resumed; few open files, little room.
# need_disk: kills at random come while a disk is waited for.

load ../kit/lib
load ../kit/stopped

FILES=60 # of the archive that is slow to decompress, in 20 chunks

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random slow "$FILES" 41000
	find slow -exec touch -h -d '2022-02-02 02:02:02.123456789' {} +
	tar --format=pax -C slow -I 'bzip2 -1' -cf slow.tar.bz2 .
	hpdsl-pack -q --chunks 20 slow slow.ref
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	slow=$BATS_FILE_TMPDIR/slow.tar.bz2
	ref=$BATS_FILE_TMPDIR/slow.ref
}

pack()
{
	hpdsl-pack --chunks 20 "$@" "$slow" out
}

is_ref()
{
	diff -r "$ref" out
	[ -z "$(find out -name '.*' -type f)" ]
}

# position: files of the archive that the journal calls done.
position()
{
	python3 - out/journal.hpdsl <<- 'END'
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		at = 192 + sum(struct.unpack_from("<QQ", data, 16))
		files = 0
		while at + 40 <= len(data):
		    if data[at:at + 4] == b"STRM":
		        files = struct.unpack_from("<Q", data, at + 8)[0]
		    at += 40
		print(files)
	END
}

# The first row says that nothing is done yet.
some_are_noted()
{
	[ "$(grep -ao STRM out/journal.hpdsl | wc -l)" -gt 1 ]
}

# The pieces of the archive that are read for its form and for its names come
# before those of its contents.
READ=20

# reading N OPTION..: a pack with small buffers, as $pid, which stands still where it
# reads piece N of the archive; where it writes it might have read all.
reading()
{
	at_gate "op=pread,name=tar.bz2,after=$((READ + $1))" hpdsl-pack -q \
		--memory=8M --chunks 20 "${@:2}" "$slow" out
}

# killed_noted N: killed there, when the journal says that some files are done.
killed_noted()
{
	reading "$1"
	until_true some_are_noted
	gone KILL || :
	files=$(position)
	echo "$files files are noted"
	[ "$files" -gt 0 ] && [ "$files" -lt "$FILES" ]
}

# gone SIGNAL: what has come of $pid after that.
gone()
{
	signalled "$1"
	goes_on
}

# bats test_tags=wide
@test "a tree, a dataset, tars and streams together: as one tree" {
	local j js=(0 1 4) n=0 o t
	make_tree a 2 20
	make_tree b/x 2 30
	make_tree c/y 1 40
	make_tree d/z 2 20
	make_tree e/v 2 10
	head -c 3000000 /dev/urandom > b/large.bin
	find a b c d e -exec touch -h -d '2022-02-02 02:02:02.123456789' {} +
	mkdir all
	for t in a b c d e; do
		cp -a $t/. all
	done
	tar --format=pax -C b -czf b.tar.gz .
	tar --format=pax -C c -cf c.tar .
	tar --format=pax -C d -cf - . | xz -1 > d.tar.xz
	hpdsl-pack -q e e.ds
	for o in "" "--shuffle=none" "--group=none" "--names=portable" \
		"--cls --labels=dir:1 --exclude=large.bin" "--zstd" \
		"--digest=sha256 --emit=wids"; do
		rm -rf ref
		# shellcheck disable=SC2086
		hpdsl-pack -q --chunks=6 $o all ref 2> /dev/null
		n=$((n + 1))
		for j in $(rounds "${js[n % 3]}" "${js[*]}" "${js[*]}"); do
			rm -rf out
			# shellcheck disable=SC2086
			hpdsl-pack -q -j "$j" --chunks=6 $o a b.tar.gz c.tar \
				d.tar.xz e.ds out 2> /dev/null
			diff -r ref out
			[ -z "$(find out -name '*.part')" ]
		done
	done
	hpdsl-verify -q out
}

@test "gzip in several members, links, empty files, one file more than once" {
	make_tree tree 2 20
	: > tree/empty
	head -c 2500000 /dev/urandom > tree/big
	ln tree/big tree/hard
	ln -s big tree/soft
	ln -s class0/00001.json tree/link.json
	find tree -exec touch -h -d '2022-02-02 02:02:02.123456789' {} +
	tar --format=pax -C tree -cf - . > t.tar
	head -c 1000001 t.tar | gzip > t.tar.gz
	tail -c +1000002 t.tar | gzip >> t.tar.gz
	hpdsl-pack -q --chunks=3 tree ref
	for memory in 8M 512M; do
		hpdsl-pack -q --memory=$memory --chunks=3 t.tar.gz out
		diff -r ref out
		rm -r out
	done
}

# bats test_tags=wide
@test "SIGKILL in the middle, then --resume: the same bytes, nothing written twice" {
	local at kept
	for at in $(rounds "9 14" "9 10 11 12 13 14" "9 10 11 12 13 14"); do
		rm -rf out
		killed_noted "$at"
		kept=$(pack -q --json --resume | field resumed_members)
		[ "$kept" = "$files" ]
		is_ref
	done
}

@test "what is written after a SIGKILL lies behind the position" {
	local n
	need strace
	killed_noted 12
	traced -f -y -e trace=pwrite64 -o calls hpdsl-pack -q --resume \
		--chunks 20 "$slow" out
	# no file is larger than what is written at once
	n=$(grep -c '\.tar\.part>' calls)
	echo "$files of $FILES files were there, $n were written"
	[ "$n" = $((FILES - files)) ]
	is_ref
}

@test "killed at one place after the other, again and again" {
	local at
	for at in op=mkdir op=lock op=pwrite,name=journal op=fsync,after=3 \
		op=open,name=.tar.part,after=9 op=pwrite,name=.tar.part,after=30 \
		op=fsync,name=.tar.part,after=7 op=rename,after=9 \
		op=rename,name=index op=rename,name=dataset \
		op=unlink,name=journal; do
		killed_at "$at" hpdsl-pack -q --resume --chunks 20 "$slow" out
	done
	pack -q --resume
	is_ref
}

# bats test_tags=more
@test "SIGKILL at random moments, again and again" {
	local ms start i
	start=$(date +%s%N)
	pack -q
	ms=$((($(date +%s%N) - start) / 1000000))
	rm -r out
	for i in {1..10}; do
		hpdsl-pack -q --resume --chunks 20 "$slow" out 3>&- &
		pid=$!
		sleep "$(awk -v ms="$ms" -v r="$RANDOM" \
			'BEGIN { printf "%.4f", ms / 1000 * r / 32768 }')"
		kill -KILL "$pid" 2> /dev/null || :
		wait "$pid" || :
		pid=
	done
	pack -q --resume
	is_ref
}

@test "positions only go forward: killed while it compares" {
	local at before
	killed_noted 12
	before=$files
	for at in op=pread,name=.tar.part op=pread,name=.tar.part,after=9 \
		op=pwrite,name=.tar.part; do
		killed_at "$at" hpdsl-pack -q --resume --chunks 20 "$slow" out
		[ "$(position)" -ge "$before" ]
	done
	[ "$(pack -q --json --resume | field resumed_members)" -ge "$before" ]
	is_ref
}

@test "SIGUSR1 and --deadline: synced, noted, exit 75, completed" {
	local status=0
	reading 12
	gone USR1 || status=$?
	echo "$message"
	[ "$status" = 75 ]
	[[ $message = *"files of compressed archives are done"* ]]
	[[ $message = *"--resume completes it"* ]]
	[ ! -e out/dataset.yaml ]
	[ "$(position)" -gt 0 ]
	pack -q --resume
	is_ref

	rm -r out
	# each write takes as long as it has
	status=0
	HPDSL_FAULT=op=pwrite,name=.tar.part,slow=200,times=0 \
		"$BUILD/tests/bed/hpdsl-pack" -q --chunks 20 --deadline=1 \
		"$slow" out || status=$?
	[ "$status" = 75 ]
	pack -q --resume
	is_ref
}

@test "another archive, before or while it is read again" {
	local status=0
	cp -p "$slow" a.tar.bz2
	slow=a.tar.bz2
	killed_noted 12
	touch -d 2001-01-01 a.tar.bz2
	fails 3 "a.tar.bz2 is another archive" pack -q --resume
	touch -r "$BATS_FILE_TMPDIR/slow.tar.bz2" a.tar.bz2
	reading 2 --resume
	echo more >> a.tar.bz2
	goes_on || status=$?
	[ "$status" = 3 ]
	[[ $message = "hpdsl-pack: a.tar.bz2: changed since it was scanned"* ]]
	cp -p "$BATS_FILE_TMPDIR/slow.tar.bz2" a.tar.bz2
	pack -q --resume
	is_ref
}

@test "an archive that goes away while it is read again" {
	local status=0
	cp -p "$slow" a.tar.bz2
	slow=a.tar.bz2
	# it is scanned, and not yet read for its contents
	at_gate op=open,name=.tar.part hpdsl-pack -q --chunks 20 "$slow" out
	: > a.tar.bz2
	goes_on || status=$?
	echo "$message"
	[ "$status" = 3 ]
	[[ $message = *"a.tar.bz2: changed since it was scanned"* ]]
	# nothing was noted, so nothing is kept
	[ -z "$(find out -name '*.part')" ]
}

@test "a wrong checksum in the middle of a stream: told, nothing is left" {
	make_tree tree 2 40
	head -c 500000 /dev/urandom > tree/noise
	tar -C tree -czf t.tar.gz .
	python3 -c "
data = bytearray(open('t.tar.gz', 'rb').read())
data[len(data) // 2] ^= 0x10
open('t.tar.gz', 'wb').write(data)"
	fails 3 "t.tar.gz" hpdsl-pack -q t.tar.gz out
	[ ! -e out ]
}

@test "200 chunks with 64 open files" {
	mkdir tree
	for i in {1..400}; do
		echo "$i" > "tree/$i.txt"
	done
	tar --format=pax -C tree -czf t.tar.gz .
	hpdsl-pack -q --chunks=200 tree ref
	for j in 0 2; do
		(ulimit -n 64 && hpdsl-pack -q -j $j --chunks=200 t.tar.gz out)
		diff -r ref out
		rm -r out
	done
	(ulimit -n 64 && hpdsl-pack -q --zstd --chunks=200 t.tar.gz out)
}

# In a file system of its own: room for one output, not for two.
little_room()
{
	mount -t tmpfs -o size=4M none disk || exit 1
	killed_at op=pwrite,name=.tar.part,after=30 hpdsl-pack -q --chunks 20 \
		"$slow" disk/out || exit 1
	df -k disk | tail -1
	# the temporary files are part of what is needed
	hpdsl-pack -q --chunks 20 --resume "$slow" disk/out || exit 1
	diff -r "$ref" disk/out
}

@test "room for one output: what an interrupted run left counts" {
	need_root
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	mkdir disk
	export -f little_room killed_at
	export slow ref
	unshare -m bash -uc little_room
}
