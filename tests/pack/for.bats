#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-pack for a newcomer: --for, folders that look like classes, --shard-size,
# and what to type next.

bats_require_minimum_version 1.5.0
load ../kit/lib

# Names that not every reader takes.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir -p tree/cat tree/dog
	for i in 1 2 3 4; do
		echo "cat $i" > "tree/cat/a $i.JPG"
		echo "dog $i" > tree/dog/$i.jpg
		echo "{}" > tree/dog/$i.json
	done
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	tree=$BATS_FILE_TMPDIR/tree
}

# said COMMAND..: its standard error without what has a time in it.
said()
{
	"$@" 2>&1 > /dev/null | grep -v -e ' samples, ' -e 'dataset id' -e 'classes: '
}

# same_as OPTIONS..: "for" is byte for byte what these make.
same_as()
{
	rm -rf by_hand
	hpdsl-pack -q --chunks=2 "$@" "$tree" by_hand
	diff -r by_hand for
	rm -rf for
}

@test "--for: names, .cls and index files, and a line that says so" {
	[ "$(said hpdsl-pack --chunks=2 --labels=dir --for=webdataset "$tree" for |
		head -n 1)" = "hpdsl-pack: --for=webdataset sets --names=portable --cls" ]
	hpdsl-verify -q --compat=webdataset for
	same_as --labels=dir --names=portable --cls
	[ "$(said hpdsl-pack --chunks=2 --labels=dir --for=wids,webdataset,torch,dali,energon "$tree" for |
		head -n 1)" = "hpdsl-pack: --for=webdataset,dali,energon,wids,torch sets --names=portable --cls --emit=dali,energon,wids" ]
	hpdsl-verify -q --compat=webdataset,dali,energon,wids for
	hpdsl-verify -q --source="$tree" for
	same_as --labels=dir --names=portable --cls --emit=dali,energon,wids
	hpdsl-pack -q --chunks=2 --for=dali --emit=wids "$tree" for 2> err
	[ ! -s err ]
	same_as --names=portable --emit=dali,wids
}

@test "--for: no classes, no .cls" {
	local want="--for=energon sets --names=portable --emit=energon; no members .cls without --labels"
	[ "$(said hpdsl-pack --chunks=2 --labels=none --for=energon "$tree" for |
		head -n 1)" = "hpdsl-pack: $want" ]
	same_as --labels=none --names=portable --emit=energon
	# each file a sample: nothing is against it
	hpdsl-pack -q --chunks=2 --group=none --for=webdataset "$tree" for
	same_as --group=none --names=portable
	# asked for
	hpdsl-pack -q --chunks=2 --labels=parent --cls --for=torch "$tree" for
	same_as --labels=parent --cls
}

@test "--for=torch: every dataset, so nothing is set" {
	[ "$(said hpdsl-pack --labels=dir --for=torch --zstd --chunks=2 "$tree" for |
		head -n 1)" = "hpdsl-pack: --for=torch sets nothing: it reads every packed dataset" ]
	same_as --labels=dir --zstd
}

@test "--for: a packed input keeps its classes as .cls" {
	hpdsl-pack -q --labels=dir "$tree" ds
	hpdsl-pack -q "$tree" bare
	hpdsl-pack --for=webdataset ds out 2> err
	grep -qx 'hpdsl-pack: --for=webdataset sets --names=portable --cls' err
	hpdsl-ls out | grep -q '\.cls$'
	hpdsl-pack --for=webdataset bare from_bare 2> err
	grep -q 'no members .cls without --labels$' err
	fails 2 "--for=webdataset adds members .cls for the classes, which do not go with --group=none" \
		hpdsl-pack --for=webdataset --group=none ds no
	hpdsl-pack -q --for=webdataset --labels=none ds none
	run ! grep -q '\.cls$' <(hpdsl-ls none)
}

