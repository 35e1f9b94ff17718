/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest from text.  The checksum is looked at before anything is read,
 * so damage never gets as far as the YAML; a text made on purpose does, and is
 * held to limits: no aliases, bounded depth, every number in its range, names
 * of files that are plain names.
 */
#include "manifest.h"

#include "error.h"
#include "hash.h"
#include "list.h"
#include "mem.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#define FIRST_LINE "format: hpdsl-dataset\n"
#define LAST_LINE "checksum: "
#define LAST_LINE_BYTES 43 /* with 32 hex digits and the newline */
#define BINARY_TAG "tag:yaml.org,2002:binary"

enum { MAX_DEPTH = 64, MAX_CHUNKS = 1000000, MAX_NAME = 255 };

struct reader {
	yaml_parser_t yaml;
	yaml_event_t ev; /* the one being looked at */
	const char *name;
	struct hp_arena *strings;
	struct hpdsl_error *err;
};

/*
 * One key of a mapping.  read finds the value's first event in r->ev and leaves
 * its last one there; into is offset bytes into the struct being filled.
 */
struct field {
	const char *key;
	int (*read)(struct reader *r, void *into);
	size_t offset;
	bool required;
};

static int bad(struct reader *r, const char *reason)
{
	return hp_fail(r->err, HPDSL_ECORRUPT, "%s: line %zu: %s", r->name,
		       r->ev.start_mark.line + 1, reason);
}

static int next(struct reader *r)
{
	yaml_event_delete(&r->ev);
	if (yaml_parser_parse(&r->yaml, &r->ev)) {
		if (r->ev.type == YAML_ALIAS_EVENT)
			return bad(r, "aliases are not allowed here");
		return 0;
	}
	if (r->yaml.error == YAML_MEMORY_ERROR)
		return hp_fail_nomem(r->err);
	return hp_fail(r->err, HPDSL_ECORRUPT, "%s: line %zu: %s", r->name,
		       r->yaml.problem_mark.line + 1,
		       r->yaml.problem ? r->yaml.problem : "not YAML");
}

/* Passes over a value of any kind. */
static int skip(struct reader *r)
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
			return bad(r, "nested too deeply");
		k = next(r);
		if (k < 0)
			return k;
	}
}

static bool is_scalar(const struct reader *r)
{
	return r->ev.type == YAML_SCALAR_EVENT;
}

static bool scalar_is(const struct reader *r, const char *text)
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

/* Text without NUL bytes. */
static int read_text(struct reader *r, void *into)
{
	const char *tag, *copy;
	ssize_t n;

	if (!is_scalar(r))
		return bad(r, "text was expected");
	tag = (const char *)r->ev.data.scalar.tag;
	n = (ssize_t)r->ev.data.scalar.length;
	if (tag && !strcmp(tag, BINARY_TAG))
		n = base64_decode(r->ev.data.scalar.value, (size_t)n);
	if (n < 0)
		return bad(r, "not base64");
	if (memchr(r->ev.data.scalar.value, 0, (size_t)n))
		return bad(r, "text with a NUL byte");
	copy = hp_arena_add(r->strings, (const char *)r->ev.data.scalar.value,
			    (size_t)n);
	if (!copy)
		return hp_fail_nomem(r->err);
	*(const char **)into = copy;
	return 0;
}

/* Decimal digits without leading zeros, below 2^64. */
static int read_number(struct reader *r, void *into)
{
	const yaml_char_t *s;
	uint64_t v = 0;
	size_t n;

	if (!is_scalar(r))
		return bad(r, "a number was expected");
	s = r->ev.data.scalar.value;
	n = r->ev.data.scalar.length;
	if (n == 0 || (s[0] == '0' && n > 1))
		return bad(r, "not a number");
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return bad(r, "not a number");
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (unsigned)(s[i] - '0'), &v))
			return bad(r, "the number is too large");
	}
	*(uint64_t *)into = v;
	return 0;
}

