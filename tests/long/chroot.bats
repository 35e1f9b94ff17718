#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first hour, on a system that has nothing of ours: somebody without root
# builds, installs into his home, packs, stages and reads; and the containers of
# examples/, played.

load ../kit/lib
load ../kit/chroot

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	need_chroot
}

# user: runs what it reads in a login shell, from its home.
user()
{
	{ echo 'set -eu'; cat; } > clean/home/user/script
	inside clean su -l -s /bin/bash user -c 'bash -l script'
}

# A library as a module of the cluster, for nobody who has not loaded it.
as_module()
{
	local at=clean/opt/yaml
	mkdir -p "$at/lib/pkgconfig" "$at/include" clean/opt/modules
	mv clean/usr/include/yaml.h "$at/include"
	mv clean/usr/lib/*/libyaml* "$at/lib"
	rm clean/usr/lib/*/pkgconfig/yaml-0.1.pc
	cat > "$at/lib/pkgconfig/yaml-0.1.pc" <<- 'END'
		Name: yaml
		Description: of a module
		Version: 0.2
		Cflags: -I/opt/yaml/include
		Libs: -L/opt/yaml/lib -lyaml
	END
	echo 'prepend_path("PKG_CONFIG_PATH", "/opt/yaml/lib/pkgconfig")' \
		> clean/opt/modules/yaml.lua
	inside clean ldconfig
}

# The packages of Debian in the table that make has printed.
named()
{
	sed -n 's/^  [^ ]*  *\([^ ].*\)$/\1/p' said |
		awk '/^[a-z0-9-]*-dev |^pkg-config / { print $1 }' | LC_ALL=C sort
}

@test "no root: make, install, module load, pack, verify, stage, read" {
	took
	system clean
	packages clean gcc libc6-dev make
	inside clean useradd -m -s /bin/bash user
	source_tree clean/home/user/src
	inside clean chown -R user: /home/user
	took "a system of gcc and make"

	# It says what is missing, and that is all.
	run user <<< 'make -C src -s'
	[ "$status" != 0 ]
	echo "$output" | tee said
	[ "$(named | xargs)" = "libarchive-dev libssl-dev libxxhash-dev \
libyaml-dev libzstd-dev pkg-config zlib1g-dev" ]
	# shellcheck disable=SC2046
	packages clean $(named) lmod python3 man-db
	as_module
	run user <<< 'make -C src -s'
	[ "$status" != 0 ]
	echo "$output" | tee said
	[ "$(named)" = libyaml-dev ]
	took "what it named"

	user > said <<- 'END'
		module use /opt/modules
		module load yaml
		make -C src -j2 -s
	END
	grep -q 'hpdsl-stage is left out: no mpicc' said
	took "make"
	packages clean openmpi-bin libopenmpi-dev
	user > said <<- 'END'
		module use /opt/modules
		module load yaml
		make -C src -s PREFIX=$HOME/hpdsl install
	END
	grep -F 'module use "/home/user/hpdsl/share/modulefiles"' said
	took "MPI, make install"

	# Neither the source tree nor the module is needed from here on.
	mv clean/home/user/src clean/home/user/away
	user > said <<- 'END'
		mkdir -p in/a in/b
		for i in {1..200}; do
			echo "$i" > "in/a/$i.txt"
			echo "-$i" > "in/b/$i.txt"
		done
		module use "/home/user/hpdsl/share/modulefiles" && module load hpdsl
		hpdsl-pack -q --labels=dir --chunks=4 in packed
		hpdsl-verify --source=in packed
		mpirun -q --oversubscribe -n 2 hpdsl-stage -q --pretend-nodes=2 packed node%n
		hpdsl-verify node1
		cat > read.py <<- 'EOF'
		import hpdsl
		with hpdsl.Loader(hpdsl.Dataset("node0"), batch_size=50) as loader:
		    print(sum(len(batch.labels) for batch in loader))
		print(hpdsl.Dataset("packed").read("b/7.txt"))
		EOF
		python3 read.py
	END
	[ "$(head -n 1 said)" = 400 ]
	[ "$(tail -n 1 said)" = "b'-7\\n'" ]
	took "module load, pack, verify, stage, read"

	# The system's pages stay, and nothing stays of what is unloaded.
	user > said <<- 'END'
		module use hpdsl/share/modulefiles
		module load hpdsl
		man -w hpdsl-pack
		man -w bash
		module unload hpdsl
		if command -v hpdsl-pack; then exit 1; fi
		man -w bash
		unset MANPATH
		module load hpdsl
		man -w bash
		module unload hpdsl
		man -w bash
		echo "<${MANPATH//:}${PYTHONPATH-}>"
	END
	cat said
	[ "$(head -n 1 said)" = /home/user/hpdsl/share/man/man1/hpdsl-pack.1 ]
	[ "$(grep -c '^/usr/share/man/man1/bash' said)" = 4 ]
	[ "$(tail -n 1 said)" = "<>" ]

	# The other module command's package goes with no Lmod: only its script.
	packages clean tcl
	inside clean sh -c 'cd /tmp && apt-get download -q environment-modules &&
		dpkg -x environment-modules*.deb /opt/tcl' > /dev/null 2>&1
	mv clean/home/user/hpdsl clean/home/user/moved
	user > said <<- 'END'
		unset MANPATH
		export MODULEPATH=$HOME/moved/share/modulefiles
		modulecmd=$(find /opt/tcl -name modulecmd.tcl | head -n 1)
		eval "$(tclsh "$modulecmd" bash load hpdsl)"
		command -v hpdsl-pack
		man -w hpdsl-pack
		man -w bash
		hpdsl-verify -q packed
		python3 -c 'import hpdsl'
		eval "$(tclsh "$modulecmd" bash unload hpdsl)"
		if command -v hpdsl-pack; then exit 1; fi
		man -w bash
	END
	cat said
	[ "$(head -n 1 said)" = /home/user/moved/bin/hpdsl-pack ]
	[ "$(sed -n 2p said)" = /home/user/moved/share/man/man1/hpdsl-pack.1 ]
	[ "$(grep -c '^/usr/share/man/man1/bash' said)" = 2 ]
	took "moved, with the other module command"

	# A program of the user's, and away with all.
	cat > clean/home/user/program.c <<- 'END'
		#include <hpdsl.h>
		#include <stdio.h>
		int main(void)
		{
			return puts(hpdsl_version()) < 0;
		}
	END
	user <<- 'END'
		module use "$HOME/moved/share/modulefiles"
		module load hpdsl
		gcc program.c $(pkg-config --cflags --libs hpdsl)
		./a.out
		module unload hpdsl
		make -C away -s PREFIX="$HOME/moved" uninstall
		[ ! -e moved ]
	END
	took "a program, uninstall"
}

