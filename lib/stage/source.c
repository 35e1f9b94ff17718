/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin as a stager sees it: its manifest in memory, its index in pieces,
 * which are read, never mapped, and must be what the manifest says.
 */
#include "format/stage_state.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "format/names.h"
#include "hpdsl/stage.h"
#include "index/index.h"
#include "sys/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct hpdsl_stage_source {
	XXH3_state_t hash; /* of the index, as far as it was read; aligned */
	const struct hp_io *io;
	char *path; /* as given */
	char *origin;
	int dir, index;
	char *manifest;
	uint64_t at; /* in the index */
	struct hpdsl_stage_pack pack;
};

/* ---- The manifest ----------------------------------------------------- */

int hpdsl_stage_pack_parse(const char *origin, const char *manifest,
			   size_t bytes, struct hpdsl_stage_pack *ret,
			   struct hpdsl_error *err)
{
	struct hpdsl_stage_pack p = { .origin = origin,
				      .manifest = manifest,
				      .manifest_bytes = bytes };
	hp_auto_free char *name = NULL;
	struct hp_manifest m = { .memory = NULL };
	int r;

	if (asprintf(&name, "%s/%s", origin, HP_MANIFEST_NAME) < 0) {
		name = NULL;
		return hp_fail_nomem(err);
	}
	r = hp_manifest_parse(manifest, bytes, name, &m, err);
	if (r < 0)
		return r;
	memcpy(p.pack, m.index.checksum, 16);
	p.index_bytes = m.index.bytes;
	p.chunks = m.n_chunks;
	for (size_t i = 0; i < m.n_chunks && r == 0; i++)
		if (__builtin_add_overflow(p.bytes, m.chunks[i].bytes,
					   &p.bytes))
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "%s: its chunks are too large", name);
	hp_manifest_release(&m);
	if (r == 0)
		*ret = p;
	return r;
}

static bool has(const struct hpdsl_stage_source *s, const char *name)
{
	struct stat st;

	return s->io->stat(s->io, s->dir, name, &st, 0) == 0;
}

static int read_manifest(struct hpdsl_stage_source *s, struct hpdsl_error *err)
{
	size_t n;
	int r;

	/* It may hold a part, and in another form than the manifest tells. */
	if (has(s, HP_STATE_NAME))
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: is a stage directory; stage from the "
			       "dataset that it was staged from",
			       s->path);
	r = hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			&s->manifest, &n);
	if (r == -ENOENT)
		return hp_manifest_missing(s->io, s->dir, s->path, err);
	if (r < 0)
		return hp_io_slurp_fail(err, r, "%s/%s", s->path,
					HP_MANIFEST_NAME);
	return hpdsl_stage_pack_parse(s->origin, s->manifest, n, &s->pack, err);
}

/* ---- Where it is ------------------------------------------------------ */

/* Where the open directory is, links followed; "" if nobody says. */
static void real_path(const struct hpdsl_stage_source *s,
		      char buf[HP_STATE_ORIGIN])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", s->dir);
	n = s->io->readlink(s->io, AT_FDCWD, link, buf, HP_STATE_ORIGIN - 1);
	buf[n > 0 ? n : 0] = '\0';
}

static int find_origin(struct hpdsl_stage_source *s, struct hpdsl_error *err)
{
	char buf[HP_STATE_ORIGIN];
	hp_auto_free char *here = NULL;

	real_path(s, buf);
	if (buf[0] == '/') {
		s->origin = strdup(buf);
	} else if (s->path[0] == '/') {
		s->origin = strdup(s->path);
	} else {
		here = getcwd(NULL, 0);
		if (!here)
			return hp_fail_errno(err, -errno,
					     "the working directory");
		if (asprintf(&s->origin, "%s/%s", here, s->path) < 0)
			s->origin = NULL;
	}
	if (!s->origin)
		return hp_fail_nomem(err);
	return strlen(s->origin) < HP_STATE_ORIGIN ?
		       0 :
		       hp_fail_errno(err, -ENAMETOOLONG, "%s", s->path);
}

