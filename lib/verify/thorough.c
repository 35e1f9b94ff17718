/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each chunk parsed twice more: with our tar reader, from its headers alone,
 * and with libarchive.  Both must find the members of the index, all of them,
 * in their order, and nothing else.  What is checked elsewhere says that a
 * chunk is what we wrote; this, that others find in it what we meant.
 */
#include "verify/parse.h"

#include "archive/archive.h"
#include "base/error.h"
#include "base/mem.h"
#include "sys/pool.h"

enum { BUFFER = 256 << 10 };

static int hash_archive(struct hp_parse *p, struct hp_archive *a, uint8_t *buf,
			struct hpdsl_error *err)
{
	struct hpdsl_error why;
	uint64_t left = p->m.size;
	ssize_t n;

	XXH3_64bits_reset(&p->hash);
	while ((n = hp_archive_read(a, buf, BUFFER, &why)) > 0) {
		if ((uint64_t)n > left)
			break;
		left -= (uint64_t)n;
		XXH3_64bits_update(&p->hash, buf, (size_t)n);
		hp_meter_add(&p->v->meter, (uint64_t)n);
	}
	if (n < 0)
		return hp_parse_failed(p, (int)n, &why, err);
	if (n > 0 || left)
		return hp_parse_member(p, "size differs");
	hp_parse_content(p);
	return 0;
}

static int walk_archive(struct hp_parse *p, struct hp_archive *a, uint8_t *buf,
			struct hpdsl_error *err)
{
	struct hp_archive_entry e;
	struct hpdsl_error why;
	int r;

	while ((r = hp_archive_next(a, &e, &why)) > 0) {
		struct hp_found_member f = { e.path,  e.path_len, e.size,
					     e.mtime, e.mode,	  e.offset };

		/* Whoever wrote the tar put these in; the index has none. */
		if (e.type != HP_ARCHIVE_FILE && p->foreign)
			continue;
		r = e.type == HP_ARCHIVE_FILE ?
			    hp_parse_compare(p, &f, err) :
			    hp_parse_stranger(p, f.name, f.len);
		if (r == HP_PARSE_OLD)
			continue;
		if (r == 0)
			r = hash_archive(p, a, buf, err);
		if (r)
			return r;
	}
	return r < 0 ? hp_parse_failed(p, r, &why, err) : hp_parse_end(p);
}

static int with_libarchive(struct hp_parse *p, uint8_t *buf,
			   struct hpdsl_error *err)
{
	struct hp_archive *a = NULL;
	struct hpdsl_error why;
	int r = hp_archive_open(p->v->io, p->v->dir, p->row->name, false, &a,
				&why);

	if (r < 0)
		return hp_parse_failed(p, r, &why, err);
	hp_archive_set_stop(a, p->v->opt->watch.stop);
	r = walk_archive(p, a, buf, err);
	hp_archive_close(a);
	return r;
}

/* A job of hp_pool_run: arg is struct hp_verify, number a chunk. */
static int check_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_verify *v = arg;
	hp_auto_free uint8_t *buf = malloc(BUFFER);
	const struct hpdsl_chunk *row = &v->chunks[number];
	struct hp_told told = { 0 };
	struct hp_parse ours = {
		.v = v,
		.row = row,
		.reader = "tar reader",
		.foreign = hp_index_flags(v->index) & HP_INDEX_FOREIGN,
		.number = row->first_member,
		.last = UINT64_MAX,
		.told = &told,
	};
	struct hp_parse theirs = ours;
	int r;

	if (!buf)
		return hp_fail_nomem(err);
	/* Damage has been told, and would be told again. */
	if (v->bad[number] || hp_verify_absent(v, (uint32_t)number))
		return 0;
	theirs.reader = "libarchive";
	theirs.second = true;
	r = hp_parse_with_ours(&ours, err);
	if (r >= 0)
		r = with_libarchive(&theirs, buf, err);
	free(told.v);
	return r < 0 ? r : 0;
}

int hp_verify_thorough(struct hp_verify *v, struct hpdsl_error *err)
{
	uint64_t total = 0;

	for (uint32_t c = 0; c < v->n_chunks; c++)
		if (!hp_verify_absent(v, c))
			total += 2 * (v->chunks[c].compressed ?
					      v->chunks[c].plain_bytes :
					      v->chunks[c].bytes);
	hp_meter_phase(&v->meter, "parsing", total, true);
	return hp_pool_run(hp_threads(v->opt->threads), v->n_chunks,
			   check_chunk, v, v->opt->watch.stop, err);
}
