#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: a dataset read by programs that open files, in the three ways.
# /dev/fuse may be root's alone: as root, tests as another user bind a node that
# is everybody's over it, in a name space of their own.
# shellcheck disable=SC2016
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
	python3 "$SRC/tests/kit/nasty.py" tree
	# with what is before it, its path would be too long
	rm -rf tree/0*ddddd* tree/many
	make_random tree/some 60 20000
	head -c 40000000 /dev/urandom > tree/large
	hpdsl-pack -q --chunk-size=8M tree ds
	hpdsl-pack -q --chunk-size=8M --zstd=1 tree zst
	# a dataset knows no empty folders, nor links to folders
	rm -rf tree
	hpdsl-unpack -q ds tree
}

teardown()
{
	[ ! -e mnt/large ] || umount -l mnt
	group_down
}

# same DIR: as the tree, names, contents, sizes, modes and times.
same()
{
	diff -r "$from/tree" "$1"
	cmp <(cd "$from/tree" && listing) <(cd "$1" && listing)
}

listing()
{
	find . ! -type d -printf '%p %y %s %#m %T@ %n\0' | sort -z
}
export -f listing

in_mount()
{
	timeout 600 hpdsl-mount "$@"
}

@test "COMMAND sees the tree, and nobody else does" {
	local ds
	for ds in ds zst; do
		in_mount "$from/$ds" "$PWD/mnt" -- \
			env from="$from" bash -ec "$(declare -f same); same mnt"
		[ -z "$(ls mnt)" ]
	done
	until_true no_server
}

@test "COMMAND is this process, with its status, and ends with its children" {
	run -7 in_mount "$from/ds" "$PWD/mnt" -- sh -c 'exit 7'
	run -127 in_mount "$from/ds" "$PWD/mnt" -- ./none
	run -126 in_mount "$from/ds" "$PWD/mnt" -- ./mnt
	sh -c 'echo $$; exec hpdsl-mount "$@"' - "$from/ds" "$PWD/mnt" -- \
		sh -c 'echo $$' > pids
	[ "$(uniq pids | wc -l)" = 1 ]
	# one that it leaves behind goes on reading
	mkfifo go
	in_mount "$from/ds" "$PWD/mnt" -- sh -c '
		{ cat go > /dev/null; cksum < mnt/large > sum; } 3>&- &'
	run ! no_server
	echo > go
	until_true no_server
	cmp sum <(cksum < "$from/tree/large")
}

@test "killed, whatever it was, nothing is left" {
	local pid
	setsid hpdsl-mount "$from/ds" "$PWD/mnt" -- \
		sh -c 'touch begun; while cksum mnt/large; do :; done > sums' \
		3>&- 2> /dev/null &
	pid=$!
	until_true test -e begun
	kill -KILL -- "-$pid"
	wait "$pid" || :
	until_true no_server
	# the server: who asks for what the kernel does not know is told so
	rm begun
	hpdsl-mount "$from/ds" "$PWD/mnt" -- sh -c '
		touch begun
		i=0
		while ls "mnt/none$i" 2> err; grep -q "No such file" err; do
			i=$((i + 1))
		done' 3>&- > listed &
	pid=$!
	until_true test -e begun
	pkill -KILL -f "^hpdsl-mount .*$BATS_TEST_TMPDIR"
	wait "$pid" || :
	grep -q "connect" err
	until_true no_server
}

@test "nothing can be written, and what is not there is not" {
	in_mount "$from/ds" "$PWD/mnt" -- bash -ec '
		cd mnt
		refused() { ! "$@" 2> ../said && grep -q "Read-only" ../said; }
		refused touch new
		refused rm large
		refused mkdir dir
		refused mv large larger
		refused ln -s x y
		refused truncate -s 0 large
		! cat nothing 2> ../said
		grep -q "No such file" ../said
		! ls large/x 2> ../said
		grep -q "Not a directory" ../said
		[ "$(stat -f -c %l .)" = 255 ]
		[ "$(stat -c %i large)" = "$(stat -c %i ../mnt/large)" ]'
}

