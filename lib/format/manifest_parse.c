/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest from text.  The checksum is looked at before anything is read,
 * so damage never gets as far as the YAML; a text made on purpose does, and is
 * held to limits: no aliases, bounded depth, every number in its range, names
 * of files that are plain names.
 */
#include "format/manifest_private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define FIRST_LINE "format: hpdsl-dataset\n"
#define LAST_LINE "checksum: "
#define LAST_LINE_BYTES 43 /* with 32 hex digits and the newline */

static int read_version(struct hp_yaml_reader *r, void *into)
{
	uint64_t v;
	int k = hp_yaml_number(r, &v);

	(void)into;
	if (k < 0)
		return k;
	if (v > HP_MANIFEST_VERSION)
		return hp_fail(r->err, HPDSL_ETOONEW,
			       "%s: version %llu is too new for this program",
			       r->name, (unsigned long long)v);
	return v ? 0 : hp_yaml_bad(r, "no such version");
}

static int add_pair(struct hp_yaml_reader *r, struct hp_pairs *p,
		    const char *key)
{
	void *v = p->v;
	int k = hp_yaml_grow(r, &v, p->n, sizeof *p->v);

	if (k < 0)
		return k;
	p->v = v;
	p->v[p->n].key = key;
	k = hp_yaml_text(r, &p->v[p->n].value);
	if (k < 0)
		return k;
	p->n++;
	return 0;
}

static int add_pairs(struct hp_yaml_reader *r, struct hp_pairs *p,
		     const char *key)
{
	int k;

	for (;;) {
		k = hp_yaml_next(r);
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
static int refuse_repeated(struct hp_yaml_reader *r, const struct hp_pairs *p)
{
	hp_auto_free const char **keys = hp_array(p->n, sizeof *keys);

	if (!keys)
		return hp_fail_nomem(r->err);
	for (size_t i = 0; i < p->n; i++)
		keys[i] = p->v[i].key;
	qsort(keys, p->n, sizeof *keys, by_key);
	for (size_t i = 1; i < p->n; i++) {
		if (keys[i - 1] != keys[i] && !strcmp(keys[i - 1], keys[i]))
			return hp_yaml_bad(
				r, "a key is given twice before this line");
	}
	return 0;
}

/* lists: a key may have several values. */
static int read_pairs(struct hp_yaml_reader *r, struct hp_pairs *p, bool lists)
{
	const char *key;
	int k;

	if (r->ev.type != YAML_MAPPING_START_EVENT)
		return hp_yaml_bad(r, "a mapping was expected");
	for (;;) {
		k = hp_yaml_next(r);
		if (k < 0)
			return k;
		if (r->ev.type == YAML_MAPPING_END_EVENT)
			return refuse_repeated(r, p);
		k = hp_yaml_text(r, &key);
		if (k == 0)
			k = hp_yaml_next(r);
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

static int read_meta(struct hp_yaml_reader *r, void *into)
{
	return read_pairs(r, into, false);
}

/* Its place among the options; -1: there is no such option. */
static int place_of(const char *key)
{
	static const char *const names[] = {
		"shuffle",
		"group",
		HP_DOUBLE_SUFFIX,
		"labels",
		"labels_xxh3_128",
		HP_LABEL_NUMBERS,
		"label_columns",
		"symlinks",
		"prefix_input",
		HP_LITTER,
		"chunks",
		"samples_per_chunk",
		"chunk_size",
		"multiple_of",
		"nested",
		"names",
		"cls",
		"zstd",
		"digest",
		"emit",
		"include",
		"exclude",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], key))
			return (int)i;
	return -1;
}

static void look_at_options(struct hp_yaml_reader *r, const struct hp_pairs *p)
{
	int last = -1;

	for (size_t i = 0; i < p->n; i++) {
		int place = place_of(p->v[i].key);

		if (place < 0)
			hp_yaml_odd(r, "before it, an option that is not "
				       "known");
		else if (place < last)
			hp_yaml_odd(r, "before it, an option that is not in "
				       "its place");
		last = place;
	}
}

/* Without seed and meta, which have places of their own. */
static int read_options(struct hp_yaml_reader *r, void *into)
{
	struct hp_pairs *p = into;
	int k = read_pairs(r, p, true);
	size_t n = 0;

	if (k == 0)
		look_at_options(r, p);
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->v[i].key, "seed") && strcmp(p->v[i].key, "meta"))
			p->v[n++] = p->v[i];
	}
	p->n = n;
	return k;
}

