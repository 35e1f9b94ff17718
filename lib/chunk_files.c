/* SPDX-License-Identifier: Apache-2.0 */
/* Open chunk files of a dataset, by the numbers of the chunks. */
#include "dataset.h"

#include "error.h"

struct wanted {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_chunk *chunk;
};

static int open_chunk(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->ds->io;
	const char *name = w->chunk->name;
	hp_auto_fd f = { io, io->open(io, w->ds->dir, name,
				      O_RDONLY | O_NONBLOCK, 0) };
	struct stat st;
	int r = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", w->ds->path, name);
	/* Of a chunk that was cut short the members before the cut are good:
	 * each has its own checksum. */
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ECORRUPT, "%s/%s: not a regular file",
			       w->ds->path, name);
	r = f.fd;
	f.fd = -1;
	return r;
}

int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, struct hp_cached_fd *ret,
		      struct hpdsl_error *err)
{
	struct wanted w = { ds, c };

	return hp_fd_cache_get(ds->files, c->number, open_chunk, &w, ret, err);
}

void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_cached_fd *f)
{
	hp_fd_cache_put(ds->files, f);
}
