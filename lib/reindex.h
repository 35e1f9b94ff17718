/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of hpdsl_reindex share. */
#ifndef HP_REINDEX_H
#define HP_REINDEX_H

#include "index.h"
#include "list.h"
#include "manifest.h"
#include "meter.h"
#include "plan.h"
#include "view.h"

/* What only the input knew. */
enum {
	HP_LOST_TIMES = 1, /* nanoseconds; seconds that ustar cannot hold */
	HP_LOST_LABELS = 2,
	HP_LOST_OPTIONS = 4, /* and seed and meta */
};

/* A chunk as it was found. */
struct hp_found {
	char name[HP_CHUNK_NAME];
	uint64_t bytes;
	uint8_t checksum[16];
	struct hp_file *files; /* n of them, room for more */
	uint64_t n, room;
	struct hp_arena *arena; /* of their paths */
	uint64_t first_file;	/* in the list of all, once it is made */
	uint64_t first_sample;
};

struct hp_reindex {
	const char *path; /* as given, for messages */
	const struct hpdsl_reindex_options *opt;
	const struct hp_io *io;
	int dir;
	struct hp_meter meter;
	struct hp_found *chunks;
	uint32_t n_chunks;
	struct hp_list list; /* all files, in packed order */
	uint64_t bytes;	     /* of their contents */
	uint8_t dataset_id[16];

	/* What was there before. */
	bool has_manifest; /* it is sound */
	struct hp_manifest manifest;
	struct hp_view view;
	struct hp_index *index;	    /* NULL: none that opens */
	uint64_t index_bytes;	    /* of the file, */
	uint8_t index_checksum[16]; /* 0 bytes if there is none */
	bool manifest_agrees;	    /* with all chunks */
	unsigned lost;		    /* HP_LOST_ */
	bool wrote_index, wrote_manifest;
};

/*
 * Reads one chunk: members, checksums.  A job of hp_pool_run; arg is struct
 * hp_reindex.  HPDSL_ECORRUPT names the chunk and the place.
 */
int hp_reindex_chunk(void *arg, uint64_t number, struct hpdsl_error *err);

/* Tells a warning; text names the file. */
void hp_reindex_warn(struct hp_reindex *x, const char *text);

/* Loads the manifest and index that are there, if they can be. */
int hp_reindex_load(struct hp_reindex *x, struct hpdsl_error *err);
void hp_reindex_unload(struct hp_reindex *x);

/* Does a sound manifest, or the index, say that keys do not make samples? */
bool hp_reindex_group_none(const struct hp_reindex *x);

/*
 * Are the chunks what manifest and index say?  HPDSL_EDIFFERS, or with force 0
 * and what contradicts is only used where it agrees.
 */
int hp_reindex_compare(struct hp_reindex *x, struct hpdsl_error *err);

/* Takes over times, modes and labels.  Sets x->lost. */
int hp_reindex_recover(struct hp_reindex *x, struct hpdsl_error *err);

/* x->lost as text, static; NULL for nothing. */
const char *hp_reindex_lost(const struct hp_reindex *x);

/*
 * Writes what is not there or is not so: the manifest, then the index.  Sets
 * x->wrote_index and x->wrote_manifest.
 */
int hp_reindex_write(struct hp_reindex *x, struct hpdsl_error *err);

#endif
