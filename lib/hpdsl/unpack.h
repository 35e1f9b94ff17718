/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset becomes files again; its index and manifest are made anew. */
#ifndef HPDSL_UNPACK_H
#define HPDSL_UNPACK_H

#include "core.h"
#include "pack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_dataset;

struct hpdsl_unpack_options {
	/* Members to restore, any order; NULL: all. */
	const uint64_t *members;
	uint64_t n_members;
	bool foreign_owner; /* output may be anybody's */
	uint32_t threads;
	struct hpdsl_watch watch;
};

struct hpdsl_unpack_report {
	uint64_t members, bytes;
	uint64_t failed;    /* members left out: damaged, or impossible names */
	uint64_t generated; /* and those that the packer made */
	double seconds;
};

/*
 * Restores files (content, mode, mtime) below the new or empty directory
 * output, never outside it.  A member whose checksum differs does not get its
 * name; the others are restored, and the result is HPDSL_ECORRUPT.  *ret is
 * set whenever all was tried: with 0, or with failed members.  -EPERM: output
 * is there, and neither the caller's nor root's.
 */
HPDSL_API int hpdsl_unpack(const struct hpdsl_dataset *ds, const char *output,
			   const struct hpdsl_unpack_options *opt,
			   struct hpdsl_unpack_report *ret,
			   struct hpdsl_error *err);

struct hpdsl_reindex_options {
	bool force; /* replace an index that a chunk contradicts */
	/*
	 * Foreign tar files to adopt; none: those of the directory, unless it
	 * holds chunks of ours.
	 */
	const char *const *tars;
	size_t n_tars;
	const char *output; /* where index and manifest go; NULL: beside */
	bool foreign_owner; /* that directory may be anybody's */
	bool shuffled;	    /* the chunks' author shuffled their samples */
	/*
	 * How files become samples, else as manifest or index say, else by
	 * key; double_suffix as in struct hpdsl_pack_options.
	 */
	bool has_group;
	enum hpdsl_group group;
	const char *const *double_suffix;
	size_t n_double_suffix;
	/*
	 * Classes of foreign tars, as in struct hpdsl_pack_options.
	 * HPDSL_LABELS_KEEP: as they were, found again or out of the old index.
	 */
	enum hpdsl_labels labels;
	uint32_t label_dir;
	const char *label_file, *label_columns, *label_field;
	uint32_t threads;
	struct hpdsl_watch watch;
};

struct hpdsl_reindex_report {
	uint64_t chunks, samples, members, bytes;
	const char *
		lost; /* what could not be recovered, comma-separated; static */
	bool unchanged; /* all was there and sound: nothing was written */
	/* Tars of others, and what they hold besides: links, folders, devices
	 * and the like, which are passed over; samples whose key, members whose
	 * path came before; samples with two members of one suffix. */
	bool adopted;
	uint64_t links, folders, specials;
	uint64_t replaced; /* members whose tar has their path again */
	uint64_t repeated_keys, repeated_paths, repeated_suffixes;
	uint64_t classes,
		unlabelled; /* samples without one, if there are any */
	/* Members .cls or .json that were read once more for them. */
	uint64_t label_members, label_bytes;
	/* Members .cls of adopted samples, none of which has a class, though
	 * HPDSL_LABELS_CLS might give them some; 0 where it is not so, and with
	 * HPDSL_LABELS_NONE. */
	uint64_t cls_members;
	double seconds;
	uint8_t dataset_id[16];
	bool has_sha256; /* the next */
	uint8_t dataset_id_sha256[32];
	bool shuffled; /* as of hpdsl_counts */
	enum hpdsl_group group;
	/* It was packed, and neither index nor manifest says if shuffled: if
	 * it was, this index is that of another pack. */
	bool shuffle_lost;
};

/*
 * Rebuilds index and manifest of the directory path from its chunks, or makes
 * them for tars of others, where these lie: for those in the directory path, or
 * for opt->tars (path is NULL then).  HPDSL_EDIFFERS: a chunk contradicts the
 * index that is there (see force); HPDSL_ECORRUPT; HPDSL_ENOTOURS: no dataset,
 * or archives that are compressed; -EOPNOTSUPP: a sparse file; HPDSL_EUSAGE:
 * also where opt->shuffled or opt->group is not what the manifest says, where
 * neither manifest nor index is left to say how files were grouped and the
 * names do not look as if it were by key, and where labels are asked for of
 * what was packed.
 */
HPDSL_API int hpdsl_reindex(const char *path,
			    const struct hpdsl_reindex_options *opt,
			    struct hpdsl_reindex_report *ret,
			    struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
