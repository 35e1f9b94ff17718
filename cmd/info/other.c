/* SPDX-License-Identifier: Apache-2.0 */
/* What is none of ours, or not there. */
#include "info.h"

#include <sys/stat.h>

void info_nothing(struct info *i)
{
	struct stat st;

	info_says(i, lstat(i->path, &st) == 0 ?
			     "a symbolic link that leads nowhere" :
			     "nothing is there");
	i->status = CMD_NO;
}

void info_empty(struct info *i)
{
	info_says(i, "an empty directory");
	info_next(i, "hpdsl-pack INPUT");
	info_next_path(i, i->path);
}

void info_file(struct info *i)
{
	struct stat st;

	info_says(i, stat(i->path, &st) == 0 && st.st_size == 0 ?
			     "an empty file" :
			     "a file, of no dataset and no archive");
}

void info_special(struct info *i)
{
	struct stat st;

	if (stat(i->path, &st) < 0)
		st.st_mode = 0;
	info_says(i, S_ISFIFO(st.st_mode) ? "a FIFO" :
		     S_ISSOCK(st.st_mode) ? "a socket" :
		     S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ?
					    "a device" :
					    "no file and no directory");
}
