/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of a whole file finds: told one by one, up to a bound. */
#ifndef HP_FINDINGS_H
#define HP_FINDINGS_H

#include "hpdsl/core.h"

enum {
	HP_SAME_HASH = 64 /* names with one hash; more are no accident */
};

struct hp_findings {
	const char *name; /* of the file */
	void (*told)(void *arg, const char *reason);
	void *arg;
	struct hpdsl_error *err; /* gets the first one */
	unsigned n;
	int failed; /* it could not be checked, or HPDSL_ETOONEW */
};

/* One of them. */
void hp_findings_tell(struct hp_findings *f, const char *reason);
/* The same, behind the name of the file. */
void hp_findings_add(struct hp_findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* So many that no more are wanted. */
bool hp_findings_enough(const struct hp_findings *f);

#endif
