/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those who are watched, and how often they say that they are there, without
 * MPI: rank 0 has as many of them as the job has nodes.
 */
#ifndef CMD_STAGE_PEERS_H
#define CMD_STAGE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAGE_HOST 64
#define STAGE_DOING 160

/* What a rank tells those who watch it. */
struct stage_beat {
	bool wish; /* somebody wants to stop early */
	double stuck_seconds;
	char stuck[STAGE_DOING];
	uint64_t done, total; /* bytes */
};

/* Somebody who is watched. */
struct stage_peer {
	int rank;
	uint32_t node;
	double seen;
	bool silent_told, stuck_told, gone;
	struct stage_beat last;
	char host[STAGE_HOST]; /* empty: not known */
};

void peers_sort(struct stage_peer *p, size_t n);
/* Of sorted ones, the one of that rank, or NULL. */
struct stage_peer *peers_find(struct stage_peer *p, size_t n, int rank);

/*
 * Seconds between two beats: so many that all nodes together send a thousand a
 * second at most, but no more than a third of what makes somebody silent.
 */
double peers_beat_every(uint32_t nodes, double patience);
/* Seconds from the start to a node's first one: they come one by one. */
double peers_first_beat(uint32_t node, uint32_t nodes, double every);

/*
 * When somebody is to count as seen, after the watcher itself was away for gap
 * seconds: what is more than the usual every is nobody else's silence.  Only
 * that: where each look comes late, silence still adds up.
 */
double peers_seen(double seen, double now, double gap, double every);

#endif
