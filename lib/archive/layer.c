/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer: libarchive's reader over a feed, from header to header, and the
 * checks that it leaves out.
 */
#include "archive/private.h"

#include "chunk/tar_tail.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What libarchive calls -------------------------------------------- */

static la_ssize_t layer_read(struct archive *reader, void *arg,
			     const void **ret)
{
	struct hp_layer *l = arg;
	ssize_t n = hp_headers_next_piece(l);

	if (n == 0)
		n = hp_feed_take(&l->feed, &l->piece);
	*ret = l->piece;
	l->piece_len = n > 0 ? (size_t)n : 0;
	l->given += l->piece_len;
	if (n >= 0)
		return n;
	archive_set_error(reader, EIO, "%s", l->feed.a->failed.msg);
	return ARCHIVE_FATAL;
}

static la_int64_t layer_skip(struct archive *reader, void *arg, la_int64_t n)
{
	struct hp_layer *l = arg;
	uint64_t skipped;

	(void)reader;
	skipped = n > 0 ? hp_feed_skip(&l->feed, (uint64_t)n) : 0;
	l->given += skipped;
	if (skipped)
		l->piece_len = 0;
	return (la_int64_t)skipped;
}

static la_int64_t layer_seek(struct archive *reader, void *arg, la_int64_t to,
			     int whence)
{
	struct hp_layer *l = arg;
	int64_t from = 0;

	if (whence == SEEK_CUR)
		from = (int64_t)l->feed.at;
	else if (whence == SEEK_END)
		from = (int64_t)l->feed.len;
	if (__builtin_add_overflow(from, to, &to) || to < 0) {
		archive_set_error(reader, EINVAL, "impossible offset");
		return ARCHIVE_FATAL;
	}
	hp_feed_seek(&l->feed, (uint64_t)to);
	return (la_int64_t)l->feed.at;
}

/* ---- Errors ----------------------------------------------------------- */

/* "name: why", or "name: in inner/: why" */
int hp_archive_fail(const struct hp_archive *a, int code, const char *why,
		    struct hpdsl_error *err)
{
	size_t n = a->top ? a->top->prefix_len : 0;
	char name[HP_PRINTABLE], inner[HP_PRINTABLE];

	hp_printable(a->name, strlen(a->name), name);
	if (!n)
		return hp_fail(err, code, "%s: %s", name, why);
	return hp_fail(err, code, "%s: in %s: %s", name,
		       hp_printable(a->path, n, inner), why);
}

void hp_archive_tell(const struct hp_archive *a, const char *why)
{
	struct hpdsl_error line;

	if (!a->tell)
		return;
	hp_archive_fail(a, 0, why, &line);
	a->tell(a->tell_arg, line.msg);
}

/* It calls what it cannot inflate a method that it does not know. */
static const char *reason_of(struct archive *reader)
{
	const char *why = archive_error_string(reader);

	return why && strstr(why, "of link entry (8:") ?
		       "a symbolic link's target is damaged" :
		       why;
}

/* What a callback noted, or else the reader. */
int hp_archive_fail_reader(const struct hp_archive *a, struct archive *reader,
			   struct hpdsl_error *err)
{
	const char *why = reason_of(reader);

	if (a->failed.code)
		return hp_archive_fail(a, a->failed.code, a->failed.msg, err);
	if (archive_errno(reader) == ENOMEM)
		return hp_fail_nomem(err);
	return hp_archive_fail(a, HPDSL_ECORRUPT, why ? why : "is damaged",
			       err);
}

/* A 7z of which not even the names are to be had. */
static int fail_seven(const struct hp_archive *a, const char *why,
		      struct hpdsl_error *err)
{
	const char *part = hp_archive_part(a->name);
	char text[sizeof err->msg];

	if (why && strstr(why, "encrypted"))
		return hp_archive_fail(a, -ENOTSUP,
				       "its names are encrypted: unpack it (7z "
				       "x) and pack the tree",
				       err);
	snprintf(text, sizeof text, "%s%.150s%s",
		 part ? "is " : "the 7z cannot be read: ",
		 part ? part :
		 why  ? why :
			"it is damaged or cut off",
		 part ? "" :
			": join its parts if there are several (cat), or "
			"unpack it (7z x) and pack the tree");
	return hp_archive_fail(a, HPDSL_ECORRUPT, text, err);
}

