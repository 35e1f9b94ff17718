#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# examples/hpdsl-mount@.service: what systemd says of it, and what its lines do.
# shellcheck disable=SC2016

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 20 3000
	hpdsl-pack -q tree ds
}

# unit: as it is for /mnt/tree and the programs under test.
unit()
{
	sed -e "s|=hpdsl-mount|=$BUILD/hpdsl-mount|" \
		"$SRC/examples/hpdsl-mount@.service"
}

@test "hpdsl-mount@.service: nothing that systemd does not know" {
	need systemd-analyze
	unit > hpdsl-mount@mnt-tree.service
	timeout 600 systemd-analyze verify --man=no \
		./hpdsl-mount@mnt-tree.service > said 2>&1
	cat said
	[ ! -s said ]
	# it would have said so
	sed -i s/^Type=forking/Type=forkin/ hpdsl-mount@mnt-tree.service
	timeout 600 systemd-analyze verify --man=no \
		./hpdsl-mount@mnt-tree.service > said 2>&1 || :
	[ -s said ]
}

@test "hpdsl-mount@.service: for all users, until it is stopped; again when killed" {
	need_root
	need setpriv
	# each of its lines, as systemd runs them
	unit | sed 's|%f|/mnt/tree|g' |
		sed -n -e 's|^\(Exec[A-Za-z]*\)=-\(.*\)|\1() { \2 \|\| :; }|p;t' \
		-e 's|^\(Exec[A-Za-z]*\)=\(.*\)|\1() { \2; }|p' > lines
	[ "$(grep -c '^Exec' lines)" = 3 ]
	export -f field until_true
	DATASET=$from/ds timeout 600 unshare --mount bash -ec '
		. ./lines
		status() { hpdsl-mount --status --json /mnt/tree | field pid; }
		gone() { [ ! -e "/proc/$pid" ]; }
		mount -t tmpfs -o mode=755 none /mnt
		for i in 1 2; do
			ExecStartPre
			ExecStart
			setpriv --reuid=65534 --regid=65534 --clear-groups \
				cat /mnt/tree/00007.bin | cmp - "$from/tree/00007.bin"
			pid=$(status)
			[ $i = 2 ] || { kill -KILL "$pid"; until_true gone; }
		done
		ExecStop
		until_true gone
		[ -z "$(ls /mnt/tree)" ]'
}