@test "--for: what cannot be had together is named, both of it" {
	local r
	for r in webdataset dali energon wids; do
		fails 2 "hpdsl-pack: --for=$r does not go with --zstd: such chunks are not read there" \
			hpdsl-pack --for=$r --zstd=9 "$tree" out
		fails 2 "--for=$r does not go with --names=keep: not every name is read there" \
			hpdsl-pack --names=keep --for=$r,torch "$tree" out
		fails 2 "--for=$r adds members .cls for the classes, which do not go with --group=none" \
			hpdsl-pack --for=$r --group=none --labels=dir "$tree" out
	done
	fails 2 "--for=webdataset,wids does not go with --zstd" \
		hpdsl-pack --for=wids,webdataset --zstd "$tree" out
	# a sample without a class
	cp -R "$tree" with
	echo > with/README.txt
	fails 2 "--cls: 'README.txt' is of a sample without a class" \
		hpdsl-pack -q --for=webdataset --labels=dir with out
	for r in '' x 'webdataset,' ',dali' torch,hf; do
		fails 2 "--for: '$r' is no list of webdataset, dali, energon, wids, torch" \
			hpdsl-pack "--for=$r" "$tree" out
	done
	[ ! -e out ]
}

@test "--for: in the file of --config, and against it" {
	printf 'for: dali,wids\nlabels: dir\nchunks: 2\n' > c.yaml
	hpdsl-pack -q --config=c.yaml "$tree" for
	same_as --labels=dir --names=portable --cls --emit=dali,wids
	fails 2 "--for=dali,wids (c.yaml, line 1) does not go with --zstd: such" \
		hpdsl-pack --config=c.yaml --zstd "$tree" out
	# the command line wins
	hpdsl-pack -q --config=c.yaml --for=torch "$tree" for
	same_as --labels=dir
	printf 'chunks: 2\nnames: keep\n' > c.yaml
	hpdsl-pack -q --config=c.yaml --for=dali "$tree" for
	same_as --names=portable --emit=dali
	fails 2 "--for=dali does not go with --names=keep: not" \
		hpdsl-pack --config=c.yaml --names=keep --for=dali "$tree" out
	printf 'chunks: 2\nnames: keep\nfor: dali\nlabels: dir\n' > c.yaml
	fails 2 "--for=dali (c.yaml, line 3) does not go with --names=keep (c.yaml, line 2): not" \
		hpdsl-pack --config=c.yaml "$tree" out
	fails 2 "--for=dali (c.yaml, line 3) does not go with --names=keep: not" \
		hpdsl-pack --config=c.yaml --names=keep "$tree" out
	printf 'zstd: true\n' > c.yaml
	fails 2 "--for=wids does not go with --zstd (c.yaml, line 1): such" \
		hpdsl-pack --config=c.yaml --for=wids "$tree" out
	printf 'labels: dir\ngroup: none\n' > c.yaml
	fails 2 "which do not go with --group=none (c.yaml, line 2)" \
		hpdsl-pack --config=c.yaml --for=wids "$tree" out
	printf 'names: keep\n' > c.yaml
	hpdsl-pack -q --config=c.yaml --names=portable --for=webdataset \
		--chunks=2 "$tree" for
	same_as --names=portable
	printf 'for: hf\n' > c.yaml
	fails 2 "c.yaml: line 1: for: 'hf' is no list of" \
		hpdsl-pack --config=c.yaml "$tree" out
	[ ! -e out ]
}

