/* SPDX-License-Identifier: Apache-2.0 */
/* Shell commands, and what a fault must not leak, for tests of faults. */
#ifndef TEST_SHELL_H
#define TEST_SHELL_H

/* Runs a shell command, which must succeed. */
void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Names in /proc/self/fd. */
int count_fds(void);
/* Names in /proc/self/task. */
int count_threads(void);

#endif
