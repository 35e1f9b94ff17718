/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk file read front to back: its bytes, its contents, its files. */
#include "reindex/read.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int fill(void *arg, size_t n, struct hpdsl_error *err)
{
	return hp_reading_need(arg, n, err);
}

static int ended(void *arg, struct hpdsl_error *err)
{
	const struct hp_reading *r = arg;

	if (r->ends)
		return hp_reading_damaged(r, r->header, r->ends, err);
	return hp_reading_damaged(r, r->pass.offset, "the file ends here", err);
}

static int odd(void *arg, struct hpdsl_error *err)
{
	const struct hp_reading *r = arg;

	return hp_reading_damaged(r, r->pass.offset, "zeros were expected",
				  err);
}

static const struct hp_chunk_walk_ops ops = { fill, ended, odd };

static int begin_sha256(struct hp_reading *r, struct hpdsl_error *err)
{
	r->of_file = r->of_content = NULL;
	if (!r->x->sha256)
		return 0;
	r->of_file = hp_sha256_new();
	r->of_content = hp_sha256_new();
	if (!r->of_file || !r->of_content)
		return hp_fail_nomem(err);
	hp_sha256_begin(r->of_file);
	return 0;
}

static int begin(struct hp_reading *r, struct hp_reindex *x,
		 struct hp_found *chunk, struct hpdsl_error *err)
{
	int k;

	r->x = x;
	r->chunk = chunk;
	r->reported = 0;
	r->ends = NULL;
	hp_pass_init(&r->pass);
	k = begin_sha256(r, err);
	hp_chunk_walk_begin(&r->walk, &r->pass, &ops, r);
	r->walk.sha256 = r->of_content;
	if (k < 0)
		return k;
	chunk->arena = hp_arena_new();
	if (!chunk->arena)
		return hp_fail_nomem(err);
	if (chunk->made.compressed)
		k = hp_pass_begin_zst(&r->pass, x->io, x->dir, chunk->made.name,
				      NULL, NULL, err);
	else
		k = hp_pass_begin(&r->pass, x->io, x->dir, chunk->made.name,
				  err);
	r->pass.sha256 = r->of_file;
	/* It is the manifest that has its name. */
	if (k == -ENOENT && x->adopt && !x->opt->n_tars)
		return hp_fail(err, k,
			       "%s: No such file or directory; where the tars "
			       "lie now has to be given",
			       chunk->made.name);
	return k;
}

static int done(struct hp_reading *r, struct hpdsl_error *err)
{
	struct hp_found *c = r->chunk;
	int k;

	k = hp_pass_made(&r->pass, &c->made);
	hp_meter_add(&r->x->meter, c->made.bytes - r->reported);
	if (k < 0)
		return hp_fail_nomem(err);
	if (!r->of_file)
		return 0;
	hp_sha256_end(r->of_file, c->made.sha256);
	k = hp_sha256_check(r->of_file, err);
	return k < 0 ? k : hp_sha256_check(r->of_content, err);
}

static void end(struct hp_reading *r)
{
	hp_pass_end(&r->pass);
	hp_sha256_free(r->of_file);
	hp_sha256_free(r->of_content);
}

int hp_reading_run(struct hp_reading *r, struct hp_reindex *x, uint64_t number,
		   hp_reading_fn *parse, struct hpdsl_error *err)
{
	int k = begin(r, x, &x->chunks[number], err);

	if (k == 0)
		k = parse(r, err);
	if (k == 0)
		k = done(r, err);
	end(r);
	return k;
}

int hp_reading_damaged(const struct hp_reading *r, uint64_t offset,
		       const char *reason, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s: at offset %" PRIu64 ": %s",
		       r->chunk->made.name, offset, reason);
}

int hp_reading_need(struct hp_reading *r, size_t n, struct hpdsl_error *err)
{
	int k;

	if (r->pass.have >= n)
		return 0;
	if (hp_stopped(&r->x->opt->watch))
		return hp_fail(err, HPDSL_ESTOPPED, "stopped");
	if (r->pass.read - r->reported >= HP_METER_STEP) {
		hp_meter_add(&r->x->meter, r->pass.read - r->reported);
		r->reported = r->pass.read;
	}
	k = hp_pass_need(&r->pass, n);
	if (k == HPDSL_ECORRUPT)
		return hp_fail(err, k, "%s: %s", r->chunk->made.name,
			       hp_pass_why(&r->pass));
	return k < 0 ? hp_fail_errno(err, k, "%s", r->chunk->made.name) : 0;
}

/* A place for one file more. */
static struct hp_file *new_file(struct hp_found *c, bool sha256)
{
	struct hp_file *files = hp_more(c->files, c->n, sizeof *files);
	void *contents;

	if (!files)
		return NULL;
	c->files = files;
	if (sha256) {
		contents = hp_more(c->contents, c->n, sizeof *c->contents);
		if (!contents)
			return NULL;
		c->contents = contents;
	}
	return memset(&files[c->n], 0, sizeof *files);
}

struct hp_file *hp_reading_add(struct hp_reading *r,
			       const struct hp_tar_member *t,
			       const struct hp_content_hash *hash,
			       struct hpdsl_error *err)
{
	struct hp_found *c = r->chunk;
	struct hp_file *f = new_file(c, r->x->sha256);

	if (f)
		f->path = hp_arena_add(c->arena, t->path, t->path_len);
	if (!f || !f->path) {
		hp_fail_nomem(err);
		return NULL;
	}
	f->path_len = (uint16_t)t->path_len;
	f->size = t->size;
	f->mtime = t->mtime;
	f->mode = t->mode & 07777;
	f->low64 = hash->low64;
	memcpy(f->full, hash->full, sizeof f->full);
	if (c->contents)
		memcpy(c->contents[c->n], hash->sha256, sizeof hash->sha256);
	c->n++;
	return f;
}
