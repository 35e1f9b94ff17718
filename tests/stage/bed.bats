#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The test beds do and count what they say, and leave nothing behind.
# need_disk: its origin is on a disk.

bats_require_minimum_version 1.5.0
load ../kit/lib

bed=$SRC/tests/bed

need_origin()
{
	need_root
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	[ -c /dev/fuse ] || skip "no /dev/fuse"
}

# origin OPTIONS: source on mnt, until this shell ends.
origin()
{
	mkdir -p mnt
	"$BUILD/tests/bed/origin" source mnt -o "watch=$$,$1"
}

counter()
{
	awk -v name="$1" '$1 == name { print $2 }' "${2:-mnt/.origin-stats}"
}

reads_now()
{
	[ "$(counter reads_now)" = "$1" ]
}

# gone_from FOLDER: nothing is mounted there.
gone_from()
{
	! mountpoint -q "$1"
}

bytes_of()
{
	awk -v f="$1" '$1 == "file" && $5 == f { print $2 }' mnt/.origin-stats
}

# Runs a command; it must take from $1 to $2 milliseconds.
takes()
{
	local begin=${EPOCHREALTIME/./} ms from=$1 to=$2 # clock: check-time's

	shift 2
	"$@"
	ms=$(((${EPOCHREALTIME/./} - begin) / 1000)) # clock: check-time's
	echo "$ms ms: $*"
	figure "bed.$BATS_TEST_NUMBER.ms" "$ms"
	[ "$ms" -ge "$from" ] && [ "$ms" -le "$to" ]
}

