#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-verify --compat: what other readers make of tars.

load ../kit/lib

# says STATUS READERS ARGUMENT.. <<< LINES: just these lines on stdout.
says()
{
	local want=$1 readers=$2 status=0
	shift 2
	cat > want
	hpdsl-verify -q --compat="$readers" "$@" > got 2> err || status=$?
	if [ "$status" != "$want" ] || ! diff want got; then
		echo "exit $status, wanted $want: --compat=$readers $*"
		cat err
		return 1
	fi
}

# nothing READER..: they take all of it
nothing()
{
	local reader
	for reader; do
		echo "$reader: takes all of it"
	done
}

# in_folder: what Ray makes of a dataset's other files
in_folder()
{
	echo "ray: note: 1 folder: read_webdataset takes each file in it for a tar," \
		'but with file_extensions=["tar"]'
}

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	python3 "$SRC/tests/kit/foreign_tars.py" tars
	python3 "$SRC/tests/kit/hazards.py" hazards
	hpdsl-pack -q --shuffle=none hazards keep
	hpdsl-pack -q --shuffle=none --names=portable hazards portable
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	ln -s "$BATS_FILE_TMPDIR/tars" "$BATS_FILE_TMPDIR/keep" \
		"$BATS_FILE_TMPDIR/portable" .
}

@test "compat: it trips where a reader gets other samples, nowhere else" {
	LC_ALL=C.UTF-8 tar --version | grep -q GNU || skip "no GNU tar"
	python3 "$SRC/tests/kit/other_readers.py" agree "$BUILD/hpdsl-verify"
}

@test "compat: the hazards of a tree, kept as they are" {
	m=$(printf 'm%.0s' {1..250})
	says 1 webdataset keep <<- END
		webdataset: trips
		webdataset: drops 5 members: no suffix, first 'long/$m' in chunk-000000.tar
		webdataset: renames 3 members: dots inside the base name, first 'dots/Track 2.0 x.mp3' in chunk-000000.tar
		webdataset: splits or mixes 3 members: leading dot, first 'hidden/..two.x' in chunk-000000.tar
		webdataset: drops 2 members: first component __x__, first '__meta__/a.jpg' in chunk-000000.tar
		webdataset: refuses 2 members: suffix begins with __, first 'field/a.__key__' in chunk-000000.tar
		webdataset: renames 5 members: upper case in the suffix, first 'same/a.JPG' in chunk-000000.tar
		webdataset: refuses 5 members: suffixes equal in lower case, first 'same/a.JPG' in chunk-000000.tar
		webdataset: drops 1 member: newline, then a dot, in the folder, first 'newline/x.y\\nz/a.jpg' in chunk-000000.tar
	END
	hpdsl-verify -q --compat=all keep > all || true
	for line in "dali: refuses 5 members: blanks, first 'blank/ lead.jpg'" \
		"dali: refuses 5 members: not ASCII, first 'unicode/bad" \
		"dali: refuses 3 members: control characters" \
		"dali: renames 2 members: backslash, or semicolon in the" \
		"energon: refuses 3 members: not UTF-8" \
		"wids: renames 5 members: over 100 bytes" \
		"wids: renames 2 members: its name in a pax header" \
		"wids: refuses 3 members: newline, first 'newline/a\\nb.jpg'" \
		"hf: drops 2 members: base name begins with __" \
		"hf: note: 4 members: hf decompresses these"; do
		grep -F "$line" all
	done
}

