/* SPDX-License-Identifier: Apache-2.0 */
/* The batch job that a process is of, as its environment has it. */
#include "common.h"

const char *cmd_job_name(char *text, size_t size)
{
	static const char *const known[][2] = {
		{ "Slurm", "SLURM_JOB_ID" }, { "PBS", "PBS_JOBID" },
		{ "LSF", "LSB_JOBID" },	     { "Fujitsu", "PJM_JOBID" },
		{ "Flux", "FLUX_JOB_ID" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *id = getenv(known[i][1]);

		if (!id)
			continue;
		snprintf(text, size, "%s job %.80s", known[i][0], id);
		return text;
	}
	return NULL;
}
