#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-format(5) against what hpdsl-pack and hpdsl-snapshot write: the worked
# example is made again and compared byte for byte, the vectors are computed
# again, and readers that were written from the page alone read datasets and
# snapshots of all kinds.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

# The block that follows the comment `.\" KIND ...` in the page, as it reads.
block()
{
	awk -v mark=".\\\\\" $*" '
		$0 == mark { on = 1; next }
		on && /^\.\\" END$/ { exit }
		on && !/^\.(Bd|Ed)/
	' "$SRC/man/hpdsl-format.5" | sed 's/\\e/\\/g'
}

reader()
{
	python3 "$SRC/tests/kit/read_dataset.py" "$@"
}

# run_block KIND..: the commands of that block.
run_block()
{
	block "$@" > commands
	grep -q 'hpdsl-' commands
	(set -e; unset TZ; eval "$(cat commands)") 2> log || { cat log; return 1; }
}

make_example()
{
	run_block RUN
}

# What od says of a part of a file, as the page has it.
dump()
{
	od -A d -t x1 -j "$2" -N "$3" "$1" | sed '$d'
}

# same_dumps KIND AT-LEAST [DIR]: those that the page has of this kind are what
# is in the files, but for bytes that stand there as `..'.
same_dumps()
{
	local file from size count=0
	while read -r file from size; do
		[ -z "${3:-}" ] || [ "${file%%/*}" = "$3" ] || continue
		count=$((count + 1))
		block "$1 $file $from $size" > page
		dump "$file" "$from" "$size" | awk '
			NR == FNR { page[NR] = $0; next }
			{
				n = split(page[FNR], byte)
				for (i = 1; i <= n; i++)
					if (byte[i] == "..")
						$i = ".."
				print
			}' page - > is
		diff page is
	done < <(sed -n "s/^\.\\\\\" $1 //p" "$SRC/man/hpdsl-format.5")
	[ "$count" -ge "$2" ]
}

