/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shapes a pack's bytes, as pairs of text: made from the options, kept in
 * manifest and journal, compared before a pack is gone on with.
 */
#include "format/manifest.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/litter.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	NUMBER = 24, /* a number or dir:N as text */
	HEX = 33,
};

/*
 * Pairs with their strings behind them in one piece of memory.  Before there is
 * any they are only counted.
 */
struct builder {
	struct hp_pair *v;
	size_t n;
	char *text;
	size_t bytes;
};

/* What is to be told: of these, what a function needs. */
struct telling {
	const struct hpdsl_pack_options *opt;
	const struct hp_labels_known *known;
	const struct hp_manifest *manifest;
};

static int build(void (*tell)(struct builder *b, const struct telling *t),
		 const struct telling *t, struct hp_pairs *ret,
		 struct hpdsl_error *err)
{
	struct builder b = { 0 };
	size_t n;

	tell(&b, t);
	n = b.n;
	b.v = hp_array(n * sizeof *b.v + b.bytes, 1);
	if (!b.v)
		return hp_fail_nomem(err);
	b.text = (char *)(b.v + n);
	b.n = b.bytes = 0;
	tell(&b, t);
	*ret = (struct hp_pairs){ b.v, n };
	return 0;
}

static char *copy(struct builder *b, const char *s, size_t n)
{
	char *p = b->text ? b->text + b->bytes : NULL;

	if (p) {
		memcpy(p, s, n);
		p[n] = '\0';
	}
	b->bytes += n + 1;
	return p;
}

static void add(struct builder *b, const char *key, const char *value)
{
	if (b->v)
		b->v[b->n] = (struct hp_pair){ key, value };
	b->n++;
}

static void add_number(struct builder *b, const char *key, uint64_t v)
{
	char text[NUMBER];
	int n = snprintf(text, sizeof text, "%" PRIu64, v);

	add(b, key, copy(b, text, (size_t)n));
}

static void add_copies(struct builder *b, const char *key, const char *const *v,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(b, key, copy(b, v[i], strlen(v[i])));
}

static void add_json(struct builder *b, const char *field)
{
	static const char front[] = "json:";
	char *p = copy(b, front, sizeof front - 1);

	/* Both, without the NUL between. */
	b->bytes--;
	copy(b, field, strlen(field));
	add(b, "labels", p);
}

static void add_how(struct builder *b, const struct hpdsl_pack_options *opt,
		    const struct hp_labels_known *known)
{
	static const char *const names[] = { [HPDSL_LABELS_KEEP] = "none",
					     [HPDSL_LABELS_NONE] = "none",
					     [HPDSL_LABELS_PARENT] = "parent",
					     [HPDSL_LABELS_CLS] = "cls" };
	char text[HEX];
	int n;

	if (opt->labels == HPDSL_LABELS_FILE) {
		add(b, "labels", "file");
		if (!known->checksum)
			return;
		hp_hex128(known->checksum, text);
		add(b, "labels_xxh3_128", copy(b, text, sizeof text - 1));
		return;
	}

	if (opt->labels == HPDSL_LABELS_JSON) {
		add_json(b, opt->label_field);
		return;
	}
	if (opt->labels != HPDSL_LABELS_DIR) {
		add(b, "labels", known->kept ? "keep" : names[opt->labels]);
		return;
	}
	n = snprintf(text, sizeof text, "dir:%" PRIu32,
		     opt->label_dir ? opt->label_dir : 1);
	add(b, "labels", copy(b, text, (size_t)n));
}

static void add_labels(struct builder *b, const struct hpdsl_pack_options *opt,
		       const struct hp_labels_known *known)
{
	add_how(b, opt, known);
	if (known->by_value)
		add(b, HP_LABEL_NUMBERS, HP_LABEL_NUMBERS_VALUE);
	if (opt->labels == HPDSL_LABELS_FILE && opt->label_columns)
		add_copies(b, "label_columns", &opt->label_columns, 1);
}

static void add_chunking(struct builder *b,
			 const struct hpdsl_pack_options *opt)
{
	if (opt->chunks)
		add_number(b, "chunks", opt->chunks);
	else if (opt->samples_per_chunk)
		add_number(b, "samples_per_chunk", opt->samples_per_chunk);
	else
		add_number(b, "chunk_size",
			   opt->chunk_size ? opt->chunk_size : 64 << 20);
	if (opt->multiple_of > 1)
		add_number(b, "multiple_of", opt->multiple_of);
}

