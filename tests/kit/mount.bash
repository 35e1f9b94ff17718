# SPDX-License-Identifier: Apache-2.0
# For tests that mount: `load ../kit/mount` behind `load ../kit/mpi`.
# shellcheck shell=bash disable=SC2016

# Each test has a folder mnt of its own, and in $from what setup_file left.
setup()
{
	local why
	cd "$BATS_TEST_TMPDIR" || return 1
	why=$(unable | head -n 1)
	[ -z "$why" ] || skip "$why"
	export from=$BATS_FILE_TMPDIR
	mkdir mnt
}

# What this machine lacks for it, a line each.
unable()
{
	[ -c /dev/fuse ] || echo "no /dev/fuse"
	[ "$(id -u)" = 0 ] || [ -w /dev/fuse ] || echo "/dev/fuse is root's"
	unshare --mount true 2> /dev/null ||
		unshare --user --mount true 2> /dev/null ||
		echo "no name spaces"
}

# no_server: none of this test is left.
no_server()
{
	! pgrep -f "^hpdsl-mount .*$BATS_TEST_TMPDIR" > left
}

# apart COMMAND..: as root, where no other test finds its servers, some of which
# hang, nor it those of others.
apart()
{
	[ "$(id -u)" = 0 ] || { "$@"; return; }
	unshare --mount bash -ec '
		meet=/tmp/hpdsl-$(id -u)
		mkdir -m 700 "$meet" 2> /dev/null || :
		mount -t tmpfs -o mode=700 none "$meet"
		exec "$@"' - "$@"
}
export -f apart

# in_groups SCRIPT [ARG..]: run by bash where control groups are in cg, which
# nobody else sees: who removes this folder must not get there.
in_groups()
{
	unshare --mount bash -ec '
		mount -t cgroup -o memory none cg 2> /dev/null ||
			mount -t cgroup2 none cg
		script=$1
		shift
		eval "$script"' - "$@"
}

# group BYTES: makes a control group that has so much memory.
group()
{
	need_root
	mkdir cg
	group=$PWD/cg/hptest.$BASHPID
	in_groups '
		mkdir "$1"
		for most in "$1"/memory.{limit_in_bytes,max}; do
			[ ! -e "$most" ] || ! echo "$2" > "$most" || exit 0
		done
		rmdir "$1"
		exit 1' "$group" "$1" || { group=; skip "no control groups of ours"; }
}

# grouped COMMAND..: it and its children are in the group, if there is one.
grouped()
{
	[ -n "${group:-}" ] || { "$@"; return; }
	in_groups 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' "$group" "$@"
}

# group_down: for teardown().
group_down()
{
	[ -z "${group:-}" ] ||
		until_true in_groups 'rmdir "$1" 2> /dev/null' "$group"
}

# as_user COMMAND..: nobody, who may open /dev/fuse, in a folder of his.
as_user()
{
	need_root
	need setpriv
	timeout 600 unshare --mount bash -ec '
		from=$1 build=$2
		shift 2
		mount -t tmpfs none /mnt
		mkdir /mnt/from /mnt/build /mnt/tree
		mknod -m 666 /mnt/fuse c 10 229
		mount --bind "$from" /mnt/from
		mount --bind "$build" /mnt/build
		mount --bind /mnt/fuse /dev/fuse
		chown 65534 /mnt/tree
		chmod 755 /mnt /mnt/from
		case $(stat -c %a /mnt/build) in
		*5) ;; # it may be read-only
		*) chmod 755 /mnt/build ;;
		esac
		cd /mnt
		PATH=/mnt/build:$PATH
		exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	' - "$from" "$BUILD" "$@"
}

# is_disk DIR: what is there can be written out, and is no memory.
is_disk()
{
	[ "$(stat -f -c %T "$1")" != tmpfs ]
}

# of_worker NAME: a number of its /proc/PID/status, of who serves mnt.
of_worker()
{
	awk -v name="$1:" '$1 == name { print $2 }' \
		"/proc/$(hpdsl-mount --status --json mnt | field worker)/status"
}
