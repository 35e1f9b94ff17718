#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What lies among people's files and is not meant: litter, which is left out;
# pointers and error pages in place of data; what links make twice.

bats_require_minimum_version 1.5.0
load ../kit/lib

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Files that are meant, some of which nearly are litter, and 9 files of litter
# with 10 bytes, 3 of them in folders.
litter_tree()
{
	mkdir -p "$1"/{a/lost+found,__MACOSX/a,a/PaxHeaders.12,lost+found} || return
	(cd "$1" && echo 1 > a/1.jpg && echo 1 > a/1.txt && echo 2 > a/._2.jpg &&
		echo 3 > a/lost+found/3.jpg && echo 4 > .hidden && touch a/.nfs00 &&
		printf . | tee a/._1.jpg ._a .DS_Store a/.DS_Store a/Thumbs.db \
			a/.nfs00000000000a1b2c00000001 __MACOSX/a/._1.jpg \
			__MACOSX/a/x.jpg a/PaxHeaders.12/1.jpg lost+found/x > /dev/null)
}
meant='.hidden a/._2.jpg a/.nfs00 a/1.jpg a/1.txt a/lost+found/3.jpg'

# has DATASET PATH..: these members and no others.
has()
{
	local ds=$1
	shift
	diff <(hpdsl-ls "$ds" | LC_ALL=C sort) <(printf '%s\n' "$@")
}

@test "litter is left out of trees, snapshots and archives, counted and named" {
	litter_tree t
	find t -exec touch -h -d @1600000000 {} +
	# shellcheck disable=SC2086
	hpdsl-pack t ds 2> err && has ds $meant
	kinds='__MACOSX/ ._\* .DS_Store Thumbs.db .nfs\* PaxHeaders.\*/ /lost+found/'
	line="left out as litter: 6 files (6 bytes) and 3 folders with all below: $kinds"
	[ "$(grep -c "^hpdsl-pack: $line; --keep-litter packs it$" err)" = 2 ]
	hpdsl-pack -n t no 2> err | grep "^litter:   left out: 6 files (6 bytes).*(--keep-litter)$"
	hpdsl-pack --json -q t json | python3 -c 'import json, sys
l = json.load(sys.stdin)["litter"]
assert (l["files"], l["bytes"], l["folders"], l["included"]) == (6, 6, 3, 0), l
assert l["kinds"].split()[:2] == ["__MACOSX/", "._*"], l'
	grep "^  litter: '1'$" ds/dataset.yaml
	hpdsl-snapshot create -q t -o t.snap
	hpdsl-pack -q --from-snapshot=t.snap t snap
	diff -r ds snap
	tar cf t.tar -C t .
	tar czf t.tgz -C t .
	(cd t && zip -qr ../t.zip .)
	for form in tar tgz zip; do
		hpdsl-pack t.$form $form 2> err
		diff -r ds $form
		# all names are known there
		grep 'left out as litter: 10 files (10 bytes): __MACOSX/' err
		hpdsl-verify -q --source=t.$form ds
	done
	# another name of a file, as tar has it, is one of a file
	mkdir h && echo 1 > h/._1.jpg && ln h/._1.jpg h/._2.jpg && ln -s ._1.jpg h/._3.jpg
	touch h/{1,2,3}.jpg && ln h/1.jpg h/._4.jpg
	tar cf h.tar -C h . && tar czf h.tgz -C h .
	for i in h h.tar h.tgz; do
		hpdsl-pack -q $i of-$i && has of-$i ._4.jpg 1.jpg 2.jpg 3.jpg
	done
	# below a name in front the top is the top
	hpdsl-pack -q --prefix-input t front
	[ "$(hpdsl-ls front | wc -l)" = 6 ]
	# a file system's own cannot be read by all, nor need it stay
	chmod 0 t/lost+found && hpdsl-pack -q t again && diff -r ds again
	# a link that leads nowhere, too
	mkdir nowhere && touch nowhere/1.jpg && ln -s x nowhere/._1.jpg
	tar -cf nowhere.tar -C nowhere .
	for i in nowhere nowhere.tar; do
		hpdsl-pack $i of-$i 2> err && has of-$i 1.jpg
		grep 'left out as litter: 1 file (.*): \._\*;' err
	done
	mv nowhere/1.jpg nowhere/2.jpg
	tar -cf nowhere.tar -C nowhere .
	for i in nowhere nowhere.tar; do
		fails 3 "._1.jpg: dangling link to x" hpdsl-pack -q $i no
	done
	mkdir only && touch only/.DS_Store
	fails 3 "only: no files to pack (0 excluded), 1 left out as litter \
(--keep-litter packs it)" hpdsl-pack -q only no
}

