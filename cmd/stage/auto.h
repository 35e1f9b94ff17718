/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOCALDIR auto, on one node and without MPI: what is in its candidates, and
 * files by which nodes find out that they share one.  choose.h decides.
 */
#ifndef CMD_STAGE_AUTO_H
#define CMD_STAGE_AUTO_H

#include "choose.h"
#include "stage.h"

/* The word auto, with a name or without: no path. */
bool auto_is(const char *local);
/* Behind auto: the name; NULL: it has none. */
const char *auto_given(const char *local);

/* What rank 0 tells the others: plain bytes. */
struct auto_call {
	char name[100]; /* of the directory: hpdsl-UID-ID */
	char token[17]; /* of this job's files in candidates */
	char path[CHOOSE_PLACES][HPDSL_PATH_MAX + 1]; /* ""; there is none */
};
/* id of the dataset is looked at where LOCALDIR has no name. */
void auto_call(const char *local, const uint8_t id[16], struct auto_call *ret);

/* One node's, to be released. */
struct auto_node {
	const struct stage_options *o;
	const struct hp_io *io;
	const struct auto_call *call;
	char *path[CHOOSE_PLACES]; /* candidates here, or NULL */
	struct choose_node found;
};
void auto_begin(struct auto_node *n);
void auto_release(struct auto_node *n);
/* At the candidate, if there is one.  Writes nothing. */
void auto_look(struct auto_node *n, uint32_t place);
/*
 * In each candidate that is good so far: a file of this node; when all nodes
 * have put theirs, whether another one's is there; and it goes.
 */
void auto_put(struct auto_node *n, uint32_t node);
void auto_see(struct auto_node *n, uint32_t node);
void auto_take_away(const struct auto_node *n, uint32_t node);

/* Room for chunks in a place that auto found. */
uint64_t auto_room(const struct stage_options *o,
		   const struct hpdsl_stage_place *p);

/* What all nodes found: chooses.  As choose_place(). */
struct auto_question {
	const struct stage_options *o;
	const struct hpdsl_stage_pack *pack;
	uint32_t parts; /* of the order that training goes on with */
	const struct auto_call *call;
	uint32_t nodes;
	const struct choose_node *all;
	const char *const *hosts;
};
int auto_choose(const struct auto_question *q, struct choice *ret,
		struct hpdsl_error *err);

/* The directory's path in a candidate; the caller frees it. */
char *auto_path(const char *candidate, const char *name);
/*
 * For --status and --clean: the first candidate here that has the directory.
 * The caller frees it; NULL: none, and why.
 */
char *auto_find(const struct stage_options *o, const struct hp_io *io,
		struct hpdsl_error *err);

#endif
