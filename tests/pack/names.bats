#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names in chunks: those at risk in other readers, portable ones and the way
# back, classes from a file, members of class numbers.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

# Every hazard that we know of, and names that become equal.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	local long name files=()
	long=$(printf 'x%.0s' {1..60})
	while IFS= read -r name; do
		printf -v name 'tree/%b' "$name"
		[ -d "${name%/*}" ] || mkdir -p "${name%/*}"
		echo "file ${#files[@]}" > "$name"
		files+=("$name")
	done <<- END
		plain/1.jpg
		plain/1.json
		plain/1.seg.png
		plain/a_b.jpg
		__meta__/1.jpg
		a/__x__/1.jpg
		a/__.jpg
		case/1.JPG
		case/1.jpg
		case/1.Jpg
		case/2.JPEG
		clash/a b.jpg
		clash/a b.txt
		clash/a_b.jpg
		clash/a\\tb.jpg
		clash/a~b.JPG
		dots/1.5 metres.jpg
		dots/1.5 metres.json
		dots/3.seg.png
		dots/Track 2.0 x.mp3
		dots/end.
		dots/end..
		dots/two..jpg
		folder.d/v1.0/1.jpg
		hidden/.a
		hidden/.a.jpg
		hidden/..b.jpg
		hidden/...
		.top
		.top.jpg
		line/a\\nb.jpg
		line\\n2.d/a.jpg
		$long/$long/1.jpg
		$long/$long/1.json
		$long/$long/2.jpg
		$long$long.jpg
		$long/$long/$long/$long/$long/1.jpg
		no/suffix
		no/suffix.jpg
		no/SUFFIX
		quote/a\\\\b.jpg
		quote/a"b'c\$d.jpg
		quote/a;b.x;y
		quote/a:b.jpg
		suffix/1.__key__
		suffix/1.__url__
		suffix/1.j pg
		suffix/1.j_pg
		suffix/1.averyveryverylongsuffix
		utf8/é.jpg
		utf8/ü.jpg
		utf8/日本.日
		bytes/\\xff\\xfe.jpg
		bytes/\\x01.jpg
		bytes/-rf.jpg
	END
	python3 -c 'import os, sys
for n, name in enumerate(sys.argv[1:], 1700000001):
    os.utime(name, (n + 0.5, n + 0.5))' "${files[@]}"
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	tree=$BATS_FILE_TMPDIR/tree
}

wds()
{
	python3 "$SRC/tests/kit/wds_reader.py" "$@"
}

id_of()
{
	sed -n 's/^dataset_id: //p' "$1/dataset.yaml"
}

# few FILE..: adds these files to the small tree t.
few()
{
	local f d
	for f; do
		d=t/$f
		[ -d "${d%/*}" ] || mkdir -p "${d%/*}"
		echo "$f" > "t/$f"
	done
}

# ---- Names at risk --------------------------------------------------------

@test "a dry run tells names at risk: which, why, whom" {
	few a/1.jpg a/1.json a/2.JPG a/README 'a/b c.jpg' a/.h.jpg \
		__x__/1.jpg a/1.5.jpg a/3.5.png
	hpdsl-pack --dry-run t out > plan
	sed -n '/^names:/,/^scan:/p' plan | sed '$d' > names
	diff names - <<- 'END'
	names:    6 of 9 would trip other readers; --names=portable avoids that
	            1: no suffix (all readers), as 'a/README'
	            1: dots inside the base name (all readers), as 'a/3.5.png'
	            1: blanks (dali), as 'a/b c.jpg'
	            1: leading dot (all readers), as 'a/.h.jpg'
	            1: first component __x__ (webdataset, energon), as '__x__/1.jpg'
	            1: upper case in the suffix (webdataset), as 'a/2.JPG'
	END
	[ ! -e out ]
}

