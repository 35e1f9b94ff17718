/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open chunk files of a dataset, by the numbers of the chunks.  Those of a
 * stage directory are here or at the origin, and if what is here cannot be
 * used, that is no reason not to read.
 */
#include "dataset/dataset.h"

#include "base/bytes.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_chunk *chunk;
	enum hp_chunk_at at;
	int flags; /* of open, beside the usual ones */
	bool any_size;
	const bool *quit;
};

/* Its name, relative to the dataset's directory. */
struct name {
	const char *p; /* NULL: no memory */
	char *own;     /* to be freed */
	char buf[HPDSL_PATH_MAX + 1];
};

_Static_assert(HP_STAGE_NAME <= HPDSL_PATH_MAX, "it is made in the buffer");

static void name_release(struct name *n)
{
	free(n->own);
}

#define auto_name __attribute__((cleanup(name_release))) struct name

/*
 * The name in the index, copied: there it may be changed at any time.  One
 * that leads out of the directory is "", which no file has; those of adopted
 * tars may be anywhere.
 */
static void copy_name(const struct wanted *w, char buf[HPDSL_PATH_MAX + 1])
{
	const struct hp_view *v = &w->ds->view;
	const char *name = w->chunk->name;
	size_t room = HPDSL_PATH_MAX;

	if (hp_view_maps(v, name) &&
	    (uintptr_t)v->p + v->size - (uintptr_t)name < room)
		room = (uintptr_t)v->p + v->size - (uintptr_t)name;
	room = strnlen(name, room);
	hp_copy_once(buf, name, room);
	buf[room] = '\0';
	if (!(hp_index_flags(w->ds->index) & HP_INDEX_FOREIGN) &&
	    (strchr(buf, '/') || !strcmp(buf, ".") || !strcmp(buf, "..")))
		buf[0] = '\0';
}

static void name_get(const struct wanted *w, struct name *n)
{
	n->own = NULL;
	n->p = n->buf;
	if (w->ds->stage && w->at != HP_AT_ORIGIN)
		hp_stage_chunk_name(w->chunk, w->at == HP_AT_EXPANDED, n->buf);
	else
		copy_name(w, n->buf);
	if (w->ds->stage && w->at == HP_AT_ORIGIN)
		n->p = n->own =
			hp_stage_watch_origin(&w->ds->stage->watch, n->buf);
}

const char *hp_chunk_file_text(const struct hpdsl_dataset *ds,
			       const struct hpdsl_chunk *c, enum hp_chunk_at at,
			       char buf[HP_CHUNK_FILE_TEXT])
{
	struct wanted w = { .ds = ds, .chunk = c, .at = at };
	auto_name name;

	name_get(&w, &name);
	snprintf(buf, HP_CHUNK_FILE_TEXT, "%s%s%.690s",
		 at == HP_AT_ORIGIN ? "" : ds->path,
		 at == HP_AT_ORIGIN ? "" : "/", name.p ? name.p : name.buf);
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
	if (w->ds->stage && !w->any_size && (uint64_t)st->st_size != want)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "is %" PRIu64 " bytes, %" PRIu64 " expected",
			       (uint64_t)st->st_size, want);
	return 0;
}

static int open_chunk(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->ds->io;
	hp_auto_fd f = { io, -1 };
	char text[HP_CHUNK_FILE_TEXT];
	auto_name name;
	struct hpdsl_error why;
	struct stat st;
	int r;

	name_get(w, &name);
	if (!name.p)
		return hp_fail_nomem(err);
	f.fd = io->open(io, w->ds->dir, name.p,
			O_RDONLY | O_NONBLOCK | w->flags, 0);
	r = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);
	if (r < 0)
		return hp_fail_errno(
			err, r, "%s",
			hp_chunk_file_text(w->ds, w->chunk, w->at, text));
	r = check(w, &st, &why);
	if (r < 0)
		return hp_fail(err, r, "%s: %s",
			       hp_chunk_file_text(w->ds, w->chunk, w->at, text),
			       why.msg);
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
	return hp_stage_failed(ds->stage, c);
}

