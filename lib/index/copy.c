/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows, read from the file and held against private checksums. */
#include "index/copy.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

void hp_index_copy_begin(struct hp_index_copy *c, const struct hp_index *ix,
			 bool whole)
{
	c->ix = *ix;
	c->whole = whole;
	c->later = false;
	c->trusted = false;
	c->stale = false;
	c->stat = 0;
	c->sample = UINT64_MAX;
	if (ix->sections->io)
		c->ix.copy = c;
	for (unsigned i = 0; i < HP_COPY_KINDS; i++) {
		c->window[i].off = 0;
		c->window[i].n = 0;
		c->window[i].end = UINT64_MAX / 2;
		c->window[i].block = NULL;
	}
}

void hp_index_copy_begin_later(struct hp_index_copy *c,
			       const struct hp_index *ix)
{
	hp_index_copy_begin(c, ix, false);
	c->later = true;
}

void hp_index_copy_end(struct hp_index_copy *c)
{
	for (unsigned i = 0; i < HP_COPY_KINDS; i++)
		free(c->window[i].block);
}

/* ---- Has the file changed? -------------------------------------------- */

/* Size, mtime and ctime as one number, never 0. */
static int ask_stat(struct hp_index_copy *c, struct hpdsl_error *err)
{
	const struct hp_sections *s = c->ix.sections;
	struct stat st;
	int r = hp_io_fstat(s->io, s->fd, &st);
	uint64_t v[5];

	if (r < 0)
		return hp_fail_errno(err, r, "%s", s->name);
	v[0] = (uint64_t)st.st_size;
	v[1] = (uint64_t)st.st_mtim.tv_sec;
	v[2] = (uint64_t)st.st_mtim.tv_nsec;
	v[3] = (uint64_t)st.st_ctim.tv_sec;
	v[4] = (uint64_t)st.st_ctim.tv_nsec;
	c->stat = hp_hash64(v, sizeof v) | 1;
	return 0;
}

bool hp_index_copy_again(struct hp_index_copy *c, int *r,
			 struct hpdsl_error *err)
{
	uint64_t was = c->stat;
	int e;

	if (!c->later || !c->trusted)
		return false;
	e = ask_stat(c, err);
	if (e < 0) {
		*r = e;
		return false;
	}
	if (!c->stale && c->stat == was)
		return false;
	c->later = false;
	c->sample = UINT64_MAX;
	for (unsigned i = 0; i < HP_COPY_KINDS; i++)
		c->window[i].n = 0;
	return true;
}

static _Atomic uint64_t *proved(const struct hp_index_copy *c,
				const struct hp_section *s, uint64_t block)
{
	return &c->ix.sections->proved[s->first_bit + block];
}

/* ---- Windows ---------------------------------------------------------- */

static struct hp_copy_window *window_of(struct hp_index_copy *c,
					const struct hp_section *s)
{
	unsigned i = hp_copy_window_number((enum hp_index_section)s->kind);

	/* Whoever goes from one of these to another reads again. */
	if (i == 0)
		c->window[0].n = 0;
	return &c->window[i];
}

/* The whole block, hashed; what the file's stat was before is noted. */
static int read_block(struct hp_index_copy *c, const struct hp_section *s,
		      uint64_t block, struct hp_copy_window *w,
		      struct hpdsl_error *err)
{
	uint64_t before = c->stat;
	int r = 0;

	w->n = 0;
	if (!w->block)
		w->block = hp_array(HP_BLOCK, 1);
	if (!w->block)
		return hp_fail_nomem(err);
	if (!c->whole)
		r = ask_stat(c, err);
	/* What was trusted so far was of another time. */
	if (c->trusted && c->stat != before)
		c->stale = true;
	if (r == 0)
		r = hp_section_get(c->ix.sections, s, block, w->block, err);
	if (r < 0)
		return r;
	if (!c->whole)
		atomic_store_explicit(proved(c, s, block), c->stat,
				      memory_order_relaxed);
	w->p = w->block;
	w->off = block * HP_BLOCK;
	w->n = hp_section_block_bytes(s, block);
	w->end = w->off + w->n;
	return 0;
}

