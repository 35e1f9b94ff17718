/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an answer: what is understood of them, and what is not there. */
#include "http/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hp_head h;

/* All lines; was the last one the end of it? */
static bool read_head(const char *text)
{
	bool whole = false;

	memset(&h, 0, sizeof h);
	while (*text) {
		const char *end = strchr(text, '\n');
		const size_t n = end ? (size_t)(end - text) + 1 : strlen(text);

		whole = hp_head_line(&h, text, n);
		text += n;
	}
	return whole;
}

static void an_answer(void **state)
{
	(void)state;
	assert_true(read_head("HTTP/1.1 206 Partial Content\r\n"
			      "content-LENGTH:   17 \t\r\n"
			      "Content-Range: bytes 0-16/99\r\n"
			      "ETag: \"ab\"\r\n"
			      "Server: none: at all\r\n"
			      "HPDSL: v1 2 3 4\r\n"
			      "\r\n"));
	assert_int_equal(h.status, 206);
	assert_string_equal(hp_head_get(&h, HP_HEAD_LENGTH), "17");
	assert_string_equal(hp_head_get(&h, HP_HEAD_RANGE), "bytes 0-16/99");
	assert_string_equal(hp_head_get(&h, HP_HEAD_TAG), "\"ab\"");
	assert_string_equal(hp_head_get(&h, HP_HEAD_OWN), "v1 2 3 4");
	assert_null(hp_head_get(&h, HP_HEAD_ENCODING));
	/* what comes after it is no part of it */
	assert_false(hp_head_line(&h, "ETag: x\r\n", 9));
	assert_string_equal(hp_head_get(&h, HP_HEAD_TAG), "\"ab\"");
}

static void what_is_odd_is_not_there(void **state)
{
	char longer[HP_HEAD_VALUE + 64] = "HTTP/1.1 200 X\r\nETag: ";
	const size_t n = strlen(longer);

	(void)state;
	assert_true(read_head("HTTP/1.1 200 X\r\nETag: a\r\nETag: a\r\n\r\n"));
	assert_null(hp_head_get(&h, HP_HEAD_TAG));
	assert_true(read_head("HTTP/1.1 200 X\r\nETag: a\r\n b\r\n\r\n"));
	assert_null(hp_head_get(&h, HP_HEAD_TAG));
	assert_true(read_head("HTTP/1.1 200 X\r\nETag : a\r\n\r\n"));
	assert_null(hp_head_get(&h, HP_HEAD_TAG));
	assert_true(read_head("HTTP/1.1 200 X\r\nETag:\r\n\r\n"));
	assert_string_equal(hp_head_get(&h, HP_HEAD_TAG), "");
	/* the longest, and one more */
	memset(longer + n, 'x', HP_HEAD_VALUE - 1);
	memcpy(longer + n + HP_HEAD_VALUE - 1, "\r\n\r\n", 5);
	assert_true(read_head(longer));
	assert_int_equal(strlen(hp_head_get(&h, HP_HEAD_TAG)),
			 HP_HEAD_VALUE - 1);
	memcpy(longer + n + HP_HEAD_VALUE - 1, "x\r\n\r\n", 6);
	assert_true(read_head(longer));
	assert_null(hp_head_get(&h, HP_HEAD_TAG));
}

static void an_encoding_counts_whatever_it_is(void **state)
{
	(void)state;
	assert_true(read_head("HTTP/1.1 200 X\r\nContent-Encoding: a\r\n"
			      "Content-Encoding: b\r\n\r\n"));
	assert_non_null(hp_head_get(&h, HP_HEAD_ENCODING));
	assert_true(read_head("HTTP/1.1 200 X\r\nContent-Encoding:\r\n\r\n"));
	assert_non_null(hp_head_get(&h, HP_HEAD_ENCODING));
}

static void go_on_is_no_answer(void **state)
{
	(void)state;
	assert_false(read_head("HTTP/1.1 100 Continue\r\nETag: a\r\n\r\n"));
	assert_true(read_head("HTTP/1.1 103 Hints\r\nETag: a\r\n\r\n"
			      "HTTP/1.1 404 No\r\n\r\n"));
	assert_int_equal(h.status, 404);
	assert_null(hp_head_get(&h, HP_HEAD_TAG));
}

static void other_words_are_no_status(void **state)
{
	static const char *const lines[] = {
		"HTTP/2 200\r\n\r\n",	   "HTTP/1.1 20\r\n\r\n",
		"HTTP/1.1 2000 X\r\n\r\n", "HTTP/1.1  200 X\r\n\r\n",
		"HTTP/1.x 200 X\r\n\r\n",  "HTTP/1.1 2 0 X\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_true(read_head(lines[i]));
		assert_int_equal(h.status, 0);
	}
	assert_true(read_head("HTTP/1.0 200\r\n\r\n"));
	assert_int_equal(h.status, 200);
}

/* Whatever comes, in blocks that end where the line does. */
static void any_bytes(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const char *const words[] = {
			"HTTP/1.1 ", "ETag",  ":",   " ", "\r",
			"\n",	     "HPDSL", "200", "",  "Content-Encoding"
		};
		char *line;
		size_t n = 0;

		if (round % 10 == 0)
			memset(&h, 0, sizeof h);
		seed = seed * 6364136223846793005 + 1442695040888963407;
		line = malloc(64);
		assert_non_null(line);
		for (unsigned i = 0; i < 4; i++) {
			const char *w = words[(seed >> (20 + 8 * i)) % 10];

			memcpy(line + n, w, strlen(w));
			n += strlen(w);
		}
		line = realloc(line, n ? n : 1);
		hp_head_line(&h, line, n);
		free(line);
		for (int f = 0; f < HP_HEAD_FIELDS; f++)
			if (hp_head_get(&h, (enum hp_head_field)f))
				assert_true(strlen(h.value[f]) < HP_HEAD_VALUE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer),
		cmocka_unit_test(what_is_odd_is_not_there),
		cmocka_unit_test(an_encoding_counts_whatever_it_is),
		cmocka_unit_test(go_on_is_no_answer),
		cmocka_unit_test(other_words_are_no_status),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
