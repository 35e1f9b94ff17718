/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-verify: between its two halves. */
#ifndef CMD_VERIFY_H
#define CMD_VERIFY_H

#include "common.h"

/*
 * Bits of enum hpdsl_reader from names with commas between them, or "all"; 0:
 * why says what is wrong.
 */
unsigned compat_readers(const char *list, struct cmd_why *why);

/* What these readers would make of the datasets and tars.  Exit status. */
int compat_run(const struct cmd_strings *paths, unsigned readers,
	       const struct cmd_common *common);

#endif
