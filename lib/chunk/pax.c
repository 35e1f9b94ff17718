/* SPDX-License-Identifier: Apache-2.0 */
/* Records of pax headers: written and taken apart. */
#include "chunk/pax.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The path is bytes, in no known encoding. */
#define BINARY "21 hdrcharset=BINARY\n"

static unsigned decimal_digits(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

/* Length of the pax record "LENGTH KEY=VALUE\n", which counts itself. */
static size_t record_size(size_t key_len, size_t value_len)
{
	size_t rest = key_len + value_len + 3;
	size_t n = rest + decimal_digits(rest);

	return rest + decimal_digits(n);
}

static size_t record_put(uint8_t *out, const char *key, const char *value,
			 size_t value_len)
{
	size_t n = record_size(strlen(key), value_len);
	char head[32];
	int at = snprintf(head, sizeof head, "%zu %s=", n, key);

	memcpy(out, head, (size_t)at);
	memcpy(out + at, value, value_len);
	out[n - 1] = '\n';
	return n;
}

/*
 * Does the path need to be marked as bytes?  It does if it isn't ASCII: a path
 * not so marked is UTF-8 to readers, and libarchive brings UTF-8 into
 * normalization form C, which gives another path.
 */
static bool is_binary(const struct hp_pax *pax)
{
	for (size_t i = 0; i < pax->path_len; i++) {
		if ((uint8_t)pax->path[i] >= 0x80)
			return true;
	}
	return false;
}

size_t hp_pax_size(const struct hp_pax *pax)
{
	size_t n = 0;

	if (pax->path) {
		n += record_size(strlen("path"), pax->path_len);
		if (is_binary(pax))
			n += strlen(BINARY);
	}
	if (pax->has_size)
		n += record_size(strlen("size"), decimal_digits(pax->size));
	return n;
}

void hp_pax_write(const struct hp_pax *pax, uint8_t *out)
{
	char number[24];

	if (pax->path) {
		if (is_binary(pax)) {
			memcpy(out, BINARY, strlen(BINARY));
			out += strlen(BINARY);
		}
		out += record_put(out, "path", pax->path, pax->path_len);
	}
	if (pax->has_size) {
		snprintf(number, sizeof number, "%" PRIu64, pax->size);
		record_put(out, "size", number, strlen(number));
	}
}

bool hp_pax_number(const char *s, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' ||
		    __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return len > 0;
}

size_t hp_pax_record(const char *s, size_t len, struct hp_pax_record *ret)
{
	const char *blank = memchr(s, ' ', len), *equals;
	size_t head;
	uint64_t n;

	if (!blank || !hp_pax_number(s, (size_t)(blank - s), &n) || n > len)
		return 0;
	head = (size_t)(blank - s) + 1;
	if (n <= head || s[n - 1] != '\n')
		return 0;
	equals = memchr(s + head, '=', (size_t)n - head);
	if (!equals)
		return 0;
	ret->key = s + head;
	ret->key_len = (size_t)(equals - ret->key);
	ret->value = equals + 1;
	ret->value_len = (size_t)(s + n - 1 - ret->value);
	return (size_t)n;
}

/* The record at s: its length, or 0 if it is none. */
static size_t read_record(const char *s, size_t len, struct hp_pax *pax)
{
	struct hp_pax_record r;
	size_t n = hp_pax_record(s, len, &r);

	if (!n || r.key_len != 4)
		return n;
	if (memcmp(r.key, "path", 4) == 0) {
		pax->path = r.value;
		pax->path_len = r.value_len;
	} else if (memcmp(r.key, "size", 4) == 0) {
		pax->has_size = hp_pax_number(r.value, r.value_len, &pax->size);
	}
	return n;
}

int hp_pax_read(const uint8_t *data, size_t n, struct hp_pax *ret)
{
	struct hp_pax pax = { 0 };

	for (size_t at = 0, step; at < n; at += step) {
		step = read_record((const char *)data + at, n - at, &pax);
		if (step == 0)
			return -1;
	}
	*ret = pax;
	return 0;
}
