/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a chunk's file: from the page cache what it has, in slices; past it
 * what it has not, in large reads into whole pages, where that can be done.
 */
#include "dataset/fetch_private.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>

enum { SLICE = 256 << 10 };

/* ---- Counting --------------------------------------------------------- */

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

void hp_fetch_file_count(const struct hp_fetch_file *k, uint64_t n, bool direct)
{
	struct hp_fetch_counts *c = &k->f->count;
	unsigned i = n ? 63u - (unsigned)__builtin_clzll(n) : 0;

	add(&c->reads, 1);
	add(&c->read_bytes, n);
	add(&c->read_sizes[i < 40 ? i : 39], 1);
	hp_sizes_add(&k->f->sizes, n);
	if (direct)
		add(&c->direct_bytes, n);
	if (k->f->ds->stage)
		hp_stage_count(k->f->ds->stage, k->file.at, n);
}

/* ---- The file --------------------------------------------------------- */

void hp_fetch_file_begin(struct hp_fetch_file *k, struct hp_fetch *f,
			 const struct hpdsl_chunk *c,
			 const struct hp_source *file)
{
	*k = (struct hp_fetch_file){ .f = f, .chunk = c, .file = *file };
}

int hp_fetch_file_fail(const struct hp_fetch_file *k, int code, const char *why,
		       struct hpdsl_error *err)
{
	char text[HP_CHUNK_FILE_TEXT];

	hp_chunk_file_text(k->f->ds, k->chunk, k->file.at, text);
	return why ? hp_fail(err, code, "%s: %s", text, why) :
		     hp_source_fail(&k->file, err, code, "%s", text);
}

void hp_fetch_tell(struct hp_fetch *f, const struct hpdsl_chunk *c,
		   const struct hpdsl_error *why)
{
	char text[sizeof why->msg + 40];

	if (!f->opt.warn || !hp_stage_has_failed(f->ds->stage, c) ||
	    __atomic_exchange_n(&f->told[c->number], 1, __ATOMIC_RELAXED))
		return;
	snprintf(text, sizeof text, "%s: reading it from the origin", why->msg);
	f->opt.warn(f->opt.arg, text);
}

void hp_fetch_tell_peers(struct hp_fetch *f)
{
	char text[HP_PEER_NOTE];

	while (f->opt.warn && hp_peer_source_note(&f->ds->stage->peers, text))
		f->opt.warn(f->opt.arg, text);
}

/* ---- Descriptors of its own ------------------------------------------- */

/*
 * Reads are as large as they are to be: the kernel is to read these bytes at
 * once, and no others.
 */
