/* SPDX-License-Identifier: Apache-2.0 */
/* What commands add to the library's texts, and to whose. */
#include "cmd/common/advice.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static char name[40], text[200];

static const char *advised(const char *command, const char *said, size_t cap)
{
	snprintf(name, sizeof(name), "hpdsl-%s", command);
	program_invocation_short_name = name;
	snprintf(text, sizeof(text), "%s", said);
	cmd_advise(text, cap);
	return text;
}

static void is(const char *command, const char *said, const char *want)
{
	assert_string_equal(advised(command, said, sizeof(text)), want);
}

static void test_ends(void **state)
{
	(void)state;
	is("ls", "x: an unfinished pack",
	   "x: an unfinished pack (hpdsl-pack --resume completes it)");
	is("pack", "x: a packed dataset is there",
	   "x: a packed dataset is there; --force replaces it");
	/* There --force is something else. */
	is("index", "x: a packed dataset is there",
	   "x: a packed dataset is there");
	is("stage", "node 1 has room for 1 GiB of the 2 GiB planned for it",
	   "node 1 has room for 1 GiB of the 2 GiB planned for it "
	   "(--mode=auto stages what fits)");
	is("pack", "an unfinished pack is there, too",
	   "an unfinished pack is there, too");
	is("ls", "", "");
	is("pack", "in/a: link leads outside the input: /x",
	   "in/a: link leads outside the input: /x (--symlinks=follow-all "
	   "follows it; in an archive, leaves it out)");
	is("pack", "two files would become 'x': one from a, one from b",
	   "two files would become 'x': one from a, one from b "
	   "(--prefix-input puts the name of each INPUT in front)");
	is("pack",
	   "two files would become 'x': one from a/d, one from b/d, which have "
	   "one name: rename one of them",
	   "two files would become 'x': one from a/d, one from b/d, which have "
	   "one name: rename one of them");
	is("pack", "'q' would be a file, from a, and a folder, from b",
	   "'q' would be a file, from a, and a folder, from b "
	   "(--prefix-input puts the name of each INPUT in front)");
	is("pack", "'q' would be a file and a folder, both from a.tar",
	   "'q' would be a file and a folder, both from a.tar "
	   "(--exclude=GLOB leaves one out)");
	is("verify", "in/a: dangling link to x", "in/a: dangling link to x");
}

static void test_options(void **state)
{
	(void)state;
	is("pack", "chunk_size is 1 now, was 2",
	   "--chunk-size is 1 now, was 2");
	is("pack", "meta 'a' is not of the form KEY=VALUE",
	   "--meta 'a' is not of the form KEY=VALUE");
	is("pack", "cls needs classes", "--cls needs classes: see --labels");
	is("verify", "seed is 1 now, was 2", "seed is 1 now, was 2");
	is("pack", "in: is gone now, was there", "in: is gone now, was there");
	is("pack", " is 1 now, was 2", " is 1 now, was 2");
}

/* Cut like any text, never longer than its room. */
static void test_room(void **state)
{
	(void)state;
	assert_string_equal(advised("pack", "cls needs classes", 21),
			    "cls needs classes: s");
	assert_string_equal(advised("pack", "seed is 1 now, was 2", 22),
			    "seed is 1 now, was 2");
	assert_string_equal(advised("pack", "seed is 1 now, was 2", 23),
			    "--seed is 1 now, was 2");
}

/* Each row: it is added once, to its end. */
static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
		char said[120];

		snprintf(said, sizeof(said), "'x' and %s", advice[i].end);
		advised(advice[i].of ? advice[i].of : "cat", said,
			sizeof(text));
		assert_memory_equal(text, said, strlen(said));
		assert_string_equal(text + strlen(said), advice[i].add);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
