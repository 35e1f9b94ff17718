#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --group=last: keys that end at the last dot, in all that goes by keys.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python

# Names with a number in them, double suffixes and compressed ones.
setup_file()
{
	local key n=0
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p tree/a tree/b
	for key in a/run1.{1,2,10} b/1305031102.{175304,211214} b/1305031103.0; do
		echo "$key npy" > "tree/$key.npy"
		echo "{\"n\": $((n++ % 2))}" > "tree/$key.json"
		echo "$key seg" > "tree/$key.seg.png"
	done
	echo brain > tree/a/brain.t1.nii.gz
	hpdsl-pack -q --group=last --double-suffix=seg.png --chunks=2 tree last
	hpdsl-pack -q --group=key --chunks=2 tree key
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	out=$BATS_TEST_TMPDIR
}

keys()
{
	hpdsl-ls --samples "$1" | LC_ALL=C sort
}

want=$'a/brain.t1\na/run1.1\na/run1.10\na/run1.2\nb/1305031102.175304\nb/1305031102.211214\nb/1305031103.0'

@test "samples are what they were meant to be, to every reader of ours" {
	diff <(keys last) - <<< "$want"
	python3 "$SRC/tests/kit/read_dataset.py" check last > "$out/members"
	[ "$(wc -l < "$out/members")" = 19 ]
	hpdsl-verify -q --source tree last
	grep -A 3 '^  group: last$' last/dataset.yaml | head -n 3 |
		diff - <(printf '  group: last\n  double_suffix:\n  - seg.png\n')
	[ "$(hpdsl-ls --samples last | wc -l)" = 7 ]
	[ "$(hpdsl-ls --samples key | wc -l)" = 4 ]
	hpdsl-info last | grep "^  sample  *'[ab]/.*: json npy seg.png"
	py - <<- 'END'
		import hpdsl
		ds, by_key = hpdsl.Dataset("last"), hpdsl.Dataset("key")
		assert ds.counts.dataset_id == by_key.counts.dataset_id
		assert ds.pack != by_key.pack
		for i in range(len(ds)):
		    sample = ds[i]
		    if sample.key == "a/brain.t1":
		        assert list(sample.members) == ["nii.gz"]
		        continue
		    assert list(sample.members) == ["json", "npy", "seg.png"]
		    for suffix in "npy", "seg.png":
		        name = suffix.split(".")[0]
		        assert sample[suffix] == f"{sample.key} {name}\n".encode()
		        assert sample.open(suffix).name == f"{sample.key}.{suffix}"
		loader = hpdsl.Loader(ds, 7, suffixes=["seg.png", "nii.gz"],
		                      on_warning=lambda told: None)
		for batch in loader:
		    assert sum(map(len, batch.members("nii.gz"))) == len(b"brain\n")
		    assert sum(map(bool, batch.members("seg.png"))) == 6
		for batch in hpdsl.Loader(ds, 7):
		    assert sum(map(bool, batch.members("npy"))) == 6
		try:
		    hpdsl.Loader(ds, 7, suffixes=["png"])
		except hpdsl.UsageError as e:
		    assert "'json', 'nii.gz', 'npy', 'seg.png'" in str(e), e
		else:
		    raise AssertionError
		choice = hpdsl.Choice(by_key, samples=[0, 1])
		try:
		    hpdsl.Loader(ds, 1, choice=choice)
		except hpdsl.DiffersError as e:
		    assert "another pack" in str(e)
		else:
		    raise AssertionError
	END
	# one dataset id, and what holds numbers of samples goes by the pack
	hpdsl-bench -q --steps=1 --batch=2 --save="$out/state" key > /dev/null
	fails 3 "the state is of another pack" \
		hpdsl-order --state="$out/state" last
	hpdsl-unpack -q last "$out/again"
	same_trees tree "$out/again"
}

@test "classes by key, from members and as members" {
	printf '%s one\n' a/run1.2 b/1305031103.0.npy > "$out/lines"
	printf 'key,class\nrun1.10,7\n1305031102.175304.json,3\n' > "$out/t.csv"
	hpdsl-pack -q --group=last --labels="$out/lines" tree "$out/lines.d" 2> err
	[ "$(hpdsl-ls --json --samples "$out/lines.d" | grep -c '"class": "one"')" = 2 ]
	hpdsl-pack -q --group=last --labels="$out/t.csv" tree "$out/csv"
	hpdsl-ls --json --samples "$out/csv" > "$out/list"
	grep '"a/run1.10".*"class": "7"' "$out/list"
	grep '"b/1305031102.175304".*"class": "3"' "$out/list"
	hpdsl-pack -q --group=last --double-suffix=seg.png --labels=parent --cls \
		tree "$out/cls"
	hpdsl-verify -q "$out/cls"
	hpdsl-ls "$out/cls" | grep -x 'a/run1.1.cls'
	[ "$(hpdsl-ls "$out/cls" | grep -c 'cls$')" = 7 ]
	hpdsl-pack -q --group=last --labels=json:n tree "$out/json"
	[ "$(hpdsl-ls --json --samples "$out/json" | grep -c '"class": "1"')" = 3 ]
}

