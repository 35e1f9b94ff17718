#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Archives as input: what comes of one is what comes of the tree that was put
# into it.
# need_disk: what a command has in memory.

bats_require_minimum_version 1.5.0

load ../kit/lib

# same DIR DIR: the same chunks and dataset id.
same()
{
	local chunk
	for chunk in "$1"/chunk-*; do
		cmp "$chunk" "$2/${chunk##*/}"
	done
	[ "$(grep dataset_id: "$1/dataset.yaml")" = \
		"$(grep dataset_id: "$2/dataset.yaml")" ]
}

# As tars of all kinds and zips hold them: whole seconds, and even ones.
plain_times()
{
	find "$1" -exec touch -h -d @1600000000 {} +
}

# python_tar TREE FILE FORMAT: by Python's tarfile.
python_tar()
{
	python3 - "$@" <<- 'END'
		import sys, tarfile
		tree, name, form = sys.argv[1:]
		with tarfile.open(name, "w", format=getattr(tarfile, form)) as t:
		    t.add(tree, ".")
	END
}

@test "tars of all kinds, and a zip: as the tree itself" {
	make_tree tree 3 40
	mkdir tree/empty
	plain_times tree
	hpdsl-pack -q --chunks=4 --labels=dir tree ref
	for form in v7 ustar gnu pax; do
		tar --format=$form -C tree -cf $form.tar .
	done
	bsdtar --format=pax -C tree -cf bsd.tar .
	bsdtar --format=gnutar -C tree -cf bsdgnu.tar .
	for form in USTAR GNU PAX; do
		python_tar tree python-$form.tar ${form}_FORMAT
	done
	(cd tree && zip -q -0 -r ../stored.zip . && zip -q -r ../small.zip .)
	bsdtar --format=zip -C tree -cf bsd.zip .
	for form in *.tar *.zip; do
		hpdsl-pack -q --chunks=4 --labels=dir "$form" out
		diff -r ref out
		hpdsl-verify -q --source="$form" out
		rm -r out
	done
}

@test "compressed tars: as the tree itself" {
	make_tree tree 3 40
	plain_times tree
	hpdsl-pack -q --chunks=4 tree ref
	tar -C tree -cf x.tar .
	gzip -k x.tar
	bzip2 -k x.tar
	xz -k x.tar
	zstd -q x.tar
	# members of gzip in a row, and what gzip calls trailing garbage
	(head -c 99999 x.tar | gzip && tail -c +100000 x.tar | gzip &&
		echo rest) > two.tar.gz
	(head -c 99999 x.tar | xz && tail -c +100000 x.tar | xz) > two.tar.xz
	(head -c 99999 x.tar | bzip2 && tail -c +100000 x.tar | bzip2) > two.tbz
	(head -c 99999 x.tar | zstd -q && tail -c +100000 x.tar | zstd -q) \
		> two.tzst
	# the frame to be passed over that pzstd begins with
	(printf '\x50\x2a\x4d\x18\x04\0\0\0\0\0\0\0' && cat x.tar.zst) > p.tar.zst
	for form in x.tar.* two.* p.tar.zst; do
		hpdsl-pack -q --chunks=4 "$form" out
		diff -r ref out
		hpdsl-verify -q --source="$form" out
		rm -r out
	done
}

# test_two_ways has all of them, read in memory.
@test "odd tars, as they are and compressed: the same bytes, or both refused" {
	local file one two taken=0
	for file in "$SRC"/tests/data/bad/archive/{sparse,end,size}-*; do
		rm -rf plain packed
		cp "$file" a
		one=0 two=0
		hpdsl-pack -q --group=none a plain 2> err || one=$?
		gzip -nf a
		hpdsl-pack -q --group=none a.gz packed 2> err.gz || two=$?
		[ "$one" = "$two" ] || {
			echo "${file##*/}: $one, compressed $two" && cat err err.gz
			return 1
		}
		[ "$one" != 0 ] || diff -r plain packed
		[ "$one" != 0 ] || taken=$((taken + 1))
	done
	[ "$taken" -ge 5 ]
}

@test "pax and GNU tar keep nanoseconds apart; the id is the same" {
	make_tree tree 2 20
	hpdsl-pack -q tree ref
	tar --format=pax -C tree -cf pax.tar .
	tar --format=gnu -C tree -cf gnu.tar .
	hpdsl-pack -q pax.tar out
	diff -r ref out
	hpdsl-pack -q gnu.tar seconds
	same ref seconds
	run cmp ref/index.hpdsl seconds/index.hpdsl
	[ "$status" = 1 ]
}

