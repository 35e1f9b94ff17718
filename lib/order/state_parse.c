/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a loader's state, which other programs may write, too. */
#include "base/error.h"
#include "format/yaml_reader.h"
#include "hpdsl/loader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is(const struct hp_yaml_reader *r, const char *word)
{
	return r->ev.type == YAML_SCALAR_EVENT &&
	       r->ev.data.scalar.length == strlen(word) &&
	       memcmp(r->ev.data.scalar.value, word, strlen(word)) == 0;
}

static int bad_number(struct hp_yaml_reader *r, uint64_t v, const char *why)
{
	char text[80];

	snprintf(text, sizeof text, "%" PRIu64 " %s", v, why);
	return hp_yaml_bad(r, text);
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
	if (k == 0 && v != 2)
		k = bad_number(r, v, "is no version of a state but 2");
	return k;
}

static int read_large(struct hp_yaml_reader *r, void *into)
{
	uint64_t v;
	int k = hp_yaml_number(r, &v);

	if (k < 0)
		return k;
	if (v < 1)
		return hp_yaml_bad(r, "a number from 1 was expected");
	*(uint64_t *)into = v;
	return 0;
}

static int read_count(struct hp_yaml_reader *r, void *into)
{
	uint64_t v = 0;
	int k = read_large(r, &v);

	if (k == 0 && v > UINT32_MAX)
		k = bad_number(r, v, "is not below 2^32");
	if (k == 0)
		*(uint32_t *)into = (uint32_t)v;
	return k;
}

static int read_shuffle(struct hp_yaml_reader *r, void *into)
{
	bool *plain = into;

	if (is(r, "true"))
		*plain = false;
	else if (is(r, "false"))
		*plain = true;
	else
		return hp_yaml_bad(r, "true or false was expected");
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
	else if (is(r, "short"))
		*end = HPDSL_END_SHORT;
	else
		return hp_yaml_bad(r,
				   "mask, repeat, drop or short was expected");
	return 0;
}

static int read_choice(struct hp_yaml_reader *r, void *into)
{
	struct hpdsl_state *s = into;

	s->has_choice = true;
	return hp_yaml_digest(r, s->choice);
}

#define AT(field) offsetof(struct hpdsl_state, field), false

/* What all states have is between these two. */
enum { FORMAT, SHUFFLE = 12, CHOICE };

static const struct hp_yaml_field fields[] = {
	[FORMAT] = { "format", read_format, 0, false },
	{ "version", read_version, 0, false },
	{ "pack", hp_yaml_digest, AT(pack) },
	{ "seed", hp_yaml_number, AT(order.seed) },
	{ "epoch", hp_yaml_number, AT(order.epoch) },
	{ "step", hp_yaml_number, AT(order.step) },
	{ "batch", read_count, AT(order.batch) },
	{ "lanes", read_large, AT(order.lanes) },
	{ "piece", read_large, AT(order.piece) },
	{ "windows", read_count, AT(order.windows) },
	{ "parts", read_count, AT(order.parts) },
	{ "end", read_end, AT(end) },
	[SHUFFLE] = { "shuffle", read_shuffle, AT(order.plain) },
	[CHOICE] = { "choice", read_choice, 0, false },
};

/*
 * What says that it is a state has all that a state has; a later program may
 * have added to it.  What a person wrote may lack anything, but a name that
 * means nothing is a mistake, or this is something else altogether.
 */
static int check_keys(const struct hp_yaml_map *m, struct hpdsl_error *err)
{
	if (m->seen & 1u << FORMAT) {
		for (size_t i = 0; i < SHUFFLE; i++)
			if (!(m->seen & 1u << i))
				return hp_fail(err, HPDSL_ECORRUPT,
					       "%s: '%s' is missing", m->name,
					       fields[i].key);
		return 0;
	}
	if (m->line)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: line %zu: '%s' is no field of a loader's "
			       "state",
			       m->name, m->line, m->unknown);
	if (!m->seen)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: it has nothing of a loader's state",
			       m->name);
	return 0;
}

/* A plain order has no lanes, whatever is said: what is given besides has to
 * agree with that. */
static void settle_plain(struct hpdsl_order *o)
{
	if (!o->plain)
		return;
	o->lanes = o->piece = 1;
	o->windows = o->parts = 1;
}

static int check_lanes(const struct hpdsl_order *o, const char *name,
		       struct hpdsl_error *err)
{
	if (!o->batch || !o->lanes || o->lanes % o->batch == 0 ||
	    o->batch % o->lanes == 0)
		return 0;
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: lanes have to be a multiple or a divisor of batch: "
		       "%" PRIu64 " and %" PRIu32,
		       name, o->lanes, o->batch);
}

int hpdsl_state_parse(const char *text, size_t size, const char *name,
		      struct hpdsl_state *ret, struct hpdsl_error *err)
{
	struct hp_yaml_map map = { .name = name,
				   .field = fields,
				   .n = sizeof fields / sizeof *fields };
	struct hpdsl_state s = { 0 };
	int r = hp_yaml_map(&map, text, size, &s, err);

	if (r == 0)
		r = check_keys(&map, err);
	if (r < 0)
		return r;
	settle_plain(&s.order);
	r = check_lanes(&s.order, name, err);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}
