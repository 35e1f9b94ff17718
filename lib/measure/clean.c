/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of measured jobs, taken away. */
#include "measure/clean.h"

#include "measure/folder.h"
#include "sys/dir.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Names beside a folder that are looked at for those of dead ones. */
#define LOOKED_AT 10000

int hp_measure_list(const struct hp_io *io, int dir,
		    int (*each)(void *arg, const char *name), void *arg)
{
	hp_auto_fd f = { io, io->open(io, dir, ".",
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) };

	return f.fd < 0 ? f.fd : hp_listdir(io, f.fd, each, arg);
}

struct removing {
	const struct hp_io *io;
	int dir;
};

static int remove_one(void *arg, const char *name)
{
	const struct removing *m = arg;

	m->io->unlink(m->io, m->dir, name, 0);
	return 0;
}

void hp_measure_remove(const struct hp_io *io, int dir, int in,
		       const char *name)
{
	struct removing m = { io, dir };

	hp_measure_list(io, dir, remove_one, &m);
	io->close(io, dir);
	io->unlink(io, in, name, AT_REMOVEDIR);
}

struct looking_for_dead {
	const struct hp_io *io;
	int parent;
	unsigned looked;
	int64_t now; /* on the file system's clock */
};

static bool is_dead(const struct looking_for_dead *l, int dir)
{
	const struct hp_io *io = l->io;
	struct stat st, beat;

	return hp_io_fstat(io, dir, &st) == 0 && st.st_uid == geteuid() &&
	       !(st.st_mode & 077) &&
	       hp_io_stat(io, dir, HP_MEASURE_BEAT, &beat,
			  AT_SYMLINK_NOFOLLOW) == 0 &&
	       l->now - beat.st_mtime > HP_MEASURE_STALE;
}

static int remove_dead(void *arg, const char *name)
{
	struct looking_for_dead *l = arg;
	const struct hp_io *io = l->io;
	int dir;

	if (strncmp(name, HP_MEASURE_RUN, strlen(HP_MEASURE_RUN)) != 0)
		return ++l->looked < LOOKED_AT ? 0 : -E2BIG;
	dir = io->open(io, l->parent, name,
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
	if (dir >= 0 && is_dead(l, dir))
		hp_measure_remove(io, dir, l->parent, name);
	else if (dir >= 0)
		io->close(io, dir);
	return 0;
}

void hp_measure_remove_dead(const struct hp_io *io, const char *parent, int dir)
{
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, parent,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) };
	struct looking_for_dead l = { io, f.fd, 0, 0 };
	struct stat st;

	if (f.fd < 0 ||
	    hp_io_stat(io, dir, HP_MEASURE_BEAT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	l.now = st.st_mtime;
	hp_listdir(io, f.fd, remove_dead, &l);
}
