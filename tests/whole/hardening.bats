#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the compiler and the linker can do against a mistake of ours is in every
# program and in the library, as their ELF files say.

bats_require_minimum_version 1.5.0
load ../kit/lib

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	[ -z "${SAN:-}" ] || skip "sanitizers are built without"
	need readelf
	files=("$BUILD"/hpdsl "$BUILD"/hpdsl-*[a-z] "$BUILD/libhpdsl.so.0")
	[ ${#files[@]} -ge 10 ]
}

# each COMMAND..: true for every file, which comes last.
each()
{
	local f bad=0
	for f in "${files[@]}"; do
		"$@" "$f" || { echo "$f: not $*"; bad=1; }
	done
	return "$bad"
}

# has WHAT PATTERN FILE: readelf's WHAT of it has such a line.
has()
{
	readelf -W "$1" "$3" | grep -qE -e "$2"
}

# lacks likewise; the file must be one that readelf reads.
lacks()
{
	readelf -W "$1" "$3" > lines
	[ -s lines ] && ! grep -E -e "$2" lines
}

@test "position independent" {
	each has --file-header '^ +Type: +DYN '
	unset 'files[-1]'
	each has --dynamic '\(FLAGS_1\).* PIE'
}

@test "what is relocated is read-only, all of it before main" {
	each has --segments '^ +GNU_RELRO '
	each has --dynamic '\((FLAGS|FLAGS_1)\).* (BIND_)?NOW'
}

@test "nothing is writable and executable, the stack neither" {
	each has --segments '^ +GNU_STACK '
	each lacks --segments '^ +(LOAD|GNU_STACK) .* RWE '
}

@test "stack protector" {
	each has --dyn-syms ' __stack_chk_fail(@|$)'
}

@test "FORTIFY" {
	[[ ${CFLAGS:-} != *-O0* ]] || skip "nothing is fortified at -O0"
	"${CC:-gcc}" -O2 -include string.h -D_FORTIFY_SOURCE=2 -x c -fsyntax-only \
		- <<< 'int x[__USE_FORTIFY_LEVEL];' ||
		skip "this C library does not"
	each has --dyn-syms ' __(mem|str|sn?|vsn?|f|p?read)[a-z]*_chk(@|$)'
}

@test "the static library goes into programs of both kinds" {
	local libs way
	libs=$(pkg-config --libs libxxhash yaml-0.1 libarchive libzstd \
		libcrypto zlib)
	printf '#include <hpdsl.h>\n%s\n' \
		'int main(void) { return !*hpdsl_version(); }' > program.c
	for way in '-fPIE -pie' '-fno-pie -no-pie'; do
		# shellcheck disable=SC2086
		"${CC:-gcc}" $way -I"$SRC/lib" -o program program.c \
			"$BUILD/libhpdsl.a" $libs -pthread
		./program
	done
}

@test "CFLAGS and LDFLAGS win" {
	env -u MAKEFLAGS make -C "$SRC" -n V=1 CC="${CC:-gcc}" \
		CFLAGS='-O2 -fno-stack-protector -D_FORTIFY_SOURCE=1' \
		LDFLAGS='-no-pie -Wl,-z,lazy' all | sed -z 's/\\\n//g' > said
	grep -e '-fstack-protector-strong .*-fno-stack-protector' said |
		grep -q 'lib/chunk/tar[.]c'
	run ! grep -e '-D_FORTIFY_SOURCE=[23]' said
	grep -e '-z,now .*-no-pie -Wl,-z,lazy' said | grep -q hpdsl-ls
	run ! grep -e ' -pie' said
}
