/* SPDX-License-Identifier: Apache-2.0 */
/* Our tar reader at a chunk, for hp_verify_thorough; and what readers tell. */
#include "verify/parse.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "chunk/tar_foreign.h"
#include "chunk/tar.h"
#include "dataset/chunk_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Telling ---------------------------------------------------------- */

static void count(struct hp_parse *p, uint64_t samples)
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
static bool is_new(struct hp_parse *p, uint64_t sample)
{
	struct hp_told *t = p->told;
	uint64_t *more;

	if (p->second) {
		while (t->at < t->n && t->v[t->at] < sample)
			t->at++;
		return t->at == t->n || t->v[t->at] != sample;
	}
	more = hp_more(t->v, t->n, sizeof *more);
	/* Then it counts twice, in a report of damage. */
	if (!more)
		return true;
	t->v = more;
	t->v[t->n++] = sample;
	return true;
}

int hp_parse_member(struct hp_parse *p, const char *what)
{
	if (p->last == p->m.sample)
		return 0;
	count(p, is_new(p, p->m.sample));
	p->last = p->m.sample;
	hp_verify_tell(p->v,
		       (struct hp_damage_place){ p->row->name, p->m.sample,
						 p->m.path },
		       "%s: %s", p->reader, what);
	return 0;
}

int hp_parse_chunk(struct hp_parse *p, const char *what)
{
	count(p, 0);
	hp_verify_tell(
		p->v,
		(struct hp_damage_place){ p->row->name, UINT64_MAX, NULL },
		"%s: %s", p->reader, what);
	return HP_PARSE_LOST;
}

/* ---- Comparing -------------------------------------------------------- */

int hp_parse_stranger(struct hp_parse *p, const char *name, size_t len)
{
	char text[HP_PRINTABLE], reason[HP_PRINTABLE + 64];

	snprintf(reason, sizeof reason, "'%s' is not in the index",
		 hp_printable(name, len, text));
	return hp_parse_chunk(p, reason);
}

