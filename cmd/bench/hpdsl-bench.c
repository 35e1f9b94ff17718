/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-bench: reads epochs as a training job would, as fast as it can or at a
 * given pace, and says how long the job would have waited for its data.
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Until then, or until a signal wants an end. */
static void sleep_until(double then)
{
	double left;

	while (!__atomic_load_n(&cmd_stop, __ATOMIC_RELAXED) &&
	       (left = then - now()) > 0) {
		struct timespec t = { .tv_sec = (time_t)left };

		t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
		nanosleep(&t, NULL);
	}
}

/* ---- Draining --------------------------------------------------------- */

static void progress(const struct bench *r, uint64_t samples)
{
	const struct hpdsl_watch *w = &r->opt.watch;

	if (w->progress)
		w->progress(w->arg, &(struct hpdsl_progress){
					    .phase = "reading",
					    .done = samples,
				    });
}

/* The next step, and how long it took to come; as hpdsl_loader_next(). */
static int next_step(struct bench *r, double begin,
		     const struct hpdsl_batch **ret, struct hpdsl_error *err)
{
	double before = now();
	int e = hpdsl_loader_next(r->loader, ret, err);

	if (e <= 0)
		return e;
	r->waits = cmd_grow(r->waits, r->n_waits, sizeof(*r->waits));
	r->waits[r->n_waits] = now() - before;
	if (!r->n_waits++)
		r->first = now() - begin;
	return e;
}

static int drain(struct bench *r)
{
	const struct hpdsl_batch *b;
	struct hpdsl_error err;
	double begin = now(), due;
	uint64_t samples = 0;
	int e = 1;

	while (!r->steps || r->n_waits < r->steps) {
		e = next_step(r, begin, &b, &err);
		if (e <= 0)
			break;
		samples += b->n;
		for (size_t i = 0; i < b->n; i++)
			r->filling += !b->mask[i];
		due = now() + r->compute;
		if (r->pace > 0 && due < begin + (double)samples / r->pace)
			due = begin + (double)samples / r->pace;
		sleep_until(due);
		hpdsl_batch_release(b);
		progress(r, samples);
	}
	r->seconds = now() - begin;
	cmd_progress_end();
	if (e == HPDSL_ESTOPPED && cmd_signals_came())
		return CMD_STOPPED; /* who ends it tells why */
	return e < 0 ? cmd_tell(&err) : CMD_DONE;
}

/* ---- The state -------------------------------------------------------- */

static int save(const struct bench *r)
{
	char text[HPDSL_STATE_MAX];
	struct hpdsl_error err;
	struct hpdsl_state s;
	struct cmd_file f;

	if (!r->save)
		return CMD_DONE;
	hpdsl_loader_state(r->loader, &s);
	hpdsl_state_format(&s, text);
	if (cmd_file_open(&f, r->save, &err) < 0)
		return cmd_tell(&err);
	fprintf(f.out, "%s\n", text);
	return cmd_file_close(&f, &err) < 0 ? cmd_tell(&err) : CMD_DONE;
}

/* ---- All of it -------------------------------------------------------- */

/* Why not one step was read, where none was there to be read. */
static void tell_nothing(const struct bench *r)
{
	const struct hpdsl_share *s = &r->opt.share;
	uint64_t epoch = r->opt.order.epoch, from = r->opt.order.step, steps;

	if (r->opt.epochs > 1) { /* so the next one had none, either */
		epoch++;
		from = 0;
	}
	steps = hpdsl_loader_steps(r->loader, epoch);
	if (steps > from)
		cmd_warning("nothing was read: worker %u of %u has no step, "
			    "epoch %llu has %s from step %llu on",
			    s->worker, s->workers, (unsigned long long)epoch,
			    cmd_many(steps - from, "step").s,
			    (unsigned long long)from);
	else if (from)
		cmd_warning("nothing was read: epoch %llu ends at step %llu "
			    "(--epochs=2: go on with the next)",
			    (unsigned long long)epoch,
			    (unsigned long long)from);
	else
		cmd_warning("nothing was read: epoch %llu has no whole step "
			    "(--end=drop)",
			    (unsigned long long)epoch);
}

static void set_options(struct bench *r, struct bench_bad *bad)
{
	r->opt.order = r->order.order;
	r->opt.batch_size = r->order.batch_size;
	r->opt.share = r->order.share;
	r->opt.end = r->order.end;
	r->opt.suffixes = r->suffixes.v;
	r->opt.n_suffixes = r->suffixes.n;
	r->opt.threads = r->common.threads;
	r->opt.bad = bench_bad_add;
	r->opt.arg = bad;
}

/* What there is to say of a run that has read what it could. */
static int conclude(struct bench *r, struct bench_bad *bad, int status)
{
	bool any_bad = bench_bad_end(bad);

	if (status == CMD_DONE && !r->n_waits)
		tell_nothing(r);
	if (status == CMD_DONE && any_bad)
		status = CMD_NO;
	bench_report(r, status);
	return status;
}

static int with_loader(struct bench *r)
{
	struct bench_bad *bad = bench_bad_new();
	struct hpdsl_error err;
	int status;

	set_options(r, bad);
	if (r->save || getenv("HPDSL_METRICS"))
		cmd_signals_wait();
	if (hpdsl_loader_new(r->ds, &r->opt, &r->loader, &err) < 0) {
		bench_bad_end(bad);
		return cmd_tell(&err);
	}
	status = drain(r);
	/* first of all: who was told to end has not much time */
	status = cmd_worse(status, save(r));
	if (cmd_signals_came())
		hpdsl_loader_free(r->loader); /* and what it shows */
	cmd_signals_end();
	status = conclude(r, bad, status);
	hpdsl_loader_free(r->loader);
	return status;
}

static int run(struct bench *r)
{
	struct hpdsl_choice *choice;
	struct hpdsl_error err;
	int status;

	/* now, and not after hours */
	if (r->save && cmd_file_try(r->save, &err) < 0)
		return cmd_tell(&err);
	if (cmd_open(r->dataset, r->common.foreign_owner, &r->ds, &err) < 0)
		return cmd_tell(&err);
	status = cmd_order_begin(&r->order, r->ds, &choice);
	if (status == CMD_DONE) {
		r->opt.choice = choice;
		status = with_loader(r);
	}
	hpdsl_choice_free(choice);
	hpdsl_close(r->ds);
	return status;
}

int main(int argc, char **argv)
{
	struct bench r = { .opt.epochs = 1 };
	int status;

	cmd_start(argv);
	bench_parse(argc, argv, &r);
	cmd_signals(r.dataset, "");
	if (r.deadline)
		cmd_deadline(r.deadline);
	cmd_watch(&r.opt.watch, r.common.quiet);
	cmd_progress_counts("samples");
	cmd_allow_open_files();
	status = run(&r);
	cmd_order_release(&r.order);
	free(r.suffixes.v);
	free(r.waits);
	return status;
}
