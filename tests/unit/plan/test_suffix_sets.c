/* SPDX-License-Identifier: Apache-2.0 */
/* Which suffixes samples have together, and keys in two folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/suffix_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS = 8192 };

static struct {
	char *v[PATHS];
	size_t n;
} paths;

/* So many of it, from 0 on; %03u in it is the number. */
static void add(unsigned n, const char *form)
{
	for (unsigned i = 0; i < n; i++) {
		char text[512];

		assert_true(paths.n < PATHS);
		snprintf(text, sizeof text, form, i, i);
		paths.v[paths.n++] = strdup(text);
	}
}

static void look(struct hpdsl_group_look *ret)
{
	struct hpdsl_error err;

	assert_int_equal(hpdsl_group_look(NULL, (const char *const *)paths.v,
					  paths.n, ret, &err),
			 0);
	while (paths.n)
		free(paths.v[--paths.n]);
}

static void is_set(const struct hpdsl_group_look *is, size_t k,
		   const char *suffixes, uint64_t samples, const char *first)
{
	assert_true(k < is->n_sets);
	assert_string_equal(is->sets[k].suffixes, suffixes);
	assert_int_equal(is->sets[k].samples, samples);
	assert_string_equal(is->sets[k].first, first);
	assert_int_equal(is->sets[k].suffixes_more, 0);
}

static void sets(void **state)
{
	struct hpdsl_group_look is;

	(void)state;
	look(&is);
	assert_int_equal(is.n_sets, 0);
	add(40, "a/%03u.jpg");
	add(30, "a/%03u.txt");
	add(5, "b/%03u.JPG");
	add(5, "b/%03u.txt");
	add(1, "README");
	add(1, "x.jpg");
	add(1, "x.json");
	look(&is);
	assert_int_equal(is.samples, 47);
	assert_int_equal(is.n_sets, 4);
	is_set(&is, 0, "jpg\ntxt", 30, "a/000");
	is_set(&is, 1, "jpg", 10, "a/030");
	is_set(&is, 2, "JPG\ntxt", 5, "b/000");
	is_set(&is, 3, "", 1, "README");
	assert_int_equal(is.other_sets, 1);
}

/* In a list of any length: no more of them than there is room for. */
static void many_sets(void **state)
{
	struct hpdsl_group_look is;

	(void)state;
	add(2000, "a/%04u.s%04u");
	add(1, "a/0000.t");
	look(&is);
	assert_int_equal(is.n_sets, HPDSL_LOOK_SETS);
	is_set(&is, 0, "s0000\nt", 1, "a/0000");
	assert_int_equal(is.other_sets, 2000 - HPDSL_LOOK_SETS);
}

/* Those that have no room are counted. */
static void long_set(void **state)
{
	struct hpdsl_group_look is;
	char longest[HPDSL_PATH_MAX];

	(void)state;
	add(40, "a.field%03u");
	look(&is);
	assert_int_equal(is.n_sets, 1);
	assert_int_equal(is.sets->suffixes_more, 40 - 10);
	assert_true(strlen(is.sets->suffixes) < sizeof is.sets->suffixes);
	memset(longest, 'k', sizeof longest);
	memcpy(longest + sizeof longest - 5, ".png", 5);
	add(1, longest);
	paths.v[0] = realloc(paths.v[0], sizeof longest);
	memcpy(paths.v[0], longest, sizeof longest);
	look(&is);
	assert_string_equal(is.sets->suffixes, "png");
	assert_int_equal(strlen(is.sets->first), 60 + 3 + 30);
}

/* ---- Two folders ------------------------------------------------------ */

static void layout(const char *images, const char *labels, uint64_t parted)
{
	struct hpdsl_group_look is;

	add(100, images);
	add(80, labels);
	look(&is);
	assert_int_equal(is.parted, parted);
	if (parted) {
		assert_in_range(is.images, 100, 180);
		assert_true(*is.parted_keys[0] && *is.parted_keys[1]);
	} else {
		assert_string_equal(is.parted_keys[0], "");
	}
}

static void two_folders(void **state)
{
	struct hpdsl_group_look is;

	(void)state;
	/* YOLO, KITTI, VOC */
	layout("images/train/%03u.jpg", "labels/train/%03u.txt", 80);
	layout("train/images/%03u.jpg", "train/labels/%03u.txt", 80);
	layout("training/image_2/%03u.png", "training/label_2/%03u.txt", 80);
	layout("VOC2012/JPEGImages/%03u.jpg", "VOC2012/Annotations/%03u.xml",
	       80);
	layout("x/images/images/%03u.jpg", "x/images/masks/%03u.png", 80);
	/* one sample, other names, classes */
	layout("images/%03u.jpg", "images/%03u.txt", 0);
	layout("images/%03u.jpg", "labels/x%03u.txt", 0);
	layout("cat/%03u.jpg", "dog/%03u.jpg", 0);
	layout("images%03u.jpg", "labels%03u.txt", 0);
	/* of many some are looked at */
	add(3000, "images/%04u.jpg");
	add(1500, "labels/%04u.txt");
	look(&is);
	assert_in_range(is.images, 500, 1024);
	assert_in_range(is.parted, is.images / 2 - 5, is.images / 2 + 5);
	assert_string_equal(is.parted_keys[0], "images/0000");
	assert_string_equal(is.parted_keys[1], "labels/0000");
}

static void keys(void **state)
{
	char ret[HPDSL_PATH_MAX + 1], longest[HPDSL_PATH_MAX];
	unsigned n = 0;
	size_t len;

	(void)state;
	assert_int_equal(hp_parted_key("images/1", 8, 0, ret), 8);
	assert_string_equal(ret, "labels/1");
	assert_int_equal(hp_parted_key("images", 6, 0, ret), 0);
	assert_int_equal(hp_parted_key("", 0, 0, ret), 0);
	while ((len = hp_parted_key("images/img/1", 12, n, ret))) {
		assert_int_equal(strlen(ret), len);
		n++;
	}
	assert_int_equal(n, 2 * 13);
	/* nothing longer than a path can be */
	memset(longest, 'x', sizeof longest);
	memcpy(longest, "img/", 4);
	assert_int_equal(hp_parted_key(longest, sizeof longest, 0, ret), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets),	    cmocka_unit_test(many_sets),
		cmocka_unit_test(long_set), cmocka_unit_test(two_folders),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
