/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a stage directory: whether it is here, for this pack; and how it
 * comes, in pieces.  Nothing is synced: after another boot it is read again
 * before it counts.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "format/names.h"
#include "index/index.h"
#include "sys/outfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 256 * 1024 };

/* ---- Files in the directory ------------------------------------------- */

int hp_stage_hash(struct hpdsl_stage *s, const char *name, struct hp_meter *m,
		  uint8_t ret[16])
{
	hp_auto_fd f = { s->io,
			 s->io->open(s->io, s->dir, name,
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) };
	hp_auto_free uint8_t *buf = malloc(PIECE);
	XXH3_state_t hash;
	struct stat st;
	uint64_t at = 0;
	ssize_t n = f.fd < 0 ? f.fd : hp_io_fstat(s->io, f.fd, &st);

	if (n == 0 && !S_ISREG(st.st_mode))
		n = -EINVAL;
	if (n == 0 && !buf)
		n = -ENOMEM;
	if (n < 0)
		return (int)n;
	XXH3_INITSTATE(&hash);
	XXH3_128bits_reset(&hash);
	while ((n = hp_io_pread_full(s->io, f.fd, buf, PIECE, at)) > 0) {
		XXH3_128bits_update(&hash, buf, (size_t)n);
		hp_stage_touch(s);
		at += (uint64_t)n;
		if (m)
			hp_meter_add(m, (uint64_t)n);
	}
	if (n == 0)
		hp_hash_canonical(XXH3_128bits_digest(&hash), ret);
	return (int)n;
}

int hp_stage_put(const struct hpdsl_stage *s, const char *name,
		 const void *bytes, size_t n, struct hpdsl_error *err)
{
	struct hp_outfile f;
	struct hpdsl_error why;
	int r = hp_outfile_open(&f, s->io, s->dir, name, n, false, &why);

	if (r == 0) {
		r = hp_outfile_pwrite(&f, bytes, n, 0, &why);
		if (r == 0)
			r = hp_outfile_close(&f, &why);
		if (r == 0)
			r = hp_outfile_commit(&f, &why);
		hp_outfile_abandon(&f);
	}
	return r < 0 ? hp_fail(err, r, "%s/%s", s->path, why.msg) : 0;
}

/* ---- Which pack ------------------------------------------------------- */

static int fail_other(const struct hpdsl_stage *s, const uint8_t here[16],
		      const char *from, const struct hpdsl_stage_pack *pack,
		      struct hpdsl_error *err)
{
	char a[33], b[33];

	hp_hex128(here, a);
	hp_hex128(pack->pack, b);
	return hp_fail(err, HPDSL_EDIFFERS,
		       "%s: another pack is here: %s%s%s; this one is %s of "
		       "%s; the other one has to make room",
		       s->path, a, *from ? " of " : "", from, b, pack->origin);
}

/* What the manifest here says; one that makes no sense says nothing. */
static int check_manifest(const struct hpdsl_stage *s,
			  const struct hpdsl_stage_pack *pack,
			  struct hpdsl_error *err)
{
	hp_auto_free char *text = NULL;
	struct hp_manifest m = { .memory = NULL };
	struct hpdsl_error why;
	size_t n;
	int r = hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			    &text, &n);

	if (r == -ENOENT || r == -EISDIR || r == -EINVAL || r == -EFBIG)
		return 0;
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path,
				     HP_MANIFEST_NAME);
	r = hp_manifest_parse(text, n, HP_MANIFEST_NAME, &m, &why);
	if (r < 0)
		return r == -ENOMEM ? hp_fail_nomem(err) : 0;
	if (memcmp(m.index.checksum, pack->pack, 16) != 0)
		r = fail_other(s, m.index.checksum, "", pack, err);
	hp_manifest_release(&m);
	return r;
}

int hp_stage_same_pack(struct hpdsl_stage *s,
		       const struct hpdsl_stage_pack *pack,
		       struct hpdsl_error *err)
{
	char from[HP_PRINTABLE];

	if (!s->has_old)
		return check_manifest(s, pack, err);
	if (memcmp(s->old.pack, pack->pack, 16) == 0)
		return 0;
	return fail_other(
		s, s->old.pack,
		hp_printable(s->old.origin, strlen(s->old.origin), from), pack,
		err);
}

/* ---- Is it here? ------------------------------------------------------ */

