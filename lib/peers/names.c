/* SPDX-License-Identifier: Apache-2.0 */
/* The servers' names in a stage directory. */
#include "peers/names.h"

#include "sys/outfile.h"

#include <string.h>

const char *const hp_peers_names[] = { HP_BOOK_NAME, HP_TABLE_NAME,
				       HP_SERVE_LOCK, HP_SERVE_SOCKET, NULL };

bool hp_peers_name_is(const char *name)
{
	for (const char *const *n = hp_peers_names; *n; n++)
		if (strcmp(name, *n) == 0)
			return true;
	return false;
}

static bool is_part(const char *name)
{
	char temp[HP_OUTFILE_NAME];

	for (const char *const *n = hp_peers_names; *n; n++) {
		hp_outfile_temp(*n, temp);
		if (strcmp(name, temp) == 0)
			return true;
	}
	return false;
}

bool hp_peers_is_ours(const struct hp_io *io, int dir, const char *name)
{
	struct stat st;

	if ((!hp_peers_name_is(name) && !is_part(name)) ||
	    hp_io_stat(io, dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return S_ISREG(st.st_mode) ||
	       (S_ISSOCK(st.st_mode) && strcmp(name, HP_SERVE_SOCKET) == 0);
}
