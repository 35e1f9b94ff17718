/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a folder: runs the test file that it was called by the name
 * of, or that it is given, a process each, as what one leaves (descriptors,
 * limits, threads) is not the next one's.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct unit *units;

void unit_known(struct unit *u)
{
	u->next = units;
	units = u;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The one of this name, or NULL. */
static const struct unit *find(const char *name)
{
	for (const struct unit *u = units; u; u = u->next)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct unit *u = argc > 0 ? find(base(argv[0])) : NULL;

	if (!u && argc > 1)
		u = find(base(argv[1]));
	if (u)
		return u->run();
	fprintf(stderr, "one of these, please:");
	for (u = units; u; u = u->next)
		fprintf(stderr, " %s", u->name);
	fprintf(stderr, "\n");
	return 2;
}
