/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers of a tar file, whoever wrote it.  Contents are passed over: where
 * they are small the reads hold them anyway, where they are large they are not
 * read.
 */
#include "compat/compat.h"

#include "archive/archive.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "chunk/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	WINDOW = 128 << 10,
	FAR = 4096, /* read at a place that was not near the one before */
	AT_SIZE = 124,
	AT_TYPE = 156,
	AT_MAGIC = 257,
	AT_PREFIX = 345,
	AT_MAP = 482,	   /* of type S: there is more of the map */
	AT_MORE_MAP = 504, /* in a block of it */
};

struct reader {
	struct hp_lint *l;
	const struct hp_io *io;
	int fd;
	uint64_t size; /* of the file */
	uint64_t at;   /* of the next header */
	uint64_t members;
	/* What was read last. */
	uint8_t *window;
	uint64_t from;
	size_t have;
	struct hp_foreign *tar;
	unsigned form; /* of the extended headers before a member */
	bool first,
		global; /* the first header; one of a global kind was there */
};

/* n bytes at off, or fewer at the end of the file; NULL: -errno in *ret. */
static const uint8_t *look(struct reader *k, uint64_t off, size_t n, int *ret)
{
	bool near = off <= k->from + k->have + WINDOW;
	ssize_t got;

	if (off >= k->from && off + n <= k->from + k->have)
		return k->window + (off - k->from);
	got = hp_io_pread_full(k->io, k->fd, k->window,
			       n > FAR || near ? WINDOW : FAR, off);
	k->from = off;
	k->have = got < 0 ? 0 : (size_t)got;
	if (got >= 0)
		return k->window;
	*ret = (int)got;
	return NULL;
}

/* ---- Compressed files ------------------------------------------------- */

