/* SPDX-License-Identifier: Apache-2.0 */
/* What an index tells of the options that its dataset was packed with. */
#include "plan/lost.h"

#include "format/manifest.h"
#include "plan/list.h"

#include <string.h>

bool hp_lost_options(const char *lost)
{
	return lost && strstr(lost, "options");
}

/* How many classes there are, if each is called its number; else 0. */
static uint64_t called_by_number(const struct hp_index *ix)
{
	struct hpdsl_counts n;
	const char *name;
	uint32_t value;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i < n.classes; i++)
		if (hp_index_class(ix, (uint32_t)i, &name, NULL) < 0 ||
		    !hp_class_number(name, strlen(name), &value) || value != i)
			return 0;
	return n.classes;
}

bool hp_lost_by_value(const struct hp_index *ix,
		      struct hp_lost_option label_numbers)
{
	if (label_numbers.value)
		return !strcmp(label_numbers.value, HP_LABEL_NUMBERS_VALUE);
	/* More than ten are in this order in no other way. */
	return called_by_number(ix) > (label_numbers.lost ? 0 : 10);
}
