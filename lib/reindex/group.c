/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How files become samples, which chunks do not say: the caller, a sound
 * manifest or the old index does.  Where nobody does, it is by key, as long as
 * nothing in the chunks speaks against it.
 */
#include "reindex/reindex.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

/* What somebody says of it; LOOK: nothing. */
struct said {
	enum hpdsl_group group;
	const char *const *doubles;
	size_t n;
};

static enum hpdsl_group group_of(const char *word)
{
	static const enum hpdsl_group groups[] = { HPDSL_GROUP_KEY,
						   HPDSL_GROUP_NONE,
						   HPDSL_GROUP_LAST };

	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (!strcmp(word, hpdsl_group_word(groups[i])))
			return groups[i];
	return HPDSL_GROUP_LOOK;
}

/* room has a place for each option. */
static struct said of_manifest(const struct hp_reindex *x, const char **room)
{
	const struct hp_pairs *p = &x->manifest.options;
	struct said said = { group_of(hp_reindex_option(x, "group")), room, 0 };

	for (size_t i = 0; x->has_manifest && i < p->n; i++)
		if (!strcmp(p->v[i].key, HP_DOUBLE_SUFFIX))
			room[said.n++] = p->v[i].value;
	return said;
}

static struct said of_index(const struct hp_reindex *x)
{
	const struct hp_key_rule *key = hp_index_key_rule(x->index);
	uint32_t flags = hp_index_flags(x->index);

	return (struct said){ flags & HP_INDEX_GROUP_NONE ? HPDSL_GROUP_NONE :
			      key->last			  ? HPDSL_GROUP_LAST :
							    HPDSL_GROUP_KEY,
			      key->doubles, key->n };
}

static bool is_among(const char *s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s, v[i]))
			return true;
	return false;
}

/* Does the caller say the same, as far as he says something? */
static bool agrees(const struct hpdsl_reindex_options *opt,
		   const struct said *was)
{
	bool same = opt->group == was->group;

	for (size_t i = 0; i < opt->n_double_suffix; i++)
		same &= is_among(opt->double_suffix[i], was->doubles, was->n);
	for (size_t i = 0; opt->n_double_suffix && i < was->n; i++)
		same &= is_among(was->doubles[i], opt->double_suffix,
				 opt->n_double_suffix);
	return same;
}

/* Is it said by whoever packed it?  What was rebuilt may have been guessed, but
 * where names are stored the index alone knows how they were grouped. */
static bool is_packers(const struct hp_reindex *x)
{
	/* What is there is known, not yet what there will be. */
	if (x->adopt || (x->has_manifest && x->manifest.adopted) ||
	    (x->index && hp_index_flags(x->index) & HP_INDEX_FOREIGN))
		return false;
	if (x->index && (!x->has_manifest || hp_index_has_stored(x->index)))
		return true;
	return x->has_manifest && !x->manifest.rebuilt && !x->manifest.adopted;
}

/* Who packed it knows better than the caller. */
static int refuse_other(const struct hp_reindex *x, const struct said *was,
			struct hpdsl_error *err)
{
	if (!is_packers(x) || was->group == HPDSL_GROUP_LOOK ||
	    agrees(x->opt, was))
		return 0;
	return hp_fail(err, HPDSL_EUSAGE, "it was packed with group %s%s",
		       hpdsl_group_word(was->group),
		       was->group == x->opt->group ?
			       " and other double suffixes" :
			       "");
}

int hp_reindex_rule(struct hp_reindex *x, struct hpdsl_error *err)
{
	hp_auto_free const char **room =
		hp_array(x->manifest.options.n, sizeof *room);
	const struct hpdsl_reindex_options *opt = x->opt;
	struct said is;
	int r = 0;

	if (!room)
		return hp_fail_nomem(err);
	if (!opt->has_group && opt->n_double_suffix)
		return hp_fail(err, HPDSL_EUSAGE,
			       "double_suffix: goes with group last alone");
	is = of_manifest(x, room);
	if (is.group == HPDSL_GROUP_LOOK && x->index)
		is = of_index(x);
	if (opt->has_group) {
		r = refuse_other(x, &is, err);
		/* Its double suffixes stay, unless there are others now. */
		if (opt->group != is.group || opt->n_double_suffix)
			is = (struct said){ opt->group, opt->double_suffix,
					    opt->n_double_suffix };
	}
	/* Names in chunks are all that is left: they end at the first dot. */
	if (is.group == HPDSL_GROUP_LAST &&
	    !(x->index && hp_index_has_stored(x->index)) &&
	    !strcmp(hp_reindex_option(x, "names"), "portable"))
		is = (struct said){ .group = HPDSL_GROUP_KEY };
	x->group = is.group;
	return r < 0 ? r :
		       hp_list_rule(&x->list, is.group, is.doubles, is.n, err);
}

/* ---- Nobody says it --------------------------------------------------- */

/* What was packed has each key once: else in words, or "". */
static int see_repeats(struct hp_reindex *x, char text[HPDSL_LOOK_TEXT],
		       struct hpdsl_error *err)
{
	uint64_t n = 0, first = 0;
	char key[HP_PRINTABLE];
	int r = hp_reindex_repeats(x, true, &n, &first, err);

	*text = '\0';
	if (r == 0 && n) {
		const struct hp_file *f =
			&x->list.files[x->list.samples[first]];

		snprintf(text, HPDSL_LOOK_TEXT,
			 "%" PRIu64 " sample%s the key of one before, first "
			 "'%s'",
			 n, n == 1 ? " has" : "s have",
			 hp_printable(f->path, f->key_len, key));
	}
	return r;
}

/* What speaks against keys that end at the first dot, in words; or "". */
static int see_doubt(struct hp_reindex *x, char text[HPDSL_LOOK_TEXT],
		     struct hpdsl_error *err)
{
	struct hpdsl_group_look look;
	int r = see_repeats(x, text, err);

	if (r < 0 || *text)
		return r;
	r = hp_list_look(&x->list, &look, err);
	if (r == 0 && (look.verdict == HPDSL_LOOK_REFUSE ||
		       look.verdict == HPDSL_LOOK_TELL))
		hpdsl_look_text(&look, text);
	return r;
}

/* The caller says it: the chunks may say that it is not so. */
static int check_given(struct hp_reindex *x, struct hpdsl_error *err)
{
	char text[HPDSL_LOOK_TEXT];
	int r;

	if (!x->opt->has_group || x->adopt || x->group == HPDSL_GROUP_NONE)
		return 0;
	r = see_repeats(x, text, err);
	if (r < 0 || !*text)
		return r;
	return hp_fail(err, HPDSL_EUSAGE, "%s: it was not packed with group %s",
		       text, hpdsl_group_word(x->group));
}

int hp_reindex_grouped(struct hp_reindex *x, struct hpdsl_error *err)
{
	char text[HPDSL_LOOK_TEXT];
	int r;

	if (x->group != HPDSL_GROUP_LOOK)
		return check_given(x, err);
	x->group = HPDSL_GROUP_KEY;
	if (x->adopt)
		return 0;
	r = see_doubt(x, text, err);
	if (r == 0 && !*text && x->frames_apart)
		snprintf(text, sizeof text,
			 "members of one key are compressed apart");
	if (r < 0 || !*text)
		return r;
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s; manifest and index are lost: what a sample is has "
		       "to be said",
		       text);
}
