/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a process may still take: what the machine has available, and
 * the limits of its control groups.
 */
#include "sys/memory.h"

#include "base/mem.h"
#include "hpdsl/core.h"
#include "sys/cgroup.h"
#include "sys/kernel_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- Texts ------------------------------------------------------------ */

/* What follows name and c at the beginning of a line; NULL: there is none. */
static const char *find_value(const char *text, const char *name, char c)
{
	size_t n = strlen(name);

	for (const char *p = text; *p; p = hp_kernel_line(p))
		if (!strncmp(p, name, n) && p[n] == c)
			return p + n + 1;
	return NULL;
}

uint64_t hp_meminfo(const char *text, const char *name)
{
	const char *p = find_value(text, name, ':');
	uint64_t kib = p ? hp_kernel_number(p) : UINT64_MAX;

	return kib <= UINT64_MAX / 1024 - 1 ? kib * 1024 : UINT64_MAX;
}

uint64_t hp_memory_stat(const char *text, const char *name)
{
	const char *p = find_value(text, name, ' ');
	uint64_t v = p ? hp_kernel_number(p) : 0;

	return v == UINT64_MAX ? 0 : v;
}

/* ---- Limits ----------------------------------------------------------- */

struct names {
	const char *limit, *usage;
	const char *cache[2]; /* in memory.stat: taken back when needed */
};
static const struct names of_v1 = {
	"memory.limit_in_bytes",
	"memory.usage_in_bytes",
	{ "total_inactive_file", "total_active_file" },
};
static const struct names of_v2 = {
	"memory.max",
	"memory.current",
	{ "inactive_file", "active_file" },
};

/* Left in one group. */
static uint64_t group_left(const struct hp_io *io, bool v2, const char *dir,
			   char *text)
{
	const struct names *names = v2 ? &of_v2 : &of_v1;
	uint64_t limit, usage, cache = 0;

	limit = hp_cgroup_file(io, dir, names->limit, text) ?
			hp_kernel_number(text) :
			UINT64_MAX;
	/* Version 1 writes a number for no limit, too. */
	if (limit >= UINT64_C(1) << 62)
		return UINT64_MAX;
	if (!hp_cgroup_file(io, dir, names->usage, text))
		return limit;
	usage = hp_kernel_number(text);
	if (usage != UINT64_MAX && hp_cgroup_file(io, dir, "memory.stat", text))
		cache = hp_memory_stat(text, names->cache[0]) +
			hp_memory_stat(text, names->cache[1]);
	usage -= cache < usage ? cache : usage;
	return usage < limit ? limit - usage : 0;
}

uint64_t hp_memory_left(const struct hp_io *io)
{
	hp_auto_free char *text = malloc(HP_CGROUP_TEXT);
	uint64_t least = UINT64_MAX;

	if (!text)
		return least;
	if (hp_kernel_file(io, "/proc/meminfo", text, HP_CGROUP_TEXT) >= 0)
		least = hp_meminfo(text, "MemAvailable");
	for (int v2 = 0; v2 < 2; v2++) {
		uint64_t left = hp_cgroup_least(io, v2, group_left);

		least = left < least ? left : least;
	}
	return least;
}

uint64_t hpdsl_memory_left(void)
{
	return hp_memory_left(&hp_io_system);
}
