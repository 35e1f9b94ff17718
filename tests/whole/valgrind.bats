#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands under valgrind: no error, no leak, on 2,000 files.
# bats file_tags=more

load ../kit/lib

setup()
{
	need valgrind
	[ -z "${SAN:-}" ] || skip "a sanitizer does not run under valgrind"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# checked STATUS COMMAND..: ends so under valgrind, which has nothing to say.
checked()
{
	local want=$1 status=0
	shift
	valgrind -q --error-exitcode=99 --leak-check=full \
		--show-leak-kinds=definite,indirect,possible \
		--errors-for-leak-kinds=definite,indirect,possible \
		--log-file=log "$@" > out 2> err || status=$?
	if [ "$status" != "$want" ] || [ -s log ]; then
		echo "wanted exit $want, got $status from: $*"
		cat log err
		return 1
	fi
}

make_files()
{
	python3 - <<- 'END'
		import os
		for i in range(2000):
		    folder = f"tree/class{i % 20:02}"
		    os.makedirs(folder, exist_ok=True)
		    with open(f"{folder}/{i:05}.png", "wb") as f:
		        f.write(bytes([i % 251]) * (300 + i * 37 % 2700))
		with open("tree/class00/large.bin", "wb") as f:
		    f.write(b"x" * 5000000)
		with open("tree/class00/" + "n" * 200 + ".txt", "wb") as f:
		    f.write(b"a name that needs more than a plain header")
	END
}

@test "pack, verify, list, print, unpack, rebuild" {
	make_files
	checked 0 hpdsl-pack -q -j 4 --labels=dir --chunks=8 --meta a=b tree \
		packed
	checked 0 hpdsl-pack -q --resume --labels=dir --chunks=8 --meta a=b \
		tree packed
	checked 0 hpdsl-verify -q -j 4 --source=tree packed
	checked 0 hpdsl-ls -l packed
	[ "$(wc -l < out)" = 2002 ]
	checked 0 hpdsl-ls --json --samples packed '*7.png'
	checked 0 hpdsl-cat --sample=7 packed class00/large.bin
	checked 0 hpdsl-unpack -q -j 4 packed restored
	same_trees tree restored
	rm packed/dataset.yaml
	checked 0 hpdsl-index -q -j 4 packed
	hpdsl-verify -q packed
}

@test "nothing leaks when something is wrong" {
	make_tree tree 2 10
	hpdsl-pack -q --chunks=2 tree packed
	checked 3 hpdsl-pack -q tree packed
	checked 3 hpdsl-pack -q --resume --seed=1 --chunks=2 tree packed
	checked 2 hpdsl-pack -q --chunks=50 tree other
	mkfifo tree/fifo
	run hpdsl-pack -q tree other
	checked "$status" hpdsl-pack -q tree other
	rm tree/fifo
	echo more >> tree/class0/00001.png
	checked 1 hpdsl-verify -q --source=tree packed
	printf '\377' | dd of=packed/chunk-000001.tar bs=1 seek=515 \
		conv=notrunc status=none
	checked 1 hpdsl-verify -q packed
	checked 1 hpdsl-unpack -q packed restored
	checked 1 hpdsl-index -q packed
	checked 1 hpdsl-cat packed absent
	for file in member-past-chunk lookup-loops version-99 path-twice; do
		cp "$SRC/tests/data/bad/index/$file" packed/index.hpdsl
		run hpdsl-ls packed
		checked "$status" hpdsl-ls packed
		checked 1 hpdsl-verify -q packed
	done
	for file in alias-bomb nested-deeply chunk-name-nul; do
		cp "$SRC/tests/data/bad/manifest/$file" packed/dataset.yaml
		checked 1 hpdsl-verify -q packed
	done
}
