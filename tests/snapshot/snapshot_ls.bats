#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-snapshot ls, stat, find, du: held against ls, stat, find and du on the
# live tree.

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree/plain 3 40
	mkdir -p tree/plain/empty tree/odd/deep/er tree/odd/.hidden
	ln -s ../plain/class0/00000.json tree/odd/link
	ln -s "nowhere at all" tree/plain/dangling
	mkfifo tree/odd/fifo
	printf 1 > $'tree/odd/new\nline'
	printf 22 > 'tree/odd/back\slash'
	printf 333 > $'tree/odd/no\xffutf8'
	printf 4444 > tree/odd/deep/er/.dot
	: > tree/odd/deep/zero
	truncate -s 5G tree/odd/deep/huge
	: > "tree/odd/$(printf 'n%.0s' {1..255})"
	chmod 4711 tree/plain/class1/00007.json
	chmod 1777 tree/plain/empty
	chmod 2750 tree/odd/deep
	touch -d '2024-05-01 12:00:00.5 UTC' tree/plain/class1/00007.json
	touch -d '1969-12-31 23:59:58.25 UTC' tree/odd/deep/zero
	touch -d '2024-05-01 12:00:00.500000001 UTC' tree/plain/class1/00008.json
	hpdsl-snapshot create -q tree -o snap
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
}

# live FIND-ARGUMENT..: sorted paths as ours are, each ended by a NUL
live()
{
	(cd tree && find . \( "${@:--true}" \) -print0) | sed -z 's,^\./,,' | LC_ALL=C sort -z
}

# frozen FIND-OPTION..: the same from the snapshot, any order
frozen()
{
	hpdsl-snapshot find -0 snap "$@" | LC_ALL=C sort -z
}

same()
{
	cmp "$1" "$2" || { diff -a <(tr '\0' '\n' < "$1") \
		<(tr '\0' '\n' < "$2"); return 1; }
}

@test "find: every path once" {
	same <(live) <(frozen)
	[ "$(frozen | tr -cd '\0' | wc -c)" -gt 300 ]
}

@test "find: folders before what they hold, names by their bytes" {
	python3 - <<- 'END' > "$BATS_TEST_TMPDIR/want"
		import os, sys
		def walk(path):
		    sys.stdout.buffer.write((path or b".") + b"\0")
		    full = os.path.join(b"tree", path)
		    if os.path.isdir(full) and not os.path.islink(full):
		        for name in sorted(os.listdir(full)):
		            walk(os.path.join(path, name))
		walk(b"")
	END
	hpdsl-snapshot find -0 snap > "$BATS_TEST_TMPDIR/is"
	same "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/is"
}

@test "find: paths are escaped, with -0 they are not" {
	hpdsl-snapshot find snap odd | grep -Fx 'odd/new\nline'
	hpdsl-snapshot find snap odd | grep -Fx 'odd/back\\slash'
	hpdsl-snapshot find -0 snap odd | grep -zFx 'odd/back\slash'
	[ "$(hpdsl-snapshot find snap | head -n 1)" = . ]
}

