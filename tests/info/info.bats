#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-info on every kind of thing that needs no stager, whole and damaged.

load ../kit/lib
load ../kit/python
load ../kit/stopped

setup_file()
{
	make_tree "$BATS_FILE_TMPDIR/tree" 3 6
	hpdsl-pack -q --labels=dir --chunks=4 --meta=licence=none \
		"$BATS_FILE_TMPDIR/tree" "$BATS_FILE_TMPDIR/ds"
	# One interpreter answers for all tests; see value.
	cd "$BATS_FILE_TMPDIR" || return 1
	mkfifo ask answer
	python3 -c '
import json, os, sys
def field():
    text = b""
    while (c := sys.stdin.buffer.read(1)) != b"\0":
        if not c:
            sys.exit()
        text += c
    return os.fsdecode(text)
while True:
    try:
        said, what = field(), field()
        said = str(eval(what, {"d": json.loads(said)}))
    except Exception as e:
        said = repr(e)
    sys.stdout.buffer.write(os.fsencode(said) + b"\0")
    sys.stdout.buffer.flush()' < ask > answer 3>&- &
	exec 6> ask 7< answer
}

teardown_file()
{
	exec 6>&- 7<&-
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	# shellcheck disable=SC2034
	from=$BATS_FILE_TMPDIR
}

# told STATUS PATH..: what it says, in $output; the same status with --json,
# which is one object, in $json; nothing on standard error.
told()
{
	local want=$1 status=0
	shift
	output=$(hpdsl-info "$@" 2> err) || status=$?
	if [ "$status" != "$want" ] || [ -s err ]; then
		echo "exit $status: ${json:-$output}"
		cat err
		return 1
	fi
	status=0
	json=$(hpdsl-info --json "$@" 2> err) || status=$?
	if [ "$status" != "$want" ] || [ -s err ]; then
		echo "exit $status: ${json:-$output}"
		cat err
		return 1
	fi
	is 'type(d).__name__' dict
	# one line each, and one thing that is wrong
	[ "$(grep -c '^  wrong ' <<< "$output")" -le 1 ]
}

# has TEXT..: each is a line of the answer, blanks as they may be.
has()
{
	local text lines
	lines=$(sed 's/  */ /g; s/^ //' <<< "$output")
	for text; do
		[[ $'\n'$lines$'\n' = *$'\n'"$text"$'\n'* ]] ||
			{ echo "lacks: $text"; echo "$output"; return 1; }
	done
}

# value EXPRESSION: of the object d, as Python prints it.
value()
{
	ask "$1"
	echo "$answer"
}

# ask EXPRESSION: the same into $answer.
ask()
{
	printf '%s\0' "$json" "$1" >&6
	IFS= read -r -d '' answer <&7
}

is()
{
	ask "$1"
	[ "$answer" = "$2" ] || { echo "$1 is $answer, not $2"; return 1; }
}

# typed: what comes next, as it stands there; and what it makes is a dataset.
typed()
{
	local next
	next=$(sed -n 's/^  next *//p' <<< "$output")
	[ -n "$next" ]
	[ "$next" = "$(value 'd["next"]')" ]
	bash -c "$next -q" || { echo "typed: $next"; return 1; }
}

# tars DIR COUNT: tar files as WebDataset has them.
tars()
{
	local i
	mkdir -p "$1"
	for ((i = 0; i < $2; i++)); do
		mkdir t
		echo "$i" > "t/$i.cls"
		echo "image $i" > "t/$i.jpg"
		tar --sort=name -cf "$1/$(printf '%03d' "$i").tar" -C t \
			"$i.cls" "$i.jpg"
		rm -r t
	done
}

@test "trees and datasets: what a sample is" {
	mkdir t
	touch t/p-{a,b}.slice{1..20}.png
	told 0 t
	has "sample 'p-a': slice1.png slice10.png slice11.png and 17 more" \
		"next hpdsl-pack --group=last t t.hpdsl"
	grep '^  names  *40 of 40 files look like samples' <<< "$output"
	is 'd["group_look"]["verdict"]' refuse
	is 'd["group_look"]["files"]' 40
	typed
	told 0 t.hpdsl
	has "sample 'p-a.slice1': png"
	told 0 "$from/ds"
	has "sample 'class0/00000': json png"
	is 'd["group_look"]["example"]' "'class0/00000': json png"
}

@test "a packed dataset" {
	told 0 "$from/ds"
	has "$from/ds: a packed dataset" "holds 18 samples, 48 members, $(
		)$(field bytes <<< "$json" | awk '{ printf "%.1f KiB", $1 / 1024 }')" \
		"shuffled yes, seed 0" "notes licence=none" "digests XXH3" \
		"classes 3, of 6 samples each: class0, class1, class2" \
		"taken by hpdsl, webdataset, dali, energon, wids, ray" \
		"next hpdsl-verify $from/ds"
	grep -q '^  not by *hf: ' <<< "$output"
	is 'd["kind"], d["damaged"], d["samples"], d["members"]' \
		"('dataset', False, 18, 48)"
	is 'd["classes"][2]' "{'name': 'class2', 'samples': 6}"
	is 'd["unlabelled"], d["chunks"], d["shuffled"], d["digest"]' \
		"(0, 4, True, 'xxh3')"
	is '{o["key"]: o["value"] for o in d["options"]}["chunks"]' 4
	is 'd["meta"]' "[{'key': 'licence', 'value': 'none'}]"
	is 'd["chunk_min"] <= d["chunk_median"] <= d["chunk_max"]' True
	is 'd["looked_at"] == d["members"]' True
	is '[r["reader"] for r in d["readers"] if not r["takes"]]' "['hf']"
	[ "$(value 'd["dataset_id"]')" = \
		"$(sed -n 's/^dataset_id: //p' "$from/ds/dataset.yaml")" ]
	[ "$(value 'd["chunk_bytes"]')" = "$(cat "$from"/ds/*.tar | wc -c)" ]
}

