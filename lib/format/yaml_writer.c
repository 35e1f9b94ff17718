/* SPDX-License-Identifier: Apache-2.0 */
/* YAML from typed values, by libyaml's emitter; when text is quoted. */
#include "format/yaml_writer.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BINARY_TAG "tag:yaml.org,2002:binary"

int hp_yaml_append(struct hp_yaml_writer *w, const void *p, size_t n)
{
	if (n > w->max - w->len) {
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

static int handle(void *w, unsigned char *p, size_t n)
{
	return hp_yaml_append(w, p, n);
}

/* made: the result of the event's initialize function. */
static void put(struct hp_yaml_writer *w, int made, yaml_event_t *ev)
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

static void put_scalar(struct hp_yaml_writer *w, const char *s, size_t n,
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

void hp_yaml_put_plain(struct hp_yaml_writer *w, const char *s)
{
	put_scalar(w, s, strlen(s), YAML_PLAIN_SCALAR_STYLE, NULL);
}

void hp_yaml_put_number(struct hp_yaml_writer *w, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	hp_yaml_put_plain(w, text);
}

void hp_yaml_begin_map(struct hp_yaml_writer *w, bool one_line)
{
	yaml_event_t ev;

	put(w,
	    yaml_mapping_start_event_initialize(
		    &ev, NULL, NULL, 1,
		    one_line ? YAML_FLOW_MAPPING_STYLE :
			       YAML_BLOCK_MAPPING_STYLE),
	    &ev);
}

void hp_yaml_end_map(struct hp_yaml_writer *w)
{
	yaml_event_t ev;

	put(w, yaml_mapping_end_event_initialize(&ev), &ev);
}

void hp_yaml_begin_list(struct hp_yaml_writer *w)
{
	yaml_event_t ev;

	put(w,
	    yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1,
						 YAML_BLOCK_SEQUENCE_STYLE),
	    &ev);
}

void hp_yaml_end_list(struct hp_yaml_writer *w)
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
	size_t n = strlen(s);

	return (n == 32 || n == 64) && strspn(s, "0123456789abcdef") == n &&
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

static void put_binary(struct hp_yaml_writer *w, const char *s)
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

void hp_yaml_put_text(struct hp_yaml_writer *w, const char *s)
{
	size_t n = strlen(s);

	if (n > w->max)
		w->fail = w->fail ? w->fail : -EFBIG;
	else if (!printable(s))
		put_binary(w, s);
	else
		put_scalar(w, s, n,
			   needs_quotes(s) ? YAML_SINGLE_QUOTED_SCALAR_STYLE :
					     YAML_PLAIN_SCALAR_STYLE,
			   NULL);
}

bool hp_yaml_begin(struct hp_yaml_writer *w, size_t max)
{
	yaml_event_t ev;

	memset(w, 0, sizeof *w);
	w->max = max;
	if (!yaml_emitter_initialize(&w->yaml))
		return false;
	yaml_emitter_set_output(&w->yaml, handle, w);
	yaml_emitter_set_unicode(&w->yaml, 1);
	yaml_emitter_set_width(&w->yaml, -1);
	put(w, yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING),
	    &ev);
	put(w, yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1),
	    &ev);
	return true;
}

void hp_yaml_end(struct hp_yaml_writer *w)
{
	yaml_event_t ev;

	put(w, yaml_document_end_event_initialize(&ev, 1), &ev);
	put(w, yaml_stream_end_event_initialize(&ev), &ev);
	if (!w->fail && !yaml_emitter_flush(&w->yaml) && !w->fail)
		w->fail = -ENOMEM;
	yaml_emitter_delete(&w->yaml);
}
