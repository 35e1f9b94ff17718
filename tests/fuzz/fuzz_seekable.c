/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compressed chunk in memory, read front to back: the bytes as they are, or,
 * with an odd first byte, a file put together as they say, of good frames, bad
 * ones and a seek table that may be wrong.  What is good must be read, with the
 * right plain bytes, and what is bad must be found.
 */
#include "chunk/frame.h"
#include "chunk/seek_table.h"
#include "dataset/pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- One file in memory ----------------------------------------------- */

static struct memory {
	struct hp_io io;
	const uint8_t *p;
	size_t n;
} memory;

static int mem_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	(void)io;
	(void)dir;
	(void)name;
	(void)flags;
	(void)mode;
	return 3;
}

static int mem_close(const struct hp_io *io, int fd)
{
	(void)io;
	return fd == 3 ? 0 : -EBADF;
}

static ssize_t mem_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	(void)io;
	(void)fd;
	if (off >= memory.n)
		return 0;
	if (n > memory.n - off)
		n = memory.n - (size_t)off;
	memcpy(buf, memory.p + off, n);
	return (ssize_t)n;
}

static int mem_stat(const struct hp_io *io, int dir, const char *name,
		    struct stat *ret, int flags)
{
	(void)io;
	(void)dir;
	(void)name;
	(void)flags;
	memset(ret, 0, sizeof *ret);
	ret->st_mode = S_IFREG;
	ret->st_size = (off_t)memory.n;
	return 0;
}

/* ---- Reading it ------------------------------------------------------- */

/* Compares what comes with want, if that is given. */
static int read_all(struct hp_pass *p, const uint8_t *want, size_t n)
{
	size_t done = 0;
	int r;

	while ((r = hp_pass_need(p, 1 + done % 1000)) == 0 && p->have) {
		if (want &&
		    (p->have > n - done || memcmp(p->at, want + done, p->have)))
			abort();
		done += p->have;
		hp_pass_take(p, p->have);
	}
	if (r == 0 && (p->offset != done || p->read != memory.n))
		abort();
	if (r == 0 && want && done != n)
		abort();
	if (r < 0 && r != HPDSL_ECORRUPT)
		abort();
	return r;
}

/* What the pass says of the frames is what the table says. */
static void check_frames(const struct hp_pass *p)
{
	struct hp_chunk_made made = { 0 };
	struct hp_frame_row *rows;
	struct hp_seek_entry *v;
	uint64_t table;
	uint32_t n, k;

	if (hp_pass_made(p, &made) < 0)
		abort();
	rows = made.frames;
	n = made.n_frames;
	if (n) {
		v = calloc(n, sizeof *v);
		table = memory.n - hp_seek_table_bytes(n);
		if (!v ||
		    hp_seek_foot_read(memory.p + memory.n - 9, &k, NULL) ||
		    k != n ||
		    hp_seek_table_read(memory.p + table, n, memory.n, v, NULL))
			abort();
		for (uint32_t i = 1; i < n; i++) {
			if (rows[i].plain != rows[i - 1].plain + v[i - 1].plain)
				abort();
		}
		free(v);
	}
	free(rows);
}

static int read_file(const uint8_t *file, size_t n, const uint8_t *want,
		     size_t want_n)
{
	struct hp_pass p;
	int r;

	memory = (struct memory){ .p = file, .n = n };
	memory.io.open = mem_open;
	memory.io.close = mem_close;
	memory.io.pread = mem_pread;
	memory.io.stat = mem_stat;
	if (hp_pass_begin_zst(&p, &memory.io, -1, "chunk", NULL, NULL, NULL) <
	    0)
		abort();
	r = read_all(&p, want, want_n);
	if (r == 0)
		check_frames(&p);
	hp_pass_end(&p);
	return r;
}

/* ---- Files put together ----------------------------------------------- */

struct making {
	uint8_t *file, *plain;
	size_t n, plain_n;
	struct hp_seek_entry frames[300];
	uint32_t n_frames;
	bool bad;
};

static void add_frame(struct making *m, const uint8_t *p, size_t n, bool sum)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t k;

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, sum);
	k = ZSTD_compress2(z, m->file + m->n, ZSTD_compressBound(n), p, n);
	ZSTD_freeCCtx(z);
	if (ZSTD_isError(k))
		abort();
	memcpy(m->plain + m->plain_n, p, n);
	m->plain_n += n;
	m->frames[m->n_frames++] =
		(struct hp_seek_entry){ (uint32_t)k, (uint32_t)n,
					(uint32_t)XXH64(p, n, 0) };
	m->n += k;
	m->bad |= !sum || !n;
}

/* The table, one of its bits wrong if which is not 0; or not all of it. */
static void add_table(struct making *m, unsigned which)
{
	size_t n = (size_t)hp_seek_table_bytes(m->n_frames);
	uint8_t *table = m->file + m->n;

	hp_seek_table_write(m->frames, m->n_frames, table);
	m->n += n;
	if (which == 255)
		m->n -= n;
	else if (which == 254)
		m->n--;
	else if (which == 253)
		m->file[m->n++] = 0;
	else if (which)
		table[which * 8191u / 8 % n] ^= (uint8_t)(1 << which % 8);
	m->bad |= which != 0;
}

/* An operation and a length, then so many bytes; behind the last the table. */
static void build(const uint8_t *data, size_t size)
{
	struct making m = { .file = calloc(1, 3 * size + 80000),
			    .plain = calloc(1, size + 1) };

	while (size >= 3 && data[0] < 8 && m.n_frames < 300) {
		size_t n = data[1] | (size_t)(data[0] & 1) << 8;
		unsigned op = data[0] >> 1;

		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		add_frame(&m, data, n, op != 2);
		if (op == 3) { /* a bit of the frame */
			m.file[m.n - 1 - n % 3] ^= 4;
			m.bad = true;
		}
		data += n;
		size -= n;
	}
	add_table(&m, size ? data[0] : 0);
	if (read_file(m.file, m.n, m.plain, m.plain_n) == 0 && m.bad)
		abort();
	else if (!m.bad && read_file(m.file, m.n, m.plain, m.plain_n) < 0)
		abort();
	free(m.file);
	free(m.plain);
}

/* One frame, decoded in one piece into exactly what its header says. */
static void decode(const uint8_t *data, size_t size)
{
	ZSTD_DCtx *d = hp_frame_decoder();
	uint8_t *out = NULL;
	uint64_t plain;

	if (d && hp_frame_head(data, size, &plain, NULL) == 0 &&
	    plain < 1 << 20) {
		out = malloc((size_t)plain);
		if (out)
			hp_frame_decode(d, data, size, out, (size_t)plain,
					NULL);
	}
	free(out);
	ZSTD_freeDCtx(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p;

	if (size && data[0] & 1) {
		build(data + 1, size - 1);
		return 0;
	}
	/* Of the exact size, so that reading beyond it is seen. */
	p = calloc(1, size + !size);
	if (!p)
		return 0;
	if (size)
		memcpy(p, data, size);
	decode(p, size);
	read_file(p, size, NULL, 0);
	free(p);
	return 0;
}
