/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text from a table, the names of files, and who a process is. */
#include "metrics/file.h"

#include "base/error.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNTER(n, v)                                                     \
	{                                                                 \
		.name = n, .help = "h", .type = HPDSL_COUNTER, .value = v \
	}
#define GAUGE(n, v)                                                     \
	{                                                               \
		.name = n, .help = "h", .type = HPDSL_GAUGE, .value = v \
	}
#define LABELLED(n, l, of)                                               \
	{                                                                \
		.name = n, .help = "h", .type = HPDSL_GAUGE, .label = l, \
		.label_value = of                                        \
	}

static const struct hp_metrics_label common_v[] = { { "job", "7" },
						    { "node", "n" } };
static const struct hp_metrics_labels common = { common_v, 2 }, none = { 0 };

/* The text of them; the caller frees it. */
static char *text(const struct hpdsl_metric *v, size_t n,
		  const struct hp_metrics_labels *labels)
{
	struct hp_text t = { 0 };
	struct hpdsl_error err = { 0 };

	assert_int_equal(hp_metrics_text(v, n, labels, &t, &err), 0);
	hp_text_add(&t, "", 1);
	assert_false(t.failed);
	return t.p;
}

static void test_families(void **state)
{
	const struct hpdsl_metric v[] = {
		COUNTER("a_bytes_total", 12),
		LABELLED("b", "peer", "x"),
		LABELLED("b", "peer", "y"),
		GAUGE("c_seconds", 1.5),
	};
	char *s = text(v, 4, &common);

	(void)state;
	assert_string_equal(s, "# HELP a_bytes_total h\n"
			       "# TYPE a_bytes_total counter\n"
			       "a_bytes_total{job=\"7\",node=\"n\"} 12\n"
			       "# HELP b h\n"
			       "# TYPE b gauge\n"
			       "b{job=\"7\",node=\"n\",peer=\"x\"} 0\n"
			       "b{job=\"7\",node=\"n\",peer=\"y\"} 0\n"
			       "# HELP c_seconds h\n"
			       "# TYPE c_seconds gauge\n"
			       "c_seconds{job=\"7\",node=\"n\"} 1.500000\n");
	free(s);
	s = text(v + 1, 1, &none);
	assert_string_equal(s, "# HELP b h\n# TYPE b gauge\nb{peer=\"x\"} 0\n");
	free(s);
	s = text(v, 1, &none);
	assert_non_null(strstr(s, "\na_bytes_total 12\n"));
	free(s);
}

/* Whatever is in a label, and a help: one line, of characters. */
static void test_escaped(void **state)
{
	const struct hp_metrics_label odd = { "job", "a\"b\\c\nd\xff"
						     "e\xc3\xa4\xc3" };
	const struct hp_metrics_labels labels = { &odd, 1 };
	struct hpdsl_metric v = GAUGE("g", 0);
	char *s;

	(void)state;
	v.help = "\"one\" \\ and\nmore";
	s = text(&v, 1, &labels);
	assert_string_equal(s, "# HELP g \"one\" \\\\ and\\nmore\n"
			       "# TYPE g gauge\n"
			       "g{job=\"a\\\"b\\\\c\\nd?e\xc3\xa4?\"} 0\n");
	free(s);
}

static void check_value(double value, const char *want)
{
	const struct hpdsl_metric v = GAUGE("g", value);
	char *s = text(&v, 1, &none), *at = strrchr(s, ' ');

	s[strlen(s) - 1] = '\0';
	assert_string_equal(at + 1, want);
	free(s);
}

static void values(void)
{
	check_value(0, "0");
	check_value(0.25, "0.250000");
	check_value(0.000001, "0.000001");
	check_value(0.9999999, "1");
	check_value(41.9999999, "42");
	check_value(-3.5, "-3.500000");
	check_value(1234567.000001, "1234567.000001");
	check_value((double)(UINT64_C(1) << 53), "9007199254740992");
	check_value(1e300, "Inf");
	check_value((double)NAN, "NaN");
	check_value((double)-INFINITY, "-Inf");
}

static void test_values(void **state)
{
	(void)state;
	values();
	/* Where a comma stands for the point, if there is such a language. */
	if (setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		values();
	setlocale(LC_NUMERIC, "C");
}

/* ---- Tables that make no sense ---------------------------------------- */

static void check_refused(const struct hpdsl_metric *v, size_t n,
			  const char *why)
{
	struct hpdsl_error err = { 0 };
	struct hp_text t = { 0 };

	assert_int_equal(hp_metrics_text(v, n, &common, &t, &err),
			 HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, why));
	assert_int_equal(t.n, 0);
}

#define REFUSED(why, ...)                                         \
	do {                                                      \
		const struct hpdsl_metric v_[] = { __VA_ARGS__ }; \
		check_refused(v_, sizeof v_ / sizeof *v_, why);   \
	} while (0)

