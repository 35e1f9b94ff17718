# SPDX-License-Identifier: Apache-2.0
# For bats files: `load ../kit/lib`.  Tests run in a fresh folder, with the
# programs of the build under test first in PATH; $SRC is the source tree.
# shellcheck shell=bash

: "${SRC:=${BATS_TEST_DIRNAME%/tests*}}"
: "${BUILD:=$SRC/build}"
export SRC BUILD PATH="$BUILD:$PATH" LC_ALL=C.UTF-8

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
}

# fails STATUS TEXT COMMAND..: it must end so, say TEXT in a line on stderr, and
# print nothing on stdout.  What it said is left in $message.
fails()
{
	local want=$1 text=$2 status=0 out
	shift 2
	# without a process of their own: tests call this thousands of times
	out=$("$@" 2> "$BATS_RUN_TMPDIR/stderr") || status=$?
	message=$(< "$BATS_RUN_TMPDIR/stderr")
	if [ "$status" != "$want" ] || [ -n "$out" ] ||
		[[ $message != *"$text"* ]]; then
		echo "wanted exit $want and on stderr: $text"
		echo "got exit $status from: $*"
		printf 'stdout: %s\nstderr: %s\n' "$out" "$message"
		return 1
	fi
}

# with_library COMMAND..: one that loads the library under test, and has not its
# sanitizer: that comes first.
with_library()
{
	local name with=
	case ${SAN:-} in
	*address* | *thread*)
		case ${CC:-gcc} in
		*clang*) skip "clang's sanitizers load into no Python" ;;
		esac
		name=libasan.so
		[ "$SAN" != thread ] || name=libtsan.so
		with=$(gcc -print-file-name=$name)
		;;
	esac
	# what Python itself leaves behind is no finding
	LD_PRELOAD=$with ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 "$@"
}

# make_tree DIR CLASSES SAMPLES: samples of .png, .json and .txt in class
# folders, contents and sizes the same on every run.
make_tree()
{
	local c s at n
	for ((c = 0; c < $2; c++)); do
		mkdir -p "$1/class$c"
		for ((s = 0; s < $3; s++)); do
			printf -v n '%05d' "$s"
			at=$1/class$c/$n
			printf '%*s' $(((c * 7919 + s * 104729) % 5000)) \
				"$c.$s" > "$at.png"
			printf '{"class": %d, "n": %d}\n' "$c" "$s" > "$at.json"
			[ $((s % 3)) = 0 ] || echo "text $s" > "$at.txt"
		done
	done
}

# make_random TREE FILES BYTES: files of about so many bytes, the same on every
# run, which nothing makes smaller.
make_random()
{
	python3 - "$@" <<- 'END'
		import os, random, sys
		tree, files, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		r = random.Random(f"{files} {size}")
		os.makedirs(tree)
		for i in range(files):
		    n = size // 2 + r.randrange(size)
		    with open(f"{tree}/{i:05}.bin", "wb") as f:
		        f.write(r.randbytes(n))
	END
}

# standard NAME: its folder, in $set: a set of tests/sets, to be read.  What is its
# own `tree` and `ds` a test copies, as `cp -r --no-preserve=mode` does.
standard()
{
	set=$BUILD/tests/sets/$1
	# where this is no name space of a file, it may be run by no tests/all
	[ ! -w "$BUILD" ] || "$SRC/tests/sets" "$BATS_TEST_FILENAME" || return
	[ -d "$set" ] || { echo "tests/sets has made no $1"; return 1; }
}

# same_trees A B: the same regular files, contents, modes and mtimes.
same_trees()
{
	diff <(listing "$1") <(listing "$2")
}

# Paths, modes, whole seconds of mtime and checksums of regular files.
listing()
{
	(cd "$1" && find . -type f -printf '%p %m %Ts\0' | LC_ALL=C sort -z |
		tr '\0\n' '\n?' && find . -type f -print0 | LC_ALL=C sort -z |
		xargs -0r sha256sum)
}

# One checksum over all files of a dataset, names included.
dataset_digest()
{
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z |
		xargs -0 sha256sum | sha256sum)
}

# at_level LEVEL: is this run of that level, or of one that does more: check, more,
# long.
at_level()
{
	case ${HPDSL_LEVEL:-check} in
	long) true ;;
	more) [ "$1" != long ] ;;
	*) [ "$1" = check ] ;;
	esac
}

# rounds FEW SOME MANY: how many of what is only repeated: in check, check-more,
# check-long.
rounds()
{
	if at_level long; then
		echo "$3"
	elif at_level more; then
		echo "$2"
	else
		echo "$1"
	fi
}

# figure NAME VALUE: what check-time measured (tests/figures).
figure()
{
	echo "# figure $1 $2" >&3
}

# longer: in check-long, is there time left for one more of them?
longer()
{
	[ -n "${LONG_SECONDS:-}" ] && [ "$SECONDS" -lt "$LONG_SECONDS" ]
}

# until_true COMMAND..: polls it, for as long as a busy machine may take.
until_true()
{
	local end=$((SECONDS + ${PATIENCE:-600}))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "never: $*"; return 1; }
		sleep 0.05
	done
}

# on_terminal COMMAND..: what a terminal gets to see of it, less the CR that it
# puts before each newline itself.
on_terminal()
{
	"$(command -v /usr/bin/python3 || command -v python3)" - "$@" <<- 'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.environ["TERM"] = "xterm"
		    os.execvp(sys.argv[1], sys.argv[1:])
		out = b""
		try:
		    while more := os.read(fd, 65536):
		        out += more
		except OSError: # EIO: the other side is closed
		    pass
		status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
		sys.exit(status)
	END
}

need()
{
	command -v "$1" > /dev/null || skip "no $1"
}

need_root()
{
	[ "$(id -u)" = 0 ] || skip "not root"
}

# The leak check cannot work under strace.
traced()
{
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace "$@"
}

# field NAME: a number or a plain string of the JSON object on stdin.
field()
{
	awk -v key="\"$1\": \"?" '{
		if (match($0, key)) {
			rest = substr($0, RSTART + RLENGTH)
			match(rest, /^[^",}]*/)
			print substr(rest, 1, RLENGTH)
		}
	}'
}
