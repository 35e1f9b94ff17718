#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs of hpdsl-frameworks(7) as they stand there, each with its framework.
# bats file_tags=libraries

load ../kit/lib
load ../kit/torch

# 200 pictures to train on and 40 to validate with, in ten classes.
setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	"$python" - <<- 'END'
		import os
		from PIL import Image
		for part, n in ("train", 200), ("val", 40):
		    for i in range(n):
		        folder = f"tree/{part}/{i % 10}"
		        os.makedirs(folder, exist_ok=True)
		        color = i % 10 * 25, i, 0
		        Image.new("RGB", (32, 24), color).save(f"{folder}/{i:03}.png")
	END
	hpdsl-pack -q --labels=dir:2 tree packed
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	ln -s "$BATS_FILE_TMPDIR/packed" packed
	for page in python frameworks; do
		"$python" "$SRC/tests/kit/programs.py" "$SRC/man/hpdsl-$page.7" . \
			>> names
	done
	export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 HF_HOME=$PWD/hf
	export RAY_USAGE_STATS_ENABLED=0 TF_CPP_MIN_LOG_LEVEL=3
}

# program NAME..: without its framework's advice.
program()
{
	"$python" -W ignore "$@" 2> err || { cat err; return 1; }
}

# ranks N NAME
ranks()
{
	program -m torch.distributed.run --nproc-per-node="$1" --standalone "$2"
}

@test "each program of hpdsl-frameworks(7) is run" {
	grep -oE '^	+(program|ranks [0-9]) [a-z_]+[.]py' "$BATS_TEST_FILENAME" |
		sed 's/.* //' | grep -vx some.py | sort -u > run
	"$python" "$SRC/tests/kit/programs.py" "$SRC/man/hpdsl-frameworks.7" . |
		sort | diff - run
}

@test "FSDP, on one rank and on two" {
	ranks 1 with_fsdp.py
	ranks 2 with_fsdp.py
}

@test "DataLoader: single samples" {
	program with_iterable.py > out
	diff out <(printf 'epoch %d: 200 of 200\n' 0 1 2)
	ranks 2 with_iterable.py > out
	[ "$(grep -c '^epoch [0-2]: 100 of 100$' out)" = 6 ]
}

@test "StatefulDataLoader: goes on where it was ended" {
	sed 's/^        torch.save(.*/&\n        if batch.step == 1:\n            break/' \
		with_stateful.py > some.py
	program some.py > one
	program with_stateful.py > two
	cat one two | diff - <(printf '%s\n' '0 64' '1 64' '2 64' '3 64')
}

@test "Lightning: goes on behind its last checkpoint" {
	sed -i 's/every_n_train_steps=100/every_n_train_steps=3/' lightning_resumed.py
	sed 's/max_epochs=3/max_steps=6/' lightning_resumed.py > some.py
	program some.py
	cp kept/last.ckpt six.ckpt
	program lightning_resumed.py
	[ "$(steps_of six.ckpt)" = 6 ]
	[ "$(steps_of kept/last.ckpt)" = 12 ]
}

# steps_of CHECKPOINT: of Lightning's.
steps_of()
{
	"$python" -c 'import sys, torch
print(torch.load(sys.argv[1], weights_only=False)["global_step"])' "$1"
}

@test "Accelerate: goes on behind the epoch that was saved" {
	cat >> with_accelerate.py <<- 'END'
		    of = torch.load("saved/dl_state_dict.bin", weights_only=False)
		    print(of["epoch"], of["step"])
	END
	sed 's/epoch < 3/epoch < 2/' with_accelerate.py > some.py
	program some.py > out
	program with_accelerate.py >> out
	diff out <(echo 2 0; echo 3 0)
	rm -r saved
	ranks 2 with_accelerate.py > out
	[ "$(sort -u out)" = "3 0" ]
}

@test "Trainer, on one rank and on two" {
	program with_trainer.py > said
	grep -q "'epoch': '3'" said
	[ -d out/checkpoint-12 ]
	sed -i 's/"out", num/"two", use_cpu=True, num/' with_trainer.py
	ranks 2 with_trainer.py
	[ -d two/checkpoint-6 ]
}

@test "Ray Train: ranks that Ray has begun" {
	sed -i 's/^        for batch in loader:$/        print(len(loader), "steps", len(ds))\n&/' \
		with_ray.py
	program with_ray.py > out
	grep -q '2 steps 240' out
}

@test "DALI: each sample once an epoch, wherever it is ended and goes on" {
	sed 's/^            os.replace(.*/&\n            left[0] -= 1\n            left[0] or exit()/
		s/^import os$/&\nimport sys\nleft = [int(sys.argv[1])]/' with_dali.py > some.py
	for n in 6 2 3; do
		program some.py "$n"
	done > out
	program with_dali.py >> out
	program with_dali.py >> out
	for epoch in 0 1 2; do
		printf '%s\n' "$epoch 0 64" "$epoch 1 64" "$epoch 2 64" "$epoch 3 8"
	done | diff - out
}

@test "TensorFlow: trains on all of them" {
	echo '    print(len(data), int(sum(sum(real) for _, _, real in data)))' > added
	sed -i '/^    model.fit(data, epochs=3)$/r added' with_tensorflow.py
	program with_tensorflow.py > out
	[ "$(tail -n 1 out)" = "4 200" ]
}
