/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which nodes fetch chunks: as training first wants them. */
#include "stage.h"

#include <string.h>

static int read_state(const char *file, const uint8_t pack[16],
		      struct hpdsl_state *ret, struct hpdsl_error *err)
{
	static const uint8_t unknown[16];
	cmd_auto_free char *text = NULL;
	size_t size;
	int r = cmd_file_read(file, &text, &size, err);

	if (r == 0)
		r = hpdsl_state_parse(text, size, file, ret, err);
	if (r < 0)
		return r;
	if (memcmp(ret->pack, unknown, sizeof(unknown)) != 0 &&
	    memcmp(ret->pack, pack, sizeof(ret->pack)) != 0) {
		err->code = HPDSL_EDIFFERS;
		snprintf(err->msg, sizeof(err->msg),
			 "%.900s: the state is of another pack", file);
		return HPDSL_EDIFFERS;
	}
	return 0;
}

int stage_order(const struct stage_options *o, const uint8_t pack[16],
		struct hpdsl_order *ret, struct hpdsl_error *err)
{
	struct cmd_order order = o->order;
	struct hpdsl_state s;
	int r = 0;

	if (order.state) {
		r = read_state(order.state, pack, &s, err);
		if (r == 0)
			r = cmd_order_take(&order, &s, order.state, err);
	}
	/* without --ranks it may be of any number of them */
	if (r == 0 && order.share.ranks)
		r = cmd_order_batch(&order, err);
	if (r == 0)
		*ret = order.order;
	return r;
}

int stage_first_use(const struct stage_options *o,
		    const struct hpdsl_order *order,
		    const struct hpdsl_dataset *ds, uint32_t nodes,
		    uint32_t parts, uint32_t *ret, struct hpdsl_error *err)
{
	const struct hpdsl_order_start start = {
		.batch_size = o->order.batch_size,
		.ranks = o->order.share.ranks ? o->order.share.ranks : nodes,
	};
	struct hpdsl_order whole = *order;
	int r;

	if (!whole.parts)
		whole.parts = parts;
	r = hpdsl_order_fill(ds, &start, &whole, err);
	return r < 0 ? r : hpdsl_order_first_use(ds, &whole, ret, err);
}
