#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-snapshot create, check, diff, dump, load, verify: what they say, and with
# which exit status.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 20
	mkdir -p tree/class0/empty/deep
	printf 1 > $'tree/class0/new\nline.txt'
	printf 2 > 'tree/class0/back\slash.txt'
	printf 3 > $'tree/class1/no\xffutf8.txt'
	find tree -exec touch -d '2024-05-01 12:00:00.5 UTC' {} +
	hpdsl-pack -q --labels=dir --chunks=3 tree packed
	hpdsl-snapshot create -q tree -o tree.snap
	hpdsl-snapshot create -q packed -o packed.snap
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	from=$BATS_FILE_TMPDIR
}

# A tree of a test's own, and its snapshot.
own()
{
	cp -a "$from/tree" tree
	cp -p "$from/tree.snap" snap
}

# differs COMMAND..: exit 1; lines are in $output, the summary in $stderr.
differs()
{
	run --separate-stderr "$@"
	echo "exit $status: $*"
	echo "$output"
	echo "$stderr"
	[ "$status" = 1 ]
}

@test "no command, an unknown one, options in front of it" {
	fails 2 "COMMAND is missing" hpdsl-snapshot
	fails 2 "there is no command 'verfy'" hpdsl-snapshot verfy snap
	fails 2 "hpdsl-snapshot: unrecognized option '--json'" \
		hpdsl-snapshot --json verify snap
	fails 2 "hpdsl-snapshot dump: unrecognized option '--json'" \
		hpdsl-snapshot dump --json snap
	[ "$(hpdsl-snapshot verify --version)" = \
		"$(hpdsl-snapshot --version)" ]
}

@test "arguments that are missing or too many" {
	fails 2 "SOURCE is missing" hpdsl-snapshot create -o snap
	fails 2 "-o FILE is missing" hpdsl-snapshot create tree
	fails 2 "'more'" hpdsl-snapshot create tree more -o snap
	fails 2 "-o FILE is missing" hpdsl-snapshot load text
	fails 2 "TEXT is missing" hpdsl-snapshot load -o snap
	fails 2 "FILE is missing" hpdsl-snapshot check
	fails 2 "SOURCE is missing" hpdsl-snapshot check snap
	fails 2 "B is missing" hpdsl-snapshot diff snap
	fails 2 "'c'" hpdsl-snapshot diff a b c
	fails 2 "--json does not go with -0" hpdsl-snapshot diff -0 --json a b
	fails 2 "--json does not go with -0" hpdsl-snapshot check -0 --json a b
	fails 2 "threads: 'x' is no number" hpdsl-snapshot create -j x a -o b
	fails 2 "--since: 'never' is no time" \
		hpdsl-snapshot check --since=never snap tree
	[ ! -e snap ]
}

@test "create: the summary names what it saw; -q is silent" {
	run --separate-stderr hpdsl-snapshot create "$from/tree" -o snap
	[ "$status" = 0 ] && [ -z "$output" ]
	echo "$stderr"
	[[ $stderr = "hpdsl-snapshot: 114 entries: 5 folders, 109 files of "* ]]
	[[ $stderr = *" bytes an entry"* ]]
	hpdsl-snapshot verify --json snap > json
	grep -q "^hpdsl-snapshot: digest $(field digest < json)\$" <<< "$stderr"
	grep -q "^hpdsl-snapshot: files digest $(field files_digest < json)\$" \
		<<< "$stderr"
	[[ $stderr != *dataset* ]]
	run --separate-stderr hpdsl-snapshot create "$from/packed" -o other
	grep "^hpdsl-snapshot: dataset id $(hpdsl-verify -q --json \
		"$from/packed" | field dataset_id)\$" <<< "$stderr"
	run --separate-stderr hpdsl-snapshot create -q "$from/tree" -o other
	[ "$status" = 0 ] && [ -z "$output$stderr" ]
	cmp snap other
}

@test "progress on a terminal counts entries" {
	need script
	TERM=xterm script -qec "hpdsl-snapshot create $from/tree -o snap" \
		/dev/null < /dev/null > said
	cat -v said
	grep -q "walking [0-9]* entries" said
	run ! grep "[0-9] files[^ ]" said
}