@test "--for and --emit: again on the command line, or a list in the file" {
	[ "$(said hpdsl-pack --chunks=2 --labels=none --for=wids --for=dali,torch "$tree" for |
		head -n 1)" = "hpdsl-pack: --for=dali,wids,torch sets --names=portable --emit=dali,wids; no members .cls without --labels" ]
	same_as --names=portable --emit=dali,wids
	hpdsl-pack -q --chunks=2 --names=portable --emit=dali --emit=wids "$tree" for
	same_as --names=portable --emit=dali,wids
	printf 'for: [dali, "wids,torch"]\nchunks: 2\n' > c.yaml
	hpdsl-pack -q --config=c.yaml "$tree" for
	same_as --names=portable --emit=dali,wids
	hpdsl-pack -q --config=c.yaml --for=energon "$tree" for
	same_as --names=portable --emit=energon
	printf 'chunks: 2\nnames: portable\nemit:\n- dali\n- energon\n' > c.yaml
	hpdsl-pack -q --config=c.yaml "$tree" for
	same_as --names=portable --emit=dali,energon
	printf 'for:\n- dali\n- hf\n' > c.yaml
	fails 2 "c.yaml: line 3: for: 'hf' is no list of" \
		hpdsl-pack --config=c.yaml "$tree" out
	[ ! -e out ]
}

@test "--for: goes on with --resume, in a dry run nothing is written" {
	hpdsl-pack --dry-run --for=dali "$tree" out > plan 2> err
	grep -q -e '--for=dali sets --names=portable --emit=dali' err
	grep -q '^names: *portable' plan
	[ ! -e out ]
	hpdsl-pack -q --for=dali "$tree" out
	hpdsl-pack -q --resume --names=portable --emit=dali "$tree" out
}

@test "--shard-size is --chunk-size" {
	make_tree many 2 100
	hpdsl-pack -q --shard-size=100K many for
	hpdsl-pack -q --chunk-size=100K many by_hand
	diff -r for by_hand
	[ "$(find for -name 'chunk-*' | wc -l)" -gt 2 ]
	printf 'shard-size: 100KiB\n' > c.yaml
	hpdsl-pack -q --config=c.yaml many config
	diff -r for config
	# one of those that exclude each other; the command line wins
	hpdsl-pack -q --config=c.yaml --chunks=1 many one
	[ "$(find one -name 'chunk-*' | wc -l)" = 1 ]
	run ! grep -q shard <(hpdsl-pack --help)
	# by both names: one size, or none
	hpdsl-pack -q --shard-size=100K --chunk-size=100K many both
	diff -r for both
	fails 2 "hpdsl-pack: one --chunk-size, not also '--shard-size'" \
		hpdsl-pack --chunk-size=1M --shard-size=2M many out
	fails 2 "hpdsl-pack: one --chunk-size, not also '--shard-size'" \
		hpdsl-pack --shard-size=2M --chunk-size=1M many out
	printf 'shard-size: 100K\nchunk-size: 100K\n' > c.yaml
	fails 2 "c.yaml: line 2: chunk-size: given already, as shard-size" \
		hpdsl-pack --config=c.yaml many out
	printf 'shard-size: 1M\n' > c.yaml
	hpdsl-pack -q --config=c.yaml --chunk-size=100K many line
	diff -r for line
	[ ! -e out ]
}

# hint OPTIONS.. INPUT..: the line about classes, or nothing.
hint()
{
	hpdsl-pack --dry-run "$@" out 2>&1 > /dev/null | grep 'look like classes' |
		sed 's/.*no sample gets one: is \(.*\) meant?$/\1/'
}

