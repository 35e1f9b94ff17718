#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The packages of Debian built, looked at and installed on a system that has nothing
# of ours, with tests run on what is installed; all tests of Python from the wheel.

load ../kit/lib
load ../kit/python
load ../kit/chroot

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	built=$BATS_FILE_TMPDIR/deb
}

# build_debs: once a file.
build_debs()
{
	need dh
	need dh_python3
	need mpicc
	[ -e "$built/done" ] || "$SRC/examples/packaging/make_deb" "$built" debs
	: > "$built/done"
}

@test "deb: lintian has nothing to say" {
	build_debs
	[ "$(find debs -name '*.deb' -printf '%f\n' | sed 's/_.*//' |
		LC_ALL=C sort | xargs)" = \
		"hpdsl hpdsl-stage libhpdsl-dev libhpdsl0 python3-hpdsl" ]
	need lintian
	lintian --allow-root --fail-on error,warning \
		--tag-display-limit 0 "$built"/*.changes
	# What is overridden is one thing.
	lintian --allow-root --show-overrides --tag-display-limit 0 \
		"$built"/*.changes > said
	cat said
	[ "$(grep '^O:' said | awk '{ print $3 }' | uniq)" = \
		initial-upload-closes-no-bugs ]
}

# debs NAME..: all, or these, as they are seen inside.
debs()
{
	local name
	[ $# != 0 ] || set -- ''
	for name in "$@"; do
		(cd clean && printf '/%s\n' debs/"$name"*.deb)
	done
}

# What tests/control asks for.
for_tests()
{
	sed -n 's/^Depends: @, //p' "$SRC/examples/packaging/debian/tests/control" |
		tr -d ','
}

@test "deb: on a clean system: installed, tested, a program built, away again" {
	need_chroot
	build_debs
	took "built"
	system clean
	mkdir clean/debs
	cp "$built"/*.deb clean/debs
	inside clean find / -xdev -type f -path '*hpdsl*' ! -path '/debs/*' > none
	[ ! -s none ]
	# Python and the library need neither the commands nor MPI.
	# shellcheck disable=SC2046
	packages clean $(debs python3-hpdsl_ libhpdsl0_)
	inside clean python3 -c 'import hpdsl, hpdsl._abi; print(hpdsl._abi.lib.path)' \
		> said
	grep -qx '/usr/lib/.*/libhpdsl.so.0' said
	inside clean sh -c '! command -v mpirun && ! ls /usr/bin/hpdsl*'
	# shellcheck disable=SC2046
	packages clean $(debs) $(for_tests)
	took "installed"

	source_tree clean/src
	inside clean /src/tests/installed > tap || { grep -A 20 '^not' tap; return 1; }
	grep '^ok .*# skip' tap || :
	[ "$(grep -c '^ok' tap)" -gt 100 ]
	took "$(grep -c '^ok' tap) tests"

	# shellcheck disable=SC2016
	inside clean sh -euc 'cd /tmp; gcc -o with /src/examples/read_samples.c \
			$(pkg-config --cflags --libs hpdsl) -lm
		mkdir in; echo one > in/1.txt; hpdsl-pack -q in packed
		./with packed' > said
	cat said
	inside clean sh -euc 'dpkg --verify; apt-get purge -y -q "*hpdsl*"' > said
	inside clean find /usr /etc /var/lib -xdev -path '*hpdsl*' \
		! -path '/var/lib/apt/*' > left
	cat left
	[ ! -s left ]
}

@test "wheel: all tests of Python, from a venv" {
	local wheel
	"$PYTHON" -c 'import venv, ensurepip' || skip "no venv for $PYTHON"
	wheel=$("$PYTHON" "$SRC/examples/packaging/make_wheel.py" \
		"$BUILD/libhpdsl.so.0" .)
	"$PYTHON" -m venv --system-site-packages venv
	venv/bin/pip install -q --no-index --no-deps --disable-pip-version-check "$wheel"
	PYTHON=$PWD/venv/bin/python PACKAGE=/nowhere bats --tap \
		"$SRC"/tests/python/*.bats > tap || { grep -A 20 '^not' tap; return 1; }
	[ "$(grep -c '^ok' tap)" -gt 20 ]
}
