/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many nodes in one process: an exchange each, with files, buffers, disks and a
 * network that are only counted.  What can happen happens in random order, as
 * far as the exchange's contract leaves it open, and every action is held
 * against that contract.
 */
#ifndef PLAY_H
#define PLAY_H

#include "spread/exchange.h"
#include "spread/plan.h"

enum play_kind {
	PLAY_POST = 1, /* a message waits to be put on the wire */
	PLAY_WIRE,     /* it is on the wire, to this node */
	PLAY_READ,
	PLAY_WRITE,
	PLAY_FREE,
	PLAY_SENT,
	PLAY_CHECK,
};

struct play_item {
	uint8_t kind;
	bool bad;	  /* what the segment holds */
	uint32_t node;	  /* the other one */
	uint32_t attempt; /* of the file that it is of */
	struct hp_message msg;
};

struct play_items {
	struct play_item *v;
	uint32_t n, room;
};

/* A chunk's file on a node, by its segments. */
struct play_file {
	uint64_t have, bad;	 /* written: a bit each */
	uint64_t came, came_bad; /* in memory, of this attempt */
	uint32_t attempt;
	uint16_t promised; /* credits */
	uint16_t held;	   /* buffers */
	uint16_t sending;  /* segments, from the action to the wire */
	bool begun, finished, ready, plain, kept, closed, gone, asked, lost;
};

struct play_node {
	struct play *p;
	uint32_t number, n_want;
	struct hp_exchange *x;
	struct play_file *file;
	uint32_t *want, *from, *place;
	struct play_items items;
	uint32_t busy; /* its place in p->busy, plus 1 */
	uint32_t in_used, in_open, read_used, out_used, reads_open;
	uint64_t read_bytes, taken_bytes, given_bytes, thrown_bytes;
	uint64_t put, taken; /* messages */
	bool stopped, more;  /* more: actions have not all been taken */
};

struct play {
	uint64_t seed;
	uint32_t nodes, chunks;
	struct hp_exchange_config c; /* the bounds */
	struct hpdsl_stage_plan *plan;
	uint64_t *stored, *plain, *weight; /* bytes; plain 0: not compressed */
	uint32_t *order;
	uint32_t *holder;
	struct play_node *node;
	uint32_t *busy, n_busy;
	uint32_t *origin_reads; /* of each chunk: BEGIN to read it there */
	bool keep_compressed;
	/* One in so many; 0: never. */
	uint32_t bad_read, bad_wire, bad_write, fail_read;
	/* These chunks are bad, or not to be read, at the origin; UINT32_MAX:
	 * none. */
	uint32_t damaged, missing;
	uint64_t steps, faults;
	const char *wrong; /* the first thing found */
};

uint64_t play_random(struct play *p);
/* Below n. */
uint32_t play_below(struct play *p, uint32_t n);

/*
 * Bounds, sizes, plan: all from the seed.  held: one chunk in so many is on
 * some node from the start; 0: none.
 */
void play_init(struct play *p, uint64_t seed, uint32_t nodes, uint32_t chunks,
	       uint32_t held, enum hpdsl_stage_mode mode);
void play_begin(struct play *p);
/* One step of one node; false: nothing can happen any more. */
bool play_step(struct play *p);
void play_run(struct play *p);
void play_stop(struct play *p, uint32_t node, bool at_once);
void play_release(struct play *p);

/* exchange's actions, in play_act.c; false: none. */
bool play_act(struct play_node *n);
void play_act_begin(struct play_node *n);
void play_push(struct play_node *n, const struct play_item *i);
void play_wrong(struct play *p, const char *what);
/* The segments of a chunk from a place on, in a form. */
uint64_t play_bit(const struct play *p, uint64_t offset);
uint64_t play_all(const struct play *p, uint32_t chunk, bool plain);

#endif
