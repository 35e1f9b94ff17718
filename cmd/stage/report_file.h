/* SPDX-License-Identifier: Apache-2.0 */
/* The file of --report. */
#ifndef STAGE_REPORT_FILE_H
#define STAGE_REPORT_FILE_H

#include "stage/stage.h"

#include <stdio.h>

/* Can it be written?  Nothing is left behind.  0 or a negative errno. */
int report_try(const char *file);

/* NULL: see errno.  *ret_temporary, if any, is the caller's to free. */
FILE *report_open(const char *file, char **ret_temporary);
/* Gives it its name; removes what was written if that fails. */
int report_close(FILE *f, const char *file, const char *temporary);

#endif
