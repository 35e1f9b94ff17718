/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-verify --compat: what other readers would make of tars.  A verdict for
 * each reader, then a line for each thing; or one JSON object.
 */
#include "verify.h"

#include <string.h>
#include <unistd.h>

#define READERS 6 /* bits of enum hpdsl_reader */

/* Copied: what the library tells lives in its call alone. */
struct problem {
	struct hpdsl_compat_problem told;
	char *first, *tar;
};

struct compat {
	struct problem *v;
	size_t n;
};

unsigned compat_readers(const char *list, struct cmd_why *why)
{
	unsigned readers = 0;

	if (strcmp(list, "all") == 0)
		return HPDSL_READERS_ALL;
	for (const char *s = list;; s++) {
		size_t n = strcspn(s, ",");
		unsigned i = 0;

		for (; i < READERS; i++) {
			const char *name = hpdsl_reader_name(1u << i);

			if (strncmp(s, name, n) == 0 && !name[n])
				break;
		}
		if (i == READERS) {
			cmd_refuse(why,
				   "compat: '%s' is no list of webdataset, "
				   "dali, energon, wids, hf, ray; nor all",
				   list);
			return 0;
		}
		readers |= 1u << i;
		s += n;
		if (!*s)
			return readers;
	}
}

static char *copy(const char *s)
{
	char *p = s ? strdup(s) : NULL;

	if (s && !p)
		cmd_no_memory();
	return p;
}

static void note(void *arg, const struct hpdsl_compat_problem *p)
{
	struct compat *c = arg;

	c->v = cmd_grow(c->v, c->n, sizeof(*c->v));
	c->v[c->n++] = (struct problem){ *p, copy(p->first), copy(p->tar) };
}

static void print_problem(const struct problem *p)
{
	const struct hpdsl_compat_problem *t = &p->told;
	cmd_auto_free char *first =
		p->first ? cmd_escape(p->first, strlen(p->first)) : NULL;
	cmd_auto_free char *tar =
		p->tar ? cmd_escape(p->tar, strlen(p->tar)) : NULL;

	cmd_print("%s: %s%s %s: %s", hpdsl_reader_name(t->reader), t->effect,
		  t->note ? ":" : "", cmd_many(t->count, t->unit).s, t->reason);
	if (first)
		cmd_print(", first '%s'", first);
	if (tar && (!first || strcmp(first, tar) != 0))
		cmd_print("%s %s", first ? " in" : ", first", tar);
	cmd_print("\n");
}

static void print_text(const struct compat *c, unsigned readers,
		       const struct hpdsl_compat_report *r)
{
	for (unsigned reader = 1; reader < HPDSL_READERS_ALL; reader *= 2) {
		if (!(readers & reader))
			continue;
		cmd_print("%s: %s\n", hpdsl_reader_name(reader),
			  r->trips & reader ? "trips" : "takes all of it");
		for (size_t i = 0; i < c->n; i++)
			if (c->v[i].told.reader == reader)
				print_problem(&c->v[i]);
	}
}

static void json_problem(struct cmd_json *j, const struct problem *p)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_string(j, "effect", p->told.effect);
	cmd_json_u64(j, "count", p->told.count);
	cmd_json_string(j, "unit", p->told.unit);
	cmd_json_string(j, "reason", p->told.reason);
	if (p->first)
		cmd_json_name(j, "first", p->first, strlen(p->first));
	if (p->tar)
		cmd_json_name(j, "tar", p->tar, strlen(p->tar));
	cmd_json_close(j, '}');
}

static void print_json(const struct compat *c, unsigned readers,
		       const struct hpdsl_compat_report *r)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "tars", r->tars);
	cmd_json_u64(&j, "samples", r->samples);
	cmd_json_u64(&j, "members", r->members);
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_open(&j, "readers", '[');
	for (unsigned reader = 1; reader < HPDSL_READERS_ALL; reader *= 2) {
		if (!(readers & reader))
			continue;
		cmd_json_open(&j, NULL, '{');
		cmd_json_string(&j, "reader", hpdsl_reader_name(reader));
		cmd_json_bool(&j, "trips", r->trips & reader);
		cmd_json_open(&j, "problems", '[');
		for (size_t i = 0; i < c->n; i++)
			if (c->v[i].told.reader == reader)
				json_problem(&j, &c->v[i]);
		cmd_json_close(&j, ']');
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_line(&j);
}

/* How train is had without val, from the first of what was given. */
static void tell_splits(const char *path, unsigned readers, unsigned splits)
{
	static const unsigned by_name =
		HPDSL_READER_DALI | HPDSL_READER_ENERGON | HPDSL_READER_WIDS;
	cmd_auto_free char *index = NULL, *shown = NULL;
	char list[64] = "webdataset";
	size_t n = readers & HPDSL_READER_WEBDATASET || !(readers & by_name) ?
			   strlen(list) :
			   0;

	if (asprintf(&index, "%s/index.hpdsl", path) < 0)
		cmd_no_memory();
	shown = access(index, F_OK) == 0 ? cmd_quoted_path(path) :
					   copy("TAR..");
	for (unsigned reader = 1; reader < HPDSL_READERS_ALL; reader *= 2)
		if (readers & by_name & reader)
			n += (size_t)snprintf(list + n, sizeof(list) - n,
					      "%s%s", n ? "," : "",
					      hpdsl_reader_name(reader));
	cmd_message("%s lie together in one tar, and other readers train on "
		    "all of it; for them make a pack of each:",
		    cmd_splits(splits).s);
	for (; splits; splits &= splits - 1)
		cmd_message("    hpdsl-pack --for=%s --include='%s/**' %s "
			    "packed-%s",
			    list, hpdsl_split_name(splits), shown,
			    hpdsl_split_name(splits));
}

int compat_run(const struct cmd_strings *paths, unsigned readers,
	       const struct cmd_common *common)
{
	struct compat c = { 0 };
	struct hpdsl_compat_options opt = { .readers = readers,
					    .threads = common->threads,
					    .foreign_owner =
						    common->foreign_owner,
					    .problem = note,
					    .arg = &c };
	struct hpdsl_compat_report report = { 0 };
	struct hpdsl_error err = { 0 };
	int code;

	cmd_watch(&opt.watch, common->quiet);
	code = hpdsl_compat(paths->v, paths->n, &opt, &report, &err);
	cmd_progress_end();
	if (code == 0 && common->json)
		print_json(&c, readers, &report);
	else if (code == 0)
		print_text(&c, readers, &report);
	for (size_t i = 0; i < c.n; i++) {
		free(c.v[i].first);
		free(c.v[i].tar);
	}
	free(c.v);
	if (code < 0)
		return cmd_tell(&err);
	if (!common->json && !common->quiet)
		cmd_message("looked at: %s, %s in %s, %s",
			    cmd_many(report.samples, "sample").s,
			    cmd_many(report.members, "member").s,
			    cmd_many(report.tars, "tar").s,
			    cmd_seconds(report.seconds).s);
	if (report.splits && !common->json && !common->quiet)
		tell_splits(paths->v[0], readers, report.splits);
	return report.trips ? CMD_NO : CMD_DONE;
}
