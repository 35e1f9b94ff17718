/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of tools of this node, over its Unix socket: a chunk by its name,
 * whole or a range, from here, from other nodes or from the origin.
 */
#include "serve/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "format/names.h"
#include "peers/whom.h"
#include "serve/local.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which chunk ------------------------------------------------------ */

/* By the name that it has in a stage directory, in either form. */
static bool is_staged_name(const struct hpdsl_chunk *row, const char *name,
			   bool *ret_plain)
{
	char buf[HP_STAGE_NAME];

	*ret_plain = !row->compressed;
	if (strcmp(name, hp_stage_chunk_name(row, false, buf)) == 0)
		return true;
	*ret_plain = true;
	return row->compressed &&
	       strcmp(name, hp_stage_chunk_name(row, true, buf)) == 0;
}

/* Adopted tars have names of their own in the index. */
static bool find_name(struct hpdsl_serve *s, const char *name,
		      struct hpdsl_chunk *ret)
{
	for (uint32_t c = 0; c < s->chunks; c++)
		if (hpdsl_chunk_get(s->ds, c, ret, NULL) == 0 &&
		    strcmp(ret->name, name) == 0)
			return true;
	return false;
}

static bool find(struct hpdsl_serve *s, const char *name,
		 struct hpdsl_chunk *ret, bool *ret_plain)
{
	int64_t number = hp_chunk_number(name);

	if (number >= 0 && number < s->chunks &&
	    hpdsl_chunk_get(s->ds, (uint32_t)number, ret, NULL) == 0 &&
	    is_staged_name(ret, name, ret_plain))
		return true;
	if (!find_name(s, name, ret))
		return false;
	*ret_plain = !ret->compressed;
	return true;
}

/* ---- Its checksum ----------------------------------------------------- */

/* Of what other nodes sent so far, of a chunk that is given whole. */
struct sum {
	struct hp_content_state state;
	uint64_t at;
};

static bool begin_sum(struct hpdsl_serve_answer *n)
{
	struct sum *sum = aligned_alloc(_Alignof(struct sum), sizeof *sum);

	if (!sum)
		return false;
	hp_content_begin(&sum->state);
	sum->at = 0;
	n->sum = sum;
	return true;
}

/* Behind the last byte: is it the chunk?  Its tag, which is its digest, told
 * what it would be. */
static int take_sum(const struct hpdsl_serve_answer *a,
		    const struct hpdsl_chunk *row, uint64_t offset,
		    const void *p, size_t n, struct hpdsl_error *err)
{
	struct hp_content_hash is;
	struct sum *sum = a->sum;

	if (!sum || sum->at != offset)
		return 0;
	hp_content_update(&sum->state, p, n);
	sum->at += n;
	if (sum->at < a->length)
		return 0;
	hp_content_end(&sum->state, &is);
	if (memcmp(is.full, a->plain ? row->plain_checksum : row->checksum,
		   sizeof is.full) == 0)
		return 0;
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: what was sent is not what was packed: cut short",
		       row->name);
}

/* ---- The answer ------------------------------------------------------- */

static bool is_method(const struct hpdsl_serve_request *q, bool *ret_head)
{
	*ret_head = q->method && strcmp(q->method, "HEAD") == 0;
	return *ret_head || (q->method && strcmp(q->method, "GET") == 0);
}

/* As it is stored others have it, unless it is here in the other form. */
static bool can_be_had(const struct hp_serve_known *k, bool plain)
{
	return plain == !k->compressed && !hp_serve_has(k, !plain);
}

static void give_range(const struct hpdsl_serve_request *q, uint64_t size,
		       struct hpdsl_serve_answer *n)
{
	uint64_t first = 0, last = size - 1;

	n->status = 200;
	n->offset = 0;
	n->length = size;
	switch (hp_local_range(q->range, size, &first, &last)) {
	case HP_RANGE_NONE:
		return;
	case HP_RANGE_SOME:
		n->status = 206;
		n->offset = first;
		n->length = last - first + 1;
		snprintf(n->range, sizeof n->range, "bytes %llu-%llu/%llu",
			 (unsigned long long)first, (unsigned long long)last,
			 (unsigned long long)size);
		return;
	case HP_RANGE_BAD:
		n->status = 416;
		n->length = 0;
		snprintf(n->range, sizeof n->range, "bytes */%llu",
			 (unsigned long long)size);
		return;
	}
}

