/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each chunk parsed twice more: with our tar reader, from its headers alone,
 * and with libarchive.  Both must find the members of the index, all of them,
 * in their order, and nothing else.  What is checked elsewhere says that a
 * chunk is what we wrote; this, that others find in it what we meant.
 */
#include "verify.h"

#include "archive.h"
#include "error.h"
#include "hash.h"
#include "mem.h"
#include "pass.h"
#include "pool.h"
#include "tar.h"
#include "tar_foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER = 256 << 10 };

#define MTIME_MAX INT64_C(077777777777) /* that ustar holds */

/* What a reader found. */
struct found {
	const char *name;
	size_t len;
	uint64_t size;
	int64_t mtime;
	uint32_t mode;
};

/* Samples that the first reader told, ascending. */
struct told {
	uint64_t *v;
	size_t n, room;
	size_t at; /* where the second reader is */
};

/* One reader at one chunk. */
struct parse {
	struct hp_verify *v;
	const struct hpdsl_chunk *row;
	const char *reader;
	bool foreign;
	uint64_t number;       /* of the member that is next */
	struct hpdsl_member m; /* that was found last */
	uint64_t last;	       /* sample that was told last */
	struct told *told;
	bool second; /* the samples in told have been counted */
	XXH3_state_t hash;
};

/* Beside 0 and errors: this reader is of no more use here. */
enum { LOST = 1 };

/* ---- Telling ------------------------------------------------------------ */

static void count(struct parse *p, uint64_t samples)
{
	struct hp_verify *v = p->v;
	bool *bad = &v->bad[p->row - v->chunks];

	pthread_mutex_lock(&v->meter.lock);
	v->report->damaged_samples += samples;
	v->report->damaged_chunks += !*bad;
	v->report->damaged_files += !*bad;
	*bad = true;
	pthread_mutex_unlock(&v->meter.lock);
}

/* Of what both readers tell, it is counted once. */
static bool is_new(struct parse *p, uint64_t sample)
{
	struct told *t = p->told;

	if (p->second) {
		while (t->at < t->n && t->v[t->at] < sample)
			t->at++;
		return t->at == t->n || t->v[t->at] != sample;
	}
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 16;
		uint64_t *more = reallocarray(t->v, room, sizeof *more);

		/* Then it counts twice, in a report of damage. */
		if (!more)
			return true;
		t->v = more;
		t->room = room;
	}
	t->v[t->n++] = sample;
	return true;
}

static int member_differs(struct parse *p, const char *what)
{
	if (p->last == p->m.sample)
		return 0;
	count(p, is_new(p, p->m.sample));
	p->last = p->m.sample;
	hp_verify_tell(p->v,
		       (struct hp_spot){ p->row->name, p->m.sample, p->m.path },
		       "%s: %s", p->reader, what);
	return 0;
}

static int chunk_differs(struct parse *p, const char *what)
{
	count(p, 0);
	hp_verify_tell(p->v, (struct hp_spot){ p->row->name, UINT64_MAX, NULL },
		       "%s: %s", p->reader, what);
	return LOST;
}

/* ---- Comparing ---------------------------------------------------------- */

static int stranger(struct parse *p, const char *name, size_t len)
{
	char text[HP_PRINTABLE], reason[HP_PRINTABLE + 64];

	snprintf(reason, sizeof reason, "'%s' is not in the index",
		 hp_printable(name, len, text));
	return chunk_differs(p, reason);
}

/* The row of the next member and its name in the chunk. */
static int next_row(struct parse *p, const char **ret_name, size_t *ret_len,
		    struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_index_member(p->v->index, p->number++, &p->m, &why);

	if (r == 0)
		r = hp_index_stored(p->v->index, p->m.number, ret_name, ret_len,
				    &why);
	if (r < 0)
		return hp_fail(err, r, "%s: %s", p->v->path, why.msg);
	if (!*ret_name) {
		*ret_name = p->m.path;
		*ret_len = p->m.path_len;
	}
	return 0;
}

static int64_t clamped(const struct parse *p)
{
	int64_t t = p->m.mtime;

	if (p->foreign)
		return t;
	return t < 0 ? 0 : t > MTIME_MAX ? MTIME_MAX : t;
}

/* 0, or LOST: a member is not the one that comes next. */
static int compare(struct parse *p, const struct found *f,
		   struct hpdsl_error *err)
{
	char text[HP_PRINTABLE], reason[HP_PRINTABLE + 64];
	const char *name;
	size_t len;
	int r;

	if (p->number == p->row->first_member + p->row->members)
		return stranger(p, f->name, f->len);
	r = next_row(p, &name, &len, err);
	if (r < 0)
		return r;
	if (len != f->len || memcmp(name, f->name, len) != 0) {
		snprintf(reason, sizeof reason, "there is '%s'",
			 hp_printable(f->name, f->len, text));
		member_differs(p, reason);
		return LOST;
	}
	if (f->size != p->m.size) {
		member_differs(p, "size differs");
		return LOST;
	}
	if ((f->mode & 0777) != p->m.mode)
		member_differs(p, "mode differs");
	if (f->mtime != clamped(p))
		member_differs(p, "mtime differs");
	return 0;
}

