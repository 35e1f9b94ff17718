/* SPDX-License-Identifier: Apache-2.0 */
/* From a table of counters to the text that scrapers read. */
#include "metrics/text.h"

#include "base/error.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Names ------------------------------------------------------------ */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool hp_metrics_is_label(const char *s)
{
	/* Those with two underscores are Prometheus' own. */
	if (!is_letter(*s) || !strncmp(s, "__", 2))
		return false;
	for (; *s; s++)
		if (!is_letter(*s) && (*s < '0' || *s > '9'))
			return false;
	return true;
}

static bool is_total(const char *s)
{
	size_t n = strlen(s), end = strlen("_total");

	return n > end && !strcmp(s + n - end, "_total");
}

static int check_name(const struct hpdsl_metric *m, struct hpdsl_error *err)
{
	bool counter = m->type == HPDSL_COUNTER;

	/* No colons: those are of rules. */
	if (!hp_metrics_is_label(m->name))
		return hp_fail(err, HPDSL_EUSAGE,
			       "metric '%.80s': this is no name", m->name);
	if (is_total(m->name) != counter)
		return hp_fail(err, HPDSL_EUSAGE,
			       "metric %.80s: a %s %s in _total", m->name,
			       counter ? "counter" : "gauge",
			       counter ? "has to end" : "does not end");
	return 0;
}

/* ---- Families --------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* A label of its own must not be one of all. */
static int check_label(const struct hpdsl_metric *m,
		       const struct hp_metrics_labels *common,
		       struct hpdsl_error *err)
{
	bool ok = !m->label || hp_metrics_is_label(m->label);

	for (size_t i = 0; ok && m->label && i < common->n; i++)
		ok = strcmp(common->v[i].name, m->label) != 0;
	if (!ok || !m->label != !m->label_value)
		return hp_fail(err, HPDSL_EUSAGE,
			       "metric %.80s: label '%.80s' cannot be", m->name,
			       m->label ? m->label : "");
	return 0;
}

/* Of the family that begins at v[first], v[i] is one more. */
static int check_mate(const struct hpdsl_metric *v, size_t first, size_t i,
		      struct hpdsl_error *err)
{
	if (v[i].type != v[first].type || !same(v[i].help, v[first].help) ||
	    !same(v[i].label, v[first].label))
		return hp_fail(err, HPDSL_EUSAGE,
			       "metric %.80s: has two helps, types or labels",
			       v[i].name);
	for (size_t k = first; k < i; k++)
		if (same(v[k].label_value, v[i].label_value))
			return hp_fail(err, HPDSL_EUSAGE,
				       "metric %.80s: is there twice",
				       v[i].name);
	return 0;
}

static int check(const struct hpdsl_metric *v, size_t n,
		 const struct hp_metrics_labels *common,
		 struct hpdsl_error *err)
{
	size_t first = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = check_name(&v[i], err);
		if (r == 0)
			r = check_label(&v[i], common, err);
		if (r < 0)
			break;
		if (i && same(v[i].name, v[first].name)) {
			r = check_mate(v, first, i, err);
			continue;
		}
		for (size_t k = 0; r == 0 && k < i; k++)
			if (same(v[k].name, v[i].name))
				r = hp_fail(err, HPDSL_EUSAGE,
					    "metric %.80s: is in two places",
					    v[i].name);
		first = i;
	}
	return r;
}

/* ---- Text ------------------------------------------------------------- */

/* What is no UTF-8 would cost a scraper the whole file. */
static void put_escaped(struct hp_text *t, const char *s, bool quoted)
{
	size_t left = strlen(s);

	while (left) {
		size_t n = hp_utf8_char((const unsigned char *)s, left);

		if (!n) {
			hp_text_puts(t, "?");
			n = 1;
		} else if (*s == '\n') {
			hp_text_puts(t, "\\n");
		} else if (*s == '\\') {
			hp_text_puts(t, "\\\\");
		} else if (*s == '"' && quoted) {
			hp_text_puts(t, "\\\"");
		} else {
			hp_text_add(t, s, n);
		}
		s += n;
		left -= n;
	}
}

static void put_label(struct hp_text *t, const char *name, const char *value,
		      bool first)
{
	hp_text_puts(t, first ? "{" : ",");
	hp_text_puts(t, name);
	hp_text_puts(t, "=\"");
	put_escaped(t, value, true);
	hp_text_puts(t, "\"");
}

/* Without printf, whose point is another one in some languages. */
static void put_value(struct hp_text *t, double v)
{
	const double million = 1e6;
	uint64_t whole, part;

	if (isnan(v)) {
		hp_text_puts(t, "NaN");
		return;
	}
	if (v < 0)
		hp_text_puts(t, "-");
	v = fabs(v);
	if (v >= 0x1p63) {
		hp_text_puts(t, "Inf");
		return;
	}
	whole = (uint64_t)v;
	part = (uint64_t)((v - (double)whole) * million + .5);
	if (part == (uint64_t)million) {
		part = 0;
		whole++;
	}
	hp_text_u64(t, whole);
	if (part) {
		char digits[24];

		snprintf(digits, sizeof digits, ".%06u", (unsigned)part);
		hp_text_puts(t, digits);
	}
}

static void put_head(struct hp_text *t, const struct hpdsl_metric *m)
{
	hp_text_puts(t, "# HELP ");
	hp_text_puts(t, m->name);
	hp_text_puts(t, " ");
	put_escaped(t, m->help, false);
	hp_text_puts(t, "\n# TYPE ");
	hp_text_puts(t, m->name);
	hp_text_puts(t, m->type == HPDSL_COUNTER ? " counter\n" : " gauge\n");
}

static void put_line(struct hp_text *t, const struct hpdsl_metric *m,
		     const struct hp_metrics_labels *common)
{
	bool any = common->n || m->label;

	hp_text_puts(t, m->name);
	for (size_t i = 0; i < common->n; i++)
		put_label(t, common->v[i].name, common->v[i].value, i == 0);
	if (m->label)
		put_label(t, m->label, m->label_value, !common->n);
	hp_text_puts(t, any ? "} " : " ");
	put_value(t, m->value);
	hp_text_puts(t, "\n");
}

int hp_metrics_text(const struct hpdsl_metric *v, size_t n,
		    const struct hp_metrics_labels *common, struct hp_text *t,
		    struct hpdsl_error *err)
{
	int r = check(v, n, common, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(v[i].name, v[i - 1].name) != 0)
			put_head(t, &v[i]);
		put_line(t, &v[i], common);
	}
	return t->failed ? hp_fail_nomem(err) : 0;
}
