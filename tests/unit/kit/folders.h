/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders removed, copied and compared without a process for each: for tests
 * that do so thousands of times.
 */
#ifndef TEST_FOLDERS_H
#define TEST_FOLDERS_H

#include <stdbool.h>

/* It and all below it, if it is there. */
void folder_remove(const char *path);
/* With times, to where there is nothing; files and folders only. */
void folder_copy(const char *from, const char *to);
/* How many names are in it. */
int folder_count(const char *path);
/* Those of top that a run to top/out makes: out, .out and something. */
void folder_remove_output(const char *top);
/* Is there a folder .out and something in top? */
bool folder_has_hidden_output(const char *top);

/*
 * The same names, and the same bytes in the files that they lead to.  part: of
 * got only what a run that failed may have left counts, which is not hidden
 * and not the journal, and got may lack anything.
 */
bool folder_same(const char *got, const char *want, bool part);
/* They must be, else it is told in what they differ. */
void folder_check(const char *got, const char *want, bool part);
/* Each file of got, if that is there, whose name counts, is as in want. */
void folder_check_files(const char *got, const char *want,
			bool (*counts)(const char *name));

#endif
