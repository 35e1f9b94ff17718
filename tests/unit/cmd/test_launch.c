/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of a job does before MPI: never mpirun where MPI can begin,
 * and never twice.
 */
#include "cmd/stage/launch_plan.c"
#include "cmd/stage/launch_tidy.c"
#include "shell.h"
#include "tmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A step as srun makes it, without PMI; what is set besides comes behind. */
enum { STEP = 6, ROOM = 16 };
static const char *const step[STEP] = {
	"SLURM_JOB_ID=17",	  "SLURM_STEP_ID=2",
	"SLURM_STEP_NUM_TASKS=5", "SLURM_STEP_NUM_NODES=3",
	"SLURM_PROCID=0",	  "SLURM_STEP_NODELIST=n[1-3]",
};

/* The step with one more variable, which replaces its own; NULL: none. */
static struct launch decide(const char *more, enum launch_mpi mpi)
{
	static char *env[ROOM];
	size_t n = 0, name = more ? strcspn(more, "=") + 1 : 0;

	if (more)
		env[n++] = (char *)more;
	for (size_t i = 0; i < STEP; i++)
		if (!more || strncmp(step[i], more, name) != 0)
			env[n++] = (char *)step[i];
	env[n] = NULL;
	return launch_decide(env, mpi);
}

static enum launch_kind kind(const char *more)
{
	return decide(more, LAUNCH_MPI_PMIX).kind;
}

static void task_0_runs_mpirun(void **state)
{
	struct launch l = decide(NULL, LAUNCH_MPI_PMIX);

	(void)state;
	assert_int_equal(l.kind, LAUNCH_MPIRUN);
	assert_int_equal(l.tasks, 5);
	assert_int_equal(l.nodes, 3);
	assert_string_equal(l.hosts, "n[1-3]");
	assert_string_equal(l.step, "17.2");
	assert_int_equal(launch_ranks(&l, false), 3);
	assert_int_equal(launch_ranks(&l, true), 5);
	assert_int_equal(kind("SLURM_PROCID=1"), LAUNCH_WAIT);
	assert_int_equal(kind("SLURM_PROCID=4"), LAUNCH_WAIT);
	/* an interactive step */
	assert_int_equal(kind("SLURM_STEP_ID=4294967290"), LAUNCH_MPIRUN);
}

