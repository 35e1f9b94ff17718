/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about keys: what makes a sample, and which member was generated. */
#include "verify/rules.h"

#include "base/error.h"
#include "base/hash.h"
#include "plan/name_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".cls"

enum { STOP_EVERY = 4096 }; /* samples between two looks at stop */

void hp_rules_sample_bad(struct hp_rules *r, uint64_t number, const char *why)
{
	if (!hp_findings_enough(&r->findings))
		hp_findings_add(&r->findings, "sample %" PRIu64 ": %s", number,
				why);
}

static void bad_member(struct hp_rules *r, uint64_t number, const char *why)
{
	if (!hp_findings_enough(&r->findings))
		hp_findings_add(&r->findings, "member %" PRIu64 ": %s", number,
				why);
}

/* ---- Generated members ------------------------------------------------ */

/* Is the content the number of the class, in digits? */
static bool is_label(const struct hp_rules *r, const struct hpdsl_member *m)
{
	char text[16];
	int n = snprintf(text, sizeof text, "%" PRIu32, r->row.label);

	if (r->row.label == HPDSL_NO_LABEL)
		return !r->packed;
	return m->size == (uint64_t)n &&
	       m->checksum == hp_hash64(text, (size_t)n);
}

/* The sample's first member that was not generated. */
static int first_file(const struct hp_rules *r, struct hpdsl_member *ret)
{
	for (uint64_t i = r->row.first; i < r->row.end; i++)
		if (hp_index_member(r->ix, i, ret, NULL) == 0 &&
		    !ret->generated)
			return 0;
	return -1;
}

static void check_generated(struct hp_rules *r, uint64_t number)
{
	size_t key = r->key.len, suffix = strlen(SUFFIX);
	struct hpdsl_member m, file;

	r->generated++;
	if (hp_index_member(r->ix, number, &m, NULL) < 0)
		return;
	if (m.path_len != key + suffix || memcmp(m.path, r->key.s, key) ||
	    memcmp(m.path + key, SUFFIX, suffix))
		bad_member(r, number,
			   "is marked as generated, and is not its sample's "
			   "key with " SUFFIX);
	else if (!is_label(r, &m))
		bad_member(r, number,
			   "was generated, and its content is not the label");
	else if (r->packed && first_file(r, &file) == 0 &&
		 (m.mtime != file.mtime || m.mtime_nsec != file.mtime_nsec ||
		  m.mode != file.mode))
		bad_member(r, number,
			   "was generated, and has not mtime and mode of its "
			   "sample's first other member");
}

static void count_generated(struct hp_rules *r)
{
	if (r->cls && r->generated != 1)
		hp_rules_sample_bad(r, r->sample,
				    r->generated ?
					    "has several generated members" :
					    "has no generated member");
	else if (r->generated && !r->cls && (r->packed || r->adopted))
		hp_rules_sample_bad(r, r->sample,
				    "has a generated member, but the manifest "
				    "no cls");
	else if (r->generated == r->row.end - r->row.first)
		hp_rules_sample_bad(r, r->sample,
				    "has only what was generated");
}

/* ---- One sample ------------------------------------------------------- */

/* Of adopted tars: a sample is a longest run of one key, or each file is one.
 */
static void check_run(struct hp_rules *r)
{
	if (r->last_key.s && r->last_chunk == r->row.chunk &&
	    hp_name_compare(r->last_key, r->key) == 0)
		hp_rules_sample_bad(r, r->sample,
				    "has the key of the one before it");
	r->last_key = r->key;
	r->last_chunk = r->row.chunk;
}

static void check_member(struct hp_rules *r, uint64_t number,
			 const struct hp_rule_row *m)
{
	if (number > r->row.first) {
		if (hp_name_compare(r->key, hp_key_of(r->ix, m->path)) != 0)
			bad_member(r, number,
				   "has another key than its sample");
		else if (r->packed && hp_name_compare(r->last, m->path) >= 0)
			bad_member(r, number,
				   "is not in the order of its sample's paths");
	}
	if (m->generated)
		check_generated(r, number);
	r->last = m->path;
}

static int check_sample(struct hp_rules *r, struct hpdsl_error *err)
{
	int k = hp_index_sample_row(r->ix, r->sample, &r->row, err);

	if (k < 0)
		return k;
	r->generated = 0;
	for (uint64_t i = r->row.first; i < r->row.end; i++) {
		struct hp_rule_row m;

		k = hp_rule_row(r->ix, i, &m, err);
		if (k < 0)
			return k;
		if (i == r->row.first)
			r->key = hp_key_of(r->ix, m.path);
		check_member(r, i, &m);
	}
	if (r->adopted && !(hp_index_flags(r->ix) & HP_INDEX_GROUP_NONE))
		check_run(r);
	if (r->cls || r->generated)
		count_generated(r);
	return 0;
}

int hp_rules_samples(struct hp_rules *r, struct hpdsl_error *err)
{
	struct hpdsl_counts n;
	int k = 0;

	hp_index_count(r->ix, &n);
	for (r->sample = 0; r->sample < n.samples && k == 0; r->sample++) {
		if (r->sample % STOP_EVERY == 0 &&
		    hp_stopped(&r->v->opt->watch))
			return hp_fail(err, HPDSL_ESTOPPED, "stopped");
		k = check_sample(r, err);
	}
	return k;
}

/* ---- All samples ------------------------------------------------------ */

static struct hp_name sample_key(const void *arg, uint64_t number)
{
	const struct hp_rules *r = arg;
	struct hp_sample_row row;
	struct hp_rule_row m;

	if (hp_index_sample_row(r->ix, number, &row, NULL) < 0 ||
	    hp_rule_row(r->ix, row.first, &m, NULL) < 0)
		return (struct hp_name){ "", 0 };
	return hp_key_of(r->ix, m.path);
}

int hp_rules_unique(struct hp_rules *r, struct hpdsl_error *err)
{
	struct hp_string_set keys;
	struct hpdsl_counts n;
	int k;

	hp_index_count(r->ix, &n);
	k = hp_string_set_init(&keys, n.samples, err);
	if (k < 0)
		return k;
	for (uint64_t s = 0; s < n.samples; s++)
		if (!hp_string_set_add(&keys, sample_key(r, s), s, sample_key,
				       r))
			hp_rules_sample_bad(r, s, "another sample has its key");
	hp_string_set_release(&keys);
	return 0;
}
