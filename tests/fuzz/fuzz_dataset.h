/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For fuzz targets: an input as a dataset of one chunk, in memory of its exact
 * size, and an attacker who writes to its mapped index while the library looks
 * at it.  An input is u16 bytes of the index, u8 times that it is written to,
 * u8 for the target, 4 bytes for each of these (at which operation, what, u16
 * where), the index, the chunk.  All checksums are put right.
 */
#ifndef FUZZ_DATASET_H
#define FUZZ_DATASET_H

#include "hpdsl.h"
#include "make_index.h"

#include "format/names.h"
#include "sys/io.h"

enum {
	IN_DIR = 1000, /* descriptors, none of them the system's */
	IN_INDEX,
	IN_CHUNK,
	IN_OTHER, /* the first that a target may give out */
	HEAD = 4,
};

struct fuzz_dataset {
	struct hp_io io;
	uint8_t *index, *chunk; /* malloc'ed */
	size_t index_n, chunk_n;
	uint8_t choice;		/* the target's */
	const uint8_t *strikes; /* n_strikes of 4 bytes */
	unsigned n_strikes, operations;
};

static inline struct fuzz_dataset *fuzz_dataset_of(const struct hp_io *io)
{
	return (struct fuzz_dataset *)(uintptr_t)io;
}

/* At each operation: it may be the attacker's turn.  Any thread. */
static inline void fuzz_dataset_step(const struct hp_io *io)
{
	struct fuzz_dataset *ds = fuzz_dataset_of(io);
	unsigned now = __atomic_fetch_add(&ds->operations, 1, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < ds->n_strikes; i++) {
		const uint8_t *s = ds->strikes + (size_t)i * 4;

		if (s[0] == now && hp_get16(s + 2) < ds->index_n)
			__atomic_store_n(ds->index + hp_get16(s + 2), s[1],
					 __ATOMIC_RELAXED);
	}
}

/* ---- The table -------------------------------------------------------- */

static inline int fuzz_open(const struct hp_io *io, int dir, const char *name,
			    int flags, mode_t mode)
{
	(void)mode;
	fuzz_dataset_step(io);
	if (flags & O_ACCMODE)
		return -EROFS;
	if (!strncmp(name, "/proc/self/fd/", 14))
		return IN_CHUNK;
	if (dir == AT_FDCWD && !strcmp(name, "in"))
		return IN_DIR;
	if (dir != IN_DIR)
		return -ENOENT;
	if (!strcmp(name, HP_INDEX_NAME))
		return IN_INDEX;
	/* The chunk has any name but those of others, and none that leads out
	 * of the directory. */
	if (!*name || !strcmp(name, "stage.hpdsl") || name[0] == '.')
		return -ENOENT;
	if (!(hp_get32(fuzz_dataset_of(io)->index + 60) & HP_INDEX_FOREIGN) &&
	    strchr(name, '/'))
		abort();
	return IN_CHUNK;
}

static inline int fuzz_close(const struct hp_io *io, int fd)
{
	(void)io;
	return fd >= IN_DIR ? 0 : -EBADF;
}

static inline ssize_t fuzz_pread(const struct hp_io *io, int fd, void *buf,
				 size_t n, uint64_t off)
{
	const struct fuzz_dataset *ds = fuzz_dataset_of(io);
	const uint8_t *p = fd == IN_INDEX ? ds->index : ds->chunk;
	size_t size = fd == IN_INDEX ? ds->index_n : ds->chunk_n;

	fuzz_dataset_step(io);
	if (fd != IN_INDEX && fd != IN_CHUNK)
		return -EBADF;
	if (off >= size)
		return 0;
	if (n > size - off)
		n = size - off;
	memcpy(buf, p + off, n);
	return (ssize_t)n;
}

static inline int fuzz_stat(const struct hp_io *io, int dir, const char *name,
			    struct stat *ret, int flags)
{
	const struct fuzz_dataset *ds = fuzz_dataset_of(io);
	bool index = flags & AT_EMPTY_PATH ? dir == IN_INDEX :
					     !strcmp(name, HP_INDEX_NAME);

