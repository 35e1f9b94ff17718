/* SPDX-License-Identifier: Apache-2.0 */
/* The arena, and the sort against the simplest sort that can be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "make_list.h"

#include <time.h>

/* ---- An oracle -------------------------------------------------------- */

static size_t naive_key(const char *path)
{
	const char *base = strrchr(path, '/');
	size_t i = base ? (size_t)(base - path) + 1 : 0;

	while (path[i] == '.')
		i++;
	while (path[i] && path[i] != '.')
		i++;
	return i;
}

static int by_path(const void *va, const void *vb)
{
	const struct hp_file *a = va, *b = vb;

	return strcmp(a->path, b->path);
}

static int by_key(const void *va, const void *vb)
{
	const struct hp_file *a = va, *b = vb;
	size_t ka = naive_key(a->path), kb = naive_key(b->path);
	int d = memcmp(a->path, b->path, ka < kb ? ka : kb);

	if (d == 0)
		d = (ka > kb) - (ka < kb);
	return d ? d : strcmp(a->path, b->path);
}

/* Sorts by both ways and by the oracle's. */
static void check_sort(struct hp_list *list)
{
	uint64_t n = list->n_files;
	struct hp_file *want = malloc((n + 1) * sizeof *want);
	uint64_t *order = malloc((n + 1) * sizeof *order);
	struct hpdsl_error err;

	memcpy(want, list->files, n * sizeof *want);
	qsort(want, n, sizeof *want, by_path);
	assert_int_equal(hp_list_path_order(list, order, &err), 0);
	for (uint64_t i = 0; i < n; i++)
		assert_ptr_equal(list->files[order[i]].path, want[i].path);

	qsort(want, n, sizeof *want, by_key);
	assert_int_equal(hp_list_sort(list, &err), 0);
	for (uint64_t i = 0; i < n; i++) {
		want[i].key_len = (uint16_t)naive_key(want[i].path);
		assert_memory_equal(list->files + i, want + i, sizeof *want);
	}
	/* Now by_key is the given order, and the result is the same. */
	assert_int_equal(hp_list_sort(list, &err), 0);
	for (uint64_t i = 0; i < n; i++)
		assert_ptr_equal(list->files[i].path, want[i].path);
	free(want);
	free(order);
}

/* Drops files whose path another one has; leaves them in path order. */
static void drop_equal(struct hp_list *list)
{
	uint64_t n = 0;

	qsort(list->files, list->n_files, sizeof *list->files, by_path);
	for (uint64_t i = 0; i < list->n_files; i++)
		if (!n || strcmp(list->files[n - 1].path, list->files[i].path))
			list->files[n++] = list->files[i];
	list->n_files = n;
}

/* ---- Arena ------------------------------------------------------------ */

static void test_arena(void **state)
{
	static char big[3 << 20];
	struct hp_arena *a = hp_arena_new(), *b = hp_arena_new();
	const char *small[5000], *large, *empty;
	char text[32];

	(void)state;
	memset(big, 'x', sizeof big);
	empty = hp_arena_add(a, "", 0);
	for (int i = 0; i < 5000; i++) {
		int n = sprintf(text, "%d", i * 7919);

		small[i] = hp_arena_add(i % 3 ? a : b, text, (size_t)n);
	}
	large = hp_arena_add(b, big, sizeof big);
	hp_arena_join(a, b);
	hp_arena_join(a, hp_arena_new());
	hp_arena_join(a, NULL);
	assert_string_equal(hp_arena_add(a, "after", 3), "aft");
	assert_string_equal(empty, "");
	for (int i = 0; i < 5000; i++) {
		sprintf(text, "%d", i * 7919);
		assert_string_equal(small[i], text);
	}
	assert_memory_equal(large, big, sizeof big);
	assert_int_equal(large[sizeof big], 0);

	b = hp_arena_new();
	hp_arena_join(b, a);
	assert_string_equal(small[1], "7919");
	assert_string_equal(hp_arena_add(b, "b", 1), "b");
	hp_arena_free(b);
	hp_arena_free(NULL);
}

/* ---- Order ------------------------------------------------------------ */

