#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What make looks for before it builds, what it says of what is missing, and where
# programs find libraries that are not the system's.
# bats file_tags=more

load ../kit/lib

# What is given here would stand for what is missing there.
setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	unset CPPFLAGS RPATH
}

# build ARGUMENT..: in a tree of its own.
build()
{
	make -s -C "$SRC" BUILD="$PWD/b" "$@"
}

needed()
{
	build "$@" "$PWD/b/needed"
}

# without HEADER..: the folder `bad` stands before those that have them.
without()
{
	local h
	for h in "$@"; do
		mkdir -p "bad/$(dirname "$h")"
		echo '#error it is missing' > "bad/$h"
	done
}

@test "needed: all is there, nothing is said, and it is not looked for again" {
	run needed
	[ "$status" = 0 ]
	[ -z "$output" ]
	grep -q '^libs .*xxhash' b/needed
	touch -d @1000000000 b/needed b/given
	touch -r b/needed before
	build -o tests/needed "$PWD/b/needed"
	[ ! b/needed -nt before ]
	# Other flags are another look; so are other paths, but not none.
	needed CPPFLAGS=-DOTHER
	[ b/needed -nt before ]
	grep -q '^cflags -DOTHER' b/needed
	PKG_CONFIG_PATH=$PWD/some needed CPPFLAGS=-DOTHER
	touch -d @1000000000 b/needed b/given
	env -u PKG_CONFIG_PATH -u CPATH -u C_INCLUDE_PATH -u LIBRARY_PATH \
		make -s -C "$SRC" BUILD="$PWD/b" -o tests/needed \
		CPPFLAGS=-DOTHER "$PWD/b/needed"
	[ ! b/needed -nt before ]
	PKG_CONFIG_PATH=$PWD/more needed CPPFLAGS=-DOTHER
	[ b/needed -nt before ]
}

