/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the readers of a stage directory find a chunk: here, as the dataset
 * stores it or as the plain tar, or at the origin; when it is coming, they
 * wait for it.  Decided anew for every read, so that what has become ready is
 * read here from then on; a descriptor of the origin's chunk stays in the cache
 * of descriptors until others need its place.
 */
#ifndef HP_STAGE_READ_H
#define HP_STAGE_READ_H

#include "dataset/source_peer.h"
#include "dataset/where.h"

struct hp_stage_read {
	struct hp_stage_watch watch;
	struct hp_sources sources; /* the files, and its peers */
	struct hp_peer_source peers;
	uint8_t *notes;	   /* of each chunk, what happened; atomic */
	uint64_t patience; /* nanoseconds */
	uint64_t opened;   /* hp_monotonic */
	/* struct hpdsl_sources; atomic */
	uint64_t local_bytes, origin_bytes, peer_bytes, waited;
	uint64_t absent, overtaken, failed, elsewhere;
	uint64_t peer_bad; /* answered, but of no use */
};

/*
 * For a dataset, of that many chunks, that is just being opened.  *ret is NULL
 * if it has no state file: it is no stage directory, or none yet.  Else as
 * hp_stage_watch_open.
 */
int hp_stage_read_new(const struct hpdsl_dataset *ds, uint64_t chunks,
		      struct hp_stage_read **ret, struct hpdsl_error *err);
/* NULL is harmless. */
void hp_stage_read_free(struct hp_stage_read *s);

/* Who looks for a chunk. */
struct hp_stage_look {
	const bool *quit; /* to become true; NULL: it never does */
	uint8_t asked;	  /* HP_ASKED_.. */
	const struct hp_sources *sources;
};
/*
 * Where the chunk is to be read now.  Waits, and counts.  False: it was not
 * worth while to wait any longer, as *quit has become true.
 */
bool hp_stage_where(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		    const struct hp_stage_look *look, enum hp_chunk_at *ret);
/* What peers answered is wrong. */
void hp_stage_peer_bad(struct hp_stage_read *s);
/* Peers have it in this form, and not in the other one. */
void hp_stage_plain(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		    bool plain);
/*
 * What is here of the chunk cannot be used.  If it still ought to be here, it
 * is not looked at again; otherwise it was taken away (hpdsl-stage --clean).
 * False: nobody knows of an origin yet.
 */
bool hp_stage_failed(struct hp_stage_read *s, const struct hpdsl_chunk *c);
/* Was that so? */
bool hp_stage_has_failed(const struct hp_stage_read *s,
			 const struct hpdsl_chunk *c);
/*
 * Where such a chunk lies here: what is good of it can still be read.  False:
 * it has not failed, or is not here.
 */
bool hp_stage_has_rest(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		       enum hp_chunk_at *ret);
/* The same, at once, of one that is here and has not failed. */
bool hp_stage_is_here(struct hp_stage_read *s, const struct hpdsl_chunk *c,
		      enum hp_chunk_at *ret);
/* n bytes were read there. */
void hp_stage_count(struct hp_stage_read *s, enum hp_chunk_at at, uint64_t n);

#endif
