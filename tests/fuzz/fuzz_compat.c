/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input as a tar file that the linter reads: as it is and with the
 * checksums of its headers put right, which no mutation would find.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/tar.h"
#include "compat/compat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A file in memory. */
struct memory {
	struct hp_io io;
	const uint8_t *data;
	size_t n;
	bool mend;
};

static int open_it(const struct hp_io *io, int dir, const char *name, int flags,
		   mode_t mode)
{
	(void)io, (void)dir, (void)name, (void)flags, (void)mode;
	return 3;
}

static int close_it(const struct hp_io *io, int fd)
{
	(void)io;
	return fd == 3 ? 0 : -EBADF;
}

static int stat_it(const struct hp_io *io, int dir, const char *name,
		   struct stat *ret, int flags)
{
	(void)dir, (void)name, (void)flags;
	memset(ret, 0, sizeof *ret);
	ret->st_mode = S_IFREG;
	ret->st_size = (off_t)((const struct memory *)io)->n;
	return 0;
}

static void set_sum(uint8_t *block)
{
	unsigned sum = 0;
	char text[16];

	memset(block + 148, ' ', 8);
	for (unsigned i = 0; i < HP_TAR_BLOCK; i++)
		sum += block[i];
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(block + 148, text, 7);
}

static ssize_t pread_it(const struct hp_io *io, int fd, void *buf, size_t n,
			uint64_t off)
{
	const struct memory *m = (const struct memory *)io;
	uint8_t *p = buf;

	(void)fd;
	if (off >= m->n)
		return 0;
	if (n > m->n - off)
		n = m->n - (size_t)off;
	memcpy(buf, m->data + off, n);
	/* Contents suffer too, which nobody minds. */
	for (size_t i = 0; m->mend && i + HP_TAR_BLOCK <= n; i += HP_TAR_BLOCK)
		if (p[i] && !memcmp(p + i + 257, "ustar", 5))
			set_sum(p + i);
	return (ssize_t)n;
}

static void look(const uint8_t *data, size_t n, bool mend)
{
	struct memory m = { .data = data, .n = n, .mend = mend };
	struct hp_lint l = { .members = 0 };
	struct hpdsl_error why = { 0 }, err;
	uint64_t told = 0;

	m.io.open = open_it;
	m.io.close = close_it;
	m.io.stat = stat_it;
	m.io.pread = pread_it;
	if (hp_lint_read(&l, &m.io, 0, "x.tar", &why, &err) < 0)
		abort();
	for (int i = 0; i < HP_LINTS; i++)
		told += l.tally[i].n;
	if (!l.samples && !told)
		abort();
	hp_lint_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	look(data, n, false);
	look(data, n, true);
	return 0;
}