@test "a dry run over every hazard stays short; --json tells all" {
	hpdsl-pack --dry-run "$tree" out > plan
	sed -n '/^names:/,/^scan:/p' plan | sed '$d' > names
	[ "$(wc -l < names)" -le 12 ]
	grep -q 'and 7 more reasons: see --json' names
	hpdsl-pack --dry-run --json "$tree" out > json
	python3 - <<- 'END'
	import json
	j = json.load(open("json"))
	assert j["names_changed"] == 0
	risks = {r["reason"]: r for r in j["name_risks"]}
	assert len(risks) == 17, risks.keys()
	assert risks["over 100 bytes"]["readers"] == ["wids"]
	assert risks["over 100 bytes"]["names"] == 5
	assert risks["its name in a pax header"]["names"] == 2
	assert risks["suffixes equal in lower case"]["names"] == 3
	assert risks["no suffix"]["names"] == 3
	assert risks["first component __x__"]["first"] == "__meta__/1.jpg"
	assert risks["not UTF-8"]["names"] == 1
	assert j["risky_names"] <= j["members"]
	END
}

@test "a pack tells them before it writes, -q does not" {
	few a/README a/1.jpg
	hpdsl-pack t out 2> err
	sed -n 1,3p err | diff - <(echo "hpdsl-pack: 2 samples; 'a/1': jpg
hpdsl-pack: names: 1 of 2 would trip \
other readers; --names=portable avoids that
hpdsl-pack:   1: no suffix (all readers), as 'a/README'")
	hpdsl-pack -q --force t out 2> err
	[ ! -s err ]
	# nothing to tell
	rm t/a/README
	hpdsl-pack -n t out > plan
	run ! grep names: plan
	# it comes before a failure of the output, too
	hpdsl-pack t /proc/none 2> err && false
	few a/README
	run hpdsl-pack --resume t out
	[ "$status" = 3 ]
}

@test "--group=none: keys of several samples are at risk" {
	few a/1.jpg a/1.json a/2.jpg
	hpdsl-pack -n --group=none t out > plan
	grep "2: key of another sample (all readers), as 'a/1.jpg'" plan
	hpdsl-pack -n t out > plan
	run ! grep 'names:' plan
}

# ---- Portable names -------------------------------------------------------

@test "a reader with WebDataset's rules gets just the samples of the index" {
	hpdsl-pack -q --names=portable --chunks=3 "$tree" out
	hpdsl-verify -q out
	wds compare out "$tree"
	# and of the names as they are it does not
	hpdsl-pack -q --chunks=3 --exclude=case/ --exclude=suffix/ "$tree" keep
	wds list keep/*.tar > kept
	[ "$(wc -l < kept)" != "$(hpdsl-ls --samples keep | wc -l)" ]
}

@test "every name in a chunk is portable, unique, and told by ls --stored" {
	hpdsl-pack -q --names=portable --prefix-input --labels=dir --cls \
		--chunks=3 "$tree" out
	wds compare out "${tree%/*}"
	for chunk in out/*.tar; do tar tf "$chunk"; done > tarred
	hpdsl-ls --stored out > stored
	diff tarred stored
	[ -z "$(sort tarred | uniq -d)" ]
	[ "$(wc -L < tarred)" -le 100 ]
	run ! grep -vxE '[A-Za-z0-9/_+-]+\.[a-z0-9_+.-]{1,20}' tarred
	run ! grep -E '(^|/)__' tarred
	hpdsl-pack -n --json --names=portable "$tree" out > json
	[ "$(field risky_names < json)" = 0 ]
}

@test "the linter names these hazards in the names as they are, and no others" {
	readers=webdataset,dali,energon,wids,hf,ray
	hpdsl-pack -q --chunks=3 "$tree" keep
	hpdsl-pack -n --json "$tree" out > plan
	run --separate-stderr hpdsl-verify --json --compat=$readers keep
	[ "$status" = 1 ]
	echo "$output" > linter
	python3 - <<- 'END'
	import json
	plan = json.load(open("plan"))
	linter = json.load(open("linter"))
	told = {(reader, risk["reason"])
	        for risk in plan["name_risks"] for reader in risk["readers"]}
	found = {(r["reader"], p["reason"])
	         for r in linter["readers"] for p in r["problems"]
	         if p["unit"] == "member"}
	assert found == told, found ^ told
	END
	# of portable ones only that samples are not alike
	hpdsl-pack -q --names=portable --chunks=3 "$tree" out
	hpdsl-verify --compat=${readers/hf,/} out
}

@test "unpacking brings every name back" {
	hpdsl-pack -q --names=portable --chunks=4 "$tree" out
	hpdsl-unpack -q out back
	same_trees "$tree" back
	hpdsl-verify -q --source="$tree" out
	# by their paths, one by one
	hpdsl-ls out > paths
	hpdsl-unpack -q --files-from=paths out again
	same_trees "$tree" again
	[ "$(hpdsl-cat out 'clash/a b.jpg')" = "$(cat "$tree/clash/a b.jpg")" ]
	fails 1 "a_b-" hpdsl-cat out clash/a_b-12345678.jpg
	# tar alone gets all the contents
	mkdir plain
	for chunk in out/*.tar; do tar xf "$chunk" -C plain; done
	diff <(find plain -type f -exec cat {} + | sort) \
		<(find "$tree" -type f -exec cat {} + | sort)
}

@test "names that become equal" {
	hpdsl-pack -q --names=portable --shuffle=none --include='clash/*' \
		--include='case/*' "$tree" out
	h()
	{
		printf %s "$1" | xxhsum -H3 | sed 's/.*= .\{8\}//;s/^XXH3_.\{8\}//;s/ .*//'
	}
	hpdsl-ls out > paths
	hpdsl-ls --stored out | paste -d ' ' paths - > names
	if command -v xxhsum > /dev/null; then
		grep -qxF "clash/a b.txt clash/a_b-$(h 'clash/a b').txt" names
		grep -qxF "case/1.JPG case/1.jpg-$(h case/1.JPG)" names
	fi
	grep -qxF 'clash/a_b.jpg clash/a_b.jpg' names
	grep -qxE 'clash/a b.jpg clash/a_b-[0-9a-f]{8}.jpg' names
	grep -qxE 'clash/a~b.JPG clash/a_b-[0-9a-f]{8}.jpg' names
	grep -qxF 'case/1.jpg case/1.jpg' names
	grep -qxE 'case/1.Jpg case/1.jpg-[0-9a-f]{8}' names
}

