/* SPDX-License-Identifier: Apache-2.0 */
/* Where the readers of a stage directory find a chunk, and what they count. */
#include "dataset/stage_read.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "sys/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum {
	PATIENCE = 300, /* seconds */
	PAUSE_MIN = 2,	/* milliseconds between looks at what is coming */
	PAUSE_MAX = 50,
};

/* Bits of a chunk's notes.  The first three say that it has been counted. */
enum {
	ABSENT = 1,
	OVERTAKEN = 2, /* nobody waits for it again */
	FAILED = 4,    /* nobody reads it here again */
};

int hp_stage_read_new(const struct hpdsl_dataset *ds, uint64_t chunks,
		      struct hp_stage_read **ret, struct hpdsl_error *err)
{
	struct hp_stage_read *s = calloc(1, sizeof *s);
	int r;

	*ret = NULL;
	if (!s)
		return hp_fail_nomem(err);
	s->patience = PATIENCE * SECOND;
	s->opened = hp_monotonic();
	s->notes = calloc(chunks ? chunks : 1, 1);
	s->watch.foreign_owner = ds->flags & HPDSL_OPEN_FOREIGN_OWNER;
	r = s->notes ? hp_stage_watch_open(&s->watch, ds->io, ds->dir, chunks,
					   err) :
		       hp_fail_nomem(err);
	if (r == 0) {
		*ret = s;
		return 0;
	}
	free(s->notes);
	free(s);
	return r == -ENOENT ? 0 : r;
}

void hp_stage_read_free(struct hp_stage_read *s)
{
	if (!s)
		return;
	hp_stage_watch_close(&s->watch);
	free(s->notes);
	free(s);
}

/* ---- Counting --------------------------------------------------------- */

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint8_t notes_of(const struct hp_stage_read *s, uint32_t chunk)
{
	return __atomic_load_n(&s->notes[chunk], __ATOMIC_RELAXED);
}

/* Counts the chunk, the first time. */
static void note(struct hp_stage_read *s, uint32_t chunk, uint8_t bit,
		 uint64_t *count)
{
	uint8_t old;

	if (notes_of(s, chunk) & bit)
		return;
	old = __atomic_fetch_or(&s->notes[chunk], bit, __ATOMIC_RELAXED);
	if (!(old & bit))
		add(count, 1);
}

void hp_stage_count(struct hp_stage_read *s, enum hp_chunk_at at, uint64_t n)
{
	add(at == HP_AT_ORIGIN ? &s->origin_bytes : &s->local_bytes, n);
}

/* ---- Deciding --------------------------------------------------------- */

/* A read that looks for its chunk. */
struct search {
	struct hp_stage_read *s;
	const struct hpdsl_chunk *chunk;
	bool renewed;	/* the state file was looked for again */
	bool coming;	/* it has been coming when it was looked at */
	uint64_t began; /* to wait; 0: it has not */
	uint64_t pause;
};

static bool is_here(const struct hp_stage_seen *seen)
{
	return seen->counts && (seen->state == HP_CHUNK_READY ||
				seen->state == HP_CHUNK_EXPANDED);
}

static bool is_coming(const struct hp_stage_seen *seen)
{
	return seen->counts && seen->state == HP_CHUNK_COMING;
}

/*
 * Before it goes to the origin: may a newer generation know better?  For each
 * chunk that is asked once at least, then every second.
 */
static bool knows_better(struct search *k)
{
	bool first = !(notes_of(k->s, k->chunk->number) & (ABSENT | OVERTAKEN));

	if (k->renewed)
		return false;
	k->renewed = true;
	return hp_stage_watch_renew(&k->s->watch, first ? 0 : SECOND);
}

/* Waits a little for what is coming: false if that has lasted so long. */
static bool wait_a_little(struct search *k, uint64_t most)
{
	uint64_t now = hp_monotonic(), left;
	struct timespec t;

	if (!k->began) {
		k->began = now;
		k->pause = PAUSE_MIN * MS;
	}
	if (now - k->began >= most)
		return false;
	left = most - (now - k->began);
	if (k->pause > left)
		k->pause = left;
	t = (struct timespec){ .tv_sec = (time_t)(k->pause / SECOND),
			       .tv_nsec = (long)(k->pause % SECOND) };
	nanosleep(&t, NULL);
	k->pause += k->pause / 2;
	if (k->pause > PAUSE_MAX * MS)
		k->pause = PAUSE_MAX * MS;
	/* The stager may have been replaced by one that is faster to bring it
	 * than the old one's death to be certain. */
	hp_stage_watch_renew(&k->s->watch, SECOND);
	return true;
}

