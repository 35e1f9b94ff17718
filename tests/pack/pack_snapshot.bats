#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-pack --from-snapshot, which walks no tree, and --snapshot, which writes
# that of the dataset.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/stopped

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 30
	mkdir -p tree/class0/empty tree/class1/.git/objects tree/class2/sub
	printf 1 > $'tree/class0/new\nline.txt'
	printf 2 > $'tree/class1/no\xffutf8.txt'
	printf 3 > tree/class1/.git/objects/x
	printf '%s' {1..4000} > tree/class2/sub/large.bin
	ln -s ../class0/00001.json tree/class2/link.json
	ln -s ../class1 tree/class2/folder
	ln tree/class0/00002.json tree/class0/twin.json
	truncate -s 1M tree/class2/sparse.bin
	chmod 4711 tree/class0/00003.png
	hpdsl-snapshot create -q tree -o snap
}

# Each test has a copy of the tree, times and links as they were.
setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR/tree" tree
	ln -s "$BATS_FILE_TMPDIR/snap" snap
}

# same_pack OPTION..: a pack that walks and one that does not.
same_pack()
{
	rm -rf walked frozen
	hpdsl-pack -q "$@" tree walked
	hpdsl-pack -q --from-snapshot=snap "$@" tree frozen
	[ "$(dataset_digest walked)" = "$(dataset_digest frozen)" ] ||
		{ echo "differs: $*"; return 1; }
}

# plain COMMAND..: as somebody who may not read what its mode closes
plain()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --bounding-set=-dac_override,-dac_read_search "$@"
	else
		"$@"
	fi
}

@test "the same bytes as with a walk" {
	same_pack
	run ! grep -i snapshot frozen/dataset.yaml
	same_pack -j0 --chunks=7
	same_pack -j8 --readers=64 --shuffle=none --samples-per-chunk=3
	same_pack --labels=dir --cls --group=key --exclude='twin.*' \
		--exclude='folder' --exclude='large*' --exclude=.git/ \
		--exclude='link.json' --include='0*'
	same_pack --include='*.json' --include='class1/*.txt'
	same_pack --exclude=class1/ --exclude='*.png'
	same_pack --exclude='class2/**'
	same_pack --prefix-input --exclude='tree/class0/*.txt' --group=none
	same_pack --zstd --digest=sha256 --names=portable --memory=8M
}

@test "the same counts as with a walk" {
	for opt in --chunks=2 --exclude=.git/ --include='*.json'; do
		rm -rf walked frozen
		hpdsl-pack --json -q "$opt" tree walked > a
		hpdsl-pack --json -q "$opt" --from-snapshot=snap tree frozen > b
		python3 - <<- 'END'
			import json
			a, b = json.load(open("a")), json.load(open("b"))
			for o in a, b:
			    for key in list(o):
			        # what is one file a snapshot does not say
			        if "second" in key or key == "twice":
			            del o[key]
			assert a == b, (a, b)
		END
	done
	[ "$(field hard_links < b)" = 2 ]
	hpdsl-pack -n --json -q --from-snapshot=snap tree none > c
	[ "$(field hard_links < c)" = null ]
	[ "$(field sparse < c)" = null ]
	[ "$(field folders < c)" = 7 ]
	[ "$(field empty_folders < c)" = 1 ]
}

@test "no folder is listed, no file is asked for before it is opened" {
	need strace
	traced -f -y -o log hpdsl-pack -q --labels=dir --from-snapshot=snap \
		tree out
	run ! grep -E "getdents.*<$PWD/tree" log
	# links are, and what is opened already
	grep -E "(stat|statx|newfstatat|access|readlink).*<$PWD/tree.*, \"[^\"]" \
		log > asked || true
	run ! grep -v -e '"class2/link.json"' -e '"class2/folder"' asked
	traced -f -y -o log hpdsl-pack -q tree walked
	grep -qE "getdents.*<$PWD/tree" log
}

