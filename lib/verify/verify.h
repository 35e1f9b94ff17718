/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of hpdsl_verify share. */
#ifndef HP_VERIFY_H
#define HP_VERIFY_H

#include "dataset/source.h"
#include "format/manifest.h"
#include "hpdsl/verify.h"
#include "index/index.h"
#include "sys/meter.h"
#include "sys/view.h"

struct hp_verify {
	const char *path; /* as given, for messages */
	const struct hpdsl_verify_options *opt;
	struct hpdsl_verify_report *report; /* under the meter's lock */
	struct hp_meter meter;
	const struct hp_io *io;
	int dir;
	bool has_manifest; /* it is sound */
	struct hp_manifest manifest;
	struct hp_view view;
	struct hp_index *index; /* NULL: missing or damaged */
	/* From the index, else from the manifest; then members is 0. */
	struct hpdsl_chunk *chunks;
	uint32_t n_chunks;
	bool *bad; /* of each chunk: damage was found in it; under the lock */
	/* SHA-256 of the index's members and chunks; without an index, of the
	 * manifest's chunks. */
	bool sha256;
	struct hp_verify_stage *stage; /* NULL: it is no stage directory */
	struct hp_verify_peers *peers; /* NULL: no others are asked */
	struct hp_verify_order *order; /* NULL: contents are not read */
	uint8_t index_hash[16];	       /* XXH3-128 of the index */
};

/* Telling: tell.c */

/* Where damage is; zero but for sample is "the file as a whole". */
struct hp_damage_place {
	const char *file;
	uint64_t sample;  /* UINT64_MAX: none */
	const char *path; /* of a member or a source file */
};

/* Tells the caller.  Counts nothing. */
void hp_verify_tell(struct hp_verify *v, struct hp_damage_place spot,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The file is damaged as a whole: told, and counted among damaged_files. */
void hp_verify_file(struct hp_verify *v, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Is this a failure of what is stored (absent, unreadable, no file at all)
 * rather than one of this machine or its user?
 */
bool hp_verify_is_damage(int code);

/* The reason alone: *err's text behind "name: ". */
const char *hp_verify_reason(const struct hpdsl_error *err, const char *name);

/* Adds what was checked to the report. */
void hp_verify_count(struct hp_verify *v, const struct hpdsl_chunk *chunk,
		     uint64_t bytes);

/*
 * Loads and checks manifest and index and makes the table of chunks.  Damage is
 * told and counted; the result is a failure only if it could not be done, or
 * if this is no dataset.
 */
int hp_verify_load(struct hp_verify *v, struct hpdsl_error *err);
void hp_verify_unload(struct hp_verify *v);

/*
 * Of a stage directory, with the table made: which chunks are here, and in
 * which form; their rows become what is here.
 */
int hp_verify_stage_load(struct hp_verify *v, struct hpdsl_error *err);
void hp_verify_stage_unload(struct hp_verify *v);
/* Is the chunk, without damage, not here?  Of any dataset. */
bool hp_verify_absent(struct hp_verify *v, uint32_t chunk);
/* Is it here as the plain tar of a compressed one? */
bool hp_verify_expanded(const struct hp_verify *v, uint32_t chunk);
/* Has the plan a side file of that name for this node, and its chunks here? */
bool hp_verify_stage_wants(const struct hp_verify *v, const char *name);
/* Is it a name that a stage directory may have beside the dataset's? */
bool hp_verify_stage_knows(const struct hp_verify *v, const char *name);

/*
 * The job's other nodes, for chunks that are not here: peers.c.  HPDSL_EUSAGE:
 * it is no stage directory; -EHOSTUNREACH: there is nobody to ask.  sources
 * plays them; NULL: as the dataset has them.
 */
int hp_verify_peers_open(struct hp_verify *v, const struct hp_sources *sources,
			 struct hpdsl_error *err);
void hp_verify_peers_close(struct hp_verify *v);
/* One that is not here. */
int hp_verify_peer_chunk(struct hp_verify *v, uint32_t chunk,
			 struct hpdsl_error *err);
/* Warns of those that none of them has sent. */
void hp_verify_peers_tell(struct hp_verify *v);
/* hpdsl_verify(), with sources that play the other nodes. */
int hp_verify_with(const char *path, const struct hpdsl_verify_options *opt,
		   const struct hp_sources *sources,
		   struct hpdsl_verify_report *ret, struct hpdsl_error *err);

/* A job of hp_pool_run: arg is struct hp_verify, number a chunk. */
int hp_verify_chunk(void *arg, uint64_t number, struct hpdsl_error *err);

/* The other files that the manifest lists: sizes and checksums. */
int hp_verify_files(struct hp_verify *v, struct hpdsl_error *err);
/*
 * Once all members are known to be sound: are the dataset ids those of their
 * contents?
 */
int hp_verify_id(struct hp_verify *v, struct hpdsl_error *err);
/* Warns of files that nobody lists. */
int hp_verify_unlisted(struct hp_verify *v, struct hpdsl_error *err);

/* Parses the chunks that are sound so far with two tar readers. */
int hp_verify_thorough(struct hp_verify *v, struct hpdsl_error *err);

/* Compares the members with opt->source. */
int hp_verify_source(struct hp_verify *v, struct hpdsl_error *err);

#endif
