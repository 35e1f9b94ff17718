/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking: members in stored order, so that chunks are read front to back,
 * dealt to the threads in batches.  A member that is damaged, or whose name
 * cannot be had, is told and left out; the others are restored.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "dataset/dataset.h"
#include "hpdsl/unpack.h"
#include "sys/clock.h"
#include "sys/dir.h"
#include "sys/meter.h"
#include "sys/owner.h"
#include "sys/pool.h"
#include "unpack/restore.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	BATCH = 64,	    /* members a job */
	SMALL = 256 * 1024, /* contents that are read in one call */
};

/* What a thread needs; kept for its next job. */
struct worker {
	struct worker *next;
	struct hp_restore place;
	char path[HPDSL_PATH_MAX + 1]; /* of the member it is at */
	uint8_t buf[SMALL];
};

struct unpack {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_unpack_options *opt;
	const struct hp_io *io;
	const char *output;
	int root;
	uint64_t *numbers; /* sorted, each once; NULL: all */
	uint64_t n;	   /* members to restore */
	struct hp_meter meter;
	/* All below under the meter's lock. */
	struct worker *idle;
	struct hpdsl_unpack_report report;
	uint64_t first; /* the lowest of report.failed, and why */
	bool corrupt;
	struct hpdsl_error why;
	bool tried; /* every member */
};

static struct worker *worker_get(struct unpack *u)
{
	struct worker *w;

	pthread_mutex_lock(&u->meter.lock);
	w = u->idle;
	if (w)
		u->idle = w->next;
	pthread_mutex_unlock(&u->meter.lock);
	if (w)
		return w;
	w = malloc(sizeof *w);
	if (w)
		hp_restore_init(&w->place, u->io, u->root);
	return w;
}

static void worker_put(struct unpack *u, struct worker *w)
{
	pthread_mutex_lock(&u->meter.lock);
	w->next = u->idle;
	u->idle = w;
	pthread_mutex_unlock(&u->meter.lock);
}

static void workers_free(struct unpack *u)
{
	while (u->idle) {
		struct worker *w = u->idle;

		u->idle = w->next;
		hp_restore_release(&w->place);
		free(w);
	}
}

/* Failures of one member, which do not keep the others from being restored. */
static bool is_damage(int code)
{
	return code == HPDSL_ECORRUPT || code == HPDSL_ENOTOURS ||
	       code == -ENOENT || code == -EIO || code == -ELOOP ||
	       code == -ENXIO;
}

static bool is_bad_name(int code)
{
	return code == -EEXIST || code == -ENAMETOOLONG || code == -EINVAL ||
	       code == -EILSEQ;
}

static int note(struct unpack *u, uint64_t number, bool corrupt,
		const struct hpdsl_error *why)
{
	pthread_mutex_lock(&u->meter.lock);
	if (!u->report.failed++ || number < u->first) {
		u->first = number;
		u->why = *why;
	}
	u->corrupt |= corrupt;
	pthread_mutex_unlock(&u->meter.lock);
	hp_meter_warn(&u->meter, "%s", why->msg);
	return 0;
}

static int reading_failed(struct unpack *u, uint64_t number, int code,
			  const struct hpdsl_error *why,
			  struct hpdsl_error *err)
{
	if (is_damage(code))
		return note(u, number, true, why);
	return hp_fail(err, code, "%s", why->msg);
}

static int writing_failed(struct unpack *u, uint64_t number, int code,
			  const struct hpdsl_error *why,
			  struct hpdsl_error *err)
{
	struct hpdsl_error named;

	if (code == HPDSL_ESTOPPED)
		return hp_fail(err, code, "%s", why->msg);
	hp_fail(&named, code, "%s: %s", u->output, why->msg);
	if (is_bad_name(code))
		return note(u, number, false, &named);
	return hp_fail(err, code, "%s", named.msg);
}

static int done(struct unpack *u, const struct hpdsl_member *m)
{
	pthread_mutex_lock(&u->meter.lock);
	u->report.members++;
	u->report.bytes += m->size;
	pthread_mutex_unlock(&u->meter.lock);
	return 0;
}

static int write_piece(struct hp_restore *place, const struct hpdsl_member *m,
		       const void *buf, size_t n, struct hpdsl_error *err)
{
	int r = hp_io_write_full(place->io, place->fd, buf, n);
	char text[HP_PRINTABLE];

	if (r < 0)
		return hp_fail_errno(err, r, "'%s'",
				     hp_printable(m->path, m->path_len, text));
	return 0;
}