@test "a file that is not as it was: an error that names it" {
	bad()
	{
		local text=$1
		shift
		"$@"
		fails 3 "tree/class1/00004.json: $text" \
			hpdsl-pack -q --from-snapshot=snap tree out
		[[ $message = *"out of date"* ]]
		[ ! -e out/dataset.yaml ]
		rm -rf out tree
		cp -a "$BATS_FILE_TMPDIR/tree" tree
	}
	local at=tree/class1/00004.json
	longer() { echo more >> "$at"; }
	bad "is 26 bytes, was 21 in the snapshot" longer
	bad "changed since the snapshot" touch -d '2020-01-01' "$at"
	bad "changed since the snapshot" touch -d "$(date -d "$(stat -c %y "$at")" \
		'+%F %T').000000001" "$at"
	bad "changed since the snapshot" chmod 600 "$at"
	bad "vanished since the snapshot" rm "$at"
	linked() { mv "$at" tree/x && ln -s ../x "$at"; }
	bad "vanished since the snapshot" linked
	fifo() { rm "$at" && mkfifo "$at"; }
	bad "replaced by what is no file since" fifo
	folder() { rm "$at" && mkdir "$at"; }
	bad "replaced by what is no file since" folder
	mv tree/class1 tree/class9
	fails 3 "tree/class1/" hpdsl-pack -q --from-snapshot=snap \
		--exclude=folder tree out
	[[ $message = *"vanished since the snapshot"* ]]
	mkdir elsewhere
	mv tree/class9 elsewhere/class1
	ln -s ../elsewhere/class1 tree/class1
	rm -rf out
	fails 3 "tree/class1/" hpdsl-pack -q --from-snapshot=snap \
		--exclude=folder tree out
	[[ $message = *"vanished since the snapshot"* ]]
}

@test "folders that look like splits are refused, out of the snapshot" {
	mkdir -p split/train/cat split/val/cat
	echo 1 > split/train/cat/1.txt
	echo 2 > split/val/cat/2.txt
	hpdsl-snapshot create -q split -o of-split
	fails 2 "look like splits (train, val)" \
		hpdsl-pack -q --labels=dir --from-snapshot=of-split split out
}

@test "what was added since is not packed" {
	echo new > tree/class0/new.json
	hpdsl-pack -q --from-snapshot=snap tree out
	fails 1 "" hpdsl-ls out class0/new.json
	hpdsl-ls out class0/00001.json
}

@test "links are asked for, special files are errors, as in a walk" {
	again()
	{
		local status=0 other=0
		hpdsl-snapshot create -q tree -o now
		rm -rf a b
		hpdsl-pack -q "$@" tree a 2> walked || status=$?
		hpdsl-pack -q "$@" --from-snapshot=now tree b 2> frozen ||
			other=$?
		cat frozen
		[ "$status" = "$other" ]
		cmp walked frozen
	}
	ln -s nowhere tree/dangling
	again
	grep "dangling link to nowhere" frozen
	again --symlinks=follow-all
	[ "$(dataset_digest a)" = "$(dataset_digest b)" ]
	rm tree/dangling
	ln -s /etc/passwd tree/outside
	again
	again --symlinks=follow-all
	rm tree/outside
	mkfifo tree/class1/pipe
	again
	grep "class1/pipe: is a FIFO, not a file" frozen
	again --exclude=pipe
	rm tree/class1/pipe
	hpdsl-snapshot create -q tree -o now
	rm tree/class2/link.json
	fails 3 "link.json: vanished since the snapshot" \
		hpdsl-pack -q --from-snapshot=now tree out
}

@test "files that nobody can read are told before anything is written" {
	need setpriv
	chmod 0 tree/class1/00004.json
	hpdsl-snapshot create -q tree -o now
	fails 3 "class1/00004.json: Permission denied" \
		plain hpdsl-pack -q --from-snapshot=now tree out
	[ ! -e out ]
}

@test "a pack that was interrupted is completed, whoever began it" {
	local at=tree/class1/00004.json time
	time=$(stat -c %y "$at")
	hpdsl-pack -q --chunks=20 tree want
	for first in --from-snapshot=snap --null; do
		for then in --from-snapshot=snap --readers=16; do
			rm -rf out
			[ "$first" != --null ] || first=--readers=16
			if [ "$first" = --from-snapshot=snap ]; then
				touch "$at"
				fails 3 "$at: changed" hpdsl-pack -q -j0 \
					--chunks=20 "$first" tree out
				touch -d "$time" "$at"
			else
				mv "$at" kept && mkfifo "$at"
				fails 3 "" hpdsl-pack -q --chunks=20 "$first" \
					--from-snapshot=snap tree out
				rm "$at" && mv kept "$at"
			fi
			hpdsl-pack --json -q --resume --chunks=20 "$then" \
				tree out > json
			[ "$(dataset_digest want)" = "$(dataset_digest out)" ]
		done
	done
	[ "$(field chunks < json)" = 20 ]
	# and complete, it is found to be so
	hpdsl-pack -q --resume --chunks=20 --from-snapshot=snap tree out
	hpdsl-pack -q --resume --chunks=20 tree out
	fails 3 "" hpdsl-pack -q --chunks=20 --from-snapshot=snap tree out
}

