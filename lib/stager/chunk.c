/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks under way, and the files of those that are coming. */
#include "stager/stager.h"

#include "base/mem.h"

#include <string.h>

struct hp_coming_file *hp_coming_file_new(const struct hp_outfile *out)
{
	struct hp_coming_file *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->users = 1;
	p->out = *out;
	p->fd = out->fd;
	/* What writes keeps it open for those who read. */
	p->out.fd = -1;
	return p;
}

struct hp_coming_file *hp_coming_file_hold(struct hp_coming_file *p)
{
	__atomic_add_fetch(&p->users, 1, __ATOMIC_RELAXED);
	return p;
}

void hp_coming_file_put(struct hpdsl_stager *s, struct hp_coming_file *p)
{
	if (!p || __atomic_sub_fetch(&p->users, 1, __ATOMIC_ACQ_REL))
		return;
	hp_coming_file_unname(p);
	s->io->close(s->io, p->fd);
	free(p);
}

void hp_coming_file_unname(struct hp_coming_file *p)
{
	hp_outfile_abandon(&p->out);
}

void hp_stager_forget(struct hpdsl_stager *s, struct hp_stager_chunk *c)
{
	if (c->writing)
		hp_coming_file_unname(c->writing);
	hp_coming_file_put(s, c->writing);
	c->writing = NULL;
	free(c->digest);
	c->digest = NULL;
}

/* The index may be gone before a thread that does not come back is. */
static int describe(struct hpdsl_stager *s, uint64_t number,
		    struct hp_stager_chunk *c, struct hpdsl_error *err)
{
	int r = hp_stage_chunk(s->stage, number, false, &c->row, c->name, err);

	if (r < 0)
		return r;
	c->row.name = strdup(c->row.name);
	return c->row.name ? 0 : hp_fail_nomem(err);
}

struct hp_stager_chunk *hp_stager_chunk(struct hpdsl_stager *s, uint64_t number)
{
	struct hp_stager_chunk *c = s->own.chunk[number];
	struct hpdsl_error err;
	int r = 0;

	if (c)
		return c;
	c = calloc(1, sizeof *c);
	if (!c)
		r = hp_fail_nomem(&err);
	else
		r = describe(s, number, c, &err);
	if (r < 0) {
		hp_stager_fail(s, r, &err);
		free(c);
		return NULL;
	}
	c->number = number;
	s->own.chunk[number] = c;
	return c;
}

void hp_stager_chunk_done(struct hpdsl_stager *s, struct hp_stager_chunk *c)
{
	if (c->jobs || c->sends || c->part || c->writing)
		return;
	s->own.chunk[c->number] = NULL;
	hp_stager_chunk_free(s, c);
}

void hp_stager_chunk_free(struct hpdsl_stager *s, struct hp_stager_chunk *c)
{
	if (!c)
		return;
	hp_stager_forget(s, c);
	hp_coming_file_put(s, c->part);
	free((char *)c->row.name);
	free(c);
}
