/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed dataset and a stage directory of it that a test fills, damages and
 * empties by itself: for those who read it.
 */
#ifndef STAGED_H
#define STAGED_H

#include "format/stage_state.h"
#include "packed.h"

enum { STAGED_CHUNKS = 6, STAGED_LARGE = 3 << 20 };

struct staged {
	struct packed p; /* the origin is its out */
	struct hpdsl_dataset *origin;
	struct hpdsl_counts n;
	char dir[80];
	uint8_t *state; /* mapped, as a stager does; or NULL */
	struct hp_state_header header;
};

/* 60 small samples, one of them of two members, and "large.bin"; the directory
 * has no chunk yet. */
void staged_begin(struct staged *f, int zstd);
void staged_end(struct staged *f);
/* The second half of that, for other files that are in f->p by now; all else
 * is zero. */
void staged_pack(struct staged *f, struct hpdsl_pack_options opt);

struct hpdsl_dataset *staged_open(const char *path, const struct hp_io *io);
/* A name in the directory; in a buffer that the fourth call after this one
 * uses again. */
const char *staged_at(const struct staged *f, const char *name);

void staged_chunk(const struct staged *f, uint32_t c, struct hpdsl_chunk *ret);
/* The first member of a chunk. */
uint64_t staged_first(const struct staged *f, uint32_t c);
/* The file of a chunk, as it is at the origin; away with it. */
void staged_put(const struct staged *f, uint32_t c);
void staged_drop(const struct staged *f, uint32_t c);
/* A new generation of the state file, all chunks in one state. */
void staged_state(struct staged *f, enum hp_chunk_state s);
/* All of it here. */
void staged_put_all(struct staged *f);

void staged_hide_origin(const struct staged *f);
void staged_show_origin(const struct staged *f);

struct hpdsl_sources staged_sources(const struct hpdsl_dataset *ds);
void staged_expect(const struct hpdsl_dataset *ds, uint64_t absent,
		   uint64_t overtaken, uint64_t failed);

#endif
