#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stall: what was there before a measured run stays as it was, and the job goes
# on.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python
load ../kit/stall

# guarded [OPTION..] -- COMMAND: of a job that makes no loader, by its shell.
guarded()
{
	fails 1 "made no loader" hpdsl-stall run -q "$@"
}

# has FILE..: they are what they were before.
has()
{
	local f
	for f; do
		[ "$(cat "$f")" = "$old" ] || { echo "$f: $(cat "$f")"; return 1; }
	done
}

@test "results, logs, caches: what 55 ways of writing leave, and which of them fail" {
	need_torch_here
	"$PYTHON" "$SRC/tests/stall/saves.py" before w
	cp -a w before
	# shellcheck disable=SC2016
	guarded -o report -- sh -c '"$@" > out' - "$PYTHON" \
		"$SRC/tests/stall/saves.py" job w
	cat out
	local missing
	missing=$(sed -n 's/.* no //p' out)
	[ -z "$missing" ] || echo "# not tried: no ${missing//$'\n'/ }" >&3
	[ "$(wc -l < out)" = 57 ]
	grep -v ' ok$\| no ' out > fail
	diff fail - <<- 'EOF'
		numpy_memmap_in_place OSError
		numpy_memmap_by_default OSError
		hdf5_in_place OSError
		truncated OSError
		sqlite OperationalError
		sqlite_wal OperationalError
	EOF
	# All that changed are caches, and a lock.
	"$PYTHON" "$SRC/tests/stall/saves.py" same w before > changed
	[ "$(grep -v 'home/\.\|__pycache__/' changed)" = small.lock ]
	# As torch.load() does, which takes 2.6 s to be there.
	fails 1 "measured: no result, do not use" "$PYTHON" -c \
		'import pickle; pickle.load(open("w/quite-new.pt", "rb"))'
	nothing_left
}

@test "a shell's job: written, moved, removed, linked, and what it then reads" {
	old=$(printf 'old %.0s' {1..30})
	local f
	for f in written appended moved target removed copied many/a many/b \
		linked in-place; do
		mkdir -p many
		echo "$old" > "$f"
	done
	ln -s target latest
	echo 4711 > small
	: > empty
	cat > job.sh <<- 'EOF'
		set -e
		echo 1 > written
		echo 2 >> written
		[ "$(cat written)" = "$(printf '1\n2')" ]
		[ "$(stat -c %s written)" = 4 ]
		echo 1 | tee -a appended > /dev/null
		mv moved elsewhere
		echo 1 > moved
		echo new > fresh
		mv fresh target
		[ "$(cat target)" = new ]
		rm removed
		echo 1 | dd of=removed conv=excl status=none
		[ "$(cat removed)" = 1 ]
		cp target copied
		rm -r many
		mkdir many
		echo 1 > many/a
		mkdir made made/below
		echo 1 > made/below/x
		mv made moved-folder
		ln linked another
		echo 1 > another
		rm latest
		ln -s made latest
		dd of=in-place conv=notrunc status=none < small
		! (exec 5<> in-place) 2> /dev/null
		exec 6<> small
		echo 1234 >&6
		echo 1 > empty
		echo 2 >> empty
		mktemp ./temporary.XXXX > name
		echo 1 >> "$(cat name)"
		echo 2 >> "$(cat name)"
		[ "$(cat "$(cat name)")" = "$(printf '1\n2')" ]
		rm name
		touch ended
	EOF
	guarded -o report -- sh job.sh
	[ -e ended ]
	has written appended moved target removed copied many/a many/b linked \
		in-place
	[ "$(readlink latest)" = target ]
	[ "$(cat small)" = 1234 ]
	[ "$(cat empty)" = "$(printf '1\n2')" ]
	tr '\0' '\n' < report.made | sed "s|^$PWD/||; s/temporary.*/temporary/" |
		diff - <(printf '%s\n' another empty ended moved-folder/below/x \
			temporary)
	xargs -0 rm -f < report.made
	[ ! -e another ] && [ ! -e ended ] && has linked
	nothing_left
}

