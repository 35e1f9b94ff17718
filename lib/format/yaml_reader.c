/* SPDX-License-Identifier: Apache-2.0 */
/* Typed values from libyaml's events; nothing in the text is trusted. */
#include "format/yaml_reader.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define BINARY_TAG "tag:yaml.org,2002:binary"

enum { MAX_DEPTH = 64 };

int hp_yaml_bad(struct hp_yaml_reader *r, const char *reason)
{
	return hp_fail(r->err, HPDSL_ECORRUPT, "%s: line %zu: %s", r->name,
		       r->ev.start_mark.line + 1, reason);
}

void hp_yaml_odd(struct hp_yaml_reader *r, const char *reason)
{
	if (r->odd && !r->odd[0])
		snprintf(r->odd, HP_YAML_ODD, "line %zu: %s",
			 r->ev.start_mark.line + 1, reason);
}

int hp_yaml_next(struct hp_yaml_reader *r)
{
	yaml_event_delete(&r->ev);
	if (yaml_parser_parse(&r->yaml, &r->ev)) {
		if (r->ev.type == YAML_ALIAS_EVENT)
			return hp_yaml_bad(r, "aliases are not allowed here");
		return 0;
	}
	if (r->yaml.error == YAML_MEMORY_ERROR)
		return hp_fail_nomem(r->err);
	return hp_fail(r->err, HPDSL_ECORRUPT, "%s: line %zu: %s", r->name,
		       r->yaml.problem_mark.line + 1,
		       r->yaml.problem ? r->yaml.problem : "not YAML");
}

int hp_yaml_skip(struct hp_yaml_reader *r)
{
	int depth = 0;

	for (;;) {
		int k;

		if (r->ev.type == YAML_MAPPING_START_EVENT ||
		    r->ev.type == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (r->ev.type == YAML_MAPPING_END_EVENT ||
			 r->ev.type == YAML_SEQUENCE_END_EVENT)
			depth--;
		if (depth == 0)
			return 0;
		if (depth > MAX_DEPTH)
			return hp_yaml_bad(r, "nested too deeply");
		k = hp_yaml_next(r);
		if (k < 0)
			return k;
	}
}

static bool is_scalar(const struct hp_yaml_reader *r)
{
	return r->ev.type == YAML_SCALAR_EVENT;
}

static bool scalar_is(const struct hp_yaml_reader *r, const char *text)
{
	size_t n = strlen(text);

	return is_scalar(r) && r->ev.data.scalar.length == n &&
	       !memcmp(r->ev.data.scalar.value, text, n);
}

static int base64_digit(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* In place; the new length or -1.  White space is passed over. */
static ssize_t base64_decode(unsigned char *s, size_t n)
{
	unsigned v = 0, bits = 0, digits = 0, padding = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		int d = base64_digit(s[i]);

		if (s[i] == ' ' || s[i] == '\n')
			continue;
		if (s[i] == '=') {
			padding++;
			continue;
		}
		if (d < 0 || padding)
			return -1;
		v = (v << 6 | (unsigned)d) & 0xffff;
		bits += 6;
		digits++;
		if (bits >= 8) {
			bits -= 8;
			s[k++] = (unsigned char)(v >> bits);
		}
	}
	if ((digits + padding) % 4 || padding > 2 || bits == 6 ||
	    (v & ((1u << bits) - 1)))
		return -1;
	return (ssize_t)k;
}

int hp_yaml_text(struct hp_yaml_reader *r, void *into)
{
	const char *tag, *copy;
	ssize_t n;

	if (!is_scalar(r))
		return hp_yaml_bad(r, "text was expected");
	tag = (const char *)r->ev.data.scalar.tag;
	n = (ssize_t)r->ev.data.scalar.length;
	if (tag && !strcmp(tag, BINARY_TAG))
		n = base64_decode(r->ev.data.scalar.value, (size_t)n);
	if (n < 0)
		return hp_yaml_bad(r, "not base64");
	if (memchr(r->ev.data.scalar.value, 0, (size_t)n))
		return hp_yaml_bad(r, "text with a NUL byte");
	copy = hp_arena_add(r->strings, (const char *)r->ev.data.scalar.value,
			    (size_t)n);
	if (!copy)
		return hp_fail_nomem(r->err);
	*(const char **)into = copy;
	return 0;
}

int hp_yaml_number(struct hp_yaml_reader *r, void *into)
{
	const yaml_char_t *s;
	uint64_t v = 0;
	size_t n;

	if (!is_scalar(r))
		return hp_yaml_bad(r, "a number was expected");
	s = r->ev.data.scalar.value;
	n = r->ev.data.scalar.length;
	if (n == 0 || (s[0] == '0' && n > 1))
		return hp_yaml_bad(r, "not a number");
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return hp_yaml_bad(r, "not a number");
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (unsigned)(s[i] - '0'), &v))
			return hp_yaml_bad(r, "the number is too large");
	}
	*(uint64_t *)into = v;
	return 0;
}

