/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose it is.  The owner of a directory or of a state file can change it, cut
 * what is mapped, or put another in its place while it is in use: what is
 * believed, or written into, is to be the caller's own or root's.  Asked of
 * what is open, never by name.
 */
#ifndef HP_OWNER_H
#define HP_OWNER_H

#include "hpdsl/dataset.h"
#include "sys/io.h"

/* Behind the name of what it is about; takes the owner as unsigned. */
#define HP_FOREIGN                                               \
	"belongs to user %u, neither to the caller nor to root " \
	"(--foreign-owner takes it all the same)"

bool hp_is_foreign(uid_t owner);

/* -EPERM: what is open as fd is somebody else's, and called name. */
int hp_owner_check(const struct hp_io *io, int fd, const char *name,
		   struct hpdsl_error *err);

/* Flags of hpdsl_open_with(), for options that have it as a bool. */
static inline unsigned hp_open_flags(bool foreign_owner)
{
	return foreign_owner ? HPDSL_OPEN_FOREIGN_OWNER : 0;
}

#endif
