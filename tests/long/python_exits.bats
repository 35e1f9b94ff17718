#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# bats file_tags=long
# Python ends while a daemon thread is anywhere in a loader.  No code is patched:
# the thread only gets the processor last, as on a busy node.

load ../kit/lib
load ../kit/python

setup_file()
{
	standard samples
	export ds=$set/ds
}

# ends DATASET SECONDS: processes in which a thread loads, and others in which it
# watches, for so long; 0: a thousand.  Says how many.
ends()
{
	taskset -c 0 "$PYTHON" - "$@" <<- 'END'
		import subprocess, sys, time
		PROGRAM = """
		import os, sys, threading, time
		import hpdsl
		loader = hpdsl.Loader(hpdsl.Dataset(sys.argv[1]), batch_size=18)
		if sys.argv[2] == "watches":
		    next(iter(loader))
		def load():
		    os.sched_setscheduler(threading.get_native_id(), os.SCHED_IDLE,
		                          os.sched_param(0))
		    while True:
		        loader.next_batch() if sys.argv[2] == "loads" else loader.stats()
		threading.excepthook = lambda _: None
		threading.Thread(target=load, daemon=True).start()
		while sys.argv[2] == "loads" and loader.stats()["steps"] < 20:
		    time.sleep(0.001)
		"""
		end, n = time.monotonic() + float(sys.argv[2]), 0
		while time.monotonic() < end if sys.argv[2] != "0" else n < 1000:
		    for what in "loads", "watches":
		        got = subprocess.run([sys.executable, "-c", PROGRAM, sys.argv[1],
		                              what], stderr=subprocess.STDOUT,
		                             stdout=subprocess.PIPE, text=True)
		        assert (got.returncode, got.stdout) == (0, ""), (what, got)
		        n += 1
		    print("# 2 exits", flush=True)
	END
}

@test "Python ends while a thread loads, or watches" {
	PYTHONPATH=$SRC/lib/python ends "$ds" "${LONG_SECONDS:-0}" >&3
}
