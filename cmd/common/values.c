/* SPDX-License-Identifier: Apache-2.0 */
/* Values that options of several commands take, and why one is none. */
#include "common.h"

#include <stdarg.h>

int cmd_refuse(struct cmd_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -1;
}

int cmd_value_count(const char *name, const char *arg, uint64_t least,
		    uint64_t *ret, struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_count(arg, &n) == 0 && n >= least) {
		*ret = n;
		return 0;
	}
	if (!least)
		return cmd_refuse(why, "%s: '%s' is no number of 64 bits", name,
				  arg);
	return cmd_refuse(why, "%s: '%s' is no number from %llu", name, arg,
			  (unsigned long long)least);
}

int cmd_value_deadline(const char *arg, uint64_t *ret, struct cmd_why *why)
{
	if (cmd_parse_duration(arg, ret) < 0 || !*ret)
		return cmd_refuse(why,
				  "deadline: '%s' is neither seconds nor "
				  "[D-]HH:MM:SS",
				  arg);
	return 0;
}
