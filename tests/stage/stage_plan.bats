#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage --plan, without a launcher: its figures, against what follows from
# the sizes of the chunks.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	make_tree "$BATS_FILE_TMPDIR/in" 3 40
	hpdsl-pack -q --chunks=13 --seed=5 "$BATS_FILE_TMPDIR/in" \
		"$BATS_FILE_TMPDIR/ds"
}

setup()
{
	[ -x "$BUILD/hpdsl-stage" ] ||
		skip "hpdsl-stage was not built: no MPI compiler"
	cd "$BATS_TEST_TMPDIR" || return 1
	ds=$BATS_FILE_TMPDIR/ds
}

# plan_is NODES CAPACITY [PARTS]: D is the smallest that fits, or PARTS of an
# order if these do, and what nodes hold adds up to its parts.
plan_is()
{
	local from=()
	[ $# = 2 ] || from=(--order-from=state)
	echo "{\"parts\": ${3:-1}}" > state
	hpdsl-stage --plan --json --nodes="$1" --capacity="$2" "${from[@]}" \
		"$ds" > plan
	hpdsl-ls --chunks -l "$ds" | python3 -c '
import json, sys
plan = json.load(open("plan"))
size = [int(line.split()[3]) for line in sys.stdin]
nodes, capacity, order = map(int, sys.argv[1:])
def held(n, d):
    return range(n * d // nodes, -(-(n + 1) * d // nodes))
def need(n, d):
    return sum(sum(size[p::d]) for p in held(n, d))
fits = [d for d in [1, order, *range(1, nodes + 1)]
        if max(need(n, d) for n in range(nodes)) <= capacity]
parts = fits[0] if fits else max(nodes, order)
assert plan["parts"] == parts, (plan["parts"], parts)
assert plan["copies"] == max(1, nodes // parts)
assert plan["bytes"] == sum(size) and plan["chunks"] == len(size)
assert plan["origin_bytes"] + plan["left_bytes"] == sum(size)
assert (plan["left_bytes"] == 0) == bool(fits), fits
for n, row in enumerate(plan["nodes"]):
    assert row["node"] == n and row["part"] == held(n, parts)[0]
    assert row["last_part"] == held(n, parts)[-1]
    assert row["held_bytes"] + row["left_bytes"] == need(n, parts)
    assert row["held_bytes"] <= capacity
    assert row["received_bytes"] == row["held_bytes"] - row["origin_bytes"]
assert sum(r["origin_bytes"] for r in plan["nodes"]) == plan["origin_bytes"]
assert (sum(r["received_bytes"] for r in plan["nodes"]) ==
        sum(r["sent_bytes"] for r in plan["nodes"]))
' "$1" "$2" "${3:-1}"
}

# bats test_tags=wide
@test "the fewest parts that fit; what has no room is left" {
	local all nodes
	all=$(hpdsl-ls --chunks -l "$ds" | awk '{ n += $4 } END { print n }')
	for nodes in $(rounds "1 3 8" "1 2 3 5 8" "1 2 3 5 8"); do
		plan_is "$nodes" "$all"
		plan_is "$nodes" $((all - 1))
		plan_is "$nodes" $((all / 2 + 20000))
		plan_is "$nodes" $((all / 4))
		plan_is "$nodes" $((all / nodes + all / 20))
		plan_is "$nodes" 0
	done
}

# bats test_tags=wide
@test "an order has parts: as many, on fewer nodes and on more" {
	local all nodes parts
	all=$(hpdsl-ls --chunks -l "$ds" | awk '{ n += $4 } END { print n }')
	for parts in $(rounds 13 "2 6 13" "2 6 13"); do
		for nodes in $(rounds "3 8" "1 3 4 8" "1 3 4 8"); do
			plan_is "$nodes" "$all" "$parts"
			plan_is "$nodes" $((all - 1)) "$parts"
			plan_is "$nodes" $((all * 2 / 3)) "$parts"
			plan_is "$nodes" $((all / nodes / 2)) "$parts"
		done
	done
	hpdsl-stage --plan --nodes=4 --capacity=$((all - 1)) --order-from=state \
		"$ds" > plan
	cat plan
	grep -q '^plan: auto, 13 parts on 4 nodes, each chunk on at least 1 node$' \
		plan
	grep -q '^   2   6-9 ' plan
	hpdsl-stage --plan --nodes=4 --capacity=30000 --order-from=state "$ds" |
		grep ' each chunk on at most 2 nodes$'
	# what was asked for stays
	hpdsl-stage --plan --json --nodes=4 --mode=partition --order-from=state \
		"$ds" | grep '"parts": *4\b'
}

@test "what is kept comes first in the order of the state" {
	cat > state <<- 'END'
		{"seed": 9, "epoch": 2, "step": 1, "batch": 6, "lanes": 12,
		 "piece": 3, "windows": 2, "parts": 2}
	END
	hpdsl-stage --plan --json --nodes=1 --capacity=300000 \
		--order-from=state "$ds" > plan
	hpdsl-stage --plan --json --nodes=1 --capacity=300000 "$ds" > other
	hpdsl-ls --chunks -l "$ds" | PYTHONPATH=$SRC/tests/kit python3 -B -c '
import json, sys
from order_model import Order, Set, fill, first_use, lists_of
rows = [line.split() for line in sys.stdin]
size = [int(r[3]) for r in rows]
first = [int(r[0]) for r in rows]
total = int(sys.argv[1])
samples = [b - a for a, b in zip(first, first[1:] + [total])]
orders = []
defaults = fill(Set(total, sum(size), len(size), True, 64, 1, 1))
for name, p, step in (("plan", Order(9, 2, 6, 12, 3, 2, 2), 1),
                      ("other", Order(0, 0, *defaults, 1), 0)):
    left, kept = 300000, 0
    order = first_use(p, lists_of(samples), len(samples), step)
    orders.append(order)
    for c in order:
        if size[c] > left:
            break
        left -= size[c]
        kept += 1
    node = json.load(open(name))["nodes"][0]
    assert kept > 1 and node["chunks"] == kept, (name, node, kept)
    assert node["held_bytes"] == 300000 - left, (name, node)
assert orders[0] != orders[1]
' 120
}

@test "rates: what bounds, from the option and from a report" {
	hpdsl-stage --plan --nodes=4 "$ds" > plan
	grep -q "unknown without --rates" plan
	hpdsl-stage --plan --nodes=4 --rates=origin=1M,link=1G,write=1G "$ds" |
		grep "bound by the origin"
	hpdsl-stage --plan --nodes=4 --rates=origin=1G,link=1M,write=1G "$ds" |
		grep "bound by the network"
	hpdsl-stage --plan --nodes=4 --rates=origin=1G,link=1G,write=1M "$ds" |
		grep "bound by the SSD"
	hpdsl-stage --plan --nodes=4 --rates=origin=1G,read=1M "$ds" |
		grep "paid: never"
	cat > report <<- 'END'
		{"status":"complete","seconds":2.000,"nodes":[
		{"node":0,"origin_bytes":3000000,"peer_bytes":1000000,
		 "sent_bytes":1000000,"written_bytes":4000000},
		{"node":1,"origin_bytes":1000000,"peer_bytes":3000000,
		 "sent_bytes":3000000,"written_bytes":4000000}]}
	END
	hpdsl-stage --plan --json --nodes=4 --rates-from=report \
		--rates=write=1M --rate=500K "$ds" > plan
	python3 - <<- 'END'
		import json
		rates = json.load(open("plan"))["rates"]
		assert rates == {"origin": 512000, "link": 1500000,
		                 "write": 1048576, "read": None}, rates
	END
	echo '{"seconds": 1}' > report
	fails 1 "report: 'nodes' is missing" hpdsl-stage --plan --nodes=4 \
		--rates-from=report "$ds"
	fails 3 "none: No such file" hpdsl-stage --plan --rates-from=none "$ds"
}

@test "a mode that does not fit, and arguments that make no sense" {
	fails 3 "node 0 has room for 9.8 KiB of the " hpdsl-stage --plan \
		--mode=replicate --nodes=3 --capacity=10000 "$ds"
	fails 2 "'speed' is none of" hpdsl-stage --plan --rates=speed=1G "$ds"
	fails 2 "LOCALDIR" hpdsl-stage --plan --capacity=50% "$ds"
	fails 2 "copies" hpdsl-stage --plan --mode=copies=0 "$ds"
	echo "pack: 00112233445566778899aabbccddeeff" > state
	fails 3 "state: the state is of " hpdsl-stage --plan \
		--order-from=state "$ds"
	fails 3 "" hpdsl-stage --plan none
}

@test "a state, or a step, that is of no use: as hpdsl-order takes it" {
	local text command said
	for text in "window: 1" "W: 0" "{" "step: -1" "pack: 0" \
		"pack: 00112233445566778899aabbccddeeff" \
		"{batch: 60, step: 3}" "{batch: 50, step: 3, end: drop}"; do
		echo "$text" > state
		fails 3 "state: " hpdsl-order --state=state "$ds"
		said=${message#hpdsl-order: }
		fails 3 "state: " hpdsl-stage --plan --nodes=2 \
			--order-from=state "$ds"
		[ "${message#hpdsl-stage: }" = "$said" ]
	done
	echo "{batch: 60, step: 1}" > state
	fails 2 "state: the state has another --step: 1, and not 2" \
		hpdsl-order --state=state --step=2 "$ds"
	fails 2 "state: the state has another --step: 1, and not 2" \
		hpdsl-stage --plan --order-from=state --step=2 "$ds"
	for command in hpdsl-order "hpdsl-stage --plan"; do
		# shellcheck disable=SC2086
		fails 2 "no step 3, the epoch has 2" \
			$command --batch=60 --step=3 "$ds"
		$command --batch=60 --step=2 "$ds" > /dev/null
	done
	# an end of the epoch that there is; of chosen samples nobody knows
	for text in "{batch: 60, step: 2}" "{batch: 50, step: 2, end: drop}" \
		"{batch: 60, step: 3, choice: 00112233445566778899aabbccddeeff}"; do
		echo "$text" > state
		hpdsl-stage --plan --nodes=2 --order-from=state "$ds" > /dev/null
	done
}

@test "nothing is written, and up to 32 nodes are listed" {
	hpdsl-stage --plan --nodes=32 "$ds" new > plan
	[ ! -e new ]
	[ "$(grep -c '^ *[0-9][0-9]*  *[0-9][0-9]* ' plan)" = 32 ]
	hpdsl-stage --plan --nodes=33 --mode=partition "$ds" > plan
	run -1 grep '^ *32  *' plan
	run -1 grep '.\{81\}' plan
	hpdsl-stage --plan --json --nodes=10000 "$ds" | python3 -c '
import json, sys
assert len(json.load(sys.stdin)["nodes"]) == 10000'
}