static void add_emit(struct builder *b, unsigned emit)
{
	static const char *const names[] = { "dali", "energon", "wids" };
	char text[NUMBER] = "";
	size_t n = 0;

	for (unsigned i = 0; i < 3; i++)
		if (emit & 1u << i)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
					      n ? "," : "", names[i]);
	if (emit)
		add(b, "emit", copy(b, text, n));
}

/* Noted only if asked for. */
static void add_form(struct builder *b, const struct hpdsl_pack_options *opt)
{
	if (opt->nested)
		add(b, "nested", "true");
	if (opt->names == HPDSL_NAMES_PORTABLE)
		add(b, "names", "portable");
	if (opt->cls)
		add(b, "cls", "true");
	if (opt->zstd)
		add_number(b, "zstd", (uint64_t)opt->zstd);
	if (opt->digest == HPDSL_DIGEST_SHA256)
		add(b, "digest", "sha256");
	add_emit(b, opt->emit);
}

const char *hpdsl_group_word(enum hpdsl_group group)
{
	static const char *const words[] = { [HPDSL_GROUP_KEY] = "key",
					     [HPDSL_GROUP_NONE] = "none",
					     [HPDSL_GROUP_LAST] = "last",
					     [HPDSL_GROUP_LOOK] = "key" };

	return words[group];
}

static void add_group(struct builder *b, const struct hpdsl_pack_options *opt)
{
	add(b, "group", hpdsl_group_word(opt->group));
	add_copies(b, HP_DOUBLE_SUFFIX, opt->double_suffix,
		   opt->n_double_suffix);
}

static void add_all(struct builder *b, const struct telling *t)
{
	const struct hpdsl_pack_options *opt = t->opt;

	add(b, "shuffle",
	    opt->shuffle == HPDSL_SHUFFLE_NONE ? "none" : "global");
	add_number(b, "seed", opt->seed);
	add_group(b, opt);
	add_labels(b, opt, t->known);
	add(b, "symlinks",
	    opt->symlinks == HPDSL_SYMLINKS_FOLLOW_ALL ? "follow-all" :
							 "follow");
	add(b, "prefix_input", opt->prefix_input ? "true" : "false");
	if (opt->litter != HPDSL_LITTER_OLD)
		add(b, HP_LITTER,
		    opt->litter == HPDSL_LITTER_KEEP ? HP_LITTER_KEPT :
						       HP_LITTER_VERSION);
	add_chunking(b, opt);
	add_form(b, opt);
	add_copies(b, "include", opt->include, opt->n_include);
	add_copies(b, "exclude", opt->exclude, opt->n_exclude);
	add_copies(b, "meta", opt->meta, opt->n_meta);
}

int hp_options_pairs(const struct hpdsl_pack_options *opt,
		     const struct hp_labels_known *known, struct hp_pairs *ret,
		     struct hpdsl_error *err)
{
	const struct hp_labels_known nothing = { .kept = false };
	struct telling t = { .opt = opt, .known = known ? known : &nothing };

	return build(add_all, &t, ret, err);
}

static void add_labels_alone(struct builder *b, const struct telling *t)
{
	add_labels(b, t->opt, t->known);
}

int hp_label_pairs(const struct hpdsl_pack_options *opt,
		   const struct hp_labels_known *known, struct hp_pairs *ret,
		   struct hpdsl_error *err)
{
	struct telling t = { .opt = opt, .known = known };

	return build(add_labels_alone, &t, ret, err);
}

/* KEY=VALUE, and no key twice. */
static int check_meta(const char *const *meta, size_t i,
		      struct hpdsl_error *err)
{
	size_t n = strcspn(meta[i], "=");
	char name[HP_PRINTABLE];

	hp_printable(meta[i], strlen(meta[i]), name);
	if (n == 0 || !meta[i][n])
		return hp_fail(err, HPDSL_EUSAGE,
			       "meta '%s' is not of the form KEY=VALUE", name);
	for (size_t k = 0; k < i; k++)
		if (!strncmp(meta[k], meta[i], n + 1))
			return hp_fail(err, HPDSL_EUSAGE,
				       "meta '%s': this key is given twice",
				       name);
	return 0;
}

static void add_meta(struct builder *b, const struct telling *t)
{
	for (size_t i = 0; i < t->opt->n_meta; i++) {
		const char *text = t->opt->meta[i];
		size_t n = strcspn(text, "=");
		const char *key = copy(b, text, n);

		add(b, key, copy(b, text + n + 1, strlen(text + n + 1)));
	}
}

