/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of a whole file finds: told one by one, up to a bound. */
#include "format/findings.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	TOLD_MAX = 100, /* a damaged table has millions */
};

void hp_findings_tell(struct hp_findings *f, const char *reason)
{
	if (f->n++ == 0)
		hp_fail(f->err, HPDSL_ECORRUPT, "%s", reason);
	if (f->told)
		f->told(f->arg, reason);
}

void hp_findings_add(struct hp_findings *f, const char *fmt, ...)
{
	struct hpdsl_error e;
	int n = snprintf(e.msg, sizeof e.msg, "%s: ", f->name);
	va_list ap;

	if (n < 0 || (size_t)n >= sizeof e.msg)
		n = 0;
	va_start(ap, fmt);
	vsnprintf(e.msg + n, sizeof e.msg - (size_t)n, fmt, ap);
	va_end(ap);
	hp_findings_tell(f, e.msg);
}

bool hp_findings_enough(const struct hp_findings *f)
{
	return f->n >= TOLD_MAX;
}
