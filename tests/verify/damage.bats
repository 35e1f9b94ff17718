#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Damage of every kind is found and named, and does no more harm than it must.

load ../kit/lib

# A dataset of 15 samples in 3 chunks, and a copy of it to be damaged.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 5
	head -c 1000000 /dev/zero | tr '\0' x > tree/class1/large.bin
	hpdsl-pack -q --labels=dir --chunks=3 --seed=3 --meta a=b tree packed
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -a "$BATS_FILE_TMPDIR/packed" "$BATS_FILE_TMPDIR/tree" .
}

# verdict STATUS COMMAND..: it must end so; stdout and stderr to out and err.
verdict()
{
	local want=$1 status=0
	shift
	"$@" > out 2> err || status=$?
	if [ "$status" != "$want" ]; then
		echo "wanted exit $want, got $status from: $*"
		cat out err
		return 1
	fi
}

# says FILE LINE: it is one of the lines of FILE.
says()
{
	grep -qxF -e "$2" "$1" && return
	echo "wanted a line: $2"
	echo "got:"
	cat "$1"
	return 1
}

# The chunk and the offset of a member's content.
place()
{
	hpdsl-ls --json packed "$1" | python3 -c '
import json, sys
m = json.loads(sys.stdin.readline())
print("chunk-%06d.tar" % m["chunk"], m["offset"])'
}

# Writes over one byte of a member's content.
damage_member()
{
	local chunk offset
	read -r chunk offset < <(place "$1")
	printf '\377' | dd of="packed/$chunk" bs=1 seek=$((offset + 7)) \
		conv=notrunc status=none
	echo "$chunk"
}

# Nothing in FILE matches PATTERN.
lacks()
{
	! grep -e "$2" "$1"
}

# What is in $1 is in $2, too, and the same.
only_parts_of()
{
	(cd "$1" && find . -type f) | while read -r f; do
		cmp "$1/$f" "$2/$f" || exit
	done
}

# bats test_tags=wide
@test "single bits flipped at random: each is found and named" {
	"$SRC/tests/kit/damage.py" flip packed "$(rounds 50 500 5000)" 1
	hpdsl-verify -q packed
}

# bats test_tags=wide
@test "files cut at random places: each is found and named" {
	"$SRC/tests/kit/damage.py" cut packed "$(rounds 15 100 1000)" 2
	hpdsl-verify -q packed
}

# bats test_tags=wide
@test "flips and cuts of a dataset with all there is: each is found and named" {
	printf 'b' > "tree/class0/My Img.v2.PNG"
	hpdsl-pack -q --labels=dir --cls --names=portable --zstd \
		--digest=sha256 --emit=dali,energon,wids --chunks=2 tree full
	hpdsl-verify -q full
	[ -e full/chunk-000001.tar.zst ]
	[ -e full/.nv-meta/split.yaml ]
	"$SRC/tests/kit/damage.py" flip full "$(rounds 30 300 5000)" 3
	"$SRC/tests/kit/damage.py" cut full "$(rounds 10 60 1000)" 4
	hpdsl-verify -q full
}

@test "a missing chunk: named with all its samples; the others come back" {
	rm packed/chunk-000001.tar
	for quick in "" --quick; do
		# shellcheck disable=SC2086
		verdict 1 hpdsl-verify $quick packed
		says out "chunk-000001.tar: is missing (samples 6-10)"
		[ "$(wc -l < out)" = 1 ]
		says err "hpdsl-verify: damaged: 1 file (1 chunk), 5 samples"
	done
	verdict 1 hpdsl-unpack packed some
	grep -q "chunk-000001.tar: No such file" err
	hpdsl-ls --json packed | grep -vc '"chunk": 1,' > want
	[ "$(find some -type f | wc -l)" = "$(cat want)" ]
	only_parts_of some tree
}

@test "a chunk that is a folder, a FIFO or unreadable is no chunk" {
	rm packed/chunk-000001.tar
	mkdir packed/chunk-000001.tar
	verdict 1 hpdsl-verify -q packed
	grep -q '^chunk-000001.tar: .*(samples 6-10)' out
	rmdir packed/chunk-000001.tar
	mkfifo packed/chunk-000001.tar
	verdict 1 timeout 600 hpdsl-verify -q packed
	grep -q '^chunk-000001.tar: .*(samples 6-10)' out
	verdict 1 timeout 600 hpdsl-unpack packed some
	only_parts_of some tree
}

@test "two chunks swapped: both are named" {
	mv packed/chunk-000000.tar x
	mv packed/chunk-000002.tar packed/chunk-000000.tar
	mv x packed/chunk-000002.tar
	for quick in "" --quick; do
		# shellcheck disable=SC2086
		verdict 1 hpdsl-verify -q $quick packed
		grep -q '^chunk-000000.tar: ' out
		grep -q '^chunk-000002.tar: ' out
		lacks out 'chunk-000001'
	done
	verdict 1 hpdsl-unpack -q packed some
	only_parts_of some tree
}

