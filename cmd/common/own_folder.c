/* SPDX-License-Identifier: Apache-2.0 */
/* Where a user's processes of a node find each other, as "/tmp/hpdsl-1000". */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *folder, int code, const char *why,
		struct hpdsl_error *err)
{
	snprintf(err->msg, sizeof(err->msg), "%.800s: %s", folder, why);
	return err->code = code;
}

int cmd_own_folder(const char *folder, bool make, struct hpdsl_error *err)
{
	struct stat st;
	int dir;

	if (make && mkdir(folder, 0700) < 0 && errno != EEXIST)
		return fail(folder, -errno, strerror(errno), err);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return fail(folder, -errno, strerror(errno), err);
	if (fstat(dir, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077) {
		close(dir);
		return fail(folder, -EPERM,
			    "is another user's, or others have rights to it",
			    err);
	}
	return dir;
}
