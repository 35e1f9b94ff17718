#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-index for tar files of others: they become a dataset where they lie, and
# not a byte of them changes.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/stopped

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 4
	ln -s 00000.png tree/class0/link
	ln tree/class0/00001.png tree/class1/hard.png
	mkdir tree/class0/empty
	deep=tree/class1/$(printf 'e%.0s' {1..60})/$(printf 'f%.0s' {1..60})
	mkdir -p "$deep"
	echo long > "$deep/x.txt"
	find tree -exec touch -hd '2021-02-03 04:05:06.789' {} +
	tars
}

# Tars of all writers, each of a copy of the tree under another name.
tars()
{
	mkdir tars
	local format
	for format in v7 ustar gnu posix; do
		tar -cf "tars/gnu-$format.tar" --format=$format --sort=name \
			--transform="flags=rh;s,^\./,./$format/," -C tree . \
			2> /dev/null || [ $format = v7 ]
	done
	bsdtar -cf tars/bsd-pax.tar --format=pax -s ',^\.,bsd-pax,' -C tree .
	bsdtar -cf tars/bsd-ustar.tar --format=ustar -s ',^\.,bsd-ustar,' \
		-C tree .
	hpdsl-pack -q --prefix-input --chunks=2 tree packed
	mv packed/chunk-000000.tar tars/ours-0.tar
	mv packed/chunk-000001.tar tars/ours-1.tar
	"$SRC/tests/kit/foreign.py" make tars
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
}

# some DIR NAME..: copies of these tars in DIR.
some()
{
	local dir=$1 name
	shift
	mkdir -p "$dir"
	for name; do
		cp -p "$BATS_FILE_TMPDIR/tars/$name.tar" "$dir"
	done
}

