/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the files of the list, wherever they are. */
#ifndef HP_READ_FILE_H
#define HP_READ_FILE_H

#include "base/hash.h"
#include "write/run.h"

/*
 * Bytes [off, off + n) of the file's content to buf.  HPDSL_ECHANGED: it is not
 * as it was scanned.  Not for files of a HP_ROOT_STREAM.  Any thread.
 */
int hp_read_content(const struct hp_writing *p, const struct hp_file *f,
		    void *buf, size_t n, uint64_t off, struct hpdsl_error *err);

/*
 * The file's content was read, all of it, and has these hashes: takes them
 * over, once they are what the source promised.  HPDSL_ECORRUPT.
 */
int hp_content_set(const struct hp_writing *p, struct hp_file *f,
		   const struct hp_content_hash *h, struct hpdsl_error *err);

/*
 * For a content that was read in parts: its CRC-32 so far, 0 at first, where
 * the file has one (HP_FILE_CRC), and the comparison in the end.  What was
 * read as a whole has been compared.  HPDSL_ECORRUPT.
 */
uint32_t hp_content_crc(const struct hp_file *f, uint32_t crc, const void *buf,
			size_t n);
int hp_content_check_crc(const struct hp_writing *p, const struct hp_file *f,
			 uint32_t crc, struct hpdsl_error *err);

#endif
