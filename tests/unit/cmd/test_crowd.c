/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve: who goes when there are too many connections. */
#include "cmd/serve/crowd.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct serve_connection all[2 * SERVE_CONNECTIONS];
static struct serve_connection *first;
static unsigned n;
static uint64_t now;

static int begin(void **state)
{
	(void)state;
	first = NULL;
	n = 0;
	return 0;
}

static struct serve_connection *come(uint8_t host, bool proven)
{
	struct serve_connection *c = &all[n++];

	*c = (struct serve_connection){ .next = first, .proven = proven };
	c->ip[15] = host;
	c->came = c->used = ++now;
	first = c;
	return c;
}

/* As many as there is room for; how many that is. */
static unsigned fill(uint8_t host, bool proven, unsigned most)
{
	unsigned i = 0;

	while (i < most) {
		struct serve_connection *c = come(host, proven);

		if (serve_crowd(first, c)) {
			first = c->next;
			break;
		}
		i++;
	}
	return i;
}

static void test_unproven(void **state)
{
	struct serve_connection *honest = come(1, true), *oldest, *c;

	(void)state;
	oldest = come(1, false);
	assert_int_equal(fill(1, false, 1000), SERVE_UNPROVEN - 1);
	c = come(1, false);
	assert_ptr_equal(serve_crowd(first, c), oldest);
	/* the next one goes for the next */
	oldest->shut = true;
	assert_null(serve_crowd(first, c));
	c = come(1, false);
	assert_ptr_equal(serve_crowd(first, c), oldest + 1);
	(oldest + 1)->shut = true;
	/* of others nobody goes, nor who has proven who he is */
	assert_int_equal(fill(2, false, 10), 10);
	assert_false(honest->shut);
}

static void test_proven(void **state)
{
	struct serve_connection *c, *busy, *used;

	(void)state;
	busy = come(1, true);
	used = come(1, true);
	assert_int_equal(fill(1, true, 5000), SERVE_PROVEN - 2);
	busy->busy = 1;
	used->used = ++now;
	c = come(1, true);
	/* the one that was idle longest */
	assert_ptr_equal(serve_crowd(first, c), used + 1);
	/* all others are at work: then the new one */
	for (struct serve_connection *k = first; k; k = k->next)
		k->busy = 1;
	assert_ptr_equal(serve_crowd(first, c), c);
}

static void test_all(void **state)
{
	struct serve_connection *c, *unproven;

	(void)state;
	come(9, true);
	unproven = come(8, false);
	for (uint8_t host = 10; n < SERVE_CONNECTIONS - SERVE_SPARE; host++)
		assert_true(fill(host, true, 800) > 0);
	n = 0;
	for (struct serve_connection *k = first; k; k = k->next)
		n++;
	assert_int_equal(n, SERVE_CONNECTIONS - SERVE_SPARE);
	n = SERVE_CONNECTIONS + 1;
	c = come(99, false);
	/* who has proven nothing goes first, though he came later */
	assert_ptr_equal(serve_crowd(first, c), unproven);
	unproven->shut = true;
	c = come(99, true);
	c->next->proven = true;
	assert_ptr_equal(serve_crowd(first, c), &all[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_unproven, begin),
		cmocka_unit_test_setup(test_proven, begin),
		cmocka_unit_test_setup(test_all, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
