/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a power failure may leave.  An operation on a file system in memory is
 * recorded; from every beginning of the record directories are built as the
 * disk could hold them: what was not synced is there, not there, or torn, and
 * names that no sync of their directory made durable come and go in any
 * order.  A sync of a file makes its bytes durable, not its name.
 */
#ifndef CRASH_H
#define CRASH_H

#include "memio.h"

enum { CRASH_OPS = 2048, CRASH_NAME = 80 };

enum crash_kind {
	CRASH_MAKE, /* ino gets a name: place[1] */
	CRASH_MOVE, /* from place[0] to place[1] */
	CRASH_SWAP, /* and other the other way round */
	CRASH_GONE, /* place[0] is no name any more */
	CRASH_DATA, /* bytes of ino */
	CRASH_SIZE,
	CRASH_SYNC,
};

struct crash_place {
	uint64_t dir;
	char name[CRASH_NAME];
};

struct crash_op {
	enum crash_kind kind;
	uint64_t ino, other;
	struct crash_place place[2];
	uint64_t off; /* of DATA; the size of SIZE */
	size_t n;
	uint8_t *bytes;
	bool folder; /* of MAKE */
};

/* What became of an operation that was not synced. */
enum crash_fate { CRASH_LOST, CRASH_DONE, CRASH_HALF, CRASH_ZEROS };

struct crash_map {
	uint64_t ino;
	const uint8_t *p;
	uint8_t *was;
	size_t n;
};

struct crash {
	struct memio *m, *before;
	struct crash_op op[CRASH_OPS];
	size_t n;
	struct crash_map map[4]; /* that may be written */
};

/*
 * What m holds now is durable; what is done to it from now on, by one thread,
 * is recorded.  m is borrowed.
 */
void crash_begin(struct crash *c, struct memio *m);
void crash_end(struct crash *c); /* of the recording */
void crash_release(struct crash *c);

/*
 * The v-th choice of fates after the first k operations; false: there are no
 * more.  thorough: many more of them.
 */
bool crash_choose(const struct crash *c, size_t k, uint64_t v, bool thorough,
		  uint8_t fate[CRASH_OPS]);
/* What the disk holds then. */
struct memio *crash_build(const struct crash *c, size_t k,
			  const uint8_t fate[CRASH_OPS]);
/* "3 of 17: make out/x lost, .." */
void crash_describe(const struct crash *c, size_t k,
		    const uint8_t fate[CRASH_OPS], char *buf, size_t room);

/*
 * All folders and files below a folder ("": all), but those that passed_over
 * names: the first that is another in b, or only in one of them; NULL: none.
 */
const char *crash_differ(struct memio *a, struct memio *b, const char *below,
			 bool (*passed_over)(const char *path));
uint64_t crash_digest(struct memio *m);

#endif
