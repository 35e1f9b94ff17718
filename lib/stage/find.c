/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks are here.  Where a stager of this boot ended in order, what its
 * state file says counts, if the size is right; anything else is hashed.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is found of a chunk: whether there are files of its two names, and
 * which of them cannot be kept, why. */
enum {
	HAS_PLAIN = 1, /* a name without .zst */
	HAS_ZST = 2,
	BAD_SIZE = 4, /* .. of the one, and shifted by 2 of the other */
	BAD_BYTES = 16,
	BAD_READ = 64,
};

struct find {
	struct hpdsl_stage *s;
	const struct hpdsl_stage_begin *opt;
	struct hp_meter *meter;
	bool trust; /* the old state */
	uint8_t *found;
	char kept[HP_STAGE_NAME + 1]; /* what could not be removed */
};

/* ---- Names ------------------------------------------------------------ */

static int see(void *arg, const char *name)
{
	struct find *f = arg;
	struct hp_stage_name in;
	int r;

	hp_stage_name_read(name, f->s->chunks, &in);
	if (in.kind == HP_NAME_CHUNK)
		f->found[in.chunk] |= in.zst ? HAS_ZST : HAS_PLAIN;
	if (in.kind != HP_NAME_PART || !hp_stage_is_file(f->s, name))
		return 0;
	r = f->s->io->unlink(f->s->io, f->s->dir, name, 0);
	if (r < 0)
		snprintf(f->kept, sizeof f->kept, "/%s", name);
	return r;
}

/* ---- Files ------------------------------------------------------------ */

/* Is the chunk here in this form?  Notes it, or what is wrong. */
static int try_form(struct find *f, const struct hpdsl_chunk *c, bool expanded,
		    struct hpdsl_error *err)
{
	static const int bad[] = { [HP_STAGE_BAD_SIZE] = BAD_SIZE,
				   [HP_STAGE_BAD_BYTES] = BAD_BYTES,
				   [HP_STAGE_BAD_READ] = BAD_READ };
	struct hpdsl_stage *s = f->s;
	enum hp_chunk_state form =
		expanded ? HP_CHUNK_EXPANDED : HP_CHUNK_READY;
	bool trust = f->trust && hp_state_get(s->old_bytes, c->number) == form;
	char name[HP_STAGE_NAME];
	struct hp_stage_file file = { .name = name };
	int r;

	hp_stage_chunk_name(c, expanded, name);
	file.bytes = expanded ? c->plain_bytes : c->bytes;
	if (!trust)
		file.checksum = expanded ? c->plain_checksum : c->checksum;
	r = hp_stage_check_file(s, &file, f->meter, err);
	if (r == -ENOENT)
		return 0; /* somebody has just taken it away */
	if (r < 0)
		return r;
	if (r == 0)
		__atomic_store_n(s->here + c->number, (uint8_t)form,
				 __ATOMIC_RELEASE);
	f->found[c->number] |= (uint8_t)(bad[r] << !expanded);
	return 0;
}

static int find_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct find *f = arg;
	uint8_t has = f->found[number];
	struct hpdsl_chunk c;
	int r = hpdsl_chunk_get(f->s->ds, (uint32_t)number, &c, err);

	if (r < 0 || !has)
		return r;
	/* The plain tar is what a reader likes best. */
	if (c.compressed && has & HAS_PLAIN)
		r = try_form(f, &c, true, err);
	if (r == 0 && !f->s->here[number] &&
	    has & (c.compressed ? HAS_ZST : HAS_PLAIN))
		r = try_form(f, &c, false, err);
	return r;
}

/* ---- What is wrong ---------------------------------------------------- */

static int remove_bad(struct find *f, uint32_t number, bool expanded,
		      struct hpdsl_error *err)
{
	struct hpdsl_stage *s = f->s;
	int bad = f->found[number] >> !expanded;
	const char *what =
		hp_stage_bad_word(bad & BAD_READ  ? HP_STAGE_BAD_READ :
				  bad & BAD_BYTES ? HP_STAGE_BAD_BYTES :
						    HP_STAGE_BAD_SIZE);
	char name[HP_STAGE_NAME];
	struct hpdsl_chunk c;
	int r = hp_stage_chunk(s, number, expanded, &c, name, err);

	if (r < 0)
		return r;
	r = s->io->unlink(s->io, s->dir, name, 0);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s: %s, and cannot be removed",
				     s->path, name, what);
	hp_meter_warn(f->meter, "%s: %s; removed, to be fetched again", name,
		      what);
	return 0;
}

/* In order, whatever thread has found it. */
static int remove_all_bad(struct find *f, struct hpdsl_error *err)
{
	const int bad = BAD_SIZE | BAD_BYTES | BAD_READ;
	int r = 0;

	for (uint64_t i = 0; i < f->s->chunks && r == 0; i++) {
		if (f->found[i] & bad)
			r = remove_bad(f, (uint32_t)i, true, err);
		if (r == 0 && f->found[i] & bad << 1)
			r = remove_bad(f, (uint32_t)i, false, err);
	}
	return r;
}

static int find(struct find *f, struct hpdsl_error *err)
{
	struct hpdsl_stage *s = f->s;
	int r = hp_stage_list(s, see, f);

	if (r < 0)
		return hp_fail_errno(err, r, "%s%s: cannot be %s", s->path,
				     f->kept,
				     f->kept[0] ? "removed" : "listed");
	hp_meter_phase(f->meter, "checking", 0, true);
	r = hp_pool_run(f->opt->threads, s->chunks, find_chunk, f,
			f->opt->watch.stop, err);
	if (r == 0)
		r = remove_all_bad(f, err);
	hp_meter_warn_end(f->meter, "chunks that are fetched again");
	return r;
}

int hp_stage_find(struct hpdsl_stage *s, const struct hpdsl_stage_begin *opt,
		  struct hpdsl_error *err)
{
	hp_auto_free uint8_t *found = calloc(s->chunks ? s->chunks : 1, 1);
	struct hp_meter meter;
	struct find f = { .s = s, .opt = opt, .found = found, .meter = &meter };
	int r;

	if (!found)
		return hp_fail_nomem(err);
	f.trust = s->old_good && !opt->recheck && s->old.chunks == s->chunks;
	hp_meter_init(&meter, &opt->watch);
	r = find(&f, err);
	if (r == 0)
		r = hp_stage_find_sides(s, opt, &meter, err);
	hp_meter_release(&meter);
	return r;
}