# bats test_tags=wide
@test "a model: what is asked of tree and mount has one answer" {
	local root=(unshare --mount) seed=${SEED:-7}
	[ "$(id -u)" = 0 ] || root=(unshare --user --map-root-user --mount)
	mkdir src
	! at_level long || [ "$(id -u)" != 0 ] || group $((64 << 20))
	# so that to write has one answer, too
	grouped "${root[@]}" bash -ec '
		mount --bind "$from/tree" src
		mount -o remount,bind,ro src
		hpdsl-mount "$from/ds" "$PWD/mnt" -- timeout "$@"
	' - $((${LONG_SECONDS:-0} + 600)) \
		python3 "$SRC/tests/mount/model.py" src mnt \
		"$(rounds 4000 50000 1000000)" "$seed" "${LONG_SECONDS:-}" \
		"${group:-}" > said || { cat said; return 1; }
	cat said >&3
}

@test "a stage directory that has a part: the rest is the origin's" {
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/ds" "$PWD/node%n"
	in_mount node0 "$PWD/mnt" -- \
		env from="$from" bash -ec "$(declare -f same); same mnt"
}

@test "a stage directory that is being filled, and is cleaned away" {
	local same
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	same="$(declare -f same); same mnt"
	HPDSL_FAULT="op=rename,name=chunk-,after=1,wait=gate" \
		"$BUILD/tests/bed/hpdsl-stage" -q "$from/ds" "$PWD/d" 3>&- &
	until_true test -e gate
	in_mount --fill=off d "$PWD/mnt" -- env from="$from" bash -ec "
		rm gate
		$same"
	wait $!
	in_mount --fill=off d "$PWD/mnt" -- env from="$from" bash -ec "
		head -c 100 mnt/large > begun
		hpdsl-stage -q --clean d
		$same"
	[ ! -e d/index.hpdsl ]
	until_true no_server
}

@test "what other nodes of a job have is read from them, and the origin is gone" {
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	halves "$from/ds"
	unhurried in_mount --fill=off node0 "$PWD/mnt" -- \
		env from="$from" bash -ec "$(declare -f same); same mnt"
	until_true no_server
	no_halves
}

@test "a folder alone; members that were made are no files" {
	hpdsl-pack -q --labels=parent "$from/tree/some" "$PWD/made" || :
	in_mount --folder=some/ "$from/ds" "$PWD/mnt" -- \
		diff -r "$from/tree/some" mnt
	fails 3 "folder 'large'" \
		hpdsl-mount --folder=large "$from/ds" "$PWD/mnt" -- true
	fails 3 "no sample is in folder 'x/y', there are '" \
		hpdsl-mount --folder=x/y "$from/ds" "$PWD/mnt" -- true
}

# resident DIR: so many of its files are in the page cache, all of them.
resident()
{
	find "$1" -type f -exec fincore -nrbo PAGES,SIZE {} + |
		awk '{ n += $1 == int(($2 + 4095) / 4096) } END { print n + 0 }'
}
has_all()
{
	[ "$(resident "$1")" = "$2" ]
}

@test "a file is read, and its chunk's neighbours are there without asking" {
	export -f resident has_all until_true
	hpdsl-pack -q "$from/tree/some" one
	apart hpdsl-mount --fill=on one "$PWD/mnt" -- bash -ec '
		[ "$(resident mnt)" = 0 ]
		cat mnt/00007.bin > /dev/null
		until_true has_all mnt 60
		# the server answers nothing now
		pkill -STOP -f "^hpdsl-mount .*$BATS_TEST_TMPDIR"
		timeout 600 diff -r "$from/tree/some" mnt
		pkill -CONT -f "^hpdsl-mount .*$BATS_TEST_TMPDIR"'
	hpdsl-mount --fill=off one "$PWD/mnt" -- bash -ec '
		ls -l mnt > /dev/null
		cat mnt/00007.bin mnt/00008.bin > /dev/null
		[ "$(resident mnt)" = 2 ]'
	until_true no_server
}

