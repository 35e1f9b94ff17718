#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stall: what it says of jobs whose truth is known, what becomes of the
# job, and that nothing is left.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python

setup_file()
{
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	export OMPI_MCA_rmaps_base_oversubscribe=1
	cd "$BATS_FILE_TMPDIR" || return 1
	"$PYTHON" - <<- 'EOF'
		import os, random
		dice = random.Random(22)
		for i in range(4000):
		    folder = f"tree/class{i % 20}"
		    os.makedirs(folder, exist_ok=True)
		    with open(f"{folder}/{i:04}.bin", "wb") as f:
		        f.write(dice.randbytes(dice.randint(3000, 30000)))
	EOF
	hpdsl-pack -q --labels=dir --chunks=8 tree ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	ds=$BATS_FILE_TMPDIR/ds
	# Our library that counts calls comes before it, and does no harm.
	[ -z "${SAN:-}" ] || export ASAN_OPTIONS+=:verify_asan_link_order=0
}

need_torch_here()
{
	forks_are_safe
	"$PYTHON" -c 'import torch' 2> no || skip "no torch: $(tail -n 1 no)"
}

# files_job WORKERS OPTIONS: a script that knows nothing of HPDSL.
files_job()
{
	cat > job.py <<- EOF
		import glob, sys, time
		import torch
		from torch.utils.data import DataLoader, Dataset
		class Files(Dataset):
		    def __init__(self, root):
		        self.names = sorted(glob.glob(root + "/*/*.bin"))
		    def __len__(self):
		        return len(self.names)
		    def __getitem__(self, i):
		        with open(self.names[i], "rb") as f:
		            return torch.tensor([len(f.read()), i])
		def loop():
		    options = dict(num_workers=$1, $2)
		    train = DataLoader(Files(sys.argv[1]), 16, shuffle=True, **options)
		    test = DataLoader(Files(sys.argv[1]), 512, **options)
		    kind = "_SingleProcess" if $1 == 0 else "_MultiProcessing"
		    for epoch in range(40):
		        it, n = iter(train), 0
		        assert type(it).__name__ == kind + "DataLoaderIter", it
		        for batch in it:
		            assert batch.shape == (16, 2) and batch.min() >= 0
		            n += 1
		            time.sleep(0.005)
		        assert n == len(train) == 250, n
		        assert sum(1 for batch in test) == len(test) == 8
		        torch.save({"epoch": epoch}, "saved")
		        with open("seen", "a") as f:
		            print(epoch, file=f)
		if __name__ == "__main__":
		    loop()
	EOF
}

teardown()
{
	[ ! -d slow ] || fusermount3 -uq slow || :
}

# The least that there are intervals of.
stall()
{
	hpdsl-stall run -q --rounds=1 --steps=8 "$@"
}

bench()
{
	echo hpdsl-bench -q --memory=16M --batch-size=16 --epochs=40
}

nothing_left()
{
	[ -z "$(find . -name 'hpdsl-stall.*')" ]
}

# share PART: of a cold step, in percent.
share()
{
	"$PYTHON" - "$1" <<- 'EOF'
		import json, sys
		r = json.load(open("report"))
		print(round(100 * r["parts"][sys.argv[1]]["ms"] /
		            r["steps"]["cold"]["ms"]))
	EOF
}

# within PART FROM TO, and the parts add up.
within()
{
	local is
	is=$(share "$1")
	echo "$1: $is %"
	[ "$is" -ge "$2" ] && [ "$is" -le "$3" ]
}

# Two runs of the same (A/A): whether this machine can be measured now.
alike()
{
	local i
	for i in 1 2; do
		hpdsl-bench -q --json --memory=16M --batch-size=16 --steps=200 \
			--compute=0.005 "$ds" > "aa.$i"
	done
	"$PYTHON" - <<- 'EOF'
		import json
		a, b = (json.load(open(f"aa.{i}"))["seconds"] for i in (1, 2))
		print(f"A/A: {a:.2f} and {b:.2f} s")
		raise SystemExit(abs(a - b) > 0.05 * min(a, b))
	EOF
}