@test "folders that look like classes: a line with the option" {
	fails 0 "hpdsl-pack: $tree: its folders look like classes, and no sample gets one: is --labels=dir meant?" \
		hpdsl-pack "$tree" out
	[ "$(wc -l <<< "$(grep classes <<< "$message")")" = 1 ]
	rm -r out
	# ImageNet as it is unpacked
	mkdir -p splits/train splits/val
	cp -R "$tree"/* splits/train
	cp -R "$tree"/* splits/val
	[ "$(hint splits)" = --labels=dir:2 ]
	[ "$(hint splits/train splits/val)" = --labels=dir ]
	[ -z "$(hint splits "$tree")" ]
	# those of val are not known
	rm -r splits/val/*
	touch splits/val/{1,2}.jpg
	[ "$(hint splits)" = --labels=dir:2 ]
	touch "$tree/.hidden"
	[ "$(hint "$tree")" = --labels=dir ]
	rm "$tree/.hidden"
}

@test "folders that look like classes: not these" {
	[ -z "$(hint --labels=dir "$tree")" ]
	[ -z "$(hint --labels=none "$tree")" ]
	[ -z "$(hint -q "$tree")" ]
	[ -z "$(hint --prefix-input "$tree")" ]
	printf 'labels: none\n' > c.yaml
	[ -z "$(hint --config=c.yaml "$tree")" ]
	# one folder alone; a file beside them; a folder in one of them
	mkdir -p one/a two/{a,b} deep/{a,b}/c kinds/{images,masks} sample
	touch one/a/1.jpg two/{a,b}/1.jpg two/README deep/{a,b}/1.jpg \
		deep/{a,b}/c/1.jpg kinds/images/{1,2}.jpg kinds/masks/{1,2}.png \
		sample/{1,2}.jpg
	for d in one two deep kinds sample; do
		[ -z "$(hint $d)" ] || { echo $d; return 1; }
	done
	rm two/README
	[ "$(hint two)" = --labels=dir ]
	# splits themselves are no classes
	mkdir -p split/{train,val}
	touch split/train/1.jpg split/val/2.jpg
	[ -z "$(hint split)" ]
	# an archive, a packed dataset
	tar cf a.tar -C two .
	hpdsl-pack -q two ds
	[ -z "$(hint a.tar)" ]
	[ -z "$(hint ds)" ]
	find two -type f > list
	[ -z "$(hint --files-from=list)" ]
}

# Of what is seen: the lines to type.
to_type()
{
	sed -n 's/^hpdsl-pack: \(next\|in a job\|in Python\): /\1: /p'
}

@test "on a terminal: what to type next" {
	on_terminal hpdsl-pack --labels=dir "$tree" ds/ > seen
	diff <(to_type < seen) - <<- 'END'
		next: hpdsl-verify ds/
		in a job: srun --ntasks-per-node=1 hpdsl-stage ds/ auto
		in Python: hpdsl.Loader(hpdsl.Dataset("ds/"), batch_size=64)
	END
	on_terminal hpdsl-pack --labels=dir --for=torch,wids -- "$tree" \
		"-o '\"\\x" > seen
	to_type < seen > lines
	cat lines
	# they do what they say, to a shell and to Python
	sed -n 's/^next: //p' lines > script
	[ "$(wc -l < script)" = 2 ]
	grep -q -e '--compat=wids' script
	sh -e script
	grep '^in a job' lines | sed 's/^in a job: srun --ntasks-per-node=1 hpdsl-stage/printf "%s\\n"/' > script
	diff <(sh script) <(printf '%s\n' "./-o '\"\\x" auto)
	sed -n 's/^in Python: hpdsl.torch.Loader(hpdsl.Dataset(\(.*\)), batch_size=64)$/print(\1)/p' \
		lines > script
	[ "$(python3 script)" = "-o '\"\\x" ]
}

@test "what to type next: not in a log, not with -q, not with --json" {
	hpdsl-pack "$tree" log 2> seen
	[ -s seen ]
	[ -z "$(to_type < seen)" ]
	for option in -q --json -n; do
		on_terminal hpdsl-pack $option "$tree" "o$option" > seen
		[ -z "$(to_type < seen)" ]
	done
	on_terminal env TERM=dumb hpdsl-pack "$tree" dumb > seen
	[ -z "$(to_type < seen)" ]
	# a terminal would not show that name as it is
	on_terminal hpdsl-pack "$tree" $'control\a' > seen
	[ -z "$(to_type < seen)" ]
	# one that was not finished
	on_terminal hpdsl-pack "$tree" log > seen || [ $? = 3 ]
	[ -z "$(to_type < seen)" ]
}
