/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output.  A full disk must not pass for success, so every write is
 * checked, and the last flush and the close too, which happen at exit.
 */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (1 << 16)

void cmd_output_failed(void)
{
	cmd_message("standard output: %s", strerror(errno));
	_exit(CMD_TROUBLE);
}

static void flush_at_exit(void)
{
	errno = EIO; /* ferror: argp or JSON, which do not look */
	if (ferror(stdout) || fflush(stdout) != 0)
		cmd_output_failed();
	/* NFS and quotas may refuse as late as this; EBADF: closed before us */
	if (close(STDOUT_FILENO) < 0 && errno != EBADF)
		cmd_output_failed();
}

void cmd_output_start(void)
{
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, NULL, _IOFBF, BUFFER);
	atexit(flush_at_exit);
}

void cmd_write(const void *bytes, size_t n)
{
	if (n && fwrite(bytes, 1, n, stdout) != n)
		cmd_output_failed();
}

void cmd_print(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vfprintf(stdout, fmt, ap);
	va_end(ap);
	if (n < 0)
		cmd_output_failed();
}

void cmd_flush(void)
{
	if (fflush(stdout) != 0)
		cmd_output_failed();
}

void cmd_print_name(const char *name, size_t len, bool null)
{
	char escaped[CMD_ESCAPED(HPDSL_PATH_MAX) + 1];

	if (null) {
		cmd_write(name, len);
		cmd_write("", 1);
		return;
	}
	if (len > HPDSL_PATH_MAX)
		len = HPDSL_PATH_MAX;
	len = cmd_escape_name(name, len, escaped);
	escaped[len++] = '\n';
	cmd_write(escaped, len);
}
