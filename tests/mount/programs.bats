#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: programs that know nothing of it find what they find in the tree
# that was packed.  They are an ordinary user's.
# shellcheck disable=SC2016,SC2154
# uses: meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount
load ../kit/torch

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	umask 022
	python3 "$SRC/tests/kit/nasty.py" tree
	# with what is before it, its path would be too long
	rm -rf tree/0*ddddd* tree/many
	make_random tree/some 20 200000
	mkdir -p tree/deep/"$(printf 'in/%.0s' {1..200})"
	echo content > tree/deep/"$(printf 'in/%.0s' {1..200})"/file
	repository tree/repo
	! find_pil || "$python" "$SRC/tests/mount/images.py" make tree/images
	hpdsl-pack -q --chunk-size=1M tree ds
	# a dataset knows no empty folders, no links to folders, no such bits
	rm -r tree/empty "tree/link/to a folder"
	chmod 755 tree/mode/suid
	find tree -depth -type d -empty -delete
	# others may not be able to read the source
	cp "$SRC/tests/mount/images.py" .
}

# find_pil: a Python that has it.
find_pil()
{
	for python in python3 /usr/bin/python3 ''; do
		! "$python" -c 'import PIL' 2> /dev/null || return 0
	done
	return 1
}

# Git as nobody has set it up.
export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0

# repository DIR: with objects in a pack and some that are not.
repository()
{
	local n
	command -v git > /dev/null || return 0
	git init -q "$1"
	for n in 1 2 3; do
		seq "$n" 300 > "$1/numbers.$n"
		mkdir "$1/dir$n"
		echo "content $n" > "$1/dir$n/text"
		git -C "$1" add .
		git -C "$1" -c user.name=x -c user.email=x@x commit -q -m "$n"
		[ "$n" != 2 ] || git -C "$1" gc -q
	done
}

# mounted SCRIPT: run by bash as an ordinary user.  $mnt is the mount, $to an
# empty folder of his, which is still there afterwards.
mounted()
{
	to=$from/to.$BATS_TEST_NUMBER
	mkdir "$to"
	chmod 777 "$to"
	if [ "$(id -u)" = 0 ]; then
		as_user hpdsl-mount from/ds tree -- env mnt=/mnt/tree \
			from=/mnt/from to="/mnt/from/${to##*/}" bash -ec "$1"
	else
		timeout 600 hpdsl-mount "$from/ds" "$PWD/mnt" -- \
			env mnt="$PWD/mnt" from="$from" to="$to" bash -ec "$1"
	fi
}

# as_source DIR: contents, modes and times of the tree that was packed.
as_source()
{
	python3 "$SRC/tests/kit/trees.py" same "$from/tree" "$1"
}

@test "a container: in name spaces within COMMAND's, bound to another place" {
	mounted '
		sums() { (cd "$1" && find . -type f -print0 | sort -z |
			xargs -0 cat | cksum); }
		export -f sums
		mkdir "$to/seen"
		unshare --user --map-root-user --mount bash -ec "
			mount --bind \"$mnt\" \"$to/seen\"
			sums \"$to/seen\"" > "$to/there"
		sums "$mnt" > "$to/here"
		cmp "$to/here" "$to/there"
		[ "$(find "$to/seen" -mindepth 1)" = "" ]
		[ "$(cut -d" " -f2 "$to/here")" -gt 1000000 ]'
}

@test "cp -a" {
	mounted '
		cp -a "$mnt" "$to/copy"
		diff -r "$mnt" "$to/copy"'
	as_source "$to/copy"
}

@test "rsync -a; then there is nothing to do" {
	need rsync
	mounted '
		rsync -a "$mnt/" "$to/copy"
		rsync -an --itemize-changes "$mnt/" "$to/copy" > "$to/todo"'
	[ ! -s "$to/todo" ]
	as_source "$to/copy"
}

@test "tar: as archived, nothing differs, and what comes out is the source" {
	mounted '
		tar -C "$mnt" --format=posix -cf "$to/tar" .
		tar -C "$mnt" -df "$to/tar"
		mkdir "$to/copy"
		tar -C "$to/copy" --warning=no-timestamp -xpf "$to/tar"'
	as_source "$to/copy"
}

# names: of all files, links to such included, and of all folders.
names()
{
	find . -xtype f -print0 | sort -z
	find . -mindepth 1 -type d -print0 | sort -z
	find size deep some mode time -type f -printf '%p %s %m %T@ %y\0' | sort -z
}

# used: every name again, and how large files are.
used()
{
	du -al0 . | cut -z -f 2 | sort -z
	du -ab0 size/* some/*
	find . -name '*.bin' -size +100k -print0 | sort -z
}
export -f names used

@test "find and du" {
	mounted '
		cd "$mnt"
		names > "$to/names"
		used > "$to/used"'
	cd "$from/tree"
	names | cmp - "$to/names"
	used | cmp - "$to/used"
	[ "$(tr -dc '\0' < "$to/names" | wc -c)" -gt 2000 ]
}

# searched: which files have a word in them.
searched()
{
	grep -rlZ content . | sort -z
	git grep --no-index -Izl content . | sort -z
	git grep --no-index -ch 12 some repo | sort
}
export -f searched

@test "grep -r and git grep --no-index" {
	need git
	mounted '
		cd "$mnt"
		searched > "$to/found"'
	cd "$from/tree"
	searched | cmp - "$to/found"
	[ "$(tr -dc '\0' < "$to/found" | wc -c)" -gt 100 ]
}

# history: what a repository says of itself.
history_of()
{
	git -C "$1" status --porcelain
	git -C "$1" fsck --full 2>&1
	git -C "$1" log --format='%H %s' -p
	git -C "$1" grep -n content
}
export -f history_of

@test "a repository of git's: status, fsck, log, grep and clone" {
	need git
	mounted '
		history_of "$mnt/repo" > "$to/history"
		git clone -q "$mnt/repo" "$to/clone"
		history_of "$to/clone" > "$to/cloned"'
	history_of "$from/tree/repo" | cmp - "$to/history"
	cmp "$to/history" "$to/cloned"
	[ "$(grep -c '^[0-9a-f]\{40\} [123]$' "$to/history")" = 3 ]
}

# images HOW: have those of the mount the source's pixels?
images()
{
	export python
	mounted '"$python" -c "import PIL"' ||
		skip "another user cannot use $python"
	rmdir "$to"
	mounted "\"\$python\" \"\$from/images.py\" $1 \"\$from/tree/images\" \
		\"\$mnt/images\""
}

@test "PIL opens PNG and JPEG" {
	find_pil || skip "no Python with PIL"
	images pil
}

@test "PyTorch: a DataLoader with workers" {
	need_torch
	images torch
}

# bats test_tags=more
@test "torchvision: ImageFolder, in a DataLoader with workers" {
	need_torch
	"$python" -c 'import torchvision' 2> /dev/null || skip "no torchvision"
	images torchvision
}
