/* SPDX-License-Identifier: Apache-2.0 */
/* Portable names: the rules by example, and their promises over random names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "check_names.h"
#include "make_list.h"
#include "plan/portable.h"

#include <inttypes.h>
#include <stdio.h>

static void make(struct hp_list *list, enum hpdsl_group group)
{
	assert_int_equal(hp_list_sort(list, NULL), 0);
	assert_int_equal(hp_list_group(list, group, NULL), 0);
	assert_int_equal(hp_list_portable(list, group, NULL), 0);
}

static const char *name_of(const struct hp_list *list, const char *path)
{
	for (uint64_t i = 0; i < list->n_files; i++)
		if (!strcmp(list->files[i].path, path))
			return hp_stored_name(list, i);
	fail_msg("no '%s'", path);
	return NULL;
}

/* out: before, "-", the hash of s, after. */
static const char *hashed(char out[160], const char *before, const char *s,
			  const char *after)
{
	snprintf(out, 160, "%s-%08" PRIx32 "%s", before,
		 (uint32_t)hp_hash64(s, strlen(s)), after);
	return out;
}

/* ---- By example ------------------------------------------------------- */

/* All in one dataset, each line a sample that meets no other. */
static const struct {
	const char *path, *name;
} table[] = {
	/* The table of hpdsl-format(5), "Portable names". */
	{ "cat/1.jpg", "cat/1.jpg" },
	{ "cat/1.JSON", "cat/1.json" },
	{ "cat/2.seg.png", "cat/2.seg.png" },
	{ "cat/2.jpg", "cat/2.jpg" },
	{ "cat/3.seg.png", "cat/3_seg.png" },
	{ "cat/4.5 m.jpg", "cat/4_5_m.jpg" },
	{ "cat/4.5 m.txt", "cat/4_5_m.txt" },
	{ "cat/README", "cat/README.bin" },
	{ "cat/.thumb.jpg", "cat/_thumb.jpg" },
	{ "__MACOSX/x.jpg", "x__MACOSX/x.jpg" },
	{ "\xc3\xa9t\xc3\xa9/a.jpg", "x__t__/a.jpg" },
	/* More of them. */
	{ "dot/a.", "dot/a.bin" },
	{ "dot/b..", "dot/b_.bin" },
	{ "dot/c..jpg", "dot/c_.jpg" },
	{ "dot/d.x.y.z", "dot/d_x_y.z" },
	{ "dot/e.x.y", "dot/e.x.y" },
	{ "dot/e.x", "dot/e.x" },
	{ "dot/f.x.y", "dot/f_x.y" },
	{ "dot/f.x.z.w", "dot/f_x.z.w" },
	{ "dot/h.nii.gz", "dot/h.nii.gz" },
	{ "dot/i.1.tar.gz", "dot/i_1.tar.gz" },
	{ "dot/j.1.2.gz", "dot/j_1_2.gz" },
	{ "dot/g", "dot/g.bin" },
	{ "dot/g.jpg", "dot/g.jpg" },
	{ "dot.s/v1.0/a.jpg", "dot_s/v1_0/a.jpg" },
	{ ".hidden", "_hidden.bin" },
	{ "..x", "x__x.bin" },
	{ "...", "x___.bin" },
	{ ".a/b.jpg", "_a/b.jpg" },
	{ "a/__x__/b.jpg", "a/x__x__/b.jpg" },
	{ "a/___.jpg", "a/x___.jpg" },
	{ "a/_b_.jpg", "a/_b_.jpg" },
	{ "b/a\nb.jpg", "b/a_b.jpg" },
	{ "b/a\tc.j pg", "b/a_c.j_pg" },
	{ "b/a;d.x;y", "b/a_d.x_y" },
	{ "b/a\\e.x\\y", "b/a_e.x_y" },
	{ "b/a\xff", "b/a_.bin" },
	{ "b/-+_.a+b-c_d", "b/-+_.a+b-c_d" },
	{ "b/UP.Up", "b/UP.up" },
	{ "b/m.__key__", "b/m.x__key__" },
	{ "b/n.__", "b/n.x__" },
	{ "b/o._a", "b/o._a" },
	{ "b/p.12345678901234567890", "b/p.12345678901234567890" },
};

enum { TABLE = sizeof table / sizeof *table };

