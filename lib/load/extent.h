/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where samples of an epoch lie in their chunks, as far as they are wanted:
 * what shares are cut from.  Rows that are damaged, or that have nothing that
 * is wanted, lie nowhere.
 */
#ifndef HP_LOAD_EXTENT_H
#define HP_LOAD_EXTENT_H

#include "index/index.h"
#include "load/shares.h"
#include "order/epoch.h"

/* Members that are wanted: all but generated ones, or those of suffixes. */
struct hp_load_wanted {
	const char *const *suffixes;
	uint32_t n_suffixes;
};

/* Is the index's member wanted for this suffix, which may have its dot?
 * wanted.c */
bool hp_load_has_suffix(const struct hp_index *ix, const struct hpdsl_member *m,
			const char *suffix);
static inline const char *hp_load_without_dot(const char *suffix)
{
	return suffix + (*suffix == '.');
}

#define HP_LOAD_LOOK UINT64_C(10000000) /* samples, in about a second */
/* Has one of the choice's samples, of at most so many, a member for each of
 * these suffixes?  As hpdsl_loader_check() has it; wanted.c. */
int hp_load_look(const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice *choice,
		 const struct hp_load_wanted *w, uint64_t most,
		 struct hpdsl_error *err);

struct hp_load_extents {
	const struct hpdsl_epoch *e;
	const struct hp_index *index; /* one thread's, if it is a copy */
	struct hp_load_wanted wanted;
	/* The chunk that was asked for last: one more than its number. */
	uint64_t known;
	struct hpdsl_chunk chunk;
	uint64_t members; /* of samples that were asked for since it was 0 */
};

/* For struct hp_shares_options and hp_shares_count(); arg is such extents. */
struct hp_extent hp_load_extent(void *arg, uint32_t list, uint64_t index);
bool hp_load_dense(void *arg, uint32_t list, uint64_t index, uint64_t n);
struct hp_extent hp_load_kept(void *arg, const struct hp_share *share);
struct hp_extent hp_load_stored(void *arg, uint32_t list, struct hp_extent at);

/*
 * As many members as the share's own samples have, or more: of neighbours those
 * of all, be some another reader's; else all that were looked at since
 * x->members was 0, among them those of a sample that did not fit any more.
 * It is the share for which x was asked last.
 */
uint64_t hp_load_members(const struct hp_load_extents *x,
			 const struct hp_share *s);

#endif
