#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --digest=sha256: what it adds, that sha256sum agrees, and that who forges all
# other checksums is found.

load ../kit/lib
load ../kit/stopped

CHUNKS=40

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in 4 50
	printf 'one file\n' > $'in/new\nline \\ and more.txt'
	head -c 3000000 /dev/urandom > in/large.bin # more than a segment
	: > in/empty
	find in -exec touch -d '2022-02-02 02:02:02.123456789' {} +
	pack -q in ref
	hpdsl-pack -q --chunks 4 --digest=sha256 in few
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	in=$BATS_FILE_TMPDIR/in
	ref=$BATS_FILE_TMPDIR/ref
	few=$BATS_FILE_TMPDIR/few
}

pack()
{
	hpdsl-pack --chunks "$CHUNKS" --memory 8M --digest=sha256 "$@"
}

# sums_pass DIR: sha256sum finds every file listed, and as it is listed.
sums_pass()
{
	local listed files
	(cd "$1" && sha256sum --strict --quiet -c SHA256SUMS) || return
	listed=$(wc -l < "$1/SHA256SUMS")
	files=$(find "$1" -type f | wc -l)
	[ "$files" = $((listed + 2)) ]
	[ "$(sha256sum < "$1/SHA256SUMS" | cut -c 1-64)" = \
		"$(sed -n 's/^- {name: SHA256SUMS.*sha256: \(.*\)}/\1/p' \
			"$1/dataset.yaml")" ]
}

# members_agree DIR TREE: ls tells the SHA-256 that sha256sum does.
members_agree()
{
	hpdsl-ls -0 "$1" > paths
	(cd "$2" && xargs -0 sha256sum -z --) < paths | tr '\0\n' '\n?' |
		cut -c 1-64 > want
	[ "$(wc -l < want)" = "$(tr -dc '\0' < paths | wc -c)" ]
	hpdsl-ls --json "$1" | LC_ALL=C sed -n \
		's/^{"path": "\(.*\)", "size".*"sha256": "\([0-9a-f]*\)".*/\2/p' |
		sort > got
	sort want | diff - got
	[ -s got ]
}

# id_of DIR: the dataset id over SHA-256, in the words of the format page.
id_of()
{
	sed -n 's/^dataset_id_sha256: //p' "$1/dataset.yaml"
}

@test "sha256sum -c SHA256SUMS passes, for every file" {
	sums_pass "$ref"
	sums_pass "$few"
	hpdsl-verify -q --source "$in" "$ref"
}

@test "sha256sum -c passes for compressed chunks, portable names, side files" {
	pack -q --zstd "$in" zstd
	ls zstd/*.tar.zst zstd/*.tar > /dev/null
	sums_pass zstd
	hpdsl-verify -q zstd
	pack -q --names=portable "$in" portable
	sums_pass portable
	cp -R "$in" plain
	rm plain/new* plain/empty
	pack -q --emit=dali,energon,wids --zstd plain emit
	[ -e emit/shards.json ]
	sums_pass emit
	hpdsl-verify -q emit
}

@test "members have the SHA-256 of the files" {
	members_agree "$ref" "$in"
}

@test "a chunk has the SHA-256 of its file" {
	hpdsl-ls --chunks --json "$ref" |
		sed -n 's/.*"name": "\([^"]*\)".*"sha256": "\([^"]*\)".*/\2  \1/p' \
			> sums
	[ "$(wc -l < sums)" = "$CHUNKS" ]
	(cd "$ref" && sha256sum --quiet -c -) < sums
}

