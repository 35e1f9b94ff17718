#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The examples of staging, in a real Slurm of three hosts.
# need_disk: nodes have disks.

bats_require_minimum_version 1.5.0
load ../kit/lib

slurm=$SRC/tests/bed/slurm
nodes=$SRC/tests/bed/nodes

# One Slurm for all tests here; why there is none is in $without.
setup_file()
{
	export without bed=$BATS_FILE_TMPDIR/bed all=$BATS_FILE_TMPDIR

	without=$("$slurm" missing) || return 0
	command -v mpirun > /dev/null || without="no mpirun"
	[ -x "$BUILD/hpdsl-stage" ] || without="no hpdsl-stage"
	[ -x "$BUILD/tests/bed/origin" ] || without="no fuse3"
	[ -z "$without" ] || return 0
	cd "$all" || return 1
	make_tree tree 3 100
	hpdsl-pack -q --chunks=24 tree packed
	hpdsl-ls packed | hpdsl-cat --files-from=- packed | sha256sum > sum
	stand_ins
	# shellcheck disable=SC2016
	printf '#!/bin/bash\nexport SCRATCH=%s HPDSL_STAGE=%s\nexec %s\n' \
		"$bed/ssd/scratch" "$BUILD/hpdsl-stage" \
		"$SRC/examples/epilog.sh" > epilog
	chmod +x epilog
	"$slurm" up "$bed" 3 "--watch=$$" --ssd=100M --origin=packed \
		--epilog=epilog --options=rate=8M > up.log 2>&1 ||
		without="Slurm does not start: $(tail -n 1 up.log)"
	[ -n "$without" ] || make_disks
}

