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
# Users choose the names here, and root reads them: so they are never lines, but
# end with a NUL; no link is followed; and what removes them runs as the job's
# user, who could have done that himself.
#
# HPDSL_STAGE: where hpdsl-stage is, if not in the PATH below.

export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C
: "${SLURM_JOB_ID:?}" "${SLURM_JOB_USER:?}" "${SCRATCH:=/local/scratch}"

# A working directory of its own, where a relative name means nothing.
umask 077
work=$(mktemp -d /run/epilog.XXXXXX) && chmod 711 "$work" && cd "$work" || exit
trap 'rm -rf "$work"' EXIT

as_user()
{
	runuser -u "$SLURM_JOB_USER" -- "$@"
}

find "$SCRATCH/$SLURM_JOB_ID" -mindepth 1 -maxdepth 1 -type d \
	-user "$SLURM_JOB_USER" -print0 2> /dev/null |
	while IFS= read -r -d '' directory; do
		as_user "${HPDSL_STAGE:-hpdsl-stage}" -q --clean "$directory" \
			< /dev/null
	done
[ -L "$SCRATCH/$SLURM_JOB_ID" ] || [ ! -d "$SCRATCH/$SLURM_JOB_ID" ] ||
	as_user rmdir --ignore-fail-on-non-empty "$SCRATCH/$SLURM_JOB_ID"

# The list comes first: a segment that is made later is not in it, and the maker
# of one that is has it open or mapped, if it lives.
segments()
{
	find /dev/shm -maxdepth 1 -type f -user "$SLURM_JOB_USER" \( \
		-name 'vader_segment.*' -o -name 'sm_segment.*' \
		-o -name 'osc_*' -o -name 'ucx_shm_posix_*' \
		-o -name 'psm*_shm.*' -o -name 'mpich_*' \
		-o -name 'Intel_MPI_*' \) -print0
}

# The kernel writes a newline as \012 there, and a backslash as it is: a name
# with \012 in it may be either.
mapped()
{
	cat /proc/[0-9]*/maps | grep -ao '/dev/shm/.*' | tr '\n' '\0'
}

in_use()
{
	mapped
	mapped | sed -z 's/\\012/\n/g'
	find /proc/[0-9]*/fd -lname '/dev/shm/*' -printf '%l\0'
} 2> /dev/null

segments | sort -z > "$work/there"
in_use | sort -z > "$work/used"
comm -z -23 "$work/there" "$work/used" | as_user xargs -0r rm -f --
exit 0