@test "the dataset id over SHA-256 is that of the format page" {
	(cd "$in" && find . -type f -print0) | LC_ALL=C sort -z > paths
	python3 - "$in" > want <<- 'END'
		import hashlib, os, struct, sys
		paths = sys.stdin.buffer
		with open("paths", "rb") as f:
		    paths = sorted(p[2:] for p in f.read().split(b"\0") if p)
		h = hashlib.sha256()
		for p in paths:
		    with open(os.path.join(os.fsencode(sys.argv[1]), p), "rb") as f:
		        content = f.read()
		    h.update(p + b"\0" + struct.pack("<Q", len(content)))
		    h.update(hashlib.sha256(content).digest())
		print(h.hexdigest())
	END
	id_of "$ref" | diff - want
	hpdsl-pack --json --digest=sha256 "$in" out | field dataset_id_sha256 |
		diff - want
	hpdsl-verify --json out | field dataset_id_sha256 | diff - want
	hpdsl-index --json out | field dataset_id_sha256 | diff - want
	hpdsl-pack --force --digest=sha256 "$in" out 2>&1 |
		grep -q "dataset id (SHA-256) $(cat want)"
}

@test "ids do not depend on chunks, names, compression; nor on --digest" {
	pack -q --zstd --names=portable --seed 9 "$in" other
	[ "$(id_of other)" = "$(id_of "$ref")" ]
	hpdsl-pack -q --chunks "$CHUNKS" "$in" without
	[ "$(sed -n 's/^dataset_id: //p' without/dataset.yaml)" = \
		"$(sed -n 's/^dataset_id: //p' "$ref/dataset.yaml")" ]
	[ ! -e without/SHA256SUMS ]
	run grep sha256 without/dataset.yaml
	[ "$status" = 1 ]
	for c in without/chunk-*; do
		cmp "$c" "$ref/${c##*/}"
	done
}

@test "the same id from archives and from a packed dataset" {
	local i
	tar -C "$in" -cf in.tar --format=pax .
	gzip -k in.tar
	for i in in.tar in.tar.gz "$ref"; do
		pack -q "$i" out
		[ "$(id_of out)" = "$(id_of "$ref")" ]
		members_agree out "$in"
		sums_pass out
		hpdsl-verify -q out
		rm -r out
	done
	pack -q --zstd in.tar.gz out
	[ "$(id_of out)" = "$(id_of "$ref")" ]
	sums_pass out
	hpdsl-verify -q out
}

@test "generated members have SHA-256 and are not in the id" {
	hpdsl-pack -q --digest=sha256 --labels=parent --prefix-input \
		"$in/class0" "$in/class1" without
	hpdsl-pack -q --digest=sha256 --labels=parent --prefix-input --cls \
		"$in/class0" "$in/class1" with
	[ "$(id_of with)" = "$(id_of without)" ]
	sums_pass with
	hpdsl-verify -q with
	hpdsl-ls --json with "*.cls" | field sha256 | sort -u > got
	for i in 0 1; do printf %d "$i" | sha256sum | cut -c 1-64; done |
		sort | diff - got
}

# bats test_tags=wide
@test "the same bytes with 0, 1, 2 and 8 threads" {
	local j z
	for z in --zstd --names=keep; do
		pack -q -j 3 $z "$in" want.$z
		for j in $(rounds "0 8" "0 1 2 8" "0 1 2 8"); do
			pack -q -j "$j" --readers 3 $z "$in" out
			diff -r out want.$z
			rm -r out
		done
	done
}

@test "resumed: the same bytes" {
	local z
	for z in --zstd --names=keep; do
		pack -q $z "$in" want.$z
		killed_at op=rename,name=chunk-,after=6 hpdsl-pack -q -j 1 \
			--readers 1 --chunks "$CHUNKS" --memory 8M \
			--digest=sha256 $z "$in" out
		pack --json --resume $z "$in" out > report
		[ "$(field resumed_chunks < report)" -ge 4 ]
		diff -r out want.$z
		rm -r out
	done
	# On one that is complete.
	pack --json --resume "$in" "want.--names=keep" |
		field dataset_id_sha256 | diff - <(id_of "$ref")
	fails 3 "--digest is not given now, was sha256" hpdsl-pack --resume \
		--chunks "$CHUNKS" "$in" "want.--names=keep"
}

