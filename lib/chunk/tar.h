/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one tar dialect that we write: POSIX ustar, pax headers only where ustar
 * cannot hold a path or a size.  Pure functions over memory; hpdsl-format(5),
 * "Chunks".
 */
#ifndef HP_TAR_H
#define HP_TAR_H

#include "hpdsl/core.h"

#define HP_TAR_BLOCK 512
#define HP_TAR_RECORD 10240
/* Largest header: pax header, its data (path and size), the ustar header. */
#define HP_TAR_HEADER_MAX (512 + 4608 + 512)

/* The largest number of a ustar field: bytes (8 GiB - 1), seconds. */
#define HP_TAR_NUMBER_MAX 077777777777u

/* A time as ustar can hold it. */
static inline int64_t hp_tar_time(int64_t t)
{
	const int64_t most = HP_TAR_NUMBER_MAX;

	return t < 0 ? 0 : t < most ? t : most;
}

/* What a header says of a member. */
struct hp_tar_member {
	const char *path;
	size_t path_len;
	uint64_t size;
	int64_t mtime; /* written as hp_tar_time */
	uint32_t mode; /* permission bits */
};

/* Bytes of the member's header, a multiple of 512; does not write. */
size_t hp_tar_header_size(const struct hp_tar_member *m);

/* Writes it to out (HP_TAR_HEADER_MAX bytes will do); returns its size. */
size_t hp_tar_header_write(const struct hp_tar_member *m, uint8_t *out);

static inline uint64_t hp_tar_padded(uint64_t size)
{
	return (size + HP_TAR_BLOCK - 1) / HP_TAR_BLOCK * HP_TAR_BLOCK;
}

/* Size of a whole tar file whose members end at end: two zero blocks, records.
 */
static inline uint64_t hp_tar_total(uint64_t end)
{
	end += 2 * HP_TAR_BLOCK;
	return (end + HP_TAR_RECORD - 1) / HP_TAR_RECORD * HP_TAR_RECORD;
}

/*
 * Reading, strict: our dialect and nothing else, each field in the one form
 * in which hp_tar_header_write gives it.  buf holds n bytes at a header's
 * place.  Returns the header's size and fills *ret (ret->path points to
 * path_buf, of HPDSL_PATH_MAX + 1 bytes), or 0 at the end of the archive (a
 * zero block), -EAGAIN if more than n bytes are needed (never more than
 * HP_TAR_HEADER_MAX), or HPDSL_ECORRUPT with the reason in *err.
 */
ssize_t hp_tar_header_read(const uint8_t *buf, size_t n,
			   struct hp_tar_member *ret, char *path_buf,
			   struct hpdsl_error *err);

#endif
