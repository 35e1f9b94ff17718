/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-stage, without MPI: its options, what it prints, and the directory of
 * one node.  What concerns the ranks is in job.h.
 */
#ifndef CMD_STAGE_H
#define CMD_STAGE_H

#include "common/order_options.h"

struct stage_options {
	struct cmd_common common;
	/* As given; local may hold %n %h %r %% $NAME, or be auto. */
	const char *dataset, *local;
	const char *of; /* with status or clean of auto: the dataset */
	enum hpdsl_stage_mode mode;
	uint32_t copies;
	bool capacity_given, capacity_percent;
	uint64_t capacity; /* bytes, or percent of what is free */
	bool keep_compressed, direct, sync, recheck;
	struct cmd_order order; /* for which chunks are fetched */
	uint32_t pretend;	/* nodes; 0: real ones */
	uint64_t rate, memory;
	uint64_t deadline, timeout; /* seconds */
	const char *interface;	    /* of peers; NULL: any */
	uint32_t peer_port;	    /* the first; 0: one that is drawn */
	const char *report;
	bool plan, status, clean;
	uint32_t nodes; /* with plan and one rank; 0: not given */
	struct hpdsl_stage_rates rates; /* 0: not given */
	const char *rates_from;
};

/* Parser of the command line; its input is a struct stage_options. */
void stage_parse(int argc, char **argv, struct stage_options *o);

/*
 * The mode's name: "copies=2".  Without the word auto for a plan that was made:
 * parts of so many nodes.
 */
struct cmd_text stage_mode(enum hpdsl_stage_mode mode, uint32_t copies);
struct cmd_text stage_mode_of(uint32_t parts, uint32_t nodes);
/* A node's parts, "3" or "3-4", behind one of two words; and in an object. */
struct cmd_text stage_parts(uint32_t first, uint32_t last, const char *one,
			    const char *more);
void stage_json_parts(struct cmd_json *j, uint32_t nodes, uint32_t parts,
		      uint32_t node);

/*
 * Those options that must not differ between ranks, a line "name value" each;
 * the caller frees it.
 */
char *stage_canonical(const struct stage_options *o);

/*
 * order.c: the order for which chunks are fetched, as it was asked for; pack is
 * what the dataset's index is known by.  -EINVAL: the loader's state is none,
 * or of another one.
 */
int stage_order(const struct stage_options *o, const uint8_t pack[16],
		struct hpdsl_state *ret, struct hpdsl_error *err);
/*
 * The chunks, as an epoch of that order first wants them, for so many nodes
 * and parts.  HPDSL_EUSAGE, or of a state -EINVAL: the epoch has no such step.
 */
int stage_first_use(const struct stage_options *o,
		    const struct hpdsl_state *wanted,
		    const struct hpdsl_dataset *ds, uint32_t nodes,
		    uint32_t parts, uint32_t *ret, struct hpdsl_error *err);

/* io.c: file operations, NULL for the system's, and version; tests have others.
 */
const struct hp_io *stage_io(uint32_t node);
const char *stage_version(void);

/* Which place is meant by % in LOCALDIR. */
struct stage_where {
	uint32_t node;
	int rank;
	const char *host;
};

/* place.c: the caller frees it.  NULL: no such thing as %x. */
char *stage_expand(const char *local, const struct stage_where *w);
/* local.c: the same, and variables, too: HPDSL_EUSAGE, -ENAMETOOLONG. */
int stage_local(const char *local, const struct stage_where *w, char **ret,
		struct hpdsl_error *err);
/* What is wrong with LOCALDIR on the command line: HPDSL_EUSAGE. */
int stage_local_check(const struct stage_options *o, struct hpdsl_error *err);
/* Rank 0 prints it, as it is not on the command line. */
bool stage_local_is_found(const char *local);
/* It may differ from node to node. */
bool stage_local_varies(const char *local);
/*
 * What tells two directories apart, of one machine or of two, whether they are
 * there yet or not; and what is free there for --capacity.
 */
struct stage_key {
	uint8_t boot[40];
	uint64_t device, inode, name; /* name: hash, where it is not there */
};
int stage_key(const char *path, struct stage_key *ret, struct hpdsl_error *err);
/* apart.c: HPDSL_EUSAGE: one of the two is the other one, or in it; or path is
 * in another stage directory. */
int stage_apart(const char *dataset, const char *path, struct hpdsl_error *err);
/* For a plan, which opens and makes nothing: as hpdsl_stage_place(). */
int stage_free(const char *path, uint64_t *ret, struct hpdsl_error *err);
uint64_t stage_capacity(const struct stage_options *o,
			const struct hpdsl_stage_place *p);

/*
 * plan.c: prints the plan.  capacity of each of so many nodes, NULL: room
 * for all; hosts: names, NULL: not known.  Exit status; what is wrong has been
 * told.
 */
struct stage_plan_for {
	uint32_t nodes;
	const uint64_t *capacity;
	const char *const *hosts;
	/* What auto found, why, and why none before; or NULL. */
	const char *directory, *reason, *others;
};
int stage_plan(const struct stage_options *o, const struct stage_plan_for *f);

/* status_clean.c: what one directory holds, or held. */
struct stage_found {
	struct hpdsl_stage_status status;
	uint64_t files, bytes, left; /* of --clean */
};
int stage_status_or_clean(const struct stage_options *o, const char *path,
			  const struct hp_io *io, struct stage_found *ret,
			  struct hpdsl_error *err);
/* With --json an object, for an array or the whole. */
void stage_found_print(const struct stage_options *o, const char *path,
		       const struct stage_found *f, struct cmd_json *j);

#endif
