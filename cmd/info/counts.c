/* SPDX-License-Identifier: Apache-2.0 */
/* How many of something are called how, the most frequent first. */
#include "info.h"

#include <string.h>

enum { KEPT = 256, SHOWN = 8, LENGTH = 64, SUFFIX = 20 };

void info_counts_add(struct info_counts *c, const char *name, size_t len)
{
	struct info_count *x;

	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].len != len || memcmp(c->v[i].name, name, len) != 0)
			continue;
		c->v[i].n++;
		return;
	}
	if (c->n == KEPT || len > LENGTH) {
		c->rest++;
		return;
	}
	c->v = cmd_grow(c->v, c->n, sizeof(*c->v));
	x = &c->v[c->n++];
	*x = (struct info_count){ strndup(name, len), len, 1 };
	if (!x->name)
		cmd_no_memory();
}

void info_suffixes_add(struct info_counts *c, const char *name, size_t len,
		       size_t key)
{
	bool has = key < len;
	size_t n = has ? len - key - 1 : 0;

	/* names with dots inside have one each */
	if (n > SUFFIX)
		c->rest++;
	else
		info_counts_add(c, has ? name + key + 1 : "", n);
}

static int by_number(const void *a, const void *b)
{
	const struct info_count *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void put_json(struct cmd_json *j, const struct info_counts *c,
		     const struct info_words *w)
{
	cmd_json_open(j, w->array, '[');
	for (size_t k = 0; k < c->n; k++) {
		cmd_json_open(j, NULL, '{');
		cmd_json_name(j, w->name, c->v[k].name, strlen(c->v[k].name));
		cmd_json_u64(j, w->number, c->v[k].n);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

static char *as_text(const struct info_counts *c, const struct info_words *w)
{
	size_t size, shown = c->n < SHOWN ? c->n : SHOWN;
	uint64_t rest = c->rest;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	for (size_t k = 0; k < shown; k++)
		fprintf(out, "%s%s %s", k ? ", " : "",
			cmd_thousands(c->v[k].n).s,
			*c->v[k].name ? c->v[k].name : w->none);
	for (size_t k = shown; k < c->n; k++)
		rest += c->v[k].n;
	if (rest)
		fprintf(out, ", %s of others", cmd_thousands(rest).s);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}

void info_counts_tell(struct info *i, struct info_counts *c,
		      const struct info_words *w)
{
	cmd_auto_free char *text = NULL;

	if (!c->n)
		return;
	qsort(c->v, c->n, sizeof(*c->v), by_number);
	if (info_json(i)) {
		put_json(info_json(i), c, w);
		return;
	}
	text = as_text(c, w);
	info_row(i, w->label, "%s", text);
}

void info_suffixes_tell(struct info *i, struct info_counts *c,
			const char *field)
{
	const struct info_words w = { "suffixes", "suffixes", "suffix", field,
				      "without" };

	info_counts_tell(i, c, &w);
}

uint64_t info_counts_of(const struct info_counts *c, const char *name)
{
	for (size_t k = 0; k < c->n; k++)
		if (!strcmp(c->v[k].name, name))
			return c->v[k].n;
	return 0;
}

void info_counts_free(struct info_counts *c)
{
	for (size_t k = 0; k < c->n; k++)
		free(c->v[k].name);
	free(c->v);
}
