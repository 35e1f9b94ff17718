/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of all nodes, or none: a job that has some of them while it
 * waits for others would stand in the way of one that has it the other way
 * round.
 */
#include "run.h"

#include <errno.h>
#include <string.h>

#define WAIT_MIN 0.1
#define WAIT_MAX 2.0
#define FIRST_WORD 1.0
#define EVERY 10.0

/* ---- Two nodes, one directory; or the dataset's ----------------------- */

struct find_key {
	const char *path, *origin;
	struct stage_key key;
	struct hpdsl_error err;
};

static int find_key(void *arg)
{
	struct find_key *f = arg;

	int ret = stage_apart(f->origin, f->path, &f->err);

	return ret < 0 ? ret : stage_key(f->path, &f->key, &f->err);
}

struct placed {
	struct stage_key key;
	uint32_t node;
};

static int by_key(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int c = memcmp(&x->key, &y->key, sizeof(x->key));

	return c ? c : (x->node > y->node) - (x->node < y->node);
}

static void find_twins(const struct stage_run *r, struct placed *all,
		       struct hpdsl_error *err)
{
	qsort(all, r->j->nodes, sizeof(*all), by_key);
	for (uint32_t i = 1; i < r->j->nodes && !err->code; i++)
		if (!memcmp(&all[i].key, &all[i - 1].key, sizeof(all[i].key))) {
			err->code = HPDSL_EUSAGE;
			snprintf(err->msg, sizeof(err->msg),
				 "%.800s: nodes %u and %u have the same "
				 "directory; write %%n, %%h or %%r",
				 r->path, all[i - 1].node, all[i].node);
		}
}

static int check_twins(struct stage_run *r)
{
	struct find_key f = { .path = r->path, .origin = r->origin };
	struct placed mine = { .node = r->j->node };
	struct placed *all = cmd_alloc(r->j->nodes, sizeof(*all));
	int ret;

	if (job_work(r->j, find_key, &f, "looking for %s", r->path) >= 0)
		f.err.code = 0;
	mine.key = f.key;
	ret = run_agree(r, &f.err, false);
	if (!ret) {
		job_allgather(r->j, &mine, sizeof(mine), all);
		find_twins(r, all, &f.err);
		ret = run_agree(r, &f.err, true);
	}
	free(all);
	return ret;
}

/* ---- All locks or none ------------------------------------------------ */

/* For those who wait for this job. */
static int open_stage(struct stage_step *s)
{
	struct stage_run *r = s->r;
	char job[120];
	const struct hpdsl_stage_at at = {
		.node = r->j->node,
		.nodes = r->j->nodes,
		.job = cmd_job_name(job, sizeof(job)),
		.io = r->io,
	};

	return hpdsl_stage_open(r->path, &at, &r->stage, &s->err);
}

static int close_stage(void *arg)
{
	struct stage_run *r = arg;
	struct hpdsl_error err;

	if (r->stage)
		hpdsl_stage_undo(r->stage, &err);
	hpdsl_stage_close(r->stage);
	r->stage = NULL;
	return 0;
}

/* Is the one that holds the lock getting on?  Of this node's directory. */
struct holder {
	struct stage_run *r;
	int64_t *touched; /* as it was when last looked at */
	bool at_work;
};

/* While it verifies what is there it touches its lock, and nothing beats. */
static bool was_touched(struct holder *h)
{
	int64_t was = *h->touched;
	struct hpdsl_error err;

	return hpdsl_stage_touched(h->r->path, h->r->io, h->touched, &err) ==
		       0 &&
	       *h->touched != was;
}

static int ask_holder(void *arg)
{
	struct holder *h = arg;
	struct hpdsl_stage_status *s = cmd_alloc(1, sizeof(*s));
	struct hpdsl_error err;

	h->at_work = hpdsl_stage_status(h->r->path, h->r->io, s, &err) == 0 &&
		     s->at_work;
	h->at_work |= was_touched(h);
	free(s);
	return 0;
}

static void pause_for(struct stage_run *r, double seconds)
{
	double until = stage_now() + seconds;

	while (stage_now() < until &&
	       !__atomic_load_n(&cmd_stop, __ATOMIC_RELAXED))
		job_rest(r->j, job_pass(r->j));
}

static void tell_wait(const struct stage_run *r)
{
	const struct stage_failure *f = &r->failure;

	if (r->j->rank != 0)
		return;
	if (r->j->nodes == 1)
		cmd_message("waiting: %s", f->err.msg);
	else
		cmd_message("waiting: %s: %s",
			    stage_node_name(f->node, f->host).s, f->err.msg);
}

struct waiting {
	double begin, told, alive, nap;
	int64_t touched;
};

/* Somebody else is at work: for how long do we wait? */
static int wait_once(struct stage_run *r, struct waiting *w)
{
	const struct hpdsl_error none = { 0 };
	struct stage_failure busy = r->failure;
	struct holder h = { .r = r, .touched = &w->touched };
	uint32_t dead[1];
	double now;

	job_work(r->j, close_stage, r, "closing %s", r->path);
	job_work(r->j, ask_holder, &h, "looking at %s", r->path);
	if (run_agree(r, &none, true)) /* it is to be stopped */
		return r->failure.err.code;
	r->failure = busy;
	dead[0] = r->failure.node != r->j->node || h.at_work ? 1 : 0;
	job_min(r->j, dead, 1); /* of the node that was named */
	now = stage_now();
	if (dead[0])
		w->alive = now;
	if (now - w->begin > FIRST_WORD && now - w->told > EVERY) {
		w->told = now;
		tell_wait(r);
	}
	if (r->j->rank == 0 && now - w->alive > (double)r->o->timeout)
		dead[0] = 2;
	job_bcast(r->j, dead, sizeof(dead), 0);
	if (dead[0] == 2) {
		size_t n = strlen(r->failure.err.msg);

		snprintf(r->failure.err.msg + n, sizeof(r->failure.err.msg) - n,
			 ", which shows no life");
		return r->failure.err.code;
	}
	pause_for(r, w->nap);
	w->nap = w->nap * 1.5 < WAIT_MAX ? w->nap * 1.5 : WAIT_MAX;
	return 0;
}

int run_lock(struct stage_run *r)
{
	struct waiting w = { .begin = stage_now(), .nap = WAIT_MIN };
	int ret = check_twins(r);

	w.alive = w.begin;
	if (ret)
		return ret;
	w.told = -EVERY;
	while ((ret = run_step(r, open_stage, true, false, "opening %s",
			       r->path)) == -EBUSY) {
		ret = wait_once(r, &w);
		if (ret)
			break;
	}
	return ret;
}
