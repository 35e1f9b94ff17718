#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs in examples/ do what they say, and the demo runs.

bats_require_minimum_version 1.5.0
load ../kit/lib

teardown()
{
	[ -z "${top:-}" ] || rm -rf "$top"
}

@test "read_samples: every sample, with its class and bytes" {
	make_tree tree 3 20
	hpdsl-pack -q --labels=dir --chunks=4 tree packed
	"$BUILD/examples/read_samples" packed > out
	[ "$(wc -l < out)" = 60 ]
	grep -qP '^\d+\tclass1/00007\tclass1\t3 members\t\d+ bytes$' out
	"$BUILD/examples/read_samples" packed 7 > out
	[ "$(wc -l < out)" = 9 ]
	mkdir one
	printf %100s x > one/a.bin
	hpdsl-pack -q one alone
	"$BUILD/examples/read_samples" alone | grep -qP '\t1 member\t100 bytes$'
	run "$BUILD/examples/read_samples" absent
	[ "$status" = 1 ]
}

@test "read_epoch: epochs in order, and on from a state" {
	make_tree tree 3 200
	hpdsl-pack -q --labels=dir --chunks=12 tree packed
	"$BUILD/examples/read_epoch" packed 3 > all
	[ "$(grep -c '^epoch [012] step [012]: 256 samples, sum ' all)" = 9 ]
	"$BUILD/examples/read_epoch" packed 3 state 4 > part
	"$BUILD/examples/read_epoch" packed 3 state >> part
	diff all part
	"$BUILD/examples/read_epoch" packed 3 state > none
	[ ! -s none ]
	hpdsl-pack -q --chunks=5 tree other
	run "$BUILD/examples/read_epoch" other 3 state
	[ "$status" = 1 ]
	[[ $output = "read_epoch: state: "* ]]
	run "$BUILD/examples/read_epoch" packed 3 nowhere/state 1
	[ "$status" = 1 ]
	[[ $output = *"read_epoch: nowhere/state"*": No such file"* ]]
	[ -z "$(find . -name 'state?*')" ]
}

@test "read_chunks.py: finds the samples that read_samples finds" {
	make_tree tree 3 20
	hpdsl-pack -q --chunks=4 tree packed
	"$BUILD/examples/read_samples" packed | cut -f 2 > ours
	"$SRC/examples/read_chunks.py" packed > out
	diff ours <(cut -f 1 out)
	grep -qP '^class2/00003\tjson=\d+\tpng=\d+$' out
}

@test "read_chunks.py: a reader that leaves ends it quietly" {
	make_tree tree 2 1000
	hpdsl-pack -q tree packed
	for ((i = 0; i < 10; i++)); do
		ln packed/chunk-000000.tar "packed/chunk-00001$i.tar"
	done
	status=0
	(set -o pipefail
	"$SRC/examples/read_chunks.py" packed 2> err | head -n 1 > first) ||
		status=$?
	[ "$status" = 141 ]
	[ ! -s err ]
	[ "$(wc -l < first)" = 1 ]
}

@test "pack.sbatch: a sound script that comes back while there is more" {
	script=$SRC/examples/pack.sbatch
	bash -n "$script"
	! command -v shellcheck > /dev/null || shellcheck "$script"
	mkdir bin
	printf '#!/bin/sh\necho "$@" > requeued\n' > bin/scontrol
	chmod +x bin/scontrol
	make_tree imagenet 2 10
	export PATH=$PWD/bin:$PATH PROJECT=$PWD SLURM_JOB_ID=17
	bash "$script"
	[ ! -e requeued ]
	hpdsl-verify -q imagenet.hpdsl
	# one that is stopped by its deadline
	printf '#!/bin/sh\nexit 75\n' > bin/hpdsl-pack
	chmod +x bin/hpdsl-pack
	status=0
	bash "$script" || status=$?
	[ "$status" = 75 ]
	[ "$(cat requeued)" = "requeue 17" ]
}

