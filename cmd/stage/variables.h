/* SPDX-License-Identifier: Apache-2.0 */
/* $NAME in LOCALDIR, from an environment: a pure function. */
#ifndef CMD_STAGE_VARIABLES_H
#define CMD_STAGE_VARIABLES_H

#include <hpdsl.h>

typedef char *variables_get(const char *name);

/*
 * $NAME and ${NAME} become values, $$ a dollar; values are not looked at.  The
 * caller frees it.  NULL: HPDSL_EUSAGE, as a variable is not set or empty, or
 * something else is behind a dollar; -ENOMEM.
 */
char *variables_expand(const char *text, variables_get *get,
		       struct hpdsl_error *err);

#endif
