#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-info on stage directories: whole, in part, at work, not complete, of
# another boot, of somebody else, damaged.

load ../kit/lib
load ../kit/mpi

setup_file()
{
	need_mpi
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 20
	hpdsl-pack -q --labels=dir --chunks=6 tree ds
}

# info STATUS PATH..: its object, in $json.
info()
{
	local want=$1 status=0
	shift
	json=$(hpdsl-info --json "$@" 2> err) || status=$?
	if [ "$status" != "$want" ] || [ -s err ]; then
		echo "exit $status: ${json:-$output}"
		cat err
		return 1
	fi
	hpdsl-info "$@" > text || :
	[ "$(grep -c '^  wrong ' text)" -le 1 ]
}

is()
{
	python3 -c 'import json, sys
d = json.loads(sys.argv[1])
if str(eval(sys.argv[2])) != sys.argv[3]:
    sys.exit("%s is %s in %s" % (sys.argv[2], eval(sys.argv[2]), d))' \
		"$json" "$1" "$2"
}

# One in any state, made by hand.
make()
{
	"$SRC/tests/kit/stage_dir.py" make "$from/ds" "$@"
}

@test "a stage directory with all of a dataset" {
	stage 1 -q "$from/ds" node
	info 0 node
	is 'd["kind"], d["says"]' \
		"('stage', 'a stage directory with all of a dataset')"
	is 'd["ready"], d["coming"], d["missing"], d["planned"]' "(6, 0, 0, 6)"
	is 'd["complete"], d["at_work"], d["stale"], d["damaged"]' \
		"(True, False, False, False)"
	is 'd["samples"], d["origin"], d["next"]' \
		"(40, '$(cd "$from/ds" && pwd -P)', 'hpdsl-bench node')"
	is 'd["readers"][0]' "{'reader': 'hpdsl', 'takes': True}"
	is 'd["pack"]' "$(hpdsl-info --json "$from/ds" | field pack)"
	is 'd["owner"]' "$(id -un)"
	[ "$(grep -c '^  owner' text)" = 0 ]
	info 0 node/stage.hpdsl
	is 'd["kind"], d["says"], d["directory"]' \
		"('state', 'the state of a stage directory with all of a dataset', 'node')"
	info 0 node/peers.hpdsl
	is 'd["kind"], d["says"], d["directory"]' \
		"('book', 'the book of the nodes of a stage directory with all of a dataset', 'node')"
	head -c 100 node/peers.hpdsl > peers.hpdsl
	info 1 peers.hpdsl
	is 'd["kind"], d["wrong"]' "('book', 'peers.hpdsl: cut short')"
	info 0 node/chunk-000002.tar
	is 'd["kind"], d["chunk"], d["directory"]' "('chunk', 2, 'node')"
	bash -c "$(sed -n 's/^  next *//p' text) -q"
}

@test "parts of it: what is not planned is not missing" {
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/ds" node%n
	info 0 node1
	is 'd["says"]' "a stage directory with its part of a dataset"
	is 'd["ready"], d["chunks"], d["missing"], d["nodes"], d["part"]' \
		"(3, 6, 0, 2, 1)"
	grep -q '^  part *1 of 2$' text
	grep -q 'others than hpdsl find no more than what is here$' text
}

@test "not complete: what is missing, and the command that brings it" {
	make node here=0-2 coming=3-5 end=2
	info 0 node
	is 'd["complete"], d["ready"], d["missing"], d["coming"]' \
		"(False, 3, 3, 0)"
	is 'd["next"]' "hpdsl-stage $from/ds node"
	grep -q '^node: a stage directory that is not complete$' text
	grep -q '^  missing *3 chunks$' text
	bash -c "$(sed -n 's/^  next *//p' text) -q"
	info 0 node
	is 'd["complete"]' True
}

