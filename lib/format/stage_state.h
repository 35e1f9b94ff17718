/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.hpdsl, the state file of a stage directory, over memory: which chunks
 * are here, which are coming, who brings them, and where the others are.  One
 * stager writes it, mapped, any number of readers read it.  What is fixed has a
 * checksum; what changes are the beat, the end and one byte a chunk, each
 * stored and loaded as a whole.  hpdsl-format(5), "STAGE DIRECTORY".
 */
#ifndef HP_STAGE_STATE_H
#define HP_STAGE_STATE_H

#include "hpdsl/dataset.h"

#define HP_STATE_NAME "stage.hpdsl"
#define HP_STATE_MAGIC "\x89HPDSLT\n"
#define HP_STATE_VERSION 1
/* Locked by the stager at work; holds one line that tells who it is. */
#define HP_STAGE_LOCK ".stage.lock"

enum {
	HP_STATE_TEXT = 128,	/* of host and job, a NUL at least at the end */
	HP_STATE_ORIGIN = 4096, /* the same for the origin's path */
	HP_STATE_FIXED = 4672,	/* bytes before the beat */
	HP_STATE_CHUNKS = 4736, /* where the chunks' bytes begin */
	HP_STATE_DEAD_SECONDS = 15, /* without a beat: nobody is at work */
};

/* A chunk's byte.  Others are taken for ABSENT. */
enum hp_chunk_state {
	HP_CHUNK_ABSENT = 0, /* not here and not planned to be */
	HP_CHUNK_COMING = 1,
	HP_CHUNK_READY = 2,    /* here, as the dataset stores it */
	HP_CHUNK_EXPANDED = 3, /* here as the plain tar of a compressed chunk */
};

/* How the stager's work ended. */
enum hp_stage_end {
	HP_STAGE_AT_WORK = 0, /* or killed: then it does not beat */
	HP_STAGE_COMPLETE = 1,
	HP_STAGE_STOPPED = 2, /* early, as asked */
	HP_STAGE_FAILED = 3,
};

/* The fixed part. */
struct hp_state_header {
	uint8_t pack[16];    /* XXH3-128 of index.hpdsl */
	uint8_t boot_id[16]; /* zeros: not known */
	uint64_t chunks;
	uint64_t generation; /* one more than the file's that it replaced */
	int64_t started;     /* seconds since 1970 */
	uint64_t pid_start;  /* clock ticks from boot to the stager's start */
	uint32_t pid;
	uint32_t node, nodes; /* which of how many */
	uint32_t parts, part; /* D, and the part that this node holds */
	char host[HP_STATE_TEXT], job[HP_STATE_TEXT];
	char origin[HP_STATE_ORIGIN]; /* absolute path */
};

/* Bytes of the whole file; 0: too many chunks. */
uint64_t hp_state_size(uint64_t chunks);

/*
 * Writes a whole file, of hp_state_size(h->chunks) bytes, to p: no beat yet, at
 * work, all chunks absent.
 */
void hp_state_format(const struct hp_state_header *h, void *p);

/*
 * Reads and checks the fixed part of size bytes at p, of which it needs no more
 * than the first HP_STATE_CHUNKS to be there.  name is for messages.
 * HPDSL_ENOTOURS, HPDSL_ETOONEW, HPDSL_ECORRUPT.
 */
int hp_state_parse(const void *p, uint64_t size, const char *name,
		   struct hp_state_header *ret, struct hpdsl_error *err);

/* What a chunk's byte says. */
enum hp_chunk_state hp_state_of(uint8_t byte);

/* What changes.  p is the whole file, mapped shared; any process, any time. */
enum hp_chunk_state hp_state_get(const void *p, uint64_t chunk); /* acquires */
void hp_state_set(void *p, uint64_t chunk,
		  enum hp_chunk_state s); /* releases */
void hp_state_beat(void *p, uint64_t now);
/* Nanoseconds of CLOCK_MONOTONIC; 0: it has never beaten. */
uint64_t hp_state_last_beat(const void *p);
void hp_state_end(void *p, enum hp_stage_end end);
enum hp_stage_end hp_state_ended(const void *p);

/*
 * Is a stager at work, going by the file alone: of this boot, not ended, and
 * beating?  boot_id is this machine's, now is CLOCK_MONOTONIC's.
 */
bool hp_state_alive(const void *p, const struct hp_state_header *h,
		    const uint8_t boot_id[16], uint64_t now);

/* Is it of this boot?  Where either is not known: no. */
bool hp_state_same_boot(const struct hp_state_header *h,
			const uint8_t boot_id[16]);

/*
 * The name of a chunk's file in a stage directory, in the form given: by its
 * number, "chunk-000017.tar", with ".zst" if it is compressed and not expanded.
 * A packed dataset's own names are the same.  buf: of that size.
 */
#define HP_STAGE_NAME 256
const char *hp_stage_chunk_name(const struct hpdsl_chunk *c, bool expanded,
				char buf[HP_STAGE_NAME]);

#endif
