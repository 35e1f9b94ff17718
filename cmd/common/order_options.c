/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line says of an order. */
#include "order_options.h"

#include "option_table.h"

#include <string.h>

#define COUNT(member, from) CMD_COUNT(struct cmd_order, member, from)
#define NUMBER(member) CMD_NUMBER(struct cmd_order, member, 1, UINT32_MAX)

static const struct cmd_option options[] = {
	{ NULL, NULL, "Order:", .group = 3 },
	{ "seed", "N", "Which random order (default: 0)",
	  COUNT(order.seed, 0) },
	{ "epoch", "N", "Which epoch, from 0 (default: 0)",
	  COUNT(order.epoch, 0) },
	{ "step", "N", "Begin at this step of the epoch (default: 0)",
	  COUNT(order.step, 0) },
	{ "batch", "SAMPLES",
	  "Samples of a step, of all ranks together (default: --batch-size "
	  "times the ranks)",
	  NUMBER(order.batch) },
	{ "batch-size", "SAMPLES",
	  "Samples of a step, of one rank (default: 64)", NUMBER(batch_size) },
	{ "lanes", "N",
	  "Streams that an epoch is read from, a multiple or a divisor of the "
	  "batch (default: as many as the batch, or as read well)",
	  COUNT(order.lanes, 1) },
	{ "piece", "SAMPLES",
	  "Samples in a row that a lane reads (default: some MiB of them)",
	  COUNT(order.piece, 1) },
	{ "windows", "N",
	  "Parts of an epoch that are shuffled by themselves, so that it wants "
	  "a few chunks at a time; 1 mixes most (default: up to 16)",
	  NUMBER(order.windows) },
	{ "no-shuffle", NULL, "The samples as they are stored",
	  CMD_FLAG(struct cmd_order, order.plain) },
	{ 0 }
};

/* As argp has it. */
static struct argp_option shown[sizeof(options) / sizeof(*options)];

bool cmd_order_gave(const struct cmd_order *o, const char *option)
{
	for (const struct cmd_option *row = options; row->text; row++)
		if (row->name && strcmp(row->name, option) == 0)
			return o->given & cmd_options_bit(options, row);
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct cmd_option *row = cmd_options_find(options, key);
	struct cmd_order *o = state->input;
	const struct hpdsl_order *order = &o->order;

	if (key == ARGP_KEY_END) {
		if (order->plain && (order->lanes || order->piece ||
				     order->windows || order->parts))
			argp_error(state, "--no-shuffle leaves no lanes, "
					  "pieces, windows and parts");
		return 0;
	}
	if (row)
		o->given |= cmd_options_bit(options, row);
	return cmd_options_parse(options, key, arg, state);
}

const struct argp cmd_order_argp = {
	shown, parse, NULL, NULL, NULL, NULL, NULL
};

void cmd_order_show(void)
{
	cmd_options_show(options, shown);
}