# pasted SAMPLES: the line of Python reads so many in an epoch.
pasted()
{
	local line
	line=$(sed -n 's/^  python  *//p' <<< "$output")
	[ "$line" = "$(value 'd["python"]')" ]
	[ "$(py -W error -c "$line
print(sum(sum(b.mask) for b in loader))")" = "$1" ] ||
		{ echo "pasted: $line"; return 1; }
}

@test "what a dataset holds, and a line of Python that reads it" {
	told 0 "$from/ds"
	has "suffixes 18 json, 18 png, 12 txt" \
		"folders 6 class0, 6 class1, 6 class2"
	is 'd["top_folders"][2]' "{'folder': 'class2', 'samples': 6}"
	is 'd["suffixes"][0]' "{'suffix': 'json', 'members': 18}"
	pasted 18
	mkdir -p "it's/train" "it's/val" "it's/test"
	for i in {1..9}; do
		echo "$i" > "it's/train/$i.jpg"
		echo "$i" > "it's/train/$i.txt"
	done
	rm "it's/train/"[78].txt
	touch "it's/train/x.JPG" "it's/val/1.jpg" "it's/README"
	hpdsl-pack -q "it's" 'a "pack"'
	told 0 'a "pack"'
	has "folders 10 train, 1 at the top, 1 val" \
		"sets 7 of 12 samples have jpg and txt; 3 jpg alone, first 'train/7'; $(
		)1 no suffix, first 'README'; 1 JPG alone, first 'train/x'"
	[[ $output = *'batch_size=64, choice='*'folder="train"))'* ]]
	is 'd["group_look"]["suffix_sets"][0]' \
		"{'suffixes': ['jpg', 'txt'], 'more': 0, 'samples': 7, 'first': 'train/1'}"
	pasted 10
	hpdsl-pack -q --include='train/[1-6].*' "it's" all
	told 0 all
	[[ $output = *'suffixes=["jpg", "txt"])'* ]]
	pasted 6
}

@test "the pack id is that of a stage directory and of a snapshot" {
	told 0 "$from/ds"
	local pack
	pack=$(value 'd["pack"]')
	hpdsl-snapshot create -q "$from/ds" -o snap
	told 0 snap
	is 'd["pack"]' "$pack"
	has "snap: a snapshot of a packed dataset" \
		"next hpdsl-snapshot ls -l snap"
}

@test "SHA-256, other names, compression, no shuffle, no classes" {
	hpdsl-pack -q --digest=sha256 --shuffle=none --zstd --names=portable \
		--emit=wids "$from/tree" ds
	told 0 ds
	has "shuffled no" "classes none" "digests XXH3 and SHA-256"
	is 'd["digest"], d["shuffled"], d["classes"]' "('sha256', False, [])"
	is 'd["side_files"] > 1 and len(d["dataset_id_sha256"])' 64
	grep -q "names=portable" <<< "$output"
}

@test "a dataset that is damaged: one line, and what mends it" {
	cp -r "$from/ds" ds
	rm ds/chunk-000002.tar
	told 1 ds
	grep -q '^  wrong *chunk-000002.tar: is missing' <<< "$output"
	has "next hpdsl-verify ds"
	is 'd["damaged"], d["damaged_files"]' "(True, 1)"
	grep -q '^  taken by *none of the readers: chunk-000002.tar: is missing' \
		<<< "$output"
	is '[r["takes"] for r in d["readers"]]' "$(python3 -c 'print([False] * 7)')"
	is '"is missing" in d["readers"][0]["why"], d["readers"][1]["why"]' \
		"(True, 'refuses 1 tar: missing')"
	truncate -s 1000 ds/chunk-000001.tar
	told 1 ds
	grep -q '^  wrong *chunk-000001.tar: is 1000 bytes.*; and 1 more$' \
		<<< "$output"
	cp "$from"/ds/*.tar ds
	printf XX | dd of=ds/index.hpdsl bs=1 seek=20 conv=notrunc status=none
	told 1 ds
	has "wrong ds/index.hpdsl: header: checksum differs" \
		"next hpdsl-index ds"
	truncate -s 10 ds/index.hpdsl
	told 1 ds
	has "next hpdsl-index ds"
	rm ds/index.hpdsl
	told 1 ds
	has "wrong ds: not a dataset: index.hpdsl is missing" \
		"next hpdsl-index ds"
	# what it says to type
	eval "$(sed -n 's/^  next *//p' <<< "$output") -q"
	told 0 ds
}

@test "a manifest that is damaged, or missing" {
	cp -r "$from/ds" ds
	printf XX | dd of=ds/dataset.yaml bs=1 seek=60 conv=notrunc status=none
	told 1 ds
	has "next hpdsl-index ds" "holds 18 samples, 48 members, $(
		)$(field bytes <<< "$json" | awk '{ printf "%.1f KiB", $1 / 1024 }')"
	rm ds/dataset.yaml
	told 1 ds
	has "ds: what is left of a packed dataset" \
		"wrong ds: not a dataset: dataset.yaml is missing"
	rm ds/index.hpdsl
	told 1 ds
	has "ds: what is left of a packed dataset" "next hpdsl-index ds"
	: > ds/dataset.yaml
	told 1 ds
	is 'd["kind"]' dataset
}

@test "another program's dataset.yaml makes no dataset" {
	mkdir yolo
	echo "train: images/train" > yolo/dataset.yaml
	told 0 yolo
	is 'd["kind"]' tree
	told 0 yolo/dataset.yaml
	is 'd["kind"]' file
}