int hp_chunk_file_nowhere(const struct hpdsl_dataset *ds,
			  const struct hpdsl_chunk *c,
			  const struct hpdsl_error *here,
			  const struct hpdsl_error *origin,
			  struct hpdsl_error *err)
{
	if (!is_files_fault(origin->code))
		return hp_fail(err, origin->code, "%s", origin->msg);
	if (here->code)
		return hp_chunk_file_both(here, origin, err);
	return hp_fail(err, origin->code,
		       "%.400s: %.200s is %s, and at the "
		       "origin: %s",
		       ds->path, c->name,
		       hp_stage_has_failed(ds->stage, c) ? "damaged here" :
							   "not staged here",
		       origin->msg);
}

int hp_chunk_file_both(const struct hpdsl_error *here,
		       const struct hpdsl_error *origin,
		       struct hpdsl_error *err)
{
	return hp_fail(err, origin->code, "%.480s; and at the origin: %s",
		       here->msg, origin->msg);
}

/*
 * In the end it is the origin's: a chunk that fails is not looked at again,
 * and one that was taken away is not here any more.
 */
static int get_staged(struct wanted *w, struct hp_chunk_file *ret,
		      struct hpdsl_error *here, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r;

	for (;;) {
		if (!hp_stage_where(w->ds->stage, w->chunk, w->quit, &w->at)) {
			ret->at = HP_AT_HERE;
			return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
		}
		r = get(w, ret, &why);
		if (r == 0)
			return 0;
		if (w->at == HP_AT_ORIGIN)
			return hp_fail(err, r, "%s", why.msg);
		if (!hp_chunk_file_failed(w->ds, w->chunk, ret, r))
			return hp_fail(err, r, "%s", why.msg);
		*here = why;
	}
}

int hp_chunk_file_try(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, const bool *quit,
		      struct hp_chunk_file *ret, struct hpdsl_error *here,
		      struct hpdsl_error *why)
{
	struct wanted w = { .ds = ds, .chunk = c, .quit = quit };

	return ds->stage ? get_staged(&w, ret, here, why) : get(&w, ret, why);
}

int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, const bool *quit,
		      struct hp_chunk_file *ret, struct hpdsl_error *here,
		      struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_chunk_file_try(ds, c, quit, ret, here, &why);

	if (r < 0 && ret->at == HP_AT_ORIGIN)
		return hp_chunk_file_nowhere(ds, c, here, &why, err);
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

bool hp_chunk_file_rest(const struct hpdsl_dataset *ds,
			const struct hpdsl_chunk *c, struct hp_chunk_file *ret)
{
	struct wanted w = { .ds = ds, .chunk = c, .any_size = true };

	return ds->stage && hp_stage_has_rest(ds->stage, c, &w.at) &&
	       get(&w, ret, NULL) == 0;
}

/* Not by its name: that may stand for another file by now, and to look it up
 * costs a shared file system more than to open it. */
int hp_chunk_file_open(const struct hpdsl_dataset *ds,
		       const struct hpdsl_chunk *c,
		       const struct hp_chunk_file *f, int flags,
		       struct hpdsl_error *err)
{
	struct wanted w = { .ds = ds, .chunk = c, .at = f->at, .flags = flags };
	char same[sizeof "/proc/self/fd/" + 10];
	int fd;

	snprintf(same, sizeof same, "/proc/self/fd/%d", f->fd.fd);
	fd = ds->io->open(ds->io, AT_FDCWD, same, O_RDONLY | O_NONBLOCK | flags,
			  0);
	return fd < 0 ? open_chunk(&w, err) : fd;
}

void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_chunk_file *f)
{
	hp_fd_cache_put(ds->files, &f->fd);
}
