#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The order of a packed dataset, as hpdsl-ls tells it, is a real shuffle.

load ../kit/lib

# 20 classes, one behind the other, of 60 samples with two members each.
make_sorted()
{
	python3 - <<- 'END'
		import os
		for c in range(20):
		    os.makedirs(f"tree/class{c:02}")
		    for s in range(60):
		        for suffix in "jpg", "json":
		            with open(f"tree/class{c:02}/{s:04}.{suffix}", "w") as f:
		                f.write(f"{c} {s}")
	END
}

# deviation DATASET: chi-squared of the counts of samples by chunk and class
# against independence, in standard deviations from its mean.
deviation()
{
	hpdsl-ls --samples --json "$1" | python3 -c '
import collections, json, math, sys
rows = [json.loads(line) for line in sys.stdin]
assert [r["sample"] for r in rows] == list(range(1200))
cells = collections.Counter((r["chunk"], r["class"]) for r in rows)
chunks = collections.Counter(r["chunk"] for r in rows)
classes = collections.Counter(r["class"] for r in rows)
assert len(classes) == 20
assert max(chunks.values()) - min(chunks.values()) <= 1, chunks
chi = 0
for chunk, n in chunks.items():
    for name, k in classes.items():
        expected = n * k / len(rows)
        chi += (cells[chunk, name] - expected) ** 2 / expected
freedom = (len(chunks) - 1) * (len(classes) - 1)
print(round((chi - freedom) / math.sqrt(2 * freedom), 2))
'
}

@test "every class is in every chunk as chance has it" {
	make_sorted
	for seed in 0 42 18446744073709551615; do
		hpdsl-pack -q --labels=dir --seed=$seed --chunks=13 tree \
			"packed$seed"
		off=$(deviation "packed$seed")
		echo "seed $seed: $off"
		python3 -c "exit(not abs($off) < 4)"
	done
	# a sample's members stay together, in the order of their paths
	hpdsl-ls packed42 | paste - - |
		awk '{ sub(/\.jpg$/, "", $1); sub(/\.json$/, "", $2)
			if ($1 != $2) exit 1 }'
}

@test "--shuffle=none: the order of the paths, and the measure sees it" {
	make_sorted
	hpdsl-pack -q --labels=dir --shuffle=none --chunks=16 tree packed
	(cd tree && find . -type f -printf '%P\n' | LC_ALL=C sort) > paths
	hpdsl-ls packed | diff - paths
	off=$(deviation packed)
	echo "deviation $off"
	python3 -c "exit(not $off > 100)"
}

@test "the seed alone makes the order" {
	make_sorted
	hpdsl-pack -q --seed=1 --chunks=1 tree a
	hpdsl-pack -q --seed=1 --chunks=7 tree b
	hpdsl-pack -q --seed=2 --chunks=1 tree c
	hpdsl-ls a > a.ls
	hpdsl-ls b | diff a.ls -
	hpdsl-ls c > c.ls
	[ "$(paste a.ls c.ls | awk '$1 == $2' | wc -l)" -lt 20 ]
	sort c.ls | diff <(sort a.ls) -
}
