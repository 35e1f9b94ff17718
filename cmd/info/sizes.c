/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of chunks and tar files: how many, least, median and most. */
#include "info.h"

#include <string.h>

void info_sizes_add(struct info_sizes *s, uint64_t size)
{
	s->v = cmd_grow(s->v, s->n, sizeof(*s->v));
	s->v[s->n++] = size;
}

void info_sizes_free(struct info_sizes *s)
{
	free(s->v);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void field_u64(struct cmd_json *j, const char *field, const char *end,
		      uint64_t value)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s", field, end);
	cmd_json_u64(j, name, value);
}

void info_sizes_tell(struct info *i, const char *label, const char *field,
		     struct info_sizes *s)
{
	struct cmd_json *j = info_json(i);
	uint64_t sum = 0, least = 0, median = 0, most = 0;

	for (size_t k = 0; k < s->n; k++)
		sum += s->v[k];
	if (s->n) {
		qsort(s->v, s->n, sizeof(*s->v), by_size);
		least = s->v[0];
		median = s->v[s->n / 2];
		most = s->v[s->n - 1];
	}
	if (j) {
		field_u64(j, field, "s", s->n);
		field_u64(j, field, "_bytes", sum);
		field_u64(j, field, "_min", least);
		field_u64(j, field, "_median", median);
		field_u64(j, field, "_max", most);
	} else if (s->n < 2) {
		info_row(i, label, "%zu, %s", s->n, cmd_bytes(sum).s);
	} else {
		info_row(i, label, "%zu, %s; least %s, median %s, most %s",
			 s->n, cmd_bytes(sum).s, cmd_bytes(least).s,
			 cmd_bytes(median).s, cmd_bytes(most).s);
	}
}
