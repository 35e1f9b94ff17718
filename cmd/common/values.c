/* SPDX-License-Identifier: Apache-2.0 */
/* Values that options of several commands take, and why one is none. */
#include "common.h"

#include <stdarg.h>
#include <string.h>

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

/* "dir" or "dir:N". */
static bool is_dir(const char *arg, uint64_t *ret)
{
	*ret = 0;
	if (strncmp(arg, "dir:", 4) != 0)
		return strcmp(arg, "dir") == 0;
	return cmd_parse_count(arg + 4, ret) == 0 && *ret &&
	       *ret <= HPDSL_PATH_MAX;
}

int cmd_value_labels(const char *name, const char *arg, const char *had,
		     struct cmd_labels *ret, struct cmd_why *why)
{
	uint64_t dir;

	*ret = (struct cmd_labels){ .how = HPDSL_LABELS_FILE };
	if (strcmp(arg, "none") == 0) {
		ret->how = HPDSL_LABELS_NONE;
	} else if (strcmp(arg, "parent") == 0) {
		ret->how = HPDSL_LABELS_PARENT;
	} else if (is_dir(arg, &dir)) {
		ret->how = HPDSL_LABELS_DIR;
		ret->dir = (uint32_t)dir;
	} else if (strcmp(arg, "cls") == 0) {
		ret->how = HPDSL_LABELS_CLS;
	} else if (strncmp(arg, "json:", 5) == 0 && arg[5]) {
		ret->how = HPDSL_LABELS_JSON;
		ret->field = arg + 5;
	} else if (strncmp(arg, "dir:", 4) == 0 || !*arg ||
		   strcmp(arg, "json") == 0 || strcmp(arg, "json:") == 0) {
		return cmd_refuse(why,
				  "%s: '%s' is not none, dir, dir:N, "
				  "parent, cls, json:FIELD or a file",
				  name, arg);
	} else if (had && strcmp(had, arg) != 0) {
		return cmd_refuse(why,
				  "%s: '%s' and '%s': wanted one table of all "
				  "samples, with train/ or whatever their "
				  "folders are before its names",
				  name, had, arg);
	} else {
		ret->file = arg;
	}
	return 0;
}
