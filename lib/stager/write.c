/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk that is coming: its segments are hashed and written, in order, to a
 * temporary file that had its whole size reserved at the start, so that a full
 * disk is seen early.
 */
#include "stager/stager.h"

#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>

int hp_stager_fail_write(const char *name, int code, struct hpdsl_error *err)
{
	return hp_fail_errno(err, code, "%s", name);
}

/* ---- Beginning -------------------------------------------------------- */

/* What is expanded once it is here needs no name until then. */
static bool is_passing(const struct hpdsl_stager *s,
		       const struct hp_stager_chunk *c)
{
	return c->row.compressed && !c->plain && !s->keep_compressed;
}

static uint64_t bytes_to_come(const struct hp_stager_chunk *c)
{
	return c->row.compressed && c->plain ? c->row.plain_bytes :
					       c->row.bytes;
}

static int open_part(struct hpdsl_stager *s, struct hp_stager_chunk *c,
		     struct hpdsl_error *err)
{
	char name[HP_STAGE_NAME];
	struct hp_outfile out;
	int r;

	hp_stage_chunk_name(&c->row, c->row.compressed && c->plain, name);
	r = hp_outfile_open(&out, s->io, s->dir, name, bytes_to_come(c),
			    s->direct, NULL);
	if (r < 0)
		return hp_stager_fail_write(name, r, err);
	c->writing = hp_coming_file_new(&out);
	if (!c->writing) {
		hp_outfile_abandon(&out);
		return hp_fail_nomem(err);
	}
	/* Whoever has it open can read it. */
	if (is_passing(s, c) && s->io->unlink(s->io, s->dir, out.temp, 0) == 0)
		c->writing->out.temp[0] = '\0';
	return 0;
}

static int begin_digest(struct hp_stager_chunk *c, struct hpdsl_error *err)
{
	if (!c->digest)
		c->digest = hp_aligned(sizeof *c->digest);
	if (!c->digest)
		return hp_fail_nomem(err);
	hp_file_digest_begin(c->digest);
	return 0;
}

int hp_stager_begin(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	struct hp_stager_chunk *c = j->chunk;
	double since;
	int r = -ECANCELED;

	if (hp_stager_gives_up(s))
		return r;
	if (hp_operation_begin(t, "creating", c->name, &since)) {
		hp_stager_forget(s, c);
		c->plain = j->id.plain;
		c->at = 0;
		c->damaged = false;
		r = open_part(s, c, err);
		if (r == 0)
			r = begin_digest(c, err);
		if (r == 0)
			j->part = hp_coming_file_hold(c->writing);
	}
	hp_operation_end(t, since);
	return r;
}

/* ---- Segments --------------------------------------------------------- */

/* With O_DIRECT only the last segment has a tail. */
static int put(struct hp_coming_file *p, const uint8_t *data, size_t n,
	       uint64_t at, struct hpdsl_error *err)
{
	size_t tail = p->out.direct ? n % HP_BUFFER_ALIGN : 0;
	int r = 0;

	p->out.fd = p->fd;
	if (n > tail)
		r = hp_outfile_pwrite(&p->out, data, n - tail, at, err);
	if (r == 0 && tail)
		r = hp_outfile_pwrite_tail(&p->out, data + n - tail, tail,
					   at + n - tail, err);
	p->out.fd = -1;
	/* It is on its way to the disk at once, so that little is left for the
	 * sync in the end.  Where that cannot be asked for nothing is lost. */
	if (r == 0 && !p->out.direct)
		p->out.io->flush_range(p->out.io, p->fd, at, n);
	return r;
}

static double hash(struct hp_stager_chunk *c, const struct hp_job *j)
{
	double since = hp_now();

	if (c->at != j->id.offset)
		c->damaged = true;
	hp_file_digest_add(c->digest, j->buffer->data, j->id.length);
	c->at += j->id.length;
	return hp_now() - since;
}

int hp_stager_write(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	struct hp_stager_chunk *c = j->chunk;
	double since, hashed, wrote;
	int r = -ECANCELED;

	if (hp_stager_gives_up(s) || !c->writing)
		return r;
	hashed = hash(c, j);
	if (hp_operation_begin(t, "writing", c->name, &since))
		r = put(c->writing, j->buffer->data, j->id.length, j->id.offset,
			NULL);
	wrote = hp_operation_end(t, since);
	if (r < 0)
		return r == -ECANCELED ? r :
					 hp_stager_fail_write(c->name, r, err);
	j->written = true;
	pthread_mutex_lock(&s->shared.lock);
	s->shared.counts.written_bytes += j->id.length;
	s->shared.counts.write_seconds += wrote;
	s->shared.counts.hash_seconds += hashed;
	pthread_mutex_unlock(&s->shared.lock);
	return 0;
}

int hp_stager_drop(struct hp_stager_thread *t, struct hp_job *j)
{
	double since;

	if (hp_operation_begin(t, "removing", j->chunk->name, &since))
		hp_stager_forget(t->s, j->chunk);
	hp_operation_end(t, since);
	return 0;
}
