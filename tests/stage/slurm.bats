#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The examples of staging, in a real Slurm of three hosts.
# need_disk: nodes have disks.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/slurm

setup_file()
{
	slurm_begin || return 0
	hpdsl-ls packed | hpdsl-cat --files-from=- packed | sha256sum > sum
	train_stand_in
	# shellcheck disable=SC2016
	printf '#!/bin/bash\nexport SCRATCH=%s HPDSL_STAGE=%s\nexec %s\n' \
		"$bed/ssd/scratch" "$BUILD/hpdsl-stage" \
		"$SRC/examples/epilog.sh" > epilog
	chmod +x epilog
	slurm_up --epilog=epilog || return 0
	make_disks
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

# train.py, which says where it has read a dataset that is right; where it is
# served, when it is so on as many hosts as $SERVED says.
train_stand_in()
{
	cat > bin/python <<- 'END'
		#!/bin/bash
		[ "$1 $2" = "train.py --data" ] || exit 2
		if [ -n "$SERVED" ]; then
			until hpdsl-serve --status "$3" > /dev/null 2>&1; do
				sleep 0.1 # clock: a poll
			done
			touch "served.$(hostname)"
			until [ "$(ls served.* | wc -l)" = "$SERVED" ]; do
				sleep 0.1 # clock: a poll
			done
		fi
		hpdsl-ls "$3" | hpdsl-cat --files-from=- "$3" | sha256sum |
			cmp - "$all/sum" || exit
		hpdsl-verify -q "$3" && echo "trained on $(hostname)"
	END
	chmod +x bin/python
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

# warn ID: as Slurm does when a job's time is nearly over.
warn()
{
	"$slurm" run "$bed" scancel --batch --signal=USR1 "$1"
}

nothing_staged()
{
	local n

	for n in 1 2 3; do
		[ -z "$("$nodes" on "$bed" "$n" find "$bed/ssd" -type f)" ]
	done
}

need_fuse()
{
	[ -c /dev/fuse ] || skip "no /dev/fuse"
	hpdsl-mount --check | grep -q '^-- COMMAND  *yes' ||
		skip "$(hpdsl-mount --check | head -n 1)"
}

need_server()
{
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
}

# bats test_tags=wide
@test "the scripts are sound" {
	for f in "$SRC"/examples/{*.sbatch,*.pbs,*.sh}; do
		bash -n "$f"
		! at_level more || ! command -v shellcheck > /dev/null ||
			shellcheck "$f"
	done
}

# bats test_tags=more
@test "hpdsl-stall: ranks that srun starts on two hosts" {
	cat > job.sbatch <<- 'END'
		#!/bin/bash
		hpdsl-stall run -q --rounds=1 --steps=8 --no-load --json -o report -- \
			srun bash -c 'exec hpdsl-bench -q --batch-size=16 \
				--memory=16M --epochs=10000 --compute=0.01 \
				--ranks=2 --rank=$SLURM_PROCID "$DATASET"'
	END
	"$slurm" run "$bed" sbatch -W --output=job.out --nodes=2 \
		--ntasks-per-node=1 job.sbatch
	[ "$(grep -o '"rank": [0-9]*, "node": "[^"]*"' report | sort |
		tr -d '\n')" = "$(printf '"rank": %d, "node": "%s"' \
		0 bed-n001 1 bed-n002)" ] || { cat report; return 1; }
	[ -z "$(find . -name 'hpdsl-stall.*')" ]
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

# bats test_tags=more
@test "stage_then_train.sbatch: does not train on what is not there" {
	export DATASET=$PWD/absent
	run job stage_then_train.sbatch --nodes=3 --ntasks-per-node=2
	[ "$status" = 3 ]
	grep -q '^hpdsl-stage: .*absent' job.out
	run ! grep trained job.out
}

# bats test_tags=more
@test "stage_and_train.sbatch: trains while the chunks come" {
	before=$(asked)
	export STAGE_OPTIONS=--rate=1M
	job stage_and_train.sbatch --nodes=2 --ntasks-per-node=2
	[ "$(grep -c '^trained on' job.out)" = 4 ]
	[ $(($(asked) - before)) = "$(size)" ]
}

# bats test_tags=more
@test "stage_and_train.sbatch: does not train on what is not there" {
	export DATASET=$PWD/absent
	run job stage_and_train.sbatch --nodes=2 --ntasks-per-node=2
	[ "$status" = 3 ]
}

# bats test_tags=more
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

# each_served FILE: the two nodes of a job had half each, trained on all, and the
# origin was read once.
each_served()
{
	grep -q '^hpdsl-stage: staged 24 chunks.* 2 parts' "$1"
	[ "$(grep -c '^trained on' "$1")" = 4 ]
	[ $(($(asked) - before)) = "$(size)" ]
	[ "$(grep -c '^hpdsl-serve: node [01] ([^ ]*): ended as asked' "$1")" = 2 ]
	run ! grep -e 'warning' -e 'ended with status' "$1"
	run ! "$nodes" on "$bed" 1 pgrep -x hpdsl-serve
	nothing_staged
}

# bats test_tags=more
@test "mount_and_train.sbatch: a script for a tree, one mount a node" {
	need_fuse
	local p python=python3
	for p in python3 /usr/bin/python3; do
		! "$p" -c 'import sys, importlib.util as i
sys.exit(not i.find_spec("torchvision"))' || python=$p
	done
	printf '#!/bin/bash\nexec %s "$@"\n' "$python" > python
	chmod +x python
	cp "$SRC/tests/kit/image_folder.py" train.py
	before=$(asked)
	export PATH=$PWD:$PATH
	job mount_and_train.sbatch --nodes=2 --ntasks-per-node=2
	[ "$(grep -c '^300 images in 3 classes' job.out)" = 4 ]
	# in two hosts' name spaces, and in none of theirs
	[ "$(grep '^300 images' job.out | sort -u | wc -l)" = 2 ]
	[ $(($(asked) - before)) = "$(size)" ]
	nothing_staged
	for n in 1 2; do
		[ -z "$("$nodes" on "$bed" $n find "$bed/ssd" -name '*.tree')" ]
	done
}

@test "serve_and_train.sbatch: a half on each node, read as a whole" {
	need_server
	before=$(asked)
	export STAGE_OPTIONS=--mode=partition SERVED=2
	job serve_and_train.sbatch --nodes=2 --ntasks-per-node=2
	each_served job.out
}

# bats test_tags=more
@test "servers whose step is killed: the origin is read, and nothing is left" {
	need_server
	cat > killed.sbatch <<- 'END'
		#!/bin/bash
		each=(srun --mpi=pmix --ntasks=2 --ntasks-per-node=1)
		copy=$("${each[@]}" -K1 hpdsl-stage "$DATASET" auto) || exit
		beside=(srun --overlap -K0 --mpi=none --nodes=2 --ntasks=2
			--ntasks-per-node=1 --cpus-per-task=2 --mem=0)
		"${beside[@]}" --job-name=served hpdsl-serve "$copy" &
		SERVED=2 srun --overlap python train.py --data "$copy" || exit
		step=$(squeue -h -s -j "$SLURM_JOB_ID" -o "%i %j" |
			sed -n 's/ served$//p')
		scancel --signal=KILL "$step"
		wait
		"${beside[@]}" bash -c "! pgrep -x hpdsl-serve" || exit 98
		srun --overlap python train.py --data "$copy"
		status=$?
		"${each[@]}" hpdsl-stage -q --clean "$copy"
		exit $status
	END
	export STAGE_OPTIONS=--mode=partition
	job "$(realpath --relative-to="$SRC/examples" killed.sbatch)" \
		--nodes=2 --ntasks-per-node=2
	[ "$(grep -c '^trained on' job.out)" = 8 ]
	run ! grep 'ended as asked' job.out
	run ! "$nodes" on "$bed" 1 pgrep -x hpdsl-serve
	nothing_staged
}

# bats test_tags=more
@test "serve_and_train.pbs: the same, with a node file, as PBS has it" {
	need_server
	printf 'bed-n001\nbed-n001\nbed-n002\nbed-n002\n' > nodefile
	before=$(asked)
	export STAGE_OPTIONS=--mode=partition SERVED=2
	"$nodes" run "$bed" env PBS_NODEFILE="$PWD/nodefile" PBS_JOBID=17 \
		PBS_O_WORKDIR="$PWD" LOCAL="$bed/ssd" \
		bash "$SRC/examples/serve_and_train.pbs" > job.out 2>&1
	each_served job.out
}

# bats test_tags=more
@test "stage_array.sbatch: jobs on a node share one copy" {
	before=$(asked)
	job stage_array.sbatch --array=0-3 --cpus-per-task=2 \
		--nodelist=bed-n001 --open-mode=append
	[ "$(grep -c '^trained on bed-n001' job.out)" = 4 ]
	[ $(($(asked) - before)) = "$(size)" ]
	"$nodes" on "$bed" 1 hpdsl-stage --status "$SHARED/imagenet" > status
	grep -q ' 24 of 24 chunks.*all that was planned' status
}

# bats test_tags=more
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

# bats test_tags=more
@test "early_warning.sbatch: a job that is warned comes back and completes" {
	local more=()

	before=$(asked)
	export STAGE_OPTIONS=--rate=300K
	# by Slurm itself, after a minute, or 30 seconds more
	! at_level long || STAGE_OPTIONS=--rate=15K more=(--time=3)
	"$slurm" run "$bed" sbatch --parsable --output=job.out --nodes=2 \
		"${more[@]}" "$SRC/examples/early_warning.sbatch" > id
	if ! at_level long; then
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

# bats test_tags=more
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
	touch_held='exec 9> /dev/shm/vader_segment.b; exec sleep infinity'
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

# bats test_tags=more
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
