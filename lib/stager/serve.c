/* SPDX-License-Identifier: Apache-2.0 */
/* Segments for other nodes, from what this one has written. */
#include "stager/stager.h"

#include <errno.h>

struct wanted {
	const struct hpdsl_stager *s;
	const struct hp_job *j;
};

static int open_own(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->s->io;
	const struct hpdsl_chunk *row = &w->j->chunk->row;
	char name[HP_STAGE_NAME];
	int fd;

	hp_stage_chunk_name(row, row->compressed && w->j->id.plain, name);
	fd = io->open(io, w->s->dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
		      0);
	return fd < 0 ? hp_fail_errno(err, fd, "%s", name) : fd;
}

/* It may be open with O_DIRECT: whole blocks, up to the end of the file. */
static int read_from(struct hpdsl_stager *s, int fd, const struct hp_job *j,
		     struct hpdsl_error *err)
{
	size_t n = (j->id.length + HP_BUFFER_ALIGN - 1) / HP_BUFFER_ALIGN *
		   HP_BUFFER_ALIGN;
	ssize_t got =
		hp_io_pread_full(s->io, fd, j->buffer->data, n, j->id.offset);

	if (got == -EINVAL && s->io->set_flags(s->io, fd, 0) == 0)
		got = hp_io_pread_full(s->io, fd, j->buffer->data, j->id.length,
				       j->id.offset);
	if (got >= 0 && (size_t)got < j->id.length)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: was cut short in the stage directory",
			       j->chunk->name);
	return got < 0 ? hp_fail_errno(err, (int)got, "%s: cannot read it back",
				       j->chunk->name) :
			 0;
}

static int read_own(struct hpdsl_stager *s, const struct hp_job *j,
		    struct hpdsl_error *err)
{
	struct wanted w = { s, j };
	struct hp_cached_fd f;
	int r;

	r = hp_fd_cache_get(s->shared.own_files, (uint32_t)j->chunk->number,
			    open_own, &w, &f, err);
	if (r < 0)
		return r;
	r = read_from(s, f.fd, j, err);
	hp_fd_cache_put(s->shared.own_files, &f);
	return r;
}

int hp_stager_fill(struct hp_stager_thread *t, struct hp_job *j,
		   struct hpdsl_error *err)
{
	double since;
	int r = -ECANCELED;

	if (hp_operation_begin(t, "reading back", j->chunk->name, &since))
		r = j->part ? read_from(t->s, j->part->fd, j, err) :
			      read_own(t->s, j, err);
	hp_operation_end(t, since);
	hp_coming_file_put(t->s, j->part);
	j->part = NULL;
	return r;
}
