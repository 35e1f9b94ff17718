/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dataset opened through its index alone.  The index is mapped, so that all
 * processes of a node share it; it is read where it cannot be mapped, or where
 * that is wanted.
 */
#include "dataset/dataset.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "format/names.h"
#include "index/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char first_line[] = "format: hpdsl-dataset\n";

/* Is an index of ours there?  Without its manifest. */
static bool is_bare(const struct hp_io *io, int dir)
{
	hp_auto_fd f = { io, io->open(io, dir, HP_INDEX_NAME,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) };
	char magic[sizeof HP_INDEX_MAGIC - 1];
	struct stat st;

	return f.fd >= 0 && hp_io_fstat(io, f.fd, &st) == 0 &&
	       S_ISREG(st.st_mode) &&
	       hp_io_pread_full(io, f.fd, magic, sizeof magic, 0) ==
		       (ssize_t)sizeof magic &&
	       !memcmp(magic, HP_INDEX_MAGIC, sizeof magic);
}

int hp_dataset_is_one(const struct hp_io *io, int dir)
{
	char line[sizeof first_line - 1];
	hp_auto_fd f = { io, io->open(io, dir, HP_MANIFEST_NAME,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) };
	struct stat st;
	ssize_t n;
	int r;

	if (f.fd == -ENOENT && is_bare(io, dir))
		return HPDSL_ENOTOURS;
	if (f.fd < 0)
		return f.fd == -ENOENT || f.fd == -ELOOP || f.fd == -ENXIO ?
			       0 :
			       f.fd;
	r = hp_io_fstat(io, f.fd, &st);
	if (r < 0 || !S_ISREG(st.st_mode))
		return r;
	n = hp_io_pread_full(io, f.fd, line, sizeof line, 0);
	if (n < 0)
		return (int)n;
	return n == sizeof line && memcmp(line, first_line, sizeof line) == 0;
}

static bool exists(const struct hpdsl_dataset *ds, const char *name)
{
	struct stat st;

	return ds->io->stat(ds->io, ds->dir, name, &st, 0) == 0;
}

/* What can be done about it depends on what is there. */
static int no_index(const struct hpdsl_dataset *ds, struct hpdsl_error *err)
{
	if (exists(ds, HP_JOURNAL_NAME) || !exists(ds, HP_MANIFEST_NAME))
		return hp_manifest_missing(ds->io, ds->dir, ds->path, err);
	return hp_fail(err, HPDSL_ENOTOURS,
		       "%s: not a dataset: " HP_INDEX_NAME " is missing",
		       ds->path);
}

static int open_index(struct hpdsl_dataset *ds, struct hpdsl_error *err)
{
	hp_auto_free char *name = NULL;
	struct hpdsl_error why;
	int r;

	if (asprintf(&name, "%s/%s", ds->path, HP_INDEX_NAME) < 0) {
		name = NULL;
		return hp_fail_nomem(err);
	}
	if (ds->flags & HPDSL_OPEN_COPY)
		r = hp_view_read(&ds->view, ds->io, ds->dir, HP_INDEX_NAME,
				 &why);
	else
		r = hp_view_hold(&ds->view, ds->io, ds->dir, HP_INDEX_NAME,
				 &why);
	if (r == -ENOENT)
		return no_index(ds, err);
	if (r < 0)
		return hp_fail(err, r, "%s/%s", ds->path, why.msg);
	return hp_index_open_view(&ds->view, name, &ds->index, err);
}

static int open_stage(struct hpdsl_dataset *ds, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct hpdsl_counts n;
	int r;

	hp_index_count(ds->index, &n);
	r = hp_stage_read_new(ds, n.chunks, &ds->stage, &why);
	if (ds->stage)
		ds->sources = &ds->stage->sources;
	return r < 0 ? hp_fail(err, r, "%s/%s", ds->path, why.msg) : 0;
}

static int fill(struct hpdsl_dataset *ds, const char *path,
		struct hpdsl_error *err)
{
	size_t len = strlen(path);

