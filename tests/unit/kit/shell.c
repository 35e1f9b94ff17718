/* SPDX-License-Identifier: Apache-2.0 */
#include "shell.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void run(const char *fmt, ...)
{
	char cmd[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof cmd, fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

static int count_names(const char *dir, bool (*counts)(const char *name))
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.' && counts(e->d_name);
	closedir(d);
	return n;
}

static bool any(const char *name)
{
	(void)name;
	return true;
}

int count_fds(void)
{
	return count_names("/proc/self/fd", any);
}

/* Linux's PF_EXITING, which a thread has before it can be joined. */
enum { EXITING = 4 };

/* A thread that was joined may be listed for a while. */
static bool is_alive(const char *thread)
{
	char name[300], line[1000];
	unsigned flags = EXITING;
	const char *rest;
	FILE *f;

	snprintf(name, sizeof name, "/proc/self/task/%s/stat", thread);
	f = fopen(name, "r");
	if (!f)
		return false;
	if (fgets(line, sizeof line, f) && (rest = strrchr(line, ')')))
		sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags);
	fclose(f);
	return !(flags & EXITING);
}

int count_threads(void)
{
	int n = count_names("/proc/self/task", is_alive);

	assert_true(n > 0); /* this one */
	return n;
}
