/* SPDX-License-Identifier: Apache-2.0 */
/* A list's end, how its files are told from others, and what they are called.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "plan/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOLE 4096 /* less may be a file system that keeps files in inodes */

void hp_list_release(struct hp_list *list)
{
	const struct hp_io *io = hp_io_or_system(list->io);

	for (size_t i = 0; i < list->n_roots; i++) {
		if (list->roots[i].fd >= 0) /* not AT_FDCWD */
			io->close(io, list->roots[i].fd);
		hpdsl_close(list->roots[i].dataset);
	}
	free(list->roots);
	free(list->files);
	free(list->doubles);
	free(list->samples);
	free(list->labels);
	free(list->classes);
	free(list->stored);
	for (size_t i = 0; i < list->n_linked; i++)
		free(list->linked[i]);
	free(list->linked);
	free(list->sha256);
	hp_arena_free(list->arena);
	memset(list, 0, sizeof *list);
}

uint32_t hp_file_stamp(const struct stat *st)
{
	uint8_t b[32];

	hp_put64(b, st->st_dev);
	hp_put64(b + 8, st->st_ino);
	hp_put64(b + 16, (uint64_t)st->st_ctim.tv_sec);
	hp_put64(b + 24, (uint64_t)st->st_ctim.tv_nsec);
	return (uint32_t)hp_hash64(b, sizeof b);
}

bool hp_file_sparse(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	uint64_t kept = (uint64_t)st->st_blocks * 512;

	return kept < size && size - kept >= HOLE;
}

bool hp_file_has_attributes(const struct hp_io *io, int fd)
{
	char names[1024 + 1];
	ssize_t n = io->listxattr(io, fd, names, sizeof names - 1);

	if (n < 0)
		return n == -ERANGE; /* too many to look at */
	names[n] = '\0';
	/* Those of the system itself, which every file has, do not count. */
	for (const char *s = names; s < names + n; s += strlen(s) + 1)
		if (!strncmp(s, "user.", 5) ||
		    !strncmp(s, "system.posix_acl_", 17))
			return true;
	return false;
}

const char *hp_input_name(const struct hp_root *root, const char *below,
			  size_t len, char buf[HP_INPUT_NAME])
{
	char top[HP_PRINTABLE], rest[HP_PRINTABLE];
	size_t n = strlen(root->name);
	const char *slash = len ? "/" : "";

	while (n && root->name[n - 1] == '/')
		n--;
	hp_printable(root->name, n, top);
	if (n == 0)
		slash = "/"; /* the root of all */
	if (len && n == 1 && root->name[0] == '.') {
		top[0] = '\0';
		slash = "";
	}
	snprintf(buf, HP_INPUT_NAME, "%s%s%s", top, slash,
		 hp_printable(below, len, rest));
	return buf;
}