@test "another file in the directory: a warning, no damage" {
	echo hello > packed/notes.txt
	mkdir packed/.nv-meta
	verdict 0 hpdsl-verify -q packed
	says err "hpdsl-verify: warning: notes.txt: not a file of this dataset"
	says err "hpdsl-verify: warning: .nv-meta: not a file of this dataset"
	[ ! -s out ]
	verdict 0 hpdsl-verify --json packed
	grep -q '"unlisted": 2,' out
}

@test "4 KiB of zeros: chunk, samples and members are named" {
	dd if=/dev/zero of=packed/chunk-000001.tar bs=4096 seek=1 count=1 \
		conv=notrunc status=none
	verdict 1 hpdsl-verify packed
	[ "$(grep -c '^chunk-000001.tar: sample [0-9]*: class' out)" -ge 2 ]
	[ "$(grep -vc '^chunk-000001.tar: ' out)" = 0 ]
	verdict 1 hpdsl-unpack -q packed some
	only_parts_of some tree
}

@test "bytes behind the end of a chunk, of the index, of the manifest" {
	for file in chunk-000002.tar index.hpdsl dataset.yaml; do
		cp "packed/$file" x
		printf '\0' >> "packed/$file"
		verdict 1 hpdsl-verify -q packed
		grep -q "^$file: " out
		cp x "packed/$file"
	done
	verdict 0 hpdsl-verify -q packed
}

@test "the index, or the manifest, of another build" {
	hpdsl-pack -q --labels=dir --chunks=3 --seed=4 tree other
	for file in index.hpdsl dataset.yaml; do
		cp "packed/$file" x
		cp "other/$file" packed
		verdict 1 hpdsl-verify -q packed
		grep -q '^index.hpdsl: ' out
		verdict 1 hpdsl-verify -q --quick packed
		grep -q '^index.hpdsl: ' out
		cp x "packed/$file"
	done
	cp other/index.hpdsl packed
	verdict 1 hpdsl-unpack packed some
	only_parts_of some tree
	# Both of them: then the chunks are the wrong ones.
	cp other/dataset.yaml packed
	verdict 1 hpdsl-verify -q packed
	grep -q '^chunk-000000.tar: ' out
	lacks out '^index.hpdsl'
}

@test "the same content in other chunks is another build, too" {
	hpdsl-pack -q --labels=dir --chunks=3 --seed=3 --meta a=b tree same
	cmp packed/index.hpdsl same/index.hpdsl
	touch -d 2001-01-01 tree/class0/00000.png
	hpdsl-pack -q --labels=dir --chunks=3 --seed=3 --meta a=b tree other
	cp other/chunk-* packed
	verdict 1 hpdsl-verify -q packed
	grep -q ': class0/00000.png: header differs' out
	[ "$(wc -l < out)" = 1 ]
}

@test "hpdsl-cat of a damaged member: exit 1, the others are printed" {
	chunk=$(damage_member class0/00001.png)
	verdict 1 hpdsl-cat packed class0/00002.json class0/00001.png \
		class2/00003.json
	grep -q "$chunk: member [0-9]* 'class0/00001.png': checksum differs" err
	[ "$(wc -l < err)" = 1 ]
	grep -q '"class": 0, "n": 2' out
	grep -q '"class": 2, "n": 3' out
	verdict 0 hpdsl-cat packed class0/00002.json
	damage_member class1/large.bin
	verdict 1 hpdsl-cat packed class1/large.bin
	grep -q "'class1/large.bin': checksum differs" err
}

@test "hpdsl-unpack of damaged members: exit 1, no names for them" {
	damage_member class0/00001.png
	damage_member class1/large.bin
	for j in 0 2; do
		verdict 1 hpdsl-unpack -q -j $j packed "some$j"
		[ ! -e "some$j/class0/00001.png" ]
		[ ! -e "some$j/class1/large.bin" ]
		[ "$(grep -c 'checksum differs' err)" -ge 2 ]
		only_parts_of "some$j" tree
		# All others, and nothing under a temporary name.
		rm -rf rest && cp -a tree rest
		rm rest/class0/00001.png rest/class1/large.bin
		same_trees rest "some$j"
	done
	verdict 1 hpdsl-unpack packed one class1/large.bin
	[ -z "$(find one -type f)" ]
	# What was restored is told all the same.
	verdict 1 hpdsl-unpack --json packed three
	[ "$(field failed < out)" = 2 ]
	[ "$(field members < out)" = "$(find three -type f | wc -l)" ]
	verdict 1 hpdsl-unpack packed four
	grep -q "^hpdsl-unpack: $(find four -type f | wc -l) files, " err
	verdict 0 hpdsl-unpack packed two class0/00002.json
}