/*
 * A stager has just begun, and has no state file yet: that takes it a moment,
 * or it was killed.  Then this is a dataset like others.
 */
static bool wait_for_birth(struct search *k)
{
	const uint64_t most = HP_STATE_DEAD_SECONDS * SECOND;

	if (hp_stage_watch_renew(&k->s->watch, 0))
		return true;
	/* It is no matter of patience: there is nowhere else to go. */
	return hp_monotonic() - k->s->opened < most && wait_a_little(k, most);
}

static enum hp_chunk_at form_of(const struct hp_stage_seen *seen,
				const struct hpdsl_chunk *c)
{
	return seen->state == HP_CHUNK_EXPANDED && c->compressed ?
		       HP_AT_EXPANDED :
		       HP_AT_HERE;
}

/* 1: look again; 0: it is to be read at *ret. */
static int decide(struct search *k, enum hp_chunk_at *ret)
{
	struct hp_stage_read *s = k->s;
	uint32_t number = k->chunk->number;
	uint8_t notes = notes_of(s, number);
	struct hp_stage_seen seen;

	*ret = HP_AT_ORIGIN;
	if (notes & FAILED)
		return 0;
	hp_stage_watch_see(&s->watch, number, &seen);
	if (!seen.born) {
		*ret = HP_AT_HERE;
		return wait_for_birth(k);
	}
	if (is_here(&seen)) {
		*ret = form_of(&seen, k->chunk);
		return 0;
	}
	k->coming = k->coming || is_coming(&seen);
	if (is_coming(&seen) && seen.alive && !(notes & OVERTAKEN) &&
	    wait_a_little(k, s->patience))
		return 1;
	if (knows_better(k))
		return 1;
	/* The bytes of what a stager gave up are zero. */
	if (k->coming)
		note(s, number, OVERTAKEN, &s->overtaken);
	else
		note(s, number, ABSENT, &s->absent);
	return 0;
}

bool hp_stage_where(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		    const bool *quit, enum hp_chunk_at *ret)
{
	struct search k = { .s = s, .chunk = c };
	bool again;

	do
		again = decide(&k, ret);
	while (again && !(quit && __atomic_load_n(quit, __ATOMIC_RELAXED)));
	if (k.began)
		add(&s->waited, hp_monotonic() - k.began);
	return !again;
}

bool hp_stage_failed(struct hp_stage_read *s, const struct hpdsl_chunk *c)
{
	struct hp_stage_seen seen;

	hp_stage_watch_see(&s->watch, c->number, &seen);
	if (is_here(&seen))
		note(s, c->number, FAILED, &s->failed);
	return seen.born;
}

bool hp_stage_has_failed(const struct hp_stage_read *s,
			 const struct hpdsl_chunk *c)
{
	return notes_of(s, c->number) & FAILED;
}

bool hp_stage_has_rest(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		       enum hp_chunk_at *ret)
{
	struct hp_stage_seen seen;

	if (!hp_stage_has_failed(s, c))
		return false;
	hp_stage_watch_see(&s->watch, c->number, &seen);
	*ret = form_of(&seen, c);
	return is_here(&seen);
}

/* ---- What the library's users see ------------------------------------- */

static uint64_t get(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

void hpdsl_sources(const struct hpdsl_dataset *ds, struct hpdsl_sources *ret)
{
	const struct hp_stage_read *s = ds->stage;

	*ret = (struct hpdsl_sources){ .staged = s != NULL };
	if (!s)
		return;
	ret->local_bytes = get(&s->local_bytes);
	ret->origin_bytes = get(&s->origin_bytes);
	ret->absent_chunks = get(&s->absent);
	ret->overtaken_chunks = get(&s->overtaken);
	ret->failed_chunks = get(&s->failed);
	ret->wait_seconds = (double)get(&s->waited) / (double)SECOND;
}

void hpdsl_patience(struct hpdsl_dataset *ds, double seconds)
{
	if (!ds->stage)
		return;
	if (!(seconds > 0))
		ds->stage->patience = 0;
	else if (seconds > 1e9)
		ds->stage->patience = UINT64_MAX;
	else
		ds->stage->patience = (uint64_t)(seconds * (double)SECOND);
}