@test "litter that is asked for is packed: --keep-litter, a list, a pattern, a dataset" {
	litter_tree t
	hpdsl-pack -q --keep-litter t keep
	[ "$(hpdsl-ls keep | wc -l)" = 16 ]
	grep '^  litter: keep$' keep/dataset.yaml
	(cd t && find . -type f) > list
	hpdsl-pack -q --files-from=list t listed
	[ "$(hpdsl-ls listed | wc -l)" = 16 ]
	run ! grep litter listed/dataset.yaml
	hpdsl-pack -q keep repacked
	[ "$(hpdsl-ls repacked | wc -l)" = 16 ]
	# of a dataset that is decided: what it left out nobody can keep
	hpdsl-pack -q t none && hpdsl-pack -q --keep-litter none none.kept
	grep "^  litter: '1'$" none.kept/dataset.yaml
	hpdsl-pack -q --keep-litter keep kept && run ! grep litter kept/dataset.yaml
	hpdsl-pack -q --include='*.jpg' t some 2> err
	has some __MACOSX/a/._1.jpg __MACOSX/a/x.jpg a/._1.jpg a/._2.jpg a/1.jpg \
		a/PaxHeaders.12/1.jpg a/lost+found/3.jpg
	grep '4 files to include look like litter (__MACOSX/ ._\* PaxHeaders.\*/); excluding' err
	# what has no pattern of its own goes by what the pack did
	hpdsl-verify -q --source=t keep
	hpdsl-verify -q --source=t listed
	hpdsl-verify -q --source=t some
	hpdsl-verify -q --source=keep listed
	hpdsl-verify -q --source=t repacked
	hpdsl-pack -q t ds
	hpdsl-verify --source=t ds 2> err
	grep 'not kept: 6 files of litter, 3 folders of litter' err
	hpdsl-pack -q ds of && hpdsl-verify -q --source=t of
	grep "^  litter: '1'$" of/dataset.yaml
	# new litter is no change, but for who packed it
	touch t/a/desktop.ini
	hpdsl-verify -q --source=t ds
	status=0
	hpdsl-verify -q --source=t keep > out || status=$?
	[ $status = 1 ] && grep '^a/desktop.ini: is not in the dataset$' out
	# options that are lost: what has none left it out, what has any did not
	rm t/a/desktop.ini keep/dataset.yaml of/dataset.yaml ds/index.hpdsl
	printf x | dd of=ds/dataset.yaml bs=1 seek=40 conv=notrunc status=none
	hpdsl-pack -q --include=._a --include=a/1.jpg t twin && has twin ._a a/1.jpg
	rm twin/dataset.yaml
	for i in keep of ds twin; do hpdsl-index -q $i; done
	for i in of ds; do
		hpdsl-verify --source=t $i 2> err
		grep 'not kept: 6 files of litter, 3 folders of litter' err
		hpdsl-pack -q $i again-$i && grep "^  litter: '1'$" again-$i/dataset.yaml
	done
	touch t/a/desktop.ini
	run -1 hpdsl-verify -q --source=t keep
	[ "$(grep -c 'is not in the dataset' <<< "$output")" = 1 ]
	run -1 hpdsl-verify -q --source=t twin
	[[ $output != *absent* ]]
	hpdsl-pack -q keep again-keep && run ! grep litter again-keep/dataset.yaml
	# one rule for all that is in a dataset
	mkdir new && touch new/other.jpg new/.DS_Store
	fails 2 "again-keep: has kept its litter, as " hpdsl-pack -q new again-keep mixed
	fails 2 "(--keep-litter packs all of it, --exclude=GLOB none)" \
		hpdsl-pack -q new twin mixed
	hpdsl-pack -q new twin --exclude='._*' mixed && has mixed a/1.jpg other.jpg
	hpdsl-pack -q new twin --keep-litter more && \
		has more .DS_Store ._a a/1.jpg other.jpg
	hpdsl-pack -q --force t ds
	# a later version has another list
	cp -r ds later
	python3 - later/dataset.yaml <<- 'END'
		import ctypes, sys
		class H(ctypes.Structure):
		    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
		f = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
		f.restype = H
		text = open(sys.argv[1], "rb").read().replace(b"litter: '1'", b"litter: '2'")
		body, last = text[:text.rstrip().rfind(b"\n") + 1], text.rstrip().split(b"\n")[-1]
		h = f(body, ctypes.c_size_t(len(body)))
		digest = b"%016x%016x" % (h.high, h.low)
		open(sys.argv[1], "wb").write(body + last[:-len(digest)] + digest + b"\n")
	END
	hpdsl-verify -q later
	fails 3 "left out litter of version 2, and only version 1 is known" \
		hpdsl-verify -q --source=t later
}

