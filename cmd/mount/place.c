/* SPDX-License-Identifier: Apache-2.0 */
/* Where one path is, seen from another one. */
#include "mount.h"

#include <string.h>

bool mount_is_in(const char *path, const char *folder)
{
	const size_t n = strlen(folder);

	return path && strncmp(path, folder, n) == 0 &&
	       (!path[n] || path[n] == '/' || n == 1);
}
