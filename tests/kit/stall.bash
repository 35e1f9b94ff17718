# SPDX-License-Identifier: Apache-2.0
# For tests of hpdsl-stall: `load ../kit/stall` behind `load ../kit/python`.
# shellcheck shell=bash

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
}

need_torch_here()
{
	forks_are_safe
	"$PYTHON" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("torch"))' ||
		skip "no torch for $PYTHON"
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
		            time.sleep(0.005)  # clock: what it computes
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

# within PART FROM TO: its share.
within()
{
	local is
	is=$(share "$1")
	echo "$1: $is %"
	figure "stall.$BATS_TEST_NUMBER.$1.percent" "$is"
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
