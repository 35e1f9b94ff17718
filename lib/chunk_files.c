/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open chunk files of a dataset, by the numbers of the chunks.  Those of a
 * stage directory are here or at the origin, and if what is here cannot be
 * used, that is no reason not to read.
 */
#include "dataset.h"

#include "error.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct wanted {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_chunk *chunk;
	enum hp_chunk_at at;
};

/* Relative to the dataset's directory; free it. */
static char *file_name(const struct wanted *w)
{
	char buf[HP_STAGE_NAME];

	if (!w->ds->stage)
		return strdup(w->chunk->name);
	if (w->at == HP_AT_ORIGIN)
		return hp_stage_watch_origin(&w->ds->stage->watch,
					     w->chunk->name);
	return strdup(
		hp_stage_chunk_name(w->chunk, w->at == HP_AT_EXPANDED, buf));
}

const char *hp_chunk_file_text(const struct hpdsl_dataset *ds,
			       const struct hpdsl_chunk *c, enum hp_chunk_at at,
			       char buf[HP_CHUNK_FILE_TEXT])
{
	struct wanted w = { ds, c, at };
	hp_auto_free char *name = file_name(&w);

	snprintf(buf, HP_CHUNK_FILE_TEXT, "%s%s%s",
		 at == HP_AT_ORIGIN ? "" : ds->path,
		 at == HP_AT_ORIGIN ? "" : "/", name ? name : c->name);
	return buf;
}

/*
 * Of a chunk that was cut short the members before the cut are good: each has
 * its own checksum.  But of a stage directory there is another file to read,
 * and at the origin another dataset may have come in the meantime.
 */
static int check(const struct wanted *w, const struct stat *st,
		 struct hpdsl_error *err)
{
	const struct hpdsl_chunk *c = w->chunk;
	uint64_t want = w->at == HP_AT_EXPANDED ? c->plain_bytes : c->bytes;

	if (!S_ISREG(st->st_mode))
		return hp_fail(err, HPDSL_ECORRUPT, "not a regular file");
	if (w->ds->stage && (uint64_t)st->st_size != want)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "is %" PRIu64 " bytes, %" PRIu64 " expected",
			       (uint64_t)st->st_size, want);
	return 0;
}

static int open_chunk(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->ds->io;
	hp_auto_free char *name = file_name(w);
	hp_auto_fd f = { io, -1 };
	char text[HP_CHUNK_FILE_TEXT];
	struct hpdsl_error why;
	struct stat st;
	int r;

	if (!name)
		return hp_fail_nomem(err);
	f.fd = io->open(io, w->ds->dir, name, O_RDONLY | O_NONBLOCK, 0);
	r = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);
	hp_chunk_file_text(w->ds, w->chunk, w->at, text);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", text);
	r = check(w, &st, &why);
	if (r < 0)
		return hp_fail(err, r, "%s: %s", text, why.msg);
	r = f.fd;
	f.fd = -1;
	return r;
}

static int get(struct wanted *w, struct hp_chunk_file *ret,
	       struct hpdsl_error *err)
{
	ret->at = w->at;
	return hp_fd_cache_get(w->ds->files, hp_chunk_file_key(w->chunk, w->at),
			       open_chunk, w, &ret->fd, err);
}

/* Is it the file that is at fault, not this process? */
static bool is_files_fault(int code)
{
	return code != -ENOMEM && code != -EMFILE && code != -ENFILE;
}

bool hp_chunk_file_failed(const struct hpdsl_dataset *ds,
			  const struct hpdsl_chunk *c,
			  const struct hp_chunk_file *f, int code)
{
	if (!ds->stage || f->at == HP_AT_ORIGIN || !is_files_fault(code))
		return false;
	hp_stage_failed(ds->stage, c);
	return true;
}

/* Why that one is asked for, and why it is of no use. */
static int origin_failed(const struct wanted *w, const struct hpdsl_error *here,
			 const struct hpdsl_error *why, struct hpdsl_error *err)
{
	if (!is_files_fault(why->code))
		return hp_fail(err, why->code, "%s", why->msg);
	if (here->code)
		return hp_fail(err, why->code, "%.480s; and at the origin: %s",
			       here->msg, why->msg);
	return hp_fail(err, why->code,
		       "%.400s: %s is not staged here, and at the origin: %s",
		       w->ds->path, w->chunk->name, why->msg);
}

/*
 * In the end it is the origin's: a chunk that fails is not looked at again,
 * and one that was taken away is not here any more.
 */
static int get_staged(struct wanted *w, struct hp_chunk_file *ret,
		      struct hpdsl_error *err)
{
	struct hpdsl_error here = { 0 }, why;
	int r;

	for (;;) {
		w->at = hp_stage_where(w->ds->stage, w->chunk);
		r = get(w, ret, &why);
		if (r == 0)
			return 0;
		if (w->at == HP_AT_ORIGIN)
			return origin_failed(w, &here, &why, err);
		if (!hp_chunk_file_failed(w->ds, w->chunk, ret, r))
			return hp_fail(err, r, "%s", why.msg);
		here = why;
	}
}

int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, struct hp_chunk_file *ret,
		      struct hpdsl_error *err)
{
	struct wanted w = { ds, c, HP_AT_HERE };

	return ds->stage ? get_staged(&w, ret, err) : get(&w, ret, err);
}

void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_chunk_file *f)
{
	hp_fd_cache_put(ds->files, &f->fd);
}
