/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot as text: each folder's line followed by what is below it, names
 * sorted.  What it needs is a stack as deep as the tree, and no more.
 */
#include "snap/text.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "snap/siblings.h"

#include <errno.h>
#include <string.h>

enum {
	PIECE = 256 * 1024, /* what the sink gets at a time, about */
	FIELDS = 128,	    /* more than all but path and target take */
	PATH_ROOM = 4 * (HPDSL_PATH_MAX + 1),
};

/* A folder whose entries are being printed. */
struct level {
	struct hp_siblings range;
	size_t path_len, text_len; /* of its path with the slash */
};

struct dump {
	const struct hpdsl_snapshot *snap;
	int (*sink)(void *arg, const void *buf, size_t n,
		    struct hpdsl_error *err);
	void *arg;
	bool from_dataset;
	struct level *levels;
	size_t depth, room;
	char *out; /* n of cap bytes wait for the sink */
	size_t n, cap;
	char path[PATH_ROOM]; /* of the innermost folder, escaped */
};

static int flush(struct dump *d, struct hpdsl_error *err)
{
	int r = d->n ? d->sink(d->arg, d->out, d->n, err) : 0;

	d->n = 0;
	return r;
}

/* Room for need bytes more. */
static int reserve(struct dump *d, size_t need, struct hpdsl_error *err)
{
	char *p;
	int r;

	if (need <= d->cap - d->n)
		return 0;
	r = flush(d, err);
	if (r || need <= d->cap)
		return r;
	need = need < PIECE ? PIECE : need;
	p = realloc(d->out, need);
	if (!p)
		return hp_fail_nomem(err);
	d->out = p;
	d->cap = need;
	return 0;
}

/* ---- Fields, once there is room for them ------------------------------ */

static void put(struct dump *d, const char *s, size_t n)
{
	if (n)
		memcpy(d->out + d->n, s, n);
	d->n += n;
}

static void put_char(struct dump *d, char c)
{
	d->out[d->n++] = c;
}

/* Decimal, at least so many digits. */
static void put_number(struct dump *d, uint64_t v, int digits)
{
	char text[24], *end = text + sizeof text, *s = end;

	while (v || end - s < digits) {
		*--s = (char)('0' + v % 10);
		v /= 10;
	}
	put(d, s, (size_t)(end - s));
}

static void put_mode(struct dump *d, uint32_t mode)
{
	put_char(d, hp_snap_type_letter(mode));
	put_char(d, ' ');
	for (int shift = 9; shift >= 0; shift -= 3)
		put_char(d, (char)('0' + (mode >> shift & 7)));
	put_char(d, ' ');
}

static void put_fields(struct dump *d, const struct hpdsl_entry *e,
		       uint64_t checksum)
{
	uint64_t seconds =
		e->mtime < 0 ? -(uint64_t)e->mtime : (uint64_t)e->mtime;

	put_mode(d, e->mode);
	put_number(d, e->size, 1);
	put(d, e->mtime < 0 ? " -" : " ", e->mtime < 0 ? 2 : 1);
	put_number(d, seconds, 1);
	put_char(d, '.');
	put_number(d, e->mtime_nsec, 9);
	put_char(d, ' ');
	if (e->member == HPDSL_NO_MEMBER) {
		put(d, "- - ", 4);
		return;
	}
	put_number(d, e->member, 1);
	put_char(d, ' ');
	for (int shift = 60; shift >= 0; shift -= 4)
		put_char(d, "0123456789abcdef"[checksum >> shift & 15]);
	put_char(d, ' ');
}

/* ---- Lines ------------------------------------------------------------ */

