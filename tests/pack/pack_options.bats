#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-pack's options: what they do, what is refused, the configuration file,
# the summary, signals and the deadline.

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 20
	mkdir tree/empty
	ln -s class0 tree/link
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	tree=$BATS_FILE_TMPDIR/tree
}

# json FILE EXPRESSION: Python over the object j.
json()
{
	python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), j' "$1" "$2"
}

chunks()
{
	find "$1" -name 'chunk-*.tar' | wc -l
}

@test "chunks: --chunks, --samples-per-chunk, --chunk-size, --multiple-of" {
	hpdsl-pack -q --chunks 7 "$tree" a
	[ "$(chunks a)" = 7 ]
	hpdsl-pack -q --samples-per-chunk=11 "$tree" b
	[ "$(chunks b)" = 6 ]
	hpdsl-pack -q --chunk-size 100K "$tree" c
	[ "$(chunks c)" -gt 1 ]
	[ "$(chunks c)" -lt 10 ]
	hpdsl-pack -q --chunks 5 --multiple-of 4 "$tree" d
	[ "$(chunks d)" = 8 ]
	fails 2 "60 samples cannot fill 61 chunks" \
		hpdsl-pack --chunks 61 "$tree" e
	fails 2 "only one of" hpdsl-pack --chunks 2 --chunk-size 1M "$tree" e
	[ ! -e e ]
}

@test "--include, --exclude, --group, --prefix-input" {
	hpdsl-pack -q --include '*.png' --include '*.json' \
		--exclude 'class1/*' "$tree" a
	[ "$(hpdsl-ls a | wc -l)" = 80 ]
	[ "$(hpdsl-ls a | grep -c class1)" = 0 ]
	hpdsl-pack --json --group none "$tree" b > b.json
	json b.json 'j["samples"] == j["members"]'
	hpdsl-pack -q --prefix-input "$tree" c
	hpdsl-ls c tree/class0/00001.png
}

@test "--files-from: relative to INPUT, to the current folder without one" {
	(cd "$tree" && find . -name '*.png') > list
	hpdsl-pack -q --files-from list "$tree" a
	[ "$(hpdsl-ls a | wc -l)" = 60 ]
	(cd "$tree" && find . -name '*.png' -print0 |
		hpdsl-pack -q -0 --files-from - "$BATS_TEST_TMPDIR/b")
	[ "$(dataset_digest a)" = "$(dataset_digest b)" ]
	hpdsl-ls a | hpdsl-pack -q --files-from=- "$tree" c
	[ "$(dataset_digest a)" = "$(dataset_digest c)" ]
	fails 3 "none: No such file" hpdsl-pack --files-from none "$tree" d
	fails 2 "line 1: a NUL byte" \
		hpdsl-pack --files-from <(printf 'a\0b') "$tree" d
	fails 2 "--null goes with" hpdsl-pack -0 "$tree" d
}

@test "--labels: none, dir, dir:N, parent" {
	hpdsl-pack --json --labels=dir "$tree" a > json
	json json 'j["classes"] == 3 and j["unlabelled"] == 0'
	hpdsl-pack --json --labels=parent --force "$tree" a > json
	json json 'j["classes"] == 3'
	hpdsl-pack --json --labels=dir:2 --force "$tree" a > json
	json json 'j["classes"] == 0 and j["unlabelled"] == 60'
	fails 2 "labels: 'dir:0'" hpdsl-pack --labels=dir:0 "$tree" b
	fails 2 "labels: ''" hpdsl-pack --labels= "$tree" b
	fails 3 "x: No such file" hpdsl-pack --labels x "$tree" b
}

