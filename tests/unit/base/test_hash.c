/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums: pieces give what the whole gives; digests as text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"

#define SIZE 4096

/* Every size around the 240 bytes where the two checksums part, in halves. */
static void pieces_equal_whole(void **state)
{
	uint8_t buf[SIZE];

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		buf[i] = (uint8_t)(i * 131 + i / 251);
	for (size_t n = 0; n <= SIZE; n += n < 500 ? 1 : 97) {
		struct hp_content_hash whole, parts;
		struct hp_content_state s;

		hp_content_hash(buf, n, &whole);
		hp_content_begin(&s);
		hp_content_update(&s, buf, n / 3);
		hp_content_update(&s, buf + n / 3, n - n / 3);
		hp_content_end(&s, &parts);
		assert_int_equal(whole.low64, parts.low64);
		assert_memory_equal(whole.full, parts.full, 16);
		assert_int_equal(whole.low64, hp_hash64(buf, n));
		hp_hash128(buf, n, parts.full);
		assert_memory_equal(whole.full, parts.full, 16);
	}
}

/* XXH3 of nothing, as xxhsum -H2 and -H3 print it. */
static void known_values(void **state)
{
	struct hp_content_hash h;
	char text[33];

	(void)state;
	hp_content_hash("", 0, &h);
	hp_hex128(h.full, text);
	assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
	assert_int_equal(h.low64, 0x2d06800538d394c2);
}

static void hex_and_back(void **state)
{
	uint8_t in[16], out[16];
	char text[33];

	(void)state;
	for (int i = 0; i < 16; i++)
		in[i] = (uint8_t)(i * 17 + 3);
	hp_hex128(in, text);
	assert_int_equal(hp_unhex128(text, 32, out), 0);
	assert_memory_equal(in, out, 16);
	assert_int_equal(hp_unhex128(text, 31, out), -1);
	text[5] = 'g';
	assert_int_equal(hp_unhex128(text, 32, out), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_equal_whole),
		cmocka_unit_test(known_values),
		cmocka_unit_test(hex_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
