/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open chunks of a dataset, by their numbers.  Those of a stage directory are
 * here or at the origin, and if what is here cannot be used, that is no reason
 * not to read.
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
	struct hp_stage_look look;
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
	if (w->ds->stage && (w->at == HP_AT_HERE || w->at == HP_AT_EXPANDED))
		hp_stage_chunk_name(w->chunk, w->ds->sources->of[w->at]->plain,
				    n->buf);
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
	ds->sources->of[at]->text(ds->path, name.p ? name.p : name.buf, buf,
				  HP_CHUNK_FILE_TEXT);
	return buf;
}

/*
 * Of a chunk that was cut short the members before the cut are good: each has
 * its own checksum.  But of a stage directory there is another file to read,
 * and at the origin another dataset may have come in the meantime.
 */
static int check(const struct wanted *w, const struct hp_source *s,
		 struct hpdsl_error *err)
{
	char text[HP_CHUNK_FILE_TEXT];
	uint64_t size;
	int r = s->ops->identity(s, w->chunk, &size);

	if (r == HP_SOURCE_IS_IT ||
	    (r == HP_SOURCE_IS_SIZED && (!w->ds->stage || w->any_size)))
		return 0;
	hp_chunk_file_text(w->ds, w->chunk, w->at, text);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", text);
	if (r == HP_SOURCE_IS_ODD)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: not a regular file",
			       text);
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: is %" PRIu64 " bytes, %" PRIu64 " expected", text,
		       size, hp_source_size(s, w->chunk));
}

static struct hp_source source_of(const struct wanted *w)
{
	return hp_source_of(w->ds->sources, w->at, w->ds->io, w->chunk->number);
}

static int open_chunk(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	struct hp_source s = source_of(w);
	char text[HP_CHUNK_FILE_TEXT];
	auto_name name;
	int r;

	name_get(w, &name);
	if (!name.p)
		return hp_fail_nomem(err);
	s.fd.fd = s.ops->open(s.io, w->ds->dir, name.p, w->flags);
	if (s.fd.fd < 0)
		return hp_fail_errno(
			err, s.fd.fd, "%s",
			hp_chunk_file_text(w->ds, w->chunk, w->at, text));
	r = check(w, &s, err);
	if (r == 0)
		return s.fd.fd;
	s.io->close(s.io, s.fd.fd);
	return r;
}

static int get(struct wanted *w, struct hp_source *ret, struct hpdsl_error *err)
{
	*ret = source_of(w);
	if (!ret->ops->open)
		return 0;
	return hp_fd_cache_get(w->ds->files, hp_chunk_file_key(w->chunk, w->at),
			       open_chunk, w, &ret->fd, err);
}

/* The others may be of use, and are to the next read; this one goes on. */
static void peer_failed(const struct hpdsl_dataset *ds,
			const struct hpdsl_chunk *c, const struct hp_source *f,
			int code, struct hp_tried *tried)
{
	if (code == HPDSL_ECORRUPT)
		hp_stage_peer_bad(ds->stage);
	if (code == HPDSL_ECORRUPT && f->sent &&
	    f->sent->all != HP_SENT_SEVERAL) {
		tried->suspect = f->sent->all;
		tried->suspect_at = f->at;
	}
	if (code != HP_OTHER_FORM) {
		tried->asked = HP_ASKED_ALL;
		return;
	}
	tried->asked |= f->ops->plain ? HP_ASKED_PLAIN : HP_ASKED_STORED;
	hp_stage_plain(ds->stage, c, !f->ops->plain);
}

void hp_chunk_file_right(const struct hpdsl_dataset *ds,
			 const struct hpdsl_chunk *c, struct hp_tried *tried)
{
	struct hp_source s;

	if (tried->suspect == HP_SENT_NOBODY)
		return;
	s = hp_source_of(ds->sources, tried->suspect_at, ds->io, c->number);
	if (s.ops->bad)
		s.ops->bad(&s, tried->suspect);
	tried->suspect = HP_SENT_NOBODY;
}

bool hp_chunk_file_failed(const struct hpdsl_dataset *ds,
			  const struct hpdsl_chunk *c,
			  const struct hp_source *f, int code,
			  struct hp_tried *tried)
{
	const struct hp_where_read was = { .staged = ds->stage, .at = f->at };

	if (hp_where_after(&was, f->ops->blame(code)) != HP_AFTER_OTHER)
		return false;
	if (!hp_source_is_peer(f->at))
		return hp_stage_failed(ds->stage, c);
	peer_failed(ds, c, f, code, tried);
	return true;
}

int hp_chunk_file_nowhere(const struct hpdsl_dataset *ds,
			  const struct hpdsl_chunk *c,
			  const struct hpdsl_error *here,
			  const struct hpdsl_error *origin,
			  struct hpdsl_error *err)
{
	if (ds->sources->of[HP_AT_ORIGIN]->blame(origin->code) & HP_BLAME_SELF)
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
static int get_staged(struct wanted *w, struct hp_source *ret,
		      struct hp_tried *tried, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r;

	for (;;) {
		w->look.asked = tried->asked;
		if (!hp_stage_where(w->ds->stage, w->chunk, &w->look, &w->at)) {
			w->at = HP_AT_HERE;
			*ret = source_of(w);
			return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
		}
		r = get(w, ret, &why);
		if (r == 0)
			return 0;
		if (!hp_chunk_file_failed(w->ds, w->chunk, ret, r, tried))
			return hp_fail(err, r, "%s", why.msg);
		tried->here = why;
	}
}

int hp_chunk_file_try(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, const bool *quit,
		      struct hp_source *ret, struct hp_tried *tried,
		      struct hpdsl_error *why)
{
	struct wanted w = { .ds = ds,
			    .chunk = c,
			    .look = { .quit = quit, .sources = ds->sources } };

	return ds->stage ? get_staged(&w, ret, tried, why) : get(&w, ret, why);
}

int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, const bool *quit,
		      struct hp_source *ret, struct hp_tried *tried,
		      struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_chunk_file_try(ds, c, quit, ret, tried, &why);

	if (r < 0 && ret->at == HP_AT_ORIGIN) {
		tried->origin = why;
		return hp_chunk_file_nowhere(ds, c, &tried->here, &why, err);
	}
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

bool hp_chunk_file_rest(const struct hpdsl_dataset *ds,
			const struct hpdsl_chunk *c, struct hp_source *ret)
{
	struct wanted w = { .ds = ds, .chunk = c, .any_size = true };

	return ds->stage && hp_stage_has_rest(ds->stage, c, &w.at) &&
	       get(&w, ret, NULL) == 0;
}

int hp_chunk_file_open(const struct hpdsl_dataset *ds,
		       const struct hpdsl_chunk *c, const struct hp_source *f,
		       int flags, struct hpdsl_error *err)
{
	struct wanted w = { .ds = ds, .chunk = c, .at = f->at, .flags = flags };
	int fd = f->ops->again(f, flags);

	return fd < 0 ? open_chunk(&w, err) : fd;
}

void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_source *f)
{
	if (f->fd.fd >= 0)
		hp_fd_cache_put(ds->files, &f->fd);
}