	/* "out/" and "out" make the same messages. */
	while (len > 1 && path[len - 1] == '/')
		len--;
	ds->path = strndup(path, len);
	ds->files = hp_fd_cache_new(ds->io, HP_CHUNK_FILES);
	ds->frames = hp_frame_cache_new();
	if (!ds->path || !ds->files || !ds->frames)
		return hp_fail_nomem(err);
	ds->dir =
		ds->io->open(ds->io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (ds->dir == -ENOTDIR)
		return hp_fail(err, -ENOTDIR,
			       "%s: Not a directory; a dataset is one", path);
	if (ds->dir < 0)
		return hp_fail_errno(err, ds->dir, "%s", path);
	return open_index(ds, err);
}

int hp_dataset_open(const char *path, unsigned flags, const struct hp_io *io,
		    struct hpdsl_dataset **ret, struct hpdsl_error *err)
{
	struct hpdsl_dataset *ds = calloc(1, sizeof *ds);
	int r;

	if (!ds)
		return hp_fail_nomem(err);
	ds->io = hp_io_or_system(io);
	ds->flags = flags;
	ds->dir = -1;
	ds->sources = &hp_sources_files;
	r = fill(ds, path, err);
	if (r == 0 && !(flags & HP_OPEN_PLAIN))
		r = open_stage(ds, err);
	/* Of a stage directory its stager has made sure, and may yet bring it.
	 */
	if (r == 0 && !(flags & HP_OPEN_PLAIN) && !ds->stage)
		r = hp_manifest_look(ds->io, ds->dir, ds->path, err);
	if (r < 0) {
		hpdsl_close(ds);
		return r;
	}
	*ret = ds;
	return 0;
}

int hpdsl_open(const char *path, const struct hp_io *io,
	       struct hpdsl_dataset **ret, struct hpdsl_error *err)
{
	return hp_dataset_open(path, 0, io, ret, err);
}

int hpdsl_open_with(const char *path, unsigned flags, const struct hp_io *io,
		    struct hpdsl_dataset **ret, struct hpdsl_error *err)
{
	if (flags & ~(unsigned)HP_OPEN_FLAGS)
		return hp_fail(err, HPDSL_EUSAGE, "%s: flags %#x", path, flags);
	return hp_dataset_open(path, flags, io, ret, err);
}

void hpdsl_close(struct hpdsl_dataset *ds)
{
	if (!ds)
		return;
	hp_stage_read_free(ds->stage);
	hp_fd_cache_free(ds->files);
	hp_frame_cache_free(ds->frames);
	hp_index_free(ds->index);
	hp_view_close(&ds->view);
	if (ds->dir >= 0)
		ds->io->close(ds->io, ds->dir);
	free(ds->path);
	free(ds);
}

void hpdsl_pack_id(const struct hpdsl_dataset *ds, uint8_t ret[16])
{
	/* What is found out changes nothing that anybody sees. */
	struct hpdsl_dataset *d = (struct hpdsl_dataset *)ds;
	unsigned unknown = HP_PACK_UNKNOWN;

	if (__atomic_load_n(&d->pack_is, __ATOMIC_ACQUIRE) == HP_PACK_KNOWN) {
		memcpy(ret, d->pack, sizeof d->pack);
		return;
	}
	hp_index_pack_id(ds->index, ret);
	if (!__atomic_compare_exchange_n(&d->pack_is, &unknown,
					 HP_PACK_BEING_KEPT, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	memcpy(d->pack, ret, sizeof d->pack);
	__atomic_store_n(&d->pack_is, HP_PACK_KNOWN, __ATOMIC_RELEASE);
}

void hpdsl_index_digest(const struct hpdsl_dataset *ds, uint8_t ret[16])
{
	hp_index_digest(ds->index, ret);
}

size_t hpdsl_dataset_key_length(const struct hpdsl_dataset *ds,
				const char *path, size_t path_len)
{
	return hp_index_key_length(ds->index, path, path_len);
}

int hp_dataset_blame(const struct hpdsl_dataset *ds, int code,
		     struct hpdsl_error *err)
{
	struct hpdsl_error why = { 0 };

	if (code != HPDSL_ECORRUPT ||
	    !hp_index_replaced(ds->index, ds->io, ds->dir))
		return code;
	if (err)
		why = *err;
	return hp_fail(err, HPDSL_ECHANGED,
		       "%.640s (%.320s/%s is of another pack by now)", why.msg,
		       ds->path, HP_INDEX_NAME);
}

void hpdsl_count(const struct hpdsl_dataset *ds, struct hpdsl_counts *ret)
{
	hp_index_count(ds->index, ret);
}

int hpdsl_sample_get(const struct hpdsl_dataset *ds, uint64_t number,
		     struct hpdsl_sample *ret, struct hpdsl_error *err)
{
	return hp_index_sample(ds->index, number, ret, err);
}

int hpdsl_sample_labels(const struct hpdsl_dataset *ds, uint64_t first,
			uint64_t n, uint32_t *ret, struct hpdsl_error *err)
{
	return hp_index_labels(ds->index, first, n, ret, err);
}

int hpdsl_member_get(const struct hpdsl_dataset *ds, uint64_t number,
		     struct hpdsl_member *ret, struct hpdsl_error *err)
{
	return hp_index_member(ds->index, number, ret, err);
}

int hpdsl_member_find(const struct hpdsl_dataset *ds, const char *path,
		      size_t path_len, struct hpdsl_member *ret,
		      struct hpdsl_error *err)
{
	uint64_t number;
	int r = hp_index_find(ds->index, path, path_len, &number, err);

	if (r == -ENOENT)
		hp_index_tell_near(ds->index, path, path_len, err);
	return r < 0 ? r : hp_index_member(ds->index, number, ret, err);
}

int hpdsl_member_next(const struct hpdsl_dataset *ds, const char *path,
		      size_t path_len, uint64_t after, struct hpdsl_member *ret,
		      struct hpdsl_error *err)
{
	uint64_t number;
	int r = hp_index_next(ds->index, path, path_len, after, &number, err);

	return r < 0 ? r : hp_index_member(ds->index, number, ret, err);
}

int hpdsl_chunk_get(const struct hpdsl_dataset *ds, uint32_t number,
		    struct hpdsl_chunk *ret, struct hpdsl_error *err)
{
	return hp_index_chunk(ds->index, number, ret, err);
}

int hpdsl_class_name(const struct hpdsl_dataset *ds, uint32_t label,
		     const char **ret, struct hpdsl_error *err)
{
	return hp_index_class(ds->index, label, ret, err);
}

HP_COLD static int no_class(const char *name, struct hp_near *near,
			    struct hpdsl_error *err)
{
	char shown[HP_PRINTABLE], text[HP_NEAR_TEXT];
	const char *list = near->n ? hp_near_list(near, text) : "none";

	return hp_fail(err, -ENOENT, "no class '%s'; there are %s",
		       hp_printable(name, strlen(name), shown), list);
}

int hpdsl_class_find(const struct hpdsl_dataset *ds, const char *name,
		     uint32_t *ret, struct hpdsl_error *err)
{
	struct hp_near near;
	struct hpdsl_counts n;

	hp_near_begin(&near, name, strlen(name));
	hp_index_count(ds->index, &n);
	for (uint32_t i = 0; i < n.classes; i++) {
		const char *have;
		int r = hp_index_class(ds->index, i, &have, err);

		if (r < 0)
			return r;
		if (strcmp(have, name) == 0) {
			*ret = i;
			return 0;
		}
		if (err)
			hp_near_add(&near, have, strlen(have));
	}
	return no_class(name, &near, err);
}

int hpdsl_member_stored(const struct hpdsl_dataset *ds,
			const struct hpdsl_member *m, const char **ret,
			size_t *ret_len, struct hpdsl_error *err)
{
	const char *name;
	size_t len;
	int r = hp_index_stored(ds->index, m->number, &name, &len, err);

	if (r < 0)
		return r;
	*ret = name ? name : m->path;
	*ret_len = name ? len : m->path_len;
	return 0;
}

int hpdsl_member_sha256(const struct hpdsl_dataset *ds, uint64_t number,
			uint8_t ret[32], struct hpdsl_error *err)
{
	return hp_index_member_sha256(ds->index, number, ret, err);
}

int hpdsl_chunk_sha256(const struct hpdsl_dataset *ds, uint32_t number,
		       uint8_t ret[32], struct hpdsl_error *err)
{
	return hp_index_chunk_sha256(ds->index, number, ret, err);
}