/* Read and verified before a file is made for it. */
static int restore_small(struct unpack *u, struct worker *w,
			 const struct hpdsl_member *m, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hpdsl_member_read(u->ds, m, 0, w->buf, m->size, &why);

	if (r < 0)
		return reading_failed(u, m->number, r, &why, err);
	r = hp_restore_open(&w->place, m, &why);
	if (r == 0)
		r = write_piece(&w->place, m, w->buf, m->size, &why);
	if (r == 0)
		r = hp_restore_commit(&w->place, m, &why);
	hp_restore_abandon(&w->place);
	return r < 0 ? writing_failed(u, m->number, r, &why, err) : done(u, m);
}

struct stream {
	struct unpack *u;
	struct hp_restore *place;
	const struct hpdsl_member *m;
	bool write_failed;
};

static int take_piece(void *arg, const void *buf, size_t n,
		      struct hpdsl_error *err)
{
	struct stream *s = arg;
	int r;

	if (hp_stopped(&s->u->opt->watch))
		r = hp_fail(err, HPDSL_ESTOPPED, "stopped");
	else
		r = write_piece(s->place, s->m, buf, n, err);
	s->write_failed = r < 0;
	if (r == 0)
		hp_meter_add(&s->u->meter, n);
	return r;
}

static int restore_large(struct unpack *u, struct worker *w,
			 const struct hpdsl_member *m, struct hpdsl_error *err)
{
	struct stream s = { u, &w->place, m, false };
	struct hpdsl_error why;
	int r = hp_restore_open(&w->place, m, &why);

	if (r < 0)
		return writing_failed(u, m->number, r, &why, err);
	r = hpdsl_member_stream(u->ds, m, take_piece, &s, &why);
	if (r < 0 && !s.write_failed) {
		hp_restore_abandon(&w->place);
		return reading_failed(u, m->number, r, &why, err);
	}
	if (r == 0)
		r = hp_restore_commit(&w->place, m, &why);
	hp_restore_abandon(&w->place);
	return r < 0 ? writing_failed(u, m->number, r, &why, err) : done(u, m);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Does another member have the path, that is restored too?  Adopted tars may
 * repeat paths; the first one has it, whichever thread is faster.
 */
static int check_path(const struct unpack *u, const struct hpdsl_member *m,
		      struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];
	uint64_t first;
	int r;

	if (!(hp_index_flags(u->ds->index) & HP_INDEX_FOREIGN))
		return 0;
	r = hp_index_find(u->ds->index, m->path, m->path_len, &first, err);
	if (r < 0 || first == m->number ||
	    (u->numbers &&
	     !bsearch(&first, u->numbers, u->n, sizeof first, by_number)))
		return r;
	return hp_fail(err, -EEXIST,
		       "'%s': member %" PRIu64 " has the same path",
		       hp_printable(m->path, m->path_len, text), first);
}

/*
 * A member with a path of our own: what the index says may be another one as
 * soon as it was looked at.
 */
static int get_member(const struct unpack *u, struct worker *w, uint64_t number,
		      struct hpdsl_member *ret, struct hpdsl_error *err)
{
	int r = hpdsl_member_get(u->ds, number, ret, err);

	if (r < 0)
		return r;
	if (!hp_path_copy(ret->path, ret->path_len, w->path))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: member %" PRIu64 " has an invalid path",
			       u->ds->path, number);
	ret->path = w->path;
	return 0;
}

static int restore(struct unpack *u, struct worker *w, uint64_t number,
		   uint64_t *ret_small, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct hpdsl_member m;
	int r = get_member(u, w, number, &m, &why);

	if (r < 0)
		return reading_failed(u, number, r, &why, err);
	if (m.generated) {
		__atomic_fetch_add(&u->report.generated, 1, __ATOMIC_RELAXED);
		*ret_small += m.size;
		return 0;
	}
	r = check_path(u, &m, &why);
	if (r == -EEXIST)
		return writing_failed(u, number, r, &why, err);
	if (r < 0)
		return reading_failed(u, number, r, &why, err);
	if (m.size > SMALL)
		return restore_large(u, w, &m, err);
	*ret_small += m.size;
	return restore_small(u, w, &m, err);
}

static int restore_batch(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct unpack *u = arg;
	struct worker *w = worker_get(u);
	uint64_t first = number * BATCH, end = first + BATCH, bytes = 0;
	int r = 0;

	if (!w)
		return hp_fail_nomem(err);
	for (uint64_t i = first; i < end && i < u->n && r == 0; i++)
		r = restore(u, w, u->numbers ? u->numbers[i] : i, &bytes, err);
	worker_put(u, w);
	hp_meter_add(&u->meter, bytes);
	return r;
}