@test "origin: shows the same files, and counts what is asked" {
	need_origin
	make_tree source 2 20
	head -c 5000000 /dev/urandom > source/large
	origin stats=counters
	same_trees source mnt
	diff <(find source -printf '%P\n' | sort) <(find mnt -printf '%P\n' | sort)
	[ "$(bytes_of large)" = 5000000 ]
	cat mnt/large > /dev/null
	[ "$(bytes_of large)" = 10000000 ]
	dd if=mnt/large of=/dev/null bs=1M count=1 skip=1 status=none
	[ "$(bytes_of large)" = 11048576 ]
	[ "$(counter bytes)" = "$(awk '$1 == "file" { n += $2 }
		END { print n }' mnt/.origin-stats)" ]
	opens=$(counter opens)
	cat mnt/class0/00001.json > /dev/null
	[ "$(counter opens)" = $((opens + 1)) ]
	run ! touch mnt/new
	run ! cat mnt/absent
	fusermount3 -u mnt
	until_true test -s counters
	[ "$(counter opens counters)" = $((opens + 1)) ]
}

# bats test_tags=time
@test "origin: bytes a second are bounded, for all mounts of a budget" {
	need_origin
	mkdir source other
	head -c 10M /dev/urandom > source/a
	origin rate=20M,budget=shared
	takes 450 120000 cmp source/a mnt/a
	"$BUILD/tests/bed/origin" source other \
		-o "watch=$$,rate=20M,budget=shared"
	cat other/a > /dev/null &
	takes 900 120000 eval 'cat mnt/a > /dev/null; wait $!'
}

# bats test_tags=time
@test "origin: questions cost time, and are bounded" {
	need_origin
	make_tree source 1 10
	origin op_ms=10
	before=$(counter lookups)
	takes 200 120000 cat mnt/class0/*.json > out
	[ "$(counter lookups)" -ge $((before + 10)) ]
	fusermount3 -u mnt
	origin ops=100
	asked=$(awk '/^(lookups|getattrs|open|readdir)/ { n += $2 }
		END { print n }' mnt/.origin-stats)
	begin=${EPOCHREALTIME/./}
	cat mnt/class0/*.json > out
	ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
	asked=$(($(awk '/^(lookups|getattrs|open|readdir)/ { n += $2 }
		END { print n }' mnt/.origin-stats) - asked))
	echo "$asked operations in $ms ms"
	[ "$ms" -ge $(((asked - 5) * 10)) ]
}

asked()
{
	awk '$1 == "operations" { print $2 }' mnt/.origin-stats
}

@test "origin: names and attributes are kept for so long, also that there are none" {
	need_origin
	make_tree source 1 10
	all='stat -t mnt/class0 mnt/class0/*.json > out; [ ! -e mnt/class0/none ]'
	origin keep=1000
	eval "$all"
	before=$(asked)
	[ "$before" -ge 12 ]
	ls mnt/class0 > listed # the glob lists, whatever is kept
	listing=$(($(asked) - before))
	for _ in 1 2 3; do eval "$all"; done
	after=$(asked)
	echo "$before, $listing a listing, $after"
	[ $((after - before)) -le $((listing * 4)) ]
	cat mnt/class0/*.json > out
	cmp out <(cat source/class0/*.json)
	fusermount3 -u mnt
	origin op_ms=0
	for _ in 1 2 3 4; do eval "$all"; done
	[ "$(asked)" -ge $((before * 3)) ]
}

# Of 300 operations one of the fastest, the middle and the mean, in ms.
spread()
{
	python3 - <<- 'END'
		import os, statistics, time
		took = []
		for _ in range(300):
		    begin = time.monotonic() # clock: check-time's
		    os.stat("mnt/class0")
		    took.append(1e3 * (time.monotonic() - begin)) # clock: check-time's
		took.sort()
		print(took[15], took[150], statistics.mean(took))
	END
}

# bats test_tags=time
@test "origin: with op_cv= an operation takes now more, now less" {
	need_origin
	make_tree source 1 2
	origin op_ms=4
	spread > same
	fusermount3 -u mnt
	origin op_ms=4,op_cv=1
	spread > said
	cat same said
	# the fastest are faster, and a mean stays a mean
	python3 -c 'if True:
		a, b = ([float(x) for x in open(f).read().split()]
		        for f in ("same", "said"))
		assert b[0] / b[1] < 0.8 * a[0] / a[1]
		assert b[2] > 0.6 * a[2]'
}

@test "origin: faults come and go" {
	need_origin
	mkdir source
	head -c 3M /dev/urandom > source/a
	origin "control=$PWD/faults"
	echo "flip a 2000000 1" > faults
	run cmp source/a mnt/a
	[[ $output == *"byte 2000001"* ]]
	cmp source/a mnt/a
	echo "eio a 5" > faults
	run ! cat mnt/a
	[ "$(dd if=mnt/a bs=1M skip=1 status=none | wc -c)" = 2097152 ]
	echo "hang a" > faults
	cat mnt/a > out &
	until_true reads_now 1
	rm faults
	wait $!
	cmp source/a out
}

@test "origin: it ends with the process that it watches" {
	need_origin
	mkdir source mnt
	echo x > source/a
	echo "hang a" > faults
	sleep infinity 3>&- &
	"$BUILD/tests/bed/origin" source mnt \
		-o "watch=$!,control=$PWD/faults"
	cat mnt/a > out 2>&1 3>&- &
	disown
	until_true reads_now 1
	kill -KILL %1
	until_true gone_from mnt
}

@test "nodes: hosts of their own, that mpirun reaches; nothing is left" {
	need_origin
	need mpirun
	unshare --net --pid --fork true || skip "no namespaces"
	mkdir source
	head -c 4M /dev/urandom > source/a
	"$bed/nodes" up bed 3 --ssd=8M --origin=source --link=1gbit
	# shellcheck disable=SC2016
	"$bed/nodes" run bed mpirun -q --map-by ppr:1:node sh -c '
		cat bed/origin/a > bed/ssd/a &&
		echo "$OMPI_COMM_WORLD_SIZE $(hostname)" \
			"$(cat /proc/sys/kernel/random/boot_id)"' > out
	[ "$(sort -u out | wc -l)" = 3 ]
	[ "$(cut -d ' ' -f 2 out | sort | tr '\n' ' ')" = \
		"bed-n001 bed-n002 bed-n003 " ]
	"$bed/nodes" on bed 2 cmp source/a bed/ssd/a
	[ ! -e bed/ssd/a ]
	run ! "$bed/nodes" on bed 1 cp bed/ssd/a bed/ssd/b bed/ssd
	"$bed/nodes" stats bed > asked
	[ "$(counter bytes asked)" = $((3 * 4194304)) ]
	grep -q '^file 12582912 [0-9]* 3 a$' asked
	"$bed/nodes" down bed
	run ! ip link show port1
	run ! grep -F "$PWD" /proc/mounts
	[ "$(find bed | wc -l)" = 1 ]
}

# bats test_tags=time
@test "nodes: links are as fast as they are said to be, and can be cut" {
	need_root
	need mpirun
	unshare --net --pid --fork true || skip "no namespaces"
	"$bed/nodes" up bed 2 --link=100mbit --mtu=9000
	[[ $("$bed/nodes" on bed 2 ip link show eth0) == *" mtu 9000 "* ]]
	cat > receive <<- 'END'
	use IO::Socket::INET;
	my $s = IO::Socket::INET->new(LocalPort => 5000, Listen => 1)->accept;
	$n += length $b while sysread $s, $b, 1 << 20;
	exit($n != 10000000);
	END
	cat > send <<- 'END'
	until head -c 10000000 /dev/zero > /dev/tcp/10.83.0.3/5000; do :; done
	END
	"$bed/nodes" on bed 2 perl receive 3>&- &
	# 10 MB at 12.5 MB/s
	takes 400 120000 "$bed/nodes" on bed 1 bash send 2> refused
	wait $!
	"$bed/nodes" link bed 2 down
	run ! "$bed/nodes" on bed 1 timeout 1 bash -c \
		': > /dev/tcp/10.83.0.3/5000'
	"$bed/nodes" down bed
}

@test "nodes: all goes when the one who made them is killed" {
	need_root
	unshare --net --pid --fork true || skip "no namespaces"
	bash -c "'$bed/nodes' up bed 2; kill -KILL \$\$" 3>&- || true
	init=$(cat bed/init)
	until_true test ! -e "/proc/$init"
	"$bed/nodes" down bed
}

@test "ssd: it is as small as it is said to be" {
	need_root
	"$bed/ssd" up ssds 1M 2M
	run ! bash -c 'head -c 1500000 /dev/zero > ssds/0/a'
	head -c 1500000 /dev/zero > ssds/1/a
	"$bed/ssd" down ssds
	run ! grep -F "$PWD" /proc/mounts
}