/* A key comes before the longer keys that it begins. */
static void test_known_order(void **state)
{
	static const char *const want[] = {
		".",	     "..a.b",	".a",	    ".a.png",	 "a",
		"a.jpg",     "a.png",	"a\x01",    "a\x01.png", "a-b.jpg",
		"a.d/x.png", "a/b.jpg", "a/b.json", "a/b-.jpg",	 "a0.jpg",
		"b/.x",	     "b/.x.y",	"\xff.a",   "\xff\xff",
	};
	const size_t n = sizeof want / sizeof *want;
	struct hp_list list;

	(void)state;
	list_begin(&list, n);
	for (size_t i = n; i-- > 0;)
		list_add(&list, want[i]);
	check_sort(&list);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list.files[i].path, want[i]);
	hp_list_release(&list);
}

static void test_key_before_path(void **state)
{
	struct hp_list list;
	struct hpdsl_error err;

	(void)state;
	/* By path "a-b.jpg" is before "a.jpg": '-' is less than '.'. */
	LIST_OF(&list, "a-b.jpg", "a.png", "ab", "a.jpg", "a");
	assert_int_equal(hp_list_sort(&list, &err), 0);
	assert_string_equal(list.files[0].path, "a");
	assert_string_equal(list.files[1].path, "a.jpg");
	assert_string_equal(list.files[2].path, "a.png");
	assert_string_equal(list.files[3].path, "a-b.jpg");
	assert_string_equal(list.files[4].path, "ab");
	assert_int_equal(list.files[0].key_len, 1);
	assert_int_equal(list.files[3].key_len, 3);
	hp_list_release(&list);
}

static void test_few(void **state)
{
	struct hp_list list;

	(void)state;
	list_begin(&list, 0);
	check_sort(&list);
	hp_list_release(&list);
	LIST_OF(&list, "only.one");
	check_sort(&list);
	hp_list_release(&list);
	LIST_OF(&list, "b", "a");
	check_sort(&list);
	hp_list_release(&list);
}

/* Names of few different bytes, so that much is shared; or of any. */
static void random_name(char *out, size_t len, bool any, uint64_t *random)
{
	static const char few[] = "..//ab\x01\xff";

	for (size_t i = 0; i < len; i++) {
		uint64_t r = next_random(random) >> 32;

		out[i] = any ? (char)(r % 255 + 1) : few[r % (sizeof few - 1)];
	}
	out[len] = '\0';
}

static void test_random_names(void **state)
{
	uint64_t random = 88172645463325252ull;
	struct hp_list list;
	char name[64];

	(void)state;
	for (int round = 0; round < 60; round++) {
		uint64_t n = 1 + next_random(&random) % 3000;
		uint64_t longest = 1 + next_random(&random) % 40;

		list_begin(&list, n);
		for (uint64_t i = 0; i < n; i++) {
			size_t len = 1 + next_random(&random) % longest;

			random_name(name, len, round & 1, &random);
			list_add(&list, name);
		}
		drop_equal(&list);
		list_shuffle(&list, &random);
		check_sort(&list);
		hp_list_release(&list);
	}
}

/* Every length of prefix, so that each place in a word is met. */
static void test_long_prefixes(void **state)
{
	uint64_t random = 7;
	char name[HPDSL_PATH_MAX + 1];
	struct hp_list list;

	(void)state;
	for (size_t prefix = 3980; prefix < 4000; prefix++) {
		list_begin(&list, 300);
		memset(name, 'x', sizeof name);
		name[prefix / 2] = prefix & 1 ? '/' : 'x';
		for (int i = 0; i < 100; i++) {
			sprintf(name + prefix, "%d.jpg", i);
			list_add(&list, name);
			sprintf(name + prefix, "%d", i);
			list_add(&list, name);
			sprintf(name + prefix, ".%d.%d", i, i * i);
			list_add(&list, name);
		}
		list_shuffle(&list, &random);
		check_sort(&list);
		hp_list_release(&list);
	}
}

/* Each path begins the next one: the deepest nesting of runs. */
static void test_staircase(void **state)
{
	char name[HPDSL_PATH_MAX + 1];
	uint64_t random = 9;
	struct hp_list list;

	(void)state;
	for (int dot = 0; dot < 2; dot++) {
		list_begin(&list, HPDSL_PATH_MAX);
		memset(name, 0xff, HPDSL_PATH_MAX);
		if (dot)
			name[5] = '.';
		for (size_t len = HPDSL_PATH_MAX; len > 0; len--) {
			name[len] = '\0';
			list_add(&list, name);
		}
		check_sort(&list);
		list_shuffle(&list, &random);
		check_sort(&list);
		hp_list_release(&list);
	}
}

