/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes of a node leave for each other: lines of the file by which
 * they share a mount, and figures of mounts, hostile ones, too.
 */
#include "cmd/mount/figures.c"
#include "cmd/mount/figures_file.c"
#include "cmd/mount/meet_line.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void back_and_forth(void **state)
{
	const struct mount_meeter most = {
		{ UINT64_MAX, INT32_MAX, UINT64_MAX }, INT32_MAX, UINT64_MAX
	};
	struct mount_meeter back;
	char line[128];
	int n = mount_meeter_format(&most, line, sizeof(line));

	(void)state;
	assert_in_range(n, 1, sizeof(line) - 1);
	assert_string_equal(line, "18446744073709551615 2147483647 "
				  "18446744073709551615 2147483647 "
				  "18446744073709551615\n");
	assert_true(mount_meeter_parse(line, &back));
	assert_memory_equal(&most, &back, sizeof(back));
	for (int i = 0; i < n; i++) {
		char was = line[i];

		line[i] = '\0';
		assert_false(mount_meeter_parse(line, &back));
		line[i] = was;
	}
}

static void refused(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"1 2 3 4\n",
		"1 2 3 4 5",
		"1 0 3 4 5\n",
		"1 2 3 0 5\n",
		"1 2147483648 3 4 5\n",
		"1 -2 3 4 5\n",
		" 1 2 3 4 5\n",
		"1  2 3 4 5\n",
		"1 2 3 4 5 6\n",
		"18446744073709551616 2 3 4 5\n",
		"1 0x2 3 4 5\n",
	};
	struct mount_meeter m;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(mount_meeter_parse(lines[i], &m));
	assert_true(mount_meeter_parse("1 2 3 4 5\n", &m));
	assert_int_equal(m.who.pid, 2);
	assert_int_equal(m.server, 4);
}

/* ---- Figures ---------------------------------------------------------- */

static const struct mount_figures sample = {
	.keeper = 7,
	.worker = INT32_MAX,
	.turn = UINT32_MAX,
	.since = 1700000000,
	.view = MOUNT_VIEW_CHUNKS,
	.way = MOUNT_WAY_ROOT,
	.chosen = true,
	.has_folder = true,
	.n = { [MOUNT_N_REPLACED] = 1, [MOUNT_N_FAILED] = INT64_MAX },
	.place = "/mnt",
	.dataset = "data",
	.folder = "train",
};

static void figures_back_and_forth(void **state)
{
	uint8_t p[MOUNT_FIGURES_BYTES];
	struct mount_figures got;

	(void)state;
	mount_figures_encode(&sample, p);
	assert_int_equal(mount_figures_decode(p, sizeof(p), &got), 0);
	assert_int_equal(got.keeper, sample.keeper);
	assert_int_equal(got.worker, sample.worker);
	assert_int_equal(got.turn, sample.turn);
	assert_int_equal(got.since, sample.since);
	assert_int_equal(got.view, sample.view);
	assert_int_equal(got.way, sample.way);
	assert_true(got.chosen && got.has_folder);
	assert_memory_equal(got.n, sample.n, sizeof(got.n));
	assert_string_equal(got.place, sample.place);
	assert_string_equal(got.dataset, sample.dataset);
	assert_string_equal(got.folder, sample.folder);
}

