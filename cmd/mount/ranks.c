/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a node's processes this is, as launchers tell. */
#include "mount.h"

/* The place on the node, and how many there are: "4", or Slurm's "4(x2)". */
static const struct {
	const char *mine, *all;
} launchers[] = {
	{ "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE" },
	{ "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
	/* of a step, not of the script that begins steps */
	{ "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE" },
};

bool mount_is_first_of_several(void)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const char *mine = getenv(launchers[i].mine);
		const char *all = getenv(launchers[i].all);

		if (mine && all)
			return atoi(mine) == 0 && atoi(all) > 1;
	}
	return false;
}