static int open_large(void *arg, struct hpdsl_error *err)
{
	const struct hp_fetch_file *k = arg;
	const struct hp_io *io = k->f->ds->io;
	int fd = hp_chunk_file_open(k->f->ds, k->chunk, &k->file, 0, err);

	if (fd >= 0)
		io->advise(io, fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static int open_direct(void *arg, struct hpdsl_error *err)
{
	const struct hp_fetch_file *k = arg;

	return hp_chunk_file_open(k->f->ds, k->chunk, &k->file, O_DIRECT, err);
}

static void put_own(struct hp_fetch_file *k)
{
	if (k->own != HP_FETCH_NONE)
		hp_fd_cache_put(k->f->files, &k->self.fd);
	k->own = HP_FETCH_NONE;
}

/* 0: k->fd is such a one. */
static int get_own(struct hp_fetch_file *k, enum hp_fetch_own own)
{
	uint64_t key = hp_chunk_file_key(k->chunk, k->file.at);
	struct hpdsl_error err;
	int r;

	if (k->own == own)
		return 0;
	if (!k->file.ops->again)
		return -EOPNOTSUPP;
	put_own(k);
	k->self = k->file;
	r = hp_fd_cache_get(k->f->files, key | (uint64_t)own << 48,
			    own == HP_FETCH_DIRECT ? open_direct : open_large,
			    k, &k->self.fd, &err);
	if (r == 0)
		k->own = own;
	return r;
}

void hp_fetch_file_end(struct hp_fetch_file *k)
{
	put_own(k);
}

/* ---- Past the page cache ---------------------------------------------- */

/* Not with this file system, or not with this kind of buffer. */
static bool is_no_way(int code)
{
	return code == -EINVAL || code == -EOPNOTSUPP || code == -ENOTTY;
}

static uint8_t *no_way(const struct hp_fetch_file *k)
{
	return &k->f->no_direct[k->file.at];
}

static bool keeps(const struct hp_fetch *f)
{
	return f->opt.cache == HPDSL_CACHE_KEEP &&
	       hp_fetch_is_from(f) != HP_FETCH_PAST_ALL;
}

/* Is there a descriptor to do so?  If not, another one serves as well. */
static bool can_pass(struct hp_fetch_file *k)
{
	int r;

	if (keeps(k->f) || __atomic_load_n(no_way(k), __ATOMIC_RELAXED))
		return false;
	r = get_own(k, HP_FETCH_DIRECT);
	if (is_no_way(r))
		__atomic_store_n(no_way(k), 1, __ATOMIC_RELAXED);
	return r == 0;
}

/*
 * Whole pages from at, a page's first byte: n bytes, or fewer at the file's
 * end, or where it goes no further this way.  -errno.
 */
static ssize_t read_direct(struct hp_fetch_file *k, uint64_t at, size_t n,
			   uint8_t *page)
{
	const struct hp_io *io = k->f->ds->io;
	size_t done = 0;

	while (done < n && done % HP_FETCH_PAGE == 0) {
		ssize_t r = io->pread(io, k->self.fd.fd, page + done, n - done,
				      at + done);

		if (r == -EINTR)
			continue;
		if (is_no_way((int)r)) {
			__atomic_store_n(no_way(k), 1, __ATOMIC_RELAXED);
			break;
		}
		if (r < 0)
			return r;
		if (r == 0)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

/* ---- Reading ---------------------------------------------------------- */

/* Bytes from at to end through the page cache. */
static int read_through(struct hp_fetch_file *k, uint64_t at, uint64_t end,
			uint8_t *to, struct hpdsl_error *err)
{
	const struct hp_source *s =
		k->own == HP_FETCH_LARGE ? &k->self : &k->file;
	ssize_t r = hp_source_read(s, to, (size_t)(end - at), at);

	if (r < 0)
		return hp_fetch_file_fail(k, (int)r, NULL, err);
	hp_fetch_file_count(k, (uint64_t)r, false);
	if ((uint64_t)r != end - at)
		return hp_fetch_file_fail(k, HPDSL_ECORRUPT, "ends early", err);
	return 0;
}

static int read_past(struct hp_fetch_file *k, uint64_t at, uint64_t end,
		     uint8_t *page, struct hpdsl_error *err)
{
	uint64_t begin = hp_fetch_page(at), done;
	ssize_t r =
		read_direct(k, begin, (size_t)hp_fetch_pages(at, end), page);

	if (r < 0)
		return hp_fetch_file_fail(k, (int)r, NULL, err);
	if (r)
		hp_fetch_file_count(k, (uint64_t)r, true);
	done = begin + (uint64_t)r;
	if (done >= end)
		return 0;
	if (done < at)
		done = at;
	return read_through(k, done, end, page + (done - begin), err);
}

static bool is_most(int64_t have, uint64_t of)
{
	return have > 0 && (uint64_t)have >= of / 2;
}

/* Out of the page cache, if it goes: what is mapped or not yet written stays.
 */
static void evict(struct hp_fetch_file *k, uint64_t at, uint64_t n)
{
	const struct hp_io *io = k->f->ds->io;

	if (k->file.fd.fd >= 0)
		io->advise(io, k->file.fd.fd, at, n, POSIX_FADV_DONTNEED);
}

static void count_cached(struct hp_fetch *f, uint64_t n, int64_t have)
{
	__atomic_fetch_add(&f->cached.asked, n, __ATOMIC_RELAXED);
	if (have < 0)
		__atomic_fetch_add(&f->cached.unknown, n, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&f->cached.there, (uint64_t)have,
				   __ATOMIC_RELAXED);
}

/* Asks about the next stretch of the file. */
static void find_way(struct hp_fetch_file *k, uint64_t at, uint64_t end)
{
	int64_t have;

	k->known = hp_fetch_read_end(at, end);
	if (hp_fetch_is_from(k->f) == HP_FETCH_PAST_ALL)
		evict(k, at, k->known - at);
	have = k->file.ops->cached(&k->file, at, k->known - at);
	count_cached(k->f, k->known - at, have);
	if (is_most(have, k->known - at))
		k->way = HP_FETCH_FROM_CACHE;
	else if (have >= 0 && can_pass(k))
		k->way = HP_FETCH_PAST;
	else
		k->way = HP_FETCH_THROUGH;
	/* What cannot be asked about may be there: past it is the slow way. */
	if (k->way == HP_FETCH_THROUGH)
		get_own(k, HP_FETCH_LARGE);
}

static int read_next(struct hp_fetch_file *k, uint64_t at, uint64_t end,
		     uint8_t *page, uint64_t *ret, struct hpdsl_error *err)
{
	uint64_t to;
	int r;

	if (at >= k->known)
		find_way(k, at, end);
	to = k->known < end ? k->known : end;
	if (k->way == HP_FETCH_FROM_CACHE && to > at + SLICE)
		to = at + SLICE;
	if (k->way == HP_FETCH_PAST)
		r = read_past(k, at, to, page, err);
	else
		r = read_through(k, at, to, page + (at - hp_fetch_page(at)),
				 err);
	if (r == 0)
		*ret = to;
	return r;
}

/* What was read before comes from there, the rest gets there. */
static int read_stored(struct hp_fetch_file *k, uint64_t at, uint64_t end,
		       uint8_t *page, uint64_t *ret, struct hpdsl_error *err)
{
	uint64_t key = hp_chunk_file_key(k->chunk, k->file.at);
	uint8_t *p = page + (at - hp_fetch_page(at));
	uint64_t n = hp_fetch_store_get(k->f->store, key, at, end - at, p);
	int r;

	if (n) {
		k->way = HP_FETCH_FROM_CACHE;
		count_cached(k->f, n, (int64_t)n);
		*ret = at + n;
		return 0;
	}
	r = read_next(k, at, end, page, ret, err);
	if (r == 0)
		hp_fetch_store_put(k->f->store, key, at, p, *ret - at);
	return r;
}

int hp_fetch_next(struct hp_fetch_file *k, uint64_t at, uint64_t end,
		  uint8_t *page, uint64_t *ret, struct hpdsl_error *err)
{
	return hp_fetch_is_from(k->f) == HP_FETCH_FROM_MEMORY ?
		       read_stored(k, at, end, page, ret, err) :
		       read_next(k, at, end, page, ret, err);
}