@test "needed: all that is missing at once, with the names of its packages" {
	without yaml.h archive.h
	fails 2 'not all is here that building needs' needed CPPFLAGS="-I$PWD/bad"
	grep -qE '^ +yaml.h +libyaml-dev +libyaml-devel +libyaml-devel +libyaml$' \
		<<< "$message"
	grep -qE '^ +archive.h +libarchive-dev +(libarchive-devel +){2}libarchive$' \
		<<< "$message"
	grep -q '(\*) from memory, not tried' <<< "$message"
	grep -q 'With root: make deps' <<< "$message"
	grep -q 'module load' <<< "$message"
	grep -q "but: .*it is missing" <<< "$message"
	[ "$(grep -cE -e '-dev ' <<< "$message")" = 2 ]
	# Nothing was built before, and mended it goes on.
	fails 2 'not all is here' build CPPFLAGS="-I$PWD/bad" all
	[ -z "$(find b -name '*.o')" ]
	rm bad/*.h
	needed CPPFLAGS="-I$PWD/bad"
}

@test "needed: a library without what the header says, or none at all" {
	mkdir lib
	for l in zstd crypto; do
		: > "lib/lib$l.so"
	done
	fails 2 'zstd.h ' needed LDFLAGS="-L$PWD/lib"
	grep -qE '^ +openssl/evp.h +libssl-dev ' <<< "$message"
	[ "$(grep -cE -e '-dev ' <<< "$message")" = 2 ]
}

@test "needed: no compiler" {
	fails 2 'no-such-cc makes no program' needed CC=no-such-cc
	grep -qE '^ +no-such-cc +gcc libc6-dev +gcc ' <<< "$message"
}

@test "needed: no pkg-config, and no need for it, or it may be what is missing" {
	needed PKG_CONFIG=no-pkg-config
	grep -q '^libs .*-lxxhash.* -lz' b/needed
	rm b/needed
	without zlib.h
	fails 2 'zlib.h ' needed PKG_CONFIG=no-pkg-config CPPFLAGS="-I$PWD/bad"
	grep -qE '^ +no-pkg-config +pkg-config +pkgconf' <<< "$message"
}

@test "needed: not for what builds nothing" {
	without yaml.h
	for goal in help clean uninstall; do
		echo "$goal"
		build CPPFLAGS="-I$PWD/bad" DESTDIR="$PWD/d" -n "$goal" > out
		[ "$(grep -c tests/needed out)" = 0 ]
	done
	build CPPFLAGS="-I$PWD/bad" help > /dev/null
	build CPPFLAGS="-I$PWD/bad" DESTDIR="$PWD/d" uninstall
	make -s -C "$SRC" BUILD="$PWD/b" -n deps all > out
	[ "$(grep -n 'tests/deps$' out | cut -d: -f1)" -lt \
		"$(grep -n tests/needed out | cut -d: -f1)" ]
}

# Files of the lowest floor, which need nothing else of ours.
hash_program()
{
	cat > main.c <<- 'END'
		#include "base/hash.h"
		#include <stdio.h>
		int main(void)
		{
			static uint8_t data[5000];
			struct hp_content_hash h;

			for (size_t i = 0; i < sizeof(data); i++)
				data[i] = (uint8_t)(i * 7);
			hp_content_hash(data, sizeof(data), &h);
			printf("%llx\n", (unsigned long long)h.low64);
			return 0;
		}
	END
	# shellcheck disable=SC2046
	"${CC:-gcc}" -D_GNU_SOURCE -iquote "$SRC/lib" -o "$1" main.c \
		"$SRC"/lib/base/*.c $(sed -n 's/^cflags //p; s/^libs //p' b/needed)
}

@test "needed: without xxhash's header of all processors, slower and the same" {
	[ "$(uname -m)" = x86_64 ] || skip "of x86-64"
	needed
	hash_program fast
	without xxh_x86dispatch.h
	run needed CPPFLAGS="-I$PWD/bad"
	[ "$status" = 0 ]
	[ ${#lines[@]} = 1 ]
	[[ $output = *"checksums are slower"* ]]
	grep -q '^cflags .*-DHP_NO_DISPATCH' b/needed
	hash_program slow
	nm -u fast | grep -q _dispatch
	[ "$(nm -u slow | grep -c _dispatch)" = 0 ]
	[ "$(./slow)" = "$(./fast)" ]
	# Who says so himself is told nothing.
	run needed CPPFLAGS="-I$PWD/bad -DHP_NO_DISPATCH"
	[ "$status" = 0 ]
	[ -z "$output" ]
}

@test "CPPFLAGS: compiles all, and hides no header of ours" {
	mkdir old
	echo '#error of another version' > old/hpdsl.h
	# As Debian's: no second level of what is in it.
	build CPPFLAGS="-I$PWD/old -D_FORTIFY_SOURCE=2 -DHP_NO_DISPATCH" WERROR=-Werror \
		"$PWD"/b/lib/base/{hash,path}.o "$PWD/b/cmd/ls/print.o" \
		"$PWD/b/examples/read_epoch.o"
	[ "$(nm -u b/lib/base/hash.o | grep -c _dispatch)" = 0 ]
}

# A library of a module: pkg-config knows it, the loader does not.
module()
{
	mkdir -p sw/lib/pkgconfig
	ln -s "$("${CC:-gcc}" -print-file-name=libxxhash.so)" sw/lib/libxxhash.so
	cat > sw/lib/pkgconfig/libxxhash.pc <<- END
		Name: xxhash
		Description: in a module
		Version: 0.8
		Libs: -L$PWD/sw/lib -lxxhash
	END
	export PKG_CONFIG_PATH=$PWD/sw/lib/pkgconfig
}

# little ARGUMENT..: the library, made of one file only.
little()
{
	build "$@" LIB_OBJS="$PWD/b/lib/base/version.o" "$PWD/b/libhpdsl.so.0"
}

run_path()
{
	readelf -d b/libhpdsl.so.0 |
		sed -n 's/.*(RUNPATH) .*\[\(.*\)\]/\1/p; s/.*(RPATH).*/RPATH/p'
}

@test "RPATH: folders of libraries that are not the system's, unless it is empty" {
	need readelf
	little
	[ -z "$(run_path)" ]
	module
	# A module may say it in this way, too.
	export LIBRARY_PATH=$PWD/sw/lib${LIBRARY_PATH:+:$LIBRARY_PATH}
	little
	[ "$(run_path)" = "$PWD/sw/lib" ]
	# Programs likewise, those that MPI's compiler links too.
	build -n "$PWD"/b/hpdsl-{ls,stage} > out
	grep -e '-o [^ ]*b/hpdsl-' out > links
	[ "$(grep -c -e "-rpath,$PWD/sw/lib" links)" = "$(wc -l < links)" ]
	[ -s links ]
	little RPATH=
	[ -z "$(run_path)" ]
	little RPATH=/some/lib
	[ "$(run_path)" = /some/lib ]
	RPATH='' little
	[ -z "$(run_path)" ]
}

@test "no libmicrohttpd: hpdsl-serve is left out, and it is said in one line" {
	build -n PKG_CONFIG=false "$PWD/b/needed" "$PWD/b/hpdsl-serve" > out
	grep -q 'hpdsl-serve is left out: no libmicrohttpd here (libmicrohttpd-dev' out
	[ "$(grep -c ' cmd/serve/' out)" = 0 ]
	# only that one is linked with it
	build -n "$PWD"/b/hpdsl-{serve,ls} > out
	[ "$(grep -e '-o [^ ]*b/hpdsl-' out | grep -c lmicrohttpd)" -le 1 ]
}

@test "no MPI: hpdsl-stage is left out, in one line that says what would help" {
	build -n MPICC=no-mpicc "$PWD/b/hpdsl-stage" > out
	grep -q 'hpdsl-stage is left out: no no-mpicc here (libopenmpi-dev' out
}