static void test_refused(void **state)
{
	struct hpdsl_metric two[] = { GAUGE("a", 1), LABELLED("a", "x", "y") };

	(void)state;
	REFUSED("is no name", GAUGE("1a", 0));
	REFUSED("is no name", GAUGE("", 0));
	REFUSED("is no name", GAUGE("a-b", 0));
	REFUSED("is no name", GAUGE("a:b", 0));
	REFUSED("is no name", GAUGE("__a", 0));
	REFUSED("has to end in _total", COUNTER("a", 0));
	REFUSED("does not end in _total", GAUGE("a_total", 0));
	REFUSED("has to end in _total", COUNTER("_total", 0));
	REFUSED("is there twice", GAUGE("a", 0), GAUGE("a", 1));
	REFUSED("is there twice", LABELLED("a", "x", "y"),
		LABELLED("a", "x", "z"), LABELLED("a", "x", "y"));
	REFUSED("in two places", LABELLED("a", "x", "y"), GAUGE("b", 0),
		LABELLED("a", "x", "z"));
	REFUSED("label 'job' cannot be", LABELLED("a", "job", "y"));
	REFUSED("label 'x-y' cannot be", LABELLED("a", "x-y", "y"));
	REFUSED("label 'x' cannot be", LABELLED("a", "x", NULL));
	REFUSED("label '' cannot be", LABELLED("a", NULL, "y"));
	check_refused(two, 2, "two helps, types or labels");
	two[1] = two[0];
	two[1].help = "another";
	check_refused(two, 2, "two helps, types or labels");
}

/* ---- Names of files, and labels --------------------------------------- */

static void test_names(void **state)
{
	const struct hp_metrics_self self = { .node = "n1.site", .pid = "42" };
	const struct hp_metrics_self odd = { .node = "../a b/\n", .pid = "42" };
	char name[HP_OUTFILE_NAME];

	(void)state;
	hp_metrics_name("loader", &self, 0, name);
	assert_string_equal(name, "hpdsl-loader.n1.site.42.prom");
	assert_true(hp_metrics_is_name(name, &self));
	hp_metrics_name("loader", &self, 3, name);
	assert_string_equal(name, "hpdsl-loader.n1.site.42-3.prom");
	assert_true(hp_metrics_is_name(name, &self));
	assert_false(hp_metrics_is_name(name, &odd));
	hp_metrics_name("serve", &odd, 0, name);
	assert_string_equal(name, "hpdsl-serve..._a_b__.42.prom");
	assert_true(hp_metrics_is_name(name, &odd));
	assert_true(hp_metrics_is_name(".hpdsl-x.n1.site.7.prom.part", &self));
}

static void test_not_names(void **state)
{
	static const char *const others[] = {
		"hpdsl-loader.n1.site.42.prom.part",
		".hpdsl-loader.n1.site.42.prom",
		"hpdsl-loader.n1.42.prom",
		"hpdsl-loader.n1.site2.42.prom",
		"hpdsl-loader.n1.site..prom",
		"hpdsl-loader.n1.site.42-.prom",
		"hpdsl-loader.n1.site.4x.prom",
		"hpdsl-loader.n1.site.42",
		"hpdsl-loader",
		"node.n1.site.42.prom",
		"",
		".",
		"last",
	};
	const struct hp_metrics_self self = { .node = "n1.site", .pid = "42" };

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (hp_metrics_is_name(others[i], &self))
			fail_msg("%s", others[i]);
}

/* What stands in the environment, for the test. */
static const char *const *environment;

static char *get(const char *name)
{
	size_t n = strlen(name);

	for (const char *const *e = environment; *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return (char *)*e + n + 1;
	return NULL;
}

static void check_self(const char *const *env, const char *job,
		       const char *rank)
{
	struct hp_metrics_self self;

	environment = env;
	hp_metrics_from_env(get, &self);
	assert_string_equal(self.job, job);
	assert_string_equal(self.rank, rank);
}

#define SELF(job, rank, ...) \
	check_self((const char *const[]){ __VA_ARGS__, NULL }, job, rank)

static void test_self(void **state)
{
	(void)state;
	SELF("", "", "HOME=/");
	SELF("12", "3", "SLURM_JOB_ID=12", "SLURM_PROCID=3");
	SELF("7.pbs", "5", "PBS_JOBID=7.pbs", "PMI_RANK=5");
	/* torchrun, begun once a node by srun */
	SELF("12", "9", "SLURM_JOB_ID=12", "SLURM_PROCID=1", "RANK=9");
	SELF("12", "4", "SLURM_JOB_ID=12", "SLURM_PROCID=1",
	     "OMPI_COMM_WORLD_RANK=4");
	SELF("", "1", "RANK=private", "SLURM_PROCID=1", "SLURM_JOB_ID=");
	SELF("", "", "RANK=-1", "PMI_RANK=");
	SELF("", "", "RANK=99999999999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_names),
		cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
