/* SPDX-License-Identifier: Apache-2.0 */
/* The order itself: a line a position. */
#include "order.h"

static void print_json(const struct hpdsl_place *p, uint64_t step,
		       const struct hpdsl_sample *s)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "step", step);
	cmd_json_u64(&j, "position", p->position);
	cmd_json_u64(&j, "sample", p->sample);
	if (s->label == HPDSL_NO_LABEL)
		cmd_json_null(&j, "label");
	else
		cmd_json_u64(&j, "label", s->label);
	cmd_json_name(&j, "key", s->key, s->key_len);
	cmd_json_line(&j);
}

static int print_place(struct order *w, uint64_t step,
		       const struct hpdsl_place *p)
{
	struct hpdsl_sample s;
	int r = hpdsl_sample_get(w->ds, p->sample, &s, &w->err);

	if (r < 0)
		return r;
	if (w->json) {
		print_json(p, step, &s);
		return 0;
	}
	cmd_print("%llu\t%llu\t", (unsigned long long)p->position,
		  (unsigned long long)p->sample);
	cmd_print_name(s.key, s.key_len, false);
	return 0;
}

static int print_step(struct order *w, uint64_t step,
		      const struct hpdsl_place *place, size_t n, void *arg)
{
	uint64_t *left = arg;

	for (size_t i = 0; i < n; i++) {
		int r;

		if (place[i].position < w->from)
			continue;
		if (!*left)
			return 1;
		r = print_place(w, step, &place[i]);
		if (r < 0)
			return r;
		--*left;
	}
	return !*left;
}

int order_list(struct order *w)
{
	uint64_t left = w->count_given ? w->count : UINT64_MAX;

	return order_walk(w, print_step, &left);
}