@test "damage is EIO for that member, and is told" {
	cp -r "$from/ds" bad
	hpdsl-ls --json bad some/00001.bin > row
	python3 - row <<- 'END'
		import json, sys
		m = json.loads(open(sys.argv[1]).readline())
		with open("bad/chunk-%06d.tar" % m["chunk"], "r+b") as f:
		    f.seek(m["offset"] + 5)
		    b = f.read(1)
		    f.seek(m["offset"] + 5)
		    f.write(bytes([b[0] ^ 1]))
	END
	run -1 in_mount bad "$PWD/mnt" -- cat mnt/some/00001.bin
	[[ $output == *"hpdsl-mount: "*"some/00001.bin'"*"checksum differs"* ]]
	# once, though cat asks again
	[ "$(grep -c "checksum differs" <<< "$output")" = 1 ]
	[[ $output == *"Input/output error"* ]]
	in_mount bad "$PWD/mnt" -- cmp mnt/some/00002.bin "$from/tree/some/00002.bin"
}

@test "--xattr: files say where their bytes are" {
	local ds
	mkdir -p two/cats two/dogs
	cp "$from"/tree/some/0000[1-5].bin two/cats
	cp "$from"/tree/some/0000[6-9].bin two/dogs
	hpdsl-pack -q --labels=parent --chunks=3 two labelled
	for ds in "$from/ds" labelled; do
		export ds
		in_mount --xattr "$ds" "$PWD/mnt" -- python3 -c '
import os, sys
ds, n = os.environ["ds"], 0
for folder, _, names in os.walk("mnt"):
    assert os.listxattr(folder) == [], folder
    for name in names:
        path = os.path.join(folder, name)
        if os.path.islink(path):
            continue
        had = {a.removeprefix("user.hpdsl."): os.getxattr(path, a).decode()
               for a in os.listxattr(path)}
        want = {"sample", "member", "chunk", "offset", "xxh3"}
        assert set(had) == want | ({"class"} if ds == "labelled" else set()), had
        chunk = os.path.join(ds, had["chunk"])
        with open(path, "rb") as f, open(chunk, "rb") as c:
            c.seek(int(had["offset"]))
            content = f.read()
            assert c.read(len(content)) == content, path
        assert len(had["xxh3"]) == 16, had
        n += 1
try:
    os.getxattr(path, "user.other")
except OSError as e:
    print(n, e.strerror)' > told
		grep -qx '[1-9][0-9]* No data available' told
	done
	in_mount "$from/ds" "$PWD/mnt" -- python3 -c '
import errno, os
try:
    os.listxattr("mnt/large")
except OSError as e:
    assert e.errno == errno.ENOTSUP, e
else:
    raise SystemExit("attributes")'
	until_true no_server
}

