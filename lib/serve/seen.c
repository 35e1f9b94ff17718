/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of this node saw of the others, out of what they share. */
#include "serve/private.h"

#include "peers/client.h"
#include "peers/health.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)HPDSL_SERVE_WHYS == (int)HP_TABLE_WHYS, "the same");
_Static_assert((int)HPDSL_SERVE_TIMES == (int)HP_TABLE_TIMES, "the same");

/* What a node told of its load is true for so long. */
#define LOAD_FOR (2 * HP_SECOND)

const char *hpdsl_serve_why(unsigned i)
{
	return i < HP_CLIENT_WHYS ? hp_client_why_name(i) : NULL;
}

static void add_tally(const struct hp_table *t, uint32_t node,
		      struct hpdsl_serve_seen *ret)
{
	struct hp_table_tally c;

	hp_table_tally(t, node, &c);
	ret->reads = c.reads;
	ret->bytes = c.bytes;
	ret->adopted = c.adopted;
	ret->suspected = c.suspect;
	ret->bad = c.bad;
	ret->hedged = c.hedged;
	ret->won = c.won;
	memcpy(ret->origin, c.origin, sizeof ret->origin);
	memcpy(ret->latency, c.latency, sizeof ret->latency);
	for (int i = 0; i < HPDSL_SERVE_WHYS; i++)
		ret->to_origin += c.origin[i];
}

static void see(struct hp_table *t, const struct hp_book *b, uint32_t node,
		uint64_t now, struct hpdsl_serve_seen *ret)
{
	const struct hp_table_row row = hp_table_get(t, node, now);

	snprintf(ret->host, sizeof ret->host, "%s", hp_book_host(b, node));
	ret->banned = row.bad >= HP_BAD_MOST;
	ret->suspect = !ret->banned && !hp_table_lives(t, node, now);
	if (row.told && row.told <= now && now - row.told < LOAD_FOR)
		ret->owes = row.load;
}

/* Under the lock: there is a book. */
static int see_all(const struct hpdsl_serve *s, struct hpdsl_serve_seen **ret)
{
	const uint32_t n = s->table_file.nodes;
	const uint64_t now = hp_monotonic();
	struct hpdsl_serve_seen *all = calloc(n + UINT64_C(1), sizeof *all);
	struct hp_table t;

	if (!all || hp_table_open(&s->table_file, &t) < 0) {
		free(all);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i <= n; i++) {
		all[i].node = (uint32_t)i;
		if (i < n)
			see(&t, &s->book->book, (uint32_t)i, now, &all[i]);
		add_tally(&t, (uint32_t)i, &all[i]);
	}
	hp_table_close(&t);
	*ret = all;
	return 0;
}

int hpdsl_serve_seen(struct hpdsl_serve *s, struct hpdsl_serve_seen **ret,
		     uint32_t *ret_n)
{
	int r = 0;

	*ret = NULL;
	*ret_n = 0;
	pthread_rwlock_rdlock(&s->lock);
	if (s->book)
		r = see_all(s, ret);
	if (*ret)
		*ret_n = s->table_file.nodes;
	pthread_rwlock_unlock(&s->lock);
	return r;
}
