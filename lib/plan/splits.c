/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/splits.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = { "train",	"training",   "val",
				     "valid",	"validation", "test",
				     "testing", "dev" };

enum { N_NAMES = sizeof names / sizeof *names };

unsigned hpdsl_split(const char *name, size_t len)
{
	for (unsigned i = 0; i < N_NAMES; i++)
		if (strlen(names[i]) == len &&
		    !strncasecmp(names[i], name, len))
			return 1u << i;
	return 0;
}

const char *hpdsl_split_name(unsigned splits)
{
	return splits & ((1u << N_NAMES) - 1) ? names[__builtin_ctz(splits)] :
						NULL;
}

const char *hp_splits_text(unsigned splits, char ret[HP_SPLITS_TEXT])
{
	size_t n = 0;

	*ret = '\0';
	for (; splits; splits &= splits - 1)
		n += (size_t)snprintf(ret + n, HP_SPLITS_TEXT - n, "%s%s",
				      n ? ", " : "", hpdsl_split_name(splits));
	return ret;
}
