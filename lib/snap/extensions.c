/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many files there are of each extension: one pass over a range of entries,
 * with a hash table of what was met.
 */
#include "snap/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "tree/tree.h"

/* One that was met; the name is in the text from at on, with a NUL. */
struct met {
	uint64_t hash, at, files, bytes;
	size_t len;
};

enum { SHORT_ONES = 64 };

struct count {
	struct met *all;
	uint64_t n;
	uint64_t *slots; /* number in all plus 1, or 0; a power of two */
	uint64_t mask;
	/* Some of the short ones: as a number, and which in all. */
	struct {
		uint64_t as_number, i;
	} short_ones[SHORT_ONES];
	struct hp_text text;
};

static void release(struct count *c)
{
	free(c->all);
	free(c->slots);
	hp_text_release(&c->text);
}

/* Where the extension of a name begins: len if it has none. */
static inline size_t extension(const char *name, size_t len)
{
	size_t at = len, i = 0;

	while (at && name[at - 1] != '.')
		at--;
	if (at)
		at--;
	while (i < at && name[i] == '.')
		i++;
	return i < at ? at : len;
}

/* Twice the slots, so that half of them are free. */
static int grow(struct count *c)
{
	uint64_t slots = c->slots ? 2 * (c->mask + 1) : 64;
	uint64_t *p = calloc(slots, sizeof *p);

	if (!p)
		return -1;
	free(c->slots);
	c->slots = p;
	c->mask = slots - 1;
	for (uint64_t k = 0; k < c->n; k++) {
		uint64_t i = c->all[k].hash & c->mask;

		while (c->slots[i])
			i = (i + 1) & c->mask;
		c->slots[i] = k + 1;
	}
	return 0;
}

/* One that is not there yet, for the slot; NULL: no memory. */
static struct met *meet(struct count *c, uint64_t slot, const char *ext,
			size_t len)
{
	struct met *more = hp_more(c->all, c->n, sizeof *more);

	if (!more)
		return NULL;
	c->all = more;
	more += c->n;
	*more = (struct met){ .at = c->text.n, .len = len };
	hp_text_add(&c->text, ext, len);
	hp_text_add(&c->text, "", 1);
	if (c->text.failed)
		return NULL;
	c->slots[slot] = ++c->n;
	return more;
}

static struct met *find(struct count *c, const char *ext, size_t len)
{
	uint64_t hash = hp_hash64(ext, len), i;
	struct met *m;

	if (c->n >= (c->mask + 1) / 2 && grow(c) < 0)
		return NULL;
	for (i = hash & c->mask; c->slots[i]; i = (i + 1) & c->mask) {
		m = &c->all[c->slots[i] - 1];
		if (m->hash == hash && m->len == len &&
		    memcmp(c->text.p + m->at, ext, len) == 0)
			return m;
	}
	m = meet(c, i, ext, len);
	if (m)
		m->hash = hash;
	return m;
}

/* One of 1 to 8 bytes; 0: another. */
static inline uint64_t as_number(const char *ext, size_t len)
{
	uint64_t v = 0;

	if (len > sizeof v)
		return 0;
	for (size_t i = 0; i < len; i++)
		v = v << 8 | (uint8_t)ext[i];
	return v;
}

static inline unsigned short_place(uint64_t as_number)
{
	return (unsigned)(as_number * UINT64_C(0x9E3779B97F4A7C15) >> 58);
}

/* Its name is copied before anything is made of it. */
static int count_any(const struct hpdsl_snapshot *s, uint64_t number,
		     const struct hp_snap_row *row, struct count *c,
		     struct hpdsl_error *err)
{
	char name[HPDSL_PATH_MAX + 1];
	uint64_t v;
	struct met *m;
	size_t at;

	if (!hp_snap_copy_name(s, number, row, name, err))
		return HPDSL_ECORRUPT;
	at = extension(name, row->name_len);
	m = find(c, name + at, row->name_len - at);
	if (!m)
		return hp_fail_nomem(err);
	m->files++;
	m->bytes += row->size;
	v = as_number(name + at, m->len);
	if (v) {
		c->short_ones[short_place(v)].as_number = v;
		c->short_ones[short_place(v)].i = (uint64_t)(m - c->all);
	}
	return 0;
}

/* As nearly all are: short, and met before.  The number is the copy. */
static inline bool count_short(const struct hpdsl_snapshot *s, uint64_t number,
			       const struct hp_snap_row *row, struct count *c)
{
	const char *name = hp_snap_name(s, number, row, NULL);
	struct met *m;
	uint64_t v;
	size_t at;

	if (!name)
		return false;
	at = extension(name, row->name_len);
	v = as_number(name + at, row->name_len - at);
	if (!v || c->short_ones[short_place(v)].as_number != v)
		return false;
	m = &c->all[c->short_ones[short_place(v)].i];
	m->files++;
	m->bytes += row->size;
	return true;
}

static inline int count_one(const struct hpdsl_snapshot *s, uint64_t number,
			    struct count *c, struct hpdsl_error *err)
{
	struct hp_snap_row row;

	if (!hp_snap_row(s, number, &row, err))
		return HPDSL_ECORRUPT;
	if (!S_ISREG(row.mode) || count_short(s, number, &row, c))
		return 0;
	return count_any(s, number, &row, c, err);
}

static int by_files(const void *a, const void *b)
{
	const struct hpdsl_extension *x = a, *y = b;

	if (x->files != y->files)
		return x->files > y->files ? -1 : 1;
	return hp_name_compare(x->name, x->len, y->name, y->len);
}

/* In one block, the names behind the rows. */
static int64_t hand_out(const struct count *c, struct hpdsl_extension **ret,
			struct hpdsl_error *err)
{
	size_t rows = c->n * sizeof **ret;
	struct hpdsl_extension *e = malloc(rows + c->text.n + 1);
	char *names;

	if (!e)
		return hp_fail_nomem(err);
	names = (char *)e + rows;
	if (c->text.n)
		memcpy(names, c->text.p, c->text.n);
	for (uint64_t i = 0; i < c->n; i++)
		e[i] = (struct hpdsl_extension){
			.name = names + c->all[i].at,
			.len = c->all[i].len,
			.files = c->all[i].files,
			.bytes = c->all[i].bytes,
		};
	qsort(e, c->n, sizeof *e, by_files);
	*ret = e;
	return (int64_t)c->n;
}

int64_t hpdsl_snapshot_extensions(const struct hpdsl_snapshot *s,
				  uint64_t folder, struct hpdsl_extension **ret,
				  struct hpdsl_error *err)
{
	struct count c = { .all = NULL };
	uint64_t first, n, end;
	int64_t r = hpdsl_snapshot_folder(s, folder, &first, &n, &end, err);

	if (r < 0)
		return r;
	if (grow(&c) < 0)
		return hp_fail_nomem(err);
	for (uint64_t i = first; r == 0 && i < end; i++)
		r = count_one(s, i, &c, err);
	if (r == 0)
		r = hand_out(&c, ret, err);
	release(&c);
	return r;
}

void hpdsl_extensions_free(struct hpdsl_extension *e)
{
	free(e);
}
