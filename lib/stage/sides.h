/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which side files go along with a dataset's chunks: those that its manifest
 * lists under names that are known, in an order that all nodes have.  Their
 * names follow from kind and chunk, so a row is small.
 */
#ifndef HP_STAGE_SIDES_H
#define HP_STAGE_SIDES_H

#include "format/emit.h"
#include "format/manifest.h"

enum {
	HP_SIDE_SUMS = HP_SIDES, /* SHA256SUMS, a kind beside the others */
};

struct hp_side_row {
	uint64_t bytes;
	uint8_t checksum[16];
	uint32_t chunk; /* 0 for those of the whole dataset */
	uint8_t kind;	/* enum hp_side_file, or HP_SIDE_SUMS */
	/* What the stager knows of it, each stored by one thread at a time. */
	bool here;
	int unread; /* why it could not be read from the origin; 0: it could */
};

struct hp_sides {
	struct hp_side_row *row; /* by kind, then chunk */
	uint32_t n;
	/* Some chunks have not the names or bytes that the sums speak of. */
	bool other_chunks;
};

/* Is it one of a chunk? */
static inline bool hp_side_row_of_chunk(const struct hp_side_row *r)
{
	return hp_side_of_chunk((enum hp_side_file)r->kind);
}

/* Kind and chunk of a name in a dataset of so many chunks: is it one? */
bool hp_side_read(const char *name, uint64_t chunks, uint8_t *ret_kind,
		  uint32_t *ret_chunk);
/* Its name in the dataset. */
void hp_side_row_name(const struct hp_side_row *r, char ret[HP_SIDE_NAME]);

/*
 * Those of a manifest.  other: called for each that is listed and none of them;
 * NULL: nobody.
 */
int hp_sides_new(const struct hp_manifest *m, bool keep_compressed,
		 void (*other)(void *arg, const char *name), void *arg,
		 struct hp_sides *ret, struct hpdsl_error *err);
/* All that a dataset of so many chunks could have, of nothing that is known. */
int hp_sides_all(uint32_t chunks, struct hp_sides *ret,
		 struct hpdsl_error *err);
void hp_sides_release(struct hp_sides *s);
/* Is one of them in HP_SIDE_FOLDER? */
bool hp_sides_in_folder(const struct hp_sides *s);
/* Adds to each chunk's bytes (NULL: nowhere) those of its side files; gives
 * those of the whole dataset. */
uint64_t hp_sides_weigh(const struct hp_sides *s, uint64_t *add);
/* The row of that name, or NULL. */
struct hp_side_row *hp_sides_find(const struct hp_sides *s, const char *name,
				  uint64_t chunks);

#endif