# one_of_three CHECK OPTION.. -- JOB: a report, of three, that the check takes.
one_of_three()
{
	local i check=$1
	shift
	for i in 1 2 3; do
		with_library stall -o report "$@"
		! "$check" || return 0
	done
	alike || skip "A/A: two runs of the same differ by more than 5 %"
	return 1
}

adds_up()
{
	"$PYTHON" - <<- 'EOF'
		import json
		r = json.load(open("report"))
		parts = sum(p["ms"] for p in r["parts"].values())
		assert abs(parts - r["steps"]["cold"]["ms"]) < 0.01, parts
		for rank in r["ranks"]:
		    phases = [b["phase"] for b in rank["blocks"]]
		    assert set(rank["page_cache"]) >= {"warm", "cold", "real"}
		    assert phases == [p for p in ("replay", "load", "warm",
		                                  "cold", "real")
		                      for _ in range(3)], phases
	EOF
}

@test "storage that is slow: named, with its share, one of three times" {
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	mkdir slow
	"$BUILD/tests/bed/origin" "$ds" slow -o "rate=13M,keep=30,watch=$$"
	waits()
	{
		adds_up && within fetch 65 85
	}
	# 264 KB a step take 20 ms, and are read as 275; blocks of fewer steps
	# than what is read at a time would be uneven
	# shellcheck disable=SC2046
	one_of_three waits --steps=40 --json -- $(bench) --compute=0.005 slow
	grep -q '"bound": "fetch"' report
	nothing_left
}

@test "a job that computes: its steps wait for nothing, one of three times" {
	local i
	for i in 1 2 3; do
		# shellcheck disable=SC2046
		stall -o text -- $(bench) --compute=0.03 "$ds"
		cat text
		! grep -q '^a step does not wait for data' text || break
	done
	grep -q '^a step does not wait for data' text
	grep -qE '^  compute +3[0-9]\.[0-9] ms' text
	grep -q 'warm was warm: yes' text
	# what is asked to be dropped stays in a file system of memory
	[ "$(stat -f -c %T "$ds")" != tmpfs ] || grep -q 'cold was cold: no' text
	[ "$(wc -l < text)" -le 12 ]
	nothing_left
}

@test "two ranks play the same steps" {
	command -v mpirun > /dev/null || skip "no mpirun"
	# shellcheck disable=SC2016
	stall --json -o report -- mpirun -n 2 sh -c 'exec hpdsl-bench -q \
		--memory=16M --batch-size=32 --epochs=40 --compute=0.02 --ranks=2 \
		--rank=$OMPI_COMM_WORLD_RANK "$0"' "$ds" || status=$?
	[ "${status:-0}" = 0 ]
	adds_up
	[ "$(grep -o '"rank": [0-9]*' report | sort -u | wc -l)" = 2 ]
	nothing_left
}

@test "the dataset of somebody else, who keeps others from writing" {
	need_root
	need setpriv
	mkdir mine
	chown 65533 mine
	chmod 755 . .. ../.. "$BATS_FILE_TMPDIR"
	chmod -R a+rX "$ds"
	set -- setpriv --reuid=65533 --regid=65533 --clear-groups
	"$@" test -r . -a -x "$BUILD/hpdsl-stall" ||
		skip "user 65533 cannot come here"
	cd mine
	# shellcheck disable=SC2046
	"$@" hpdsl-stall run -q \
		--rounds=1 --steps=8 --no-load -o text -- $(bench) \
		--compute=0.01 "$ds"
	cat text
	# by RWF_NOWAIT, as cachestat() says no; in memory that says nothing
	if [ "$(stat -f -c %T "$ds")" = tmpfs ]; then
		grep -q '^cold was cold: unknown ' text
	else
		grep -q '^cold was cold: [yn].*; warm was warm: yes' text
	fi
	nothing_left
}