@test "find --name, --path, --type, --size, --newer: as find" {
	while IFS='|' read -r live frozen; do
		eval "set -- $live"
		live "$@" > "$BATS_TEST_TMPDIR/live"
		eval "set -- $frozen"
		frozen "$@" > "$BATS_TEST_TMPDIR/frozen"
		same "$BATS_TEST_TMPDIR/live" "$BATS_TEST_TMPDIR/frozen" ||
			{ echo "^ $live"; return 1; }
		[ -s "$BATS_TEST_TMPDIR/live" ] || [[ $frozen = *none* ]] ||
			{ echo "nothing: $live"; return 1; }
	done <<- 'END'
		-name '*.json' | --name='*.json'
		-name '*' | --name='*'
		-name '.*' | --name='.*'
		-name . | --name=.
		-name '0000[0-3].*' | --name='0000[0-3].*'
		-name 'none' | --name=none
		-name '*.png' -o -name '*.txt' | --name='*.png' --name='*.txt'
		-name $'new\nline' | --name=$'new\nline'
		-name $'*\xff*' | --name=$'*\xff*'
		-path './plain*7.json' | --path='plain*7.json'
		-path './odd/*/*' | --path='odd/*/*'
		-type d | --type=d
		-type f | --type=f
		-type l,p | --type=pl
		-type s | --type=s --name=none
		-size +4000c | --size=+4000
		-size -5c | --size=-5
		-size 3c | --size=3
		-size +1000c -size -2000c | --size=+1000 --size=-2000
		-size +4G | --size=+4G
		-size -0c | --size=-0 --name=none
		-newermt '2024-05-01 12:00:00.5 UTC' | --newer=@1714564800.5
		-newermt '2024-05-01 UTC' | --newer=2024-05-01
		-newermt '2024-05-01 12:00 UTC' | --newer='2024-05-01 12:00'
		-newermt '1969-12-31 23:59:58.2 UTC' | --newer=@-1.8
		-newer plain/class1/00007.json | --newer=tree/plain/class1/00007.json
		-type f -name '*.json' -size +20c | --type=f --name='*.json' --size=+20
	END
}

@test "find: below PATHs, in their order" {
	hpdsl-snapshot find -0 snap plain/class1 ./odd//deep/ |
		same <(cd tree && { find plain/class1 -print0 |
			LC_ALL=C sort -z; find odd/deep -print0 |
			LC_ALL=C sort -z; }) -
	[ "$(hpdsl-snapshot find snap odd/fifo)" = odd/fifo ]
}

@test "find: nothing found is exit 0, an absent PATH 1" {
	[ -z "$(hpdsl-snapshot find snap --name=none)" ]
	run --separate-stderr -1 hpdsl-snapshot find snap none odd/fifo no/ne
	[ "$output" = odd/fifo ]
	[ "${#stderr_lines[@]}" = 2 ]
	[[ ${stderr_lines[0]} = *"none: no such entry"* ]]
}

@test "find: what makes no sense is exit 2" {
	for bad in --type= --type=x --type=fx --size= --size=x --size=++1 \
		--size=1.5 --size=-1Q --newer= --newer=yesterday --newer=@ \
		"-0 --json" --none; do
		# shellcheck disable=SC2086
		fails 2 "hpdsl-snapshot find: " hpdsl-snapshot find snap $bad
	done
	fails 2 "FILE is missing" hpdsl-snapshot find
	fails 3 "No such file" hpdsl-snapshot find none
}

@test "ls: as ls -A" {
	for at in . odd odd/deep plain/class0 plain/empty; do
		hpdsl-snapshot ls -0 snap "$at" |
			same <(ls -A --zero "tree/$at") -
	done
	hpdsl-snapshot ls snap | same <(ls -A tree) -
	hpdsl-snapshot ls snap odd | grep -Fx 'new\nline'
	[ "$(hpdsl-snapshot ls snap odd/fifo)" = odd/fifo ]
	[ "$(hpdsl-snapshot ls -d snap odd)" = odd ]
	[ "$(hpdsl-snapshot ls -d snap)" = . ]
}

@test "ls: several PATHs, files first, folders with headings" {
	hpdsl-snapshot ls snap plain/class1 odd/fifo plain/class0 plain/empty |
		same <(cd tree && ls -A plain/class1 odd/fifo plain/class0 \
			plain/empty) -
	hpdsl-snapshot ls -d snap plain odd |
		same <(cd tree && ls -Ad plain odd) -
}