@test "compat: nothing to trip over in portable names" {
	says 0 webdataset,wids,ray portable < <(nothing webdataset wids ray; in_folder)
	says 0 dali,energon portable <<- END
		dali: takes all of it
		dali: note: 1 tar: no index: it will read all headers first, first chunk-000000.tar
		energon: takes all of it
		energon: note: 1 tar: no index: energon prepare has to make it, first chunk-000000.tar
	END
	# all find the samples of the index, in its order
	hpdsl-ls --stored portable > stored
	python3 - <<- 'END' > want
		samples = {}
		for name in open("stored", encoding="utf-8"):
		    key, suffix = name.rstrip("\n").split(".", 1)
		    samples.setdefault(key, []).append(suffix)
		for key, suffixes in samples.items():
		    print(ascii(key), *(ascii(s) for s in suffixes))
	END
	[ "$(wc -l < want)" = 59 ]
	for reader in webdataset dali energon wids ray; do
		python3 "$SRC/tests/kit/other_readers.py" samples $reader \
			portable/chunk-000000.tar | diff want -
	done
	# and with indexes there is nothing to note
	hpdsl-pack -q --names=portable --emit=dali,energon,wids \
		"$BATS_FILE_TMPDIR/hazards" emitted
	says 0 dali,energon emitted < <(nothing dali energon)
}