# The version whose compressed sizes the page has.
zstd_of_page()
{
	local is
	is=$(python3 -c '
import ctypes
zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_versionString.restype = ctypes.c_char_p
print(zstd.ZSTD_versionString().decode())')
	sed -n '/^\.\\" ZSTD$/{n;p;}' "$SRC/man/hpdsl-format.5" > page
	echo "page $(cat page) library $is"
	[ "$(cat page)" = "$is." ]
}

# The reader finds no fault, and what it says is what hpdsl-ls says.
agrees()
{
	reader check "$1" > theirs
	hpdsl-ls --json "$1" | python3 -c '
import base64, json, sys
for line in sys.stdin:
    m = json.loads(line)
    path = base64.b64decode(m["path_base64"]) if "path_base64" in m \
        else m["path"].encode()
    path = path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    sys.stdout.buffer.write(b"%d %d %d %s %s %s\n" % (
        m["member"], m["sample"], m["size"],
        (m["class"] or "-").encode(), m["xxh3_64"].encode(), path))
' > ours
	[ -s ours ]
	diff ours theirs
}

@test "the dumps of the worked example are what is written" {
	local file from size count=0 at
	make_example
	while read -r file from size; do
		count=$((count + 1))
		at=out/$file
		[ -e "$at" ] || at=$file
		dump "$at" "$from" "$size" > is
		block "DUMP $file $from $size" > page
		diff page is
	done < <(sed -n 's/^\.\\" DUMP //p' "$SRC/man/hpdsl-format.5")
	[ "$count" -ge 20 ]
	block FILE dataset.yaml | diff - out/dataset.yaml
}

@test "the dumps of other records: names, pax header, journal" {
	run_block RUN two
	run_block RUN journal || :
	same_dumps DUMP2 7
	same_dumps MASK 1 cut
	# What was stopped is completed, to the bytes of an undisturbed run.
	hpdsl-pack -q --resume --shuffle=none --chunks=2 two cut
	hpdsl-pack -q --shuffle=none --chunks=2 two whole
	diff -r cut whole
}

@test "the dumps of other records: frames and seek table" {
	run_block RUN two
	zstd_of_page || skip "another libzstd than the page's"
	same_dumps DUMPZ 2
}

@test "the dumps of other records: the state of a stage directory" {
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	make_example
	run_block RUN stage
	same_dumps MASK 2 staged
}

# covered NAME FILE: the dumps of NAME are all of the file.
covered()
{
	sed -n "s/^\.\\\\\" DUMP $1 //p" "$SRC/man/hpdsl-format.5" |
		awk -v size="$(stat -c %s "$2")" '
			$1 != at { print "gap or overlap at " at; exit 1 }
			{ at += $2 }
			END { exit at != size }'
}

@test "the dumps cover the whole index and snapshot of the example" {
	make_example
	covered index.hpdsl out/index.hpdsl
	covered out.snap out.snap
}

@test "the text of the example, and the reader of snapshots" {
	make_example
	block TEXT > page
	hpdsl-snapshot dump out.snap | diff page -
	python3 "$SRC/tests/kit/read_snapshot.py" dump out.snap | diff page -
	hpdsl-snapshot load -q page -o loaded.snap
	cmp loaded.snap out.snap
	[ "$(python3 "$SRC/tests/kit/read_snapshot.py" find out.snap cat)" = 1 ]
	[ "$(python3 "$SRC/tests/kit/read_snapshot.py" find out.snap ca)" = None ]
}

# Names of every kind, links, times: read, and told as the command tells them.
@test "the reader of snapshots: directories and datasets" {
	make_tree in 3 400
	printf x > $'in/class1/new\nline\t\\\xff\xc3\xa9\xed\xa0\x80'
	mkdir -p in/empty in/class1/deeper/still
	ln -s $'nowhere\n\xfe' in/dangling
	mkfifo in/class2/fifo
	truncate -s 5G in/sparse
	chmod 4751 in/class0/00001.png
	touch -d '1960-01-01 00:00:00.25 UTC' in/class0/00002.png
	touch -h -d '2400-01-01 UTC' in/dangling
	hpdsl-snapshot create -q in -o in.snap
	[ "$(stat -c %s in.snap)" -gt 65536 ]
	python3 "$SRC/tests/kit/read_snapshot.py" dump in.snap > want
	[ "$(wc -l < want)" -gt 1200 ]
	hpdsl-snapshot dump in.snap | diff want -
	rm in/sparse in/dangling in/class2/fifo
	hpdsl-pack -q --labels=dir --cls in packed
	hpdsl-snapshot create -q packed -o packed.snap
	python3 "$SRC/tests/kit/read_snapshot.py" dump packed.snap > want
	hpdsl-snapshot dump packed.snap | diff want -
}

@test "the reader reads the worked example" {
	make_example
	agrees out
	[ "$(reader sample out 0)" = woof ]
	[ "$(reader sample out 1)" = 7meow ]
	[ "$(reader find out cat/1.txt)" = 2 ]
	[ "$(reader find out cat/2.txt)" = None ]
}

@test "the vectors of the page" {
	[ "$(block VECTORS key | reader vectors)" = 4 ]
	[ "$(block VECTORS permutation | reader vectors)" = 9 ]
	[ "$(block VECTORS last | reader vectors)" = 27 ]
}

@test "packed order is the permutation of the sorted list" {
	make_tree tree 3 40
	hpdsl-pack -q --seed=5 --chunks=7 tree shuffled
	hpdsl-pack -q --shuffle=none --chunks=7 tree sorted
	hpdsl-ls --samples sorted > keys
	diff keys <(LC_ALL=C sort keys)
	reader order 5 120 | while read -r n; do
		sed -n "$((n + 1))p" keys
	done > want
	hpdsl-ls --samples shuffled | diff want -
}

@test "the reader: many chunks, classes, more than one block" {
	make_tree tree 4 400
	hpdsl-pack -q --labels=dir --chunks=33 tree packed
	[ "$(stat -c %s packed/index.hpdsl)" -gt 262144 ]
	agrees packed
}

# FOLDER NAME: a file in it, however long the path.
deep_file()
{
	python3 - "$1" "$2" <<-'END'
	import os, sys
	parts = os.fsencode(sys.argv[1]).split(b"/")
	for part in parts:
	    os.makedirs(part, exist_ok=True)
	    os.chdir(part)
	with open(os.fsencode(sys.argv[2]), "wb") as f:
	    f.write(os.fsencode(sys.argv[2])[:7])
	END
}

@test "the reader: names of every length and kind" {
	local n a100 folders
	a100=$(printf 'a%.0s' {1..100})
	mkdir tree
	for n in 1 99 100 101 153 154 155; do
		printf '%s' "$n" > "tree/$(printf 'b%.0s' $(seq "$n"))"
	done
	for n in 54 55 56 98 99 100 101 154 155 156 200; do
		deep_file "tree/$(printf 'c%.0s' $(seq "$n"))" "$a100"
		deep_file "tree/$(printf 'd%.0s' $(seq "$n"))" "${a100}e"
	done
	folders=$(printf "%0.s${a100}${a100}/" {1..19})
	deep_file "tree/${folders%/}" "$(printf 'f%.0s' {1..255})"
	deep_file "tree/${folders%/}" "é$(printf 'g%.0s' {1..200})"
	printf x > $'tree/new\nline.txt'
	printf x > 'tree/back\slash .x.y'
	printf x > $'tree/\xff\xfe.bin'
	: > tree/.hidden
	: > tree/..two.dots
	printf '\xe2\x82\xac' > 'tree/€.txt'
	touch -d '1960-01-01 00:00:00.25 UTC' tree/.hidden
	touch -d '2400-01-01 UTC' tree/..two.dots
	hpdsl-pack -q --chunks=5 tree packed
	agrees packed
	hpdsl-pack -q --group=none --chunks=3 tree single
	agrees single
}

@test "the reader: adopted tars, with names and paths that repeat" {
	local form
	make_tree in 3 20
	deep_file "in/$(printf 'c%.0s' {1..200})" "$(printf 'd%.0s' {1..120})"
	printf x > in/class0/00003.a
	mkdir -p tars/sub
	for form in v7 ustar gnu pax; do
		tar -C in -H "$form" -cf "tars/$form.tar" class0 2> log ||
			[ "$form" = v7 ]
	done
	tar -C in -H gnu -cf tars/long.tar --sort=name .
	tar -C in -cf tars/sub/abs.tar --transform='s|^|./a//|' class1
	tar -C in -rf tars/sub/abs.tar --transform='s|^|./a//|' class1
	hpdsl-index -q -o packed tars/*.tar tars/sub/abs.tar 2> log
	grep -q 'have the path of one before' log
	agrees packed
	hpdsl-index -q tars 2> log
	agrees tars
}

@test "the reader: SHA-256, names in chunks, generated members, side files" {
	make_tree in 3 30
	mkdir "in/odd names"
	printf x > "in/odd names/A.B.JPG"
	printf y > "in/odd names/\$.txt"
	hpdsl-pack -q --digest=sha256 --labels=dir --chunk-size=32K in sha
	agrees sha
	hpdsl-pack -q --digest=sha256 --names=portable --labels=dir --cls \
		--emit=dali,energon,wids --chunk-size=32K in all
	hpdsl-ls --stored all > names
	hpdsl-ls all > paths
	run cmp -s names paths
	[ "$status" = 1 ]
	grep -q 'cls$' paths
	agrees all
	if command -v zstd; then
		hpdsl-pack -q --digest=sha256 --names=portable --zstd in zst
		agrees zst
	fi
}

records()
{
	python3 "$SRC/tests/kit/read_records.py" "$@"
}

# stopped OUT ARG..: a pack that leaves a journal and its first chunk.
stopped()
{
	local out=$1
	shift
	(ulimit -f 64; hpdsl-pack -q -j0 --shuffle=none --chunks=2 "$@" \
		"$out") 2> log || :
	[ -s "$out/journal.hpdsl" ] || { cat log; return 1; }
}

@test "the reader of journals: files, a packed dataset, archives" {
	run_block RUN two
	printf x > two/a/2
	chmod 4751 two/a/2
	touch -d '1960-01-01 00:00:00.25 UTC' two/a/2
	tar -C two -cf one.tar b
	tar -C two -czf one.tar.gz b
	stopped out --prefix-input --labels=dir --cls --exclude='*.y' \
		--exclude='*.z' --meta=a=b --meta=c=d plain two one.tar
	records journal out/journal.hpdsl plain two one.tar > told
	cat told
	head -n 13 told | cut -d ' ' -f 2- | diff - <(printf '%s\n' \
		'shuffle none' 'seed 0' 'group key' 'labels dir:1' \
		'symlinks follow' 'prefix_input true' 'litter 1' 'chunks 2' 'cls true' \
		'exclude *.y' 'exclude *.z' 'meta a=b' 'meta c=d')
	grep -qx 'file 4751 1 -315619200.250000000 two/a/2' told
	grep -qx 'file 4751 1 -315619200.250000000 two/a/2.cls' told
	grep '^input' told | diff - <(printf 'input %d 0 0\n' 0 2)
	run ! records journal out/journal.hpdsl one.tar
	hpdsl-pack -q --resume --shuffle=none --chunks=2 --prefix-input \
		--labels=dir --cls --exclude='*.y' --exclude='*.z' \
		--meta=a=b --meta=c=d plain two one.tar out
	hpdsl-ls out > paths
	sed -n 's/^file \([^ ]* \)\{3\}//p' told | diff - paths
}

@test "the reader of stage directories, and of seek tables alone" {
	need zstd
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	local n form
	make_tree in 3 60
	hpdsl-pack -q --zstd --chunks=3 in ds
	records seek ds/chunk-000001.tar.zst |
		cmp - <(zstd -dcq ds/chunk-000001.tar.zst)
	hpdsl-stage -q ds staged
	for form in expanded compressed; do
		python3 "$SRC/tests/kit/stage_dir.py" make ds "$form" here=0,2 \
			"$form"
	done
	for n in 0 119; do
		hpdsl-cat --sample="$n" ds > want
		for form in staged expanded compressed; do
			records staged "$form" "$n" 2> from | cmp - want
			cat from
		done
	done
	# What is not here is read at the origin.
	records staged expanded 60 2>&1 > is | grep -q '/ds/chunk-000001.tar.zst'
	records staged expanded 0 2>&1 > is | grep -qx 'from expanded/.*0.tar'
	head -c 20 staged/stage.hpdsl > wrong
	tail -c +21 expanded/stage.hpdsl >> wrong
	cp wrong staged/stage.hpdsl
	printf '\1' | dd of=staged/stage.hpdsl bs=1 seek=16 conv=notrunc \
		status=none
	run ! records staged staged 0
}

# With the parameters of the page, and the library that hpdsl-pack has.
# bats test_tags=wide
@test "the frames of compressed chunks are made again" {
	need zstd
	local level
	make_tree in 2 60
	seq 60000 > in/large.txt
	for level in $(rounds "1 19" "1 3 9 19" "1 3 9 19"); do
		hpdsl-pack -q --zstd="$level" --chunks=1 in "$level"
		records seek "$level/chunk-000000.tar.zst" "$level" > tar
		cmp tar <(zstd -dcq "$level/chunk-000000.tar.zst")
	done
	run ! records seek 19/chunk-000000.tar.zst 3
}

@test "portable names are what the rules of the page give" {
	local group
	python3 "$SRC/tests/kit/portable_names.py" tree in 700
	(cd in && find . -type f -printf '%P\0') > paths
	for group in key last none; do
		hpdsl-pack -q --keep-litter --names=portable --group="$group" in \
			"$group"
		python3 "$SRC/tests/kit/portable_names.py" "$group" < paths > want
		[ "$(wc -l < want)" -gt 400 ]
		grep -q -- '-[0-9a-f]\{8\}\.' want
		paste <(hpdsl-ls "$group") <(hpdsl-ls --stored "$group") |
			LC_ALL=C sort | diff want -
	done
}

# Of each sort of text one; the key that is longer than 128 bytes comes last.
@test "text stands in the manifest as the page says" {
	mkdir in
	printf x > in/1
	hpdsl-pack -q --meta=a=plain --meta=b=/path --meta=c=é --meta=d=No \
		--meta=e=12 --meta="f=it's: so" --meta='g=-x' --meta=h= \
		--meta='i=😀"\é' --meta=$'j=a\tb' --meta=$'k=\xff' \
		--meta=$'l=\u2028' --meta="m=$(printf '0%.0s' {1..32})" \
		--meta="n=$(printf '1f%.0s' {1..16})" --meta='o=a #b' \
		--meta="$(printf 'p%.0s' {1..128})=128" \
		--meta="$(printf 'q%.0s' {1..129})=long" in out
	sed -n '/^meta:/,/^index:/p' out/dataset.yaml | sed '1d;$d' > is
	diff - is <<-END
	  a: plain
	  b: /path
	  c: é
	  d: 'No'
	  e: '12'
	  f: 'it''s: so'
	  g: '-x'
	  h: ''
	  i: "\\U0001F600\"\\\\é"
	  j: !!binary YQli
	  k: !!binary /w==
	  l: !!binary 4oCo
	  m: '$(printf '0%.0s' {1..32})'
	  'n': $(printf '1f%.0s' {1..16})
	  o: 'a #b'
	  $(printf 'p%.0s' {1..128}): '128'
	  ? $(printf 'q%.0s' {1..129})
	  : long
	END
}

@test "xxhsum gives the checksums of the page" {
	need xxhsum
	make_example
	[[ $(xxhsum -H2 out/index.hpdsl) = \
		$(sed -n 's/^index:.*xxh3_128: \(.*\)}/\1/p' \
			out/dataset.yaml)* ]]
	[[ "checksum: $(head -n -1 out/dataset.yaml | xxhsum -H2)" = \
		$(tail -n 1 out/dataset.yaml)* ]]
	xxhsum -H3 in/cat/1.txt > sum 2> /dev/null || skip "no xxhsum -H3"
	[[ $(cat sum) = *"$(hpdsl-ls --json out cat/1.txt |
		sed 's/.*"xxh3_64": "\([0-9a-f]*\)".*/\1/')"* ]]
}
