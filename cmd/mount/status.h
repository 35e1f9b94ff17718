/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mount is and did: in the file of its keeper, by which --status knows
 * it whichever name space it is in, and in its own folder.
 */
#ifndef MOUNT_STATUS_H
#define MOUNT_STATUS_H

#include "figures_file.h"
#include "slots.h"

#include <stdio.h>

struct mount_options;

/* For own_text.h. */
struct mount_status {
	const struct mount_options *o;
	struct mount_slots *slots;
	char *manifest; /* of the dataset; NULL: too large, or gone */
	size_t manifest_bytes;
};

/* As it is now: 0, or -ENAMETOOLONG. */
int mount_status_now(const struct mount_options *o,
		     const struct mount_slots *slots,
		     struct mount_figures *ret);
/* Lines for people, or an object on one. */
void mount_status_put(const struct mount_figures *f, bool json, FILE *out);

/* The keeper's file; without it the mount works: what is wrong is a warning. */
void mount_status_begin(struct mount_figures_file *f,
			const struct mount_options *o,
			const struct mount_slots *slots);
void mount_status_look(struct mount_figures_file *f,
		       const struct mount_options *o,
		       const struct mount_slots *slots);
void mount_status_end(struct mount_figures_file *f);

/* The asker's side; an exit status: 1, nothing is mounted. */
int mount_status_show(const struct mount_options *o);

#endif
