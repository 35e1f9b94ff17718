#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: one mount for the processes of a node, what --status says of
# mounts, and when those without a command end.
# shellcheck disable=SC2016,SC2154
# uses: meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount
load ../kit/serve

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 40 3000
	hpdsl-pack -q tree ds
}

teardown()
{
	touch end.1 end.2 end.3 end.4 end.5 end.6 end.7 end.8 end.9
	touch "$from/seen"
	[ -z "$(ls mnt 2> /dev/null)" ] || umount -l mnt
}

# servers: the numbers of those whose mount is that of this test.
servers()
{
	hpdsl-mount --status --json | python3 -c '
import json, sys
for m in json.load(sys.stdin)["mounts"]:
    if m["mount"] == sys.argv[1]:
        print(m["pid"])' "$PWD/mnt"
}

none_left()
{
	[ -z "$(servers)" ] &&
		! pgrep -f "^hpdsl-mount .*$BATS_TEST_TMPDIR" > left
}

export -f until_true

# rank N: joins, says in which name space it is, and waits for a file "end".
rank()
{
	hpdsl-mount --join "$from/ds" "$PWD/mnt" -- bash -c '
		cat $(find mnt -type f | sort) | cksum > sum.$1
		readlink /proc/self/ns/mnt > space.$1
		until_true test -e end.$1' - "$1" 3>&-
}

@test "--join: eight come at once, and there is one mount, one server" {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		rank $i &
	done
	until_true test -s space.1 -a -s space.2 -a -s space.3 -a -s space.4 \
		-a -s space.5 -a -s space.6 -a -s space.7 -a -s space.8
	[ "$(sort -u space.* | wc -l)" = 1 ]
	[ "$(sort -u sum.* | wc -l)" = 1 ]
	[ "$(servers | wc -l)" = 1 ]
	[ "$(cat space.1)" != "$(readlink /proc/self/ns/mnt)" ]
	[ -z "$(ls mnt)" ]
	# whoever began it ends; one that comes then is still in the same
	touch end.1 end.2 end.3 end.4 end.5 end.6 end.7
	wait %1 %2 %3 %4 %5 %6 %7
	rank 9 &
	until_true test -s space.9
	cmp space.8 space.9
	touch end.8 end.9
	wait
	until_true none_left
	# nor is the file by which they met
	[ -z "$(find "/tmp/hpdsl-$(id -u)" \
		-name "*-$(printf %x "$(stat -c %i mnt)")-*.join")" ]
}

@test "--join: another folder, or a dead server: a mount of its own" {
	rank 1 &
	until_true test -s space.1
	run ! hpdsl-mount --join --folder=none "$from/ds" "$PWD/mnt" -- true
	run -3 hpdsl-mount --join "$from/none" "$PWD/mnt" -- true
	[ "${#lines[@]}" = 1 ]
	kill -KILL "$(servers)"
	until_true none_left
	rank 2 &
	until_true test -s space.2
	run ! cmp -s space.1 space.2
	[ "$(cat sum.2)" = "$(cat sum.1)" ]
	touch end.1 end.2
	wait
	until_true none_left
}

@test "--join where no folder can be had: mounted all the same, and said" {
	need_root
	timeout 600 unshare --mount bash -ec '
		mount -t tmpfs none /mnt
		cp -r "$1" /mnt/ds
		mkdir /mnt/tree
		folder=/tmp/hpdsl-$(id -u)
		mkdir -m 700 "$folder" 2> /dev/null || :
		mount -t tmpfs -o mode=777 none "$folder"
		cd /mnt
		hpdsl-mount --join ds tree -- sh -c "ls tree | head -n 1"
	' - "$from/ds" > first 2> said
	[ -s first ]
	grep -q "others have rights to it: mounting for this process alone" said
	grep -q "status will not know this mount" said
}

@test "--join as another user" {
	as_user bash -ec '
		for i in 1 2 3; do
			hpdsl-mount --join from/ds tree -- bash -c "
				grep CapEff /proc/self/status >&2
				readlink /proc/self/ns/mnt /proc/self/ns/user
				until_true test -e from/joined" &
		done
		wait' 3>&- > spaces 2> rights &
	until_true all_joined
	touch "$from/joined"
	wait $!
	[ "$(sort -u spaces | wc -l)" = 2 ]
	[ "$(sort -u rights)" = "CapEff:	0000000000000000" ]
}

all_joined()
{
	[ "$(wc -l < spaces)" = 6 ]
}

