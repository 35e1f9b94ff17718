#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Bad input: the documented exit status, one line that names what is wrong,
# nothing new on disk and nothing old touched.
# bats file_tags=quick

load ../kit/lib
load ../kit/stopped

export BATS_TEST_TIMEOUT=$((${#SAN} ? 900 : 300))

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p in/a in/b
	for i in 1 2 3 4 5 6; do
		echo "file $i" > "in/a/$i.txt"
		head -c "$((i * 700))" /dev/zero > "in/b/$i.bin"
	done
	touch -d '2021-01-01' in/*/*
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR/in" .
}

# All that is here, with everything that a write would change.
snapshot()
{
	find . -type d -printf '%p %y %m\n' -o \
		-printf '%p %y %m %s %T@ %C@ %i %l\n' | LC_ALL=C sort
}

# refuses STATUS TEXT COMMAND..: exactly one line with TEXT on stderr, nothing
# on stdout, and no trace on the disk.
refuses()
{
	local before after
	before=$(snapshot)
	fails "$@" || return
	one_line "$3" || return
	after=$(snapshot)
	[ "$before" = "$after" ] || {
		echo "left or changed:"
		diff <(echo "$before") <(echo "$after")
		return 1
	}
}

# one_line COMMAND: $message is a line of its.
one_line()
{
	local name=$1
	case $name in
	hpdsl-*) ;;
	*) name=hpdsl- ;;
	esac
	[[ $message = "$name"* && $message != *$'\n'* ]] || {
		echo "not one line of $name: $message"
		return 1
	}
}

# Without the privilege of root to read and write all.
plain()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --bounding-set=-dac_override,-dac_read_search "$@"
	else
		"$@"
	fi
}

need_plain()
{
	: > secret
	chmod 0 secret
	! plain cat secret > /dev/null 2>&1 || skip "root can read all"
	rm -f secret
}

# ---- What is packed -------------------------------------------------------

@test "an input that is not there" {
	refuses 3 "no/such" hpdsl-pack -q no/such out
	refuses 3 "no/such" hpdsl-pack -q in no/such out
	refuses 3 "list" hpdsl-pack -q --files-from list in out
}

@test "an input that is a file, and no archive" {
	refuses 2 "in/a/1.txt: is neither a tar nor a zip" hpdsl-pack -q in/a/1.txt out
	for f in x.tar x.tar.gz x.tgz x.tar.zst x.tar.xz x.zip X.TAR; do
		echo text > "$f"
		refuses 2 "$f: is neither a tar nor a zip" hpdsl-pack -q "$f" out
	done
}

@test "an archive inside the input is data" {
	tar -cf in/x.tar in/a
	hpdsl-pack -q in out
	hpdsl-cat out x.tar | cmp - in/x.tar
}

@test "an empty input" {
	mkdir -p empty/x/y
	refuses 3 "empty: no files" hpdsl-pack -q empty out
	refuses 3 "in: no files" hpdsl-pack -q --include '*.none' in out
	: > list
	refuses 3 "no files" hpdsl-pack -q --files-from list in out
	# beside another one it is none of our business
	hpdsl-pack -q empty in out
	hpdsl-verify -q --source in out
}

@test "unreadable file" {
	need_plain
	chmod 0 in/a/3.txt
	refuses 3 "in/a/3.txt: Permission denied" plain hpdsl-pack -q in out
	# All of them before a byte is written, not one a run of hours.
	chmod 0 in/a/1.txt
	fails 3 "2 problems in the input" plain hpdsl-pack -q in out
	[[ $message = *"in/a/1.txt: Permission"*"in/a/3.txt: Permission"* ]]
	[ ! -e out ]
	chmod 644 in/a/[13].txt
}

@test "unreadable folder" {
	need_plain
	chmod 0 in/b
	refuses 3 "in/b: Permission denied" plain hpdsl-pack -q in out
	chmod 755 in/b
}

@test "FIFO, socket, device: named, never opened" {
	local made=1
	mkfifo in/a/fifo
	refuses 3 "in/a/fifo: is a FIFO" timeout 600 hpdsl-pack -q in out
	hpdsl-pack -q --exclude fifo in out
	rm -r in/a/fifo out
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind("in/a/sock")'
	refuses 3 "in/a/sock: is a socket" hpdsl-pack -q in out
	rm in/a/sock
	mknod in/a/null c 1 3 2> err || made=0
	if [ "$made" = 1 ]; then
		refuses 3 "in/a/null: is a device" hpdsl-pack -q in out
		rm in/a/null
	fi
	ln -s /dev/null in/a/link
	refuses 3 "in/a/link: is a device" hpdsl-pack -q in out
}

@test "links: loop, dangling, outside, into a folder" {
	ln -s loop2 in/a/loop1
	ln -s loop1 in/a/loop2
	fails 3 "in/a/loop1: link loop" hpdsl-pack -q in out
	[[ $message = *in/a/loop2* ]]
	[ ! -e out ]
	rm in/a/loop2
	ln -sf loop1 in/a/loop1
	refuses 3 "in/a/loop1: link loop" hpdsl-pack -q in out
	rm in/a/loop1
	ln -s nowhere in/a/dangling
	refuses 3 "in/a/dangling: dangling link to nowhere" hpdsl-pack -q in out
	rm in/a/dangling
	echo secret > outside
	ln -s ../../outside in/a/out
	refuses 3 "in/a/out: link leads outside" hpdsl-pack -q in out
	ln -sf "$PWD/outside" in/a/out
	refuses 3 "in/a/out: link leads outside" hpdsl-pack -q in out
	hpdsl-pack -q --symlinks=follow-all in out
	[ "$(hpdsl-cat out a/out)" = secret ]
	rm -r out in/a/out
	ln -s .. in/a/up
	hpdsl-pack -q in out
	hpdsl-verify -q --source in out
}

@test "a link that leads to a name that only begins like the input" {
	mkdir in2
	echo x > in2/x
	ln -s ../../in2/x in/a/x
	refuses 3 "in/a/x: link leads outside" hpdsl-pack -q in out
}

@test "several problems: each is told, nothing is made" {
	mkfifo in/f1 in/f2
	ln -s nowhere in/l
	fails 3 "3 problems in the input, first: in/f1" hpdsl-pack -q in out
	for f in in/f1 in/f2 in/l; do
		[[ $message = *"$f: "* ]]
	done
	[ ! -e out ]
}

@test "two equal paths" {
	mkdir in2 in2/a
	echo other > in2/a/3.txt
	refuses 2 "a/3.txt" hpdsl-pack -q in in2 out
	refuses 2 "a/1.txt" hpdsl-pack -q in in out
	printf 'a/1.txt\n./a//1.txt\n' > list
	refuses 2 "a/1.txt" hpdsl-pack -q --files-from list in out
	hpdsl-pack -q --prefix-input in in2 out
	[ "$(hpdsl-ls out | wc -l)" = 13 ]
}

@test "lists: what is not there, .., a path too long, a stray backslash" {
	printf 'a/1.txt\na/none.txt\n' > list
	refuses 3 "in/a/none.txt" hpdsl-pack -q --files-from list in out
	printf 'a/../b/1.bin\n' > list
	refuses 2 "line 1: 'a/../b/1.bin'" hpdsl-pack -q --files-from list in out
	printf 'a/1.txt\n../x\n' > list
	refuses 2 "line 2: '../x'" hpdsl-pack -q --files-from list in out
	printf 'a/\\t.txt\n' > list
	refuses 2 "list: line 1" hpdsl-pack -q --files-from list in out
	{ echo a/1.txt; head -c 4096 /dev/zero | tr '\0' x; } > list
	refuses 2 "line 2" hpdsl-pack -q --files-from list in out
	printf 'a/1.txt\0a/2.txt\0' > list
	refuses 2 "list: line 1: a NUL byte" hpdsl-pack -q --files-from list in out
	fails 2 "one INPUT, not also 'in'" hpdsl-pack -q --files-from list in in out
	refuses 3 "in" hpdsl-pack -q --files-from in in out
}

# ---- While it is packed ---------------------------------------------------

# changes COMMAND: what it does to the input while that is packed is noticed
# and told of b/4.bin; once that is undone the pack can be completed.
changes()
{
	local status=0
	cp -a in saved
	# the first is the journal's: all is scanned, and nothing is read
	at_gate op=fsync hpdsl-pack -q -j "$j" --chunks 3 in out || return 1
	eval "$1"
	goes_on || status=$?
	echo "$1 -> $status: $message"
	[ "$status" = 3 ] || return 1
	one_line hpdsl-pack || return 1
	[[ $message = *in/b/4.bin:* ]] || return 1
	[ ! -e out/dataset.yaml ] && [ ! -e out/index.hpdsl ] || return 1
	chmod -R u+rwX in
	rm -rf in
	mv saved in
	hpdsl-pack -q --chunks 3 --resume in out &&
		hpdsl-verify -q --source in out &&
		[ "$(dataset_digest out)" = "$want" ] || return 1
	rm -r out
}

# bats test_tags=wide
@test "a file that grows, shrinks, changes or vanishes while it is packed" {
	local j
	hpdsl-pack -q --chunks 3 in ref
	want=$(dataset_digest ref)
	for j in $(rounds 2 "0 2" "0 2"); do
		changes 'echo more >> in/b/4.bin'
		changes 'truncate -s -1 in/b/4.bin'
		changes ': > in/b/4.bin'
		changes 'rm in/b/4.bin'
		changes 'mv in/b/4.bin in/b/moved'
		changes 'touch in/b/4.bin'
	done
}

@test "a file that is replaced while it is packed, by the same size and time" {
	local j=1
	hpdsl-pack -q --chunks 3 in ref
	want=$(dataset_digest ref)
	changes 'cp -p in/b/4.bin x; mv x in/b/4.bin'
	changes 'printf X | dd of=in/b/4.bin conv=notrunc status=none
		touch -d 2021-01-01 in/b/4.bin'
	changes 'mv in/b/4.bin x; ln -s ../../x in/b/4.bin'
	changes 'rm in/b/4.bin; mkfifo in/b/4.bin'
	changes 'rm in/b/4.bin; mkdir in/b/4.bin'
}

@test "a large file that changes while it is read" {
	local status=0
	truncate -s 40M in/b/big
	at_gate op=pwrite,after=7 hpdsl-pack -q -j 0 --memory 8M --chunks 1 in out
	ls out/.chunk*
	echo >> in/b/big
	goes_on || status=$?
	[ "$status" = 3 ]
	[[ $message = *in/b/big:* ]]
	[ ! -e out/dataset.yaml ] && [ ! -e out/chunk-000000.tar ]
}

# bats test_tags=wide
@test "a folder that vanishes during the scan, a file that comes: no crash" {
	# whatever is scanned while names come and go is packed, or refused
	for ((i = 0; i < 300; i++)); do
		: > "in/a/n$i"
	done
	(while mv in/a in/c && mv in/c in/a; do :; done) 2> /dev/null 3>&- &
	pid=$!
	for ((i = 0; i < $(rounds 5 20 20); i++)); do
		status=0
		hpdsl-pack -q in out 2> err || status=$?
		[ "$status" = 0 ] || [ "$status" = 3 ]
		[ "$status" != 0 ] || hpdsl-verify -q out
		[ "$status" = 0 ] || [ -s err ]
		rm -rf out
	done
	kill "$pid"
}

# ---- Where it is packed to ------------------------------------------------

@test "an output that is something else" {
	echo mine > file
	refuses 3 "file" hpdsl-pack -q in file
	refuses 3 "file" hpdsl-pack -q --force in file
	refuses 3 "file" hpdsl-pack -q --resume in file
	mkdir full
	echo mine > full/notes
	for o in -q --force --resume; do
		refuses 3 "full: is there, not empty" hpdsl-pack -q $o in full
	done
	mkdir -p holds/folder
	refuses 3 "holds: is there, not empty" hpdsl-pack -q --force in holds
	mkfifo fifo
	refuses 3 "fifo" timeout 600 hpdsl-pack -q in fifo
	ln -s nowhere link
	refuses 3 "link" hpdsl-pack -q in link
	refuses 3 "no/such" hpdsl-pack -q in no/such/out
	for name in . .. / in/..; do
		fails 2 "$name" hpdsl-pack -q in/a "$name"
	done
}

@test "an output that is a dataset" {
	hpdsl-pack -q --seed 1 in out
	refuses 3 "out: a packed dataset is there; --force" hpdsl-pack -q in out
	echo mine > out/notes
	refuses 3 "'notes'" hpdsl-pack -q --force in out
	rm out/notes
	mkdir out/chunk-x.tar
	refuses 3 "'chunk-x.tar'" hpdsl-pack -q --force in out
	rmdir out/chunk-x.tar
	hpdsl-pack -q --force in out
	hpdsl-verify -q --source in out
	[ "$(find . -maxdepth 1 -name '.*hpdsl*')" = "" ]
}

@test "--force: an input that cannot be packed leaves the old dataset" {
	hpdsl-pack -q in out
	mkfifo in/fifo
	refuses 3 "in/fifo" hpdsl-pack -q --force in out
	rm in/fifo
	refuses 2 "chunks" hpdsl-pack -q --force --chunks 100 in out
	hpdsl-verify -q out
}

@test "an output inside the input, or the input itself" {
	refuses 2 "in/out: the output is inside the input in" hpdsl-pack -q in in/out
	refuses 2 "inside" hpdsl-pack -q in in
	refuses 3 "in/a/x/y: No such file" hpdsl-pack -q in in/a/x/y/z
	refuses 2 "inside" hpdsl-pack -q in in/a/../b/out
	refuses 2 "inside" hpdsl-pack -q . out
	ln -s in/a link
	refuses 2 "inside" hpdsl-pack -q in link/out
	refuses 2 "inside" hpdsl-pack -q "$PWD/in" in/out
	mkdir other
	echo x > other/x
	refuses 2 "inside" hpdsl-pack -q other in in/out
	# a name that only begins like it
	hpdsl-pack -q in in.out
	hpdsl-verify -q --source in in.out
}

@test "an output that cannot be written" {
	need_plain
	mkdir ro
	chmod 555 ro
	refuses 3 "ro/out: Permission denied" plain hpdsl-pack -q in ro/out
	mkdir ro2
	chmod 555 ro2
	refuses 3 "ro2" plain hpdsl-pack -q in ro2
	chmod 755 ro ro2
}

# on_tmpfs OPTIONS COMMAND..: runs it with a file system of its own at ./disk.
on_tmpfs()
{
	local options=$1
	shift
	need_root
	mkdir disk
	export -f refuses fails snapshot one_line dataset_digest small_disk \
		inodes full_at_work
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	# shellcheck disable=SC2016
	options=$options timeout 600 unshare -m bash -euc '
		mount -t tmpfs -o "$options" none disk
		"$@"
	' bash "$@"
}

small_disk()
{
	refuses 3 "disk/out: needs" hpdsl-pack -q in disk/out || return
	[ "$(ls -A disk)" = "" ] || return
	# the check can be too kind, the disk not
	head -c 200K /dev/zero > disk/filler
	refuses 3 "disk/out" hpdsl-pack -q in disk/out || return
	[ "$(ls -A disk)" = filler ]
}

inodes()
{
	refuses 3 "disk/out: needs 11 inodes" hpdsl-pack -q --chunks 6 in disk/out ||
		refuses 3 "inodes" hpdsl-pack -q --chunks 6 in disk/out || return
	hpdsl-pack -q --chunks 1 in disk/out && hpdsl-verify -q disk/out
}

full_at_work()
{
	local status=0
	hpdsl-pack -q --chunks 5 in ref
	# all is well when it is checked; when it writes, the disk is full
	at_gate op=fsync,after=5 hpdsl-pack -q -j 0 --chunks 5 in disk/out
	head -c 100M /dev/zero > disk/filler 2> /dev/null || :
	goes_on || status=$?
	echo "$status: $message"
	[ "$status" = 3 ]
	one_line hpdsl-pack
	[[ $message = *"No space left on device"* ]]
	[ ! -e disk/out/dataset.yaml ]
	[ "$(find disk -name '*.part' -o -name index.hpdsl)" = "" ]
	ls disk/out/chunk-*.tar
	rm disk/filler
	hpdsl-pack -q --resume --chunks 5 in disk/out
	[ "$(dataset_digest disk/out)" = "$(dataset_digest ref)" ]
}

@test "a disk that is too small: told before a byte is written" {
	head -c 300K /dev/zero > in/b/big
	on_tmpfs size=256K small_disk
}

@test "too few inodes: told before a byte is written" {
	on_tmpfs size=10M,nr_inodes=8 inodes
}

@test "a disk that fills up at work: finished chunks stay, --resume completes" {
	export -f at_gate is_at_gate goes_on has_gone_on until_true
	for i in 1 2 3 4 5; do
		head -c 60K /dev/zero > "in/a/$i.txt"
	done
	on_tmpfs size=1M full_at_work
}

@test "unpack to a disk that is too small" {
	head -c 300K /dev/zero > in/b/big
	hpdsl-pack -q in out
	too_small()
	{
		fails 3 "No space left on device" hpdsl-unpack -q out disk/u
		! find disk -name '.*' -type f | grep . || return 1
		# what has its name is whole
		(cd disk/u && find . -type f -exec cmp {} ../../in/{} \;)
	}
	export -f too_small
	on_tmpfs size=256K too_small
}

@test "standard output to a full disk" {
	hpdsl-pack -q in out
	for c in "hpdsl-ls out" "hpdsl-ls --json out" "hpdsl-cat out a/1.txt" \
		"hpdsl-cat out b/6.bin" "hpdsl-verify -q --json out" \
		"hpdsl-pack --dry-run -q in x" "hpdsl-unpack --json out u"; do
		status=0
		$c > /dev/full 2> err || status=$?
		echo "$c: $status $(cat err)"
		[ "$status" = 3 ]
		[ "$(wc -l < err)" = 1 ]
	done
}

# ---- Options --------------------------------------------------------------

# usage TEXT COMMAND..: exit 2, TEXT in the first line, no trace.
usage()
{
	local before
	before=$(snapshot)
	fails 2 "$@" || return
	[[ ${message%%$'\n'*} = *"$1"* ]] || return
	[ "$before" = "$(snapshot)" ]
}

# bats test_tags=wide
@test "numbers that are none" {
	local o v values some=("" 0 1x 18446744073709551616)
	local all=("${some[@]}" -1 +1 x 1.5 " 1" "1 " 0x10 1e3 99999999999999999999999)
	for o in chunks samples-per-chunk multiple-of readers chunk-size memory \
		deadline; do
		values=("${some[@]}")
		! at_level more && [ $o != chunks ] || values=("${all[@]}")
		for v in "${values[@]}"; do
			usage "$o" hpdsl-pack -q "--$o=$v" in out || {
				echo "--$o='$v'"
				return 1
			}
		done
	done
	for v in "" -1 x 1x 1.5 " 1" 18446744073709551616; do
		usage seed hpdsl-pack -q "--seed=$v" in out
		usage threads hpdsl-pack -q "--threads=$v" in out
		usage threads hpdsl-unpack -q "--threads=$v" in out
		usage threads hpdsl-verify -q "--threads=$v" in
	done
	for v in 16E 17179869184G 1KK K 64m6 1KB; do
		usage chunk-size hpdsl-pack -q "--chunk-size=$v" in out
	done
	for v in 1:60 1:2:3:4 1-24 -1 1- :1 1: 1-2:60; do
		usage deadline hpdsl-pack -q "--deadline=$v" in out
	done
	usage memory hpdsl-pack -q --memory=1M in out
	usage chunks hpdsl-pack -q --chunks=13 in out
	usage chunks hpdsl-pack -q --chunks=18446744073709551615 in out
}

@test "choices that are none" {
	usage shuffle hpdsl-pack -q --shuffle=local in out
	usage shuffle hpdsl-pack -q --shuffle= in out
	usage group hpdsl-pack -q --group=dir in out
	usage symlinks hpdsl-pack -q --symlinks=yes in out
	for v in "" dir: dir:0 dir:x dir:-1 dir:99999999999; do
		usage labels hpdsl-pack -q "--labels=$v" in out
	done
	for v in top parent:1 none:1; do
		refuses 3 "$v: No such file" hpdsl-pack -q "--labels=$v" in out
	done
	for v in "" x =x; do
		usage meta hpdsl-pack -q "--meta=$v" in out
	done
	usage "null" hpdsl-pack -q -0 in out
	usage "" hpdsl-pack -q out
	usage "" hpdsl-pack -q --chunks=2 --samples-per-chunk=3 in out
	usage "" hpdsl-pack -q --chunks=2 --chunk-size=3M in out
	usage "" hpdsl-pack -q --chunk-size=1M --samples-per-chunk=3 in out
	usage "" hpdsl-unpack -q out
	usage "" hpdsl-verify
	usage "" hpdsl-verify a b
	usage "" hpdsl-cat out
	usage "" hpdsl-ls --json -l out
	usage "" hpdsl-ls --json -0 out
	usage "'x'" hpdsl-cat out --sample=x
	usage "'-1'" hpdsl-cat out --member=-1
}

# ---- What was packed, and is damaged --------------------------------------

commands_on()
{
	printf '%s\n' "hpdsl-ls $1" "hpdsl-ls -l $1" "hpdsl-ls --chunks -l $1" \
		"hpdsl-cat $1 a/1.txt" "hpdsl-cat $1 --sample=0" \
		"hpdsl-unpack -q $1 u" "hpdsl-verify -q $1" \
		"hpdsl-verify -q --quick $1"
}

# bad STATUSES NAME: every command on ds ends with one of these, and names it.
bad()
{
	local c status told
	while read -r c; do
		status=0
		rm -rf u
		# shellcheck disable=SC2086
		timeout 600 $c > stdout 2> stderr || status=$?
		told=$(cat stderr)
		# verify's findings are its data, and may be several
		[[ $c != hpdsl-verify* ]] || told=$(grep "$2" stdout stderr |
			head -n 1)
		if [[ " $1 " != *" $status "* || $told != *"$2"* ||
			$told = *$'\n'* || -z $told ]]; then
			echo "$c: exit $status: $told"
			return 1
		fi
		! find . -path ./u/\* -name '.*' | grep . || return 1
	done < <(commands_on ds)
}

flip()
{
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059
	printf "$(printf '\\%03o' $((byte ^ 4)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

@test "no dataset there" {
	fails 3 "none" hpdsl-ls none
	one_line hpdsl-ls
	fails 3 "none" hpdsl-cat none x
	one_line hpdsl-cat
	fails 3 "none" hpdsl-unpack -q none u
	one_line hpdsl-unpack
	fails 3 "none" hpdsl-verify -q none
	one_line hpdsl-verify
	fails 3 "none" hpdsl-index -q none
	one_line hpdsl-index
	for d in in in/a/1.txt; do
		while read -r c; do
			# shellcheck disable=SC2086
			fails 3 "$d" $c
			one_line "${c%% *}"
		done < <(commands_on "$d")
		[ ! -e u ]
	done
}

# bats test_tags=wide
@test "a damaged index: every command says so" {
	local size at
	hpdsl-pack -q --labels=dir in ds
	cp -a ds sound
	size=$(stat -c %s ds/index.hpdsl)
	for at in $(rounds "17 100" "0 5 17 40 100" "0 5 17 40 100") $((size / 2)); do
		rm -rf ds
		cp -a sound ds
		flip ds/index.hpdsl "$at"
		run hpdsl-verify -q ds
		[ "$status" = 1 ] || [ "$status" = 3 ]
		[[ $output = *index.hpdsl* ]]
	done
	for at in $(rounds "0 63" "0 1 8 63 200" "0 1 8 63 200") $((size - 1)); do
		rm -rf ds
		cp -a sound ds
		truncate -s "$at" ds/index.hpdsl
		bad "1 3" index.hpdsl
	done
	rm -rf ds
	cp -a sound ds
	flip ds/index.hpdsl 0
	bad "1 3" index.hpdsl
	rm ds/index.hpdsl
	bad "1 3" index.hpdsl
	mkdir ds/index.hpdsl
	bad "1 3" index.hpdsl
	rmdir ds/index.hpdsl
	mkfifo ds/index.hpdsl
	bad "1 3" index.hpdsl
	rm ds/index.hpdsl
	ln -s loop ds/loop
	ln -s loop ds/index.hpdsl
	bad "1 3" ds
}

@test "a damaged manifest: verify says so, in one line" {
	local size at
	hpdsl-pack -q in ds
	cp -a ds sound
	size=$(stat -c %s ds/dataset.yaml)
	for at in 0 20 $((size / 2)) $((size - 2)) $((size - 1)); do
		rm -rf ds
		cp -a sound ds
		flip ds/dataset.yaml "$at"
		for o in -q --quick; do
			fails_told hpdsl-verify -q $o ds
		done
	done
	for at in 0 1 $((size / 2)) $((size - 1)); do
		rm -rf ds
		cp -a sound ds
		truncate -s "$at" ds/dataset.yaml
		fails_told hpdsl-verify -q ds
	done
	rm ds/dataset.yaml
	fails_told hpdsl-verify -q ds
	mkfifo ds/dataset.yaml
	fails_told timeout 600 hpdsl-verify -q ds
	# bombs of YAML
	rm ds/dataset.yaml
	{
		echo 'a: &a [x,x,x,x,x,x,x,x,x]'
		for i in b c d e f g h i j; do
			p=$(printf '%s' "$i" | tr b-j a-i)
			echo "$i: &$i [*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p]"
		done
	} > ds/dataset.yaml
	fails_told timeout 600 hpdsl-verify -q ds
	head -c 1M /dev/zero | tr '\0' '[' > ds/dataset.yaml
	fails_told timeout 600 hpdsl-verify -q ds
}

# fails_told COMMAND: exit 1, one line in all, about the manifest.
fails_told()
{
	run "$@"
	echo "$output"
	[ "$status" = 1 ] && [ "${#lines[@]}" = 1 ] &&
		[[ $output = *dataset.yaml* ]]
}

@test "a damaged chunk: the member is named, never restored, the rest is" {
	hpdsl-pack -q --shuffle=none --chunks 2 in ds
	at=$(hpdsl-ls -l ds a/2.txt | awk '{ print $6 }')
	flip ds/chunk-000000.tar "$at"
	fails 1 "a/2.txt" hpdsl-unpack -q ds u
	[ ! -e u/a/2.txt ]
	! find u -name '.*' -type f | grep . || return 1
	[ "$(find u -type f | wc -l)" = 11 ]
	run hpdsl-cat ds a/1.txt a/2.txt a/3.txt
	[ "$status" = 1 ]
	[[ $output = *a/2.txt* ]]
	[[ $output = *"file 1"* && $output = *"file 3"* ]]
	run hpdsl-verify -q ds
	[ "$status" = 1 ]
	[[ $output = *chunk-000000.tar*a/2.txt* ]]
	rm ds/chunk-000001.tar
	run hpdsl-verify -q ds
	[ "$status" = 1 ]
	[[ $output = *chunk-000001.tar* ]]
	truncate -s 600 ds/chunk-000000.tar
	run hpdsl-verify -q --quick ds
	[ "$status" = 1 ]
	[[ $output = *chunk-000000.tar* ]]
}

@test "what is asked for and not there: exit 1, the rest is delivered" {
	hpdsl-pack -q in ds
	run hpdsl-cat ds a/1.txt a/none a/2.txt
	[ "$status" = 1 ]
	[ "${lines[*]}" = "hpdsl-cat: no member 'a/none'; there are 'a/1.txt', 'a/2.txt' (hpdsl-ls DATASET lists them) file 1 file 2" ] ||
		[ "${#lines[@]}" = 3 ]
	fails 1 "none" hpdsl-cat ds none
	one_line hpdsl-cat
	fails 1 "none" hpdsl-ls ds none
	one_line hpdsl-ls
	fails 1 "none" hpdsl-unpack -q ds u none
	one_line hpdsl-unpack
	[ ! -e u ]
	run hpdsl-unpack -q ds u none a/1.txt
	[ "$status" = 1 ]
	[ "$(find u -type f)" = u/a/1.txt ]
	fails 1 "sample" hpdsl-cat ds --sample=12
	fails 1 "member" hpdsl-cat ds --member=12
	fails 1 "member" hpdsl-cat ds --member=18446744073709551615
}

@test "an unpack into something that is there" {
	hpdsl-pack -q in ds
	mkdir u
	echo mine > u/x
	refuses 3 "u" hpdsl-unpack -q ds u
	echo mine > file
	refuses 3 "file" hpdsl-unpack -q ds file
	refuses 3 "no/such" hpdsl-unpack -q ds no/such/u
	mkdir empty
	hpdsl-unpack -q ds empty
	same_trees in empty
}

@test "hpdsl-index: nothing to rebuild from; a chunk that is no tar" {
	mkdir ds
	refuses 3 "ds" hpdsl-index -q ds
	hpdsl-pack -q --force in ds || hpdsl-pack -q in ds
	cp -a ds sound
	rm ds/index.hpdsl ds/dataset.yaml
	hpdsl-index -q ds
	hpdsl-verify -q ds
	truncate -s 700 ds/chunk-000000.tar
	rm ds/index.hpdsl
	fails 1 "chunk-000000.tar" hpdsl-index -q ds || {
		[ "$status" = 3 ]
		[[ $message = *chunk-000000.tar* ]]
	}
	[ ! -e ds/index.hpdsl ]
}
