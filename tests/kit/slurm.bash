# SPDX-License-Identifier: Apache-2.0
# For tests in a real Slurm of three hosts: `load ../kit/slurm` behind `load
# ../kit/lib`, and a setup_file with slurm_begin and slurm_up.
# shellcheck shell=bash

slurm=$SRC/tests/bed/slurm
nodes=$SRC/tests/bed/nodes

# In the file's folder: a dataset `packed` of 24 chunks, and in front of PATH a
# hpdsl-stage with options of a test.  Fails if there is no Slurm here: $without
# says why.
slurm_begin()
{
	export without bed=$BATS_FILE_TMPDIR/bed all=$BATS_FILE_TMPDIR

	without=$("$slurm" missing) || return
	command -v mpirun > /dev/null || without="no mpirun"
	[ -x "$BUILD/hpdsl-stage" ] || without="no hpdsl-stage"
	[ -x "$BUILD/tests/bed/origin" ] || without="no fuse3"
	[ -z "$without" ] || return
	cd "$all" || return
	make_tree tree 3 100
	hpdsl-pack -q --chunks=24 tree packed
	mkdir bin
	cat > bin/hpdsl-stage <<- 'END'
		#!/bin/bash
		exec "$BUILD/hpdsl-stage" $STAGE_OPTIONS "$@"
	END
	chmod +x bin/hpdsl-stage
}

# slurm_up OPTION..: one Slurm for all tests of the file, of bed/slurm's options
# too; fails as slurm_begin does.
slurm_up()
{
	"$slurm" up "$bed" 3 "--watch=$$" --ssd=100M --origin=packed \
		--options=rate=8M "$@" > up.log 2>&1 && return
	without="Slurm does not start: $(tail -n 1 up.log)"
	return 1
}

teardown_file()
{
	[ -n "$without" ] || "$slurm" down "$bed"
}

setup()
{
	[ -z "$without" ] || skip "$without"
	cd "$BATS_TEST_TMPDIR" || return 1
	export PATH=$all/bin:$PATH DATASET=$bed/origin TMPDIR=$bed/ssd
	export SHARED=$bed/ssd/shared
	unset SLURM_JOB_ID SLURM_TMPDIR LOCAL_SCRATCH JOBFS
}

teardown()
{
	local n

	[ -z "$without" ] || return 0
	"$slurm" mpi "$bed" pmix
	"$slurm" run "$bed" scancel --user=root
	all_done
	for n in 1 2 3; do
		"$nodes" on "$bed" "$n" find "$bed/ssd" "$bed/tmp" \
			-mindepth 1 -delete
	done
	cat job.out 2> /dev/null || true
}

# none_left OPTION..: squeue says so; that it cannot tell is no answer.
none_left()
{
	local jobs

	jobs=$("$slurm" run "$bed" squeue -h "$@") && [ -z "$jobs" ]
}

# Until no job is left.
all_done()
{
	until_true none_left
}

# Bytes of chunks that the origin was asked for, all hosts together.
asked()
{
	"$nodes" stats "$bed" | awk '$5 ~ /^chunk/ { n += $2 }
		END { print n + 0 }'
}

# there HOST N FOLDER NAME: N or more such files.
there()
{
	[ "$("$nodes" on "$bed" "$1" find "$3" -name "$4" 2> /dev/null |
		wc -l)" -ge "$2" ]
}

size()
{
	cat "$all"/packed/chunk-* | wc -c
}

gone_from()
{
	! "$nodes" on "$bed" "$1" test -e "$2"
}
