/* SPDX-License-Identifier: Apache-2.0 */
/* The members of one chunk, read from the tar file alone. */
#include "reindex.h"

#include "error.h"
#include "mem.h"
#include "pass.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct parse {
	struct hp_reindex *x;
	struct hp_found *chunk;
	struct hp_pass pass;
	uint64_t reported; /* bytes that the meter knows of */
	struct hp_content_state state;
	char path[HPDSL_PATH_MAX + 1];
};

static int damaged(struct parse *p, uint64_t offset, const char *reason,
		   struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s: at offset %" PRIu64 ": %s",
		       p->chunk->name, offset, reason);
}

/* Up to n bytes at hand; fewer at the end of the file. */
static int need(struct parse *p, size_t n, struct hpdsl_error *err)
{
	int r;

	if (p->pass.have >= n)
		return 0;
	if (hp_stopped(&p->x->opt->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	if (p->pass.offset - p->reported >= HP_METER_STEP) {
		hp_meter_add(&p->x->meter, p->pass.offset - p->reported);
		p->reported = p->pass.offset;
	}
	r = hp_pass_need(&p->pass, n);
	return r < 0 ? hp_fail_errno(err, r, "%s", p->chunk->name) : 0;
}

static int hash_content(struct parse *p, uint64_t size,
			struct hp_content_hash *ret, struct hpdsl_error *err)
{
	if (size <= p->pass.have) {
		hp_content_hash(p->pass.at, (size_t)size, ret);
		hp_pass_take(&p->pass, (size_t)size);
		return 0;
	}
	hp_content_begin(&p->state);
	while (size) {
		int r = need(p, 1, err);
		size_t n = p->pass.have;

		if (r < 0)
			return r;
		if (!n)
			return damaged(p, p->pass.offset, "the file ends here",
				       err);
		if (n > size)
			n = (size_t)size;
		hp_content_update(&p->state, p->pass.at, n);
		hp_pass_take(&p->pass, n);
		size -= n;
	}
	hp_content_end(&p->state, ret);
	return 0;
}

/* n zeros, at most a block. */
static int zeros(struct parse *p, size_t n, struct hpdsl_error *err)
{
	static const uint8_t zero[HP_TAR_BLOCK];
	int r = need(p, n, err);

	if (r < 0)
		return r;
	if (p->pass.have < n)
		return damaged(p, p->pass.offset, "the file ends here", err);
	if (memcmp(p->pass.at, zero, n) != 0)
		return damaged(p, p->pass.offset, "zeros were expected", err);
	hp_pass_take(&p->pass, n);
	return 0;
}

/* A place for one file more. */
static struct hp_file *new_file(struct hp_found *c)
{
	if (c->n == c->room) {
		uint64_t room = c->room ? c->room * 2 : 64;
		struct hp_file *more =
			reallocarray(c->files, room, sizeof *more);

		if (!more)
			return NULL;
		c->files = more;
		c->room = room;
	}
	return memset(&c->files[c->n], 0, sizeof *c->files);
}

static int add_file(struct parse *p, const struct hp_tar_member *t,
		    const struct hp_content_hash *hash, struct hpdsl_error *err)
{
	struct hp_file *f = new_file(p->chunk);

	if (!f)
		return hp_fail_nomem(err);
	f->path = hp_arena_add(p->chunk->arena, t->path, t->path_len);
	if (!f->path)
		return hp_fail_nomem(err);
	f->path_len = (uint16_t)t->path_len;
	f->size = t->size;
	f->mtime = t->mtime;
	f->mode = t->mode & 0777;
	f->low64 = hash->low64;
	memcpy(f->full, hash->full, sizeof f->full);
	p->chunk->n++;
	return 0;
}

/* 1: a member, 0: the end. */
static int parse_member(struct parse *p, struct hpdsl_error *err)
{
	struct hp_content_hash hash;
	struct hp_tar_member t;
	struct hpdsl_error why;
	ssize_t n;
	int r = need(p, HP_TAR_HEADER_MAX, err);

	if (r < 0)
		return r;
	n = hp_tar_header_read(p->pass.at, p->pass.have, &t, p->path, &why);
	if (n == -EAGAIN)
		return damaged(p, p->pass.offset, "the file ends here", err);
	if (n < 0)
		return damaged(p, p->pass.offset, why.msg, err);
	if (n == 0)
		return 0;
	hp_pass_take(&p->pass, (size_t)n);
	r = hash_content(p, t.size, &hash, err);
	if (r == 0)
		r = zeros(p, (size_t)(hp_tar_padded(t.size) - t.size), err);
	if (r == 0)
		r = add_file(p, &t, &hash, err);
	return r < 0 ? r : 1;
}

static int parse_trailer(struct parse *p, struct hpdsl_error *err)
{
	uint64_t end = hp_tar_total(p->pass.offset);
	int r;

	while (p->pass.offset < end) {
		r = zeros(p, HP_TAR_BLOCK, err);
		if (r < 0)
			return r;
	}
	r = need(p, 1, err);
	if (r == 0 && p->pass.have)
		return damaged(p, p->pass.offset, "the file should end here",
			       err);
	return r;
}

static int parse(struct parse *p, struct hpdsl_error *err)
{
	struct hp_found *c = p->chunk;
	int r;

	c->arena = hp_arena_new();
	if (!c->arena)
		return hp_fail_nomem(err);
	r = hp_pass_begin(&p->pass, p->x->io, p->x->dir, c->name, err);
	if (r < 0)
		return r;
	do
		r = parse_member(p, err);
	while (r > 0);
	if (r == 0 && !c->n)
		return damaged(p, 0, "there is no member", err);
	if (r == 0)
		r = parse_trailer(p, err);
	if (r < 0)
		return r;
	c->bytes = p->pass.offset;
	hp_pass_digest(&p->pass, c->checksum);
	hp_meter_add(&p->x->meter, c->bytes - p->reported);
	return 0;
}

int hp_reindex_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_reindex *x = arg;
	struct parse p;
	int r;

	p.x = x;
	p.chunk = &x->chunks[number];
	p.reported = 0;
	p.pass.fd = -1;
	p.pass.buf = NULL;
	r = parse(&p, err);
	hp_pass_end(&p.pass);
	return r;
}