static void test_table(void **state)
{
	uint64_t random = 1;
	struct hp_list list;

	(void)state;
	for (int round = 0; round < 20; round++) {
		list_begin(&list, TABLE);
		for (int i = 0; i < TABLE; i++)
			list_add(&list, table[i].path);
		list_shuffle(&list, &random);
		make(&list, HPDSL_GROUP_KEY);
		for (int i = 0; i < TABLE; i++)
			assert_string_equal(name_of(&list, table[i].path),
					    table[i].name);
		hp_list_release(&list);
	}
}

/* Cut where the dataset's keys end. */
static void test_last(void **state)
{
	static const char *const doubles[] = { "Seg.png" };
	static const char *const names[][2] = {
		{ "1.5.jpg", "1_5.jpg" },
		{ "1.5.json", "1_5.json" },
		{ "1.5.Seg.png", "1_5.seg.png" },
		{ "1.6.jpg", "1_6.jpg" },
		{ "1.jpg", "1.jpg" },
		{ "x.nii.gz", "x.nii.gz" },
		{ "y.2", "y.2" },
		{ "z", "z.bin" },
	};
	enum { N = sizeof names / sizeof *names };
	struct hp_list list;

	(void)state;
	list_begin(&list, N);
	for (size_t i = 0; i < N; i++)
		list_add(&list, names[i][0]);
	assert_int_equal(
		hp_list_rule(&list, HPDSL_GROUP_LAST, doubles, 1, NULL), 0);
	make(&list, HPDSL_GROUP_LAST);
	for (size_t i = 0; i < N; i++)
		assert_string_equal(name_of(&list, names[i][0]), names[i][1]);
	hp_list_release(&list);
}

static void test_not_stored(void **state)
{
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "a/1.jpg", "a/2.jpg", "a/2.JPG");
	make(&list, HPDSL_GROUP_KEY);
	assert_null(list.stored[0]);
	assert_non_null(list.stored[1]); /* 2.JPG comes first */
	assert_null(list.stored[2]);
	assert_int_equal(hp_list_renamed(&list), 1);
	hp_list_release(&list);
}

static void test_suffixes(void **state)
{
	char want[160];
	struct hp_list list;

	(void)state;
	/* What may stay does; else the first in the order of the list. */
	LIST_OF(&list, "a.JPG", "a.jpg", "a.Jpg", "b.123456789012345678901",
		"b.1", "c", "c.", "c.bin", "d.a b", "d.a_b", "e.X Y", "e.X_Y");
	make(&list, HPDSL_GROUP_KEY);
	assert_string_equal(name_of(&list, "a.jpg"), "a.jpg");
	assert_string_equal(name_of(&list, "a.JPG"),
			    hashed(want, "a.jpg", "a.JPG", ""));
	assert_string_equal(name_of(&list, "a.Jpg"),
			    hashed(want, "a.jpg", "a.Jpg", ""));
	assert_string_equal(
		name_of(&list, "b.123456789012345678901"),
		hashed(want, "b.12345678901", "b.123456789012345678901", ""));
	assert_string_equal(name_of(&list, "c.bin"), "c.bin");
	assert_string_equal(name_of(&list, "c"),
			    hashed(want, "c.bin", "c", ""));
	assert_string_equal(name_of(&list, "c."),
			    hashed(want, "c.bin", "c.", ""));
	assert_string_equal(name_of(&list, "d.a_b"), "d.a_b");
	assert_string_equal(name_of(&list, "d.a b"),
			    hashed(want, "d.a_b", "d.a b", ""));
	assert_string_equal(name_of(&list, "e.X Y"), "e.x_y");
	assert_string_equal(name_of(&list, "e.X_Y"),
			    hashed(want, "e.x_y", "e.X_Y", ""));
	hp_list_release(&list);
}