# bats test_tags=wide
@test "hard names, sizes, modes and times" {
	python3 "$SRC/tests/kit/nasty.py" tree
	hpdsl-pack -q --group=none --chunks=3 tree ref
	tar --format=pax -C tree -cf pax.tar .
	python3 - <<- 'END'
		import os, tarfile
		with tarfile.open("python.tar", "w", format=tarfile.GNU_FORMAT) as t:
		    os.chdir("tree")
		    for name in os.listdir(b"."):
		        t.add(os.fsdecode(name))
	END
	for locale in $(rounds C "C C.UTF-8" "C C.UTF-8"); do
		LC_ALL=$locale hpdsl-pack -q --group=none --chunks=3 pax.tar out
		diff -r ref out
		rm -r out
		LC_ALL=$locale hpdsl-pack -q --group=none --chunks=3 \
			python.tar out
		same ref out
		rm -r out
	done
}

@test "names are bytes, in every locale" {
	python3 - <<- 'END'
		import io, os, tarfile, zipfile
		names = ["ascii", "d\u00e9j\u00e0.txt", "e\u0301.nfd", "\u65e5\u672c",
		         "new\nline", "\U0001f98a" * 40]
		odd = ["\udcff\udcfe", "caf\udce9"]
		os.mkdir("tree")
		for name in names + odd:
		    with open("tree/" + name, "w") as f:
		        f.write("of " + ascii(name))
		    os.utime("tree/" + name, (1600000000, 1600000000))
		os.symlink("e\u0301.nfd", "tree/link \u00e9")
		for form in "PAX", "GNU":
		    with tarfile.open(form + ".tar", "w",
		                      format=getattr(tarfile, form + "_FORMAT")) as t:
		        t.add("tree", ".")
		# a zip says that its names are UTF-8; a link's target has no such flag
		with zipfile.ZipFile("u.zip", "w") as z:
		    for name in names:
		        i = zipfile.ZipInfo(name, (2020, 9, 13, 12, 26, 40))
		        i.external_attr = 0o100644 << 16
		        z.writestr(i, "of " + ascii(name))
		    i = zipfile.ZipInfo("link \u00e9", (2020, 9, 13, 12, 26, 40))
		    i.external_attr = 0o120777 << 16
		    i.create_system = 3
		    z.writestr(i, "e\u0301.nfd")
		for name in odd:
		    os.rename("tree/" + name, "odd." + str(len(name)))
	END
	mkdir all
	cp -a tree/. all
	mv odd.2 "$(printf 'all/\xff\xfe')"
	mv odd.4 "$(printf 'all/caf\xe9')"
	chmod -R u=rwX,go=rX tree all
	for locale in C C.UTF-8; do
		export LC_ALL=$locale
		rm -rf of all.d tree.d
		hpdsl-pack -q --group=none all all.d
		hpdsl-pack -q --group=none tree tree.d
		for form in PAX.tar GNU.tar; do
			hpdsl-pack -q --group=none "$form" of
			same all.d of
			rm -r of
		done
		hpdsl-pack -q --group=none u.zip of
		same tree.d of
		hpdsl-ls of | diff - <(hpdsl-ls tree.d)
	done
}

@test "times of a zip are UTC, wherever it is read" {
	python3 - <<- 'END'
		import zipfile
		with zipfile.ZipFile("dos.zip", "w") as z:
		    for name, when in (("summer", (2020, 7, 1, 12, 0, 2)),
		                       ("winter", (2020, 1, 1, 0, 0, 0)),
		                       ("1980", (1980, 1, 1, 0, 0, 0))):
		        z.writestr(zipfile.ZipInfo(name, when), name)
	END
	mkdir tree
	echo x > tree/unix
	touch -d @1593600001 tree/unix
	(cd tree && TZ=America/New_York zip -q ../unix.zip unix)
	for zone in UTC Asia/Tokyo America/New_York; do
		TZ=$zone hpdsl-pack -q dos.zip unix.zip out
		[ "$(TZ=$zone hpdsl-ls --json out |
			sed -n 's/.*"path": "\([^"]*\).*"mtime": \([-0-9]*\).*/\1 \2/p' |
			sort | tr '\n' ' ')" = \
			"1980 315532800 summer 1593604802 unix 1593600001 winter 1577836800 " ] ||
			{
				hpdsl-ls --json out
				return 1
			}
		[ ! -d ref ] || diff -r ref out
		rm -rf ref
		mv out ref
	done
}