static int read_classes(struct hp_yaml_reader *r, void *into)
{
	struct hp_manifest *m = into;
	const char **v = NULL;
	size_t n = 0;
	int k;

	if (r->ev.type != YAML_SEQUENCE_START_EVENT)
		return hp_yaml_bad(r, "a list was expected");
	for (;;) {
		k = hp_yaml_next(r);
		if (k < 0 || r->ev.type == YAML_SEQUENCE_END_EVENT)
			break;
		k = hp_yaml_grow(r, (void **)&v, n, sizeof *v);
		if (k == 0)
			k = hp_yaml_text(r, &v[n]);
		if (k < 0)
			break;
		n++;
	}
	m->classes = v;
	m->n_classes = n;
	return k;
}

/* For keys whose values were looked at before. */
static int read_known(struct hp_yaml_reader *r, void *into)
{
	(void)into;
	return hp_yaml_skip(r);
}

#define FIELD(key, read, member, required)                                \
	{                                                                 \
		key, read, offsetof(struct hp_manifest, member), required \
	}

/* In the order that they have to have. */
enum { SHA256_FIELD = 3, SEED_FIELD = 7 };
static const struct hp_yaml_field fields[] = {
	{ "format", read_known, 0, true },
	{ "version", read_version, 0, true },
	FIELD("dataset_id", hp_yaml_digest, dataset_id, true),
	FIELD("dataset_id_sha256", hp_yaml_sha256, dataset_id_sha256, false),
	FIELD("samples", hp_yaml_number, samples, true),
	FIELD("members", hp_yaml_number, members, true),
	FIELD("bytes", hp_yaml_number, bytes, true),
	FIELD("seed", hp_yaml_number, seed, false),
	FIELD("rebuilt", hp_yaml_flag, rebuilt, false),
	FIELD("lost", hp_yaml_text, lost, false),
	FIELD("adopted", hp_yaml_flag, adopted, false),
	FIELD("options", read_options, options, true),
	{ "classes", read_classes, 0, false },
	FIELD("meta", read_meta, meta, false),
	FIELD("index", hp_manifest_read_index, index, true),
	{ "chunks", hp_manifest_read_chunks, 0, true },
	{ "files", hp_manifest_read_files, 0, false },
	{ "checksum", read_known, 0, true },
};

static int read_document(struct hp_yaml_reader *r, struct hp_manifest *m)
{
	uint32_t seen;
	int k = hp_yaml_document(r, fields, sizeof fields / sizeof fields[0], m,
				 &seen);

	if (k < 0)
		return k;
	m->has_seed = seen & 1u << SEED_FIELD;
	m->has_sha256 = seen & 1u << SHA256_FIELD;
	return 0;
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

/* All have a SHA-256, or none has. */
static int check_sha256(const struct hp_manifest *m, const char *name,
			struct hpdsl_error *err)
{
	bool good = m->index.has_sha256 == m->has_sha256;

	for (size_t i = 0; i < m->n_chunks; i++)
		good &= m->chunks[i].has_sha256 == m->has_sha256;
	for (size_t i = 0; i < m->n_files; i++)
		good &= m->files[i].has_sha256 == m->has_sha256;
	if (good)
		return 0;
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: some files have a SHA-256, others have none", name);
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
	struct hp_manifest m = { 0 };
	struct hp_yaml_reader r = { .name = name, .odd = m.odd, .err = err };
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
		k = check_sha256(&m, name, err);
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
		free(m->files);
		hp_arena_free(m->memory);
	}
	memset(m, 0, sizeof *m);
}
