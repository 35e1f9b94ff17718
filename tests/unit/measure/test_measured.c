/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall and a rank, over real files and a clock of their own. */
#include "hpdsl/stall.h"
#include "measure/alive.h"
#include "stall/schedule.h"
#include "clock.h"
#include "faultio.h"
#include "folders.h"
#include "level.h"
#include "tmp.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Seconds until a batch is there, and of compute. */
static const double waits[HPDSL_STALL_PHASES] = { 0, 0.02, 0.03, 0.5, 0.25 };
#define COMPUTE 0.125

struct job {
	struct faultio f;
	char parent[TMP_NAME];
	struct hpdsl_stall *stall;
	struct hpdsl_stall_progress progress;
	unsigned runs, was_idle;
	double now;
	struct hpdsl_stall_counters at;
	struct hpdsl_error err;
};

static size_t files_in(const char *folder)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int tend(struct job *j)
{
	clock_pass(0.003); /* looks are no more frequent than files allow */
	return hpdsl_stall_tend(j->stall, &j->progress, &j->err);
}

/* Asked again behind all, it says so; not a third time: that would kill. */
static int end(struct job *j, struct hpdsl_measured *m)
{
	struct hpdsl_stall_place place;
	int r = hpdsl_measured_enter(m, &j->at, &place, &j->err);

	if (r < 0)
		return r;
	assert_int_equal(place.time, HPDSL_STALL_BEHIND);
	r = tend(j);
	return r < 0 ? r : 1;
}

/* While nothing is measured, what is counted is not looked at. */
static int enter(struct job *j, struct hpdsl_measured *m,
		 struct hpdsl_stall_place *ret)
{
	const struct hpdsl_stall_counters any = { j->now, UINT64_MAX, 1, 1e9 };

	j->at.now = j->now;
	return hpdsl_measured_enter(m, hpdsl_measured_idle(m) ? &any : &j->at,
				    ret, &j->err);
}

/* 1: there are no more. */
static int one_step(struct job *j, struct hpdsl_measured *m)
{
	struct hpdsl_stall_cache cache = { 100, 1, 0 };
	struct hpdsl_stall_place place;
	double wait = 0.25;
	int r;

	r = enter(j, m, &place);
	if (r < 0)
		return r;
	if (place.time == HPDSL_STALL_BEHIND)
		return end(j, m);
	if (place.time == HPDSL_STALL_IN) {
		wait = waits[place.phase];
		r = place.begins ? hpdsl_measured_cache(m, place.phase, &cache,
							&j->err) :
				   0;
	}
	j->now += wait;
	j->at.made += 1000;
	j->at.out += 1000;
	j->was_idle += hpdsl_measured_idle(m);
	hpdsl_measured_leave(m, hpdsl_measured_idle(m) ? -1e9 : j->now, false);
	j->now += COMPUTE;
	return r;
}

static int rank(struct job *j)
{
	const struct hpdsl_measured_options opt = { .ranks = 1,
						    .io = &j->f.io };
	struct hpdsl_measured *m;
	int r;

	setenv("HPDSL_STALL", hpdsl_stall_beat(j->stall), 1);
	r = hpdsl_measured_new(&opt, &m, &j->err);
	unsetenv("HPDSL_STALL");
	if (r < 0)
		return r;
	assert_non_null(m);
	hpdsl_measured_lead(m, 2, 50);
	for (unsigned i = 0; r == 0 && i < 500; i++) {
		r = one_step(j, m);
		if (r == 0 && i % 10 == 0)
			r = tend(j);
	}
	hpdsl_measured_free(m);
	return r < 0 ? r : 0;
}

/* The whole job, or up to what fails. */
static int measure(struct job *j, bool separate)
{
	const struct hpdsl_stall_options opt = { .parent = j->parent,
						 .rounds = 1,
						 .blocks = 3,
						 .steps = 4,
						 .separate = separate,
						 .io = &j->f.io };
	int r = hpdsl_stall_new(&opt, &j->stall, &j->err);

	if (r < 0)
		return r;
	j->now = hp_now();
	do {
		memset(&j->progress, 0, sizeof j->progress);
		r = rank(j);
		j->runs++;
		if (r == 0 && j->progress.state == HPDSL_STALL_MEASURED)
			r = hpdsl_stall_again(j->stall, &j->err);
		else if (r == 0)
			r = HPDSL_EUSAGE;
	} while (r > 0);
	return r;
}