# As "Interrupted packs" of hpdsl-pack(1) has it.
@test "a run that fails: nothing is left before it reads, then a journal" {
	local at=tree/class1/00004.json
	hpdsl-pack -q tree want
	head -c 100 snap > broken
	fails 3 "broken" hpdsl-pack -q --from-snapshot=broken tree out
	ln -s nowhere tree/dangling
	fails 3 "dangling" hpdsl-pack -q tree out
	rm tree/dangling
	[ ! -e out ]
	mv "$at" kept
	fails 3 "$at: vanished" hpdsl-pack -q -j0 --from-snapshot=snap tree out
	[ "$(ls -A out)" = journal.hpdsl ]
	# said at the end of the same command, and what completes it does
	mv kept "$at"
	fails 3 "an unfinished pack is there; --resume completes it, --force begins afresh" \
		hpdsl-pack -q --from-snapshot=snap tree out
	hpdsl-pack -q --resume --from-snapshot=snap tree out
	[ "$(dataset_digest want)" = "$(dataset_digest out)" ]
	rm -r out
	mv "$at" kept
	fails 3 "$at: vanished" hpdsl-pack -q --from-snapshot=snap tree out
	hpdsl-snapshot create -q tree -o now
	fails 3 "'class1/00004.json' is gone (0 changed, 0 added, 1 removed)" \
		hpdsl-pack -q --resume --from-snapshot=now tree out
	hpdsl-pack -q --force --from-snapshot=now tree out
	hpdsl-verify -q --source=tree out
}

@test "chunks that are done are kept" {
	local at
	hpdsl-pack -q --chunks=20 --shuffle=none tree want
	at=$(hpdsl-ls want | tail -n 1)
	[ "$at" ]
	cp -a "tree/$at" kept
	touch "tree/$at"
	fails 3 "tree/$at: changed since the snapshot" hpdsl-pack -q -j0 \
		--shuffle=none --chunks=20 --from-snapshot=snap tree out
	touch -r kept "tree/$at"
	hpdsl-pack --json -q --resume --chunks=20 --shuffle=none \
		--from-snapshot=snap tree out > json
	[ "$(field resumed_chunks < json)" -gt 10 ]
	[ "$(dataset_digest want)" = "$(dataset_digest out)" ]
}

@test "what does not go with it is exit 2" {
	tar cf tree.tar tree
	hpdsl-pack -q tree ds
	fails 2 "one INPUT, not also 'ds'" hpdsl-pack --from-snapshot=snap tree ds out
	fails 2 "does not go with --files-from" \
		hpdsl-pack --from-snapshot=snap --files-from=/dev/null tree out
	fails 2 "tree.tar: a snapshot goes with a directory" \
		hpdsl-pack -q --from-snapshot=snap tree.tar out
	fails 2 "ds: a snapshot goes with a directory" \
		hpdsl-pack -q --from-snapshot=snap ds out
	fails 2 "is inside the input" \
		hpdsl-pack -q --from-snapshot=snap tree tree/out
	fails 3 "none: No such file" \
		hpdsl-pack -q --from-snapshot=none tree out
	fails 3 "tree.tar" hpdsl-pack -q --from-snapshot=tree.tar tree out
	[ ! -e out ]
}

@test "a damaged snapshot is no list of files" {
	cp -L snap bad
	printf 'xxxx' | dd of=bad bs=1 seek=1200 conv=notrunc status=none
	fails 3 "bad" hpdsl-pack -q --from-snapshot=bad tree out
	printf 'xxxx' | dd of=bad bs=1 seek=40 conv=notrunc status=none
	fails 3 "bad" hpdsl-pack -q --from-snapshot=bad tree out
	[ ! -e out ]
}

@test "--config knows both, a dry run writes nothing" {
	printf 'from-snapshot: snap\nsnapshot: new\nseed: 3\n' > config
	hpdsl-pack -q --config=config tree out
	hpdsl-pack -q --seed=3 tree walked
	[ "$(dataset_digest walked)" = "$(dataset_digest out)" ]
	hpdsl-snapshot verify -q new
	rm new
	hpdsl-pack -n --config=config tree other | grep '^chunks: '
	[ ! -e new ]
	hpdsl-pack -n --json --config=config tree other > json
	grep '"snapshot": null' json
}

@test "the snapshot of a dataset will do" {
	rm tree/class2/link.json
	hpdsl-pack -q --seed=1 --snapshot=of-ds tree ds
	hpdsl-pack -q --seed=2 --from-snapshot=of-ds tree out
	hpdsl-pack -q --seed=2 tree walked
	[ "$(dataset_digest walked)" = "$(dataset_digest out)" ]
	hpdsl-unpack -q ds back
	hpdsl-pack -q --seed=2 --from-snapshot=of-ds back again
	[ "$(dataset_digest walked)" = "$(dataset_digest again)" ]
	touch -d 2020-01-01 tree/class1/00001.json
	fails 3 "tree/class1/00001.json: changed since the snapshot" \
		hpdsl-pack -q --from-snapshot=of-ds tree more
}

