/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What packing makes of a tar in memory, as it is and inside gzip: it is walked
 * once, contents passed over; then they are read, in place if all of them lie
 * somewhere, else decoded.  Both ways lead to the same bytes, or to a refusal.
 */
#ifndef TWO_WAYS_H
#define TWO_WAYS_H

#include "archive/archive.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { WAYS_ENTRIES = 1000, WAYS_BYTES = 8 << 20 };

struct ways_memory {
	struct hp_io io;
	const uint8_t *p;
	size_t n;
};

/* What came of it. */
struct ways {
	int code; /* 0, or that of the refusal */
	struct hpdsl_error err;
	bool in_place, too_much; /* too_much: not read to its end */
	uint64_t files, bytes, hash;
};

static inline int ways_open(const struct hp_io *io, int dir, const char *name,
			    int flags, mode_t mode)
{
	(void)io, (void)dir, (void)name, (void)flags, (void)mode;
	return 1000;
}

static inline int ways_close(const struct hp_io *io, int fd)
{
	(void)io, (void)fd;
	return 0;
}

static inline ssize_t ways_pread(const struct hp_io *io, int fd, void *buf,
				 size_t n, uint64_t off)
{
	const struct ways_memory *m = (const struct ways_memory *)io;

	(void)fd;
	if (off >= m->n)
		return 0;
	if (n > m->n - off)
		n = m->n - (size_t)off;
	memcpy(buf, m->p + off, n);
	return (ssize_t)n;
}

static inline int ways_stat(const struct hp_io *io, int dir, const char *name,
			    struct stat *ret, int flags)
{
	(void)dir, (void)name, (void)flags;
	*ret = (struct stat){
		.st_mode = S_IFREG,
		.st_size = (off_t)((const struct ways_memory *)io)->n,
	};
	return 0;
}

static inline void ways_add(struct ways *w, const void *p, size_t n)
{
	w->hash = w->hash * 31 + hp_hash64(p, n);
}

/* The file's content, from where it lies or from the decoder. */
static inline int ways_content(struct ways *w, struct hp_archive *a,
			       const struct hp_archive_entry *e,
			       const struct ways_memory *m)
{
	static uint8_t buf[1 << 16];
	uint64_t done = 0;
	ssize_t n;

	if (e->size > WAYS_BYTES - w->bytes) {
		w->too_much = true;
		return 0;
	}
	w->bytes += e->size;
	if (w->in_place) {
		if (e->offset > m->n || e->size > m->n - e->offset)
			abort();
		ways_add(w, m->p + e->offset, (size_t)e->size);
		return 0;
	}
	/* One number for all of it, as above. */
	uint8_t *all = malloc(e->size + 1);

	while ((n = hp_archive_read(a, buf, sizeof buf, &w->err)) > 0) {
		memcpy(all + done, buf, (size_t)n);
		done += (uint64_t)n;
	}
	if (n == 0 && done != e->size)
		abort();
	ways_add(w, all, (size_t)done);
	free(all);
	return n < 0 ? (int)n : 0;
}

static inline int ways_walk(struct ways *w, const struct ways_memory *m,
			    bool nested, bool read)
{
	struct hp_archive *a;
	struct hp_archive_entry e;
	int r = hp_archive_open(&m->io, AT_FDCWD, "x", nested, &a, &w->err);

	if (r < 0)
		return r;
	for (int i = 0; !w->too_much; i++) {
		r = hp_archive_next(a, &e, &w->err);
		if (r <= 0)
			break;
		w->too_much = i == WAYS_ENTRIES;
		if (e.type == HP_ARCHIVE_FILE && !read)
			w->in_place = w->in_place && e.in_place;
		if (!read)
			continue;
		ways_add(w, e.path, e.path_len);
		ways_add(w, &e.type, sizeof e.type);
		if (e.type != HP_ARCHIVE_FILE)
			continue;
		w->files++;
		r = ways_content(w, a, &e, m);
		if (r < 0)
			break;
	}
	hp_archive_close(a);
	return r < 0 ? r : 0;
}

static inline void ways_pack(struct ways *w, const uint8_t *p, size_t n,
			     bool nested)
{
	struct ways_memory m = {
		.io = { .open = ways_open,
			.close = ways_close,
			.pread = ways_pread,
			.stat = ways_stat },
		.p = p,
		.n = n,
	};

	memset(w, 0, sizeof *w);
	w->in_place = true;
	w->code = ways_walk(w, &m, nested, false);
	if (w->code == 0 && !w->too_much)
		w->code = ways_walk(w, &m, nested, true);
}

/* The same in gzip, in blocks that are stored: malloc'ed. */
static inline uint8_t *ways_gzip(const uint8_t *p, size_t n, size_t *ret_n)
{
	uint8_t *out = malloc(n + n / 65535 * 5 + 64), *to = out;
	uint32_t crc = (uint32_t)crc32_z(0, p, n), size = (uint32_t)n;
	size_t at = 0;

	memcpy(to, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
	to += 10;
	do {
		uint16_t k = n - at < 65535 ? (uint16_t)(n - at) : 65535;
		uint16_t not_k = (uint16_t)~k;

		*to++ = at + k == n;
		memcpy(to, &k, 2);
		memcpy(to + 2, &not_k, 2);
		if (k)
			memcpy(to + 4, p + at, k);
		to += 4 + k;
		at += k;
	} while (at < n);
	memcpy(to, &crc, 4);
	memcpy(to + 4, &size, 4);
	*ret_n = (size_t)(to + 8 - out);
	return out;
}

/* Is it compressed already, or a zip or 7z?  Then it is nothing for gzip. */
static inline bool ways_is_tar(const uint8_t *p, size_t n)
{
	return n >= 512 && memcmp(p, "PK", 2) && memcmp(p, "\x1f\x8b", 2) &&
	       memcmp(p, "BZh", 3) && memcmp(p, "\x28\xb5\x2f\xfd", 4) &&
	       memcmp(p, "\3757zXZ", 6) && memcmp(p + 1, "\x2a\x4d\x18", 3) &&
	       memcmp(p, "7z\xbc\xaf\x27\x1c", 6) && memcmp(p, "LZIP", 4);
}

/* false: they differ; both are told. */
static inline bool ways_agree(const uint8_t *p, size_t n, bool nested,
			      struct ways *plain, struct ways *packed)
{
	size_t gz_n;
	uint8_t *gz = ways_gzip(p, n, &gz_n);

	ways_pack(plain, p, n, nested);
	ways_pack(packed, gz, gz_n, nested);
	free(gz);
	if (plain->too_much || packed->too_much)
		return true;
	return !plain->code == !packed->code &&
	       (plain->code ||
		(plain->files == packed->files && plain->hash == packed->hash));
}

#endif
