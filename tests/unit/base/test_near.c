/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are near to one that there is not, and what archives are called.
 */
#include "base/archive_name.h"
#include "base/near.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned far(const char *a, const char *b)
{
	unsigned n = hp_distance(a, strlen(a), b, strlen(b));

	assert_int_equal(hp_distance(b, strlen(b), a, strlen(a)), n);
	return n;
}

static void distances(void **state)
{
	char a[200], b[200];

	(void)state;
	assert_int_equal(far("", ""), 0);
	assert_int_equal(far("cat", "cat"), 0);
	assert_int_equal(far("cat", "CAT"), 0);
	assert_int_equal(far("cat", "act"), 1);
	assert_int_equal(far("cat", "ca"), 1);
	assert_int_equal(far("cat", "cart"), 1);
	assert_int_equal(far("cat", "dog"), 3);
	assert_int_equal(far("a/1.jpg", "a/1.jpeg"), 1);
	assert_int_equal(far("", "abc"), 3);
	assert_int_equal(far("kitten", "sitting"), 3);
	/* the same at both ends costs nothing, however long it is */
	memset(a, 'x', sizeof a);
	memset(b, 'x', sizeof b);
	b[100] = 'y';
	assert_int_equal(hp_distance(a, 200, b, 200), 1);
	assert_int_equal(hp_distance(a, 200, b, 120), 81);
	assert_int_equal(hp_distance(a, 200, "", 0), 200);
}

static const char *list(const char *want, const char *const *names, size_t n,
			char buf[HP_NEAR_TEXT])
{
	struct hp_near near;

	hp_near_begin(&near, want, strlen(want));
	for (size_t i = 0; i < n; i++)
		hp_near_add(&near, names[i], strlen(names[i]));
	return hp_near_list(&near, buf);
}

#define LIST(want, ...)                                                     \
	list(want, (const char *const[]){ __VA_ARGS__ },                    \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
	     buf)

static void lists(void **state)
{
	char buf[HP_NEAR_TEXT], long_name[HP_NEAR_NAME + 1];
	const char *half[2] = { long_name, "b" };

	(void)state;
	assert_string_equal(list("x", NULL, 0, buf), "");
	assert_string_equal(LIST("x", "b", "a", "b", "a\n"),
			    "'a', 'a\\n', 'b'");
	assert_string_equal(LIST("x", "", "b"), "'', 'b'");
	/* more than are kept: the nearest, whatever their order was */
	assert_string_equal(
		LIST("cta", "k", "j", "i", "h", "g", "f", "e", "d", "cat"),
		"'cat', 'd', 'e', 'f', 'g', 'h', 'i', 'j' and others");
	assert_string_equal(
		LIST("cta", "cat", "d", "e", "f", "g", "h", "i", "j", "k"),
		"'cat', 'd', 'e', 'f', 'g', 'h', 'i', 'j' and others");
	memset(long_name, 'x', sizeof long_name);
	long_name[HP_NEAR_NAME] = '\0';
	list("x", half, 2, buf);
	assert_int_equal(strspn(buf + strlen("'b', '"), "x"), HP_NEAR_NAME - 3);
	assert_string_equal(strrchr(buf, '.') - 1, "..'");
	/* the only one there is, cut between two letters */
	memcpy(long_name + HP_NEAR_NAME - 4, "\xc3\xa4", 2);
	list("x", half, 1, buf);
	assert_int_equal(strspn(buf + 1, "x"), HP_NEAR_NAME - 4);
	assert_string_equal(buf + 1 + HP_NEAR_NAME - 4, "..'");
}

static void many_long_names_fit(void **state)
{
	char buf[HP_NEAR_TEXT], name[HP_NEAR_NAME];
	struct hp_near near;

	(void)state;
	hp_near_begin(&near, "", 0);
	memset(name, '\n', sizeof name);
	for (size_t i = 0; i < HP_NEAR_NAMES; i++)
		hp_near_add(&near, name, sizeof name - 1 - i);
	hp_near_list(&near, buf);
	assert_true(strlen(buf) < sizeof buf);
	assert_string_equal(buf + strlen(buf) - 11, " and others");
}

/* What hpdsl-pack takes, by the names that people give it. */
static void archive_names(void **state)
{
	static const struct {
		const char *name;
		size_t suffix;
		bool packed, read;
	} cases[] = {
		{ "a.tar", 4, false, true },	  { "a.TAR", 4, false, false },
		{ "a.tar.gz", 7, true, true },	  { "a.b.tgz", 4, true, true },
		{ "a.tar.lz", 7, true, false },	  { "a.tlz", 4, true, false },
		{ "a.Tar.Lzma", 9, true, false }, { "a.7z", 3, true, false },
		{ "a.zip", 4, true, false },	  { "d/.tar", 0, false, false },
		{ ".tar", 0, false, false },	  { "tar", 0, false, false },
		{ "a.tar.x", 0, false, false },	  { "", 0, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *s = cases[i].name;

		assert_int_equal(hp_archive_suffix(s, strlen(s)),
				 cases[i].suffix);
		assert_int_equal(hp_archive_is_packed(s, strlen(s)),
				 cases[i].packed);
		assert_int_equal(hp_archive_is_read(s, strlen(s)),
				 cases[i].read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(lists),
		cmocka_unit_test(many_long_names_fit),
		cmocka_unit_test(archive_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