@test "the table of hpdsl-format(5), Portable names" {
	sed -n '/^\.\\" NAMES/,/^\.\\" END/p' "$SRC/man/hpdsl-format.5" |
		sed -n '/^\.It Em/d; s/^\.It \(.*\) Ta \(.*\)$/\1\t\2/p' |
		sed 's/"//g; s/\\&//g' > table
	[ "$(wc -l < table)" -ge 12 ]
	while IFS=$'\t' read -r path _; do few "$path"; done < table
	hpdsl-pack -q --names=portable --shuffle=none t out
	hpdsl-ls out > paths
	hpdsl-ls --stored out | paste paths - | sort > is
	sort table | diff - is
}

@test "the id does not depend on names and class members" {
	hpdsl-pack -q --prefix-input "$tree" a
	hpdsl-pack -q --prefix-input --names=portable "$tree" b
	hpdsl-pack -q --prefix-input --names=portable --labels=dir --cls \
		"$tree" c
	[ "$(id_of a)" = "$(id_of b)" ]
	[ "$(id_of a)" = "$(id_of c)" ]
}

@test "the same bytes for any threads" {
	for j in 0 1 4; do
		hpdsl-pack -q -j$j --readers=$((j + 1)) --names=portable \
			--prefix-input --labels=dir --cls --chunks=5 \
			"$tree" out$j
	done
	[ "$(dataset_digest out0)" = "$(dataset_digest out1)" ]
	[ "$(dataset_digest out0)" = "$(dataset_digest out4)" ]
}

@test "--group=none --names=portable: keys are told apart" {
	hpdsl-pack -q --group=none --names=portable --chunks=2 "$tree" out
	wds compare out "$tree"
	[ "$(hpdsl-ls --samples out | wc -l)" = "$(hpdsl-ls out | wc -l)" ]
	hpdsl-unpack -q out back
	same_trees "$tree" back
	hpdsl-verify -q out
}

