/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that some side files are in, and what is in the way of one: that
 * is removed by its name, and no link is followed.
 */
#include "stage/private.h"

#include "base/error.h"
#include "sys/dir.h"
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
	if (r == 0 && st.st_uid == geteuid())
		return fd;
	s->io->close(s->io, fd);
	return r < 0 ? hp_fail_errno(err, r, "%s/%s", s->path, HP_SIDE_FOLDER) :
		       hp_fail(err, -EPERM, "%s/%s: belongs to another user",
			       s->path, HP_SIDE_FOLDER);
}

int hp_stage_mend_side_folder(const struct hpdsl_stage *s,
			      struct hpdsl_error *err)
{
	struct stat st;
	int r = s->io->stat(s->io, s->dir, HP_SIDE_FOLDER, &st,
			    AT_SYMLINK_NOFOLLOW);

	if (r == -ENOENT || (r == 0 && S_ISDIR(st.st_mode)))
		return 0;
	if (r == 0)
		r = s->io->unlink(s->io, s->dir, HP_SIDE_FOLDER, 0);
	return r < 0 ? hp_fail_errno(err, r,
				     "%s/%s: no folder, and cannot be removed",
				     s->path, HP_SIDE_FOLDER) :
		       1;
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

struct sweep {
	const struct hpdsl_stage *s;
	int folder;
};

static int sweep(void *arg, const char *name)
{
	const struct sweep *w = arg;
	const struct hp_io *io = w->s->io;
	bool part;
	int r = 0;

	if (hp_stage_in_side_folder(name, &part) && part)
		r = io->unlink(io, w->folder, name, 0);
	return r == -ENOENT || r == -EISDIR ? 0 : r;
}

int hp_stage_sweep_side_folder(const struct hpdsl_stage *s, int folder)
{
	struct sweep w = { s, folder };
	/* A descriptor of its own, which begins at the beginning. */
	hp_auto_fd f = { s->io, s->io->open(s->io, folder, ".",
					    O_RDONLY | O_DIRECTORY, 0) };

	return f.fd < 0 ? f.fd : hp_listdir(s->io, f.fd, sweep, &w);
}

int hp_stage_remove_side(const struct hpdsl_stage *s, int dir, const char *name,
			 uint64_t *ret_bytes)
{
	struct stat st;
	int r = s->io->stat(s->io, dir, name, &st, AT_SYMLINK_NOFOLLOW);

	if (r == 0)
		r = s->io->unlink(s->io, dir, name,
				  S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	if (r < 0)
		return r == -ENOENT ? 0 : r == -EEXIST ? -ENOTEMPTY : r;
	if (ret_bytes)
		*ret_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return 1;
}
