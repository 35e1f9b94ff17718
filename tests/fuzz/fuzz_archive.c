/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through any bytes as an archive, and archives in it: it ends, says
 * nothing impossible, and what lies in place reads as what is decoded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"

enum { ENTRIES = 2000, BYTES = 4 << 20 };

struct memory {
	struct hp_io io;
	const uint8_t *p;
	size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int open_memory(const struct hp_io *io, int dir, const char *name,
		       int flags, mode_t mode)
{
	(void)io, (void)dir, (void)name, (void)flags, (void)mode;
	return 1000;
}

static int close_memory(const struct hp_io *io, int fd)
{
	(void)io, (void)fd;
	return 0;
}

static ssize_t pread_memory(const struct hp_io *io, int fd, void *buf, size_t n,
			    uint64_t off)
{
	const struct memory *m = (const struct memory *)io;

	(void)fd;
	if (off >= m->n)
		return 0;
	if (n > m->n - off)
		n = m->n - (size_t)off;
	memcpy(buf, m->p + off, n);
	return (ssize_t)n;
}

static int stat_memory(const struct hp_io *io, int dir, const char *name,
		       struct stat *ret, int flags)
{
	(void)dir, (void)name, (void)flags;
	*ret = (struct stat){
		.st_mode = S_IFREG,
		.st_size = (off_t)((const struct memory *)io)->n,
	};
	return 0;
}

static void must(bool right)
{
	if (!right)
		abort();
}

/* Returns the bytes read. */
static size_t read_file(struct hp_archive *a, const struct hp_archive_entry *e,
			const struct memory *m)
{
	static uint8_t buf[65536];
	struct hpdsl_error err;
	uint64_t done = 0;
	ssize_t n = 0;

	while (done < BYTES &&
	       (n = hp_archive_read(a, buf, sizeof buf, &err)) > 0) {
		must((size_t)n <= e->size - done);
		if (e->in_place)
			must(!memcmp(buf, m->p + e->offset + done, (size_t)n));
		done += (size_t)n;
	}
	if (n == 0)
		must(done == e->size);
	if (n < 0)
		must(err.code == n && err.msg[0]);
	return (size_t)done;
}

static void check(const struct hp_archive_entry *e, const struct memory *m)
{
	must(strlen(e->path) <= e->path_len && e->inner_len <= e->path_len);
	must(e->nsec < 1000000000 && !(e->mode & ~07777u));
	if (e->in_place)
		must(e->offset <= m->n && e->size <= m->n - e->offset);
}

static void walk(struct hp_archive *a, const struct memory *m)
{
	struct hp_archive_entry e;
	struct hpdsl_error err;
	uint64_t files = 0;
	size_t bytes = 0;
	int r = 1;

	for (int i = 0; i < ENTRIES && bytes < BYTES; i++) {
		r = hp_archive_next(a, &e, &err);
		if (r <= 0)
			break;
		check(&e, m);
		if (e.type != HP_ARCHIVE_FILE)
			continue;
		must(e.ordinal == files++);
		/* Every other one is passed over. */
		if (i % 2 == 0)
			bytes += read_file(a, &e, m);
	}
	if (r < 0)
		must(err.code == r && err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct memory m = {
		.io = { .open = open_memory,
			.close = close_memory,
			.pread = pread_memory,
			.stat = stat_memory },
		.p = data,
		.n = n,
	};
	struct hpdsl_error err;
	struct hp_archive *a;
	int r = hp_archive_open(&m.io, AT_FDCWD, "x", true, &a, &err);

	if (r < 0) {
		must(err.code == r && err.msg[0]);
		return 0;
	}
	walk(a, &m);
	hp_archive_close(a);
	return 0;
}
