/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest as text: which keys there are, and in which order. */
#include "format/manifest.h"

#include "base/error.h"
#include "base/hash.h"
#include "format/yaml_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_digest(struct hp_yaml_writer *w, const uint8_t digest[16])
{
	char hex[33];

	hp_hex128(digest, hex);
	hp_yaml_put_text(w, hex);
}

/* Options whose values are numbers and truth values for every reader. */
static bool is_typed(const char *key)
{
	static const char *const keys[] = {
		"chunk_size",  "chunks",       "samples_per_chunk",
		"multiple_of", "prefix_input", "nested",
		"cls",	       "zstd"
	};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (!strcmp(key, keys[i]))
			return true;
	}
	return false;
}

static bool is_typed_value(const char *s)
{
	size_t n = strlen(s);

	if (!strcmp(s, "true") || !strcmp(s, "false"))
		return true;
	return n && n <= 20 && strspn(s, "0123456789") == n &&
	       (s[0] != '0' || n == 1);
}

static void put_option(struct hp_yaml_writer *w, const struct hp_pair *p)
{
	if (is_typed(p->key) && is_typed_value(p->value))
		hp_yaml_put_plain(w, p->value);
	else
		hp_yaml_put_text(w, p->value);
}

/* How many pairs from number i on have its key. */
static size_t run_of(const struct hp_pairs *p, size_t i)
{
	size_t n = 1;

	while (i + n < p->n && !strcmp(p->v[i + n].key, p->v[i].key))
		n++;
	return n;
}

/* A list for the patterns even if there is one, so that the type stays. */
static bool is_list(const char *key, size_t n)
{
	return n > 1 || !strcmp(key, "include") || !strcmp(key, "exclude") ||
	       !strcmp(key, HP_DOUBLE_SUFFIX);
}

static void put_options(struct hp_yaml_writer *w, const struct hp_pairs *p)
{
	hp_yaml_put_plain(w, "options");
	hp_yaml_begin_map(w, false);
	for (size_t i = 0, n; i < p->n; i += n) {
		n = run_of(p, i);
		if (!strcmp(p->v[i].key, "seed") ||
		    !strcmp(p->v[i].key, "meta"))
			continue;
		hp_yaml_put_text(w, p->v[i].key);
		if (!is_list(p->v[i].key, n)) {
			put_option(w, &p->v[i]);
			continue;
		}
		hp_yaml_begin_list(w);
		for (size_t k = i; k < i + n; k++)
			put_option(w, &p->v[k]);
		hp_yaml_end_list(w);
	}
	hp_yaml_end_map(w);
}

static void put_meta(struct hp_yaml_writer *w, const struct hp_pairs *p)
{
	if (!p->n)
		return;
	hp_yaml_put_plain(w, "meta");
	hp_yaml_begin_map(w, false);
	for (size_t i = 0; i < p->n; i++) {
		hp_yaml_put_text(w, p->v[i].key);
		hp_yaml_put_text(w, p->v[i].value);
	}
	hp_yaml_end_map(w);
}

static void put_classes(struct hp_yaml_writer *w, const struct hp_manifest *m)
{
	if (!m->n_classes)
		return;
	hp_yaml_put_plain(w, "classes");
	hp_yaml_begin_list(w);
	for (size_t i = 0; i < m->n_classes; i++)
		hp_yaml_put_text(w, m->classes[i]);
	hp_yaml_end_list(w);
}

static void put_sha256(struct hp_yaml_writer *w, const char *key,
		       const uint8_t digest[32])
{
	char hex[65];

	hp_hex(digest, 32, hex);
	hp_yaml_put_plain(w, key);
	hp_yaml_put_text(w, hex);
}

