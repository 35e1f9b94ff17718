/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name space as a plain list of paths, for tests: made at random, changed at
 * random, turned into a snapshot in memory, and written as text the long way.
 */
#ifndef SNAP_MODEL_H
#define SNAP_MODEL_H

#include "base/text.h"
#include "snap/write.h"

struct thing {
	char *path; /* "": the top */
	uint32_t mode;
	uint64_t size;
	int64_t mtime;
	uint32_t nsec;
	char *target;
	uint64_t member, checksum;
};

struct model {
	struct thing *things; /* sorted by model_sort, or in any order */
	size_t n, room;
	bool dataset;
	uint64_t members; /* next number */
	uint64_t random;
};

/* Only the top. */
void model_begin(struct model *m, bool dataset, uint64_t seed);
void model_release(struct model *m);
void model_copy(struct model *to, const struct model *from);

/* n things more, in folders that are there or are made, with nasty names. */
void model_grow(struct model *m, size_t n);
/* With random attributes; NULL: the path is there, or cannot be. */
struct thing *model_add(struct model *m, const char *path, uint32_t type);
struct thing *model_find(const struct model *m, const char *path);
/* With all that is below it. */
void model_remove(struct model *m, const char *path);
/* One random edit. */
void model_edit(struct model *m);
/* Of a dataset: takes away folders that nothing is in. */
void model_tidy(struct model *m);

/* Folders before what they hold, names sorted. */
void model_sort(struct model *m);
int model_compare(const char *a, const char *b);
void model_shuffle(struct model *m);

/* Its snapshot; both to be freed by model_free_snap. */
struct hpdsl_snapshot *model_snap(struct model *m, void **ret_bytes);
void model_free_snap(struct hpdsl_snapshot *s, void *bytes);
/* Its text; sorts. */
void model_text(struct model *m, struct hp_text *ret);

#endif
