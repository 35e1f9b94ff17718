/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of side files, written to the directory: each one that the plan has
 * for this node and that is not here, under a temporary name until all of it is
 * here and its checksum agrees.
 */
#include "stage/sides_stream.h"

#include "base/error.h"
#include "base/mem.h"
#include "spread/fit.h"
#include "spread/plan.h"

#include <errno.h>
#include <string.h>

/* ---- The stream ------------------------------------------------------- */

static int check_of(const struct hpdsl_stage *s,
		    const struct hpdsl_stage_sides_of *of,
		    struct hpdsl_error *err)
{
	int r = hp_stage_in_order(s, "hpdsl_stage_sides_new",
				  HP_STEP(HP_STEP_BEGUN), err);

	if (r < 0)
		return r;
	if (of->plan->chunks != s->chunks || of->plan->nodes != s->nodes)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: the plan is not for this directory",
			       s->path);
	for (uint32_t i = 0; i < of->sides; i++)
		if (of->side[i] >= s->sides.n)
			return hp_fail(err, HPDSL_EUSAGE,
				       "%s: no such side file", s->path);
	return 0;
}

int hpdsl_stage_sides_new(struct hpdsl_stage *s,
			  const struct hpdsl_stage_sides_of *of,
			  struct hpdsl_stage_sides **ret,
			  struct hpdsl_error *err)
{
	struct hpdsl_stage_sides *t;
	int r = check_of(s, of, err);

	if (r < 0)
		return r;
	t = hp_aligned(sizeof *t);
	if (!t)
		return hp_fail_nomem(err);
	t->s = s;
	t->plan = of->plan;
	t->side = of->side;
	t->sides = of->sides;
	t->sync = of->sync;
	t->in.dir = t->in.fd = t->out.folder = -1;
	XXH3_INITSTATE(&t->in.hash);
	XXH3_INITSTATE(&t->out.hash);
	for (uint32_t i = 0; i < t->sides; i++)
		t->bytes = hp_fit_add(t->bytes, s->sides.row[t->side[i]].bytes);
	*ret = t;
	return 0;
}

static void close_out(struct hpdsl_stage_sides *t)
{
	if (t->out.writing)
		hp_outfile_abandon(&t->out.file);
	if (t->out.folder >= 0)
		t->s->io->close(t->s->io, t->out.folder);
	t->out.folder = -1;
	t->out.writing = false;
}

void hpdsl_stage_sides_free(struct hpdsl_stage_sides *t)
{
	if (!t)
		return;
	close_out(t);
	hp_sides_close_in(t);
	if (t->in.dir >= 0)
		t->s->io->close(t->s->io, t->in.dir);
	free(t);
}

uint64_t hpdsl_stage_sides_bytes(const struct hpdsl_stage_sides *t)
{
	return t->bytes;
}

/* ---- A file of it ----------------------------------------------------- */

static struct hp_side_row *row_at(const struct hpdsl_stage_sides *t)
{
	return &t->s->sides.row[t->side[t->out.at]];
}

static int fail(struct hpdsl_stage_sides *t, int r,
		const struct hpdsl_error *why, struct hpdsl_error *err)
{
	t->out.failed = true;
	close_out(t);
	return hp_fail(err, r, "%s/%s", t->s->path, why->msg);
}

static int begin_file(struct hpdsl_stage_sides *t, struct hpdsl_error *err)
{
	struct hp_sides_out *o = &t->out;
	const struct hp_side_row *row = row_at(t);
	char name[HP_SIDE_NAME];
	const char *slash;
	struct hpdsl_error why;
	int r;

	o->begun = true;
	o->off = 0;
	if (o->failed || row->here ||
	    !hp_stage_side_planned(t->s, t->plan, row))
		return 0;
	hp_side_row_name(row, name);
	slash = strchr(name, '/');
	if (slash) {
		r = hp_stage_side_folder(t->s, true, err);
		if (r < 0) {
			o->failed = true;
			return r;
		}
		o->folder = r;
	}
	XXH3_128bits_reset(&o->hash);
	r = hp_outfile_open(&o->file, t->s->io, slash ? o->folder : t->s->dir,
			    slash ? slash + 1 : name, row->bytes, false, &why);
	if (r < 0)
		return fail(t, r, &why, err);
	o->writing = true;
	return 0;
}

/* The folder, too, may be new. */
static int sync_dirs(const struct hpdsl_stage_sides *t, struct hpdsl_error *why)
{
	int r = hp_sync_dir(t->s->io, t->out.file.dir, why);

	return r == 0 && t->out.folder >= 0 ?
		       hp_sync_dir(t->s->io, t->s->dir, why) :
		       r;
}

/* What differs is given up, and nothing is said: it may come again. */
static int end_file(struct hpdsl_stage_sides *t, struct hpdsl_error *err)
{
	struct hp_sides_out *o = &t->out;
	struct hp_side_row *row = row_at(t);
	struct hpdsl_error why;
	uint8_t hash[16];
	int r = 0;

	if (o->writing) {
		hp_hash_canonical(XXH3_128bits_digest(&o->hash), hash);
		if (memcmp(hash, row->checksum, 16) == 0) {
			r = t->sync ? hp_outfile_sync(&o->file, &why) :
				      hp_outfile_close(&o->file, &why);
			if (r == 0)
				r = hp_outfile_commit(&o->file, &why);
			if (r == 0 && t->sync)
				r = sync_dirs(t, &why);
			row->here = r == 0;
		}
	}
	if (r < 0)
		fail(t, r, &why, err);
	close_out(t);
	o->begun = false;
	o->at++;
	return r;
}

static int write_some(struct hpdsl_stage_sides *t, const uint8_t *buf, size_t n,
		      struct hpdsl_error *err)
{
	struct hp_sides_out *o = &t->out;
	struct hpdsl_error why;
	int r = 0;

	if (o->writing && n) {
		r = hp_outfile_pwrite(&o->file, buf, n, o->off, &why);
		if (r < 0)
			fail(t, r, &why, err); /* and passed over, the rest */
		else
			XXH3_128bits_update(&o->hash, buf, n);
	}
	hp_stage_touch(t->s);
	o->off += n;
	return r;
}

/* Up to n bytes, those of one file: how many are left of them, in *n. */
static int write_file(struct hpdsl_stage_sides *t, const uint8_t *buf,
		      size_t *n, struct hpdsl_error *err)
{
	int r = t->out.begun ? 0 : begin_file(t, err);
	uint64_t left = row_at(t)->bytes - t->out.off;
	size_t some = *n < left ? *n : (size_t)left;

	if (r == 0)
		r = write_some(t, buf, some, err);
	else
		t->out.off += some;
	*n -= some;
	if (some < left)
		return r;
	return r == 0 ? end_file(t, err) : (end_file(t, NULL), r);
}

int hpdsl_stage_sides_write(struct hpdsl_stage_sides *t, const void *buf,
			    size_t n, struct hpdsl_error *err)
{
	const uint8_t *at = buf;
	bool more = true;
	int first = 0;

	/* Also files of no bytes, behind the last byte. */
	while (more && t->out.at < t->sides) {
		uint32_t file = t->out.at;
		size_t left = n;
		int r = write_file(t, at, &left, first ? NULL : err);

		first = first ? first : r;
		at += n - left;
		n = left;
		more = t->out.at > file;
	}
	return first;
}