static int read_digest(struct reader *r, void *into)
{
	if (!is_scalar(r) || hp_unhex128((const char *)r->ev.data.scalar.value,
					 r->ev.data.scalar.length, into))
		return bad(r, "32 hex digits were expected");
	return 0;
}

static int read_flag(struct reader *r, void *into)
{
	if (!scalar_is(r, "true") && !scalar_is(r, "false"))
		return bad(r, "true or false was expected");
	*(bool *)into = scalar_is(r, "true");
	return 0;
}

static int read_version(struct reader *r, void *into)
{
	uint64_t v;
	int k = read_number(r, &v);

	(void)into;
	if (k < 0)
		return k;
	if (v > HP_MANIFEST_VERSION)
		return hp_fail(r->err, HPDSL_ETOONEW,
			       "%s: version %llu is too new for this program",
			       r->name, (unsigned long long)v);
	return v ? 0 : bad(r, "no such version");
}

/* A name in the dataset's directory, and nowhere else. */
static int read_name(struct reader *r, void *into)
{
	const char *s;
	int k = read_text(r, &s);

	if (k < 0)
		return k;
	if (!*s || strlen(s) > MAX_NAME || strchr(s, '/') || !strcmp(s, ".") ||
	    !strcmp(s, ".."))
		return bad(r, "not a file name");
	*(const char **)into = s;
	return 0;
}

/* Makes room in *v, which holds n objects, for one more. */
static int grow(struct reader *r, void **v, size_t n, size_t size)
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

static int add_pair(struct reader *r, struct hp_pairs *p, const char *key)
{
	void *v = p->v;
	int k = grow(r, &v, p->n, sizeof *p->v);

	if (k < 0)
		return k;
	p->v = v;
	p->v[p->n].key = key;
	k = read_text(r, &p->v[p->n].value);
	if (k < 0)
		return k;
	p->n++;
	return 0;
}

static int add_pairs(struct reader *r, struct hp_pairs *p, const char *key)
{
	int k;

	for (;;) {
		k = next(r);
		if (k < 0 || r->ev.type == YAML_SEQUENCE_END_EVENT)
			return k;
		k = add_pair(r, p, key);
		if (k < 0)
			return k;
	}
}

static int by_key(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Pairs of one list share one key string; other equal keys were repeated. */
static int refuse_repeated(struct reader *r, const struct hp_pairs *p)
{
	hp_auto_free const char **keys = hp_array(p->n, sizeof *keys);

	if (!keys)
		return hp_fail_nomem(r->err);
	for (size_t i = 0; i < p->n; i++)
		keys[i] = p->v[i].key;
	qsort(keys, p->n, sizeof *keys, by_key);
	for (size_t i = 1; i < p->n; i++) {
		if (keys[i - 1] != keys[i] && !strcmp(keys[i - 1], keys[i]))
			return bad(r, "a key is given twice before this line");
	}
	return 0;
}

/* lists: a key may have several values. */
static int read_pairs(struct reader *r, struct hp_pairs *p, bool lists)
{
	const char *key;
	int k;

	if (r->ev.type != YAML_MAPPING_START_EVENT)
		return bad(r, "a mapping was expected");
	for (;;) {
		k = next(r);
		if (k < 0)
			return k;
		if (r->ev.type == YAML_MAPPING_END_EVENT)
			return refuse_repeated(r, p);
		k = read_text(r, &key);
		if (k == 0)
			k = next(r);
		if (k < 0)
			return k;
		if (lists && r->ev.type == YAML_SEQUENCE_START_EVENT)
			k = add_pairs(r, p, key);
		else
			k = add_pair(r, p, key);
		if (k < 0)
			return k;
	}
}

static int read_meta(struct reader *r, void *into)
{
	return read_pairs(r, into, false);
}

/* Without seed and meta, which have places of their own. */
static int read_options(struct reader *r, void *into)
{
	struct hp_pairs *p = into;
	int k = read_pairs(r, p, true);
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->v[i].key, "seed") && strcmp(p->v[i].key, "meta"))
			p->v[n++] = p->v[i];
	}
	p->n = n;
	return k;
}

