/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the origin does not give: is it one chunk, which alone is given up, or
 * is it the origin?  Then the node ends: the dataset was replaced or removed,
 * its manifest cannot be read either, or chunk after chunk cannot.
 */
#include "stager/stager.h"

#include "base/mem.h"
#include "format/manifest.h"

#include <errno.h>
#include <string.h>

/* Chunks that cannot be read, with nothing read between, before it ends.
 * hpdsl-stage(1) tells it. */
enum { IN_A_ROW = 8 };

int hp_stager_origin_dir(struct hpdsl_stager *s)
{
	int fd, is;

	pthread_mutex_lock(&s->shared.lock);
	is = s->shared.origin_dir;
	pthread_mutex_unlock(&s->shared.lock);
	if (is >= 0)
		return is;
	fd = s->io->open(s->io, AT_FDCWD, s->origin, O_RDONLY | O_DIRECTORY, 0);
	pthread_mutex_lock(&s->shared.lock);
	is = s->shared.origin_dir;
	if (is < 0)
		s->shared.origin_dir = fd;
	pthread_mutex_unlock(&s->shared.lock);
	if (is >= 0 && fd >= 0)
		s->io->close(s->io, fd);
	return is >= 0 ? is : fd;
}

/* ---- The origin ------------------------------------------------------- */

/*
 * Is its manifest the one that was staged?  0, HPDSL_ECHANGED, or why that is
 * not known.
 */
static int look_at_manifest(struct hpdsl_stager *s)
{
	int dir = hp_stager_origin_dir(s);
	hp_auto_free char *now = NULL, *was = NULL;
	size_t n_now = 0, n_was = 0;
	int r = dir;

	if (dir >= 0)
		r = hp_io_slurp(s->io, dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
				&now, &n_now);
	if (r < 0)
		return r == -ENOENT || r == -EFBIG ? HPDSL_ECHANGED : r;
	/* The stage directory's own is of the pack that is staged. */
	r = hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &was,
			&n_was);
	if (r < 0)
		return r;
	return n_now != n_was || memcmp(now, was, n_now) != 0 ? HPDSL_ECHANGED :
								0;
}

static int ask_manifest(struct hp_stager_thread *t)
{
	double since;
	int r = -ECANCELED;

	if (hp_operation_begin(t, "reading", HP_MANIFEST_NAME, &since))
		r = look_at_manifest(t->s);
	hp_operation_end(t, since);
	return r;
}

static int fail_replaced(const struct hpdsl_stager *s, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECHANGED,
		       "%s: the dataset was replaced while it was staged",
		       s->origin);
}

/* ---- A chunk ---------------------------------------------------------- */

static int fail_chunk(const struct hpdsl_stager *s,
		      const struct hp_stager_chunk *c, const char *why,
		      struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s/%s: %s", s->origin, c->row.name,
		       why);
}

int hp_stager_blame(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err)
{
	int r = ask_manifest(t);

	if (r == HPDSL_ECHANGED)
		return fail_replaced(t->s, err);
	if (r == -ECANCELED)
		return r;
	return fail_chunk(t->s, j->chunk, "is damaged: its checksum differs",
			  err);
}

/* Not the origin's: there is no other node to ask for what this one lacks. */
static bool is_own_trouble(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE;
}

void hp_stager_readable(struct hpdsl_stager *s)
{
	pthread_mutex_lock(&s->shared.lock);
	s->shared.unreadable = 0;
	pthread_mutex_unlock(&s->shared.lock);
}

static bool is_one_too_many(struct hpdsl_stager *s)
{
	bool yes;

	pthread_mutex_lock(&s->shared.lock);
	yes = ++s->shared.unreadable >= IN_A_ROW;
	pthread_mutex_unlock(&s->shared.lock);
	return yes;
}

int hp_stager_unreadable(struct hp_stager_thread *t,
			 const struct hp_stager_chunk *c,
			 const struct hpdsl_error *why, struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	int r = is_own_trouble(why->code) ? why->code : ask_manifest(t);

	if (r == -ECANCELED)
		return r;
	if (r == HPDSL_ECHANGED)
		return fail_replaced(s, err);
	if (is_own_trouble(r))
		return hp_fail_errno(err, r, "%s/%s", s->origin, c->row.name);
	if (r < 0)
		return hp_fail_errno(err, r, "%s: cannot be read", s->origin);
	if (is_one_too_many(s))
		return hp_fail(err,
			       why->code == HPDSL_ECORRUPT ? -EIO : why->code,
			       "%.480s: %d chunks in a row cannot be had, the "
			       "last one is %.200s: %.200s",
			       s->origin, IN_A_ROW, c->row.name, why->msg);
	return fail_chunk(s, c, why->msg, err);
}