@test "create, load, verify --json: one object, and the same facts" {
	hpdsl-snapshot create --json "$from/packed" -o snap > create.json 2> err
	hpdsl-snapshot dump snap > text
	hpdsl-snapshot load --json text -o other > load.json 2>> err
	hpdsl-snapshot verify --json other > verify.json 2>> err
	[ ! -s err ]
	cmp snap other
	python3 - <<- 'END'
		import json, os
		create, load, verify = [json.load(open(f + ".json")) for f in
		                        ("create", "load", "verify")]
		same = ("entries folders files symlinks others bytes file_bytes "
		        "bytes_per_entry digest files_digest dataset_id pack").split()
		for key in same:
		    assert create[key] == load[key] == verify[key], key
		assert create["entries"] == 112 and create["folders"] == 3
		assert create["file_bytes"] == os.path.getsize("snap")
		assert create["seconds"] >= create["walk_seconds"] >= 0
		assert verify["sound"] is True and verify["damage"] == []
	END
}

@test "a tree and the dataset packed from it have one files digest" {
	[ "$(hpdsl-snapshot verify --json "$from/tree.snap" |
		field files_digest)" = \
		"$(hpdsl-snapshot verify --json "$from/packed.snap" |
			field files_digest)" ]
	hpdsl-snapshot diff "$from/tree.snap" "$from/packed.snap"
	hpdsl-snapshot check "$from/packed.snap" "$from/tree"
	hpdsl-snapshot check "$from/tree.snap" "$from/packed"
	# taken for a folder, a dataset is something else
	hpdsl-snapshot create -q --as-tree "$from/packed" -o snap
	hpdsl-snapshot dump snap | grep ' dataset.yaml$'
	hpdsl-snapshot check -q --as-tree snap "$from/packed"
	differs hpdsl-snapshot check -q snap "$from/packed"
}

@test "check: equal, and a line for each thing that changed" {
	own
	run --separate-stderr hpdsl-snapshot check snap tree
	[ "$status" = 0 ] && [ -z "$output" ]
	[[ $stderr = "hpdsl-snapshot: equal: 114 entries; snapshot written 2"* ]]
	rm tree/class0/00001.png
	rmdir tree/class0/empty/deep
	mkdir tree/class0/00001.png
	printf 12345 > $'tree/class0/new\nline.txt'
	touch -d '2024-05-01 12:00:01 UTC' $'tree/class0/new\nline.txt'
	touch -d '2024-05-01 12:00:00.25 UTC' tree/class1/00003.json
	chmod 600 tree/class1/00004.json
	ln -s nowhere tree/link
	differs hpdsl-snapshot check snap tree
	diff - <(printf '%s\n' "$output" |
		sed 's/^\(~ class0\/00001.png\)\t.*/\1/') <<- 'END'
		~ class0/00001.png
		- class0/empty/deep
		~ class0/new\nline.txt	size 1 -> 5, mtime 2024-05-01 12:00:00 -> 2024-05-01 12:00:01
		~ class1/00003.json	mtime 2024-05-01 12:00:00.500000000 -> 2024-05-01 12:00:00.250000000
		~ class1/00004.json	mode 0644 -> 0600
		+ link
	END
	[[ $output = *"class0/00001.png"$'\t'"type f -> d"* ]]
	[[ $stderr = *": 1 added, 1 removed, 4 changed of 114 entries; newest change 2"* ]]
	[[ $stderr = *"; snapshot written 2"* ]]
	# the same by diff, and with -q no summary
	hpdsl-snapshot create -q tree -o now
	printf '%s\n' "$output" > lines
	differs hpdsl-snapshot diff snap now
	cmp lines <(printf '%s\n' "$output")
	differs hpdsl-snapshot check -q snap tree
	[ -z "$stderr" ]
	cmp lines <(printf '%s\n' "$output")
	# -0: as they are
	hpdsl-snapshot diff -0q snap now > null || [ $? = 1 ]
	tr '\0\n' '\n?' < null | grep -qF '~ class0/new?line.txt	size'
	[ "$(tr -dc '\0' < null | wc -c)" = 6 ]
}

@test "a link that leads elsewhere, and one that became a file" {
	mkdir tree
	ln -s one tree/a
	ln -s one tree/b
	hpdsl-snapshot create -q tree -o snap
	ln -sfn two tree/a
	rm tree/b
	printf one > tree/b
	differs hpdsl-snapshot check snap tree
	[[ $output = $'~ a\t'*target*$'\n~ b\ttype l -> f'* ]]
}

@test "content differs where both have checksums" {
	cp -a "$from/tree" tree
	printf 7 > 'tree/class0/back\slash.txt'
	touch -d '2024-05-01 12:00:00.5 UTC' 'tree/class0/back\slash.txt'
	hpdsl-snapshot check -q "$from/packed.snap" tree
	hpdsl-pack -q tree packed
	differs hpdsl-snapshot check -q "$from/packed.snap" packed
	[ "$output" = '~ class0/back\\slash.txt	content' ]
}

