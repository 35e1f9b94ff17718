/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of batches: how many there are in each, and what share of it the
 * most frequent one has.  Samples without a class count as one more.
 */
#include "order.h"

struct classes {
	uint64_t n;	 /* classes there are, and one: none */
	uint64_t *times; /* of each, in the batch under way */
	uint64_t batches, least;
	double distinct, share, largest; /* sums, and the largest share */
};

static int count_labels(struct order *w, struct classes *c,
			const struct hpdsl_place *place, size_t n,
			uint64_t *ret_distinct, uint64_t *ret_most)
{
	struct hpdsl_sample s;

	*ret_distinct = *ret_most = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t *times;
		int r = hpdsl_sample_get(w->ds, place[i].sample, &s, &w->err);

		if (r < 0)
			return r;
		times = &c->times[s.label == HPDSL_NO_LABEL ? c->n - 1 :
							      s.label];
		*ret_distinct += *times == 0;
		if (++*times > *ret_most)
			*ret_most = *times;
	}
	return 0;
}

static int see_batch(struct order *w, uint64_t step,
		     const struct hpdsl_place *place, size_t n, void *arg)
{
	struct classes *c = arg;
	uint64_t distinct, most;
	double share;
	int r;

	(void)step;
	/* a rank may have nothing but what fills the last step up */
	if (!n)
		return 0;
	r = count_labels(w, c, place, n, &distinct, &most);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < c->n; i++)
		c->times[i] = 0;
	share = (double)most / (double)n;
	if (!c->batches++ || distinct < c->least)
		c->least = distinct;
	c->distinct += (double)distinct;
	c->share += share;
	if (share > c->largest)
		c->largest = share;
	return 0;
}

static void print(const struct classes *c)
{
	double n = c->batches ? (double)c->batches : 1;

	cmd_print("classes:     over %s: %.1f in a batch, at least %llu\n",
		  cmd_many(c->batches, "step").s, c->distinct / n,
		  (unsigned long long)c->least);
	cmd_print("             the most frequent is %.1f %% of a batch, "
		  "at most %.1f %%\n",
		  100 * c->share / n, 100 * c->largest);
}

static void put(const struct classes *c, struct cmd_json *j)
{
	double n = c->batches ? (double)c->batches : 1;

	cmd_json_u64(j, "batches", c->batches);
	cmd_json_real(j, "classes_mean", c->distinct / n);
	cmd_json_u64(j, "classes_min", c->least);
	cmd_json_real(j, "largest_share_mean", c->share / n);
	cmd_json_real(j, "largest_share_max", c->largest);
}

int order_classes(struct order *w, struct cmd_json *j)
{
	struct hpdsl_counts counts;
	struct classes c = { 0 };
	int status;

	hpdsl_count(w->ds, &counts);
	c.n = counts.classes + 1;
	c.times = calloc(c.n, sizeof(*c.times));
	if (!c.times)
		cmd_no_memory();
	status = order_walk(w, see_batch, &c);
	free(c.times);
	if (status != CMD_DONE)
		return status;
	if (w->json)
		put(&c, j);
	else
		print(&c);
	return CMD_DONE;
}
