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

#define SECOND UINT64_C(1000000000)

enum { PATIENCE = 300 /* seconds */ };

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
	s->sources = hp_sources_files;
	r = s->notes ? hp_stage_watch_open(&s->watch, ds->io, ds->dir, chunks,
					   err) :
		       hp_fail_nomem(err);
	if (r == 0) {
		hp_peer_source_init(&s->peers, ds, &s->sources);
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
	hp_peer_source_release(&s->peers);
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

/* Counts the chunk by each of these notes, the first time. */
static void note(struct hp_stage_read *s, uint32_t chunk, uint8_t bits)
{
	uint8_t is;

	if ((notes_of(s, chunk) & bits) == bits)
		return;
	is = bits &
	     ~__atomic_fetch_or(&s->notes[chunk], bits, __ATOMIC_RELAXED);
	add(&s->absent, !!(is & HP_NOTE_ABSENT));
	add(&s->overtaken, !!(is & HP_NOTE_OVERTAKEN));
	add(&s->elsewhere, !!(is & HP_NOTE_PEERS));
	add(&s->failed, !!(is & HP_NOTE_FAILED));
}

void hp_stage_count(struct hp_stage_read *s, enum hp_chunk_at at, uint64_t n)
{
	add(at == HP_AT_ORIGIN	  ? &s->origin_bytes :
	    hp_source_is_peer(at) ? &s->peer_bytes :
				    &s->local_bytes,
	    n);
}

/* ---- Doing what is decided -------------------------------------------- */

static void look(struct hp_stage_read *s, uint32_t chunk,
		 struct hp_where_known *k)
{
	hp_stage_watch_see(&s->watch, chunk, &k->seen);
	/* What is here is read at any time. */
	if (!hp_where_here(&k->seen))
		k->now = hp_monotonic();
}

/* One look at the chunk: true, with where to read it, or look again. */
static bool search(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		   const struct hp_sources *sources, struct hp_where *w,
		   enum hp_chunk_at *ret)
{
	struct hp_where_known k;
	struct hp_where_step step;

	k.opened = s->opened;
	k.patience = s->patience;
	k.compressed = c->compressed;
	k.latest = false;
	k.notes = notes_of(s, c->number);
	if (!(k.notes & HP_NOTE_FAILED))
		look(s, c->number, &k);
	if (k.notes & HP_NOTE_FAILED || !hp_where_here(&k.seen))
		k.peers = hp_source_is_there(sources, HP_AT_PEER);
	step = hp_where_next(w, &k);
	if (step.what == HP_WHERE_RENEW) {
		if (hp_stage_watch_renew(&s->watch, step.ns))
			return false;
		k.latest = true;
		step = hp_where_next(w, &k);
	}
	if (step.what == HP_WHERE_WAIT) {
		hp_sleep(step.ns);
		/* The stager may have been replaced by one that is faster to
		 * bring it than the old one's death to be certain. */
		hp_stage_watch_renew(&s->watch, SECOND);
		return false;
	}
	if (step.note)
		note(s, c->number, step.note);
	*ret = step.at;
	return true;
}

bool hp_stage_where(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		    const struct hp_stage_look *look, enum hp_chunk_at *ret)
{
	struct hp_where w = { .asked = look->asked };
	const bool *quit = look->quit;
	bool found;

	do
		found = search(s, c, look->sources, &w, ret);
	while (!found && !(quit && __atomic_load_n(quit, __ATOMIC_RELAXED)));
	if (w.began)
		add(&s->waited, hp_monotonic() - w.began);
	return found;
}

void hp_stage_peer_bad(struct hp_stage_read *s)
{
	add(&s->peer_bad, 1);
}

void hp_stage_plain(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		    bool plain)
{
	uint8_t *n = &s->notes[c->number];

	if (plain)
		__atomic_fetch_or(n, HP_NOTE_PLAIN, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(n, (uint8_t)~HP_NOTE_PLAIN,
				   __ATOMIC_RELAXED);
}

bool hp_stage_failed(struct hp_stage_read *s, const struct hpdsl_chunk *c)
{
	struct hp_stage_seen seen;

	hp_stage_watch_see(&s->watch, c->number, &seen);
	if (hp_where_here(&seen))
		note(s, c->number, HP_NOTE_FAILED);
	return seen.born;
}

bool hp_stage_has_failed(const struct hp_stage_read *s,
			 const struct hpdsl_chunk *c)
{
	return notes_of(s, c->number) & HP_NOTE_FAILED;
}

bool hp_stage_has_rest(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		       enum hp_chunk_at *ret)
{
	struct hp_stage_seen seen;

	if (!hp_stage_has_failed(s, c))
		return false;
	hp_stage_watch_see(&s->watch, c->number, &seen);
	*ret = hp_where_form(&seen, c->compressed);
	return hp_where_here(&seen);
}

bool hp_stage_is_here(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		      enum hp_chunk_at *ret)
{
	struct hp_stage_seen seen;

	if (hp_stage_has_failed(s, c))
		return false;
	hp_stage_watch_see(&s->watch, c->number, &seen);
	if (!seen.born || !hp_where_here(&seen))
		return false;
	*ret = hp_where_form(&seen, c->compressed);
	return true;
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
	ret->peer_bytes = get(&s->peer_bytes);
	ret->peer_chunks = get(&s->elsewhere);
	ret->peer_failed = get(&s->peer_bad);
	hp_peer_source_count(&s->peers, ret);
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
