#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage --report and --status: where they go, and what they say when things
# are not as they should be.

load ../kit/lib
load ../kit/mpi

setup_file()
{
	make_tree "$BATS_FILE_TMPDIR/in" 2 40
	hpdsl-pack -q --chunks=4 "$BATS_FILE_TMPDIR/in" "$BATS_FILE_TMPDIR/ds"
}

field()
{
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"
}

@test "a report that cannot be written is told of before anything is staged" {
	mkdir dir
	fails 3 'none/report: No such file' \
		stage 2 --pretend-nodes=2 --report=none/report "$from/ds" node%n
	fails 3 'dir: Is a directory' stage 1 --report=dir "$from/ds" node0
	[ "$(wc -l <<< "$message")" = 1 ]
	[ ! -e node0 ] && [ ! -e dir.part ]
	fails 3 '/dev/full: No space left' \
		hpdsl-stage -q --report=/dev/full "$from/ds" node0
	hpdsl-verify -q node0
}

@test "a report to what is no regular file leaves it what it is" {
	mkfifo pipe
	cat pipe > said &
	hpdsl-stage -q --report=pipe "$from/ds" node0
	wait "$!"
	[ -p pipe ]
	[ "$(field said status)" = complete ]
	# as /dev/stdout is one
	echo old > file
	ln -s file link
	hpdsl-stage -q --report=link "$from/ds" node0
	[ -L link ]
	[ "$(field file status)" = complete ]
}

@test "the report of a run that failed early" {
	fails 3 'none: No such file' \
		hpdsl-stage --report=report none node0
	[ "$(field report status)" = failed ]
	[[ "$(field report error)" == "none: No such file"* ]]
	mkdir other
	touch other/file
	fails 3 'no stage directory' \
		hpdsl-stage --report=report "$from/ds" other
	[ "$(field report status)" = failed ]
	[ ! -e report.part ]
}

@test "--json prints nothing where there is nothing to tell of" {
	fails 3 'node0: No such file' hpdsl-stage --status --json node0
	fails 3 'node0: No such file' hpdsl-stage --clean --json node0
}

@test "--nodes is for a plan without ranks" {
	fails 2 'one rank' stage 2 --plan --nodes=5 "$from/ds"
}

@test "--status says whether what was planned is here" {
	hpdsl-stage -q --capacity="$(stat -c %s "$from"/ds/chunk-*.tar |
		sort -n | tail -n 1)" "$from/ds" node0
	[[ $(hpdsl-stage --status node0) == \
	*"1 of 4 chunks"*"; all that was planned"* ]]
}

