/* SPDX-License-Identifier: Apache-2.0 */
/* From which source a chunk is read, and from which one next. */
#include "dataset/where.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum {
	PAUSE_MIN = 2, /* milliseconds between looks at what is coming */
	PAUSE_MAX = 50,
};

bool hp_where_here(const struct hp_stage_seen *seen)
{
	return seen->counts && (seen->state == HP_CHUNK_READY ||
				seen->state == HP_CHUNK_EXPANDED);
}

static bool is_coming(const struct hp_stage_seen *seen)
{
	return seen->counts && seen->state == HP_CHUNK_COMING;
}

enum hp_chunk_at hp_where_form(const struct hp_stage_seen *seen,
			       bool compressed)
{
	return seen->state == HP_CHUNK_EXPANDED && compressed ? HP_AT_EXPANDED :
								HP_AT_HERE;
}

static struct hp_where_step read_at(enum hp_chunk_at at, uint8_t note)
{
	return (struct hp_where_step){ .what = HP_WHERE_READ,
				       .at = at,
				       .note = note };
}

/*
 * Not here: at other nodes of the job, in the form that they were found to have
 * it in before; the origin when that was in vain.
 */
static struct hp_where_step elsewhere(const struct hp_where *w,
				      const struct hp_where_known *k,
				      uint8_t note)
{
	bool plain = k->compressed && (w->asked ? w->asked == HP_ASKED_STORED :
						  k->notes & HP_NOTE_PLAIN);

	if (!k->peers || w->asked == HP_ASKED_ALL ||
	    (w->asked && !k->compressed))
		return read_at(HP_AT_ORIGIN, note);
	/* They have it: it is only absent if that was in vain. */
	if (note == HP_NOTE_ABSENT)
		note = 0;
	return read_at(plain ? HP_AT_PEER_PLAIN : HP_AT_PEER,
		       note | HP_NOTE_PEERS);
}

static struct hp_where_step renew(uint64_t age)
{
	return (struct hp_where_step){ .what = HP_WHERE_RENEW, .ns = age };
}

/* A little for what is coming: false if that has lasted so long. */
static bool wait_a_little(struct hp_where *w, uint64_t now, uint64_t most,
			  struct hp_where_step *ret)
{
	uint64_t left;

	if (!w->began) {
		w->began = now;
		w->pause = PAUSE_MIN * MS;
	}
	if (now - w->began >= most)
		return false;
	left = most - (now - w->began);
	if (w->pause > left)
		w->pause = left;
	*ret = (struct hp_where_step){ .what = HP_WHERE_WAIT, .ns = w->pause };
	w->pause += w->pause / 2;
	if (w->pause > PAUSE_MAX * MS)
		w->pause = PAUSE_MAX * MS;
	return true;
}

/*
 * A stager has just begun, and has no state file yet: that takes it a moment,
 * or it was killed.  Then this is a dataset like others.
 */
static struct hp_where_step await_birth(struct hp_where *w,
					const struct hp_where_known *k)
{
	const uint64_t most = HP_STATE_DEAD_SECONDS * SECOND;
	struct hp_where_step step;

	if (!k->latest)
		return renew(0);
	if (!k->seen.alive)
		return read_at(HP_AT_HERE, 0);
	/* It is no matter of patience: there is nowhere else to go. */
	if (k->now - k->opened < most && wait_a_little(w, k->now, most, &step))
		return step;
	return read_at(HP_AT_HERE, 0);
}

struct hp_where_step hp_where_next(struct hp_where *w,
				   const struct hp_where_known *k)
{
	bool first = !(k->notes &
		       (HP_NOTE_ABSENT | HP_NOTE_OVERTAKEN | HP_NOTE_PEERS));
	struct hp_where_step step;

	if (k->notes & HP_NOTE_FAILED)
		return elsewhere(w, k, 0);
	if (!k->seen.born)
		return await_birth(w, k);
	if (hp_where_here(&k->seen))
		return read_at(hp_where_form(&k->seen, k->compressed), 0);
	w->coming = w->coming || is_coming(&k->seen);
	if (is_coming(&k->seen) && k->seen.alive &&
	    !(k->notes & HP_NOTE_OVERTAKEN) &&
	    wait_a_little(w, k->now, k->patience, &step))
		return step;
	/* May a newer generation know better?  For each chunk that is asked
	 * once at least, then every second. */
	if (!w->renewed) {
		w->renewed = true;
		return renew(first ? 0 : SECOND);
	}
	/* The bytes of what a stager gave up are zero. */
	return elsewhere(w, k, w->coming ? HP_NOTE_OVERTAKEN : HP_NOTE_ABSENT);
}

enum hp_where_after hp_where_after(const struct hp_where_read *r,
				   unsigned blame)
{
	if (r->rest || r->at == HP_AT_ORIGIN)
		return r->looked || r->rest || r->given ? HP_AFTER_END :
							  HP_AFTER_REST;
	return r->staged && !(blame & HP_BLAME_SELF) ? HP_AFTER_OTHER :
						       HP_AFTER_END;
}
