/* SPDX-License-Identifier: Apache-2.0 */
/* Which names other readers trip over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "make_list.h"
#include "plan/name_risk.h"

#include <stdio.h>

#define R(risk) (UINT32_C(1) << HP_RISK_##risk)

/* The risks of the first member of a sample of up to three. */
static const struct {
	const char *names[3];
	uint32_t want;
} table[] = {
	{ { "a/b.jpg" }, 0 },
	{ { "a/b.jpg", "a/b.json", "a/b.seg.png" }, 0 },
	{ { "a/b" }, R(NO_SUFFIX) },
	{ { "a.x/b" }, R(NO_SUFFIX) },
	{ { "a/b." }, R(NO_SUFFIX) },
	{ { "a/b", "a/b.jpg" }, R(NO_SUFFIX) },
	{ { "a/b.jpg", "a/b" }, 0 },
	{ { "a/b.seg.png" }, R(DOTS) },
	{ { "a/1.5_x.jpg" }, R(DOTS) },
	{ { "a/1.5.jpg", "a/1.5.txt" }, R(DOTS) },
	{ { "a/1.5.jpg", "a/1.6.txt" }, 0 },
	{ { "a/1.5", "a/1.5.txt" }, 0 },
	{ { "a/1.5.x", "a/1" }, 0 },
	{ { "a b/c.jpg" }, R(BLANK) },
	{ { "a/b.j g" }, R(BLANK) },
	{ { ".b.jpg" }, R(HIDDEN) },
	{ { "a/.b" }, R(HIDDEN) },
	{ { "a/..." }, R(HIDDEN) },
	{ { ".a/b.jpg" }, 0 },
	{ { "__a__/b.jpg" }, R(META) },
	{ { "____/b.jpg" }, R(META) },
	{ { "___/b.jpg" }, 0 },
	{ { "__a__x/b.jpg" }, 0 },
	{ { "a/__b__/b.jpg" }, 0 },
	{ { "__a__" }, R(META) | R(NO_SUFFIX) | R(UNDERSCORES) },
	{ { "__a__.jpg" }, R(UNDERSCORES) },
	{ { "a/__.jpg" }, R(UNDERSCORES) },
	{ { "a/_.jpg" }, 0 },
	{ { "a/b.__key__" }, R(FIELD) },
	{ { "a/b.JPEG" }, R(UPPER) },
	{ { "A/B.jpg" }, 0 },
	{ { "a/b.Jpg", "a/b.jpG", "a/b.png" }, R(UPPER) | R(SAME) },
	{ { "a/b.jpg", "a/b.JPG" }, R(SAME) },
	{ { "a/b.png", "a/b.JPG", "a/b.jpg" }, 0 },
	{ { "a/\xc3\xa9.jpg" }, R(NOT_ASCII) },
	{ { "a/\xff.jpg" }, R(NOT_ASCII) | R(NOT_UTF8) },
	{ { "a/\xc3" }, R(NO_SUFFIX) | R(NOT_ASCII) | R(NOT_UTF8) },
	{ { "\xed\xa0\x80.a" }, R(NOT_ASCII) | R(NOT_UTF8) },
	{ { "\xc0\xaf.a" }, R(NOT_ASCII) | R(NOT_UTF8) },
	{ { "\xe0\x9f\x80.a" }, R(NOT_ASCII) | R(NOT_UTF8) },
	{ { "\xf4\x90\x80\x80.a" }, R(NOT_ASCII) | R(NOT_UTF8) },
	{ { "\xf0\x9f\x98\x80.a" }, R(NOT_ASCII) },
	{ { "a/\t.jpg" }, R(CONTROL) },
	{ { "a/\x7f.jpg" }, R(CONTROL) },
	{ { "a/\n.jpg" }, R(NEWLINE) },
	{ { "a\n/b.jpg" }, R(NEWLINE) },
	{ { "a.b/c\n/b.jpg" }, R(NEWLINE) },
	{ { "a\n.b/b.jpg" }, R(NEWLINE) | R(FOLDER) },
	{ { "a\n/c.b/b.jpg" }, R(NEWLINE) | R(FOLDER) },
	{ { "a.a/x\n/c/b.jpg" }, R(NEWLINE) },
	{ { "a/b\\.jpg" }, R(QUOTE) },
	{ { "a/b.j;g" }, R(QUOTE) },
	{ { "a/b;.jpg" }, 0 },
	{ { "./a.jpg" }, R(SLASH) },
	{ { "/a.jpg" }, R(SLASH) },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct hp_name names[3];
		uint32_t found[3];
		size_t n = 0;

		for (; n < 3 && table[i].names[n]; n++) {
			names[n].s = table[i].names[n];
			names[n].len = strlen(names[n].s);
		}
		assert_int_equal(hp_risks_find(names, n, found, NULL), 0);
		if (found[0] != table[i].want)
			fail_msg("'%s': %x, wanted %x", names[0].s, found[0],
				 table[i].want);
	}
	assert_int_equal(hp_risks_find(NULL, 0, NULL, NULL), 0);
}

static uint32_t risks_of_length(size_t folder, size_t base)
{
	char text[512];
	struct hp_name name = { text, folder + base + 5 };
	uint32_t found;

	memset(text, 'a', sizeof text);
	text[folder] = '/';
	memcpy(text + folder + 1 + base, ".jpg", 4);
	assert_int_equal(hp_risks_find(&name, 1, &found, NULL), 0);
	return found;
}