@test "an old file by another name: of a descriptor, moved folders, a link in their place" {
	old=$(printf 'old %.0s' {1..30})
	mkdir -p run/sub tree unmounted
	local f
	for f in by-fd by-folder run/model run/sub/x tree/y touched unmounted/z; do
		echo "$old" > "$f"
	done
	: > marker
	printf stale > report.made
	cat > job.sh <<- 'EOF'
		set -e
		exec 3< by-fd
		echo 1 > /dev/fd/3
		echo 1 > /proc/self/cwd/by-folder
		mv tree tree.before
		mkdir tree
		touch touched marker
		[ "$(wc -l < touched)" = 1 ]
		mkdir current
		echo 1 > current/model
		rm -r current
		ln -s run current
		mkdir new
		rm -r run
		"$1" -c 'import ctypes, os
		os.rename("new", "run")
		os.mkdir("new")
		c = ctypes.CDLL(None)
		assert c.unlink(None) == -1 and not c.fopen(b"odd", b"z")'
		unshare --mount sh -c 'mount -t tmpfs none unmounted
			echo 1 > unmounted/z' || :
		echo ended
	EOF
	# shellcheck disable=SC2016
	guarded -o report -- sh -c 'sh job.sh "$1" > out' - "$PYTHON"
	grep -q ended out
	has by-fd by-folder run/model run/sub/x tree/y touched unmounted/z
	tr '\0' '\n' < report.made | sed "s|^$PWD/||" |
		diff - <(printf "%s\n" current out)
	# A list of an earlier run names what may be results by now.
	guarded -o report -- true
	[ -e report.made ] && [ ! -s report.made ]
	nothing_left
}

@test "--allow, --keep-saves: files that the job may change" {
	old=$(printf 'old %.0s' {1..30})
	mkdir -p a/b
	local f
	for f in train.log a/b/x a/y z; do
		echo "$old" > "$f"
	done
	# shellcheck disable=SC2016
	local job='for f in train.log a/b/x a/y z; do echo new > $f; done'
	guarded --allow='*.log' --allow='a/b/*' -- sh -c "$job"
	[ "$(cat train.log a/b/x | sort -u)" = new ]
	has a/y z
	guarded --keep-saves -- sh -c "$job"
	[ "$(cat a/y z | sort -u)" = new ]
	nothing_left
}

@test "what another node of the job has made is the job's" {
	unshare --uts true 2> /dev/null || skip "no name space of its own"
	old=$(printf 'old %.0s' {1..30})
	echo "$old" > before
	ln before linked
	cat > job.sh <<- 'EOF'
		set -e
		printf '%099d\n' 1 > made
		ln before by-another-name
		unshare --uts sh -e -c 'hostname other
			exec 5<> made
			echo two >&5
			echo 1 > before
			echo 1 > by-another-name'
		touch ended
	EOF
	guarded -o report -- sh job.sh
	[ -e ended ]
	grep -q two made
	has before linked by-another-name
	nothing_left
}

@test "a process without the guard is ended before anything is replayed" {
	# shellcheck disable=SC2046
	fails 3 "has no guard in front of its libraries" \
		stall -- env -u LD_PRELOAD $(bench) "$ds"
	# shellcheck disable=SC2046
	stall --keep-saves -o report -- env -u LD_PRELOAD $(bench) \
		--compute=0.002 "$ds"
	grep -q '^a step of a first epoch' report
	nothing_left
}

@test "--dry-run: nothing is replayed, nothing changed, and all of it told" {
	old=$(printf 'old %.0s' {1..30})
	echo "$old" > train.log
	# shellcheck disable=SC2046
	stall --dry-run --json -o report -- sh -c 'echo 1 >> train.log
		exec "$@"' - $(bench) --steps=60 "$ds"
	has train.log
	"$PYTHON" - <<- 'EOF'
		import json, os
		r = json.load(open("report"))
		assert r["dry_run"] and r["loaders"] == 1 and r["status"] == 0, r
		assert r["files"] == {"aside": [os.path.abspath("train.log")],
		                      "refused": [], "kept": [], "made": []}, r
	EOF
	nothing_left
}
