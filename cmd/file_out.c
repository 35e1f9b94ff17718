/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file that a command leaves.  It appears whole, by a rename; what is
 * no regular file (a link as /dev/stdout, a pipe) is written to as it is, and
 * never replaced.
 */
#include "common.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_special(const char *file)
{
	struct stat st;

	/* /dev/stdout is a link, to what may be a regular file */
	return lstat(file, &st) == 0 && !S_ISREG(st.st_mode);
}

FILE *cmd_file_open(const char *file, char **ret_temporary)
{
	*ret_temporary = NULL;
	if (is_special(file))
		return fopen(file, "we");
	if (asprintf(ret_temporary, "%s.part", file) < 0)
		cmd_no_memory();
	return fopen(*ret_temporary, "we");
}

int cmd_file_try(const char *file)
{
	cmd_auto_free char *temporary = NULL;
	struct stat st;
	FILE *f;

	/* a pipe may have no reader yet, and a file keeps what it has */
	if (is_special(file) && stat(file, &st) == 0)
		return S_ISDIR(st.st_mode)    ? -EISDIR :
		       access(file, W_OK) < 0 ? -errno :
						0;
	f = cmd_file_open(file, &temporary);
	if (!f)
		return -errno;
	fclose(f);
	if (temporary)
		unlink(temporary);
	return 0;
}

int cmd_file_close(FILE *f, const char *file, const char *temporary)
{
	bool bad = ferror(f);
	int code = 0;

	errno = 0;
	bad |= fflush(f) != 0;
	bad |= !bad && temporary && fsync(fileno(f)) != 0;
	bad |= fclose(f) != 0;
	if (bad)
		code = errno ? -errno : -EIO;
	else if (temporary && rename(temporary, file) < 0)
		code = -errno;
	if (code && temporary)
		unlink(temporary);
	return code;
}
