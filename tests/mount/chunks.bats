#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount --view=chunks: plain tar files of a dataset, whatever form it has.
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
	make_tree tree 2 60
	python3 - <<- 'END'
		import random
		rng = random.Random(1)
		words = [b"%08x " % rng.getrandbits(32) for _ in range(2000)]
		for i in range(60):
		    n = rng.choice([9, 5000, 60000, 200000])
		    with open("tree/class%d/more%03d.txt" % (i % 2, i), "wb") as f:
		        f.write(b"".join(rng.choices(words, k=n // 9)))
		# larger than what is read at once, and than what is verified at once
		for name, n in ("large", 3000000), ("huge", 17000000):
		    with open("tree/class1/%s.bin" % name, "wb") as f:
		        f.write(rng.randbytes(n))
	END
	hpdsl-pack -q --chunk-size=4M --labels=parent --cls \
		--emit=dali,energon tree ds
	hpdsl-pack -q --chunk-size=4M --labels=parent --cls --zstd=1 tree zst
	rm -rf tree
}

in_mount()
{
	timeout 600 hpdsl-mount --view=chunks "$@"
}

# same: chunks are those of ds, and no others.
same()
{
	cmp <(cd "$from/ds" && ls chunk-*.tar) <(cd mnt && ls chunk-*.tar)
	for f in mnt/chunk-*.tar; do
		cmp "$f" "$from/ds/${f#mnt/}"
		cmp <(tar tf "$f") <(tar tf "$from/ds/${f#mnt/}")
	done
}

# links WANT: so many of the chunks are symbolic links.
links()
{
	[ "$(find mnt -name 'chunk-*.tar' -type l | wc -l)" = "$1" ]
}
export -f same links field

# mounted OPTION.. DATASET SCRIPT: in there.
mounted()
{
	in_mount "${@:1:$#-1}" "$PWD/mnt" -- bash -ec "${*: -1}"
}

# damage FILE BYTE: flips a bit of it.
damage()
{
	python3 - "$@" <<- 'END'
		import sys
		with open(sys.argv[1], "r+b") as f:
		    f.seek(int(sys.argv[2]))
		    b = f.read(1)
		    f.seek(int(sys.argv[2]))
		    f.write(bytes([b[0] ^ 1]))
	END
}

# offset MEMBER: where its content begins in its chunk; $chunk is that one.
offset()
{
	hpdsl-ls --json "$from/ds" "$1" > row
	chunk=$(printf 'chunk-%06d.tar' "$(field chunk < row)")
	offset=$(field offset < row)
}

@test "plain and compressed: the same tars, as links and as files" {
	n=$(find "$from/ds" -name 'chunk-*.tar' | wc -l)
	[ "$n" -gt 3 ]
	mounted "$from/ds" "same; links $n"
	mounted --no-links "$from/ds" 'same; links 0; [ -z "$(find mnt -type l)" ]'
	# some of these cannot be made smaller, and are plain
	n=$(find "$from/zst" -name 'chunk-*.tar' | wc -l)
	[ "$(find "$from/zst" -name 'chunk-*.zst' | wc -l)" -gt 2 ]
	mounted "$from/zst" "same; links $n"
	until_true no_server
}

@test "what lies beside the chunks" {
	local option
	for option in "" --no-links; do
		# shellcheck disable=SC2086
		mounted $option "$from/ds" '
			diff -r "$from/ds" mnt
			cmp <(cd "$from/ds" && find . | sort) <(cd mnt && find . | sort)'
	done
	# what is no part of it is not there
	cp -r "$from/zst" more
	echo > more/notes.txt
	mkdir more/dir
	mounted more '
		[ ! -e mnt/notes.txt ]
		[ ! -e mnt/dir ]
		[ "$(ls mnt | grep -v "^chunk-......\.tar$")" = \
			"$(printf "dataset.yaml\nindex.hpdsl")" ]'
}

@test "a dataset in the mount's own directory is no link into itself" {
	cp -r "$from/ds" mnt/d
	in_mount mnt/d "$PWD/mnt" -- bash -ec 'same; links 0'
	cp -r "$from/ds" over
	in_mount over "$PWD/over" -- bash -ec '
		for f in over/chunk-*.tar; do
			cmp "$f" "$from/ds/${f#over/}"
		done
		[ -z "$(find over -type l)" ]'
}

@test "tars of others have their names" {
	mkdir -p tars/a tars/b
	cp "$from/ds/chunk-000000.tar" tars/a/one.tar
	cp "$from/ds/chunk-000001.tar" tars/b/two.tar
	mkdir first
	hpdsl-index -q -o first tars/a/one.tar tars/b/two.tar
	mounted first '
		[ "$(readlink mnt/one.tar)" = "$PWD/tars/a/one.tar" ]
		cmp mnt/two.tar tars/b/two.tar'
	# the dataset is not in the mount, and its tars are
	mv tars/a mnt
	mkdir index
	hpdsl-index -q -o index mnt/a/one.tar tars/b/two.tar
	mounted index '
		[ ! -L mnt/one.tar ]
		cmp mnt/one.tar "$from/ds/chunk-000000.tar"
		[ -L mnt/two.tar ]'
}

@test "a stage directory: links to what is here, files of the rest" {
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	local n ds
	for ds in ds zst; do
		stage 2 -q --pretend-nodes=2 --mode=partition "$from/$ds" \
			"$PWD/$ds%n"
		n=$(find "$PWD/${ds}0" -name 'chunk-*.tar' | wc -l)
		mounted "$PWD/${ds}0" "same; links $n"
		mounted --no-links "$PWD/${ds}0" 'same; links 0'
	done
	[ "$n" -gt 0 ]
}

@test "what other nodes of a job have is read from them, and the origin is gone" {
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	halves "$from/zst"
	unhurried mounted node0 same
	no_halves
}

@test "any stretch, by several readers at a time" {
	local ds
	for ds in ds zst; do
		mounted --no-links "$from/$ds" 'python3 - "$from/ds" mnt' <<- 'END'
			import os, random, sys, threading

			names = [n for n in os.listdir(sys.argv[1]) if n.endswith(".tar")]
			bad = []

			def read(seed):
			    rng = random.Random(seed)
			    for _ in range(60):
			        name = rng.choice(names)
			        a = os.open(os.path.join(sys.argv[1], name), os.O_RDONLY)
			        b = os.open(os.path.join(sys.argv[2], name), os.O_RDONLY)
			        at = rng.randrange(os.fstat(a).st_size)
			        for _ in range(rng.choice([1, 1, 40])):
			            n = rng.choice([1, 512, 70000, 1500000])
			            if os.pread(a, n, at) != os.pread(b, n, at):
			                bad.append((name, at, n))
			            at += n
			        os.close(a)
			        os.close(b)

			readers = [threading.Thread(target=read, args=[i]) for i in range(8)]
			for t in readers:
			    t.start()
			for t in readers:
			    t.join()
			assert not bad, bad
		END
	done
}

@test "a damaged member is EIO where it is, once told, and not beyond" {
	local chunk offset option
	cp -r "$from/ds" bad
	offset class1/large.bin
	damage "bad/$chunk" $((offset + 1500000))
	export chunk offset
	# with a member that is verified before its first byte, as with others
	run -0 --separate-stderr mounted --no-links bad '
		! dd if="mnt/$chunk" bs=4096 skip=$((offset / 4096 + 1)) count=1 \
			of=part 2> said
		grep -q "Input/output error" said
		! cat "mnt/$chunk" > part 2> said
		grep -q "Input/output error" said
		# all that is before it
		[ "$(stat -c %s part)" -ge $((offset / 4096 * 4096)) ]
		[ "$(stat -c %s part)" -le "$offset" ]
		cmp -n "$(stat -c %s part)" part "$from/ds/$chunk"
		# all behind it
		behind=$(((offset + 3000000) / 4096 + 1))
		cmp <(dd if="mnt/$chunk" bs=4096 skip=$behind 2> /dev/null) \
			<(dd if="$from/ds/$chunk" bs=4096 skip=$behind 2> /dev/null)
		for f in mnt/chunk-*.tar; do
			[ "$f" = "mnt/$chunk" ] || cmp "$f" "$from/ds/${f#mnt/}"
		done
		# made good: what is remembered is of the file as it was
		cp "$from/ds/$chunk" bad
		cmp "mnt/$chunk" "$from/ds/$chunk"'
	[[ $stderr == "hpdsl-mount: "*"$chunk: member "*"class1/large.bin'"*"checksum differs" ]]
}

@test "of a member that is too large, --verify=all knows that it is damaged" {
	local chunk offset
	cp -r "$from/ds" bad
	offset class1/huge.bin
	damage "bad/$chunk" $((offset + 16000000))
	export chunk offset
	mounted --no-links bad 'cat "mnt/$chunk" > /dev/null'
	run -1 --separate-stderr mounted --no-links --verify=all bad \
		'cat "mnt/$chunk" > part'
	[[ $stderr == *"$chunk: member "*"class1/huge.bin'"*"checksum differs"* ]]
	[[ $stderr == *"Input/output error"* ]]
}

@test "a frame that cannot be expanded is EIO, and names a member" {
	local chunk=chunk-000000.tar size
	cp -r "$from/zst" bad
	size=$(stat -c %s "bad/$chunk.zst")
	damage "bad/$chunk.zst" $((size / 2))
	export chunk
	run -1 --separate-stderr mounted bad 'cat "mnt/$chunk" > part'
	[[ $stderr == *"hpdsl-mount: bad/$chunk.zst: member "*": frame "* ]]
	[[ $stderr == *"Input/output error"* ]]
	cmp -n "$(stat -c %s part)" part "$from/ds/$chunk"
}

@test "a stage directory's damage is made good from the origin" {
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	local chunk offset
	stage 1 -q "$from/ds" "$PWD/d"
	offset class1/large.bin
	damage "d/$chunk" $((offset + 1500000))
	mounted --no-links d same
}

@test "a reader who goes on asks for each window once" {
	# the server reads the dataset, and that says how much
	mounted "$from/zst" '
		worker=$(hpdsl-mount --status --json mnt | sed "s/.*\"worker\": *\([0-9]*\).*/\1/")
		before=$(awk "\$1 == \"rchar:\" { print \$2 }" "/proc/$worker/io")
		cat mnt/chunk-*.tar > /dev/null
		after=$(awk "\$1 == \"rchar:\" { print \$2 }" "/proc/$worker/io")
		stored=$(cat "$from"/zst/chunk-*.zst | wc -c)
		echo "$((after - before)) of $stored"
		# members across an end are read again, whole
		[ $((after - before)) -lt $((stored * 3)) ]'
}

@test "a server that follows another one has the same files, by the same numbers" {
	local i
	cp -r "$from/ds" d
	mkdir kept
	mv d/chunk-000001.tar kept
	mkdir -p d/.nv-meta
	for i in aa bb; do
		echo "this is $i" > "d/.nv-meta/$i"
	done
	cp d/dataset.yaml yaml
	# it is absent, and then plain and here: what was a file stays one
	timeout 600 hpdsl-mount --view=chunks d "$PWD/mnt" -- bash -ec '
		[ ! -L mnt/chunk-000001.tar ] && [ -L mnt/chunk-000000.tar ]
		mv kept/chunk-000001.tar d
		kill -KILL "$(hpdsl-mount --status --json mnt | field worker)"
		cmp mnt/chunk-000001.tar "$from/ds/chunk-000001.tar"
		[ ! -L mnt/chunk-000001.tar ] && [ -L mnt/chunk-000000.tar ]
		cmp mnt/.nv-meta/aa d/.nv-meta/aa' 2> said
	# others lie there by then: errors, and never the bytes of another one
	timeout 600 hpdsl-mount --view=chunks --no-links d "$PWD/mnt" -- bash -ec '
		ls -lR mnt > /dev/null
		for i in 0 a1 b1 c1; do echo "NEW $i" > "d/.nv-meta/$i"; done
		kill -KILL "$(hpdsl-mount --status --json mnt | field worker)"
		for f in .nv-meta/aa .nv-meta/bb dataset.yaml; do
			! cat "mnt/$f" > part 2> error
			grep "Input/output error\|No such file" error
			[ ! -s part ]
		done
		cmp mnt/chunk-000001.tar "$from/ds/chunk-000001.tar"' 2> said
	grep "what lies beside the chunks is not what it was" said
}

@test "a file that is replaced while it is read is an error, and is named" {
	cp -r "$from/ds" d
	mkdir -p d/.nv-meta
	head -c 3000000 /dev/urandom > d/.nv-meta/aa
	cp d/.nv-meta/aa d/.nv-meta/bb
	timeout 600 hpdsl-mount --view=chunks --no-links d "$PWD/mnt" -- bash -ec '
		exec 4< mnt/.nv-meta/aa
		head -c 4096 <&4 > part
		cmp -n 4096 part d/.nv-meta/aa
		for f in aa bb; do
			head -c 3000000 /dev/zero > d/new
			mv d/new "d/.nv-meta/$f"
			! cat "mnt/.nv-meta/$f" > part 2> error
			grep "Input/output error" error
		done
		! cat <&4 > part 2> error' 2> said
	[ "$(grep -c "/aa: it is not what it was when it was mounted" said)" -ge 1 ]
	grep "/bb: it is not what it was when it was mounted" said
}

@test "--status says which view; --join shares one of a kind" {
	local view
	export -f until_true
	mounted "$from/zst" '
		hpdsl-mount --status mnt | grep -q "zst, its chunks"
		hpdsl-mount --status --json mnt | grep -q "\"view\": *\"chunks\""'
	timeout 600 hpdsl-mount "$from/zst" "$PWD/mnt" -- bash -ec '
		hpdsl-mount --status mnt > said
		[ "$(grep -c "its chunks" said)" = 0 ]
		hpdsl-mount --status --json mnt | grep -q "\"view\": *\"files\""'
	for view in files chunks; do
		timeout 600 hpdsl-mount --join --view=$view "$from/zst" \
			"$PWD/mnt" -- bash -ec '
			ls mnt
			until_true test -e end' > $view 3>&- &
	done
	until_true test -s chunks -a -s files
	touch end
	wait
	grep -q chunk-000000.tar chunks
	run ! grep -q chunk-000000.tar files
}

@test "what does not go with it" {
	local option
	fails 2 "neither files nor chunks" \
		hpdsl-mount --view=tars "$from/ds" mnt -- true
	fails 2 "--no-links goes with --view=chunks" \
		hpdsl-mount --no-links "$from/ds" mnt -- true
	for option in --folder=a --include=a --exclude=a --label=a --fill=on --xattr; do
		fails 2 "--view=chunks goes with neither" \
			hpdsl-mount --view=chunks $option "$from/ds" mnt -- true
	done
	fails 3 "No such file" hpdsl-mount --view=chunks none mnt -- true
	mkdir empty
	fails 3 "not a" hpdsl-mount --view=chunks empty mnt -- true
}