static void compare_content(struct parse *p)
{
	if (XXH3_64bits_digest(&p->hash) != p->m.checksum)
		member_differs(p, "checksum differs");
}

static int compare_end(struct parse *p)
{
	uint64_t end = p->row->first_member + p->row->members;
	char reason[64];

	if (p->number == end)
		return 0;
	snprintf(reason, sizeof reason, "%" PRIu64 " members are not there",
		 end - p->number);
	return chunk_differs(p, reason);
}

/* A failure of what is stored is told, one of this machine is passed on. */
static int failed(struct parse *p, int code, const struct hpdsl_error *why,
		  struct hpdsl_error *err)
{
	if (hp_verify_is_damage(code))
		return chunk_differs(p, hp_verify_reason(why, p->row->name));
	return hp_fail(err, code, "%s: %s", p->v->path, why->msg);
}

/* ---- libarchive --------------------------------------------------------- */

static int hash_archive(struct parse *p, struct hp_archive *a, uint8_t *buf,
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
		return failed(p, (int)n, &why, err);
	if (n > 0 || left)
		return member_differs(p, "size differs");
	compare_content(p);
	return 0;
}

static int walk_archive(struct parse *p, struct hp_archive *a, uint8_t *buf,
			struct hpdsl_error *err)
{
	struct hp_archive_entry e;
	struct hpdsl_error why;
	int r;

	while ((r = hp_archive_next(a, &e, &why)) > 0) {
		struct found f = { e.path, e.path_len, e.size, e.mtime,
				   e.mode };

		/* Whoever wrote the tar put these in; the index has none. */
		if (e.type != HP_ARCHIVE_FILE && p->foreign)
			continue;
		r = e.type == HP_ARCHIVE_FILE ? compare(p, &f, err) :
						stranger(p, f.name, f.len);
		if (r == 0)
			r = hash_archive(p, a, buf, err);
		if (r)
			return r;
	}
	return r < 0 ? failed(p, r, &why, err) : compare_end(p);
}

static int with_libarchive(struct parse *p, uint8_t *buf,
			   struct hpdsl_error *err)
{
	struct hp_archive *a = NULL;
	struct hpdsl_error why;
	int r = hp_archive_open(p->v->io, p->v->dir, p->row->name, false, &a,
				&why);

	if (r < 0)
		return failed(p, r, &why, err);
	hp_archive_set_stop(a, p->v->opt->watch.stop);
	r = walk_archive(p, a, buf, err);
	hp_archive_close(a);
	return r;
}

/* ---- Our tar reader ----------------------------------------------------- */

