/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is at a path, and what does it say of itself?  Told from names, headers
 * and small files, whatever the size of what is there.  Nothing here takes a
 * lock or changes a file.
 */
#ifndef HPDSL_LOOK_H
#define HPDSL_LOOK_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hpdsl_kind {
	HPDSL_KIND_NOTHING, /* no such name */
	/* Directories: */
	HPDSL_KIND_DATASET, /* packed; or what is left of one */
	HPDSL_KIND_STAGE,
	HPDSL_KIND_UNFINISHED, /* of a pack that is at work, or was ended */
	HPDSL_KIND_TARS,       /* tar files of others, mostly */
	HPDSL_KIND_TREE,       /* none of these */
	HPDSL_KIND_EMPTY,
	/* Files: */
	HPDSL_KIND_CHUNK, /* a tar file with the name of a chunk */
	HPDSL_KIND_TAR,	  /* another one, plain or compressed, or a zip */
	HPDSL_KIND_INDEX,
	HPDSL_KIND_MANIFEST,
	HPDSL_KIND_JOURNAL, /* of an unfinished pack */
	HPDSL_KIND_STATE,   /* of a stage directory */
	HPDSL_KIND_SNAPSHOT,
	HPDSL_KIND_FILE,    /* none of these */
	HPDSL_KIND_SPECIAL, /* a device, FIFO or socket, which is not opened */
	/* A dataset's file for other readers, SHA256SUMS, or .nv-meta. */
	HPDSL_KIND_SIDE,
	HPDSL_KIND_BOOK, /* of a job's nodes, in a stage directory */
	HPDSL_KINDS
};

/*
 * Links are followed; one that leads nowhere is nothing.  A directory is what
 * the names in it say, a file what it begins with, or, where that is damaged,
 * what its name says.  -errno: it cannot be looked at.
 */
HPDSL_API int hpdsl_kind_of(const char *path, const struct hp_io *io,
			    enum hpdsl_kind *ret, struct hpdsl_error *err);

/*
 * Is an index, a manifest or a state of a stage directory by itself what its
 * head says: not cut off, checksums of what is read to open it?  0; other kinds
 * are not looked at.  HPDSL_ENOTOURS, HPDSL_ETOONEW, HPDSL_ECORRUPT, -errno.
 */
HPDSL_API int hpdsl_file_check(const char *path, const struct hp_io *io,
			       enum hpdsl_kind kind, struct hpdsl_error *err);

/*
 * Is it a table (.csv, .tsv, .jsonl) of no more than 16 MiB whose header names
 * samples and classes, as hpdsl_pack() wants it for labels?  1; 0: no; -errno.
 */
HPDSL_API int hpdsl_labels_look(const char *path, const struct hp_io *io,
				struct hpdsl_error *err);

/* ---- What is written about a pack ------------------------------------- */

struct hpdsl_pair {
	const char *key, *value;
};

/* In the order of the file; a key may be there several times. */
struct hpdsl_pairs {
	const struct hpdsl_pair *v;
	size_t n;
};

struct hpdsl_manifest;

/*
 * Reads the manifest of the dataset, or stage directory, in directory path.
 * HPDSL_ENOTOURS, HPDSL_ETOONEW, HPDSL_ECORRUPT, -errno.
 */
HPDSL_API int hpdsl_manifest_open(const char *path, const struct hp_io *io,
				  struct hpdsl_manifest **ret,
				  struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_manifest_close(struct hpdsl_manifest *m);

struct hpdsl_manifest_info {
	uint8_t dataset_id[16];
	uint8_t pack[16]; /* XXH3-128 of its index, as hpdsl_pack_id() */
	bool has_sha256;  /* the next, and one of each member and file */
	uint8_t dataset_id_sha256[32];
	uint64_t samples, members, bytes, classes;
	uint64_t chunks, index_bytes;
	uint64_t side_files; /* besides index and chunks */
	bool has_seed;
	uint64_t seed;
	bool adopted; /* tar files of others */
	bool rebuilt;
	const char *lost;	    /* with rebuilt, or NULL */
	struct hpdsl_pairs options; /* those that shaped its bytes */
	struct hpdsl_pairs meta;
};

HPDSL_API void hpdsl_manifest_info(const struct hpdsl_manifest *m,
				   struct hpdsl_manifest_info *ret);

struct hpdsl_unfinished;

/*
 * Reads the journal of the pack that is unfinished in directory path; one
 * without a sound head is one that has not begun.  HPDSL_ENOTOURS: there is no
 * such file; HPDSL_ETOONEW; HPDSL_ECORRUPT: its options make no sense, or it is
 * no file; -errno.
 */
HPDSL_API int hpdsl_unfinished_open(const char *path, const struct hp_io *io,
				    struct hpdsl_unfinished **ret,
				    struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_unfinished_close(struct hpdsl_unfinished *u);

struct hpdsl_unfinished_info {
	bool begun;	 /* else all below it is 0, but for who and when */
	uint64_t files;	 /* in its list */
	uint64_t chunks; /* that it was going to write; 0: it does not say */
	uint64_t chunks_done, bytes_done;
	struct hpdsl_pairs options;
	int64_t written;  /* when the journal was, seconds since 1970 */
	const char *host; /* of the packer that came last; any bytes */
	uint32_t process; /* its number there; 0: it does not say */
};

HPDSL_API void hpdsl_unfinished_info(const struct hpdsl_unfinished *u,
				     struct hpdsl_unfinished_info *ret);

/* ---- Tar files of anybody --------------------------------------------- */

enum hpdsl_tar_form {
	HPDSL_TAR_NONE, /* nothing that is known; or it is empty */
	HPDSL_TAR_PLAIN,
	/* By gzip, bzip2, xz, zstd, lzip or lzma; maybe no tar. */
	HPDSL_TAR_COMPRESSED,
	HPDSL_TAR_ZIP, /* or 7z: files one by one */
};

enum {
	HPDSL_ARCHIVE_PACKED = 1, /* more than a plain tar */
	HPDSL_ARCHIVE_READ = 2,	  /* hpdsl_compat() takes it of a folder */
};

/*
 * Does a file's name say that it is an archive which hpdsl_pack() takes?  The
 * length of its suffix, ".tar.gz", or 0; ret_is, which may be NULL, has which.
 */
HPDSL_API size_t hpdsl_archive_suffix(const char *name, size_t len,
				      unsigned *ret_is);

/*
 * By its first bytes, not by its name.  -EINVAL: no regular file; -errno.
 */
HPDSL_API int hpdsl_tar_form(const char *path, const struct hp_io *io,
			     enum hpdsl_tar_form *ret, struct hpdsl_error *err);

/*
 * The files in the tar file, compressed or not, zip or 7z archive path, from
 * the first on.  0: these were all; 1: each returned true, which ends it, or
 * about as many bytes were read that had to be.  Links and the like are passed
 * over. HPDSL_ENOTOURS: it is no archive; HPDSL_ECORRUPT: damaged, or cut off;
 * -errno.
 */
HPDSL_API int hpdsl_tar_names(const char *path, uint64_t bytes,
			      bool (*each)(void *arg, const char *name,
					   size_t len, uint64_t size),
			      void *arg, struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
