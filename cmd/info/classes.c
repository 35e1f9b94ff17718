/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of a dataset, and how many samples each has. */
#include "info.h"

#include <string.h>

#define COUNTED UINT64_C(50000000) /* samples; of more no labels are read */

enum { SHOWN = 4, TEXT = 64 };

/* Of each class, and behind them those without one.  NULL: told why not. */
static uint64_t *count(struct info *i, const struct hpdsl_dataset *ds,
		       const struct hpdsl_counts *n)
{
	uint64_t *times = cmd_alloc(n->classes + 1, sizeof(*times));
	struct hpdsl_error err;

	if (hpdsl_count_classes(ds, NULL, times, &err) < 0) {
		info_failed(i, &err);
		free(times);
		return NULL;
	}
	return times;
}

static const char *name_of(const struct hpdsl_dataset *ds, uint64_t label)
{
	const char *name;

	return hpdsl_class_name(ds, (uint32_t)label, &name, NULL) < 0 ? "?" :
									name;
}

static void put_json(struct cmd_json *j, const struct hpdsl_dataset *ds,
		     const struct hpdsl_counts *n, const uint64_t *times)
{
	cmd_json_open(j, "classes", '[');
	for (uint64_t k = 0; k < n->classes; k++) {
		const char *name = name_of(ds, k);

		cmd_json_open(j, NULL, '{');
		cmd_json_name(j, "name", name, strlen(name));
		if (times)
			cmd_json_u64(j, "samples", times[k]);
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
	if (times)
		cmd_json_u64(j, "unlabelled", times[n->classes]);
}

/* "of 12 to 700 samples each". */
static void range(FILE *out, const struct hpdsl_counts *n,
		  const uint64_t *times)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint64_t k = 0; k < n->classes; k++) {
		least = times[k] < least ? times[k] : least;
		most = times[k] > most ? times[k] : most;
	}
	if (least == most)
		fprintf(out, ", of %s each", cmd_many(most, "sample").s);
	else
		fprintf(out, ", of %llu to %s each", (unsigned long long)least,
			cmd_many(most, "sample").s);
}

static void put_text(struct info *i, const struct hpdsl_dataset *ds,
		     const struct hpdsl_counts *n, const uint64_t *times)
{
	cmd_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	fprintf(out, "%llu", (unsigned long long)n->classes);
	if (times && n->classes)
		range(out, n, times);
	for (uint64_t k = 0; k < n->classes && k < SHOWN; k++)
		fprintf(out, "%s%.*s", k ? ", " : ": ", TEXT, name_of(ds, k));
	if (n->classes > SHOWN)
		fputs(", ...", out);
	if (times && times[n->classes])
		fprintf(out, "; without one: %s",
			cmd_many(times[n->classes], "sample").s);
	if (fclose(out) != 0)
		cmd_no_memory();
	info_row(i, "classes", "%s", text);
}

/* The members .cls may say them, and nobody has asked these. */
static void put_none(struct info *i, const struct info_pack *p, uint64_t cls)
{
	cmd_auto_free char *at = cmd_quoted_path(i->path);
	bool adopted = p->manifest && p->m.adopted;

	if (!cls)
		info_row(i, "classes", "none");
	else if (i->kind == HPDSL_KIND_STAGE)
		info_row(i, "classes", "none, and %s .cls may say them",
			 cmd_many(cls, "member").s);
	else /* what is quoted is not to be escaped as well */
		cmd_print("  %-12s none, and %s .cls may say them: hpdsl-%s "
			  "--labels=cls %s%s\n",
			  "classes", cmd_many(cls, "member").s,
			  adopted ? "index" : "pack", at,
			  adopted ? "" : " OUTPUT");
}

void info_classes(struct info *i, const struct info_pack *p, uint64_t cls)
{
	cmd_auto_free uint64_t *times = NULL;
	const struct hpdsl_dataset *ds = p->ds;
	const struct hpdsl_counts n = p->counts;

	if (n.classes && n.samples <= COUNTED)
		times = count(i, ds, &n);
	if (info_json(i))
		put_json(info_json(i), ds, &n, times);
	else if (n.classes)
		put_text(i, ds, &n, times);
	else
		put_none(i, p, cls);
}