flip()
{
	printf '\252' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Offset of a member's content.
offset()
{
	hpdsl-ls --json "$1" | grep -F "\"$2\"" | head -n 1 | field offset
}

@test "tars of all writers: every member as tarfile and tar find it" {
	cp -rp "$BATS_FILE_TMPDIR/tars" .
	sums=$(sha256sum tars/*)
	stats=$(stat -c '%n %i %Y %Z %a' tars/*)
	hpdsl-index tars 2> err || { cat err; return 1; }
	grep -q '^hpdsl-index: adopted: .* in 11 chunks' err
	[ "$(sha256sum tars/*.tar)" = "$sums" ]
	[ "$(stat -c '%n %i %Y %Z %a' tars/*.tar)" = "$stats" ]
	[ "$(find tars -type f | wc -l)" = 13 ]
	grep -qx 'adopted: true' tars/dataset.yaml
	grep -qx '  group: key' tars/dataset.yaml
	run ! grep rebuilt tars/dataset.yaml
	hpdsl-verify -q tars
	"$SRC/tests/kit/foreign.py" check tars
	# What hpdsl-unpack restores is what others extract.
	hpdsl-unpack -q tars unpacked
	mkdir extracted
	for t in tars/*.tar; do
		bsdtar -xpf "$t" -C extracted
	done
	# Links are passed over.
	(cd extracted && find . -type f -links +1) > linked
	find extracted \( -type l -o -type p \) -delete
	while read -r name; do
		rm -f "extracted/$name" "unpacked/$name"
	done < linked
	[ "$(wc -l < linked)" -ge 12 ]
	same_trees extracted unpacked
}

@test "samples are runs of one key; order is that of the tars' names" {
	mkdir d
	python3 - <<- 'END'
		import sys
		sys.path.insert(0, __import__("os").environ["SRC"] + "/tests/kit")
		from foreign import add, tarfile
		with tarfile.open("d/b.tar", "w") as t:
		    for name in ("s1.jpg", "s1.txt", "s2.jpg", "s2.sub.txt"):
		        add(t, name, name.encode())
		with tarfile.open("d/a.tar", "w") as t:
		    add(t, "x/.hid.jpg", b"1")
		    add(t, "x", b"", type=tarfile.DIRTYPE)
		    add(t, "x/.hid.cls", b"2")
		    add(t, "y.cls", b"3")
		    add(t, "x/.hid.txt", b"4")
	END
	hpdsl-index -q d 2> err
	hpdsl-ls --samples d > out
	diff - out <<- 'END'
		x/.hid
		y
		x/.hid
		s1
		s2
	END
	diff - <(hpdsl-ls --chunks d) <<< $'a.tar\nb.tar'
	grep -q "warning: d: 1 sample has the key of one before, first 'x/.hid' in a.tar" err
	# By the last dot, or each file: said anew, and then it stays so.
	hpdsl-index -q --group=last d
	diff <(hpdsl-ls --samples d) - <<< $'x/.hid\ny\nx/.hid\ns1\ns2\ns2.sub'
	hpdsl-verify -q d
	hpdsl-index --json d | grep '"unchanged": true.*"group": "last"'
	hpdsl-index -q --group=none d
	[ "$(hpdsl-ls --samples d | wc -l)" = 8 ]
	hpdsl-verify -q d
	hpdsl-index -q --group=key d
	diff <(hpdsl-ls --samples d) out
	# No labels are made up.
	hpdsl-ls -l --samples d | grep -v ' - ' && return 1
	hpdsl-verify -q d
}

@test "again: nothing changes, and nothing is lost" {
	some d gnu-posix python-pax
	hpdsl-index -q d
	cp -a d was
	before=$(stat -c '%n %i %Z' d/*)
	hpdsl-index d 2> err
	grep -q 'sound, nothing to rebuild' err
	[ "$(stat -c '%n %i %Z' d/*)" = "$before" ]
	for file in dataset.yaml index.hpdsl; do
		rm "d/$file"
		hpdsl-index -q d
		diff -r was d
		flip "d/$file" 50
		hpdsl-index -q d
		diff -r was d
	done
	rm d/dataset.yaml d/index.hpdsl
	hpdsl-index -q -j 0 d
	diff -r was d
	hpdsl-index -q d/python-pax.tar d/gnu-posix.tar
	diff -r was d
}

@test "a changed, new or missing tar contradicts, unless forced" {
	some d gnu-posix python-pax python-gnu
	hpdsl-index -q d
	flip d/gnu-posix.tar "$(offset d posix/class0/00001.png)"
	cp -a d before
	fails 1 "d: gnu-posix.tar: member 'posix/class0/00001.png' is not as index.hpdsl has it" \
		hpdsl-index d
	diff -r before d
	hpdsl-index --force d 2> err
	grep -q "warning: d: gnu-posix.tar is not as dataset.yaml has it" err
	hpdsl-verify -q d
	grep -qx 'adopted: true' d/dataset.yaml
	some d python-ustar
	fails 1 "d: python-ustar.tar is not listed in index.hpdsl; it can be made anew (--force)" \
		hpdsl-index d
	hpdsl-index -q --force d
	hpdsl-verify -q d
	[ "$(hpdsl-ls --chunks d | wc -l)" = 4 ]
	rm d/gnu-posix.tar
	fails 3 "d: gnu-posix.tar is missing, index.hpdsl lists it; it can be made anew (--force)" \
		hpdsl-index d
	hpdsl-index -q --force d
	hpdsl-verify -q d
	[ "$(hpdsl-ls --chunks d | wc -l)" = 3 ]
	# The manifest alone says so, too.
	rm d/index.hpdsl
	some d gnu-posix
	fails 1 "d: gnu-posix.tar is not listed in dataset.yaml" hpdsl-index d
}

@test "-o: index and manifest elsewhere; both may be moved together" {
	some data/tars gnu-posix python-gnu
	mkdir data/sub
	hpdsl-index -q -o data/sub/out data/tars 2> /dev/null
	diff - <(hpdsl-ls --chunks data/sub/out) <<- 'END'
		../../tars/gnu-posix.tar
		../../tars/python-gnu.tar
	END
	[ "$(find data -type f | wc -l)" = 4 ]
	"$SRC/tests/kit/foreign.py" check data/sub/out
	hpdsl-verify data/sub/out 2>&1 | grep -v warning
	mkdir else
	mv data else/where
	hpdsl-verify -q else/where/sub/out
	hpdsl-cat else/where/sub/out posix/class0/00001.json |
		cmp - "$BATS_FILE_TMPDIR/tree/class0/00001.json"
	hpdsl-index else/where/sub/out 2>&1 | grep 'nothing to rebuild'
	hpdsl-index -o else/where/sub/out else/where/tars/*.tar 2>&1 |
		grep 'nothing to rebuild'
	rm else/where/sub/out/index.hpdsl
	hpdsl-index -q else/where/sub/out
	hpdsl-verify -q else/where/sub/out
	mv else/where/tars else/where/other
	run -1 hpdsl-verify -q else/where/sub/out
	[[ $output = *"../../tars/gnu-posix.tar: is missing"* ]]
	fails 3 "where the tars lie now has to be given (hpdsl-index -o OUTPUT DIR)" \
		hpdsl-index else/where/sub/out
	hpdsl-index -q -o else/where/sub/out else/where/other
	hpdsl-verify -q else/where/sub/out
}

@test "-o: through links, from the current folder, into it" {
	some real/tars python-pax
	some more python-gnu
	ln -s real/tars link
	cd real
	hpdsl-index -q --output=../out ../link/python-pax.tar ../more/python-gnu.tar
	diff - <(hpdsl-ls --chunks ../out) <<- 'END'
		../more/python-gnu.tar
		../real/tars/python-pax.tar
	END
	hpdsl-verify -q ../out
	cd tars
	hpdsl-index -q -o . .
	hpdsl-index python-pax.tar 2>&1 | grep 'nothing to rebuild'
	diff - <(hpdsl-ls --chunks .) <<< python-pax.tar
}

@test "-o: what is in the way is refused" {
	some a gnu-ustar
	some b gnu-v7
	mkdir other
	echo note > other/file
	fails 3 "other: not empty, and not a dataset of these tars" \
		hpdsl-index -o other a
	hpdsl-index -q --force -o other a
	hpdsl-verify -q other 2> /dev/null
	fails 1 "other: ../b/gnu-v7.tar is not listed in index.hpdsl" \
		hpdsl-index -o other a/gnu-ustar.tar b/gnu-v7.tar
	make_tree tree 1 2
	hpdsl-pack -q tree packed
	cp -a packed was
	fails 3 "packed: a packed dataset is there" hpdsl-index -o packed a
	fails 3 "packed: a packed dataset is there" \
		hpdsl-index --force -o packed a
	cp a/gnu-ustar.tar packed
	fails 3 "packed: a packed dataset is there" \
		hpdsl-index packed/gnu-ustar.tar
	rm packed/gnu-ustar.tar
	diff -r was packed
	# A directory that was made for nothing goes.
	printf 'no tar' > a/gnu-ustar.tar
	fails 1 "new: ../a/gnu-ustar.tar: at offset 0" hpdsl-index -o new a
	[ ! -e new ]
}

@test "wrong arguments" {
	some a gnu-ustar
	some b gnu-v7
	cp a/gnu-ustar.tar b/gnu-ustar.tar
	fails 2 "a/gnu-ustar.tar and b/gnu-v7.tar lie in different directories: -o DIR" \
		hpdsl-index a/gnu-ustar.tar b/gnu-v7.tar
	fails 2 "../a/gnu-ustar.tar and ../b/gnu-ustar.tar: the tars of a dataset need different names" \
		hpdsl-index -o out a/gnu-ustar.tar b/gnu-ustar.tar
	[ ! -e out ]
	fails 2 "" hpdsl-index a b
	fails 2 "" hpdsl-index a/gnu-ustar.tar b
	fails 2 "" hpdsl-index -o out
	fails 3 "absent" hpdsl-index absent
	fails 3 "absent.tar: No such file" hpdsl-index a/gnu-ustar.tar a/absent.tar
	mkdir empty
	fails 3 "empty: not a dataset" hpdsl-index empty
	fails 3 "no tar files in empty" hpdsl-index -o out empty
	mkdir empty/folder.tar
	fails 3 "empty: not a dataset" hpdsl-index empty
	[ "$(find a b -type f | wc -l)" = 3 ]
}

@test "chunks of ours are rebuilt, whatever lies beside them" {
	make_tree tree 1 4
	hpdsl-pack -q --chunks=2 tree packed
	id=$(grep dataset_id packed/dataset.yaml)
	some packed gnu-ustar
	rm packed/index.hpdsl packed/dataset.yaml
	hpdsl-index packed 2> err
	grep -q 'warning: 1 tar file beside the chunks is passed over, first gnu-ustar.tar' err
	grep -qx 'rebuilt: true' packed/dataset.yaml
	# Named, they are tars like all others.
	rm packed/index.hpdsl packed/dataset.yaml
	hpdsl-index -q packed/chunk-*.tar
	grep -qx 'adopted: true' packed/dataset.yaml
	[ "$(grep dataset_id packed/dataset.yaml)" = "$id" ]
	hpdsl-verify -q --source=tree packed 2> /dev/null
}

@test "compressed archives and sparse files are refused, with advice" {
	some d gnu-ustar
	gzip -k d/gnu-ustar.tar
	: > d/other.tar.zst
	hpdsl-index d 2>&1 |
		grep 'warning: 2 compressed archives cannot be adopted, first gnu-ustar.tar'
	diff - <(hpdsl-ls --chunks d) <<< gnu-ustar.tar
	mkdir only
	cp d/*.gz only
	fails 3 "only: only compressed archives, such as gnu-ustar.tar.gz, which cannot be adopted: decompress them, or repack them: hpdsl-pack" \
		hpdsl-index only
	fails 3 "only: gnu-ustar.tar.gz: compressed with gzip: gzip -d it first, or repack it: hpdsl-pack only/gnu-ustar.tar.gz OUTPUT" \
		hpdsl-index only/gnu-ustar.tar.gz
	# as it was given, which is not how the output sees it
	fails 3 "new: ../only/gnu-ustar.tar.gz: compressed with gzip: gzip -d it first, or repack it: hpdsl-pack only/gnu-ustar.tar.gz OUTPUT" \
		hpdsl-index -o new only/gnu-ustar.tar.gz
	for program in bzip2 xz zstd; do
		command -v $program > /dev/null || continue
		$program < d/gnu-ustar.tar > only/x.tar
		fails 3 "only: x.tar: compressed with $program: $program -d it first" \
			hpdsl-index only/x.tar
	done
	bsdtar -cf only/x.tar --format=zip -C "$BATS_FILE_TMPDIR/tree" .
	fails 3 "only: x.tar: a zip archive: repack it" hpdsl-index only/x.tar
	fails 3 "new: ../only/x.tar: a zip archive: repack it: hpdsl-pack only/x.tar OUTPUT" \
		hpdsl-index -o new only
	# shorter than a header
	python3 -c 'import zipfile
zipfile.ZipFile("small.zip", "w").writestr("a", "x")'
	fails 3 "new: ../small.zip: a zip archive: repack it: hpdsl-pack small.zip OUTPUT" \
		hpdsl-index -o new small.zip
	rm only/gnu-ustar.tar.gz
	echo x | gzip > only/x.tar
	fails 3 "only: x.tar: compressed with gzip" hpdsl-index only
	echo '<html>404</html>' > only/x.tar
	fails 3 "only: x.tar: an HTML page" hpdsl-index only
	printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' > only/x.tar
	fails 3 "only: x.tar: a Git LFS pointer, not the data: git lfs pull" \
		hpdsl-index only
	[ ! -e new ]
	truncate -s 1M holes
	echo end >> holes
	for format in gnu posix; do
		tar -Scf only/x.tar --format=$format "$PWD/holes" 2> /dev/null
		fails 3 "holes': a sparse file cannot be read in place: repack it: hpdsl-pack" \
			hpdsl-index only/x.tar
	done
	[ "$(find only -type f | wc -l)" = 1 ]
}

@test "what readers take differently is refused, packed or adopted" {
	local name status why
	mkdir d
	while read -r status name why; do
		cp "$SRC/tests/data/bad/archive/$name" d/x.tar
		fails "$status" "$why" hpdsl-index d
		fails 3 "$why" hpdsl-pack -q d/x.tar out
		[ "$(ls d)" = x.tar ]
		[ ! -e out ]
	done <<- 'END'
		3 sparse-alone-schily-realsize-100 member 'x': is a sparse file without a map
		3 sparse-alone-gnu-realsize-8 member 'x': is a sparse file without a map
		3 sparse-alone-gnu-size-5000 member 'x': is a sparse file without a map
		3 sparse-map-empty-near member 'x': is a sparse file without a map
		3 sparse-holes-of-solaris member 'x': is a sparse file with SUN.holesdata
		3 sparse-map-empty-pax member 'x': is a sparse file without a map
		1 sparse-map-of-another-type a map of holes in what is no sparse file
		3 type-multivolume member 'x': is the rest of a file that began in another archive
		1 folder-named-file a file with content has the name of a folder
		1 folder-named-file-v7 a file with content has the name of a folder
		1 end-then-another-tar another tar follows the end mark, which readers would not see: split it
		1 end-one-block-then-a-header another tar follows the end mark, which readers would not see: split it
		1 path-nul a name holds a NUL byte
		1 gnu-name-0 a long name is empty
		1 size-no-octal a size is no number
	END
}

@test "paths that lead outside are refused; others are cleaned" {
	mkdir d
	for name in ../a.txt a/../../b.txt a/.. .. .; do
		python3 - "$name" <<- 'END'
			import os, sys
			sys.path.insert(0, os.environ["SRC"] + "/tests/kit")
			from foreign import add, tarfile
			with tarfile.open("d/x.tar", "w") as t:
			    add(t, "good", b"1")
			    add(t, sys.argv[1], b"2")
		END
		fails 1 "d: x.tar: member '$name': its path is empty or leads outside" \
			hpdsl-index d
		[ "$(ls d)" = x.tar ]
	done
	some e python-gnu
	hpdsl-index -q e
	hpdsl-ls e | grep -x gnu/a.txt
	hpdsl-ls e | grep -x gnu/b.jpg
	hpdsl-cat e gnu/a.txt | grep -x text
}

@test "equal paths: the first is found and unpacked, the others are told" {
	some d python-gnu
	cp d/python-gnu.tar d/z.tar
	hpdsl-index d > out 2> err
	grep -q "warning: d: 10 members have the path of one before, first 'gnu/a.jpg' in z.tar" err
	grep -q "samples have the key of one before, first 'gnu/a' in z.tar" err
	hpdsl-verify -q d
	hpdsl-index -q --json d 2> /dev/null > out
	[ "$(field repeated_paths < out)" = 10 ]
	[ "$(hpdsl-ls d | sort | uniq -d | wc -l)" = 10 ]
	status=0
	hpdsl-unpack d u 2> err || status=$?
	[ "$status" != 0 ]
	grep -q "'gnu/a.jpg': member 0 has the same path" err
	[ "$(find u -type f | wc -l)" = 10 ]
	[ "$(cat u/gnu/a.txt)" = text ]
	# A sample alone has no other one beside it.
	hpdsl-unpack -q --sample="$(hpdsl-ls --json d | tail -n 1 |
		field sample)" d v
	[ "$(find v -type f | wc -l)" = 1 ]
	# The other copy need not be there in the tree either.
	hpdsl-verify -q --source=u d
}

@test "a path twice in one tar: the last one counts, as to all others" {
	mkdir t t/d g
	for i in 1 2 3; do
		echo "old $i" > t/d/$i.txt
	done
	tar -C t -cf x.tar d
	echo new > t/d/2.txt
	tar -C t -rf x.tar ./d/2.txt
	echo newer > t/d/2.txt
	echo 'new 3' > t/d/3.txt
	tar -C t -rf x.tar d/2.txt d/3.txt
	hpdsl-index -o a x.tar 2> err
	grep -q "warning: a: 3 members passed over, because the same tar has the path again behind: the last one counts, first 'd/[23].txt' in ../x.tar" err
	tar -C g -xf x.tar
	hpdsl-unpack -q a u
	diff -r g/d u/d
	[ "$(hpdsl-cat a d/2.txt)" = newer ]
	[ "$(hpdsl-ls a | sort | uniq -d)" = "" ]
	hpdsl-verify -q --thorough a
	hpdsl-pack -q a p
	hpdsl-unpack -q p v
	diff -r g/d v/d
	# what the index never had is no older member
	echo more > t/d/4.txt
	tar -C t -cf y.tar d/1.txt
	hpdsl-index -q -o b y.tar
	tar -C t -cf y.tar d/4.txt
	run -1 hpdsl-verify -q --thorough b
}

@test "--labels: classes of adopted tars, which the next run keeps" {
	local i
	mkdir t d
	for i in 0 2 10 3; do
		echo $i > t/i$i.cls
		printf '{"n": "c%s"}' $i > t/i$i.json
		touch t/i$i.jpg
	done
	rm t/i3.cls
	tar -C t -cf d/x.tar ./i0.jpg ./i0.cls i0.json i10.jpg i10.cls i10.json
	tar -C t -cf d/y.tar i2.jpg i2.cls i2.json i3.jpg i3.json i0.jpg
	of()
	{
		hpdsl-ls --samples -l "$1" | awk '{ print $NF, $(NF - 1) }'
	}
	(cd d && hpdsl-index -- *.tar 2> ../err)
	tail -n 1 err | grep 'no sample has a label, and 3 members .cls may say them: hpdsl-index --labels=cls \.$'
	hpdsl-index --json -- d 2> err > got
	grep '"cls_members": 3,' got
	grep 'hpdsl-index --labels=cls d$' err
	hpdsl-index --labels=none d 2> err
	hpdsl-index --group=none d 2>> err
	grep 'may say them' err && false
	rm d/dataset.yaml d/index.hpdsl
	hpdsl-index --labels=cls d 2> err
	grep 'for the classes 3 members were read once more, 7 bytes' err
	grep 'classes: 11, 2 samples without' err
	of d | diff - <(printf 'i%s\n' '0 0' '10 10' '2 2' '3 -' '0 -')
	grep -A2 '^  labels: cls$' d/dataset.yaml | grep '^  label_numbers: value$'
	hpdsl-verify -q d
	python3 "$SRC/tests/kit/read_dataset.py" check d > got
	hpdsl-index -q --shuffled --labels=cls --group=last \
		--double-suffix=x.json -o all d/*.tar
	hpdsl-verify -q all
	cp -a d was
	flip d/index.hpdsl 50
	hpdsl-index -q d
	diff -r was d
	rm d/index.hpdsl
	hpdsl-index -q -j 0 d
	diff -r was d
	# of the manifest alone: how they are numbered is not lost
	rm d/dataset.yaml
	hpdsl-index -q d
	grep -A1 '^  labels: keep$' d/dataset.yaml | grep '^  label_numbers: value$'
	cp was/dataset.yaml d
	hpdsl-pack -q --exclude='*i0*' d p
	of p | grep '^i10 10$'

	# a table; what it said is in the index alone
	printf 'i10,ten\ni0.jpg,null\ni2.json,"two, 2"\nx/i0.jpg,zero\n' > l.csv
	hpdsl-index -q --labels=l.csv --label-columns=1,2 d 2> err
	grep -F "l.csv: 1 of 4 rows name no sample, or more than one: line 4 'x/i0.jpg'" err
	of d | diff - <(printf 'i%s\n' '0 -' '10 ten' '2 2' '3 -' '0 -')
	hpdsl-verify -q d
	cp -a d table
	hpdsl-index -q d
	diff -r table d
	rm d/index.hpdsl
	fails 2 "they have to be given again (--labels=FILE, or --labels=none)" \
		hpdsl-index -q d
	cp table/index.hpdsl d
	rm d/dataset.yaml
	hpdsl-index -q d
	grep '^  labels: keep$' d/dataset.yaml
	cmp table/index.hpdsl d/index.hpdsl

	hpdsl-index -q --labels=json:n d
	of d | head -n 1 | grep '^i0 c0$'
	hpdsl-index -q --labels=none d
	rm was/dataset.yaml was/index.hpdsl
	hpdsl-index -q was
	diff -r was d
	fails 2 "labels: 'json:' is not none" hpdsl-index --labels=json: d
	fails 2 "given when they are packed again: hpdsl-pack --labels=HOW DIR OUTPUT" \
		hpdsl-index -q --labels=cls p
}

@test "--labels: what cannot be kept is asked for" {
	local name
	mkdir t d
	for name in 1.a 1.b 2.a 2.b; do
		echo "$name" > "t/$name.jpg"
	done
	tar -C t -cf d/x.tar 1.a.jpg 1.b.jpg 2.a.jpg 2.b.jpg
	printf 'id,class\n1.a.jpg,A\n1.b.jpg,B\n2.a.jpg,A\n2.b.jpg,B\n' > l.csv
	hpdsl-index -q --group=none --labels=l.csv d
	cp -a d was
	# coarser samples
	fails 2 "the sample of '1.b.jpg' would have two classes; they have to be given again (--labels=FILE, or --labels=none)" \
		hpdsl-index -q --group=key d
	diff -r was d
	# an index of which a part is lost
	flip d/index.hpdsl 400
	fails 2 "they have to be given again" hpdsl-index -q d
	[[ $message = *'section SAMPLES, block 0: checksum differs'* ]]
	# a manifest that is older than the index
	cp was/index.hpdsl d
	sed -i '/^  label/d' d/dataset.yaml
	hpdsl-index -q d
	cmp was/index.hpdsl d/index.hpdsl
	# no folder
	hpdsl-index -q --labels=dir:5 d 2> err
	grep 'no file has the folder that names a class: no sample has one' err
	# two samples of datasets that become one
	hpdsl-pack -q was p
	fails 2 "would have two classes, as its files have in their datasets (--labels says what the class is)" \
		hpdsl-pack -q --group=key p q
}

@test "--labels: kept where paths repeat, and tars come and go" {
	local i
	mkdir t d
	# shards that count from 0 each, with other classes
	for i in a b c e; do
		printf '%s0' $i > t/0.jpg && printf '%s1' $i > t/1.jpg
		printf 'x%s' $i > t/0.cls && printf 'y%s' $i > t/1.cls
		tar -C t -cf d/$i.tar 0.jpg 0.cls 1.jpg 1.cls
	done
	mv d/e.tar .
	hpdsl-index -q --labels=cls d
	rm d/dataset.yaml
	hpdsl-index -q d
	of()
	{
		hpdsl-ls --samples --json d |
			sed -n 's/.*"class": "\(.*\)"}/\1/p' | paste -sd ' '
	}
	[ "$(of)" = "xa ya xb yb xc yc" ]
	# one gone, one renamed, one new that has the paths of all
	rm d/a.tar
	mv d/b.tar d/z.tar
	mv e.tar d
	hpdsl-index --force d 2> err
	grep 'warning: d: 2 samples were in no index before, and without a class' err
	[ "$(of)" = "xc yc xb yb" ]
	hpdsl-verify -q d
}

@test "--labels: kept of any number of renamed tars, and of no likeness" {
	local i
	mkdir t a1 a2 a3
	# the classes are in the index alone, and 000.jpg is in each
	for i in {00..19}; do
		printf '%s' "$i" > t/000.jpg
		printf 'x%s' "$i" > t/001.jpg
		tar -C t -cf "a1/old-$i.tar" 000.jpg 001.jpg
	done
	printf 'path,class\n000,x\n001,y\n' > l.csv
	hpdsl-index -q --labels=l.csv a1
	for i in {00..19}; do
		mv "a1/old-$i.tar" "a1/new-$i.tar"
	done
	# a member more: not the old tar, but its samples
	printf more > t/002.jpg
	tar -C t -rf a1/new-19.tar 002.jpg
	hpdsl-index --force a1 2> err
	[ "$(hpdsl-ls --samples --json a1 | grep -c '"class": "[xy]"')" = 40 ]
	grep -qx 'hpdsl-index: classes: 2, 1 sample without' err

	# equal members, of which a few have another class
	rm t/*
	for i in {00..17}; do
		printf same > t/000.jpg
		case $i in 03 | 17) printf 1 ;; *) printf 0 ;; esac > t/000.cls
		tar -C t -cf "a2/old-$i.tar" 000.jpg 000.cls
	done
	hpdsl-index -q --labels=cls a2
	rm a2/dataset.yaml
	for i in {00..17}; do
		mv "a2/old-$i.tar" "a2/new-$i.tar"
	done
	hpdsl-index -q --force a2
	[ "$(hpdsl-ls --samples --json a2 | grep -c '"class": "0"')" = 16 ]
	[ "$(hpdsl-ls --samples --json a2 | grep -c '"class": "1"')" = 2 ]

	# one member that all have does not say what the sample was
	printf 'a photo' > t/000.txt
	printf 3 > t/000.cls
	tar -C t -cf a3/a.tar 000.jpg 000.cls 000.txt
	hpdsl-index -q --labels=cls a3
	rm a3/dataset.yaml
	mv a3/a.tar a3/z.tar
	printf other > t/000.jpg
	printf 5 > t/000.cls
	tar -C t -cf a3/c.tar 000.jpg 000.cls 000.txt
	hpdsl-index --force a3 2> err
	grep 'warning: a3: 1 sample was in no index before, and without a class' err
	hpdsl-ls --samples --json a3 > out
	[ "$(grep -c '"class": "3"' out)" = 1 ]
	[ "$(grep -c '"class": "[^3]' out)" = 0 ]
}

@test "--labels: of equal samples with several classes none is guessed" {
	local i
	mkdir t d
	for i in a b; do
		printf '%s' "$i" | tee t/000.jpg > t/000.cls
		tar -C t -cf "d/$i.tar" 000.jpg 000.cls
	done
	hpdsl-index -q --labels=cls d
	rm d/dataset.yaml
	# by their names they keep their classes, and are the same from now on
	for i in a b; do
		tar -C t -cf "d/$i.tar" 000.jpg
	done
	hpdsl-index -q --force d
	[ "$(hpdsl-ls --samples --json d | grep -c '"class": "[ab]"')" = 2 ]
	mv d/a.tar d/x.tar
	run --separate-stderr hpdsl-index -q --force d
	[ "$status" = 2 ]
	[[ $stderr = *"the sample of '000.jpg' would have two classes; they have to be given again"* ]]
	# nor of samples
	printf more > t/111.jpg
	tar -C t -rf d/x.tar 111.jpg
	run --separate-stderr hpdsl-index -q --force d
	[ "$status" = 2 ]
	[[ $stderr = *"the sample of '000.jpg' would have two classes; they have to be given again"* ]]
}

@test "two members of one suffix: counted, and the first is read" {
	mkdir d
	PYTHONPATH=$SRC/tests/kit python3 - <<- END
		from foreign import add, tarfile
		with tarfile.open("d/x.tar", "w") as t:
		    for name in "a.txt", "b", "b.", "c.jpg", "c.txt", "c.jpg":
		        add(t, name, b"%d" % len(t.getnames()))
	END
	hpdsl-index --json d > out 2> err
	grep -q "warning: d: 1 sample has two members of one suffix, first 'b' in x.tar; by its suffix only the first member is read" err
	[ "$(field repeated_suffixes < out)" = 1 ]
	# c.jpg is one that was replaced
	[ "$(field replaced < out)" = 1 ]
	[ "$(hpdsl-cat d c.jpg)" = 5 ]
	[ "$(hpdsl-bench --json --suffix=jpg d | field bytes)" = 1 ]
}

@test "links, folders and special files are passed over and counted" {
	some d python-pax
	hpdsl-index --json d > out 2> err
	grep -q "warning: d: 2 links passed over, first 'pax/link' in python-pax.tar" err
	grep -q "warning: d: 1 special file passed over, first 'pax/fifo' in python-pax.tar" err
	[ "$(field links < out)" = 2 ]
	[ "$(field folders < out)" = 1 ]
	[ "$(field specials < out)" = 1 ]
	[ "$(field adopted < out)" = true ]
	[ "$(field members < out)" = 10 ]
}

@test "ends of archives: missing, doubled, empty, cut off" {
	some d python-gnu
	"$SRC/tests/kit/foreign.py" one d/plain.tar plain 700 1 0 5000
	# Without the zero blocks; with an archive behind them.
	head -c $((512 * 4 + 1024 + 512 + 5120)) d/plain.tar > d/bare.tar
	cat d/plain.tar d/python-gnu.tar > d/two.tar
	head -c 10240 /dev/zero > d/zeros.tar
	: > d/nothing.tar
	tar -cf d/folders.tar -C "$BATS_FILE_TMPDIR/tree" class0/empty
	fails 1 "d: two.tar: at offset 8704: another tar follows the end mark, which readers would not see: split it" \
		hpdsl-index d
	[ ! -e d/dataset.yaml ]
	# What is no tar is passed over.
	(cat d/plain.tar && printf 'x%.0s' {1..700}) > d/two.tar
	hpdsl-index d 2> err
	grep -q 'warning: d: bare.tar: ends without the blocks that end an archive' err
	grep -q 'warning: d: two.tar: what lies behind the end of the archive, from offset 10240 on, is passed over' err
	for name in zeros nothing folders; do
		grep -q "warning: d: $name.tar: left out: there are no files in it" err
	done
	diff - <(hpdsl-ls --chunks d) <<- 'END'
		bare.tar
		plain.tar
		python-gnu.tar
		two.tar
	END
	"$SRC/tests/kit/foreign.py" check d
	hpdsl-verify -q --thorough d 2> /dev/null
	hpdsl-index d 2>&1 | grep 'nothing to rebuild'
	mkdir e
	cp d/zeros.tar e
	fails 3 "e: no files in any of the tars" hpdsl-index e
	# Cut off anywhere else: an error that names the place.
	for at in 1 511 513 1000 1300 9000; do
		head -c $at d/plain.tar > e/cut.tar
		fails 1 "e: cut.tar: at offset " hpdsl-index e
		[ "$(find e -type f | wc -l)" = 2 ]
	done
	cp d/plain.tar e/cut.tar
	flip e/cut.tar 100
	fails 1 "e: cut.tar: at offset 0: no tar header: its checksum differs" \
		hpdsl-index e
}

@test "hpdsl-verify: damaged contents name their sample, headers the tar" {
	some d gnu-posix python-pax
	hpdsl-index -q d
	some e gnu-posix python-pax
	damage()
	{
		cp e/*.tar d
		"$@"
		status=0
		hpdsl-verify d > out 2> err || status=$?
		[ "$status" = 1 ]
		cat out err
	}
	damage flip d/python-pax.tar "$(offset d pax/a.txt)" |
		grep 'python-pax.tar: sample [0-9]*: pax/a.txt: checksum differs'
	damage flip d/python-pax.tar 600000 |
		grep 'pax/large.bin: checksum differs'
	damage flip d/gnu-posix.tar 3 |
		grep 'gnu-posix.tar: headers or padding differ'
	damage flip d/gnu-posix.tar $(($(stat -c %s d/gnu-posix.tar) - 1)) |
		grep 'gnu-posix.tar: headers or padding differ'
	damage truncate -s 20000 d/gnu-posix.tar |
		grep 'gnu-posix.tar: is 20000 bytes, .* expected (samples'
	damage truncate -s +512 d/gnu-posix.tar |
		grep 'gnu-posix.tar: is longer than it should be'
	damage rm d/gnu-posix.tar | grep 'gnu-posix.tar: is missing'
	damage truncate -s 20000 d/gnu-posix.tar
	run -1 hpdsl-verify -q --quick d
	[[ $output = "gnu-posix.tar: is 20000 bytes, "* ]]
	cp e/*.tar d
	hpdsl-verify -q --quick d
	# Every byte counts.
	size=$(stat -c %s d/python-pax.tar)
	for ((at = 7; at < size; at += size / 40)); do
		damage flip d/python-pax.tar $at > /dev/null
	done
	# Other files beside are told.
	cp e/*.tar d
	touch d/note
	hpdsl-verify d 2>&1 | grep 'note: not a file of this dataset'
}

@test "hpdsl-verify --source: members against the tree they came from" {
	mkdir d
	for format in ustar posix; do
		tar -cf d/x.tar --format=$format -C "$BATS_FILE_TMPDIR/tree" \
			--hard-dereference -h .
		rm -f d/dataset.yaml d/index.hpdsl
		hpdsl-index -q d
		hpdsl-verify -q --source="$BATS_FILE_TMPDIR/tree" d
	done
	cp -rp "$BATS_FILE_TMPDIR/tree" .
	echo other > tree/class0/00000.png
	fails_with=0
	hpdsl-verify --source=tree d > out 2> err || fails_with=$?
	[ "$fails_with" = 1 ]
	grep -q 'class0/00000.png' out
}

@test "a directory that cannot be written: said at once; -o serves" {
	some d gnu-ustar
	chmod 555 d
	plain=()
	if [ "$(id -u)" = 0 ]; then
		need setpriv
		plain=(setpriv "--bounding-set=-dac_override,-dac_read_search")
	fi
	fails 3 "d: index.hpdsl: cannot create: Permission denied; -o DIR puts the index elsewhere" \
		"${plain[@]}" hpdsl-index d
	"${plain[@]}" hpdsl-index -q -o out d
	chmod 755 d
	hpdsl-verify -q out
	[ "$(ls d)" = gnu-ustar.tar ]
}

@test "killed anywhere: no half dataset, and the next run completes it" {
	local at
	mkdir d
	for i in 0 1 2 3; do
		"$SRC/tests/kit/foreign.py" one d/$i.tar $i 300000 9 400000 1
	done
	sums=$(sha256sum d/*.tar)
	for at in op=pread,name=2.tar op=pwrite op=pwrite,after=2 op=fsync \
		op=rename op=rename,after=1 op=fsync,after=3; do
		killed_at "$at" hpdsl-index -q -j 1 d
		if [ -e d/dataset.yaml ]; then
			hpdsl-verify -q d 2> /dev/null
		fi
		rm -f d/dataset.yaml
		hpdsl-index -q d
		hpdsl-verify -q d
		rm d/dataset.yaml d/index.hpdsl
	done
	[ "$(sha256sum d/*.tar)" = "$sums" ]
}

@test "hostile headers: an error that names the place, quickly, in little memory" {
	mkdir d
	python3 - <<- 'END'
		import os, sys, tarfile
		sys.path.insert(0, os.environ["SRC"] + "/tests/kit")

		def block(name, size, kind=b"0", **fields):
		    b = bytearray(512)
		    b[:len(name)] = name
		    b[100:108] = b"0000644\0"
		    b[124:136] = size if isinstance(size, bytes) else b"%011o\0" % size
		    b[136:148] = b"00000000017\0"
		    b[156:157] = kind
		    b[257:265] = b"ustar\00000"
		    b[148:156] = b" " * 8
		    b[148:156] = b"%06o\0 " % sum(b)
		    return bytes(b)

		def extra(kind, data):
		    return block(b"x", len(data), kind) + data + bytes(-len(data) % 512)

		def pax(key, value):
		    n = len(key) + len(value) + 3
		    n += len(str(n + len(str(n))))
		    return b"%d %s=%s\n" % (n, key, value)

		end = bytes(1024)
		good = block(b"good", 4) + b"good" + bytes(508)
		cases = {
		    "negative": block(b"a", b"\xff" * 12),
		    "minus": block(b"a", b"-0000000001\0"),
		    "base256": block(b"a", b"\x80" + b"\x7f" * 11),
		    "beyond": block(b"a", 0o77777777777) + bytes(4096),
		    "pax-size": extra(b"x", pax(b"size", b"9" * 18)) + block(b"a", 0),
		    "pax-wrap": extra(b"x", pax(b"size", b"9" * 40)) + block(b"a", 0),
		    "pax-none": extra(b"x", b"no records"),
		    "pax-long": extra(b"x", b"99999999 path=a\n"),
		    "pax-large": block(b"x", 1 << 30, b"x") + bytes(4096),
		    "pax-name": extra(b"x", pax(b"path", b"n" * 9000)) + block(b"a", 0),
		    "pax-nul": extra(b"x", pax(b"path", b"a\0b")) + block(b"a", 0),
		    "long-name": extra(b"L", b"n" * 900000) + block(b"a", 0),
		    "no-member": extra(b"x", pax(b"path", b"a")),
		    "many": extra(b"x", pax(b"path", b"a")) * 20000,
		    "global-size": extra(b"g", pax(b"size", b"4")) + block(b"a", 4),
		    "no-name": block(b"", 0, b"7"),
		    "outside": extra(b"L", b"../" * 50 + b"x\0") + block(b"a", 0),
		    "5000": extra(b"L", b"n/" * 2500 + b"x\0") + block(b"a", 0),
		    "links": extra(b"K", b"t" * 500) + block(b"a", b"\xff" * 12, b"2"),
		}
		for name, data in cases.items():
		    with open(f"d/{name}", "wb") as f:
		        f.write(good + data + end)
	END
	[ "$(find d -type f | wc -l)" = 19 ]
	[ -n "$SAN" ] || ulimit -v 200000
	for f in d/*; do
		rm -rf t
		mkdir t
		mv "$f" t/x.tar
		fails 1 "t: x.tar: " timeout 600 hpdsl-index -j 2 t
		[ "$(ls t)" = x.tar ]
	done
}

@test "modes beyond rwx, and times before 1970: --thorough finds no fault" {
	mkdir d
	python3 - <<- 'END'
		import io, tarfile
		for name in "PAX", "GNU", "USTAR":
		    form = getattr(tarfile, name + "_FORMAT")
		    with tarfile.open(f"d/{name}.tar", "w", format=form) as t:
		        for i, mode in enumerate((0o4755, 0o2644, 0o1600, 0o7777)):
		            m = tarfile.TarInfo(f"{name}/{i}.txt")
		            m.size, m.mode = 3, mode
		            m.mtime = -1.25 if name == "PAX" else i if name == "USTAR" else -i
		            t.addfile(m, io.BytesIO(b"abc"))
	END
	hpdsl-index -q d
	hpdsl-verify -q --thorough d
}
