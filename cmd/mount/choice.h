/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a dataset's files are mounted, but for those that --exclude leaves
 * out.  The tree is made of what passes, so that nobody has to ask later.
 */
#ifndef MOUNT_CHOICE_H
#define MOUNT_CHOICE_H

#include <hpdsl.h>
#include <stdatomic.h>

struct mount_choice {
	const struct hpdsl_dataset *ds;
	const char *folder; /* "": any */
	/* One of them has to match; none: all do. */
	const char *const *include;
	size_t n_include;
	/* Numbers of classes, the same. */
	const uint32_t *labels;
	size_t n_labels;
	/* Of each in include: was there a file in folder?  To begin with,
	 * false. */
	_Atomic bool *hit;
};

/*
 * arg: a struct mount_choice; for hpdsl_snapshot_options, by any number of
 * threads.  1, 0; HPDSL_ECORRUPT.
 */
int mount_choice_has(void *arg, const struct hpdsl_member *m,
		     struct hpdsl_error *err);
/* Is the member in the folder? */
bool mount_choice_below(const struct mount_choice *c,
			const struct hpdsl_member *m);

#endif
