/* SPDX-License-Identifier: Apache-2.0 */
/* An order that a loader's state tells, and what the command line adds. */
#include "order_options.h"

#include <stdarg.h>
#include <string.h>

struct told {
	const char *name; /* of the option */
	uint64_t given, has;
	bool open; /* a state without it leaves it to the options */
};

/* What was given on the command line and is other than the state has it; false:
 * nothing. */
static bool conflict(const struct cmd_order *o, const struct hpdsl_state *s,
		     struct told *ret)
{
	const struct hpdsl_order *a = &o->order, *b = &s->order;
	const struct told all[] = {
		{ "seed", a->seed, b->seed, false },
		{ "epoch", a->epoch, b->epoch, false },
		{ "step", a->step, b->step, false },
		{ "batch", a->batch, b->batch, true },
		{ "lanes", a->lanes, b->lanes, true },
		{ "piece", a->piece, b->piece, true },
		{ "windows", a->windows, b->windows, true },
		{ "no-shuffle", a->plain, b->plain, false },
		{ "parts", a->parts, b->parts, true },
		{ "end", o->end, s->end, false },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct told *t = &all[i];

		if (t->given != t->has && (t->has || !t->open) &&
		    (cmd_order_gave(o, t->name) ||
		     cmd_share_gave(o, t->name))) {
			*ret = *t;
			return true;
		}
	}
	return false;
}

__attribute__((format(printf, 2, 3))) static int refuse(struct hpdsl_error *err,
							const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	err->code = HPDSL_EUSAGE;
	return err->code;
}

static int tell_conflict(const struct told *t, const char *name,
			 struct hpdsl_error *err)
{
	static const char *const ends[] = { "mask", "repeat", "drop", "short" };

	if (strcmp(t->name, "end") == 0)
		return refuse(err,
			      "%.900s: the state has another --end: %s, and "
			      "not %s",
			      name, ends[t->has], ends[t->given]);
	if (strcmp(t->name, "no-shuffle") == 0)
		return refuse(err,
			      "%.900s: the state is shuffled, and not "
			      "--no-shuffle",
			      name);
	return refuse(err,
		      "%.900s: the state has another --%s: %llu, and not %llu",
		      name, t->name, (unsigned long long)t->has,
		      (unsigned long long)t->given);
}

int cmd_order_take(struct cmd_order *o, const struct hpdsl_state *s,
		   const char *name, struct hpdsl_error *err)
{
	const struct hpdsl_order given = o->order;
	struct told other;

	if (conflict(o, s, &other))
		return tell_conflict(&other, name, err);
	o->order = s->order;
	o->end = s->end;
	if (!o->order.batch)
		o->order.batch = given.batch;
	if (!o->order.lanes)
		o->order.lanes = given.lanes;
	if (!o->order.piece)
		o->order.piece = given.piece;
	if (!o->order.windows)
		o->order.windows = given.windows;
	if (!o->order.parts)
		o->order.parts = given.parts;
	return 0;
}

int cmd_order_batch(const struct cmd_order *o, struct hpdsl_error *err)
{
	uint32_t ranks = o->share.ranks ? o->share.ranks : 1;
	uint64_t batch = o->order.batch, most = (batch + ranks - 1) / ranks;

	if (!batch || !o->batch_size ||
	    (o->batch_size == most && (o->share.uneven || batch % ranks == 0)))
		return 0;
	return refuse(err, "a batch of %llu is not --batch-size=%u of %s",
		      (unsigned long long)batch, o->batch_size,
		      cmd_many(ranks, "rank").s);
}

int cmd_order_state(struct cmd_order *o, const struct hpdsl_dataset *ds,
		    const struct hpdsl_choice *choice)
{
	cmd_auto_free char *text = NULL;
	struct hpdsl_error err;
	struct hpdsl_state s;
	size_t size;
	int r = cmd_file_read(o->state, &text, &size, &err);

	if (r == 0)
		r = hpdsl_state_parse(text, size, o->state, &s, &err);
	if (r == 0)
		r = hpdsl_state_check(&s, ds, choice, o->state, &err);
	if (r < 0)
		return cmd_worse(cmd_tell(&err), CMD_TROUBLE);
	return cmd_order_take(o, &s, o->state, &err) < 0 ? cmd_tell(&err) :
							   CMD_DONE;
}
