#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-snapshot diff and check: random edits of real trees, found by lstat and
# by them; single edits, to the letter; trees against packed datasets.

load ../kit/lib

edits()
{
	python3 "$SRC/tests/kit/snapshot_edits.py" "$@"
}

create()
{
	hpdsl-snapshot create -q "$@"
}

# differ TEXT COMMAND...: exit status 1, and on stdout just these lines.
differ()
{
	local want=$1 status=0
	shift
	"$@" > out 2> err || status=$?
	if [ "$status" != 1 ] || ! diff <(printf '%s' "$want") out; then
		echo "exit status $status"
		cat err
		return 1
	fi
}

# equal COMMAND...: exit status 0, nothing on stdout.
equal()
{
	if ! "$@" > out 2> err || [ -s out ]; then
		cat out err
		return 1
	fi
}

# same STATE STATE COMMAND...: it prints what is different between these.
same()
{
	local before=$1 after=$2 status=0
	shift 2
	"$@" > out 2> err || status=$?
	[ "$status" = 1 ]
	edits check "$before" "$after" < out
}

@test "random edits are found, all of them and nothing else" {
	local seed
	for seed in 1 2 3; do
		edits make "t$seed" "$seed" $((seed * 120))
		create "t$seed" -o a
		edits scan "t$seed" > before
		equal hpdsl-snapshot check a "t$seed"
		edits edit "t$seed" "$seed" 1000
		edits scan "t$seed" > after
		create "t$seed" -o b
		same before after hpdsl-snapshot diff -q0 a b
		same before after hpdsl-snapshot check -q0 a "t$seed"
		same before after hpdsl-snapshot check -j0 -q0 a "t$seed"
		# The other way round, and nothing.
		same after before hpdsl-snapshot diff -q0 b a
		equal hpdsl-snapshot diff b b
		equal hpdsl-snapshot check b "t$seed"
	done
}

@test "a few edits at a time are found" {
	local seed
	edits make t 7 300
	for seed in $(seq 8); do
		create t -o a
		edits scan t > before
		edits edit t "$seed" 4
		edits scan t > after
		cmp -s before after && continue
		create t -o b
		hpdsl-snapshot diff -q0 a b > out || [ $? = 1 ]
		edits check before after < out
		hpdsl-snapshot check -q0 a t > again || [ $? = 1 ]
		cmp out again
	done
}

@test "as JSON" {
	edits make t 8 200
	create t -o a
	edits scan t > before
	edits edit t 8 300
	edits scan t > after
	create t -o b
	hpdsl-snapshot diff --json a b > out || [ $? = 1 ]
	edits json before after < out
	hpdsl-snapshot check --json a t > out || [ $? = 1 ]
	edits json before after < out
	hpdsl-snapshot diff --json a a > out
	python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["equal"] and d["differences"] == [] and d["changed"] == 0, d' < out
}

@test "one edit, to the letter" {
	mkdir t t/d
	echo content > t/d/file
	ln -s target t/link
	chmod 644 t/d/file
	chmod 755 t t/d
	touch -d '2024-05-01 12:00:00.5 UTC' t/d/file
	create t -o a

	printf 12 > t/d/file
	touch -d '2024-05-02 12:00:00 UTC' t/d/file
	differ $'~ d/file\tsize 8 -> 2, mtime 2024-05-01 12:00:00 -> 2024-05-02 12:00:00\n' \
		hpdsl-snapshot check a t
	grep -qx 'hpdsl-snapshot: 0 added, 0 removed, 1 changed of 4 entries; newest change 2024-05-02 12:00:00.*' err

	printf 'content\n' > t/d/file
	touch -d '2024-05-01 12:00:00.4 UTC' t/d/file
	differ $'~ d/file\tmtime 2024-05-01 12:00:00.500000000 -> 2024-05-01 12:00:00.400000000\n' \
		hpdsl-snapshot check a t
	touch -d '2024-05-01 12:00:00.5 UTC' t/d/file
	equal hpdsl-snapshot check a t

	chmod 4600 t/d/file
	chmod 700 t
	differ $'~ .\tmode 0755 -> 0700\n~ d/file\tmode 0644 -> 4600\n' \
		hpdsl-snapshot check a t
	chmod 644 t/d/file
	chmod 755 t

	rm -r t/d
	touch t/d
	differ $'~ d\ttype d -> f\n- d/file\n' hpdsl-snapshot check a t
	create t -o b
	differ $'~ d\ttype f -> d\n+ d/file\n' hpdsl-snapshot diff b a
}

@test "a folder that was merely touched is equal" {
	make_tree t 2 3
	create t -o a
	touch -d 2001-01-01 t t/class0
	touch t/class1/new
	rm t/class1/new
	equal hpdsl-snapshot check a t
	create t -o b
	if cmp -s a b; then
		return 1
	fi
	equal hpdsl-snapshot diff a b
	grep -q equal err
}

@test "names with newlines take a line each, or end with a NUL" {
	mkdir t
	create t -o a
	touch $'t/a\nb' 't/c\d'
	differ $'+ a\\nb\n+ c\\\\d\n' hpdsl-snapshot check -q a t
	hpdsl-snapshot check -q0 a t > out || [ $? = 1 ]
	printf '+ a\nb\0+ c\\d\0' | cmp - out
}

@test "a tree and the dataset that was packed from it" {
	make_tree t 3 5
	mkdir t/empty
	chmod 700 t/class0
	chmod 644 t/*/*.png
	hpdsl-pack -q t ds
	create t -o tree
	create ds -o dataset
	equal hpdsl-snapshot diff tree dataset
	equal hpdsl-snapshot diff dataset tree
	equal hpdsl-snapshot check dataset t
	equal hpdsl-snapshot check tree ds

	chmod 600 t/class1/00000.png
	rm t/class2/00001.png
	mkdir t/class2/new
	echo new > t/class2/new/file
	ln -s nowhere t/link
	hpdsl-snapshot check -q dataset t > out || [ $? = 1 ]
	diff - out <<- END
		~ class1/00000.png	mode 0644 -> 0600
		- class2/00001.png
		+ class2/new/file
		+ link
	END
}

@test "two datasets: contents are compared too" {
	make_tree t 2 3
	touch -d @1700000000 t/*/*
	hpdsl-pack -q t one
	size=$(stat -c %s t/class1/00000.json)
	head -c "$size" /dev/zero > t/class1/00000.json
	touch -d @1700000000 t/*/*
	hpdsl-pack -q t two
	create one -o a
	create two -o b
	differ $'~ class1/00000.json\tcontent\n' hpdsl-snapshot diff a b
	# A tree knows no contents.
	equal hpdsl-snapshot check a t
}

@test "exit statuses" {
	mkdir t
	create t -o a
	echo text > text
	fails 3 'no-such' hpdsl-snapshot diff a no-such
	fails 3 'no-such' hpdsl-snapshot diff no-such a
	fails 3 'no-such' hpdsl-snapshot check a no-such
	fails 3 text hpdsl-snapshot diff a text
	fails 3 text hpdsl-snapshot diff a t/../text
	fails 2 '' hpdsl-snapshot diff a
	fails 2 '' hpdsl-snapshot diff a a a
	fails 2 '' hpdsl-snapshot check a
}
