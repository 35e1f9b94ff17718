/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of ours, and those that nobody serves any more. */
#include "mount.h"

#include <errno.h>
#include <mntent.h>
#include <string.h>
#include <sys/vfs.h>

/* Where it is, though it may not be asked itself; the caller frees it. */
static char *absolute(const char *point)
{
	size_t n = strlen(point);
	cmd_auto_free char *text = strdup(point);
	cmd_auto_free char *parent = NULL;
	char *slash, *ret;

	if (!text)
		cmd_no_memory();
	while (n > 1 && text[n - 1] == '/')
		text[--n] = '\0';
	slash = strrchr(text, '/');
	if (slash)
		*slash = '\0';
	parent = realpath(slash == text ? "/" : slash ? text : ".", NULL);
	if (!parent ||
	    asprintf(&ret, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
		     slash ? slash + 1 : text) < 0)
		return NULL;
	return ret;
}

/* Whose it is, as a process sees it; -1: no server of ours has mounted it. */
static int64_t user_of(const char *place, const char *process)
{
	char name[40];
	struct mntent *m;
	int64_t user = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%s/mounts", process);
	f = setmntent(name, "re");
	/* what is mounted last is seen */
	while (f && (m = getmntent(f))) {
		const char *of = hasmntopt(m, "user_id");

		if (strcmp(m->mnt_dir, place) == 0)
			user = strcmp(m->mnt_type, "fuse.hpdsl") == 0 && of ?
				       atoll(of + strlen("user_id=")) :
				       -1;
	}
	if (f)
		endmntent(f);
	return user;
}

bool mount_is_users(const char *place, uid_t user, pid_t process)
{
	char number[24];

	snprintf(number, sizeof(number), "%ld", (long)process);
	return user_of(place, number) == (int64_t)user;
}

bool mount_is_dead(const char *point)
{
	cmd_auto_free char *place = NULL;
	struct statfs s;

	if (statfs(point, &s) == 0 || errno != ENOTCONN)
		return false;
	place = absolute(point);
	return place && user_of(place, "self") >= 0;
}
