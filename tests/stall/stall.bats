#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stall: what becomes of the job that it measures, who may be measured, and
# that nothing is left.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python
load ../kit/stall

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

@test "a job that ends early, that has no loader, that is none" {
	# shellcheck disable=SC2046
	fails 3 "before its loaders had handed out 20 steps" \
		stall -- $(bench) --steps=5 "$ds"
	# shellcheck disable=SC2046
	fails 3 "ended at step 399, and measuring takes until step" stall -- $(bench) --steps=400 \
		--compute=0.01 "$ds"
	fails 1 "made no loader of HPDSL" stall -- true
	# shellcheck disable=SC2016
	fails 1 "sh ended with exit status 139 (Segmentation fault)" \
		stall -- sh -c 'kill -SEGV $$'
	fails 3 "no-such-program: No such file" stall -- no-such-program
	fails 3 "no-such-folder: No such file" stall --dir=no-such-folder -- true
	nothing_left
}

# bats test_tags=more
@test "a DataLoader: spawned, kept workers; a Python that does not look" {
	need_torch_here
	files_job 2 'multiprocessing_context="spawn", persistent_workers=True'
	export PYTHONDONTWRITEBYTECODE=1
	with_library stall -o text -- "$PYTHON" job.py "$BATS_FILE_TMPDIR/tree"
	cat text
	grep -q '^a batch opens 1[5-9]' text
	echo 'from torch.utils.data import DataLoader; list(DataLoader([1]))' \
		> short.py
	with_library fails 1 "python -I and -E do not look" stall -- \
		"$PYTHON" -I short.py
	nothing_left
}

@test "a DataLoader without workers" {
	need_torch_here
	files_job 0 ""
	export PYTHONDONTWRITEBYTECODE=1
	with_library stall --keep-saves -o text -- "$PYTHON" job.py \
		"$BATS_FILE_TMPDIR/tree"
	grep -q '^a batch opens 1[5-9]' text
	! grep -q 'by rates' text || return 1
	[ ! -s seen ] || [ -s saved ]
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
		        time.sleep(0.02)  # clock: what it computes
	EOF
	export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1
	local status=0
	with_library hpdsl-stall run --steps=100 -- "$PYTHON" job.py "$ds" \
		2> err 3>&- &
	until_true grep -qs 'alike by now' err
	pkill -TERM -f "hpdsl-stall run --steps=100 -- $PYTHON job.py $ds"
	wait $! || status=$?
	[ "$status" = 143 ]
	[ ! -e kept ]
	nothing_left
}

@test "SIGTERM, SIGHUP and a deadline: job and folder are gone" {
	local status signal
	for signal in TERM HUP; do
		# shellcheck disable=SC2046
		env --default-signal=$signal hpdsl-stall run -q -- $(bench) \
			--compute=0.05 "$ds" 2> err 3>&- &
		until_true pgrep -f "^hpdsl-bench .*$ds"
		kill -$signal $!
		status=0
		wait $! || status=$?
		[ "$status" = $((128 + $(kill -l $signal))) ]
		grep -q "ended by SIG$signal" err
		nothing_left
	done
	# shellcheck disable=SC2046
	fails 75 "stopped early, by SIGUSR1 or --deadline, before hpdsl-bench" \
		stall --deadline=3 -- $(bench) --compute=0.05 "$ds"
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
		            # of the step that is played
		            assert sum(batch.mask) == batch.whole
		            time.sleep(0.005)  # clock: what it computes
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
