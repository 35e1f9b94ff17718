/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest as text, for people and for any YAML reader.  What YAML would
 * take for a number, a truth value or nothing is quoted where it is text, and
 * what YAML cannot print is !!binary, so that every reader gets the same bytes.
 */
#include "manifest.h"

#include "error.h"
#include "hash.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#define BINARY_TAG "tag:yaml.org,2002:binary"

/* The first failure stays; what is put after it is passed over. */
struct writer {
	yaml_emitter_t yaml;
	char *buf;
	size_t len, cap;
	int fail;
};

static int append(void *arg, unsigned char *p, size_t n)
{
	struct writer *w = arg;

	if (n > HP_MANIFEST_MAX - w->len) {
		w->fail = -EFBIG;
		return 0;
	}
	if (n > w->cap - w->len) {
		size_t cap = 2 * (w->len + n) + 4096;
		char *buf = realloc(w->buf, cap);

		if (!buf) {
			w->fail = -ENOMEM;
			return 0;
		}
		w->buf = buf;
		w->cap = cap;
	}
	memcpy(w->buf + w->len, p, n);
	w->len += n;
	return 1;
}

/* made: the result of the event's initialize function. */
static void put(struct writer *w, int made, yaml_event_t *ev)
{
	if (!made) {
		w->fail = w->fail ? w->fail : -ENOMEM;
		return;
	}
	if (w->fail) {
		yaml_event_delete(ev);
		return;
	}
	if (!yaml_emitter_emit(&w->yaml, ev) && !w->fail)
		w->fail =
			w->yaml.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
}

static void put_scalar(struct writer *w, const char *s, size_t n,
		       yaml_scalar_style_t style, const char *tag)
{
	yaml_event_t ev;
	int untagged = !tag;

	/* The parameters lack const; the text is copied. */
	put(w,
	    yaml_scalar_event_initialize(&ev, NULL,
					 (yaml_char_t *)(uintptr_t)tag,
					 (yaml_char_t *)(uintptr_t)s, (int)n,
					 untagged, untagged, style),
	    &ev);
}

static void put_plain(struct writer *w, const char *s)
{
	put_scalar(w, s, strlen(s), YAML_PLAIN_SCALAR_STYLE, NULL);
}

static void put_number(struct writer *w, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	put_plain(w, text);
}

static void begin_map(struct writer *w, yaml_mapping_style_t style)
{
	yaml_event_t ev;

	put(w, yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, style),
	    &ev);
}

static void end_map(struct writer *w)
{
	yaml_event_t ev;

	put(w, yaml_mapping_end_event_initialize(&ev), &ev);
}

static void begin_list(struct writer *w)
{
	yaml_event_t ev;

	put(w,
	    yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1,
						 YAML_BLOCK_SEQUENCE_STYLE),
	    &ev);
}

static void end_list(struct writer *w)
{
	yaml_event_t ev;

	put(w, yaml_sequence_end_event_initialize(&ev), &ev);
}

/*
 * Length of the UTF-8 character at s if YAML can print it on one line, else 0.
 * Control characters, surrogates, byte order marks and the line ends beyond
 * ASCII are not printed.
 */
static size_t printable_at(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0x20, 0xa0, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));

	if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0; /* at the NUL at the latest */
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c == 0x7f || (c >= 0xd800 && c < 0xe000) ||
	    c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
	    c == 0xffff || c > 0x10ffff)
		return 0;
	return n;
}

static bool printable(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	while (*p) {
		size_t n = printable_at(p);

		if (!n)
			return false;
		p += n;
	}
	return true;
}

/* A digest in hex is no number in any YAML if it has one of these. */
static bool plain_digest(const char *s)
{
	return strlen(s) == 32 && strspn(s, "0123456789abcdef") == 32 &&
	       strpbrk(s, "acdf");
}

/* Would some version of YAML read the plain text as something else? */
static bool needs_quotes(const char *s)
{
	static const char *const words[] = { "y",    "n",     "yes",
					     "no",   "on",    "off",
					     "true", "false", "null" };
	unsigned char c = (unsigned char)s[0];

	if (plain_digest(s))
		return false;
	if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	      c == '/' || c >= 0x80))
		return true;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (!strcasecmp(s, words[i]))
			return true;
	}
	return false;
}

static void put_binary(struct writer *w, const char *s)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)s;
	size_t n = strlen(s), k = 0;
	hp_auto_free char *out = hp_array(n / 3 + 1, 4);

	if (!out) {
		w->fail = w->fail ? w->fail : -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i += 3) {
		unsigned b1 = i + 1 < n ? p[i + 1] : 0;
		unsigned b2 = i + 2 < n ? p[i + 2] : 0;
		unsigned v = (unsigned)p[i] << 16 | b1 << 8 | b2;

		out[k++] = digit[v >> 18];
		out[k++] = digit[v >> 12 & 63];
		out[k++] = i + 1 < n ? digit[v >> 6 & 63] : '=';
		out[k++] = i + 2 < n ? digit[v & 63] : '=';
	}
	put_scalar(w, out, k, YAML_PLAIN_SCALAR_STYLE, BINARY_TAG);
}

static void put_text(struct writer *w, const char *s)
{
	size_t n = strlen(s);

	if (n > HP_MANIFEST_MAX)
		w->fail = w->fail ? w->fail : -EFBIG;
	else if (!printable(s))
		put_binary(w, s);
	else
		put_scalar(w, s, n,
			   needs_quotes(s) ? YAML_SINGLE_QUOTED_SCALAR_STYLE :
					     YAML_PLAIN_SCALAR_STYLE,
			   NULL);
}