int hp_yaml_digest(struct hp_yaml_reader *r, void *into)
{
	if (!is_scalar(r) || hp_unhex128((const char *)r->ev.data.scalar.value,
					 r->ev.data.scalar.length, into))
		return hp_yaml_bad(r, "32 hex digits were expected");
	return 0;
}

int hp_yaml_sha256(struct hp_yaml_reader *r, void *into)
{
	if (!is_scalar(r) || hp_unhex((const char *)r->ev.data.scalar.value,
				      r->ev.data.scalar.length, into, 32))
		return hp_yaml_bad(r, "64 hex digits were expected");
	return 0;
}

int hp_yaml_flag(struct hp_yaml_reader *r, void *into)
{
	if (!scalar_is(r, "true") && !scalar_is(r, "false"))
		return hp_yaml_bad(r, "true or false was expected");
	*(bool *)into = scalar_is(r, "true");
	return 0;
}

int hp_yaml_grow(struct hp_yaml_reader *r, void **v, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (n & (n - 1))
		return 0; /* room is always the next power of two */
	if (__builtin_mul_overflow(n ? 2 * n : 1, size, &bytes))
		return hp_fail_nomem(r->err);
	p = realloc(*v, bytes);
	if (!p)
		return hp_fail_nomem(r->err);
	*v = p;
	return 0;
}

static int find_field(const struct hp_yaml_reader *r,
		      const struct hp_yaml_field *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (scalar_is(r, f[i].key))
			return (int)i;
	}
	return -1;
}

static void note_unknown(struct hp_yaml_reader *r)
{
	struct hp_yaml_map *m = r->map;
	size_t n = r->ev.data.scalar.length;

	if (!m || m->line)
		return;
	if (n >= sizeof m->unknown)
		n = sizeof m->unknown - 1;
	for (size_t i = 0; i < n; i++) {
		yaml_char_t c = r->ev.data.scalar.value[i];

		m->unknown[i] = c < ' ' || c >= 0x7f ? '?' : (char)c;
	}
	m->unknown[n] = '\0';
	m->line = r->ev.start_mark.line + 1;
}

static int read_field(struct hp_yaml_reader *r, const struct hp_yaml_field *f,
		      size_t n, void *base, uint32_t *seen)
{
	int i = find_field(r, f, n), k;

	if (!is_scalar(r))
		return hp_yaml_bad(r, "a key was expected");
	if (i >= 0 && (*seen & 1u << i))
		return hp_yaml_bad(r, "this key is given twice");
	if (i < 0) {
		note_unknown(r);
		hp_yaml_odd(r, "a key that is not known");
	} else if (*seen >> i) {
		hp_yaml_odd(r, "a key that is not in its place");
	}
	k = hp_yaml_next(r);
	if (k < 0)
		return k;
	if (i < 0)
		return hp_yaml_skip(r);
	*seen |= 1u << i;
	return f[i].read(r, (char *)base + f[i].offset);
}

int hp_yaml_fields(struct hp_yaml_reader *r, const struct hp_yaml_field *f,
		   size_t n, void *base, uint32_t *ret_seen)
{
	uint32_t seen = 0;
	int k;

	if (r->ev.type != YAML_MAPPING_START_EVENT)
		return hp_yaml_bad(r, "a mapping was expected");
	for (;;) {
		k = hp_yaml_next(r);
		if (k < 0)
			return k;
		if (r->ev.type == YAML_MAPPING_END_EVENT)
			break;
		k = read_field(r, f, n, base, &seen);
		if (k < 0)
			return k;
	}
	for (size_t i = 0; i < n; i++) {
		if (f[i].required && !(seen & 1u << i))
			return hp_fail(r->err, HPDSL_ECORRUPT,
				       "%s: '%s' is missing", r->name,
				       f[i].key);
	}
	*ret_seen = seen;
	return 0;
}