@test "ls -R: as ls -AR" {
	hpdsl-snapshot ls -R snap plain | same <(cd tree && ls -AR plain) -
	hpdsl-snapshot ls -R snap | head -n 1 | grep -Fx .:
	hpdsl-snapshot ls -R0 snap | LC_ALL=C sort -z |
		same <(live -path './*') -
	hpdsl-snapshot ls -0 snap plain/class0 plain/class1 |
		LC_ALL=C sort -z |
		same <(live -path './plain/class[01]/*') -
}

@test "ls -l: type, mode, size, time, name, target" {
	(cd tree/plain && TZ=UTC find . -mindepth 1 -maxdepth 1 -type l \
		-printf '%M %10s %TY-%Tm-%Td %TT %f -> %l\n' -o -mindepth 1 \
		-maxdepth 1 -printf '%M %10s %TY-%Tm-%Td %TT %f\n') |
		sed 's/\(:[0-9][0-9]\)\.[0-9]*/\1/' | LC_ALL=C sort -k 5 \
		> "$BATS_TEST_TMPDIR/want"
	hpdsl-snapshot ls -l snap plain | same "$BATS_TEST_TMPDIR/want" -
	hpdsl-snapshot ls -l snap plain/class1/00007.json |
		grep '^-rws--x--x .* 2024-05-01 12:00:00 plain/class1/00007.json'
	hpdsl-snapshot ls -ld snap odd/deep plain/empty | cut -c -10 |
		same <(stat -c %A tree/odd/deep tree/plain/empty) -
	hpdsl-snapshot ls -l snap odd/deep/zero | grep '1969-12-31 23:59:58'
}

@test "ls: an absent PATH is told, the others are listed, exit 1" {
	run --separate-stderr -1 hpdsl-snapshot ls snap none odd/fifo
	[ "$output" = odd/fifo ]
	[[ $stderr = "hpdsl-snapshot: none: no such entry; there is '"* ]]
}

@test "ls, find, stat, du: JSON, an object a line" {
	hpdsl-snapshot ls -R --json snap > "$BATS_TEST_TMPDIR/ls"
	hpdsl-snapshot find --json snap > "$BATS_TEST_TMPDIR/find"
	hpdsl-snapshot find -0 snap | xargs -0 hpdsl-snapshot stat --json snap \
		> "$BATS_TEST_TMPDIR/stat"
	hpdsl-snapshot du -a --json snap > "$BATS_TEST_TMPDIR/du"
	python3 - "$BATS_TEST_TMPDIR" <<- 'END'
		import base64, json, os, stat, sys
		def read(name):
		    out = {}
		    for line in open(f"{sys.argv[1]}/{name}"):
		        o = json.loads(line)
		        path = o["path"].encode()
		        if "path_base64" in o:
		            path = base64.b64decode(o["path_base64"])
		        assert path not in out
		        out[path] = o
		    return out
		live = {b".": os.lstat("tree")}
		for folder, dirs, files in os.walk(b"tree"):
		    for name in dirs + files:
		        path = os.path.join(folder, name)
		        live[path[5:]] = os.lstat(path)
		letters = {stat.S_IFREG: "f", stat.S_IFDIR: "d",
		           stat.S_IFLNK: "l", stat.S_IFIFO: "p"}
		find, full = read("find"), read("stat")
		ls, du = read("ls"), read("du")
		assert set(find) == set(full) == set(live) == set(du)
		assert set(ls) == set(live) - {b"."}
		for path, st in live.items():
		    for o in find[path], full[path], ls.get(path):
		        if o is None:
		            continue
		        assert o["type"] == letters[stat.S_IFMT(st.st_mode)]
		        assert o["mode"] == "%04o" % (st.st_mode & 0o7777)
		        assert o["size"] == st.st_size, path
		        assert o["mtime"] * 10**9 + o["mtime_nsec"] == \
		            st.st_mtime_ns, path
		        assert "member" not in o
		    at = os.path.join(b"tree", path)
		    if full[path]["type"] == "d":
		        assert full[path]["holds"] == len(os.listdir(at))
		        below = sum(1 for p in live if p != b"." and
		                    (path == b"." or p.startswith(path + b"/")))
		        assert full[path]["below"] == below == \
		            du[path]["entries"] - 1
		    if full[path]["type"] == "l":
		        assert full[path]["target"].encode() == \
		            os.readlink(at) == ls[path]["target"].encode()
		assert len({o["entry"] for o in full.values()}) == len(live)
		for path, o in full.items():
		    up = os.path.dirname(path) or b"."
		    assert o["parent"] == full[up]["entry"]
	END
}

