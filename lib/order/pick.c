/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking samples: a list, a share, chunks, classes, folders, names.  Each takes
 * from the bitmap what does not pass, the cheap ones first.
 */
#include "order/choice.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/perm.h"
#include "index/index.h"

#include <inttypes.h>
#include <string.h>

static void take_all(struct hpdsl_choice *c)
{
	for (uint64_t i = 0; i < c->n / 64; i++)
		c->bits[i] = UINT64_MAX;
	if (c->n % 64)
		c->bits[c->n / 64] = (UINT64_C(1) << c->n % 64) - 1;
}

/* ---- A list ----------------------------------------------------------- */

static int take_list(struct hpdsl_choice *c,
		     const struct hpdsl_choice_options *opt,
		     struct hpdsl_error *err)
{
	memset(c->bits, 0, hp_choice_words(c->n) * sizeof *c->bits);
	for (uint64_t i = 0; i < opt->n_samples; i++) {
		uint64_t s = opt->samples[i];

		if (s >= c->n)
			return hp_fail(err, HPDSL_EUSAGE,
				       "no sample %" PRIu64
				       ", there are %" PRIu64,
				       s, c->n);
		c->bits[s / 64] |= UINT64_C(1) << s % 64;
	}
	return 0;
}

/* ---- A share ---------------------------------------------------------- */

static uint64_t share(uint64_t n, uint32_t part)
{
	return (uint64_t)((unsigned __int128)n * part / HPDSL_SPLIT_ONE);
}

static int drop_share(struct hpdsl_choice *c,
		      const struct hpdsl_choice_options *opt,
		      struct hpdsl_error *err)
{
	enum { SOME = 512 };
	uint64_t from = share(c->n, opt->split_from);
	uint64_t to = share(c->n, opt->split_to);
	uint64_t at[SOME];
	struct hp_perm perm;

	if (opt->split_from >= opt->split_to || opt->split_to > HPDSL_SPLIT_ONE)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%" PRIu32 " to %" PRIu32
			       " billionths are no share of a dataset",
			       opt->split_from, opt->split_to);
	if (c->n)
		hp_perm_init(&perm, c->n,
			     hp_perm_key(opt->split_seed, "split", NULL, 0));
	for (uint64_t s = 0; s < c->n; s += SOME) {
		size_t n = c->n - s < SOME ? (size_t)(c->n - s) : SOME;

		hp_perm_range(&perm, s, n, at);
		for (size_t i = 0; i < n; i++)
			if (at[i] < from || at[i] >= to)
				hp_choice_drop(c, s + i);
	}
	return 0;
}

/* ---- Classes ---------------------------------------------------------- */

/* A flag for each class, and one more for none. */
static int wanted_labels(const struct hpdsl_choice *c,
			 const struct hpdsl_choice_options *opt, bool *wanted,
			 struct hpdsl_error *err)
{
	for (size_t i = 0; i < opt->n_labels; i++) {
		uint32_t label = opt->labels[i];

		if (label == HPDSL_NO_LABEL)
			label = c->classes;
		else if (label >= c->classes)
			return hp_fail(err, HPDSL_EUSAGE,
				       "no class %" PRIu32
				       ", there are %" PRIu32,
				       label, c->classes);
		wanted[label] = true;
	}
	return 0;
}

static int drop_labels(struct hpdsl_choice *c, const struct hp_index *ix,
		       const struct hpdsl_choice_options *opt,
		       struct hpdsl_error *err)
{
	hp_auto_free bool *wanted = calloc((size_t)c->classes + 1, 1);
	struct hp_sample_row row;
	int r;

	if (!wanted)
		return hp_fail_nomem(err);
	r = wanted_labels(c, opt, wanted, err);
	for (uint64_t s = 0; r == 0 && s < c->n; s++) {
		if (!hpdsl_choice_has(c, s))
			continue;
		r = hp_index_sample_row(ix, s, &row, err);
		if (r == 0 && row.label == HPDSL_NO_LABEL)
			row.label = c->classes;
		if (r == 0 && !wanted[row.label])
			hp_choice_drop(c, s);
	}
	return r;
}

/* ---- Names ------------------------------------------------------------ */

static bool matches(const char *const *patterns, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (hpdsl_glob_match(patterns[i], path))
			return true;
	return false;
}

/* 1: the sample passes; 0: it does not. */
static int passes(const struct hp_index *ix, uint64_t sample,
		  const struct hpdsl_choice_options *opt,
		  struct hpdsl_error *err)
{
	bool in = opt->n_include == 0;
	char path[HPDSL_PATH_MAX + 1];
	struct hp_sample_row row;
	struct hpdsl_member m;
	int r = hp_index_sample_row(ix, sample, &row, err);

	if (r < 0)
		return r;
	for (uint64_t i = row.first; i < row.end; i++) {
		r = hp_index_member(ix, i, &m, err);
		if (r < 0)
			return r;
		/* Where the mapped one ends may change while it is compared. */
		if (!hp_path_copy(m.path, m.path_len, path))
			return hp_index_bad_row(ix, "member", i,
						"has an invalid path", err);
		if (matches(opt->exclude, opt->n_exclude, path))
			return 0;
		in = in || matches(opt->include, opt->n_include, path);
	}
	return in;
}

static int drop_names(struct hpdsl_choice *c, const struct hp_index *ix,
		      const struct hpdsl_choice_options *opt,
		      struct hpdsl_error *err)
{
	for (uint64_t s = 0; s < c->n; s++) {
		int r = hpdsl_choice_has(c, s) ? passes(ix, s, opt, err) : 1;

		if (r < 0)
			return r;
		if (r == 0)
			hp_choice_drop(c, s);
	}
	return 0;
}

int hp_choice_pick(struct hpdsl_choice *c, const struct hp_index *ix,
		   const struct hpdsl_choice_options *opt,
		   struct hpdsl_error *err)
{
	int r = 0;

	take_all(c);
	if (opt->samples)
		r = take_list(c, opt, err);
	if (r == 0 && (opt->split_from || opt->split_to))
		r = drop_share(c, opt, err);
	if (r == 0 && opt->n_tars)
		r = hp_choice_drop_tars(c, ix, opt, err);
	if (r == 0 && opt->n_labels)
		r = drop_labels(c, ix, opt, err);
	if (r == 0 && opt->n_folders)
		r = hp_choice_drop_folders(c, ix, opt, err);
	if (r == 0 && (opt->n_include || opt->n_exclude))
		r = drop_names(c, ix, opt, err);
	return r;
}