@test "nested archives are folders" {
	make_tree tree 3 20
	plain_times tree
	hpdsl-pack -q --chunks=4 --labels=dir tree ref
	mkdir -p up/in
	# class0 in a tar, class1 in a compressed one, class2 two levels down
	tar -C tree/class0 -cf up/class0.tar .
	tar -C tree/class1 -czf up/class1.tgz .
	(cd tree/class2 && zip -q -0 ../../up/in/class2.zip ./*)
	tar -C up/in -cf up/x.tar .
	mv up/x.tar . && rm -r up/in
	tar --format=pax -C up -cf plain.tar class0.tar
	tar --format=pax -C up -cf mixed.tar .
	tar -rf mixed.tar x.tar
	hpdsl-pack -q --nested --exclude='/x/*' --chunks=4 mixed.tar of
	hpdsl-ls of > got
	hpdsl-ls ref | grep -v class2 | diff <(sort got) <(sort -)
	# x/ has it once more, under its own name
	hpdsl-pack -q --nested x.tar of2
	hpdsl-ls of2 | diff <(sort) <(hpdsl-ls ref | grep class2 | sort)
	# all of it, from a compressed archive of archives
	mkdir flat
	cp up/* flat
	(cd tree/class2 && zip -q ../../flat/class2.zip ./*)
	tar -C flat -cf flat.tar .
	xz -k flat.tar
	for form in flat.tar flat.tar.xz; do
		rm -rf of
		hpdsl-pack -q --nested --chunks=4 --labels=dir "$form" of
		same ref of
		hpdsl-verify -q --source="$form" of
	done
	# without --nested an archive in an archive is a file
	rm -r of
	hpdsl-pack -q flat.tar of
	hpdsl-ls of | sort | diff - <(cd flat && printf '%s\n' * | sort)
}

@test "nested two levels deep, in place" {
	make_tree tree 2 10
	plain_times tree
	mkdir a b
	tar --format=gnu -C tree/class0 -cf a/class0.tar .
	tar --format=pax -C tree/class1 -cf a/class1.tar .
	tar --format=pax -C a -cf b/inner.TAR .
	tar --format=ustar -C b -cf outer.tar .
	hpdsl-pack -q --nested --chunks=3 outer.tar of
	mkdir ref
	mv tree ref/inner
	hpdsl-pack -q --chunks=3 ref want
	same want of
	# nothing of it was decoded: only places were read
	hpdsl-pack --json --nested --dry-run outer.tar x > out
	grep -q '"members": ' out
}

# A tree of links of all kinds that lead somewhere.
make_links()
{
	mkdir -p "$1"/a/b "$1"/c
	echo one > "$1"/a/one
	echo two > "$1"/a/b/two
	chmod 600 "$1"/a/b/two
	touch -d @1500000000 "$1"/a/b/two
	ln -s one "$1"/a/near
	ln -s ../a/b/two "$1"/c/up
	ln -s ./b/../b//two "$1"/a/around
	ln -s ../c/up "$1"/a/chain
	ln -s a/b "$1"/folder
	ln -s folder/two "$1"/through
	ln -s . "$1"/c/self
	ln -s c/self/self/up "$1"/loops
	ln "$1"/a/one "$1"/c/hard
	ln "$1"/a/one "$1"/harder
	ln "$1"/a/near "$1"/a/b/../hardlink-of-link
}

@test "links become data, as from a tree" {
	make_links tree
	find tree -type f ! -name two -exec touch -d @1600000000 {} +
	hpdsl-pack --json --group=none tree ref > want
	tar --format=pax -C tree -cf a.tar .
	tar --format=gnu -C tree -cf b.tar .
	gzip -k b.tar
	bsdtar -C tree -cf c.tar .
	# in every order: links before what they lead to
	(cd tree && find . ! -type d | sort > ../names && tar --format=pax \
		-cf ../d.tar -T ../names && sort -r ../names > ../back &&
		tar --format=pax -cf ../e.tar -T ../back)
	for form in a b c d e; do
		hpdsl-pack --json --group=none $form.tar out > got
		diff -r ref out
		for key in symlinks_followed symlinks_to_dirs hard_links; do
			[ "$(field $key < got)" = "$(field $key < want)" ]
		done
		rm -r out
	done
	hpdsl-pack -q --group=none b.tar.gz out
	diff -r ref out
	hpdsl-verify -q --source=b.tar.gz out
	# a zip keeps symbolic links, hard ones are files
	(cd tree && zip -q -y -r -0 ../z.zip .)
	rm -r out
	hpdsl-pack -q --group=none z.zip out
	same ref out
}

@test "links into what is left out, as from a tree" {
	make_links tree
	tar --format=pax -C tree -cf a.tar .
	gzip -k a.tar
	for form in a.tar a.tar.gz; do
		for what in --exclude=two --exclude=a --exclude='/a/b' \
			--include='thr*' --exclude=harder; do
			rm -rf ref out
			hpdsl-pack --json --group=none "$what" tree ref > want
			hpdsl-pack --json --group=none "$what" $form out > got
			diff -r ref out
			[ "$(field excluded < got)" = "$(field excluded < want)" ]
		done
	done
}

@test "links that lead nowhere" {
	mkdir tree
	echo x > tree/x
	for link in "gone:dangling link to gone" "../out:outside the input: ../out" \
		"/etc/passwd:outside the input: /etc/passwd" "l:link loop" \
		"x/below:dangling link to x/below" "a/../../x:leads outside"; do
		ln -s "${link%%:*}" tree/l
		tar -C tree -cf a.tar .
		fails 3 "a.tar/l: " hpdsl-pack -q a.tar out
		[[ $message = *"${link#*:}"* ]]
		hpdsl-pack -q --symlinks=follow-all a.tar out 2> said
		grep -q "warning: a.tar/l: .*${link#*:}" said
		[ "$(hpdsl-ls out)" = x ]
		rm -r out tree/l
	done
	python3 - <<- 'END'
		import tarfile
		for name, target in ("gone", "gone"), ("out", "../x"), ("self", "self"):
		    with tarfile.open(name + ".tar", "w") as t:
		        i = tarfile.TarInfo("x")
		        t.addfile(i)
		        i = tarfile.TarInfo("self")
		        i.type, i.linkname = tarfile.LNKTYPE, target
		        t.addfile(i)
	END
	fails 3 "gone.tar/self: hard link to what is not in the archive: gone" \
		hpdsl-pack -q gone.tar out
	fails 3 "out.tar/self: link leads outside the input: ../x" \
		hpdsl-pack -q out.tar out
	fails 3 "self.tar/self: link loop" hpdsl-pack -q self.tar out
}

@test "what is no file is an error, as in a tree" {
	mkdir tree
	echo x > tree/x
	mkfifo tree/fifo
	tar -C tree -cf a.tar .
	fails 3 "a.tar/fifo: is a device, FIFO or socket, not a file" \
		hpdsl-pack -q a.tar out
	hpdsl-pack -q --exclude=fifo a.tar out
	[ "$(hpdsl-ls out)" = x ]
}

@test "several archives at once, beside a tree" {
	make_tree tree 4 30
	plain_times tree
	hpdsl-pack -q --chunks=5 tree ref
	tar -C tree -cf 0.tar class0
	tar -C tree -czf 1.tgz class1
	(cd tree && zip -q -r -0 ../2.zip class2)
	mkdir rest
	cp -a tree/class3 rest
	for n in 1 8; do
		hpdsl-pack -q -j$n --chunks=5 2.zip rest 0.tar 1.tgz out
		diff -r ref out
		rm -r out
	done
	# shards of somebody else's, each with samples of its own
	for i in $(seq 100); do
		(cd tree && printf '%s\0' */*"$(printf '%02d' "$i")".* |
			tar --null -T - -cf "../shard-$i.tar") 2> err || rm "shard-$i.tar"
	done
	fails 2 "the path 'class0/00001.json' comes from both" \
		hpdsl-pack -q 0.tar shard-1.tar out || {
		echo "$message"
		[[ $message = *class0/00001* ]]
	}
}