@test "flips are found by sha256sum as well as by hpdsl-verify" {
	local f size
	cp -R "$few" out
	for f in out/chunk-000001.tar out/index.hpdsl out/SHA256SUMS; do
		size=$(stat -c %s "$f")
		cp "$f" saved
		printf '\001' | dd of="$f" bs=1 seek=$((size / 2 + 1)) \
			conv=notrunc status=none
		! cmp -s "$f" saved || continue
		run hpdsl-verify -q out
		[ "$status" = 1 ]
		[[ $output == *"${f#out/}: "* ]]
		run sha256sum --quiet -c --strict --status out/SHA256SUMS
		[ "$status" != 0 ]
		cp saved "$f"
	done
	hpdsl-verify -q out
}

# forged WHAT TEXT: the forgery is found, with TEXT in what is printed.
forged()
{
	cp -R "$few" "forged-$1"
	"$SRC/tests/kit/forge.py" "forged-$1" "$1"
	run hpdsl-verify -q "forged-$1"
	[ "$status" = 1 ]
	[[ $output == *"$2"* ]]
}

@test "a content forged with all XXH3 checksums is found" {
	forged xxh3 "index.hpdsl: SHA-256 differs"
	[[ $output == *"chunk-000000.tar: SHA-256 differs"* ]]
	forged index ": SHA-256 differs"
	[[ $output == *"chunk-000000.tar: sample 0: "* ]]
	forged members "dataset.yaml: dataset_id_sha256 is not that of the members"
	# Who forges all of it makes another dataset id.
	cp -R "$few" all
	"$SRC/tests/kit/forge.py" all all
	hpdsl-verify -q all
	sums_pass all
	[ "$(id_of all)" != "$(id_of "$few")" ]
}

@test "SHA256SUMS has to say what the manifest says" {
	cp -R "$few" out
	sed -i '2s/^./x/' out/SHA256SUMS
	run hpdsl-verify -q out
	[ "$status" = 1 ]
	[ "$output" = "SHA256SUMS: checksum differs" ]
	rm out/SHA256SUMS
	run hpdsl-verify -q out
	[ "$status" = 1 ]
	[ "$output" = "SHA256SUMS: is missing" ]
	hpdsl-index --json out | grep -q '"unchanged": false'
	diff -r out "$few"
	hpdsl-index --json out | grep -q '"unchanged": true'
}

@test "hpdsl-index keeps SHA-256" {
	cp -R "$few" out
	rm out/index.hpdsl
	hpdsl-index -q out
	hpdsl-verify -q out
	sums_pass out
	members_agree out "$in"
	[ "$(id_of out)" = "$(id_of "$few")" ]
	rm out/dataset.yaml out/SHA256SUMS
	hpdsl-index -q out
	sums_pass out
	[ "$(id_of out)" = "$(id_of "$few")" ]
	# With neither there is nothing that says so.
	rm out/dataset.yaml out/index.hpdsl out/SHA256SUMS
	hpdsl-index -q out
	[ ! -e out/SHA256SUMS ]
}

@test "hpdsl-index does not take a forged content for what was packed" {
	cp -R "$few" out
	"$SRC/tests/kit/forge.py" out index
	cp "$few/index.hpdsl" "$few/dataset.yaml" "$few/SHA256SUMS" out
	fails 1 "is not as index.hpdsl has it" hpdsl-index out
	# XXH3 fits; SHA-256 of the member does not.
	cp -R "$few" two
	"$SRC/tests/kit/forge.py" two index
	fails 1 "is not as index.hpdsl has it" hpdsl-index two
	rm two/index.hpdsl
	fails 1 "chunk-000000.tar is not as dataset.yaml has it" hpdsl-index two
}

@test "a rebuild from chunks alone: SHA256SUMS is left, and that is told" {
	mkdir tree
	echo 1 > tree/1.txt
	hpdsl-pack -q --digest=sha256 tree out
	cp out/SHA256SUMS was
	rm out/index.hpdsl out/dataset.yaml
	hpdsl-index out 2> err
	grep -q 'warning: out: SHA256SUMS: left as it is' err
	cmp out/SHA256SUMS was
}