@test "a chunk, whole and cut off; without its dataset" {
	cp -r "$from/ds" ds
	told 0 ds/chunk-000001.tar
	has "ds/chunk-000001.tar: a chunk of a packed dataset" "dataset ds" \
		"next hpdsl-verify ds"
	is 'd["kind"], d["directory"], d["chunk"], d["first_sample"]' \
		"('chunk', 'ds', 1, 5)"
	is 'd["file_bytes"] == d["expected_bytes"]' True
	ln -s ds/chunk-000001.tar link
	told 0 link
	is 'd["directory"].endswith("/ds"), d["chunk"]' "(True, 1)"
	truncate -s 3000 ds/chunk-000001.tar
	told 1 ds/chunk-000001.tar
	grep -q '^  wrong *chunk-000001.tar is 3000 bytes' <<< "$output"
	mkdir alone
	cp "$from/ds/chunk-000000.tar" alone
	told 0 alone/chunk-000000.tar
	has "alone/chunk-000000.tar: a chunk, without an index that knows it" \
		"next hpdsl-index alone"
	eval "$(sed -n 's/^  next *//p' <<< "$output") -q"
	told 0 alone/chunk-000000.tar
	has "alone/chunk-000000.tar: a chunk of a packed dataset"
}

@test "chunks that are given together are of their dataset" {
	local next
	cp -r "$from/ds" ds
	told 0 ds/chunk-*.tar
	has "ds/chunk-000000.tar: 4 chunks of a packed dataset" "dataset ds" \
		"given 4 chunks, 18 samples" "next hpdsl-verify ds"
	is 'd["kind"], d["directory"], d["given"], d["given_samples"]' \
		"('chunk', 'ds', 4, 18)"
	[ "$(value 'd["file_bytes"]')" = "$(cat ds/*.tar | wc -c)" ]
	truncate -s 3000 ds/chunk-000002.tar
	told 1 ds/chunk-000001.tar ds/chunk-000002.tar
	has "given 2 chunks, 9 samples"
	grep -q '^  wrong *chunk-000002.tar is 3000 bytes' <<< "$output"
	# of two folders, or with another tar, they are tars
	cp -r "$from/ds" other
	told 0 ds/chunk-000001.tar other/chunk-000003.tar
	is 'd["kind"], d["says"]' "('tars', 'tar files')"
	told 0 ds/chunk-000000.tar "$(tars in 1; echo in/000.tar)"
	is 'd["kind"], d["tars"]' "('tars', 2)"
}

@test "some of the chunks, and no index: they become tars of a dataset" {
	mkdir some
	cp "$from"/ds/chunk-00000[13].tar some
	told 1 some
	next=$(sed -n 's/^  next *//p' <<< "$output")
	[ "$next" = "hpdsl-index -o some.hpdsl some/chunk-*.tar*" ]
	told 0 some/chunk-000003.tar
	has "next $next"
	eval "$next -q"
	told 0 some.hpdsl
	has "some.hpdsl: a dataset of tar files that others wrote"
	hpdsl-pack -q --zstd --chunks=3 "$from/tree" z
	rm z/chunk-000001.tar.zst z/index.hpdsl
	told 1 z
	eval "$(sed -n 's/^  next *//p' <<< "$output") -q"
	told 0 z.hpdsl
}

@test "a compressed chunk" {
	hpdsl-pack -q --zstd --chunks=1 "$from/tree" ds
	[ -f ds/chunk-000000.tar.zst ]
	told 0 ds/chunk-000000.tar.zst
	has "ds/chunk-000000.tar.zst: a chunk of a packed dataset"
	is 'd["compressed_chunks"]' 1
	mkdir alone
	cp ds/chunk-000000.tar.zst alone
	told 0 alone/chunk-000000.tar.zst
	is 'd["first_member"].startswith("class")' True
}

@test "files of a dataset: told with the folder that they are in" {
	told 0 "$from/ds/index.hpdsl"
	has "$from/ds/index.hpdsl: the index of a packed dataset" \
		"directory $from/ds"
	is 'd["kind"], d["samples"]' "('index', 18)"
	told 0 "$from/ds/dataset.yaml"
	is 'd["kind"], d["samples"]' "('manifest', 18)"
	cp "$from/ds/index.hpdsl" other
	told 0 other
	has "other: the index of a dataset that is not here"
	truncate -s -1 other
	told 1 other
	has "other: the index of a dataset that is not here"
	grep -q '^  wrong *other: has [0-9]* bytes, should have' <<< "$output"
	: > index.hpdsl
	told 1 index.hpdsl
	rm index.hpdsl
	head -c 200 "$from/ds/dataset.yaml" > other
	told 1 other
	has "other: the manifest of a dataset that is not here"
	# a copy is none of the dataset that it lies in
	cp -r "$from/ds" ds
	cp ds/dataset.yaml ds/copy.yaml
	told 0 ds/copy.yaml
	has "ds/copy.yaml: the manifest of a dataset that is not here"
}

# bats test_tags=wide
@test "side files, and their folder, are told with their dataset" {
	local file
	hpdsl-pack -q --emit=dali,energon,wids --digest=sha256 --chunks=2 \
		"$from/tree" ds
	local files="SHA256SUMS shards.json chunk-000001.idx .nv-meta/dataset.yaml"
	! at_level more ||
		files+=" chunk-000000.tar.idx .nv-meta/split.yaml .nv-meta/.info.json"
	for file in $files; do
		told 0 "ds/$file"
		has "ds/$file: a side file of a packed dataset" "directory ds" \
			"next hpdsl-verify ds"
		is 'd["kind"], d["samples"]' "('side', 18)"
		# without the dataset it is anybody's
		cp "ds/$file" "${file##*/}"
		told 0 "${file##*/}"
		is 'd["kind"]' file
	done
	for file in ds/.nv-meta ds/.nv-meta/; do
		told 0 "$file"
		has "$file: the folder of side files of a packed dataset" \
			"directory ds"
	done
	(cd ds/.nv-meta && told 0 . &&
		has "next hpdsl-verify $(cd .. && pwd -P)" && rm err)
	ln -s ds/.nv-meta/split.yaml link
	told 0 link
	is 'd["kind"]' side
}

