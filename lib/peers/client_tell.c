/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted and said of requests that others did not answer. */
#include "peers/private.h"

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
};

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
enum hp_client_why hp_want_why(const struct hp_want *w)
{
	unsigned i = w->n;

	if (w->why == HP_WHY_CUT_OFF)
		return HP_CLIENT_CUT_OFF;
	if (!i)
		return HP_CLIENT_NO_HOLDER;
	while (i > 1 && w->ask[i - 1].node == w->whom.self)
		i--;
	return hp_said_why(w->ask[i - 1].said);
}

/* ---- Notes ------------------------------------------------------------ */

void hp_peers_note_text(struct hp_peers *p, const char *text)
{
	char *line = strdup(text);

	pthread_mutex_lock(&p->lock);
	if (line && p->n_notes < HP_NOTES)
		p->notes[p->n_notes++] = line;
	else
		free(line);
	pthread_mutex_unlock(&p->lock);
}

void hp_peers_note(struct hp_peers *p, uint32_t node, enum hp_client_why why)
{
	uint32_t *noted = node == HP_NO_NODE ? &p->noted : &p->peer[node].noted;
	char text[HP_CLIENT_NOTE];

	if (why == HP_CLIENT_WELL || *noted & 1U << why)
		return;
	/* A node may have no room, or no time: that is no warning. */
	if (node != HP_NO_NODE &&
	    (why == HP_CLIENT_DENIED || why == HP_CLIENT_BUSY))
		return;
	*noted |= 1U << why;
	if (node == HP_NO_NODE)
		snprintf(text, sizeof text, "read from the origin: %s",
			 texts[why]);
	else
		snprintf(text, sizeof text,
			 "node %" PRIu32 " (%s): %s; others are asked", node,
			 hp_book_host(hp_peers_book(p), node), texts[why]);
	hp_peers_note_text(p, text);
}
