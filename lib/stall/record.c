/* SPDX-License-Identifier: Apache-2.0 */
/* Lines between ranks and hpdsl-stall. */
#include "stall/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Lines ------------------------------------------------------------ */

size_t hp_stall_record_format(const struct hp_stall_record *r, char *buf)
{
	int n = snprintf(buf, HP_STALL_LINE, "%s", r->word);

	for (unsigned i = 0; i < r->n; i++)
		n += snprintf(buf + n, (size_t)(HP_STALL_LINE - n), " %" PRId64,
			      r->v[i]);
	buf[n] = '\n';
	buf[n + 1] = '\0';
	return (size_t)n + 1;
}

/* Digits, at most 18 of them, which always fit. */
static const char *take_number(const char *s, const char *end, int64_t *ret)
{
	bool minus = s < end && *s == '-';
	const char *from = s += minus;
	int64_t v = 0;

	for (; s < end && *s >= '0' && *s <= '9' && s - from < 18; s++)
		v = 10 * v + (*s - '0');
	if (s == from)
		return NULL;
	*ret = minus ? -v : v;
	return s;
}

static bool take_word(const char **s, const char *end, char *ret)
{
	size_t n = 0;

	while (*s < end && **s >= 'a' && **s <= 'z' && n + 1 < HP_STALL_WORD)
		ret[n++] = *(*s)++;
	ret[n] = '\0';
	return n;
}

static bool parse(const char *s, const char *end, struct hp_stall_record *r)
{
	if (!take_word(&s, end, r->word))
		return false;
	while (s < end) {
		if (*s != ' ' || r->n == HP_STALL_NUMBERS)
			return false;
		s = take_number(s + 1, end, &r->v[r->n]);
		if (!s)
			return false;
		r->n++;
	}
	return true;
}

size_t hp_stall_record_parse(const char *text, size_t n,
			     struct hp_stall_record *ret)
{
	const char *end = memchr(text, '\n', n);

	memset(ret, 0, sizeof *ret);
	if (!end)
		return 0;
	if (!parse(text, end, ret))
		memset(ret, 0, sizeof *ret);
	return (size_t)(end - text) + 1;
}

bool hp_stall_record_is(const struct hp_stall_record *r, const char *word,
			unsigned n)
{
	return r->n == n && strcmp(r->word, word) == 0;
}

/* ---- Numbers ---------------------------------------------------------- */

/* 18 digits: what is larger was never measured. */
#define MOST INT64_C(999999999999999999)

static void begin(struct hp_stall_record *r, const char *word)
{
	memset(r, 0, sizeof *r);
	snprintf(r->word, sizeof r->word, "%s", word);
}

static void add(struct hp_stall_record *r, uint64_t v)
{
	r->v[r->n++] = v < (uint64_t)MOST ? (int64_t)v : MOST;
}

static void add_seconds(struct hp_stall_record *r, double seconds)
{
	double ns = seconds * 1e9;

	r->v[r->n++] = ns >= (double)MOST ? MOST : ns <= -1 ? -1 : (int64_t)ns;
}

/* A rank's lines are read as whatever may be in them. */
struct reading {
	const struct hp_stall_record *r;
	unsigned next;
	bool wrong;
};

static uint64_t get(struct reading *g, uint64_t most)
{
	int64_t v = g->r->v[g->next++];

	if (v >= 0 && (uint64_t)v <= most)
		return (uint64_t)v;
	g->wrong = true;
	return 0;
}

static uint64_t get64(struct reading *g)
{
	return get(g, (uint64_t)MOST);
}

static uint32_t get32(struct reading *g)
{
	return (uint32_t)get(g, UINT32_MAX);
}

static double get_seconds(struct reading *g)
{
	return (double)get64(g) / 1e9;
}

/* ---- Records ---------------------------------------------------------- */

void hp_stall_put(const char *word, uint64_t a, uint64_t b, unsigned n,
		  struct hp_stall_record *ret)
{
	begin(ret, word);
	add(ret, a);
	add(ret, b);
	ret->n = n;
}

void hp_stall_put_start(const struct hp_stall_start *s,
			struct hp_stall_record *ret)
{
	begin(ret, "start");
	add(ret, s->rank);
	add(ret, s->ranks);
	add(ret, s->step);
	add_seconds(ret, s->step_seconds);
	add_seconds(ret, s->pace);
	add(ret, s->lead);
	add(ret, s->epoch);
	add_seconds(ret, s->first_seconds);
	add(ret, s->batch_bytes);
	add(ret, s->room);
	add(ret, s->unsteady);
}

bool hp_stall_get_start(const struct hp_stall_record *r,
			struct hp_stall_start *ret)
{
	struct reading g = { .r = r };

	if (!hp_stall_record_is(r, "start", 11))
		return false;
	*ret = (struct hp_stall_start){
		.rank = get32(&g),
		.ranks = get32(&g),
		.step = get64(&g),
		.step_seconds = get_seconds(&g),
		.pace = get_seconds(&g),
		.lead = get32(&g),
		.epoch = get64(&g),
		.first_seconds = get_seconds(&g),
		.batch_bytes = get64(&g),
		.room = get64(&g),
		.unsteady = get(&g, 1),
	};
	return !g.wrong;
}

