#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the index says of the order of its samples: as hpdsl-pack made it, as it
# comes back when it is rebuilt, and as the author of tar files says.

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 5
	# what tar holds: so nothing is lost with the index
	find tree -exec touch -d '2020-01-01 12:00:00' {} +
	hpdsl-pack -q --seed=9 --chunks=3 tree packed
	cp -a packed was
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR/." .
}

# flags DIR: those of the index's header.
flags()
{
	od -A n -t u4 -j 60 -N 4 "$1/index.hpdsl" | tr -d ' '
}

# index [OPTION..]: hpdsl-index of packed, which is sound then; said has what
# it says.
index()
{
	hpdsl-index "$@" packed 2> said || { cat said; return 1; }
	cat said
	hpdsl-verify -q packed
}

# adopted [OPTION..]: the same of tars.
adopted()
{
	hpdsl-index "$@" tars 2> said || { cat said; return 1; }
	cat said
	hpdsl-verify -q tars
}

make_tars()
{
	mkdir tars
	tar -C tree --sort=name -cf tars/a.tar class0
	tar -C tree --sort=name -cf tars/b.tar class1
}

@test "packed: the bit is that of --shuffle" {
	[ "$(flags packed)" = 4 ]
	hpdsl-pack -q --shuffle=none tree sorted
	[ "$(flags sorted)" = 0 ]
	hpdsl-pack -q --group=none tree single
	[ "$(flags single)" = 5 ]
	hpdsl-pack -q --group=none --shuffle=none tree plain
	[ "$(flags plain)" = 1 ]
	hpdsl-verify -q sorted
	hpdsl-verify -q single
}

@test "rebuilt: index or manifest know it, and the index is the same" {
	rm packed/index.hpdsl
	index
	cmp was/index.hpdsl packed/index.hpdsl
	rm packed/dataset.yaml
	index
	cmp was/index.hpdsl packed/index.hpdsl
	grep -qx '  shuffle: global' packed/dataset.yaml
	# so that it is known to the next one, too
	rm packed/index.hpdsl
	index
	cmp was/index.hpdsl packed/index.hpdsl
	run ! grep -q 'shuffled' said
}

@test "rebuilt: the same of what was not shuffled" {
	rm -r packed
	hpdsl-pack -q --shuffle=none --chunks=3 tree packed
	cp packed/index.hpdsl index
	rm packed/index.hpdsl
	index
	cmp index packed/index.hpdsl
	rm packed/dataset.yaml
	index
	cmp index packed/index.hpdsl
	run ! grep -q 'shuffle:' packed/dataset.yaml
}

@test "rebuilt without both: not shuffled, another pack, and it is said" {
	rm packed/index.hpdsl packed/dataset.yaml
	index
	grep -q 'not known whether it was shuffled' said
	grep -q 'another pack if it was' said
	[ "$(flags packed)" = 0 ]
	run ! grep -q 'shuffle:' packed/dataset.yaml
	run ! cmp -s was/index.hpdsl packed/index.hpdsl
	# whoever knows better says so
	index --shuffled
	run ! grep -q 'not known' said
	cmp was/index.hpdsl packed/index.hpdsl
	grep -qx '  shuffle: global' packed/dataset.yaml
	index
	grep -q 'nothing to rebuild' said
	cmp was/index.hpdsl packed/index.hpdsl
}

@test "--shuffled is refused where the manifest knows better" {
	index --shuffled
	grep -q 'nothing to rebuild' said
	diff -r was packed
	hpdsl-pack -q --shuffle=none tree sorted
	cp -a sorted before
	fails 2 'sorted: not shuffled: it was packed in the order of the keys' \
		hpdsl-index --shuffled sorted
	diff -r before sorted
	rm sorted/index.hpdsl
	fails 2 'not shuffled' hpdsl-index --shuffled sorted
	[ ! -e sorted/index.hpdsl ]
}

@test "adopted: not shuffled, unless their author says so" {
	make_tars
	adopted
	grep -q 'counts as not shuffled' said
	[ "$(flags tars)" = 2 ]
	run ! grep -q 'shuffle:' tars/dataset.yaml
	hpdsl-index --json tars 2> /dev/null | grep -q '"shuffled": *false'
	adopted --shuffled
	run ! grep -q 'counts as' said
	[ "$(flags tars)" = 6 ]
	grep -qx '  shuffle: global' tars/dataset.yaml
	hpdsl-index --json tars 2> /dev/null | grep -q '"shuffled": *true'
}

@test "adopted: what was said stays, with index or manifest alone" {
	make_tars
	adopted --shuffled
	cp -a tars was-tars
	adopted
	grep -q 'nothing to rebuild' said
	rm tars/index.hpdsl
	adopted
	diff -r was-tars tars
	rm tars/dataset.yaml
	adopted
	diff -r was-tars tars
	# until both are away
	rm tars/index.hpdsl tars/dataset.yaml
	adopted
	[ "$(flags tars)" = 2 ]
}

@test "what was shuffled and not are two packs of one dataset" {
	hpdsl-pack -q --shuffle=none --chunks=1 tree one
	hpdsl-index -q -o said-so --shuffled one/chunk-000000.tar
	hpdsl-index -q -o untold one/chunk-000000.tar
	id=$(grep '^dataset_id' said-so/dataset.yaml)
	[ "$id" = "$(grep '^dataset_id' untold/dataset.yaml)" ]
	run ! cmp -s said-so/index.hpdsl untold/index.hpdsl
}
