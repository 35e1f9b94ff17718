/* SPDX-License-Identifier: Apache-2.0 */
/* A process that may be joined, as text. */
#include "meet.h"

#include <inttypes.h>

int mount_meeter_format(const struct mount_meeter *m, char *ret, size_t cap)
{
	return snprintf(ret, cap,
			"%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 "\n",
			m->who.space, m->who.pid, m->who.start, m->server,
			m->server_start);
}

/* Decimal digits, and *end behind them. */
static bool take(const char **at, char end, uint64_t *ret)
{
	uint64_t n = 0;
	const char *s = *at;

	if (*s == end)
		return false;
	for (; *s != end; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (digit > 9 || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			return false;
	}
	*at = s + 1;
	*ret = n;
	return true;
}

bool mount_meeter_parse(const char *line, struct mount_meeter *ret)
{
	return take(&line, ' ', &ret->who.space) &&
	       take(&line, ' ', &ret->who.pid) &&
	       take(&line, ' ', &ret->who.start) &&
	       take(&line, ' ', &ret->server) &&
	       take(&line, '\n', &ret->server_start) && ret->who.pid > 0 &&
	       ret->who.pid <= INT32_MAX && ret->server > 0 &&
	       ret->server <= INT32_MAX;
}