@test "litter: a pack goes on as it was begun" {
	litter_tree t
	(cd t && find . -type f) > list
	# as versions did that knew of none: complete, and in the middle
	hpdsl-pack -q --files-from=list t old
	cp -r old was
	hpdsl-pack -q --resume t old
	diff -r old was
	fails 3 "index.hpdsl" env HPDSL_FAULT=op=rename,name=index.hpdsl \
		"$BUILD/tests/bed/hpdsl-pack" -q --files-from=list t part
	[ -e part/journal.hpdsl ]
	hpdsl-pack -q --resume t part
	diff -r part was
	hpdsl-pack -q t ds
	hpdsl-pack -q --resume t ds
	fails 3 "--litter is keep now, was 1" hpdsl-pack -q --resume --keep-litter t ds
	hpdsl-pack -q --resume --force --keep-litter t ds
	[ "$(hpdsl-ls ds | wc -l)" = 16 ]
	fails 3 "--litter is 1 now, was keep" hpdsl-pack -q --resume t ds
}

@test "litter is no difference of a tree from a dataset's snapshot, nor counted by info" {
	litter_tree t
	hpdsl-pack -q --snapshot=ds.snap t ds
	hpdsl-snapshot check ds.snap t 2> err
	grep 'passed over as litter: 9 names' err
	status=0
	hpdsl-snapshot check -q --keep-litter ds.snap t > out || status=$?
	[ $status = 1 ] && [ "$(wc -l < out)" = 10 ]
	# one that was packed is compared
	hpdsl-pack -q --keep-litter --snapshot=keep.snap t keep
	hpdsl-snapshot check -q keep.snap t
	echo more >> t/.DS_Store
	touch t/a/desktop.ini
	status=0
	hpdsl-snapshot check -q keep.snap t > out || status=$?
	[ $status = 1 ] && [ "$(wc -l < out)" = 2 ]
	grep '^~ .DS_Store' out && grep '^+ a/desktop.ini' out
	rm t/a/desktop.ini
	hpdsl-info t > out
	grep '^  files        6$' out
	grep '^  litter       6 files, 3 folders with all below, which a pack leaves out' out
	hpdsl-info --json t | python3 -c 'import json, sys
j = json.load(sys.stdin)
assert (j["files"], j["litter_files"], j["litter_folders"]) == (6, 6, 3), j'
}

# pointer FILE: of Git LFS.
pointer()
{
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize %d\n' \
		7 123456 > "$1"
}

