#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The order of an epoch: the library's vectors are those of a second
# implementation.
# bats file_tags=quick

load ../kit/lib
load ../kit/python

@test "the model gives the vectors that the library is held to" {
	PYTHONPATH=$SRC/tests/kit python3 -B - <<- 'END'
		import os
		import order_model as m
		path = os.environ["SRC"] + "/tests/unit/kit/sequence_vectors.h"
		count = 0
		for order, sizes, times, samples in m.read_vectors(open(path).read()):
		    lists = m.lists_of(sizes, times)
		    assert m.epoch_of(order, lists) == samples, count
		    count += 1
		assert count > 70, count
	END
}

# The block behind a comment of the page, as it reads.
block()
{
	awk -v mark=".\\\\\" $*" '
		$0 == mark { on = 1; next }
		on && /^\.\\" END$/ { exit }
		on && !/^\.(Bd|Ed)/
	' "$SRC/man/hpdsl-order.7"
}

# The dataset that the page's vectors are of.
page_dataset()
{
	local n=0 class
	for class in a:12 b:7 c:4; do
		mkdir -p "in/${class%:*}"
		for ((i = 0; i < ${class#*:}; i++, n++)); do
			printf '%d' "$n" > "in/${class%:*}/$(printf %02d "$i").txt"
		done
	done
	hpdsl-pack -q --shuffle=none --labels=dir --chunks=4 in ds
	[ "$(hpdsl-ls --chunks -l ds | awk '{ print $2 }' | paste -sd ' ')" = \
		"6 6 6 5" ]
}

@test "the page's vectors are those of the model" {
	local kind
	for kind in VECTORS:page DIGESTS:digests WEIGHTS:weights TIMES:times \
		ENDS:ends SHORT:short NODES:nodes DEFAULTS:defaults; do
		block "${kind%:*}" > theirs
		[ "$(wc -l < theirs)" -gt 1 ]
		"$SRC/tests/kit/order_model.py" "${kind#*:}" | diff theirs -
	done
}

# of COLUMN BLOCK: what hpdsl-order prints there with the options of a block,
# which lines of numbers follow.
of()
{
	local options
	block "$2" | grep '^[0-9]' | tr ' ' '\n' > theirs
	block "$2" | awk '/^--/ { line = line " " $0; next }
		line { print line; line = "" }' > lines
	while read -r options; do
		# shellcheck disable=SC2086
		hpdsl-order $options ds > out
		cut -f "$1" out
	done < lines > ours
	diff ours theirs
}

@test "the page's vectors are those of the commands" {
	local options numbers
	page_dataset
	of 2 VECTORS
	[ "$(wc -l < ours)" -gt 200 ]
	of 1 ENDS
	[ "$(wc -l < ours)" -gt 70 ]
	block DIGESTS > digests
	while read -r numbers options; do
		# shellcheck disable=SC2086
		hpdsl-bench -q --steps=1 --save=state $options ds
		[ "$(field choice < state)" = "$numbers" ]
	done < digests
	[ "$(wc -l < digests)" = 4 ]
	# the example is of the first vector
	block EXAMPLE | sed -n 's/^step .: *//p' | xargs -n 1 > example
	[ "$(wc -l < example)" = 12 ]
	block VECTORS | sed -n 2p | xargs -n 1 | head -n 12 | diff example -
}

@test "the page's vectors are those of the library" {
	local kind
	page_dataset
	for kind in WEIGHTS TIMES NODES; do
		block $kind > "of_$kind"
		[ "$(wc -l < "of_$kind")" -ge 2 ]
	done
	py - <<- 'END'
		import ctypes
		import hpdsl
		from hpdsl._abi import lib
		ds = hpdsl.Dataset("ds")
		def samples(weights, **order):
		    epoch = hpdsl.Epoch(ds, hpdsl.Order(**order), hpdsl.Choice(
		        ds, sample_weight=weights))
		    return list(epoch)
		want = [int(n) for n in open("of_WEIGHTS").read().split()]
		assert samples([0, 1, 2, 3] * 5 + [1, 1, 1], seed=5, batch=4,
		               lanes=4, piece=2, windows=1) == want
		for line in open("of_TIMES"):
		    given, times = line.split(":")
		    seed, epoch, s, w = map(int, given.split())
		    weights = [1.0] * len(ds)
		    weights[s] = w / 2 ** 32
		    got = samples(weights, seed=seed, epoch=epoch, batch=4)
		    assert got.count(s) == int(times), line
		class Span(ctypes.Structure):
		    _fields_ = [("first", ctypes.c_uint32),
		                ("last", ctypes.c_uint32)]
		parts_of = ctypes.CFUNCTYPE(Span, *[ctypes.c_uint32] * 3)(
		    ("hpdsl_stage_parts_of", ctypes.CDLL(lib.path)))
		for line in open("of_NODES"):
		    given, spans = line.split(":")
		    n, D = map(int, given.split())
		    of = [parts_of(n, D, k) for k in range(n)]
		    assert spans.split() == [f"{s.first}-{s.last}" for s in of], line
	END
}

@test "the states in the page are those that are written" {
	local pack
	page_dataset
	hpdsl-bench -q --split=0.4:1:9 --seed=42 --epoch=3 --batch=4 --lanes=8 \
		--piece=2 --windows=2 --steps=2 --save=one ds
	hpdsl-bench -q --no-shuffle --batch=4 --end=drop --save=two ds
	pack=$(field pack < one)
	block STATE | tr -d '\n' | sed 's/}{/}\n{/' |
		sed 's/"pack": "[0-9a-f]*"/"pack": "'"$pack"'"/' | awk 1 > theirs
	cat one two | diff theirs -
	head -n 1 theirs > state
	hpdsl-order --state=state --split=0.4:1:9 ds > out
	[ "$(wc -l < out)" = 6 ]
	tail -n 1 theirs > state
	[ -z "$(hpdsl-order --state=state ds)" ]
}

# bats test_tags=wide
@test "the program in the page gives the model's orders" {
	block PYTHON > page.py
	grep -q '^def order' page.py
	PYTHONPATH=$SRC/tests/kit python3 -B - "$(rounds 60 150 1500)" <<- 'END'
		import itertools, sys
		import order_model as m
		page = {"key_of": m.key_of, "permutation": m.permutation}
		exec(open("page.py").read(), page)
		for order, sizes, times in itertools.islice(
		        m.epoch_cases(), int(sys.argv[1])):
		    first = list(itertools.accumulate([0] + sizes))
		    chunks = [list(range(*pair)) for pair in zip(first, first[1:])]
		    of = times.__getitem__ if times else lambda s: 1
		    lists, ours = list(page["lists_of"](chunks, of)), m.lists_of(
		        sizes, times)
		    assert lists == ours, (sizes, times)
		    seed, epoch, G, L, b, v, D = order
		    assert page["order"](lists, seed, epoch, G, L, b, v, D) == \
		        m.epoch_of(order, ours), (order, sizes, times)
		    assert page["plain"](lists) == m.plain_of(ours)
		    N = len(m.plain_of(ours))
		    for s in range(-(-N // G)):
		        assert list(page["slots"](N, s, G, L)) == m.places_of(
		            N, G, L, "mask", s), (N, s, G, L)
		        for R in range(1, G + 1):
		            for t in range(R) if s == N // G else ():
		                assert page["short"](N, s, G, L, R, t) == \
		                    m.places_of(N, G, L, "short", s, t, R)
		chunks = [range(0, 6), range(6, 12), range(12, 18), range(18, 23)]
		for line in m.PAGE_VECTORS:
		    o, choice = m.order_in(m.words(line)), m.chosen(m.words(line), 23)
		    times = choice and m.times_of(choice[0], o.seed, o.epoch)
		    lists = list(page["lists_of"](
		        chunks, times.__getitem__ if times else lambda s: 1))
		    seed, epoch, G, L, b, v, D = o
		    assert m.found_by(line, m.PAGE_CHUNKS) == (
		        page["plain"](lists) if "no-shuffle" in line else
		        page["order"](lists, seed, epoch, G, L, b, v, D)), line
	END
}

@test "defaults are those of the model" {
	local rule cell
	page_dataset
	printf '%s\n' 0 3 5 6 7 9 12 13 15 17 20 22 > list
	mkdir many
	python3 -c 'for i in range(2000):
	open(f"many/{i}.bin", "wb").write(bytes(i * 7 % 5000))'
	hpdsl-pack -q --chunks=70 many shuffled
	hpdsl-pack -q --chunks=70 --shuffle=none many sorted
	for rule in ds sorted shuffled; do
		for cell in "" --ranks=3 "--batch-size=1 --ranks=4" \
			"--batch-size=300" "--batch-size=14 --ranks=7" \
			"--batch=12 --ranks=5 --uneven" "--batch=96 --workers=5" \
			"--lanes=8 --batch=8" "--batch-size=7 --piece=3" \
			"--samples=list --batch-size=5"; do
			# shellcheck disable=SC2086
			hpdsl-order --cost --json $cell "$rule" > cost
			echo "$rule $cell"
			cat cost
		done
	done > costs
	for rule in ds sorted shuffled; do
		hpdsl-ls --chunks --json "$rule" > "$rule.chunks"
	done
	PYTHONPATH=$SRC/tests/kit python3 -B - <<- 'END'
		import json
		import order_model as m
		lines = open("costs").read().splitlines()
		for said, cost in zip(lines[::2], lines[1::2]):
		    name, options = said.split()[0], m.words(said)
		    cost = json.loads(cost)
		    chunks = [json.loads(line) for line in open(name + ".chunks")]
		    n = {k: int(options.get(k, 0)) for k in (
		        "batch-size", "batch", "lanes", "piece", "ranks", "workers")}
		    total = sum(c["samples"] for c in chunks)
		    some = 12 if "samples" in options else total
		    of = m.Set(some, sum(c["plain_bytes"] for c in chunks) * some //
		               total, len(chunks), name == "shuffled", n["batch-size"],
		               n["ranks"] or 1, n["workers"] or 1)
		    want = m.fill(of, n["batch"], n["lanes"], n["piece"])
		    got = tuple(cost[k] for k in ("batch", "lanes", "piece", "windows"))
		    assert got == want, (said, got, want)
		assert len(lines) == 60, len(lines)
	END
}

# numbers OPTION..: the samples of ds in their order.
numbers()
{
	hpdsl-order "$@" ds | cut -f 2
}

@test "hpdsl-order: ranks, workers and ranges are of one order" {
	local order=(--seed=4 --batch=4 --lanes=4 --piece=2 --windows=1)
	local rank worker
	page_dataset
	hpdsl-order "${order[@]}" ds > all
	[ "$(cut -f 1 all | paste -sd ' ')" = "$(seq -s ' ' 0 22)" ]
	cut -f 2 all | sort -n | diff - <(seq 0 22)
	# keys are those of the samples
	cut -f 2,3 all | sort -n | cut -f 2 | diff - <(hpdsl-ls --samples ds)
	for rank in 0 1; do
		for worker in 0 1 2; do
			hpdsl-order "${order[@]}" --ranks=2 --rank=$rank \
				--workers=3 --worker=$worker ds
		done
	done | sort -n | diff - all
	hpdsl-order "${order[@]}" --ranks=2 --rank=1 --workers=3 --worker=1 \
		ds | cut -f 1 | diff - <(printf '%s\n' 6 7 18 19)
	hpdsl-order "${order[@]}" --from=5 --count=7 ds |
		diff - <(sed -n '6,12p' all)
	hpdsl-order "${order[@]}" --from=22 ds | diff - <(tail -n 1 all)
	[ -z "$(hpdsl-order "${order[@]}" --from=23 ds)" ]
	[ -z "$(hpdsl-order "${order[@]}" --count=0 ds)" ]
	hpdsl-order "${order[@]}" --step=3 ds | diff - <(tail -n +13 all)
	hpdsl-order "${order[@]}" --step=3 --steps=2 ds |
		diff - <(sed -n '13,20p' all)
	[ -z "$(hpdsl-order "${order[@]}" --step=6 ds)" ]
	fails 2 "no step 7, the epoch has 6" \
		hpdsl-order "${order[@]}" --step=7 ds
	fails 2 "is too large" hpdsl-order --batch=100000000 --lanes=1 ds
	# of a short step no more places are held than it has
	[ "$(hpdsl-order --batch=4000000000 --end=short ds | wc -l)" = 23 ]
	hpdsl-order "${order[@]}" --end=drop ds | diff - <(head -n 20 all)
	# what was in its lane before
	hpdsl-order "${order[@]}" --end=repeat ds |
		diff - <(cat all; sed -n 20p all)
	# dealt anew, and nothing lost
	hpdsl-order "${order[@]}" --end=short ds | diff - all
	for rank in 0 1 2; do
		hpdsl-order "${order[@]}" --end=short --ranks=3 --uneven \
			--rank=$rank ds | tail -n 1
	done | diff - <(tail -n 3 all)
	# three ranks: only if asked to
	fails 2 "a batch of 4: 3 ranks do not divide it; 2 or 4 do" hpdsl-order \
		"${order[@]}" --ranks=3 ds
	fails 2 "5 ranks cannot share a batch of 4" hpdsl-order \
		"${order[@]}" --ranks=5 --uneven ds
	for rank in 0 1 2; do
		hpdsl-order "${order[@]}" --ranks=3 --uneven --rank=$rank ds
	done | sort -n | diff - all
	# --batch-size is of one rank
	hpdsl-order "${order[@]/--batch=4/--batch-size=2}" --ranks=2 ds |
		diff - <(hpdsl-order "${order[@]}" --ranks=2 ds)
	fails 2 "is not --batch-size=3 of 2 ranks" hpdsl-order "${order[@]}" \
		--batch-size=3 --ranks=2 ds
	# of uneven ranks it is the most that one has
	hpdsl-order "${order[@]}" --batch-size=2 --ranks=3 --uneven --rank=2 \
		ds | diff - <(hpdsl-order "${order[@]}" --ranks=3 --uneven \
		--rank=2 ds)
	hpdsl-bench -q --batch=4 --batch-size=2 --ranks=3 --uneven ds
	fails 2 "is not --batch-size=2 of 3 ranks" hpdsl-order "${order[@]}" \
		--batch-size=2 --ranks=3 ds
}

@test "hpdsl-order --where: the inverse, and whose place that is" {
	local order=(--seed=4 --batch=4 --lanes=8 --piece=2 --windows=2)
	local n position rank
	page_dataset
	hpdsl-order "${order[@]}" ds > all
	while read -r position n _; do
		hpdsl-order "${order[@]}" --where="$n" --ranks=2 ds > out
		rank=$((position % 4 / 2))
		printf '%s\t%s\t%s\t%s\n' "$position" $((position / 4)) \
			$((position % 4)) $rank | diff out -
		hpdsl-order "${order[@]}" --ranks=2 --rank=$rank ds |
			grep -q "^$position	$n	"
	done < all
	# a short step is dealt anew: rank 0 has one of its three
	order+=(--end=short --ranks=2)
	n=$(sed -n 22p all | cut -f 2)
	hpdsl-order "${order[@]}" --where="$n" ds | cut -f 1,4 |
		diff - <(printf '21\t1\n')
	hpdsl-order "${order[@]}" --rank=0 --step=5 ds | diff - <(sed -n 21p all)
	order=("${order[@]:0:5}")
	# each time that it comes
	order+=(--balanced)
	hpdsl-order "${order[@]}" ds > all
	for n in 3 21 22; do
		hpdsl-order "${order[@]}" --where=$n ds | cut -f 1 |
			diff - <(awk -v n=$n '$2 == n { print $1 }' all)
	done
	hpdsl-order --where=3 --json --no-shuffle --batch=2 ds |
		grep -q '"sample": 3, "position": 3, "step": 1, "slot": 1'
	fails 1 "sample 3 does not come" hpdsl-order --label=b --where=3 ds
	fails 2 "no sample 23" hpdsl-order --where=23 ds
	fails 2 "is of a whole epoch" hpdsl-order --where=2 --step=1 ds
}

@test "hpdsl-order: a state, a choice, and what makes no sense" {
	local order=(--seed=9 --batch=4 --lanes=4 --piece=2 --windows=1) option
	page_dataset
	hpdsl-bench -q "${order[@]}" --label=a --steps=2 --save=state ds
	hpdsl-order --state=state --label=a ds > rest
	hpdsl-order "${order[@]}" --label=a ds | tail -n +9 | diff rest -
	[ "$(wc -l < rest)" = 4 ]
	[ "$(cut -f 3 rest | grep -c ^a/)" = 4 ]
	fails 3 "state: the state is of a choice of samples" hpdsl-order \
		--state=state ds
	fails 3 "state: the state is of another choice" hpdsl-order \
		--state=state --label=b ds
	fails 2 "state: the state has another --batch" hpdsl-order \
		--state=state --label=a --batch=8 ds
	echo '{"seed": 9, "batch": 4}' > short
	hpdsl-order --state=short ds | diff - <(hpdsl-order --seed=9 --batch=4 ds)
	hpdsl-order --state=short --lanes=8 ds |
		diff - <(hpdsl-order --seed=9 --batch=4 --lanes=8 ds)
	hpdsl-order --state=short --label=a ds |
		diff - <(hpdsl-order --seed=9 --batch=4 --label=a ds)
	echo 'shuffle: false' > plain
	hpdsl-order --state=plain --batch=4 --parts=1 ds |
		diff - <(hpdsl-order --no-shuffle --batch=4 ds)
	for option in --lanes=8 --piece=2 --windows=2 --parts=2; do
		fails 2 "plain: the state has another ${option%=*}" \
			hpdsl-order --state=plain --batch=4 $option ds
	done
	echo '{"seed": 9, "W": 4}' > old
	fails 3 "'W' is no field of a loader's state" hpdsl-order --state=old ds
	numbers --include='b/*' --exclude='*3.txt' | sort -n |
		diff - <(seq 12 18 | grep -vx 15)
	printf '%s\n' 5 3 22 5 > list
	[ "$(numbers --samples=list | sort -n | paste -sd ' ')" = "3 5 22" ]
	{ numbers --split=0:0.3:8; numbers --split=0.3:1:8; } | sort -n |
		diff - <(seq 0 22)
	numbers --no-shuffle | diff - <(seq 0 22)
	fails 2 "--label: no class 'nobody'; there are '" hpdsl-order --label=nobody ds
	fails 2 "not one sample of 23 is chosen" hpdsl-order --include=x ds
	fails 2 "--from and --count are for the list" hpdsl-order --cost \
		--from=3 ds
	fails 2 "a multiple or a divisor of batch" hpdsl-order --batch=4 \
		--lanes=3 ds
	fails 2 "leaves no lanes" hpdsl-order --no-shuffle --lanes=4 ds
	fails 2 "leaves no lanes, pieces, windows and parts" hpdsl-order \
		--no-shuffle --parts=2 ds
	fails 2 "4294967296 lanes are too many: they have to be below 2^32" hpdsl-order --batch=1 --lanes=4294967296 ds
	fails 2 "2^32 samples or more" hpdsl-order --batch-size=65536 \
		--ranks=65536 ds
	fails 3 "nothing" hpdsl-order nothing
}

# folder DATASET DIR..: the paths of the samples that it chooses, sorted.
folder()
{
	local ds=$1 options
	shift
	options=("${@/#/--folder=}")
	hpdsl-order "${options[@]}" "$ds" | cut -f 3 | LC_ALL=C sort
}

@test "hpdsl-order --folder: train and val of one dataset, however it was made" {
	local f
	mkdir -p in/train/{cat,dog} in/val/{cat,'a:b'} in/train-2
	for f in train/cat/{1..9} train/dog/{1..5} val/cat/{1..4} val/a:b/{1,2} \
		train-2/{1..3} top; do
		echo "$f" > "in/$f.jpg"
		echo "$f, too" > "in/$f.x.json"
	done
	tar --sort=name -cf some.tar -C in ./train ./train-2 ./top.jpg ./top.x.json
	tar --sort=name -cf others.tar -C in val
	hpdsl-index -q -o adopted some.tar others.tar
	hpdsl-pack -q --labels=dir:2 in packed
	hpdsl-pack -q --names=portable --zstd in portable
	hpdsl-pack -q --group=none in apart
	for f in packed portable adopted; do
		[ "$(folder $f train | wc -l)" = 14 ]
		[ "$(folder $f val/ | wc -l)" = 6 ]
		[ "$(folder $f ./val/a:b | wc -l)" = 2 ]
		[ "$(folder $f train/dog train-2 val | wc -l)" = 14 ]
		# nothing of train-2 is in train, and all of it somewhere
		{ folder $f train; folder $f val; folder $f train-2; } |
			LC_ALL=C sort > parts
		hpdsl-order $f | cut -f 3 | grep -v '^top' | LC_ALL=C sort |
			diff parts -
		fails 2 "no sample is in folder 'tra', there are 'train', 'train-2', 'val'" \
			hpdsl-order --folder=tra $f
	done
	[ "$(folder apart train | wc -l)" = 28 ]
	# by the file that they lie in, which is elsewhere
	hpdsl-order --tars='o*.tar' adopted | cut -f 3 | LC_ALL=C sort |
		diff - <(folder adopted val)
	fails 2 "no tar is called 'some', there are 'others.tar', 'some.tar'" \
		hpdsl-order --tars=some adopted
	folder packed val | grep -vE '^val/(cat|a:b)/[0-9]' && false
	# the state knows the choice by its samples
	hpdsl-bench -q --batch=2 --steps=1 --folder=val --save=state packed
	hpdsl-order --state=state --include='val/**' packed > /dev/null
	fails 3 "state: the state is of another choice" hpdsl-order \
		--state=state --folder=train packed
	# a share is one of all samples: both sides of it make the folder
	{ numbers_of --folder=train --split=0:0.5; \
		numbers_of --folder=train --split=0.5:1; } | sort -n |
		diff - <(numbers_of --folder=train | sort -n)
	# one class of that name, whichever part it is in
	[ "$(numbers_of --label=cat | wc -l)" = 13 ]
	[ "$(numbers_of --label=cat --folder=val | wc -l)" = 4 ]
}

numbers_of()
{
	hpdsl-order "$@" packed | cut -f 2
}

# costs_short "STEPS FILLING RANK_SAMPLES" OPTION..
costs_short() {
	hpdsl-order --cost --json --no-shuffle --end=short "${@:2}" ds > cost
	[ "$(for name in steps filling_samples rank_samples; do
		field $name < cost
	done | paste -sd ' ')" = "$1" ]
}

@test "hpdsl-order --cost: chunk-mates meet as often as there are windows" {
	local windows all reads mean=$((60 * 1024 / 50))
	mkdir in
	for ((i = 0; i < 4000; i++)); do
		echo "$i" > "in/$i.txt"
	done
	hpdsl-pack -q --chunks=80 in ds
	for windows in 1 2 4 8; do
		hpdsl-order --cost --json --batch=16 --lanes=16 --piece=4 \
			--windows=$windows ds > cost
		[ "$(field windows < cost)" = $windows ]
		[ "$(field samples < cost)" = 4000 ]
		[ "$(field chunks < cost)" = 80 ]
		[ "$(field steps < cost)" = 250 ]
		[ "$(field rank_lanes < cost)" = 16 ]
		# so much of a chunk's 60 KiB as it has of its 50 samples
		[ "$(field piece_bytes < cost)" = $((mean * 4)) ]
		# all but the first header of a read, and what pads its last
		# sample
		all=$((4000 * 1024)) reads=$(field reads < cost)
		[ "$(field wanted_bytes < cost)" -gt $((all - reads * 1024)) ]
		[ "$(field wanted_bytes < cost)" -lt $((all - reads * 1000)) ]
		[ "$(field read_bytes < cost)" -ge "$(field wanted_bytes < cost)" ]
		awk -v m="$(field mates < cost)" -v v=$windows \
			-v b=4 -v k=50 -v L=16 -v N=4000 'BEGIN {
				e = v * (1 - (b - 1) / (k - 1)) * (1 - v * L * b / 3 / N)
				exit !(m / e > 0.8 && m / e < 1.25)
			}'
	done
	# of a piece one read has what lies in a chunk, or what its lane gets
	hpdsl-order --cost --json --batch=16 --lanes=16 --piece=400000 ds > cost
	[ "$(field piece_bytes < cost)" = $((mean * 50)) ]
	hpdsl-order --cost --json --batch=16 --lanes=160 --piece=400000 ds > cost
	[ "$(field piece_bytes < cost)" = $((mean * 25)) ]
	hpdsl-order --cost --batch=16 --lanes=16 --piece=4 --windows=1 ds > cost
	grep -q '^order:       batch 16, 16 lanes, pieces of 4 samples (4.8 KiB)' \
		cost
	grep -q '^epoch:       4000 samples in 80 chunks, 250 steps$' cost
	grep -q '^a rank:      16 of 16 samples a step, 16 lanes; holds' cost
	grep -q '^mixing:      a step has samples of 16 pieces of 1[0-9] chunks' \
		cost
	# a short step: ranks that have none of it have one of before
	costs_short "2 2 1333" --batch=3999 --ranks=3
	costs_short "2 0 666" --batch=2000 --ranks=3 --uneven
	costs_short "1 0 1333" --batch=6000 --ranks=3
	costs_short "1 1000 0" --batch=5000 --ranks=5000
	hpdsl-order --cost --no-shuffle --end=short --batch=6000 --ranks=3 ds |
		grep -q '^a rank:      1333 of 4000 samples a step'
}

@test "hpdsl-order --classes, and positions as JSON" {
	page_dataset
	# class a has 12 of 23, and all are in one batch
	hpdsl-order --classes --json ds > classes
	grep -q '"batches": 1, "classes_mean": 3.000, "classes_min": 3,' classes
	grep -q '"largest_share_max": 0.522' classes
	# in batches of one there is no mixture
	hpdsl-order --classes --batch=1 ds > classes
	grep -q 'over 23 steps: 1.0 in a batch, at least 1' classes
	grep -q 'most frequent is 100.0 % of a batch, at most 100.0 %' classes
	hpdsl-order --classes --label=b --json ds | grep -q '"classes_min": 1,'
	hpdsl-order --json --count=3 --from=4 --batch=4 ds |
		python3 -c '
import json, sys
for line in sys.stdin:
    p = json.loads(line)
    print(p["position"], p["sample"], p["key"], sep="\t")
    s = p["sample"]
    assert p["label"] == (s >= 12) + (s >= 19) and p["step"] == 1' > theirs
	hpdsl-order --count=3 --from=4 --batch=4 ds | diff - theirs
}
