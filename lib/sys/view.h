/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file as memory: mapped, or read where that cannot be. */
#ifndef HP_VIEW_H
#define HP_VIEW_H

#include "sys/io.h"

struct hp_view {
	const struct hp_io *io;
	const void *p; /* NULL: nothing here */
	uint64_t size;
	bool mapped;
	bool held; /* .. and fd is the file, open */
	int fd;
};

/*
 * HPDSL_ECORRUPT: no regular file, or an empty one.  -errno.  *v is as good as
 * zero after a failure.
 */
int hp_view_open(struct hp_view *v, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *err);
/* The same; a file that is mapped stays open. */
int hp_view_hold(struct hp_view *v, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *err);
/* The same, never mapped: whatever becomes of the file, *v stays as it is. */
int hp_view_read(struct hp_view *v, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *err);
/* Is addr in it, and may it go away because it is mapped? */
bool hp_view_maps(const struct hp_view *v, const void *addr);
void hp_view_close(struct hp_view *v);

#endif
