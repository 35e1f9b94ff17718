#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A writer of snapshots that is killed, fails or finds no room: the file is the
# old one or the new one, and the next run leaves nothing behind.
# need_disk: kills at random come while a disk is waited for.

load ../kit/lib
load ../kit/snapshot

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	"$SRC/tests/kit/snapshot_trees.py" many one 4 "$(rounds 250 1000 1000)"
	"$SRC/tests/kit/snapshot_trees.py" many two 10 "$(rounds 100 500 500)"
	make_tree small 2 2
	hpdsl-snapshot create -q one -o one.snap
	hpdsl-snapshot create -q two -o two.snap
	hpdsl-snapshot create -q small -o small.snap
	hpdsl-snapshot dump two.snap > two.text
	hpdsl-snapshot dump small.snap > small.text
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	from=$BATS_FILE_TMPDIR
	mkdir out
}

# old_or_new OLD NEW: what out/snap is; sets $now.  Nothing else is there but a
# temporary file.
old_or_new()
{
	now=
	if cmp -s out/snap "$from/$1.snap"; then
		now=old
	elif cmp -s out/snap "$from/$2.snap"; then
		now=new
	fi
	if [ -z "$now" ] || [ "$(ls out)" != snap ]; then
		echo "neither $1 nor $2, or not alone"
		ls -la out
		return 1
	fi
	hpdsl-snapshot verify -q out/snap
}

# bats test_tags=more
@test "SIGKILL at random moments: the old one or the new one" {
	local kills landed=0 parts=0 tries=0 start us pid new old i
	kills=$(rounds 50 50 500)
	cp "$from/one.snap" out/snap
	start=$(date +%s%N)
	hpdsl-snapshot create -q "$from/two" -o out/snap
	us=$((($(date +%s%N) - start) / 1000))
	for ((i = 0; landed < kills; i++)); do
		tries=$((tries + 1))
		[ "$tries" -lt $((kills * 10)) ]
		new=two old=one
		[ $((i % 2)) = 0 ] || { new=one; old=two; }
		cp "$from/$old.snap" out/snap
		hpdsl-snapshot create -q "$from/$new" -o out/snap 3>&- &
		pid=$!
		sleep "$(awk -v us="$us" -v r="$RANDOM" \
			'BEGIN { printf "%.5f", us / 1e6 * 1.2 * r / 32768 }')"
		kill -KILL "$pid" 2> /dev/null || :
		# the machine may be busier now than then, or less
		! wait "$pid" || { us=$((us * 9 / 10)); continue; }
		us=$((us * 51 / 50))
		landed=$((landed + 1))
		[ ! -e out/.snap.part ] || parts=$((parts + 1))
		old_or_new "$old" "$new"
	done
	echo "# $landed kills in $tries runs of $us us, $parts left a .part" >&3
	hpdsl-snapshot create -q "$from/two" -o out/snap
	cmp out/snap "$from/two.snap"
	nothing_beside out
}

# at_each FAULT CALL COMMAND..: runs it with FAULT at the k-th CALL, for every k
# (every $step-th) until there are no more; then each.
at_each()
{
	local fault=$1 call=$2 command=$BUILD/tests/bed/$3 k status=1
	shift 3
	for ((k = 0; status; k += ${step:-1})); do
		cp "$from/one.snap" out/snap
		rm -f out/.snap.part
		status=0
		HPDSL_FAULT=op=$call,after=$k,$fault "$command" "$@" \
			> said 2>&1 || status=$?
		each "$status" || {
			echo "$call $fault, call $k: exit $status"
			cat said
			return 1
		}
	done
	[ "$k" -gt "${step:-1}" ]
	# that was the last, and not one that did no harm
	HPDSL_FAULT=op=$call,after=$((k - ${step:-1})),kill "$command" "$@"
}

# bats test_tags=wide
@test "killed at every call that writes, renames or syncs" {
	each()
	{
		old_or_new one small &&
			{ [ "$1" != 0 ] || [ "$now" = new ]; } &&
			hpdsl-snapshot create -q "$from/small" -o out/snap &&
			cmp out/snap "$from/small.snap" && nothing_beside out
	}
	local call step=1
	for call in pwrite fsync rename unlink open; do
		[ $call != open ] || step=$(rounds 5 1 1)
		at_each kill $call hpdsl-snapshot create -q -j 0 \
			"$from/small" -o out/snap
	done
	step=1
	for call in fsync rename; do
		at_each kill $call hpdsl-snapshot load -q "$from/small.text" \
			-o out/snap
	done
}

# bats test_tags=wide
@test "every call that writes, renames or syncs fails: exit 3, the old one" {
	each()
	{
		old_or_new one small && nothing_beside out || return
		if [ "$1" = 0 ]; then
			[ "$now" = new ]
		else
			[ "$1" = 3 ] && [ "$(wc -l < said)" = 1 ] &&
				grep -q "^hpdsl-snapshot: .*snap" said
		fi
	}
	local errno call
	for errno in EIO ENOSPC; do
		for call in $(rounds pwrite "pwrite fsync rename" \
			"pwrite fsync rename"); do
			at_each "error=$errno" "$call" hpdsl-snapshot create -q \
				-j 0 "$from/small" -o out/snap
			at_each "error=$errno" "$call" hpdsl-snapshot load -q \
				"$from/small.text" -o out/snap
		done
	done
	at_level more || for call in fsync rename; do
		at_each error=EIO $call hpdsl-snapshot create -q -j 0 \
			"$from/small" -o out/snap
	done
}

