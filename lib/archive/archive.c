/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through an archive and those inside it: a stack of layers, the top
 * one being read.  libarchive runs in the locale "C", for this thread only: it
 * then hands out tar's names as they are, and those it calls impossible to
 * convert too.
 */
#include "archive/private.h"

#include "base/archive_name.h"
#include "base/mem.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 16 };

/* Is the file an archive to go into?  1 and a new top, or 0. */
static int descend(struct hp_archive *a, const struct hp_archive_entry *e,
		   struct hpdsl_error *err)
{
	size_t n = hp_archive_suffix(e->path, e->path_len);
	struct hp_layer *l, *below = a->top;
	struct hpdsl_error why;
	int r;

	if (!a->nested || !n || e->type != HP_ARCHIVE_FILE)
		return 0;
	if (a->depth == DEPTH_MAX)
		return hp_archive_fail(a, HPDSL_ECORRUPT,
				       "archives are nested more than 16 deep",
				       err);
	if (a->enter && !a->enter(a->enter_arg))
		return hp_archive_fail(a, HPDSL_ESTOPPED, "stopped", err);
	l = calloc(1, sizeof *l);
	if (!l)
		return hp_fail_nomem(err);
	l->feed = (struct hp_feed){
		.a = a,
		.kind = e->in_place ? HP_FEED_REGION : HP_FEED_MEMBER,
		.base = e->offset,
		.len = e->size,
		.from = below->reader,
		.sparse = e->sparse,
	};
	l->prefix_len = e->path_len - n + 1;
	r = hp_layer_push(a, l, &why);
	if (r > 0) {
		a->path[l->prefix_len - 1] = '/';
		a->path[l->prefix_len] = '\0';
		return 1;
	}
	if (r == 0 && l->feed.kind == HP_FEED_MEMBER) {
		below->member = l->feed; /* with what was taken already */
		memset(&l->feed, 0, sizeof l->feed);
	}
	hp_layer_free(l);
	/* Not an archive after all is damage here. */
	if (r == HPDSL_ENOTOURS)
		r = HPDSL_ECORRUPT;
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

static int next(struct hp_archive *a, struct hp_archive_entry *ret,
		struct hpdsl_error *err)
{
	int r;

	if (a->failed.code)
		return hp_archive_fail(a, a->failed.code, a->failed.msg, err);
	a->in_file = false;
	for (;;) {
		if (a->stop && __atomic_load_n(a->stop, __ATOMIC_RELAXED))
			return hp_archive_fail(a, HPDSL_ESTOPPED, "stopped",
					       err);
		r = hp_layer_next(a, err);
		if (r < 0)
			return r;
		if (r == 0 && !a->top->below)
			return 0;
		if (r == 0) {
			hp_layer_pop(a);
			continue;
		}
		r = hp_layer_entry(a, ret, err);
		if (r == 0)
			r = descend(a, ret, err);
		if (r < 0)
			return r;
		if (r == 0)
			break;
	}
	if (ret->type == HP_ARCHIVE_FILE) {
		ret->ordinal = a->ordinal++;
		a->in_file = true;
		a->size = ret->size;
		a->done = 0;
		a->sparse = ret->sparse;
	}
	return 1;
}

int hp_archive_next(struct hp_archive *a, struct hp_archive_entry *ret,
		    struct hpdsl_error *err)
{
	locale_t old = uselocale(a->locale);
	struct hp_archive_entry e;
	int r = next(a, &e, err);

