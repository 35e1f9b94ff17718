/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index files of other readers: DALI's, Energon's, wids'.  Pure: from what is
 * in a chunk, in its order, to the bytes of the files.  They describe the plain
 * tar and hold the names that stand in it.
 */
#ifndef HP_EMIT_H
#define HP_EMIT_H

#include "base/text.h"

/* What files these are. */
enum hp_side_file {
	HP_SIDE_DALI,	      /* chunk-000000.idx */
	HP_SIDE_ENERGON,      /* chunk-000000.tar.idx */
	HP_SIDE_ENERGON_INFO, /* .nv-meta/.info.json; one each of the rest */
	HP_SIDE_ENERGON_SPLIT,
	HP_SIDE_ENERGON_DATASET,
	HP_SIDE_WIDS, /* shards.json */
	HP_SIDES,
};

#define HP_SIDE_FOLDER ".nv-meta" /* of three of Energon's */
#define HP_SIDE_NAME 40

/* One that each chunk has? */
static inline bool hp_side_of_chunk(enum hp_side_file side)
{
	return side <= HP_SIDE_ENERGON;
}

/* Who reads it: one bit of enum hpdsl_emit. */
unsigned hp_side_emit(enum hp_side_file side);
/* Its name in the dataset; chunk matters for those of a chunk. */
void hp_side_name(enum hp_side_file side, uint32_t chunk,
		  char out[HP_SIDE_NAME]);
/* Is it a name of one in the dataset, in HP_SIDE_FOLDER with folder?  Or
 * SHA256SUMS? */
bool hp_side_is_name(const char *name, bool folder);
/* The number of the chunk whose file that is; -1: it is of none. */
int64_t hp_side_chunk(const char *name);

/* A member in its place in the plain tar. */
struct hp_emit_member {
	const char *name; /* in the chunk */
	size_t name_len;
	uint64_t header, data; /* offsets of its header and content */
	uint64_t size;
	bool first; /* of its sample */
};

/* A chunk that is done. */
struct hp_emit_chunk {
	char name[32]; /* of the plain tar: chunk-000000.tar */
	uint64_t samples;
	uint64_t bytes;	      /* of the plain tar */
	uint8_t checksum[16]; /* of the plain tar */
};

/* Is there a byte that separates words there? */
bool hp_emit_dali_blank(const char *s, size_t n);
/*
 * Begins the file of a chunk; names: with the column of names, version 1.2.
 * Then its members.
 */
void hp_emit_dali_begin(struct hp_text *t, uint64_t samples, bool names);
void hp_emit_dali_member(struct hp_text *t, const struct hp_emit_member *m,
			 bool names);
void hp_emit_dali_end(struct hp_text *t);

void hp_emit_energon_member(struct hp_text *t, const struct hp_emit_member *m);
/* end: offset behind the last member. */
void hp_emit_energon_end(struct hp_text *t, uint64_t end);
void hp_emit_energon_info(struct hp_text *t, const struct hp_emit_chunk *v,
			  uint32_t n);
/* All chunks are the part "train". */
void hp_emit_energon_split(struct hp_text *t, const struct hp_emit_chunk *v,
			   uint32_t n);
/* Samples as they are, for the reader to make sense of. */
void hp_emit_energon_dataset(struct hp_text *t);

void hp_emit_wids(struct hp_text *t, const struct hp_emit_chunk *v, uint32_t n);

#endif