@test "stat: what stat says" {
	hpdsl-snapshot stat snap plain/class1/00007.json > "$BATS_TEST_TMPDIR/o"
	cat > "$BATS_TEST_TMPDIR/want" <<- END
		path:     plain/class1/00007.json
		type:     file
		size:     $(stat -c %s tree/plain/class1/00007.json)
		mode:     4711 -rws--x--x
		mtime:    2024-05-01 12:00:00.500000000 UTC
	END
	head -n 5 "$BATS_TEST_TMPDIR/o" | same "$BATS_TEST_TMPDIR/want" -
	grep -E '^entry:    [0-9]+, in [0-9]+$' "$BATS_TEST_TMPDIR/o"
	hpdsl-snapshot stat snap odd/link |
		grep -Fx 'target:   ../plain/class0/00000.json'
	hpdsl-snapshot stat snap . | grep -Fx 'path:     .'
	[ "$(hpdsl-snapshot stat snap plain | grep ^holds)" = "holds:    5, $(
		find tree/plain -mindepth 1 -printf x | wc -c) below" ]
	hpdsl-snapshot stat snap odd/deep/zero |
		grep -Fx 'mtime:    1969-12-31 23:59:58.250000000 UTC'
	run --separate-stderr -1 hpdsl-snapshot stat snap none odd/fifo
	[[ $output = *"type:     FIFO"* ]]
	[[ $stderr = "hpdsl-snapshot: none: no such entry; there is '"* ]]
	hpdsl-snapshot stat snap | same <(hpdsl-snapshot stat snap .) -
	hpdsl-snapshot stat -0 snap odd/link | tr '\0' '\n' |
		same <(hpdsl-snapshot stat snap odd/link) -
}

# Paths in the order of du, entries, and bytes: du's include folders, or not,
# as its version has it.
@test "du: entries as du --inodes, bytes of files and links" {
	hpdsl-snapshot du -0 snap | cut -z -f 2,3 | LC_ALL=C sort -z |
		same <(cd tree && du -0 --inodes | sed -z 's,\./,,' |
			LC_ALL=C sort -z) -
	hpdsl-snapshot du -a0 snap | cut -z -f 2,3 | LC_ALL=C sort -z |
		same <(cd tree && du -0a --inodes | sed -z 's,\./,,' |
			LC_ALL=C sort -z) -
	hpdsl-snapshot du -0 snap > "$BATS_TEST_TMPDIR/du"
	python3 - "$BATS_TEST_TMPDIR/du" <<- 'END'
		import os, stat, sys
		def size(path):
		    total = 0
		    for folder, dirs, files in os.walk(path):
		        for name in dirs + files:
		            st = os.lstat(os.path.join(folder, name))
		            if stat.S_ISREG(st.st_mode) or \
		               stat.S_ISLNK(st.st_mode):
		                total += st.st_size
		    return total
		lines = open(sys.argv[1], "rb").read().split(b"\0")[:-1]
		paths = []
		for line in lines:
		    n, _, path = line.split(b"\t", 2)
		    assert int(n) == size(os.path.join(b"tree", path)), path
		    paths.append(path)
		# what is below a folder is before it
		assert paths[-1] == b"."
		for i, path in enumerate(paths[:-1]):
		    assert paths.index(os.path.dirname(path) or b".") > i
	END
}

