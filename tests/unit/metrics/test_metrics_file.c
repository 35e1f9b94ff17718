/* SPDX-License-Identifier: Apache-2.0 */
/* The file of metrics: there while its process lives, and no longer. */
#include "hpdsl/metrics.h"

#include "each_fault.h"
#include "metrics/file.h"
#include "tmp.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[TMP_NAME];
static struct hp_metrics_self self;

static int setup(void **state)
{
	(void)state;
	unsetenv("SLURM_JOB_ID");
	hp_metrics_self(&self);
	if (!tmp_folder(dir, sizeof dir, "metrics"))
		return -1;
	return setenv("HPDSL_METRICS", dir, 1);
}

static int teardown(void **state)
{
	char command[TMP_NAME + 10];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

/* ---- Files of the folder ---------------------------------------------- */

static const char *path_of(const char *name)
{
	static char path[TMP_NAME + HP_OUTFILE_NAME];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static const char *name_of(unsigned n)
{
	static char name[HP_OUTFILE_NAME];

	hp_metrics_name("part", &self, n, name);
	return name;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(path_of(name), &st) == 0;
}

static unsigned count(const char *folder)
{
	unsigned n = 0;
	DIR *d = opendir(path_of(folder));

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void add(const char *name, const char *content)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	fputs(content, f);
	assert_int_equal(fclose(f), 0);
}

static void check_has(const char *name, const char *want)
{
	char text[4096];
	FILE *f = fopen(path_of(name), "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	if (!strstr(text, want))
		fail_msg("%s: no %s in:\n%s", name, want, text);
}

/* ---- One, and several ------------------------------------------------- */

static struct hpdsl_metrics *open_it(const char *which)
{
	const struct hpdsl_metrics_options opt = { .part = "part",
						   .which = which };
	struct hpdsl_metrics *m = NULL;

	assert_int_equal(hpdsl_metrics_open(&opt, &m, NULL), 0);
	assert_non_null(m);
	return m;
}

static int put(struct hpdsl_metrics *m, double value, struct hpdsl_error *err)
{
	const struct hpdsl_metric v = { .name = "x_total",
					.help = "X",
					.type = HPDSL_COUNTER,
					.value = value };

	return hpdsl_metrics_put(m, &v, 1, err);
}

static void put_it(struct hpdsl_metrics *m, double value)
{
	struct hpdsl_error err = { 0 };

	if (put(m, value, &err) < 0)
		fail_msg("%s", err.msg);
}

static void test_life(void **state)
{
	struct hpdsl_metrics *m = open_it(NULL);
	struct stat st;

	(void)state;
	assert_true(hpdsl_metrics_due(m));
	assert_int_equal(count(""), 0);
	put_it(m, 1);
	assert_false(hpdsl_metrics_due(m));
	assert_int_equal(count(""), 1);
	check_has(name_of(0), "\nx_total{job=\"\",rank=\"\",node=\"");
	check_has(name_of(0), "\"} 1\n");
	put_it(m, 2);
	check_has(name_of(0), "\"} 2\n");
	assert_int_equal(count(""), 1);
	assert_int_equal(stat(path_of(name_of(0)), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	hpdsl_metrics_close(m);
	assert_int_equal(count(""), 0);
}

static void test_umask(void **state)
{
	const mode_t masks[][2] = { { 0, 0644 }, { 002, 0644 }, { 027, 0640 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct hpdsl_metrics *m = open_it(NULL);
		mode_t before = umask(masks[i][0]);
		struct stat st;

		put_it(m, 1);
		umask(before);
		assert_int_equal(stat(path_of(name_of(0)), &st), 0);
		assert_int_equal(st.st_mode & 07777, masks[i][1]);
		hpdsl_metrics_close(m);
	}
}

static void test_several(void **state)
{
	struct hpdsl_metrics *a = open_it("which"), *b = open_it("which"), *c;

	(void)state;
	put_it(a, 1);
	put_it(b, 2);
	check_has(name_of(0), ",which=\"0\"} 1\n");
	check_has(name_of(1), ",which=\"1\"} 2\n");
	hpdsl_metrics_close(a);
	assert_false(is_there(name_of(0)));
	put_it(b, 3);
	check_has(name_of(1), ",which=\"1\"} 3\n");
	/* The first number that is free. */
	c = open_it("which");
	put_it(c, 4);
	check_has(name_of(0), ",which=\"0\"} 4\n");
	hpdsl_metrics_close(b);
	hpdsl_metrics_close(c);
	assert_int_equal(count(""), 0);
}

/* As where two containers have the same number for a process. */
static void test_taken(void **state)
{
	struct hpdsl_metrics *a = open_it(NULL), *b = open_it(NULL);
	struct hpdsl_error err = { 0 };

	(void)state;
	put_it(a, 1);
	assert_int_equal(put(b, 2, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "another process has it"));
	/* That is all that it says. */
	assert_false(hpdsl_metrics_due(b));
	assert_int_equal(put(b, 2, &err), 0);
	hpdsl_metrics_close(b);
	check_has(name_of(0), "\"} 1\n");
	hpdsl_metrics_close(a);
}

static void test_rank(void **state)
{
	const struct hpdsl_metrics_options opt = { .part = "part",
						   .ranked = true,
						   .rank = 17 };
	struct hpdsl_metrics *m;

	(void)state;
	setenv("SLURM_PROCID", "3", 1);
	assert_int_equal(hpdsl_metrics_open(&opt, &m, NULL), 0);
	put_it(m, 1);
	check_has(name_of(0), ",rank=\"17\",");
	hpdsl_metrics_close(m);
	m = open_it(NULL);
	put_it(m, 1);
	check_has(name_of(0), ",rank=\"3\",");
	hpdsl_metrics_close(m);
	unsetenv("SLURM_PROCID");
}

/* ---- What is not there, or not to be ---------------------------------- */

static void test_off(void **state)
{
	const struct hpdsl_metrics_options opt = { .part = "part" },
					   bad = { .part = "a/b" };
	struct hpdsl_metrics *m = (struct hpdsl_metrics *)dir;
	struct hpdsl_error err = { 0 };

	(void)state;
	assert_int_equal(hpdsl_metrics_open(&bad, &m, &err), HPDSL_EUSAGE);
	setenv("HPDSL_METRICS", "", 1);
	assert_int_equal(hpdsl_metrics_open(&opt, &m, NULL), 0);
	assert_null(m);
	unsetenv("HPDSL_METRICS");
	assert_int_equal(hpdsl_metrics_open(&opt, &m, NULL), 0);
	assert_null(m);
	assert_false(hpdsl_metrics_due(m));
	assert_int_equal(put(m, 1, NULL), 0);
	hpdsl_metrics_close(m);
	setenv("HPDSL_METRICS", path_of("absent"), 1);
	assert_int_equal(hpdsl_metrics_open(&opt, &m, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "HPDSL_METRICS: "));
	assert_non_null(strstr(err.msg, "/absent: "));
	setenv("HPDSL_METRICS", dir, 1);
}

/* The folder goes, in the middle. */
static void test_gone(void **state)
{
	char gone[TMP_NAME + 20];
	struct hpdsl_error err = { 0 };
	struct hpdsl_metrics *m;

	(void)state;
	snprintf(gone, sizeof gone, "%s/gone", dir);
	assert_int_equal(mkdir(gone, 0700), 0);
	setenv("HPDSL_METRICS", gone, 1);
	m = open_it(NULL);
	setenv("HPDSL_METRICS", dir, 1);
	assert_int_equal(rmdir(gone), 0);
	assert_int_equal(put(m, 1, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/gone: hpdsl-part."));
	assert_int_equal(put(m, 2, &err), 0);
	hpdsl_metrics_close(m);
	assert_int_equal(count(""), 0);
}

/* ---- Processes -------------------------------------------------------- */

static int end_of(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* A child neither writes its parent's file nor takes it away. */
static void test_fork(void **state)
{
	struct hpdsl_metrics *m = open_it(NULL);
	pid_t child;

	(void)state;
	put_it(m, 1);
	child = fork();
	if (child == 0) {
		int r = put(m, 2, NULL);

		hpdsl_metrics_close(m);
		_exit(r != 0);
	}
	assert_int_equal(end_of(child), 0);
	check_has(name_of(0), "\"} 1\n");
	/* It has not unlocked it, either: */
	child = fork();
	if (child == 0) {
		struct hpdsl_metrics *own = open_it(NULL);

		put_it(own, 3); /* sweeps */
		hpdsl_metrics_close(own);
		_exit(0);
	}
	assert_int_equal(end_of(child), 0);
	check_has(name_of(0), "\"} 1\n");
	hpdsl_metrics_close(m);
	assert_int_equal(count(""), 0);
}

/* What a killed one has left goes, and nothing else. */
static void test_left(void **state)
{
	static const char *const others[] = {
		"hpdsl-part.another-node.1.prom",
		"node.prom",
		"hpdsl-x",
	};
	struct hpdsl_metrics *m;
	pid_t child = fork();
	char half[HP_OUTFILE_NAME];

	(void)state;
	if (child == 0) {
		put_it(open_it(NULL), 1);
		raise(SIGKILL);
	}
	assert_true(WIFSIGNALED(end_of(child)));
	hp_metrics_name("part", &self, 7, half);
	memmove(half + 1, half, strlen(half) + 1);
	*half = '.';
	strcat(half, ".part");
	add(half, "x");
	for (size_t i = 0; i < 3; i++)
		add(others[i], "x");
	assert_int_equal(symlink("node.prom", path_of(name_of(5))), 0);
	assert_int_equal(mkfifo(path_of(name_of(6)), 0600), 0);
	assert_int_equal(count(""), 7);
	m = open_it(NULL);
	assert_int_equal(count(""), 7);
	put_it(m, 2);
	assert_int_equal(count(""), 6);
	for (size_t i = 0; i < 3; i++)
		assert_true(is_there(others[i]));
	assert_true(is_there(name_of(0)));
	hpdsl_metrics_close(m);
	assert_int_equal(unlink(path_of(name_of(5))), 0);
	assert_int_equal(unlink(path_of(name_of(6))), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(unlink(path_of(others[i])), 0);
	assert_int_equal(count(""), 0);
}

/* A dead process of the same number: its file is this one's now. */
static void test_same_number(void **state)
{
	struct hpdsl_metrics *m = open_it(NULL);

	(void)state;
	add(name_of(0), "x_total 9\n");
	put_it(m, 1);
	check_has(name_of(0), "\"} 1\n");
	hpdsl_metrics_close(m);
	assert_int_equal(count(""), 0);
}

static void test_last(void **state)
{
	struct hpdsl_metrics *m;
	pid_t child;

	(void)state;
	assert_int_equal(mkdir(path_of("last"), 0700), 0);
	m = open_it(NULL); /* of no job */
	put_it(m, 1);
	hpdsl_metrics_close(m);
	assert_int_equal(count("last"), 0);
	setenv("SLURM_JOB_ID", "12", 1);
	m = open_it(NULL);
	put_it(m, 2);
	hpdsl_metrics_close(m);
	assert_int_equal(count(""), 1);
	assert_int_equal(count("last"), 1);
	child = fork();
	if (child == 0) {
		put_it(open_it(NULL), 3);
		raise(SIGKILL);
	}
	assert_true(WIFSIGNALED(end_of(child)));
	assert_int_equal(count(""), 2);
	m = open_it(NULL);
	put_it(m, 4);
	assert_int_equal(count(""), 2);
	assert_int_equal(count("last"), 2);
	unsetenv("SLURM_JOB_ID");
	hpdsl_metrics_close(m);
	assert_int_equal(count("last"), 2);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
}

/* Whatever fails: no crash, nothing half, and in the end nothing at all. */
static void test_faults(void **state)
{
	(void)state;
	for (struct each_fault e = { .code = -EIO, .in_turn = true };
	     each_fault(&e);) {
		const struct hpdsl_metrics_options opt = { .part = "part",
							   .io = &e.f.io };
		struct hpdsl_metrics *m = NULL;
		struct hpdsl_error err = { 0 };
		int r = hpdsl_metrics_open(&opt, &m, &err);

		for (int i = 1; r == 0 && i <= 2; i++)
			r = put(m, i, &err);
		if (r < 0)
			assert_non_null(strstr(err.msg, "HPDSL_METRICS: "));
		else
			check_has(name_of(0), "\"} 2\n");
		hpdsl_metrics_close(m);
		/* what could not be removed is the next one's to remove */
		if (e.f.failed && count("")) {
			m = open_it(NULL);
			put_it(m, 1);
			hpdsl_metrics_close(m);
		}
		assert_int_equal(count(""), 0);
	}
}

static void test_memory(void **state)
{
	(void)state;
	for (struct each_alloc e = { 0 }; each_alloc(&e);) {
		const struct hpdsl_metrics_options opt = { .part = "part",
							   .which = "w" };
		struct hpdsl_metrics *m = NULL;
		struct hpdsl_error err = { 0 };
		int r;

		each_alloc_begin(&e);
		r = hpdsl_metrics_open(&opt, &m, &err);
		if (r == 0)
			r = put(m, 1, &err);
		hpdsl_metrics_close(m);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(count(""), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_umask),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_rank),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_same_number),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