# A walk that cannot see everything writes nothing, and says what it was.
@test "a folder that cannot be opened, listed or asked for: nothing is written" {
	local call j
	cp "$from/one.snap" out/snap
	for j in 0 4; do
		for call in open getdents; do
			status=0
			HPDSL_FAULT=op=$call,name=class1,error=EACCES \
				"$BUILD/tests/bed/hpdsl-snapshot" create -q \
				-j "$j" "$from/small" -o out/snap > said 2>&1 ||
				status=$?
			cat said
			[ "$status" = 3 ]
			[ "$(wc -l < said)" = 1 ]
			grep -q "class1.*Permission denied" said
			cmp out/snap "$from/one.snap"
			nothing_beside out
		done
	done
}

@test "a folder without permission: nothing is written" {
	need setpriv
	cp -r "$from/small" tree
	chmod 0 tree/class1
	chmod 755 . .. ../..
	chmod 777 out
	local as=()
	[ "$(id -u)" != 0 ] ||
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${as[@]}" test -r tree -a -x "$BUILD/hpdsl-snapshot" ||
		skip "nobody cannot come here"
	fails 3 "class1" "${as[@]}" hpdsl-snapshot create tree -o out/snap
	[[ $message = *"Permission denied"* ]]
	# its own name, not that of a manifest which may be in it
	chmod 644 tree/class0
	fails 3 "tree/class0: Permission denied" "${as[@]}" \
		hpdsl-snapshot create tree/class0 -o out/snap
	[ "$(ls -A out)" = "" ]
	chmod 755 tree/class0
	chmod 755 tree/class1
	"${as[@]}" "$BUILD/hpdsl-snapshot" create -q tree -o out/snap
}

@test "a full disk: exit 3, the old file is as it was" {
	need_root
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	cat > script <<- 'END'
		mount -t tmpfs -o size=64k none out
		cp "$from/small.snap" out/snap
		status=0
		hpdsl-snapshot create -q "$from/one" -o out/snap || status=$?
		echo "exit $status"
		hpdsl-snapshot load -q "$from/two.text" -o out/snap || status=$?
		echo "exit $status"
		cmp out/snap "$from/small.snap" && ls -A out
	END
	from=$from unshare -m bash script > said 2>&1
	cat said
	[ "$(grep -c '^exit 3$' said)" = 2 ]
	[ "$(grep -c '^hpdsl-snapshot: .*snap.*No space left' said)" = 2 ]
	[ "$(tail -n 1 said)" = snap ]
	[ "$(wc -l < said)" = 5 ]
}

@test "where no file can be made: exit 3 before the walk" {
	local way
	cp "$from/one.snap" out/snap
	for way in "create $from/small" "load $from/small.text"; do
		# shellcheck disable=SC2086
		{
			fails 3 "missing" hpdsl-snapshot $way \
				-o missing/snap
			fails 3 "out/snap" hpdsl-snapshot $way -o out/snap/x
			fails 3 "out" hpdsl-snapshot $way -o out
			fails 3 "/dev/null" hpdsl-snapshot $way -o /dev/null
			mkfifo pipe
			fails 3 "pipe" timeout 600 hpdsl-snapshot $way -o pipe
			[ -p pipe ]
			rm pipe
			fails 3 "/proc" hpdsl-snapshot $way -o /proc/snap
			cp "$from/small.snap" real
			# /dev/stdout is one, and root could replace it
			ln -s real link
			fails 3 "link: is a symbolic link" \
				hpdsl-snapshot $way -q -o link
			[ -L link ]
			cmp real "$from/small.snap"
			rm link
		}
	done
	[ -c /dev/null ]
	cmp out/snap "$from/one.snap"
	[ "$(ls -A out)" = snap ]
	fails 3 "no/tree" hpdsl-snapshot create no/tree -o out/snap
	fails 3 "one.snap" hpdsl-snapshot create "$from/one.snap" -o out/snap
	cmp out/snap "$from/one.snap"
	nothing_beside out
}

@test "a file that lies in the tree, and what is left of one, is no entry" {
	cp -r "$from/small" tree
	hpdsl-snapshot create -q tree -o out/want
	touch -r tree stamp
	hpdsl-snapshot create -q tree -o tree/snap
	touch -r stamp tree
	hpdsl-snapshot create -q tree -o tree/snap
	hpdsl-snapshot diff out/want tree/snap
	hpdsl-snapshot check tree/snap tree
	hpdsl-snapshot find tree/snap > names
	[ "$(grep -c snap names)" = 0 ]
}

# bats test_tags=wide
@test "two writers of one file at a time: one of them wins" {
	local i pids status
	for ((i = 0; i < $(rounds 3 10 10); i++)); do
		hpdsl-snapshot create -q "$from/one" -o out/snap 2> err1 3>&- &
		pids=($!)
		hpdsl-snapshot create -q "$from/two" -o out/snap 2> err2 3>&- &
		pids+=($!)
		wait "${pids[0]}" || grep -q snap err1
		wait "${pids[1]}" || grep -q snap err2
		old_or_new one two
		nothing_beside out
		rm out/snap
	done
}