/* n bytes at hand; LOST at the end of the file. */
static int need(struct parse *p, struct hp_pass *pass, size_t n,
		struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = 0;

	if (hp_stopped(&p->v->opt->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	if (pass->have < n)
		r = hp_pass_need(pass, n);
	if (r == HPDSL_ECORRUPT)
		return chunk_differs(p, hp_pass_why(pass));
	if (r < 0) {
		hp_fail_errno(&why, r, "cannot be read");
		return failed(p, r, &why, err);
	}
	return pass->have < n ? chunk_differs(p, "it ends too early") : 0;
}

static int hash_pass(struct parse *p, struct hp_pass *pass,
		     struct hpdsl_error *err)
{
	uint64_t left = p->m.size;

	XXH3_64bits_reset(&p->hash);
	while (left) {
		int r = need(p, pass, 1, err);
		size_t n = left < pass->have ? (size_t)left : pass->have;

		if (r)
			return r;
		XXH3_64bits_update(&p->hash, pass->at, n);
		hp_pass_take(pass, n);
		hp_meter_add(&p->v->meter, n);
		left -= n;
	}
	compare_content(p);
	return 0;
}

static int skip(struct parse *p, struct hp_pass *pass, uint64_t n,
		struct hpdsl_error *err)
{
	while (n) {
		int r = need(p, pass, 1, err);
		size_t k = n < pass->have ? (size_t)n : pass->have;

		if (r)
			return r;
		hp_pass_take(pass, k);
		n -= k;
	}
	return 0;
}

/* 0, LOST at what is wrong, or at the end with *end set. */
static int next_of_ours(struct parse *p, struct hp_pass *pass, char *path,
			bool *end, struct hpdsl_error *err)
{
	struct hp_tar_member t;
	struct hpdsl_error why;
	struct found f;
	ssize_t n = -EAGAIN;
	int r = 0;

	for (size_t want = HP_TAR_BLOCK; n == -EAGAIN && !r; want *= 2) {
		if (want > HP_TAR_HEADER_MAX)
			want = HP_TAR_HEADER_MAX;
		r = need(p, pass, want, err);
		if (!r)
			n = hp_tar_header_read(pass->at, pass->have, &t, path,
					       &why);
	}
	if (r)
		return r;
	if (n < 0)
		return chunk_differs(p, why.msg);
	*end = n == 0;
	if (*end)
		return 0;
	hp_pass_take(pass, (size_t)n);
	f = (struct found){ t.path, t.path_len, t.size, t.mtime, t.mode };
	r = compare(p, &f, err);
	if (!r)
		r = hash_pass(p, pass, err);
	return r ? r : skip(p, pass, hp_tar_padded(t.size) - t.size, err);
}

/* The data of an extended header. */
static int take_extra(struct parse *p, struct hp_pass *pass,
		      struct hp_foreign *tar, size_t n, struct hpdsl_error *err)
{
	hp_auto_free uint8_t *data = malloc(n ? n : 1);
	struct hpdsl_error why;

	if (!data)
		return hp_fail_nomem(err);
	for (size_t at = 0; at < n;) {
		int r = need(p, pass, 1, err);
		size_t k = n - at < pass->have ? n - at : pass->have;

		if (r)
			return r;
		memcpy(data + at, pass->at, k);
		hp_pass_take(pass, k);
		at += k;
	}
	if (hp_foreign_extra(tar, data, n, &why) < 0)
		return chunk_differs(p, why.msg);
	return skip(p, pass, hp_tar_padded(n) - n, err);
}

static int next_foreign(struct parse *p, struct hp_pass *pass,
			struct hp_foreign *tar, bool *end,
			struct hpdsl_error *err)
{
	struct hp_foreign_member m;
	struct hpdsl_error why;
	struct found f;
	int r;

	/* Some end without the zeros. */
	if (!pass->have && hp_pass_need(pass, 1) == 0 && !pass->have) {
		*end = true;
		return 0;
	}
	r = need(p, pass, HP_TAR_BLOCK, err);
	if (r)
		return r;
	if (hp_foreign_header(tar, pass->at, &m, &why) < 0)
		return chunk_differs(p, why.msg);
	hp_pass_take(pass, HP_TAR_BLOCK);
	*end = m.kind == HP_FOREIGN_END;
	if (*end)
		return 0;
	if (m.kind == HP_FOREIGN_EXTRA)
		return take_extra(p, pass, tar, (size_t)m.size, err);
	if (m.kind != HP_FOREIGN_FILE)
		return skip(p, pass, hp_tar_padded(m.size), err);
	f = (struct found){ m.name, m.name_len, m.size, m.mtime, m.mode };
	r = compare(p, &f, err);
	if (!r)
		r = hash_pass(p, pass, err);
	return r ? r : skip(p, pass, hp_tar_padded(m.size) - m.size, err);
}

static int walk_pass(struct parse *p, struct hp_pass *pass,
		     struct hpdsl_error *err)
{
	hp_auto_free struct hp_foreign *tar = malloc(sizeof *tar);
	char path[HPDSL_PATH_MAX + 1];
	bool end = false;
	int r = 0;

	if (!tar)
		return hp_fail_nomem(err);
	hp_foreign_begin(tar);
	while (!r && !end)
		r = p->foreign ? next_foreign(p, pass, tar, &end, err) :
				 next_of_ours(p, pass, path, &end, err);
	return r ? r : compare_end(p);
}

static int with_ours(struct parse *p, struct hpdsl_error *err)
{
	const struct hp_verify *v = p->v;
	struct hpdsl_error why;
	struct hp_pass pass;
	int r;

	hp_pass_init(&pass);
	if (p->row->compressed)
		r = hp_pass_begin_zst(&pass, v->io, v->dir, p->row->name,
				      v->index, p->row, &why);
	else
		r = hp_pass_begin(&pass, v->io, v->dir, p->row->name, &why);
	r = r < 0 ? failed(p, r, &why, err) : walk_pass(p, &pass, err);
	hp_pass_end(&pass);
	return r;
}

/* ---- All chunks --------------------------------------------------------- */

/* A job of hp_pool_run: arg is struct hp_verify, number a chunk. */
static int check_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_verify *v = arg;
	hp_auto_free uint8_t *buf = malloc(BUFFER);
	const struct hpdsl_chunk *row = &v->chunks[number];
	struct told told = { 0 };
	struct parse ours = {
		.v = v,
		.row = row,
		.reader = "tar reader",
		.foreign = hp_index_flags(v->index) & HP_INDEX_FOREIGN,
		.number = row->first_member,
		.last = UINT64_MAX,
		.told = &told,
	};
	struct parse theirs = ours;
	int r;

	if (!buf)
		return hp_fail_nomem(err);
	/* Damage has been told, and would be told again. */
	if (v->bad[number])
		return 0;
	theirs.reader = "libarchive";
	theirs.second = true;
	r = with_ours(&ours, err);
	if (r >= 0)
		r = with_libarchive(&theirs, buf, err);
	free(told.v);
	return r < 0 ? r : 0;
}

int hp_verify_thorough(struct hp_verify *v, struct hpdsl_error *err)
{
	uint64_t total = 0;

	for (uint32_t c = 0; c < v->n_chunks; c++)
		total += 2 * (v->chunks[c].compressed ?
				      v->chunks[c].plain_bytes :
				      v->chunks[c].bytes);
	hp_meter_phase(&v->meter, "parsing", total, true);
	return hp_pool_run(hp_threads(v->opt->threads), v->n_chunks,
			   check_chunk, v, v->opt->watch.stop, err);
}
