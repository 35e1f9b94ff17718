/* SPDX-License-Identifier: Apache-2.0 */
/* When a process began: its number alone may be another one's by now. */
#include "common.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* "4711 (a name) S 1 ..": a name may have blanks and brackets. */
bool cmd_start_of(const char *stat, uint64_t *ret)
{
	const char *s = strrchr(stat, ')');
	unsigned long long start;

	/* ended, and only not waited for */
	if (s && (strncmp(s, ") Z", 3) == 0 || strncmp(s, ") X", 3) == 0))
		return false;

	/* the field behind the name is the third one, this is the 22nd */
	for (int field = 2; s && field < 22; field++) {
		s = strchr(s, ' ');
		s += s != NULL;
	}
	if (!s || !isdigit((unsigned char)*s) ||
	    sscanf(s, "%20llu", &start) != 1)
		return false;
	*ret = start;
	return true;
}

uint64_t cmd_process_start(pid_t pid)
{
	char name[64], text[2048];
	uint64_t start = 0;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return cmd_start_of(text, &start) ? start : 0;
}
