/* SPDX-License-Identifier: Apache-2.0 */
/* Which suffixes names have, and how many of them each. */
#include "info.h"

#include <string.h>

enum { KEPT = 256, SHOWN = 8, LENGTH = 20 };

void info_suffixes_add(struct info_suffixes *s, const char *name, size_t len)
{
	size_t key = hpdsl_key_length(name, len);
	const char *suffix = key < len ? name + key + 1 : "";
	size_t n = key < len ? len - key - 1 : 0;
	struct info_suffix *x;

	for (size_t i = 0; i < s->n; i++) {
		if (strlen(s->v[i].suffix) != n ||
		    memcmp(s->v[i].suffix, suffix, n) != 0)
			continue;
		s->v[i].n++;
		return;
	}
	/* names with dots inside have one each */
	if (s->n == KEPT || n > LENGTH) {
		s->rest++;
		return;
	}
	s->v = cmd_grow(s->v, s->n, sizeof(*s->v));
	x = &s->v[s->n++];
	*x = (struct info_suffix){ strndup(suffix, n), 1 };
	if (!x->suffix)
		cmd_no_memory();
}

static int by_number(const void *a, const void *b)
{
	const struct info_suffix *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->suffix, y->suffix);
}

static void put_json(struct cmd_json *j, const struct info_suffixes *s,
		     const char *field)
{
	cmd_json_open(j, "suffixes", '[');
	for (size_t k = 0; k < s->n; k++) {
		cmd_json_open(j, NULL, '{');
		cmd_json_name(j, "suffix", s->v[k].suffix,
			      strlen(s->v[k].suffix));
		cmd_json_u64(j, field, s->v[k].n);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

void info_suffixes_tell(struct info *i, struct info_suffixes *s,
			const char *field)
{
	cmd_auto_free char *text = NULL;
	size_t size, shown = s->n < SHOWN ? s->n : SHOWN;
	uint64_t rest = s->rest;
	FILE *out;

	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof(*s->v), by_number);
	if (info_json(i)) {
		put_json(info_json(i), s, field);
		return;
	}
	out = open_memstream(&text, &size);
	if (!out)
		cmd_no_memory();
	for (size_t k = 0; k < shown; k++)
		fprintf(out, "%s%s %s", k ? ", " : "",
			cmd_thousands(s->v[k].n).s,
			*s->v[k].suffix ? s->v[k].suffix : "without");
	for (size_t k = shown; k < s->n; k++)
		rest += s->v[k].n;
	if (rest)
		fprintf(out, ", %s of others", cmd_thousands(rest).s);
	if (fclose(out) != 0)
		cmd_no_memory();
	info_row(i, "suffixes", "%s", text);
}

void info_suffixes_free(struct info_suffixes *s)
{
	for (size_t k = 0; k < s->n; k++)
		free(s->v[k].suffix);
	free(s->v);
}
