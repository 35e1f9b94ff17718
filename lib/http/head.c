/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {
	[HP_HEAD_LENGTH] = "Content-Length",
	[HP_HEAD_RANGE] = "Content-Range",
	[HP_HEAD_ENCODING] = "Content-Encoding",
	[HP_HEAD_TAG] = "ETag",
	[HP_HEAD_OWN] = "HPDSL",
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* "HTTP/1.1 206 ..": a new answer, maybe behind one that says "go on". */
static void begin(struct hp_head *h, const char *p, size_t n)
{
	memset(h, 0, sizeof *h);
	if (n < 12 || memcmp(p, "HTTP/1.", 7) != 0 || !is_digit(p[7]) ||
	    p[8] != ' ' || !is_digit(p[9]) || !is_digit(p[10]) ||
	    !is_digit(p[11]) || (n > 12 && !is_blank(p[12])))
		return;
	h->status = (unsigned)((p[9] - '0') * 100 + (p[10] - '0') * 10 +
			       (p[11] - '0'));
}

static void take(struct hp_head *h, int f, const char *p, size_t n)
{
	while (n && is_blank(*p))
		p++, n--;
	while (n && is_blank(p[n - 1]))
		n--;
	h->times[f]++;
	if (n >= HP_HEAD_VALUE || memchr(p, '\0', n))
		h->times[f]++; /* none of ours */
	else
		memcpy(h->value[f], p, n), h->value[f][n] = '\0';
}

static void field(struct hp_head *h, const char *p, size_t n)
{
	const char *colon = memchr(p, ':', n);
	size_t name = colon ? (size_t)(colon - p) : 0;

	for (int f = 0; f < HP_HEAD_FIELDS; f++)
		if (name && name == strlen(names[f]) &&
		    strncasecmp(p, names[f], name) == 0)
			take(h, f, colon + 1, n - name - 1);
}

bool hp_head_line(struct hp_head *h, const char *p, size_t n)
{
	while (n && (p[n - 1] == '\n' || p[n - 1] == '\r'))
		n--;
	if (h->whole)
		return false; /* what comes behind a body in pieces */
	if (n >= 5 && memcmp(p, "HTTP/", 5) == 0)
		begin(h, p, n);
	else if (n && is_blank(*p))
		h->folded = true;
	else if (n)
		field(h, p, n);
	else
		h->whole = h->status < 100 || h->status >= 200;
	return h->whole;
}

const char *hp_head_get(const struct hp_head *h, enum hp_head_field f)
{
	if (f == HP_HEAD_ENCODING)
		return h->times[f] ? h->value[f] : NULL;
	return h->times[f] == 1 && !h->folded ? h->value[f] : NULL;
}
