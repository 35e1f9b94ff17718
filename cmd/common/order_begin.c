/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of an order mean for a dataset: its choice, its order. */
#include "order_options.h"

#include <errno.h>
#include <string.h>

static int class_number(const struct hpdsl_dataset *ds, const char *text,
			uint32_t *ret)
{
	struct hpdsl_error err;
	int r = cmd_select_class(ds, text, ret, &err), status;

	if (r == 0)
		return CMD_DONE;
	status = cmd_tell(&err);
	return r == -ENOENT ? CMD_USAGE : status;
}

static int take_labels(struct cmd_order *o, const struct hpdsl_dataset *ds)
{
	uint32_t *labels = cmd_alloc(o->labels.n, sizeof(*labels));
	int status = CMD_DONE;

	for (size_t i = 0; i < o->labels.n && status == CMD_DONE; i++)
		status = class_number(ds, o->labels.v[i], &labels[i]);
	o->choice.labels = labels;
	o->choice.n_labels = o->labels.n;
	return status;
}

static int take_samples(struct cmd_order *o)
{
	struct cmd_names lines;
	int status = cmd_names_read(&lines, o->samples, false);
	const char *line = lines.bytes;
	uint64_t *numbers;

	if (status != CMD_DONE)
		return status;
	numbers = cmd_alloc(lines.count, sizeof(*numbers));
	for (size_t i = 0; i < lines.count; i++, line += strlen(line) + 1) {
		if (cmd_parse_count(line, &numbers[i]) < 0) {
			cmd_message("%s: '%s' is no number of a sample",
				    o->samples, line);
			status = CMD_USAGE;
			break;
		}
	}
	free(lines.bytes);
	o->choice.samples = numbers;
	o->choice.n_samples = lines.count;
	return status;
}

static bool all_samples(const struct cmd_order *o)
{
	return !o->labels.n && !o->folders.n && !o->tars.n && !o->include.n &&
	       !o->exclude.n && !o->samples && !o->choice.split_to &&
	       !o->choice.balanced;
}

static int choose(struct cmd_order *o, const struct hpdsl_dataset *ds,
		  struct hpdsl_choice **ret)
{
	struct hpdsl_error err;
	int status = CMD_DONE;

	*ret = NULL;
	if (all_samples(o))
		return CMD_DONE;
	if (o->labels.n)
		status = take_labels(o, ds);
	if (status == CMD_DONE && o->samples)
		status = take_samples(o);
	if (status != CMD_DONE)
		return status;
	o->choice.folders = o->folders.v;
	o->choice.n_folders = o->folders.n;
	o->choice.tars = o->tars.v;
	o->choice.n_tars = o->tars.n;
	o->choice.include = o->include.v;
	o->choice.n_include = o->include.n;
	o->choice.exclude = o->exclude.v;
	o->choice.n_exclude = o->exclude.n;
	return hpdsl_choose(ds, &o->choice, ret, &err) < 0 ? cmd_tell(&err) :
							     CMD_DONE;
}

static int fill(struct cmd_order *o, const struct hpdsl_dataset *ds,
		const struct hpdsl_choice *choice)
{
	const struct hpdsl_order_start start = {
		.choice = choice,
		.batch_size = o->batch_size,
		.ranks = o->share.ranks,
		.workers = o->share.workers,
	};
	struct hpdsl_error err;
	int r = cmd_order_batch(o, &err);

	if (r == 0)
		r = hpdsl_order_fill(ds, &start, &o->order, &err);
	return r < 0 ? cmd_tell(&err) : CMD_DONE;
}

int cmd_order_begin(struct cmd_order *o, const struct hpdsl_dataset *ds,
		    struct hpdsl_choice **ret)
{
	int status = choose(o, ds, ret);

	if (status == CMD_DONE && o->state)
		status = cmd_order_state(o, ds, *ret);
	if (status == CMD_DONE)
		status = fill(o, ds, *ret);
	if (status != CMD_DONE) {
		hpdsl_choice_free(*ret);
		*ret = NULL;
	}
	return status;
}

void cmd_order_release(struct cmd_order *o)
{
	free((void *)o->choice.labels);
	free((void *)o->choice.samples);
	free(o->labels.v);
	free(o->folders.v);
	free(o->tars.v);
	free(o->include.v);
	free(o->exclude.v);
}
