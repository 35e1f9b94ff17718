/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve: what it decides and what it reads, from memory. */
#include "cmd/common/size.c"
#include "cmd/serve/end.c"
#include "cmd/serve/flat.c"
#include "cmd/common/process.c"
#include "cmd/serve/holder.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- When it ends ----------------------------------------------------- */

/* One that has served for long, and was asked just now. */
static struct serve_seen seen(void)
{
	return (struct serve_seen){ .now = 5000, .begun = 100, .asked = 4999 };
}

static void test_goes_on(void **unused)
{
	struct serve_seen s = seen();

	(void)unused;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	/* nobody has to ask anything of one that has a launcher */
	s.asked = 0;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	s.deadline = 5001;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	assert_null(serve_end_text(SERVE_GOES_ON, 0));
}

static void test_ends(void **unused)
{
	struct serve_seen s = seen();

	(void)unused;
	s.gone = true;
	assert_int_equal(serve_end_of(&s), SERVE_GONE);
	s.deadline = 5000;
	assert_int_equal(serve_end_of(&s), SERVE_DEADLINE);
	s.orphan = true;
	assert_int_equal(serve_end_of(&s), SERVE_ORPHAN);
	s.signal = SIGINT;
	assert_int_equal(serve_end_of(&s), SERVE_SIGNAL);
	assert_string_equal(serve_end_text(SERVE_SIGNAL, SIGINT),
			    "ended by SIGINT");
}

static void test_detached(void **unused)
{
	struct serve_seen s = seen();

	(void)unused;
	s.detached = s.orphan = true;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	s.idle = 600;
	s.asked = s.now - 600;
	assert_int_equal(serve_end_of(&s), SERVE_IDLE);
	s.detached = s.orphan = false; /* one with a launcher has its end */
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	s.detached = s.orphan = true;
	s.idle = 0;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	s.idle = 601;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	s.idle = 600;
	s.owes = 1;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	/* never asked: it counts from the beginning */
	s.owes = 0;
	s.asked = 0;
	s.begun = s.now - 599;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
}

static void test_drain(void **unused)
{
	struct serve_seen s = seen();

	(void)unused;
	s.drain = s.now - SERVE_QUIET_FOR;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	s.asked = s.drain - 1;
	assert_int_equal(serve_end_of(&s), SERVE_DRAINED);
	s.owes = 1;
	assert_int_equal(serve_end_of(&s), SERVE_GOES_ON);
	/* not for ever, whoever asks */
	s.asked = s.now;
	s.drain = s.now - SERVE_DRAIN_MOST;
	assert_int_equal(serve_end_of(&s), SERVE_DRAINED);
}

/* ---- Who it is -------------------------------------------------------- */

static void test_holder(void **unused)
{
	const struct serve_holder h = { .pid = 4711,
					.start = UINT64_C(1) << 60,
					.since = 1795694679,
					.host = "nid7" };
	struct serve_holder back;
	char text[256];

	(void)unused;
	assert_in_range(serve_holder_format(&h, text, sizeof(text)), 1, 200);
	assert_true(serve_holder_parse(text, &back));
	assert_int_equal(back.pid, h.pid);
	assert_int_equal(back.start, h.start);
	assert_int_equal(back.since, h.since);
	assert_string_equal(back.host, h.host);
	/* cut off anywhere it is none */
	for (size_t n = strlen(text); n--;) {
		text[n] = '\0';
		assert_false(serve_holder_parse(text, &back));
	}
	assert_false(serve_holder_parse(
		"pid 1 on x since 2026-11-26 12:00:00 UTC (1, start 5)\n",
		&back));
	assert_false(serve_holder_parse(
		"pid 7 on x since 2026-11-26 12:00:00 UTC (1, start 0)\n",
		&back));
}

static void test_start(void **unused)
{
	static const char fields[] =
		"S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21";
	char text[256];
	uint64_t start = 0;

	(void)unused;
	snprintf(text, sizeof(text), "4711 (a) S 1 (b) %s", fields);
	assert_true(cmd_start_of(text, &start));
	assert_int_equal(start, 777);
	*strrchr(text, 'S') = 'Z';
	assert_false(cmd_start_of(text, &start));
	assert_false(cmd_start_of("4711 (a) S 1 2", &start));
	assert_false(cmd_start_of("", &start));
	assert_true(cmd_process_start(getpid()) > 0);
}

/* ---- What it says ----------------------------------------------------- */

static void test_field(void **unused)
{
	static const char json[] = "{\"a\": 12, \"b\":null , \"c\": "
				   "\"x\\\"y\\\\z\\n\\u0041\\u00e9\","
				   " \"d\": \"a\\\": 5\", \"e\": true}\n";
	char text[32];

	(void)unused;
	assert_true(serve_field(json, "a", text, sizeof(text)));
	assert_string_equal(text, "12");
	assert_true(serve_field(json, "b", text, sizeof(text)));
	assert_string_equal(text, "null");
	assert_true(serve_field(json, "c", text, sizeof(text)));
	assert_string_equal(text, "x\"y\\z\nA?");
	assert_true(serve_field(json, "e", text, sizeof(text)));
	assert_string_equal(text, "true");
	assert_false(serve_field(json, "f", text, sizeof(text)));
	assert_false(serve_field(json, "c", text, 3));
}

/* Whatever is cut off, or is another thing. */
static void test_no_field(void **unused)
{
	static const char json[] = "{\"a\": \"\\u0041\", \"z\": 5}";
	char text[32];

	(void)unused;
	for (size_t n = 0; n < strlen(json) - 1; n++) {
		/* of just this size, for who looks behind it */
		char *cut = strndup(json, n);

		assert_non_null(cut);
		serve_field(cut, "z", text, sizeof(text));
		assert_false(serve_field(cut, "y", text, sizeof(text)));
		free(cut);
	}
	assert_false(serve_field("", "a", text, sizeof(text)));
	assert_false(serve_field("[1]", "a", text, sizeof(text)));
	assert_false(serve_field("{\"a\" 1}", "a", text, sizeof(text)));
	assert_false(serve_field("{\"a\": \"\\u00g0\"}", "a", text, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_holder),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_field),
		cmocka_unit_test(test_no_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
