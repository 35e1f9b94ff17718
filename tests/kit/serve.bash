# SPDX-License-Identifier: Apache-2.0
# For tests of hpdsl-serve: `load ../kit/serve` behind `load ../kit/lib`.
# shellcheck shell=bash

# has_port DIR: its server is there, for other nodes too.
has_port()
{
	hpdsl-serve --status --json "$1" 2> /dev/null | grep -q '"port": [1-9]'
}

# unhurried COMMAND..: nobody is late for it because the machine is busy, as a second
# of its time takes a minute (tests/bed/faults_clock.c).
unhurried()
{
	HPDSL_FAULT_SLOW=60 PATH=$BUILD/tests/bed:$PATH "$@"
}

# waited PID: how often its threads have waited for something.
waited()
{
	awk '/^voluntary/ { n += $2 } END { print n }' /proc/"$1"/task/*/status
}

has_waited()
{
	[ "$(waited "$1")" -ge "$2" ]
}

# looks_on PID: one that waits between two looks at something has looked again,
# twice at least.
looks_on()
{
	until_true has_waited "$1" $(($(waited "$1") + 3))
}

# halves DATASET: node0 and node1 have one each, and serve it; the origin that
# they were staged from is gone.
halves()
{
	local n
	cp -rl "$1" origin
	stage 2 -q --pretend-nodes=2 --mode=partition origin "$PWD/node%n"
	for n in 0 1; do
		hpdsl-serve -q "$PWD/node$n" 3>&- &
		until_true has_port "node$n"
	done
	rm -r origin
}

# no_halves: their servers end.
no_halves()
{
	local n
	for n in 0 1; do
		hpdsl-serve -q --stop "$PWD/node$n" &
	done
	wait
}

# free_ports N: the first of N ports in a row that nobody has, below those that
# servers of ours and the kernel draw.
free_ports()
{
	python3 - "$1" <<- 'END'
		import contextlib, random, socket, sys
		while True:
		    base = random.randrange(10000, 20000 - int(sys.argv[1]))
		    with contextlib.ExitStack() as all_of_them:
		        try:
		            for port in range(base, base + int(sys.argv[1])):
		                s = all_of_them.enter_context(socket.socket())
		                s.bind(("", port))
		        except OSError:
		            continue
		    print(base)
		    break
	END
}
