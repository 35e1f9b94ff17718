/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a loader's state, which other programs may write, too. */
#include "order.h"

#include "error.h"
#include "yaml_reader.h"

#include <string.h>

static bool is(const struct hp_yaml_reader *r, const char *word)
{
	return r->ev.type == YAML_SCALAR_EVENT &&
	       r->ev.data.scalar.length == strlen(word) &&
	       memcmp(r->ev.data.scalar.value, word, strlen(word)) == 0;
}

static int read_format(struct hp_yaml_reader *r, void *into)
{
	(void)into;
	return is(r, "hpdsl-state") ?
		       0 :
		       hp_yaml_bad(r, "'hpdsl-state' was expected");
}

static int read_version(struct hp_yaml_reader *r, void *into)
{
	uint64_t v;
	int k = hp_yaml_number(r, &v);

	(void)into;
	if (k == 0 && v != 1)
		k = hp_yaml_bad(r, "a state of another version");
	return k;
}

static int read_count(struct hp_yaml_reader *r, void *into)
{
	uint64_t v;
	int k = hp_yaml_number(r, &v);

	if (k < 0)
		return k;
	if (v < 1 || v > UINT32_MAX)
		return hp_yaml_bad(r, "a number from 1 was expected");
	*(uint32_t *)into = (uint32_t)v;
	return 0;
}

static int read_end(struct hp_yaml_reader *r, void *into)
{
	enum hpdsl_end *end = into;

	if (is(r, "mask"))
		*end = HPDSL_END_MASK;
	else if (is(r, "repeat"))
		*end = HPDSL_END_REPEAT;
	else if (is(r, "drop"))
		*end = HPDSL_END_DROP;
	else
		return hp_yaml_bad(r, "mask, repeat or drop was expected");
	return 0;
}

static int read_choice(struct hp_yaml_reader *r, void *into)
{
	struct hpdsl_state *s = into;

	s->has_choice = true;
	return hp_yaml_digest(r, s->choice);
}

#define AT(field) offsetof(struct hpdsl_state, field), false

static const struct hp_yaml_field fields[] = {
	{ "format", read_format, 0, false },
	{ "version", read_version, 0, false },
	{ "pack", hp_yaml_digest, AT(pack) },
	{ "seed", hp_yaml_number, AT(order.seed) },
	{ "epoch", hp_yaml_number, AT(order.epoch) },
	{ "step", hp_yaml_number, AT(order.step) },
	{ "W", read_count, AT(order.window) },
	{ "L", read_count, AT(order.lanes) },
	{ "K", read_count, AT(order.run) },
	{ "Q", read_count, AT(order.step_runs) },
	{ "D", read_count, AT(order.parts) },
	{ "end", read_end, AT(end) },
	{ "choice", read_choice, 0, false },
};

int hpdsl_state_parse(const char *text, size_t size, const char *name,
		      struct hpdsl_state *ret, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct hpdsl_state s = { 0 };
	int r = hp_yaml_map(text, size, name, fields,
			    sizeof fields / sizeof *fields, &s, err);

	if (r < 0)
		return r;
	if (hp_order_check(&s.order, &why) < 0)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: %s", name, why.msg);
	*ret = s;
	return 0;
}