@test "--resume with other names is refused" {
	few a/1.jpg 'a/b c.jpg'
	hpdsl-pack -q t out
	fails 3 "--names" hpdsl-pack -q --resume --names=portable t out
	hpdsl-pack -q --force --names=portable t out
	hpdsl-pack -q --resume --names=portable t out
	fails 3 "--names is not given now, was portable" \
		hpdsl-pack -q --resume t out
	fails 2 "names: 'short'" hpdsl-pack --names=short t out
}

@test "ls --stored: patterns are paths; JSON tells both" {
	few 'a/b c.jpg' a/1.jpg
	hpdsl-pack -q --names=portable t out
	[ "$(hpdsl-ls --stored out 'a/b c.jpg')" = a/b_c.jpg ]
	fails 1 "a/b_c.jpg" hpdsl-ls --stored out a/b_c.jpg
	hpdsl-ls --json out 'a/b c.jpg' |
		grep -q '"path": "a/b c.jpg", "stored": "a/b_c.jpg"'
	run ! grep stored <(hpdsl-ls --json out a/1.jpg)
	grep -q '"stored": "a/1.jpg"' <(hpdsl-ls --stored --json out a/1.jpg)
	hpdsl-ls --stored -l out 'a/b c.jpg' | grep -q ' a/b_c.jpg$'
	fails 2 "--stored is for members" hpdsl-ls --stored --samples out
}

@test "rebuilding: names come from the index, else they are lost" {
	hpdsl-pack -q --names=portable --labels=dir --cls --chunks=3 \
		--exclude='/.top*' --exclude='/x*' "$tree" out
	cp -r out whole
	# the manifest alone
	rm out/dataset.yaml
	hpdsl-index -q out
	cmp out/index.hpdsl whole/index.hpdsl
	[ "$(id_of out)" = "$(id_of whole)" ]
	# the index alone
	cp whole/dataset.yaml out
	rm out/index.hpdsl
	hpdsl-index out 2> err
	grep 'lost: .*labels, original names' err
	grep '^lost: .*original names' out/dataset.yaml
	hpdsl-verify -q out
	diff <(hpdsl-ls out) <(hpdsl-ls --stored whole)
	# members of class numbers are known again by --cls
	[ "$(hpdsl-ls --json out | grep -c '"generated": true')" = \
		"$(hpdsl-ls --samples whole | wc -l)" ]
	# once lost, it goes on being lost
	cp out/dataset.yaml before
	printf x >> out/index.hpdsl
	hpdsl-index -q --force out 2> /dev/null
	grep '^lost: .*original names' out/dataset.yaml
}

