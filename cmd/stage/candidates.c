/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be chosen: which candidates an environment has, what NAME may be,
 * and how much of a place is taken.
 */
#include "choose.h"

#include <stdlib.h>
#include <string.h>

#define LAST (CHOOSE_PLACES - 1)

enum { NAME_LENGTH = 64 };

static const char *const names[CHOOSE_PLACES] = { "$SLURM_TMPDIR",
						  "$LOCAL_SCRATCH", "$JOBFS",
						  "$TMPDIR", "/tmp" };

const char *choose_name(uint32_t place)
{
	return names[place];
}

/* Slashes behind it make no other path. */
static char *trim(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

static bool is_another(const char *path, char *const *before, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (before[i] && !strcmp(before[i], path))
			return true;
	return !strcmp(names[LAST], path);
}

void choose_candidates(char *(*get)(const char *name), char **ret)
{
	for (uint32_t i = 0; i < LAST; i++) {
		const char *value = get(names[i] + 1);

		ret[i] = value && *value ? trim(value) : NULL;
		if (ret[i] && is_another(ret[i], ret, i)) {
			free(ret[i]);
			ret[i] = NULL;
		}
	}
	ret[LAST] = strdup(names[LAST]);
}

bool choose_is_name(const char *name)
{
	static const char of[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = strlen(name);

	return n && n <= NAME_LENGTH && strspn(name, of) == n;
}

uint64_t choose_room(uint64_t asked, const struct hpdsl_stage_place *p)
{
	uint64_t room = asked < p->capacity ? asked : p->capacity;
	uint64_t half = p->memory_bytes / 2 + p->held_bytes / 2;

	if (half < p->held_bytes) /* it is not put out again */
		half = p->held_bytes;
	return p->ram && half < room ? half : room;
}
