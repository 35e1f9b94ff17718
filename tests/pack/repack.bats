#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A packed dataset as input: its members under their own paths, its classes,
# never its chunks as files.

bats_require_minimum_version 1.5.0

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in 3 40
	hpdsl-pack -q --labels=dir --chunks=5 in ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR"/{in,ds} .
}

# The classes of all samples, by key.
classes()
{
	hpdsl-ls --samples --json "$1" |
		python3 -c 'import json, sys
for line in sys.stdin:
    s = json.loads(line)
    print(s["key"], s["class"])' | LC_ALL=C sort
}

@test "what comes out is what the tree would give" {
	hpdsl-pack -q --labels=dir --chunks=4 --seed=7 in want
	hpdsl-pack -q --chunks=4 --seed=7 ds got
	hpdsl-verify -q --source in got
	for f in index.hpdsl chunk-00000{0,1,2,3}.tar; do
		cmp "want/$f" "got/$f"
	done
	diff <(grep -v -e labels: -e checksum: want/dataset.yaml) \
		<(grep -v -e labels: -e checksum: got/dataset.yaml)
	grep -qx '  labels: keep' got/dataset.yaml
}

@test "classes are kept, dropped or made anew as asked" {
	[ "$(classes ds | grep -c ' class[012]$')" = 120 ]
	diff <(classes ds) <(hpdsl-pack -q ds kept && classes kept)
	hpdsl-pack -q --labels=none ds dropped
	[ "$(classes dropped | grep -c ' None$')" = 120 ]
	hpdsl-pack -q --labels=parent --prefix-input ds anew
	hpdsl-ls anew | grep -q '^ds/class0/'
	grep -qx -- '- class2' anew/dataset.yaml
	# what is resumed must be the same
	fails 3 "--labels is none now, was keep" \
		hpdsl-pack -q --resume --labels=none ds kept
	hpdsl-pack -q --resume ds kept
}

@test "classes that have other numbers than they had are told" {
	mkdir a b
	for i in 2 3 10; do touch a/$i.jpg && echo $i > a/$i.cls; done
	touch b/d.jpg && echo dog > b/d.cls
	hpdsl-pack -q --labels=cls a 1
	hpdsl-pack -q --labels=cls b 2
	hpdsl-pack -q 1 2 both 2> err
	diff err - <<< "hpdsl-pack: warning: 4 classes have other numbers than in $(
		)the packed inputs, first '2': 1, was 2"
	hpdsl-pack -q --exclude='2.*' 1 part 2> err
	[ ! -s err ]
}

@test "datasets and trees together" {
	make_tree more 2 5
	mv more/class0 more/extra
	rm -r more/class1
	hpdsl-pack -q ds more out
	hpdsl-verify -q out
	hpdsl-pack -q in more both
	diff <(grep ^dataset_id both/dataset.yaml) \
		<(grep ^dataset_id out/dataset.yaml)
	# only the packed ones have classes
	[ "$(classes out | grep -c ' None$')" = 5 ]
	mv ds again
	cp -a again ds
	fails 2 "two files would become 'class0/00000.json': one from again, one from ds" \
		hpdsl-pack -q again ds twice
	[ ! -e twice ]
}

@test "patterns see the members' paths" {
	hpdsl-pack -q --include='*.json' --exclude='class1/' ds out
	[ "$(hpdsl-ls out | grep -c '^class[02]/.*json$')" = 80 ]
	[ "$(hpdsl-ls out | wc -l)" = 80 ]
	fails 3 "no files to pack" hpdsl-pack -q --include='*.xyz' ds none
}

@test "a damaged member is not packed on" {
	at=$(hpdsl-ls -l ds class1/00007.png | awk '{print $6}')
	chunk=$(printf 'ds/chunk-%06d.tar' \
		"$(hpdsl-ls -l ds class1/00007.png | awk '{print $5}')")
	printf X | dd of="$chunk" bs=1 seek="$at" conv=notrunc status=none
	# whatever the sizes of buffers are
	for memory in 8M 512M; do
		fails 3 "class1/00007.png': checksum differs" \
			hpdsl-pack -q --memory=$memory ds out
		[ ! -e out/dataset.yaml ]
		rm -rf out
	done
}

@test "a member larger than a buffer is checked too" {
	mkdir big
	head -c 3000000 /dev/zero | tr '\0' x > big/a.bin
	hpdsl-pack -q big bigds
	hpdsl-pack -q --memory=8M bigds out
	hpdsl-verify -q --source big out
	printf X | dd of=bigds/chunk-000000.tar bs=1 seek=2000000 conv=notrunc \
		status=none
	fails 3 "checksum differs" hpdsl-pack -q --memory=8M bigds out2
}

@test "a damaged index, and a manifest without its index" {
	rm ds/index.hpdsl
	fails 3 "index.hpdsl" hpdsl-pack -q ds out
	[ ! -e out ]
	# somebody else's dataset.yaml makes no dataset
	mkdir other
	echo 'path: train' > other/dataset.yaml
	hpdsl-pack -q other out
	[ "$(hpdsl-ls out)" = dataset.yaml ]
}

@test "an output inside the dataset is refused" {
	fails 2 "the output is inside the input" hpdsl-pack -q ds ds/out
}

@test "a packed dataset as the source of a comparison" {
	hpdsl-pack -q --zstd --names=portable --cls --seed=7 ds got
	hpdsl-verify -q --source=ds got
	hpdsl-verify -q --source=got ds
	# a file more, a file less, another content
	f=$(find in -type f | LC_ALL=C sort | head -n 1)
	echo other > "$f"
	echo new > in/class0/new.txt
	rm "$(find in -type f | LC_ALL=C sort | tail -n 1)"
	hpdsl-pack -q in other
	run -1 hpdsl-verify -q --source=other ds
	[ "${#lines[@]}" = 3 ]
	[[ $output = *"${f#in/}: "*" differs"* ]]
	[[ $output = *"class0/new.txt: is not in the dataset"* ]]
	[[ $output = *": is absent"* ]]
	# damage in the source is trouble, not a difference
	printf X | dd of=ds/chunk-000000.tar bs=1 seek=520 conv=notrunc status=none
	run -3 hpdsl-verify -q --source=ds got
	[[ $output = *checksum* ]]
}

@test "a list of files does not go with a packed dataset" {
	echo dataset.yaml > list
	run -2 hpdsl-pack --files-from=list ds out
	[[ $output = "hpdsl-pack: ds: a list of files does not go with a packed"* ]]
	[ ! -e out ]
	hpdsl-pack -q --include='class0/*' ds out
	run hpdsl-ls out
	[[ ${#lines[@]} -gt 0 && $output != *class1/* ]]
}
