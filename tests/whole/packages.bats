#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What examples/packaging makes of the tree: the wheel, read from; the lists of
# Debian's packages, without building them, which tests/long/packages_long.bats does; the
# recipe for Spack, which nobody here can run.
# uses: build
# bats file_tags=more

load ../kit/lib
load ../kit/python

packaging=$SRC/examples/packaging

# make_wheel DIR: its path.
make_wheel()
{
	"$PYTHON" "$packaging/make_wheel.py" "$BUILD/libhpdsl.so.0" "$1"
}

version()
{
	sed -n 's/^#define HPDSL_VERSION "\(.*\)"/\1/p' "$SRC/lib/hpdsl.h"
}

@test "wheel: into a venv, it reads with the library that it carries" {
	local wheel
	"$PYTHON" -m venv --help > /dev/null && "$PYTHON" -c 'import ensurepip' ||
		skip "no venv for $PYTHON"
	wheel=$(make_wheel wheels)
	[ "$wheel" = "wheels/hpdsl-$(version)-py3-none-linux_$(uname -m).whl" ]
	"$PYTHON" -m venv --system-site-packages venv
	venv/bin/pip install -q --no-index --no-deps --disable-pip-version-check "$wheel"
	export PYTHON=$PWD/venv/bin/python PACKAGE=/nowhere
	py -c 'import hpdsl, hpdsl._abi
print(hpdsl.__file__, hpdsl._abi.lib.path, sep="\n")' > places
	cat places
	grep -qx "$PWD/venv/lib/python3.*/site-packages/hpdsl/__init__.py" places
	grep -qx "$PWD/venv/lib/python3.*/site-packages/hpdsl/libhpdsl.so.0" places
	cases test_dataset.Reading
	# Nothing else of it stays.
	venv/bin/pip uninstall -q -y hpdsl
	[ -z "$(find venv/lib -ipath '*hpdsl*' ! -name '*.pyc')" ]
}

@test "wheel: the same bytes again, and what it says of itself is so" {
	local wheel
	wheel=$(make_wheel a)
	umask 077
	cp "$BUILD/libhpdsl.so.0" other
	"$PYTHON" "$packaging/make_wheel.py" other b
	cmp "$wheel" "b/${wheel#a/}"
	"$PYTHON" - "$wheel" "$SRC" <<- 'END'
		import base64, csv, hashlib, io, os, sys, zipfile
		wheel = zipfile.ZipFile(sys.argv[1])
		names = wheel.namelist()
		record = [n for n in names if n.endswith(".dist-info/RECORD")]
		assert len(record) == 1 and names[-1] == record[0], names
		rows = list(csv.reader(io.StringIO(wheel.read(record[0]).decode())))
		assert [r[0] for r in rows] == names, rows
		for name, digest, size in rows[:-1]:
		    content = wheel.read(name)
		    raw = hashlib.sha256(content).digest()
		    assert digest == "sha256=" + base64.urlsafe_b64encode(
		        raw).rstrip(b"=").decode(), name
		    assert int(size) == len(content), name
		at = os.path.join(sys.argv[2], "lib/python/hpdsl")
		there = {n for n in os.listdir(at) if n.endswith((".py", ".typed"))}
		assert {n for n in names if n.startswith("hpdsl/")} == {
		    "hpdsl/" + n for n in there | {"libhpdsl.so.0"}}, names
		points = [n for n in names if n.endswith("/entry_points.txt")]
		assert b"hpdsl.fs:HpdslFileSystem" in wheel.read(points[0]), points
	END
}

@test "wheel: hpdsl-python(7) names the libraries of the system that it needs" {
	local name
	need readelf
	[ -z "${SAN:-}" ] || skip "a sanitizer is in it, too"
	readelf -d "$BUILD/libhpdsl.so.0" |
		sed -n 's/.*(NEEDED).*\[\(lib[a-z]*\).*/\1/p' | grep -vx libc > needed
	cat needed
	[ "$(wc -l < needed)" -ge 6 ]
	while read -r name; do
		grep -q "^\.It Li $name\( \|$\)" "$SRC/man/hpdsl-python.7" ||
			{ echo "hpdsl-python(7) does not name $name"; return 1; }
	done < needed
}

# installed_for_deb: what dh_install finds, without building anything else.
installed_for_deb()
{
	local places
	need dh_install
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	mkdir tree
	cp -r "$packaging/debian" tree/debian
	read -ra places < <(make -s -C tree -f debian/rules places)
	[ ${#places[@]} = 4 ]
	flock "$BUILD" make -s -C "$SRC" DESTDIR="$PWD/tree/debian/tmp" \
		"${places[@]}" install > made
}

# The files of tree/debian/FOLDER.. as they were installed: zsh has another place.
files_of()
{
	local d
	for d in "$@"; do
		(cd "tree/debian/$d" && find . ! -type d)
	done | sed 's|/vendor-completions/|/site-functions/|' | LC_ALL=C sort
}

@test "deb: what is installed is in one package, a new command too" {
	local lists=() new=hpdsl-another usr=tree/debian/tmp/usr
	installed_for_deb
	: > $usr/bin/$new
	: > $usr/share/man/man1/$new.1
	: > $usr/share/bash-completion/completions/$new
	: > $usr/share/zsh/site-functions/_$new
	: > $usr/share/fish/vendor_completions.d/$new.fish
	(cd tree && make -s -f debian/rules override_dh_install && dh_missing)
	mapfile -t lists < <(sed -n 's/^Package: //p' tree/debian/control)
	[ "${#lists[@]}" = 5 ]
	diff <(files_of tmp | grep -v /share/modulefiles/) <(files_of "${lists[@]}")
	files_of hpdsl > commands
	[ "$(grep -c $new commands)" = 5 ]
	[ "$(grep -c -e hpdsl-stage -e python -e include commands)" = 0 ]
	files_of hpdsl-stage > stage
	[ "$(wc -l < stage)" = 5 ]
	# What nobody has listed is no package's, and told.
	: > tree/debian/tmp/usr/share/unknown
	(cd tree && ! dh_missing 2> said && grep -F usr/share/unknown said)
}

@test "packages: all are of the version that the library has" {
	grep -qF "hpdsl ($(version)-" <(head -n 1 "$packaging/debian/changelog")
	grep -qF "version(\"$(version)\")" "$packaging/spack/package.py"
	grep -qx "Version: $(version)" "$SRC/lib/python/hpdsl.dist-info/METADATA"
}

@test "packages: make deps installs what building them needs" {
	local p n=0
	tr '\t" ' '\n' < "$SRC/tests/deps" > installs
	while read -r p; do
		n=$((n + 1))
		grep -qxF -- "$p" installs || {
			echo "tests/deps lacks $p"
			return 1
		}
	done < <(sed -n '/^Build-Depends:/,/^$/p' "$packaging/debian/control" |
		sed 's/^Build-Depends://; s/(.*)//; s/:any//; s/,//
			s/debhelper-compat/debhelper/; s/dh-sequence-python3/dh-python/
			/^ *$/d')
	[ "$n" -ge 10 ]
}

@test "spack: the recipe is Python, and needs what tests/needed looks for" {
	local name
	"$PYTHON" -c 'import ast, sys
ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$packaging/spack/package.py"
	for name in libarchive libyaml openssl xxhash zlib zstd; do
		grep -q "depends_on(\"$name" "$packaging/spack/package.py"
	done
}
