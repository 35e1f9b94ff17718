/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file lies. */
#include "info.h"

#include <string.h>
#include <sys/stat.h>

char *info_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder, *end;
	struct stat st;

	/* where a link leads is where the others are */
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		folder = realpath(path, NULL);
		end = folder ? strrchr(folder, '/') : NULL;
		if (end)
			end[end == folder] = '\0';
		return folder;
	}
	if (!slash)
		folder = strdup(".");
	else
		folder = strndup(path,
				 slash == path ? 1 : (size_t)(slash - path));
	if (!folder)
		cmd_no_memory();
	return folder;
}
