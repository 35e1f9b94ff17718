/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a measured job's folder. */
#include "measure/folder.h"

#include <errno.h>
#include <stdlib.h>

int hp_measure_read(const struct hp_io *io, int dir, const char *name,
		    uint64_t off, char **ret, size_t *ret_n)
{
	hp_auto_fd f = { io, io->open(io, dir, name,
				      O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0) };
	char *text;
	ssize_t n;

	if (f.fd < 0)
		return f.fd;
	text = malloc(HP_MEASURE_READ + 1);
	if (!text)
		return -ENOMEM;
	n = hp_io_pread_full(io, f.fd, text, HP_MEASURE_READ, off);
	if (n < 0) {
		free(text);
		return (int)n;
	}
	text[n] = '\0';
	*ret = text;
	*ret_n = (size_t)n;
	return 0;
}

static int write_and_close(const struct hp_io *io, int fd, const char *text,
			   size_t n)
{
	int r = hp_io_write_full(io, fd, text, n);
	int r2 = io->close(io, fd);

	return r < 0 ? r : r2;
}

int hp_measure_append(const struct hp_io *io, int dir, const char *name,
		      const struct hp_stall_record *line)
{
	char text[HP_STALL_LINE];
	size_t n = hp_stall_record_format(line, text);
	int fd = io->open(io, dir, name,
			  O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0);

	return fd < 0 ? fd : write_and_close(io, fd, text, n);
}

int hp_measure_replace(const struct hp_io *io, int dir, const char *name,
		       const char *text, size_t n)
{
	static const char temp[] = "new";
	int fd = io->open(io, dir, temp,
			  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			  0600);
	int r;

	if (fd < 0)
		return fd;
	r = write_and_close(io, fd, text, n);
	return r < 0 ? r : io->rename(io, dir, temp, dir, name, 0);
}
