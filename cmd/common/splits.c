/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that are called train, val, test and the like, for messages. */
#include "common.h"

struct cmd_splits cmd_splits(unsigned splits)
{
	struct cmd_splits ret = { "", NULL, 0 };
	size_t n = 0;

	for (; splits; splits &= splits - 1) {
		const char *name = hpdsl_split_name(splits);

		n += (size_t)snprintf(ret.s + n, sizeof(ret.s) - n, "%s%s",
				      n ? ", " : "", name);
		if (ret.n++ < 2)
			ret.one = name;
	}
	return ret;
}
