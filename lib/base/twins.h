/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litter called ._X is litter only where X is there, in the same folder.  In a
 * list of names that is known at its end: first each ._X is asked for, then all
 * names are seen.  Kept are hashes, so few bytes a ._X, none for other names.
 */
#ifndef HP_TWINS_H
#define HP_TWINS_H

#include "base/key_set.h"

struct hp_twins {
	struct hp_key_set asked, there; /* of each X */
	const char *last;		/* whose folders were seen last, .. */
	size_t last_len;		/* .. so many bytes of it */
};

/* The path of a ._X.  0, -ENOMEM. */
int hp_twins_ask(struct hp_twins *t, const char *path, size_t len);
/* What is there, and so are the folders above it.  The path stays where it is
 * until the next call.  0, -ENOMEM. */
int hp_twins_see(struct hp_twins *t, const char *path, size_t len);
/* Was the X of this ._X, which was asked for, seen? */
bool hp_twins_has(const struct hp_twins *t, const char *path, size_t len);
void hp_twins_release(struct hp_twins *t);

#endif
