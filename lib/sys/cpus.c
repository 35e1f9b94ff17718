/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of processor time. */
#include "sys/cpus.h"

#include "hpdsl/core.h"
#include "sys/cgroup.h"
#include "sys/kernel_file.h"

#include <string.h>

uint64_t hp_cpu_max(const char *text)
{
	uint64_t quota = hp_kernel_number(text), period;
	const char *second = strchr(text, ' ');

	if (quota > UINT64_MAX / 1000 || !second)
		return UINT64_MAX;
	period = hp_kernel_number(second);
	return period && period != UINT64_MAX ? quota * 1000 / period :
						UINT64_MAX;
}

static uint64_t group_cpus(const struct hp_io *io, bool v2, const char *dir,
			   char *text)
{
	(void)v2;
	return hp_cgroup_file(io, dir, "cpu.max", text) ? hp_cpu_max(text) :
							  UINT64_MAX;
}

uint64_t hp_cpu_limit(const struct hp_io *io)
{
	return hp_cgroup_least(io, true, group_cpus);
}

uint64_t hpdsl_cpu_limit(void)
{
	return hp_cpu_limit(&hp_io_system);
}
