/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that appear whole: written under a temporary name (".NAME.part", which
 * is shortened where it would be too long), synced, renamed.  The one helper
 * that all writers use.  A failed fsync is final: the file is given up, never
 * synced again.
 */
#ifndef HP_OUTFILE_H
#define HP_OUTFILE_H

#include "sys/io.h"

#define HP_OUTFILE_NAME 256 /* of any file, and a NUL */

struct hp_outfile {
	const struct hp_io *io;
	int dir; /* borrowed */
	int fd;
	bool direct; /* fd has O_DIRECT now */
	mode_t mode; /* it is created with, less the umask */
	char name[HP_OUTFILE_NAME], temp[HP_OUTFILE_NAME];
};

/*
 * Creates the temporary file, mode 0666 less the umask, replacing a left-over
 * one.  size > 0 reserves that many bytes where the file system can; direct
 * asks for O_DIRECT, which is dropped where the file system has none.
 */
int hp_outfile_open(struct hp_outfile *f, const struct hp_io *io, int dir,
		    const char *name, uint64_t size, bool direct,
		    struct hpdsl_error *err);

/*
 * The same for a file that any number of processes may write at a time: the
 * temporary file is locked until it is closed, and what another one is writing
 * is -EBUSY.  hp_outfile_flush keeps it open, and so locked, for
 * hp_outfile_commit, which says -EBUSY if it was taken away all the same.
 */
int hp_outfile_open_alone(struct hp_outfile *f, const struct hp_io *io, int dir,
			  const char *name, struct hpdsl_error *err);

/*
 * Opens the temporary file that an earlier run, or this one, left.  -ENOENT;
 * -EINVAL for what is no regular file.  Nothing is removed if it fails.
 */
int hp_outfile_reopen(struct hp_outfile *f, const struct hp_io *io, int dir,
		      const char *name, struct hpdsl_error *err);

/*
 * Writes at off; may be called from several threads at a time when off and n
 * are multiples of 4096 and buf is so aligned (as O_DIRECT needs it).
 */
int hp_outfile_pwrite(struct hp_outfile *f, const void *buf, size_t n,
		      uint64_t off, struct hpdsl_error *err);

/* The last, unaligned piece: O_DIRECT is switched off first. */
int hp_outfile_pwrite_tail(struct hp_outfile *f, const void *buf, size_t n,
			   uint64_t off, struct hpdsl_error *err);

/* Cuts or lengthens it to size bytes; what is new is zeros. */
int hp_outfile_resize(struct hp_outfile *f, uint64_t size,
		      struct hpdsl_error *err);
/* Closes it under the temporary name, to be opened again. */
int hp_outfile_close(struct hp_outfile *f, struct hpdsl_error *err);

/* fsync and close, still under the temporary name. */
int hp_outfile_sync(struct hp_outfile *f, struct hpdsl_error *err);
/* fsync alone. */
int hp_outfile_flush(struct hp_outfile *f, struct hpdsl_error *err);
/* Rename, and close if it is open; after one of these.  The directory is not
 * synced. */
int hp_outfile_commit(struct hp_outfile *f, struct hpdsl_error *err);
/* The temporary name of a file of that name, of which it is cut if too long. */
void hp_outfile_temp(const char *name, char ret[HP_OUTFILE_NAME]);

/* Closes and removes the temporary file if it is not committed. */
void hp_outfile_abandon(struct hp_outfile *f);

/* A whole small file in one call, directory synced too. */
int hp_outfile_put(const struct hp_io *io, int dir, const char *name,
		   const void *data, size_t n, struct hpdsl_error *err);
/* The same, for nobody but its owner at any moment: mode 0600. */
int hp_outfile_put_private(const struct hp_io *io, int dir, const char *name,
			   const void *data, size_t n, struct hpdsl_error *err);

int hp_sync_dir(const struct hp_io *io, int dir, struct hpdsl_error *err);

#endif
