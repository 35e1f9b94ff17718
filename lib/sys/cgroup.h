/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of a process: where they are, by the kernel's files, as
 * pure functions of their texts; and what they and all above them say.
 */
#ifndef HP_CGROUP_H
#define HP_CGROUP_H

#include "sys/io.h"

/*
 * The process's group in /proc/self/cgroup: of version 2, or of version 1's
 * memory controller.  Borrowed from text: its length goes to *ret_len.
 */
const char *hp_cgroup_path(const char *text, bool v2, size_t *ret_len);

/*
 * Where such groups are mounted, by /proc/self/mountinfo: the directory, and
 * the group that is its root.  Escapes of blanks are undone.
 */
struct hp_cgroup_mount {
	char root[1024], at[1024];
};
bool hp_cgroup_mount(const char *text, bool v2, struct hp_cgroup_mount *ret);

/*
 * The group's directory: its path below the mount's root, or the mount itself
 * if it lies elsewhere (seen from inside a name space).  False: too long.
 */
bool hp_cgroup_dir(const struct hp_cgroup_mount *m, const char *path,
		   size_t len, char *ret, size_t size);

/* Room for a file of the kernel's. */
#define HP_CGROUP_TEXT (256 * 1024)
/* A file of a group's directory; text has that room. */
bool hp_cgroup_file(const struct hp_io *io, const char *dir, const char *name,
		    char *text);
/* What a group says; UINT64_MAX: nothing. */
typedef uint64_t hp_cgroup_says(const struct hp_io *io, bool v2,
				const char *dir, char *text);
/* The least that this process's group, of this version, and all above it say.
 */
uint64_t hp_cgroup_least(const struct hp_io *io, bool v2, hp_cgroup_says *says);

#endif
