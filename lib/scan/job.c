/* SPDX-License-Identifier: Apache-2.0 */
/* What workers are given to do. */
#include "scan/private.h"

#include <stdlib.h>

struct hp_scan_job *hp_scan_job(struct hp_scan *s, uint16_t root, size_t n)
{
	struct hp_scan_job *job = malloc(sizeof *job + n);

	if (job)
		*job = (struct hp_scan_job){ .root = root };
	else
		hp_crew_no_memory(&s->crew);
	return job;
}