static int fill(struct hpdsl_stage_source *s, const char *path,
		struct hpdsl_error *err)
{
	size_t len = strlen(path);
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	s->path = strndup(path, len);
	if (!s->path)
		return hp_fail_nomem(err);
	s->dir = s->io->open(s->io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (s->dir < 0)
		return hp_fail_errno(err, s->dir, "%s", path);
	r = find_origin(s, err);
	return r < 0 ? r : read_manifest(s, err);
}

int hpdsl_stage_source_open(const char *path, const struct hp_io *io,
			    struct hpdsl_stage_source **ret,
			    struct hpdsl_error *err)
{
	struct hpdsl_stage_source *s = hp_aligned(sizeof *s);
	int r;

	if (!s)
		return hp_fail_nomem(err);
	s->io = hp_io_or_system(io);
	s->dir = s->index = -1;
	XXH3_INITSTATE(&s->hash);
	XXH3_128bits_reset(&s->hash);
	r = fill(s, path, err);
	if (r < 0) {
		hpdsl_stage_source_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void hpdsl_stage_source_close(struct hpdsl_stage_source *s)
{
	if (!s)
		return;
	if (s->index >= 0)
		s->io->close(s->io, s->index);
	if (s->dir >= 0)
		s->io->close(s->io, s->dir);
	free(s->manifest);
	free(s->origin);
	free(s->path);
	free(s);
}

void hpdsl_stage_source_pack(const struct hpdsl_stage_source *s,
			     struct hpdsl_stage_pack *ret)
{
	*ret = s->pack;
}

/* ---- The index -------------------------------------------------------- */

static int open_index(struct hpdsl_stage_source *s, struct hpdsl_error *err)
{
	struct stat st;
	int r = s->io->open(s->io, s->dir, HP_INDEX_NAME, O_RDONLY | O_NONBLOCK,
			    0);

	if (r >= 0) {
		s->index = r;
		r = hp_io_fstat(s->io, r, &st);
	}
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_INDEX_NAME);
	return S_ISREG(st.st_mode) ?
		       0 :
		       hp_fail(err, HPDSL_ECORRUPT, "%s/%s: not a regular file",
			       s->path, HP_INDEX_NAME);
}

/* The index is not what the manifest says: does the manifest say it still? */
static int fail_index(const struct hpdsl_stage_source *s,
		      struct hpdsl_error *err)
{
	hp_auto_free char *now = NULL;
	size_t n;
	int r = hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			    &now, &n);

	if (r == -ENOENT || (r == 0 && (n != s->pack.manifest_bytes ||
					memcmp(now, s->manifest, n) != 0)))
		return hp_fail(err, HPDSL_ECHANGED,
			       "%s: the dataset was replaced while it was "
			       "staged",
			       s->path);
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s/%s: damaged: not what the manifest says", s->path,
		       HP_INDEX_NAME);
}

static bool index_is_right(struct hpdsl_stage_source *s)
{
	struct stat st;
	uint8_t hash[16];

	hp_hash_canonical(XXH3_128bits_digest(&s->hash), hash);
	return memcmp(hash, s->pack.pack, 16) == 0 &&
	       hp_io_fstat(s->io, s->index, &st) == 0 &&
	       (uint64_t)st.st_size == s->pack.index_bytes;
}

ssize_t hpdsl_stage_source_index(struct hpdsl_stage_source *s, void *buf,
				 size_t n, struct hpdsl_error *err)
{
	uint64_t left = s->pack.index_bytes - s->at;
	ssize_t got;

	if (s->index < 0) {
		int r = open_index(s, err);

		if (r < 0)
			return r;
	}
	if (n > left)
		n = (size_t)left;
	got = hp_io_pread_full(s->io, s->index, buf, n, s->at);
	if (got < 0)
		return hp_fail_errno(err, (int)got, "%s/%s", s->path,
				     HP_INDEX_NAME);
	XXH3_128bits_update(&s->hash, buf, (size_t)got);
	s->at += (uint64_t)got;
	if ((size_t)got < n)
		return fail_index(s, err);
	/* Before the last piece is handed out, not behind it. */
	if (s->at == s->pack.index_bytes && !index_is_right(s))
		return fail_index(s, err);
	return got;
}
