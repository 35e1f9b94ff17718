#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make install, a stranger's program against what it installs, make uninstall.
# uses: build

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python

# Not while others install, who write into $BUILD what says where it will be.
make_it()
{
	flock "$BUILD" make -s -C "$SRC" DESTDIR="$PWD/root" \
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
	PKG_CONFIG_PATH=root/opt/hpdsl/lib/pkgconfig pkg-config "$@" hpdsl
}

version()
{
	hpdsl-pack --version | sed 's/.* //'
}

# at_home WHAT ARGUMENT..: as who has no root, without DESTDIR.
at_home()
{
	flock "$BUILD" make -s -C "$SRC" PREFIX="$PWD/home/hpdsl" "$@"
}

interpreter=${PYTHON:?}

# newcomer COMMAND..: in a shell of somebody who has nothing of ours.
newcomer()
{
	env -i HOME="$PWD" PATH=/usr/local/bin:/usr/bin:/bin \
		PYTHON="$interpreter" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"
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
	# and is found from where it is
	[ -f libexec/hpdsl/isatty.so ] && [ -f libexec/hpdsl/count.so ]
	[ -f libexec/hpdsl/guard.so ]
	[ -f lib/python3/site-packages/hpdsl/_hook/sitecustomize.py ]
	[ -f lib/python3/site-packages/hpdsl/py.typed ]
	run -3 bin/hpdsl-mount --isatty absent share -- true
	[[ $output != *isatty* ]]
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
	libs=" $(pc --static --libs) "
	# shellcheck disable=SC2046,SC2086
	"${CC:-gcc}" "${with[@]}" -o static program.c root/opt/hpdsl/lib/libhpdsl.a \
		$(pc --cflags) ${libs/ -lhpdsl / }
	LD_LIBRARY_PATH=root/opt/hpdsl/lib ./shared
	./static
	# What only the library needs, who uses it may not have.
	[ "$(PKG_CONFIG_LIBDIR=none pc --libs | xargs)" = "$(pc --libs | xargs)" ]
}

