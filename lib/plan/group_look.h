/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Have names dots that end no key, so that files which are samples of their own
 * would become one?  The rule is in hpdsl-pack(1), "What a sample is".  Pure,
 * one pass over the samples, memory that does not grow.
 */
#ifndef HP_GROUP_LOOK_H
#define HP_GROUP_LOOK_H

#include "plan/name_risk.h"

enum {
	HP_LOOK_FIELDS = 16,  /* suffixes that may be names of fields */
	HP_LOOK_VOUCHED = 64, /* files of one extension beside a plain one */
	HP_LOOK_SHARE = 20,   /* a 20th of all files is too much */
	HP_LOOK_SOME = 64,    /* suffixes that stand for all that differ */
};

/* What was seen; zero at first.  Suffixes are kept as their hashes. */
struct hp_group_look {
	uint64_t samples, files;
	uint64_t numbers; /* files with a number or a title in the name, */
	uint64_t named;	  /* and with what may be names of fields */
	uint64_t fields[HP_LOOK_FIELDS + 1];
	size_t n_fields;
	/* The number, from 0, of the first sample of each sort, plus 1. */
	uint64_t first_number, first_named, first_alone, first_several;
	/*
	 * Suffixes with a dot that merge nothing: those whose hash ends in
	 * level zeros, which become fewer as there are more of them.
	 */
	uint64_t alone;
	unsigned level;
	struct {
		uint64_t hash, files;
	} some[HP_LOOK_SOME];
	size_t n_some;
};

/* The next sample: n names, whose first key bytes are its key. */
void hp_group_look_add(struct hp_group_look *look, const struct hp_name *names,
		       size_t n, size_t key);

/* What is to be said of all: all fields but the example, whose sample is given
 * back, by its number.  There has to be a sample. */
uint64_t hp_group_look_end(const struct hp_group_look *look,
			   struct hpdsl_group_look *ret);

/* "'a/1': jpg json": of a sample. */
void hp_group_look_example(const struct hp_name *names, size_t n, size_t key,
			   char ret[HPDSL_LOOK_EXAMPLE]);

#endif
