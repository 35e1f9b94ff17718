/* SPDX-License-Identifier: Apache-2.0 */
/* A small file, all of it: a loader's state, an earlier report. */
#include "common.h"

#include <errno.h>
#include <string.h>

enum { FILE_MAX = 1 << 30 };

static int fail(struct hpdsl_error *err, const char *file, int code,
		const char *why)
{
	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%.900s: %s", file, why);
	return code;
}

int cmd_file_read(const char *file, char **ret, size_t *ret_size,
		  struct hpdsl_error *err)
{
	cmd_auto_free char *text = NULL;
	size_t size = 0, room = 0, n;
	FILE *f = fopen(file, "re");
	int trouble;

	if (!f)
		return fail(err, file, -errno, strerror(errno));
	do {
		if (size == room) {
			room = room ? 2 * room : 4096;
			text = realloc(text, room);
			if (!text)
				cmd_no_memory();
		}
		n = fread(text + size, 1, room - size, f);
		size += n;
	} while (n && size < FILE_MAX);
	trouble = ferror(f) ? errno : size >= FILE_MAX ? EFBIG : 0;
	fclose(f);
	if (trouble)
		return fail(err, file, -trouble, strerror(trouble));
	*ret = text;
	*ret_size = size;
	text = NULL;
	return 0;
}
