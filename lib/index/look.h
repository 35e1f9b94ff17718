/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What walks over all members look at, inlined: no row is checked for more than
 * where it lies.
 */
#ifndef HP_INDEX_LOOK_H
#define HP_INDEX_LOOK_H

#include "index/private.h"

struct hp_index_look {
	const char *path; /* where it lies in the mapping, with its NUL */
	size_t path_len;
	uint64_t size;
	bool generated;
};

static inline int hp_index_look(const struct hp_index *ix, uint64_t member,
				struct hp_index_look *ret,
				struct hpdsl_error *err)
{
	uint8_t row[HP_MEMBER_ROW];
	const uint8_t *path = NULL;
	int r = hp_index_take(ix, HP_SECTION_MEMBERS, member * HP_MEMBER_ROW,
			      row, sizeof row, err);

	if (r < 0)
		return r;
	ret->path_len = hp_get16(row + 36);
	ret->size = hp_get64(row + 8);
	ret->generated = hp_get16(row + 38) & HP_MEMBER_GENERATED;
	r = hp_index_bytes(ix, HP_SECTION_PATHS, hp_get48(row + 40),
			   ret->path_len + 1, &path, err);
	ret->path = (const char *)path;
	return r;
}

/* Rows that will be looked at soon. */
static inline void hp_index_sample_ahead(const struct hp_index *ix,
					 uint64_t number)
{
	__builtin_prefetch(hp_index_section(ix, HP_SECTION_SAMPLES)->data +
			   number * HP_SAMPLE_ROW);
}

static inline void hp_index_member_ahead(const struct hp_index *ix,
					 uint64_t number)
{
	__builtin_prefetch(hp_index_section(ix, HP_SECTION_MEMBERS)->data +
			   number * HP_MEMBER_ROW);
}

/* A path, of a row that was asked for before; what is there now is believed,
 * since nothing is looked at. */
static inline void hp_index_path_ahead(const struct hp_index *ix,
				       uint64_t number)
{
	const uint8_t *row = hp_index_section(ix, HP_SECTION_MEMBERS)->data +
			     number * HP_MEMBER_ROW;

	__builtin_prefetch(
		(const void *)((uintptr_t)hp_index_section(ix, HP_SECTION_PATHS)
				       ->data +
			       hp_once48(row + 40)));
}

#endif
