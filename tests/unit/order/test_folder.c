/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing samples by folder: beside comparing with every folder that was asked
 * for, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "make_index.h"
#include "order/choice.h"
#include "each_fault.h"

/* Sample s, of 1 + s % 3 members, is in folder s % FOLDERS. */
enum { N = 220, CLASSES = 5, FOLDERS = 11 };

static const char *const folder[FOLDERS] = {
	"train/cat/", "train/dog/", "val/cat/",	       "train-2/cat/",
	"",	      "Val/",	    "train/cat/deep/", "train/ca/",
	"\xff\n/",    "val/",	    "train.d/.x/",
};

static struct image image;
static struct hp_index *ix;

static void place(struct corpus *c, uint64_t member)
{
	struct hp_index_member *m = &c->members[member];

	snprintf(c->paths[member], MADE_PATH, "%ss%06u.m%u",
		 folder[m->sample % FOLDERS], (unsigned)m->sample,
		 (unsigned)member);
	m->path_len = strlen(c->paths[member]);
}

static int begin_group(void **state)
{
	struct corpus c;
	int r;

	(void)state;
	corpus_make(&c, N, 6, CLASSES, 0);
	for (uint64_t i = 0; i < c.src.members; i++)
		place(&c, i);
	r = image_write(&c, &image, NULL);
	corpus_free(&c);
	return r < 0 || hp_index_open(image.p, image.n, "it", &ix, NULL) < 0;
}

static int end_group(void **state)
{
	(void)state;
	hp_index_free(ix);
	free(image.p);
	return 0;
}

/* ---- Those that are in ------------------------------------------------ */

static bool is_in(uint64_t s, const char *const *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(folder[s % FOLDERS], of[i], strlen(of[i])) == 0)
			return true;
	return false;
}

/* given: what is asked for; plain: the same, with a slash behind each. */
static void holds(const char *const *given, const char *const *plain, size_t n)
{
	struct hpdsl_choice *c = NULL;
	struct hpdsl_error err = { 0 };
	uint64_t has = 0;

	if (hp_choose(ix,
		      &(struct hpdsl_choice_options){ .folders = given,
						      .n_folders = n },
		      &c, &err) < 0)
		fail_msg("%s", err.msg);
	for (uint64_t s = 0; s < N; s++) {
		if (hpdsl_choice_has(c, s) != is_in(s, plain, n))
			fail_msg("sample %u", (unsigned)s);
		has += is_in(s, plain, n);
	}
	assert_int_equal(hpdsl_choice_samples(c), has);
	hpdsl_choice_free(c);
}