static void test_length(void **state)
{
	(void)state;
	assert_int_equal(risks_of_length(45, 50), 0);
	assert_int_equal(risks_of_length(45, 51), R(LONG));
	assert_int_equal(risks_of_length(155, 96), R(LONG));
	assert_int_equal(risks_of_length(155, 97), R(LONG) | R(PAX));
	assert_int_equal(risks_of_length(5, 97), R(LONG) | R(PAX));
	assert_int_equal(risks_of_length(156, 20), R(LONG) | R(PAX));
}

/* Every reason has a text and a reader, every reader a name. */
static void test_texts(void **state)
{
	unsigned all = 0;

	(void)state;
	for (int i = 0; i < HP_RISKS; i++) {
		unsigned readers = hp_risk_readers((enum hp_risk)i);

		assert_non_null(hp_risk_text((enum hp_risk)i));
		assert_true(readers);
		all |= readers;
		for (unsigned bit = 1; bit <= HPDSL_READER_RAY; bit *= 2) {
			enum hp_risk_effect e =
				hp_risk_effect((enum hp_risk)i, bit);

			assert_int_equal(e != HP_EFFECT_NONE,
					 (readers & bit) != 0);
			if (e != HP_EFFECT_NONE)
				assert_non_null(hp_effect_text(e));
		}
	}
	assert_int_equal(all, HPDSL_READERS_ALL);
	assert_null(hp_effect_text(HP_EFFECT_NONE));
	assert_string_equal(hpdsl_reader_name(HPDSL_READER_HF), "hf");
	assert_null(hpdsl_reader_name(3));
	assert_null(hpdsl_reader_name(64));
	assert_int_equal(hp_risk_effect(HP_RISK_SAME, HPDSL_READER_WEBDATASET),
			 HP_EFFECT_REFUSES);
	assert_int_equal(hp_risk_effect(HP_RISK_NO_SUFFIX, HPDSL_READER_DALI),
			 HP_EFFECT_SPLITS);
	assert_int_equal(hp_risk_effect(HP_RISK_LONG, HPDSL_READER_WIDS),
			 HP_EFFECT_RENAMES);
	assert_int_equal(hp_risk_effect(HP_RISK_META, HPDSL_READER_ENERGON),
			 HP_EFFECT_DROPS);
	assert_int_equal(hp_risk_effect(HP_RISK_META, 64), HP_EFFECT_NONE);
}

static void test_counts(void **state)
{
	static const struct hp_name names[] = { { "a b.jpg", 7 },
						{ "a b.JPG", 7 } };
	static const struct hp_name fine = { "c.jpg", 5 };
	struct hpdsl_name_risk told[HPDSL_NAME_RISKS];
	struct hp_risk_counts c = { 0 };
	char text[300];
	struct hp_name name = { text, sizeof text };

	(void)state;
	assert_int_equal(hp_risk_counts_add(&c, &fine, 1, 0, NULL), 0);
	assert_int_equal(hp_risk_counts_tell(&c, told), 0);
	assert_int_equal(hp_risk_counts_add(&c, names, 2, 0, NULL), 0);
	assert_int_equal(hp_risk_counts_add(&c, &fine, 1, R(KEY_AGAIN), NULL),
			 0);
	assert_int_equal(c.names, 4);
	assert_int_equal(c.risky, 3);
	assert_int_equal(hp_risk_counts_tell(&c, told), 4);
	assert_string_equal(told[0].reason, "blanks");
	assert_int_equal(told[0].readers, HPDSL_READER_DALI);
	assert_int_equal(told[0].names, 2);
	assert_string_equal(told[0].first, "a b.jpg");
	assert_string_equal(told[1].reason, "upper case in the suffix");
	assert_string_equal(told[1].first, "a b.JPG");
	assert_int_equal(told[2].names, 2);
	assert_string_equal(told[3].first, "c.jpg");

	/* A long example is cut in the middle. */
	memset(text, 'x', sizeof text);
	memcpy(text + sizeof text - 4, ".jpg", 4);
	assert_int_equal(hp_risk_counts_add(&c, &name, 1, 0, NULL), 0);
	assert_int_equal(hp_risk_counts_tell(&c, told), 6);
	assert_true(strlen(told[1].first) < HPDSL_NAME_EXAMPLE);
	assert_non_null(strstr(told[1].first, "xxx...xxx"));
	assert_non_null(strstr(told[1].first, "x.jpg"));
	hp_risk_counts_release(&c);
}

/* Not quadratic, and all of many equal ones are found. */
static void test_many(void **state)
{
	enum { N = 200000 };
	struct hp_name *names = calloc(N, sizeof *names);
	uint32_t *found = calloc(N, sizeof *found);
	char(*text)[24] = calloc(N, sizeof *text);

	(void)state;
	for (int i = 0; i < N; i++) {
		names[i].len =
			(size_t)sprintf(text[i], "a/b.%c%06d",
					i & 1 ? 'X' : 'x', i / 4 * 2 + (i & 2));
		names[i].s = text[i];
	}
	assert_int_equal(hp_risks_find(names, N, found, NULL), 0);
	for (int i = 0; i < N; i++)
		assert_true(found[i] & R(SAME));
	free(text);
	free(found);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_length),
		cmocka_unit_test(test_texts), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
