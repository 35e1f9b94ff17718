/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hpdsl_verify holds against hpdsl-format(5), "WHAT A CHECKING READER
 * CHECKS", beyond what makes an index safe to read: a reader does without.
 */
#ifndef HP_VERIFY_RULES_H
#define HP_VERIFY_RULES_H

#include "format/findings.h"
#include "index/look.h"
#include "plan/name_risk.h"
#include "verify/verify.h"

/* One walk over the index. */
struct hp_rules {
	struct hp_verify *v;
	const struct hp_index *ix;
	struct hp_findings findings; /* in the index */
	bool adopted;
	bool packed; /* by hpdsl-pack, as far as is known: not rebuilt */
	bool unique; /* a key is that of one sample */
	bool cls;    /* the manifest says so */
	/* The sample at hand. */
	uint64_t sample;
	struct hp_sample_row row;
	uint64_t generated;	  /* members of it */
	struct hp_name key, last; /* key: of what; last: the path before */
	/* Of adopted tars, the one before. */
	struct hp_name last_key;
	uint32_t last_chunk;
};

/* What of a member's row is looked at most. */
struct hp_rule_row {
	struct hp_name path;
	uint64_t size;
	bool generated;
};

/* hp_index_check has found all rows to be good; they may have changed since. */
static inline int hp_rule_row(const struct hp_index *ix, uint64_t number,
			      struct hp_rule_row *ret, struct hpdsl_error *err)
{
	struct hp_index_look look;
	int r = hp_index_look(ix, number, &look, err);

	if (r < 0)
		return r;
	ret->path = (struct hp_name){ look.path, look.path_len };
	ret->size = look.size;
	ret->generated = look.generated;
	return 0;
}

/* Negative, 0 or positive, as strings of bytes are ordered. */
static inline int hp_name_compare(struct hp_name a, struct hp_name b)
{
	int d = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);

	return d ? d : (a.len > b.len) - (a.len < b.len);
}

/* By the index's own rule. */
static inline struct hp_name hp_key_of(const struct hp_index *ix,
				       struct hp_name path)
{
	return (struct hp_name){ path.s,
				 hp_index_key_length(ix, path.s, path.len) };
}

/* "sample 7: why", unless enough was found. */
void hp_rules_sample_bad(struct hp_rules *r, uint64_t number, const char *why);

/* Sections, classes, names of chunks, frames: rules.c. */
void hp_rules_plain(struct hp_rules *r);
/* Samples and their members, in order: keys.c. */
int hp_rules_samples(struct hp_rules *r, struct hpdsl_error *err);
/* That no two samples have one key, however they lie. */
int hp_rules_unique(struct hp_rules *r, struct hpdsl_error *err);

/* The manifest, with what it says of the index: manifest.c. */
void hp_rules_manifest(struct hp_verify *v);

/* The value of an option in the manifest; "": none, or no manifest. */
const char *hp_rules_option(const struct hp_verify *v, const char *key);

#endif