/* A number of 8, 4 or 1 bytes at an offset. */
static const struct {
	size_t at, n;
	uint64_t is;
	int code;
} hostile[] = {
	{ 0, 1, 'x', HPDSL_ENOTOURS },
	{ 8, 4, 0, HPDSL_ETOONEW }, /* version */
	{ 8, 4, 2, HPDSL_ETOONEW },
	{ 12, 4, MOUNT_FIGURES_BYTES + 1, HPDSL_ETOONEW },
	{ 16, 4, 4, HPDSL_ECORRUPT }, /* an unknown flag */
	{ 16, 4, 1, HPDSL_ECORRUPT }, /* no folder, and one */
	{ 20, 4, MOUNT_VIEW_CHUNKS + 1, HPDSL_ECORRUPT }, /* view */
	{ 24, 4, MOUNT_WAY_ROOT + 1, HPDSL_ECORRUPT },	  /* way */
	{ 28, 4, 0, HPDSL_ECORRUPT },			  /* processes */
	{ 28, 4, UINT32_MAX, HPDSL_ECORRUPT },
	{ 32, 4, 0, HPDSL_ECORRUPT },
	{ 32, 4, UINT64_C(1) << 31, HPDSL_ECORRUPT },
	{ 40, 8, UINT64_MAX, HPDSL_ECORRUPT }, /* since */
	{ 48, 8, UINT64_C(1) << 63, HPDSL_ECORRUPT },
	{ MOUNT_FIGURES_NUMBERS - 8, 8, UINT64_MAX, HPDSL_ECORRUPT },
	{ MOUNT_FIGURES_NUMBERS, 1, 0,
	  HPDSL_ECORRUPT }, /* no place, and text */
	{ MOUNT_FIGURES_NUMBERS, 1, 'm', HPDSL_ECORRUPT }, /* not absolute */
	/* behind the end of a string */
	{ MOUNT_FIGURES_NUMBERS + PATH_MAX - 1, 1, 'x', HPDSL_ECORRUPT },
	{ MOUNT_FIGURES_BYTES - 1, 1, 'x', HPDSL_ECORRUPT },
};

static void figures_hostile(void **state)
{
	struct mount_figures got;

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		uint8_t p[MOUNT_FIGURES_BYTES], *at = p + hostile[i].at;

		mount_figures_encode(&sample, p);
		if (hostile[i].n == 8)
			mount_put64(at, hostile[i].is);
		else if (hostile[i].n == 4)
			mount_put32(at, (uint32_t)hostile[i].is);
		else
			*at = (uint8_t)hostile[i].is;
		if (mount_figures_decode(p, sizeof(p), &got) != hostile[i].code)
			fail_msg("row %zu", i);
	}
}

/* Of exact sizes, so that what is read behind them is seen. */
static void figures_cut(void **state)
{
	static const size_t cut[] = { 0,
				      7,
				      8,
				      15,
				      16,
				      MOUNT_FIGURES_NUMBERS - 1,
				      MOUNT_FIGURES_NUMBERS,
				      MOUNT_FIGURES_BYTES - 1 };
	uint8_t whole[MOUNT_FIGURES_BYTES + 1] = { 0 };
	struct mount_figures got;

	(void)state;
	mount_figures_encode(&sample, whole);
	for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++) {
		uint8_t *p = malloc(cut[i] + !cut[i]);

		assert_non_null(p);
		memcpy(p, whole, cut[i]);
		assert_int_equal(mount_figures_decode(p, cut[i], &got),
				 cut[i] < 16 ? HPDSL_ENOTOURS : HPDSL_ECORRUPT);
		free(p);
	}
	assert_int_equal(mount_figures_decode(whole, sizeof(whole), &got),
			 HPDSL_ECORRUPT);
	/* each of the strings without an end */
	for (int i = 0; i < 3; i++) {
		mount_figures_encode(&sample, whole);
		memset(whole + MOUNT_FIGURES_NUMBERS + i * PATH_MAX, '/',
		       PATH_MAX);
		assert_int_equal(
			mount_figures_decode(whole, MOUNT_FIGURES_BYTES, &got),
			HPDSL_ECORRUPT);
	}
}

static void figures_names(void **state)
{
	(void)state;
	assert_true(mount_figures_is_name("mount-17-0.status"));
	assert_false(mount_figures_is_name("mount-17-0.status2"));
	assert_false(mount_figures_is_name("mount-+17-0.status"));
	assert_false(mount_figures_is_name("mount-17-0.join"));
	assert_false(mount_figures_is_name(".mount-17-0.status"));
	assert_false(mount_figures_is_name("mount-17-00.status"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(back_and_forth),
		cmocka_unit_test(refused),
		cmocka_unit_test(figures_back_and_forth),
		cmocka_unit_test(figures_hostile),
		cmocka_unit_test(figures_cut),
		cmocka_unit_test(figures_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
