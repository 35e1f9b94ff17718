/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which nodes fetch chunks: as training first wants them. */
#include "stage.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static int refuse(struct hpdsl_error *err,
							int code,
							const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	err->code = code;
	return code;
}

/* A state that is of no use is trouble, as for all commands that take one. */
static int read_state(const char *file, const uint8_t pack[16],
		      struct hpdsl_state *ret, struct hpdsl_error *err)
{
	static const uint8_t unknown[16];
	cmd_auto_free char *text = NULL;
	char was[33], is[33];
	size_t size;
	int r = cmd_file_read(file, &text, &size, err);

	if (r == 0)
		r = hpdsl_state_parse(text, size, file, ret, err);
	if (r == HPDSL_ECORRUPT)
		r = err->code = -EINVAL;
	if (r < 0)
		return r;
	if (memcmp(ret->pack, unknown, sizeof(unknown)) == 0 ||
	    memcmp(ret->pack, pack, sizeof(ret->pack)) == 0)
		return 0;
	cmd_hex(was, ret->pack, sizeof(ret->pack));
	cmd_hex(is, pack, sizeof(ret->pack));
	return refuse(err, -EINVAL,
		      "%.900s: the state is of another pack: %s, and not %s",
		      file, was, is);
}

int stage_order(const struct stage_options *o, const uint8_t pack[16],
		struct hpdsl_state *ret, struct hpdsl_error *err)
{
	struct cmd_order order = o->order;
	struct hpdsl_state s = { 0 };
	int r = 0;

	if (order.state) {
		r = read_state(order.state, pack, &s, err);
		if (r == 0)
			r = cmd_order_take(&order, &s, order.state, err);
	}
	/* without --ranks it may be of any number of them */
	if (r == 0 && order.share.ranks)
		r = cmd_order_batch(&order, err);
	if (r < 0)
		return r;
	*ret = s;
	ret->order = order.order;
	return 0;
}

/* How many steps chosen samples have, only a loader knows. */
static int check_step(const struct stage_options *o,
		      const struct hpdsl_state *wanted,
		      const struct hpdsl_order *whole,
		      const struct hpdsl_dataset *ds, struct hpdsl_error *err)
{
	unsigned long long step = whole->step, steps;
	struct hpdsl_epoch *e;
	int r;

	if (!step || wanted->has_choice)
		return 0;
	r = hpdsl_epoch_new(ds, NULL, whole, &e, err);
	if (r < 0)
		return r;
	steps = hpdsl_epoch_steps(e, wanted->end);
	hpdsl_epoch_free(e);
	if (step <= steps)
		return 0;
	if (!o->order.state)
		return refuse(err, HPDSL_EUSAGE,
			      "no step %llu, the epoch has %llu", step, steps);
	return refuse(err, -EINVAL, "%.900s: no step %llu, epoch %llu has %llu",
		      o->order.state, step, (unsigned long long)whole->epoch,
		      steps);
}

int stage_first_use(const struct stage_options *o,
		    const struct hpdsl_state *wanted,
		    const struct hpdsl_dataset *ds, uint32_t nodes,
		    uint32_t parts, uint32_t *ret, struct hpdsl_error *err)
{
	const struct hpdsl_order_start start = {
		.batch_size = o->order.batch_size,
		.ranks = o->order.share.ranks ? o->order.share.ranks : nodes,
	};
	struct hpdsl_order whole = wanted->order;
	int r;

	if (!whole.parts)
		whole.parts = parts;
	r = hpdsl_order_fill(ds, &start, &whole, err);
	if (r == 0)
		r = check_step(o, wanted, &whole, ds, err);
	return r < 0 ? r : hpdsl_order_first_use(ds, &whole, ret, err);
}