@test "being staged now, or so it was until a moment ago" {
	make node here=0-2 coming=3-5
	info 0 node
	is 'd["at_work"], d["coming"], d["missing"]' "(True, 3, 0)"
	is 'd["next"], d["complete"]' "('hpdsl-stage --status node', False)"
	grep -q '^node: a stage directory that is being staged now$' text
	grep -q '^  coming *3 chunks$' text
	make late here=0-2 coming=3-5 beat=8
	info 0 late
	is 'd["at_work"], d["beat_age"] > 7' "(True, True)"
	grep -q 'whose stager does not answer$' text
	grep -q '^  last heard *[0-9.]* s ago$' text
	make dead here=0-2 coming=3-5 beat=60
	info 0 dead
	is 'd["at_work"], d["missing"]' "(False, 3)"
}

@test "of another boot, and of several nodes" {
	make node boot=other
	info 0 node
	is 'd["stale"], d["next"]' "(True, 'hpdsl-stage $from/ds node')"
	grep -q 'of before this machine was started' text
	[ "$(grep -c '^  taken by' text)" = 0 ]
	make several here=0-2 coming=3-5 end=3 node=1/4 part=0/2
	(unset SLURM_JOB_ID; info 0 several
	is 'd["next"]' "mpirun -N 1 hpdsl-stage $from/ds several")
	SLURM_JOB_ID=7 info 0 several
	is 'd["next"]' \
		"srun --ntasks-per-node=1 hpdsl-stage $from/ds several"
}

@test "chunks that are gone or cut off, another state, none" {
	stage 1 -q "$from/ds" node
	cp -r node cut
	rm cut/chunk-000004.tar
	info 1 cut
	is 'd["damaged"], d["ready"], d["planned"], d["missing"], d["complete"]' \
		"(True, 5, 6, 1, False)"
	is '[r["reader"] for r in d["readers"] if r["takes"]]' "[]"
	is '"chunk-000004.tar: is missing" in d["readers"][0]["why"]' True
	grep -q '^cut: a stage directory that is not complete$' text
	grep -q '^  missing *1 chunk$' text
	grep -q '^  taken by *none of the readers: chunk-000004.tar: is missing' text
	grep -q '^  wrong *chunk-000004.tar: is missing' text
	bash -c "$(sed -n 's/^  next *//p' text) -q"
	info 0 cut
	is 'd["missing"], d["complete"]' "(0, True)"
	truncate -s 100 cut/chunk-000001.tar
	info 1 cut
	is 'd["ready"], d["missing"], d["complete"]' "(5, 1, False)"
	grep -q '^  taken by *none of the readers: chunk-000001.tar: is 100' text
	bash -c "$(sed -n 's/^  next *//p' text) -q"
	info 0 cut
	truncate -s 100 cut/index.hpdsl
	info 1 cut
	bash -c "$(sed -n 's/^  next *//p' text) -q"
	info 0 cut
	printf XX | dd of=cut/stage.hpdsl bs=1 seek=20 conv=notrunc status=none
	info 1 cut
	is 'd["says"]' "a stage directory whose state cannot be read"
	truncate -s 0 cut/stage.hpdsl
	info 1 cut
	rm cut/stage.hpdsl
	info 0 cut
	is 'd["says"]' "a stage directory in which nothing is staged yet"
	is 'd["next"]' "hpdsl-stage DATASET cut"
}

@test "compressed chunks as they are and as plain tars: sizes are right" {
	hpdsl-pack -q --zstd --chunks=2 "$from/tree" z
	stage 1 -q z plain
	stage 1 -q --keep-compressed z kept
	local dir
	for dir in plain kept; do
		info 0 $dir
		is 'd["ready"], d["missing"], d["complete"]' "(2, 0, True)"
		truncate -s 300 $dir/chunk-000001.tar*
		info 1 $dir
		is 'd["ready"], d["missing"], d["complete"]' "(1, 1, False)"
	done
}

