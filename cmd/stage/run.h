/* SPDX-License-Identifier: Apache-2.0 */
/* One run, as a leader sees it: what its phases leave to those that follow. */
#ifndef CMD_STAGE_RUN_H
#define CMD_STAGE_RUN_H

#include "auto.h"
#include "job.h"

#include "common/metrics.h"

/* place_of_run.c: what auto has found. */
struct auto_place {
	bool found;
	struct choice choice;
	struct choose_node *all; /* of each node */
};

/* Side files of a node: new ones, what it read of them, what was given up. */
struct stage_side_sums {
	uint64_t files, bytes, origin_bytes, lost;
};

struct stage_run {
	struct stage_job *j;
	const struct stage_options *o;
	const struct hp_io *io;
	char *path;  /* LOCALDIR, here; as given until it was found */
	bool placed; /* it was */
	struct auto_place place;
	struct stage_failure failure;
	bool stopped; /* early, as asked, and not all is here */
	double begin, carry_begin, carry_end;

	/* dataset.c */
	struct hpdsl_stage_source *source; /* rank 0 */
	struct hpdsl_stage_pack pack;
	struct hpdsl_state wanted;
	char *origin, *manifest; /* what pack points into */

	/* lock.c, run.c */
	struct hpdsl_stage *stage;
	bool begun;
	bool undo; /* nothing that came is worth to stay */
	struct hpdsl_watch watch, bar;

	/* who_has.c */
	const char **hosts; /* of the nodes; NULL where they are not known */
	uint64_t *capacity, *weight;
	uint32_t *use; /* chunks in order of use */
	uint32_t *holder;
	/* Of each chunk of this node's first part, and then of its last, the
	 * nodes next to it that lack it, in the ring of their group.  NULL: all
	 * do. */
	uint32_t *before, *after;
	struct hpdsl_stage_plan *plan;
	struct hpdsl_stager *stager;

	/* sides.c */
	struct stage_side_sums sides;
	struct hpdsl_error side_err; /* the first that was given up */

	/* book.c */
	struct hpdsl_peer_node
		*peers; /* rank 0: all nodes, best address first */
	uint32_t port;	/* of their servers; 0: no book */

	struct cmd_metrics metrics; /* metrics.c */

	/* report.c, on rank 0 */
	struct stage_row *rows;
	bool report_failed;
	double progress_at, progress_begin, progress_looked;
	uint64_t *progress_first; /* of each node, bytes when it began */
};

/* step.c: runs fn where all leaders do, in another thread, and compares. */
struct stage_step {
	struct stage_run *r;
	struct hpdsl_error err;
};
__attribute__((format(printf, 5, 6))) int run_step(
	struct stage_run *r, int (*fn)(struct stage_step *), bool here,
	bool global, const char *fmt, ...);
/* The same, not compared yet. */
int run_agree(struct stage_run *r, const struct hpdsl_error *mine, bool global);

/* Each: 0, or what r->failure says, the same for all leaders. */
int run_dataset(struct stage_run *r); /* dataset.c: manifest, order */
int run_index(struct stage_run *r);
/* place_of_run.c: LOCALDIR.  write: into candidates, to see who shares them. */
int run_place(struct stage_run *r, bool write);
int run_lock(struct stage_run *r); /* lock.c */
/* "Slurm job 4711"; NULL: of no batch system that is known. */
int run_who_has(struct stage_run *r); /* who_has.c: plan, and holders */
bool run_lacks(void *arg, uint32_t node, uint64_t chunk);
int run_sides(struct stage_run *r); /* sides.c */
void run_book(
	struct stage_run *r); /* book.c: of the nodes, for their servers */

/* What a leader tells of itself in the end. */
struct stage_row {
	struct hpdsl_stager_report r;
	struct stage_side_sums sides;
	double seconds;
	char host[STAGE_HOST];
};
/* metrics.c: the same while it runs, for Prometheus. */
void stage_metrics_begin(struct stage_run *r);
void stage_metrics_put(struct stage_run *r);
void stage_metrics_end(struct stage_run *r);
void report_progress(void *arg);
void report_plan(struct stage_run *r);
/* place_out.c: LOCALDIR where it is not on the command line: rank 0 prints it;
 * those of all nodes go to rank 0, for --json. */
void report_place(struct stage_run *r);
void report_paths(struct stage_run *r);
void report_paths_json(struct cmd_json *j, struct stage_run *r);
/* Leaders send, rank 0 prints; status is the one that all will have. */
int report_end(struct stage_run *r, int status);

/* The whole of it; gives an exit status, rank 0 the right one. */
int stage_run(struct stage_job *j);
/* --status, --clean, --plan under a launcher: the same. */
int stage_each(struct stage_job *j);
/* auto_plan.c: --plan with LOCALDIR auto, by all leaders, or without MPI. */
int stage_auto_plan(struct stage_job *j);
int stage_auto_plan_alone(const struct stage_options *o);
int stage_alone(const struct stage_options *o);

/* One line on rank 0. */
/* run.c: the hosts of all nodes on rank 0, which tells for all. */
const char **run_hosts(const struct stage_job *j);
void stage_tell(const struct stage_job *j, const struct stage_failure *f);

#endif
