/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which suffixes samples have together, and whether what belongs together lies
 * in two folders, images and labels: there a sample of two files is two
 * samples. Pure, over the samples of a list; memory does not grow.
 */
#ifndef HP_SUFFIX_SETS_H
#define HP_SUFFIX_SETS_H

#include "plan/name_risk.h"

enum {
	HP_SETS_KEPT = 64,   /* the first sets that are seen */
	HP_PARTED_OF = 1024, /* samples that are looked at */
};

/* What was seen; zero at first. */
struct hp_suffix_sets {
	struct hp_suffix_set {
		uint64_t hash, samples, first; /* number of the first */
	} v[HP_SETS_KEPT];
	size_t n;
	uint64_t samples, others; /* of further sets */
};

/* The next sample: n names, whose first key bytes are its key.  Whatever their
 * order, the same suffixes are one set. */
void hp_suffix_sets_add(struct hp_suffix_sets *sets,
			const struct hp_name *names, size_t n, size_t key);
/* The most frequent ones first; fills all that a look says of them but texts.
 */
void hp_suffix_sets_end(struct hp_suffix_sets *sets,
			struct hpdsl_group_look *ret);
/* A key fit to print and to so many bytes, if need be without its middle. */
void hp_key_text(const char *key, size_t len, char ret[HPDSL_LOOK_KEY]);
/* The texts of one set, of its first sample. */
void hp_suffix_set_text(const struct hp_name *names, size_t n, size_t key,
			struct hpdsl_suffix_set *ret);

/*
 * The key with one of its folders called as folders of labels are, where it is
 * called as folders of images are: number which from 0 on, in ret; its length,
 * or 0: there are no more.
 */
size_t hp_parted_key(const char *key, size_t len, unsigned which,
		     char ret[HPDSL_PATH_MAX + 1]);

#endif