@test "no room for all: it says so, and nothing of parts where there is one" {
	local room
	room=$(stat -c %s "$from"/ds/chunk-* | sort -n | tail -n 1)
	hpdsl-stage -q --capacity="$room" "$from/ds" node
	info 0 node
	is 'd["says"]' \
		"a stage directory with what it had room for of a dataset"
	is 'd["complete"], d["missing"]' "(True, 0)"
	[ "$(grep -c '^  part' text)" = 0 ]
	[ "$(hpdsl-stage --status node | grep -c 'part')" = 0 ]
}

@test "of LOCALDIR auto the next command has the word" {
	mkdir local
	export LOCAL_SCRATCH=$PWD/local
	unset SLURM_TMPDIR
	local id
	id=$(hpdsl-info --json "$from/ds" | field dataset_id)
	stage 1 -q "$from/ds" "local/hpdsl-$(id -u)-$id"
	stage 1 -q "$from/ds" "local/hpdsl-$(id -u)-mine"
	stage 1 -q "$from/ds" local/else
	rm local/*/chunk-000002.tar
	info 1 "local/hpdsl-$(id -u)-$id"
	is 'd["next"]' "hpdsl-stage --recheck $from/ds auto"
	info 1 "local/hpdsl-$(id -u)-mine"
	is 'd["next"]' "hpdsl-stage --recheck $from/ds auto:mine"
	info 1 local/else
	is 'd["next"]' "hpdsl-stage --recheck $from/ds local/else"
	# no such place any more
	LOCAL_SCRATCH=/nowhere info 1 "local/hpdsl-$(id -u)-mine"
	is 'd["next"].endswith("-mine")' True
}

@test "somebody else's: what its state says, and no more without the option" {
	need_root
	stage 1 -q "$from/ds" node
	chown -R 65532 node
	info 0 node
	is 'd["owner"], d["ready"], "readers" in d' "('65532', 6, False)"
	is 'd["next"]' "hpdsl-info --foreign-owner node"
	grep -q '^  owner *65532$' text
	info 0 --foreign-owner node
	is '"readers" in d, d["next"]' "(True, 'hpdsl-bench node')"
}

served_is()
{
	info 0 node0
	is 'd["served"]' "$1"
}

@test "the book of the job's nodes, and the server of this one" {
	stage 1 -q "$from/ds" alone
	info 0 alone
	is 'd["book"]["nodes"], d["served"], "server" in d' "(1, False, False)"
	[ "$(grep -c -e '^  book' -e '^  served' text)" = 0 ]
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/ds" node%n
	served_is False
	is 'd["book"]["node"], d["book"]["nodes"], len(d["book"]["id"])' "(0, 2, 32)"
	grep -q '^  book *node 0 of 2, ports [0-9]* to [0-9]*, ' text
	grep -q '^  served *not now$' text
	# the secret is nobody's to see
	local secret
	secret=$(od -An -tx1 -v -j 48 -N 32 node0/peers.hpdsl | tr -d ' \n')
	[ "${#secret}" = 64 ]
	[[ $json != *"$secret"* ]]
	# what only has the lock's name holds none
	ln -s nowhere node0/.serve.lock
	served_is False
	rm node0/.serve.lock
	chmod 644 node0/peers.hpdsl
	info 0 node0
	is '"book" in d, "peers.hpdsl" in d["no_book"]' "(False, True)"
	chmod 600 node0/peers.hpdsl
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	hpdsl-serve -q node0 3>&- &
	local pid=$!
	until_true test -S node0/serve.sock
	served_is True
	is 'd["server"].split()[:2]' "['pid', '$pid']"
	is 'd["socket"]' "$PWD/node0/serve.sock"
	[ -S node0/serve.sock ]
	grep -q "^  served *by pid $pid on " text
	grep -q 'what is here, but by its Unix socket, where they get all' text
	hpdsl-serve --stop -q node0
	wait "$pid"
	served_is False
	is '"socket" in d' False
}