@test "a pack that is at work, then killed, and how it goes on" {
	local next
	stopped_at 3 renameat hpdsl-pack -q -j0 --labels=dir --chunks=6 \
		--seed=7 --exclude="it's *" "$from/tree" out
	told 0 out
	has "out: a pack that is at work" "next hpdsl-info out"
	is 'd["at_work"], d["process"]' "(True, $(cat pid))"
	kill -KILL "$pid"
	until_true [ ! -e "/proc/$pid" ]
	pid=
	told 0 out
	has "out: an unfinished pack"
	is 'd["kind"], d["chunks"], d["begun"]' "('unfinished', 6, True)"
	is 'd["at_work"], 0 < d["chunks_done"] < 6' "(False, True)"
	is 'd["bytes_done"] > 0, d["files"]' "(True, 48)"
	next=$(sed -n 's/^  next *//p' <<< "$output")
	[ "$next" = "$(value 'd["next"]')" ]
	[ "$next" = "hpdsl-pack --resume --seed=7 --labels=dir:1 --chunks=6 $(
		)--exclude='it'\\''s *' INPUT out" ]
	told 0 out/journal.hpdsl
	has "out/journal.hpdsl: the journal of an unfinished pack"
	told 0 out/chunk-000000.tar
	has "out/chunk-000000.tar: a chunk of a pack that is unfinished"
	eval "${next/INPUT/\"\$from/tree\"} -q"
	told 0 out
	has "out: a packed dataset" "shuffled yes, seed 7"
}

@test "a replacement that was ended" {
	local next
	cp -r "$from/ds" ds
	stopped_at 3 renameat hpdsl-pack -q -j0 --force --chunks=5 \
		"$from/tree" ds
	kill -KILL "$pid"
	until_true [ ! -e "/proc/$pid" ]
	pid=
	told 0 ds
	told 0 ./.ds.hpdsl-new/
	has "next hpdsl-pack --resume --force --chunks=5 INPUT ./ds"
	next=$(sed -n 's/^  next *//p' <<< "$output")
	eval "${next/INPUT/\"\$from/tree\"} -q"
	told 0 ds
	is 'd["chunks"]' 5
}

@test "journals that have not begun, cut off or no journals" {
	mkdir none torn bad later
	: > none/journal.hpdsl
	told 0 none
	is 'd["kind"], d["begun"]' "('unfinished', False)"
	printf '\x89HPDSLJ\n' > torn/journal.hpdsl
	told 0 torn
	head -c 4096 /dev/urandom > bad/journal.hpdsl
	told 0 bad
	is 'd["begun"], d["next"]' "(False, 'hpdsl-pack --resume INPUT bad')"
	mkfifo later/journal.hpdsl
	told 1 later
	is 'd["damaged"]' True
}

@test "tars of others: a directory, some of them, one" {
	tars shards 12
	told 0 shards
	has "shards: a directory of tar files that are no dataset yet" \
		"taken by webdataset, dali, energon, wids, hf, ray" \
		"suffixes 1 cls, 1 jpg" "first 0.cls" "next hpdsl-index --labels=cls shards"
	is 'd["kind"], d["tars"], d["compressed"]' "('tars', 12, 0)"
	[ "$(value 'd["tar_bytes"]')" = "$(cat shards/* | wc -c)" ]
	told 0 shards/001.tar shards/005.tar
	is 'd["kind"], d["tars"]' "('tars', 2)"
	has "next hpdsl-index --labels=cls -o 001.hpdsl shards/001.tar shards/005.tar"
	told 0 shards/003.tar
	is 'd["samples"], d["members"], d["at_least"]' "(1, 2, False)"
	fails 2 "TAR files, not also 'shards'" hpdsl-info shards/001.tar shards
	fails 1 "absent.tar: nothing is there" hpdsl-info shards/001.tar absent.tar
	# one that is given twice is one
	told 0 shards/001.tar ./shards/001.tar
	is 'd["tars"], d["samples"], d["kind"]' "(1, 1, 'tars')"
	fails 2 "PATH is missing" hpdsl-info
	# what it says to type
	told 0 shards
	eval "$(sed -n 's/^  next *//p' <<< "$output") -q"
	told 0 shards
	has "shards: a dataset of tar files that others wrote" "sample '0': cls jpg" \
		"classes 12, of 1 sample each: 0, 1, 2, 3, ..."
	hpdsl-index -q --labels=none shards
	hpdsl-pack -q shards "it's"
	told 0 shards
	has "classes none, and 12 members .cls may say them: hpdsl-index --labels=cls shards"
	told 0 "it's"
	has "classes none, and 12 members .cls may say them: hpdsl-pack --labels=cls 'it'\\''s' OUTPUT"
	told 0 shards/003.tar
	is 'd["kind"]' tar
	# what a sample is, is left open by their names
	mkdir t dots
	touch t/p.{1..9}.{cls,jpg}
	tar -cf dots/x.tar -C t p.{1..9}.{cls,jpg}
	told 0 dots
	has "next hpdsl-index --group=last --labels=cls dots"
	is 'd["group_look"]["verdict"]' refuse
}

