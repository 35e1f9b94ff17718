#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whose a stage directory or an OUTPUT may be: the caller's or root's, or
# anybody's with --foreign-owner.

load ../kit/lib
load ../kit/python

# Neither of them is root, nor the other one.
stranger=65532 caller=65533

setup_file()
{
	make_tree "$BATS_FILE_TMPDIR/tree" 1 6
	hpdsl-pack -q --chunks=2 "$BATS_FILE_TMPDIR/tree" "$BATS_FILE_TMPDIR/ds"
	[ "$(id -u)" != 0 ] || [ ! -x "$BUILD/hpdsl-stage" ] ||
		hpdsl-stage -q "$BATS_FILE_TMPDIR/ds" "$BATS_FILE_TMPDIR/node"
}

setup()
{
	need_root
	need setpriv
	cd "$BATS_TEST_TMPDIR" || return 1
	# shellcheck disable=SC2034
	from=$BATS_FILE_TMPDIR
}

# A stage directory that all can read: node, the files of user $1, itself of $2.
staged()
{
	[ -d "$from/node" ] || skip "hpdsl-stage was not built: no MPI compiler"
	cp -r "$from/node" node
	chmod -R a+rX node
	chown -R "$1" node
	chown "$2" node
}

as_caller()
{
	setpriv --reuid=$caller --regid=$caller --clear-groups "$@"
}

need_caller()
{
	chmod 755 . .. ../..
	as_caller test -r . -a -x "$BUILD/hpdsl-ls" ||
		skip "user $caller cannot come here"
}

# reads OPTION.. -- COMMAND..: by each command that opens a dataset.
each_reader()
{
	hpdsl-ls "$@" node
	hpdsl-cat "$@" --sample=0 node
	hpdsl-order "$@" node
	hpdsl-bench "$@" -q node
	hpdsl-verify "$@" -q node
	hpdsl-verify "$@" -q --compat=dali node
	hpdsl-verify "$@" -q --source=node "$from/ds"
	hpdsl-unpack "$@" -q node unpacked
	hpdsl-pack "$@" -q node packed
	hpdsl-snapshot create "$@" -q node -o snapshot
}

refused()
{
	fails 3 "$1belongs to user $stranger, neither to the caller nor to root" \
		"${@:2}"
	[[ $message = *"--foreign-owner"* ]]
	[ "$(wc -l <<< "$message")" = 1 ]
}

@test "a stage directory of another user is refused by all who read" {
	local what
	staged $stranger $stranger
	for what in "ls node" "cat --sample=0 node" "order node" "bench -q node" \
		"verify -q node" "verify -q --compat=dali node" \
		"verify -q --source=node $from/ds" "unpack -q node unpacked" \
		"pack -q node packed" "snapshot create -q node -o snapshot"; do
		# shellcheck disable=SC2086
		refused "" hpdsl-$what
	done
	[ ! -e unpacked ] && [ ! -e packed ] && [ ! -e snapshot ]
	each_reader --foreign-owner > /dev/null
	same_trees "$from/tree" unpacked
}

@test "so is another user's state file in one's own, and a directory of his" {
	local how
	staged root root
	chown $stranger node/stage.hpdsl
	refused "node/stage.hpdsl: " hpdsl-ls node
	refused "stage.hpdsl: " hpdsl-verify -q node
	# the stager, too, takes nobody's word, and there no option helps
	for how in -q --foreign-owner; do
		fails 3 "node/stage.hpdsl: belongs to user $stranger, " \
			hpdsl-stage -q $how "$from/ds" "$PWD/node"
		[[ $message = *"; remove it" ]]
	done
	chown root node/stage.hpdsl
	chown $stranger node
	refused "node/stage.hpdsl: its directory: " hpdsl-ls node
	# also before there is a state file
	rm node/stage.hpdsl
	refused "node/stage.hpdsl: its directory: " hpdsl-ls node
	chown root node
	hpdsl-ls node > /dev/null
}

@test "root's stage directory is for all, and so is the caller's own" {
	staged root root
	need_caller
	as_caller "$BUILD/hpdsl-bench" -q node
	chown -R $caller node
	as_caller "$BUILD/hpdsl-bench" -q node
	chown -R $stranger node
	refused "" as_caller "$BUILD/hpdsl-bench" -q node
	as_caller "$BUILD/hpdsl-bench" -q --foreign-owner node
}

@test "a dataset that is no stage directory may be anybody's" {
	cp -r "$from/ds" node
	chown -R $stranger node
	each_reader > /dev/null
	same_trees "$from/tree" unpacked
}

@test "another user's OUTPUT is refused, and nothing is written into it" {
	mkdir out
	chown $stranger out
	refused "out: " hpdsl-pack -q "$from/tree" out
	refused "out: " hpdsl-pack -q --force "$from/tree" out
	refused "out: " hpdsl-unpack -q "$from/ds" out
	refused "out: the directory: " hpdsl-index -q -o out \
		"$from/ds/chunk-000000.tar"
	[ "$(ls -A out)" = "" ]
	hpdsl-pack -q --foreign-owner "$from/tree" out
	hpdsl-verify -q out
	refused "out: " hpdsl-pack -q --resume "$from/tree" out
	refused "out: " hpdsl-pack -q --force "$from/tree" out
	hpdsl-pack -q --foreign-owner --force "$from/tree" out
	# what is made beside OUTPUT is made by this run, or refused
	mkdir .out.hpdsl-new
	chown $stranger .out.hpdsl-new
	refused ".out.hpdsl-new: " hpdsl-pack -q --force "$from/tree" out
	mkdir dir
	chown $stranger dir
	hpdsl-unpack -q --foreign-owner "$from/ds" dir
	same_trees "$from/tree" dir
}

@test "Python: foreign_owner=True, also pickled" {
	staged $stranger $stranger
	py - <<- 'END'
		import hpdsl, pickle
		try:
		    hpdsl.Dataset("node")
		    raise SystemExit("it was opened")
		except hpdsl.SystemFailure as e:
		    assert "belongs to user 65532" in str(e), e
		with hpdsl.Dataset("node", foreign_owner=True) as ds:
		    assert len(pickle.loads(pickle.dumps(ds))) == len(ds) == 6
	END
}