@test "compat: samples alike, and portable: all readers are content" {
	make_tree tree 1 30
	rm tree/class0/*.txt
	hpdsl-pack -q --emit=dali,energon --chunks=3 tree out
	says 0 all out < <(nothing webdataset dali energon wids hf ray; in_folder)
	says 0 all out/chunk-00000?.tar <<- END
		$(nothing webdataset dali energon)
		energon: note: 3 tars: no index: energon prepare has to make it, first out/chunk-000000.tar
		$(nothing wids hf ray)
	END
	hpdsl-pack -q --emit=dali,energon --chunks=3 --zstd tree zst
	says 1 webdataset,hf,dali zst <<- END
		webdataset: trips
		webdataset: refuses 3 tars: compressed with zstd, first chunk-000000.tar.zst
		dali: trips
		dali: refuses 3 tars: compressed with zstd, first chunk-000000.tar.zst
		hf: trips
		hf: refuses 3 tars: compressed with zstd, first chunk-000000.tar.zst
	END
	says 1 ray zst/chunk-000000.tar.zst <<- END
		ray: trips
		ray: refuses 1 tar: compressed with zstd, first zst/chunk-000000.tar.zst
	END
}

@test "compat: train and val in one tar are one to them; what parts them is told" {
	mkdir -p t/train/cat t/val/cat
	touch t/train/cat/1.x t/val/cat/2.x
	tar -cf mixed.tar -C t ./val ./train
	tar -cf apart.tar -C t train
	hpdsl-pack -q --labels=dir:2 t 'the pack'
	# no mark of an error: somebody may want all
	says 0 wids,hf 'the pack' apart.tar <<- END
		wids: takes all of it
		wids: note: 1 tar: train, val and the like in one: it cannot read them apart, first chunk-000000.tar
		hf: takes all of it
		hf: note: 1 tar: train, val and the like in one: it cannot read them apart, first chunk-000000.tar
	END
	hpdsl-verify --compat=wids,hf 'the pack' 2>&1 > out |
		sed -n 's/.*:     //p' > lines
	diff lines - <<- END
		hpdsl-pack --for=wids --include='train/**' 'the pack' packed-train
		hpdsl-pack --for=wids --include='val/**' 'the pack' packed-val
	END
	bash -e lines 2> err
	says 0 wids packed-train packed-val < <(nothing wids)
	hpdsl-ls packed-val | diff - <(printf 'val/cat/2.%s\n' cls x)
	hpdsl-verify --compat=ray mixed.tar 2>&1 > out |
		grep "hpdsl-pack --for=webdataset --include='val/\*\*' TAR.. packed-val"
}

@test "compat: links, devices" {
	for reader in webdataset wids ray hf; do
		says 1 $reader tars/links.tar <<- END
			$reader: trips
			$reader: drops 2 members: a link, first 'b/2.txt' in tars/links.tar
			$reader: drops 1 member: a device or FIFO, first 'b/4.txt' in tars/links.tar
		END
	done
}

@test "compat: members of a sample apart, or in two tars; keys again" {
	says 1 webdataset,energon tars/apart.tar <<- END
		webdataset: trips
		webdataset: splits or mixes 2 samples: members not adjacent, first 'c/1' in tars/apart.tar
		energon: trips
		energon: refuses 2 samples: members not adjacent, first 'c/1' in tars/apart.tar
		energon: note: 1 tar: no index: energon prepare has to make it, first tars/apart.tar
	END
	says 1 webdataset,ray tars/split1.tar tars/split2.tar <<- END
		webdataset: trips
		webdataset: splits or mixes 1 sample: goes on in the next tar, first 'd/2' in tars/split1.tar
		ray: trips
		ray: splits or mixes 1 sample: goes on in the next tar, first 'd/2' in tars/split1.tar
	END
	says 0 webdataset,ray,wids tars/again1.tar tars/again2.tar < <(
		nothing webdataset wids ray)
	says 1 energon tars/again1.tar tars/again2.tar <<- END
		energon: trips
		energon: refuses 2 samples: key of another sample, first 'e/1' in tars/again2.tar
		energon: note: 2 tars: no index: energon prepare has to make it, first tars/again1.tar
	END
	says 1 webdataset,wids,hf tars/twice.tar <<- END
		webdataset: trips
		webdataset: refuses 1 member: a name again in its sample, first 'f/1.txt' in tars/twice.tar
		wids: trips
		wids: misreads 1 member: a name again in its sample, first 'f/1.txt' in tars/twice.tar
		hf: trips
		hf: drops 1 member: a name again in its sample, first 'f/1.txt' in tars/twice.tar
	END
	# samples of ours that others take for one
	mkdir t && touch t/1.jpg t/1.txt t/2.jpg
	hpdsl-pack -q --group=none --shuffle=none t none
	says 1 webdataset none <<- END
		webdataset: trips
		webdataset: splits or mixes 1 member: key of another sample, first '1.txt' in chunk-000000.tar
	END
	# and of tars that were adopted as samples of another kind
	for how in none:1.txt last:1.2.jpg key:; do
		mkdir -p "a/${how%:*}"
		touch t/1.1.jpg t/1.2.jpg t/1.2.txt
		tar -cf "a/${how%:*}/x.tar" -C t 1.1.jpg 1.2.jpg 1.2.txt
		[ "$how" != none:1.txt ] ||
			tar -cf a/none/x.tar -C t 1.jpg 1.txt 2.jpg
		hpdsl-index -q --group="${how%:*}" "a/${how%:*}" 2> err
		if [ "$how" = key: ]; then
			says 0 webdataset a/key <<- END
				webdataset: takes all of it
			END
		else
			says 1 webdataset "a/${how%:*}" <<- END
				webdataset: trips
				webdataset: splits or mixes 1 member: key of another sample, first '${how#*:}' in x.tar
			END
		fi
	done
}

@test "compat: forms of headers" {
	g=$(printf 'g%.0s' {1..120})
	says 1 webdataset,wids tars/gnu.tar <<- END
		webdataset: takes all of it
		wids: trips
		wids: renames 1 member: over 100 bytes, first '$g.txt' in tars/gnu.tar
	END
	says 1 wids tars/pax.tar <<- END
		wids: trips
		wids: renames 1 member: over 100 bytes, first '${g//g/h}.txt' in tars/pax.tar
		wids: renames 1 member: its name in a pax header, first '${g//g/h}.txt' in tars/pax.tar
	END
	says 1 webdataset,energon tars/global.tar <<- END
		webdataset: takes all of it
		energon: trips
		energon: misreads 1 tar: global pax header, first tars/global.tar
		energon: note: 1 tar: no index: energon prepare has to make it, first tars/global.tar
	END
	says 1 webdataset,ray tars/v7.tar <<- END
		webdataset: trips
		webdataset: refuses 1 tar: no ustar magic: its cache takes no such, first tars/v7.tar
		ray: takes all of it
	END
}

@test "compat: empty, damaged, cut off, compressed" {
	says 1 webdataset,dali tars/empty.tar <<- END
		webdataset: takes all of it
		dali: trips
		dali: refuses 1 tar: no samples, first tars/empty.tar
		dali: note: 1 tar: no index: it will read all headers first, first tars/empty.tar
	END
	for what in flip cut; do
		says 1 webdataset,ray tars/$what.tar <<- END
			webdataset: trips
			webdataset: refuses 1 tar: damaged, or cut off, first tars/$what.tar
			ray: trips
			ray: refuses 1 tar: damaged, or cut off, first tars/$what.tar
		END
	done
	: > tars/nothing.tar
	says 1 webdataset,ray tars/nothing.tar <<- END
		webdataset: trips
		webdataset: refuses 1 tar: damaged, or cut off, first tars/nothing.tar
		ray: trips
		ray: refuses 1 tar: damaged, or cut off, first tars/nothing.tar
	END
	run hpdsl-verify --compat=ray tars/flip.tar
	[[ $output = *"warning: tars/flip.tar: byte 1024: "*checksum* ]]
	for ext in gz bz2 xz; do
		says 1 webdataset,wids,ray tars/packed.tar.$ext <<- END
			webdataset: takes all of it
			webdataset: note: 1 tar: compressed, so not looked into, first tars/packed.tar.$ext
			wids: trips
			wids: refuses 1 tar: compressed, so not looked into, first tars/packed.tar.$ext
			ray: takes all of it
			ray: note: 1 tar: compressed, so not looked into, first tars/packed.tar.$ext
		END
	done
}

@test "compat: names of tars, tars below a folder" {
	says 0 dali tars/v1.5.tar <<- END
		dali: takes all of it
		dali: note: 1 tar: a dot inside its name: wds2idx cuts that of the index there, first tars/v1.5.tar
		dali: note: 1 tar: no index: it will read all headers first, first tars/v1.5.tar
	END
	says 1 webdataset,ray tars/noname <<- END
		webdataset: takes all of it
		ray: trips
		ray: drops 1 tar: its name does not end in .tar, first tars/noname
	END
	first=$(python3 -c 'import os
print(*(n for n in os.listdir("tars/folder/below")), sep="\n")' | head -n 1)
	[ "$first" = c.tgz ] || first=deep/b.tar
	says 1 webdataset,energon tars/folder <<- END
		webdataset: takes all of it
		energon: trips
		energon: splits or mixes 2 tars: below the folder: energon prepare takes it, too, first 'below/$first'
		energon: note: 1 tar: no index: energon prepare has to make it, first a.tar
	END
}

@test "compat: the first five samples, for hf" {
	says 1 hf tars/fields.tar <<- END
		hf: trips
		hf: refuses 1 sample: other suffixes than the first sample, first 'p/4' in tars/fields.tar
	END
	says 0 hf tars/late.tar < <(nothing hf)
	# of the first tar alone
	says 0 hf tars/late.tar tars/fields.tar < <(nothing hf)
}

@test "compat: headers alone are read" {
	need strace
	strace -qq -o /dev/null true || skip "strace may not trace"
	traced -f -qq -o trace -e trace=pread64,read \
		hpdsl-verify -q --compat=ray tars/large.tar > got || [ $? = 1 ]
	grep -q "drops 1 member: no suffix, first 'r/README'" got
	[ "$(sed -n 's/.* = \([0-9]*\)$/\1/p' trace |
		awk '{ n += $1 } END { print n }')" -lt 1000000 ]
}

@test "compat: --json, the counts, the same for any threads" {
	hpdsl-verify -q --json --compat=all keep > json || [ $? = 1 ]
	python3 - <<- 'END'
		import json
		r = json.load(open("json"))
		assert (r["tars"], r["samples"], r["members"]) == (1, 59, 75), r
		by = {x["reader"]: x for x in r["readers"]}
		assert list(by) == ["webdataset", "dali", "energon", "wids", "hf",
		                    "ray"]
		assert all(x["trips"] for x in by.values())
		p = by["webdataset"]["problems"][3]
		assert p == {"effect": "drops", "count": 2, "unit": "member",
		             "reason": "first component __x__",
		             "first": "__meta__/a.jpg",
		             "tar": "chunk-000000.tar"}, p
		bad = [p for p in by["energon"]["problems"]
		       if p["reason"] == "not UTF-8"]
		assert "first_base64" in bad[0], bad
	END
	for j in 0 1 7; do
		hpdsl-verify -q -j $j --compat=all tars keep tars/folder > j$j ||
			[ $? = 1 ]
		diff j0 j$j
	done
	run hpdsl-verify --compat=ray portable
	[[ ${lines[1]} = *"looked at: 59 samples, 75 members in 1 tar"* ]] ||
		[[ ${lines[0]} = *"looked at: 59 samples, 75 members in 1 tar"* ]]
}

@test "compat: adopted tars are looked at where they lie" {
	mkdir in
	cp "$BATS_FILE_TMPDIR"/tars/{good,links}.tar in
	hpdsl-index -q -o ds in || skip "no adoption"
	says 1 ray ds <<- END
		ray: trips
		ray: drops 2 members: a link, first 'b/2.txt' in ../in/links.tar
		ray: drops 1 member: a device or FIFO, first 'b/4.txt' in ../in/links.tar
	END
}

@test "compat: chunks that are missing or cut off, whatever the index says" {
	mkdir t
	touch t/1.jpg t/2.jpg t/3.jpg t/4.jpg
	hpdsl-pack -q --chunks=4 t ds
	rm ds/chunk-000002.tar
	says 1 wids ds <<- END
		wids: trips
		wids: refuses 1 tar: missing, first chunk-000002.tar
	END
	grep -q 'warning: chunk-000002.tar: is missing$' err
	truncate -s 100 ds/chunk-000001.tar
	says 1 wids,hf ds <<- END
		wids: trips
		wids: refuses 1 tar: damaged, or cut off, first chunk-000001.tar
		wids: refuses 1 tar: missing, first chunk-000002.tar
		hf: trips
		hf: refuses 1 tar: damaged, or cut off, first chunk-000001.tar
		hf: refuses 1 tar: missing, first chunk-000002.tar
	END
	grep -q 'chunk-000001.tar: is 100 bytes, [0-9]* expected$' err
	# tars of others that are a dataset
	mkdir others
	tar -cf others/a.tar -C t 1.jpg
	tar -cf others/b.tar -C t 2.jpg
	hpdsl-index -q others
	says 0 wids others < <(nothing wids)
	truncate -s 700 others/a.tar
	rm others/b.tar
	says 1 wids others <<- END
		wids: trips
		wids: refuses 1 tar: damaged, or cut off, first a.tar
		wids: refuses 1 tar: missing, first b.tar
	END
}

@test "compat: wrong arguments, nothing there" {
	fails 2 "'webdatset' is no list of" hpdsl-verify --compat=webdatset tars
	fails 2 "is no list of" hpdsl-verify --compat= tars
	fails 2 "is no list of" hpdsl-verify --compat=ray, tars
	fails 2 "missing" hpdsl-verify --compat=all
	fails 2 "not with" hpdsl-verify --compat=all --quick keep
	fails 2 "not with" hpdsl-verify --compat=all --source=tars keep
	fails 2 "not with" hpdsl-verify --compat=all --thorough keep
	fails 3 "absent.tar: No such file" hpdsl-verify --compat=all absent.tar
	mkdir empty
	fails 3 "empty: neither a dataset nor a folder of tars" \
		hpdsl-verify --compat=all empty
	fails 3 "not a regular file" hpdsl-verify --compat=all /dev/null
	status=0
	hpdsl-verify -q --compat=all keep > /dev/full 2> err || status=$?
	[ "$status" = 3 ]
}
