/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk of which all is written: only if it is what the index says it gets
 * its name, and only then readers are told.
 */
#include "stager/stager.h"

#include <errno.h>
#include <string.h>

static bool is_right(struct hp_stager_chunk *c)
{
	const struct hpdsl_chunk *row = &c->row;
	bool plain = row->compressed && c->plain;
	uint8_t digest[16];

	hp_file_digest_end(c->digest, digest);
	return !c->damaged &&
	       c->at == (plain ? row->plain_bytes : row->bytes) &&
	       memcmp(digest, plain ? row->plain_checksum : row->checksum,
		      sizeof digest) == 0;
}

/* out has no descriptor, but fd is of the same file. */
static int publish(struct hp_stager_thread *t, struct hp_stager_chunk *c,
		   struct hp_outfile *out, int fd, struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	int r = s->sync ? s->io->fsync(s->io, fd) : 0;

	if (r == 0)
		r = hp_outfile_commit(out, NULL);
	if (r == 0 && s->sync)
		r = hp_sync_dir(s->io, s->dir, NULL);
	if (r < 0)
		return hp_stager_fail_write(c->name, r, err);
	return 0;
}

/* As it was received. */
static int publish_part(struct hp_stager_thread *t, struct hp_job *j,
			struct hpdsl_error *err)
{
	struct hp_stager_chunk *c = j->chunk;
	double since;
	int r = -ECANCELED;

	if (hp_operation_begin(t, "publishing", c->name, &since))
		r = publish(t, c, &c->writing->out, c->writing->fd, err);
	hp_operation_end(t, since);
	j->plain = c->row.compressed && c->plain;
	return r;
}

static int expand_to(struct hp_stager_thread *t, struct hp_job *j,
		     struct hp_outfile *out, struct hpdsl_error *err)
{
	int fd = out->fd;
	int r = hp_stager_expand(t, j->chunk, out, &j->differs, err);

	if (r < 0 || j->differs)
		return r;
	out->fd = -1;
	r = publish(t, j->chunk, out, fd, err);
	if (r < 0)
		out->fd = fd;
	else
		t->s->io->close(t->s->io, fd);
	return r;
}

static int publish_expanded(struct hp_stager_thread *t, struct hp_job *j,
			    struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	struct hp_stager_chunk *c = j->chunk;
	char name[HP_STAGE_NAME];
	struct hp_outfile out;
	double since, seconds;
	int r = -ECANCELED;

	hp_stage_chunk_name(&c->row, true, name);
	if (hp_operation_begin(t, "expanding", c->name, &since)) {
		r = hp_outfile_open(&out, s->io, s->dir, name,
				    c->row.plain_bytes, s->direct, NULL);
		if (r < 0) {
			hp_stager_fail_write(name, r, err);
		} else {
			r = expand_to(t, j, &out, err);
			hp_outfile_abandon(&out);
		}
	}
	seconds = hp_operation_end(t, since);
	j->plain = true;
	pthread_mutex_lock(&s->shared.lock);
	s->shared.counts.expand_seconds += seconds;
	pthread_mutex_unlock(&s->shared.lock);
	return r;
}

/* Unless the caller has not waited for this, and the directory is not ours. */
static void tell_readers(struct hpdsl_stager *s, const struct hp_job *j)
{
	pthread_mutex_lock(&s->stage_lock);
	if (!s->abandoned)
		hp_stage_ready(s->stage, j->chunk->number, j->plain);
	pthread_mutex_unlock(&s->stage_lock);
}

int hp_stager_finish(struct hp_stager_thread *t, struct hp_job *j,
		     struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	struct hp_stager_chunk *c = j->chunk;
	int r = 0;

	if (!c->writing)
		return -ECANCELED;
	j->differs = !is_right(c);
	if (!j->differs && c->row.compressed && !c->plain &&
	    !s->keep_compressed)
		r = publish_expanded(t, j, err);
	else if (!j->differs)
		r = publish_part(t, j, err);
	if (r == 0 && !j->differs)
		tell_readers(s, j);
	/* Whoever reads the part has it open. */
	hp_stager_forget(s, c);
	return r;
}