/* The row of the next member and its name in the chunk. */
static int next_row(struct hp_parse *p, const char **ret_name, size_t *ret_len,
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

/* Has the index this path at a place further behind in the chunk? */
static bool is_old(struct hp_parse *p, const struct hp_found_member *f)
{
	uint64_t end = p->row->first_member + p->row->members, n = p->number;
	const struct hp_index *ix = p->v->index;
	char path[HP_FOREIGN_NAME + 1];
	int len = f->len > HP_FOREIGN_NAME ?
			  -1 :
			  hp_path_clean(f->name, f->len, path);
	struct hpdsl_member m;

	/* Mostly it is the one that is found by the path, or the next. */
	if (len < 0 || hp_index_find(ix, path, (size_t)len, &n, NULL) < 0)
		return false;
	if (n < p->number || n >= end)
		n = p->number;
	for (; n < end; n++)
		if (hp_index_member(ix, n, &m, NULL) == 0 &&
		    m.path_len == (size_t)len &&
		    !memcmp(m.path, path, m.path_len))
			return f->offset < m.offset;
	return false;
}

int hp_parse_compare(struct hp_parse *p, const struct hp_found_member *f,
		     struct hpdsl_error *err)
{
	char text[HP_PRINTABLE], reason[HP_PRINTABLE + 64];
	/* Those of a foreign header are all in the index. */
	unsigned mode_bits = p->foreign ? 07777 : 0777;
	const char *name;
	size_t len;
	int r;

	if (p->number == p->row->first_member + p->row->members)
		return hp_parse_stranger(p, f->name, f->len);
	if (p->foreign && is_old(p, f))
		return HP_PARSE_OLD;
	r = next_row(p, &name, &len, err);
	if (r < 0)
		return r;
	if (len != f->len || memcmp(name, f->name, len) != 0) {
		snprintf(reason, sizeof reason, "there is '%s'",
			 hp_printable(f->name, f->len, text));
		hp_parse_member(p, reason);
		return HP_PARSE_LOST;
	}
	if (f->size != p->m.size) {
		hp_parse_member(p, "size differs");
		return HP_PARSE_LOST;
	}
	if ((f->mode & mode_bits) != (p->m.mode & mode_bits))
		hp_parse_member(p, "mode differs");
	if (f->mtime != (p->foreign ? p->m.mtime : hp_tar_time(p->m.mtime)))
		hp_parse_member(p, "mtime differs");
	return 0;
}

void hp_parse_content(struct hp_parse *p)
{
	if (XXH3_64bits_digest(&p->hash) != p->m.checksum)
		hp_parse_member(p, "checksum differs");
}

int hp_parse_end(struct hp_parse *p)
{
	uint64_t end = p->row->first_member + p->row->members;
	char reason[64];

	if (p->number == end)
		return 0;
	snprintf(reason, sizeof reason, "%" PRIu64 " members are not there",
		 end - p->number);
	return hp_parse_chunk(p, reason);
}

int hp_parse_failed(struct hp_parse *p, int code, const struct hpdsl_error *why,
		    struct hpdsl_error *err)
{
	if (hp_verify_is_damage(code))
		return hp_parse_chunk(p, hp_verify_reason(why, p->row->name));
	return hp_fail(err, code, "%s: %s", p->v->path, why->msg);
}

/* ---- Our tar reader --------------------------------------------------- */

struct ours {
	struct hp_parse *p;
	struct hp_pass pass;
	struct hp_chunk_walk walk;
	struct hp_foreign *tar;
	char path[HPDSL_PATH_MAX + 1];
};

static int fill(void *arg, size_t n, struct hpdsl_error *err)
{
	struct ours *o = arg;
	struct hpdsl_error why;
	int r;

	if (hp_stopped(&o->p->v->opt->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	r = hp_pass_need(&o->pass, n);
	if (r == HPDSL_ECORRUPT)
		return hp_parse_chunk(o->p, hp_pass_why(&o->pass));
	if (r == 0)
		return 0;
	hp_fail_errno(&why, r, "cannot be read");
	return hp_parse_failed(o->p, r, &why, err);
}

static int ended(void *arg, struct hpdsl_error *err)
{
	struct ours *o = arg;

	(void)err;
	return hp_parse_chunk(o->p, "it ends too early");
}

static const struct hp_chunk_walk_ops ops = { fill, ended, NULL };

static void hash_piece(void *arg, const uint8_t *p, size_t n)
{
	struct hp_parse *parse = arg;

	XXH3_64bits_update(&parse->hash, p, n);
	hp_meter_add(&parse->v->meter, n);
}

/* What its header says against the index, and its content. */
static int take_member(struct ours *o, const struct hp_found_member *f,
		       struct hpdsl_error *err)
{
	struct hp_parse *p = o->p;
	int r = hp_parse_compare(p, f, err);

	if (r == HP_PARSE_OLD)
		return hp_chunk_walk_over(&o->walk, hp_tar_padded(f->size),
					  err);
	if (r)
		return r;
	XXH3_64bits_reset(&p->hash);
	r = hp_chunk_walk_each(&o->walk, p->m.size, hash_piece, p, err);
	if (r)
		return r;
	hp_parse_content(p);
	return hp_chunk_walk_over(&o->walk, hp_tar_padded(f->size) - f->size,
				  err);
}

/* 0, HP_PARSE_LOST at what is wrong, or at the end with *end set. */
static int next_of_ours(struct ours *o, bool *end, struct hpdsl_error *err)
{
	struct hp_tar_member t;
	struct hpdsl_error why;
	ssize_t n = -EAGAIN;
	int r = 0;

	for (size_t want = HP_TAR_BLOCK; n == -EAGAIN && !r; want *= 2) {
		if (want > HP_TAR_HEADER_MAX)
			want = HP_TAR_HEADER_MAX;
		r = hp_chunk_walk_need(&o->walk, want, err);
		if (!r)
			n = hp_tar_header_read(o->pass.at, o->pass.have, &t,
					       o->path, &why);
	}
	if (r)
		return r;
	if (n < 0)
		return hp_parse_chunk(o->p, why.msg);
	*end = n == 0;
	hp_pass_take(&o->pass, (size_t)n);
	return *end ? 0 :
		      take_member(o,
				  &(struct hp_found_member){ t.path, t.path_len,
							     t.size, t.mtime,
							     t.mode, 0 },
				  err);
}

/* The data of an extended header. */
static int take_extra(struct ours *o, size_t n, struct hpdsl_error *err)
{
	hp_auto_free uint8_t *data = NULL;
	struct hpdsl_error why;
	int r = hp_chunk_walk_copy(&o->walk, n, &data, err);

	if (r)
		return r;
	if (hp_foreign_extra(o->tar, data, n, &why) < 0)
		return hp_parse_chunk(o->p, why.msg);
	return hp_chunk_walk_over(&o->walk, hp_tar_padded(n) - n, err);
}

static int next_foreign(struct ours *o, bool *end, struct hpdsl_error *err)
{
	struct hp_pass *pass = &o->pass;
	struct hp_foreign_member m;
	struct hpdsl_error why;
	int r;

	/* Some end without the zeros. */
	if (!pass->have && hp_pass_need(pass, 1) == 0 && !pass->have) {
		*end = true;
		return 0;
	}
	r = hp_chunk_walk_need(&o->walk, HP_TAR_BLOCK, err);
	if (r)
		return r;
	if (hp_foreign_header(o->tar, pass->at, &m, &why) < 0)
		return hp_parse_chunk(o->p, why.msg);
	hp_pass_take(pass, HP_TAR_BLOCK);
	*end = m.kind == HP_FOREIGN_END;
	if (*end)
		return 0;
	if (m.kind == HP_FOREIGN_EXTRA)
		return take_extra(o, (size_t)m.size, err);
	if (m.kind != HP_FOREIGN_FILE)
		return hp_chunk_walk_over(&o->walk, hp_tar_padded(m.size), err);
	return take_member(o,
			   &(struct hp_found_member){ m.name, m.name_len,
						      m.size, m.mtime, m.mode,
						      pass->offset },
			   err);
}

static int walk(struct ours *o, struct hpdsl_error *err)
{
	hp_auto_free struct hp_foreign *tar = malloc(sizeof *tar);
	bool end = false;
	int r = 0;

	if (!tar)
		return hp_fail_nomem(err);
	hp_foreign_begin(tar);
	o->tar = tar;
	hp_chunk_walk_begin(&o->walk, &o->pass, &ops, o);
	while (!r && !end)
		r = o->p->foreign ? next_foreign(o, &end, err) :
				    next_of_ours(o, &end, err);
	return r ? r : hp_parse_end(o->p);
}

int hp_parse_with_ours(struct hp_parse *p, struct hpdsl_error *err)
{
	const struct hp_verify *v = p->v;
	struct ours o = { .p = p };
	struct hpdsl_error why;
	int r;

	hp_pass_init(&o.pass);
	if (p->row->compressed)
		r = hp_pass_begin_zst(&o.pass, v->io, v->dir, p->row->name,
				      v->index, p->row, &why);
	else
		r = hp_pass_begin(&o.pass, v->io, v->dir, p->row->name, &why);
	r = r < 0 ? hp_parse_failed(p, r, &why, err) : walk(&o, err);
	hp_pass_end(&o.pass);
	return r;
}