static void samples_of_a_folder(void **state)
{
	static const char *const each[][2] = {
		{ "train", "train/" },
		{ "train/", "train/" },
		{ "./train//", "train/" },
		{ "/train/./cat", "train/cat/" },
		{ "train/ca", "train/ca/" },
		{ "train-2", "train-2/" },
		{ "val", "val/" },
		{ "Val", "Val/" },
		{ "train/cat/deep", "train/cat/deep/" },
		{ "train.d/.x", "train.d/.x/" },
		{ "\xff\n", "\xff\n/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		holds(&each[i][0], &each[i][1], 1);
}

/* Any of these together, in any order, some twice, some in others. */
static void samples_of_many_folders(void **state)
{
	static const char *const plain[] = {
		"train/",
		"train/cat/",
		"train/cat/deep/",
		"train-2/",
		"val/",
		"val/cat/",
		"train/ca/",
		"train-2/cat/",
		"train.d/",
		"Val/",
		"train.d/.x/",
		"train/dog/",
		"\xff\n/",
		"train/cat/deep/",
	};
	enum { MANY = sizeof plain / sizeof *plain };
	const char *some[MANY];

	(void)state;
	for (uint64_t seed = 1; seed < 3000; seed++) {
		uint64_t h = seed * 0x9E3779B97F4A7C15u;
		size_t n = 0;

		for (size_t i = 0; i < MANY; i++)
			if (h >> (20 + i) & 1)
				some[n++] = plain[(i * 5 + seed) % MANY];
		if (n)
			holds(some, some, n);
	}
	holds(plain, plain, MANY);
}

/* A sample has to pass all that is given. */
static void with_all_else(void **state)
{
	static const char *const val[] = { "val" }, *const cat[] = { "cat/" };
	static const char *const m0[] = { "*.m0" };
	static const uint32_t labels[] = { 1, 2, HPDSL_NO_LABEL };
	struct hpdsl_choice *c[5], *both;
	uint64_t list[N / 2], n = 0;
	const struct hpdsl_choice_options part[] = {
		{ .folders = val, .n_folders = 1 },
		{ .samples = list, .n_samples = N / 2 },
		{ .labels = labels, .n_labels = 3 },
		{ .split_to = 700000000, .split_seed = 3 },
		{ .include = cat,
		  .n_include = 1,
		  .exclude = m0,
		  .n_exclude = 1 },
	};
	struct hpdsl_choice_options all = part[0];

	(void)state;
	for (uint64_t i = 0; i < N / 2; i++)
		list[i] = 2 * i + (i % 5 == 0);
	all.samples = list;
	all.n_samples = N / 2;
	all.labels = labels;
	all.n_labels = 3;
	all.split_to = 700000000;
	all.split_seed = 3;
	all.include = cat;
	all.n_include = 1;
	all.exclude = m0;
	all.n_exclude = 1;
	for (int i = 0; i < 5; i++)
		assert_int_equal(hp_choose(ix, &part[i], &c[i], NULL), 0);
	assert_int_equal(hp_choose(ix, &all, &both, NULL), 0);
	for (uint64_t s = 0; s < N; s++) {
		bool in = true;

		for (int i = 0; i < 5; i++)
			in = in && hpdsl_choice_has(c[i], s);
		assert_int_equal(hpdsl_choice_has(both, s), in);
		n += in;
	}
	assert_int_equal(hpdsl_choice_samples(both), n);
	assert_in_range(n, 1, N / 10);
	for (int i = 0; i < 5; i++)
		hpdsl_choice_free(c[i]);
	hpdsl_choice_free(both);
}

/* It is known by its samples, not by how they were named. */
static void digest_is_of_the_samples(void **state)
{
	static const char *const val[] = { "val/" }, *const glob[] = {
		"val/**"
	};
	struct hpdsl_choice *a, *b;
	uint8_t digest[2][16];

	(void)state;
	assert_int_equal(hp_choose(ix,
				   &(struct hpdsl_choice_options){
					   .folders = val, .n_folders = 1 },
				   &a, NULL),
			 0);
	assert_int_equal(hp_choose(ix,
				   &(struct hpdsl_choice_options){
					   .include = glob, .n_include = 1 },
				   &b, NULL),
			 0);
	hpdsl_choice_digest(a, digest[0]);
	hpdsl_choice_digest(b, digest[1]);
	assert_memory_equal(digest[0], digest[1], 16);
	hpdsl_choice_free(a);
	hpdsl_choice_free(b);
}

/* ---- What makes no sense ---------------------------------------------- */

#define ALL "'Val', 'train', 'train-2', 'train.d', 'val', '\xff\\n'"

static void refused(const char *of, const char *want)
{
	const char *const two[] = { "train", of };
	struct hpdsl_choice *c = NULL;
	struct hpdsl_error err = { 0 };

	assert_int_equal(hp_choose(ix,
				   &(struct hpdsl_choice_options){
					   .folders = two, .n_folders = 2 },
				   &c, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, want);
	assert_null(c);
}

static void no_such_folder(void **state)
{
	char longest[HPDSL_PATH_MAX + 2];

	(void)state;
	refused("vall", "no sample is in folder 'vall', there are " ALL);
	refused("VAL", "no sample is in folder 'VAL', there are " ALL);
	refused("train/c/x/", "no sample is in folder 'train/c/x', in 'train' "
			      "there are 'ca', 'cat', 'dog'");
	refused("train/cat/no", "no sample is in folder 'train/cat/no', in "
				"'train/cat' there are 'deep'");
	refused("train/ca/no", "no sample is in folder 'train/ca/no', in "
			       "'train/ca' there are no folders");
	/* a file is no folder, a part of a name neither */
	refused("s000004.m5",
		"no sample is in folder 's000004.m5', there are " ALL);
	refused("\xff", "no sample is in folder '\xff', there are " ALL);
	refused("", "'' names no folder");
	refused(".//", "'.//' names no folder");
	refused("train/../val", "'train/../val' names no folder");
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(
		hp_choose(ix,
			  &(struct hpdsl_choice_options){
				  .folders = (const char *const[]){ longest },
				  .n_folders = 1 },
			  &(struct hpdsl_choice *){ NULL }, NULL),
		HPDSL_EUSAGE);
}

/* That there is one does not hang on what else is asked. */
static void none_that_passes(void **state)
{
	static const char *const of[] = { "val/cat", "train/ca" };
	static const char *const no[] = { "val/cat", "train/cow" };
	const uint64_t list[] = { 2, 2 + FOLDERS }; /* both in val/cat */
	struct hpdsl_choice_options opt = {
		.folders = of, .n_folders = 2, .samples = list, .n_samples = 2
	};
	struct hpdsl_choice *c = NULL;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(hp_choose(ix, &opt, &c, &err), 0);
	assert_int_equal(hpdsl_choice_samples(c), 2);
	hpdsl_choice_free(c);
	c = NULL;
	opt.folders = &of[1];
	opt.n_folders = 1;
	assert_int_equal(hp_choose(ix, &opt, &c, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "not one sample of 220 is chosen");
	opt.folders = no;
	opt.n_folders = 2;
	assert_int_equal(hp_choose(ix, &opt, &c, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "no sample is in folder 'train/cow', in "
				     "'train' there are 'ca', 'cat', 'dog'");
	assert_null(c);
}

/* The k-th allocation fails, for every k until none does. */
static void no_memory(void **state)
{
	static const char *const of[] = { "val", "train", "Val" };
	const struct hpdsl_choice_options opt = { .folders = of,
						  .n_folders = 3 };
	struct hpdsl_choice *c = NULL;
	struct hpdsl_error err;
	int r = -ENOMEM;

	(void)state;
	for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
		each_alloc_begin(&e);
		r = hp_choose(ix, &opt, &c, &err);
		each_alloc_end(&e);
		assert_true(r == 0 ? e.k > 5 : r == -ENOMEM && !c);
	}
	assert_int_equal(r, 0);
	hpdsl_choice_free(c);
}

/* A damaged index is told, not chosen from, in whichever pass it is seen. */
static void damage_is_told(void **state)
{
	static const char *const of[] = { "val", "nowhere" };
	static const int sections[] = { HP_SECTION_SAMPLES, HP_SECTION_MEMBERS,
					HP_SECTION_PATHS };
	const uint64_t list[] = { 2 };
	struct hpdsl_choice_options opt = { .folders = of, .n_folders = 1 };
	struct hpdsl_choice *c = NULL;
	struct hp_index *bad;

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint8_t *p = image_section(&image, sections[i], NULL);

		p[1000] ^= 1;
		for (int k = 1; k < 3; k++) {
			assert_int_equal(hp_index_open(image.p, image.n, "it",
						       &bad, NULL),
					 0);
			opt.n_folders = (size_t)k;
			opt.samples = k == 2 ? list : NULL;
			opt.n_samples = k == 2;
			assert_int_equal(hp_choose(bad, &opt, &c, NULL),
					 HPDSL_ECORRUPT);
			assert_null(c);
			hp_index_free(bad);
		}
		p[1000] ^= 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_a_folder),
		cmocka_unit_test(samples_of_many_folders),
		cmocka_unit_test(with_all_else),
		cmocka_unit_test(digest_is_of_the_samples),
		cmocka_unit_test(no_such_folder),
		cmocka_unit_test(none_that_passes),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(damage_is_told),
	};

	return cmocka_run_group_tests(tests, begin_group, end_group);
}
