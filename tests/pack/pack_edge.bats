#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a pack makes of odd outputs and inputs, and of what a run that died at
# its very end left beside the output.
# need_disk: extended attributes, which not every tmpfs has.

load ../kit/lib
load ../kit/stopped

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in 2 30
	hpdsl-pack -q --chunks 4 in new
	hpdsl-pack -q --chunks 2 --seed 3 in old
	dataset_digest new > digest
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR"/{in,new,old} .
	want=$(cat "$BATS_FILE_TMPDIR/digest")
}

teardown()
{
	[ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null || :
	! mountpoint -q "$BATS_TEST_TMPDIR/mnt" || umount "$BATS_TEST_TMPDIR/mnt"
}

pack()
{
	hpdsl-pack -q --chunks 4 "$@" in out
}

is_new()
{
	[ "$(dataset_digest out)" = "$want" ] || diff -rq new out
}

nothing_beside()
{
	! find . -maxdepth 1 -name '.out.hpdsl-*' | grep .
}

@test "died before the dataset it replaced was removed: --resume does that" {
	local beside
	for beside in new old; do
		rm -rf out
		cp -a new out
		cp -a old ".out.hpdsl-$beside"
		[ "$(pack --json --resume | field resumed_chunks)" = 4 ]
		is_new
		nothing_beside
	done
}

@test "died before the dataset it replaced was removed: --force --resume does not pack again" {
	local before
	cp -a new out
	cp -a old .out.hpdsl-new
	before=$(stat -c %i out/chunk-000000.tar)
	pack --force --resume
	[ "$(stat -c %i out/chunk-000000.tar)" = "$before" ]
	is_new
	nothing_beside
}

@test "died with the journal still in the new dataset: --resume drops it" {
	cp -a new out
	cp -a old .out.hpdsl-old
	: > out/journal.hpdsl
	pack --resume
	is_new
	nothing_beside
}

@test "died while the output had no name: the dataset that was there is back" {
	cp -a old .out.hpdsl-old
	fails 3 "--force" pack
	diff -r old out
	nothing_beside
	mv out .out.hpdsl-old
	pack --force
	is_new
	nothing_beside
}

@test "--force begins the next replacement over the waste of the last one" {
	cp -a old out
	cp -a old .out.hpdsl-old
	cp -a old .out.hpdsl-new
	rm .out.hpdsl-new/chunk-000001.tar
	pack --force
	is_new
	nothing_beside
}

@test "--force --resume replaces another dataset, too, and can be repeated" {
	cp -a old out
	fails 3 "--seed" pack --resume
	diff -r old out
	pack --force --resume
	is_new
	pack --force --resume
	is_new
	nothing_beside
}

@test "a file of the user in the place beside: refused, nothing is touched" {
	cp -a old out
	mkdir .out.hpdsl-new
	echo mine > .out.hpdsl-new/notes
	fails 3 "notes" pack --force
	diff -r old out
	[ "$(ls -A .out.hpdsl-new)" = notes ]
}

@test "OUTPUT is a link to a folder: filled, but not replaced" {
	mkdir real
	ln -s real out
	pack
	is_new
	fails 2 "symbolic link" pack --force
	[ -L out ]
	diff -r new real
	nothing_beside
}

@test "OUTPUT is a mount point: filled, but not replaced" {
	need_root
	mkdir mnt
	mount -t tmpfs none mnt || skip "no tmpfs"
	hpdsl-pack -q --chunks 4 in mnt
	[ "$(dataset_digest mnt)" = "$want" ]
	fails 2 "mount point" hpdsl-pack -q --force in mnt
	[ "$(dataset_digest mnt)" = "$want" ]
}

@test "a dataset in OUTPUT is refused before the input is looked at" {
	cp -a old out
	mkfifo in/pipe
	fails 3 "out: a packed dataset is there" pack
	fails 3 "nowhere" hpdsl-pack in nowhere/out
	diff -r old out
}

@test "a full disk: refused, and nothing is left there" {
	need_root
	mkdir mnt
	mount -t tmpfs -o size=64k none mnt || skip "no tmpfs"
	mkdir mnt/empty
	dd if=/dev/zero of=mnt/fill bs=4k 2> /dev/null || :
	fails 3 "No space left" hpdsl-pack in mnt/empty
	[ -z "$(ls -A mnt/empty)" ]
	fails 3 "No space left" hpdsl-pack in mnt/out
	[ "$(ls mnt)" = "empty
fill" ]
}

@test "--zstd: no room for both forms of a chunk is told before the first byte" {
	need_root
	mkdir mnt noise
	mount -t tmpfs -o size=700k none mnt || skip "no tmpfs"
	head -c 500000 /dev/urandom > noise/a.bin
	fails 3 "needs " hpdsl-pack -q --zstd noise mnt/out
	[ -z "$(ls mnt)" ]
	hpdsl-pack -q noise mnt/out
}

@test "--force over an unfinished pack: what that takes counts as free" {
	need_root
	mkdir mnt
	mount -t tmpfs -o size=1500k none mnt || skip "no tmpfs"
	head -c 800000 /dev/urandom > in/large
	mkdir mnt/out
	: > mnt/out/journal.hpdsl
	head -c 1000000 /dev/zero > mnt/out/chunk-000001.tar
	hpdsl-pack -q --chunks 2 --force in mnt/out
	hpdsl-verify -q --source in mnt/out
	rm -r mnt/out/*
	: > mnt/out/journal.hpdsl
	head -c 1000000 /dev/zero > mnt/out/.chunk-000001.tar.part
	hpdsl-pack -q --chunks 2 --resume in mnt/out
	hpdsl-verify -q --source in mnt/out
}

@test "more INPUTs than files may be open by default" {
	local i
	mkdir many
	for i in {1..150}; do
		mkdir "many/$i"
		echo "$i" > "many/$i/$i.txt"
	done
	(ulimit -Sn 128 && hpdsl-pack -q many/* out)
	[ "$(hpdsl-ls out | wc -l)" = 150 ]
}

# changes_while_packing COMMAND..: it runs between scan and reading.
changes_while_packing()
{
	local status=0
	stopped_at 1 flock hpdsl-pack -q "$input" out
	"$@"
	goes_on || status=$?
	echo "$message" | tee err
	[ "$status" = 3 ]
	[ "$(wc -l < err)" = 1 ]
	[ ! -e out/dataset.yaml ]
	rm -r out
}

@test "a file that is something else when it is read: named, as the user calls it" {
	need strace
	local file=in/class0/00001.png input
	for input in in in/ ./in//; do
		touch "$file"
		changes_while_packing rm "$file"
		grep -F "in/class0/00001.png: vanished" err
	done
	echo one > "$file"
	changes_while_packing sh -c "rm $file; mkfifo $file"
	grep -F "/00001.png: is 0 bytes, was 4 when scanned" err
	rm "$file"
	echo one > "$file"
	changes_while_packing sh -c "rm $file; mkdir $file"
	grep -F "/00001.png: " err | grep -F "when scanned"
	[[ $(cat err) != *//* ]]
}

@test "--resume on a complete dataset that lacks a chunk: no success" {
	cp -a new out
	rm out/chunk-000002.tar
	fails 3 "chunk-000002.tar: is missing" pack --resume
	pack --force --resume
	is_new
	cp -a old/chunk-000000.tar out/chunk-000000.tar
	fails 3 "chunk-000000.tar" pack --resume
	truncate -s 3000 out/dataset.yaml
	pack --force --resume
	is_new
	nothing_beside
}

@test "attributes and ACLs are not kept, but counted" {
	mkdir attr
	echo a > attr/a
	echo b > attr/b
	: > attr/empty
	head -c 9000000 /dev/zero > attr/large
	python3 -c 'import os
for name in "b", "empty", "large":
    os.setxattr("attr/" + name, "user.note", b"x")' ||
		skip "no attributes on this file system"
	hpdsl-pack --json attr packed > json 2> err
	[ "$(field xattrs < json)" = 3 ]
	hpdsl-pack attr again 2> err
	grep "not kept:.*3 files with attributes or ACLs" err
	hpdsl-pack --json --resume attr packed > json 2> err
	grep '"xattrs": *null' json
}

@test "a path that is a file here and a folder there" {
	mkdir -p one/x two/x/a three
	echo 1 > one/x/a
	echo 2 > two/x/a/b
	echo 3 > 'three/x!'
	fails 2 "'x/a' would be a file, from one, and a folder, from two (--prefix-input puts" \
		hpdsl-pack -q one two three out
	[ ! -e out ]
	python3 - <<'END'
import io
import tarfile

with tarfile.open("odd.tar", "w") as t:
    for name in ("d/f", "d-g", "d/f-1", "d/f/deep/er/x.txt", "d/f0"):
        i = tarfile.TarInfo(name)
        i.size = 3
        t.addfile(i, io.BytesIO(b"abc"))
END
	fails 2 "'d/f' would be a file and a folder, both from odd.tar (--exclude=GLOB leaves one out)" \
		hpdsl-pack -q odd.tar out
	[ ! -e out ]
	# names that only begin alike are fine
	mkdir -p four/x/b
	echo 4 > four/x/b/c
	hpdsl-pack -q one four three out
	[ "$(hpdsl-ls out | sort | tr '\n' ' ')" = 'x! x/a x/b/c ' ]
}

@test "samples of several inputs are told, unless all are" {
	mkdir one two
	touch one/7.jpg one/8.jpg two/7.png
	hpdsl-pack -q one two out 2> err
	grep -F "1 of 2 samples have members of several inputs, first '7' of one and two; these are kept apart with their names in front (--prefix-input)" err
	hpdsl-pack -q --prefix-input one two apart 2> err
	touch two/8.png
	hpdsl-pack -q one two all 2>> err
	[ ! -s err ]
}

@test "two members of one suffix are packed, and told with a count" {
	local said
	mkdir -p t/b
	touch t/a t/a. t/a.txt t/b/..x t/b/..x. t/c.jpg t/c.JPG t/d. t/e
	for said in --dry-run --names=portable --shuffle=none; do
		hpdsl-pack "$said" --json --force t two > out 2> err
		grep "2 samples have two members of one suffix, first 'a'; by its suffix only the first member is read" err
		[ "$(field repeated_suffixes < out)" = 2 ]
	done
	[ "$(hpdsl-ls two | grep -cx 'a\.\{0,1\}')" = 2 ]
	hpdsl-pack --group=none --json --force t two > out 2> err
	[ "$(field repeated_suffixes < out)" = 0 ]
	[ "$(grep -c "one suffix" err)" = 0 ]
}

# Files of others that have names like ours.
strangers()
{
	mkdir -p out/.nv-meta
	echo mine | tee out/.x.part out/.x.tar.part out/chunk-000099.tar \
		out/.chunk-000050.tar.part out/chunk-000099.tar.zst \
		out/chunk-000099.idx out/.nv-meta/.y.part > /dev/null
}

strangers_are_there()
{
	[ "$(grep -rlx mine out | wc -l)" = 7 ]
}

@test "--force over a dataset: files of others in it are named, and stay" {
	local name
	for name in .x.part chunk-000099.tar .chunk-000050.tar.part \
		chunk-000002.tar.zst.part chunk-000002.tar chunk-000002.idx \
		.nv-meta/.y.part; do
		rm -rf out
		cp -a old out
		mkdir out/.nv-meta
		echo mine > "out/$name"
		fails 3 "out: holds '$name', which is no part of the dataset" \
			pack --force
		[ "$(cat "out/$name")" = mine ]
		hpdsl-verify -q out
		rm "out/$name"
		pack --force
		is_new
		nothing_beside
	done
}

@test "--force over a dataset of which the manifest, or the index, is damaged" {
	local bad
	for bad in dataset.yaml index.hpdsl; do
		rm -rf out
		cp -a old out
		echo > "out/$bad"
		echo mine > out/chunk-000003.tar
		fails 3 "out: holds 'chunk-000003.tar'" pack --force
		rm out/chunk-000003.tar
		pack --force
		is_new
		nothing_beside
	done
}

@test "--force, --resume over an unfinished pack: files of others stay" {
	local how
	for how in --force --resume; do
		rm -rf out
		need strace
		# with the part of a chunk that the next plan does not have
		traced -f -o trace -e trace=renameat,renameat2 \
			-e inject=renameat,renameat2:signal=KILL:when=6 \
			hpdsl-pack -q -j0 --chunks 9 in out 2> /dev/null || :
		[ -e out/journal.hpdsl ] && [ -e out/chunk-000004.tar ]
		compgen -G 'out/.chunk-00000[5-9].tar.part'
		strangers
		if [ "$how" = --force ]; then
			pack --force
		else
			hpdsl-pack -q --chunks 9 --resume in out
		fi
		strangers_are_there
		rm out/.*.part out/chunk-000099.* out/.nv-meta/.y.part
		rmdir out/.nv-meta
		hpdsl-verify -q --source in out
		[ "$how" = --resume ] || is_new
	done
}

@test "a directory of adopted tars is not replaced, whatever they are called" {
	mkdir out
	tar cf out/chunk-000000.tar -C in .
	hpdsl-index -q out/chunk-000000.tar
	fails 3 "out: holds 'chunk-000000.tar'" pack --force
	[ -s out/chunk-000000.tar ]
}