@test "equal paths in one archive are an error that names it" {
	mkdir tree
	echo 1 > tree/x
	tar -C tree -cf a.tar x
	tar -C tree -rf a.tar x
	fails 2 "a.tar" hpdsl-pack -q a.tar out
	[[ $message = *"'x'"* ]]
}

@test "--prefix-input: the archive's name without its suffix" {
	mkdir tree
	echo 1 > tree/x
	tar -C tree -cf a.tar .
	tar -C tree -czf b.tar.gz .
	(cd tree && zip -q ../c.zip x)
	cp a.tar plain
	hpdsl-pack -q --prefix-input a.tar b.tar.gz ./c.zip plain out
	[ "$(hpdsl-ls out | sort | tr '\n' ' ')" = "a/x b/x c/x plain/x " ]
	for source in a.tar b.tar.gz c.zip plain; do
		run hpdsl-verify -q --source=$source out
		[[ $output != *differs* ]]
	done
}

@test "--files-from names paths in the archive" {
	make_tree tree 2 5
	tar -C tree -cf a.tar .
	gzip -k a.tar
	for form in a.tar a.tar.gz; do
		printf '%s\n' class0/00001.png ./class1//00002.json class0/00001.png \
			> list
		hpdsl-pack -q --files-from=list $form out
		[ "$(hpdsl-ls out | sort | tr '\n' ' ')" = \
			"class0/00001.png class1/00002.json " ]
		rm -r out
		echo class1 > list
		hpdsl-pack -q --files-from=list $form out
		hpdsl-ls out | sort | diff - <(cd tree && ls -d class1/*)
		rm -r out
		echo . > list
		hpdsl-pack -q --files-from=list $form out
		hpdsl-ls out | sort | diff - <(cd tree && printf '%s\n' ./*/* | cut -c3-)
		rm -r out
		printf '%s\n' class0/00001.png gone class > list
		fails 3 "2 problems in the input, first: $form/class: is not in the archive" \
			hpdsl-pack -q --files-from=list $form out
		[[ $message = *"$form/gone: is not in the archive"* ]]
	done
}

