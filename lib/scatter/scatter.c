/* SPDX-License-Identifier: Apache-2.0 */
/* Scattered chunks from their making to their names; see private.h. */
#include "scatter/private.h"

#include "base/error.h"
#include "scatter/scatter.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	WRITERS = 2,
	MAKERS = 16, /* files made at a time */
};

static int make_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_scatter *s = arg;

	return hp_parts_make(&s->parts, s->chunks[number], err);
}

/* All at once: a disk that is too small says so now. */
static int make_parts(struct hp_scatter *s, struct hpdsl_error *err)
{
	bool serial = s->w->opt->threads == HPDSL_SERIAL;
	int r = hp_parts_init(&s->parts, s->w, err);

	if (r == 0)
		r = hp_pool_run(serial ? HPDSL_SERIAL : MAKERS, s->n_chunks,
				make_one, s, hp_scatter_watch(s)->stop, err);
	if (r == 0)
		r = hp_sync_dir(s->w->io, s->w->dir, err);
	/* The journal knows the archives from here on. */
	return r < 0 ? r : hp_scatter_sync(s, err);
}

static int decode_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_scatter *s = arg;
	int r = hp_scatter_decode(s, &s->streams[number], err);

	if (r < 0)
		hp_scatter_fail(s, r, err);
	return r;
}

static void end(struct hp_scatter *s)
{
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->ready);
	pthread_cond_broadcast(&s->due);
	pthread_mutex_unlock(&s->lock);
}

/* All streams to their ends; with threads for what is beside decoding. */
static int run_streams(struct hp_scatter *s, uint32_t threads,
		       struct hpdsl_error *err)
{
	const int *stop = hp_scatter_watch(s)->stop;
	pthread_t id[WRITERS + 1];
	uint32_t n = 0;
	int r;

	if (threads != HPDSL_SERIAL) {
		s->writers = WRITERS;
		while (n < WRITERS &&
		       hp_thread_start(&id[n], hp_scatter_writer, s) == 0)
			n++;
		s->writers = n;
		s->syncing = true;
		if (n && hp_thread_start(&id[n], hp_scatter_syncer, s) == 0)
			n++;
		else
			s->syncing = false;
	}
	/* Decoders that sync by themselves must not do so at once. */
	if (!s->syncing)
		threads = HPDSL_SERIAL;
	r = hp_pool_run(threads, s->n_streams, decode_one, s, stop, err);
	end(s);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	if (s->failed) {
		if (err)
			*err = s->err;
		return s->failed;
	}
	return r == 0 && s->stopped ? HPDSL_ESTOPPED : r;
}

/*
 * Chunks that are to be compressed are done with all others, but their members
 * are read where they were put.
 */
static int compress(struct hp_scatter *s, struct hpdsl_error *err)
{
	struct hp_writing *p = s->w;
	struct hp_plan_place place;
	struct hp_plan_walk w;
	int r;

	for (uint32_t i = 0; i < s->n_chunks; i++) {
		hp_plan_walk_chunk(&w, &p->plan, s->chunks[i]);
		while (hp_plan_walk_next(&w, &place))
			p->list.files[place.file].flags |= HP_FILE_PLACED;
	}
	p->parts = &s->parts;
	r = hp_write_in_order(p, err);
	p->parts = NULL;
	/* What could not be removed at once. */
	if (r == 0)
		hp_parts_remove(&s->parts);
	return r;
}

/* All members to their places, then the chunks to their names. */
static int scatter(struct hp_scatter *s, struct hpdsl_error *err)
{
	uint32_t threads = hp_threads(s->w->opt->threads);
	uint32_t decoders = threads;
	int r;

	if (threads == HPDSL_SERIAL)
		decoders = 1;
	if (decoders > s->n_streams)
		decoders = s->n_streams;
	r = hp_scatter_buffers(s, decoders, err);
	if (r < 0)
		return r;
	hp_meter_phase(&s->meter, "writing", s->stream_bytes + s->other_bytes,
		       true);
	r = run_streams(s, threads, err);
	hp_scatter_buffers_free(s);
	if (r == 0)
		r = hp_scatter_copy(s, err);
	if (r < 0)
		return r;
	return s->w->opt->zstd ? compress(s, err) : hp_scatter_finish(s, err);
}

/* All that was done is to be on the disk, and noted. */
static int stop(struct hp_scatter *s, struct hpdsl_error *err)
{
	const struct hp_writing *p = s->w;
	uint32_t done = 0;
	uint64_t files = 0;
	int r = hp_scatter_sync(s, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n_streams; i++)
		files += s->streams[i].noted.files;
	for (uint32_t c = 0; c < p->plan.n_chunks; c++)
		done += p->done[c].done;
	return hp_fail(err, HPDSL_ESTOPPED,
		       "stopped early, %" PRIu64 " files of compressed "
		       "archives are done, %" PRIu32 " of %" PRIu32
		       " chunks are there",
		       files, done, p->plan.n_chunks);
}

/* Can a later run go on from here? */
static bool is_resumable(const struct hp_scatter *s)
{
	for (uint32_t i = 0; i < s->n_streams; i++)
		if (s->streams[i].noted.files || s->streams[i].noted.bytes)
			return true;
	return false;
}

static void init(struct hp_scatter *s, struct hp_writing *p)
{
	*s = (struct hp_scatter){ .w = p };
	hp_meter_init(&s->meter, &p->opt->watch);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->freed, NULL);
	pthread_cond_init(&s->ready, NULL);
	hp_cond_init(&s->due);
}

static void release(struct hp_scatter *s)
{
	hp_scatter_buffers_free(s);
	hp_parts_release(&s->parts);
	free(s->spots);
	free(s->streams);
	free(s->chunks);
	pthread_cond_destroy(&s->due);
	pthread_cond_destroy(&s->ready);
	pthread_cond_destroy(&s->freed);
	pthread_mutex_destroy(&s->lock);
	hp_meter_release(&s->meter);
}

int hp_scatter_chunks(struct hp_writing *p, struct hpdsl_error *err)
{
	struct hp_scatter s;
	int r;

	if (!hp_scatter_wanted(p))
		return 0;
	init(&s, p);
	r = hp_scatter_plan(&s, err);
	if (r == 0 && s.n_chunks) {
		r = make_parts(&s, err);
		if (r == 0)
			r = scatter(&s, err);
		if (r == HPDSL_ESTOPPED)
			r = stop(&s, err);
		if (r < 0 && r != HPDSL_ESTOPPED && !is_resumable(&s))
			hp_parts_remove(&s.parts);
	}
	release(&s);
	return r;
}
