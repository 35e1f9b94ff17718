/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file as readers see it.  What a look costs under the lock is next
 * to nothing, so that a file that was replaced can be unmapped at once.
 */
#include "stage_watch.h"

#include "error.h"
#include "owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Before a byte of it is looked at. */
static int check_owner(const struct hp_stage_watch *w,
		       const struct hp_view *view, struct hpdsl_error *err)
{
	if (w->foreign_owner)
		return 0;
	if (view->p && hp_is_foreign(view->owner))
		return hp_fail(err, -EPERM, "%s: " HP_FOREIGN, HP_STATE_NAME,
			       (unsigned)view->owner);
	return hp_owner_check(w->io, w->dir, HP_STATE_NAME ": its directory",
			      err);
}

static int load(const struct hp_stage_watch *w, struct hp_view *view,
		struct hp_state_header *header, struct hpdsl_error *err)
{
	int r = hp_view_open(view, w->io, w->dir, HP_STATE_NAME, err);

	if (r < 0)
		return r;
	r = check_owner(w, view, err);
	if (r == 0)
		r = hp_state_parse(view->p, view->size, HP_STATE_NAME, header,
				   err);
	if (r == 0 && header->chunks != w->chunks)
		r = hp_fail(err, HPDSL_ECORRUPT,
			    "%s: is about %" PRIu64 " chunks, the dataset has "
			    "%" PRIu64,
			    HP_STATE_NAME, header->chunks, w->chunks);
	if (r < 0)
		hp_view_close(view);
	return r;
}

static bool has_lock(const struct hp_stage_watch *w)
{
	struct stat st;

	return w->io->stat(w->io, w->dir, HP_STAGE_LOCK, &st,
			   AT_SYMLINK_NOFOLLOW) == 0;
}

int hp_stage_watch_open(struct hp_stage_watch *w, const struct hp_io *io,
			int dir, uint64_t chunks, struct hpdsl_error *err)
{
	int r;

	w->io = io;
	w->dir = dir;
	w->chunks = chunks;
	w->looked = hp_monotonic();
	r = load(w, &w->view, &w->header, err);
	if (r == -ENOENT && has_lock(w))
		r = check_owner(w, &w->view, err);
	if (r < 0)
		return r;
	/* Where the system does not tell, it is zeros, and nothing counts. */
	(void)hp_boot_id(io, w->boot_id);
	if (pthread_mutex_init(&w->lock, NULL)) {
		hp_view_close(&w->view);
		return hp_fail_nomem(err);
	}
	return 0;
}

void hp_stage_watch_close(struct hp_stage_watch *w)
{
	hp_view_close(&w->view);
	pthread_mutex_destroy(&w->lock);
}

void hp_stage_watch_see(struct hp_stage_watch *w, uint64_t chunk,
			struct hp_stage_seen *ret)
{
	*ret = (struct hp_stage_seen){ 0 };
	pthread_mutex_lock(&w->lock);
	ret->born = w->view.p;
	if (!ret->born) {
		pthread_mutex_unlock(&w->lock);
		return;
	}
	ret->state = hp_state_get(w->view.p, chunk);
	ret->counts = hp_state_same_boot(&w->header, w->boot_id);
	ret->alive = ret->state == HP_CHUNK_COMING &&
		     hp_state_alive(w->view.p, &w->header, w->boot_id,
				    hp_monotonic());
	pthread_mutex_unlock(&w->lock);
}

/*
 * Whose turn it is to look.  A copy of a file that cannot be mapped is old as
 * soon as it is made.
 */
static bool is_due(struct hp_stage_watch *w, uint64_t age)
{
	uint64_t now = hp_monotonic();
	bool due;

	pthread_mutex_lock(&w->lock);
	due = now - w->looked >= age || !w->view.mapped;
	if (due)
		w->looked = now;
	pthread_mutex_unlock(&w->lock);
	return due;
}

bool hp_stage_watch_renew(struct hp_stage_watch *w, uint64_t age)
{
	struct hp_view view = { 0 }, old;
	struct hp_state_header header;

	if (!is_due(w, age) || load(w, &view, &header, NULL) < 0)
		return false;
	pthread_mutex_lock(&w->lock);
	old = w->view;
	/* Threads that look at the same time may come here in any order, and
	 * so an older one last: until the next look. */
	if (!w->view.p ||
	    memcmp(header.pack, w->header.pack, sizeof header.pack) == 0) {
		w->view = view;
		w->header = header;
	} else {
		old = view;
	}
	pthread_mutex_unlock(&w->lock);
	hp_view_close(&old);
	return true;
}

char *hp_stage_watch_origin(struct hp_stage_watch *w, const char *name)
{
	char *path;
	int n;

	pthread_mutex_lock(&w->lock);
	/* Adopted tars may be anywhere. */
	n = asprintf(&path, "%s%s%s", name[0] == '/' ? "" : w->header.origin,
		     name[0] == '/' ? "" : "/", name);
	pthread_mutex_unlock(&w->lock);
	return n < 0 ? NULL : path;
}
