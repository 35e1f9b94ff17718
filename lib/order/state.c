/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state as text, and whether it is of this dataset. */
#include "base/error.h"
#include "base/hash.h"
#include "dataset/dataset.h"
#include "hpdsl/loader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t hpdsl_state_format(const struct hpdsl_state *s, char *buf)
{
	static const char *const ends[] = {
		[HPDSL_END_MASK] = "mask",
		[HPDSL_END_REPEAT] = "repeat",
		[HPDSL_END_DROP] = "drop",
		[HPDSL_END_SHORT] = "short",
	};
	const struct hpdsl_order *o = &s->order;
	char pack[33], choice[33];
	int n;

	hp_hex128(s->pack, pack);
	hp_hex128(s->choice, choice);
	n = snprintf(buf, HPDSL_STATE_MAX,
		     "{\"format\": \"hpdsl-state\", \"version\": 2, "
		     "\"pack\": \"%s\", \"seed\": %" PRIu64
		     ", \"epoch\": %" PRIu64 ", \"step\": %" PRIu64
		     ", \"batch\": %" PRIu32 ", \"lanes\": %" PRIu64
		     ", \"piece\": %" PRIu64 ", \"windows\": %" PRIu32
		     ", \"parts\": %" PRIu32 ", \"end\": \"%s\"",
		     pack, o->seed, o->epoch, o->step, o->batch, o->lanes,
		     o->piece, o->windows, o->parts, ends[s->end]);
	if (o->plain)
		n += sprintf(buf + n, ", \"shuffle\": false");
	if (s->has_choice)
		n += sprintf(buf + n, ", \"choice\": \"%s\"", choice);
	return (size_t)(n + sprintf(buf + n, "}"));
}

static bool of_any_pack(const struct hpdsl_state *s)
{
	static const uint8_t unknown[sizeof s->pack];

	return memcmp(s->pack, unknown, sizeof s->pack) == 0;
}

static bool is_measured(const struct hpdsl_state *s)
{
	for (size_t i = 0; i < sizeof s->pack; i++)
		if (s->pack[i] != HPDSL_STATE_MEASURED)
			return false;
	return true;
}

static int check_pack(const struct hpdsl_state *s,
		      const struct hpdsl_dataset *ds, const char *name,
		      struct hpdsl_error *err)
{
	char was[33], is[33];
	uint8_t pack[16];

	if (of_any_pack(s))
		return 0;
	if (is_measured(s))
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s: the state is of a run that hpdsl-stall "
			       "measured: it trained nothing",
			       name);
	hpdsl_pack_id(ds, pack);
	if (memcmp(s->pack, pack, sizeof pack) == 0)
		return 0;
	hp_hex128(s->pack, was);
	hp_hex128(pack, is);
	return hp_fail(err, HPDSL_EDIFFERS,
		       "%s: the state is of another pack: %s, and not %s", name,
		       was, is);
}

/* One that says neither is of whatever dataset, and of whatever choice. */
static int check_choice(const struct hpdsl_state *s,
			const struct hpdsl_choice *choice, const char *name,
			struct hpdsl_error *err)
{
	char was[33], is[33];
	uint8_t digest[16];

	if (!s->has_choice && (!choice || of_any_pack(s)))
		return 0;
	if (!s->has_choice)
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s: the state is of all samples, and here some "
			       "are chosen",
			       name);
	if (!choice)
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s: the state is of a choice of samples, and "
			       "here are all",
			       name);
	hpdsl_choice_digest(choice, digest);
	if (memcmp(digest, s->choice, sizeof digest) == 0)
		return 0;
	hp_hex128(s->choice, was);
	hp_hex128(digest, is);
	return hp_fail(err, HPDSL_EDIFFERS,
		       "%s: the state is of another choice of samples: %s, and "
		       "not %s",
		       name, was, is);
}

/*
 * A state of another order, or one that somebody wrote.  How many steps there
 * are follows from the batch alone, which a loader's state has.
 */
static int check_step(const struct hpdsl_state *s,
		      const struct hpdsl_dataset *ds,
		      const struct hpdsl_choice *choice, const char *name,
		      struct hpdsl_error *err)
{
	const struct hpdsl_order_start start = { .choice = choice };
	struct hpdsl_order o = s->order;
	struct hpdsl_epoch *e;
	uint64_t steps;
	int r;

	if (!o.step || !o.batch)
		return 0;
	r = hpdsl_order_fill(ds, &start, &o, err);
	if (r == 0)
		r = hpdsl_epoch_new(ds, choice, &o, &e, err);
	if (r < 0)
		return r;
	steps = hpdsl_epoch_steps(e, s->end);
	hpdsl_epoch_free(e);
	if (s->order.step > steps)
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s: no step %" PRIu64 ", epoch %" PRIu64
			       " has %" PRIu64,
			       name, s->order.step, s->order.epoch, steps);
	return 0;
}

int hpdsl_state_check(const struct hpdsl_state *s,
		      const struct hpdsl_dataset *ds,
		      const struct hpdsl_choice *choice, const char *name,
		      struct hpdsl_error *err)
{
	int r = check_pack(s, ds, name, err);

	if (r == 0)
		r = check_choice(s, choice, name, err);
	return r < 0 ? r : check_step(s, ds, choice, name, err);
}
