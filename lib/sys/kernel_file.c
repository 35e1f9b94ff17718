/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel's, and what is written in them. */
#include "sys/kernel_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

ssize_t hp_kernel_file(const struct hp_io *io, const char *path, char *buf,
		       size_t size)
{
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, path, O_RDONLY | O_NONBLOCK,
				      0) };
	ssize_t n;

	if (f.fd < 0)
		return f.fd;
	/* Such files say that they are empty. */
	n = hp_io_pread_full(io, f.fd, buf, size - 1, 0);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

const char *hp_kernel_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end ? end + 1 : text + strlen(text);
}

uint64_t hp_kernel_number(const char *text)
{
	char *end;
	uint64_t v;

	while (*text == ' ' || *text == '\t')
		text++;
	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	v = strtoull(text, &end, 10);
	return *end == '\0' || *end == '\n' || *end == ' ' ? v : UINT64_MAX;
}
