/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side files on their way: the nodes that get the same ones, and the streams
 * that go through them.  sides.c decides, sides_move.c moves.
 */
#ifndef CMD_STAGE_SIDES_H
#define CMD_STAGE_SIDES_H

#include "run.h"

/*
 * A node is in three crowds, each of nodes that get the same files: with
 * itself, for parts that it has alone, and with those that have its first and
 * its last part, too.
 */
enum { CROWD_ALONE, CROWD_FIRST, CROWD_LAST, CROWDS };

struct side_crowd {
	MPI_Comm comm; /* MPI_COMM_NULL: this node alone */
	int size, rank;
};

/* Streams of a crowd, and bytes of a piece of one: what they take in memory. */
enum { SIDE_LANES = 4, LANES = CROWDS * SIDE_LANES };
#define SIDE_PIECE ((size_t)512 << 10)

/* A stream, which one node of the crowd reads. */
struct side_lane {
	const struct side_crowd *crowd;
	int root;	/* that node: its rank in the crowd */
	uint32_t *side; /* the files */
	uint32_t n;
	struct hpdsl_stage_sides *stream;
	uint64_t left;
	bool over;
	unsigned char *piece;
	size_t now; /* bytes of the piece */
	MPI_Request request;
};

struct side_move {
	struct stage_run *r;
	struct side_crowd crowd[CROWDS];
	struct side_lane lane[LANES]; /* SIDE_LANES of each crowd */
	struct hpdsl_error err;	      /* of this node's directory */
	double rate, begun; /* of this node, bytes a second; 0: no bound */
	uint64_t read;
};

/* Collective among the leaders: crowds for the plan, and an end of them. */
void side_crowds(struct side_move *m);
void side_crowds_free(struct side_move *m);

/*
 * Moves the files of all lanes, which have their side and n: 0, or the failure
 * that all leaders have.  try: who reads is another node each time.
 */
int side_move(struct side_move *m, int try);

#endif
