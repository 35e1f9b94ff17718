/* SPDX-License-Identifier: Apache-2.0 */
/* What --plan says of nodes that serve each other, in words and in numbers. */
#include "cmd/stage/plan_peers.c"

#include "cmd/common/size.c"
#include "spread/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- In place of what prints ------------------------------------------ */

static char said[400];

void cmd_print(const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said + n, sizeof said - n, fmt, ap);
	va_end(ap);
}

void cmd_json_real(struct cmd_json *j, const char *name, double v)
{
	(void)j;
	cmd_print("%s %g ", name, v);
}

void cmd_json_null(struct cmd_json *j, const char *name)
{
	(void)j;
	cmd_print("%s null ", name);
}

/* A plan is known by its number of parts alone. */
static const char *text(struct plan_view *v, uint32_t of_parts, bool json)
{
	struct hpdsl_stage_plan plan = { .parts = of_parts };
	struct cmd_json j = { .out = NULL };

	v->plan = &plan;
	said[0] = '\0';
	if (json)
		plan_json_peers(v, &j);
	else
		plan_print_peers(v);
	return said;
}

/* ---- Tests ------------------------------------------------------------ */

static void test_numbers(void **unused)
{
	struct plan_peers p = { .copies = 77 };

	(void)unused;
	assert_false(plan_peers(1, 1, 1e9, &p));
	assert_false(plan_peers(1, 4, 1e9, &p));
	assert_false(plan_peers(8, 1, 1e9, &p));
	assert_int_equal(p.copies, 77);
	assert_true(plan_peers(16, 16, 1e9, &p));
	assert_int_equal(p.copies, 1);
	assert_float_equal(p.rate, 0.81e9, 1);
	assert_true(plan_peers(64, 32, 1e9, &p));
	assert_int_equal(p.copies, 2);
	assert_float_equal(p.rate, 0.91e9, 1);
	/* More parts than nodes, and borders of parts inside nodes. */
	assert_true(plan_peers(16, 24, 1e9, &p));
	assert_int_equal(p.copies, 1);
	assert_true(plan_peers(16, 9, 1e9, &p));
	assert_int_equal(p.copies, 1);
	assert_true(plan_peers(16, 16, 0, &p));
	assert_true(p.rate == 0 && p.efficiency == 0.81);
}

static void test_words(void **unused)
{
	struct plan_view v = { .nodes = 16, .rates.link = 1250e6 };

	(void)unused;
	plan_find_link(&v, NULL);
	assert_true(v.link == 1250e6);
	assert_string_equal(text(&v, 16, false),
			    "peers: about 965.6 MiB/s a node, 0.81 of its "
			    "link (1.2 GiB/s)\n");
	assert_string_equal(text(&v, 16, true),
			    "peer_efficiency 0.81 peer_rate 1.0125e+09 ");
	assert_string_equal(text(&v, 1, false), "");
	assert_string_equal(text(&v, 1, true),
			    "peer_efficiency null peer_rate null ");
	v.link = 0;
	assert_string_equal(text(&v, 8, false),
			    "peers: about 0.92 of a node's link, whose speed "
			    "is not known\n");
	assert_string_equal(text(&v, 8, true),
			    "peer_efficiency 0.92 peer_rate null ");
	/* Nothing is known of what is not there. */
	v = (struct plan_view){ .nodes = 16 };
	plan_find_link(&v, "no-such");
	assert_true(v.link == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
