/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a run.  What fails on one node fails on all: after each phase
 * the leaders compare, and all go on or none.
 */
#include "run.h"

#include <errno.h>
#include <string.h>

void stage_tell(const struct stage_job *j, const struct stage_failure *f)
{
	if (j->rank != 0)
		return;
	cmd_progress_end();
	if (f->global || j->nodes == 1 || f->err.code == HPDSL_ESTOPPED)
		cmd_message("%s", f->err.msg);
	else
		cmd_message("%s: %s", stage_node_name(f->node, f->host).s,
			    f->err.msg);
}

/* ---- What the library says -------------------------------------------- */

/* From its threads. */
static void warn(void *arg, const char *text)
{
	const struct stage_run *r = arg;

	if (r->j->nodes == 1)
		cmd_warning("%s", text);
	else
		cmd_warning("%s: %s", stage_node_name(r->j->node, r->j->host).s,
			    text);
}

static void moves(void *arg, const struct hpdsl_progress *p)
{
	const struct stage_run *r = arg;

	(void)p;
	job_moves(r->j);
}

/* ---- Phases ----------------------------------------------------------- */

static int begin(struct stage_step *s)
{
	const struct hpdsl_stage_begin opt = {
		.pack = &s->r->pack,
		.recheck = s->r->o->recheck,
		.keep_compressed = s->r->o->keep_compressed,
		.threads = s->r->o->common.threads,
		.watch = s->r->watch,
	};

	return hpdsl_stage_begin(s->r->stage, &opt, &s->err);
}

static int publish(struct stage_step *s)
{
	return hpdsl_stage_publish(s->r->stage, s->r->plan, &s->err);
}

static int new_stager(struct stage_step *s)
{
	struct stage_run *r = s->r;
	const struct hpdsl_stager_options opt = {
		.origin = r->pack.origin,
		.node = r->j->node,
		.plan = r->plan,
		.holder = r->holder,
		.lacks = run_lacks,
		.arg = r,
		.memory = r->o->memory,
		.direct = r->o->direct,
		.sync = r->o->sync,
		.keep_compressed = r->o->keep_compressed,
		.threads = r->o->common.threads,
		.watch = r->watch,
	};

	return hpdsl_stager_new(r->stage, &opt, &r->stager, &s->err);
}

/*
 * Of --rate each node gets as much as it has of what is to be read.  A 32nd is
 * split equally: a node may have to read what was to come from another one.
 */
static void share_rate(struct stage_run *r)
{
	uint64_t *all = cmd_alloc(r->j->nodes, sizeof(*all));
	struct hpdsl_stager_report s;
	double total = 0, mine;

	hpdsl_stager_report(r->stager, &s);
	job_allgather(r->j, &s.planned_origin_bytes, sizeof(*all), all);
	for (uint32_t n = 0; n < r->j->nodes; n++)
		total += (double)all[n];
	free(all);
	mine = 1.0 / r->j->nodes;
	if (total > 0)
		mine = mine / 32 +
		       (double)s.planned_origin_bytes / total * 31 / 32;
	hpdsl_stager_rate(r->stager, 1 + (uint64_t)((double)r->o->rate * mine));
}

static void tick(void *arg)
{
	struct stage_run *r = arg;

	hpdsl_stage_beat(r->stage);
	if (hpdsl_metrics_due(r->metrics.m))
		stage_metrics_put(r);
}

static int carry(struct stage_run *r)
{
	struct stage_carry c = {
		.stager = r->stager,
		.progress = report_progress,
		.arg = r,
	};

	r->carry_begin = stage_now();
	job_carry(r->j, &c);
	r->carry_end = stage_now();
	r->failure = c.failure;
	r->stopped = c.stopped;
	return c.failure.err.code;
}

const char **run_hosts(const struct stage_job *j)
{
	const char **hosts;

	if (j->rank != 0)
		return NULL;
	hosts = cmd_alloc(j->nodes, sizeof(*hosts));
	hosts[0] = j->host;
	for (uint32_t i = 1; i < j->nodes; i++)
		hosts[i] = j->peers[i - 1].host;
	return hosts;
}

