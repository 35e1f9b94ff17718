/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few stagers in one process, each with a stage directory of its own, and a
 * network in memory: one thread carries the messages of all, with delays by
 * chance, in order between any two nodes.  All of it fails the test when it
 * cannot be done.
 */
#ifndef STAGER_NET_H
#define STAGER_NET_H

#include "packed.h"
#include "stager/stager.h"
#include "sys/io.h"

enum { NET_NODES = 8, NET_FDS = 1024 };

/* The system's operations for one node: counted, and made to fail. */
struct net_io {
	struct hp_io io;
	const char *origin;
	bool is_origin[NET_FDS]; /* atomic, as what follows */
	uint64_t origin_bytes;	 /* read of chunks */
	long reads, writes;	 /* of the origin's chunks; of any file */
	/* These reads and writes, from 1, fail; or reads change a bit. */
	long bad_read, bad_reads, bad_write;
	int read_code, write_code;
	long flip_read, flips;
	long slow_read; /* this one does not return until it is let go */
	bool let_go;
	bool full;     /* no space can be reserved */
	uint64_t free; /* bytes that the file system tells of; 0: as it is */
	int broken;    /* nothing of the origin can be opened or read: why */
};

struct net_message {
	struct net_message *next;
	uint64_t due;
	size_t n;
	uint8_t bytes[];
};

struct net_channel {
	struct net_message *first, **last;
};

struct net_node {
	char path[100];
	struct net_io io;
	const struct hp_io *other; /* the stager's, if not that */
	struct hpdsl_stage *stage;
	struct hpdsl_stager *stager;
	struct hpdsl_stager_message sending[256];
	uint64_t sent_at[256];
	size_t n_sending;
	int failed;
	struct hpdsl_error err;
	struct hpdsl_stager_report report; /* the last */
	/* Warnings: how many, atomic; and all of their texts, under a lock. */
	uint32_t warnings;
	pthread_mutex_t warn_lock;
	char warned[8000];
};

struct net {
	struct packed *packed;
	char origin[200]; /* the packed one, unless set before the start */
	uint32_t nodes;
	struct net_node node[NET_NODES];
	struct net_channel words[NET_NODES][NET_NODES];
	struct net_channel data[NET_NODES][NET_NODES];
	struct hpdsl_stage_plan *plan;
	uint32_t *order, *holder;
	uint64_t *weight, chunks;
	uint64_t tick;
	uint64_t seed;
	unsigned delay; /* ticks, at most */
	/* The bit of this message with a segment is flipped, from 1. */
	long flip, carried;
	bool leftovers;	   /* there may be some: they cannot be removed */
	long no_memory_at; /* this allocation fails, once they have begun */
};

struct net_options {
	uint32_t nodes;
	enum hpdsl_stage_mode mode;
	uint32_t copies;
	uint64_t memory, rate, seed;
	bool keep_compressed, direct, sync;
	uint32_t threads;
	unsigned delay;
	const uint64_t *capacity; /* of each node, or NULL: enough */
};

/* Opens and plans; faults may be set between. */
void net_begin(struct net *n, struct packed *p, const struct net_options *o);
void net_start(struct net *n, const struct net_options *o);
/* The same, but there may be no memory. */
bool net_try(struct net *n, const struct net_options *o);
/* Once around all nodes: was there anything? */
bool net_step(struct net *n);
/* Until all are idle; if one fails all are stopped at once; stop_at: a tick to
 * stop them all. */
void net_run(struct net *n, uint64_t stop_at, bool at_once);
/* Ends all, closes, frees. */
void net_end(struct net *n);

/*
 * Every chunk under a final name in the stage directories is right; no
 * temporary files.  How many chunks there are.
 */
uint64_t net_check(const struct net *n);
/* Read of the origin by all nodes. */
uint64_t net_origin_bytes(const struct net *n);

#endif
