/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that cannot be read: why, in the words of whoever found it. */
#include "load.h"

#include "error.h"
#include "mem.h"
#include "path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct hp_block_member *bad_member(const struct hp_load_batch *b,
						size_t i)
{
	const struct hp_load_row *row = b->row[i];
	const struct hp_block_member *m = b->unit[i]->member + row->member;

	for (uint32_t k = 0; k < row->members; k++)
		if (m[k].code < 0)
			return &m[k];
	return NULL;
}

/* A block knows of its first bad member only: the others are asked again. */
static int ask_again(const struct hpdsl_loader *l,
		     const struct hp_block_member *is, struct hpdsl_error *err)
{
	hp_auto_free void *buf = hp_array(is->size, 1);
	struct hpdsl_member m;
	int r;

	if (!buf)
		return hp_fail_nomem(err);
	r = hpdsl_member_get(l->ds, is->number, &m, err);
	if (r == 0)
		r = hpdsl_member_read(l->ds, &m, 0, buf, (size_t)m.size, err);
	return r;
}

/* Is it the member that the block tells of? */
static bool is_told(const struct hp_load_block *block,
		    const struct hp_block_member *m)
{
	for (uint32_t i = 0; i < block->b.n; i++)
		if (block->b.member[i].code < 0)
			return &block->b.member[i] == m;
	return false;
}

int hp_load_why(struct hpdsl_loader *l, const struct hp_load_batch *b, size_t i,
		int code, struct hpdsl_error *err)
{
	const struct hp_block_member *m = bad_member(b, i);
	const struct hp_load_block *block;
	struct hpdsl_sample s;
	int r;

	if (!m) { /* the index */
		struct hpdsl_member is;

		r = hpdsl_sample_get(l->ds, b->number[i], &s, err);
		for (uint64_t k = 0; r == 0 && k < s.members; k++)
			r = hpdsl_member_get(l->ds, s.first_member + k, &is,
					     err);
		return r < 0 ? r :
			       hp_fail_errno(err, code,
					     "sample %llu cannot be loaded",
					     (unsigned long long)b->number[i]);
	}
	block = &b->unit[i]->block[b->row[i]->block];
	if (!block->slot.p || code == -ENOMEM)
		return hp_fail_nomem(err);
	if (is_told(block, m) && block->b.why.code)
		return hp_fail(err, block->b.why.code, "%s", block->b.why.msg);
	r = ask_again(l, m, err);
	return r < 0 ? r :
		       hp_fail_errno(err, code, "sample %llu could not be read",
				     (unsigned long long)b->number[i]);
}

/* What follows "member 7 'a/b.jpg': ", or all of it. */
static const char *reason_of(const struct hpdsl_error *why)
{
	const char *end = strstr(why->msg, "': ");

	return end ? end + 3 : why->msg;
}

void hp_load_tell_bad(struct hpdsl_loader *l, const struct hp_load_batch *b,
		      size_t i, const struct hpdsl_error *why)
{
	const struct hp_block_member *is = bad_member(b, i);
	struct hpdsl_damage d = { .sample = b->number[i],
				  .reason = reason_of(why) };
	char file[HPDSL_PATH_MAX + 1], path[HPDSL_PATH_MAX + 1];
	struct hpdsl_member m;
	struct hpdsl_chunk c;

	if (!l->opt.bad)
		return;
	/* Copies: their ends are certain. */
	if (is && hpdsl_chunk_get(l->ds, is->chunk, &c, NULL) == 0) {
		snprintf(file, sizeof file, "%s", c.name);
		d.file = file;
	}
	if (is && hpdsl_member_get(l->ds, is->number, &m, NULL) == 0 &&
	    hp_path_copy(m.path, m.path_len, path))
		d.path = path;
	l->opt.bad(l->opt.arg, &d);
}