@test "a dataset hands its rule on; several have to agree" {
	hpdsl-pack -q last "$out/again"
	diff <(keys "$out/again") - <<< "$want"
	cmp <(grep -A 2 ' group: ' last/dataset.yaml) \
		<(grep -A 2 ' group: ' "$out/again/dataset.yaml")
	hpdsl-pack -q --group=none last "$out/none"
	[ "$(hpdsl-ls --samples "$out/none" | wc -l)" = 19 ]
	hpdsl-pack -q --group=key last "$out/key"
	cmp "$out/key/index.hpdsl" <(hpdsl-pack -q --group=key tree "$out/k" &&
		cat "$out/k/index.hpdsl")
	hpdsl-pack -q --prefix-input last "$out/again" "$out/two"
	[ "$(hpdsl-ls --samples "$out/two" | wc -l)" = 14 ]
	fails 2 "in some inputs keys end at the last dot, in others keys end at the first dot; how they are grouped has to be said (--group)" \
		hpdsl-pack -q --prefix-input last key "$out/x"
	fails 2 "in others each file is a sample" \
		hpdsl-pack -q --prefix-input last "$out/none" "$out/x"
	fails 2 "how they are grouped has to be said" \
		hpdsl-pack -q --prefix-input last tree "$out/x"
	hpdsl-pack -q --group=last tree "$out/single"
	fails 2 "the inputs differ in their double suffixes; these have to be said (--group=last --double-suffix=SUFFIX)" \
		hpdsl-pack -q --prefix-input last "$out/single" "$out/x"
	fails 2 "the inputs differ in their double suffixes; these have to be said (--group=last --double-suffix=SUFFIX)" \
		hpdsl-pack -q --prefix-input --group=last last "$out/single" "$out/x"
	# what was one suffix is one, also where --group=last is spelled out
	hpdsl-pack -q --group=last last "$out/spelled"
	cmp "$out/spelled/index.hpdsl" "$out/again/index.hpdsl"
	hpdsl-pack -q --prefix-input --group=last last key tree "$out/x"
	[ "$(hpdsl-ls --samples "$out/x" | wc -l)" = 21 ]
	hpdsl-pack -q --prefix-input --group=last --double-suffix=a.b last \
		"$out/single" "$out/other"
	[ "$(hpdsl-ls --samples "$out/other" | wc -l)" = 26 ]
}

@test "other readers know the first dot alone" {
	hpdsl-pack -n --group=last --double-suffix=seg.png tree x > "$out/plan"
	grep "15: key of another sample (all readers), as 'a/run1.1.json'" "$out/plan"
	run ! hpdsl-verify --compat=webdataset last
	hpdsl-pack -q --shuffle=none --group=last --chunks=1 \
		--double-suffix=seg.png tree "$out/sorted"
	run ! hpdsl-verify --compat=webdataset "$out/sorted"
	[[ $output = *"key of another sample, first 'a/run1.10.json'"* ]]
	fails 2 "the key of another sample, too" hpdsl-pack -q --group=last \
		--emit=energon tree x
	hpdsl-pack -q --group=last --double-suffix=seg.png --for=webdataset tree \
		"$out/for"
	hpdsl-verify -q --compat=webdataset "$out/for"
	hpdsl-ls --stored "$out/for" > "$out/names"
	grep -x 'a/run1_2.npy' "$out/names"
	grep -x 'a/run1_2.seg.png' "$out/names"
	grep -x 'a/brain_t1.nii.gz' "$out/names"
	diff <(keys "$out/for") - <<< "$want"
}

@test "what is refused; resumed" {
	fails 2 "--double-suffix: goes with group last alone" \
		hpdsl-pack -q --double-suffix=seg.png tree x
	fails 2 "--double-suffix: 'png' is no suffix with a dot inside" \
		hpdsl-pack -q --group=last --double-suffix=png tree x
	fails 2 "--double-suffix: '.seg.png' is no suffix with a dot inside" \
		hpdsl-pack -q --group=last --double-suffix=.seg.png tree x
	fails 2 "is not key, last or none" hpdsl-pack --group=first tree x
	fails 3 "--group is key now, was last" \
		hpdsl-pack -q --resume --group=key --chunks=2 tree last
	fails 3 "--double-suffix is not given now, was 'seg.png'" \
		hpdsl-pack -q --resume --group=last --chunks=2 tree last
	hpdsl-pack -q --resume --group=last --double-suffix=seg.png --chunks=2 \
		tree last
	printf 'group: last\ndouble-suffix: [seg.png, a.b]\n' > "$out/c.yaml"
	hpdsl-pack -q --config="$out/c.yaml" tree "$out/c"
	diff <(keys "$out/c") - <<< "$want"
}