@test "diff, check --json: the differences and how many there are" {
	own
	rm $'tree/class1/no\xffutf8.txt'
	printf more >> tree/class0/00002.json
	touch -d '2035-01-01 UTC' tree/class0/added tree/class0/00002.json
	run --separate-stderr hpdsl-snapshot check --json snap tree
	[ "$status" = 1 ] && [ -z "$stderr" ]
	printf '%s\n' "$output" > check.json
	hpdsl-snapshot create -q tree -o now
	hpdsl-snapshot diff --json snap now > diff.json || [ $? = 1 ]
	hpdsl-snapshot diff --json now now > equal.json
	python3 - <<- 'END'
		import base64, json
		check, diff, equal = [json.load(open(f + ".json")) for f in
		                      ("check", "diff", "equal")]
		assert equal["equal"] is True and equal["differences"] == []
		assert equal["newest"] is None and equal["compared"] == 114
		assert diff["differences"] == check["differences"]
		d = {x["path"]: x for x in diff["differences"]}
		assert len(d) == 3
		x = d["class0/added"]
		assert x["change"] == "added" and "before" not in x
		assert x["after"] == {"type": "f", "mode": x["after"]["mode"],
		    "size": 0, "mtime": 2051222400, "mtime_nsec": 0}
		x = d["class0/00002.json"]
		assert x["change"] == "changed"
		assert x["fields"] == ["size", "mtime"]
		assert x["after"]["size"] == x["before"]["size"] + 4
		assert x["before"]["mtime_nsec"] == 500000000
		x = d["class1/no\ufffdutf8.txt"]
		assert x["change"] == "removed" and "after" not in x
		assert base64.b64decode(x["path_base64"]) == b"class1/no\xffutf8.txt"
		for r in check, diff:
		    assert r["equal"] is False and r["entries"] == 114
		    assert (r["added"], r["removed"], r["changed"]) == (1, 1, 1)
		    assert r["compared"] == 113
		    assert (r["newest"], r["newest_nsec"]) == (2051222400, 0)
		assert check["written"] > 0 and "folders_kept" not in check
	END
}

# later FILE: is what is made now later than it, by the clock of files?
later()
{
	touch now
	[ now -nt "$1" ]
}

@test "check --since: what was added is found, what was not touched is kept" {
	mkdir -p tree/old/deep tree/busy
	printf 1 > tree/old/deep/a
	printf 1 > tree/busy/a
	until_true later tree/busy
	hpdsl-snapshot create -q tree -o snap
	touch after
	run --separate-stderr hpdsl-snapshot check --since=after snap tree
	[ "$status" = 0 ] && [ -z "$output" ]
	[[ $stderr = *"not listed again: 4 folders"* ]]
	printf 2 > tree/busy/b
	printf 22 > tree/old/deep/a
	differs hpdsl-snapshot check --since=after snap tree
	# the one that was changed in place is not seen
	[ "$output" = "+ busy/b" ]
	[[ $stderr = *"not listed again: 3 folders"* ]]
	[ "$(hpdsl-snapshot check --json --since=@0 snap tree |
		field folders_kept)" = 0 ]
	differs hpdsl-snapshot check -q snap tree
	[[ $output = *"+ busy/b"*"~ old/deep/a"* ]]
}

@test "FILE in SOURCE is left out; another name of the old one is a file" {
	mkdir tree
	printf x > tree/f
	hpdsl-snapshot create -q tree -o tree/snap
	ln tree/snap tree/older
	printf y > tree/g
	hpdsl-snapshot create -q tree -o tree/snap
	[ "$(hpdsl-snapshot find --type=f -0 tree/snap | tr '\0' ' ')" = \
		"f g older " ]
	hpdsl-snapshot check -q tree/snap tree
}

@test "--exclude: left out, counted, and the same for create and check" {
	hpdsl-snapshot create --exclude='*.png' --exclude=empty/ \
		"$from/tree" -o snap 2> err
	hpdsl-snapshot dump snap > text
	run ! grep -e png -e empty text
	grep -q '^hpdsl-snapshot: left out by --exclude: 41 names$' err
	hpdsl-snapshot check -q --exclude='*.png' --exclude=empty/ snap \
		"$from/tree"
	differs hpdsl-snapshot check -q snap "$from/tree"
	[ "$(grep -c '^+' <<< "$output")" = "${#lines[@]}" ]
}

@test "dump, load: the same bytes, from a file and from a pipe" {
	local s
	for s in tree packed; do
		hpdsl-snapshot dump "$from/$s.snap" > text
		hpdsl-snapshot load -q text -o snap
		cmp snap "$from/$s.snap"
		{ grep -e '^hpdsl' -e '^dataset ' text
		grep -v -e '^hpdsl' -e '^dataset ' text | tac; } |
			hpdsl-snapshot load -q -j0 - -o snap
		cmp snap "$from/$s.snap"
	done
	head -n 1 text | grep -qx 'hpdsl-snapshot 1'
}

