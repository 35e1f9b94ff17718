/* SPDX-License-Identifier: Apache-2.0 */
/* Before a byte is written: can the side files of this plan hold its names? */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/tar.h"
#include "format/emit.h"
#include "plan/keys_again.h"
#include "plan/name_risk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BIT(risk) (UINT32_C(1) << (risk))

/* What a reader could not find again through its file. */
struct rule {
	unsigned emit;
	const char *name;
	uint32_t risks; /* bits of enum hp_risk */
};

static const struct rule rules[] = {
	{ HPDSL_EMIT_DALI, "dali", 0 },
	{ HPDSL_EMIT_ENERGON, "energon",
	  BIT(HP_RISK_HIDDEN) | BIT(HP_RISK_META) | BIT(HP_RISK_FOLDER) },
	{ HPDSL_EMIT_WIDS, "wids",
	  BIT(HP_RISK_HIDDEN) | BIT(HP_RISK_LONG) | BIT(HP_RISK_PAX) |
		  BIT(HP_RISK_NEWLINE) | BIT(HP_RISK_FOLDER) |
		  BIT(HP_RISK_NOT_UTF8) },
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* The first name that breaks a rule, and how many do. */
struct broken {
	uint64_t names, first;
	const char *reason;
};

struct names {
	const struct hp_pack *p;
	struct hp_keys_again again;
	struct broken broken[RULES];
	uint64_t blanks; /* names with a blank that DALI can be spared */
	/* Of the sample that is looked at; room for it. */
	struct hp_name *v;
	uint32_t *risks;
	size_t room;
};

static void names_release(struct names *s)
{
	free(s->v);
	free(s->risks);
}

static int make_room(struct names *s, size_t n, struct hpdsl_error *err)
{
	if (n <= s->room)
		return 0;
	names_release(s);
	s->v = hp_array(n, sizeof *s->v);
	s->risks = hp_array(n, sizeof *s->risks);
	s->room = n;
	return s->v && s->risks ? 0 : hp_fail_nomem(err);
}

/* A file of a sample, with what is odd about its name. */
struct odd {
	uint64_t sample, file;
	const struct hp_name *name;
	uint32_t risks;
};

/* Why it cannot stand in a file for this reader; NULL if it can. */
static const char *fault(const struct names *s, const struct rule *rule,
			 const struct odd *odd)
{
	const struct hp_name *name = odd->name;
	size_t key = hp_key_first(name->s, name->len);
	uint32_t risks = odd->risks;
	uint32_t found = risks & rule->risks;

	if (key + 1 >= name->len)
		return hp_risk_text(HP_RISK_NO_SUFFIX);
	if (found)
		return hp_risk_text((enum hp_risk)__builtin_ctz(found));
	if (rule->emit == HPDSL_EMIT_DALI)
		return hp_emit_dali_blank(name->s + key, name->len - key) ?
			       "a blank in the suffix" :
			       NULL;
	/* Portable names have a key each. */
	if (!s->p->w.list.stored && hp_key_is_again(&s->again, odd->sample))
		return "the key of another sample, too";
	if (rule->emit == HPDSL_EMIT_WIDS &&
	    s->p->w.list.files[odd->file].size > HP_TAR_NUMBER_MAX)
		return "8 GiB or more";
	return NULL;
}

static int check_sample(struct names *s, uint64_t sample,
			struct hpdsl_error *err)
{
	uint64_t first = s->p->w.list.samples[sample];
	size_t n = (size_t)(s->p->w.list.samples[sample + 1] - first);
	struct hp_tar_member m;
	int r = make_room(s, n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		hp_plan_header(&s->p->w.list, first + i, &m);
		s->v[i] = (struct hp_name){ m.path, m.path_len };
	}
	if (r == 0)
		r = hp_risks_find(s->v, n, s->risks, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct odd odd = { sample, first + i, &s->v[i],
					 s->risks[i] };

		for (int k = 0; k < RULES; k++) {
			struct broken *b = &s->broken[k];
			const char *why = s->p->w.opt->emit & rules[k].emit ?
						  fault(s, &rules[k], &odd) :
						  NULL;

			if (why && !b->names++) {
				b->first = first + i;
				b->reason = why;
			}
		}
		s->blanks += hp_emit_dali_blank(s->v[i].s, s->v[i].len);
	}
	return r;
}

static int tell_broken(const struct names *s, struct hpdsl_error *err)
{
	for (int k = 0; k < RULES; k++) {
		const struct broken *b = &s->broken[k];
		char name[HP_PRINTABLE], more[48] = "";
		struct hp_tar_member m;

		if (!b->names)
			continue;
		hp_plan_header(&s->p->w.list, b->first, &m);
		if (b->names > 1)
			snprintf(more, sizeof more,
				 " (and %" PRIu64 " names more)", b->names - 1);
		return hp_fail(err, HPDSL_EUSAGE,
			       "emit=%s: its index cannot hold '%s': %s%s%s",
			       rules[k].name,
			       hp_printable(m.path, m.path_len, name),
			       b->reason, more,
			       s->p->w.opt->names == HPDSL_NAMES_PORTABLE ?
				       "" :
				       "; portable names are taken");
	}
	return 0;
}

static void tell_blanks(const struct names *s)
{
	const struct hpdsl_watch *w = &s->p->w.opt->watch;
	char text[160];

	if (!s->blanks || !(s->p->w.opt->emit & HPDSL_EMIT_DALI) || !w->warn)
		return;
	snprintf(text, sizeof text,
		 "%" PRIu64 " name%s with a blank: DALI's index files of these "
		 "chunks hold no names (version 1.1)",
		 s->blanks, s->blanks == 1 ? "" : "s");
	w->warn(w->arg, text);
}

int hp_emit_check(const struct hp_pack *p, struct hpdsl_error *err)
{
	struct names s = { .p = p };
	int r = p->w.opt->emit ?
			hp_keys_again_begin(&s.again, &p->w.list, err) :
			0;

	for (uint64_t i = 0;
	     p->w.opt->emit && r == 0 && i < p->w.list.n_samples; i++)
		r = check_sample(&s, i, err);
	if (r == 0)
		r = tell_broken(&s, err);
	if (r == 0)
		tell_blanks(&s);
	hp_keys_again_end(&s.again);
	names_release(&s);
	return r;
}