/* What was asked for: sorted, each once, all there. */
static int choose(struct unpack *u, uint64_t members, struct hpdsl_error *err)
{
	const struct hpdsl_unpack_options *opt = u->opt;
	uint64_t n = 0;

	u->n = members;
	if (!opt->members)
		return 0;
	u->numbers = hp_array(opt->n_members, sizeof *u->numbers);
	if (!u->numbers)
		return hp_fail_nomem(err);
	if (opt->n_members)
		memcpy(u->numbers, opt->members,
		       opt->n_members * sizeof *u->numbers);
	qsort(u->numbers, opt->n_members, sizeof *u->numbers, by_number);
	for (uint64_t i = 0; i < opt->n_members; i++) {
		if (n == 0 || u->numbers[n - 1] != u->numbers[i])
			u->numbers[n++] = u->numbers[i];
	}
	u->n = n;
	if (n && u->numbers[n - 1] >= members)
		return hp_fail(err, -ERANGE,
			       "there is no member %" PRIu64
			       ": the dataset has %" PRIu64,
			       u->numbers[n - 1], members);
	return 0;
}

static int found(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return -ENOTEMPTY;
}

static int open_output(struct unpack *u, struct hpdsl_error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY;
	int r = u->io->mkdir(u->io, AT_FDCWD, u->output, 0777);
	bool was_there = r == -EEXIST;

	if (r < 0 && !was_there)
		return hp_fail_errno(err, r, "%s", u->output);
	u->root = u->io->open(u->io, AT_FDCWD, u->output, flags, 0);
	if (u->root == -ENOTDIR)
		return hp_fail(err, -EEXIST, "%s: exists, and is no directory",
			       u->output);
	if (u->root < 0)
		return hp_fail_errno(err, u->root, "%s", u->output);
	if (was_there && !u->opt->foreign_owner) {
		r = hp_owner_check(u->io, u->root, u->output, err);
		if (r < 0)
			return r;
	}
	r = was_there ? hp_listdir(u->io, u->root, found, NULL) : 0;
	return r < 0 ? hp_fail_errno(err, r, "%s", u->output) : 0;
}

/* Bytes to come, for the progress. */
static uint64_t total_bytes(const struct unpack *u)
{
	struct hpdsl_counts counts;
	struct hpdsl_member m;
	uint64_t sum = 0;

	hpdsl_count(u->ds, &counts);
	if (!u->numbers)
		return counts.bytes;
	for (uint64_t i = 0; i < u->n; i++) {
		if (hpdsl_member_get(u->ds, u->numbers[i], &m, NULL) == 0)
			sum += m.size;
	}
	return sum;
}

static int unpack(struct unpack *u, struct hpdsl_error *err)
{
	struct hpdsl_counts counts;
	int r;

	hpdsl_count(u->ds, &counts);
	r = choose(u, counts.members, err);
	if (r < 0)
		return r;
	r = open_output(u, err);
	if (r < 0)
		return r;
	hp_meter_phase(&u->meter, "unpacking", total_bytes(u), true);
	r = hp_pool_run(hp_threads(u->opt->threads), (u->n + BATCH - 1) / BATCH,
			restore_batch, u, u->opt->watch.stop, err);
	hp_meter_warn_end(&u->meter, "such lines");
	u->tried = r == 0;
	if (r < 0 || !u->report.failed)
		return r;
	return hp_fail(err, u->corrupt ? HPDSL_ECORRUPT : u->why.code,
		       "%" PRIu64 " of %" PRIu64 " members %s, first: %s",
		       u->report.failed, u->n,
		       u->corrupt ? "are damaged" : "cannot be restored",
		       u->why.msg);
}

int hpdsl_unpack(const struct hpdsl_dataset *ds, const char *output,
		 const struct hpdsl_unpack_options *opt,
		 struct hpdsl_unpack_report *ret, struct hpdsl_error *err)
{
	struct unpack u = {
		.ds = ds, .opt = opt, .output = output, .root = -1
	};
	double start = hp_now();
	int r;

	u.io = hp_io_or_system(opt->watch.io);
	hp_meter_init(&u.meter, &opt->watch);
	r = unpack(&u, err);
	workers_free(&u);
	if (u.root >= 0)
		u.io->close(u.io, u.root);
	free(u.numbers);
	hp_meter_release(&u.meter);
	if (u.tried) {
		u.report.seconds = hp_now() - start;
		*ret = u.report;
	}
	return r;
}