/* The same at a header that the walk is at: of a tar with its place. */
static int fail_header(const struct hp_archive *a, const struct hp_layer *l,
		       struct hpdsl_error *err)
{
	const char *why = reason_of(l->reader);
	char text[sizeof err->msg];

	if (l->feed.seven && !a->failed.code)
		return fail_seven(a, why, err);
	/* libarchive goes through a zip in the order of its members. */
	if (l->feed.zip && !a->failed.code && why && l->entries &&
	    l->entries <= l->zip.n_names &&
	    archive_errno(l->reader) != ENOMEM) {
		snprintf(text, sizeof text, "member at offset %" PRIu64 ": %s",
			 l->zip.names[l->entries - 1].offset, why);
		return hp_archive_fail(a, HPDSL_ECORRUPT, text, err);
	}
	/* What a decoder says has no place in the tar. */
	if (!l->headers || a->failed.code || archive_errno(l->reader) == ENOMEM)
		return hp_archive_fail_reader(a, l->reader, err);
	snprintf(text, sizeof text, "at offset %" PRIu64 ": %s", l->next,
		 why ? why : "is damaged");
	return hp_archive_fail(a, HPDSL_ECORRUPT, text, err);
}

/* What our reader says of the headers there; most texts name the member. */
static int fail_ours(struct hp_archive *a, const struct hp_layer *l, int r,
		     struct hpdsl_error *err)
{
	char text[sizeof err->msg];

	if (r != HPDSL_ECORRUPT || !strncmp(a->failed.msg, "member ", 7))
		return hp_archive_fail(a, r, a->failed.msg, err);
	snprintf(text, sizeof text, "at offset %" PRIu64 ": %.200s", l->next,
		 a->failed.msg);
	return hp_archive_fail(a, r, text, err);
}

/*
 * Of libarchive's warnings one is harmless: that a name is not the locale's.
 * All others say that something is not as it was written.
 */
static bool is_harmless(struct archive *reader)
{
	const char *why = archive_error_string(reader);

	return why && (strstr(why, "can't be converted") ||
		       strstr(why, "cannot be converted"));
}

/* ---- Layers ----------------------------------------------------------- */

void hp_layer_free(struct hp_layer *l)
{
	if (l->reader)
		archive_read_free(l->reader);
	hp_feed_release(&l->feed);
	hp_feed_release(&l->member);
	hp_headers_free(l->headers);
	free(l->zip.names);
	free(l);
}

/*
 * libarchive makes UTF-8 of a 7z's names only where that is the locale's; a
 * system without such a locale can read names of ASCII alone.
 */
static void use_utf8(struct hp_archive *a)
{
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);

	if (!utf8)
		return;
	uselocale(utf8);
	freelocale(a->locale);
	a->locale = utf8;
}

static int layer_begin(struct hp_layer *l)
{
	bool zip = l->feed.zip, seven = l->feed.seven;
	int r;

	if (seven)
		use_utf8(l->feed.a);
	l->reader = archive_read_new();
	if (!l->reader || (!zip && !seven && hp_headers_new(l) < 0))
		return -ENOMEM;
	r = zip	  ? archive_read_support_format_zip_seekable(l->reader) :
	    seven ? archive_read_support_format_7zip(l->reader) :
		    archive_read_support_format_tar(l->reader);
	if (r == ARCHIVE_OK)
		r = archive_read_set_read_callback(l->reader, layer_read);
	if (r == ARCHIVE_OK)
		r = archive_read_set_skip_callback(l->reader, layer_skip);
	if (r == ARCHIVE_OK && (zip || seven))
		r = archive_read_set_seek_callback(l->reader, layer_seek);
	if (r == ARCHIVE_OK)
		r = archive_read_set_callback_data(l->reader, l);
	return r == ARCHIVE_OK ? archive_read_open1(l->reader) : r;
}

static int fail_no_directory(const struct hp_archive *a,
			     struct hpdsl_error *err)
{
	const char *part = hp_archive_part(a->name);
	char text[160];

	snprintf(text, sizeof text, "%s%s",
		 part ? "is " :
			"the zip's directory is not there: it was cut off, or "
			"is damaged",
		 part ? part : "");
	return hp_archive_fail(a, HPDSL_ECORRUPT, text, err);
}

/*
 * Puts a layer on top if its feed is an archive: 1, or 0 if it is none, and
 * then it is untouched but for what was looked at.
 */
int hp_layer_push(struct hp_archive *a, struct hp_layer *l,
		  struct hpdsl_error *err)
{
	int r = hp_feed_recognise(&l->feed);