@test "tars that each count from 0: keys repeat, samples are told as they are" {
	local i k
	mkdir t shards
	for k in 0 1; do
		for i in 00000{0..3}; do
			echo "$k" > "t/$i.cls"
			echo "image $k $i" > "t/$i.jpg"
		done
		# in a sample the image comes first
		(cd t && tar -cf "../shards/$k.tar" 00000{0..3}.{jpg,cls})
	done
	hpdsl-index -q shards
	told 0 shards
	has "sample '000000': cls jpg" "suffixes 8 cls, 8 jpg"
	[[ $output = *'holds '*'8 samples, 16 members,'* ]]
	[[ $output != *$'\n  names '* && $output != *$'\n  sets '* ]]
	[[ $output != *$'\n  apart '* ]]
	is 'd["group_look"]["verdict"], d["group_look"]["files"]' "('pass', 0)"
	is 'd["group_look"]["suffix_sets"]' \
		"[{'suffixes': ['cls', 'jpg'], 'more': 0, 'samples': 8, 'first': '000000'}]"
	[[ $output = *'suffixes=["jpg", "cls"])'* ]]
	pasted 8
	# also where one ends with the key that the next one begins with
	mkdir ones
	for k in 0 1 2; do
		tar -C t -cf "ones/$k.tar" 000000.jpg
	done
	hpdsl-index -q ones
	told 0 ones
	has "sample '000000': jpg" "suffixes 3 jpg"
	[[ $output != *'jpg jpg'* && $output != *'"jpg", "jpg"'* ]]
	pasted 3
}

@test "compressed archives, and a zip, are packed" {
	tars shards 2
	gzip shards/*.tar
	told 0 shards
	has "shards: a directory of compressed archives" "first 0.cls" \
		"next hpdsl-pack --labels=cls shards/*.tar.gz shards.hpdsl"
	eval "$(sed -n 's/^  next *//p' <<< "$output") -q"
	told 0 shards.hpdsl
	is 'd["samples"]' 2
	told 0 shards/000.tar.gz
	has "shards/000.tar.gz: a compressed archive"
	python3 -c 'import zipfile
zipfile.ZipFile("z.zip", "w").writestr("1.txt", "one")'
	told 0 z.zip
	has "z.zip: a compressed archive" "next hpdsl-pack z.zip z.hpdsl"
	is 'd["first_member"]' 1.txt
}

