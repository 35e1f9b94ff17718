/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The temporary files of chunks that are filled in no order: each has its full
 * size, all zeros, from the beginning.  Any number of them, few of them open.
 * Any thread.
 */
#ifndef HP_PARTS_H
#define HP_PARTS_H

#include "sys/outfile.h"
#include "write/run.h"

#include <pthread.h>

struct hp_part_slot;

struct hp_parts {
	const struct hp_writing *w;
	pthread_mutex_t lock;
	pthread_cond_t freed; /* a slot has no user, or is open now */
	struct hp_part_slot *slots;
	uint32_t n_slots;
	uint64_t clock;	   /* counts uses */
	uint16_t *slot_of; /* by chunk */
	uint8_t *flags;	   /* by chunk */
	bool *old;	   /* by chunk: hp_parts_old */
};

int hp_parts_init(struct hp_parts *parts, const struct hp_writing *p,
		  struct hpdsl_error *err);
/* Closes what is open; the files stay.  The struct may be zero. */
void hp_parts_release(struct hp_parts *parts);
/* Removes the files of all chunks that hp_parts_make was called for. */
void hp_parts_remove(struct hp_parts *parts);

/* Makes the file of chunk c, or takes the one that an earlier run left. */
int hp_parts_make(struct hp_parts *parts, uint32_t c, struct hpdsl_error *err);
/* Was it there before? */
bool hp_parts_old(const struct hp_parts *parts, uint32_t c);

/* The file, open until it is put back by the same thread. */
int hp_parts_get(struct hp_parts *parts, uint32_t c, struct hp_outfile **ret,
		 struct hpdsl_error *err);
void hp_parts_put(struct hp_parts *parts, uint32_t c, bool wrote);

int hp_parts_read(struct hp_parts *parts, uint32_t c, void *buf, size_t n,
		  uint64_t off, struct hpdsl_error *err);

/*
 * Syncs all that was written and put back before the call.  A file whose sync
 * fails is removed: nobody can know what is in it.
 */
int hp_parts_sync(struct hp_parts *parts, struct hpdsl_error *err);

/*
 * Hands the file over, to be synced, named or removed by the caller; chunk c is
 * not to be asked for again.
 */
int hp_parts_take(struct hp_parts *parts, uint32_t c, struct hp_outfile *ret,
		  struct hpdsl_error *err);
/* Removes the file of chunk c, if there is one: nobody uses it any more. */
void hp_parts_drop(struct hp_parts *parts, uint32_t c);

#endif