static void begin(struct job *j, long fail_at)
{
	memset(j, 0, sizeof *j);
	faultio_init(&j->f, fail_at, false, -EIO);
	assert_non_null(tmp_folder(j->parent, sizeof j->parent, "stall"));
}

static void is_about(const struct hpdsl_stall_figure *f, double is)
{
	assert_true(f->is > is - 1e-6 && f->is < is + 1e-6);
}

static void check_all(const struct job *j)
{
	struct hpdsl_stall_split s;
	struct hpdsl_stall_rank one;

	assert_int_equal(hpdsl_stall_split(j->stall, &s, NULL), 0);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		assert_true(s.has[i]);
		is_about(&s.step[i], COMPUTE + waits[i]);
	}
	is_about(&s.part[HPDSL_STALL_COMPUTE], COMPUTE);
	is_about(&s.part[HPDSL_STALL_INTERFERENCE], 0.02);
	is_about(&s.part[HPDSL_STALL_PREPARATION], 0.01);
	is_about(&s.part[HPDSL_STALL_FETCH], 0.47);
	assert_int_equal(s.ranks, 1);
	assert_true(hpdsl_stall_rank(j->stall, 0, &one));
	assert_false(hpdsl_stall_rank(j->stall, 1, &one));
	assert_int_equal(one.epoch, 50);
	assert_int_equal(one.lead, 2);
	assert_true(one.first_seconds == 0.25);
	assert_int_equal(one.blocks, 15);
	assert_int_equal(one.pid, getpid());
	assert_int_equal(one.cache[HPDSL_STALL_COLD].asked, 100);
	assert_int_equal(one.cache[HPDSL_STALL_COLD].there, 1);
}

static void all_is_said_and_nothing_left(void **state)
{
	struct job j;

	(void)state;
	for (unsigned separate = 0; separate < 2; separate++) {
		begin(&j, 0);
		assert_int_equal(measure(&j, separate), 0);
		assert_true(j.was_idle > 0);
		assert_int_equal(j.runs, separate ? 4 : 1);
		check_all(&j);
		hpdsl_stall_free(j.stall);
		assert_int_equal(files_in(j.parent), 0);
		assert_int_equal(rmdir(j.parent), 0);
	}
}

/* Between looks, of which there is one a second, a step costs none. */
static void steps_take_no_calls(void **state)
{
	struct hpdsl_stall_options opt = { 0 };
	struct hpdsl_measured_options who = { .ranks = 1 };
	struct hpdsl_measured *m;
	struct job j;
	double first;
	long before;

	(void)state;
	begin(&j, 0);
	opt.parent = j.parent;
	opt.io = who.io = &j.f.io;
	assert_int_equal(hpdsl_stall_new(&opt, &j.stall, &j.err), 0);
	setenv("HPDSL_STALL", hpdsl_stall_beat(j.stall), 1);
	assert_int_equal(hpdsl_measured_new(&who, &m, &j.err), 0);
	unsetenv("HPDSL_STALL");
	before = j.f.count;
	first = hp_now();
	for (unsigned i = 0; i < 1000; i++) {
		struct hpdsl_stall_place place;

		j.at.now = first + i * 0.0005;
		assert_int_equal(hpdsl_measured_enter(m, &j.at, &place, NULL),
				 0);
		assert_int_equal(place.time, HPDSL_STALL_BEFORE);
		hpdsl_measured_leave(m, j.at.now, true);
		if (i == 19)
			assert_int_equal(j.f.count, before);
		if (i == 20)
			before = j.f.count; /* it has started, and said so */
	}
	assert_int_equal(j.f.count, before);
	hpdsl_measured_free(m);
	hpdsl_stall_free(j.stall);
	rmdir(j.parent);
}

