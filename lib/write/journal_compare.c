/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a pack's input what it was when the journal was begun?  The stored list
 * and the new one have the same order, so one pass over both finds what was
 * added, removed and changed.
 */
#include "write/journal_file.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER = 256 << 10 };

/* Reads ahead; what is at hand is buf + at, n bytes. */
struct source {
	struct hp_journal *j;
	uint8_t *buf;
	size_t at, n;
	uint64_t off, end; /* what is still to be read */
};

static int fail_corrupt(struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s: checksum differs",
		       HP_JOURNAL_NAME);
}

/* Fills the buffer again, keeping what is at hand. */
static int refill(struct source *s, struct hpdsl_error *err)
{
	uint64_t left = s->end - s->off;
	size_t room = BUFFER - s->n;
	ssize_t r;

	memmove(s->buf, s->buf + s->at, s->n);
	s->at = 0;
	if (left < room)
		room = (size_t)left;
	r = hp_io_pread_full(s->j->io, s->j->fd, s->buf + s->n, room, s->off);
	if (r < 0)
		return hp_fail_errno(err, (int)r, HP_JOURNAL_NAME);
	if ((size_t)r < room)
		return fail_corrupt(err); /* the file ends too early */
	s->n += room;
	s->off += room;
	return 0;
}

/* The checksum over options and list, before any of it is believed. */
static int check_body(struct source *s, struct hpdsl_error *err)
{
	XXH3_state_t hash;

	XXH3_64bits_reset(&hash);
	while (s->off < s->end) {
		int r = refill(s, err);

		if (r < 0)
			return r;
		XXH3_64bits_update(&hash, s->buf, s->n);
		s->n = 0;
	}
	if (XXH3_64bits_digest(&hash) != s->j->head.body_checksum)
		return fail_corrupt(err);
	return 0;
}

static int compare_options(struct hp_journal *j, const struct hp_pairs *now,
			   struct hpdsl_error *err)
{
	size_t n = (size_t)j->head.options_bytes;
	hp_auto_free char *buf = hp_array(n, 1);
	struct hp_pairs was;
	ssize_t k;
	int r;

	if (!buf)
		return hp_fail_nomem(err);
	k = hp_io_pread_full(j->io, j->fd, buf, n, HP_JOURNAL_BODY);
	if (k < 0)
		return hp_fail_errno(err, (int)k, HP_JOURNAL_NAME);
	if ((size_t)k < n)
		return fail_corrupt(err);
	r = hp_journal_options_read(buf, n, &was, err);
	if (r < 0)
		return r;
	r = hp_pairs_compare(now, &was, err);
	hp_pairs_release(&was);
	return r;
}

/* 1: *ret is the next stored file, until the next call; 0: there is none. */
static int next_stored(struct source *s, struct hp_journal_file *ret,
		       struct hpdsl_error *err)
{
	ssize_t k = hp_journal_file_read(s->buf + s->at, s->n, ret);

	if (k == 0 && s->off < s->end) {
		int r = refill(s, err);

		if (r < 0)
			return r;
		k = hp_journal_file_read(s->buf + s->at, s->n, ret);
	}
	if (k < 0 || (k == 0 && s->n))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: the list is damaged",
			       HP_JOURNAL_NAME);
	s->at += (size_t)k;
	s->n -= (size_t)k;
	return k > 0;
}

static int compare_bytes(const char *a, size_t an, const char *b, size_t bn)
{
	int r = memcmp(a, b, an < bn ? an : bn);

	return r ? r : (an > bn) - (an < bn);
}

/* The order of hp_list_sort. */
static int compare_paths(const struct hp_key_rule *rule, const char *a,
			 size_t an, const char *b, size_t bn)
{
	int r;

	if (an == bn && !memcmp(a, b, an))
		return 0;
	r = compare_bytes(a, hp_key_length(rule, a, an), b,
			  hp_key_length(rule, b, bn));
	return r ? r : compare_bytes(a, an, b, bn);
}

/* What is different, and the first of it in words. */
struct difference {
	uint64_t changed, added, removed;
	char first[HP_PRINTABLE + 100];
};

static void name_first(struct difference *d, const char *path, size_t len,
		       const char *what)
{
	char name[HP_PRINTABLE];

	if (!*d->first)
		snprintf(d->first, sizeof d->first, "'%s' %s",
			 hp_printable(path, len, name), what);
}

/* One file that is in both. */
static void compare_file(struct difference *d,
			 const struct hp_journal_file *was,
			 const struct hp_file *now)
{
	char what[80];

	if (was->size != now->size)
		snprintf(what, sizeof what,
			 "is %" PRIu64 " bytes, was %" PRIu64, now->size,
			 was->size);
	else if (was->mtime != now->mtime || was->nsec != now->nsec)
		snprintf(what, sizeof what, "was modified");
	else if (was->mode != now->mode)
		snprintf(what, sizeof what, "has mode %04o, had %04o",
			 (unsigned)now->mode, (unsigned)was->mode);
	else
		return;
	d->changed++;
	name_first(d, now->path, now->path_len, what);
}

/* Goes through both lists at once. */
static int merge(struct source *s, const struct hp_list *list,
		 struct difference *d, struct hpdsl_error *err)
{
	struct hp_journal_file was;
	uint64_t stored = 0, i = 0;
	int have = next_stored(s, &was, err);

	while (have > 0 || (have == 0 && i < list->n_files)) {
		const struct hp_file *now = list->files + i;
		int order = have == 0 ? 1 : -1;

		if (have && i < list->n_files)
			order = compare_paths(&list->key, was.path,
					      was.path_len, now->path,
					      now->path_len);
		if (order < 0) {
			d->removed++;
			name_first(d, was.path, was.path_len, "is gone");
		} else if (order > 0) {
			d->added++;
			name_first(d, now->path, now->path_len, "is new");
		} else {
			compare_file(d, &was, now);
		}
		i += order >= 0;
		if (order <= 0) {
			stored++;
			have = next_stored(s, &was, err);
		}
	}
	if (have == 0 && stored != s->j->head.n_files)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: the list is damaged",
			       HP_JOURNAL_NAME);
	return have;
}

static int compare_list(struct source *s, const struct hp_list *list,
			struct hpdsl_error *err)
{
	struct difference d = { 0 };
	int r = merge(s, list, &d, err);

	if (r < 0 || !*d.first)
		return r;
	return hp_fail(err, HPDSL_EDIFFERS,
		       "the input has changed since the interrupted run: %s "
		       "(%" PRIu64 " changed, %" PRIu64 " added, %" PRIu64
		       " removed)",
		       d.first, d.changed, d.added, d.removed);
}

int hp_journal_compare(struct hp_journal *j, const struct hp_pairs *options,
		       const struct hp_list *list, struct hpdsl_error *err)
{
	uint64_t files = HP_JOURNAL_BODY + j->head.options_bytes;
	uint64_t end = files + j->head.list_bytes;
	hp_auto_free uint8_t *buf = malloc(BUFFER);
	struct source all = {
		.j = j, .buf = buf, .off = HP_JOURNAL_BODY, .end = end
	};
	struct source s = { .j = j, .buf = buf, .off = files, .end = end };
	int r;

	if (!buf)
		return hp_fail_nomem(err);
	r = check_body(&all, err);
	if (r == 0)
		r = compare_options(j, options, err);
	if (r == 0)
		r = compare_list(&s, list, err);
	return r;
}