int hp_meta_pairs(const struct hpdsl_pack_options *opt, struct hp_pairs *ret,
		  struct hpdsl_error *err)
{
	struct telling t = { .opt = opt };
	int r = 0;

	for (size_t i = 0; i < opt->n_meta && r == 0; i++)
		r = check_meta(opt->meta, i, err);
	return r < 0 ? r : build(add_meta, &t, ret, err);
}

void hp_pairs_release(struct hp_pairs *p)
{
	free(p->v);
	p->v = NULL;
	p->n = 0;
}

/* The number of the first pair from i on that has the key; p->n if none. */
static size_t find(const struct hp_pairs *p, size_t i, const char *key)
{
	while (i < p->n && strcmp(p->v[i].key, key))
		i++;
	return i;
}

static bool same_values(const struct hp_pairs *a, const struct hp_pairs *b,
			const char *key)
{
	size_t i = find(a, 0, key), k = find(b, 0, key);

	while (i < a->n && k < b->n) {
		if (strcmp(a->v[i].value, b->v[k].value))
			return false;
		i = find(a, i + 1, key);
		k = find(b, k + 1, key);
	}
	return i == a->n && k == b->n;
}

/* The values of a key as a message has them: words plain, the rest quoted. */
static void describe(const struct hp_pairs *p, const char *key, char *out,
		     size_t size)
{
	char value[HP_PRINTABLE];
	size_t n = 0;

	snprintf(out, size, "not given");
	for (size_t i = find(p, 0, key); i < p->n && n < size;
	     i = find(p, i + 1, key)) {
		const char *s = hp_printable(p->v[i].value,
					     strlen(p->v[i].value), value);
		const char *quote =
			*s && strspn(s, "abcdefghijklmnopqrstuvwxyz"
					"0123456789:-") == strlen(s) ?
				"" :
				"'";

		n += (size_t)snprintf(out + n, size - n, "%s%s%s%s",
				      n ? ", " : "", quote, s, quote);
	}
}

static int differs(const struct hp_pairs *now, const struct hp_pairs *was,
		   const char *key, struct hpdsl_error *err)
{
	char is[440], other[440];

	if (!strcmp(key, "labels_xxh3_128"))
		return hp_fail(err, HPDSL_EDIFFERS,
			       "the file of labels is not what it was");
	describe(now, key, is, sizeof is);
	describe(was, key, other, sizeof other);
	return hp_fail(err, HPDSL_EDIFFERS, "%s is %s now, was %s", key, is,
		       other);
}

/* Told last: it is there, too, when nobody gave it. */
static bool is_default(const char *key)
{
	return strcmp(key, "chunk_size") == 0;
}

int hp_pairs_compare(const struct hp_pairs *now, const struct hp_pairs *was,
		     struct hpdsl_error *err)
{
	for (size_t i = 0; i < now->n; i++) {
		const char *key = now->v[i].key;

		if (!is_default(key) && !same_values(now, was, key))
			return differs(now, was, key, err);
	}
	for (size_t i = 0; i < was->n; i++) {
		const char *key = was->v[i].key;

		if (!is_default(key) && find(now, 0, key) == now->n)
			return differs(now, was, key, err);
	}
	if (!same_values(now, was, "chunk_size"))
		return differs(now, was, "chunk_size", err);
	return 0;
}

/* Options, seed and meta of a manifest, as hp_options_pairs makes them. */
static void gather(struct builder *b, const struct telling *t)
{
	const struct hp_manifest *m = t->manifest;

	for (size_t i = 0; i < m->options.n; i++)
		add(b, m->options.v[i].key, m->options.v[i].value);
	if (m->has_seed)
		add_number(b, "seed", m->seed);
	for (size_t i = 0; i < m->meta.n; i++) {
		const struct hp_pair *pair = &m->meta.v[i];
		size_t n = strlen(pair->key);
		char *text = copy(b, pair->key, n);

		copy(b, pair->value, strlen(pair->value));
		if (text)
			text[n] = '=';
		add(b, "meta", text);
	}
}

int hp_manifest_compare(const struct hp_manifest *m, const struct hp_pairs *now,
			struct hpdsl_error *err)
{
	struct telling t = { .manifest = m };
	struct hp_pairs was = { 0 };
	int r;

	if (m->rebuilt && (!m->has_seed || !m->options.n))
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s was rebuilt, its options are not known",
			       HP_MANIFEST_NAME);
	r = build(gather, &t, &was, err);
	if (r < 0)
		return r;
	r = hp_pairs_compare(now, &was, err);
	hp_pairs_release(&was);
	return r;
}
