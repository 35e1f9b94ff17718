/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted and said of requests that others did not answer. */
#include "peers/private.h"

#include "sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {
	[HP_CLIENT_WELL] = "well",
	[HP_CLIENT_NO_HOLDER] = "no node that lives has it",
	[HP_CLIENT_DENIED] = "has not got what it was to have",
	[HP_CLIENT_BUSY] = "has too much to do",
	[HP_CLIENT_LATE] = "does not answer in time",
	[HP_CLIENT_REFUSED] = "no connection, or it broke",
	[HP_CLIENT_UNPROVEN] = "what answers is no server of this job",
	[HP_CLIENT_BAD] = "sent other bytes than it was asked for",
	[HP_CLIENT_CUT_OFF] = "more than half of the nodes do not answer",
	[HP_CLIENT_NO_ENGINE] = "no libcurl, descriptor or memory for it",
	[HP_CLIENT_NO_ROOM] = "does not take in what nobody has",
	[HP_CLIENT_NO_SERVER] = "no server of it has been found",
};

static const char *const names[] = {
	[HP_CLIENT_WELL] = "none",	   [HP_CLIENT_NO_HOLDER] = "no_holder",
	[HP_CLIENT_DENIED] = "denied",	   [HP_CLIENT_BUSY] = "busy",
	[HP_CLIENT_LATE] = "late",	   [HP_CLIENT_REFUSED] = "refused",
	[HP_CLIENT_UNPROVEN] = "unproven", [HP_CLIENT_BAD] = "bad",
	[HP_CLIENT_CUT_OFF] = "cut_off",   [HP_CLIENT_NO_ENGINE] = "no_engine",
	[HP_CLIENT_NO_ROOM] = "no_room",   [HP_CLIENT_NO_SERVER] = "no_server",
};

/* Bits of a node's, of what was said of others; and behind them of these. */
_Static_assert((int)HP_CLIENT_WHYS <= (int)HP_TABLE_WHYS, "one word a reason");
_Static_assert(HP_CLIENT_WHYS <= 16, "two bits a reason");

const char *hp_client_why_name(enum hp_client_why why)
{
	return names[why];
}

const char *hp_client_why_text(enum hp_client_why why)
{
	return texts[why];
}

enum hp_client_why hp_said_why(enum hp_said said)
{
	switch (said) {
	case HP_SAID_ALL:
		return HP_CLIENT_WELL;
	case HP_SAID_ABSENT:
		return HP_CLIENT_DENIED;
	case HP_SAID_BUSY:
		return HP_CLIENT_BUSY;
	case HP_SAID_UNPROVEN:
		return HP_CLIENT_UNPROVEN;
	case HP_SAID_WRONG:
		return HP_CLIENT_BAD;
	case HP_SAID_FAILED:
		return HP_CLIENT_REFUSED;
	case HP_SAID_SELF:
		return HP_CLIENT_NO_ENGINE;
	default:
		return HP_CLIENT_LATE;
	}
}

/* What the last one of those said who were asked; the own node, asked to adopt
 * it, says least. */
static const struct hp_want_ask *last_ask(const struct hp_want *w)
{
	unsigned i = w->n;

	while (i > 1 && w->ask[i - 1].node == w->whom.self)
		i--;
	return i ? &w->ask[i - 1] : NULL;
}

enum hp_client_why hp_peers_why(struct hp_peers *p, const struct hp_want *w,
				uint32_t *ret_node)
{
	const struct hp_want_ask *a = last_ask(w);
	enum hp_client_why why;

	*ret_node = HP_NO_NODE;
	if (w->why == HP_WHY_CUT_OFF)
		return HP_CLIENT_CUT_OFF;
	if (!a)
		return HP_CLIENT_NO_HOLDER;
	*ret_node = a->node;
	why = hp_said_why(a->said);
	if (why == HP_CLIENT_DENIED && a->adopt)
		return HP_CLIENT_NO_ROOM;
	if (why == HP_CLIENT_REFUSED && !p->peer[a->node].found &&
	    !hp_table_get(&p->table, a->node, p->now).told)
		return HP_CLIENT_NO_SERVER;
	return why;
}

/* ---- Counted ---------------------------------------------------------- */

void hp_peers_answered(struct hp_peers *p, const struct hp_client_ask *a)
{
	struct hp_table_tally *c = hp_table_count(&p->table, a->node);
	const uint64_t now = hp_monotonic();

	if (!c)
		return;
	c->reads++;
	c->bytes += a->n;
	c->adopted += a->what.adopt;
	c->latency[hp_table_time(now > a->asked ? now - a->asked : 0)]++;
}

void hp_peers_hedged(struct hp_peers *p, uint32_t node, bool won)
{
	struct hp_table_tally *c = hp_table_count(&p->table, node);

	atomic_fetch_add(won ? &p->won : &p->hedged, 1);
	if (c)
		*(won ? &c->won : &c->hedged) += 1;
}

/* ---- Notes ------------------------------------------------------------ */

void hp_peers_note_text(struct hp_peers *p, const char *text)
{
	static const char more[] =
		"no more of these lines: the node's server has the sums";
	char *line;

	pthread_mutex_lock(&p->lock);
	if (p->noted_all <= HP_NOTES) {
		line = strdup(p->noted_all < HP_NOTES ? text : more);
		if (line)
			p->notes[p->n_notes++] = line;
		p->noted_all++;
	}
	pthread_mutex_unlock(&p->lock);
}

/* Of a node, first bit from: was it not said yet? */
static bool is_new(uint32_t *noted, enum hp_client_why why, unsigned from)
{
	const uint32_t bit = UINT32_C(1) << (why + from);
	const bool is = !(*noted & bit);

	*noted |= bit;
	return is;
}

static void say(struct hp_peers *p, uint32_t node, enum hp_client_why why,
		const char *then)
{
	char text[HP_CLIENT_NOTE];

	snprintf(text, sizeof text, "node %" PRIu32 " (%s): %s; %s", node,
		 hp_book_host(hp_peers_book(p), node), texts[why], then);
	hp_peers_note_text(p, text);
}

void hp_peers_note(struct hp_peers *p, uint32_t node, enum hp_client_why why)
{
	/* A node may have no room, or no time: that is no warning. */
	if (why == HP_CLIENT_WELL || why == HP_CLIENT_DENIED ||
	    why == HP_CLIENT_BUSY)
		return;
	if (is_new(&p->peer[node].noted, why, 0))
		say(p, node, why, "others are asked");
}

void hp_peers_to_origin(struct hp_peers *p, uint32_t node,
			enum hp_client_why why)
{
	const bool nobody = node == HP_NO_NODE;
	struct hp_table_tally *c;
	char text[HP_CLIENT_NOTE];

	atomic_fetch_add(&p->to_origin, 1);
	atomic_fetch_add(&p->failed[why], 1);
	/* It is given up, as the process ends. */
	if (why == HP_CLIENT_WELL)
		return;
	c = hp_table_count(&p->table, nobody ? p->nodes : node);
	if (c)
		c->origin[why]++;
	if (!is_new(nobody ? &p->noted : &p->peer[node].noted, why, 16))
		return;
	if (!nobody) {
		say(p, node, why, "read from the origin");
		return;
	}
	snprintf(text, sizeof text, "read from the origin: %s", texts[why]);
	hp_peers_note_text(p, text);
}