@test "read_snapshot: every file below a path, with its size" {
	make_tree tree 3 20
	mkdir -p tree/empty
	hpdsl-snapshot create -q tree -o snap
	"$BUILD/examples/read_snapshot" snap > out 2> err
	(cd tree && find . -type f -printf '%s\t%P\n') | LC_ALL=C sort -k 2 |
		diff - <(LC_ALL=C sort -k 2 out)
	grep -qx 'read_snapshot: 5 folders' err
	"$BUILD/examples/read_snapshot" snap class1 > out
	[ "$(grep -vc $'\tclass1/' out)" = 0 ]
	[ "$(wc -l < out)" = "$(find tree/class1 -type f | wc -l)" ]
	run "$BUILD/examples/read_snapshot" snap absent
	[ "$status" = 1 ]
}

@test "snapshot.sbatch: a snapshot once, and anew when it is stale" {
	script=$SRC/examples/snapshot.sbatch
	bash -n "$script"
	! command -v shellcheck > /dev/null || shellcheck "$script"
	mkdir -p bin imagenet/train
	printf '#!/bin/sh\ntr "\\0" "\\n" < files > seen\n' > bin/srun
	chmod +x bin/srun
	touch imagenet/train/{1,2}.JPEG imagenet/train/README
	export PATH=$PWD/bin:$PATH PROJECT=$PWD
	bash "$script" 2> first.err
	[ "$(cat seen)" = $'train/1.JPEG\ntrain/2.JPEG' ]
	cp imagenet.snap first
	bash "$script" > out 2> err
	cmp first imagenet.snap
	[ ! -s out ]
	[ "$(grep ' digest' first.err)" = "$(grep ' digest' err)" ]
	touch imagenet/train/3.JPEG
	bash "$script" > out
	[ "$(cat out)" = "+ train/3.JPEG" ]
	[ "$(wc -l < seen)" = 3 ]
	run ! cmp -s first imagenet.snap
	rm -r imagenet
	status=0
	bash "$script" || status=$?
	[ "$status" = 3 ]
}

# hold FILE open|mapped: by a process of root's, until its input ends.
hold()
{
	python3 - "$@" <<- 'END'
		import mmap, os, sys
		end = open("hold") # before it is told: whoever writes goes
		f = open(sys.argv[1], "r+b")
		if sys.argv[2] == "mapped":
		    m = mmap.mmap(f.fileno(), 1)
		    f.close()
		open("held." + sys.argv[2], "w").close()
		end.read()
	END
}

# In folders of the test: names there are as hostile as /dev/shm allows.
@test "epilog.sh: names that users choose remove nothing but their own" {
	local name shm scratch user=nobody
	need_root
	need runuser
	id "$user" > /dev/null || skip "no user $user"
	top=$(mktemp -d /tmp/epilog.XXXXXX)
	shm=$top/shm scratch=$top/scratch
	mkdir -p "$shm" "$scratch/"{17,18}/stage precious/file
	mkdir "$scratch/17/"$'a b\n-r\nprecious' "$scratch/17/roots"
	ln -s "$scratch/18/stage" "$scratch/17/link"
	ln -s "$scratch/18" "$scratch/19"
	for name in vader_segment.{a,-r,'b c'} -r precious osc_held \
		sm_segment.$'\n'mapped 'psm2_shm.\012mapped' \
		mpich_$'\n-r\nprecious\n'; do
		echo > "$shm/$name"
	done
	ln -s "$PWD/precious/file" "$shm/sm_segment.link"
	touch precious/of_user
	chown -hR "$user" "$top" precious/of_user
	chown root "$top" "$shm" "$scratch/17/roots"
	echo > "$shm/vader_segment.roots"
	chmod 755 "$top"
	chmod 1777 "$shm"
	sed "s|/dev/shm|$shm|g" "$SRC/examples/epilog.sh" > epilog
	grep -q "$shm/" epilog
	printf '#!/bin/sh\nprintf "%%s\\0" "$@" >> "%s/cleaned"\n' "$top" \
		> "$top/stage"
	chmod 755 "$top/stage"
	touch "$top/cleaned"
	chmod 666 "$top/cleaned"
	mkfifo hold
	exec 9<> hold
	hold "$shm/osc_held" open 3>&- 9>&- &
	hold "$shm/sm_segment."$'\n'mapped mapped 3>&- 9>&- &
	until_true test -e held.open
	until_true test -e held.mapped

	for job in 17 19; do
		SLURM_JOB_ID=$job SLURM_JOB_USER=$user SCRATCH=$scratch \
			HPDSL_STAGE=$top/stage bash epilog
	done
	exec 9>&-
	wait
	[ -d precious/file ]
	[ -e precious/of_user ]
	[ -d "$scratch/18/stage" ]
	(cd "$shm" && find . -mindepth 1 -print0 | LC_ALL=C sort -z) > left
	printf './%s\0' -r osc_held precious sm_segment.$'\n'mapped \
		sm_segment.link vader_segment.roots | cmp - left
	printf '%s\0' --clean -q "$scratch/17/"$'a b\n-r\nprecious' \
		"$scratch/17/stage" |
		cmp - <(LC_ALL=C sort -zu "$top/cleaned")
}