# bats test_tags=more
@test "install: each sheet of the header is enough by itself" {
	local sheet
	make_it install
	for sheet in core pack dataset verify unpack snapshot stage order loader \
		look peers serve metrics stall; do
		echo "#include <hpdsl/$sheet.h>" > sheet.c
		# shellcheck disable=SC2046
		"${CC:-gcc}" -std=c11 -pedantic -Wall -Wextra -Werror \
			-fsyntax-only sheet.c $(pc --cflags)
	done
	[ "$(grep -c '#include "hpdsl/' "$SRC/lib/hpdsl.h")" = 14 ]
}

# bats test_tags=more
@test "install: pkg-config knows where it is, also when it was moved" {
	local at
	for at in /opt/hpdsl /usr/local; do
		make_it install PREFIX="$at"
	done
	make_it install PREFIX=/opt/deep LIBDIR=/opt/deep/lib/a/b INCLUDEDIR=/inc
	mv root moved
	while read -r at up; do
		[ "$(realpath "$(PKG_CONFIG_PATH=moved/$at/pkgconfig \
			pkg-config --variable=prefix hpdsl)")" = \
			"$(realpath "moved/$at$up")" ]
		grep -q '^prefix=.{pcfiledir}/' "moved/$at/pkgconfig/hpdsl.pc"
	done <<- 'END'
		opt/hpdsl/lib /..
		usr/local/lib /..
		opt/deep/lib/a/b /../../..
	END
	grep -qx 'includedir=/inc' moved/opt/deep/lib/a/b/pkgconfig/hpdsl.pc
	[ "$(realpath "$(PKG_CONFIG_PATH=moved/opt/deep/lib/a/b/pkgconfig \
		pkg-config --variable=libdir hpdsl)")" = "$PWD/moved/opt/deep/lib/a/b" ]
	# The system's own folders are none to move.
	make_it install PREFIX=/usr
	grep -qx prefix=/usr root/usr/lib/pkgconfig/hpdsl.pc
}

# bats test_tags=more
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

# bats test_tags=more
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

# bats test_tags=more
@test "install: fsspec finds the file system, here and where it was installed" {
	local at
	mkdir in
	echo one > in/1.txt
	hpdsl-pack -q in packed
	make_it install
	mv root moved
	at=$PWD/moved/opt/hpdsl/lib/python3/site-packages
	[ "$(cd "$at" && echo hpdsl-*.dist-info)" = "hpdsl-$(version).dist-info" ]
	for at in "$at" "$SRC/lib/python"; do
		PACKAGE=$at py -c 'import sys
from importlib.metadata import entry_points, version
found = entry_points()
found = (found.select(group="fsspec.specs") if hasattr(found, "select") else
         found["fsspec.specs"])
kind = {p.name: p.value for p in found}["hpdsl"]
assert kind == "hpdsl.fs:HpdslFileSystem", kind
assert version("hpdsl") == sys.argv[1], version("hpdsl")' "$(version)"
	done
	"$PYTHON" -c 'import fsspec' || skip "no fsspec for $PYTHON"
	[ "$(PACKAGE=$PWD/moved/opt/hpdsl/lib/python3/site-packages py -c 'import sys
import fsspec
assert "hpdsl" not in sys.modules
print(fsspec.open("hpdsl://packed/1.txt").open().read(),
      sys.modules["hpdsl"].__file__)')" = \
		"b'one\n' $PWD/moved/opt/hpdsl/lib/python3/site-packages/hpdsl/__init__.py" ]
}

@test "install: the shared library shows hpdsl_ names only" {
	run bash -c "nm -D --defined-only '$BUILD/libhpdsl.so.0' |
		grep -v -e ' hpdsl_' -e ' __odr_asan' -e ' A '"
	echo "$output"
	[ -z "$output" ]
}

# bats test_tags=more
@test "install: the lines that it prints work when they are pasted" {
	at_home install > said
	grep '^  export ' said > lines
	[ "$(wc -l < lines)" = 3 ]
	mkdir in
	echo one > in/1.txt
	cat > pack <<- 'END'
		set -eu
		. ./lines
		. ./lines
		hpdsl-pack -q in packed
	END
	cat > python <<- 'END'
		. ./lines
		"$PYTHON" -c 'import hpdsl; print(hpdsl.__file__)'
	END
	cat > pages <<- 'END'
		. ./lines
		echo "$MANPATH"
	END
	newcomer bash pack
	hpdsl-verify -q packed
	# Python itself has no sanitizer.
	[ -n "${SAN:-}" ] || [ "$(newcomer bash python)" = \
		"$PWD/home/hpdsl/lib/python3/site-packages/hpdsl/__init__.py" ]
	# With a colon at its end: the system's pages, too.
	[ "$(newcomer bash pages)" = "$PWD/home/hpdsl/share/man:" ]
	[ "$(newcomer MANPATH=/some bash pages)" = "$PWD/home/hpdsl/share/man:/some" ]
	grep -qxF "  module use \"$PWD/home/hpdsl/share/modulefiles\" && module load hpdsl" said
	# They are not for here, or nobody needs them there.
	make_it install > said
	make_it install PREFIX=/usr/local >> said
	[ "$(grep -c export said)" = 0 ]
}

# bats test_tags=more
@test "install: man finds our pages and the system's, by the line for it" {
	need manpath
	at_home install > said
	grep '^  export MANPATH' said > lines
	printf '%s\n' '. ./lines' 'manpath -q' > paths
	newcomer bash paths | tr : '\n' > out
	[ "$(head -n 1 out)" = "$PWD/home/hpdsl/share/man" ]
	newcomer manpath -q | tr : '\n' > before
	diff before <(tail -n +2 out)
}

# What the modulefiles say, without a module command; with one, in tests/long.
tcl()
{
	cat > stub.tcl <<- 'END'
		proc module-whatis {t} {}
		proc module-info {what is} { return 1 }
		proc conflict {n} {}
		proc prepend-path {n v} { puts "$n $v" }
		proc append-path {n v} { puts "$n + $v" }
		set ModulesCurrentModulefile [lindex $argv 0]
		source [lindex $argv 0]
	END
	tclsh stub.tcl "$1"
}

lua_()
{
	cat > stub.lua <<- 'END'
		function myFileName() return arg[1] end
		function help() end
		function mode() return "load" end
		function whatis() end
		function isFile(p) local f = io.open(p); return f and f:close() end
		function prepend_path(n, v) print(n .. " " .. v) end
		function append_path(n, v) print(n .. " + " .. v) end
		dofile(arg[1])
	END
	"$lua" stub.lua "$1"
}

# says COMMAND FILE ROOT: with no MANPATH, and with one that has the system's.
says()
{
	unset MANPATH
	"$1" "$2" | tee out
	diff out - <<- END
		PATH $3/bin
		MANPATH + $nothing
		MANPATH $3/share/man
		PYTHONPATH $3/lib/python3/site-packages
		PKG_CONFIG_PATH $3/lib/pkgconfig
		LD_LIBRARY_PATH $3/lib
	END
	MANPATH=/some: "$1" "$2" | diff - <(grep -v '+' out)
}

# modules COMMAND NAME: there, moved, and a copy elsewhere.
modules()
{
	local at=$PWD/home/hpdsl nothing=
	at_home install > /dev/null
	says "$1" "$at/share/modulefiles/hpdsl/$2" "$at"
	cp "$at/share/modulefiles/hpdsl/$2" copy
	says "$1" "$PWD/copy" "$at"
	mv home elsewhere
	at=$PWD/elsewhere/hpdsl
	says "$1" "$at/share/modulefiles/hpdsl/$2" "$at"
	! grep -rqF "$PWD/home" "$at/lib/pkgconfig" "$at/lib/python3"
}

# bats test_tags=more
@test "install: the modulefile in Tcl, also when it was moved" {
	need tclsh
	modules tcl "$(version)"
}

# bats test_tags=more
@test "install: the modulefile in Lua, also when it was moved" {
	for lua in lua lua5.4 lua5.3 lua5.2 lua5.1 luajit texlua; do
		! command -v "$lua" > /dev/null || break
	done
	need "$lua"
	modules lua_ "$(version).lua"
}

@test "uninstall: leaves nothing" {
	make_it install
	make_it install
	make_it uninstall
	ls -R
	[ ! -e root ]
}

# bats test_tags=more
@test "uninstall: what was there before stays, and what others put there" {
	mkdir -p root/opt/hpdsl/share/man/man1 root/opt/hpdsl/empty
	echo mine > root/opt/hpdsl/share/man/man1/mine.1
	cp -a root before
	make_it install
	mkdir root/opt/hpdsl/lib/python3/site-packages/hpdsl/__pycache__
	make_it uninstall
	diff -r before root
	[ -d root/opt/hpdsl/empty ]
	make_it install
	echo mine > root/opt/hpdsl/bin/mine
	make_it uninstall
	mkdir before/opt/hpdsl/bin
	cp root/opt/hpdsl/bin/mine before/opt/hpdsl/bin
	diff -r before root
}

# bats test_tags=more
@test "uninstall: of a folder that was moved, and what is around it stays" {
	mkdir other
	at_home install > /dev/null
	mv home/hpdsl other/moved
	make -s -C "$SRC" PREFIX="$PWD/other/moved" uninstall
	[ -z "$(ls other)" ]
	[ -d home ]
}

# bats test_tags=more
@test "install: no record of folders with RECORD=" {
	make_it RECORD= install
	[ ! -e root/opt/hpdsl/share/hpdsl ]
	make_it RECORD= uninstall
	[ -z "$(find root ! -type d)" ]
}

# bats test_tags=more
@test "install: a PREFIX with ~ or a slash at its end is what it means" {
	HOME=$PWD/home flock "$BUILD" make -s -C "$SRC" PREFIX='~/hpdsl/' install > /dev/null
	[ -x home/hpdsl/bin/hpdsl-pack ]
	grep -qF 'place("bin/hpdsl-pack")' home/hpdsl/share/modulefiles/hpdsl/*.lua
	HOME=$PWD/home make -s -C "$SRC" PREFIX='~/hpdsl' uninstall
	[ ! -e home ]
}

@test "install: hpdsl-stage and hpdsl-serve may be absent, nothing else may" {
	echo one > file
	"$SRC/tests/put" in "$PWD/root" /p /p/share/folders 644:file:/p/share/one \
		'755?:absent:/p/bin/absent' link:one:/p/share/two
	[ "$(cat root/p/share/two)" = one ]
	[ ! -e root/p/bin ]
	run "$SRC/tests/put" in "$PWD/root" /p /p/share/folders 644:absent:/p/lib/a/absent
	[ "$status" != 0 ]
	# What a failed one has made is known, too.
	"$SRC/tests/put" out "$PWD/root" /p /p/share/folders 644:file:/p/share/one \
		'755?:absent:/p/bin/absent' link:one:/p/share/two
	[ ! -e root ]
}
