/* SPDX-License-Identifier: Apache-2.0 */
/* Who a server is: a line in its lock, and what the system says of it. */
#include "life.h"

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

struct serve_holder serve_holder_self(void)
{
	struct serve_holder h = { .pid = getpid(), .since = time(NULL) };

	h.start = cmd_process_start(h.pid);
	if (gethostname(h.host, sizeof(h.host) - 1) < 0 || !*h.host)
		strcpy(h.host, "?");
	return h;
}
