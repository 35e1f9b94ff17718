/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples were chosen, with their weights; and how often each of them
 * comes in one epoch, which is a draw.
 */
#ifndef HP_CHOICE_H
#define HP_CHOICE_H

#include "hpdsl/order.h"
#include "index/index.h"

struct hpdsl_choice {
	uint64_t n;	     /* samples of the dataset */
	uint64_t chosen;     /* of these, each once */
	uint64_t *bits;	     /* bit s % 64 of word s / 64 */
	uint8_t digest[16];  /* hpdsl_choice_digest() */
	uint32_t classes;    /* of the dataset */
	uint64_t *by_class;  /* weight of each and of none; NULL: none */
	uint32_t *label;     /* with by_class: of each sample, none is last */
	uint64_t *by_sample; /* weight of each sample; NULL: none */
};

/* hpdsl_choose on an index. */
int hp_choose(const struct hp_index *ix, const struct hpdsl_choice_options *opt,
	      struct hpdsl_choice **ret, struct hpdsl_error *err);
/* hpdsl_count_classes on an index. */
int hp_count_classes(const struct hp_index *ix, const struct hpdsl_choice *c,
		     uint64_t *ret, struct hpdsl_error *err);

static inline uint64_t hp_choice_words(uint64_t samples)
{
	return samples / 64 + (samples % 64 > 0);
}

static inline bool hp_choice_weighted(const struct hpdsl_choice *c)
{
	return c->by_class || c->by_sample;
}

/*
 * Its parts: pick.c, folder.c and tars.c take samples out of c->bits, weight.c
 * weighs them.
 */
int hp_choice_pick(struct hpdsl_choice *c, const struct hp_index *ix,
		   const struct hpdsl_choice_options *opt,
		   struct hpdsl_error *err);
int hp_choice_drop_folders(struct hpdsl_choice *c, const struct hp_index *ix,
			   const struct hpdsl_choice_options *opt,
			   struct hpdsl_error *err);
int hp_choice_drop_tars(struct hpdsl_choice *c, const struct hp_index *ix,
			const struct hpdsl_choice_options *opt,
			struct hpdsl_error *err);
static inline void hp_choice_drop(struct hpdsl_choice *c, uint64_t sample)
{
	c->bits[sample / 64] &= ~(UINT64_C(1) << sample % 64);
}

int hp_choice_weigh(struct hpdsl_choice *c, const struct hp_index *ix,
		    const struct hpdsl_choice_options *opt,
		    struct hpdsl_error *err);

/* Draws: draw.c */

/* w of a sample; 0: not chosen. */
uint64_t hp_choice_weight(const struct hpdsl_choice *c, uint64_t sample);

/*
 * The samples of an epoch, by number, each as often as it comes: occurrences,
 * counted from 0.  Without a choice, occurrence i is sample i.
 */
struct hp_draw {
	const struct hpdsl_choice *choice; /* borrowed, or NULL */
	uint64_t seed, epoch;
	uint64_t *before; /* occurrences before each 64 samples, and all */
};

/* -ENOMEM; HPDSL_EUSAGE: 2^63 occurrences or more. */
int hp_draw_init(struct hp_draw *d, const struct hpdsl_choice *choice,
		 uint64_t seed, uint64_t epoch, struct hpdsl_error *err);
void hp_draw_release(struct hp_draw *d);
/* How often a sample comes; with a choice only. */
uint64_t hp_draw_times(const struct hp_draw *d, uint64_t sample);
/* Occurrences of the samples below this number. */
uint64_t hp_draw_before(const struct hp_draw *d, uint64_t sample);
/* The samples of occurrences first .. first + n - 1, which there must be. */
void hp_draw_list(const struct hp_draw *d, uint64_t first, uint64_t n,
		  uint64_t *ret);

#endif
