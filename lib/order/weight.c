/* SPDX-License-Identifier: Apache-2.0 */
/* What the chosen samples weigh. */
#include "order/choice.h"

#include "base/error.h"
#include "base/mem.h"
#include "index/index.h"

#include <inttypes.h>
#include <string.h>

/* Of each sample its class, none being the last; and how many each has. */
static int read_labels(struct hpdsl_choice *c, const struct hp_index *ix,
		       uint64_t *has, struct hpdsl_error *err)
{
	struct hp_sample_row row;

	c->label = hp_array(c->n, sizeof *c->label);
	if (!c->label)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < c->n; s++) {
		int r = hp_index_sample_row(ix, s, &row, err);

		if (r < 0)
			return r;
		if (row.label == HPDSL_NO_LABEL)
			row.label = c->classes;
		c->label[s] = row.label;
		has[row.label] += hpdsl_choice_has(c, s);
	}
	return 0;
}

/* floor(T / (C n_c)) in units of HPDSL_WEIGHT_ONE. */
static uint64_t fair(uint64_t chosen, uint64_t present, uint64_t has)
{
	unsigned __int128 w = ((unsigned __int128)chosen << 32) /
			      ((unsigned __int128)present * has);

	return w < UINT64_MAX ? (uint64_t)w : UINT64_MAX;
}

/* Each class present gets the same share of as many samples as are chosen. */
static void balance(struct hpdsl_choice *c, const uint64_t *has)
{
	uint64_t present = 0;

	for (uint32_t i = 0; i <= c->classes; i++)
		present += has[i] > 0;
	for (uint32_t i = 0; i <= c->classes; i++)
		c->by_class[i] = has[i] ? fair(c->chosen, present, has[i]) : 0;
}

static int weigh_classes(struct hpdsl_choice *c, const struct hp_index *ix,
			 const uint64_t *given, struct hpdsl_error *err)
{
	uint64_t n = (uint64_t)c->classes + 1;
	hp_auto_free uint64_t *has = calloc(n, sizeof *has);
	int r;

	c->by_class = hp_array(n, sizeof *c->by_class);
	if (!has || !c->by_class)
		return hp_fail_nomem(err);
	r = read_labels(c, ix, has, err);
	if (r < 0)
		return r;
	if (given)
		memcpy(c->by_class, given, n * sizeof *given);
	else
		balance(c, has);
	return 0;
}

/* What is large beyond reason is in other units, or a mistake. */
static int check_given(const char *what, const uint64_t *w, uint64_t n,
		       struct hpdsl_error *err)
{
	for (uint64_t i = 0; i < n; i++)
		if (w[i] > HPDSL_WEIGHT_MOST)
			return hp_fail(err, HPDSL_EUSAGE,
				       "%s %" PRIu64 ": no weight may be above "
				       "%" PRIu64,
				       what, i,
				       (uint64_t)(HPDSL_WEIGHT_MOST /
						  HPDSL_WEIGHT_ONE));
	return 0;
}

int hp_choice_weigh(struct hpdsl_choice *c, const struct hp_index *ix,
		    const struct hpdsl_choice_options *opt,
		    struct hpdsl_error *err)
{
	int r = 0;

	if (opt->balanced + !!opt->class_weight + !!opt->sample_weight > 1)
		return hp_fail(err, HPDSL_EUSAGE,
			       "a choice has weights of one kind only");
	if (opt->class_weight)
		r = check_given("class", opt->class_weight, c->classes + 1ULL,
				err);
	if (opt->sample_weight)
		r = check_given("sample", opt->sample_weight, c->n, err);
	if (r < 0)
		return r;
	if (opt->balanced || opt->class_weight)
		return weigh_classes(c, ix, opt->class_weight, err);
	if (!opt->sample_weight)
		return 0;
	c->by_sample = hp_array(c->n, sizeof *c->by_sample);
	if (!c->by_sample)
		return hp_fail_nomem(err);
	memcpy(c->by_sample, opt->sample_weight, c->n * sizeof *c->by_sample);
	return 0;
}