	uselocale(old);
	if (r > 0)
		*ret = e;
	if (r < 0 && !a->failed.code)
		hp_fail(&a->failed, r, "is damaged");
	return r;
}

/* ---- Contents --------------------------------------------------------- */

static ssize_t read_some(struct hp_archive *a, void *buf, size_t n)
{
	struct hp_layer *l = a->top;
	struct hp_feed *f = &l->member;
	const uint8_t *p = NULL;

	if (f->raw.at < f->raw.len) {
		size_t k = f->raw.len - f->raw.at;

		if (k > n)
			k = n;
		memcpy(buf, f->raw.head + f->raw.at, k);
		f->raw.at += k;
		return (ssize_t)k;
	}
	if (f->raw.rest_len) {
		size_t k = f->raw.rest_len < n ? f->raw.rest_len : n;

		p = f->raw.rest;
		memcpy(buf, p, k);
		f->raw.rest += k;
		f->raw.rest_len -= k;
		return (ssize_t)k;
	}
	return hp_reader_take(l->reader, buf, n, a->sparse);
}

/* In libarchive's words, which name no member. */
static int fail_content(const struct hp_archive *a, struct hpdsl_error *err)
{
	const char *why = archive_error_string(a->top->reader);
	const char *path = a->path + a->top->prefix_len;
	char name[HP_PRINTABLE], text[HP_PRINTABLE + 200];

	if (!why || a->failed.code || archive_errno(a->top->reader) == ENOMEM)
		return hp_archive_fail_reader(a, a->top->reader, err);
	snprintf(text, sizeof text, "member '%s': %.*s",
		 hp_printable(path, strlen(path), name),
		 (int)strcspn(why, "\n"), why);
	return hp_archive_fail(a, HPDSL_ECORRUPT, text, err);
}

static ssize_t read_file(struct hp_archive *a, void *buf, size_t n,
			 struct hpdsl_error *err)
{
	uint8_t more;
	ssize_t k;

	if (!a->in_file || a->done == a->size || !n)
		return 0;
	if (n > a->size - a->done)
		n = (size_t)(a->size - a->done);
	k = read_some(a, buf, n);
	if (k < 0)
		return fail_content(a, err);
	if (k == 0)
		return hp_archive_fail(
			a, HPDSL_ECORRUPT,
			"a content is shorter than its header says", err);
	a->done += (uint64_t)k;
	if (a->done < a->size)
		return k;
	/* Checksums are compared at the very end. */
	n = (size_t)k;
	k = read_some(a, &more, 1);
	if (k < 0)
		return fail_content(a, err);
	if (k > 0)
		return hp_archive_fail(
			a, HPDSL_ECORRUPT,
			"a content is longer than its header says", err);
	return (ssize_t)n;
}

ssize_t hp_archive_read(struct hp_archive *a, void *buf, size_t n,
			struct hpdsl_error *err)
{
	locale_t old = uselocale(a->locale);
	ssize_t r = read_file(a, buf, n, err);

	uselocale(old);
	return r;
}

/* libarchive's texts for what it could decode if it knew how. */
static bool is_unsupported(const char *why)
{
	return why &&
	       (strstr(why, "Unsupported") || strstr(why, "not supported") ||
		strstr(why, "Unknown codec") ||
		strstr(why, "Unexpected codec"));
}

int hp_archive_try(struct hp_archive *a, const struct hp_archive_entry *e,
		   struct hpdsl_error *err)
{
	uint64_t *tried = &a->tried[e->method / 64 % 2];
	uint64_t bit = UINT64_C(1) << e->method % 64;
	struct hpdsl_error why = { .code = 0 };
	char name[HP_PRINTABLE], text[HP_PRINTABLE + 200];
	uint8_t byte;
	ssize_t n;