@test "--snapshot: that of the dataset, and its digests" {
	hpdsl-pack --labels=dir --cls --exclude='twin.*' --exclude=large.bin \
		--exclude=.git --exclude='*line.txt' --exclude='no*' \
		--exclude=sparse.bin --exclude=link.json --json \
		--snapshot=new tree out > json
	hpdsl-snapshot create -q out -o want
	cmp new want
	python3 - <<- 'END'
		import json, os, subprocess
		s = json.load(open("json"))["snapshot"]
		assert s["file"] == "new"
		assert s["bytes"] == os.path.getsize("new")
		v = json.loads(subprocess.check_output(
		    ["hpdsl-snapshot", "verify", "--json", "new"]))
		for key in "entries", "digest", "files_digest":
		    assert s[key] == v[key], (s, v)
	END
	hpdsl-pack --snapshot=new --exclude=.git tree more 2> told
	grep -E 'snapshot new: [0-9,]+ entries' told
	grep -F "$(hpdsl-snapshot verify --json new | field digest)" told
	grep -F "$(hpdsl-snapshot verify --json new | field files_digest)" told
	hpdsl-snapshot create -q more -o want
	cmp new want
	# -q says nothing, and writes it
	rm new
	[ -z "$(hpdsl-pack -q --resume --snapshot=new --exclude=.git tree more \
		2>&1)" ]
	cmp new want
}

@test "--snapshot: where it cannot be written is told before packing" {
	mkdir folder closed
	refused()
	{
		fails "$1" "$2" hpdsl-pack -q --snapshot="$3" tree out
		[ ! -e out/dataset.yaml ]
	}
	refused 3 "folder: is there and is no regular file" folder
	refused 3 "no regular file" /dev/null
	refused 3 "none/new: No such file" none/new
	refused 3 "" ""
	refused 3 "" folder/new/
	mkfifo pipe
	refused 3 "no regular file" pipe
	ln -s nowhere dangling
	refused 3 "dangling: is a symbolic link, which is not replaced" dangling
	refused 2 "cannot lie in the dataset" out/snap
	mkdir out
	refused 2 "cannot lie in the dataset" out/snap
	refused 2 "cannot lie in the dataset" tree/../out/snap
	ln -s out link
	refused 2 "cannot lie in the dataset" link/snap
	fails 2 "are one file" hpdsl-pack -q --from-snapshot=snap \
		--snapshot=snap tree out
	if [ "$(command -v setpriv)" ]; then
		chmod 500 closed
		fails 3 "closed/new: Permission denied" plain \
			hpdsl-pack -q --snapshot=closed/new tree out
	fi
	rmdir out
	hpdsl-pack -q --snapshot=folder/new tree out
	hpdsl-snapshot verify -q folder/new
}

@test "--snapshot: a full disk at the end leaves the dataset complete" {
	need_root
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	mkdir small
	unshare -m bash -uc '
		mount -t tmpfs -o size=8k none small
		head -c 8k /dev/zero > small/fill
		hpdsl-pack -q --snapshot=small/new tree out 2> err
		echo "exit $?" >> err
		ls -A small >> err
	'
	cat err
	grep -q "small/new: cannot write: No space left on device" err
	grep -q "out: is complete, and only its snapshot is missing" err
	grep -q "^exit 3" err
	[ "$(tail -n 1 err)" = fill ]
	hpdsl-verify -q out
	hpdsl-pack -q --resume --snapshot=new tree out
	hpdsl-snapshot check -q new out
}

@test "a snapshot that shrinks while it is read is named" {
	need strace
	[ -z "${SAN:-}" ] || skip "the sanitizer takes SIGBUS"
	python3 - > text <<- 'END'
		print("hpdsl-snapshot 1")
		print("d 0755 0 0.000000000 - - .")
		for i in range(30000):
		    print(f"f 0644 1 0.000000000 - - name{i:08}")
	END
	hpdsl-snapshot load -q text -o big
	# once it is mapped: the input is opened next
	local status=0
	stopped_at 1 openat -P"$PWD/tree" hpdsl-pack -q --from-snapshot=big \
		"$PWD/tree" out
	truncate -s 4096 big
	goes_on || status=$?
	echo "$message"
	[ "$status" = 3 ]
	[[ $message = *"bus error): big"* ]]
}
