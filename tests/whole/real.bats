#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Real data there and back: images, a kernel's source tree, samples of several
# members; through hpdsl-unpack, GNU tar, bsdtar and Python's tarfile.

load ../kit/lib

# What is packed of a tree: its files, and links to files as the files that
# they lead to; with modes, mtimes and checksums.
wanted()
{
	(cd "$1" && find . -xtype f -print0 | LC_ALL=C sort -z > "$OLDPWD/names"
		xargs -0r stat -L -c '%n %a %Y' < "$OLDPWD/names"
		xargs -0r sha256sum < "$OLDPWD/names")
}

# restores COMMAND..: it makes a tree in ./restored that is like the list of
# what is wanted.
restores()
{
	mkdir restored
	"$@" || return
	wanted restored > got
	rm -rf restored
	cmp want got
}

with_tar()
{
	for chunk in packed/chunk-*.tar; do
		tar xpf "$chunk" -C restored || return
	done
}

with_bsdtar()
{
	for chunk in packed/chunk-*.tar; do
		bsdtar xpf "$chunk" -C restored || return
	done
}

# GNU tar compares with the tree, which is faster than to write another one.
# Owners are not kept: it says so, and returns 1, to whoever is not root.
tar_agrees()
{
	for chunk in packed/chunk-*.tar; do
		tar dhf "$chunk" -C "$1" || [ $? = 1 ]
	done > differences 2>&1
	[ "$(grep -vc ': [GU]id differs$' differences)" = 0 ]
}

# The same for bsdtar: names and contents, one behind the other.
bsdtar_agrees()
{
	command -v bsdtar > /dev/null || return 0
	for chunk in packed/chunk-*.tar; do
		bsdtar tf "$chunk" >&3 && bsdtar xOf "$chunk" || return
	done 3> names > contents
	hpdsl-ls packed | cmp names -
	(cd "$1" && tr '\n' '\0' < ../names | xargs -0 cat) | cmp - contents
}

# Every member of every chunk as Python has it, against the index and the tree.
tarfile_agrees()
{
	hpdsl-ls --json packed > members.json
	python3 - "$1" <<- 'END'
		import base64, glob, json, os, sys, tarfile
		members = (json.loads(line) for line in open("members.json"))
		count = 0
		for chunk in sorted(glob.glob("packed/chunk-*.tar")):
		    with tarfile.open(chunk, "r:", errors="surrogateescape") as tar:
		        for got in tar:
		            want = next(members)
		            name = os.fsencode(got.name)
		            path = want.get("path_base64")
		            path = base64.b64decode(path) if path else want["path"].encode()
		            assert name == path, (name, path)
		            assert got.isreg() and got.offset_data == want["offset"]
		            assert got.size == want["size"], path
		            assert got.mtime == want["mtime"], path
		            assert got.mode == int(want["mode"], 8), path
		            with open(os.path.join(os.fsencode(sys.argv[1]), path), "rb") as f:
		                assert f.read() == tar.extractfile(got).read(), path
		            count += 1
		assert next(members, None) is None
		print(count, "members")
	END
}

# All of it without writing another tree but one.
check_all()
{
	hpdsl-verify -q --source="$1" packed
	wanted "$1" > want
	restores hpdsl-unpack -q packed restored
	tar_agrees "$1"
	bsdtar_agrees "$1"
	tarfile_agrees "$1"
}

# bats test_tags=more
@test "Fashion-MNIST: tens of thousands of images" {
	local half=60000 n
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	# all of them only in check-long
	at_level long || half=10000
	[ -z "${SAN:-}" ] || half=1000
	"$SRC/examples/fashion_mnist_to_png.py" tree \
		/usr/share/datasets/fashion-mnist "$half"
	n=$(find tree -name '*.png' | wc -l)
	[ "$n" = $((half + (half < 10000 ? half : 10000))) ]
	hpdsl-pack --json --labels=dir --chunk-size=4M tree packed > out
	grep -q "\"samples\": $n, \"members\": $n," out
	check_all tree
	[ "$(hpdsl-ls --label=Sandal packed | wc -l)" = \
		"$(find tree/Sandal -type f | wc -l)" ]
	hpdsl-cat packed Bag/t10k-00018.png | cmp - tree/Bag/t10k-00018.png
}

# bats test_tags=more
@test "a kernel's source tree: dot files, links, empty files" {
	from=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' \
		2> /dev/null | head -n 1)
	[ -n "$from" ] || skip "no package linux-source"
	mkdir tree
	if at_level long; then
		tar xJf "$from" -C tree --strip-components=1
	else
		tar xJf "$from" -C tree --strip-components=1 --wildcards \
			'linux-*/.[a-z]*' 'linux-*/scripts' \
			'linux-*/Documentation/[a-l]*' \
			'linux-*/include/[du][ta]*' 'linux-*/arch/*/boot/dts'
	fi
	: > tree/empty
	mkdir tree/empty-folder
	[ "$(find tree -type l -xtype f | wc -l)" -ge 5 ]
	[ "$(find tree -type l -xtype d | wc -l)" -ge 5 ]
	hpdsl-pack --json --chunk-size=16M tree packed > out
	grep -q "\"symlinks_followed\": $(find tree -type l -xtype f | wc -l)," \
		out
	grep -q "\"symlinks_to_folders\": $(find tree -type l -xtype d |
		wc -l)," out
	check_all tree
	# Every offset in the indexes of other readers; what these make of it.
	hpdsl-pack -q --chunk-size=16M --names=portable \
		--emit=dali,energon,wids tree emitted
	run python3 "$SRC/tests/kit/side_files.py" emitted
	[ "$status" = 0 ] && [ "$output" = "dali energon wids" ]
	hpdsl-verify -q --compat=webdataset,dali,energon,wids,ray emitted
	hpdsl-verify -q --thorough emitted
	hpdsl-verify -q --thorough packed
	run hpdsl-verify -q --compat=webdataset packed
	[ "$status" = 1 ]
}

# bats test_tags=wide
@test "samples of an image, JSON and text" {
	local n
	n=$(rounds 20 100 100)
	make_tree tree 10 "$n"
	chmod 600 tree/class1/*.txt
	touch -d '1969-07-20 20:17:40' tree/class2/00000.json
	touch -d '2242-01-01' tree/class2/00001.json
	hpdsl-pack -q --labels=parent --chunks=7 tree packed
	[ "$(hpdsl-ls --samples packed | wc -l)" = $((10 * n)) ]
	# Times that tar cannot hold are in the index.
	hpdsl-verify -q --source=tree packed
	hpdsl-unpack -q packed restored
	same_trees tree restored
	rm -r restored
	touch -d 1970-01-01 tree/class2/00000.json
	touch -d 2001-01-01 tree/class2/00001.json
	hpdsl-pack -q --force --labels=parent --chunks=7 tree packed
	check_all tree
	restores with_tar
	if command -v bsdtar > /dev/null; then
		restores with_bsdtar
	fi
}