@test "counts of what is not kept, as from a tree" {
	mkdir -p tree/a/b tree/empty tree/deep/er tree/skip/x
	echo 1 > tree/a/b/1
	echo 2 > tree/skip/x/2
	truncate -s 1M tree/a/holes
	tar --format=pax -S -C tree -cf a.tar .
	for what in --exclude=none --exclude=skip; do
		rm -rf ref out
		hpdsl-pack --json "$what" tree ref > want
		hpdsl-pack --json "$what" a.tar out > got
		diff -r ref out
		for key in dirs empty_dirs sparse excluded excluded_dirs; do
			[ "$(field $key < got)" = "$(field $key < want)" ] || {
				echo "$what $key: $(field $key < got), not" \
					"$(field $key < want)"
				return 1
			}
		done
	done
}

@test "an archive in the output directory" {
	mkdir tree out
	echo 1 > tree/x
	tar -C tree -cf out/a.tar .
	fails 2 "out/a.tar: is inside the output out" hpdsl-pack -q out/a.tar out
	cp out/a.tar .
	rm -r out
	ln -s . here
	hpdsl-pack -q here/a.tar out
	fails 2 "is inside the output" hpdsl-pack -q --force out/../out/chunk-000000.tar out
	hpdsl-verify -q out
}

@test "an archive that is cut off" {
	make_tree tree 2 20
	tar -C tree -cf a.tar .
	for n in 100 512 5000 20000; do
		head -c $n a.tar > cut.tar
		run hpdsl-pack -q cut.tar cut.d
		[ "$status" = 2 ] || [ "$status" = 3 ]
		[ ! -e cut.d ]
	done
}

@test "a stored zip's CRC-32 is compared" {
	make_tree tree 1 5
	head -c 300000 /dev/urandom > tree/large
	(cd tree && zip -q -0 -r ../a.zip .)
	hpdsl-pack -q --memory=8M a.zip out
	rm -r out
	python3 - <<- 'END'
		import zipfile
		data = bytearray(open("a.zip", "rb").read())
		for name, where in ("large", 200000), ("class0/00001.png", 5):
		    z = zipfile.ZipFile("a.zip")
		    i = z.getinfo(name)
		    at = data.index(name.encode(), i.header_offset) + len(name) + 28
		    bad = bytearray(data)
		    bad[at + where] ^= 1
		    open(name.split("/")[-1] + ".zip", "wb").write(bad)
	END
	fails 3 "large.zip/large: content differs from its CRC-32 in the archive" \
		hpdsl-pack -q --memory=8M large.zip out
	rm -r out
	fails 3 "00001.png.zip/class0/00001.png: content differs" \
		hpdsl-pack -q --memory=8M 00001.png.zip out
}