static void test_keys(void **state)
{
	char want[160];
	struct hp_list list;

	(void)state;
	/* Keys that may stay do, whatever comes before them. */
	LIST_OF(&list, "a b.jpg", "a b.txt", "a_b.jpg", "a~b.jpg", "A_b.jpg");
	make(&list, HPDSL_GROUP_KEY);
	assert_string_equal(name_of(&list, "a_b.jpg"), "a_b.jpg");
	assert_string_equal(name_of(&list, "A_b.jpg"), "A_b.jpg");
	assert_string_equal(name_of(&list, "a b.jpg"),
			    hashed(want, "a_b", "a b", ".jpg"));
	assert_string_equal(name_of(&list, "a b.txt"),
			    hashed(want, "a_b", "a b", ".txt"));
	assert_string_equal(name_of(&list, "a~b.jpg"),
			    hashed(want, "a_b", "a~b", ".jpg"));
	hp_list_release(&list);

	/* Else the first has it. */
	LIST_OF(&list, "a b.jpg", "a~b.jpg");
	make(&list, HPDSL_GROUP_KEY);
	assert_string_equal(name_of(&list, "a b.jpg"), "a_b.jpg");
	assert_string_equal(name_of(&list, "a~b.jpg"),
			    hashed(want, "a_b", "a~b", ".jpg"));
	hp_list_release(&list);

	/* Parts that go to the key do not change what is hashed. */
	LIST_OF(&list, "a_b.x", "a.b.x");
	make(&list, HPDSL_GROUP_KEY);
	assert_string_equal(name_of(&list, "a_b.x"), "a_b.x");
	assert_string_equal(name_of(&list, "a.b.x"),
			    hashed(want, "a_b", "a", ".x"));
	hp_list_release(&list);
}

/* The hash of a name may be there already: then the counter. */
static void test_counter(void **state)
{
	char taken[160], want[160], text[8] = "a b\0001";
	struct hp_list list;

	(void)state;
	list_begin(&list, 4);
	list_add(&list, "a_b.x");
	list_add(&list, "a b.x");
	list_add(&list, hashed(taken, "a_b", "a b", ".x"));
	make(&list, HPDSL_GROUP_KEY);
	snprintf(want, sizeof want, "a_b-%08" PRIx32 ".x",
		 (uint32_t)hp_hash64(text, 5));
	assert_string_equal(name_of(&list, "a b.x"), want);
	assert_string_equal(name_of(&list, taken), taken);
	hp_list_release(&list);

	/* And of a suffix. */
	list_begin(&list, 4);
	list_add(&list, "a.J");
	list_add(&list, "a.j");
	list_add(&list, hashed(taken, "a.j", "a.J", ""));
	make(&list, HPDSL_GROUP_KEY);
	memcpy(text, "a.J\0001", 5);
	assert_string_equal(name_of(&list, "a.j"), "a.j");
	assert_string_equal(name_of(&list, taken), taken);
	snprintf(want, sizeof want, "a.j-%08" PRIx32,
		 (uint32_t)hp_hash64(text, 5));
	assert_string_equal(name_of(&list, "a.J"), want);
	hp_list_release(&list);
}

static void test_group_none(void **state)
{
	char want[160];
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "a.jpg", "a.json", "a.x.json", "b", "c.d.e");
	make(&list, HPDSL_GROUP_NONE);
	assert_string_equal(name_of(&list, "a.jpg"), "a.jpg");
	assert_string_equal(name_of(&list, "a.json"),
			    hashed(want, "a", "a.json", ".json"));
	assert_string_equal(name_of(&list, "a.x.json"), "a_x.json");
	assert_string_equal(name_of(&list, "b"), "b.bin");
	assert_string_equal(name_of(&list, "c.d.e"), "c_d.e");
	hp_list_release(&list);
}

/* A path of folder/aa...: n bytes before the suffix. */
static const char *long_path(char out[400], size_t n, const char *suffix)
{
	memset(out, 'a', n);
	out[6] = '/';
	strcpy(out + n, suffix);
	return out;
}

static void test_length(void **state)
{
	char path[400], two[400], want[160], key[400];
	struct hp_list list;

	(void)state;
	/* 96 bytes leave room for a suffix of three, .cls too. */
	LIST_OF(&list, long_path(path, 96, ".jpg"));
	make(&list, HPDSL_GROUP_KEY);
	assert_null(list.stored[0]);
	hp_list_release(&list);

	LIST_OF(&list, long_path(path, 97, ".x"));
	make(&list, HPDSL_GROUP_KEY);
	long_path(key, 97, "");
	snprintf(want, sizeof want, "%.87s-%08" PRIx32 ".x", path,
		 (uint32_t)hp_hash64(key, 97));
	assert_string_equal(name_of(&list, path), want);
	hp_list_release(&list);

	/* The longest suffix counts, for all of the sample. */
	LIST_OF(&list, long_path(path, 90, ".jpg"),
		long_path(two, 90, ".1234567890"));
	make(&list, HPDSL_GROUP_KEY);
	long_path(key, 90, "");
	snprintf(want, sizeof want, "%.80s-%08" PRIx32 ".jpg", path,
		 (uint32_t)hp_hash64(key, 90));
	assert_string_equal(name_of(&list, path), want);
	assert_int_equal(strlen(name_of(&list, two)), 100);
	hp_list_release(&list);

	/* Underscores that are put in count. */
	memset(path, 'a', 60);
	for (int i = 0; i < 40; i += 4)
		memcpy(path + i, "__b/", 4);
	strcpy(path + 60, ".jpg");
	LIST_OF(&list, path);
	make(&list, HPDSL_GROUP_KEY);
	assert_int_equal(strlen(name_of(&list, path)), 74);
	hp_list_release(&list);
}