@test "another dataset in its place: errors that say so, no wrong bytes" {
	local f
	hpdsl-pack -q "$from/tree/some" ds
	cp -r "$from/tree/some" others
	for f in others/*; do
		tr '\0-\377' '\1-\377\0' < "$f" > x && mv x "$f"
	done
	in_mount --fill=off "$PWD/ds" "$PWD/mnt" -- bash -c '
		ls mnt > listed
		hpdsl-pack -q others other && rm ds/*
		cp other/* ds
		for f in mnt/*; do
			cat "$f" > got 2> /dev/null ||
				{ echo "$f" >> failed; continue; }
			cmp got "$from/tree/some/${f#mnt/}" || exit 1
		done' 2> said
	[ "$(wc -l < failed)" -gt 50 ]
	grep -q "^hpdsl-mount: .*index.hpdsl is of another pack by now" said
	until_true no_server
}

# bats test_tags=wide
@test "a name space of many files takes no memory that the system has to keep" {
	local n
	need_root
	n=$(rounds 50000 300000 300000)
	is_disk /tmp || skip "/tmp is no disk"
	export TMPDIR=/tmp
	"$BUILD/tests/bench/gen_sparse" "$PWD/many" "$n" 10-20 4
	hpdsl-mount --fill=off many mnt
	[ "$(find mnt -type f | wc -l)" = "$n" ]
	[ -n "${SAN:-}" ] || [ "$(of_worker RssAnon)" -le 8192 ]
	# no file of it has a name
	[ -z "$(find /tmp -maxdepth 1 -newer many -name "*snap*")" ]
	hpdsl-mount -u mnt
	until_true no_server
}

# texts N: packed; one frame, about 128 KiB, has some 100 of them.
texts()
{
	local i
	mkdir texts
	for ((i = 0; i < $1; i++)); do
		printf '%04d %0500d\n' $i $((i * i)) > "texts/$i"
	done
	hpdsl-pack -q --zstd --seed=1 texts packed
}

# given: which files the kernel has, of one frame at least.
given()
{
	fincore -nro PAGES,FILE mnt/* | awk '$1 > 0 { print $2 }' > given
	[ "$(wc -l < given)" -ge 40 ]
}

@test "what was decoded with a file that is read is given to the kernel, too" {
	texts 400
	export -f given until_true
	apart hpdsl-mount --fill=off packed "$PWD/mnt" -- bash -ec '
		ls -l mnt > /dev/null
		cat mnt/7 > /dev/null
		until_true given
		# the server answers nothing now
		pkill -STOP -f "^hpdsl-mount .*$BATS_TEST_TMPDIR"
		for f in $(cat given); do
			cmp "texts/${f#mnt/}" "$f"
		done
		pkill -CONT -f "^hpdsl-mount .*$BATS_TEST_TMPDIR"'
	[ "$(wc -l < given)" -lt 400 ]
}

# What is given meanwhile depends on who is quicker.
# bats test_tags=time
@test "what was decoded with a file is soon given; of names that nobody knows few" {
	texts 600
	(cd texts && echo * > ../names && cat -- * > ../together)
	cat > all <<- 'END'
		(cd mnt && cat $(cat ../names)) | cmp - together || exit 1
		hpdsl-mount --status --json mnt
	END
	work="ls -l mnt > ls; source ./all" bash -c '
		hpdsl-mount --fill=off packed "$PWD/mnt" -- bash -c "$work"' > listed
	[ "$(field reads < listed)" -le 200 ]
	[ "$(field filled < listed)" -ge 400 ]
	# nobody knows the others' names: few are tried
	work="source ./all" bash -c '
		hpdsl-mount --fill=off packed "$PWD/mnt" -- bash -c "$work"' > found
	[ "$(field reads < found)" = 600 ]
	[ "$(field filled < found)" -le 100 ]
}

@test "--memory: no more is taken for bytes under way, and all of them are right" {
	local i
	mkdir big
	for i in 1 2 3 4 5 6 7 8 9; do
		head -c 3000000 /dev/urandom > "big/$i"
	done
	hpdsl-pack -q --zstd --chunk-size=8M big packed
	cat > parts <<- 'END'
		for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
		    for f in big/*; do
		        cmp -i $((n * 99991)) -n 40000 "$f" "mnt/${f#big/}" || exit 1
		    done &
		    jobs+=($!)
		done
		for j in "${jobs[@]}"; do wait "$j"; done
	END
	peak() { hpdsl-mount "$@" packed "$PWD/mnt" -- bash -ec '
		eval "$work"
		of_worker VmHWM'; }
	export -f of_worker field
	none=$(work="ls -l mnt > ls" peak --fill=off)
	least=$(work="source ./parts" peak --fill=off --memory=8M)
	usual=$(work="source ./parts" peak --fill=off)
	filled=$(work="ls -l mnt > ls; source ./parts" peak --fill=on --memory=8M)
	echo "KiB: $none, $least, $filled of 8M, $usual of 64M"
	# a few MiB are the library's
	[ -n "${SAN:-}" ] || [ "$least" -le $((none + (8 + 3) * 1024)) ]
	[ -n "${SAN:-}" ] || [ "$filled" -le $((none + (8 + 6) * 1024)) ]
	# memory that is given back is the system's, whichever thread had it
	mkdir one
	head -c 16000000 /dev/urandom > one/1
	hpdsl-pack -q one large
	cat > pages <<- 'END'
		import os, threading
		fd = os.open("mnt/1", os.O_RDONLY)
		want = open("one/1", "rb").read()
		bad = []
		def part(at):
		    if os.pread(fd, 4096, at) != want[at:at + 4096]:
		        bad.append(at)
		t = [threading.Thread(target=part, args=(i * 999424,)) for i in range(16)]
		for x in t:
		    x.start()
		for x in t:
		    x.join()
		assert not bad, bad
	END
	usual=$(hpdsl-mount --fill=off large "$PWD/mnt" -- bash -ec '
		python3 pages
		of_worker VmHWM')
	echo "KiB: $none, $usual of 64M, members of 16"
	[ -n "${SAN:-}" ] || [ "$usual" -le $((none + (64 + 8) * 1024)) ]
	run -2 hpdsl-mount --memory=7M packed mnt -- true
	[[ $output == *"--memory: at least 8.0 MiB"* ]]
}

@test "as root: mounted, read by all who may, and unmounted" {
	need_root
	hpdsl-mount "$from/ds" mnt
	same mnt
	grep -q " $PWD/mnt ro,nosuid,nodev.* fuse.hpdsl " /proc/self/mountinfo
	hpdsl-mount -u mnt
	until_true no_server
	[ -z "$(ls mnt)" ]
	run -1 hpdsl-mount -u mnt
	# in the foreground: until it is told to end
	hpdsl-mount -f "$from/ds" "$PWD/mnt" 3>&- &
	until_true test -e mnt/large
	cmp mnt/large "$from/tree/large"
	kill %1
	wait %1
	[ -z "$(ls mnt)" ]
}

@test "as another user: COMMAND in name spaces, without rights" {
	as_user hpdsl-mount from/ds tree -- bash -ec '
		[ "$(id -u)" = 65534 ]
		grep -q "CapEff:.0000000000000000" /proc/self/status
		cmp tree/large from/tree/large
		[ "$(stat -c %u tree/large)" = 65534 ]'
	as_user hpdsl-mount --check > check
	grep -q "^-- COMMAND  *yes" check
	until_true gone
}

gone()
{
	! pgrep -u 65534 hpdsl-mount
}

@test "root without the device: --check says that no way works, and why" {
	need_root
	run -1 unshare --mount bash -c 'mount -t tmpfs none /dev; hpdsl-mount --check'
	[ "$(grep -c "  no  */dev/fuse: No such file" <<< "$output")" = 2 ]
	[ "${#lines[@]}" = 2 ]
}

@test "as another user: by fusermount3, for himself alone" {
	need fusermount3
	as_user bash -ec '
		hpdsl-mount from/ds tree
		cmp tree/large from/tree/large
		hpdsl-mount -u tree
		[ -z "$(ls tree)" ]'
	until_true gone
}

@test "what cannot be mounted is said, and COMMAND not run" {
	fails 3 "nothing: No such file" hpdsl-mount nothing mnt -- touch ran
	fails 3 "nowhere: cannot be mounted on" \
		hpdsl-mount "$from/ds" nowhere -- touch ran
	fails 3 "mnt: " hpdsl-mount mnt mnt -- touch ran
	fails 3 "would be hidden from" hpdsl-mount "$from/ds" "$from"
	fails 2 "COMMAND goes behind --" hpdsl-mount "$from/ds" mnt touch ran
	fails 2 "MNT is missing" hpdsl-mount "$from/ds"
	fails 2 "goes with neither" hpdsl-mount -f "$from/ds" mnt -- touch ran
	[ ! -e ran ]
	until_true no_server
}