@test "a chunk that is gone is told once, not for each member" {
	rm packed/chunk-000001.tar
	verdict 1 hpdsl-unpack packed some
	[ "$(grep -c 'warning: packed/chunk-000001.tar: No such file' err)" = 1 ]
	[ "$(wc -l < err)" = 3 ]
	hpdsl-ls packed > names
	verdict 1 hpdsl-cat --files-from=names packed
	[ "$(cat err)" = \
		"hpdsl-cat: packed/chunk-000001.tar: No such file or directory" ]
}

@test "a damaged index: what each command says, and its exit status" {
	cp packed/index.hpdsl x
	while read -r how text; do
		echo "--- $how"
		cp x packed/index.hpdsl
		case $how in
		cut) truncate -s 100 packed/index.hpdsl ;;
		empty) truncate -s 0 packed/index.hpdsl ;;
		longer) truncate -s +8 packed/index.hpdsl ;;
		header) printf '\377' | dd of=packed/index.hpdsl bs=1 seek=30 \
			conv=notrunc status=none ;;
		esac
		for command in hpdsl-ls "hpdsl-cat --member=0"; do
			# shellcheck disable=SC2086
			fails 1 "packed/index.hpdsl: $text" $command packed
			[ "$(wc -l <<< "$message")" = 1 ]
		done
		fails 1 "packed/index.hpdsl: $text" hpdsl-unpack packed some
		[ ! -e some ]
		verdict 1 hpdsl-verify packed
		grep -q "^index.hpdsl: " out
		lacks out '^chunk'
	done <<- 'END'
		cut header: its length is impossible
		empty is empty
		longer has
		header header: checksum differs
	END
}

@test "a damaged block of the index: all but its members are of use" {
	mkdir many
	(cd many && seq -f 'a-name-that-is-long-enough-to-fill-%045.0f.txt' \
		1500 | xargs touch)
	hpdsl-pack -q --shuffle=none --chunks=2 many packed2
	# In the first of two blocks of paths, behind the tables of rows.
	at=$(grep -obUa 'a-name-that-is-long' packed2/index.hpdsl | head -n 1)
	printf X | dd of=packed2/index.hpdsl bs=1 seek="${at%%:*}" \
		conv=notrunc status=none
	text="packed2/index.hpdsl: section PATHS, block 0: checksum differs"
	hpdsl-pack -q --shuffle=none --chunks=2 many sound
	hpdsl-ls sound > all
	verdict 1 hpdsl-ls packed2
	[ "$(cat err)" = "hpdsl-ls: $text" ]
	[ "$(wc -l < out)" -gt 600 ]
	tail -n "$(wc -l < out)" all | diff - out
	verdict 1 hpdsl-ls --chunks packed2
	verdict 1 hpdsl-cat --member=0 packed2
	[ "$(cat err)" = "hpdsl-cat: $text" ]
	verdict 0 hpdsl-cat --member=1499 packed2
	verdict 0 hpdsl-cat packed2 "$(tail -n 1 all)"
	verdict 1 hpdsl-unpack -q packed2 some
	[ "$(find some -type f | wc -l)" = "$(hpdsl-ls packed2 2> err | wc -l)" ]
	verdict 1 hpdsl-verify packed2
	says out "index.hpdsl: checksum differs"
	says out "index.hpdsl: section PATHS, block 0: checksum differs"
}

@test "no index: no dataset, but hpdsl-verify knows better" {
	rm packed/index.hpdsl
	for command in hpdsl-ls "hpdsl-cat --member=0"; do
		# shellcheck disable=SC2086
		fails 3 "packed: not a dataset: index.hpdsl is missing" $command packed
	done
	fails 3 "packed: not a dataset: index.hpdsl is missing" hpdsl-unpack packed some
	[ ! -e some ]
	verdict 1 hpdsl-verify -q packed
	[ "$(cat out)" = "index.hpdsl: is missing" ]
}

@test "a manifest that is damaged or gone does not hide damaged chunks" {
	damage_member class0/00001.png
	sed -i 's/^samples: /samples: 1/' packed/dataset.yaml
	verdict 1 hpdsl-verify -q packed
	says out "dataset.yaml: checksum differs"
	grep -q 'class0/00001.png: checksum differs' out
	rm packed/dataset.yaml
	verdict 1 hpdsl-verify -q packed
	says out "dataset.yaml: is missing"
	grep -q 'class0/00001.png: checksum differs' out
	# With the index gone, too, the chunks are all there is.
	rm packed/index.hpdsl
	verdict 3 hpdsl-verify -q packed
	grep -q 'not a dataset' err
}
