/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said to a request, for every state of a chunk, every form, all ranges
 * about its borders and every state of the server; and what tools ask for.
 */
#include "serve/decide.h"
#include "serve/local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PLAIN = 10240, STORED = 700 };

/* Which state gives which form, as hpdsl-format(5) has it. */
static bool gives(bool compressed, enum hp_chunk_state s, bool plain)
{
	if (s != HP_CHUNK_READY && s != HP_CHUNK_EXPANDED)
		return false;
	return compressed ? plain == (s == HP_CHUNK_EXPANDED) : plain;
}

static unsigned want(const struct hp_serve_known *k, const struct hp_ask *a)
{
	bool plain = a->kind == HP_ASK_PLAIN;

	if (a->chunk >= k->chunks || !gives(k->compressed, k->state, plain))
		return 404;
	if (a->last >= (plain ? PLAIN : STORED))
		return 416;
	if (k->owes >= k->queue || (k->leaving && k->others))
		return 503;
	return 206;
}

static void test_chunks(void **state)
{
	static const uint64_t last[] = {
		0, 9, STORED - 1, STORED, PLAIN - 1, PLAIN, UINT64_MAX - 1
	};
	unsigned seen[600] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 4 * 2 * 2 * 7 * 3 * 2 * 2 * 2; i++) {
		struct hp_serve_known k = { .chunks = 3,
					    .bytes = STORED,
					    .plain_bytes = PLAIN,
					    .queue = 100 };
		struct hp_ask a = { .method = HP_ASK_GET };
		struct hp_serve_says s;
		unsigned at = i;

		k.state = (enum hp_chunk_state)(at % 4), at /= 4;
		k.compressed = at % 2, at /= 2;
		a.kind = at % 2 ? HP_ASK_PLAIN : HP_ASK_STORED, at /= 2;
		a.last = last[at % 7], at /= 7;
		k.owes = 50 + at % 3 * 50, at /= 3;
		k.leaving = at % 2, at /= 2;
		k.others = at % 2, at /= 2;
		a.chunk = at % 2 ? 3 : 2;
		a.first = a.last > 5 ? a.last - 5 : 0;
		s = hp_serve_decide(&k, HP_ASKED_WELL, &a);
		assert_int_equal(s.status, want(&k, &a));
		assert_int_equal(s.retry != 0, s.status == 503);
		seen[s.status]++;
		if (s.status != 206)
			continue;
		assert_int_equal(s.offset, a.first);
		assert_int_equal(s.length, a.last - a.first + 1);
		assert_int_equal(s.plain, a.kind == HP_ASK_PLAIN);
	}
	assert_true(seen[206] && seen[404] && seen[416] && seen[503]);
}

static void test_others(void **state)
{
	const struct hp_serve_known k = { .chunks = 9,
					  .owes = 5,
					  .queue = 1,
					  .leaving = true,
					  .others = true };
	struct hp_ask a = { .kind = HP_ASK_HAVE };

	(void)state;
	/* Also one that leaves says what it has. */
	assert_int_equal(hp_serve_decide(&k, 0, &a).status, 200);
	assert_int_equal(hp_serve_decide(&k, 0, &a).length, 3);
	a.kind = HP_ASK_STATUS;
	assert_int_equal(hp_serve_decide(&k, 0, &a).status, 200);
	for (int code = 403; code < 417; code++)
		assert_int_equal(hp_serve_decide(&k, code, &a).status, code);
}

static void test_have(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		enum hp_chunk_state s = i / 2;
		enum hp_have h = hp_serve_have(i % 2, s);

		assert_int_equal(h == HP_HAVE_PLAIN, gives(i % 2, s, true));
		assert_int_equal(h == HP_HAVE_STORED, gives(i % 2, s, false));
		assert_int_equal(h == HP_HAVE_COMING, s == HP_CHUNK_COMING);
	}
}

/* ---- Tools ------------------------------------------------------------ */

static void test_names(void **state)
{
	static const struct {
		const char *path, *name;
	} row[] = {
		{ "/chunk-000007.tar", "chunk-000007.tar" },
		{ "/a%20b/c.tar", "a b/c.tar" },
		{ "/%e4%C3.tar", "\xe4\xc3.tar" },
		{ "/x.tar?download=1", "x.tar" },
		{ "http://x/chunk-1.tar", "chunk-1.tar" },
		{ "HTTP://a:80/b", "b" },
		{ "/%2e%2e/b", "../b" },
		{ "", NULL },
		{ "/", NULL },
		{ "x", NULL },
		{ "http://x", NULL },
		{ "/%", NULL },
		{ "/%4", NULL },
		{ "/%zz", NULL },
		{ "/a%00b", NULL },
		{ "/?a", NULL },
		{ "/0123456789012345678901234567890123456789", NULL },
	};
	char name[40];

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		bool is = hp_local_name(row[i].path, name, sizeof name);

		if (is != (row[i].name != NULL))
			fail_msg("%s", row[i].path);
		if (is)
			assert_string_equal(name, row[i].name);
	}
}

static void test_ranges(void **state)
{
	static const struct {
		const char *text;
		enum hp_local_range is;
		uint64_t first, last; /* of 100 bytes */
	} row[] = {
		{ NULL, HP_RANGE_NONE, 0, 0 },
		{ "bytes=0-0", HP_RANGE_SOME, 0, 0 },
		{ "bytes=10-", HP_RANGE_SOME, 10, 99 },
		{ "Bytes=10-19", HP_RANGE_SOME, 10, 19 },
		{ "bytes=99-1000", HP_RANGE_SOME, 99, 99 },
		{ "bytes=5-99999999999999999999999", HP_RANGE_SOME, 5, 99 },
		{ "bytes=-1", HP_RANGE_SOME, 99, 99 },
		{ "bytes=-1000", HP_RANGE_SOME, 0, 99 },
		{ "bytes=100-", HP_RANGE_BAD, 0, 0 },
		{ "bytes=99999999999999999999999-", HP_RANGE_BAD, 0, 0 },
		{ "bytes=-0", HP_RANGE_BAD, 0, 0 },
		{ "bytes=", HP_RANGE_NONE, 0, 0 },
		{ "bytes=-", HP_RANGE_NONE, 0, 0 },
		{ "bytes=9-8", HP_RANGE_NONE, 0, 0 },
		{ "bytes=1-2,4-5", HP_RANGE_NONE, 0, 0 },
		{ "bytes=+1-2", HP_RANGE_NONE, 0, 0 },
		{ "lines=1-2", HP_RANGE_NONE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		uint64_t first = 0, last = 0;
		enum hp_local_range is =
			hp_local_range(row[i].text, 100, &first, &last);

		if (is != row[i].is || first != row[i].first ||
		    last != row[i].last)
			fail_msg("%s", row[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks), cmocka_unit_test(test_others),
		cmocka_unit_test(test_have),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
