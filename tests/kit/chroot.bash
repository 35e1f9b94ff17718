# SPDX-License-Identifier: Apache-2.0
# For tests that need a system on which nothing of ours is: `load ../kit/chroot`
# behind `load ../kit/lib`.  It is Debian, from the mirror MIRROR.
# shellcheck shell=bash

: "${MIRROR:=http://deb.debian.org/debian}" "${SUITE:=bookworm}"

need_chroot()
{
	need_root
	need debootstrap
	unshare --mount --pid --fork true 2> /dev/null ||
		skip "no namespaces of mounts and processes here"
	{ mknod null c 1 3 && : > null; } 2> /dev/null ||
		skip "no devices in $PWD"
	python3 -c 'import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=30).read(100)' \
		"$MIRROR/dists/$SUITE/Release" 2> /dev/null ||
		skip "$MIRROR does not answer"
}

# system DIR: a fresh one, a copy of one that is made once a file.
system()
{
	local base=$BATS_FILE_TMPDIR/base
	debs=$BATS_FILE_TMPDIR/debs
	mkdir -p "$debs"
	[ -e "$base.made" ] || debootstrap --variant=minbase "$SUITE" "$base" \
		"$MIRROR" > debootstrap.log 2>&1 ||
		{ tail -n 20 debootstrap.log; return 1; }
	: > "$base.made"
	cp -a --reflink=auto "$base" "$1"
}

# inside DIR COMMAND..: by root.  What it leaves running or mounted ends with it.
inside()
{
	local dir=$1
	shift
	# shellcheck disable=SC2016
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		unshare --mount --pid --fork --kill-child --propagation private \
		bash -euc 'dir=$0 debs=$1; shift
			mount -t proc proc "$dir/proc"
			mount -t tmpfs tmpfs "$dir/dev/shm"
			mount --bind "$debs" "$dir/var/cache/apt/archives"
			exec chroot "$dir" "$@"' "$dir" "$debs" "$@" < /dev/null
}

# packages DIR NAME..
packages()
{
	local dir=$1
	shift
	inside "$dir" apt-get install -y -q --no-install-recommends "$@" \
		>> apt.log 2>&1 || { tail -n 20 apt.log; return 1; }
}

# debian_sources DIR NAME..: what the authors of these packages put out, unpacked in
# DIR; without root, and nothing of the system's apt is touched.
debian_sources()
{
	local dir=$1 get file
	shift
	need apt-get
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	echo "deb-src $MIRROR $SUITE main" > "$dir/sources.list"
	get=(apt-get -q -o "Dir::Etc::sourcelist=$PWD/$dir/sources.list"
		-o Dir::Etc::sourceparts=- -o "Dir::State::lists=$PWD/$dir/lists"
		-o "Dir::Cache=$PWD/$dir" -o Debug::NoLocking=1
		-o "APT::Sandbox::User=$(id -un)")
	if ! "${get[@]}" update > "$dir/log" 2>&1 ||
		! (cd "$dir" && "${get[@]}" source --download-only "$@") \
			>> "$dir/log" 2>&1; then
		tail -n 5 "$dir/log" >&3
		skip "no source packages of $* from $MIRROR"
	fi
	for file in "$dir"/*.orig.tar.*z; do
		tar -C "$dir" -xf "$file"
	done
}

# source_tree DIR: as a clone has it, and no commit of it is needed.
source_tree()
{
	mkdir -p "$1"
	tar -C "$SRC" --exclude=./build --exclude=./dist --exclude=./.git -cf - . |
		tar -C "$1" --no-same-owner -xf -
}

# took WHAT: the seconds since the last one, into the log; the first one is silent.
took()
{
	[ -z "${before:-}" ] || echo "# $((SECONDS - before)) s: $1" >&3
	before=$SECONDS
}
