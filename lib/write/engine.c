/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's machine put together: memory, threads, progress, the end. */
#include "write/engine.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <inttypes.h>
#include <sys/mman.h>

enum {
	SEGMENT_MAX = 4 << 20,
	SEGMENT_UNIT = 64 << 10,
	SEGMENTS_MAX = 48,
	READERS = 16,
	READERS_MAX = 512,
	/* Threads that mostly wait for the disk while writing. */
	EXTRA_WRITERS = 2,
	PROGRESS_MS = 200,
};

static const uint64_t memory_default = 512 << 20;

/* Bytes of a segment, compressed too, and what lies between. */
static uint64_t stride(const struct hp_engine *e, uint32_t size)
{
	uint64_t n;

	if (!e->w->opt->zstd)
		return size;
	n = HP_FRAME_BYTES + (uint64_t)size + hp_stretch_room(size);
	return (n + 4095) / 4096 * 4096;
}

/*
 * More would only be cleared and filled for nothing.  Samples longer than a
 * segment are compressed one behind the other in their chunk, so that each
 * thread needs a chunk of its own: 16 segments with the usual size.
 */
static uint64_t most_segments(const struct hp_engine *e, uint32_t threads)
{
	if (!e->w->opt->zstd)
		return SEGMENTS_MAX;
	return 8 + (threads > 1 ? 16 * (uint64_t)(threads - 1) : 8);
}

/* Three quarters of the memory in segments, enough of them to overlap. */
static void choose_segments(struct hp_engine *e, uint32_t threads)
{
	uint64_t max = most_segments(e, threads);
	uint64_t memory = e->w->opt->memory;
	uint64_t size, n;

	if (memory == 0)
		memory = memory_default;
	size = memory / 16 / SEGMENT_UNIT * SEGMENT_UNIT;
	if (size > SEGMENT_MAX)
		size = SEGMENT_MAX;
	if (size < SEGMENT_UNIT)
		size = SEGMENT_UNIT;
	e->stride = stride(e, (uint32_t)size);
	n = memory / 4 * 3 / e->stride;
	if (n > max)
		n = max;
	if (n < 2)
		n = 2;
	e->segment_size = (uint32_t)size;
	e->n_segments = (uint32_t)n;
}

/* Where the segment's bytes are, plain and compressed. */
static void place_segment(struct hp_engine *e, uint32_t i)
{
	struct hp_segment *s = &e->segments[i];
	uint8_t *at = e->memory + i * e->stride;

	s->buf = at;
	s->next = e->free;
	e->free = s;
	if (!e->rows)
		return;
	s->buf = s->stretch.buf = at + HP_FRAME_BYTES;
	s->stretch.out = s->buf + e->segment_size;
	s->stretch.frame = e->rows + i * hp_stretch_frames(e->segment_size);
}

static int get_memory(struct hp_engine *e, uint32_t threads,
		      struct hpdsl_error *err)
{
	size_t bytes;
	void *p;

	choose_segments(e, threads);
	bytes = e->stride * e->n_segments;
	/* Fewer page faults where huge pages are to be had. */
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return hp_fail_nomem(err);
	madvise(p, bytes, MADV_HUGEPAGE);
	e->memory = p;
	e->segments = calloc(e->n_segments, sizeof *e->segments);
	if (e->w->opt->zstd)
		e->rows =
			hp_array((uint64_t)hp_stretch_frames(e->segment_size) *
					 e->n_segments,
				 sizeof *e->rows);
	if (!e->segments || (e->w->opt->zstd && !e->rows))
		return hp_fail_nomem(err);
	for (uint32_t i = e->n_segments; i-- > 0;)
		place_segment(e, i);
	return 0;
}

int hp_engine_init(struct hp_engine *e, struct hp_writing *p, uint32_t threads,
		   struct hpdsl_error *err)
{
	int r;

	*e = (struct hp_engine){ .w = p, .io = p->io };
	e->chunks_tail = &e->chunks;
	for (uint32_t c = 0; c < p->plan.n_chunks; c++)
		if (!p->done[c].done)
			e->bytes_total += hp_plan_chunk_bytes(&p->plan, c);
	pthread_mutex_init(&e->lock, NULL);
	pthread_mutex_init(&e->expand_lock, NULL);
	pthread_cond_init(&e->freed, NULL);
	pthread_cond_init(&e->ready, NULL);
	hp_cond_init(&e->ended);
	r = get_memory(e, threads, err);
	if (r == 0 && p->opt->zstd)
		r = hp_squeeze_init(e, threads, err);
	return r;
}

void hp_engine_release(struct hp_engine *e)
{
	while (e->chunks) {
		struct hp_open_chunk *c = e->chunks;

		e->chunks = c->next;
		if (c->opened)
			hp_outfile_abandon(&c->out);
		hp_free_chunk(e, c);
	}
	hp_squeeze_release(e);
	if (e->memory)
		munmap(e->memory, e->stride * e->n_segments);
	free(e->segments);
	free(e->rows);
	pthread_cond_destroy(&e->ended);
	pthread_cond_destroy(&e->ready);
	pthread_cond_destroy(&e->freed);
	pthread_mutex_destroy(&e->expand_lock);
	pthread_mutex_destroy(&e->lock);
}

