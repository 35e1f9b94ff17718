/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a dataset was packed with, where its manifest cannot say it any more: it
 * was rebuilt without the old one, or is damaged.  The index tells some of it,
 * and everybody who goes by an option of a dataset asks here.
 */
#ifndef HP_LOST_H
#define HP_LOST_H

#include "hpdsl/pack.h"
#include "index/index.h"

/* An option as the manifest has it. */
struct hp_lost_option {
	const char *value; /* NULL: it has none */
	bool lost;	   /* so are all options, and it says nothing */
};

/* Are the options among what the manifest has as lost?  NULL: nothing is. */
bool hp_lost_options(const char *lost);

/*
 * Are the numbers of its classes their values?  Where nobody says it they are,
 * if each class is called its number: samples that are packed again, all or
 * some of them, then keep the labels that they had.
 */
bool hp_lost_by_value(const struct hp_index *ix,
		      struct hp_lost_option label_numbers);

/*
 * Was litter left out, by the list that is known here?  Where nobody says it,
 * it was, if there is none among the members: so it is with a snapshot, too
 * (snap/diff.c).  All paths are read then: HPDSL_ECORRUPT, -ENOMEM.
 */
int hp_lost_litter(const struct hp_index *ix, struct hp_lost_option litter,
		   enum hpdsl_litter_how *ret, struct hpdsl_error *err);

#endif
