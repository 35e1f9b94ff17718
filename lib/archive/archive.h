/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One archive file, walked front to back through libarchive: zip, 7z, and tar,
 * plain or behind gzip, bzip2, xz, zstd, lzip or lzma, and with nested the
 * archives inside it, but for 7z, as if they were folders.  The walk is the
 * same every time, so a file can be named by its number in it.  Names are
 * bytes, whatever the locale; times of zip are UTC.
 */
#ifndef HP_ARCHIVE_H
#define HP_ARCHIVE_H

#include "sys/io.h"

enum hp_archive_type {
	HP_ARCHIVE_FILE,
	HP_ARCHIVE_FOLDER,
	HP_ARCHIVE_SYMLINK,
	HP_ARCHIVE_HARDLINK,
	HP_ARCHIVE_SPECIAL, /* a device, FIFO or socket */
};

/* What the walk is at.  Strings live until the next call. */
struct hp_archive_entry {
	enum hp_archive_type type;
	/* As the archive has it, not cleaned; the folders of inner archives
	 * (their names without the suffix) in front. */
	const char *path;
	size_t path_len;
	size_t inner_len;   /* bytes of these folders, slash included */
	const char *target; /* of links, as the archive has it, or NULL */
	size_t target_len;
	uint64_t size;
	int64_t mtime; /* seconds since 1970, UTC; 0 if there is none */
	uint32_t nsec;
	uint32_t mode;	  /* 07777 */
	uint64_t ordinal; /* of a file among the files: 0, 1, 2, .. */
	bool sparse;	  /* the content has holes that are not stored */
	bool in_place;	  /* the content lies at .. */
	uint64_t offset;  /* .. of the archive file, as it is */
	uint16_t method;  /* of a zip: 0 is stored; of 7z: all bits */
	bool has_crc;	  /* a zip says that its CRC-32 is .. */
	uint32_t crc;	  /* .. this; in place nobody else checks it */
};

struct hp_archive;

/* Do n bytes begin what is compressed, by any means that is decoded here? */
bool hp_archive_is_compressed(const void *head, size_t n);

/*
 * What else a file is that begins with these n bytes (512 are enough), as "a
 * RAR archive: unpack it ..", static; NULL: nothing that is known.
 */
const char *hp_archive_kind(const void *head, size_t n);
/*
 * The same of what stands where data should be, a Git LFS pointer or a page as
 * servers send; *pointer says which.
 */
const char *hp_archive_hollow(const void *head, size_t n, bool *pointer);
/* The same of one that ends as a zip does, this being its last disk's number.
 */
const char *hp_archive_kind_by_end(const void *head, size_t n, unsigned disk);
/* The same of what is called as a part of one: a.7z.001, a.tar.gz.002. */
const char *hp_archive_part(const char *name);

/*
 * Opens the file name, relative to dir.  HPDSL_ENOTOURS: no archive of these
 * kinds; HPDSL_ECORRUPT; -errno.  Messages name the file as name says.
 */
int hp_archive_open(const struct hp_io *io, int dir, const char *name,
		    bool nested, struct hp_archive **ret,
		    struct hpdsl_error *err);
/* NULL is harmless. */
void hp_archive_close(struct hp_archive *a);

/*
 * 1 and the next thing in the archive, 0 at its end, HPDSL_ECORRUPT for what is
 * damaged, cut off or nested too deeply, -errno.  What was not read of the
 * thing before is passed over.
 */
int hp_archive_next(struct hp_archive *a, struct hp_archive_entry *ret,
		    struct hpdsl_error *err);

/* Up to n more bytes of the file the walk is at; 0 at its end. */
ssize_t hp_archive_read(struct hp_archive *a, void *buf, size_t n,
			struct hpdsl_error *err);

/*
 * While *stop is not zero (polled; NULL: never) reading ends with
 * HPDSL_ESTOPPED.
 */
void hp_archive_set_stop(struct hp_archive *a, const int *stop);

/*
 * Asked before an archive inside another is gone into; false: reading ends with
 * HPDSL_ESTOPPED.  A small file can hold more of them than anybody can walk
 * through, and nothing else.
 */
void hp_archive_set_enter(struct hp_archive *a, bool (*enter)(void *arg),
			  void *arg);

/*
 * Asked to tell what is taken though it is not as it should be, each a line as
 * an error has it, while hp_archive_next() runs.
 */
void hp_archive_set_tell(struct hp_archive *a,
			 void (*tell)(void *arg, const char *text), void *arg);

/*
 * Can the file that the walk is at be decoded at all?  Zips have many methods,
 * and libarchive knows some: of each that occurs a first byte is read.
 * -ENOTSUP, HPDSL_ECORRUPT, -errno.  Who calls it does not read this file.
 */
int hp_archive_try(struct hp_archive *a, const struct hp_archive_entry *e,
		   struct hpdsl_error *err);

/* Bytes that came out of decoders so far, of all layers. */
uint64_t hp_archive_decoded(const struct hp_archive *a);

/* Of the archive file, when it was opened. */
const struct stat *hp_archive_stat(const struct hp_archive *a);

#endif
