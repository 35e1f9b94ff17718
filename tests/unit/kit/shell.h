/* SPDX-License-Identifier: Apache-2.0 */
/* Shell commands, and what a fault must not leak, for tests of faults. */
#ifndef TEST_SHELL_H
#define TEST_SHELL_H

/* Runs a shell command, which must succeed. */
void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Open files of this process. */
int count_fds(void);
/* Its threads, without those that have been joined. */
int count_threads(void);

#endif