@test "--status: chunks that are gone, or cut off, are missing" {
	hpdsl-stage -q "$from/ds" node0
	hpdsl-stage --status node0 > told
	grep -q '4 of 4 chunks.*here, 0 coming; all that was planned$' told
	rm node0/chunk-000001.tar
	[[ $(hpdsl-stage --status node0) == *"3 of 4 chunks"*", 1 missing, 0 $(
		)coming; not all that was planned: a chunk is gone or cut off"* ]]
	truncate -s 512 node0/chunk-000003.tar
	hpdsl-stage --status --json node0 > told
	[ "$(field told ready) $(field told missing)" = "2 2" ]
	[ "$(field told planned) $(field told coming)" = "4 0" ]
	[ "$(field told complete)" = False ]
	# it comes again
	hpdsl-stage -q --recheck "$from/ds" node0
	hpdsl-stage --status --json node0 > told
	[ "$(field told ready) $(field told missing)" = "4 0" ]
	[ "$(field told complete)" = True ]
}

# bats test_tags=wide
@test "LOCALDIR in another stage directory is refused" {
	local to
	hpdsl-stage -q "$from/ds" here
	mkdir -p here/there here/were
	ln -s here link
	for to in link/sub "$PWD/here/there" \
		$(rounds "" "here/sub here/there/sub" "here/sub here/there/sub"); do
		fails 2 "$to: is in another stage directory, $PWD/here" \
			hpdsl-stage -q "$from/ds" "$to"
	done
	fails 2 "here/sub0: is in another stage directory, $PWD/here" \
		stage 2 -q --pretend-nodes=2 "$from/ds" here/sub%n
	[ -z "$(find here/sub* here/there -type f)" ]
	# one that an earlier version has made there can be cleaned
	hpdsl-stage -q "$from/ds" other
	mv other here/were/in
	hpdsl-stage -q --clean here/were/in
	rmdir here/were here/there
	hpdsl-stage -q "$from/ds" here
	hpdsl-stage -q --clean here
	[ ! -e here ]
	# a lock of somebody else's is in nobody's way
	need_root
	mkdir in
	touch in/.stage.lock
	chown 12345 in/.stage.lock
	hpdsl-stage -q "$from/ds" in/here
	chown 0 in/.stage.lock
	chown 12345 in
	hpdsl-stage -q "$from/ds" in/here
	chown 0 in
	fails 2 "in/here: is in another" hpdsl-stage -q "$from/ds" in/here
}

@test "what is no regular file in the dataset is named" {
	local name
	for name in dataset.yaml index.hpdsl; do
		rm -rf bad
		cp -r "$from/ds" bad
		rm bad/$name
		mkfifo bad/$name
		fails_any "bad/$name: not a regular file" hpdsl-stage -q bad here
		[ ! -e here ]
	done
	cp "$from/ds/index.hpdsl" bad/fine
	mv bad/fine bad/index.hpdsl
	rm bad/dataset.yaml
	mkfifo bad/dataset.yaml
	fails_any "bad/dataset.yaml: not a regular file" \
		timeout 600 hpdsl-stage --plan bad
	fails_any "bad: dataset.yaml: not a regular file" hpdsl-index bad
	hpdsl-verify bad > said 2> /dev/null || :
	grep -qx 'dataset.yaml: not a regular file' said
	fails_any "bad/dataset.yaml: not a regular file" \
		hpdsl-pack -q --resume "$from/in" bad
}

# fails_any TEXT COMMAND..: one line with it, and some status that is not 0.
fails_any()
{
	local status=0 want=$1
	shift
	"$@" > /dev/null 2> line || status=$?
	cat line
	[ "$status" != 0 ] && [ "$status" != 124 ]
	[ "$(wc -l < line)" = 1 ]
	grep -qF -- "$want" line
}

# bats test_tags=wide
@test "LOCALDIR in the dataset, and the dataset in LOCALDIR, are refused" {
	local to
	cp -r "$from/ds" ds
	ln -s ds link
	mkdir -p ds/there holds
	mv ds holds/ds
	ln -s holds/ds ds
	find holds > before
	for to in link/sub holds/ds/no/../sub $(rounds "" \
		"ds/sub $PWD/holds/ds/there ds/there/sub/ holds/ds" \
		"ds/sub $PWD/holds/ds/there ds/there/sub/ holds/ds"); do
		fails 2 "$to: is in the dataset $PWD/holds/ds" \
			hpdsl-stage -q ds "$to"
	done
	(cd holds/ds && fails 2 "sub: is in the dataset" hpdsl-stage -q . sub)
	(cd holds/ds && fails 2 ": is in the dataset" hpdsl-stage -q . "")
	fails 2 "holds: holds the dataset $PWD/holds/ds" \
		hpdsl-stage -q ds holds
	(cd holds && fails 2 ".: holds the dataset" hpdsl-stage -q ds .)
	fails 2 "ds/sub0: is in the dataset" \
		stage 2 -q --pretend-nodes=2 ds ds/sub%n
	find holds | diff before -
	hpdsl-stage -q ds holds/beside
	hpdsl-verify -q holds/beside
	# nor when it has become a stage directory
	mv holds/ds holds/beside/ds
	fails 2 "holds/beside: holds the dataset" \
		hpdsl-stage -q holds/beside/ds holds/beside
}
