#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-mount shows to Prometheus.

load ../kit/lib
load ../kit/mount
load ../kit/metrics

setup_file()
{
	local i
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir tree
	for i in {1..40}; do
		printf '%*s' $((i * 37)) "$i" > "tree/$i.txt"
	done
	hpdsl-pack -q --chunks=2 tree ds
}

# In a name space of its own; the server goes with the command, and is not
# waited for by that.
@test "mount: what it shows is what --status says, and goes with it" {
	mkdir -p m/last
	export HPDSL_METRICS=$PWD/m PBS_JOBID=7.pbs
	export -f until_true until_more is_more
	# shellcheck disable=SC2016
	timeout 600 hpdsl-mount "$from/ds" "$PWD/mnt" -- bash -ec '
		until_true compgen -G "m/*.prom" > /dev/null
		cat mnt/*.txt | cmp - <(cat "$from"/tree/*.txt)
		for i in {1..30}; do
			[ ! -e "mnt/none$i" ]
		done
		until_more 29 hpdsl_mount_lookups_total m/hpdsl-mount.*.prom
		until_more 0 hpdsl_mount_filled_total m/hpdsl-mount.*.prom
		cp m/*.prom seen.prom
		cp mnt/.hpdsl/status status'
	mkdir seen
	mv seen.prom seen/hpdsl-mount.x.prom
	checked seen mount
	until_true test ! -e m/hpdsl-mount.*.prom
	until_true compgen -G 'm/last/*.prom'
	checked m/last mount
	[ "$(value hpdsl_mount_filled_total m/last/*.prom)" -gt 0 ]
	python3 - status m/last/*.prom <<- 'END'
		import json, re, sys
		[said] = json.load(open(sys.argv[1]))["mounts"]
		assert f'pid="{said["worker"]}"' in open(sys.argv[2]).read()
		for line in open(sys.argv[2]):
		    row = re.fullmatch(r"hpdsl_mount_(\w+)_total{.*} (\d+)\n", line)
		    # what was asked after that is in it, too
		    assert line[0] == "#" or int(row[2]) >= said[row[1]], line
		    assert line[0] == "#" or int(row[2]) <= said[row[1]] + 99, line
	END
}
