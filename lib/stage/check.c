/* SPDX-License-Identifier: Apache-2.0 */
/* Is a file of a stage directory what it has to be? */
#include "stage/private.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const char *hp_stage_bad_word(enum hp_stage_bad bad)
{
	return bad == HP_STAGE_BAD_READ	 ? "cannot be read" :
	       bad == HP_STAGE_BAD_BYTES ? "damaged" :
	       bad == HP_STAGE_BAD_KIND	 ? "no regular file" :
					   "not of its size";
}

static int check(struct hpdsl_stage *s, const struct hp_stage_file *f,
		 struct hp_meter *m)
{
	uint8_t is[16];
	struct stat st;
	int r = s->io->stat(s->io, s->dir, f->name, &st, AT_SYMLINK_NOFOLLOW);

	if (r < 0)
		return r == -EIO ? HP_STAGE_BAD_READ : r;
	if (!S_ISREG(st.st_mode))
		return f->any ? HP_STAGE_BAD_KIND : -EINVAL;
	/* Whose it is may have it open, and change it once it was hashed. */
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((uint64_t)st.st_size != f->bytes)
		return HP_STAGE_BAD_SIZE;
	if (!f->checksum)
		return 0;
	r = hp_stage_hash(s, f->name, m, is);
	if (r == -EIO)
		return HP_STAGE_BAD_READ;
	if (r < 0)
		return r;
	return memcmp(is, f->checksum, 16) == 0 ? HP_STAGE_SOUND :
						  HP_STAGE_BAD_BYTES;
}

int hp_stage_check_file(struct hpdsl_stage *s, const struct hp_stage_file *f,
			struct hp_meter *m, struct hpdsl_error *err)
{
	int r = check(s, f, m);

	if (r >= 0 || r == -ENOENT)
		return r;
	if (r == -EINVAL)
		return hp_fail(err, r, "%s/%s: is no regular file", s->path,
			       f->name);
	if (r == -EPERM)
		return hp_fail(err, r, "%s/%s: belongs to another user",
			       s->path, f->name);
	return hp_fail_errno(err, r, "%s/%s", s->path, f->name);
}