/* The trip that the first bytes mean; HP_TRIPS for a plain file. */
static enum hp_trip packing(const uint8_t *p, size_t n)
{
	static const struct {
		enum hp_trip trip;
		size_t n;
		const char *magic;
	} known[] = {
		{ HP_TRIP_ZSTD, 4, "\x28\xb5\x2f\xfd" },
		{ HP_TRIP_PACKED, 2, "\x1f\x8b" },
		{ HP_TRIP_PACKED, 3, "BZh" },
		{ HP_TRIP_PACKED, 6,
		  "\xfd"
		  "7zXZ" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (n >= known[i].n &&
		    memcmp(p, known[i].magic, known[i].n) == 0)
			return known[i].trip;
	/* A skippable frame of zstd. */
	if (n >= 4 && (p[0] & 0xf0) == 0x50 &&
	    memcmp(p + 1, "\x2a\x4d\x18", 3) == 0)
		return HP_TRIP_ZSTD;
	return hp_archive_is_compressed(p, n) ? HP_TRIP_PACKED : HP_TRIPS;
}

/* ---- Headers ---------------------------------------------------------- */

static int broken(struct reader *k, struct hpdsl_error *why, const char *reason,
		  struct hpdsl_error *err)
{
	hp_fail(why, HPDSL_ECORRUPT, "byte %" PRIu64 ": %s", k->at, reason);
	return hp_lint_count(k->l, HP_TRIP_BROKEN, NULL, err);
}

/* An extended header; 1, or 0 if the file is of no more use. */
static int take_extra(struct reader *k, uint64_t bytes, struct hpdsl_error *why,
		      struct hpdsl_error *err)
{
	uint64_t at = k->at + HP_TAR_BLOCK;
	hp_auto_free uint8_t *data = malloc(bytes ? (size_t)bytes : 1);
	char type = k->tar->extra;
	bool had = k->tar->local.path_len;
	struct hpdsl_error reason;
	ssize_t got;
	int r = 0;

	if (!data)
		return hp_fail_nomem(err);
	got = hp_io_pread_full(k->io, k->fd, data, (size_t)bytes, at);
	if (got < 0)
		return hp_fail_errno(err, (int)got, "cannot be read");
	if ((uint64_t)got < bytes)
		return broken(k, why, "cut off", err);
	if (hp_foreign_extra(k->tar, data, (size_t)bytes, &reason) < 0)
		return broken(k, why, reason.msg, err);
	if (type == 'L')
		k->form |= HP_FORM_GNU_NAME;
	if ((type == 'x' || type == 'X') && k->tar->local.path_len && !had)
		k->form |= HP_FORM_PAX_NAME;
	if (k->tar->local.has_size)
		k->form |= HP_FORM_PAX_SIZE;
	if (type == 'g' && !k->global) {
		k->global = true;
		r = hp_lint_count(k->l, HP_TRIP_GLOBAL, NULL, err);
	}
	k->at = at + hp_tar_padded(bytes);
	return r < 0 ? r : 1;
}

static unsigned form_of(const struct reader *k, const uint8_t *block)
{
	const char *magic = (const char *)block + AT_MAGIC;
	unsigned form = k->form;

	if (block[AT_SIZE] & 0x80)
		form |= HP_FORM_BASE256;
	if (memcmp(magic, "ustar", 5) == 0 && magic[5] != ' ' &&
	    block[AT_PREFIX] && !(form & (HP_FORM_PAX_NAME | HP_FORM_GNU_NAME)))
		form |= HP_FORM_PREFIX;
	return form;
}

static int take_member(struct reader *k, const uint8_t *block,
		       const struct hp_foreign_member *m, unsigned also,
		       struct hpdsl_error *err)
{
	struct hp_lint_member lint = {
		.name = m->name,
		/* A pax header can hold a NUL; what follows is nothing. */
		.len = strnlen(m->name, m->name_len),
		.kind = m->kind,
		.type = (char)block[AT_TYPE],
		.form = form_of(k, block) | also,
	};

	k->form = 0;
	k->members++;
	k->at += HP_TAR_BLOCK + hp_tar_padded(m->size);
	return hp_lint_add(k->l, &lint, err);
}

/* GNU's type S: blocks of the map follow the header before the content. */
static int skip_map(struct reader *k, uint64_t *ret_blocks)
{
	uint8_t block[HP_TAR_BLOCK];
	uint64_t n = 0;
	ssize_t got;

	do {
		n++;
		got = hp_io_pread_full(k->io, k->fd, block, sizeof block,
				       k->at + n * HP_TAR_BLOCK);
	} while (got == HP_TAR_BLOCK && block[AT_MORE_MAP]);
	*ret_blocks = n;
	return got < 0 ? (int)got : 0;
}

/* One that cannot be read in place: its bytes are those of the field. */
static int take_sparse(struct reader *k, const uint8_t *block,
		       struct hpdsl_error *err)
{
	uint64_t map = 0;
	struct hp_foreign_member m = {
		.kind = HP_FOREIGN_FILE,
		.name = k->tar->name,
		.name_len = strlen(k->tar->name),
	};

	for (int i = 0; i < 12; i++)
		if (block[AT_SIZE + i] >= '0' && block[AT_SIZE + i] <= '7')
			m.size = m.size << 3 | (block[AT_SIZE + i] & 7u);
	if (block[AT_TYPE] == 'S' && block[AT_MAP]) {
		int r = skip_map(k, &map);

		if (r < 0)
			return hp_fail_errno(err, r, "cannot be read");
		k->at += map * HP_TAR_BLOCK;
	}
	return take_member(k, block, &m, HP_FORM_SPARSE, err);
}

/* 1 and on to the next; 0 at the end, or where there is no way on. */
static int take_header(struct reader *k, struct hpdsl_error *why,
		       struct hpdsl_error *err)
{
	struct hp_foreign_member m;
	struct hpdsl_error reason;
	int r = 0;
	const uint8_t *block = look(k, k->at, HP_TAR_BLOCK, &r);

	if (!block)
		return hp_fail_errno(err, r, "cannot be read");
	if (k->have - (k->at - k->from) < HP_TAR_BLOCK)
		return k->at == k->size ? 0 : broken(k, why, "cut off", err);
	r = hp_foreign_header(k->tar, block, &m, &reason);
	if (r == HPDSL_ECORRUPT)
		return broken(k, why, reason.msg, err);
	if (r == 0 && m.kind == HP_FOREIGN_END)
		return 0;
	if (k->first && memcmp(block + AT_MAGIC, "ustar", 5) != 0) {
		int c = hp_lint_count(k->l, HP_TRIP_MAGIC, NULL, err);

		if (c < 0)
			return c;
	}
	k->first = false;
	if (r == 0 && m.kind == HP_FOREIGN_EXTRA)
		return take_extra(k, m.size, why, err);
	r = r == 0 ? take_member(k, block, &m, 0, err) :
		     take_sparse(k, block, err);
	if (r < 0)
		return r;
	return k->at <= k->size ? 1 : broken(k, why, "cut off", err);
}

static int take_all(struct reader *k, struct hpdsl_error *why,
		    struct hpdsl_error *err)
{
	enum hp_trip packed;
	const uint8_t *head;
	int r = 0;

	head = look(k, 0, HP_TAR_BLOCK, &r);
	if (!head)
		return hp_fail_errno(err, r, "cannot be read");
	packed = packing(head, k->have);
	if (packed != HP_TRIPS)
		return hp_lint_count(k->l, packed, NULL, err);
	/* Without even the end mark it is no tar for any of them. */
	if (k->size == 0) {
		r = broken(k, why, "empty", err);
		return r < 0 ? r : hp_lint_end(k->l, err);
	}
	hp_foreign_begin(k->tar);
	do {
		r = take_header(k, why, err);
	} while (r > 0 && (!k->l->most || k->members < k->l->most));
	if (r > 0 && k->at < k->size)
		hp_lint_cut(k->l);
	return r < 0 ? r : hp_lint_end(k->l, err);
}

int hp_lint_read(struct hp_lint *l, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *why,
		 struct hpdsl_error *err)
{
	hp_auto_free uint8_t *window = malloc(WINDOW);
	hp_auto_free struct hp_foreign *tar = malloc(sizeof *tar);
	hp_auto_fd fd = { io, -1 };
	struct reader k = {
		.l = l, .io = io, .window = window, .tar = tar, .first = true
	};
	struct hpdsl_error reason;
	struct stat st;
	int r;

	if (!window || !tar)
		return hp_fail_nomem(err);
	fd.fd = io->open(io, dir, name, O_RDONLY | O_NONBLOCK, 0);
	r = fd.fd < 0 ? fd.fd : hp_io_fstat(io, fd.fd, &st);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, -EINVAL, "%s: not a regular file", name);
	k.fd = fd.fd;
	k.size = (uint64_t)st.st_size;
	r = take_all(&k, why ? why : &reason, err);
	if (r < 0 && err) {
		reason = *err;
		hp_fail(err, r, "%s: %s", name, reason.msg);
	}
	return r;
}
