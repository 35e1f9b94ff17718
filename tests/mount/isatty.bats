#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount --isatty: what a command asks the mount less, and that what it gets
# to know of terminals is right all the same.
# shellcheck disable=SC2016

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 50 3000
	hpdsl-pack -q tree ds
}

# requests OPTION..: how many the mount has for 50 files that Python opens, of
# which the kernel knows everything.
requests()
{
	export -f field
	hpdsl-mount --fill=off "$@" "$from/ds" "$PWD/mnt" -- bash -ec '
		asked()
		{
			env -u LD_PRELOAD hpdsl-mount --status --json mnt |
				field requests
		}
		open_all()
		{
			python3 -c "
import os
names = os.listdir(\"mnt\")
assert len(names) == 50, names
for name in names:
    with open(\"mnt/\" + name, \"rb\") as f:
        f.read()"
		}
		open_all
		before=$(asked)
		open_all
		echo $(($(asked) - before))'
}

@test "--isatty: Python opens files that the kernel knows without a request" {
	local without=50
	# since 3.14 it asks for no file
	! python3 -c 'import sys; sys.exit(sys.version_info < (3, 14))' ||
		without=0
	[ "$(requests)" = $without ]
	[ "$(requests --isatty)" = 0 ]
}

@test "--isatty: a terminal is one, what is none is not, and errno says why" {
	hpdsl-mount --isatty "$from/ds" "$PWD/mnt" -- python3 -c '
import ctypes, errno, os
mine = [l.split()[-1] for l in open("/proc/self/maps") if "/isatty.so" in l]
assert mine, "it is not there"
isatty = ctypes.CDLL(None, use_errno=True).isatty

def ask(fd):
    ctypes.set_errno(0)
    return isatty(fd), ctypes.get_errno()

for end in os.openpty():
    assert ask(end)[0] == 1, end
a, b = os.pipe()
for fd in (a, b, os.open("mnt/00001.bin", os.O_RDONLY),
           os.open("mnt", os.O_RDONLY), os.open("/dev/null", os.O_RDWR)):
    assert ask(fd) == (0, errno.ENOTTY), (fd, ask(fd))
assert ask(999) == (0, errno.EBADF), ask(999)'
}

@test "--isatty: what is in LD_PRELOAD stays, behind it" {
	local at
	[ -z "${SAN:-}" ] || skip "sanitizers want to be there first"
	at=$(realpath "$BUILD/preload/isatty.so")
	LD_PRELOAD=libm.so.6 hpdsl-mount --isatty "$from/ds" "$PWD/mnt" -- \
		sh -c 'echo "$LD_PRELOAD"' > with
	[ "$(cat with)" = "$at:libm.so.6" ]
	LD_PRELOAD='' hpdsl-mount --isatty "$from/ds" "$PWD/mnt" -- \
		sh -c 'echo "$LD_PRELOAD"' > with
	[ "$(cat with)" = "$at" ]
	hpdsl-mount "$from/ds" "$PWD/mnt" -- sh -c 'echo "$LD_PRELOAD"' > with
	[ "$(cat with)" = "${LD_PRELOAD:-}" ]
}

@test "--isatty: found where it is installed; where it is not, nothing is run" {
	local where='echo "${LD_PRELOAD%%:*}"'
	mkdir -p opt/bin opt/libexec/hpdsl 'a b/preload'
	cp "$BUILD/hpdsl-mount" opt/bin
	cp "$BUILD/hpdsl-mount" 'a b'
	fails 3 "isatty.so is missing: neither in $PWD/opt/bin/preload nor in" \
		opt/bin/hpdsl-mount --isatty "$from/ds" mnt -- touch ran
	cp "$BUILD/preload/isatty.so" opt/libexec/hpdsl
	cp "$BUILD/preload/isatty.so" 'a b/preload'
	[ "$(opt/bin/hpdsl-mount --isatty "$from/ds" mnt -- \
		sh -c "$where")" = "$PWD/opt/libexec/hpdsl/isatty.so" ]
	fails 3 "a b/preload/isatty.so: the loader takes no path with blanks" \
		'a b/hpdsl-mount' --isatty "$from/ds" mnt -- touch ran
	fails 2 "--isatty goes with COMMAND" \
		hpdsl-mount --isatty "$from/ds" mnt
	[ ! -e ran ]
}