static void put_digest(struct writer *w, const uint8_t digest[16])
{
	char hex[33];

	hp_hex128(digest, hex);
	put_text(w, hex);
}

/* Options whose values are numbers and truth values for every reader. */
static bool is_typed(const char *key)
{
	static const char *const keys[] = { "chunk_size", "chunks",
					    "samples_per_chunk", "multiple_of",
					    "prefix_input" };

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

static void put_option(struct writer *w, const struct hp_pair *p)
{
	if (is_typed(p->key) && is_typed_value(p->value))
		put_plain(w, p->value);
	else
		put_text(w, p->value);
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
	return n > 1 || !strcmp(key, "include") || !strcmp(key, "exclude");
}

static void put_options(struct writer *w, const struct hp_pairs *p)
{
	put_plain(w, "options");
	begin_map(w, YAML_BLOCK_MAPPING_STYLE);
	for (size_t i = 0, n; i < p->n; i += n) {
		n = run_of(p, i);
		if (!strcmp(p->v[i].key, "seed") ||
		    !strcmp(p->v[i].key, "meta"))
			continue;
		put_text(w, p->v[i].key);
		if (!is_list(p->v[i].key, n)) {
			put_option(w, &p->v[i]);
			continue;
		}
		begin_list(w);
		for (size_t k = i; k < i + n; k++)
			put_option(w, &p->v[k]);
		end_list(w);
	}
	end_map(w);
}

static void put_meta(struct writer *w, const struct hp_pairs *p)
{
	if (!p->n)
		return;
	put_plain(w, "meta");
	begin_map(w, YAML_BLOCK_MAPPING_STYLE);
	for (size_t i = 0; i < p->n; i++) {
		put_text(w, p->v[i].key);
		put_text(w, p->v[i].value);
	}
	end_map(w);
}

static void put_classes(struct writer *w, const struct hp_manifest *m)
{
	if (!m->n_classes)
		return;
	put_plain(w, "classes");
	begin_list(w);
	for (size_t i = 0; i < m->n_classes; i++)
		put_text(w, m->classes[i]);
	end_list(w);
}

static void put_file(struct writer *w, const struct hp_manifest_file *f,
		     bool chunk)
{
	begin_map(w, YAML_FLOW_MAPPING_STYLE);
	put_plain(w, "name");
	put_text(w, f->name);
	put_plain(w, "bytes");
	put_number(w, f->bytes);
	if (chunk) {
		put_plain(w, "samples");
		put_number(w, f->samples);
	}
	put_plain(w, "xxh3_128");
	put_digest(w, f->checksum);
	end_map(w);
}

static void put_head(struct writer *w, const struct hp_manifest *m)
{
	put_plain(w, "format");
	put_plain(w, "hpdsl-dataset");
	put_plain(w, "version");
	put_number(w, HP_MANIFEST_VERSION);
	put_plain(w, "dataset_id");
	put_digest(w, m->dataset_id);
	put_plain(w, "samples");
	put_number(w, m->samples);
	put_plain(w, "members");
	put_number(w, m->members);
	put_plain(w, "bytes");
	put_number(w, m->bytes);
	if (m->has_seed) {
		put_plain(w, "seed");
		put_number(w, m->seed);
	}
	if (m->rebuilt) {
		put_plain(w, "rebuilt");
		put_plain(w, "true");
	}
	if (m->lost) {
		put_plain(w, "lost");
		put_text(w, m->lost);
	}
}

static void put_manifest(struct writer *w, const struct hp_manifest *m)
{
	begin_map(w, YAML_BLOCK_MAPPING_STYLE);
	put_head(w, m);
	put_options(w, &m->options);
	put_classes(w, m);
	put_meta(w, &m->meta);
	put_plain(w, "index");
	put_file(w, &m->index, false);
	put_plain(w, "chunks");
	begin_list(w);
	for (size_t i = 0; i < m->n_chunks; i++)
		put_file(w, &m->chunks[i], true);
	end_list(w);
	end_map(w);
}

static void put_document(struct writer *w, const struct hp_manifest *m)
{
	yaml_event_t ev;

	yaml_emitter_set_output(&w->yaml, append, w);
	yaml_emitter_set_unicode(&w->yaml, 1);
	yaml_emitter_set_width(&w->yaml, -1);
	put(w, yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING),
	    &ev);
	put(w, yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1),
	    &ev);
	put_manifest(w, m);
	put(w, yaml_document_end_event_initialize(&ev, 1), &ev);
	put(w, yaml_stream_end_event_initialize(&ev), &ev);
	if (!w->fail && !yaml_emitter_flush(&w->yaml) && !w->fail)
		w->fail = -ENOMEM;
}

/* The last line; the text ends with the NUL of a string, not counted. */
static void put_checksum(struct writer *w)
{
	char line[48], hex[33];
	uint8_t digest[16];
	int n;

	if (w->fail)
		return;
	hp_hash128(w->buf, w->len, digest);
	hp_hex128(digest, hex);
	n = snprintf(line, sizeof line, "checksum: %s\n", hex);
	if (append(w, (unsigned char *)line, (size_t)n + 1))
		w->len--;
}

int hp_manifest_format(const struct hp_manifest *m, char **ret, size_t *ret_len,
		       struct hpdsl_error *err)
{
	struct writer w = { 0 };

	if (!yaml_emitter_initialize(&w.yaml))
		return hp_fail_nomem(err);
	put_document(&w, m);
	yaml_emitter_delete(&w.yaml);
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