static void put_file(struct hp_yaml_writer *w, const struct hp_manifest_file *f,
		     bool chunk)
{
	hp_yaml_begin_map(w, true);
	hp_yaml_put_plain(w, "name");
	hp_yaml_put_text(w, f->name);
	hp_yaml_put_plain(w, "bytes");
	hp_yaml_put_number(w, f->bytes);
	if (chunk) {
		hp_yaml_put_plain(w, "samples");
		hp_yaml_put_number(w, f->samples);
	}
	hp_yaml_put_plain(w, "xxh3_128");
	put_digest(w, f->checksum);
	if (f->compressed) {
		hp_yaml_put_plain(w, "plain_bytes");
		hp_yaml_put_number(w, f->plain_bytes);
		hp_yaml_put_plain(w, "plain_xxh3_128");
		put_digest(w, f->plain_checksum);
	}
	if (f->has_sha256)
		put_sha256(w, "sha256", f->sha256);
	hp_yaml_end_map(w);
}

static void put_files(struct hp_yaml_writer *w, const char *key,
		      const struct hp_manifest_file *v, size_t n, bool chunks)
{
	hp_yaml_put_plain(w, key);
	hp_yaml_begin_list(w);
	for (size_t i = 0; i < n; i++)
		put_file(w, &v[i], chunks);
	hp_yaml_end_list(w);
}

static void put_head(struct hp_yaml_writer *w, const struct hp_manifest *m)
{
	hp_yaml_put_plain(w, "format");
	hp_yaml_put_plain(w, "hpdsl-dataset");
	hp_yaml_put_plain(w, "version");
	hp_yaml_put_number(w, HP_MANIFEST_VERSION);
	hp_yaml_put_plain(w, "dataset_id");
	put_digest(w, m->dataset_id);
	if (m->has_sha256)
		put_sha256(w, "dataset_id_sha256", m->dataset_id_sha256);
	hp_yaml_put_plain(w, "samples");
	hp_yaml_put_number(w, m->samples);
	hp_yaml_put_plain(w, "members");
	hp_yaml_put_number(w, m->members);
	hp_yaml_put_plain(w, "bytes");
	hp_yaml_put_number(w, m->bytes);
	if (m->has_seed) {
		hp_yaml_put_plain(w, "seed");
		hp_yaml_put_number(w, m->seed);
	}
	if (m->rebuilt) {
		hp_yaml_put_plain(w, "rebuilt");
		hp_yaml_put_plain(w, "true");
	}
	if (m->lost) {
		hp_yaml_put_plain(w, "lost");
		hp_yaml_put_text(w, m->lost);
	}
	if (m->adopted) {
		hp_yaml_put_plain(w, "adopted");
		hp_yaml_put_plain(w, "true");
	}
}

static void put_manifest(struct hp_yaml_writer *w, const struct hp_manifest *m)
{
	hp_yaml_begin_map(w, false);
	put_head(w, m);
	put_options(w, &m->options);
	put_classes(w, m);
	put_meta(w, &m->meta);
	hp_yaml_put_plain(w, "index");
	put_file(w, &m->index, false);
	put_files(w, "chunks", m->chunks, m->n_chunks, true);
	if (m->n_files)
		put_files(w, "files", m->files, m->n_files, false);
	hp_yaml_end_map(w);
}

/* The last line; the text ends with the NUL of a string, not counted. */
static void put_checksum(struct hp_yaml_writer *w)
{
	char line[48], hex[33];
	uint8_t digest[16];
	int n;

	if (w->fail)
		return;
	hp_hash128(w->buf, w->len, digest);
	hp_hex128(digest, hex);
	n = snprintf(line, sizeof line, "checksum: %s\n", hex);
	if (hp_yaml_append(w, line, (size_t)n + 1))
		w->len--;
}

int hp_manifest_format(const struct hp_manifest *m, char **ret, size_t *ret_len,
		       struct hpdsl_error *err)
{
	struct hp_yaml_writer w;

	if (!hp_yaml_begin(&w, HP_MANIFEST_MAX))
		return hp_fail_nomem(err);
	put_manifest(&w, m);
	hp_yaml_end(&w);
	put_checksum(&w);
	if (w.fail) {
		free(w.buf);
		if (w.fail == -ENOMEM)
			return hp_fail_nomem(err);
		return hp_fail_errno(err, w.fail, HP_MANIFEST_NAME);
	}
	*ret = w.buf;
	*ret_len = w.len;
	return 0;
}
