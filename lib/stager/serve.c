/* SPDX-License-Identifier: Apache-2.0 */
/* Segments for other nodes, from what this one has written. */
#include "stager/stager.h"

#include <errno.h>

struct wanted {
	const struct hpdsl_stager *s;
	const struct hp_job *j;
	struct hp_source from;
};

/* What this node has written of the job's chunk, in the job's form. */
static struct hp_source own(const struct hpdsl_stager *s,
			    const struct hp_job *j)
{
	bool expanded = j->chunk->row.compressed && j->id.plain;

	return hp_stager_source(s, j->chunk,
				expanded ? HP_AT_EXPANDED : HP_AT_HERE);
}

static int open_own(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_source_ops *ops = w->from.ops;
	char name[HP_STAGE_NAME];
	int fd;

	hp_stage_chunk_name(&w->j->chunk->row, ops->plain, name);
	fd = ops->open(w->s->io, w->s->dir, name, O_NOFOLLOW);
	return fd < 0 ? hp_fail_errno(err, fd, "%s", name) : fd;
}

static int read_from(const struct hp_source *from, const struct hp_job *j,
		     struct hpdsl_error *err)
{
	ssize_t got = hp_stager_segment(from, j, true);

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
	struct wanted w = { s, j, own(s, j) };
	int r;

	r = hp_fd_cache_get(s->shared.own_files, w.from.chunk, open_own, &w,
			    &w.from.fd, err);
	if (r < 0)
		return r;
	r = read_from(&w.from, j, err);
	hp_fd_cache_put(s->shared.own_files, &w.from.fd);
	return r;
}

/* It is still coming here. */
static int read_part(struct hpdsl_stager *s, const struct hp_job *j,
		     struct hpdsl_error *err)
{
	struct hp_source from = own(s, j);

	from.fd.fd = j->part->fd;
	return read_from(&from, j, err);
}

int hp_stager_fill(struct hp_stager_thread *t, struct hp_job *j,
		   struct hpdsl_error *err)
{
	double since;
	int r = -ECANCELED;

	if (hp_operation_begin(t, "reading back", j->chunk->name, &since))
		r = j->part ? read_part(t->s, j, err) : read_own(t->s, j, err);
	hp_operation_end(t, since);
	hp_coming_file_put(t->s, j->part);
	j->part = NULL;
	return r;
}
