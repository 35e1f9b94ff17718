/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that some side files are in. */
#include "stage/private.h"

#include "base/error.h"
#include "sys/outfile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int hp_stage_side_folder(const struct hpdsl_stage *s, bool make,
			 struct hpdsl_error *err)
{
	struct stat st;
	int r = make ? s->io->mkdir(s->io, s->dir, HP_SIDE_FOLDER, 0700) : 0;
	int fd;

	if (r == -EEXIST)
		r = 0;
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_SIDE_FOLDER);
	fd = s->io->open(s->io, s->dir, HP_SIDE_FOLDER,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return hp_fail_errno(err, fd, "%s/%s", s->path, HP_SIDE_FOLDER);
	r = hp_io_fstat(s->io, fd, &st);
	if (r == 0 && st.st_uid != geteuid())
		r = -EPERM;
	if (r < 0) {
		s->io->close(s->io, fd);
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_SIDE_FOLDER);
	}
	return fd;
}

bool hp_stage_in_side_folder(const char *name, bool *ret_part)
{
	char temp[HP_OUTFILE_NAME];

	*ret_part = false;
	if (hp_side_is_name(name, true))
		return true;
	for (int kind = 0; kind < HP_SIDES; kind++) {
		char is[HP_SIDE_NAME];
		const char *slash;

		hp_side_name((enum hp_side_file)kind, 0, is);
		slash = strchr(is, '/');
		if (!slash)
			continue;
		hp_outfile_temp(slash + 1, temp);
		*ret_part = *ret_part || strcmp(name, temp) == 0;
	}
	return *ret_part;
}
