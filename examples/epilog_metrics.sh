#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An epilog for a node (Epilog= in slurm.conf; as root): what a job's programs
# counted there, hpdsl-metrics(7), becomes one line in the job's comment, which
# sacct prints where AccountingStoreFlags has job_comment:
#
#   hpdsl: 4 loaders, 1281167 samples, 142.1 GB, waited 0.8 % for data; ...
#
# Only the job's first node writes it, for itself alone; ranks are much alike.
# All nodes then remove the job's files, and what has been in last for a day.
#
# Users write these files, and root takes nothing from them but numbers: what
# reads and removes them runs as the job's user, who could have done that
# himself, and for no longer than a minute.
#
# HPDSL_METRICS: the folder, with a folder last in it.
# SCONTROL: where scontrol is, if not in the PATH below.

export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C
: "${SLURM_JOB_ID:?}" "${SLURM_JOB_USER:?}" "${SCONTROL:=scontrol}"
: "${HPDSL_METRICS:=/var/lib/node_exporter/hpdsl}"
# Slurm drains a node whose epilog fails.
cd "$HPDSL_METRICS" || exit 0

as_user()
{
	runuser -u "$SLURM_JOB_USER" -- timeout 60 "$@"
}

# The job's files, each with a NUL behind it.
# shellcheck disable=SC2016
files()
{
	as_user sh -c 'find . last -maxdepth 1 -type f -user "$1" -size -1024k \
		-name "hpdsl-*.prom" -exec grep -lZ "{job=\"$2\"," {} +' \
		sh "$SLURM_JOB_USER" "$SLURM_JOB_ID" < /dev/null 2> /dev/null
}

# shellcheck disable=SC2016
line()
{
	files | as_user xargs -0r cat -- | awk '
		function size(n) {
			return n < 1e9 ? sprintf("%.1f MB", n / 1e6) : \
				sprintf("%.1f GB", n / 1e9)
		}
		/^hpdsl_[a-z_]*[{].*[}] [0-9.]*$/ {
			name = $0
			sub(/[{].*/, "", name)
			sum[name] += $NF
			lines[name]++
		}
		END {
			l = "hpdsl_loader_"
			loaders = lines[l "seconds_total"]
			if (loaders) {
				all = sum[l "seconds_total"]
				text = sprintf("; %d loaders, %d samples, %s, " \
					"waited %.1f %% for data", loaders,
					sum[l "samples_total"],
					size(sum[l "bytes_total"]), all ? \
					100 * sum[l "stall_seconds_total"] / all : 0)
				text = text sprintf("; read %s, of the origin %s, " \
					"of other nodes %s",
					size(sum[l "read_bytes_total"]),
					size(sum[l "origin_bytes_total"]),
					size(sum[l "peer_bytes_total"]))
			}
			bad = sum[l "bad_samples_total"]
			if (bad)
				text = text sprintf("; %d bad samples", bad)
			if (lines["hpdsl_stage_seconds_total"])
				text = text "; staged " \
					size(sum["hpdsl_stage_written_bytes_total"])
			if (text)
				print "hpdsl: " substr(text, 3)
		}'
}

is_first_node()
{
	local nodes=${SLURM_JOB_NODELIST:-}
	[ -n "$nodes" ] || nodes=$("$SCONTROL" -o show job "$SLURM_JOB_ID" |
		sed -n 's/.* NodeList=\([^ ]*\) .*/\1/p')
	[ "$("$SCONTROL" show hostnames "$nodes" | head -n 1)" = \
		"${SLURMD_NODENAME:-$(hostname -s)}" ]
}

comment=$(line)
[ -z "$comment" ] || ! is_first_node ||
	"$SCONTROL" update JobId="$SLURM_JOB_ID" Comment="$comment"
files | as_user xargs -0r rm -f --
[ ! -d last ] ||
	find last -mindepth 1 -maxdepth 1 -type f -name 'hpdsl-*.prom' \
		-mtime +0 -delete
exit 0