/* Steps of a second, and so many of hpdsl-stall's looks; then it has ended. */
static int alone_after(struct job *j, unsigned looks, unsigned most)
{
	const struct hpdsl_stall_options opt = { .parent = j->parent,
						 .rounds = 1,
						 .blocks = 3,
						 .steps = 100,
						 .io = &j->f.io };
	struct hpdsl_measured_options who = { .ranks = 1, .io = &j->f.io };
	struct hpdsl_measured *m;
	unsigned i = 0;
	int r;

	assert_int_equal(hpdsl_stall_new(&opt, &j->stall, &j->err), 0);
	j->now = hp_now();
	setenv("HPDSL_STALL", hpdsl_stall_beat(j->stall), 1);
	assert_int_equal(hpdsl_measured_new(&who, &m, &j->err), 0);
	unsetenv("HPDSL_STALL");
	hpdsl_measured_lead(m, 2, 50);
	do {
		r = one_step(j, m);
		clock_pass(1);
		j->now = hp_now();
		if (r == 0 && i < looks)
			r = tend(j);
	} while (r == 0 && ++i < looks + most);
	hpdsl_measured_free(m);
	assert_in_range(i, looks + 9, looks + (r ? 12 : most));
	return r;
}

/* Where the kernel does not see to it: an error is what it may save at. */
static void who_may_have_replayed_is_killed(void **state)
{
	struct job j;
	int status;
	pid_t pid;

	(void)state;
	/* of a dry run, which has no name, none is killed, and none has an
	 * error */
	begin(&j, 0);
	assert_int_equal(alone_after(&j, 10, 100), 0);
	hpdsl_stall_free(j.stall);
	rmdir(j.parent);

	setenv("HPDSL_STALL_RUN", "1", 1);
	begin(&j, 0);
	assert_int_equal(alone_after(&j, 10, 100), HPDSL_EUSAGE);
	assert_non_null(strstr(j.err.msg, "no hpdsl-stall is alive"));
	assert_int_equal(j.progress.state, HPDSL_STALL_WAITING);
	hpdsl_stall_free(j.stall);
	rmdir(j.parent);

	begin(&j, 0);
	pid = fork();
	if (pid == 0) {
		alone_after(&j, 40, 100);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	folder_remove(j.parent);
	unsetenv("HPDSL_STALL_RUN");
}

/* A beat is opened for each look, and not for each step; what hangs, and comes
 * back, ends nobody, and neither does what stands still for all. */
static void time_counts_that_it_could_be_seen(void **state)
{
	struct hp_measure_alive a = { 100, 100, 0 };
	double t = 100;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		/* half a minute without an answer; a beat soon after */
		assert_int_equal(hp_measure_looked(&a, t + 1, t + 31, false),
				 HP_MEASURE_UNSURE);
		assert_int_equal(
			hp_measure_looked(&a, t + 31.2, t + 31.2, false),
			HP_MEASURE_UNSURE);
		assert_int_equal(hp_measure_looked(&a, t + 32, t + 32, true),
				 HP_MEASURE_ALIVE);
		t += 32;
	}
	/* the job was stopped for an hour, and hpdsl-stall with it */
	t += 3600;
	assert_int_equal(hp_measure_looked(&a, t, t, false), HP_MEASURE_UNSURE);
	assert_true(a.silent == HP_MEASURE_IN_TIME);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(
			hp_measure_looked(&a, t + i + 1, t + i + 1, false),
			HP_MEASURE_UNSURE);
	assert_int_equal(hp_measure_looked(&a, t + 8, t + 8, false),
			 HP_MEASURE_ENDED);
}

/* Any operation may fail: that is said, and it is over, and nothing is left. */
static void whatever_fails_is_said(void **state)
{
	long all, step;
	struct job j;

	(void)state;
	begin(&j, 0);
	assert_int_equal(measure(&j, true), 0);
	all = j.f.count;
	hpdsl_stall_free(j.stall);
	rmdir(j.parent);
	/* Odd, as some calls come every second time. */
	step = at_level("long") ? 1 : all / 24 | 1;
	for (long k = 1; k <= all; k += k < 8 ? 1 : step) {
		int r;

		begin(&j, k);
		r = measure(&j, true);
		assert_int_equal(j.f.failed, 1);
		if (r == 0)
			check_all(&j);
		else
			assert_true(*j.err.msg);
		hpdsl_stall_free(j.stall);
		/* unless it was to take away what is of a run before */
		assert_true(files_in(j.parent) <= (r == 0));
		rmdir(j.parent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_said_and_nothing_left),
		cmocka_unit_test(steps_take_no_calls),
		cmocka_unit_test(who_may_have_replayed_is_killed),
		cmocka_unit_test(time_counts_that_it_could_be_seen),
		cmocka_unit_test(whatever_fails_is_said),
	};

	clock_still(true);
	/* Nobody is in front of this one's libraries. */
	setenv("HPDSL_STALL_SAVES", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