void hp_stall_put_schedule(uint32_t serial, const struct hp_stall_schedule *s,
			   struct hp_stall_record *ret)
{
	begin(ret, "schedule");
	add(ret, serial);
	add(ret, s->from);
	add(ret, s->rounds);
	add(ret, s->blocks);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		add(ret, s->lead[i]);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		add(ret, s->steps[i]);
}

bool hp_stall_get_schedule(const struct hp_stall_record *r,
			   uint32_t *ret_serial, struct hp_stall_schedule *ret)
{
	struct reading g = { .r = r };
	struct hp_stall_schedule s;

	if (!hp_stall_record_is(r, "schedule", 4 + 2 * HPDSL_STALL_PHASES))
		return false;
	*ret_serial = get32(&g);
	s.from = get64(&g);
	s.rounds = get32(&g);
	s.blocks = get32(&g);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		s.lead[i] = get32(&g);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		s.steps[i] = get32(&g);
	*ret = s;
	return !g.wrong;
}

void hp_stall_put_block(uint32_t serial, const struct hpdsl_stall_block *b,
			struct hp_stall_record *ret)
{
	begin(ret, "block");
	add(ret, serial);
	add(ret, b->phase);
	add(ret, b->round);
	add(ret, b->block);
	add(ret, b->steps);
	add_seconds(ret, b->seconds);
	add_seconds(ret, b->interrupted);
	add_seconds(ret, b->waited);
	add(ret, b->made);
	add(ret, b->out);
	add_seconds(ret, b->making);
	add_seconds(ret, b->hand_over);
}

bool hp_stall_get_block(const struct hp_stall_record *r, uint32_t *ret_serial,
			struct hpdsl_stall_block *ret)
{
	struct reading g = { .r = r };

	if (!hp_stall_record_is(r, "block", 12))
		return false;
	*ret_serial = get32(&g);
	*ret = (struct hpdsl_stall_block){
		.phase = get(&g, HPDSL_STALL_PHASES - 1),
		.round = get32(&g),
		.block = get32(&g),
		.steps = get32(&g),
		.seconds = get_seconds(&g),
		.interrupted = get_seconds(&g),
		.waited = get_seconds(&g),
		.made = get64(&g),
		.out = get64(&g),
		.making = get_seconds(&g),
	};
	/* none was there in time */
	ret->hand_over = r->v[11] == -1 ? -1 : get_seconds(&g);
	return !g.wrong && ret->steps;
}

void hp_stall_put_cache(uint32_t serial, enum hpdsl_stall_phase phase,
			const struct hpdsl_stall_cache *c,
			struct hp_stall_record *ret)
{
	begin(ret, "cache");
	add(ret, serial);
	add(ret, phase);
	add(ret, c->asked);
	add(ret, c->there);
	add(ret, c->unknown);
}

bool hp_stall_get_cache(const struct hp_stall_record *r, uint32_t *ret_serial,
			enum hpdsl_stall_phase *ret_phase,
			struct hpdsl_stall_cache *ret)
{
	struct reading g = { .r = r };

	if (!hp_stall_record_is(r, "cache", 5))
		return false;
	*ret_serial = get32(&g);
	*ret_phase = get(&g, HPDSL_STALL_PHASES - 1);
	*ret = (struct hpdsl_stall_cache){
		.asked = get64(&g),
		.there = get64(&g),
		.unknown = get64(&g),
	};
	return !g.wrong;
}

void hp_stall_put_asks(uint32_t serial, enum hpdsl_stall_phase phase,
		       const struct hpdsl_stall_asks *a,
		       struct hp_stall_record *ret)
{
	begin(ret, "asks");
	add(ret, serial);
	add(ret, phase);
	add(ret, a->batches);
	add(ret, a->opens);
	add(ret, a->stats);
	add(ret, a->entries);
	add(ret, a->reads);
	add(ret, a->bytes);
	add(ret, a->all_reads);
	add(ret, a->all_bytes);
	add(ret, a->from_storage);
	add_seconds(ret, a->names);
}

bool hp_stall_get_asks(const struct hp_stall_record *r, uint32_t *ret_serial,
		       enum hpdsl_stall_phase *ret_phase,
		       struct hpdsl_stall_asks *ret)
{
	struct reading g = { .r = r };

	if (!hp_stall_record_is(r, "asks", 12))
		return false;
	*ret_serial = get32(&g);
	*ret_phase = get(&g, HPDSL_STALL_PHASES - 1);
	*ret = (struct hpdsl_stall_asks){
		.batches = get64(&g),
		.opens = get64(&g),
		.stats = get64(&g),
		.entries = get64(&g),
		.reads = get64(&g),
		.bytes = get64(&g),
		.all_reads = get64(&g),
		.all_bytes = get64(&g),
		.from_storage = get64(&g),
		.names = get_seconds(&g),
	};
	return !g.wrong;
}