# The phases of a run of its own begin as those that follow others.
@test "--separate: a run for each phase, and none beside another" {
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	mkdir slow
	"$BUILD/tests/bed/origin" "$ds" slow -o "rate=13M,keep=30,watch=$$"
	waits()
	{
		adds_up && within fetch 50 90
	}
	# shellcheck disable=SC2016
	one_of_three waits --separate --json -- sh -c 'echo >> starts
		exec hpdsl-bench -q --memory=16M --batch-size=16 --epochs=40 \
			--compute=0.005 slow'
	[ "$(($(wc -l < starts) % 4))" = 0 ]
	grep -q '"separate": true' report
	"$PYTHON" - <<- 'EOF'
		import json
		cold = json.load(open("report"))["ranks"][0]["page_cache"]["cold"]
		assert cold["bytes"] > 24 * 200000, cold
	EOF
	# the second run has no rank, and says so
	# shellcheck disable=SC2016
	fails 3 "run 2 of 4: sh ended with exit status 0 before its" \
		stall --separate -- \
		sh -c '[ ! -e once ] || exec hpdsl-bench -q --steps=5 "$0"
		touch once; exec hpdsl-bench -q --memory=16M --batch-size=16 \
			--epochs=40 --compute=0.005 "$0"' "$ds"
	nothing_left
}

# Three read local files, one the bed.
@test "one slow rank of four is named" {
	command -v mpirun > /dev/null || skip "no mpirun"
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	mkdir slow
	"$BUILD/tests/bed/origin" "$ds" slow -o "rate=13M,keep=30,watch=$$"
	waits_for_it()
	{
		adds_up && within fetch 50 90 &&
			grep -q '"bound": "fetch".*"slowest": 2, ' report
	}
	# shellcheck disable=SC2016
	one_of_three waits_for_it --json -- mpirun -n 4 sh -c '
		[ "$OMPI_COMM_WORLD_RANK" = 2 ] && from=slow || from=$0
		exec hpdsl-bench -q --memory=16M --batch-size=16 --epochs=40 \
			--compute=0.005 --ranks=4 \
			--rank=$OMPI_COMM_WORLD_RANK "$from"' "$ds"
	nothing_left
}

# What expands takes the core that computes, which makes its steps longer, and
# would not be so with another core: that is no stall.
@test "interference on one core, one of three times" {
	[ -z "${SAN:-}" ] || skip "sanitizers take the core, too"
	need taskset
	"$PYTHON" - <<- 'EOF'
		import os
		os.mkdir("words")
		line = b" ".join(b"%d" % (i * i) for i in range(20000))
		for i in range(512):
		    with open(f"words/{i:03}.txt", "wb") as f:
		        f.write(line[i:] + line[:i])
	EOF
	hpdsl-pack -q --zstd --chunks=8 words zst
	cat > job.py <<- 'EOF'
		import statistics, sys, time, hpdsl
		spin, end, epochs = float(sys.argv[2]), int(sys.argv[3]), []
		with hpdsl.Loader(hpdsl.Dataset(sys.argv[1]), batch_size=32,
		                  memory=64 << 20, epochs=400) as it:
		    while it.epoch < end:
		        begin, n = time.monotonic(), 0
		        for batch in it:
		            until = time.thread_time() + spin
		            while time.thread_time() < until:
		                pass
		            n += 1
		        epochs.append((time.monotonic() - begin) / n)
		print(statistics.median(epochs[1:]))
	EOF
	export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1
	cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
	shared()
	{
		adds_up || return 1
		with_library taskset -c "$cpu" "$PYTHON" job.py zst 0.02 8 > both
		"$PYTHON" - <<- 'EOF'
			import json
			r = json.load(open("report"))
			both = float(open("both").read())
			is_ = {k: v["ms"] for k, v in r["parts"].items()}
			print(both, is_)
			truth = 100 * (both - 0.02) / both
			said = 100 * is_["interference"] / sum(is_.values())
			print("truth", truth, "said", said)
			raise SystemExit(abs(truth - said) > 10)
		EOF
	}
	one_of_three shared --json -- taskset -c "$cpu" "$PYTHON" job.py zst \
		0.02 400
	nothing_left
}

