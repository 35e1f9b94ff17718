#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Compressed archives on their way into the chunks: mixed with other inputs,
# killed, stopped, changed, resumed; few open files, little room.
# need_disk: kills come while a disk is waited for.

load ../kit/lib

FILES=120 # of the archive that is slow to decompress, in 20 chunks

setup_file()
{
	local i
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir slow
	for ((i = 0; i < FILES; i++)); do
		head -c $((40000 + i * 50)) /dev/urandom > "slow/$i.bin"
	done
	find slow -exec touch -h -d '2022-02-02 02:02:02.123456789' {} +
	tar --format=pax -C slow -cjf slow.tar.bz2 .
	hpdsl-pack -q --chunks 20 slow slow.ref
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	slow=$BATS_FILE_TMPDIR/slow.tar.bz2
	ref=$BATS_FILE_TMPDIR/slow.ref
	pid=
}

teardown()
{
	[ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null || :
	[ -z "$pid" ] || kill -CONT "$pid" 2> /dev/null || :
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

rows()
{
	grep -ao STRM out/journal.hpdsl 2> /dev/null | wc -l
}

# writing OPTION..: begins a pack as $pid, which stands still where it puts the
# archive's files into the chunks.  Fails if it was too fast.
writing()
{
	hpdsl-pack --chunks 20 "$@" "$slow" out > stdout 2> stderr 3>&- &
	pid=$!
	# the first row, of no files, comes before any of them
	while [ ! -e out/journal.hpdsl ] || [ "$(rows)" = 0 ] ||
		! find "/proc/$pid/fd" -lname '*.tar.part' 2> /dev/null |
		grep -q .; do
		[ -e "/proc/$pid/fd/1" ] || break
	done
	kill -STOP "$pid" 2> /dev/null && [ ! -e out/dataset.yaml ] && return
	echo "too fast: $*"
	return 1
}

# noted OPTION..: the same, until the journal says that some files are done,
# as it does when enough time has passed.
noted()
{
	local had
	writing "$@" || return 1
	# the first one says that nothing is done: it may come only now
	had=$(rows)
	[ "$had" -gt 0 ] || had=1
	sleep 1.1
	kill -CONT "$pid"
	while [ "$(rows)" -le "$had" ]; do
		[ -e "/proc/$pid/fd/1" ] || break
	done
	kill -STOP "$pid" 2> /dev/null && [ ! -e out/dataset.yaml ] && return
	echo "too fast: $*"
	return 1
}

# resuming OPTION..: the same for a pack that resumes out; again from there
# until it is not too fast, ten times over.
resuming()
{
	local i
	rm -rf before
	cp -a out before
	for i in {1..10}; do
		! writing --resume "$@" || return 0
		wait "$pid" || :
		pid=
		rm -rf out
		cp -a before out
	done
	return 1
}

# gone SIGNAL: what has come of $pid after that.
gone()
{
	local status=0
	kill -"$1" "$pid"
	kill -CONT "$pid" 2> /dev/null || :
	wait "$pid" || status=$?
	pid=
	return "$status"
}

# again COMMAND..: until it is not too fast, ten times over.
again()
{
	local i
	for i in {1..10}; do
		rm -rf out
		! "$@" || return 0
		wait "$pid" || :
		pid=
	done
	return 1
}

@test "a tree, a dataset, tars and streams together: as one tree" {
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
		for j in 0 1 4; do
			rm -rf out
			# shellcheck disable=SC2086
			hpdsl-pack -q -j $j --chunks=6 $o a b.tar.gz c.tar \
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

@test "SIGKILL in the middle, then --resume: the same bytes, nothing written twice" {
	local files kept
	for _ in {1..8}; do
		again noted -q
		gone KILL || :
		files=$(position)
		echo "$files files are noted"
		[ "$files" -gt 0 ]
		[ "$files" -lt "$FILES" ]
		kept=$(pack -q --json --resume | field resumed_members)
		[ "$kept" = "$files" ]
		is_ref
	done
}

@test "what is written after a SIGKILL lies behind the position" {
	local files n
	need strace
	again noted -q
	gone KILL || :
	files=$(position)
	traced -f -y -e trace=pwrite64 -o calls hpdsl-pack -q --resume \
		--chunks 20 "$slow" out
	# no file is larger than what is written at once
	n=$(grep -c '\.tar\.part>' calls)
	echo "$files of $FILES files were there, $n were written"
	[ "$n" = $((FILES - files)) ]
	is_ref
}

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
	local before after
	again noted -q
	gone KILL || :
	before=$(position)
	for _ in 1 2 3; do
		resuming -q
		gone KILL || :
		after=$(position)
		[ "$after" -ge "$before" ]
	done
	[ "$(pack -q --json --resume | field resumed_members)" -ge "$before" ]
	is_ref
}

@test "SIGUSR1 and --deadline: synced, noted, exit 75, completed" {
	local status=0
	again writing -q
	gone USR1 || status=$?
	cat stderr
	[ "$status" = 75 ]
	grep -q 'files of compressed archives are done' stderr
	grep -q -- '--resume completes it' stderr
	[ ! -e out/dataset.yaml ]
	pack -q --resume
	is_ref

	rm -r out
	again writing -q --deadline=6
	sleep 6
	status=0
	gone CONT || status=$?
	cat stderr
	[ "$status" = 75 ]
	pack -q --resume
	is_ref
}

@test "another archive, before or while it is read again" {
	local status=0
	cp -p "$slow" a.tar.bz2
	slow=a.tar.bz2
	again noted -q
	gone KILL || :
	touch -d 2001-01-01 a.tar.bz2
	fails 3 "a.tar.bz2 is another archive" pack -q --resume
	touch -r "$BATS_FILE_TMPDIR/slow.tar.bz2" a.tar.bz2
	resuming -q
	echo more >> a.tar.bz2
	gone CONT || status=$?
	cat stderr
	[ "$status" = 3 ]
	grep -q '^hpdsl-pack: a.tar.bz2: changed since it was scanned$' stderr
	cp -p "$BATS_FILE_TMPDIR/slow.tar.bz2" a.tar.bz2
	pack -q --resume
	is_ref
}

@test "an archive that goes away while it is read again" {
	local status=0
	cp -p "$slow" a.tar.bz2
	slow=a.tar.bz2
	again writing -q
	: > a.tar.bz2
	gone CONT || status=$?
	cat stderr
	[ "$status" = 3 ]
	grep -q '^hpdsl-pack: a.tar.bz2: changed since it was scanned$' stderr
	# nothing was noted, so nothing is kept
	[ -z "$(find out -name '*.part')" ] || [ "$(position)" -gt 0 ]
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
	mount -t tmpfs -o size=8M none disk || exit 1
	hpdsl-pack -q --chunks 20 "$slow" disk/out 3>&- &
	pid=$!
	while [ ! -e disk/out/journal.hpdsl ] ||
		! grep -aq STRM disk/out/journal.hpdsl; do
		[ -e "/proc/$pid/fd/1" ] || exit 1
	done
	kill -KILL "$pid"
	wait "$pid" || :
	df -k disk | tail -1
	# the temporary files are part of what is needed
	hpdsl-pack -q --chunks 20 --resume "$slow" disk/out || exit 1
	diff -r "$ref" disk/out
}

@test "room for one output: what an interrupted run left counts" {
	need_root
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	mkdir disk
	export -f little_room
	export slow ref
	timeout 240 unshare -m bash -uc little_room
}
