/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading files into their places.  A file must be as the scan saw it, in
 * size, times and identity, after its bytes were read: what is packed is one
 * state of it, or an error that names it.
 */
#include "engine.h"

#include "error.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int fail(const struct hp_list *list, const struct hp_file *f, int code,
		const char *what, struct hpdsl_error *err)
{
	const struct hp_root *root = &list->roots[f->root];
	char name[HP_INPUT_NAME];

	hp_input_name(root, hp_file_name(list, f),
		      f->path_len - root->prefix_len, name);
	if (what)
		return hp_fail(err, code, "%s: %s", name, what);
	return hp_fail_errno(err, code, "%s", name);
}

static int check_unchanged(const struct hp_engine *e, int fd,
			   const struct hp_file *f, struct hpdsl_error *err)
{
	const struct hp_list *list = &e->pack->list;
	struct stat st;
	char text[96];
	int r = hp_io_fstat(e->io, fd, &st);

	if (r < 0)
		return fail(list, f, r, NULL, err);
	if ((uint64_t)st.st_size != f->size) {
		snprintf(text, sizeof text,
			 "is %" PRIu64 " bytes, was %" PRIu64 " when scanned",
			 (uint64_t)st.st_size, f->size);
		return fail(list, f, HPDSL_ECHANGED, text, err);
	}
	if (st.st_mtim.tv_sec != f->mtime ||
	    st.st_mtim.tv_nsec != (long)f->nsec ||
	    hp_file_stamp(&st) != f->stamp)
		return fail(list, f, HPDSL_ECHANGED,
			    "changed since it was scanned", err);
	return 0;
}

/* Has the file what tar could keep and chunks do not: attributes or an ACL? */
static bool has_attributes(const struct hp_io *io, int fd)
{
	char names[1024 + 1];
	ssize_t n = io->listxattr(io, fd, names, sizeof names - 1);

	if (n < 0)
		return n == -ERANGE; /* too many to look at */
	names[n] = '\0';
	/* Those of the system itself, which every file has, do not count. */
	for (const char *s = names; s < names + n; s += strlen(s) + 1)
		if (!strncmp(s, "user.", 5) ||
		    !strncmp(s, "system.posix_acl_", 17))
			return true;
	return false;
}

/* Bytes [off, off + n) of the file's content to buf. */
static int read_content(const struct hp_engine *e, const struct hp_file *f,
			void *buf, size_t n, uint64_t off,
			struct hpdsl_error *err)
{
	const struct hp_list *list = &e->pack->list;
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY |
		    (f->flags & HP_FILE_FOLLOW ? 0 : O_NOFOLLOW);
	hp_auto_fd file = { e->io, -1 };
	ssize_t got;
	int r;

	r = e->io->open(e->io, list->roots[f->root].fd, hp_file_name(list, f),
			flags, 0);
	if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR || r == -ENXIO)
		return fail(list, f, HPDSL_ECHANGED,
			    "vanished since it was scanned", err);
	if (r < 0)
		return fail(list, f, r, NULL, err);
	file.fd = r;
	got = n ? hp_io_pread_full(e->io, file.fd, buf, n, off) : 0;
	/* First this: it may be a folder or a FIFO now. */
	r = check_unchanged(e, file.fd, f, err);
	if (r == 0 && got < 0)
		r = fail(list, f, (int)got, NULL, err);
	if (r == 0 && (size_t)got != n)
		r = fail(list, f, HPDSL_ECHANGED, "shrank while it was read",
			 err);
	if (r == 0 && off == 0 && has_attributes(e->io, file.fd))
		__atomic_fetch_add(&e->pack->report->xattrs, 1,
				   __ATOMIC_RELAXED);
	return r;
}

/* The header's part between chunk offsets from and to. */
static void put_header(const struct hp_engine *e, const struct hp_segment *s,
		       const struct hp_place *p, uint64_t from, uint64_t to)
{
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;

	hp_plan_header(&e->pack->list, p->file, &m);
	hp_tar_header_write(&m, header);
	memcpy(s->buf + (from - s->offset), header + (from - p->header),
	       (size_t)(to - from));
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int read_piece(const struct hp_engine *e, const struct hp_piece *piece,
		      struct hpdsl_error *err)
{
	const struct hp_segment *s = piece->segment;
	const struct hp_place *p = &piece->place;
	struct hp_file *f = &e->pack->list.files[p->file];
	uint64_t from = max64(p->header, s->offset);
	uint64_t to = min64(p->next, s->offset + s->len);
	uint64_t data_end = p->data + f->size;
	uint64_t at = max64(from, p->data), end = min64(to, data_end);
	struct hp_content_hash h;
	int r;

	if (from < p->data)
		put_header(e, s, p, from, min64(p->data, to));
	if (to > data_end)
		memset(s->buf + (max64(from, data_end) - s->offset), 0,
		       (size_t)(to - max64(from, data_end)));
	if (at > end || (at == end && (f->size || to < p->next)))
		return 0;
	r = read_content(e, f, s->buf + (at - s->offset), (size_t)(end - at),
			 at - p->data, err);
	if (r == 0 && end - at == f->size) {
		/* All of it is here, and in the cache. */
		hp_content_hash(s->buf + (at - s->offset), (size_t)f->size, &h);
		f->low64 = h.low64;
		memcpy(f->full, h.full, sizeof f->full);
	}
	return r;
}

int hp_read_run(const struct hp_engine *e, const struct hp_run *run,
		struct hpdsl_error *err)
{
	for (unsigned i = 0; i < run->n; i++) {
		int r = read_piece(e, &run->piece[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}
