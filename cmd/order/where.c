/* SPDX-License-Identifier: Apache-2.0 */
/* When a sample comes in an epoch, each time that it does. */
#include "order.h"

#include <errno.h>

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Positions, in their order, of steps that there are: how many, or an error. */
static int64_t find(struct order *w, uint64_t **ret)
{
	uint64_t n = 0, position, most = w->steps * w->info.order.batch;
	int r;

	for (uint64_t nth = 0;; nth++) {
		r = hpdsl_epoch_where(w->e, w->sample, nth, &position, &w->err);
		if (r < 0)
			break;
		if (position >= most)
			continue;
		*ret = cmd_grow(*ret, n, sizeof(**ret));
		(*ret)[n++] = position;
	}
	if (r != -ENOENT)
		return r;
	if (n)
		qsort(*ret, n, sizeof(**ret), compare);
	return (int64_t)n;
}

static void print(const struct order *w, uint64_t position)
{
	uint64_t batch = w->info.order.batch, ranks = w->o.share.ranks;
	uint64_t step = position / batch, slot = position % batch;
	/* that ranks share: of a short step, what is left */
	uint64_t of =
		w->o.end == HPDSL_END_SHORT && w->info.samples / batch == step ?
			w->info.samples % batch :
			batch;
	/* that one whose first slot is the last one not behind it */
	uint64_t rank = ranks ? ((slot + 1) * ranks + of - 1) / of - 1 : 0;
	struct cmd_json j = { .out = stdout };

	if (!w->json) {
		cmd_print("%llu\t%llu\t%llu", (unsigned long long)position,
			  (unsigned long long)step, (unsigned long long)slot);
		if (ranks)
			cmd_print("\t%llu", (unsigned long long)rank);
		cmd_print("\n");
		return;
	}
	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "sample", w->sample);
	cmd_json_u64(&j, "position", position);
	cmd_json_u64(&j, "step", step);
	cmd_json_u64(&j, "slot", slot);
	if (ranks)
		cmd_json_u64(&j, "rank", rank);
	cmd_json_line(&j);
}

int order_where(struct order *w)
{
	cmd_auto_free uint64_t *position = NULL;
	struct hpdsl_counts counts;
	int64_t n;

	hpdsl_count(w->ds, &counts);
	if (w->sample >= counts.samples) {
		cmd_message("no sample %llu, there are %llu",
			    (unsigned long long)w->sample,
			    (unsigned long long)counts.samples);
		return CMD_USAGE;
	}
	/* ranks that make no sense have no slots */
	n = hpdsl_epoch_step(w->e, w->o.end, 0, &w->o.share, NULL, 0, &w->err);
	if (n < 0 && w->steps)
		return cmd_tell(&w->err);
	n = find(w, &position);
	if (n < 0)
		return cmd_tell(&w->err);
	for (int64_t i = 0; i < n; i++)
		print(w, position[i]);
	if (n)
		return CMD_DONE;
	cmd_message("sample %llu does not come in epoch %llu",
		    (unsigned long long)w->sample,
		    (unsigned long long)w->info.order.epoch);
	return CMD_NO;
}
