#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/floors sees what it is there to see, in a small library made for it, and
# nothing in ours.

load ../kit/lib

# Two folders on the ground, one above them.
setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	ours=$BUILD
	export BUILD=build
	mkdir -p lib/sand lib/rock lib/roof cmd
	echo '# Floor, folder, purpose.
0  sand      below
0  rock      below, too
10 roof      above' > lib/floors
	file sand/sand.h 'struct grain {' '	int n;' '};' 'int sand(void);'
	file sand/sand.c '#include "sand/sand.h"' 'int sand(void) { return 1; }'
	file rock/rock.h 'int rock(void);'
	file rock/rock.c '#include "rock/rock.h"' 'int rock(void) { return 2; }'
	file roof/private.h 'int tile(void);'
	file roof/tile.c '#include "roof/private.h"' '#include "sand/sand.h"' \
		'int tile(void) { return sand(); }'
	file roof/roof.h 'int roof(void);'
	file roof/roof.c '#include "roof/roof.h"' '#include "roof/private.h"' \
		'#include "rock/rock.h"' '#include <fcntl.h>' \
		'int roof(void) { return tile() + rock(); }'
}

# file NAME LINE..: of the library; what is there already is replaced.
file()
{
	printf '%s\n' "${@:2}" > "lib/$1"
}

built()
{
	local f
	for f in lib/*/*.c; do
		mkdir -p "build/${f%/*}"
		${CC:-cc} -iquote lib -c -o "build/${f%.c}.o" "$f"
	done
}

# tells LINE..: that, and nothing else.
tells()
{
	run "$SRC/tests/floors"
	diff <(printf '%s\n' "$@") - <<< "$output"
	[ "$status" = 1 ]
}

keeps()
{
	run "$SRC/tests/floors"
	[ "$status" = 0 ]
	[ "$output" = "$*" ]
}

@test "our library keeps to its floors" {
	cd "$SRC"
	BUILD=$ours run tests/floors
	echo "$output"
	[ "$status" = 0 ]
	[ -z "$output" ]
}

@test "nothing is told of what keeps to them; without a build, that is said" {
	keeps "floors: nothing is built, so no circles are looked for"
	built
	keeps
}

@test "includes go down, and to nobody else's private.h" {
	built
	file sand/private.h
	file rock/rock.c '#include "sand/sand.h"'
	file sand/sand.c '#include "sand.h"' '#include "sky/sky.h"' \
		'# include "roof/roof.h"' '#include "hpdsl.h"'
	file roof/tile.c '#include "sand/private.h"' '#include "roof/private.h"'
	tells 'lib/rock/rock.c:1: "sand/sand.h" is not on a floor below rock' \
		'lib/roof/tile.c:1: "sand/private.h" is private to sand' \
		'lib/sand/sand.c:1: "sand.h" names no folder of lib/floors' \
		'lib/sand/sand.c:2: "sky/sky.h" names no folder of lib/floors' \
		'lib/sand/sand.c:3: "roof/roof.h" is not on a floor below sand' \
		'lib/sand/sand.c:4: "hpdsl.h" is all sheets: which are needed?'
}

@test "a file is in a folder of lib/floors" {
	built
	mkdir lib/attic
	file attic/box.c
	file loose.c
	echo 'int box;' | tee lib/attic/box.c > lib/loose.c
	tells "lib/loose.c: is in no folder of lib/floors" \
		"lib/attic/box.c: attic is no folder of lib/floors"
}

@test "no tag stands for two things" {
	built
	file rock/rock.h 'struct other;' 'struct grain {' '	struct other {' \
		'		int a;' '	} *o;' '};' 'int rock(void);'
	tells "lib/sand/sand.h:1: the tag grain is also in lib/rock/rock.h:2"
	file sand/sand.h 'enum other { A };' 'int sand(void);'
	tells "lib/sand/sand.h:1: the tag other is also in lib/rock/rock.h:3"
}

@test "files that call each other are told, whatever lies between them" {
	file roof/tile.c '#include "roof/roof.h"' '#include "roof/private.h"' \
		'int tile(void) { return roof(); }'
	built
	tells "lib/roof/roof.c: in a circle, by tile of lib/roof/tile.c" \
		"lib/roof/tile.c: in a circle, by roof of lib/roof/roof.c"
	file roof/tile.c 'int nail(void), tile(void);' \
		'int tile(void) { return nail(); }'
	file roof/nail.c 'int nail(void), roof(void), tile(void);' \
		'int nail(void) { return roof() + tile(); }'
	built
	tells "lib/roof/nail.c: in a circle, by roof of lib/roof/roof.c" \
		"lib/roof/nail.c: in a circle, by tile of lib/roof/tile.c" \
		"lib/roof/roof.c: in a circle, by tile of lib/roof/tile.c" \
		"lib/roof/tile.c: in a circle, by nail of lib/roof/nail.c"
	# what is taken as an argument is no call
	file roof/nail.c 'int nail(void);' 'int (*of)(void);' \
		'int nail(void) { return of(); }'
	built
	keeps
}

@test "calls go down, also of what no header gives" {
	file rock/rock.c 'int rock(void), sand(void), roof(void);' \
		'int rock(void) { return sand() + roof(); }'
	built
	tells "lib/rock/rock.c: calls roof() of lib/roof/roof.c, which is not on a floor below" \
		"lib/rock/rock.c: calls sand() of lib/sand/sand.c, which is not on a floor below"
}

@test "files are lib/sys's to call" {
	file roof/tile.c '#include "roof/private.h"' '#include <fcntl.h>' \
		'#include <unistd.h>' \
		'int tile(void) { char b; return (int)read(open("a", 0), &b, 1); }'
	built
	tells "lib/roof/tile.c: calls open(), which lib/sys is for" \
		"lib/roof/tile.c: calls read(), which lib/sys is for"
	mkdir lib/sys
	echo '1 sys' >> lib/floors
	mv lib/roof/tile.c lib/sys/tile.c
	sed -i 's/"roof.private.h"/"sys\/tile.h"/' lib/sys/tile.c
	mv lib/roof/private.h lib/sys/tile.h
	sed -i 's/"roof.private.h"/"sys\/tile.h"/' lib/roof/roof.c
	built
	keeps
}

@test "objects without a source, and older ones than that, say nothing" {
	file roof/old.c 'int roof(void), old(void);' \
		'int old(void) { return roof(); }'
	file roof/tile.c 'int tile(void), old(void);' \
		'int tile(void) { return old(); }'
	built
	tells "lib/roof/old.c: in a circle, by roof of lib/roof/roof.c" \
		"lib/roof/roof.c: in a circle, by tile of lib/roof/tile.c" \
		"lib/roof/tile.c: in a circle, by old of lib/roof/old.c"
	touch -d '+1 hour' lib/roof/old.c
	keeps
	rm lib/roof/old.c
	keeps
}
