#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# examples/train_fashion_mnist.py, the programs of hpdsl-python(7) and
# hpdsl-frameworks(7) that need PyTorch alone, and the study of what an order does to
# a network's accuracy, on few images; tests/long/accuracy.bats has all of them.
# uses: ports

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/torch

setup_file()
{
	torch_once
	[ -d /usr/share/datasets/fashion-mnist ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	"$python" "$SRC/examples/fashion_mnist_to_png.py" png \
		/usr/share/datasets/fashion-mnist 3000
	hpdsl-pack -q --labels=dir --chunks=24 png packed
}

setup()
{
	need_torch
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	data=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_TMPDIR" || return 1
}

# train OPTION..: two epochs of 12 steps.
train()
{
	torch_python "$SRC/examples/train_fashion_mnist.py" --epochs=2 "$@" \
		"$data/packed"
}

# ranks N OPTION..: the same in N processes; what the first one says.
ranks()
{
	each_of "$1" train "${@:2}"
}

# each_of N COMMAND..
each_of()
{
	local n=$1 r pids=() pid port

	port=$("$python" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')

	for ((r = 1; r < n; r++)); do
		RANK=$r WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=$port "${@:2}" > "rank$r" 2>&1 3>&- &
		pids+=($!)
	done
	RANK=0 WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
		"${@:2}"
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
}

# same_share A B: what was said last, but for a few images of 3000 that rounding
# has moved to another class.
same_share()
{
	diff <(tail -n 1 "$1" | sed 's/^[0-9.]*%//') \
		<(tail -n 1 "$2" | sed 's/^[0-9.]*%//')
	awk 'FNR == 1 { n++ } { share[n] = $1 + 0 }
		END { d = share[1] - share[2]; exit !(d * d <= 0.3 * 0.3) }' "$1" "$2"
}

# same_net A B: checkpoints of the same place, and the same network but for
# rounding.
same_net()
{
	torch_python - "$@" <<- 'END'
		import sys, torch
		a, b = map(torch.load, sys.argv[1:])
		assert a["loader"] == b["loader"], (a["loader"], b["loader"])
		for name, weights in a["net"].items():
		    assert torch.allclose(weights, b["net"][name], atol=1e-3), name
	END
}

@test "trains, and learns something" {
	train --checkpoint=net > out
	[ "$(grep -c '^epoch [01]: 12 steps, loss ' out)" = 2 ]
	# ten classes: a tenth would be no more than guessed
	grep -qE '^([4-9][0-9])\.[0-9]*% of the test images' out
	"$python" -c 'import json; json.load(open("net.order"))'
}

# same_losses FILE: the four that were printed are one, but for rounding.
same_losses()
{
	awk '/ loss / { l[n++] = $NF } END {
		for (i = 1; i < n; i++)
			if ((l[i] - l[0]) ^ 2 > 0.0015 ^ 2) exit 1
		exit n != 4 }' "$1"
}

@test "the loss is the mean of an epoch, also of several processes" {
	# a network that never changes
	train --rate=0 > out
	ranks 2 --rate=0 >> out
	cat out
	same_losses out
}

# programs: those of these pages, as they stand there, and what they read:
# 200 images to train on and 200 to evaluate, on 3 ranks of 64 two steps, of which
# the second is one rank's alone.
programs()
{
	local class page

	for page in python frameworks; do
		"$python" "$SRC/tests/kit/programs.py" "$SRC/man/hpdsl-$page.7" .
	done
	mkdir -p tree/train tree/val
	for class in "$data"/png/*; do
		mkdir "tree/train/${class##*/}" "tree/val/${class##*/}"
		cp "$class"/train-00[01]* "tree/train/${class##*/}"
		cp "$class"/t10k-00[01]* "tree/val/${class##*/}"
	done
	hpdsl-pack -q --labels=dir:2 tree packed
	export OMP_NUM_THREADS=1
}

@test "the programs of hpdsl-python(7) run as they stand there" {
	# the others, which train as this one does, in check-more
	programs
	each_of 3 torch_python train.py
	torch_python evaluate.py > one
	grep -qx '[0-9]* of 200' one
	torch_python with_iterable.py |
		diff - <(printf 'epoch %d: 200 of 200\n' 0 1 2)
}

@test "--every=0: checkpoints where epochs end, and where it stops" {
	train --checkpoint=net --every=0 --steps=15
	grep -q '"epoch": 1, "step": 3' net.order
	run -2 train --every=-1
	[[ $output = *"argument --every: invalid"* ]]
}

@test "a checkpoint that cannot be written is told before the training" {
	local file

	mkdir folder other other.order
	for file in absent/net folder other; do
		run -1 train --checkpoint="$file"
		[ "${#lines[@]}" = 1 ]
		[[ $output = "$file: cannot be written: "* ]]
	done
}

# same_weights A B: of networks, but for rounding.
same_weights()
{
	torch_python - "$@" <<- 'END'
		import sys, torch
		a, b = (torch.load(name) for name in sys.argv[1:])
		a, b = (of.get("net", of) for of in (a, b))
		for name in a:
		    assert torch.allclose(a[name], b[name], atol=1e-5), name
	END
}

# bats test_tags=more
@test "the programs of hpdsl-python(7) train the same on any ranks" {
	programs
	each_of 3 torch_python train.py
	mv model.pt three.pt
	sed -i 's/batch_size=64/batch_size=192/' train.py plain_dataloader.py
	torch_python train.py
	same_weights model.pt three.pt
	torch_python evaluate.py > one
	each_of 3 torch_python evaluate.py > three
	grep -qx '[0-9]* of 200' one
	diff one three
	rm model.pt
	sed -i 's/^\( *\)optimizer.zero_grad()$/&\n\1torch.save(model.state_dict(), "model.pt")/' \
		plain_dataloader.py
	torch_python plain_dataloader.py
	same_weights model.pt three.pt
}

# ended_early PROGRAM: when it has saved its state for the third time.
ended_early()
{
	run -9 torch_python - "$1" <<- 'END'
		import os, runpy, sys
		sys.path.insert(0, "")
		replace, left = os.replace, [3]
		def replaced(*paths):
		    replace(*paths)
		    left[0] -= 1
		    left[0] or os._exit(9)
		os.replace = replaced
		runpy.run_path(sys.argv[1], run_name="__main__")
	END
}

# bats test_tags=more
@test "the one that resumes, ended and begun again on other ranks, is the same" {
	programs
	torch_python resume.py
	mv last.pt whole.pt
	# so that one is in mid-epoch
	sed -i 's/% 100/% 3/' resume.py
	ended_early resume.py
	torch_python - <<- 'END'
		import torch
		loader = torch.load("last.pt")["loader"]
		assert (loader["epoch"], loader["step"]) == (1, 3), loader
	END
	each_of 3 torch_python resume.py
	same_weights last.pt whole.pt
}

# bats test_tags=libraries
@test "with Lightning the accuracy of one rank and of two is one" {
	need_module lightning
	programs
	sed -i 's/^    ds = /    lightning.seed_everything(1)\n&/' with_lightning.py
	"$python" with_lightning.py > one
	sed -i 's/batch_size=64/batch_size=32/; s/max_epochs=3/&, devices=2/' \
		with_lightning.py
	"$python" with_lightning.py > two
	grep -x 'tensor([0-9.]*)' one > wanted
	diff <(grep -x 'tensor([0-9.]*)' two | sort -u) wanted
}

# bats test_tags=more
@test "stopped and begun again it is the same, also on other processes" {
	train --checkpoint=whole > whole.out
	train --checkpoint=net --steps=5
	grep -q '"step": 5' net.order
	train --checkpoint=net --steps=9 --workers=1 > out
	grep -qx 'goes on in epoch 0, step 5' out
	grep -q '"epoch": 1, "step": 2' net.order
	ranks 2 --checkpoint=net > out
	grep -qx 'goes on in epoch 1, step 2' out
	same_net whole net
	same_share whole.out out
	# nothing left to do
	train --checkpoint=net > out
	run ! grep '^epoch' out
}

# bats test_tags=more
@test "from a stage directory while it is being filled" {
	need mpirun
	[ -x "$BUILD/hpdsl-stage" ] || skip "no hpdsl-stage"
	train --checkpoint=whole > whole.out
	hpdsl-stage -q --rate=500K "$data/packed" copy 3>&- &
	until_true test -e copy/stage.hpdsl
	data=$PWD
	ln -s copy packed
	train --checkpoint=net > out
	wait $!
	same_net whole net
}

# bats test_tags=more
@test "any order but none is as good as a full shuffle" {
	hpdsl-pack -q --labels=dir --include='train-*' --chunks=24 "$data/png" half
	torch_python "$SRC/tests/long/accuracy.py" --seeds=1 --epochs=3 \
		--jobs=1 "$data/png" half > table
	[ "$(grep -c ' +- ' table)" = 5 ]
}