static bool all_written(const struct hp_engine *e)
{
	return e->failed || (e->cut.all && !e->chunks);
}

/* Claims, reads, reports back; false at the end.  Under the lock. */
static bool read_some(struct hp_engine *e, bool wait)
{
	struct hpdsl_error err;
	struct hp_run run;
	int r;

	hp_claim(e, &run, wait);
	if (run.n == 0)
		return false;
	pthread_mutex_unlock(&e->lock);
	r = hp_read_run(e, &run, &err);
	pthread_mutex_lock(&e->lock);
	if (r < 0)
		hp_engine_fail(e, r, &err);
	else
		hp_claim_done(e, &run);
	return true;
}

static void *reader(void *arg)
{
	struct hp_engine *e = arg;

	pthread_mutex_lock(&e->lock);
	while (read_some(e, true))
		;
	/* A reader that ends may be the one that saw the end of the plan. */
	pthread_cond_broadcast(&e->freed);
	pthread_cond_broadcast(&e->ready);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static bool write_one(struct hp_engine *e)
{
	return e->w->opt->zstd ? hp_squeeze_one(e) : hp_write_one(e);
}

static void *writer(void *arg)
{
	struct hp_engine *e = arg;

	pthread_mutex_lock(&e->lock);
	while (!all_written(e))
		if (!write_one(e) && !all_written(e))
			pthread_cond_wait(&e->ready, &e->lock);
	pthread_cond_broadcast(&e->ended);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static void tell_progress(const struct hp_engine *e, uint64_t done)
{
	const struct hpdsl_watch *w = &e->w->opt->watch;
	const char *phase = e->w->parts ? "compressing" : "writing";
	struct hpdsl_progress p = { .phase = phase,
				    .done = done,
				    .total = e->bytes_total,
				    .bytes = true };

	if (w->progress)
		w->progress(w->arg, &p);
}

/* The caller's thread: tells progress until all is written. */
static void watch(struct hp_engine *e)
{
	uint64_t done;

	pthread_mutex_lock(&e->lock);
	while (!all_written(e)) {
		struct timespec t = hp_deadline(PROGRESS_MS / 1e3);

		pthread_cond_timedwait(&e->ended, &e->lock, &t);
		done = e->bytes_done;
		pthread_mutex_unlock(&e->lock);
		tell_progress(e, done);
		pthread_mutex_lock(&e->lock);
	}
	pthread_mutex_unlock(&e->lock);
}

/* All parts in turn, in the calling thread. */
static void run_serially(struct hp_engine *e)
{
	bool more = true;

	pthread_mutex_lock(&e->lock);
	while (more && !e->failed) {
		more = read_some(e, false);
		while (write_one(e))
			more = true;
		tell_progress(e, e->bytes_done);
	}
	pthread_mutex_unlock(&e->lock);
}

static void run_threads(struct hp_engine *e, uint32_t writers, uint32_t readers)
{
	pthread_t id[READERS_MAX + HP_THREADS_MOST + EXTRA_WRITERS];
	uint32_t n = 0, w = 0;

	while (w < writers && hp_thread_start(&id[n], writer, e) == 0) {
		n++;
		w++;
	}
	if (w == 0) {
		run_serially(e);
		return;
	}
	for (w = 0; w < readers && hp_thread_start(&id[n], reader, e) == 0; w++)
		n++;
	if (w == 0)
		reader(e);
	watch(e);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(id[i], NULL);
}

static int stopped(const struct hp_writing *p, struct hpdsl_error *err)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < p->plan.n_chunks; c++)
		n += p->done[c].done;
	return hp_fail(err, HPDSL_ESTOPPED,
		       "stopped early, %" PRIu32 " of %" PRIu32
		       " chunks are there",
		       n, p->plan.n_chunks);
}

int hp_write_in_order(struct hp_writing *p, struct hpdsl_error *err)
{
	uint32_t threads = hp_threads(p->opt->threads);
	uint32_t readers = p->opt->readers ? p->opt->readers : READERS;
	hp_auto_free struct hp_engine *e = calloc(1, sizeof *e);
	int r;

	if (!e)
		return hp_fail_nomem(err);
	r = hp_engine_init(e, p, threads == HPDSL_SERIAL ? 1 : threads, err);
	if (r == 0) {
		if (threads == HPDSL_SERIAL)
			run_serially(e);
		else
			run_threads(e, threads + EXTRA_WRITERS,
				    readers < READERS_MAX ? readers :
							    READERS_MAX);
		r = e->failed;
		if (r < 0 && err)
			*err = e->err;
		if (r == 0 && e->stopped)
			r = stopped(p, err);
	}
	hp_engine_release(e);
	return r;
}
