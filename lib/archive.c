/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through an archive and those inside it: a stack of layers, the top
 * one being read.  libarchive runs in the locale "C", for this thread only: it
 * then hands out tar's names as they are, and those it calls impossible to
 * convert too.
 */
#include "archive_private.h"

#include "bytes.h"
#include "mem.h"
#include "tar.h"

#include <errno.h>
#include <locale.h>
#include <string.h>
#include <strings.h>

enum {
	DEPTH_MAX = 16,
	TAIL_MAX = 16 << 20, /* looked at behind a tar's end mark */
};

size_t hp_archive_suffix(const char *name, size_t len)
{
	static const char *const suffixes[] = {
		".tar",	   ".tar.gz", ".tgz",	  ".tar.bz2", ".tbz2", ".tbz",
		".tar.xz", ".txz",    ".tar.zst", ".tzst",    ".zip",
	};
	size_t best = 0;

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		size_t n = strlen(suffixes[i]);

		if (n > best && n < len && name[len - n - 1] != '/' &&
		    !strncasecmp(name + len - n, suffixes[i], n))
			best = n;
	}
	return best;
}

/* ---- What libarchive calls ---------------------------------------------- */

static la_ssize_t layer_read(struct archive *reader, void *arg,
			     const void **ret)
{
	struct hp_layer *l = arg;
	ssize_t n = hp_feed_take(&l->feed, &l->piece);

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

/* ---- Errors ------------------------------------------------------------- */

/* "name: why", or "name: in inner/: why" */
static int fail(const struct hp_archive *a, int code, const char *why,
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

/* What a callback noted, or else the reader. */
static int fail_reader(const struct hp_archive *a, struct archive *reader,
		       struct hpdsl_error *err)
{
	const char *why = archive_error_string(reader);

	if (a->failed.code)
		return fail(a, a->failed.code, a->failed.msg, err);
	if (archive_errno(reader) == ENOMEM)
		return hp_fail_nomem(err);
	return fail(a, HPDSL_ECORRUPT, why ? why : "is damaged", err);
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

/* ---- Layers ------------------------------------------------------------- */

static void layer_free(struct hp_layer *l)
{
	if (l->reader)
		archive_read_free(l->reader);
	hp_feed_release(&l->feed);
	hp_feed_release(&l->member);
	free(l->names);
	free(l);
}

static int layer_begin(struct hp_layer *l)
{
	bool zip = l->feed.zip;
	int r;

	l->reader = archive_read_new();
	if (!l->reader)
		return -ENOMEM;
	r = zip ? archive_read_support_format_zip_seekable(l->reader) :
		  archive_read_support_format_tar(l->reader);
	if (r == ARCHIVE_OK)
		r = archive_read_set_read_callback(l->reader, layer_read);
	if (r == ARCHIVE_OK)
		r = archive_read_set_skip_callback(l->reader, layer_skip);
	if (r == ARCHIVE_OK && zip)
		r = archive_read_set_seek_callback(l->reader, layer_seek);
	if (r == ARCHIVE_OK)
		r = archive_read_set_callback_data(l->reader, l);
	return r == ARCHIVE_OK ? archive_read_open1(l->reader) : r;
}

/*
 * Puts a layer on top if its feed is an archive: 1, or 0 if it is none, and
 * then it is untouched but for what was looked at.
 */
static int layer_push(struct hp_archive *a, struct hp_layer *l,
		      struct hpdsl_error *err)
{
	int r = hp_feed_recognise(&l->feed);

	if (r > 0 && l->feed.zip && !hp_feed_seekable(&l->feed) &&
	    hp_feed_keep(&l->feed, l->feed.len) < 0)
		r = a->failed.code;
	if (r < 0)
		return fail(a, r, a->failed.msg, err);
	if (r == 0)
		return 0;
	r = l->feed.zip && hp_zip_is_empty(l) ? ARCHIVE_OK : layer_begin(l);
	if (r != ARCHIVE_OK && !l->reader)
		return hp_fail_nomem(err);
	if (r != ARCHIVE_OK && l->feed.zip && !a->failed.code &&
	    archive_errno(l->reader) != ENOMEM)
		return fail(a, HPDSL_ECORRUPT,
			    "the zip's directory is not there: it was cut off, "
			    "or is damaged",
			    err);
	if (r != ARCHIVE_OK)
		return fail_reader(a, l->reader, err);
	l->below = a->top;
	a->top = l;
	a->depth++;
	return 1;
}

static void layer_pop(struct hp_archive *a)
{
	struct hp_layer *l = a->top;

	a->top = l->below;
	a->depth--;
	layer_free(l);
}

/* ---- The end of a tar --------------------------------------------------- */

/* Looks at blocks that are handed over in pieces of any size. */
struct tail {
	uint8_t block[512];
	size_t n;
	uint64_t seen;
	bool more; /* there is a header */
};

static void tail_add(struct tail *t, const uint8_t *p, size_t n)
{
	t->seen += n;
	while (n && !t->more) {
		size_t k = sizeof t->block - t->n;

		if (k > n)
			k = n;
		memcpy(t->block + t->n, p, k);
		t->n += k;
		p += k;
		n -= k;
		if (t->n < sizeof t->block)
			return;
		t->n = 0;
		t->more = t->block[257] && hp_tar_looks_like(t->block);
	}
}

/*
 * A tar without its end mark was cut off, between two members; what is behind
 * the mark is read to see that decoders have no complaint, and that it is not
 * a second tar, of which libarchive would tell nothing.
 */
static int check_end(struct hp_archive *a, struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	uint64_t at = (uint64_t)archive_filter_bytes(l->reader, 0);
	struct tail t = { .n = 0 };
	const uint8_t *p = NULL;
	uint64_t left = l->given - at;
	ssize_t n;

	if (l->feed.zip)
		return hp_zip_check_count(l) < 0 ?
			       fail(a, a->failed.code, a->failed.msg, err) :
			       0;
	if (at == l->next)
		return fail(a, HPDSL_ECORRUPT,
			    "the tar has no end mark: it was cut off", err);
	if (left <= l->piece_len)
		tail_add(&t, l->piece + l->piece_len - left, (size_t)left);
	while (t.seen < TAIL_MAX && !t.more) {
		n = hp_feed_take(&l->feed, &p);
		if (n < 0)
			return fail(a, a->failed.code, a->failed.msg, err);
		if (n == 0)
			return 0;
		tail_add(&t, p, (size_t)n);
	}
	if (t.more)
		return fail(a, HPDSL_ECORRUPT,
			    "another tar follows the end mark, which readers "
			    "would not see: split it",
			    err);
	return 0;
}

/* ---- Things in the archive ---------------------------------------------- */

static int path_set(struct hp_archive *a, size_t at, const char *s, size_t n,
		    struct hpdsl_error *err)
{
	if (a->path_cap < at + n + 2) {
		char *more = realloc(a->path, at + n + 258);

		if (!more)
			return hp_fail_nomem(err);
		a->path = more;
		a->path_cap = at + n + 258;
	}
	if (n)
		memcpy(a->path + at, s, n);
	a->path[at + n] = '\0';
	return 0;
}

static enum hp_archive_type type_of(struct archive_entry *e)
{
	if (archive_entry_hardlink(e))
		return HP_ARCHIVE_HARDLINK;
	switch (archive_entry_filetype(e)) {
	case AE_IFREG:
		return HP_ARCHIVE_FILE;
	case AE_IFDIR:
		return HP_ARCHIVE_FOLDER;
	case AE_IFLNK:
		return HP_ARCHIVE_SYMLINK;
	default:
		return HP_ARCHIVE_SPECIAL;
	}
}

static void set_target(struct hp_archive_entry *ret, const char *s)
{
	ret->target = s;
	ret->target_len = s ? strlen(s) : 0;
}

static int fill_zip(struct hp_archive *a, struct hp_archive_entry *ret,
		    const char **path, size_t *path_len,
		    struct hpdsl_error *err)
{
	struct hp_zip_facts z;
	int r = hp_zip_facts(a->top, &z);

	if (r < 0)
		return fail(a, r, a->failed.msg, err);
	if (z.has_time) {
		ret->mtime = z.mtime;
		ret->nsec = 0;
	}
	if (!*path) {
		*path = z.path;
		*path_len = z.path_len;
	}
	if (ret->type == HP_ARCHIVE_SYMLINK && !ret->target) {
		ret->target = z.target;
		ret->target_len = z.target_len;
	}
	ret->in_place = ret->in_place && z.stored;
	ret->has_crc = ret->in_place;
	ret->crc = z.crc;
	return 0;
}

/* The layer's entry as ours; its path behind the layer's folder. */
static int fill(struct hp_archive *a, struct hp_archive_entry *ret,
		struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	struct archive_entry *e = l->entry;
	const char *path = archive_entry_pathname(e);
	size_t len = path ? strlen(path) : 0;
	int64_t size = archive_entry_size(e);
	int r = 0;

	*ret = (struct hp_archive_entry){
		.type = type_of(e),
		.inner_len = l->prefix_len,
		.size = size > 0 ? (uint64_t)size : 0,
		.mtime = archive_entry_mtime(e),
		.nsec = (uint32_t)archive_entry_mtime_nsec(e),
		.mode = archive_entry_perm(e) & 07777,
		.sparse = archive_entry_sparse_count(e) > 0,
		.offset = l->feed.base +
			  (uint64_t)archive_filter_bytes(l->reader, 0),
	};
	/* "-1.25" is -1 and .25 to libarchive. */
	if (ret->mtime < 0 && ret->nsec && ret->nsec < 1000000000) {
		ret->mtime--;
		ret->nsec = 1000000000 - ret->nsec;
	}
	ret->in_place = ret->type == HP_ARCHIVE_FILE && !ret->sparse &&
			l->feed.kind == HP_FEED_REGION && !l->feed.decoder;
	if (ret->type == HP_ARCHIVE_SYMLINK)
		set_target(ret, archive_entry_symlink(e));
	else if (ret->type == HP_ARCHIVE_HARDLINK)
		set_target(ret, archive_entry_hardlink(e));
	if (l->feed.zip)
		r = fill_zip(a, ret, &path, &len, err);
	if (r == 0)
		r = path_set(a, l->prefix_len, path, len, err);
	if (r < 0)
		return r;
	ret->path = a->path;
	ret->path_len = l->prefix_len + len;
	if (size < 0)
		return fail(a, HPDSL_ECORRUPT, "a size is negative", err);
	if (archive_entry_is_encrypted(e))
		return fail(a, -ENOTSUP, "is encrypted", err);
	if (ret->in_place &&
	    !hp_within(ret->offset - l->feed.base, ret->size, l->feed.len))
		return fail(a, HPDSL_ECORRUPT, "is cut off", err);
	return 0;
}

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
		return fail(a, HPDSL_ECORRUPT,
			    "archives are nested more than 16 deep", err);
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
	r = layer_push(a, l, &why);
	if (r > 0) {
		a->path[l->prefix_len - 1] = '/';
		a->path[l->prefix_len] = '\0';
		return 1;
	}
	if (r == 0 && l->feed.kind == HP_FEED_MEMBER) {
		below->member = l->feed; /* with what was taken already */
		memset(&l->feed, 0, sizeof l->feed);
	}
	layer_free(l);
	/* Not an archive after all is damage here. */
	if (r == HPDSL_ENOTOURS)
		r = HPDSL_ECORRUPT;
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

/*
 * A sparse file was passed over: did it take the room that its map says?  What
 * is missing would be zeros.
 */
static int check_sparse(struct hp_archive *a, uint64_t begin,
			struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	uint64_t sum = 0, used = (uint64_t)archive_filter_bytes(l->reader, 0);
	la_int64_t offset, len;

	if (!archive_entry_sparse_reset(l->entry) || l->feed.zip)
		return 0;
	while (archive_entry_sparse_next(l->entry, &offset, &len) == ARCHIVE_OK)
		if (__builtin_add_overflow(sum, (uint64_t)len, &sum))
			sum = UINT64_MAX / 2;
	if (used - begin == hp_tar_padded(sum))
		return 0;
	return fail(a, HPDSL_ECORRUPT,
		    "a sparse file's map does not fit its content", err);
}

/* What is left of the last file; then the next header: 1, 0 or a code. */
static int next_header(struct hp_archive *a, struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	int r = ARCHIVE_OK;

	hp_feed_release(&l->member);
	if (l->feed.zip && hp_zip_is_empty(l))
		return 0;
	if (l->feed.zip && !l->entries && hp_zip_first(l) < 0)
		return fail(a, a->failed.code, a->failed.msg, err);
	if (l->entry)
		r = archive_read_data_skip(l->reader);
	if (r != ARCHIVE_OK)
		return fail_reader(a, l->reader, err);
	if (l->entry && check_sparse(a, l->content, err) < 0)
		return HPDSL_ECORRUPT;
	l->next = (uint64_t)archive_filter_bytes(l->reader, 0);
	r = archive_read_next_header(l->reader, &l->entry);
	if (r == ARCHIVE_EOF) {
		r = check_end(a, err);
		return r < 0 ? r : 0;
	}
	l->content = (uint64_t)archive_filter_bytes(l->reader, 0);
	l->entries++;
	if (r == ARCHIVE_OK || (r == ARCHIVE_WARN && is_harmless(l->reader)))
		return 1;
	return fail_reader(a, l->reader, err);
}

static int next(struct hp_archive *a, struct hp_archive_entry *ret,
		struct hpdsl_error *err)
{
	int r;

	if (a->failed.code)
		return fail(a, a->failed.code, a->failed.msg, err);
	a->in_file = false;
	for (;;) {
		if (a->stop && __atomic_load_n(a->stop, __ATOMIC_RELAXED))
			return fail(a, HPDSL_ESTOPPED, "stopped", err);
		r = next_header(a, err);
		if (r < 0)
			return r;
		if (r == 0 && !a->top->below)
			return 0;
		if (r == 0) {
			layer_pop(a);
			continue;
		}
		r = fill(a, ret, err);
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

/* ---- Contents ----------------------------------------------------------- */

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
		return fail_reader(a, a->top->reader, err);
	if (k == 0)
		return fail(a, HPDSL_ECORRUPT,
			    "a content is shorter than its header says", err);
	a->done += (uint64_t)k;
	if (a->done < a->size)
		return k;
	/* Checksums are compared at the very end. */
	n = (size_t)k;
	k = read_some(a, &more, 1);
	if (k < 0)
		return fail_reader(a, a->top->reader, err);
	if (k > 0)
		return fail(a, HPDSL_ECORRUPT,
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

/* ---- The archive file --------------------------------------------------- */

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
		return fail(a, HPDSL_ENOTOURS, "is not a regular file", err);
	return 0;
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
	r = layer_push(a, l, err);
	if (r > 0)
		return 0;
	layer_free(l);
	return r < 0 ? r :
		       fail(a, HPDSL_ENOTOURS,
			    a->st.st_size ? "is neither a tar nor a zip" :
					    "is empty, so it is no archive",
			    err);
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
		layer_pop(a);
	if (a->fd >= 0)
		a->io->close(a->io, a->fd);
	if (a->locale)
		freelocale(a->locale);
	free(a->window);
	free(a->path);
	free(a->name);
	free(a);
}

void hp_archive_set_stop(struct hp_archive *a, const int *stop)
{
	a->stop = stop;
}

uint64_t hp_archive_decoded(const struct hp_archive *a)
{
	return a->decoded;
}

uint64_t hp_archive_position(const struct hp_archive *a)
{
	return a->position;
}

const struct stat *hp_archive_stat(const struct hp_archive *a)
{
	return &a->st;
}
