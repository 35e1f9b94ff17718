/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of side files, between its two ends: sides_read.c and sides_write.c.
 */
#ifndef HP_STAGE_SIDES_STREAM_H
#define HP_STAGE_SIDES_STREAM_H

#include "base/hash.h"
#include "stage/private.h"
#include "sys/outfile.h"

/* What is read from the origin. */
struct hp_sides_in {
	XXH3_state_t hash; /* first: aligned */
	bool tried;
	int dir;      /* the origin, once tried; -errno: it has no use */
	uint32_t at;  /* of the stream's files */
	uint64_t off; /* in that one */
	bool open;    /* it is begun; fd may be -1 all the same */
	int fd;
};

/* What is written here. */
struct hp_sides_out {
	XXH3_state_t hash;
	uint32_t at;
	uint64_t off;
	bool begun;   /* that one; it need not be written */
	bool writing; /* the file, under its temporary name */
	struct hp_outfile file;
	int folder;  /* the file's, if it is in one; or -1 */
	bool failed; /* told once */
};

struct hpdsl_stage_sides {
	struct hp_sides_in in;
	_Alignas(64) struct hp_sides_out out;
	struct hpdsl_stage *s;
	const struct hpdsl_stage_plan *plan;
	const uint32_t *side;
	uint32_t sides;
	bool sync;
	uint64_t bytes;
};

void hp_sides_close_in(struct hpdsl_stage_sides *t);

#endif
