/* SPDX-License-Identifier: Apache-2.0 */
/* A field of a JSON object: text and whole numbers, and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/json_field.h"

#include <stdlib.h>
#include <string.h>

static void has(const char *text, const char *want)
{
	/* no byte behind the text is looked at */
	size_t n = strlen(text);
	char *copy = malloc(n ? n : 1);
	struct hp_text got = { 0 };
	bool found;

	memcpy(copy, text, n);
	found = hp_json_field(copy, n, "label", &got);
	assert_int_equal(found, want != NULL);
	if (want) {
		assert_int_equal(got.n, strlen(want));
		assert_memory_equal(got.p, want, got.n);
	}
	hp_text_release(&got);
	free(copy);
}

static void test_found(void **state)
{
	(void)state;
	has("{\"label\": 3}", "3");
	has("\xef\xbb\xbf \t{ \"a\":[1,{\"label\":2},\"]\"],\"label\" "
	    ":\"cat\"\n}",
	    "cat");
	has("{\"label\":-1,\"z\":null}", "-1");
	has("{\"label\":0}", "0");
	has("{\"label\":\"1.5\"}", "1.5");
	has("{\"la\\u0062el\":\"\\u00e9\\ud83d\\ude00\\u20AC\\\"\\\\\\/\\n\"}",
	    "\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac\"\\/\n");
	/* of two the last one */
	has("{\"label\":1,\"label\":\"x\"}", "x");
	has("{\"x\":true,\"y\":-1.5e3,\"z\":{},\"label\":7}", "7");
}

static void test_none(void **state)
{
	static const char *const none[] = {
		"",
		"{}",
		"[\"label\"]",
		"\"label\"",
		"{\"Label\":1}",
		"{\"a\":{\"label\":1}}",
		"{\"label\":1.5}",
		"{\"label\":1e2}",
		"{\"label\":01}",
		"{\"label\":-}",
		"{\"label\":null}",
		"{\"label\":true}",
		"{\"label\":[1]}",
		"{\"label\":{\"label\":1}}",
		"{\"label\":\"\"}",
		"{\"label\":1,\"label\":null}",
		"{\"label\":1",
		"{\"label\":\"x",
		"{\"label\":\"x\\",
		"{\"label\":\"\\u00",
		"{\"label\":\"\\u0000\"}",
		"{\"label\":\"\\ud800\"}",
		"{\"label\":\"\\ud800\\u0041\"}",
		"{\"label\":\"\\udc00\"}",
		"{\"label\":\"\\x\"}",
		"{\"label\" 1}",
		"{\"label\":}",
		"{\"label\":[",
		"{label:1}",
		"{",
	};

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		has(none[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
