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

/* hpdsl_compat() warns of what is damaged, and of nothing else; whichever of
 * its threads is the first. */
static void warn(void *arg, const char *text)
{
	struct found *f = arg;

	if (f->damage && strcmp(f->damage, text) < 0)
		return;
	free(f->damage);
	f->damage = strdup(text);
	if (!f->damage)
		cmd_no_memory();
}

/* Why not, or NULL: none takes what is not all there. */
static const char *reason(const struct found *f, unsigned k)
{
	return f->why[k] ? f->why[k] : f->damage;
}

static void put_reader(struct cmd_json *j, const char *name, const char *why)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_string(j, "reader", name);
	cmd_json_bool(j, "takes", !why);
	if (why)
		cmd_json_name(j, "why", why, strlen(why));
	cmd_json_close(j, '}');
}

static void put_json(struct cmd_json *j, const struct found *f,
		     const char * not )
{
	cmd_json_open(j, "readers", '[');
	put_reader(j, "hpdsl", f->damage ? f->damage : not );
	for (unsigned k = 0; k < READERS; k++)
		put_reader(j, hpdsl_reader_name(1u << k), reason(f, k));
	cmd_json_close(j, ']');
}

static void put_text(struct info *i, const struct found *f, bool ours)
{
	char list[128];
	int n = snprintf(list, sizeof(list), "%s", ours ? ", hpdsl" : "");

	if (f->damage) { /* what trips besides can wait */
		info_row(i, "taken by", "none of the readers: %s", f->damage);
		return;
	}
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
		put_json(info_json(i), f,
			 r->ours ? NULL : "no index and no manifest");
		cmd_json_u64(info_json(i), "looked_at", report->members);
		return;
	}
	put_text(i, f, r->ours);
	if (f->damage)
		return;
	if (report->splits)
		info_row(i, "", "%s together in one tar: %s",
			 cmd_splits(report->splits).s,
			 r->ours ? "hpdsl alone reads them apart" :
				   "none of these reads them apart");
	if (r->tars && report->members < r->all)
		info_row(i, "", "as far as looked at: %s of %llu",
			 cmd_many(report->members, "member").s,
			 (unsigned long long)r->all);
	else if (r->tars && !r->all)
		info_row(i, "", "as far as looked at: %s of %s",
			 cmd_many(report->members, "member").s,
			 cmd_many(report->tars, "tar").s);
}

/* What was found to be damaged, or could not be read, is so for all of them. */
static void take_wrong(const struct info *i, struct found *f)
{
	free(f->damage);
	f->damage = strdup(i->wrong ? i->wrong : i->unread);
	if (!f->damage)
		cmd_no_memory();
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
	else if (f.damage)
		info_wrong(i, "%s", f.damage);
	if (i->wrong || i->unread)
		take_wrong(i, &f);
	if (ret->tars || f.damage)
		put(i, r, &f, ret);
	for (unsigned k = 0; k < READERS; k++)
		free(f.why[k]);
	free(f.damage);
}
