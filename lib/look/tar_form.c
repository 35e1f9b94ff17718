/* SPDX-License-Identifier: Apache-2.0 */
/* What a tar file of anybody is by its first bytes, whatever it is called. */
#include "archive/archive.h"
#include "base/archive_name.h"
#include "base/error.h"
#include "chunk/tar.h"
#include "chunk/tar_tail.h"
#include "hpdsl/look.h"
#include "sys/io.h"

#include <errno.h>
#include <string.h>

static bool is_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

static bool begins(const uint8_t *p, size_t n, const char *with, size_t len)
{
	return n >= len && !memcmp(p, with, len);
}

static enum hpdsl_tar_form form_of(const uint8_t *p, size_t n)
{
	if (hp_archive_is_compressed(p, n))
		return HPDSL_TAR_COMPRESSED;
	if (begins(p, n, "PK\3\4", 4) || begins(p, n, "PK\5\6", 4))
		return HPDSL_TAR_ZIP;
	if (n == HP_TAR_BLOCK && (hp_tar_looks_like(p) || is_zero(p, n)))
		return HPDSL_TAR_PLAIN;
	/* a tar's first name may be any bytes */
	return begins(p, n, "7z\xbc\xaf\x27\x1c", 6) ? HPDSL_TAR_ZIP :
						       HPDSL_TAR_NONE;
}

size_t hpdsl_archive_suffix(const char *name, size_t len, unsigned *ret_is)
{
	if (ret_is)
		*ret_is = (hp_archive_is_packed(name, len) ?
				   HPDSL_ARCHIVE_PACKED :
				   0) |
			  (hp_archive_is_read(name, len) ? HPDSL_ARCHIVE_READ :
							   0);
	return hp_archive_suffix(name, len);
}

int hpdsl_tar_form(const char *path, const struct hp_io *io,
		   enum hpdsl_tar_form *ret, struct hpdsl_error *err)
{
	uint8_t head[HP_TAR_BLOCK];
	struct stat st;
	ssize_t n;

	io = hp_io_or_system(io);
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, path,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) };
	n = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);
	if (n == 0 && !S_ISREG(st.st_mode))
		return hp_fail(err, -EINVAL, "%s: not a regular file", path);
	if (n == 0)
		n = hp_io_pread_full(io, f.fd, head, sizeof head, 0);
	if (n < 0)
		return hp_fail_errno(err, (int)n, "%s", path);
	*ret = form_of(head, (size_t)n);
	return 0;
}
