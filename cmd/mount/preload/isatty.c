/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isatty() for COMMAND, in front of the C library's: that asks the file system
 * for what only a terminal knows, which the mount has to answer each time.
 * Needs of the C library nothing but what it has always had, as COMMAND may
 * have another one.
 */
#include <errno.h>
#include <termios.h>
#include <unistd.h>

int isatty(int fd)
{
	struct termios t;

	/* Files, folders: no terminal has a position; no one is asked. */
	if (lseek(fd, 0, SEEK_CUR) != -1) {
		errno = ENOTTY;
		return 0;
	}
	return tcgetattr(fd, &t) == 0;
}