# Those that a container is checked by.
in_container()
{
	inside "$1" sh -euc 'mkdir -p /data/in; echo one > /data/in/1.txt; cd /data
		hpdsl-pack -q in packed; hpdsl-verify packed
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		mpirun -q -n 1 hpdsl-stage -q packed local; hpdsl-verify local
		python3 -c "import hpdsl; hpdsl.Dataset(\"local\").read(\"1.txt\")"
		! command -v gcc'
	[ ! -e "$1/src" ]
}

# A line for each instruction of the Dockerfile.
instructions()
{
	sed -e '/^#/d' -e '/^$/d' "$SRC/examples/Dockerfile" |
		sed -e ':a' -e '/\\$/N; s/\\\n//; ta'
}

@test "examples/Dockerfile, played: commands, package and MPI, no compiler" {
	took
	declare -A named
	stage=0
	while read -r -u 7 what rest; do
		echo "$what $rest"
		case $what,$rest in
		FROM,debian:12*)
			stage=$((stage + 1))
			at=stage$stage
			named[${rest##* }]=$at
			system "$at"
			;;
		RUN,*) inside "$at" sh -ec "$rest" > run.log 2>&1 ||
			{ tail -n 20 run.log; return 1; } ;;
		"COPY,. /"*) source_tree "$at${rest#. }" ;;
		COPY,--from=*)
			read -r from source to <<< "$rest"
			cp -a "${named[${from#--from=}]}$source/." "$at$to"
			;;
		*) return 1 ;;
		esac
	done 7< <(instructions)
	in_container "$at"
	took "examples/Dockerfile"
}

section()
{
	awk -v name="%$1" '/^%/ { on = $1 == name; next } on' \
		"$SRC/examples/hpdsl.def"
}

@test "examples/hpdsl.def, played: commands, package and MPI, no compiler" {
	took
	grep -qx 'From: debian:12' "$SRC/examples/hpdsl.def"
	[ "$(section files | xargs)" = ". /src" ]
	system container
	source_tree container/src
	inside container sh -ec "$(section post)" > post.log 2>&1 ||
		{ tail -n 20 post.log; return 1; }
	inside container sh -ec "$(section test)"
	in_container container
	took "examples/hpdsl.def"
}
