/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all nodes have to know of the dataset: rank 0 reads it, once, and sends
 * it to the others.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_PIECE ((size_t)4 << 20)

/* ---- Manifest and order ----------------------------------------------- */

static void warn(void *arg, const char *text)
{
	(void)arg;
	cmd_warning("%s", text);
}

/* What the manifest lists and nobody gets. */
static int tell_others(const struct stage_run *r, struct hpdsl_error *err)
{
	const struct hpdsl_watch watch = { .warn = warn };
	uint64_t whole;

	return hpdsl_stage_pack_sides(&r->pack, r->o->keep_compressed, &watch,
				      NULL, &whole, err);
}

static int open_source(struct stage_step *s)
{
	struct stage_run *r = s->r;
	int ret = r->o->report ? cmd_file_try(r->o->report, &s->err) : 0;

	/* now, and not after hours */
	if (ret < 0) {
		r->report_failed = true;
		return ret;
	}
	ret = hpdsl_stage_source_open(r->o->dataset, r->io, &r->source,
				      &s->err);
	if (ret < 0)
		return ret;
	hpdsl_stage_source_pack(r->source, &r->pack);
	ret = tell_others(r, &s->err);
	if (ret < 0)
		return ret;
	return stage_order(r->o, r->pack.pack, &r->wanted, &s->err);
}

static int parse(struct stage_step *s)
{
	return hpdsl_stage_pack_parse(s->r->origin, s->r->manifest,
				      s->r->pack.manifest_bytes, &s->r->pack,
				      &s->err);
}

int run_dataset(struct stage_run *r)
{
	struct {
		uint64_t origin, manifest;
		struct hpdsl_state wanted;
	} size = { 0 };
	bool first = r->j->rank == 0;
	int ret = run_step(r, open_source, first, true, "reading %s",
			   r->o->dataset);

	if (ret)
		return ret;
	if (first) {
		size.origin = strlen(r->pack.origin) + 1;
		size.manifest = r->pack.manifest_bytes;
		size.wanted = r->wanted;
	}
	job_bcast(r->j, &size, sizeof(size), 0);
	r->wanted = size.wanted;
	r->origin = cmd_alloc(1, size.origin);
	r->manifest = cmd_alloc(1, size.manifest + 1);
	if (first) {
		memcpy(r->origin, r->pack.origin, size.origin);
		memcpy(r->manifest, r->pack.manifest, size.manifest);
	}
	job_bcast(r->j, r->origin, size.origin, 0);
	job_bcast(r->j, r->manifest, size.manifest, 0);
	r->pack.manifest_bytes = size.manifest;
	return run_step(r, parse, true, false, "reading the manifest");
}

/* ---- The index -------------------------------------------------------- */

struct piece {
	struct stage_run *r;
	struct hpdsl_error err;
	unsigned char *bytes;
	ssize_t n;
};

static int read_piece(void *arg)
{
	struct piece *p = arg;

	p->n = hpdsl_stage_source_index(p->r->source, p->bytes, INDEX_PIECE,
					&p->err);
	return p->n < 0 ? (int)p->n : 0;
}

static int put_piece(void *arg)
{
	struct piece *p = arg;

	return hpdsl_stage_put_index(p->r->stage, &p->r->pack, p->bytes,
				     (size_t)p->n, &p->err);
}

/* Who fails goes on taking part, and says so in the end. */
static int stream(struct stage_run *r, bool lacks)
{
	struct piece in = { .r = r, .bytes = cmd_alloc(1, INDEX_PIECE) };
	struct hpdsl_error err = { 0 };
	bool global = false;
	int64_t n = 1;

	while (n > 0) {
		if (r->j->rank == 0) {
			if (job_work(r->j, read_piece, &in,
				     "reading the index of %s",
				     r->o->dataset) < 0) {
				err = in.err;
				global = true;
			}
			n = in.n;
		}
		job_bcast(r->j, &n, sizeof(n), 0);
		if (n > 0)
			job_bcast(r->j, in.bytes, (size_t)n, 0);
		in.n = (ssize_t)n;
		if (n >= 0 && lacks && !err.code &&
		    job_work(r->j, put_piece, &in, "writing the index to %s",
			     r->path) < 0)
			err = in.err;
	}
	free(in.bytes);
	return run_agree(r, &err, global);
}

struct has {
	struct stage_run *r;
	struct hpdsl_error err;
};

static int has_index(void *arg)
{
	struct has *h = arg;

	return hpdsl_stage_has_index(h->r->stage, &h->r->pack, &h->err);
}

int run_index(struct stage_run *r)
{
	struct has h = { .r = r };
	int has = job_work(r->j, has_index, &h, "reading the index in %s",
			   r->path);
	uint32_t all[1] = { has > 0 };
	int ret;

	if (has >= 0)
		h.err.code = 0;
	ret = run_agree(r, &h.err, false);
	if (ret)
		return ret;
	job_min(r->j, all, 1);
	return all[0] ? 0 : stream(r, !has);
}
