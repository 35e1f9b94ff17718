#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-pack --zstd: the plain chunks, compressed, the same bytes whoever packs.
# need_disk: what a command has in memory.

load ../kit/lib
load ../kit/stopped

# Text, noise, and a few samples that are long; compressible ones come first.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree in/a 3 80
	python3 - <<- 'END'
		import os, random
		r = random.Random(1)
		words = [f"word{i} " for i in range(500)]
		def text(n):
		    return "".join(r.choices(words, k=n // 7 + 1))[:n].encode()
		os.makedirs("in/b")
		os.makedirs("in/z")
		for i, n in enumerate([0, 1, 70000, 130560, 131072, 700001, 1 << 20]):
		    open(f"in/b/{i}.txt", "wb").write(text(n))
		    open(f"in/b/{i}.zero", "wb").close()
		for i in range(70):
		    open(f"in/z/{i:02}.bin", "wb").write(r.randbytes(r.randrange(40000)))
	END
	find in -exec touch -d '2023-04-05 06:07:08.9' {} +
	pack in plain
	pack --zstd in ref
	dataset_digest ref > digest
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	top=$BATS_FILE_TMPDIR
	in=$top/in
	want=$(cat "$top/digest")
}

# Sorted, so that some chunks are all text and some all noise.
form=(-q --chunks 12 --shuffle=none --labels=dir)

pack()
{
	hpdsl-pack "${form[@]}" "$@"
}

is_ref()
{
	[ "$(dataset_digest "$1")" = "$want" ] || {
		diff -rq "$1" "$top/ref"
		return 1
	}
}

# holds_plain DIR: its chunks hold what those of the plain dataset do.
holds_plain()
{
	local tar name
	for tar in "$top"/plain/chunk-*.tar; do
		name=$1/${tar##*/}
		if [ -e "$name.zst" ]; then
			[ ! -e "$name" ]
			zstd -dcq "$name.zst" | cmp - "$tar"
		else
			cmp "$name" "$tar"
		fi || return 1
	done
}

dataset_id()
{
	sed -n 's/^dataset_id: //p' "$1/dataset.yaml"
}

compressed()
{
	find "$1" -name 'chunk-*.tar.zst' | wc -l
}

@test "what compresses is compressed, what does not is plain, both the same tar" {
	[ "$(compressed "$top/ref")" -ge 4 ]
	[ "$(find "$top/ref" -name 'chunk-*.tar' | wc -l)" -ge 2 ]
	holds_plain "$top/ref"
	hpdsl-verify -q --source "$in" "$top/ref"
	[ -z "$(find "$top/ref" -name '.*' -type f)" ]
}

@test "other programs read the compressed chunks" {
	for chunk in "$top"/ref/chunk-*.tar.zst; do
		zstd -tq "$chunk"
		bsdtar -tf "$chunk" > names
		tar --zstd -tf "$chunk" | cmp - names
		tar -tf "$top/plain/$(basename "$chunk" .zst)" | cmp - names
	done
}

# bats test_tags=wide
@test "threads, readers and memory make no difference" {
	local o all=("-j 0 --memory=16M" "-j 2 --memory=8M" "-j 8 --readers=1")
	! at_level more ||
		all+=("-j 0" "-j 1" "-j 8" "-j 8 --memory=8M" "-j 3 --readers=1")
	for o in "${all[@]}"; do
		# shellcheck disable=SC2086
		pack --zstd $o "$in" out
		is_ref out
		rm -r out
	done
	pack --zstd=3 "$in" out
	is_ref out
}

# bats test_tags=wide
@test "levels: sound, the higher ones smaller, the same for any threads" {
	local last=
	for level in $(rounds "1 9 19" "1 9 19 22" "1 9 19 22"); do
		pack --zstd="$level" -j 0 --memory=8M "$in" out
		pack --zstd="$level" -j 3 "$in" again
		[ "$(dataset_digest out)" = "$(dataset_digest again)" ]
		holds_plain out
		hpdsl-verify -q out
		bytes=$(cat out/chunk-* | wc -c)
		[ -z "$last" ] || [ "$bytes" -lt "$last" ]
		last=$bytes
		rm -r out again
	done
	for level in 0 23 -1 x 3k ''; do
		fails 2 zstd hpdsl-pack --zstd="$level" "$in" out
	done
}

@test "the dataset id and the members are those of the plain form" {
	[ "$(dataset_id "$top/ref")" = "$(dataset_id "$top/plain")" ]
	hpdsl-ls --json "$top/ref" > a
	hpdsl-ls --json "$top/plain" > b
	cmp a b
}

@test "what it saved is told, and given as JSON" {
	hpdsl-pack --zstd --chunks 12 --shuffle=none "$in" out 2> said
	n=$(compressed out)
	grep "compressed: $n of 12 chunks, .* of tar to .* (.* %)" said
	hpdsl-pack --json --zstd --chunks 12 --shuffle=none "$in" out2 > json
	[ "$(field compressed_chunks < json)" = "$n" ]
	[ "$(field stored_bytes < json)" = "$(cat out/chunk-* | wc -c)" ]
	[ "$(field tar_bytes < json)" = "$(cat "$top"/plain/chunk-* | wc -c)" ]
	# the same when there is nothing to do
	hpdsl-pack --json --zstd --chunks 12 --shuffle=none --resume "$in" \
		out2 > again
	[ "$(field stored_bytes < again)" = "$(field stored_bytes < json)" ]
	[ "$(field compressed_chunks < again)" = "$n" ]
	hpdsl-pack --json "$in" out3 > json
	[ "$(field compressed_chunks < json)" = 0 ]
	[ "$(field stored_bytes < json)" = "$(field tar_bytes < json)" ]
}

@test "a dry run tells the most that it can need" {
	hpdsl-pack -n --zstd "$in" out > plan
	grep '^needs: *at most ' plan
	[ "$(grep -c '^expected:' plan)" = 0 ]
	hpdsl-pack -n "$in" out > plan
	[ "$(grep -c 'at most' plan)" = 0 ]
}

# killed_with N: out, left by a pack that was killed when it had N chunks.
killed_with()
{
	rm -rf out
	killed_at "op=rename,name=chunk-,after=$1" hpdsl-pack "${form[@]}" \
		--zstd=5 -j 1 "$in" out
}

@test "SIGKILL, then --resume: the bytes of an undisturbed run" {
	local kept=0
	pack --zstd=5 "$in" whole
	for n in 0 1 3 6; do
		killed_with "$n"
		kept=$((kept + $(pack --zstd=5 --resume --json "$in" out |
			field resumed_chunks)))
		[ "$(dataset_digest out)" = "$(dataset_digest whole)" ] || {
			diff -rq out whole
			return 1
		}
	done
	[ "$kept" = 10 ]
	# not with another level
	killed_with 2
	fails 3 zstd pack --zstd=4 --resume "$in" out
	fails 3 zstd pack --resume "$in" out
}

# one_there: a chunk of those that are; which ones do not depend on their numbers.
one_there()
{
	find out -name 'chunk-*.tar.zst' | head -n 1
}

@test "a damaged compressed chunk is made again by --resume" {
	killed_with 3
	printf X | dd of="$(one_there)" bs=1 seek=1000 conv=notrunc status=none
	pack --zstd=5 --resume "$in" out
	pack --zstd=5 "$in" whole
	[ "$(dataset_digest out)" = "$(dataset_digest whole)" ]
}

@test "a chunk that is there in the other form is not left beside the new one" {
	local there
	killed_with 3
	there=$(one_there)
	mv "$there" "${there%.zst}"
	pack --zstd=5 --resume "$in" out
	[ ! -e "${there%.zst}" ]
	hpdsl-verify -q out
}

@test "--force puts compressed chunks in the place of plain ones, and back" {
	cp -a "$top/plain" out
	pack --zstd --force "$in" out
	is_ref out
	pack --force "$in" out
	diff -r out "$top/plain"
}


@test "SHA-256 of compressed chunks and of plain ones" {
	pack --zstd --digest=sha256 "$in" out
	[ "$(compressed out)" = "$(compressed "$top/ref")" ]
	(cd out && sha256sum --quiet -c SHA256SUMS)
	hpdsl-verify -q out
}

# bats test_tags=wide
@test "a member of some GiB: frames of 1 GiB at most, in --memory=64M" {
	local limit=96 mib
	mib=$(rounds 1280 2560 2560)
	[ -z "${SAN:-}" ] || limit=4096 # sanitizers need memory of their own
	mkdir tree
	truncate -s "${mib}M" tree/large.bin
	printf 'the end' | dd of=tree/large.bin bs=1 seek=$(((mib << 20) - 7)) \
		conv=notrunc status=none
	echo small > tree/small.txt
	# the contexts of two threads and of one chunk besides
	python3 - "$limit" <<- 'END'
		import resource, subprocess, sys
		subprocess.run(["hpdsl-pack", "-q", "-j2", "--zstd=1", "--memory=64M",
		                "--chunks=1", "tree", "packed"], check=True)
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
		print("peak", peak)
		assert peak < int(sys.argv[1]) * 1024
	END
	[ "$(hpdsl-cat packed small.txt)" = small ]
	# two or three of the large sample, the small one, the trailer
	[ "$(tail -c 9 packed/chunk-000000.tar.zst | od -An -tu4 -N4)" -eq $((mib / 1024 + 3)) ]
	[ "$(hpdsl-cat packed large.bin | tail -c 7)" = "the end" ]
}
