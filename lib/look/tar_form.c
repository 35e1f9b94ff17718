/* SPDX-License-Identifier: Apache-2.0 */
/* What a tar file of anybody is by its first bytes, whatever it is called. */
#include "base/error.h"
#include "chunk/tar.h"
#include "chunk/tar_tail.h"
#include "hpdsl/look.h"
#include "sys/io.h"

#include <errno.h>
#include <string.h>

static const struct magic {
	const char *bytes;
	size_t n;
	enum hpdsl_tar_form form;
} magics[] = {
	{ "\x1f\x8b", 2, HPDSL_TAR_COMPRESSED },
	{ "BZh", 3, HPDSL_TAR_COMPRESSED },
	{ "\xfd"
	  "7zXZ",
	  6, HPDSL_TAR_COMPRESSED },
	{ "\x28\xb5\x2f\xfd", 4, HPDSL_TAR_COMPRESSED },
	{ "LZIP", 4, HPDSL_TAR_COMPRESSED },
	{ "PK\3\4", 4, HPDSL_TAR_ZIP },
	{ "PK\5\6", 4, HPDSL_TAR_ZIP }, /* with nothing in it */
};

static bool is_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

static enum hpdsl_tar_form form_of(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (n >= magics[i].n &&
		    memcmp(p, magics[i].bytes, magics[i].n) == 0)
			return magics[i].form;
	/* a frame of zstd to be skipped */
	if (n >= 4 && (p[0] & 0xf0) == 0x50 &&
	    memcmp(p + 1, "\x2a\x4d\x18", 3) == 0)
		return HPDSL_TAR_COMPRESSED;
	return n == HP_TAR_BLOCK && (hp_tar_looks_like(p) || is_zero(p, n)) ?
		       HPDSL_TAR_PLAIN :
		       HPDSL_TAR_NONE;
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
