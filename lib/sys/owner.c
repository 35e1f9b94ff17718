/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a file or directory is. */
#include "sys/owner.h"

#include "base/error.h"

#include <errno.h>
#include <unistd.h>

bool hp_is_foreign(uid_t owner)
{
	return owner != 0 && owner != geteuid();
}

int hp_owner_check(const struct hp_io *io, int fd, const char *name,
		   struct hpdsl_error *err)
{
	struct stat st;
	int r = hp_io_fstat(io, fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (hp_is_foreign(st.st_uid))
		return hp_fail(err, -EPERM, "%s: " HP_FOREIGN, name,
			       (unsigned)st.st_uid);
	return 0;
}
