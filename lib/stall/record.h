/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks of a measured job and hpdsl-stall say to each other: lines of
 * a word and whole numbers, "WORD N N ..\n".  Pure: over memory.
 *
 * A rank's file, which only grows, has
 *
 *	start RANK RANKS STEP STEP_NS PACE_NS LEAD EPOCH FIRST_NS
 *		BATCH_BYTES ROOM UNSTEADY
 *	late SERIAL STEP
 *	block SERIAL PHASE ROUND BLOCK STEPS NS INTERRUPTED_NS WAITED_NS
 *		MADE OUT MAKING_NS HAND_OVER_NS
 *	cache SERIAL PHASE ASKED THERE UNKNOWN
 *	asks SERIAL PHASE BATCHES OPENS STATS ENTRIES READS BYTES ALL_READS
 *		ALL_BYTES FROM_STORAGE NAMES_NS
 *	done SERIAL
 *	gone STEP
 *
 * and hpdsl-stall's, which is replaced,
 *
 *	beat COUNT
 *	schedule SERIAL FROM ROUNDS BLOCKS LEAD.. STEPS..
 *	over 1
 */
#ifndef HP_STALL_RECORD_H
#define HP_STALL_RECORD_H

#include "stall/block.h"

#include <stddef.h>

#define HP_STALL_WORD 12
#define HP_STALL_NUMBERS 16
/* Of any line, and a NUL. */
#define HP_STALL_LINE (HP_STALL_WORD + HP_STALL_NUMBERS * 21 + 2)

struct hp_stall_record {
	char word[HP_STALL_WORD];
	int64_t v[HP_STALL_NUMBERS];
	unsigned n;
};

/* Its length; buf has room for HP_STALL_LINE. */
size_t hp_stall_record_format(const struct hp_stall_record *r, char *buf);
/*
 * The first line of a text: its length, with its end; 0: there is no whole one.
 * What is no record has no word.
 */
size_t hp_stall_record_parse(const char *text, size_t n,
			     struct hp_stall_record *ret);
/* Is it this one, with so many numbers? */
bool hp_stall_record_is(const struct hp_stall_record *r, const char *word,
			unsigned n);

/* What a rank says once its steps are alike. */
struct hp_stall_start {
	uint32_t rank, ranks;
	uint64_t step; /* the next one */
	double step_seconds;
	double pace; /* seconds of a step, with what is only now and then */
	/* Steps until what was in hand, or was the first to be read behind a
	 * seek, is used up. */
	uint32_t lead;
	uint64_t epoch;	      /* steps; 0: not known */
	double first_seconds; /* until its first batch was there */
	uint64_t batch_bytes; /* about */
	uint64_t room;	      /* bytes of memory that are free on its node */
	bool unsteady;	      /* they never became alike */
};

void hp_stall_put_start(const struct hp_stall_start *s,
			struct hp_stall_record *ret);
bool hp_stall_get_start(const struct hp_stall_record *r,
			struct hp_stall_start *ret);
void hp_stall_put_schedule(uint32_t serial, const struct hp_stall_schedule *s,
			   struct hp_stall_record *ret);
bool hp_stall_get_schedule(const struct hp_stall_record *r,
			   uint32_t *ret_serial, struct hp_stall_schedule *ret);
void hp_stall_put_block(uint32_t serial, const struct hpdsl_stall_block *b,
			struct hp_stall_record *ret);
bool hp_stall_get_block(const struct hp_stall_record *r, uint32_t *ret_serial,
			struct hpdsl_stall_block *ret);
void hp_stall_put_cache(uint32_t serial, enum hpdsl_stall_phase phase,
			const struct hpdsl_stall_cache *c,
			struct hp_stall_record *ret);
bool hp_stall_get_cache(const struct hp_stall_record *r, uint32_t *ret_serial,
			enum hpdsl_stall_phase *ret_phase,
			struct hpdsl_stall_cache *ret);
void hp_stall_put_asks(uint32_t serial, enum hpdsl_stall_phase phase,
		       const struct hpdsl_stall_asks *a,
		       struct hp_stall_record *ret);
bool hp_stall_get_asks(const struct hp_stall_record *r, uint32_t *ret_serial,
		       enum hpdsl_stall_phase *ret_phase,
		       struct hpdsl_stall_asks *ret);
/* "late", "done", "gone", "beat", "over". */
void hp_stall_put(const char *word, uint64_t a, uint64_t b, unsigned n,
		  struct hp_stall_record *ret);

#endif
