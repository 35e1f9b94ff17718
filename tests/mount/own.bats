#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: MNT/.hpdsl, which is found by name and in no listing, says how the
# mount is doing at the moment.
# shellcheck disable=SC2016,SC2154
# uses: meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree/cats 120 3000
	make_random tree/dogs 3 3000
	hpdsl-pack -q tree ds
	# all cats are damaged
	cp -r ds bad
	hpdsl-ls --json bad 'cats/*' > rows
	python3 - rows <<- 'END'
		import json, sys
		for line in open(sys.argv[1]):
		    m = json.loads(line)
		    with open("bad/chunk-%06d.tar" % m["chunk"], "r+b") as f:
		        f.seek(m["offset"] + 5)
		        b = f.read(1)
		        f.seek(m["offset"] + 5)
		        f.write(bytes([b[0] ^ 1]))
	END
}

none_left()
{
	! pgrep -f "^hpdsl-mount .*$BATS_TEST_TMPDIR" > left
}

# now NAME: what the mount's own file says of it.
now()
{
	field "$1" < mnt/.hpdsl/status | tr -d ' '
}
is_now()
{
	[ "$(now "$1")" = "$2" ]
}
export -f field now is_now until_true

@test "it is found by its name, and in no listing" {
	timeout 600 hpdsl-mount "$from/ds" "$PWD/mnt" -- bash -ec '
		[ "$(echo $(ls -a mnt))" = ". .. cats dogs" ]
		[ "$(echo $(ls mnt/.hpdsl))" = "dataset.yaml errors status" ]
		cmp mnt/.hpdsl/dataset.yaml "$from/ds/dataset.yaml"
		# nor when the kernel knows it
		[ "$(echo $(ls -a mnt))" = ". .. cats dogs" ]
		[ -z "$(find mnt -name "*hpdsl*")" ]
		[ "$(find mnt -type f | wc -l)" = 123 ]
		[ "$(du -a mnt | grep -c hpdsl)" = 0 ]
		[ "$(tar -cf - mnt | tar -t | grep -c hpdsl)" = 0 ]
		diff -r "$from/tree" mnt
		python3 -c "
import os
assert sorted(e.name for e in os.scandir(\"mnt\")) == [\"cats\", \"dogs\"]
for folder, folders, files in os.walk(\"mnt\"):
    assert not [n for n in folders + files if \"hpdsl\" in n], folder"
		[ "$(stat -c %A mnt/.hpdsl/status)" = "-r--------" ]
		[ "$(cd mnt/.hpdsl/.. && echo *)" = "cats dogs" ]
		! ls mnt/.hpdsl/other 2> said
		grep -q "No such file" said
		! ls mnt/.hpdsl/status/x 2> said
		grep -q "Not a directory" said
		! ls mnt/cats/.hpdsl 2> said
		grep -q "No such file" said
		! touch mnt/.hpdsl/new 2> said
		grep -q "Read-only" said'
	timeout 600 hpdsl-mount --folder=dogs --xattr "$from/ds" "$PWD/mnt" -- \
		bash -ec '
		[ "$(ls -a mnt | wc -l)" = 5 ]
		[ "$(ls -l mnt/.hpdsl 2>&1 | wc -l)" = 4 ]
		[ "$(now folder)" = dogs ]'
	until_true none_left
}

@test "status says what it is now, and what --status says" {
	timeout 600 hpdsl-mount --fill=off "$from/ds" "$PWD/mnt" -- bash -ec '
		cat mnt/.hpdsl/status > first
		cat mnt/cats/00000.bin mnt/cats/00001.bin > /dev/null
		cat mnt/.hpdsl/status > second
		[ "$(wc -c < first)" = "$(wc -c < second)" ]
		[ "$(field bytes < second)" -eq $(($(field bytes < first) + \
			$(stat -c %s mnt/cats/0000[01].bin | paste -sd+))) ]
		hpdsl-mount --status --json mnt > asked
		python3 -c "
import json
a, b = (json.load(open(f)) for f in (\"second\", \"asked\"))
changes = \"requests\", \"lookups\", \"listings\", \"reads\"
for m in a[\"mounts\"] + b[\"mounts\"]:
    for name in changes:
        del m[name]
assert a == b and a[\"mounts\"], (a, b)"
		# through one descriptor, and a few bytes at a time
		python3 -c "
import json, os, time
fd = os.open(\"mnt/.hpdsl/status\", os.O_RDONLY)
had = [json.loads(os.pread(fd, 4096, 0))[\"mounts\"][0][\"requests\"]
       for i in range(5)]
assert had == sorted(set(had)), had
text = b\"\"
while True:
    part = os.read(fd, 7)
    if not part:
        break
    text += part
assert json.loads(text)[\"mounts\"][0][\"requests\"] > had[-1], text"'
	until_true none_left
}

@test "it costs other files nothing: what was read is not asked for again" {
	timeout 600 hpdsl-mount --fill=off "$from/ds" "$PWD/mnt" -- python3 -c '
import json, os
def requests():
    with open("mnt/.hpdsl/status", "rb", 0) as f:
        return json.loads(os.read(f.fileno(), 4096))["mounts"][0]["requests"]
def read():
    # without the request that a buffered open() makes
    for name in sorted(os.listdir("mnt/cats")):
        fd = os.open("mnt/cats/" + name, os.O_RDONLY)
        os.fstat(fd)
        while os.read(fd, 1000):
            pass
        os.close(fd)
read()
requests()
a, b = requests(), requests()
read()
c = requests()
assert c - b == b - a, (a, b, c)'
	until_true none_left
}

@test "errors has the lines that were told, and each worker's" {
	timeout 600 hpdsl-mount --fill=off "$from/bad" "$PWD/mnt" -- bash -c '
		cat mnt/.hpdsl/errors > before
		stat -c %s mnt/.hpdsl/errors >> sizes
		cat mnt/cats/00003.bin 2> error && exit 1
		cat mnt/.hpdsl/errors > one
		stat -c %s mnt/.hpdsl/errors >> sizes
		cmp mnt/dogs/00001.bin "$from/tree/dogs/00001.bin" || exit 1
		cmp one mnt/.hpdsl/errors || exit 1
		kill -KILL "$(now worker)"
		until_true is_now replaced 1
		cmp one mnt/.hpdsl/errors || exit 1
		cat mnt/cats/00004.bin 2>> error && exit 1
		cat mnt/.hpdsl/errors > two' 2> said
	[ ! -s before ]
	[ "$(wc -l < one)" = 1 ]
	grep -q "^hpdsl-mount: .*cats/00003.bin'.*checksum differs" one
	[ "$(wc -l < two)" = 2 ]
	head -n 1 two | cmp - one
	grep -v "another one goes on" said | cmp - two
	[ "$(cat sizes)" = "0"$'\n'"$(wc -c < one)" ]
	until_true none_left
}

@test "a hundred lines, and then how many it was" {
	timeout 600 hpdsl-mount --fill=off "$from/bad" "$PWD/mnt" -- bash -c '
		for f in mnt/cats/*; do
			cat "$f" 2> error && exit 1
			[ "$f" != mnt/cats/00100.bin ] ||
				cat mnt/.hpdsl/errors > early
		done
		cat mnt/.hpdsl/errors > late
		now failed > failed' 2> said
	[ "$(grep -c "checksum differs" late)" = 100 ]
	[ "$(wc -l < late)" = 102 ]
	cmp <(head -n 101 late) <(head -n 101 early)
	cmp <(head -n 101 late) <(head -n 101 said)
	grep -q "counted, but not told" <(sed -n 101p late)
	[ "$(tail -n 1 late)" = "hpdsl-mount: $(cat failed) reads failed" ]
	[ "$(tail -n 1 late)" != "$(tail -n 1 early)" ]
	until_true none_left
	[ "$(tail -n 1 said)" = "$(tail -n 1 late)" ]
}

@test "a dataset's own .hpdsl is what is there" {
	mkdir tree
	echo "a file" > tree/.hpdsl
	hpdsl-pack -q tree ds
	timeout 600 hpdsl-mount ds "$PWD/mnt" -- diff -r tree mnt
	rm tree/.hpdsl
	mkdir tree/.hpdsl
	echo content > tree/.hpdsl/status
	hpdsl-pack -q tree ds2
	timeout 600 hpdsl-mount ds2 "$PWD/mnt" -- bash -ec '
		diff -r tree mnt
		[ "$(ls mnt/.hpdsl)" = status ]
		[ "$(ls -A mnt)" = .hpdsl ]'
	until_true none_left
}

@test "as another user: the one who mounts may read it" {
	as_user hpdsl-mount from/ds tree -- bash -ec '
		cat tree/.hpdsl/errors tree/.hpdsl/status' > status
	[ "$(field way < status)" = command ]
	until_true gone
}

gone()
{
	! pgrep -u 65534 hpdsl-mount
}
