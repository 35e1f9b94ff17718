#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An epilog for a node (Epilog= in slurm.conf; as root): removes what a job left
# behind, and nothing of any other job.
#
# - The stage directories below $SCRATCH/JOB, a folder that bears the job's
#   number.  What else lies in it stays, and so does a directory that somebody
#   is still staging to.
# - The segments that killed MPI programs leave in /dev/shm: those of the job's
#   user that no process has mapped or open.  Another job of that user on this
#   node keeps its own, as they are in use.
#
# HPDSL_STAGE: where hpdsl-stage is, if not in the PATH below.

PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
: "${SLURM_JOB_ID:?}" "${SLURM_JOB_USER:?}" "${SCRATCH:=/local/scratch}"

as_user()
{
	runuser -u "$SLURM_JOB_USER" -- "$@"
}

for directory in "$SCRATCH/$SLURM_JOB_ID"/*/; do
	[ ! -d "$directory" ] || as_user "${HPDSL_STAGE:-hpdsl-stage}" -q \
		--clean "${directory%/}"
done
[ ! -d "$SCRATCH/$SLURM_JOB_ID" ] ||
	as_user rmdir --ignore-fail-on-non-empty "$SCRATCH/$SLURM_JOB_ID"

# The list comes first: a segment that is made later is not in it, and the maker
# of one that is has it open or mapped, if it lives.
segments()
{
	find /dev/shm -maxdepth 1 -type f -user "$SLURM_JOB_USER" \( \
		-name 'vader_segment.*' -o -name 'sm_segment.*' \
		-o -name 'osc_*' -o -name 'ucx_shm_posix_*' \
		-o -name 'psm*_shm.*' -o -name 'mpich_*' \
		-o -name 'Intel_MPI_*' \)
}

in_use()
{
	cat /proc/[0-9]*/maps | grep -o '/dev/shm/.*'
	find /proc/[0-9]*/fd -lname '/dev/shm/*' -printf '%l\n'
} 2> /dev/null

mapfile -t left < <(segments)
[ ${#left[@]} = 0 ] || printf '%s\n' "${left[@]}" |
	grep -vxF -f <(in_use; echo) | xargs -r -d '\n' rm -f
exit 0
