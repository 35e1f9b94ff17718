/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state, as far as it fixes an order. */
#include "order.h"

#include "error.h"
#include "yaml_reader.h"

#include <string.h>

struct state {
	struct hpdsl_order o;
	uint8_t pack[16];
	bool has_pack;
};

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

static int read_pack(struct hp_yaml_reader *r, void *into)
{
	struct state *s = into;

	s->has_pack = true;
	return hp_yaml_digest(r, s->pack);
}

static const struct hp_yaml_field fields[] = {
	{ "seed", hp_yaml_number, offsetof(struct state, o.seed), false },
	{ "epoch", hp_yaml_number, offsetof(struct state, o.epoch), false },
	{ "step", hp_yaml_number, offsetof(struct state, o.step), false },
	{ "W", read_count, offsetof(struct state, o.window), false },
	{ "L", read_count, offsetof(struct state, o.lanes), false },
	{ "K", read_count, offsetof(struct state, o.run), false },
	{ "Q", read_count, offsetof(struct state, o.step_runs), false },
	{ "D", read_count, offsetof(struct state, o.parts), false },
	{ "pack", read_pack, 0, false },
};

int hpdsl_order_parse(const char *text, size_t size, const char *name,
		      const uint8_t pack[16], struct hpdsl_order *ret,
		      struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct state s = { 0 };
	int r = hp_yaml_map(text, size, name, fields,
			    sizeof fields / sizeof *fields, &s, err);

	if (r < 0)
		return r;
	if (s.has_pack && memcmp(s.pack, pack, sizeof s.pack) != 0)
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s: the state is of another pack", name);
	if (hp_order_check(&s.o, &why) < 0)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: %s", name, why.msg);
	*ret = s.o;
	return 0;
}
