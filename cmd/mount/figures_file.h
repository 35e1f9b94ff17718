/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a mount's figures, in a folder that is its user's alone.  The
 * keeper makes it, holds a lock of it as long as it lives, and writes it anew
 * whenever somebody has read it, as inotify(7) tells: whoever reads it twice
 * has what is true now.  Threads that serve touch no file: for a disk that is
 * busy they would have to wait.  It is written and never mapped: whoever cuts
 * it off harms nobody.
 */
#ifndef MOUNT_FIGURES_FILE_H
#define MOUNT_FIGURES_FILE_H

#include "figures.h"

#include <sys/types.h>

struct mount_figures_file {
	int fd;	   /* -1: none */
	int reads; /* inotify's; -1: none */
	char name[64];
	uint32_t turn;
	uint8_t is[MOUNT_FIGURES_BYTES]; /* what is in it */
};

/*
 * One in the folder, which is open and the user's, and what dead servers have
 * left goes.  0, or -errno.
 */
int mount_figures_make(struct mount_figures_file *f, int dir,
		       const struct mount_figures *first);
/*
 * Once a second, and when a SIGIO has come: has somebody read it since this was
 * asked last, or can nobody tell?
 */
bool mount_figures_was_read(struct mount_figures_file *f);
/* What was found out after that goes into it, as another turn if it was read.
 * Fails silently, as writing does: it is tried again. */
void mount_figures_renew(struct mount_figures_file *f,
			 const struct mount_figures *now, bool was_read);
/* It goes; dir: as before, or -1. */
void mount_figures_remove(struct mount_figures_file *f, int dir);

/* Is it a name of such a file? */
bool mount_figures_is_name(const char *name);
/*
 * In a folder of anybody's: nothing else than a file in that very folder is
 * opened, and nobody waited for.  A descriptor, or -errno.
 */
int mount_figures_open(int dir, const char *name, int flags);
/*
 * Who holds it, as the kernel knows: a process, 0: one that is not to be seen
 * from here; -1: nobody any more.
 */
pid_t mount_figures_holder(int fd);

#endif