/* text is the path, escaped. */
static int put_line(struct dump *d, const struct hpdsl_entry *e,
		    const char *text, size_t text_len, struct hpdsl_error *err)
{
	bool link = S_ISLNK(e->mode);
	const char *target = NULL;
	uint64_t checksum = 0, need = FIELDS + text_len, target_need;
	int r = 0;

	if (!hp_snap_type_letter(e->mode))
		return hp_snap_bad_entry(d->snap, e->number,
					 "is of no type that there is", err);
	if (e->member != HPDSL_NO_MEMBER)
		r = hpdsl_snapshot_checksum(d->snap, e, &checksum, err);
	else if (link)
		r = hpdsl_snapshot_target(d->snap, e, &target, err);
	if (r < 0)
		return r;
	if (link &&
	    (__builtin_mul_overflow(e->size, UINT64_C(4), &target_need) ||
	     __builtin_add_overflow(need, target_need, &need)))
		return hp_fail_nomem(err);
	r = reserve(d, need, err);
	if (r)
		return r;
	put_fields(d, e, checksum);
	put(d, text, text_len);
	if (link) {
		put_char(d, '\t');
		d->n += hp_snap_escape(target, e->size, d->out + d->n);
	}
	put_char(d, '\n');
	return 0;
}

static int put_first(struct dump *d, struct hpdsl_error *err)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_entry top;
	char hex[33];
	int r = reserve(d, PIECE, err);

	if (r)
		return r;
	put(d, HP_SNAP_TEXT_FIRST, strlen(HP_SNAP_TEXT_FIRST));
	hpdsl_snapshot_info(d->snap, &info);
	d->from_dataset = info.from_dataset;
	if (info.from_dataset) {
		put(d, "dataset ", 8);
		hp_hex128(info.dataset_id, hex);
		put(d, hex, 32);
		put_char(d, ' ');
		hp_hex128(info.pack, hex);
		put(d, hex, 32);
		put_char(d, '\n');
	}
	r = hpdsl_snapshot_stat(d->snap, 0, &top, err);
	return r < 0 ? r : put_line(d, &top, ".", 1, err);
}

/* ---- From folder to folder -------------------------------------------- */

/* Goes into a folder, whose path with the slash is in d->path. */
static int enter(struct dump *d, uint64_t folder, size_t path_len,
		 size_t text_len, struct hpdsl_error *err)
{
	struct level *l;
	int r;

	if (d->depth == d->room) {
		size_t room = d->room ? 2 * d->room : 64;

		l = reallocarray(d->levels, room, sizeof *l);
		if (!l)
			return hp_fail_nomem(err);
		d->levels = l;
		d->room = room;
	}
	l = &d->levels[d->depth];
	r = hp_siblings_open(&l->range, d->snap, folder, err);
	if (r < 0)
		return r;
	l->path_len = path_len;
	l->text_len = text_len;
	d->depth++;
	return 0;
}

/* The next entry of the innermost folder. */
static int put_next(struct dump *d, struct hpdsl_error *err)
{
	struct level *l = &d->levels[d->depth - 1];
	struct hpdsl_entry e;
	size_t path_len, text_len;
	int r = hp_siblings_get(&l->range, d->snap, &e, err);

	if (r < 0)
		return r;
	hp_siblings_skip(&l->range, &e);
	path_len = l->path_len + e.name_len;
	if (path_len > HPDSL_PATH_MAX)
		return hp_snap_bad_entry(d->snap, e.number,
					 "has too long a path", err);
	text_len = l->text_len +
		   hp_snap_escape(e.name, e.name_len, d->path + l->text_len);
	r = put_line(d, &e, d->path, text_len, err);
	if (r || !S_ISDIR(e.mode))
		return r;
	d->path[text_len++] = '/';
	return enter(d, e.number, path_len + 1, text_len, err);
}

static int put_all(struct dump *d, struct hpdsl_error *err)
{
	int r = put_first(d, err);

	if (r == 0)
		r = enter(d, 0, 0, 0, err);
	while (r == 0 && d->depth) {
		const struct hp_siblings *range =
			&d->levels[d->depth - 1].range;

		if (range->next == range->end)
			d->depth--;
		else
			r = put_next(d, err);
	}
	return r ? r : flush(d, err);
}

int hpdsl_snapshot_dump(const struct hpdsl_snapshot *s,
			int (*sink)(void *arg, const void *buf, size_t n,
				    struct hpdsl_error *err),
			void *arg, struct hpdsl_error *err)
{
	struct dump *hp_auto_free d = calloc(1, sizeof *d);
	int r;

	if (!d)
		return hp_fail_nomem(err);
	d->snap = s;
	d->sink = sink;
	d->arg = arg;
	r = put_all(d, err);
	free(d->levels);
	free(d->out);
	return r;
}