	if (!index && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	memset(ret, 0, sizeof *ret);
	ret->st_mode =
		dir == IN_DIR && !index ? S_IFDIR | 0755 : S_IFREG | 0644;
	ret->st_size = (off_t)(index ? ds->index_n : ds->chunk_n);
	ret->st_ino = index ? 1 : 2;
	return 0;
}

static inline int fuzz_map(const struct hp_io *io, int fd, size_t size,
			   const void **ret)
{
	const struct fuzz_dataset *ds = fuzz_dataset_of(io);

	if (fd != IN_INDEX || size != ds->index_n)
		return -ENODEV;
	*ret = ds->index;
	return 0;
}

static inline void fuzz_unmap(const struct hp_io *io, const void *p,
			      size_t size)
{
	(void)io;
	(void)p;
	(void)size;
}

static inline int fuzz_advise(const struct hp_io *io, int fd, uint64_t off,
			      uint64_t n, int advice)
{
	(void)io;
	(void)fd;
	(void)off;
	(void)n;
	(void)advice;
	return 0;
}

static inline int64_t fuzz_cached(const struct hp_io *io, int fd, uint64_t off,
				  uint64_t n)
{
	(void)io;
	(void)fd;
	(void)off;
	(void)n;
	return -EOPNOTSUPP;
}

/* ---- An input --------------------------------------------------------- */

/* What is in the chunk where the members lie is what they hold. */
static inline void fuzz_dataset_contents(struct fuzz_dataset *ds)
{
	uint8_t *row = ds->index + HP_INDEX_FIXED + HP_TABLE_ROW;
	uint64_t at, n;

	if (ds->index_n < HP_INDEX_FIXED + 2 * HP_TABLE_ROW)
		return;
	at = hp_get64(row + 8);
	n = hp_get64(row + 16);
	if (!hp_within(at, n, ds->index_n))
		return;
	for (; n >= HP_MEMBER_ROW; n -= HP_MEMBER_ROW, at += HP_MEMBER_ROW) {
		uint8_t *m = ds->index + at;
		uint64_t from = hp_get64(m), size = hp_get64(m + 8);

		if (hp_within(from, size, ds->chunk_n))
			hp_put64(m + 16, hp_hash64(ds->chunk + from, size));
	}
}

/* Takes an input apart; false: it is none.  ds->io serves it as "in". */
static inline bool fuzz_dataset_begin(struct fuzz_dataset *ds,
				      const uint8_t *data, size_t size)
{
	size_t at;

	if (size < HEAD)
		return false;
	*ds = (struct fuzz_dataset){
		.io = hp_io_system,
		.index_n = hp_get16(data),
		.n_strikes = data[2],
		.choice = data[3],
		.strikes = data + HEAD,
	};
	at = HEAD + (size_t)ds->n_strikes * 4;
	if (size < at || ds->index_n < HP_INDEX_FIXED + 8 ||
	    ds->index_n > size - at)
		return false;
	ds->chunk_n = size - at - ds->index_n;
	ds->index = malloc(ds->index_n);
	ds->chunk = malloc(ds->chunk_n + 1);
	if (!ds->index || !ds->chunk)
		abort();
	memcpy(ds->index, data + at, ds->index_n);
	memcpy(ds->chunk, data + at + ds->index_n, ds->chunk_n);
	fuzz_dataset_contents(ds);
	image_repair(ds->index, ds->index_n);
	ds->io.open = fuzz_open;
	ds->io.close = fuzz_close;
	ds->io.pread = fuzz_pread;
	ds->io.stat = fuzz_stat;
	ds->io.map = fuzz_map;
	ds->io.unmap = fuzz_unmap;
	ds->io.advise = fuzz_advise;
	ds->io.cached = fuzz_cached;
	return true;
}

static inline void fuzz_dataset_end(struct fuzz_dataset *ds)
{
	free(ds->index);
	free(ds->chunk);
}

#endif
