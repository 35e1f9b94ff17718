/* SPDX-License-Identifier: Apache-2.0 */
/* Which readers take it as it is, and what the others trip over first. */
#include "info.h"

#include <string.h>

#define READERS 6 /* bits of enum hpdsl_reader */

struct found {
	char *why[READERS]; /* the first thing that each trips over */
	char *damage;	    /* the first tar that is */
};

static void note(void *arg, const struct hpdsl_compat_problem *p)
{
	struct found *f = arg;
	unsigned bit = (unsigned)__builtin_ctz(p->reader);

	if (p->note || f->why[bit])
		return;
	if (asprintf(&f->why[bit], "%s %s: %s%s%s", p->effect,
		     cmd_many(p->count, p->unit).s, p->reason,
		     p->first ? ", first " : "", p->first ? p->first : "") < 0)
		cmd_no_memory();
}

/* hpdsl_compat() warns of what is damaged, and of nothing else. */
static void warn(void *arg, const char *text)
{
	struct found *f = arg;

	if (f->damage)
		return;
	f->damage = strdup(text);
	if (!f->damage)
		cmd_no_memory();
}

static void put_json(struct cmd_json *j, const struct found *f, bool ours)
{
	cmd_json_open(j, "readers", '[');
	cmd_json_open(j, NULL, '{');
	cmd_json_string(j, "reader", "hpdsl");
	cmd_json_bool(j, "takes", ours);
	cmd_json_close(j, '}');
	for (unsigned k = 0; k < READERS; k++) {
		cmd_json_open(j, NULL, '{');
		cmd_json_string(j, "reader", hpdsl_reader_name(1u << k));
		cmd_json_bool(j, "takes", !f->why[k]);
		if (f->why[k])
			cmd_json_name(j, "why", f->why[k], strlen(f->why[k]));
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

static void put_text(struct info *i, const struct found *f, bool ours)
{
	char list[128];
	int n = snprintf(list, sizeof(list), "%s", ours ? ", hpdsl" : "");

	for (unsigned k = 0; k < READERS; k++)
		if (!f->why[k])
			n += snprintf(list + n, sizeof(list) - (size_t)n,
				      ", %s", hpdsl_reader_name(1u << k));
	info_row(i, "taken by", "%s", n ? list + 2 : "none of the readers");
	for (unsigned k = 0; k < READERS; k++)
		if (f->why[k])
			info_row(i, "not by", "%s: %s",
				 hpdsl_reader_name(1u << k), f->why[k]);
}

static void put(struct info *i, const struct info_readers *r,
		const struct found *f, const struct hpdsl_compat_report *report)
{
	if (info_json(i)) {
		put_json(info_json(i), f, r->ours);
		cmd_json_u64(info_json(i), "looked_at", report->members);
		return;
	}
	put_text(i, f, r->ours);
	if (r->tars && report->members < r->all)
		info_row(i, "", "as far as looked at: %s of %llu",
			 cmd_many(report->members, "member").s,
			 (unsigned long long)r->all);
	else if (r->tars && !r->all)
		info_row(i, "", "as far as looked at: %s of %s",
			 cmd_many(report->members, "member").s,
			 cmd_many(report->tars, "tar").s);
}

void info_readers(struct info *i, const struct info_readers *r,
		  struct hpdsl_compat_report *ret)
{
	struct found f = { 0 };
	struct hpdsl_compat_options opt = {
		.readers = HPDSL_READERS_ALL,
		.foreign_owner = i->common.foreign_owner,
		.threads = i->common.threads,
		.problem = note,
		.arg = &f,
		.watch = { .warn = warn, .arg = &f },
		.tars = r->tars,
		.members = r->members,
	};
	struct hpdsl_error err;

	*ret = (struct hpdsl_compat_report){ 0 };
	if (hpdsl_compat(r->paths, r->n, &opt, ret, &err) < 0)
		info_failed(i, &err);
	else if (f.damage) /* that is why, for all of them */
		info_wrong(i, "%s", f.damage);
	else if (ret->tars)
		put(i, r, &f, ret);
	for (unsigned k = 0; k < READERS; k++)
		free(f.why[k]);
	free(f.damage);
}