@test "load: a text that makes no sense is named with its line" {
	printf 'hpdsl-snapshot 1\nd 0755 0 0.000000000 - - .\nnonsense\n' > text
	fails 1 "text: line 3: " hpdsl-snapshot load text -o snap
	fails 1 "standard input: line 3: " hpdsl-snapshot load - -o snap < text
	fails 3 "absent: No such file" hpdsl-snapshot load absent -o snap
	fails 3 "Is a directory" hpdsl-snapshot load . -o snap
	[ ! -e snap ]
}

@test "the manual's example: all times 0" {
	hpdsl-snapshot dump "$from/tree.snap" |
		sed -E '2,$s/^(. .... [0-9]+) [-0-9.]+/\1 0.000000000/' |
		hpdsl-snapshot load -q - -o b.snap
	[ "$(hpdsl-snapshot diff -q "$from/tree.snap" b.snap |
		grep -c 'mtime 2024-05-01 12:00:00 -> 1970-01-01 00:00:00$')" = 109 ]
}

@test "verify: damage on standard output, exit 1" {
	cp "$from/tree.snap" snap
	printf X | dd of=snap bs=1 seek=$(($(stat -c %s snap) - 40)) conv=notrunc \
		status=none
	run --separate-stderr hpdsl-snapshot verify snap
	[ "$status" = 1 ] && [ -n "$output" ]
	[ "$stderr" = "hpdsl-snapshot: damaged: snap" ]
	[ "$(hpdsl-snapshot verify -q snap 2>&1)" = "$output" ]
	run --separate-stderr hpdsl-snapshot verify --json snap
	[ "$status" = 1 ] && [ -z "$stderr" ]
	python3 -c 'import json, sys; r = json.load(sys.stdin)
assert r["sound"] is False and r["damage"] and r["entries"] == 114' <<< "$output"
	# the header, too
	printf X | dd of=snap bs=1 seek=70 conv=notrunc status=none
	run --separate-stderr hpdsl-snapshot verify --json snap
	[ "$status" = 1 ]
	python3 -c 'import json, sys
assert json.load(sys.stdin)["sound"] is False' <<< "$output"
}

@test "standard output on a full disk: exit 3" {
	own
	touch tree/added
	hpdsl-snapshot create -q tree -o now
	for command in "dump snap" "diff -q snap now" "diff --json snap now" \
		"check -q snap tree" "verify --json snap" \
		"create --json tree -o other" "load --json text -o other"; do
		[ -e text ] || hpdsl-snapshot dump snap > text
		status=0
		# shellcheck disable=SC2086
		hpdsl-snapshot $command > /dev/full 2> err || status=$?
		[ "$status" = 3 ]
		grep "hpdsl-snapshot: standard output: No space left" err
	done
}

@test "SIGUSR1 while it walks: exit 75, and nothing is written" {
	need strace
	own
	for command in "create -q -j0 tree -o new" "check -q -j0 snap tree"; do
		status=0
		# shellcheck disable=SC2086
		traced -f -o /dev/null -e trace=getdents64 \
			-e inject=getdents64:signal=USR1:when=3 \
			hpdsl-snapshot $command > out 2> err || status=$?
		[ "$status" = 75 ]
		[ ! -e new ] && [ ! -s out ]
	done
	[ -z "$(find . -name '.*.part')" ]
}

# many NAME SIZE: a snapshot of 20,000 files of this size.
many()
{
	{
		echo 'hpdsl-snapshot 1'
		echo 'd 0755 0 0.000000000 - - .'
		seq -f "f 0644 $2 0.000000000 - - a-file-%06g" 20000
	} | hpdsl-snapshot load -q - -o "$1"
}

# cut NAME: it is shortened while diff waits for its reader.
cut_under_diff()
{
	local pid status=0
	rm -f pipe
	mkfifo pipe
	hpdsl-snapshot diff -q one two > pipe 2> err 3>&- &
	pid=$!
	exec 5< pipe
	head -c 1 <&5 > /dev/null
	truncate -s 4096 "$1"
	cat <&5 > rest
	exec 5<&-
	wait "$pid" || status=$?
	cat err
	[ "$status" = 3 ]
	[ "$(cat err)" = \
		"hpdsl-snapshot: file changed under us (bus error): $1" ]
}

@test "one of two snapshots is cut under diff: that one is named" {
	many one 1
	many two 2
	cp two whole
	cut_under_diff two
	mv whole two
	cut_under_diff one
}
