/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot opened from its file: mapped, so that all processes of a node
 * share it, or read into memory that nobody can take away.
 */
#include "snap/snap.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/io.h"

static int open_view(struct hpdsl_snapshot *s, const char *path, unsigned flags,
		     struct hpdsl_error *err)
{
	int r;

	if (flags & HPDSL_SNAPSHOT_COPY)
		r = hp_view_read(&s->view, s->io, AT_FDCWD, path, err);
	else
		r = hp_view_open(&s->view, s->io, AT_FDCWD, path, err);
	return r;
}

int hpdsl_snapshot_open(const char *path, unsigned flags,
			const struct hp_io *io, struct hpdsl_snapshot **ret,
			struct hpdsl_error *err)
{
	struct hpdsl_snapshot *s;
	int r;

	if (flags & ~(unsigned)HPDSL_SNAPSHOT_COPY)
		return hp_fail(err, HPDSL_EUSAGE, "%s: unknown flags %#x", path,
			       flags);
	s = calloc(1, sizeof *s);
	if (!s)
		return hp_fail_nomem(err);
	s->io = hp_io_or_system(io);
	r = open_view(s, path, flags, err);
	if (r == 0)
		r = hp_snap_open(s->view.p, s->view.size, path, &s->snap, err);
	if (r < 0) {
		hpdsl_snapshot_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void hpdsl_snapshot_close(struct hpdsl_snapshot *s)
{
	if (!s)
		return;
	hp_snap_free(s->snap);
	hp_view_close(&s->view);
	free(s);
}

bool hpdsl_snapshot_maps(const struct hpdsl_snapshot *s, const void *addr)
{
	return hp_view_maps(&s->view, addr);
}

/* ---- The same as in snap.h -------------------------------------------- */

void hpdsl_snapshot_info(const struct hpdsl_snapshot *s,
			 struct hpdsl_snapshot_info *ret)
{
	hp_snap_info(s->snap, ret);
}

int hpdsl_snapshot_stat(const struct hpdsl_snapshot *s, uint64_t number,
			struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	return hp_snap_stat(s->snap, number, ret, err);
}

int hpdsl_snapshot_lookup(const struct hpdsl_snapshot *s, const char *path,
			  size_t path_len, struct hpdsl_entry *ret,
			  struct hpdsl_error *err)
{
	return hp_snap_lookup(s->snap, path, path_len, ret, err);
}

int64_t hpdsl_snapshot_lookup_many(const struct hpdsl_snapshot *s,
				   const struct hpdsl_path *paths, size_t n,
				   struct hpdsl_entry *ret, int *codes,
				   struct hpdsl_error *err)
{
	return hp_snap_lookup_many(s->snap, paths, n, ret, codes, err);
}

int64_t hpdsl_snapshot_readdir(const struct hpdsl_snapshot *s, uint64_t folder,
			       uint64_t *cursor, struct hpdsl_entry *ret,
			       size_t room, struct hpdsl_error *err)
{
	return hp_snap_readdir(s->snap, folder, cursor, ret, room, err);
}

int hpdsl_snapshot_folder(const struct hpdsl_snapshot *s, uint64_t folder,
			  uint64_t *ret_first, uint64_t *ret_n,
			  uint64_t *ret_end, struct hpdsl_error *err)
{
	return hp_snap_folder(s->snap, folder, ret_first, ret_n, ret_end, err);
}

int hpdsl_snapshot_path(const struct hpdsl_snapshot *s, uint64_t number,
			char *buf, size_t *ret_len, struct hpdsl_error *err)
{
	return hp_snap_path(s->snap, number, buf, ret_len, err);
}

int hpdsl_snapshot_target(const struct hpdsl_snapshot *s,
			  const struct hpdsl_entry *e, const char **ret,
			  struct hpdsl_error *err)
{
	return hp_snap_target(s->snap, e, ret, err);
}

int hpdsl_snapshot_checksum(const struct hpdsl_snapshot *s,
			    const struct hpdsl_entry *e, uint64_t *ret,
			    struct hpdsl_error *err)
{
	return hp_snap_checksum(s->snap, e, ret, err);
}

int hpdsl_snapshot_verify(const struct hpdsl_snapshot *s,
			  void (*told)(void *arg, const char *reason),
			  void *arg, struct hpdsl_error *err)
{
	return hp_snap_verify(s->snap, told, arg, err);
}
