#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Plain srun, and what it does where Slurm has no PMIx for this MPI, in a real Slurm
# of three hosts.
# need_disk: nodes have disks.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/slurm

setup_file()
{
	slurm_begin || return 0
	slurm_up || return 0
}

# open_mpi: the one that this is about.
open_mpi()
{
	ldd "$BUILD/hpdsl-stage" | grep -q '/libmpi\.so' ||
		skip "not with another MPI than Open MPI"
}

# step OPTION..: in three nodes' plain srun.
step()
{
	timeout -k 5 600 "$slurm" run "$bed" srun --ntasks-per-node=1 -N3 "$@"
}

# tasks N: so many processes of hpdsl-stage on the hosts.
tasks()
{
	[ "$("$nodes" on "$bed" 1 pgrep -c -x hpdsl-stage)" = "$1" ]
}

# nothing_left: no process, no step and no file; before the next job.
nothing_left()
{
	all_done
	tasks 0
	run ! "$nodes" on "$bed" 1 pgrep -l 'mpirun|orte|scancel|srun'
	for n in 1 2 3; do
		left=$("$nodes" on "$bed" "$n" find /dev/shm "$bed/tmp" \
			-mindepth 1 -not -type d)
		[ -z "$left" ] || { echo "left: $left"; return 1; }
	done
}

# On three nodes, whole, from each byte once.
staged_on_all()
{
	grep -q '^hpdsl-stage: staged 24 chunks.* to 3 nodes' "$1"
	[ $(($(asked) - before)) = "$(size)" ]
	for n in 1 2 3; do
		"$nodes" on "$bed" "$n" hpdsl-verify -q "$bed/ssd/stage"
		"$nodes" on "$bed" "$n" rm -r "$bed/ssd/stage"
	done
}

@test "plain srun stages, whatever MpiDefault is, and in a job's script" {
	open_mpi
	export TMPDIR=$bed/tmp
	# shellcheck disable=SC2016
	printf '#!/bin/bash\nsrun hpdsl-stage "$DATASET" %s\n' \
		"$bed/ssd/stage" > script
	for type in none $(rounds "" "" "pmi2 pmix"); do
		"$slurm" mpi "$bed" "$type"
		before=$(asked)
		step hpdsl-stage "$DATASET" "$bed/ssd/stage" 2> out
		staged_on_all out
	done
	for type in $(rounds "" "" "none pmi2 pmix"); do
		"$slurm" mpi "$bed" "$type"
		before=$(asked)
		timeout -k 5 600 "$slurm" run "$bed" sbatch -W -N3 \
			--ntasks-per-node=2 --output=job.out script
		staged_on_all job.out
	done
	nothing_left
}

# bats test_tags=long
@test "plain srun: a step of fewer nodes than its job, and --pretend-nodes" {
	open_mpi
	export TMPDIR=$bed/tmp
	"$slurm" mpi "$bed" none
	cat > script <<- END
		#!/bin/bash
		srun -N2 -n3 -w bed-n002,bed-n003 \
		    hpdsl-stage "\$DATASET" $bed/ssd/stage || exit
		srun -N1 -n3 -w bed-n003 hpdsl-stage --pretend-nodes=3 \
		    "\$DATASET" $bed/ssd/s%n
	END
	timeout -k 5 600 "$slurm" run "$bed" sbatch -W -N3 --ntasks-per-node=4 \
		--output=job.out script
	grep -q ' to 2 nodes' job.out
	grep -q ' to 3 nodes' job.out
	gone_from 1 "$bed/ssd/stage"
	for d in stage s0 s1 s2; do
		"$nodes" on "$bed" 3 hpdsl-verify -q "$bed/ssd/$d"
	done
	nothing_left
}

