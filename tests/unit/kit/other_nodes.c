/* SPDX-License-Identifier: Apache-2.0 */
#include "other_nodes.h"

#include "dataset/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static bool there(void *arg)
{
	return ((const struct other_nodes *)arg)->there;
}

static bool is_within(uint64_t byte, const struct hp_source_stretch *v)
{
	return byte >= v->offset && byte < v->offset + (uint64_t)v->got;
}

static void damage(const struct other_nodes *o, uint32_t chunk,
		   struct hp_source_stretch *v)
{
	uint8_t *p = v->buf;

	if (v->sent == OTHER_NODES_HONEST)
		return;
	if (o->flips)
		p[v->got / 2] ^= 1;
	if (chunk == o->flipped && is_within(o->flipped_at, v))
		p[o->flipped_at - v->offset] ^= 1;
}

static ssize_t read_file(const struct staged *f, uint32_t chunk,
			 const struct hp_source_stretch *v)
{
	struct hpdsl_chunk row;
	char name[PACKED_PATH];
	ssize_t got;
	int fd;

	staged_chunk(f, chunk, &row);
	assert_true(v->n > 0 && v->offset + v->n <= row.bytes);
	snprintf(name, sizeof name, "%s/%s", f->p.out, row.name);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	got = hp_io_pread_full(hp_io_or_system(NULL), fd, v->buf, v->n,
			       v->offset);
	close(fd);
	return got;
}

static ssize_t give(const struct other_nodes *o, const struct hp_source *s,
		    const struct hp_source_stretch *v, unsigned number)
{
	struct hpdsl_chunk row;

	staged_chunk(o->f, s->chunk, &row);
	if (row.compressed && s->ops->plain != (o->plain != NULL))
		return HP_OTHER_FORM;
	assert_false(s->ops->plain && !row.compressed);
	if (o->fails && number >= o->k)
		return o->fails;
	if (s->chunk == o->silent && v->offset + v->n > o->silent_at)
		return -EHOSTUNREACH;
	return read_file(s->ops->plain ? o->plain : o->f, s->chunk, v);
}

static void submit(const struct hp_source *s, struct hp_source_stretch *v,
		   size_t n, uint64_t deadline, hp_source_done *done, void *arg)
{
	struct other_nodes *o = s->arg;

	(void)deadline;
	for (size_t i = 0; i < n; i++) {
		unsigned k = __atomic_fetch_add(&o->asked, 1, __ATOMIC_RELAXED);

		v[i].got = give(o, s, &v[i], k);
		v[i].sent = o->two && k % 2 == 0 ? OTHER_NODES_HONEST :
						   OTHER_NODES_LIAR;
		if (v[i].got > 0) {
			damage(o, s->chunk, &v[i]);
			__atomic_fetch_add(&o->bytes, (uint64_t)v[i].got,
					   __ATOMIC_RELAXED);
		}
		done(arg, &v[i]);
	}
}

static int64_t cached(const struct hp_source *s, uint64_t offset, uint64_t n)
{
	(void)s, (void)offset, (void)n;
	return -EOPNOTSUPP;
}

static unsigned blame(int code)
{
	(void)code;
	return 0;
}

static void bad(const struct hp_source *s, uint32_t sent)
{
	assert_int_equal(sent, OTHER_NODES_LIAR);
	__atomic_fetch_add(&((struct other_nodes *)s->arg)->bad, 1,
			   __ATOMIC_RELAXED);
}

static void text(const char *path, const char *name, char *buf, size_t room)
{
	(void)path;
	snprintf(buf, room, "peers:%.600s", name);
}

void other_nodes_begin(struct other_nodes *o, const struct staged *f)
{
	*o = (struct other_nodes){ .f = f,
				   .there = true,
				   .silent = UINT32_MAX,
				   .flipped = UINT32_MAX,
				   .table = hp_sources_files };
	for (int i = 0; i < 2; i++) {
		o->ops[i] = (struct hp_source_ops){
			.plain = i,
			.there = there,
			.submit = submit,
			.cached = cached,
			.blame = blame,
			.bad = bad,
			.text = text,
		};
		o->table.of[HP_AT_PEER + i] = &o->ops[i];
		o->table.arg[HP_AT_PEER + i] = o;
	}
}

void other_nodes_stage_half(struct staged *f)
{
	hpdsl_pack_id(f->origin, f->header.pack);
	staged_put_all(f);
	for (uint32_t c = 1; c < STAGED_CHUNKS; c += 2) {
		staged_drop(f, c);
		hp_state_set(f->state, c, HP_CHUNK_ABSENT);
	}
}

struct hpdsl_dataset *other_nodes_open(const struct other_nodes *o)
{
	struct hpdsl_dataset *ds = staged_open(o->f->dir, NULL);

	ds->sources = &o->table;
	return ds;
}
