/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each candidate is inspected: do all nodes have it, the same, to themselves?
 * Those that are open are weighed by the plan that a run would make there.
 */
#include "choose.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 300 };

/* ---- What is wrong with a candidate ----------------------------------- */

struct seen {
	bool open; /* nothing is wrong, where there is one */
	bool ram, fits;
	uint32_t differs; /* a node; UINT32_MAX: none does */
	uint32_t holders;
	uint32_t parts;
	uint64_t left, total;
	char why[WHY]; /* it is not taken; "": no node has it */
};

struct work {
	const struct choose *c;
	struct seen of[CHOOSE_PLACES];
};

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size,
						      const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

static void add_place(const struct work *w, uint32_t place, char *text,
		      size_t size)
{
	const char *path = w->c->path[place];

	add(text, size, "%s", choose_name(place));
	if (place != CHOOSE_PLACES - 1 && path &&
	    w->of[place].differs == UINT32_MAX)
		add(text, size, " (%.100s)", path);
}

static void add_node(const struct work *w, uint32_t node, char *text,
		     size_t size)
{
	const struct hpdsl_stage_wish *wish = &w->c->wish;

	if (wish->nodes == 1)
		return;
	add(text, size, " on node %u", node);
	if (wish->hosts)
		add(text, size, " (%.60s)", wish->hosts[node]);
}

static void explain(struct work *w, uint32_t place, uint32_t node)
{
	const struct choose_look *l = &w->c->all[node].of[place];
	char *why = w->of[place].why;

	add_place(w, place, why, WHY);
	switch ((enum choose_state)l->state) {
	case CHOOSE_RELATIVE:
		add(why, WHY, " is no absolute path");
		break;
	case CHOOSE_KIND:
		add(why, WHY, " is shared by machines (%.15s)", l->kind);
		break;
	case CHOOSE_SEEN:
		add(why, WHY, " has another node's file");
		break;
	default:
		add(why, WHY, " cannot be used (%s)", strerror(-l->code));
	}
	add_node(w, node, why, WHY);
}

static void inspect(struct work *w, uint32_t place)
{
	struct seen *s = &w->of[place];
	uint32_t set = 0, bad = UINT32_MAX;

	s->differs = UINT32_MAX;
	for (uint32_t n = w->c->wish.nodes; n--;) {
		const struct choose_look *l = &w->c->all[n].of[place];

		if (l->differs)
			s->differs = n;
		if (l->state == CHOOSE_UNSET)
			continue;
		set++;
		s->ram |= l->ram;
		s->holders += l->holds;
		if (l->state != CHOOSE_GOOD)
			bad = n;
	}
	s->open = set && bad == UINT32_MAX;
	if (bad != UINT32_MAX)
		explain(w, place, bad);
}

/* ---- Room ------------------------------------------------------------- */

/* The plan that a run would make there. */
static int weigh(struct work *w, uint32_t place, struct hpdsl_error *err)
{
	struct hpdsl_stage_wish wish = w->c->wish;
	struct seen *s = &w->of[place];
	struct hpdsl_stage_plan *plan;
	struct hpdsl_stage_sums sums;
	uint64_t *room = calloc(wish.nodes, sizeof(*room));
	int r;

	if (!room) {
		*err = (struct hpdsl_error){ -ENOMEM, "out of memory" };
		return -ENOMEM;
	}
	for (uint32_t n = 0; n < wish.nodes; n++)
		room[n] = w->c->all[n].of[place].room;
	wish.capacity = room;
	r = hpdsl_stage_plan_new(&wish, &plan, err);
	free(room);
	if (r == 0) {
		hpdsl_stage_plan_sums(plan, &sums);
		s->parts = hpdsl_stage_plan_parts(plan);
		s->left = sums.left_bytes;
		s->total = sums.bytes + sums.left_bytes;
		s->fits = s->left == 0;
		hpdsl_stage_plan_free(plan);
	}
	if (s->fits || (r < 0 && r != -ENOSPC))
		return r;
	add_place(w, place, s->why, WHY);
	if (r < 0)
		add(s->why, WHY, ": %.170s", err->msg);
	else
		add(s->why, WHY, " has too little room");
	return 0;
}

static int weigh_all(struct work *w, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < CHOOSE_PLACES && r == 0; i++)
		if (w->of[i].open && w->of[i].differs == UINT32_MAX)
			r = weigh(w, i, err);
	return r;
}

/* ---- The choice ------------------------------------------------------- */

/* Memory comes behind all others. */
static uint32_t turn(const struct work *w, uint32_t place)
{
	return w->of[place].ram * CHOOSE_PLACES + place;
}

/* Has a more to offer than b, which would come first?  Both fit, or neither. */
static bool offers_more(const struct work *w, uint32_t a, uint32_t b)
{
	const struct seen *x = &w->of[a], *y = &w->of[b];

	if (w->c->wish.mode != HPDSL_STAGE_AUTO || x->ram != y->ram)
		return false;
	return x->fits ? x->parts < y->parts : x->left < y->left;
}