@test "a job that ends early, that has no loader, that is none" {
	# shellcheck disable=SC2046
	fails 3 "before its loaders had handed out 20 steps" \
		stall -- $(bench) --steps=5 "$ds"
	# shellcheck disable=SC2046
	fails 3 "ended at step 399, and measuring takes until step" stall -- $(bench) --steps=400 \
		--compute=0.01 "$ds"
	fails 1 "made no loader of HPDSL" stall -- true
	fails 3 "no-such-program: No such file" stall -- no-such-program
	fails 3 "no-such-folder: No such file" stall --dir=no-such-folder -- true
	nothing_left
}

# Sixteen samples of 3 ms, by two workers, and 5 ms of the loop.
@test "hpdsl.torch: what workers do is named, one of three times" {
	local i
	need_torch_here
	cat > job.py <<- 'EOF'
		import sys, time
		import torch, hpdsl, hpdsl.torch
		def decode(view):
		    time.sleep(0.003)
		    return torch.tensor([len(view)])
		def loop():
		    ds = hpdsl.Dataset(sys.argv[1])
		    loader = hpdsl.torch.Loader(ds, batch_size=16, epochs=40,
		                                memory=16 << 20, decode=decode,
		                                num_workers=2)
		    was = 0, -1
		    while loader.epoch < 40:
		        for batch in loader:
		            wanted = was[0], was[1] + 1
		            if wanted[1] == len(loader):
		                wanted = was[0] + 1, 0
		            was = batch.epoch, batch.step
		            assert was == wanted, (was, wanted)
		            assert (batch.data >= 3000).all()
		            time.sleep(0.005)
		loop()
	EOF
	export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1
	for i in 1 2 3; do
		with_library stall --json -o report -- "$PYTHON" job.py "$ds"
		adds_up
		[ "$i" = 3 ] || within preparation 65 90 || continue
		within preparation 65 90
		break
	done
	# on a busy machine storage may be waited for, too
	! grep -q '"bound": "compute"' report || return 1
	nothing_left
}

@test "a DataLoader over files: what it waits for, one of three times" {
	local i
	need_torch_here
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	mkdir slow site
	"$BUILD/tests/bed/origin" "$BATS_FILE_TMPDIR/tree" slow -o \
		"rate=13M,keep=30,mapped=*,watch=$$"
	files_job 2 ""
	# the site's own has its turn
	echo 'open("site/was here", "w").close()' > site/sitecustomize.py
	export PYTHONPATH=$PWD/site PYTHONDONTWRITEBYTECODE=1
	for i in 1 2 3; do
		# 264 KB a step take 20 ms, of which the loop computes 5
		with_library stall --steps=20 --json -o report -- \
			"$PYTHON" job.py slow
		adds_up
		[ "$i" = 3 ] || within fetch 40 85 || continue
		within fetch 40 85
		break
	done
	grep -q '"bound": "fetch"' report
	[ -e 'site/was here' ]
	[ -s seen ] && [ ! -e saved ]
	"$PYTHON" - <<- 'EOF'
		import json
		rank, = json.load(open("report"))["ranks"]
		cold = rank["asks"]["cold"]
		n = cold["batches"]
		assert n >= 60, n
		assert 15 * n <= cold["opens"] <= 20 * n, cold
		assert 15 * n <= cold["stats"], cold
		assert 200000 * n < cold["bytes"] < 350000 * n, cold
		assert cold["reads"] >= 15 * n and cold["entries"] < n, cold
		assert rank["page_cache"]["cold"]["bytes"] > 200000 * n
	EOF
	nothing_left
}