@test "archives of all kinds that hpdsl-pack takes" {
	local end
	tars in 1
	mkdir one
	for end in 7z tar.lz tar.lzma; do
		case $end in
		7z) bsdtar --format=7zip -cf one/a.7z @in/000.tar ;;
		tar.lz) bsdtar --lzip -cf one/a.tar.lz @in/000.tar ;;
		*) bsdtar --lzma -cf one/a.tar.lzma @in/000.tar ;;
		esac
		told 0 "one/a.$end"
		has "one/a.$end: a compressed archive"
		typed
		rm -r a.hpdsl
		told 0 one
		has "one: a directory of compressed archives"
		rm one/*
	done
}

@test "first bytes say what an archive is, names do not" {
	local name
	tars in 3
	python3 -c 'import zipfile
zipfile.ZipFile("zip.tar", "w").writestr("1.txt", "one")'
	gzip -c in/000.tar > gz.tar
	cp in/001.tar plain.tar.gz
	cp in/002.tar plain.zip
	local -A labels=([zip.tar]="" [gz.tar]="--labels=cls ")
	for name in zip.tar gz.tar; do
		told 0 "$name"
		has "$name: a compressed archive" \
			"next hpdsl-pack ${labels[$name]}$name ${name%.tar}.hpdsl"
		is 'd["compressed"]' 1
		typed
	done
	for name in plain.tar.gz plain.zip; do
		told 0 "$name"
		has "$name: a tar file"
		is 'd["compressed"], d["samples"], d["members"]' "(0, 1, 2)"
		typed
		rm -r plain.hpdsl
	done
	# in a folder, too
	mkdir one two
	mv gz.tar one/a.tar
	mv plain.tar.gz two/a.tar.gz
	told 0 one
	has "one: a directory of compressed archives" \
		"next hpdsl-pack --labels=cls one/*.tar one.hpdsl"
	typed
	told 0 two
	has "two: a directory of tar files that are no dataset yet" \
		"next hpdsl-pack --labels=cls two/*.tar.gz two.hpdsl"
	typed
	told 0 two.hpdsl
	is 'd["samples"]' 1
	echo text > text.tar
	told 1 text.tar
	has "text.tar: a file that is called like an archive, and is none"
	cp text.tar one/b.tar
	told 1 one
	grep -q '^  wrong *b.tar: no archive, whatever its name' <<< "$output"
}

@test "archives of several kinds: all of them, and paths that clash" {
	mkdir all
	tars in 4
	mv in/000.tar all/a.tar
	gzip -c in/001.tar > all/b.tar.gz
	xz -c in/002.tar > all/c.TAR.XZ
	python3 -c 'import zipfile
zipfile.ZipFile("all/d.zip", "w").writestr("9.txt", "nine")'
	told 0 all
	has "all: a directory of tar files, some of them compressed" \
		"next hpdsl-pack --labels=cls all/*.tar all/*.tar.gz all/*.TAR.XZ $(
		)all/*.zip all.hpdsl"
	is 'd["tars"], d["compressed"]' "(4, 3)"
	typed
	told 0 all.hpdsl
	is 'd["members"]' 7
	# the same files in two
	cp all/a.tar all/e.tar
	told 0 all
	has "next hpdsl-pack --prefix-input --labels=cls all/*.tar all/*.tar.gz $(
		)all/*.TAR.XZ all/*.zip all-2.hpdsl"
	typed
	told 0 all-2.hpdsl
	is 'd["members"]' 9
	# names that a dataset of them cannot have twice
	mkdir x y
	cp in/003.tar x/t.tar
	cp all/a.tar y/t.tar
	told 0 x/t.tar y/t.tar
	has "next hpdsl-pack --labels=cls x/t.tar y/t.tar t.hpdsl"
	typed
	cp x/t.tar y/t.tar
	told 0 x/t.tar y/t.tar
	is 'd["next"]' None
	grep -q '^  clash ' <<< "$output"
}

@test "tars without files in them: no next command; a first one passed over" {
	local name
	head -c 10240 /dev/zero > zeros.tar
	mkdir d folders
	tar -cf folders.tar d
	tar -czf folders.tgz d
	for name in zeros.tar folders.tar folders.tgz; do
		told 0 $name
		has "holds no files"
		is 'd["next"]' None
	done
	cp zeros.tar folders/a.tar
	told 0 folders
	is 'd["next"]' None
	tars in 1
	cp in/000.tar folders/b.tar
	told 0 folders
	has "first 0.cls" "next hpdsl-index --labels=cls folders"
	typed
}

@test "tars that are damaged" {
	tars shards 3
	head -c 700 shards/000.tar > cut.tar
	told 1 cut.tar
	has "next hpdsl-verify --compat=all cut.tar"
	: > nothing.tar
	told 1 nothing.tar
	head -c 5000 /dev/urandom > junk.tar
	told 1 junk.tar
	is 'd["kind"], d["damaged"]' "('tar', True)"
	cp junk.tar shards/001.tar
	told 1 shards
	grep -q '^  wrong *001.tar: ' <<< "$output"
}

@test "what readers trip over is told, with the first" {
	mkdir t
	echo a > "t/README"
	echo b > t/1.jpg
	tar -cf odd.tar -C t README 1.jpg
	told 0 odd.tar
	grep -q "^  not by *webdataset: drops 1 member: no suffix, first README" \
		<<< "$output"
	# looked at in part: what a look at all finds, as far as it goes
	hpdsl-verify --compat=all --json odd.tar > all.json || true
	is '[r["reader"] for r in d["readers"][1:] if not r["takes"]]' \
		"$(python3 -c 'import json
print([r["reader"] for r in json.load(open("all.json"))["readers"] if r["trips"]])')"
}

@test "many members: some are looked at, the sample at the end is not cut" {
	mkdir t
	python3 - <<- 'END'
		import io, tarfile
		for n in range(2):
		    with tarfile.open("%d.tar" % n, "w") as t:
		        for i in range(2500):
		            for suffix in ("cls", "json", "jpg"):
		                m = tarfile.TarInfo("%d%06d.%s" % (n, i, suffix))
		                m.size = 1
		                t.addfile(m, io.BytesIO(b"x"))
	END
	told 0 0.tar
	is 'd["at_least"], "samples" in d' "(True, False)"
	# the suffixes of all samples are the same
	is '[r["reader"] for r in d["readers"][1:] if not r["takes"]]' "[]"
	is '0 < d["looked_at"] <= 4096 and d["looked_at"] % 3' 0
	told 0 0.tar 1.tar
	is '0 < d["looked_at"] <= 4096 and d["looked_at"] % 3' 0
	is '[r["reader"] for r in d["readers"][1:] if not r["takes"]]' "[]"
}

@test "a plain tree, class folders or not; folders of tars" {
	told 0 "$from/tree"
	has "$from/tree: a directory of files, not packed" "files 48" \
		"folders 3" "classes 3 folders look like them" \
		"next hpdsl-pack --labels=dir $from/tree $from/tree.hpdsl"
	is 'd["kind"], d["files"], d["folders"], d["class_folders"]' \
		"('tree', 48, 3, 3)"
	is 'd["at_least"], d["suffixes"][0]' \
		"(False, {'suffix': 'json', 'files': 18})"
	mkdir -p imagenet/{train,val}/{cat,dog}
	for f in imagenet/*/*; do touch "$f/1.jpg"; done
	touch imagenet/LICENCE
	told 0 imagenet
	has "classes 4 folders in train, val look like them" \
		"next hpdsl-pack --labels=dir:2 imagenet imagenet.hpdsl"
	typed
	rm -r imagenet.hpdsl imagenet/*/*/
	touch imagenet/train/1.jpg imagenet/val/2.jpg
	told 0 imagenet
	has "next hpdsl-pack imagenet imagenet.hpdsl"
	mkdir flat
	touch flat/a.txt flat/b.txt
	ln -s a.txt flat/link
	mkfifo flat/fifo
	told 0 flat
	has "next hpdsl-pack --exclude=/fifo flat flat.hpdsl" \
		"others 2, links or special"
	typed
	rm -r flat.hpdsl flat/fifo
	(cd flat && told 0 . && has "next hpdsl-pack . $(pwd -P).hpdsl" && rm err)
	tars sets/train 2
	tars sets/val 1
	told 0 sets
	[[ $(value 'd["next"]') = "hpdsl-info sets/"* ]]
}

# looks WORD TEXT: what a tree looks like.
looks()
{
	has "looks like $2"
	is 'd["looks_like"]' "$1"
}

