#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make install, a stranger's program against what it installs, make uninstall.

load ../kit/lib
load ../kit/python

make_it()
{
	make -s -C "$SRC" DESTDIR="$PWD/root" \
		PREFIX=/opt/hpdsl "$@"
}

# A program of somebody who has pkg-config and a manual, and no source tree.
write_program()
{
	cat > program.c <<- 'END'
		#include <hpdsl.h>
		#include <stdio.h>
		int main(void)
		{
			struct hpdsl_dataset *ds = NULL;
			struct hpdsl_error err;
			int rc = hpdsl_open("absent", NULL, &ds, &err);

			printf("%s\n", hpdsl_version());
			hpdsl_close(ds);
			return rc < 0 && err.code == rc ? 0 : 1;
		}
	END
}

pc()
{
	PKG_CONFIG_PATH=root/opt/hpdsl/lib/pkgconfig \
		pkg-config --define-variable=prefix="$PWD/root/opt/hpdsl" \
		--define-variable=libdir="$PWD/root/opt/hpdsl/lib" \
		--define-variable=includedir="$PWD/root/opt/hpdsl/include" \
		"$@" hpdsl
}

@test "install: everything has its place" {
	make_it install
	cd root/opt/hpdsl
	for p in "$BUILD"/hpdsl "$BUILD"/hpdsl-*; do
		[ -x "$p" ] && [ -f "$p" ] || continue
		name=$(basename "$p")
		echo "$name"
		[ -x "bin/$name" ]
		[ -f "share/man/man1/$name.1" ]
		[ -f "share/bash-completion/completions/$name" ]
		[ -f "share/zsh/site-functions/_$name" ]
		[ -f "share/fish/vendor_completions.d/$name.fish" ]
	done
	[ -L lib/libhpdsl.so ] && [ -f lib/libhpdsl.so.0 ]
	[ -f share/man/man5/hpdsl-format.5 ]
	[ "$(cd include && find . -type f | LC_ALL=C sort)" = \
		"$(cd "$SRC/lib" && find ./hpdsl.h ./hpdsl -type f |
			LC_ALL=C sort)" ]
}

@test "install: a program builds with pkg-config, shared and static" {
	make_it install
	write_program
	local with=()
	[ -z "${SAN:-}" ] || with=("-fsanitize=$SAN")
	# shellcheck disable=SC2046
	"${CC:-gcc}" "${with[@]}" -Wall -Werror -o shared program.c $(pc --cflags --libs)
	# shellcheck disable=SC2046
	"${CC:-gcc}" "${with[@]}" -o static program.c root/opt/hpdsl/lib/libhpdsl.a \
		$(pc --cflags) $(pkg-config --libs libxxhash yaml-0.1 \
			libarchive libzstd libcrypto zlib) -pthread
	LD_LIBRARY_PATH=root/opt/hpdsl/lib ./shared
	./static
}

@test "install: each sheet of the header is enough by itself" {
	local sheet
	make_it install
	for sheet in core pack dataset verify unpack snapshot stage order loader; do
		echo "#include <hpdsl/$sheet.h>" > sheet.c
		# shellcheck disable=SC2046
		"${CC:-gcc}" -std=c11 -pedantic -Wall -Wextra -Werror \
			-fsyntax-only sheet.c $(pc --cflags)
	done
	[ "$(grep -c '#include "hpdsl/' "$SRC/lib/hpdsl.h")" = 9 ]
}

@test "install: to another place, pkg-config knows" {
	local at
	for at in /opt/hpdsl /usr/local; do
		make_it install PREFIX="$at"
		grep -qx "prefix=$at" "root$at/lib/pkgconfig/hpdsl.pc"
		grep -qx "libdir=$at/lib" "root$at/lib/pkgconfig/hpdsl.pc"
	done
}

@test "install: the Python package finds the library, wherever both are" {
	local at
	mkdir in
	echo one > in/1.txt
	hpdsl-pack -q in packed
	make_it install
	make_it install PREFIX=/usr LIBDIR=/usr/lib/x PYTHONDIR=/usr/py
	mv root moved
	for at in moved/opt/hpdsl/lib/python3/site-packages moved/usr/py; do
		[ "$(PACKAGE=$PWD/$at py -c 'import hpdsl
print(hpdsl.Dataset("packed").read("1.txt"), hpdsl.__file__)')" = \
			"b'one\n' $PWD/$at/hpdsl/__init__.py" ]
	done
}

@test "install: the Python package goes where the system looks for it" {
	local python=/usr/bin/python3 at
	[ -x "$python" ] || python=python3
	at=$("$python" -c 'import site
print(*[d for d in site.getsitepackages() if d.startswith("/usr/lib/")][:1])')
	[ -n "$at" ] || at=/usr/lib/python3/site-packages
	make_it install PREFIX=/usr
	[ -f "root$at/hpdsl/__init__.py" ]
	[ -f "root$at/hpdsl/_loader.py" ]
	[ ! -e "root$at/hpdsl/__pycache__" ]
}

@test "install: the shared library shows hpdsl_ names only" {
	run bash -c "nm -D --defined-only '$BUILD/libhpdsl.so.0' |
		grep -v -e ' hpdsl_' -e ' __odr_asan' -e ' A '"
	echo "$output"
	[ -z "$output" ]
}

@test "uninstall: leaves nothing" {
	make_it install
	make_it uninstall
	run find root ! -type d
	echo "$output"
	[ -z "$output" ]
	[ ! -e root/opt/hpdsl/include/hpdsl ]
}