	if (!e->method || !e->size || (e->method < 128 && *tried & bit))
		return 0;
	*tried |= bit;
	n = hp_archive_read(a, &byte, 1, &why);
	if (n >= 0)
		return 0;
	if (!is_unsupported(archive_error_string(a->top->reader)))
		return hp_fail(err, why.code, "%s", why.msg);
	hp_printable(e->path, e->path_len, name);
	if (e->method == UINT16_MAX)
		snprintf(text, sizeof text,
			 "member '%s': compressed or encrypted in a way that "
			 "cannot be decoded here: unpack it (7z x) and pack "
			 "the tree",
			 name);
	else
		snprintf(text, sizeof text,
			 "member '%s': compressed by method %d, which cannot "
			 "be decoded here: unpack it (unzip, 7z x) and pack "
			 "the tree",
			 name, e->method);
	return hp_archive_fail(a, -ENOTSUP, text, err);
}

/* ---- The archive file ------------------------------------------------- */

static int open_file(struct hp_archive *a, int dir, struct hpdsl_error *err)
{
	int r = a->io->open(a->io, dir, a->name,
			    O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	char name[HP_PRINTABLE];

	if (r >= 0) {
		a->fd = r;
		r = hp_io_fstat(a->io, r, &a->st);
	}
	if (r < 0)
		return hp_fail_errno(
			err, r, "%s",
			hp_printable(a->name, strlen(a->name), name));
	if (!S_ISREG(a->st.st_mode))
		return hp_archive_fail(a, HPDSL_ENOTOURS,
				       "is not a regular file", err);
	return 0;
}

/* It is no archive that is read here: what then? */
static int refuse_other(struct hp_archive *a, struct hp_layer *l,
			struct hpdsl_error *err)
{
	enum { VOLUME_AT = 32769 };
	const struct hp_ahead *h = &l->feed.raw;
	const char *what = hp_archive_kind(h->head, h->len);
	char text[256], volume[5];
	unsigned disk;

	if (!a->st.st_size)
		return hp_archive_fail(a, HPDSL_ENOTOURS,
				       "is empty, so it is no archive", err);
	if (!what && hp_feed_peek(&l->feed, volume, 5, VOLUME_AT) == 5 &&
	    !memcmp(volume, "CD001", 5))
		what = "an image of a disc (ISO 9660): unpack it (bsdtar -xf) "
		       "and pack the tree";
	if (!what && hp_zip_find_disk(l, &disk))
		what = hp_archive_kind_by_end(h->head, h->len, disk);
	if (!what)
		what = hp_archive_part(a->name);
	if (a->failed.code)
		return hp_archive_fail(a, a->failed.code, a->failed.msg, err);
	snprintf(text, sizeof text, "is %s",
		 what ? what :
			"neither a tar nor a zip nor a 7z: what is packed as "
			"it is has to lie in a folder that is the input");
	return hp_archive_fail(a, HPDSL_ENOTOURS, text, err);
}

static int open_bottom(struct hp_archive *a, struct hpdsl_error *err)
{
	struct hp_layer *l = calloc(1, sizeof *l);
	int r;

	if (!l)
		return hp_fail_nomem(err);
	l->feed = (struct hp_feed){ .a = a,
				    .kind = HP_FEED_REGION,
				    .len = (uint64_t)a->st.st_size };
	r = hp_layer_push(a, l, err);
	if (r > 0)
		return 0;
	if (r == 0)
		r = refuse_other(a, l, err);
	hp_layer_free(l);
	return r;
}

int hp_archive_open(const struct hp_io *io, int dir, const char *name,
		    bool nested, struct hp_archive **ret,
		    struct hpdsl_error *err)
{
	struct hp_archive *a = calloc(1, sizeof *a);
	locale_t old;
	int r;

	if (!a)
		return hp_fail_nomem(err);
	a->io = hp_io_or_system(io);
	a->fd = -1;
	a->nested = nested;
	a->name = strdup(name);
	a->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!a->name || !a->locale) {
		hp_archive_close(a);
		return hp_fail_nomem(err);
	}
	old = uselocale(a->locale);
	r = open_file(a, dir, err);
	if (r == 0)
		r = open_bottom(a, err);
	uselocale(old);
	if (r < 0) {
		hp_archive_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

void hp_archive_close(struct hp_archive *a)
{
	if (!a)
		return;
	while (a->top)
		hp_layer_pop(a);
	if (a->fd >= 0)
		a->io->close(a->io, a->fd);
	if (a->locale)
		freelocale(a->locale);
	free(a->window);
	free(a->target);
	free(a->path);
	free(a->name);
	free(a);
}

void hp_archive_set_stop(struct hp_archive *a, const int *stop)
{
	a->stop = stop;
}

void hp_archive_set_enter(struct hp_archive *a, bool (*enter)(void *arg),
			  void *arg)
{
	a->enter = enter;
	a->enter_arg = arg;
}

void hp_archive_set_tell(struct hp_archive *a,
			 void (*tell)(void *arg, const char *text), void *arg)
{
	a->tell = tell;
	a->tell_arg = arg;
}

uint64_t hp_archive_decoded(const struct hp_archive *a)
{
	return a->decoded;
}

const struct stat *hp_archive_stat(const struct hp_archive *a)
{
	return &a->st;
}