@test "a stored zip's CRC-32 is compared in chunks with files of a stream, too" {
	mkdir tree
	head -c 3000000 /dev/urandom > tree/large.bin
	echo stream > small.txt
	tar -czf small.tgz small.txt
	(cd tree && zip -q -0 -r ../a.zip .)
	hpdsl-pack -q --chunks=1 a.zip small.tgz out
	rm -r out
	printf XXXX | dd of=a.zip bs=1 seek=2000000 conv=notrunc status=none
	for o in "-j0" "" "--zstd"; do
		# shellcheck disable=SC2086
		fails 3 "a.zip/large.bin: content differs from its CRC-32" \
			hpdsl-pack -q $o --chunks=1 a.zip small.tgz out
		rm -rf out
	done
}

@test "a stream that outgrows the room where the output goes" {
	need_root
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	mkdir disk
	python3 - <<- 'END'
		import gzip, io, tarfile, zlib
		# one member of 64 GiB that is never written
		i = tarfile.TarInfo("bomb")
		i.size = 64 << 30
		head = i.tobuf()
		with gzip.open("one.tar.gz", "wb", 1) as f:
		    f.write(head + bytes(1 << 20))
		# a million of empty ones
		one = b"".join(tarfile.TarInfo(f"{k:08}").tobuf() for k in range(1000))
		with gzip.open("many.tar.gz", "wb", 1) as f:
		    for k in range(100):
		        f.write(one)
		# pax headers and nothing else
		big = tarfile.TarInfo("x")
		big.pax_headers = {"comment": "c" * 900000}
		buf = big.tobuf(tarfile.PAX_FORMAT)
		with gzip.open("pax.tar.gz", "wb", 1) as f:
		    for k in range(300):
		        f.write(buf)
		# archives in archives, a hundred million of them, and no file
		nest = gzip.compress(bytes(10240))
		for k in range(4):
		    out = io.BytesIO()
		    with tarfile.open(fileobj=out, mode="w") as t:
		        for n in range(100):
		            i = tarfile.TarInfo(f"{n}.tar.gz")
		            i.size = len(nest)
		            t.addfile(i, io.BytesIO(nest))
		    nest = gzip.compress(out.getvalue())
		with open("nest.tar.gz", "wb") as f:
		    f.write(nest)
	END
	gzip -dc one.tar.gz | zstd -q > one.tar.zst
	cat > script <<- 'END'
		mount -t tmpfs -o size=10M none disk
		for f in one.tar.gz many.tar.gz pax.tar.gz one.tar.zst nest.tar.gz; do
			timeout 600 hpdsl-pack -q --nested $f disk/out
			echo $?
		done
	END
	unshare -m bash script > out 2>&1
	cat out
	[ "$(grep -c '^3$' out)" = 5 ]
	[ "$(grep -c 'need more than the space that is free' out)" = 5 ]
}

