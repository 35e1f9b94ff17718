/* SPDX-License-Identifier: Apache-2.0 */
/* The stager of one node, from its beginning to its end. */
#include "stager/stager.h"

#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>
#include <string.h>

enum {
	MEMORY = 256 << 20,
	MEMORY_MIN = 4 << 20,
	IN_STREAMS = 8,
	ORIGIN_STREAMS = 8, /* at most; one read at a time each, so as many
			       threads */
	SPARE_BUFFERS = 3,  /* messages of peers that ask for too much */
	AHEAD = 64,	    /* chunks begun before the first that is missing */
	PATIENCE = 5,	    /* seconds */
	OPEN_FILES = 64,    /* of the origin, and of those that are here */
};

/* ---- What the exchange asks ------------------------------------------- */

static uint64_t bytes_of(void *arg, uint64_t chunk, bool plain)
{
	const struct hpdsl_stager *s = arg;
	char name[HP_STAGE_NAME];
	struct hpdsl_chunk row;

	if (hp_stage_chunk(s->stage, chunk, false, &row, name, NULL) < 0)
		return 0;
	if (!plain)
		return row.bytes;
	return row.compressed ? row.plain_bytes : 0;
}

static bool is_held(void *arg, uint64_t chunk, bool *ret_plain)
{
	const struct hpdsl_stager *s = arg;
	enum hp_chunk_state is = hp_stage_here(s->stage, chunk);

	if (is == HP_CHUNK_ABSENT)
		return false;
	*ret_plain = is == HP_CHUNK_EXPANDED;
	return true;
}

/* ---- What this node gets ---------------------------------------------- */

static void plan_chunk(struct hpdsl_stager *s,
		       const struct hpdsl_stager_options *opt, uint32_t chunk)
{
	uint64_t bytes = hp_stage_chunk_bytes(s->stage, chunk);
	bool held = hpdsl_stage_holds(s->stage, chunk);
	uint32_t from;

	s->own.ready[chunk] = held ? 0 : -1;
	if (!hp_spread_holds(s->plan, s->node, chunk))
		return;
	s->own.report.planned_chunks++;
	s->own.report.planned_bytes += bytes;
	if (held) {
		s->own.report.held_chunks++;
		s->own.report.held_bytes += bytes;
		return;
	}
	from = hp_spread_from(s->plan, s->node, chunk, opt->holder[chunk],
			      opt->lacks, opt->arg);
	if (from == UINT32_MAX)
		return;
	if (from == s->node)
		s->own.report.planned_origin_bytes += bytes_of(s, chunk, false);
	s->own.want[s->own.n_want] = chunk;
	s->own.asked[s->own.n_want] =
		hp_spread_asked(s->plan, s->node, chunk, opt->holder[chunk],
				opt->lacks, opt->arg);
	s->own.from[s->own.n_want++] = from;
}

static int plan_chunks(struct hpdsl_stager *s,
		       const struct hpdsl_stager_options *opt,
		       struct hpdsl_error *err)
{
	uint64_t n = s->plan->chunks;

	s->chunks = n;
	s->own.chunk = calloc(n + 1, sizeof(struct hp_stager_chunk *));
	s->own.ready = hp_array(n, sizeof *s->own.ready);
	s->own.trouble = calloc(n + 1, sizeof *s->own.trouble);
	s->own.want = hp_array(n, sizeof *s->own.want);
	s->own.from = hp_array(n, sizeof *s->own.from);
	s->own.asked = hp_array(n, sizeof *s->own.asked);
	if (!s->own.chunk || !s->own.ready || !s->own.trouble || !s->own.want ||
	    !s->own.from || !s->own.asked)
		return hp_fail_nomem(err);
	for (uint64_t k = 0; k < n; k++)
		plan_chunk(s, opt, s->plan->order[k]);
	return 0;
}

/* A third each: coming from nodes, from the origin, going to nodes. */
static int make_exchange(struct hpdsl_stager *s, struct hpdsl_error *err)
{
	uint32_t third = (s->own.buffers.max - SPARE_BUFFERS) / 3;
	struct hp_exchange_config c = {
		.node = s->node,
		.chunks = s->chunks,
		.segment = s->own.buffers.segment,
		.in_streams = IN_STREAMS,
		.in_buffers = third,
		.origin_streams = ORIGIN_STREAMS,
		.origin_buffers = third,
		.out_buffers = third,
		.early = true,
		.want = s->own.want,
		.from = s->own.from,
		.n_want = s->own.n_want,
		.asked = s->own.asked,
		.keep = hp_stager_keep_some(s),
		.ahead = AHEAD,
		.bytes = bytes_of,
		.held = is_held,
		.arg = s,
	};

	return hp_exchange_new(&c, &s->own.x, err);
}

/* ---- Beginning -------------------------------------------------------- */

static int copy_options(struct hpdsl_stager *s, struct hpdsl_stage *stage,
			const struct hpdsl_stager_options *opt,
			struct hpdsl_error *err)
{
	s->stage = stage;
	stage->has_stager = true;
	s->io = hp_io_or_system(opt->watch.io);
	s->sources = &hp_sources_files;
	s->plan = opt->plan;
	s->node = opt->node;
	s->direct = opt->direct;
	s->sync = opt->sync;
	s->keep_compressed = opt->keep_compressed;
	s->shared.pace.rate = (double)opt->rate;
	s->started = hp_now();
	s->watch = opt->watch;
	s->origin = strdup(opt->origin);
	if (!s->origin)
		return hp_fail_nomem(err);
	s->dir = s->io->open(s->io, stage->dir, ".", O_RDONLY | O_DIRECTORY, 0);
	if (s->dir < 0)
		return hp_fail_errno(err, s->dir, "%s", stage->path);
	s->lock_fd = s->io->dup(s->io, stage->lock);
	return s->lock_fd < 0 ? hp_fail_errno(err, s->lock_fd, "%s/%s",
					      stage->path, HP_STAGE_LOCK) :
				0;
}