@test "a DataLoader: spawned, kept workers; none; a Python that does not look" {
	need_torch_here
	files_job 2 'multiprocessing_context="spawn", persistent_workers=True'
	export PYTHONDONTWRITEBYTECODE=1
	with_library stall -o text -- "$PYTHON" job.py "$BATS_FILE_TMPDIR/tree"
	cat text
	grep -q '^a batch opens 1[5-9]' text
	files_job 0 ""
	with_library stall --keep-saves -o text -- "$PYTHON" job.py \
		"$BATS_FILE_TMPDIR/tree"
	grep -q '^a batch opens 1[5-9]' text
	! grep -q 'by rates' text || return 1
	[ ! -s seen ] || [ -s saved ]
	echo 'from torch.utils.data import DataLoader; list(DataLoader([1]))' \
		> short.py
	with_library fails 1 "python -I and -E do not look" stall -- \
		"$PYTHON" -I short.py
	nothing_left
}

# What it has replayed must not be kept.
@test "SIGTERM while it is played: the job keeps nothing" {
	cat > job.py <<- 'EOF'
		import signal, sys, time
		import hpdsl
		def keep(*_):
		    open("kept", "w").close()
		    sys.exit()
		signal.signal(signal.SIGTERM, keep)
		ds = hpdsl.Dataset(sys.argv[1])
		with hpdsl.Loader(ds, batch_size=16, memory=16 << 20) as loader:
		    while True:
		        loader.next_batch()
		        time.sleep(0.02)
	EOF
	export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1
	local status=0 i
	with_library hpdsl-stall run --steps=100 -- "$PYTHON" job.py "$ds" \
		2> err 3>&- &
	for ((i = 0; i < 600; i++)); do
		! grep -q 'alike by now' err || break
		sleep 0.1
	done
	sleep 1
	pkill -TERM -f "hpdsl-stall run --steps=100 -- $PYTHON job.py $ds"
	wait $! || status=$?
	[ "$status" = 143 ]
	[ ! -e kept ]
	nothing_left
}

@test "SIGTERM and a deadline: job and folder are gone" {
	local status=0
	# shellcheck disable=SC2046
	hpdsl-stall run -q -- $(bench) --compute=0.05 "$ds" 3>&- &
	sleep 2
	kill -TERM $!
	wait $! || status=$?
	[ "$status" = 143 ]
	nothing_left
	status=0
	# shellcheck disable=SC2046
	stall --deadline=3 -- $(bench) --compute=0.05 "$ds" || status=$?
	[ "$status" = 75 ]
	nothing_left
	! pgrep -f "hpdsl-bench.*$ds" || return 1
}

@test "HPDSL_STALL without an hpdsl-stall that is alive is an error" {
	HPDSL_STALL=$PWD/gone fails 2 "no hpdsl-stall is alive" hpdsl-bench -q "$ds"
	mkdir -m 700 stale
	touch -d '2 minutes ago' stale/beat
	HPDSL_STALL=$PWD/stale fails 2 "no hpdsl-stall is alive" \
		hpdsl-bench -q "$ds"
	chmod 755 stale
	HPDSL_STALL=$PWD/stale fails 2 "others have rights to it" \
		hpdsl-bench -q "$ds"
}

@test "Python: what the script sees goes on, and its state is refused" {
	cat > job.py <<- 'EOF'
		import sys, time
		import hpdsl
		ds = hpdsl.Dataset(sys.argv[1])
		seen = []
		with hpdsl.Loader(ds, batch_size=16, memory=16 << 20,
		                  epochs=40) as loader:
		    for epoch in range(40):
		        for batch in loader:
		            assert batch.epoch == epoch, (batch.epoch, epoch)
		            if seen and seen[-1][0] == epoch:
		                assert batch.step == seen[-1][1] + 1
		            seen.append((batch.epoch, batch.step))
		            assert len(batch.data[0]) > 0
		            time.sleep(0.005)
		            if len(seen) == 60:
		                with open("state", "w") as f:
		                    f.write(hpdsl_json(loader.state_dict()))
	EOF
	sed -i 's/^import hpdsl$/import hpdsl\nfrom json import dumps as hpdsl_json/' \
		job.py
	export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1
	with_library stall --json -o report -- "$PYTHON" job.py "$ds"
	adds_up
	nothing_left
	fails 3 "it trained nothing" hpdsl-bench -q --state=state "$ds"
}
