/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of hpdsl_reindex share. */
#ifndef HP_REINDEX_H
#define HP_REINDEX_H

#include "format/manifest.h"
#include "hpdsl/unpack.h"
#include "index/index.h"
#include "index/write.h"
#include "plan/list.h"
#include "plan/plan.h"
#include "sys/meter.h"
#include "sys/view.h"

/* What only the input knew. */
enum {
	HP_LOST_TIMES = 1, /* nanoseconds; seconds that ustar cannot hold */
	HP_LOST_LABELS = 2,
	HP_LOST_OPTIONS = 4, /* and seed and meta */
	HP_LOST_NAMES = 8,   /* original ones, of what has portable names */
};

struct hp_adopted;

/* A chunk as it was found. */
struct hp_found {
	struct hp_chunk_made made; /* its name is in hp_reindex.names */
	struct hp_file *files;	   /* n of them */
	uint8_t (*contents)[32];   /* as many SHA-256, too */
	uint64_t n;
	struct hp_arena *arena;	    /* of their paths */
	struct hp_adopted *adopted; /* what else is known of a foreign tar */
};

void hp_found_release(struct hp_found *c);

struct hp_adoption;

struct hp_reindex {
	const char *path; /* as given, for messages; NULL: "." by itself */
	const struct hpdsl_reindex_options *opt;
	const struct hp_io *io;
	int dir;
	struct hp_meter meter;
	struct hp_found *chunks;
	uint32_t n_chunks;
	struct hp_arena *names;
	bool adopt; /* they are tars of others */
	struct hp_adoption *adoption;
	struct hp_list list; /* all files, in packed order */
	uint64_t bytes;	     /* of their contents */
	uint8_t dataset_id[16], dataset_id_sha256[32];

	/* What was there before. */
	bool has_manifest; /* it is sound */
	struct hp_manifest manifest;
	struct hp_view view;
	struct hp_index *index;	    /* NULL: none that opens */
	uint64_t index_bytes;	    /* of the file, */
	uint8_t index_checksum[16]; /* 0 bytes if there is none */
	bool manifest_agrees;	    /* with all chunks */
	bool frames_apart;	    /* see hp_reindex_frames */
	enum hpdsl_group group;	    /* LOOK: nobody has said it so far */
	bool sha256;		    /* there were, so there will be */
	unsigned lost;		    /* HP_LOST_ */
	bool wrote_index, wrote_manifest, wrote_sums;
};

/*
 * Finds the chunks, without reading them: those of ours, or what there is to
 * be adopted.
 */
int hp_reindex_find(struct hp_reindex *x, struct hpdsl_error *err);

/* Room for n chunks; their names are to be added to x->names. */
int hp_reindex_chunks(struct hp_reindex *x, size_t n, struct hpdsl_error *err);

/*
 * Reads one chunk: members, checksums.  A job of hp_pool_run; arg is struct
 * hp_reindex.  HPDSL_ECORRUPT names the chunk and the place.
 */
int hp_reindex_chunk(void *arg, uint64_t number, struct hpdsl_error *err);

/* Tells a warning; the text names the file. */
void hp_reindex_warn(struct hp_reindex *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What is there is not what was: a failure, or with force a warning and 0. */
int hp_reindex_differs(struct hp_reindex *x, int code, struct hpdsl_error *err,
		       const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Loads the manifest and index that are there, if they can be. */
int hp_reindex_load(struct hp_reindex *x, struct hpdsl_error *err);
void hp_reindex_unload(struct hp_reindex *x);

/*
 * Chunk, or its member f, is not what file says of it: HPDSL_EDIFFERS, or with
 * force a warning and 0.
 */
int hp_reindex_contradicts(struct hp_reindex *x, const char *file,
			   const char *chunk, const struct hp_file *f,
			   struct hpdsl_error *err);

/* The value of an option in a sound manifest; "" if there is none. */
const char *hp_reindex_option(const struct hp_reindex *x, const char *key);

/*
 * The row of file i, as it was found, in the old index: by number, else by
 * path.  False: there is none that is sound and agrees.
 */
bool hp_reindex_row(const struct hp_reindex *x, uint64_t i,
		    struct hpdsl_member *m);

/*
 * Gives the files their original paths, which stay the index's; what they have
 * in the chunks becomes list.stored.  Marks generated members.
 */
int hp_reindex_names(struct hp_reindex *x, struct hpdsl_error *err);

/*
 * Looks at where frames of compressed chunks begin: HPDSL_ECORRUPT.  Where
 * nobody has said how files are grouped, one that begins between two of one key
 * does: by the last dot, too, x->group becomes NONE; by the first alone sets
 * x->frames_apart.  After the list is made.
 */
int hp_reindex_frames(struct hp_reindex *x, struct hpdsl_error *err);

/*
 * How files become samples, as the caller, a sound manifest or the index says:
 * x->group, and the list's rule.  HPDSL_EUSAGE: the caller says something else
 * than who packed it.
 */
int hp_reindex_rule(struct hp_reindex *x, struct hpdsl_error *err);
/* Where nobody has said it samples are made by key.  HPDSL_EUSAGE: those that
 * came of it speak against that. */
int hp_reindex_grouped(struct hp_reindex *x, struct hpdsl_error *err);
/*
 * How many samples have the key, or members the path, of one before, and which
 * is the first of them.  16 bytes each meanwhile.  adopt.c
 */
int hp_reindex_repeats(const struct hp_reindex *x, bool keys, uint64_t *ret,
		       uint64_t *ret_first, struct hpdsl_error *err);

/*
 * Is it shuffled, as the caller, a sound manifest or the index says?
 */
bool hp_reindex_shuffled(const struct hp_reindex *x);
/* Has none of them anything to say of it?  Then it counts as not shuffled. */
bool hp_reindex_shuffle_lost(const struct hp_reindex *x);

/*
 * Are the chunks what manifest and index say?  HPDSL_EDIFFERS, or with force 0
 * and what contradicts is only used where it agrees.
 */
int hp_reindex_compare(struct hp_reindex *x, struct hpdsl_error *err);

/* Class names of the old index; false if they are not all there. */
bool hp_reindex_take_classes(struct hp_reindex *x);
/* The label of the sample that this old row is of; false: it is damaged. */
bool hp_reindex_old_label(const struct hp_reindex *x,
			  const struct hpdsl_member *m, uint32_t *ret);

/* Takes over times, modes and labels.  Sets x->lost. */
int hp_reindex_recover(struct hp_reindex *x, struct hpdsl_error *err);

/* x->lost as text, static; NULL for nothing. */
const char *hp_reindex_lost(const struct hp_reindex *x);

/* Takes the rows of files that are not what they say out of x->manifest. */
void hp_reindex_files(struct hp_reindex *x);
/* Without a manifest that knew them: tells of files that look like such. */
void hp_reindex_tell_files(struct hp_reindex *x);

/*
 * Writes what is not there or is not so: the manifest, then the index.  Sets
 * x->wrote_index and x->wrote_manifest.
 */
int hp_reindex_write(struct hp_reindex *x, struct hpdsl_error *err);

#endif