/* ---- Promises --------------------------------------------------------- */

static void check_all(const struct hp_list *list)
{
	const char *wrong = names_wrong(list);

	if (wrong)
		fail_msg("%s", wrong);
}

/* A path from few bytes, so that many nearly are the same. */
static void random_path(char *out, uint64_t *random)
{
	static const char *const pieces[] = {
		"a",	"b",	    "A",    "B",   ".",	  ".",	"..", "/",
		"/",	"_",	    "__",   "x__", " ",	  "\n", "~",  "-",
		"bin",	".bin",	    ".cls", "jpg", "JPG", "\t", ";",  "\\",
		"\xff", "\xc3\xa9", "+",    ".x",  "0",	  "1",
	};
	size_t n = 0, want = 1 + next_random(random) % 6;

	if (next_random(random) % 16 == 0)
		want += next_random(random) % 90;
	while (want-- > 0) {
		const char *p = pieces[next_random(random) %
				       (sizeof pieces / sizeof *pieces)];

		/* Components are never empty, nor "." or "..". */
		if (*p == '/' && (!n || out[n - 1] == '/'))
			continue;
		if (*p == '.' && (!n || out[n - 1] == '/'))
			out[n++] = 'a';
		strcpy(out + n, p);
		n += strlen(p);
	}
	if (!n || out[n - 1] == '/')
		out[n++] = 'a';
	out[n] = '\0';
}

static void drop_equal(struct hp_list *list)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < list->n_files; i++) {
		uint64_t j = 0;

		while (j < n &&
		       strcmp(list->files[j].path, list->files[i].path) != 0)
			j++;
		if (j == n)
			list->files[n++] = list->files[i];
	}
	list->n_files = n;
}

static void test_random(void **state)
{
	uint64_t random = 2026;
	char path[1024];

	(void)state;
	for (int round = 0; round < 1500; round++) {
		uint64_t n = 1 + next_random(&random) % 150;
		enum hpdsl_group group =
			round % 4 ? HPDSL_GROUP_KEY : HPDSL_GROUP_NONE;
		struct hp_list list;

		list_begin(&list, n);
		for (uint64_t i = 0; i < n; i++) {
			random_path(path, &random);
			list_add(&list, path);
		}
		drop_equal(&list);
		make(&list, group);
		check_all(&list);
		hp_list_release(&list);
	}
}

/* Once more over portable names. */
static void test_again(void **state)
{
	uint64_t random = 7;
	char path[1024];

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct hp_list list, again;

		list_begin(&list, 100);
		for (int i = 0; i < 100; i++) {
			random_path(path, &random);
			list_add(&list, path);
		}
		drop_equal(&list);
		make(&list, HPDSL_GROUP_KEY);
		list_begin(&again, list.n_files);
		for (uint64_t i = 0; i < list.n_files; i++)
			list_add(&again, hp_stored_name(&list, i));
		list_shuffle(&again, &random);
		make(&again, HPDSL_GROUP_KEY);
		check_all(&again);
		hp_list_release(&again);
		hp_list_release(&list);
	}
}

/* One sample of very many members, and very many samples: not quadratic. */
static void test_many(void **state)
{
	enum { N = 300000 };
	struct hp_list list;
	char path[64];

	(void)state;
	for (int round = 0; round < 2; round++) {
		list_begin(&list, N);
		for (int i = 0; i < N; i++) {
			sprintf(path, round ? "a %d.jpg" : "a.%d.JPG", i);
			list_add(&list, path);
		}
		make(&list, HPDSL_GROUP_KEY);
		assert_int_equal(list.n_samples, round ? N : 1);
		check_all(&list);
		hp_list_release(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_not_stored),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_group_none),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
