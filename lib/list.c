/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a list of files, and how to tell that a file is another one. */
#include "bytes.h"
#include "hash.h"
#include "list.h"

#include <stdlib.h>
#include <string.h>

void hp_list_release(struct hp_list *list)
{
	const struct hp_io *io = hp_io_or_system(list->io);

	for (size_t i = 0; i < list->n_roots; i++)
		if (list->roots[i].fd >= 0) /* not AT_FDCWD */
			io->close(io, list->roots[i].fd);
	free(list->roots);
	free(list->files);
	free(list->samples);
	free(list->labels);
	free(list->classes);
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