static bool is_choice(const struct work *w, uint32_t place, bool fits)
{
	const struct seen *s = &w->of[place];

	if (!s->open || s->differs != UINT32_MAX || s->fits != fits)
		return false;
	return fits ||
	       (w->c->wish.mode == HPDSL_STAGE_AUTO && s->left < s->total);
}

/* The best that fits, or else the best that does not: CHOOSE_PLACES: none. */
static uint32_t best(const struct work *w, bool fits)
{
	uint32_t found = CHOOSE_PLACES;

	for (uint32_t t = 0; t < 2 * CHOOSE_PLACES; t++) {
		uint32_t place = t % CHOOSE_PLACES;

		if (turn(w, place) != t || !is_choice(w, place, fits))
			continue;
		if (found == CHOOSE_PLACES || offers_more(w, place, found))
			found = place;
	}
	return found;
}

static uint32_t holder(const struct work *w)
{
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		if (w->of[i].open && w->of[i].differs == UINT32_MAX &&
		    w->of[i].holders)
			return i;
	return CHOOSE_PLACES;
}

/* The first of those whose turn comes before, and that are not one path. */
static uint32_t differing(const struct work *w, uint32_t before)
{
	uint32_t end =
		before < CHOOSE_PLACES ? turn(w, before) : 2 * CHOOSE_PLACES;

	for (uint32_t t = 0; t < end; t++) {
		uint32_t place = t % CHOOSE_PLACES;

		if (turn(w, place) == t && w->of[place].open &&
		    w->of[place].differs != UINT32_MAX)
			return place;
	}
	return CHOOSE_PLACES;
}

static void give_reason(const struct work *w, struct choice *ret)
{
	const struct seen *s = &w->of[ret->place];
	uint32_t nodes = w->c->wish.nodes;
	char *why = ret->why;

	add(why, CHOOSE_TEXT, "%s ", choose_name(ret->place));
	if (s->holders)
		add(why, CHOOSE_TEXT, "has it already, on %u of %u %s",
		    s->holders, nodes, nodes == 1 ? "node" : "nodes");
	else if (!s->fits)
		add(why, CHOOSE_TEXT, "leaves the least of it at the origin");
	else if (s->parts == 1)
		add(why, CHOOSE_TEXT, "has room for all of it%s",
		    nodes == 1 ? "" : " on every node");
	else
		add(why, CHOOSE_TEXT, "has room for it in %u parts", s->parts);
	if (s->ram)
		add(why, CHOOSE_TEXT, ", and is memory");
}

static void tell_others(const struct work *w, uint32_t end, char *text,
			size_t size)
{
	const char *between = "";

	for (uint32_t t = 0; t < 2 * CHOOSE_PLACES && t < end; t++) {
		uint32_t place = t % CHOOSE_PLACES;

		if (turn(w, place) != t || !*w->of[place].why)
			continue;
		add(text, size, "%s%s", between, w->of[place].why);
		between = "; ";
	}
}

static int no_place(const struct work *w, struct hpdsl_error *err)
{
	*err = (struct hpdsl_error){ -ENOSPC, "" };
	add(err->msg, sizeof(err->msg), "LOCALDIR auto: there is no place: ");
	tell_others(w, UINT32_MAX, err->msg, sizeof(err->msg));
	return err->code;
}

/* Nobody has it yet: by room. */
static int choose_by_room(struct work *w, uint32_t *ret, uint32_t *ret_differs,
			  struct hpdsl_error *err)
{
	int r = weigh_all(w, err);

	if (r < 0)
		return r;
	*ret = best(w, true);
	if (*ret == CHOOSE_PLACES)
		*ret = best(w, false);
	*ret_differs = differing(w, *ret);
	return 0;
}

int choose_place(const struct choose *c, struct choice *ret,
		 struct hpdsl_error *err)
{
	struct work w = { .c = c };
	uint32_t place, differs = CHOOSE_PLACES;
	int r = 0;

	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		inspect(&w, i);
	*ret = (struct choice){ .node = UINT32_MAX };
	place = holder(&w);
	if (place == CHOOSE_PLACES)
		r = choose_by_room(&w, &place, &differs, err);
	if (r < 0)
		return r;
	if (differs < CHOOSE_PLACES) {
		ret->place = differs;
		ret->node = w.of[differs].differs;
		*err = (struct hpdsl_error){ HPDSL_EUSAGE, "paths differ" };
		return err->code;
	}
	if (place == CHOOSE_PLACES)
		return no_place(&w, err);
	ret->place = place;
	ret->ram = w.of[place].ram;
	give_reason(&w, ret);
	if (!w.of[place].holders)
		tell_others(&w, turn(&w, place), ret->others,
			    sizeof(ret->others));
	return 0;
}
