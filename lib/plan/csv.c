/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/csv.h"

#include "hpdsl/core.h"

#include <string.h>

static bool is_blank(const struct hp_csv *c, char b)
{
	return b == ' ' || (b == '\t' && c->comma != '\t');
}

static void skip_blanks(struct hp_csv *c)
{
	while (c->at < c->end && is_blank(c, *c->at))
		c->at++;
}

/* Behind the opening quote; goes behind the closing one. */
static bool take_quoted(struct hp_csv *c, struct hp_text *ret)
{
	for (;;) {
		size_t left = (size_t)(c->end - c->at);
		const char *from = c->at, *quote = memchr(from, '"', left);

		if (!quote)
			return false;
		for (const char *s = from; s < quote; s++)
			c->line += *s == '\n';
		hp_text_add(ret, from, (size_t)(quote - from));
		c->at = quote + 1;
		if (c->at == c->end || *c->at != '"')
			return true;
		hp_text_add(ret, "\"", 1);
		c->at++;
	}
}

static void take_plain(struct hp_csv *c, struct hp_text *ret)
{
	const char *from = c->at, *s = from;

	while (s < c->end && *s != c->comma && *s != '\n')
		s++;
	c->at = s;
	if (s > from && s[-1] == '\r' && (s == c->end || *s == '\n'))
		s--;
	while (s > from && is_blank(c, s[-1]))
		s--;
	hp_text_add(ret, from, (size_t)(s - from));
}

/* What ends a field, which may lack behind the last one of all. */
static int take_end(struct hp_csv *c, const char **why)
{
	if (c->at < c->end && *c->at == '\r' &&
	    (c->at + 1 == c->end || c->at[1] == '\n'))
		c->at++;
	if (c->at == c->end)
		return 0;
	if (*c->at == c->comma) {
		c->at++;
		return 1;
	}
	if (*c->at == '\n') {
		c->at++;
		c->line++;
		return 0;
	}
	*why = "there is text behind a closing quote";
	return HPDSL_EUSAGE;
}

int hp_csv_field(struct hp_csv *c, struct hp_text *ret, const char **why)
{
	ret->n = 0;
	skip_blanks(c);
	if (c->at == c->end || *c->at != '"') {
		take_plain(c, ret);
		return take_end(c, why);
	}
	c->at++;
	if (!take_quoted(c, ret)) {
		*why = "a quote is not closed";
		return HPDSL_EUSAGE;
	}
	skip_blanks(c);
	return take_end(c, why);
}
