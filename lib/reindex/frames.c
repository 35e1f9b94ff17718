/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of compressed chunks as a witness: they hold whole samples.  One that
 * begins between two members of one key says that such keys do not make samples
 * here; one that begins elsewhere was not made by the packer.
 */
#include "reindex/reindex.h"

#include "base/error.h"
#include "chunk/seek_table.h"
#include "index/write.h"

#include <inttypes.h>
#include <string.h>

/* Members of a chunk one by one. */
struct members {
	const struct hp_list *list;
	uint64_t file, first, end;
	uint64_t offset; /* of the header of file, or of the trailer */
};

static void next_member(struct members *m)
{
	struct hp_tar_member t;

	hp_plan_header(m->list, m->file, &t);
	m->offset += hp_tar_header_size(&t) +
		     hp_tar_padded(m->list->files[m->file].size);
	m->file++;
}

/* Of the key that the member at hand and the one before it have, by this rule:
 * its length, or 0. */
static size_t one_key(const struct members *m, bool last)
{
	const struct hp_key_rule rule = { .last = last };
	const struct hp_file *a, *b;
	size_t n;

	if (m->file == m->first || m->file == m->end)
		return 0;
	b = &m->list->files[m->file];
	a = b - 1;
	n = hp_key_length(&rule, b->path, b->path_len);
	return n == hp_key_length(&rule, a->path, a->path_len) &&
			       memcmp(a->path, b->path, n) == 0 ?
		       n :
		       0;
}

/* A longer key may have been parted by a suffix that was declared. */
static void hear(struct hp_reindex *x, const struct members *m)
{
	size_t key = one_key(m, false);

	x->frames_apart |= key > 0;
	if (x->group == HPDSL_GROUP_LOOK && key && one_key(m, true) == key)
		x->group = HPDSL_GROUP_NONE;
}

static int check_frames(struct hp_reindex *x, const struct hp_found *c,
			struct hpdsl_error *err)
{
	struct members m = { &x->list, c->made.first_member,
			     c->made.first_member, c->made.first_member + c->n,
			     0 };

	for (uint32_t i = 0; i < c->made.n_frames; i++) {
		uint64_t at = c->made.frames[i].plain;

		while (m.file < m.end && m.offset < at)
			next_member(&m);
		/* A part of a large sample may begin anywhere. */
		if (i && at - c->made.frames[i - 1].plain == HP_FRAME_MAX)
			continue;
		if (m.offset != at)
			return hp_fail(err, HPDSL_ECORRUPT,
				       "%s: frame %" PRIu32
				       " does not begin with a member: not "
				       "compressed by hpdsl-pack; decompress "
				       "it",
				       c->made.name, i);
		hear(x, &m);
	}
	return 0;
}

int hp_reindex_frames(struct hp_reindex *x, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t c = 0; c < x->n_chunks && r == 0; c++)
		r = check_frames(x, &x->chunks[c], err);
	return r;
}