static int begin(struct hpdsl_stager *s, const struct hpdsl_stager_options *opt,
		 struct hpdsl_error *err)
{
	uint64_t memory = opt->memory ? opt->memory : MEMORY;
	int r;

	if (memory < MEMORY_MIN)
		memory = MEMORY_MIN;
	s->shared.origin_files = hp_fd_cache_new(s->io, OPEN_FILES);
	s->shared.own_files = hp_fd_cache_new(s->io, OPEN_FILES);
	if (!s->shared.origin_files || !s->shared.own_files ||
	    !hp_stager_can_send(s))
		return hp_fail_nomem(err);
	r = hp_stager_words(s, err);
	if (r == 0)
		r = hp_buffers_init(&s->own.buffers, memory, err);
	if (r == 0)
		r = plan_chunks(s, opt, err);
	if (r == 0)
		r = make_exchange(s, err);
	hp_tempo_init(&s->own.tempo, ORIGIN_STREAMS, s->started);
	return r < 0 ? r : hp_stager_threads(s, opt->threads, err);
}

static void init_locks(struct hpdsl_stager *s)
{
	pthread_mutex_init(&s->shared.lock, NULL);
	pthread_mutex_init(&s->stage_lock, NULL);
	hp_cond_init(&s->shared.pause);
	for (int i = 0; i < HP_CREWS; i++)
		pthread_cond_init(&s->shared.wake[i], NULL);
}

int hpdsl_stager_new(struct hpdsl_stage *stage,
		     const struct hpdsl_stager_options *opt,
		     struct hpdsl_stager **ret, struct hpdsl_error *err)
{
	struct hpdsl_stager *s;
	int r = hp_stage_in_order(stage, __func__, HP_STEP(HP_STEP_PUBLISHED),
				  err);

	if (r < 0)
		return r;
	s = calloc(1, sizeof *s);
	if (!s)
		return hp_fail_nomem(err);
	s->shared.origin_dir = s->dir = s->lock_fd = -1;
	s->patience = PATIENCE;
	init_locks(s);
	r = copy_options(s, stage, opt, err);
	if (r == 0)
		r = begin(s, opt, err);
	if (r < 0) {
		hpdsl_stager_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- Stopping and ending ---------------------------------------------- */

void hpdsl_stager_stop(struct hpdsl_stager *s, bool at_once)
{
	if (at_once)
		hp_stager_give_up(s);
	hp_exchange_stop(s->own.x, at_once);
}

static void free_jobs(struct hpdsl_stager *s, struct hp_jobs *q)
{
	struct hp_job *j;

	while ((j = hp_jobs_take(q))) {
		hp_coming_file_put(s, j->part);
		free(j);
	}
}

static void free_chunks(struct hpdsl_stager *s)
{
	for (uint64_t i = 0; s->own.chunk && i < s->chunks; i++) {
		if (s->own.chunk[i])
			free_jobs(s, &s->own.chunk[i]->queue);
		hp_stager_chunk_free(s, s->own.chunk[i]);
	}
}

static void free_memory(struct hpdsl_stager *s)
{
	hp_exchange_free(s->own.x);
	hp_buffers_release(&s->own.buffers);
	hp_fd_cache_free(s->shared.origin_files);
	hp_fd_cache_free(s->shared.own_files);
	pthread_mutex_destroy(&s->shared.lock);
	pthread_mutex_destroy(&s->stage_lock);
	pthread_cond_destroy(&s->shared.pause);
	for (int i = 0; i < HP_CREWS; i++)
		pthread_cond_destroy(&s->shared.wake[i]);
	free(s->shared.thread);
	free(s->own.chunk);
	free(s->own.ready);
	free(s->own.trouble);
	free(s->own.want);
	free(s->own.from);
	free(s->own.asked);
	free(s->origin);
	free(s);
}

void hpdsl_stager_free(struct hpdsl_stager *s)
{
	if (!s)
		return;
	s->stage->has_stager = false;
	/* A thread may come back from the system at any time: what it knows
	 * of has to stay for it, with the memory of its read. */
	if (!hp_stager_join(s))
		return;
	hp_outgoings_free(s->own.data.first);
	hp_outgoings_free(s->own.words.first);
	hp_outgoings_free(s->own.spare_outgoings);
	hp_words_free(s->own.unheard);
	hp_words_free(s->own.spare_words);
	free_jobs(s, &s->shared.origin_jobs);
	free_jobs(s, &s->shared.serve_jobs);
	free_jobs(s, &s->shared.done);
	free_jobs(s, &s->shared.spare);
	free_chunks(s);
	if (s->shared.origin_dir >= 0)
		s->io->close(s->io, s->shared.origin_dir);
	if (s->dir >= 0)
		s->io->close(s->io, s->dir);
	if (s->lock_fd >= 0)
		s->io->close(s->io, s->lock_fd);
	free_memory(s);
}