@test "--status: root sees what others have mounted" {
	rm -f "$from/seen"
	# other tests mount on /mnt/tree at the same time
	hpdsl-mount "$from/ds" mnt -- \
		sh -c 'cat /tmp/hpdsl-0/mount-*.status | head -c 12408' > "$from/sound"
	as_user bash -ec '
		mkdir tree/his
		exec hpdsl-mount from/ds tree/his -- python3 -c "
import fcntl, os, time
# and says that another one is seen by all
held = open(\"/tmp/hpdsl-%d/mount-1-0.status\" % os.getuid(), \"wb\")
fcntl.lockf(held, fcntl.LOCK_EX)
with open(\"from/sound\", \"rb\") as f:
    sound = f.read()
place = len(sound) - 3 * 4096
lie = b\"/mnt/tree/lie\".ljust(4096, b\"\\0\")
held.write(sound[:24] + b\"\\1\\0\\0\\0\" + sound[28:place] + lie + sound[place + 4096:])
held.flush()
while not os.path.exists(\"from/seen\"):
    time.sleep(0.02)  # clock: a poll
os.unlink(held.name)"
	' 3>&- &
	until_true his_mount
	until_true his_lie
	[ "$(cat shown)" = "nothing is mounted there" ]
	grep -q "/mount-1-0.status: not shown: what it names is no mount of" said
	touch "$from/seen"
	wait
	until_true no_mount_of_his
}

his_lie()
{
	hpdsl-mount --status /mnt/tree/lie > shown 2> said || :
	grep -q "mount-1-0\|lie" shown said
}

no_mount_of_his()
{
	! his_mount
}

his_mount()
{
	hpdsl-mount --status /mnt/tree/his > his
	grep -q "^/mnt/tree/his: /mnt/from/ds\$" his
}

@test "--status: what is asked is counted; nothing: 1" {
	run -1 hpdsl-mount --status mnt
	[ "$output" = "nothing is mounted there" ]
	hpdsl-mount --fill=off "$from/ds" mnt -- sh -c '
		find mnt -type f -exec cat {} + > /dev/null
		hpdsl-mount --status --json mnt > before
		find mnt -type f -exec cat {} + > /dev/null
		hpdsl-mount --status --json mnt > after
		hpdsl-mount --status mnt > words'
	python3 - "$PWD/mnt" "$(realpath "$from/ds")" << 'EOF'
import json, sys
one, two = (json.load(open(f))["mounts"] for f in ("before", "after"))
assert len(one) == len(two) == 1
a, b = one[0], two[0]
assert a["mount"] == sys.argv[1] and a["dataset"] == sys.argv[2], a
assert a["way"] == "command" and a["folder"] is None, a
assert a["reads"] >= 40 and a["bytes"] > 0 and a["failed"] == 0, a
assert a["filled"] == 0, a
# the kernel knows all of it
assert (b["reads"], b["lookups"]) == (a["reads"], a["lookups"]), b
EOF
	grep -q "^$PWD/mnt: $(realpath "$from/ds")\$" words
	until_true none_left
	run -2 hpdsl-mount --status "$from/ds" mnt
	run -2 hpdsl-mount --json "$from/ds" mnt
}

@test "--status: a server that hangs is named, one that was killed is forgotten" {
	local pid worker
	need_root
	hpdsl-mount "$from/ds" mnt
	pid=$(servers)
	worker=$(hpdsl-mount --status --json mnt | field worker)
	kill -STOP "$worker"
	run -3 --separate-stderr hpdsl-mount --status mnt
	kill -CONT "$worker"
	[[ $stderr = *"server $worker is stopped: who reads waits"* ]]
	[[ $output = "$PWD/mnt: "* ]]
	[ "$(servers)" = "$pid" ]
	kill -KILL "$pid"
	until_true none_left
	[ -z "$(find "/tmp/hpdsl-$(id -u)" -name "mount-$pid-*")" ]
	# and who mounts there again need not unmount first
	hpdsl-mount "$from/ds" mnt 2> said
	grep -q "mnt: the mount of a server that was killed is unmounted" said
	[ "$(grep -c "$PWD/mnt" /proc/self/mounts)" = 1 ]
	hpdsl-mount -u mnt
	until_true none_left
}

@test "--status: files that no server wrote are told, and waited for together" {
	apart timeout 600 hpdsl-mount "$from/ds" mnt -- bash -ec '
		sound=$(echo /tmp/hpdsl-$(id -u)/mount-*.status)
		python3 "$SRC/tests/mount/liars.py" "$sound" \
			hpdsl-mount --status > out 2> err || [ $? = 3 ]'
	grep -qx "$PWD/mnt: .*/ds" out
	[ "$(grep -c "/mount-[1-9]-0.status: is not what a server of" err)" = 5 ]
	grep -q "/mount-5-0.status: is of another version of hpdsl-mount" err
	# sound ones that nobody renews
	grep -qx '/red\\n.\[31m: .*/ds' out
	[ "$(grep -c "warning: server [0-9]* does not answer: what is told" err)" = 2 ]
	[ "$(wc -l < err)" = 8 ]
}

@test "--while: it goes with the process, and not before" {
	local pid
	need_root
	sleep infinity 3>&- &
	pid=$!
	hpdsl-mount --while=$pid "$from/ds" mnt
	[ -n "$(ls mnt)" ]
	looks_on "$(hpdsl-mount --status --json mnt | field worker)"
	[ -n "$(ls mnt)" ]
	kill $pid
	wait $pid || :
	until_true none_left
	[ -z "$(ls mnt)" ]
	run -3 hpdsl-mount --while=$pid "$from/ds" mnt
	[[ $output = *"--while=$pid: no such process" ]]
	run -2 hpdsl-mount --while=1 "$from/ds" mnt -- true
}