@test "what a tree looks like, and how it is packed" {
	local i
	mkdir -p z/a "h u/models--a--b/"{blobs,refs,snapshots/0123abc} \
		coco/{annotations,train2017,val2017} yolo/{images,labels}/val \
		large splits/{train,val}/{cat,dog}
	for i in z/.zgroup z/a/{.zarray,0.0,0.1,1.0} coco/{train,val}2017/{1,2}.jpg \
		coco/annotations/instances_val.json yolo/images/val/{1,2}.jpg \
		yolo/labels/val/{1,2}.txt splits/{train,val}/{cat,dog}/1.jpg; do
		echo "$i" > "$i"
	done
	told 0 z
	looks zarr "a zarr store, of which each file is a sample"
	typed
	told 0 z.hpdsl
	is 'd["samples"]' 5
	i="h u/models--a--b"
	printf 0123abc > "$i/refs/main"
	echo weights > "$i/blobs/5a"
	ln -s ../../blobs/5a "$i/snapshots/0123abc/model.bin"
	told 0 "h u"
	looks hf-cache "a Hugging Face cache, whose snapshots are links"
	typed
	[ "$(hpdsl-ls "h u.hpdsl")" = model.bin ]
	# of several repositories none is the one that is meant
	cp -a "$i" "h u/models--a--c"
	told 0 "h u"
	looks hf-cache "a Hugging Face cache, whose snapshots are links"
	is 'd["next"]' None
	mkdir -p mds/{train,val}
	touch mds/{train,val}/{index.json,shard.00000.mds}
	told 0 mds
	looks records "records of another library, many samples in a file: $(
		)write these to a tar with its own reader (hpdsl-python(7))"
	is 'd["next"]' None
	# those of LitData are told from others by their index
	mkdir lit
	touch lit/chunk-0-{0,1}.bin
	told 0 lit
	is '"looks_like" in d' False
	touch lit/index.json
	told 0 lit
	is 'd["looks_like"]' records
	# a table that names them, if it is the one, and is one
	mkdir csv
	touch csv/{1,2}.jpg
	printf 'file_name,text\n1.jpg,a\n' > csv/t.csv
	told 0 csv
	is '"table" in d' False
	printf 'file_name,label\n1.jpg,a\n2.jpg,b\n' > csv/t.csv
	told 0 csv
	has "table csv/t.csv names samples and classes"
	is 'd["table"]' csv/t.csv
	typed
	[ "$(hpdsl-ls --samples -l csv.hpdsl | wc -l)" = 2 ]
	told 0 coco
	is 'd["looks_like"], "class_folders" in d' "('coco', False)"
	typed
	told 0 yolo
	looks images-labels "pictures and labels in folders of their own"
	has "apart 'images/val/1' and 'labels/val/1' are two samples, and so $(
		)are 100 % of those of images; in one folder they would be one"
	is 'd["group_look"]["parted"]' 1.0
	typed
	truncate -s 40M large/{1,2}.mp4
	told 0 large
	looks large-files "large files: packing them brings little, but for staging"
	told 0 splits
	looks imagefolder-splits "ImageFolder, with splits"
	typed
	tars shards/train 2
	told 0 shards
	looks shards "archives, as shards of WebDataset"
}

@test "trees with what hpdsl-pack does not take as it is" {
	mkdir -p odd/sub twice
	touch odd/a.txt odd/sub/b.txt out.txt
	mkfifo "odd/sub/a fifo"
	told 0 odd
	has "next hpdsl-pack '--exclude=/sub/a fifo' odd odd.hpdsl" ||
		has "next hpdsl-pack --exclude='/sub/a fifo' odd odd.hpdsl"
	typed
	rm "odd/sub/a fifo"
	ln -s ../a.txt odd/sub/inside
	told 0 odd
	has "next hpdsl-pack odd odd-2.hpdsl"
	typed
	ln -s ../out.txt odd/outside
	told 0 odd
	has "next hpdsl-pack --symlinks=follow-all odd odd-3.hpdsl"
	typed
	rm odd/outside
	ln -s nowhere odd/dangling
	told 0 odd
	has "next hpdsl-pack --symlinks=follow-all odd odd-4.hpdsl"
	typed
	# more than anybody would type
	for n in 1 2 3 4 5 6 7 8 9; do mkfifo twice/$n; done
	touch twice/file
	told 0 twice
	is 'd["next"], d["others"]' "(None, 9)"
}

@test "an index or a manifest, and no chunk: nothing to type" {
	local file
	for file in index.hpdsl dataset.yaml; do
		mkdir "of-$file"
		cp "$from/ds/$file" "of-$file"
		told 1 "of-$file"
		is 'd["next"]' None
	done
}

# bats test_tags=more
@test "a large tree: at least" {
	python3 - <<- 'END'
		import os
		for d in range(11):
		    os.makedirs("big/%d" % d)
		    for i in range(10000):
		        os.close(os.open("big/%d/%d" % (d, i), os.O_CREAT))
	END
	told 0 big
	is 'd["at_least"]' True
	is 'd["files"] + d["folders"] <= 100000' True
	grep -q '^  files *at least ' <<< "$output"
}

@test "nothing, an empty directory, links, FIFOs, devices, other files" {
	told 1 absent
	has "absent: nothing is there"
	is 'd["kind"], d["next"], d["damaged"]' "('nothing', None, False)"
	touch file
	told 1 file/below
	is 'd["kind"]' nothing
	ln -s nowhere dangling
	told 1 dangling
	has "dangling: a symbolic link that leads nowhere"
	mkdir empty
	told 0 empty
	has "empty: an empty directory" "next hpdsl-pack INPUT empty"
	mkfifo fifo
	told 0 fifo
	has "fifo: a FIFO"
	told 0 /dev/null
	has "/dev/null: a device"
	told 0 file
	has "file: an empty file"
	echo text > file
	told 0 file
	is 'd["kind"], d["next"]' "('file', None)"
	ln -s loop loop
	fails 3 "loop: " hpdsl-info loop
	ln -s "$from/ds" link
	told 0 link/
	has "link/: a packed dataset" "next hpdsl-verify link/"
}