@test "memory: 100 bytes and the path for each file of an archive" {
	[ -z "${SAN:-}" ] || skip "sanitizers need memory of their own"
	python3 - <<- 'END'
		import tarfile
		zero = bytearray(tarfile.TarInfo("0").tobuf(tarfile.USTAR_FORMAT))
		zero[:1] = b"\0"
		zero[148:156] = b" " * 8
		rest = sum(zero)
		with open("a.tar", "wb") as f:
		    for k in range(200000):
		        name = b"%06d/%030d.bin" % (k // 1000, k % 1000)
		        zero[:len(name)] = name
		        zero[148:156] = b"%06o\0 " % (rest + sum(name))
		        f.write(zero)
		    f.write(bytes(10240))
	END
	python3 - hpdsl-pack -q --dry-run --memory=16M a.tar out <<- 'END' > said
		import resource, subprocess, sys
		done = subprocess.run(sys.argv[1:])
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
		sys.exit(done.returncode)
	END
	# 200,000 times 164 bytes, the program itself, and buffers
	tail -n 1 said > peak
	echo "peak: $(cat peak) KiB"
	[ "$(cat peak)" -le $((16 * 1024 + 33000 + 24000)) ]
}

# bats test_tags=wide
@test "memory: targets of links that are longer than any path are not kept" {
	[ -z "${SAN:-}" ] || skip "sanitizers need memory of their own"
	python3 - "$(rounds 120 300 300)" <<- 'END'
		import gzip, sys, tarfile
		with gzip.open("a.tar.gz", "wb", 1) as f:
		    for k in range(int(sys.argv[1])):
		        i = tarfile.TarInfo(f"{k}.x")
		        i.type = tarfile.SYMTYPE
		        i.linkname = "t/" * 400000
		        f.write(i.tobuf(tarfile.PAX_FORMAT))
		    f.write(bytes(1024))
	END
	python3 - hpdsl-pack -q -n a.tar.gz out > said <<- 'END'
		import resource, subprocess, sys
		done = subprocess.run(sys.argv[1:])
		assert done.returncode == 3, done
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
	END
	# 96 MB of them, or more
	tail -n 1 said > peak
	echo "peak: $(cat peak) KiB"
	[ "$(cat peak)" -le 80000 ]
}

@test "archives that stay as they are: told if they are most of the input" {
	mkdir -p tree shards
	for i in 1 2; do
		head -c 3000 /dev/zero > tree/$i.bin
		tar -C tree -cf shards/$i.tar $i.bin
	done
	tar -C shards -cf of.tar .
	run --separate-stderr hpdsl-pack -q --chunks=1 shards a
	[ "$stderr" = "hpdsl-pack: warning: 2 files in directories are \
archives, as '1.tar', packed as they are; to pack what is in them: give each \
as an input of its own" ]
	run --separate-stderr hpdsl-pack -q --chunks=1 of.tar b
	[ "$stderr" = "hpdsl-pack: warning: 2 files in archives are \
archives, as '1.tar', packed as they are; to pack what is in them: ask for nested archives (--nested)" ]
	run --separate-stderr hpdsl-pack -q --chunks=1 --nested of.tar c
	[ -z "$stderr" ]
	# few among many
	head -c 30000 /dev/zero > shards/3.bin
	run --separate-stderr hpdsl-pack -q --chunks=1 shards d
	[ -z "$stderr" ]
	# a packed dataset is taken as it is
	run --separate-stderr hpdsl-pack -q --chunks=1 a e
	[ -z "$stderr" ]
}

@test "standard input is no input, and is told so" {
	run -2 hpdsl-pack - out
	[[ $output = *"-: standard input cannot be an input"* ]]
	[ ! -e out ]
	# unless it is the name of something
	mkdir ./-
	echo 1 > ./-/1.txt
	hpdsl-pack -q --chunks=1 - out
	[ "$(hpdsl-ls out)" = 1.txt ]
}

@test "a source that is damaged is trouble, not an answer" {
	mkdir tree
	head -c 100000 /dev/urandom > tree/a.bin
	for z in "tar -cf" "tar -czf" "tar --zstd -cf"; do
		$z a.tar -C tree .
		[ -d out ] || hpdsl-pack -q --chunks=1 a.tar out
		head -c 50000 a.tar > cut.tar
		run -3 hpdsl-verify --source=cut.tar out
		[[ $output = *cut.tar:* && $output != *damaged:* ]]
	done
}

# bats test_tags=time
@test "many links to one folder, many files in it: not each with each" {
	python3 - <<- 'END'
		import tarfile
		zero = tarfile.TarInfo("0").tobuf(tarfile.USTAR_FORMAT)
		def put(out, name, link=b""):
		    b = bytearray(zero)
		    b[: len(name)] = name
		    b[156:157] = b"2" if link else b"0"
		    b[157 : 157 + len(link)] = link
		    b[148:156] = b" " * 8
		    b[148:156] = b"%06o\0 " % sum(b)
		    out.write(b)
		with open("a.tar", "wb") as out:
		    for i in range(60000):
		        put(out, b"%c/%d.x" % (97 + i % 2, i))
		    for i in range(60000):
		        put(out, b"l/%d" % i, b"../a")
		    out.write(bytes(1024))
	END
	# Each with each takes more than this; else it is a tenth of it.
	(ulimit -t $((${#SAN} ? 20 : 2)) && hpdsl-pack -n -j 1 a.tar out > said)
	grep -q '^input:    60000 samples, 60000 members' said
}
