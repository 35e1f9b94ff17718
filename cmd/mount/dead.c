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

bool mount_is_ours(const char *place)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool ours = false;

	/* what is mounted last is seen */
	while (f && (m = getmntent(f)))
		if (strcmp(m->mnt_dir, place) == 0)
			ours = strcmp(m->mnt_type, "fuse.hpdsl") == 0;
	if (f)
		endmntent(f);
	return ours;
}

bool mount_is_dead(const char *point)
{
	cmd_auto_free char *place = NULL;
	struct statfs s;

	if (statfs(point, &s) == 0 || errno != ENOTCONN)
		return false;
	place = absolute(point);
	return place && mount_is_ours(place);
}
