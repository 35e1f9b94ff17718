/* SPDX-License-Identifier: Apache-2.0 */
/* The members of one chunk, read from the tar file alone. */
#include "reindex/read.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

struct parse {
	struct hp_reading r; /* the first */
	char path[HPDSL_PATH_MAX + 1];
};

/* 1: a member, 0: the end. */
static int parse_member(struct parse *p, struct hpdsl_error *err)
{
	struct hp_reading *r = &p->r;
	struct hp_content_hash hash;
	struct hp_tar_member t;
	struct hpdsl_error why;
	ssize_t n;
	int k = hp_reading_need(r, HP_TAR_HEADER_MAX, err);

	if (k < 0)
		return k;
	n = hp_tar_header_read(r->pass.at, r->pass.have, &t, p->path, &why);
	if (n == -EAGAIN)
		return r->walk.ops->ended(r, err);
	if (n < 0)
		return hp_reading_damaged(r, r->pass.offset, why.msg, err);
	if (n == 0)
		return 0;
	hp_pass_take(&r->pass, (size_t)n);
	k = hp_chunk_walk_content(&r->walk, t.size, &hash, err);
	if (k == 0)
		k = hp_chunk_walk_zeros(
			&r->walk, hp_tar_padded(t.size) - t.size, NULL, err);
	if (k == 0 && !hp_reading_add(r, &t, &hash, err))
		k = -ENOMEM;
	return k < 0 ? k : 1;
}

static int parse_trailer(struct hp_reading *r, struct hpdsl_error *err)
{
	uint64_t end = hp_tar_total(r->pass.offset);
	int k = hp_chunk_walk_zeros(&r->walk, end - r->pass.offset, NULL, err);

	if (k < 0)
		return k;
	k = hp_reading_need(r, 1, err);
	if (k == 0 && r->pass.have)
		return hp_reading_damaged(r, r->pass.offset,
					  "the file should end here", err);
	return k;
}

static int parse(struct hp_reading *r, struct hpdsl_error *err)
{
	struct parse *p = (struct parse *)r;
	int k;

	do
		k = parse_member(p, err);
	while (k > 0);
	if (k == 0 && !r->chunk->n)
		return hp_reading_damaged(r, 0, "there is no member", err);
	return k < 0 ? k : parse_trailer(r, err);
}

int hp_reindex_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct parse p = { 0 };

	return hp_reading_run(&p.r, arg, number, parse, err);
}