# Names that a shell, a terminal or a line would take for something else.
# bats test_tags=wide
@test "names of any bytes: one line each, and a next command that works" {
	local name
	# shellcheck disable=SC2016
	local names=("it's" $'new\nline' -x '$HOME' $'\x1b[31mred' $'latin\xe9')
	! at_level more ||
		names+=('a b' '*' '#' '~' '=ls' 'back\slash' $'c1\xc2\x9b')
	for name in "${names[@]}"; do
		mkdir -- "$name"
		cp "$from"/ds/* "./$name"
		told 0 -- "$name"
		[ "$(head -n 1 <<< "$output" | grep -c ': a packed dataset$')" = 1 ]
		[ "$(grep -c '^  next  ' <<< "$output")" = 1 ]
		[ "$(sed -n 's/^  next *//p' <<< "$output" |
			grep -caP '[\x00-\x08\x0e-\x1f\x7f]')" = 0 ]
		bash -c "$(sed -n 's/^  next *//p' <<< "$output") -q"
		bash -c "$(value 'd["next"]') -q"
		rm -r -- "./$name"
	done
}

@test "FIFOs and folders in the place of files: no wait, one line" {
	local file how
	for file in dataset.yaml index.hpdsl chunk-000001.tar; do
		for how in mkfifo mkdir; do
			rm -rf ds
			cp -r "$from/ds" ds
			rm "ds/$file"
			$how "ds/$file"
			told 1 ds
			is 'd["kind"], d["damaged"], "unread" in d' \
				"('dataset', True, False)"
		done
	done
	mkdir odd
	mkfifo odd/a.tar
	told 0 odd
	is 'd["kind"], d["others"]' "('tars', 1)"
}

@test "names in a dataset and in tars are escaped" {
	mkdir -p $'in/new\nclass' t
	echo x > $'in/new\nclass/1.txt'
	hpdsl-pack -q --labels=dir --meta=$'k=a\nb' in ds
	told 0 ds
	grep -q 'classes *1, of 1 sample each: new\\nclass$' <<< "$output"
	is 'd["classes"][0]["name"]' $'new\nclass'
	echo x > $'t/a\nb.jpg'
	tar -cf odd.tar -C t $'a\nb.jpg'
	told 0 odd.tar
	has 'first a\nb.jpg'
}

@test "what may not be read" {
	local as=()
	if [ "$(id -u)" = 0 ]; then
		need setpriv
		chmod 755 . .. ../..
		as=(setpriv --reuid=65533 --regid=65533 --clear-groups)
		"${as[@]}" test -r . -a -x "$BUILD/hpdsl-info" ||
			skip "another user cannot come here"
	fi
	mkdir closed
	chmod 0 closed
	fails 3 "closed: Permission denied" "${as[@]}" "$BUILD/hpdsl-info" closed
	fails 3 "closed: Permission denied" "${as[@]}" "$BUILD/hpdsl-info" \
		--json closed
	chmod 755 closed
	cp -r "$from/ds" ds
	chmod 0 ds/index.hpdsl
	run "${as[@]}" "$BUILD/hpdsl-info" ds
	[ "$status" = 3 ]
	[[ $output = *"unread "*"index.hpdsl: Permission denied"* ]]
	chmod 644 ds/index.hpdsl
	chmod 0 ds/chunk-000001.tar
	run "${as[@]}" "$BUILD/hpdsl-info" ds
	[ "$status" = 3 ]
	[[ $output = *"taken by "*"none of the readers: "*"Permission denied"* ]]
	[[ $output = *"unread "*"chunk-000001.tar: Permission denied"* ]]
	mkdir -p tree/shut
	touch tree/file
	chmod 0 tree/shut
	run "${as[@]}" "$BUILD/hpdsl-info" tree
	[ "$status" = 3 ]
	[[ $output = *"unread "*"1 folder that cannot be looked into"* ]]
	[[ $output != *"next "* ]]
	chmod 755 tree/shut
}

# No file is read whole, and none is changed.
@test "it reads little, and writes nothing" {
	need strace
	mkdir in
	head -c 20000000 /dev/urandom > in/1.bin
	head -c 20000000 /dev/urandom > in/2.bin
	hpdsl-pack -q --chunks=1 in ds
	traced -f -o trace -e trace=read,pread64,openat hpdsl-info ds > told
	[ "$(awk -F= '/read/ && $NF > 0 { sum += $NF } END { print sum + 0 }' \
		trace)" -lt 2000000 ]
	[ "$(grep -cE 'openat.*O_(WRONLY|RDWR)' trace)" = 0 ]
	rm in/2.bin
	tar -cf big.tar -C in 1.bin
	traced -f -o trace -e trace=read,pread64,openat hpdsl-info big.tar > told
	[ "$(awk -F= '/read/ && $NF > 0 { sum += $NF } END { print sum + 0 }' \
		trace)" -lt 2000000 ]
}

# Bytes turned at random never do more than make it say so.
@test "flipped and cut files: a status, no crash" {
	python3 - "$from/ds" <<- 'END'
		import os, random, shutil, subprocess, sys
		random.seed(18)
		names = sorted(os.listdir(sys.argv[1]))
		for n in range(40):
		    shutil.rmtree("ds", ignore_errors=True)
		    shutil.copytree(sys.argv[1], "ds")
		    name = "ds/" + random.choice(names)
		    data = bytearray(open(name, "rb").read())
		    if n % 4 == 0:
		        data = data[:random.randrange(len(data))]
		    else:
		        for _ in range(8):
		            at = random.randrange(min(len(data), 4096))
		            data[at] = random.randrange(256)
		    open(name, "wb").write(data)
		    for path in ("ds", name):
		        r = subprocess.run(["hpdsl-info", path], capture_output=True)
		        assert r.returncode in (0, 1, 3), (n, path, r)
		        assert not r.stderr, (n, path, r)
		        assert r.stdout.count(b"\n  wrong ") <= 1, (n, path, r)
	END
}