@test "pointers and error pages in place of data" {
	mkdir t
	echo '{}' > t/config.json
	for i in 1 2 3; do pointer "t/model-$i.safetensors"; done
	fails 2 "t/model-1.safetensors: is a Git LFS pointer, not the data: git lfs \
pull gets it; so are 3 of 3 files called .safetensors (--exclude=GLOB leaves them out, \
--files-from packs what it names)" hpdsl-pack -q t no
	tar cf t.tar -C t .
	fails 2 "git lfs pull gets it" hpdsl-pack -q t.tar no
	[ ! -e no ]
	# who names files means them, and what was begun is gone on with
	echo . > all
	hpdsl-pack -q --files-from=all t named 2> err
	grep 'warning: t/model-1.safetensors: is a Git LFS pointer' err
	hpdsl-pack -q --resume t named
	mkdir mixed
	touch mixed/run1.{1,2,3}.npy
	hpdsl-pack -q --group=key mixed begun
	hpdsl-pack -q --resume mixed begun
	# a few are told
	for i in 4 5 6; do head -c 5000 /dev/zero > "t/model-$i.safetensors"; done
	hpdsl-pack -q t few 2> err
	grep 'warning: t/model-1.safetensors: is a Git LFS pointer.*; 3 of .* are such$' err
	mkdir web
	for i in {1..40}; do
		printf '\n<!DOCTYPE html><title>404</title>%*s' $((i * 20)) . > "web/$i.jpg"
	done
	fails 2 "is an HTML page, as servers send where something is wrong: get it again" \
		hpdsl-pack -q web no
	[[ $message = *"of "*" files called .jpg that were looked at"* ]]
	# pages may be what is meant
	for i in web/*; do mv "$i" "${i%.jpg}.txt"; done
	hpdsl-pack -q web pages 2> err
	[ ! -s err ]
}

@test "what links make twice, and lead to, is told before a byte is written" {
	m=models--a--b
	s=$m/snapshots/0123
	mkdir -p $m/blobs $s
	head -c 3000000 /dev/zero > $m/blobs/aaaa
	echo '{}' > $m/blobs/bbbb
	ln -s ../../blobs/aaaa $s/model.safetensors
	ln -s ../../blobs/bbbb $s/config.json
	line="2.9 MiB would be packed twice by 2 links: 'blobs/.*' is 'snapshots/0123/.*', too; \
--exclude=blobs/ leaves one out"
	hpdsl-pack -n $m no 2> /dev/null | grep "^links:    $line$"
	hpdsl-pack $m o 2> err
	[ "$(grep -n "$line" err | cut -d: -f1)" -lt "$(grep -n 'members, ' err | cut -d: -f1)" ]
	hpdsl-pack --exclude=blobs/ $m once 2> err
	run ! grep twice err
	[ "$(hpdsl-ls once | wc -l)" = 2 ]
	# the snapshot alone: one line for all
	fails 3 "config.json: link leads outside the input: $PWD/$m/blobs/bbbb, as 1 more link \
does (--symlinks=follow-all follows it" hpdsl-pack -q $s no
	[ "$(wc -l <<< "$message")" = 1 ]
	hpdsl-pack -q --symlinks=follow-all $s all
	[ "$(hpdsl-ls all | wc -l)" = 2 ]
	# hard links, and archives
	mkdir h && echo 12345 > h/a && ln h/a h/b && ln h/a h/c
	hpdsl-pack h hard 2> err
	grep "12 bytes would be packed twice by 2 links: 'a' is 'b', too" err
	tar cf h.tar -C h . && tar czf m.tgz -C $m .
	hpdsl-pack h.tar hard-tar 2> err
	grep "12 bytes would be packed twice by 2 links" err
	hpdsl-pack --json -q m.tgz tgz | python3 -c 'import json, sys
assert json.load(sys.stdin)["twice"] == {"links": 2, "bytes": 3000003}'
}

@test "what a clone or a broken download left is told, and packed" {
	mkdir -p t/.git/objects t/.cache/huggingface
	echo 123 | tee t/.git/objects/x t/.git/config t/.cache/huggingface/y t/a.part t/b.jpg
	touch t/train.tfrecord-00000-of-00001
	line='.git/ 2 files (8 bytes), .cache/huggingface/ 1 file (4 bytes), \*.part 1 file (4 bytes)'
	hpdsl-pack t ds 2> err
	grep "packed, though it may not be meant: $line; --exclude=GLOB leaves it out" err
	grep "which a loop gets whole: \*.tfrecord\* 1 file (0 bytes); " err
	[ "$(hpdsl-ls ds | wc -l)" = 6 ]
	hpdsl-pack -n t no 2> /dev/null | grep "^doubtful: $line (--exclude=GLOB)$"
	hpdsl-pack --json -q ds again | grep '"doubtful": \[\]'
}

# bats test_tags=more
@test "litter at random: trees, snapshots and archives are packed alike" {
	cat > trees.py <<- 'END'
		import os, random, sys
		r = random.Random(int(sys.argv[1]))
		names = ("a.jpg b ._a.jpg ._b ._c ._d1 d1 ._._a.jpg .DS_Store Thumbs.db "
		         ".nfs000000000012345600000001 x.txt ._x.txt").split()
		folders = ("d1 d2 __MACOSX @eaDir lost+found PaxHeaders.7 .snapshot "
		           ".Trash-0 ._d1 n").split()
		made = ["t"]
		os.mkdir("t")
		open("t/keep.txt", "w").write("k")
		for i in range(r.randrange(20)):
		    path = os.path.join(r.choice(made), r.choice(folders if i % 3 else names))
		    if os.path.lexists(path):
		        continue
		    if i % 3:
		        os.mkdir(path)
		        made.append(path)
		    else:
		        open(path, "w").write(str(r.random()))
	END
	for ((i = 0; i < $(rounds 0 20 200); i++)); do
		rm -rf t t.* s
		python3 "$BATS_TEST_TMPDIR/trees.py" $i
		tar cf t.tar -C t .
		(cd t && zip -qrD ../t.zip . && find . -type f) | shuf > list
		tar czf t.tgz -C t -T list
		hpdsl-snapshot create -q t -o s
		for opt in --chunks=1 --exclude=._b --include=\*.*; do
			hpdsl-pack -q --group=none "$opt" t t.ds 2> t.err
			for from in t.tar t.tgz t.zip --from-snapshot=s; do
				[ -e "$from" ] || set -- "$from" t
				[ ! -e "$from" ] || set -- "$from"
				hpdsl-pack -q --group=none "$opt" "$@" t.of 2> t.other
				diff <(hpdsl-ls t.ds) <(hpdsl-ls t.of) || { echo "$i $opt $from"; return 1; }
				rm -r t.of
			done
			rm -r t.ds
		done
	done
}
