/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-verify: between its two halves. */
#ifndef CMD_VERIFY_H
#define CMD_VERIFY_H

#include "common/common.h"

/*
 * Bits of enum hpdsl_reader from names with commas between them, or "all"; 0:
 * why says what is wrong.
 */
unsigned compat_readers(const char *list, struct cmd_why *why);

/* What these readers would make of the datasets and tars.  Exit status. */
int compat_run(const struct cmd_strings *paths, unsigned readers,
	       const struct cmd_common *common);

/* As text, empty if nothing is lost, and as an object of a JSON object. */
#define VERIFY_NOT_KEPT 600
void verify_not_kept(const struct hpdsl_not_kept *n, char out[VERIFY_NOT_KEPT]);
void verify_json_not_kept(struct cmd_json *j, const struct hpdsl_not_kept *n);

#endif