static int read_classes(struct reader *r, void *into)
{
	struct hp_manifest *m = into;
	const char **v = NULL;
	size_t n = 0;
	int k;

	if (r->ev.type != YAML_SEQUENCE_START_EVENT)
		return bad(r, "a list was expected");
	for (;;) {
		k = next(r);
		if (k < 0 || r->ev.type == YAML_SEQUENCE_END_EVENT)
			break;
		k = grow(r, (void **)&v, n, sizeof *v);
		if (k == 0)
			k = read_text(r, &v[n]);
		if (k < 0)
			break;
		n++;
	}
	m->classes = v;
	m->n_classes = n;
	return k;
}

static int find_field(const struct reader *r, const struct field *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (scalar_is(r, f[i].key))
			return (int)i;
	}
	return -1;
}

static int read_field(struct reader *r, const struct field *f, size_t n,
		      void *base, uint32_t *seen)
{
	int i = find_field(r, f, n), k;

	if (!is_scalar(r))
		return bad(r, "a key was expected");
	if (i >= 0 && (*seen & 1u << i))
		return bad(r, "this key is given twice");
	k = next(r);
	if (k < 0)
		return k;
	if (i < 0)
		return skip(r);
	*seen |= 1u << i;
	return f[i].read(r, (char *)base + f[i].offset);
}