# epilog_metrics NODE: as on that node of two.
epilog_metrics()
{
	rm -f told
	SLURM_JOB_ID=17 SLURM_JOB_USER=nobody SLURM_JOB_NODELIST='n[1-2]' \
		SLURMD_NODENAME=$1 HPDSL_METRICS=$top/m SCONTROL=$top/scontrol \
		"$SRC/examples/epilog_metrics.sh"
}

# left DIR: two files.
left()
{
	local of=("$1"/*.prom)
	[ "${#of[@]}" = 2 ] || { echo "${of[@]}"; return 1; }
}

@test "epilog_metrics.sh: one line of what a job has counted" {
	need_root
	need runuser
	id nobody > /dev/null || skip "no user nobody"
	top=$(mktemp -d /tmp/epilog.XXXXXX)
	chmod 755 "$top"
	mkdir "$top/m" "$top/m/last"
	cat > "$top/scontrol" <<- END
		#!/bin/sh
		case \$1 in
		show) [ "\$3" = 'n[1-2]' ] && printf 'n1\nn2\n' ;;
		update) printf '%s\n' "\$@" > "$PWD/told" ;;
		esac
	END
	chmod 755 "$top/scontrol"
	make_tree tree 2 30
	hpdsl-pack -q tree packed
	export HPDSL_METRICS=$top/m
	for job in 17 17 18; do
		SLURM_JOB_ID=$job hpdsl-bench -q --epochs=2 packed
	done
	# one that was killed, and what users may come up with
	cp "$top"/m/last/*.prom "$top/m"
	# shellcheck disable=SC2016
	printf 'hpdsl_loader_steps_total{job="17",x="%s"} $(touch bad)\n' a \
		> "$top/m/hpdsl-bad.prom"
	ln -s /etc/passwd "$top/m/hpdsl-link.prom"
	chown -hR nobody "$top/m"
	echo '{job="17",' > "$top/m/last/hpdsl-roots.prom"
	chown root "$top/m" "$top/m/last"
	chmod 1777 "$top/m" "$top/m/last"
	cp -a "$top/m" "$top/before"

	epilog_metrics n2
	[ ! -e told ]
	left "$top/m" # of job 18, and the link
	left "$top/m/last" # of job 18, and root's
	rm -r "$top/m"
	mv "$top/before" "$top/m"
	epilog_metrics n1
	cat told
	[ "$(head -n 2 told | tr '\n' ' ')" = "update JobId=17 " ]
	[ "$(wc -l < told)" = 3 ]
	grep -qE '^Comment=hpdsl: 4 loaders, 480 samples, [0-9.]+ MB, waited [0-9.]+ % for data; read [0-9.]+ MB, of the origin 0.0 MB, of other nodes 0.0 MB$' told
	left "$top/m/last"
	[ ! -e bad ] && [ -s /etc/passwd ]
	# nothing left of it: nothing is told
	epilog_metrics n1
	[ ! -e told ]
}

@test "fashion_mnist_to_png.py: PNG files in class folders" {
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	"$SRC/examples/fashion_mnist_to_png.py" out \
		/usr/share/datasets/fashion-mnist 100
	[ "$(find out -name '*.png' | wc -l)" = 200 ]
	[ "$(find out -mindepth 1 -type d | wc -l)" = 10 ]
	# an ankle boot is the first of them, the first in the paper too
	[ -s out/Ankle_boot/train-00000.png ]
}

@test "demo: on a tree of one's own" {
	make_tree tree 4 50
	BUILD=$BUILD DEMO_DIR=$PWD/demo "$SRC/tests/demo.sh" tree > out
	[ "$(tail -n 1 out)" = "demo: all good" ]
}
