/* SPDX-License-Identifier: Apache-2.0 */
/* Who a server is: a line in its lock, and what the system says of it. */
#include "life.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int serve_holder_format(const struct serve_holder *h, char *ret, size_t cap)
{
	return snprintf(ret, cap,
			"pid %ld on %s since %s UTC (%lld, start "
			"%llu)\n",
			(long)h->pid, h->host, cmd_time(h->since).s,
			(long long)h->since, (unsigned long long)h->start);
}

bool serve_holder_parse(const char *text, struct serve_holder *ret)
{
	struct serve_holder h = { 0 };
	long pid;
	long long since;
	unsigned long long start;
	int end = 0;

	if (sscanf(text,
		   "pid %10ld on %64s since %*10s %*8s UTC (%20lld, start "
		   "%20llu)%n",
		   &pid, h.host, &since, &start, &end) != 4 ||
	    text[end] != '\n' || pid <= 1 || pid > INT32_MAX || !start)
		return false;
	h.pid = (pid_t)pid;
	h.since = since;
	h.start = start;
	*ret = h;
	return true;
}

/* "4711 (a name) S 1 ..": a name may have blanks and brackets. */
bool serve_start_of(const char *stat, uint64_t *ret)
{
	const char *s = strrchr(stat, ')');
	unsigned long long start;

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

uint64_t serve_process_start(pid_t pid)
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
	return serve_start_of(text, &start) ? start : 0;
}

struct serve_holder serve_holder_self(void)
{
	struct serve_holder h = { .pid = getpid(), .since = time(NULL) };

	h.start = serve_process_start(h.pid);
	if (gethostname(h.host, sizeof(h.host) - 1) < 0 || !*h.host)
		strcpy(h.host, "?");
	return h;
}
