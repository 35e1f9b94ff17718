/* SPDX-License-Identifier: Apache-2.0 */
/* Two drawn of those who hold it, or the one whose turn it is to adopt it. */
#include "peers/whom.h"

#include "base/bytes.h"
#include "base/hash.h"

/* Nodes of one rack are asked first where they do not owe so much more. */
#define RACK_FACTOR 2

/* ---- Hashes ----------------------------------------------------------- */

static uint64_t hash3(uint32_t a, uint32_t b, uint32_t c)
{
	uint8_t p[12];

	hp_put32(p, a);
	hp_put32(p + 4, b);
	hp_put32(p + 8, c);
	return hp_hash64(p, sizeof p);
}

static struct hp_peer_view view(const struct hp_whom *c, uint32_t node)
{
	return c->look(c->arg, node);
}

/* ---- A holder --------------------------------------------------------- */

struct candidate {
	uint32_t node; /* HP_NO_NODE: there is none */
	struct hp_peer_view view;
};

/* The first one that will do, from where a hash says, but except. */
static struct candidate draw(const struct hp_whom *c, bool slow, uint32_t turn,
			     uint32_t except)
{
	const uint32_t n = c->last - c->first + 1;
	uint32_t at = (uint32_t)(hash3(c->chunk, c->self, turn) % n);

	for (uint32_t i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
		struct candidate d = { .node = c->first + at };

		if (d.node == c->self || d.node == c->before ||
		    d.node == except)
			continue;
		d.view = view(c, d.node);
		if (d.view.lives && !d.view.denies && d.view.slow == slow)
			return d;
	}
	return (struct candidate){ .node = HP_NO_NODE };
}

static bool is_near(const struct candidate *d, uint32_t rack)
{
	return rack && d->view.rack == rack;
}

/* Does near owe so little that its rack decides? */
static bool may_be_near(const struct candidate *near,
			const struct candidate *far)
{
	return near->view.owed / RACK_FACTOR <= far->view.owed;
}

static uint32_t better(const struct candidate *a, const struct candidate *b,
		       uint32_t rack)
{
	bool x = is_near(a, rack), y = is_near(b, rack);

	if (x && !y && may_be_near(a, b))
		return a->node;
	if (y && !x && may_be_near(b, a))
		return b->node;
	return b->view.owed < a->view.owed ? b->node : a->node;
}

static uint32_t holder(const struct hp_whom *c, bool slow)
{
	struct candidate a, b;

	if (c->first > c->last)
		return HP_NO_NODE;
	a = draw(c, slow, 0, HP_NO_NODE);
	if (a.node == HP_NO_NODE)
		return HP_NO_NODE;
	b = draw(c, slow, 1, a.node);
	if (b.node == HP_NO_NODE)
		return a.node;
	return better(&a, &b, view(c, c->self).rack);
}

/* ---- The adopter ------------------------------------------------------ */

/* Who asks lives. */
static bool lives(const struct hp_whom *c, uint32_t node)
{
	return node == c->self || view(c, node).lives;
}

static bool do_enough_live(const struct hp_whom *c)
{
	const uint32_t enough = c->nodes / 2 + c->nodes % 2;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->nodes && n < enough; i++)
		n += lives(c, i);
	return n >= enough;
}

bool hp_whom_quorum(const struct hp_whom *c)
{
	struct hp_quorum *q = c->quorum;

	if (!q)
		return do_enough_live(c);
	/* A clock that went back is no reason to believe it for longer. */
	if (c->now >= q->until || q->until - c->now > HP_QUORUM_AGE) {
		q->is = do_enough_live(c);
		q->until = c->now + HP_QUORUM_AGE;
	}
	return q->is;
}

static bool may_adopt(const struct hp_whom *c, uint32_t node)
{
	const struct hp_peer_view v = view(c, node);

	return node == c->self || (v.lives && !v.slow);
}

uint32_t hp_whom_adopter(const struct hp_whom *c, uint32_t except)
{
	uint32_t found = HP_NO_NODE;
	uint64_t best = 0;

	for (uint32_t i = 0; i < c->nodes; i++) {
		uint64_t h = hash3(c->chunk, i, UINT32_MAX);

		if (i == except || (found != HP_NO_NODE && h <= best) ||
		    !may_adopt(c, i))
			continue;
		found = i;
		best = h;
	}
	return found;
}

static bool is_enough(const struct hp_whom *c)
{
	return c->asked >= HP_WHOM_MOST ||
	       (c->patience && c->waited >= c->patience);
}

static struct hp_whom_is adopter(const struct hp_whom *c)
{
	struct hp_whom_is ret = { HP_WHOM_ORIGIN, HP_WHY_CUT_OFF, HP_NO_NODE };

	if (!hp_whom_quorum(c))
		return ret;
	ret.why = HP_WHY_ALONE;
	ret.node = hp_whom_adopter(c, c->before);
	if (ret.node == HP_NO_NODE)
		return ret;
	return (struct hp_whom_is){ HP_WHOM_ADOPTER, HP_WHY_ADOPTS, ret.node };
}

struct hp_whom_is hp_whom(const struct hp_whom *c)
{
	struct hp_whom_is ret = { HP_WHOM_ORIGIN, HP_WHY_ENOUGH, HP_NO_NODE };
	uint32_t node;

	if (is_enough(c))
		return ret;
	node = holder(c, false);
	if (node == HP_NO_NODE) {
		ret = adopter(c);
		/* Better than the origin for each reader by itself. */
		if (ret.as == HP_WHOM_ORIGIN)
			node = holder(c, true);
	}
	if (node == HP_NO_NODE)
		return ret;
	return (struct hp_whom_is){ HP_WHOM_HOLDER, HP_WHY_HOLDS, node };
}
