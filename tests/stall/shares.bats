#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stall: what it says of jobs whose truth is known.
# bats file_tags=time

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python
load ../kit/stall

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
	computes()
	{
		cat report
		grep -q '^a step does not wait for data' report &&
			grep -qE '^  compute +3[0-9]\.[0-9] ms' report
	}
	# shellcheck disable=SC2046
	one_of_three computes -- $(bench) --compute=0.03 "$ds"
	grep -q 'warm was warm: yes' report
	# what is asked to be dropped stays in a file system of memory
	[ "$(stat -f -c %T "$ds")" != tmpfs ] ||
		grep -q 'cold was cold: no' report
	[ "$(wc -l < report)" -le 12 ]
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

# Sixteen samples of 3 ms, by two workers, and 5 ms of the loop.
@test "hpdsl.torch: what workers do is named, one of three times" {
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
	waits_for_workers()
	{
		adds_up && within preparation 65 90
	}
	one_of_three waits_for_workers --json -- "$PYTHON" job.py "$ds"
	grep -q '"bound": "preparation"' report
	nothing_left
}

@test "a DataLoader over files: what it waits for, one of three times" {
	need_torch_here
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	mkdir slow site
	"$BUILD/tests/bed/origin" "$BATS_FILE_TMPDIR/tree" slow -o \
		"rate=13M,keep=30,mapped=*,watch=$$"
	files_job 2 ""
	# the site's own has its turn
	echo 'open("site/was here", "w").close()' > site/sitecustomize.py
	export PYTHONPATH=$PWD/site PYTHONDONTWRITEBYTECODE=1
	waits()
	{
		adds_up && within fetch 40 85
	}
	# 264 KB a step take 20 ms, of which the loop computes 5
	one_of_three waits --steps=20 --json -- "$PYTHON" job.py slow
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