static void give(struct hpdsl_serve *s, const struct hpdsl_serve_request *q,
		 const struct hpdsl_chunk *row, struct hpdsl_serve_answer *n)
{
	struct hpdsl_chunk ignored;
	struct hp_serve_known k;

	hp_serve_know(s, row->number, &ignored, &k);
	if (hp_serve_has(&k, n->plain))
		n->fd = hp_serve_open_chunk(s, row, n->plain);
	if (n->fd < 0 && !can_be_had(&k, n->plain)) {
		n->fd = -1;
		return;
	}
	n->fd = n->fd < 0 ? -1 : n->fd;
	n->chunk = row->number;
	hp_answer_tag(s->pack, n->plain ? row->plain_checksum : row->checksum,
		      n->tag);
	give_range(q, n->plain ? row->plain_bytes : row->bytes, n);
	if (n->fd < 0 && n->status == 200 && !n->head && !begin_sum(n)) {
		n->status = 503; /* no memory, so no body either */
		n->length = 0;
	}
}

void hpdsl_serve_ask_local(struct hpdsl_serve *s,
			   const struct hpdsl_serve_request *q,
			   struct hpdsl_serve_answer *ret)
{
	char name[HPDSL_PATH_MAX + 1];
	struct hpdsl_chunk row;

	*ret = (struct hpdsl_serve_answer){ .status = 404,
					    .fd = -1,
					    .chunk = HP_NO_NODE };
	hp_serve_add(&s->count.local_requests, 1);
	__atomic_store_n(&s->count.asked, hp_monotonic(), __ATOMIC_RELAXED);
	if (!is_method(q, &ret->head))
		ret->status = 405;
	else if (q->path && hp_local_name(q->path, name, sizeof name) &&
		 find(s, name, &row, &ret->plain))
		give(s, q, &row, ret);
}

/* ---- Bytes that are not here ------------------------------------------ */

/* From where it is now; peers may have another form than what is stored. */
static ssize_t read_there(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
			  const struct hp_source *file,
			  const struct hp_source_stretch *v)
{
	ssize_t got;

	if (row->compressed && file->ops->plain)
		return HP_OTHER_FORM;
	got = hp_source_read(file, v->buf, v->n, v->offset);
	if (got > 0)
		hp_stage_count(s->ds->stage, file->at, (uint64_t)got);
	return got;
}

/* 1: not there, but there is another one. */
static int try_once(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
		    struct hp_tried *tried, struct hp_source_stretch *v,
		    struct hpdsl_error *err)
{
	char text[HP_CHUNK_FILE_TEXT];
	struct hp_source file;
	bool again;
	int r = hp_chunk_file_get(s->ds, row, &s->quit, &file, tried, err);

	if (r < 0)
		return r;
	v->got = read_there(s, row, &file, v);
	/* That it has been expanded here meanwhile is no fault of it. */
	again = v->got < 0 &&
		(v->got != HP_OTHER_FORM || hp_source_is_peer(file.at)) &&
		hp_chunk_file_failed(s->ds, row, &file, (int)v->got, tried);
	hp_chunk_file_text(s->ds, row, file.at, text);
	hp_chunk_file_put(s->ds, &file);
	if (v->got < 0 && !again)
		return hp_fail_errno(err, (int)v->got, "%s", text);
	return again;
}

int64_t hpdsl_serve_read(struct hpdsl_serve *s,
			 const struct hpdsl_serve_answer *a, uint64_t offset,
			 void *buf, size_t n, struct hpdsl_error *err)
{
	struct hp_source_stretch v = { .offset = offset, .buf = buf, .n = n };
	struct hp_tried tried = { .asked = 0 };
	struct hpdsl_chunk row;
	int r = hpdsl_chunk_get(s->ds, a->chunk, &row, err);

	if (r < 0)
		return r;
	do
		r = hp_serve_quits(s) ?
			    hp_fail(err, HPDSL_ESTOPPED, "stopped early") :
			    try_once(s, &row, &tried, &v, err);
	while (r > 0);
	if (r == 0)
		r = take_sum(a, &row, offset, buf, (size_t)v.got, err);
	if (r < 0)
		return r;
	hp_serve_add(&s->count.fetched_bytes, (uint64_t)v.got);
	return v.got;
}