static int check_index(struct hpdsl_stage *s,
		       const struct hpdsl_stage_pack *pack,
		       struct hpdsl_error *err)
{
	uint8_t hash[16];
	struct stat st;
	int r = s->io->stat(s->io, s->dir, HP_INDEX_NAME, &st,
			    AT_SYMLINK_NOFOLLOW);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_INDEX_NAME);
	/* Whose it is may change it at any time: one of our own comes. */
	if (st.st_uid != geteuid())
		return 0;
	if ((uint64_t)st.st_size != pack->index_bytes)
		return 0;
	if (s->old_good)
		return 1;
	r = hp_stage_hash(s, HP_INDEX_NAME, NULL, hash);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_INDEX_NAME);
	return memcmp(hash, pack->pack, 16) == 0;
}

static void set_index(struct hpdsl_stage *s,
		      const struct hpdsl_stage_pack *pack)
{
	memcpy(s->pack, pack->pack, 16);
	s->has_index = true;
}

int hpdsl_stage_has_index(struct hpdsl_stage *s,
			  const struct hpdsl_stage_pack *pack,
			  struct hpdsl_error *err)
{
	int r = hp_stage_in_order(s, __func__, HP_STEP(HP_STEP_OPENED), err);

	if (r < 0)
		return r;
	r = hp_stage_same_pack(s, pack, err);
	s->has_index = false;
	if (r == 0)
		r = check_index(s, pack, err);
	if (r == 1)
		set_index(s, pack);
	return r;
}

/* ---- It comes --------------------------------------------------------- */

struct hp_index_put {
	XXH3_state_t hash; /* first: aligned */
	struct hp_outfile out;
	uint64_t at;
};

void hp_stage_abandon_put(struct hpdsl_stage *s)
{
	if (s->put)
		hp_outfile_abandon(&s->put->out);
	free(hp_take(s->put));
}

static int begin_put(struct hpdsl_stage *s, const struct hpdsl_stage_pack *pack,
		     struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_stage_same_pack(s, pack, err);

	if (r < 0)
		return r;
	s->has_index = false;
	s->put = hp_aligned(sizeof *s->put);
	if (!s->put)
		return hp_fail_nomem(err);
	XXH3_INITSTATE(&s->put->hash);
	XXH3_128bits_reset(&s->put->hash);
	r = hp_outfile_open(&s->put->out, s->io, s->dir, HP_INDEX_NAME,
			    pack->index_bytes, false, &why);
	return r < 0 ? hp_fail(err, r, "%s/%s", s->path, why.msg) : 0;
}

static int add_bytes(struct hpdsl_stage *s, const void *bytes, size_t n,
		     struct hpdsl_error *err)
{
	struct hp_index_put *p = s->put;
	struct hpdsl_error why;
	int r = hp_outfile_pwrite(&p->out, bytes, n, p->at, &why);

	if (r < 0)
		return hp_fail(err, r, "%s/%s", s->path, why.msg);
	XXH3_128bits_update(&p->hash, bytes, n);
	hp_stage_touch(s);
	p->at += n;
	return 0;
}

static int finish_put(struct hpdsl_stage *s,
		      const struct hpdsl_stage_pack *pack,
		      struct hpdsl_error *err)
{
	struct hp_index_put *p = s->put;
	struct hpdsl_error why;
	uint8_t hash[16];
	int r;

	hp_hash_canonical(XXH3_128bits_digest(&p->hash), hash);
	if (p->at != pack->index_bytes || memcmp(hash, pack->pack, 16) != 0)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s/%s: what came is not what the manifest "
			       "tells of (%" PRIu64 " of %" PRIu64 " bytes)",
			       s->path, HP_INDEX_NAME, p->at,
			       pack->index_bytes);
	r = hp_outfile_close(&p->out, &why);
	if (r == 0)
		r = hp_outfile_commit(&p->out, &why);
	if (r < 0)
		return hp_fail(err, r, "%s/%s", s->path, why.msg);
	set_index(s, pack);
	return 0;
}

int hpdsl_stage_put_index(struct hpdsl_stage *s,
			  const struct hpdsl_stage_pack *pack,
			  const void *bytes, size_t n, struct hpdsl_error *err)
{
	int r = hp_stage_in_order(
		s, __func__, HP_STEP(HP_STEP_OPENED) | HP_STEP(HP_STEP_INDEX),
		err);

	if (r < 0)
		return r;
	if (!s->put)
		r = begin_put(s, pack, err);
	if (r == 0)
		r = n ? add_bytes(s, bytes, n, err) : finish_put(s, pack, err);
	if (r < 0 || !n)
		hp_stage_abandon_put(s);
	return r;
}