@test "zarr stores whose chunks share keys are told of, nothing else is" {
	local name
	for name in .zarray .zgroup .zmetadata zarr.json; do
		rm -rf in out
		mkdir -p in/x.zarr/t
		echo 1 > in/x.zarr/$name
		touch in/x.zarr/t/{0,1}.0.{0,1}
		fails 2 "first 'x.zarr/t/0': " hpdsl-pack -q in out
		hpdsl-pack -q --group=key in out 2> err
		cat err
		[ "$(grep -c warning err)" = 1 ]
		grep -F "warning: a zarr store ('x.zarr/$name') whose chunks share keys: 2 samples of several, as 'x.zarr/t/0.0.0' and 'x.zarr/t/0.0.1'; without groups each file is a sample (--group=none)" err
		hpdsl-pack -q --force --group=none in out 2> err
		[ ! -s err ]
	done
	# in one file, an archive or a list too
	tar -cf in.tar -C in .
	run ! hpdsl-pack -q --dry-run in.tar out2
	[[ $output = *"a zarr store"*$'\n'"hpdsl-pack: 4 of 5 files "* ]]
	mv in/x.zarr/t/0.0.0 in/x.zarr/t/c.0.0
	mv in/x.zarr/t/0.0.1 in/x.zarr/t/c.0.1
	rm in/x.zarr/t/1.*
	(cd in && find . -type f) |
		hpdsl-pack -q --group=key --files-from - in b 2> err
	grep "1 sample of several, as 'x.zarr/t/c.0.0' and" err
	# no chunks of several dimensions, or no store: nothing to tell
	rm in/x.zarr/t/*
	touch in/x.zarr/t/{0,1,2} in/x.zarr/{a.1,a.x,1.jpg,1.json,0..1}
	hpdsl-pack -q in c 2> err
	[ ! -s err ]
	rm in/x.zarr/zarr.json
	touch in/x.zarr/t/0.{0,1}
	hpdsl-pack -q --group=key in d 2> err
	[ ! -s err ]
	# nor is a store elsewhere one of them
	mkdir in/y.zarr
	touch in/y.zarr/.zgroup
	hpdsl-pack -q --group=key in e 2> err
	[ ! -s err ]
}

@test "--group: names that look like samples of their own have to be told what they are" {
	local way="; keys that end at the last dot mend it; what a sample is has \
to be said (--group=last; --group=none: each file is one; --group=key: as here)" line
	mkdir -p t v
	touch t/patient-{a,b}.slice{1..40}.png v/{1305031102,1305031103}.{175304,211214}.png
	line="'patient-a': slice1.png slice10.png slice11.png and 37 more"
	fails 2 "80 of 80 files look like samples of their own that share a \
key, first $line$way" hpdsl-pack -q t out
	[ ! -e out ]
	fails 2 "first '1305031102': 175304.png 211214.png$way" \
		hpdsl-pack -q --names=portable v out
	hpdsl-pack --group=key t out 2> err
	[ "$(grep -cxF "hpdsl-pack: 2 samples; $line" err)" = 2 ]
	run ! grep warning err
	echo "group: key" > c.yaml
	hpdsl-pack -n --config=c.yaml t x > plan
	grep -xF "sample:   $line" plan
	hpdsl-pack --json --force --group=key t out > json
	json json 'j["group_look"]["verdict"] == "refuse"'
	json json 'j["group_look"]["files"] == 80 and j["group_look"]["last"]'
	json json 'j["group_look"]["example"].startswith("\x27patient-a\x27: ")'
	# what was packed so is no error, and hands on what its samples are
	hpdsl-pack -q out again 2> err
	grep "warning: 80 of 80 files .* mend it (--group=last; --group=none: each" err
	hpdsl-pack -q --group=none t none
	hpdsl-pack --json none none2 > json
	json json 'j["samples"] == 80 and j["group_look"]["verdict"] == "pass"'
	grep 'group: none' none2/dataset.yaml
	fails 2 "how they are grouped has to be said (--group)" \
		hpdsl-pack none v out2
	fails 2 "--cls does not go with group none" \
		hpdsl-pack --cls --labels=parent none out2
	# few are only told of
	mkdir -p few/b
	touch few/a.{0,1}.jpg few/b/{00..38}.jpg
	hpdsl-pack -q few out3 2> err
	grep "warning: 2 of 41 files .* first 'a': 0.jpg 1.jpg; keys" err
	# the advice is tried: here the last dot mends nothing
	mkdir shards
	touch shards/train.tfrecord-{00..19}-of-20
	fails 2 "; what a sample is has to be said (--group=none: each file is one;" \
		hpdsl-pack -q shards out4
	[[ $message != *mend* ]]
}

@test "--labels=dir is refused where folders look like splits" {
	local why='hpdsl-pack: the class folders look like splits (train, val, test): --labels=dir:2 takes the folders in them, --labels=dir:1 these'
	local late='look like splits (train, val, test); another folder of the path may name the class: --labels=dir:2; --labels=dir:1 takes this one'
	mkdir -p in/train/cat in/val/cat in/test/dog
	for f in train/cat/a val/cat/b test/dog/c; do echo $f > in/$f.x; done
	fails 2 "$why" hpdsl-pack -q --labels=dir in a
	find in -type f -printf '%P\n' > list
	fails 2 "$why" hpdsl-pack -q --labels=dir --files-from=list in a
	echo 'labels: dir' > config
	fails 2 "$why" hpdsl-pack --config=config -n in a
	# in an archive, and behind a pattern, they are seen after the scan
	tar cf in.tar -C in .
	fails 2 "$late" hpdsl-pack -q --labels=dir in.tar a
	fails 2 "${late/, test/}" hpdsl-pack -q --labels=dir --exclude=test in a
	# in capitals, too; but no --folder is called as the list has it
	mkdir capitals && cp -r in/train capitals/Train && cp -r in/val capitals/VAL
	fails 2 "${why/, test/}" hpdsl-pack -q --labels=dir capitals a
	tar cf capitals.tar -C capitals .
	fails 2 "${late/, test/}" hpdsl-pack -q --labels=dir capitals.tar a
	hpdsl-pack -n --labels=dir:2 capitals a 2> err
	run ! grep -e --folder err
	[ ! -e a ]
	# what is spelled out is meant
	for labels in dir:1 dir:2 parent; do
		hpdsl-pack -q --labels=$labels in $labels 2> err
		[ ! -s err ]
	done
	hpdsl-info dir:1 | grep 'classes *3, of 1 sample each: test, train, val'
	# one alone is told
	hpdsl-pack -q --labels=dir --exclude=val --exclude=test in b 2> err
	grep 'warning: the one class folder looks like a split (train)' err
	mkdir -p wrapped flat/cat
	cp -r in wrapped/data
	echo 1 > flat/cat/1.x
	hpdsl-pack -q --labels=dir wrapped alone 2> err
	grep "warning: all samples with a class have one, 'data'; another folder of the path may name the class: --labels=dir:2; --labels=dir:1 takes this one" err
	hpdsl-pack -q --labels=dir:1 --force wrapped alone 2> err
	hpdsl-pack -q --labels=dir --force flat alone 2>> err
	[ ! -s err ]
	# among other classes, a train is a train
	mkdir -p vehicles/train vehicles/car
	echo 1 > vehicles/train/1.x && echo 2 > vehicles/car/2.x
	hpdsl-pack -q --labels=dir vehicles d 2> err
	[ ! -s err ]
}

# told OPTIONS.. INPUT..: what is said of splits.
told()
{
	rm -rf out
	hpdsl-pack "$@" out 2>&1 > /dev/null | grep -e split -e 'one pack' \
		-e 'no path' -e together | sed 's/^hpdsl-pack: //'
}

@test "splits: one pack does for all, and their classes are the same" {
	local one='one pack does for train, val, test: one of them is read in Python with hpdsl.Choice(ds, folder="val"), by hpdsl-order, -bench and -mount with --folder=val, by hpdsl-ls and -unpack with '"'val/**'; readers of plain tars know none of this"
	mkdir -p in/train/{cat,dog} in/val/{cat,dog} in/test/dog
	for f in train/cat/a train/dog/a val/cat/b val/dog/c test/dog/d; do
		echo $f > in/$f.x
	done
	[ "$(told --labels=dir:2 in)" = "$one" ]
	hpdsl-ls --samples -l out | awk '{ print $(NF - 1) }' | sort | uniq -c |
		tr -s ' ' | diff - <(printf ' 2 cat\n 3 dog\n')
	[ "$(told in | grep 'one pack')" = "$one" ]
	[ "$(told --labels=parent in)" = "$one" ]
	find in -type f -printf '%P\n' > list
	[ "$(told --labels=dir:2 --files-from=list in)" = "$one" ]
	hpdsl-snapshot create -q in -o snap
	[ "$(told --labels=dir:2 --from-snapshot=snap in)" = "$one" ]
	[ -z "$(told -q --labels=dir:2 in)" ]
	# who does not go by folders would train on all
	[ "$(told --for=webdataset,dali --labels=dir:2 in)" = "train, val, test will lie together in every chunk, and webdataset,dali read all of it: for them pack each alone, into an OUTPUT of its own, by --include='train/**', --include='val/**', --include='test/**'" ]
	[[ "$(told --emit=energon --labels=none in)" = *", and other readers read all"* ]]
	# one of them, or many names, are no splits
	mkdir one && cp -R in/train one
	[ -z "$(told --labels=dir:2 one)" ]
	mkdir many && cp -R in/train in/val many && (cd many && seq 4095 | xargs touch)
	[ -z "$(told --labels=none many)" ]
}

@test "splits as INPUTs: no path would tell them apart" {
	mkdir -p in/train/cat in/val/cat in/more
	for f in train/cat/a val/cat/b more/c; do echo $f > in/$f.x; done
	[ "$(told --labels=dir in/train/ ./in/val)" = "train, val: no path will say from which of them it is; --prefix-input --labels=dir:2 keeps them apart in one pack" ]
	[ "$(told in/train in/val)" = "train, val: no path will say from which of them it is; --prefix-input keeps them apart in one pack" ]
	[ -z "$(told -q in/train in/val)" ]
	[ -z "$(told in/train in/val in/more)" ]
	[ -z "$(told in/train)" ]
	# by their own names, an archive's without its suffix
	fails 2 "look like splits (train, val)" \
		hpdsl-pack --prefix-input --labels=dir in/train in/val out
	for f in train val; do tar cf $f.tar.gz -z -C in/$f .; done
	told --prefix-input --labels=dir:2 train.tar.gz val.tar.gz > lines
	[[ "$(cat lines)" = "one pack does for train, val: "* ]]
	hpdsl-order --folder=val out | cut -f 3 | diff - <(echo val/cat/b)
	hpdsl-ls out 'val/**' | diff - <(echo val/cat/b.x)
	hpdsl-unpack -q out tree 'val/**'
	(cd tree && find . -type f) | diff - <(echo ./val/cat/b.x)
}

@test "numbers: what is refused, exit 2 and nothing written" {
	for bad in chunk-size=0 chunk-size=6x chunk-size=1KK chunk-size=-1 \
		chunk-size=99999999T chunk-size= chunks=0 chunks=1K \
		samples-per-chunk=0 multiple-of=0 seed=-1 \
		seed=18446744073709551616 seed=0x1 readers=0 readers=x \
		memory=0 memory=1M threads=-1 threads=x shuffle=x group=x \
		symlinks=x meta=x meta==x deadline=0 deadline=1:60 \
		deadline=1-24 deadline=1: deadline=:1 deadline=1:2:3:4; do
		fails 2 "${bad%%=*}" hpdsl-pack "--$bad" "$tree" out
	done
	[ ! -e out ]
}

@test "arguments: too few or too many are exit 2" {
	fails 2 "hpdsl-pack: INPUT is missing" hpdsl-pack
	fails 2 "hpdsl-pack: OUTPUT is missing" hpdsl-pack "$tree"
	fails 2 "hpdsl-pack: OUTPUT is missing" hpdsl-pack --files-from list
	# the two lines of every command
	[ "${message#*$'\n'}" = "Try \`hpdsl-pack --help' or \`hpdsl-pack --usage' for more information." ]
	fails 2 "hpdsl-pack: one INPUT, not also '$tree/'" \
		hpdsl-pack --files-from list "$tree" "$tree/" out
	[ ! -e out ]
}

@test "--config: the same names; the command line wins" {
	cat > c.yaml <<-'END'
	# how we pack
	chunk-size: 100K
	seed: 7
	labels: dir:1
	include: '*.png'
	exclude:
	  - 'class1/*'
	  - "*00003*"
	meta: [licence=CC0, "source=a b"]
	prefix-input: true
	threads: 0
	quiet: true
	resume: false
	END
	hpdsl-pack --config c.yaml "$tree" a 2> err
	[ ! -s err ]
	hpdsl-pack -q -j 0 --chunk-size 100K --seed 7 --labels dir:1 \
		--include '*.png' --exclude 'class1/*' --exclude '*00003*' \
		--meta licence=CC0 --meta 'source=a b' --prefix-input "$tree" b
	[ "$(dataset_digest a)" = "$(dataset_digest b)" ]
	# a list replaces the file's, and one way to size chunks another
	hpdsl-pack --config c.yaml --chunks 2 --seed 8 --exclude '*00004*' \
		"$tree" c
	hpdsl-pack -q --chunks 2 --seed 8 --labels dir:1 --include '*.png' \
		--exclude '*00004*' --meta licence=CC0 --meta 'source=a b' \
		--prefix-input "$tree" d
	[ "$(dataset_digest c)" = "$(dataset_digest d)" ]
}

@test "--config: an option that may do without its argument" {
	for level in true:3 5:5 false:; do
		echo "zstd: ${level%:*}" > c.yaml
		hpdsl-pack -q --config c.yaml "$tree" "z${level%:*}"
		[ "$(sed -n 's/^  zstd: //p' "z${level%:*}/dataset.yaml")" = \
			"${level#*:}" ]
	done
	hpdsl-pack -q --zstd=7 --config c.yaml "$tree" seven
	grep -qx '  zstd: 7' seven/dataset.yaml
}

# refused LINE TEXT: c.yaml is exit 2 and says so with the line.
refused()
{
	fails 2 "c.yaml: line $1: $2" hpdsl-pack --config c.yaml "$tree" out
	[ ! -e out ]
}

@test "--config: what is refused is named with its line" {
	printf 'seed: 1\nno-such: 2\n' > c.yaml
	refused 2 "'no-such' is no option"
	printf 'config: c.yaml\n' > c.yaml
	refused 1 "'config' is no option"
	printf 'seed: 1\n\nseed: 2\n' > c.yaml
	refused 3 "seed: given twice"
	printf 'seed: [1]\n' > c.yaml
	refused 1 "seed: a plain value"
	printf 'seed: x\n' > c.yaml
	refused 1 "seed: 'x'"
	printf 'resume: maybe\n' > c.yaml
	refused 1 "resume: 'maybe' is not true or false"
	printf -- '- seed\n' > c.yaml
	refused 1 "a mapping"
	printf 'seed: 1\n  x: {\n' > c.yaml
	refused 2 ""
	printf 'seed: x\n' > c.yaml
	fails 2 "line 1: seed" hpdsl-pack --config c.yaml --seed 1 "$tree" out
	fails 3 "none" hpdsl-pack --config none "$tree" out
	fails 3 "." hpdsl-pack --config . "$tree" out
}

@test "--meta: a key twice is refused before anything is written" {
	fails 2 "'b=2': this key is given twice" hpdsl-pack --meta a=1 \
		--meta b=1 --meta b=2 "$tree" out
	[ ! -e out ]
	fails 2 "given twice" hpdsl-pack -n --meta b=1 --meta b=2 "$tree" out
}

@test "summary: what patterns left out, files and whole folders" {
	run --separate-stderr hpdsl-pack --exclude class1/ --exclude '*.json' \
		"$tree" a
	[ "$status" = 0 ]
	[[ $stderr = *" --exclude: "[1-9]*" files, and 1 folder with all \
below"* ]]
	hpdsl-pack --json --exclude class1/ "$tree" b > json
	json json 'j["excluded"] == 0 and j["excluded_folders"] == 1'
}

@test "summary: people's on stderr, none with -q, JSON on stdout" {
	run --separate-stderr hpdsl-pack --chunks 2 "$tree" a
	[ "$status" = 0 ]
	[ -z "$output" ]
	[[ $stderr = *"hpdsl-pack: 60 samples, "*" in 2 chunks ("* ]]
	[[ $stderr = *"not kept: 1 empty folder; 1 link to a folder"* ]]
	[[ $stderr = *"dataset id "* ]]
	run --separate-stderr hpdsl-pack -q "$tree" b
	[ "$status" = 0 ]
	[ -z "$output$stderr" ]
	hpdsl-pack --json "$tree" c > json 2> err
	[ ! -s err ]
	json json 'j["samples"] == 60 and j["chunks"] == 1'
	json json 'j["empty_folders"] == 1 and j["dry_run"] is False'
	json json 'len(j["dataset_id"]) == 32 and j["tar_bytes"] > j["bytes"]'
	grep "dataset_id: $(python3 -c 'import json
print(json.load(open("json"))["dataset_id"])')" c/dataset.yaml
}

@test "--dry-run: the plan on stdout, nothing written" {
	hpdsl-pack -n --chunks 3 "$tree" out > plan 2> err
	grep 'chunks: *3; smallest .*, median .*, largest ' plan
	grep 'needs: .* 7 inodes' plan
	[ ! -e out ]
	hpdsl-pack -n --json --chunks 3 "$tree" out > plan.json
	hpdsl-pack --json --chunks 3 "$tree" out > done.json
	json plan.json 'j["dry_run"] is True and j["inodes"] == 7'
	for key in samples members bytes chunks tar_bytes chunk_min \
		chunk_median chunk_max; do
		diff <(python3 -m json.tool plan.json | grep "\"$key\"") \
			<(python3 -m json.tool done.json | grep "\"$key\"")
	done
	json plan.json "j['space_bytes'] >= $(cat out/* | wc -c)"
}

@test "--dry-run: labels that are missing, and what tar costs" {
	mkdir t
	(cd t && for i in {0001..1500}; do : > "$i.jpg"; done
	for i in {0001..1000}; do : > "$i.txt"; done)
	hpdsl-pack -n t out > plan
	grep "^suffixes: 1,000 of 1,500 samples have jpg and txt; 500 jpg alone, first '1001'$" plan
	grep '^tar: .* of it headers and padding, nearly all of which --zstd saves$' plan
	hpdsl-pack -n --json t out > plan.json
	json plan.json 'j["zstd_saves_headers"]'
	json plan.json '[s["samples"] for s in j["group_look"]["suffix_sets"]] == [1000, 500]'
	hpdsl-pack -n --zstd t out > plan
	run ! grep -q 'zstd saves' plan
	hpdsl-pack -n --for=dali t out > plan
	run ! grep -q 'zstd saves' plan
	# one suffix written in two ways
	touch t/{1,2}.JPEG
	hpdsl-pack -n --exclude='*.txt' t out > plan
	grep "^suffixes: 1,500 of 1,502 samples have jpg alone; 2 JPEG alone, first '1'$" plan
	# where nothing is odd, nothing is said
	touch t/x.bin
	rm t/*.JPEG
	hpdsl-pack -n --exclude='*.txt' t out > plan
	run ! grep -q '^suffixes' plan
}

# Starts a pack in the background that waits for its list of files; $pid.
start_waiting()
{
	mkfifo list
	(trap - INT; exec hpdsl-pack "$@" --files-from list "$tree" out) \
		2> err &
	pid=$!
	exec 5> list # the pack has its handlers when this returns
}

@test "SIGTERM: a line that says so, and exit 143 at once" {
	start_waiting
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	exec 5>&-
	[ "$status" = 143 ]
	[ "$(cat err)" = "hpdsl-pack: ended by SIGTERM; the same command with \
--resume completes the pack" ]
	[ ! -e out ]
}

@test "SIGBUS: an error that names the dataset, exit 3" {
	start_waiting
	kill -BUS "$pid"
	status=0
	wait "$pid" || status=$?
	exec 5>&-
	[ "$status" = 3 ]
	grep 'changed under us.*: out' err
}

@test "SIGUSR1: exit 75, and a rerun completes it" {
	start_waiting
	kill -USR1 "$pid"
	(cd "$tree" && find . -type f) >&5
	exec 5>&-
	status=0
	wait "$pid" || status=$?
	[ "$status" = 75 ]
	[ ! -e out/dataset.yaml ]
	hpdsl-pack -q --resume "$tree" out
	hpdsl-verify -q out
}

@test "--deadline: exit 75, and a rerun completes it" {
	start_waiting --deadline=1000
	kill -ALRM "$pid" # as its clock does
	(cd "$tree" && find . -type f) >&5
	exec 5>&-
	status=0
	wait "$pid" || status=$?
	[ "$status" = 75 ]
	[ ! -e out/dataset.yaml ]
	hpdsl-pack -q --resume --deadline 1-00:00:00 "$tree" out
	hpdsl-verify -q out
}

@test "messages: one line each, whatever a name holds" {
	mkdir $'in\nput'
	mkfifo $'in\nput/f\e[1mifo'
	status=0
	hpdsl-pack $'in\nput' out 2> err || status=$?
	[ "$status" = 3 ]
	[ "$(grep -c '^hpdsl-pack: ' err)" = "$(wc -l < err)" ]
	[ "$(grep -c $'\e' err)" = 0 ]
}

@test "a file of labels in INPUT is no sample, and its path is no pattern" {
	mkdir -p 'in/tr[a]in' in/train
	for i in 1 2; do echo $i > "in/train/$i.x"; done
	printf 'file,label\n1.x,cat\n2.x,dog\n' | tee in/train/l.csv > 'in/tr[a]in/l.csv'
	hpdsl-pack --labels='in/tr[a]in/l.csv' in out 2> err
	grep -F "warning: in/tr[a]in/l.csv: lies in the input and has the labels, so it is left out; --include='*' packs it, too" err
	hpdsl-ls out | sort | diff - <(printf 'train/%s\n' 1.x 2.x l.csv)
	hpdsl-verify -q --source=in out
	hpdsl-pack -q --resume --labels='in/tr[a]in/l.csv' in out 2> err
	hpdsl-pack -q --force --prefix-input --labels=in/train/l.csv in out 2> err
	hpdsl-ls out | sort | diff - <(printf 'in/%s\n' 'tr[a]in/l.csv' train/1.x train/2.x)
	hpdsl-verify -q --source=in out
	# who names it means it
	hpdsl-pack -q --force --include='*.x' --include='l.csv' --labels=in/train/l.csv in out
	[ "$(hpdsl-ls out | wc -l)" = 4 ]
	printf '%s\n' train/1.x train/2.x train/l.csv > list
	hpdsl-pack -q --force --files-from=list --labels=in/train/l.csv in out
	[ "$(hpdsl-ls out | wc -l)" = 3 ]
}