static int prepare(struct stage_run *r)
{
	int ret = run_dataset(r);

	if (!ret)
		ret = run_place(r, true);
	if (!ret)
		ret = run_lock(r);
	if (ret)
		return ret;
	stage_metrics_begin(r);
	r->j->tick = tick;
	r->j->tick_arg = r;
	ret = run_index(r);
	if (!ret)
		ret = run_step(r, begin, true, false, "looking through %s",
			       r->path);
	if (ret)
		return ret;
	r->begun = true;
	return run_who_has(r);
}

static int go(struct stage_run *r)
{
	int ret = prepare(r);

	/* what is only stopped goes on */
	r->undo = ret && ret != HPDSL_ESTOPPED;
	if (!ret)
		ret = run_sides(r);
	if (!ret)
		ret = run_step(r, publish, true, false, "writing to %s",
			       r->path);
	if (!ret)
		run_book(r);
	if (!ret)
		ret = run_step(r, new_stager, true, false, "beginning in %s",
			       r->path);
	if (ret)
		return ret;
	if (r->o->rate)
		share_rate(r);
	report_place(r);
	report_plan(r);
	return carry(r);
}

/* ---- The end ---------------------------------------------------------- */

/* Not all that was planned is here, which may be as it was asked for. */
static int complete(struct stage_run *r)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_stager_report s;

	if (r->stager && !r->failure.err.code) {
		hpdsl_stager_report(r->stager, &s);
		if (s.held_chunks + s.chunks < s.planned_chunks)
			err = (struct hpdsl_error){
				r->stopped ? HPDSL_ESTOPPED : -EIO,
				"not all that was planned is here"
			};
		if (!err.code)
			err = r->side_err;
		__atomic_store_n(&cmd_stop, 0, __ATOMIC_RELAXED);
		r->j->wish = false;
		if (run_agree(r, &err, false) == HPDSL_ESTOPPED)
			snprintf(r->failure.err.msg, sizeof(r->failure.err.msg),
				 "stopped early, as asked; the same command "
				 "completes it");
	}
	return r->failure.err.code;
}

static int end(struct stage_step *s)
{
	struct stage_run *r = s->r;
	int ret = 0;

	hpdsl_stager_free(r->stager);
	r->stager = NULL;
	if (r->undo && r->stage)
		ret = hpdsl_stage_undo(r->stage, &s->err);
	else if (r->begun)
		ret = hpdsl_stage_end(r->stage, r->failure.err.code, &s->err);
	hpdsl_stage_close(r->stage);
	r->stage = NULL;
	hpdsl_stage_source_close(r->source);
	r->source = NULL;
	return ret;
}

/* The first failure counts, not what follows from it. */
static int close_all(struct stage_run *r)
{
	struct stage_failure was = r->failure;

	stage_metrics_end(r);
	__atomic_store_n(&cmd_stop, 0, __ATOMIC_RELAXED);
	r->j->wish = false;
	r->j->tick = NULL;
	run_step(r, end, true, false, "closing %s", r->path);
	if (was.err.code)
		r->failure = was;
	return r->failure.err.code;
}

static void release(struct stage_run *r)
{
	hpdsl_stage_plan_free(r->plan);
	free(r->path);
	free(r->place.all);
	free(r->origin);
	free(r->manifest);
	free(r->hosts);
	free(r->capacity);
	free(r->weight);
	free(r->use);
	free(r->holder);
	free(r->before);
	free(r->after);
	free(r->peers);
	free(r->rows);
	free(r->progress_first);
}

int stage_run(struct stage_job *j)
{
	struct stage_run r = {
		.j = j,
		.o = j->o,
		.io = stage_io(j->node),
		.begin = stage_now(),
		.path = strdup(j->o->local),
		.hosts = run_hosts(j),
	};
	int status;

	if (!r.path)
		cmd_no_memory();
	cmd_watch(&r.bar, r.o->common.quiet);
	r.watch = (struct hpdsl_watch){ .progress = moves,
					.warn = warn,
					.arg = &r,
					.stop = &cmd_stop,
					.io = r.io };
	go(&r);
	complete(&r);
	status = cmd_status_of(r.failure.err.code);
	status = cmd_worse(status, report_end(&r, status));
	if (close_all(&r))
		stage_tell(j, &r.failure);
	status = cmd_worse(status, cmd_status_of(r.failure.err.code));
	release(&r);
	return status;
}
