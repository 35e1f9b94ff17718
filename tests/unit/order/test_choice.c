/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing samples: by each way, by all of them, and what weights come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/perm.h"
#include "make_index.h"
#include "order/choice.h"
#include "each_fault.h"

/*
 * 200 samples in 6 chunks.  Sample s has 1 + s % 3 members, "s000001.m0" or, if
 * s is even, "in/s000002.m0"; classes 0 .. 4, s % 5; none if s % 4 is 0.
 */
enum { N = 200, CLASSES = 5 };

static struct image image;
static struct hp_index *ix;

static int begin_group(void **state)
{
	struct corpus c;
	int r;

	(void)state;
	corpus_make(&c, N, 6, CLASSES, 0);
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

static uint32_t label_of(uint64_t s)
{
	return s % 4 ? (uint32_t)(s % CLASSES) : HPDSL_NO_LABEL;
}

static struct hpdsl_choice *choose(struct hpdsl_choice_options opt)
{
	struct hpdsl_choice *c = NULL;
	struct hpdsl_error err = { 0 };

	if (hp_choose(ix, &opt, &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

/* Just those of whom want() says so; frees c. */
static void holds(struct hpdsl_choice *c, bool (*want)(uint64_t s))
{
	uint64_t n = 0;

	for (uint64_t s = 0; s < N; s++) {
		if (hpdsl_choice_has(c, s) != want(s))
			fail_msg("sample %u", (unsigned)s);
		n += want(s);
	}
	assert_false(hpdsl_choice_has(c, N));
	assert_int_equal(hpdsl_choice_samples(c), n);
	hpdsl_choice_free(c);
}

/* ---- Picking ---------------------------------------------------------- */

static bool all(uint64_t s)
{
	return s < N;
}

static bool class_1_or_none(uint64_t s)
{
	return label_of(s) == 1 || label_of(s) == HPDSL_NO_LABEL;
}

static bool is_deep(uint64_t s)
{
	return s % 2 == 0;
}

static bool is_third(uint64_t s)
{
	return s % 3 == 2;
}

static bool is_deep_but_not_third(uint64_t s)
{
	return is_deep(s) && !is_third(s);
}

static bool is_listed(uint64_t s)
{
	return s == 3 || s == 64 || s == N - 1;
}

static void samples_are_picked(void **state)
{
	static const uint32_t labels[] = { HPDSL_NO_LABEL, 1 };
	static const uint64_t list[] = { 64, N - 1, 3, 64 };
	static const char *const deep[] = { "nothing", "in/" };
	static const char *const third[] = { "*.m2" };

	(void)state;
	holds(choose((struct hpdsl_choice_options){ 0 }), all);
	holds(choose((struct hpdsl_choice_options){ .labels = labels,
						    .n_labels = 2 }),
	      class_1_or_none);
	holds(choose((struct hpdsl_choice_options){ .include = deep,
						    .n_include = 2 }),
	      is_deep);
	holds(choose((struct hpdsl_choice_options){ .include = third,
						    .n_include = 1 }),
	      is_third);
	/* one of a sample's members is enough to leave it out */
	holds(choose((struct hpdsl_choice_options){ .include = deep,
						    .n_include = 2,
						    .exclude = third,
						    .n_exclude = 1 }),
	      is_deep_but_not_third);
	holds(choose((struct hpdsl_choice_options){ .samples = list,
						    .n_samples = 4 }),
	      is_listed);
}

static bool is_class_3_and_deep_and_above_50(uint64_t s)
{
	return label_of(s) == 3 && is_deep(s) && s > 50;
}

static void all_that_is_asked_holds(void **state)
{
	static const uint32_t labels[] = { 3 };
	static const char *const deep[] = { "in/**" };
	uint64_t list[N - 51];

	(void)state;
	for (uint64_t i = 0; i < N - 51; i++)
		list[i] = N - 1 - i;
	holds(choose((struct hpdsl_choice_options){ .labels = labels,
						    .n_labels = 1,
						    .include = deep,
						    .n_include = 1,
						    .samples = list,
						    .n_samples = N - 51 }),
	      is_class_3_and_deep_and_above_50);
}

/* ---- Shares ----------------------------------------------------------- */

static struct hpdsl_choice *share(uint32_t from, uint32_t to, uint64_t seed)
{
	return choose((struct hpdsl_choice_options){
		.split_from = from, .split_to = to, .split_seed = seed });
}

static void shares_have_nothing_in_common(void **state)
{
	const uint32_t at[] = { 0, 333333333, 333333339, 900000000,
				HPDSL_SPLIT_ONE };
	unsigned times[N] = { 0 };
	struct hp_perm perm;

	(void)state;
	hp_perm_init(&perm, N, hp_perm_key(9, "split", NULL, 0));
	for (int i = 0; i < 4; i++) {
		uint64_t from = at[i] * (uint64_t)N / HPDSL_SPLIT_ONE;
		uint64_t to = at[i + 1] * (uint64_t)N / HPDSL_SPLIT_ONE;
		struct hpdsl_choice *c;

		if (from == to)
			continue;
		c = share(at[i], at[i + 1], 9);
		assert_int_equal(hpdsl_choice_samples(c), to - from);
		for (uint64_t s = 0; s < N; s++) {
			uint64_t p = hp_perm_at(&perm, s);

			times[s] += hpdsl_choice_has(c, s);
			assert_int_equal(hpdsl_choice_has(c, s),
					 p >= from && p < to);
		}
		hpdsl_choice_free(c);
	}
	for (int s = 0; s < N; s++)
		assert_int_equal(times[s], 1);
}

/* Two patterns may mean the same one. */
static void samples_of_tars(void **state)
{
	static const char *const of[] = { "chunk-00000[02].tar", "*5.tar",
					  "chunk-000005.tar" };
	struct hpdsl_choice *c = choose(
		(struct hpdsl_choice_options){ .tars = of, .n_tars = 3 });
	struct hpdsl_chunk chunk;
	uint64_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		bool in = i == 0 || i == 2 || i == 5;

		assert_int_equal(hp_index_chunk(ix, i, &chunk, NULL), 0);
		for (uint64_t s = 0; s < chunk.samples; s++)
			assert_int_equal(
				hpdsl_choice_has(c, chunk.first_sample + s),
				in);
		n += in ? chunk.samples : 0;
	}
	assert_in_range(n, 1, N - 1);
	assert_int_equal(hpdsl_choice_samples(c), n);
	hpdsl_choice_free(c);
}

/* Whatever else is chosen, a sample is on the same side of a split. */
static void a_split_is_of_the_dataset(void **state)
{
	static const uint32_t labels[] = { 2 };
	struct hpdsl_choice *a = share(0, 500000000, 1);
	struct hpdsl_choice *b = share(0, 500000000, 2);
	struct hpdsl_choice *c =
		choose((struct hpdsl_choice_options){ .labels = labels,
						      .n_labels = 1,
						      .split_to = 500000000,
						      .split_seed = 1 });
	unsigned same = 0;

	(void)state;
	for (uint64_t s = 0; s < N; s++) {
		assert_int_equal(hpdsl_choice_has(c, s),
				 hpdsl_choice_has(a, s) && label_of(s) == 2);
		same += hpdsl_choice_has(a, s) == hpdsl_choice_has(b, s);
	}
	assert_in_range(same, N / 4, 3 * N / 4);
	hpdsl_choice_free(a);
	hpdsl_choice_free(b);
	hpdsl_choice_free(c);
}

/* ---- What is in it ----------------------------------------------------- */

/* Whatever the room, and from wherever. */
static void numbers_are_listed(void **state)
{
	struct hpdsl_choice *c = share(200000000, 900000000, 3);
	uint64_t want[N], got[N], n = 0;

	(void)state;
	for (uint64_t s = 0; s < N; s++)
		if (hpdsl_choice_has(c, s))
			want[n++] = s;
	assert_int_equal(hpdsl_choice_list(c, 0, got, N), n);
	assert_memory_equal(got, want, n * sizeof *got);
	for (uint64_t room = 1; room < 70; room += 11)
		for (uint64_t at = 0; at < n; at += room) {
			uint64_t from = at ? want[at - 1] + 1 : 0;
			uint64_t some = n - at < room ? n - at : room;

			assert_int_equal(hpdsl_choice_list(c, from, got, room),
					 some);
			assert_memory_equal(got, want + at, some * sizeof *got);
		}
	assert_int_equal(hpdsl_choice_list(c, want[n - 1] + 1, got, N), 0);
	assert_int_equal(hpdsl_choice_list(c, UINT64_MAX, got, N), 0);
	hpdsl_choice_free(c);
}

static void classes_are_counted(void **state)
{
	static const char *const deep[] = { "in/" };
	struct hpdsl_choice *c = choose((struct hpdsl_choice_options){
		.include = deep, .n_include = 1 });
	uint64_t want[2][CLASSES + 1] = { 0 }, got[CLASSES + 1];

	(void)state;
	for (uint64_t s = 0; s < N; s++) {
		uint32_t label = s % 4 ? label_of(s) : CLASSES;

		want[0][label]++;
		want[1][label] += is_deep(s);
	}
	for (int chosen = 0; chosen < 2; chosen++) {
		assert_int_equal(
			hp_count_classes(ix, chosen ? c : NULL, got, NULL), 0);
		assert_memory_equal(got, want[chosen], sizeof got);
	}
	hpdsl_choice_free(c);
}

/* ---- Weights ---------------------------------------------------------- */

static void weights_by_class(void **state)
{
	static const uint64_t weight[CLASSES + 1] = { 5, 4, 3, 2, 0, 1 };
	static const char *const deep[] = { "in/" };
	struct hpdsl_choice *c = choose((struct hpdsl_choice_options){
		.class_weight = weight, .include = deep, .n_include = 1 });

	(void)state;
	for (uint64_t s = 0; s < N; s++) {
		uint32_t label = label_of(s);

		if (label == HPDSL_NO_LABEL)
			label = CLASSES;
		assert_int_equal(hp_choice_weight(c, s),
				 is_deep(s) ? weight[label] : 0);
	}
	holds(c, is_deep);
}

static void weights_by_sample(void **state)
{
	uint64_t weight[N];
	struct hpdsl_choice *c;

	(void)state;
	for (uint64_t s = 0; s < N; s++)
		weight[s] = s * s;
	c = choose((struct hpdsl_choice_options){ .sample_weight = weight });
	for (uint64_t s = 0; s < N; s++)
		assert_int_equal(hp_choice_weight(c, s), s * s);
	holds(c, all);
}

/* Without a class is one class more; those that are not chosen do not count. */
static void classes_in_balance(void **state)
{
	static const uint32_t labels[] = { 0, 2, HPDSL_NO_LABEL };
	struct hpdsl_choice *c = choose((struct hpdsl_choice_options){
		.labels = labels, .n_labels = 3, .balanced = true });
	uint64_t of[3] = { 0 }, weight[3] = { 0 }, sum = 0;

	(void)state;
	for (uint64_t s = 0; s < N; s++) {
		for (int i = 0; i < 3; i++)
			if (label_of(s) == labels[i]) {
				of[i]++;
				weight[i] = hp_choice_weight(c, s);
			}
		sum += hp_choice_weight(c, s);
	}
	assert_int_equal(of[0] + of[1] + of[2], hpdsl_choice_samples(c));
	for (int i = 0; i < 3; i++) {
		uint64_t t = hpdsl_choice_samples(c);

		assert_int_equal(weight[i],
				 (t * HPDSL_WEIGHT_ONE) / (3 * of[i]));
	}
	/* as many in all, but for what was rounded off */
	assert_in_range(hpdsl_choice_samples(c) * HPDSL_WEIGHT_ONE - sum, 0,
			hpdsl_choice_samples(c));
	hpdsl_choice_free(c);
}

/* ---- Draws ------------------------------------------------------------ */

/* Occurrences, found from anywhere, are those that are counted one by one. */
static void draws_agree_with_counting(void **state)
{
	uint64_t weight[N], list[8 * N], got[8 * N], n = 0;
	struct hpdsl_choice *c;
	struct hp_draw d;

	(void)state;
	for (uint64_t s = 0; s < N; s++)
		weight[s] = s / 7 % 3 * (s << 25);
	c = choose((struct hpdsl_choice_options){ .sample_weight = weight });
	assert_int_equal(hp_draw_init(&d, c, 4, 2, NULL), 0);
	for (uint64_t s = 0; s < N; s++) {
		uint64_t key =
			hp_perm_key(4, "weight", (uint64_t[]){ 2, s }, 2);
		uint64_t times = (weight[s] >> 32) +
				 (key >> 32 < (weight[s] & UINT32_MAX));

		assert_int_equal(hp_draw_before(&d, s), n);
		while (times--)
			list[n++] = s;
		assert_true(n < 8 * N);
	}
	assert_int_equal(hp_draw_before(&d, N), n);
	for (uint64_t i = 0; i < n; i += 3) {
		hp_draw_list(&d, i, n - i, got);
		assert_memory_equal(got, list + i, (n - i) * sizeof *got);
	}
	hp_draw_release(&d);
	hpdsl_choice_free(c);
}

/* 2^31 times each: a place is found without counting up to it. */
static void heavy_draws_are_found(void **state)
{
	uint64_t weight[N], got[2], k = UINT64_C(1) << 31;
	struct hpdsl_choice *c;
	struct hp_draw d;

	(void)state;
	for (uint64_t s = 0; s < N; s++)
		weight[s] = k << 32;
	c = choose((struct hpdsl_choice_options){ .sample_weight = weight });
	assert_int_equal(hp_draw_init(&d, c, 4, 2, NULL), 0);
	for (uint64_t s = 1; s < N; s++) {
		hp_draw_list(&d, s * k - 1, 2, got);
		assert_int_equal(got[0], s - 1);
		assert_int_equal(got[1], s);
	}
	hp_draw_release(&d);
	hpdsl_choice_free(c);
}

/* ---- Digests ---------------------------------------------------------- */

static void digest_is(struct hpdsl_choice *c, const char *want)
{
	uint8_t digest[16];
	char hex[33];

	hpdsl_choice_digest(c, digest);
	hp_hex128(digest, hex);
	assert_string_equal(hex, want);
	hpdsl_choice_free(c);
}

/* As hpdsl-order(7) says, put together by hand. */
static void digests_are_as_defined(void **state)
{
	static const uint64_t list[] = { 0, 9, N - 1 };
	uint64_t weight[N] = { 0 };
	uint8_t bytes[8 + N / 8 + 8 * N] = { 0 }, digest[16];
	char hex[33];

	(void)state;
	hp_put64(bytes, N);
	bytes[8] = 1;
	bytes[8 + 1] = 2;
	bytes[8 + 24] = 0x80;
	hp_hash128(bytes, 8 + N / 8, digest);
	hp_hex128(digest, hex);
	digest_is(choose((struct hpdsl_choice_options){ .samples = list,
							.n_samples = 3 }),
		  hex);
	for (int i = 0; i < N; i++)
		weight[i] = 77;
	for (int i = 0; i < 3; i++)
		hp_put64(bytes + 8 + N / 8 + 8 * list[i], 77);
	hp_hash128(bytes, sizeof bytes, digest);
	hp_hex128(digest, hex);
	digest_is(choose((struct hpdsl_choice_options){ .samples = list,
							.n_samples = 3,
							.sample_weight =
								weight }),
		  hex);
}

/* ---- What makes no sense ---------------------------------------------- */

static void refused(struct hpdsl_choice_options opt, const char *want)
{
	struct hpdsl_choice *c = NULL;
	struct hpdsl_error err = { 0 };

	assert_int_equal(hp_choose(ix, &opt, &c, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, want);
	assert_null(c);
}

static void nonsense_is_refused(void **state)
{
	static const uint32_t label[] = { CLASSES }, class_4[] = { 4 };
	static const uint64_t sample[] = { N }, even[] = { 4 };
	static const char *const nothing[] = { "*.jpg" };
	static const char *const braces[] = { "chunk-{000000..000003}.tar" };
	static const char *const tars[] = { "*1.tar", "train-*.tar" };
	uint64_t weight[N] = { 0 };

	(void)state;
	refused((struct hpdsl_choice_options){ .labels = label, .n_labels = 1 },
		"no class 5, there are 5");
	refused((struct hpdsl_choice_options){ .samples = sample,
					       .n_samples = 1 },
		"no sample 200, there are 200");
	refused((struct hpdsl_choice_options){ .split_from = 5, .split_to = 5 },
		"5 to 5 billionths are no share of a dataset");
	refused((struct hpdsl_choice_options){ .split_to =
						       HPDSL_SPLIT_ONE + 1 },
		"0 to 1000000001 billionths are no share of a dataset");
	refused((struct hpdsl_choice_options){ .split_from = 7 },
		"7 to 0 billionths are no share of a dataset");
	refused((struct hpdsl_choice_options){ .split_to = 4999999 },
		"not one sample of 200 is chosen");
	refused((struct hpdsl_choice_options){ .tars = tars, .n_tars = 2 },
		"no tar is called 'train-*.tar', there are 'chunk-000000.tar', "
		"'chunk-000001.tar', 'chunk-000002.tar', 'chunk-000003.tar', "
		"'chunk-000004.tar', 'chunk-000005.tar'");
	refused((struct hpdsl_choice_options){ .tars = braces, .n_tars = 1 },
		"no tar is called 'chunk-{000000..000003}.tar', there are "
		"'chunk-000000.tar', 'chunk-000001.tar', 'chunk-000002.tar', "
		"'chunk-000003.tar', 'chunk-000004.tar', 'chunk-000005.tar'; "
		"a pattern has *, ? and [..], and no folder");
	refused((struct hpdsl_choice_options){ .include = nothing,
					       .n_include = 1 },
		"not one sample of 200 is chosen");
	refused((struct hpdsl_choice_options){ .samples = even,
					       .n_samples = 1,
					       .labels = class_4,
					       .n_labels = 1 },
		"not one sample of 200 is chosen");
	refused((struct hpdsl_choice_options){ .samples = even },
		"not one sample of 200 is chosen");
	refused((struct hpdsl_choice_options){ .balanced = true,
					       .sample_weight = weight },
		"a choice has weights of one kind only");
	refused((struct hpdsl_choice_options){ .class_weight = weight,
					       .sample_weight = weight },
		"a choice has weights of one kind only");
	weight[CLASSES] = weight[N - 1] = HPDSL_WEIGHT_MOST;
	hpdsl_choice_free(choose(
		(struct hpdsl_choice_options){ .sample_weight = weight }));
	hpdsl_choice_free(choose(
		(struct hpdsl_choice_options){ .class_weight = weight }));
	weight[CLASSES]++;
	refused((struct hpdsl_choice_options){ .class_weight = weight },
		"class 5: no weight may be above 2147483648");
	weight[CLASSES]--;
	weight[N - 1]++;
	refused((struct hpdsl_choice_options){ .sample_weight = weight },
		"sample 199: no weight may be above 2147483648");
}

/* The k-th allocation fails, for every k until none does. */
static void no_memory(void **state)
{
	static const uint32_t labels[] = { 1 };
	const struct hpdsl_choice_options opt = { .labels = labels,
						  .n_labels = 1,
						  .balanced = true };
	struct hpdsl_choice *c = NULL;
	struct hp_draw d;
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
	wrap_fail_at(1, false);
	assert_int_equal(hp_draw_init(&d, c, 0, 0, &err), -ENOMEM);
	wrap_fail_at(0, false);
	hpdsl_choice_free(c);
}

/* A damaged index is told, not chosen from. */
static void damage_is_told(void **state)
{
	static const uint32_t labels[] = { 1 };
	static const char *const deep[] = { "in/" };
	const struct hpdsl_choice_options by_class = { .labels = labels,
						       .n_labels = 1 };
	const struct hpdsl_choice_options by_name = { .include = deep,
						      .n_include = 1 };
	const struct hpdsl_choice_options fair = { .balanced = true };
	struct hpdsl_choice *c = NULL;
	struct hp_index *bad;
	uint64_t times[CLASSES + 1];
	struct hpdsl_error err;
	uint8_t *samples = image_section(&image, HP_SECTION_SAMPLES, NULL);

	(void)state;
	samples[16 * 100] ^= 1;
	assert_int_equal(hp_index_open(image.p, image.n, "it", &bad, NULL), 0);
	assert_int_equal(hp_choose(bad, &by_class, &c, &err), HPDSL_ECORRUPT);
	assert_int_equal(hp_choose(bad, &by_name, &c, &err), HPDSL_ECORRUPT);
	assert_int_equal(hp_choose(bad, &fair, &c, &err), HPDSL_ECORRUPT);
	assert_int_equal(hp_count_classes(bad, NULL, times, &err),
			 HPDSL_ECORRUPT);
	assert_null(c);
	hp_index_free(bad);
	samples[16 * 100] ^= 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_picked),
		cmocka_unit_test(all_that_is_asked_holds),
		cmocka_unit_test(shares_have_nothing_in_common),
		cmocka_unit_test(a_split_is_of_the_dataset),
		cmocka_unit_test(samples_of_tars),
		cmocka_unit_test(numbers_are_listed),
		cmocka_unit_test(classes_are_counted),
		cmocka_unit_test(weights_by_class),
		cmocka_unit_test(weights_by_sample),
		cmocka_unit_test(classes_in_balance),
		cmocka_unit_test(draws_agree_with_counting),
		cmocka_unit_test(heavy_draws_are_found),
		cmocka_unit_test(digests_are_as_defined),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(damage_is_told),
	};

	return cmocka_run_group_tests(tests, begin_group, end_group);
}