@test "du -s, -d, -h, PATHs" {
	[ "$(hpdsl-snapshot du -s snap | wc -l)" = 1 ]
	[ "$(hpdsl-snapshot du -s snap)" = "$(hpdsl-snapshot du -d0 snap)" ]
	[ "$(hpdsl-snapshot du -s snap)" = "$(hpdsl-snapshot du snap | tail -1)" ]
	hpdsl-snapshot du -d1 snap | cut -f 2,3 |
		same <(cd tree && printf '%s\todd\n%s\tplain\n%s\t.\n' \
			"$(find odd -printf x | wc -c)" \
			"$(find plain -printf x | wc -c)" \
			"$(find . -printf x | wc -c)") -
	[ "$(hpdsl-snapshot du -a -d 1 snap plain | cut -f 3 | head -1)" = \
		plain/class0 ]
	[ "$(hpdsl-snapshot du -sh snap odd)" = $'5.0 GiB\t13\todd' ]
	hpdsl-snapshot du snap odd/deep/er/.dot odd/link |
		same <(printf '4\t1\todd/deep/er/.dot\n26\t1\todd/link\n') -
	fails 2 "neither -a nor -d" hpdsl-snapshot du -s -a snap
	fails 2 "neither -a nor -d" hpdsl-snapshot du -s -d2 snap
	fails 2 "is no number" hpdsl-snapshot du -d x snap
	fails 1 "none: no such entry; there is '" hpdsl-snapshot du snap none
	fails 1 "plain/calss1/x: no such entry; in 'plain' there is 'class0', 'class1'" \
		hpdsl-snapshot du snap plain/calss1/x
	fails 1 "odd/fifo/x: no such entry; 'odd/fifo' is no folder" \
		hpdsl-snapshot du snap odd/fifo/x
}

@test "2,000 folders inside each other" {
	python3 - > "$BATS_TEST_TMPDIR/text" <<- 'END'
		print("hpdsl-snapshot 1")
		print("d 0755 0 0.000000000 - - .")
		path = ""
		for i in range(2000):
		    path += "/d" if path else "d"
		    print(f"d 0755 0 0.000000000 - - {path}")
		print(f"f 0644 7 0.000000000 - - {path}/f")
	END
	cd "$BATS_TEST_TMPDIR"
	hpdsl-snapshot load -q text -o deep
	[ "$(hpdsl-snapshot find deep | wc -l)" = 2002 ]
	[ "$(hpdsl-snapshot du deep | tail -n 1)" = $'7\t2002\t.' ]
	[ "$(hpdsl-snapshot du deep | head -n 1 | cut -c -6)" = $'7\t2\td/' ]
	[ "$(hpdsl-snapshot ls -R deep | grep -c :)" = 2001 ]
	[ "$(hpdsl-snapshot find deep --name=f | wc -c)" = 4002 ]
}

@test "the snapshot of a dataset: members and checksums" {
	cd "$BATS_TEST_TMPDIR"
	make_tree in 2 5
	hpdsl-pack -q --chunks=2 in ds
	hpdsl-snapshot create -q ds -o snap
	hpdsl-ls --json ds > members
	hpdsl-snapshot find -0 --type=f snap |
		xargs -0 hpdsl-snapshot stat --json snap > entries
	python3 - <<- 'END'
		import json
		m = {o["path"]: o for o in map(json.loads, open("members"))}
		e = {o["path"]: o for o in map(json.loads, open("entries"))}
		assert set(m) == set(e)
		for path in m:
		    assert m[path]["member"] == e[path]["member"]
		    assert m[path]["xxh3_64"] == e[path]["xxh3_64"]
		    assert m[path]["size"] == e[path]["size"]
	END
	hpdsl-snapshot stat snap class0/00000.png | grep -E '^member:   [0-9]+$'
	hpdsl-snapshot stat snap class0/00000.png |
		grep -E '^checksum: [0-9a-f]{16}$'
	hpdsl-snapshot find --json --type=d snap | grep -v member
}
