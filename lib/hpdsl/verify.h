/* SPDX-License-Identifier: Apache-2.0 */
/* Is every byte what was written, and what would other readers make of it? */
#ifndef HPDSL_VERIFY_H
#define HPDSL_VERIFY_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_damage {
	const char *file; /* of the dataset, or NULL */
	uint64_t sample;  /* or UINT64_MAX: no particular sample */
	const char *path; /* of the member or source file, or NULL */
	const char *reason;
};

struct hpdsl_verify_options {
	bool quick;	    /* manifest, sizes, headers only */
	bool thorough;	    /* parse the chunks with two tar readers too */
	const char *source; /* compare with the original files in this tree */
	bool foreign_owner; /* as HPDSL_OPEN_FOREIGN_OWNER */
	/*
	 * Of a stage directory: chunks that are not here, too, by asking the
	 * job's other nodes; alone, without the three above.
	 */
	bool peers;
	uint32_t threads;
	/* Called for everything damaged or different, one call at a time. */
	void (*damage)(void *arg, const struct hpdsl_damage *d);
	void *arg;
	struct hpdsl_watch watch;
};

/*
 * What a source has and its dataset does not keep, though no file differs; as
 * the report of a pack, see hpdsl-verify(1).  UINT64_MAX: not known.
 */
struct hpdsl_not_kept {
	uint64_t excluded, excluded_dirs; /* by the patterns of the pack */
	uint64_t litter, litter_dirs;	  /* if the pack left out litter */
	uint64_t symlinks_to_dirs;
	uint64_t linked_files; /* behind those that lead outside */
	uint64_t specials;     /* and what is no file there */
	uint64_t empty_dirs;
	uint64_t xattrs; /* files with user attributes or an ACL */
	uint64_t symlinks_followed, hard_links, sparse; /* stored as data */
};

struct hpdsl_verify_report {
	uint64_t chunks, samples, members, bytes; /* checked */
	uint64_t damaged_chunks, damaged_samples,
		damaged_files; /* files: manifest, index, chunks */
	uint64_t unlisted;     /* files the manifest does not know */
	/* Of a stage directory: chunks that are not here, and no damage. */
	bool staged;
	uint64_t absent_chunks;
	/* With peers: chunks, among those checked, that other nodes have sent;
	 * and, among the absent ones, those of which none has sent all. */
	uint64_t peer_chunks, unsent_chunks;
	uint64_t
		differing; /* with source: files that differ, lack or are new */
	struct hpdsl_not_kept not_kept; /* with source */
	double seconds;
	uint8_t dataset_id[16];
	bool has_sha256; /* all files and members have it, and the next */
	uint8_t dataset_id_sha256[32];
};

/*
 * Verifies every byte of every file.  0: sound (and equal to source);
 * HPDSL_ECORRUPT: something is damaged; HPDSL_EDIFFERS: sound, but source
 * differs.  The report is filled in all three cases.  Other codes: it could
 * not be done.
 */
HPDSL_API int hpdsl_verify(const char *path,
			   const struct hpdsl_verify_options *opt,
			   struct hpdsl_verify_report *ret,
			   struct hpdsl_error *err);

/* Something that one reader would make of some members, samples or tars. */
struct hpdsl_compat_problem {
	unsigned reader;    /* one bit of enum hpdsl_reader */
	const char *effect; /* "drops", "renames", "splits or mixes",
			       "misreads", "refuses", "note"; static */
	bool note;	    /* it goes on all the same */
	const char *unit;   /* "member", "sample", "tar" or "folder"; static */
	const char *reason; /* "no suffix"; static */
	uint64_t count;
	const char *first; /* the first name or key, any bytes, or NULL */
	const char *tar;   /* that has it, or NULL for all */
};

struct hpdsl_compat_options {
	unsigned readers;   /* enum hpdsl_reader, or'ed */
	bool foreign_owner; /* as HPDSL_OPEN_FOREIGN_OWNER */
	uint32_t threads;
	/* Called when all has been looked at, reader by reader, in order. */
	void (*problem)(void *arg, const struct hpdsl_compat_problem *p);
	void *arg;
	struct hpdsl_watch watch;
	/*
	 * For a look at some of it: no more tars than that, spread over all of
	 * them, and no more of the first members of each, the last sample of
	 * these left out; 0: all.  With either, folders below those given are
	 * not searched, and the report counts what was looked at.
	 */
	uint64_t tars, members;
};

struct hpdsl_compat_report {
	uint64_t tars, members, samples;
	unsigned trips;	 /* readers that would trip, notes apart */
	unsigned splits; /* of hpdsl_split(): what lies together in one tar */
	double seconds;
};

/*
 * What other readers would make of these datasets, tar files and folders of tar
 * files: from headers and indexes, no content is verified.  All are taken for
 * one dataset, in this order.
 */
HPDSL_API int hpdsl_compat(const char *const *paths, size_t n,
			   const struct hpdsl_compat_options *opt,
			   struct hpdsl_compat_report *ret,
			   struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