# bats test_tags=long
@test "plain srun: --deadline ends it early, and all of it" {
	open_mpi
	export TMPDIR=$bed/tmp STAGE_OPTIONS=--rate=40K
	"$slurm" mpi "$bed" none
	run step -K1 hpdsl-stage --deadline=2 "$DATASET" "$bed/ssd/stage"
	[ "$status" = 75 ]
	[[ $output = *"stopped early, as asked"* ]]
	nothing_left
}

# bats test_tags=more
@test "plain srun: signals reach it, and its status is right" {
	open_mpi
	export TMPDIR=$bed/tmp STAGE_OPTIONS=--rate=40K
	"$slurm" mpi "$bed" none
	local ways=('TERM 143')
	! at_level long || ways+=('USR1 75')
	for how in "${ways[@]}"; do
		step hpdsl-stage "$DATASET" "$bed/ssd/$how" 2> out 3>&- &
		until_true there 1 1 "$bed/ssd/$how" 'chunk-*.tar'
		# those who wait are there as long as the ranks
		tasks 6
		"$slurm" run "$bed" scancel --signal="${how% *}" \
			"$("$slurm" run "$bed" squeue -h -o %i).0"
		status=0
		wait $! || status=$?
		[ "$status" = "${how#* }" ]
		run ! grep -q 'Process received signal' out
		case $how in
		USR*)	grep -q 'stopped early, as asked' out
			nothing_left ;;
		# it is for mpirun's srun too, which kills Open MPI's daemons, and
		# what these leave the tasks remove that waited
		TERM*)	grep -q 'ended by SIGTERM' out
			nothing_left
			[ -z "$("$nodes" on "$bed" 1 find "$bed/tmp" \
				-name 'ompi.*')" ] ;;
		esac
	done
}

# bats test_tags=long
@test "plain srun: a signal for a task that waits goes to the ranks" {
	open_mpi
	export TMPDIR=$bed/tmp STAGE_OPTIONS=--rate=40K
	"$slurm" mpi "$bed" pmi2
	step hpdsl-stage "$DATASET" "$bed/ssd/stage" 2> out 3>&- &
	until_true there 1 1 "$bed/ssd" 'chunk-*.tar'
	# shellcheck disable=SC2016
	"$nodes" on "$bed" 1 bash -c 'for p in $(pgrep -x hpdsl-stage); do
		e=$(tr "\0" "\n" < "/proc/$p/environ")
		[[ $e = *OMPI_COMM_WORLD_RANK* || $e != *SLURM_PROCID=2* ]] ||
			kill -USR1 "$p"
	done'
	status=0
	wait $! || status=$?
	[ "$status" = 75 ]
	nothing_left
}

# bats test_tags=long
@test "plain srun: where it cannot, the line to type; and errors once" {
	open_mpi
	export TMPDIR=$bed/tmp HPDSL_STAGE=$BUILD/hpdsl-stage
	no='hpdsl-stage: Slurm gave this step no PMIx, and'
	by='type: srun --mpi=pmix --ntasks-per-node=1'
	"$slurm" mpi "$bed" none
	run step -N1 env OPAL_PREFIX=/absent "$HPDSL_STAGE" in "it's"
	[ "$status" = 3 ]
	[[ $output = *"$no there is no mpirun of this MPI; $by hpdsl-stage in 'it'\''s'"* ]]
	run step -N1 env PATH=/absent "$HPDSL_STAGE" in to
	[ "$status" = 3 ]
	[[ $output = *"$no there is no srun for mpirun here; type: mpirun -q --map-by ppr:1:node --bind-to none hpdsl-stage in to"* ]]
	# what mpirun has started, and has no PMI: not again
	run step -N1 env HPDSL_STAGE_LAUNCHED=1.0 "$HPDSL_STAGE" in to
	[ "$status" = 3 ]
	[[ $output = *"$no mpirun does not help; $by hpdsl-stage in to"* ]]
	run step hpdsl-stage absent "$bed/ssd/stage"
	[ "$status" = 3 ]
	[ "$(grep -c 'absent: No such file' <<< "$output")" = 1 ]
	nothing_left
}