@test "rebuilding: a damaged index gives what is left of the names" {
	few 'a/1 1.jpg' 'a/2 2.jpg'
	mkdir t/b
	python3 -c 'for i in range(3000):
	open(f"t/b/{i} {i}.jpg", "w").write(str(i))'
	hpdsl-pack -q --names=portable t out
	python3 - <<- 'END'
	import os
	size = os.path.getsize("out/index.hpdsl")
	with open("out/index.hpdsl", "r+b") as f:
	    f.seek(size // 3)
	    old = f.read(1)
	    f.seek(size // 3)
	    f.write(bytes([old[0] ^ 255]))
	END
	hpdsl-index -q out 2> err
	hpdsl-verify -q out
	[ "$(hpdsl-ls out | wc -l)" = 3002 ]
}

@test "rebuilding: an index whose rows are damaged still tells of names" {
	few 'a/1 1.jpg' 'a/2 2.jpg'
	hpdsl-pack -q --names=portable t out
	# without the manifest, and with a flip in MEMBERS
	rm out/dataset.yaml
	python3 - <<- 'END'
		import struct
		with open("out/index.hpdsl", "r+b") as f:
		    f.seek(80 + 32 + 8)
		    at = struct.unpack("<Q", f.read(8))[0]
		    f.seek(at)
		    f.write(b"\1")
	END
	hpdsl-index out 2> err
	grep 'lost: .*original names' err
	grep '^lost: .*original names' out/dataset.yaml
}

# ---- Classes from a file --------------------------------------------------

@test "--labels=FILE: paths and keys, tab or blank" {
	few a/1.jpg a/1.json a/2.jpg 'a/3 3.jpg' a/4.jpg
	printf '%s\n' 'a/1 cat' 'a/2.jpg  dog' $'a/3 3\tbig cat\r' '' > labels
	hpdsl-pack --labels=labels t out 2> err
	grep 'classes: 3; without a class: 1 sample' err
	[ "$(hpdsl-ls --samples --label='big cat' out)" = 'a/3 3' ]
	[ "$(hpdsl-ls --label=cat out | wc -l)" = 2 ]
	sed -n '/^classes:/,/^index:/p' out/dataset.yaml | sed '$d' |
		diff - <(printf '%s\n' classes: '- big cat' '- cat' '- dog')
	grep '^  labels: file' out/dataset.yaml
	if command -v xxhsum > /dev/null; then
		grep "^  labels_xxh3_128: $(xxhsum -H2 < labels |
			sed 's/ .*//')" out/dataset.yaml
	fi
	# with lines in another order: another file, the same labels
	tac labels > turned
	hpdsl-pack -q --labels=turned t out2
	diff <(hpdsl-ls --json out) <(hpdsl-ls --json out2)
}

@test "--labels=FILE: lines that name nothing" {
	few a/1.jpg a/2.jpg
	printf '%s\n' 'a/1 x' 'a/7 y' 'a/8 y' 'a/9 y' 'a/10 y' > labels
	hpdsl-pack -q --labels=labels t out 2> err
	grep -F "labels: 4 of 5 lines name no member and no key: \
line 2 'a/7', line 3 'a/8', line 4 'a/9', ..." err
	sed -i 1d labels
	hpdsl-pack -q --labels=labels t out2 2> err
	grep 'no line names a member or a key: no sample has a class' err
	[ "$(wc -l < err)" = 1 ]
	: > labels
	hpdsl-pack -q --labels=labels t out3 2> err
	grep 'no line names a member or a key' err
}

@test "--labels=FILE: what is refused" {
	few a/1.jpg a/1.json
	printf 'a/1.jpg x\na/1.json y\n' > labels
	fails 2 "labels: line 2: the sample of 'a/1.jpg' has another class in \
line 1" hpdsl-pack --labels=labels t out
	echo a/1.jpg > labels
	fails 2 "labels: 'labels' and 'more': wanted one table of all samples" \
		hpdsl-pack --labels=labels --labels=more t out
	fails 2 "labels: line 1: there is no class" \
		hpdsl-pack --labels=labels t out
	printf 'a/1.jpg x\0y\n' > labels
	fails 2 "labels: line 1: a NUL byte" hpdsl-pack --labels=labels t out
	fails 3 "none: No such file" hpdsl-pack --labels=./none t out
	fails 3 "t: Is a directory" hpdsl-pack --labels=t t out
	fails 2 "not a regular file" hpdsl-pack --labels=/dev/null t out
	truncate -s 1073741825 labels
	fails 2 "at most 1 GiB" hpdsl-pack --labels=labels t out
	python3 -c 'print("a/1 " + 65536 * "x")' > labels
	fails 2 "labels: line 1: the class is too long" \
		hpdsl-pack --labels=labels t out
	[ ! -e out ]
}

@test "--labels=FILE.csv: whole numbers stay what they are, wherever it goes" {
	few x/i{0,1,2,3,10}.jpg
	printf '\xef\xbb\xbf"Label",id\r\n0,i0\r\n1,i1.jpg\r\n2,x/i2\r\n10,x/i10.jpg\r\n1.5,i3\r\n7,i4\r\n' > l.csv
	hpdsl-pack -q --labels=l.csv t out 2> err
	diff err - <<- 'END'
	hpdsl-pack: warning: l.csv: 1 of 6 rows name no sample, or more than one: line 7 'i4'
	hpdsl-pack: warning: l.csv: 1 of 6 rows have no class that is text or a whole number: line 6 'i3'
	END
	grep '^  label_numbers: value$' out/dataset.yaml
	classes()
	{
		hpdsl-ls --samples -l "$1" | awk '{ print $NF, $(NF - 1) }' | sort
	}
	classes out | diff - <(printf 'x/i%s\n' '0 0' '1 1' '10 10' '2 2' '3 -')
	hpdsl-ls --samples --json out | grep '"label": 10, "class": "10"'
	hpdsl-verify --thorough out
	python3 "$SRC/tests/kit/read_dataset.py" check out > got
	# packed again, in part, and a part of that; the index rebuilt
	hpdsl-pack -q --exclude='*i10*' out part
	hpdsl-pack -q --exclude='*i1*' part again
	classes again | diff - <(printf 'x/i%s\n' '0 0' '2 2' '3 -')
	hpdsl-ls --samples --json again | grep '"label": 2, "class": "2"'
	# without a manifest, and with one that is damaged or was rebuilt, the
	# classes are three by now, and called their numbers
	cp -a again damaged
	printf x | dd of=damaged/dataset.yaml bs=1 seek=40 conv=notrunc status=none
	rm again/dataset.yaml
	hpdsl-index -q again
	for i in again damaged; do
		hpdsl-pack -q --exclude='*i0*' $i of-$i
		classes of-$i | diff - <(printf 'x/i%s\n' '2 2' '3 -')
		hpdsl-ls --samples --json of-$i | grep '"label": 2, "class": "2"'
		grep '^  label_numbers: value$' of-$i/dataset.yaml
	done
	# with another name it is read as lines
	cp l.csv l
	fails 2 "--label-columns: l is no table" \
		hpdsl-pack --labels=l --label-columns=1,2 t no
	fails 2 "--label-columns: there is no file of labels" \
		hpdsl-pack --labels=dir --label-columns=1,2 t no
	fails 2 "is it a table with a header (.csv)?" hpdsl-pack --labels=l t no
	sed -i s/Label/breed/ l.csv
	fails 2 "columns 'breed', 'id' none is called class, label, category or \
target; the two have to be named: --label-columns=NAME,CLASS, or numbers, as 1,2" \
		hpdsl-pack --labels=l.csv t no
	hpdsl-pack -q --labels=l.csv --label-columns=id,breed t named
	grep '^  label_columns: ' named/dataset.yaml
	sed -i 1d l.csv
	hpdsl-pack -q --labels=l.csv --label-columns=2,1 t no-header
	classes no-header | grep '^x/i0 0$'
	# what a version before began goes on by its rules: lines, by bytes
	printf 'path\tclass\nx/i2\t2\nx/i10\t10\n' > l.tsv
	cp l.tsv lines
	hpdsl-pack -q --labels=lines t of-old 2> err
	grep "class '10' has the label 0: a file of lines numbers" err
	hpdsl-pack -q --resume --labels=l.tsv t of-old
}

@test "--labels=cls and json: from members, wherever they are" {
	local i
	mkdir t
	for i in 0 1 2 10; do
		touch t/$i.jpg
		echo " $i" > t/$i.cls
		printf '{"x": ["label"], "n": 1, "label": %s}' $i > t/$i.json
	done
	touch t/none.jpg
	of()
	{
		hpdsl-ls --samples -l "$1" | awk '{ print $NF, $(NF - 1) }' | sort
	}
	want=$(printf '%s\n' '0 0' '1 1' '10 10' '2 2' 'none -')
	for i in -j1 --dry-run; do
		hpdsl-pack "$i" t "unasked$i" 2> err > out
		grep -x 'hpdsl-pack: no sample has a label, and members .cls may say them: --labels=cls takes them from there' err
		hpdsl-pack "$i" --labels=none t "none$i" 2> err > out
		run ! grep 'may say' err
	done
	hpdsl-pack -q --labels=cls t cls
	grep '^  labels: cls$' cls/dataset.yaml
	hpdsl-pack -q --labels=json:label t json
	grep "^  labels: .\?json:label" json/dataset.yaml
	tar czf t.tgz -C t .
	hpdsl-pack -q --labels=json:label t.tgz stream
	hpdsl-pack -q --labels=cls cls again
	cp -a cls lost && rm lost/dataset.yaml lost/index.hpdsl
	hpdsl-index lost 2> err
	grep 'warning: lost: labels are lost, and 4 members .cls may say them (hpdsl-pack --labels=cls DIR OUTPUT)' err
	hpdsl-pack -q --labels=cls lost found
	[ "$(of found)" = "$want" ]
	# and what a packer made of them
	mkdir j && cp t/*.jpg j && rm j/none.jpg
	for i in 0 1 2 10; do echo "$i,$i"; done > j.csv
	hpdsl-pack -q --labels=j.csv --label-columns=1,2 --cls j made
	rm made/index.hpdsl
	hpdsl-index made 2> err
	grep 'warning: made: labels are lost, and 4 members .cls of the packer may say them (hpdsl-index -o OUTPUT --labels=cls DIR/chunk-\*.tar)' err
	hpdsl-index -q -o adopted --labels=cls made/chunk-*.tar
	[ "$(of adopted)" = "$(head -n 4 <<< "$want")" ]
	# compressed ones are not adopted, but packed
	hpdsl-pack -q --zstd --labels=j.csv --label-columns=1,2 --cls j small
	rm small/index.hpdsl
	hpdsl-index small 2> err
	grep 'warning: small: labels are lost, and 4 members .cls of the packer in compressed chunks may say them (hpdsl-pack --labels=cls DIR/chunk-\*.tar.zst OUTPUT)' err
	hpdsl-pack -q --labels=cls small/chunk-*.tar.zst large
	[ "$(of large)" = "$(head -n 4 <<< "$want")" ]
	for i in cls json stream again; do [ "$(of $i)" = "$want" ]; done
	hpdsl-pack -q --resume --labels=json:label t json
	fails 3 "--labels is json:n now, was json:label" \
		hpdsl-pack -q --resume --labels=json:n t json
	fails 2 "--labels: 'json' is not none, dir, dir:N, parent, cls, json:FIELD or a file" \
		hpdsl-pack --labels=json t no
	# neither text nor a whole number
	printf '{"label": 1.5}' > t/10.json
	printf '{"label": null}' > t/2.json
	hpdsl-pack -q --labels=json:label t some 2> err
	grep -F "warning: 2 of 4 members .json say no class that is text or a whole number: '10.json', '2.json'" err
	fails 2 "no member .json has a field 'no' at its top level that is text or a whole number: '0.json', '1.json', '10.json'" \
		hpdsl-pack -q --labels=json:no t no
	rm t/*.cls
	fails 2 "no sample has a member .cls that names its class, there are 'jpg', 'json'" \
		hpdsl-pack -q --labels=cls t no
	fails 2 "(--group=none)" \
		hpdsl-pack -q --group=none --labels=json:label t no
	mkdir d && cd d
	echo '0 x' > cls
	hpdsl-pack -q --labels=./cls ../t file
	[ "$(of file | head -n 1)" = "0 x" ]
}

@test "--resume: a labels file that has changed is a difference" {
	few a/1.jpg a/2.jpg
	printf 'a/1 x\na/2 y\n' > labels
	hpdsl-pack -q --labels=labels t out
	cp labels moved
	hpdsl-pack -q --resume --labels=moved t out
	echo 'a/1 x' >> labels
	fails 3 "the file of labels is not what it was (--labels)" \
		hpdsl-pack -q --resume --labels=labels t out
	fails 3 "--labels is dir:1 now, was file" \
		hpdsl-pack -q --resume --labels=dir t out
}

# ---- Members of class numbers ---------------------------------------------

@test "--cls: a member of each sample, with the first one's mode and time" {
	few cat/1.jpg cat/1.aaa dog/2.jpg
	chmod 640 t/cat/1.aaa
	touch -d @1600000000.25 t/cat/1.aaa
	hpdsl-pack -q --labels=dir --cls --shuffle=none t out
	hpdsl-ls out | diff - <(printf '%s\n' cat/1.aaa cat/1.cls cat/1.jpg \
		dog/2.cls dog/2.jpg)
	[ "$(hpdsl-cat out cat/1.cls | od -c -An)" = "$(printf 0 | od -c -An)" ]
	[ "$(hpdsl-cat out dog/2.cls)" = 1 ]
	hpdsl-ls -l out cat/1.cls | grep -q '^grw-r----- .* 2020-09-13 12:26:40'
	tar tvf out/chunk-000000.tar | grep -q '^-rw-r----- .* cat/1.cls'
	hpdsl-verify -q out
	hpdsl-verify -q --source=t out
	hpdsl-unpack out back 2> err
	grep 'left out: 2 members of class numbers' err
	same_trees t back
	hpdsl-unpack --json out again | grep -q '"generated": 2'
	wds compare out t
	grep '^members: 5' out/dataset.yaml
	grep '^  cls: true' out/dataset.yaml
}

@test "--cls: numbers of more digits, and many chunks" {
	for ((i = 0; i < 120; i++)); do few "c$i/$i.jpg"; done
	hpdsl-pack -q --labels=dir --cls --chunks=7 --names=portable t out
	wds compare out t
	hpdsl-verify -q out
	for ((i = 0; i < 120; i += 17)); do
		want=$(hpdsl-ls --json out "c$i/$i.jpg" | field label)
		[ "$(hpdsl-cat out "c$i/$i.cls")" = "$want" ]
	done
}

@test "--cls: what is refused" {
	few cat/1.jpg top.jpg
	fails 2 "'top.jpg' is of a sample without a class" \
		hpdsl-pack -q --labels=dir --cls t out
	fails 2 "--cls needs classes: see --labels" hpdsl-pack -q --cls t out
	fails 2 "--cls needs classes: see --labels" hpdsl-pack -q --cls --labels=none t out
	fails 2 "--cls does not go with group none (--group=none)" \
		hpdsl-pack -q --cls --labels=dir --group=none t out
	rm t/top.jpg
	# no tar reader makes a file where there is a folder
	few dog/x.jpg dog/x.cls/y.jpg
	for names in keep portable; do
		fails 2 "--cls: 'dog/x.cls' would be a file, and is a folder, from t" \
			hpdsl-pack -q --labels=dir --cls --names=$names t out
	done
	rm -r t/dog
	few cat/1.cls
	fails 2 "'cat/1.cls' has the name" \
		hpdsl-pack -q --labels=dir --cls t out
	mv t/cat/1.cls t/cat/1.CLS
	fails 2 "'cat/1.CLS' has the name" \
		hpdsl-pack -q --labels=dir --cls --names=portable t out
	[ ! -e out ]
	hpdsl-pack -n --labels=dir --cls t out |
		grep '2: suffixes equal in lower case (webdataset)'
}

@test "--cls: resumed, complete, repacked" {
	for ((i = 0; i < 40; i++)); do few "c$((i % 3))/$i.jpg"; done
	cls=(--labels=dir --cls --names=portable --chunks=4)
	hpdsl-pack -q "${cls[@]}" t out
	hpdsl-pack -q --resume "${cls[@]}" t out
	fails 3 "--cls" hpdsl-pack -q --resume --labels=dir --names=portable \
		--chunks=4 t out
	hpdsl-pack -q out again
	[ "$(hpdsl-ls again | wc -l)" = 40 ]
	[ "$(hpdsl-ls --label=c1 again | wc -l)" = 13 ]
	[ "$(id_of again)" = "$(id_of out)" ]
	hpdsl-pack -q --cls out twice
	[ "$(hpdsl-ls twice | wc -l)" = 80 ]
	hpdsl-verify -q twice
	wds compare twice t
}

@test "--cls: classes of a packed input that have other numbers now" {
	for ((i = 0; i < 40; i++)); do few "c$((i % 2))/$i.jpg"; done
	hpdsl-pack -q --labels=dir t in
	hpdsl-pack -q --cls --chunks=4 in out
	hpdsl-pack -q in plain
	hpdsl-pack -q --resume in plain
	for ((i = 0; i < 40; i++)); do echo "c$((i % 2))/$i c$(((i + 1) % 2))"
	done > labels
	rm -r in
	hpdsl-pack -q --labels=labels t in
	fails 3 "'c0/0.jpg' has another class" hpdsl-pack -q --resume in plain
	fails 3 "is complete, but the input has changed since" \
		hpdsl-pack -q --resume --cls --chunks=4 in out
	hpdsl-pack -q --resume --force --cls --chunks=4 in out
	wds compare out t
	[ "$(hpdsl-cat out c0/0.cls)" = 1 ]
}