static void where_mpi_can_begin_nothing_is_done(void **state)
{
	static const char *const signs[] = {
		"OMPI_COMM_WORLD_SIZE=3",
		"OMPI_COMM_WORLD_RANK=0",
		"PMIX_RANK=0",
		"PMIX_RANK=",
		"PMIX_NAMESPACE=x",
		"PALS_RANKID=0",
		"MPI_LOCALNRANKS=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		assert_int_equal(kind(signs[i]), LAUNCH_NOTHING);
	/* PMI-2 helps those who know it */
	assert_int_equal(kind("PMI_RANK=0"), LAUNCH_MPIRUN);
	assert_int_equal(decide("PMI_RANK=0", LAUNCH_MPI_PMI).kind,
			 LAUNCH_NOTHING);
	assert_int_equal(decide("PMI_RANK=0", LAUNCH_MPI_OTHER).kind,
			 LAUNCH_NOTHING);
	assert_int_equal(decide(NULL, LAUNCH_MPI_PMI).kind, LAUNCH_MPIRUN);
	assert_int_equal(decide(NULL, LAUNCH_MPI_OTHER).kind, LAUNCH_NOTHING);
	/* names that only begin so */
	assert_int_equal(kind("PMIX_RANKS=1"), LAUNCH_MPIRUN);
}

static void nothing_is_begun_twice(void **state)
{
	static const char *const marks[] = { LAUNCH_MARK "=17.2",
					     LAUNCH_MARK "=1.1",
					     LAUNCH_MARK "=" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(kind(marks[i]), LAUNCH_AGAIN);
}

static void what_is_no_step_is_left_alone(void **state)
{
	static const char *const batch[] = { "SLURM_JOB_ID=17",
					     "SLURM_PROCID=0",
					     "SLURM_NODELIST=n[1-3]",
					     "SLURM_NTASKS=3", NULL };
	static const char *const none[] = { "HOME=/", NULL };
	static const char *const wrong[] = {
		"SLURM_STEP_ID=",	   "SLURM_STEP_ID=batch",
		"SLURM_PROCID=5",	   "SLURM_PROCID=-1",
		"SLURM_STEP_NUM_TASKS=2",  "SLURM_STEP_NUM_NODES=0",
		"SLURM_STEP_NUM_TASKS=3x", "SLURM_STEP_NUM_TASKS=99999999999",
	};

	(void)state;
	assert_int_equal(
		launch_decide((char *const *)batch, LAUNCH_MPI_PMIX).kind,
		LAUNCH_NOTHING);
	assert_int_equal(
		launch_decide((char *const *)none, LAUNCH_MPI_PMIX).kind,
		LAUNCH_NOTHING);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(kind(wrong[i]), LAUNCH_NOTHING);
}

static void status_is_that_of_the_ranks(void **state)
{
	(void)state;
	for (int s = 0; s <= 3; s++)
		assert_int_equal(launch_status(s << 8, 0), s);
	assert_int_equal(launch_status(75 << 8, 0), 75);
	assert_int_equal(launch_status(143 << 8, 0), 143);
	assert_int_equal(launch_status(SIGKILL, 0), 137);
	/* mpirun's own */
	assert_int_equal(launch_status(243 << 8, 0), 3);
	assert_int_equal(launch_status(127 << 8, 0), 3);
	/* interrupted: but not what was done before, or stopped */
	assert_int_equal(launch_status(1 << 8, SIGTERM), 143);
	assert_int_equal(launch_status(1 << 8, SIGINT), 130);
	assert_int_equal(launch_status(0, SIGTERM), 0);
	assert_int_equal(launch_status(75 << 8, SIGTERM), 75);
}

static void a_session_is_of_this_job_and_user(void **state)
{
	static const char *const job = "2697854977"; /* 41166 << 16 | 1 */
	static const struct {
		const char *path, *job;
	} no[] = {
		{ "/tmp/ompi.n1.1000/jf.41167", job },
		{ "/tmp/ompi.n1.1001/jf.41166", job },
		{ "/tmp/ompi.n1.11000/jf.41166", job },
		{ "/tmp/ompi.1000/jf.41166", job },
		{ "/tmp/ompi.n1.1000/jf.41166/", job },
		{ "/tmp/ompi.n1.1000/jf.41166/0", job },
		{ "/tmp/ompi.n1.1000/../jf.41166", job },
		{ "/tmp/ompi.n1.1000", job },
		{ "/tmp/own/jf.41166", job },
		{ "ompi.n1.1000/jf.41166", job },
		{ "/jf.41166", job },
		{ "/", job },
		{ "", job },
		{ "/tmp/ompi.n1.1000/jf.41166", "" },
		{ "/tmp/ompi.n1.1000/jf.41166", "2697854977x" },
		{ "/tmp/ompi.n1.1000/jf.41166", "-1597112319" },
		{ "/tmp/ompi.n1.1000/jf.0", "99999999999999999999" },
	};

	(void)state;
	assert_true(launch_is_session("/tmp/ompi.n1.1000/jf.41166", job, 1000));
	assert_true(launch_is_session("/a/b c/ompi.n.de.0/jf.0", "1", 0));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (launch_is_session(no[i].path, no[i].job, 1000))
			fail_msg("%s, %s", no[i].path, no[i].job);
}

/* What is in the tests of launch_tidy() for those of the step. */
static int others; /* so many times there is one */

bool launch_rank_any(const char *of)
{
	assert_string_equal(of, "17.2");
	return others-- > 0;
}

static void what_a_daemon_left_is_removed(void **state)
{
	struct launch_rank r = { .step = "17.2" };
	char top[TMP_NAME];

	(void)state;
	assert_non_null(tmp_folder(top, sizeof top, "launch"));
	run("cd %s && mkdir -p t/ompi.n.0/jf.1/0/1 t/ompi.n.0/jf.1/d else && "
	    "touch t/ompi.n.0/jf.1/hwloc.sm t/ompi.n.0/jf.1/d/x else/kept && "
	    "ln -s ../../../else t/ompi.n.0/jf.1/link && "
	    "mkfifo t/ompi.n.0/jf.1/pipe && mkdir t/ompi.n.0/jf.2",
	    top);
	launch_tidy(&r); /* not known */
	snprintf(r.session, sizeof(r.session), "%s/t/ompi.n.0/jf.1", top);
	others = 1000; /* it is being used */
	launch_tidy(&r);
	run("[ -e %s/t/ompi.n.0/jf.1/hwloc.sm ]", top);
	others = 2;
	launch_tidy(&r);
	run("cd %s && [ ! -e t/ompi.n.0/jf.1 ] && [ -e else/kept ] && "
	    "[ -d t/ompi.n.0/jf.2 ]",
	    top);
	others = 0;
	launch_tidy(&r);
	/* a link is none, and with the last one goes the folder above */
	run("cd %s && ln -s ../../else t/ompi.n.0/jf.1", top);
	launch_tidy(&r);
	run("cd %s && [ -e else/kept ] && rm t/ompi.n.0/jf.1", top);
	strcpy(strrchr(r.session, '/'), "/jf.2");
	launch_tidy(&r);
	run("cd %s && [ -z \"$(ls -A t)\" ] && rm -r %s", top, top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(task_0_runs_mpirun),
		cmocka_unit_test(where_mpi_can_begin_nothing_is_done),
		cmocka_unit_test(nothing_is_begun_twice),
		cmocka_unit_test(what_is_no_step_is_left_alone),
		cmocka_unit_test(status_is_that_of_the_ranks),
		cmocka_unit_test(a_session_is_of_this_job_and_user),
		cmocka_unit_test(what_a_daemon_left_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