# Behind this the SSDs are no memory, which is taken last for LOCALDIR auto.
make_disks()
{
	local n

	for n in 1 2 3; do
		mkdir "disk$n"
		"$nodes" on "$bed" "$n" mount --bind "$PWD/disk$n" "$bed/ssd"
	done
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

# train.py, which says where it has read a dataset that is right; and
# hpdsl-stage with options of a test.
stand_ins()
{
	mkdir bin
	cat > bin/python <<- 'END'
		#!/bin/bash
		[ "$1 $2" = "train.py --data" ] || exit 2
		hpdsl-ls "$3" | hpdsl-cat --files-from=- "$3" | sha256sum |
			cmp - "$all/sum" || exit
		hpdsl-verify -q "$3" && echo "trained on $(hostname)"
	END
	cat > bin/hpdsl-stage <<- 'END'
		#!/bin/bash
		exec "$BUILD/hpdsl-stage" $STAGE_OPTIONS "$@"
	END
	chmod +x bin/*
}

# job SCRIPT OPTION..: submits it, with the example that may follow it, waits
# for its end, and ends as it does; output in job.out.
job()
{
	local id state

	id=$("$slurm" run "$bed" sbatch --parsable --output=job.out "${@:2}" \
		"$SRC/examples/$1" "$SRC/examples/train_after_stage.sbatch")
	until_true none_left -j "$id" -t PENDING,RUNNING,COMPLETING || return 99
	state=$("$slurm" run "$bed" scontrol show job "$id")
	state=${state##*ExitCode=}
	return "${state%%:*}"
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

# warn ID: as Slurm does when a job's time is nearly over.
warn()
{
	"$slurm" run "$bed" scancel --batch --signal=USR1 "$1"
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

nothing_staged()
{
	local n

	for n in 1 2 3; do
		[ -z "$("$nodes" on "$bed" "$n" find "$bed/ssd" -type f)" ]
	done
}

# ---- Plain srun, and what it does where Slurm has no PMIx for this MPI

# open_mpi: the one that this is about.
open_mpi()
{
	ldd "$BUILD/hpdsl-stage" | grep -q '/libmpi\.so' ||
		skip "not with another MPI than Open MPI"
}

# The other ways, and ends.
in_long()
{
	[ -n "${HPDSL_LONG:-}" ] || skip "only in check-long"
}

# step OPTION..: in three nodes' plain srun, for a minute at most.
step()
{
	timeout -k 5 60 "$slurm" run "$bed" srun --ntasks-per-node=1 -N3 "$@"
}

# tasks N: so many processes of hpdsl-stage on the hosts.
tasks()
{
	[ "$("$nodes" on "$bed" 1 pgrep -c -x hpdsl-stage)" = "$1" ]
}

# nothing_left [NAME]: no process, no step and no file, but below such folders
# of TMPDIR; before the next job.
nothing_left()
{
	all_done
	tasks 0
	run ! "$nodes" on "$bed" 1 pgrep -l 'mpirun|orte|scancel|srun'
	for n in 1 2 3; do
		left=$("$nodes" on "$bed" "$n" find /dev/shm "$bed/tmp" \
			-mindepth 1 -not -type d \
			-not -path "$bed/tmp/${1:-}/*")
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
	for type in none ${HPDSL_LONG:+pmi2 pmix}; do
		"$slurm" mpi "$bed" "$type"
		before=$(asked)
		step hpdsl-stage "$DATASET" "$bed/ssd/stage" 2> out
		staged_on_all out
	done
	for type in ${HPDSL_LONG:+none pmi2 pmix}; do
		"$slurm" mpi "$bed" "$type"
		before=$(asked)
		timeout -k 5 60 "$slurm" run "$bed" sbatch -W -N3 \
			--ntasks-per-node=2 --output=job.out script
		staged_on_all job.out
	done
	nothing_left
}

@test "plain srun: a step of fewer nodes than its job, and --pretend-nodes" {
	in_long
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
	timeout -k 5 60 "$slurm" run "$bed" sbatch -W -N3 --ntasks-per-node=4 \
		--output=job.out script
	grep -q ' to 2 nodes' job.out
	grep -q ' to 3 nodes' job.out
	gone_from 1 "$bed/ssd/stage"
	for d in stage s0 s1 s2; do
		"$nodes" on "$bed" 3 hpdsl-verify -q "$bed/ssd/$d"
	done
	nothing_left
}

@test "plain srun: --deadline ends it early, and all of it" {
	in_long
	open_mpi
	export TMPDIR=$bed/tmp STAGE_OPTIONS=--rate=150K
	"$slurm" mpi "$bed" none
	run step -K1 hpdsl-stage --deadline=2 "$DATASET" "$bed/ssd/stage"
	[ "$status" = 75 ]
	[[ $output = *"stopped early, as asked"* ]]
	nothing_left
}

@test "plain srun: signals reach it, and its status is right" {
	open_mpi
	export TMPDIR=$bed/tmp STAGE_OPTIONS=--rate=150K
	"$slurm" mpi "$bed" none
	for how in ${HPDSL_LONG:+'USR1 75'} 'TERM 143'; do
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
		# it is for mpirun's srun too, which kills Open MPI's daemons
		TERM*)	grep -q 'ended by SIGTERM' out
			nothing_left 'ompi.*' ;;
		esac
	done
}

@test "plain srun: a signal for a task that waits goes to the ranks" {
	in_long
	open_mpi
	export TMPDIR=$bed/tmp STAGE_OPTIONS=--rate=150K
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

@test "plain srun: where it cannot, the line to type; and errors once" {
	in_long
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

@test "the scripts are sound" {
	for f in "$SRC"/examples/{*.sbatch,*.pbs,*.sh}; do
		bash -n "$f"
		! command -v shellcheck > /dev/null || shellcheck "$f"
	done
}

@test "stage_then_train.sbatch: read once, trained on all, cleaned" {
	before=$(asked)
	job stage_then_train.sbatch --nodes=3 --ntasks-per-node=2
	[ "$(grep -c '^trained on' job.out)" = 6 ]
	[ "$(grep '^trained on' job.out | sort -u | wc -l)" = 3 ]
	grep -q '^hpdsl-stage: staged 24 chunks' job.out
	[ $(($(asked) - before)) = "$(size)" ]
	nothing_staged
}

@test "stage_then_train.sbatch: does not train on what is not there" {
	export DATASET=$PWD/absent
	run job stage_then_train.sbatch --nodes=3 --ntasks-per-node=2
	[ "$status" = 3 ]
	grep -q '^hpdsl-stage: .*absent' job.out
	run ! grep trained job.out
}

@test "stage_and_train.sbatch: trains while the chunks come" {
	before=$(asked)
	export STAGE_OPTIONS=--rate=1M
	job stage_and_train.sbatch --nodes=2 --ntasks-per-node=2
	[ "$(grep -c '^trained on' job.out)" = 4 ]
	[ $(($(asked) - before)) = "$(size)" ]
}

@test "stage_and_train.sbatch: does not train on what is not there" {
	export DATASET=$PWD/absent
	run job stage_and_train.sbatch --nodes=2 --ntasks-per-node=2
	[ "$status" = 3 ]
}

@test "train_while_staging.sbatch: trains at once, and goes on in another job" {
	cat > train.py <<- 'END'
		import os, socket, subprocess, sys
		file, data = sys.argv[1].partition("=")[2], sys.argv[2]
		subprocess.run(["hpdsl-verify", "-q", data], check=True)
		assert os.environ["MASTER_ADDR"] == "bed-n001", os.environ
		print("trained on", socket.gethostname(), os.path.exists(file))
		if os.environ["SLURM_PROCID"] == "0" and not os.path.exists(file):
		    open(file, "w").close()
		    with open(file + ".order", "w") as f:
		        f.write('{"seed": 3, "step": 2}')
	END
	before=$(asked)
	export TRAIN=$PWD/train.py CHECKPOINT=$PWD/net STAGE_OPTIONS=--rate=2M
	job train_while_staging.sbatch --nodes=2 --ntasks-per-node=2
	[ "$(grep -c '^trained on bed-n00[12]' job.out)" = 4 ]
	[ $(($(asked) - before)) = "$(size)" ]
	# the state is handed on: one that is none is noticed, be it before the
	# training begins in the stage directory of the last job, or later
	echo 'seed: x' > net.order
	run job train_while_staging.sbatch --nodes=2 --ntasks-per-node=2
	grep -q '^hpdsl-stage: .*net.order' job.out
	# warned that its time is over, it comes back
	rm net.order
	cat > train.py <<- 'END'
		import os, time
		if "SLURM_RESTART_COUNT" not in os.environ:
		    print("trains", flush=True)
		    time.sleep(1000)
		print("goes on")
	END
	"$slurm" run "$bed" sbatch --parsable --output=job.out --nodes=1 \
		--ntasks-per-node=1 \
		"$SRC/examples/train_while_staging.sbatch" > id
	until_true grep -q '^trains' job.out
	warn "$(cat id)"
	all_done
	grep -qx 'goes on' job.out
}

@test "stage_array.sbatch: jobs on a node share one copy" {
	before=$(asked)
	job stage_array.sbatch --array=0-3 --cpus-per-task=2 \
		--nodelist=bed-n001 --open-mode=append
	[ "$(grep -c '^trained on bed-n001' job.out)" = 4 ]
	[ $(($(asked) - before)) = "$(size)" ]
	"$nodes" on "$bed" 1 hpdsl-stage --status "$SHARED/imagenet" > status
	grep -q ' 24 of 24 chunks.*all that was planned' status
}

@test "stage_job.sbatch: training follows on the same nodes" {
	before=$(asked)
	job stage_job.sbatch --nodes=2
	all_done
	cat slurm-*.out >> job.out
	[ "$(grep -c '^trained on' job.out)" = 8 ]
	[ $(($(asked) - before)) = "$(size)" ]
	# what fails takes the other one out of the queue
	rm slurm-*.out
	export DATASET=$PWD/absent
	run job stage_job.sbatch --nodes=2
	[ "$status" = 3 ]
	all_done
	[ -z "$(find . -name 'slurm-*.out')" ]
}

@test "early_warning.sbatch: a job that is warned comes back and completes" {
	local more=()

	before=$(asked)
	export STAGE_OPTIONS=--rate=300K
	# by Slurm itself, after a minute, or 30 seconds more
	[ -z "${HPDSL_LONG:-}" ] || STAGE_OPTIONS=--rate=15K more=(--time=3)
	"$slurm" run "$bed" sbatch --parsable --output=job.out --nodes=2 \
		"${more[@]}" "$SRC/examples/early_warning.sbatch" > id
	if [ -z "${HPDSL_LONG:-}" ]; then
		until_true there 1 3 "$SHARED" 'chunk-*.tar'
		warn "$(cat id)"
	fi
	all_done
	grep -q 'stopped' job.out
	grep -q '^hpdsl-stage: staged' job.out
	for n in 1 2; do
		"$nodes" on "$bed" "$n" hpdsl-verify -q "$SHARED/video"
	done
	[ $(($(asked) - before)) = "$(size)" ]
}

@test "epilog.sh: takes away what its own job left, and nothing else" {
	cat > leave <<- 'END'
		#!/bin/bash
		mine=$TMPDIR/scratch/$SLURM_JOB_ID other=$TMPDIR/scratch/99999
		mkdir -p "$mine/own" "$other"
		hpdsl-stage -q "$DATASET" "$mine/stage" || exit
		cp -a "$mine/stage" "$other"
		touch "$mine/own/file" /dev/shm/{vader_segment.a,other}
		echo "$mine" > mine
	END
	touch_held='exec 9> /dev/shm/vader_segment.b; exec sleep 1000'
	"$nodes" on "$bed" 1 bash -c "$touch_held" 3>&- &
	until_true there 1 1 /dev/shm vader_segment.b
	"$slurm" run "$bed" sbatch --output=job.out --nodelist=bed-n001 leave
	all_done
	until_true gone_from 1 /dev/shm/vader_segment.a
	"$nodes" on "$bed" 1 find /dev/shm "$bed/ssd/scratch" -type f > left
	grep -qx /dev/shm/other left
	grep -qx /dev/shm/vader_segment.b left
	run ! grep vader_segment.a left
	[ "$(grep "$(cat mine)" left)" = "$(cat mine)/own/file" ]
	[ "$(grep -c /scratch/99999/stage/chunk left)" = 24 ]
	kill $!
}

@test "stage.pbs: with a node file, as PBS has it" {
	for n in 1 2 3; do
		printf 'bed-n00%d\nbed-n00%d\n' $n $n
	done > nodefile
	before=$(asked)
	"$nodes" run "$bed" env PBS_NODEFILE="$PWD/nodefile" PBS_JOBID=17 \
		PBS_O_WORKDIR="$PWD" LOCAL="$bed/ssd" \
		bash "$SRC/examples/stage.pbs" > job.out 2>&1
	[ "$(grep -c '^trained on' job.out)" = 6 ]
	[ $(($(asked) - before)) = "$(size)" ]
	nothing_staged
}