static void fill_classes(struct hp_list *list, uint64_t n)
{
	char name[64];

	list_begin(list, n);
	for (uint64_t i = 0; i < n; i++) {
		sprintf(name, "class%05u/%08u.png", (unsigned)(i * 100 / n),
			(unsigned)i);
		list_add(list, name);
	}
}

static void test_ordered_input(void **state)
{
	const uint64_t n = 20000;
	struct hp_list list;

	(void)state;
	fill_classes(&list, n);
	check_sort(&list);
	for (uint64_t i = 0; i < n / 2; i++) {
		struct hp_file f = list.files[i];

		list.files[i] = list.files[n - 1 - i];
		list.files[n - 1 - i] = f;
	}
	check_sort(&list);
	/* Up and down again: an organ pipe. */
	for (uint64_t i = 1; i < n / 2; i += 2) {
		struct hp_file f = list.files[i];

		list.files[i] = list.files[n - i];
		list.files[n - i] = f;
	}
	check_sort(&list);
	hp_list_release(&list);
}

static void check_equal(struct hp_list *list, const char *message)
{
	uint64_t *order = malloc(list->n_files * sizeof *order);
	struct hpdsl_error err = { .code = 0 };
	const char *first = list->files[0].path;

	assert_int_equal(hp_list_sort(list, &err), HPDSL_EUSAGE);
	assert_int_equal(err.code, HPDSL_EUSAGE);
	assert_string_equal(err.msg, message);
	assert_ptr_equal(list->files[0].path, first);
	assert_int_equal(hp_list_sort(list, NULL), HPDSL_EUSAGE);
	assert_int_equal(hp_list_path_order(list, order, &err), HPDSL_EUSAGE);
	free(order);
}

static void test_equal_paths(void **state)
{
	struct hp_list list;
	char name[HPDSL_PATH_MAX + 1];

	(void)state;
	LIST_OF(&list, "z", "a/b.jpg", "a/b.json", "a/b.jpg", "a/b");
	list.files[1].root = 1;
	check_equal(&list, "two files would become 'a/b.jpg': "
			   "one from in1, one from in2");
	list.files[1].root = 0;
	check_equal(&list, "two files would become 'a/b.jpg': "
			   "both from in1");
	hp_list_release(&list);

	/* All lengths of a word and its neighbours. */
	for (size_t len = 1; len < 26; len++) {
		char message[HPDSL_PATH_MAX + 128];

		memset(name, 'q', len);
		name[len] = '\0';
		LIST_OF(&list, name, "x", name, name, "a");
		list.files[3].root = 1;
		snprintf(message, sizeof message,
			 "two files would become '%s': both from in1", name);
		check_equal(&list, message);
		hp_list_release(&list);
	}

	memset(name, 'q', HPDSL_PATH_MAX);
	name[HPDSL_PATH_MAX] = '\0';
	LIST_OF(&list, name, name);
	assert_int_equal(hp_list_sort(&list, NULL), HPDSL_EUSAGE);
	hp_list_release(&list);
	LIST_OF(&list, "a\nb", "a\nb");
	check_equal(&list, "two files would become 'a\\nb': both from in1");
	hp_list_release(&list);
}

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* clock: only told */
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void test_speed(void **state)
{
	uint64_t random = 3;
	struct hp_list list;
	double t;

	(void)state;
	fill_classes(&list, 200000);
	list_shuffle(&list, &random);
	t = milliseconds();
	assert_int_equal(hp_list_sort(&list, NULL), 0);
	print_message("# 200,000 files sorted in %.1f ms\n",
		      milliseconds() - t);
	for (uint64_t i = 0; i < list.n_files; i++)
		assert_int_equal(list.files[i].size, i);
	hp_list_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_known_order),
		cmocka_unit_test(test_key_before_path),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_random_names),
		cmocka_unit_test(test_long_prefixes),
		cmocka_unit_test(test_staircase),
		cmocka_unit_test(test_ordered_input),
		cmocka_unit_test(test_equal_paths),
		cmocka_unit_test(test_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
