/* SPDX-License-Identifier: Apache-2.0 */
/* What a server knows of itself, and the keeper's file of it. */
#include "status.h"

#include "meet.h"
#include "mount.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool put_text(char ret[PATH_MAX], const char *s)
{
	const size_t n = strlen(s);

	if (n < PATH_MAX)
		memcpy(ret, s, n + 1);
	return n < PATH_MAX;
}

int mount_status_now(const struct mount_options *o,
		     const struct mount_slots *slots, struct mount_figures *ret)
{
	const struct mount_counts *c = &slots->counts;

	*ret = (struct mount_figures){
		.keeper = (uint32_t)slots->keeper,
		.worker = (uint32_t)atomic_load(&slots->worker),
		.since = slots->since,
		.view = o->view,
		.way = o->command     ? MOUNT_WAY_COMMAND :
		       geteuid() == 0 ? MOUNT_WAY_ROOT :
					MOUNT_WAY_FUSERMOUNT,
		.chosen = mount_chooses(o),
		.has_folder = o->folder != NULL,
		.n = { [MOUNT_N_REPLACED] = atomic_load(&c->replaced),
		       [MOUNT_N_REQUESTS] = atomic_load(&c->all),
		       [MOUNT_N_LOOKUPS] = atomic_load(&c->lookups),
		       [MOUNT_N_LISTINGS] = atomic_load(&c->lists),
		       [MOUNT_N_READS] = atomic_load(&c->reads),
		       [MOUNT_N_BYTES] = atomic_load(&c->bytes),
		       [MOUNT_N_INTERRUPTED] = atomic_load(&c->interrupted),
		       [MOUNT_N_FILLED] = atomic_load(&c->stored),
		       [MOUNT_N_FAILED] = atomic_load(&c->wrong) },
	};
	return put_text(ret->place, o->place) &&
			       put_text(ret->dataset,
					o->data ? o->data : o->dataset) &&
			       put_text(ret->folder,
					o->folder ? o->folder : "") ?
		       0 :
		       -ENAMETOOLONG;
}

/* ---- The keeper's file ------------------------------------------------ */

void mount_status_begin(struct mount_figures_file *f,
			const struct mount_options *o,
			const struct mount_slots *slots)
{
	struct mount_figures now;
	struct hpdsl_error err;
	char folder[32];
	int dir, r;

	f->fd = -1;
	mount_meet_folder(geteuid(), folder);
	dir = cmd_own_folder(folder, true, &err);
	if (dir < 0) {
		cmd_warning("%s: --status will not know this mount", err.msg);
		return;
	}
	r = mount_status_now(o, slots, &now);
	if (r == 0)
		r = mount_figures_make(f, dir, &now);
	close(dir);
	if (r < 0)
		cmd_warning("%s: %s: --status will not know this mount", folder,
			    strerror(-r));
}

void mount_status_look(struct mount_figures_file *f,
		       const struct mount_options *o,
		       const struct mount_slots *slots)
{
	struct mount_figures now;
	bool was_read;

	if (f->fd < 0)
		return;
	/* before the figures are looked at: it may be read again meanwhile */
	was_read = mount_figures_was_read(f);
	if (mount_status_now(o, slots, &now) == 0)
		mount_figures_renew(f, &now, was_read);
}

void mount_status_end(struct mount_figures_file *f)
{
	struct hpdsl_error err;
	char folder[32];
	int dir;

	if (f->fd < 0)
		return;
	mount_meet_folder(geteuid(), folder);
	dir = cmd_own_folder(folder, false, &err);
	mount_figures_remove(f, dir);
	if (dir >= 0)
		close(dir);
}