/* Fills *base from a mapping; bit i of *ret_seen: field i was there. */
static int read_fields(struct reader *r, const struct field *f, size_t n,
		       void *base, uint32_t *ret_seen)
{
	uint32_t seen = 0;
	int k;

	if (r->ev.type != YAML_MAPPING_START_EVENT)
		return bad(r, "a mapping was expected");
	for (;;) {
		k = next(r);
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

#define FILE_FIELD(key, read, member)                                      \
	{                                                                  \
		key, read, offsetof(struct hp_manifest_file, member), true \
	}

static const struct field file_fields[] = {
	FILE_FIELD("name", read_name, name),
	FILE_FIELD("bytes", read_number, bytes),
	FILE_FIELD("xxh3_128", read_digest, checksum),
	FILE_FIELD("samples", read_number, samples), /* of chunks */
};

static int read_index(struct reader *r, void *into)
{
	uint32_t seen;

	return read_fields(r, file_fields, 3, into, &seen);
}

static int add_chunk(struct reader *r, struct hp_manifest *m)
{
	void *v = m->chunks;
	uint32_t seen;
	int k;

	if (m->n_chunks == MAX_CHUNKS)
		return bad(r, "too many chunks");
	k = grow(r, &v, m->n_chunks, sizeof *m->chunks);
	if (k < 0)
		return k;
	m->chunks = v;
	memset(&m->chunks[m->n_chunks], 0, sizeof *m->chunks);
	k = read_fields(r, file_fields, 4, &m->chunks[m->n_chunks], &seen);
	if (k < 0)
		return k;
	m->n_chunks++;
	return 0;
}

static int read_chunks(struct reader *r, void *into)
{
	int k;

	if (r->ev.type != YAML_SEQUENCE_START_EVENT)
		return bad(r, "a list was expected");
	for (;;) {
		k = next(r);
		if (k < 0 || r->ev.type == YAML_SEQUENCE_END_EVENT)
			return k;
		k = add_chunk(r, into);
		if (k < 0)
			return k;
	}
}

/* For keys whose values were looked at before. */
static int read_known(struct reader *r, void *into)
{
	(void)into;
	return skip(r);
}

#define FIELD(key, read, member, required)                                \
	{                                                                 \
		key, read, offsetof(struct hp_manifest, member), required \
	}

enum { SEED_FIELD = 0 };
static const struct field fields[] = {
	FIELD("seed", read_number, seed, false),
	{ "format", read_known, 0, true },
	{ "version", read_version, 0, true },
	FIELD("dataset_id", read_digest, dataset_id, true),
	FIELD("samples", read_number, samples, true),
	FIELD("members", read_number, members, true),
	FIELD("bytes", read_number, bytes, true),
	FIELD("rebuilt", read_flag, rebuilt, false),
	FIELD("lost", read_text, lost, false),
	FIELD("options", read_options, options, true),
	{ "classes", read_classes, 0, false },
	FIELD("meta", read_meta, meta, false),
	FIELD("index", read_index, index, true),
	{ "chunks", read_chunks, 0, true },
	{ "checksum", read_known, 0, true },
};

static int expect(struct reader *r, yaml_event_type_t type)
{
	int k = next(r);

	if (k < 0)
		return k;
	return r->ev.type == type ? 0 : bad(r, "not a manifest's structure");
}

static int read_document(struct reader *r, struct hp_manifest *m)
{
	uint32_t seen;
	int k = expect(r, YAML_STREAM_START_EVENT);

	if (k == 0)
		k = expect(r, YAML_DOCUMENT_START_EVENT);
	if (k == 0)
		k = next(r);
	if (k == 0)
		k = read_fields(r, fields, sizeof fields / sizeof fields[0], m,
				&seen);
	if (k == 0)
		k = expect(r, YAML_DOCUMENT_END_EVENT);
	if (k == 0)
		k = expect(r, YAML_STREAM_END_EVENT);
	if (k == 0)
		m->has_seed = seen & 1u << SEED_FIELD;
	return k;
}

static int check_sums(const struct hp_manifest *m, const char *name,
		      struct hpdsl_error *err)
{
	uint64_t n = 0;
	bool over = false;

	for (size_t i = 0; i < m->n_chunks; i++)
		over |= __builtin_add_overflow(n, m->chunks[i].samples, &n);
	if (over || n != m->samples)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: the chunks' samples do not add up", name);
	return 0;
}

/* First line, last line, and that the latter agrees with what is between. */
static int check_text(const char *text, size_t len, const char *name,
		      struct hpdsl_error *err)
{
	size_t first = sizeof FIRST_LINE - 1, word = sizeof LAST_LINE - 1;
	uint8_t is[16], was[16];
	const char *last;

	if (len < first || memcmp(text, FIRST_LINE, first))
		return hp_fail(err, HPDSL_ENOTOURS, "%s: not an HPDSL manifest",
			       name);
	if (len > HP_MANIFEST_MAX)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: too large", name);
	if (len < first + LAST_LINE_BYTES)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: checksum is missing",
			       name);
	last = text + len - LAST_LINE_BYTES;
	hp_hash128(text, len - LAST_LINE_BYTES, is);
	if (last[-1] != '\n' || memcmp(last, LAST_LINE, word) ||
	    text[len - 1] != '\n' || hp_unhex128(last + word, 32, was) ||
	    memcmp(is, was, sizeof is))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: checksum differs",
			       name);
	return 0;
}

int hp_manifest_parse(const char *text, size_t len, const char *name,
		      struct hp_manifest *ret, struct hpdsl_error *err)
{
	struct reader r = { .name = name, .err = err };
	struct hp_manifest m = { 0 };
	int k = check_text(text, len, name, err);

	if (k < 0)
		return k;
	r.strings = hp_arena_new();
	if (!r.strings || !yaml_parser_initialize(&r.yaml)) {
		hp_arena_free(r.strings);
		return hp_fail_nomem(err);
	}
	m.memory = r.strings;
	yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
	k = read_document(&r, &m);
	yaml_event_delete(&r.ev);
	yaml_parser_delete(&r.yaml);
	if (k == 0)
		k = check_sums(&m, name, err);
	if (k == 0)
		*ret = m;
	else
		hp_manifest_release(&m);
	return k;
}

void hp_manifest_release(struct hp_manifest *m)
{
	if (m->memory) {
		free(m->options.v);
		free(m->meta.v);
		free((void *)(uintptr_t)m->classes);
		free(m->chunks);
		hp_arena_free(m->memory);
	}
	memset(m, 0, sizeof *m);
}
