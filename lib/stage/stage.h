/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage directory in the hands of its stager, for the files of the library
 * that fill it.  Whoever has one of these has the lock.
 */
#ifndef HP_STAGE_H
#define HP_STAGE_H

#include "format/stage_state.h"
#include "hpdsl/stage.h"
#include "stage/sides.h"
#include "sys/io.h"

#include <pthread.h>

struct hpdsl_stage {
	const struct hp_io *io;
	char *path; /* as given, without slashes behind it; for messages */
	int dir;    /* the directory */
	int lock;   /* its lock file, and when it was touched; atomic */
	uint64_t touched;
	uint32_t node, nodes;
	char host[HP_STATE_TEXT], job[HP_STATE_TEXT]; /* job: or "" */
	uint8_t boot_id[16];
	bool made, bare; /* the directory, by us; it was empty */

	/* The state file that was there. */
	bool has_old;  /* it could be read; then also: */
	bool old_good; /* of this boot, ended in order: its bytes count */
	struct hp_state_header old;
	uint8_t *old_bytes; /* the whole file */

	/* From has_index or put_index on. */
	bool has_index; /* of this pack: */
	uint8_t pack[16];
	struct hp_index_put *put; /* under way */

	/* From begin on. */
	struct hpdsl_dataset *ds;
	char *origin;
	uint64_t chunks;
	bool keep_compressed;
	/* What is here, an enum hp_chunk_state each: ABSENT, READY, EXPANDED.
	 * Loaded and stored atomically. */
	uint8_t *here;
	struct hp_sides sides; /* of the manifest */

	/* From publish on: the state file, mapped. */
	pthread_mutex_t state_lock;
	void *state;
	uint64_t state_size;
	struct hp_state_header now;

	bool has_stager; /* one, from hpdsl_stager_new() to .._free() */
	bool ended;	 /* hpdsl_stage_end() was called */
};

/* How far it is; the steps at which a call may come are or'ed of HP_STEP(). */
enum hp_stage_step {
	HP_STEP_OPENED,
	HP_STEP_INDEX,
	HP_STEP_BEGUN,
	HP_STEP_PUBLISHED,
	HP_STEP_AT_WORK,
	HP_STEP_ENDED,
};
#define HP_STEP(step) (1U << (step))

/* HPDSL_EUSAGE: this call may not come now. */
int hp_stage_in_order(const struct hpdsl_stage *s, const char *call,
		      unsigned steps, struct hpdsl_error *err);

/*
 * The chunk has its name, in this form: says so to readers.  After the rename,
 * never before.  Any thread.
 */
void hp_stage_ready(struct hpdsl_stage *s, uint64_t chunk, bool expanded);

/* How a chunk is here; ABSENT unless it is.  Any thread. */
enum hp_chunk_state hp_stage_here(const struct hpdsl_stage *s, uint64_t chunk);

/* Bytes that the chunk takes in this directory, its side files left out. */
uint64_t hp_stage_chunk_bytes(const struct hpdsl_stage *s, uint64_t chunk);

/* The name of a chunk's file and its row of the index. */
int hp_stage_chunk(const struct hpdsl_stage *s, uint64_t chunk, bool expanded,
		   struct hpdsl_chunk *ret, char name[HP_STAGE_NAME],
		   struct hpdsl_error *err);

#endif