/* Is the stat still was?  Asked now, or later for all blocks of one stat. */
static int is_still(struct hp_index_copy *c, uint64_t was,
		    struct hpdsl_error *err)
{
	int r;

	if (!c->later) {
		r = ask_stat(c, err);
		return r < 0 ? r : was == c->stat;
	}
	if (!c->stat)
		c->stat = was;
	if (was != c->stat)
		return 0;
	c->trusted = true;
	return 1;
}

/*
 * A few rows of a block that was found to be sound: 1, if the file, asked after
 * that, is what it was then.
 */
static int read_few(struct hp_index_copy *c, const struct hp_section *s,
		    uint64_t off, struct hp_copy_window *w,
		    struct hpdsl_error *err)
{
	const struct hp_sections *f = c->ix.sections;
	uint64_t block = off / HP_BLOCK, from = off & ~UINT64_C(63);
	uint64_t end = block * HP_BLOCK + hp_section_block_bytes(s, block);
	uint64_t was =
		atomic_load_explicit(proved(c, s, block), memory_order_relaxed);
	/* Behind what was read, or a little further: there will be more. */
	size_t n =
		off - w->end < HP_COPY_ALONE ? HP_COPY_WINDOW : HP_COPY_ALONE;
	ssize_t k;
	int r;

	if (!was)
		return 0;
	if (n > end - from)
		n = (size_t)(end - from);
	w->n = 0;
	k = hp_io_pread_full(f->io, f->fd, w->few, n, s->offset + from);
	if (k < 0)
		return hp_fail_errno(err, (int)k, "%s", f->name);
	r = is_still(c, was, err);
	if (r <= 0 || (size_t)k != n)
		return r < 0 ? r : 0;
	w->p = w->few;
	w->off = from;
	w->n = (uint32_t)n;
	w->end = from + n;
	return 1;
}

static int fill(struct hp_index_copy *c, const struct hp_section *s,
		uint64_t off, struct hp_copy_window *w, struct hpdsl_error *err)
{
	int r = c->whole ? 0 : read_few(c, s, off, w, err);

	if (r)
		return r < 0 ? r : 0;
	return read_block(c, s, off / HP_BLOCK, w, err);
}

int hp_index_copy_take(struct hp_index_copy *c, const struct hp_section *s,
		       uint64_t off, void *to, uint64_t len,
		       struct hpdsl_error *err)
{
	struct hp_copy_window *w = window_of(c, s);
	uint8_t *at = to;

	if (!hp_within(off, len, s->length))
		return hp_section_touch(c->ix.sections, s, off, len, err);
	while (len) {
		uint64_t skip = off - w->off, n;

		if (off < w->off || skip >= w->n) {
			int r = fill(c, s, off, w, err);

			if (r < 0)
				return r;
			skip = off - w->off;
		}
		n = w->n - skip < len ? w->n - skip : len;
		memcpy(at, w->p + skip, n);
		at += n;
		off += n;
		len -= n;
	}
	return 0;
}

int hp_index_copy_prove(struct hp_index_copy *c, uint64_t off, uint64_t len,
			struct hpdsl_error *err)
{
	const struct hp_section *s = hp_index_section(&c->ix, HP_SECTION_PATHS);

	if (!c->ix.copy)
		return 0;
	if (!hp_within(off, len, s->length))
		return hp_section_touch(c->ix.sections, s, off, len, err);
	for (uint64_t b = off / HP_BLOCK; b <= (off + len - 1) / HP_BLOCK;
	     b++) {
		int r = 0;

		if (c->whole ||
		    atomic_load_explicit(proved(c, s, b),
					 memory_order_relaxed) != c->stat)
			r = read_block(c, s, b, window_of(c, s), err);
		else
			c->trusted = true;
		if (r < 0)
			return r;
	}
	return 0;
}
