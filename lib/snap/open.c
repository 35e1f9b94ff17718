/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot opened from its file: mapped, so that all processes of a node
 * share it, or read into memory that nobody can take away.
 */
#include "snap/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/io.h"

int hpdsl_snapshot_open(const char *path, unsigned flags,
			const struct hp_io *io, struct hpdsl_snapshot **ret,
			struct hpdsl_error *err)
{
	struct hp_view view;
	int r;

	if (flags & ~(unsigned)HPDSL_SNAPSHOT_COPY)
		return hp_fail(err, HPDSL_EUSAGE, "%s: unknown flags %#x", path,
			       flags);
	io = hp_io_or_system(io);
	r = flags & HPDSL_SNAPSHOT_COPY ?
		    hp_view_read(&view, io, AT_FDCWD, path, err) :
		    hp_view_open(&view, io, AT_FDCWD, path, err);
	if (r < 0)
		return r;
	r = hp_snap_open(view.p, view.size, path, ret, err);
	if (r < 0)
		hp_view_close(&view);
	else
		(*ret)->view = view;
	return r;
}

void hpdsl_snapshot_close(struct hpdsl_snapshot *s)
{
	if (!s)
		return;
	hp_sections_release(&s->file);
	hp_view_close(&s->view);
	free(s);
}

bool hpdsl_snapshot_maps(const struct hpdsl_snapshot *s, const void *addr)
{
	return hp_view_maps(&s->view, addr);
}
