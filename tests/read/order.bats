#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The order of an epoch: the library's vectors are those of a second
# implementation.

load ../kit/lib

@test "the model gives the vectors that the library is held to" {
	"$SRC/tests/kit/order_model.py" order > vectors
	diff vectors "$SRC/tests/unit/kit/order_vectors.h"
	"$SRC/tests/kit/order_model.py" epochs > vectors
	diff vectors "$SRC/tests/unit/kit/epoch_vectors.h"
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

@test "the page's vectors are those of the model and of the commands" {
	local options numbers
	block VECTORS > vectors
	"$SRC/tests/kit/order_model.py" page | diff vectors -
	block DIGESTS > digests
	"$SRC/tests/kit/order_model.py" digests | diff digests -
	page_dataset
	while read -r options; do
		if [[ $options = [0-9]* ]]; then
			echo "$options" | tr ' ' '\n'
			continue
		fi
		[[ $options = --* ]] || options=
		# shellcheck disable=SC2086
		hpdsl-order $options ds > out
		cut -f 1 out | diff - <(seq 0 $(($(wc -l < out) - 1))) >&2
		cut -f 2 out >> ours
	done < vectors > theirs
	[ "$(wc -l < ours)" -gt 200 ]
	diff ours theirs
	while read -r numbers options; do
		hpdsl-read -q --steps=1 --save=state "$options" ds
		[ "$(field choice < state)" = "$numbers" ]
	done < digests
	[ "$(wc -l < digests)" = 3 ]
}

@test "the program in the page gives the model's orders" {
	block PYTHON > page.py
	grep -q '^def order' page.py
	PYTHONPATH=$SRC/tests/kit PYTHONDONTWRITEBYTECODE=1 python3 -c '
import order_model as m
exec(open("page.py").read(), vars(m))
count = 0
for samples, weights, seed, epoch, W, L, K, Q, D, *_ in m.epoch_cases():
    occurrences = m.occurrences(samples, weights, seed, epoch)
    assert m.order(occurrences, seed, epoch, W, L, K, D) == \
        m.epoch_of(samples, weights, seed, epoch, W, L, K, D), count
    count += 1
assert count > 50'
}

# numbers OPTION..: the samples of ds in their order.
numbers()
{
	hpdsl-order "$@" ds | cut -f 2
}

@test "hpdsl-order: ranks, workers and ranges are of one order" {
	local order=(--seed=4 --window=1 --lanes=4 --run=2 --step-runs=2)
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
	hpdsl-order "${order[@]}" --from-step=3 ds | diff - <(tail -n +13 all)
	[ -z "$(hpdsl-order "${order[@]}" --from-step=6 ds)" ]
	fails 2 "no step 7, the epoch has 6" \
		hpdsl-order "${order[@]}" --from-step=7 ds
	fails 2 "is too large" hpdsl-order --run=100000000 ds
	fails 2 "is too large" \
		hpdsl-order --run=4294967295 --step-runs=4294967295 ds
	hpdsl-order "${order[@]}" --end=drop ds | diff - <(head -n 20 all)
	hpdsl-order "${order[@]}" --end=repeat ds |
		diff - <(cat all; head -n 1 all)
	# three ranks: only if asked to
	fails 2 "3 ranks do not divide a step of 4 runs" hpdsl-order \
		"${order[@]}" --step-runs=4 --ranks=3 ds
	fails 2 "3 ranks cannot share steps of 2 runs" hpdsl-order \
		"${order[@]}" --ranks=3 --uneven ds
	for rank in 0 1 2; do
		hpdsl-order "${order[@]}" --step-runs=4 --ranks=3 --uneven \
			--rank=$rank ds
	done | sort -n | diff - all
}

@test "hpdsl-order: a state, a choice, and what makes no sense" {
	page_dataset
	hpdsl-read -q --seed=9 --window=2 --run=2 --step-runs=2 --label=a \
		--steps=2 --save=state ds
	hpdsl-order --state=state --label=a ds > rest
	hpdsl-order --seed=9 --window=2 --run=2 --step-runs=2 --label=a ds |
		tail -n +9 | diff rest -
	[ "$(wc -l < rest)" = 4 ]
	[ "$(cut -f 3 rest | grep -c ^a/)" = 4 ]
	fails 3 "state: the state is of a choice of samples" hpdsl-order \
		--state=state ds
	fails 3 "state: the state is of another choice" hpdsl-order \
		--state=state --label=b ds
	numbers --include='b/*' --exclude='*3.txt' | sort -n |
		diff - <(seq 12 18 | grep -vx 15)
	printf '%s\n' 5 3 22 5 > list
	[ "$(numbers --samples=list | sort -n | paste -sd ' ')" = "3 5 22" ]
	{ numbers --split=0:0.3:8; numbers --split=0.3:1:8; } | sort -n |
		diff - <(seq 0 22)
	fails 2 "no such class" hpdsl-order --label=nobody ds
	fails 2 "not one sample of 23 is chosen" hpdsl-order --include=x ds
	fails 2 "--from and --count are for the list" hpdsl-order --cost \
		--from=3 ds
	fails 2 "3 lanes cannot have 2 parts" hpdsl-order --lanes=3 --parts=2 ds
	fails 3 "nothing" hpdsl-order nothing
}

@test "hpdsl-order --cost: what was expected is what was measured" {
	local i of
	mkdir in
	for ((i = 0; i < 2400; i++)); do
		echo "$i" > "in/$i.txt"
	done
	hpdsl-pack -q --chunks=80 in ds
	for i in 1,1,1 2,8,4 5,4,8 80,1,8; do
		IFS=, read -r -a of <<< "$i"
		set -- "${of[@]}"
		hpdsl-order --cost --json --run=8 --window="$1" --lanes="$2" \
			--step-runs="$3" ds > cost
		[ "$(field W < cost)" = "$1" ]
		[ "$(field samples < cost)" = 2400 ]
		[ "$(field chunks < cost)" = 80 ]
		# of 30 samples of 4 bytes, and headers between
		[ "$(field median_read < cost)" -gt $((29 * 1024)) ]
		[ "$(field median_read < cost)" -lt $((30 * 1024)) ]
		[ "$(field window_bytes < cost)" -le $(($1 * 30 * 1024)) ]
		awk -v e="$(field mates_expected < cost)" \
			-v m="$(field mates_measured < cost)" \
			-v about="$(awk "BEGIN { print 80 / ($1 * ($2 < $3 ? $2 : $3)) }")" \
			'BEGIN { exit !(e > 0 && m > 0 && m / e < 1.05 &&
				m / e > 0.95 && e / about < 1.3 && e / about > 0.7) }'
	done
	# compressed: whole frames, which are the chunks but for their seek table
	hpdsl-pack -q --chunks=80 --zstd=3 in ds.zst
	hpdsl-order --cost --json --window=1 --lanes=1 ds.zst > cost
	hpdsl-ls --chunks -l ds.zst | awk '{ print $4 }' | sort -n > sizes
	[ "$(field window_bytes < cost)" -lt "$(tail -n 1 sizes)" ]
	[ "$(field smallest_read < cost)" -lt "$(head -n 1 sizes)" ]
	[ "$(field smallest_read < cost)" -gt $(($(head -n 1 sizes) / 2)) ]
	hpdsl-order --cost --window=80 --lanes=1 ds > cost
	grep -q '^chunk-mates: meet in a step 1.000 times as often' cost
	grep -q "^reads:       80, the median 29.[0-9] KiB" cost
}

@test "hpdsl-order --classes, and positions as JSON" {
	page_dataset
	# class a has 12 of 23, and all are in one batch
	hpdsl-order --classes --json ds > classes
	grep -q '"batches": 1, "classes_mean": 3.000, "classes_min": 3,' classes
	grep -q '"largest_share_max": 0.522' classes
	# in batches of one there is no mixture
	hpdsl-order --classes --run=1 --step-runs=1 ds > classes
	grep -q 'over 23 steps: 1.0 in a batch, at least 1' classes
	grep -q 'most frequent is 100.0 % of a batch, at most 100.0 %' classes
	hpdsl-order --classes --label=b --json ds | grep -q '"classes_min": 1,'
	hpdsl-order --json --count=3 --from=4 --run=2 --step-runs=2 ds |
		python3 -c '
import json, sys
for line in sys.stdin:
    p = json.loads(line)
    print(p["position"], p["sample"], p["key"], sep="\t")
    s = p["sample"]
    assert p["label"] == (s >= 12) + (s >= 19) and p["step"] == 1' > theirs
	hpdsl-order --count=3 --from=4 --run=2 --step-runs=2 ds | diff - theirs
}