	if (r > 0 && l->feed.zip && !hp_feed_seekable(&l->feed) &&
	    hp_feed_keep(&l->feed, l->feed.len) < 0)
		r = a->failed.code;
	if (r > 0 && l->feed.zip && hp_zip_begin(l) < 0)
		r = a->failed.code;
	if (r < 0)
		return hp_archive_fail(a, r, a->failed.msg, err);
	if (r == 0)
		return 0;
	r = l->feed.zip && hp_zip_is_empty(l) ? ARCHIVE_OK : layer_begin(l);
	if (r == -ENOMEM)
		return hp_fail_nomem(err);
	if (r != ARCHIVE_OK && l->feed.zip && !a->failed.code &&
	    archive_errno(l->reader) != ENOMEM)
		return fail_no_directory(a, err);
	if (r != ARCHIVE_OK)
		return hp_archive_fail_reader(a, l->reader, err);
	l->below = a->top;
	a->top = l;
	a->depth++;
	return 1;
}

void hp_layer_pop(struct hp_archive *a)
{
	struct hp_layer *l = a->top;

	a->top = l->below;
	a->depth--;
	hp_layer_free(l);
}

/* ---- The end of a tar ------------------------------------------------- */

/*
 * A tar without its end mark may have been cut off, between two members, or was
 * never closed by its writer: that is told.  What is behind the mark is read to
 * see that decoders have no complaint, and that it is not a second tar, of
 * which libarchive would tell nothing.
 */
static int check_end(struct hp_archive *a, struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	uint64_t at = (uint64_t)archive_filter_bytes(l->reader, 0);
	struct hp_tar_tail t = { .n = 0 };
	const uint8_t *p = NULL;
	char text[160];
	ssize_t n;

	if (l->feed.zip && hp_zip_check_count(l) < 0)
		return hp_archive_fail(a, a->failed.code, a->failed.msg, err);
	if (l->feed.zip && hp_zip_say_gaps(l, text, sizeof text))
		hp_archive_tell(a, text);
	/* Its headers have a checksum, and each content, as it was read. */
	if (l->feed.zip || l->feed.seven)
		return 0;
	if (at == l->next) {
		hp_archive_tell(a, "the tar has no end mark: it was cut off "
				   "behind a file, or its writer did not close "
				   "it");
		return 0;
	}
	hp_headers_add_tail(l, at, &t);
	while (t.seen < HP_TAR_TAIL_MAX && !t.more) {
		n = hp_feed_take(&l->feed, &p);
		if (n < 0)
			return hp_archive_fail(a, a->failed.code, a->failed.msg,
					       err);
		if (n == 0)
			return 0;
		hp_tar_tail_add(&t, p, (size_t)n);
	}
	if (t.more)
		return hp_archive_fail(a, HPDSL_ECORRUPT, HP_TAR_TAIL_WHY, err);
	return 0;
}

/* ---- From header to header -------------------------------------------- */

/* What is left of the last file; then the next header: 1, 0 or a code. */
int hp_layer_next(struct hp_archive *a, struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	int r = ARCHIVE_OK;

	hp_feed_release(&l->member);
	if (l->feed.zip && hp_zip_is_empty(l))
		return 0;
	if (l->feed.zip && !l->entries && hp_zip_load_names(l) < 0)
		return hp_archive_fail(a, a->failed.code, a->failed.msg, err);
	if (l->entry)
		r = archive_read_data_skip(l->reader);
	if (r != ARCHIVE_OK)
		return hp_archive_fail_reader(a, l->reader, err);
	l->next = (uint64_t)archive_filter_bytes(l->reader, 0);
	if (l->entry && hp_headers_check_room(l, l->next - l->content) < 0)
		return hp_archive_fail(a, a->failed.code, a->failed.msg, err);
	hp_headers_begin(l);
	r = archive_read_next_header(l->reader, &l->entry);
	if (r == ARCHIVE_EOF) {
		r = check_end(a, err);
		return r < 0 ? r : 0;
	}
	l->content = (uint64_t)archive_filter_bytes(l->reader, 0);
	l->entries++;
	if (r != ARCHIVE_OK && (r != ARCHIVE_WARN || !is_harmless(l->reader)))
		return fail_header(a, l, err);
	r = hp_headers_end(l);
	return r < 0 ? fail_ours(a, l, r, err) : 1;
}
