/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing an index front to back.  After a first walk over the members (see
 * measure.c) all sizes are known; each section is then made in another
 * walk and leaves in blocks, its checksums behind it.
 */
#include "index/write.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/section_out.h"
#include "index/private.h"

#include <assert.h>
#include <errno.h>

struct writer {
	const struct hp_index_source *src;
	const struct hp_sink *sink;
	struct hpdsl_error *err;
	struct hp_index_sizes is;
	struct hp_hashed *hashed; /* members, in slot order */
	struct hp_section_place place[HP_INDEX_KINDS + 1];
	struct hp_section_out out; /* of the section being written */
	uint64_t sent;		   /* bytes to the sink */
};

/* The sections come in order, each from its front to its checksums. */
static int send(void *arg, const void *p, size_t n, uint64_t off,
		struct hpdsl_error *err)
{
	struct writer *w = arg;

	assert(off == w->sent);
	w->sent += n;
	return w->sink->write(w->sink->arg, p, n, err);
}

static int put(struct writer *w, const void *p, size_t n)
{
	return hp_section_put(&w->out, p, n);
}

static int end_section(struct writer *w)
{
	return hp_section_finish(&w->out);
}

/* Places of the sections; their rows in the table. */
static void put_table(struct writer *w, uint8_t *table)
{
	uint64_t at = w->is.header;

	for (uint32_t k = 1; k <= HP_INDEX_KINDS; k++) {
		if (!w->is.has[k])
			continue;
		w->place[k].offset = at;
		w->place[k].length = w->is.length[k];
		at = hp_section_put_row(k,
					hp_section_flags(&hp_index_layout, k),
					hp_section_row(&hp_index_layout, k),
					&w->place[k], table);
		table += HP_TABLE_ROW;
	}
}

static int write_header(struct writer *w)
{
	uint8_t h[HP_INDEX_FIXED + HP_TABLE_ROW * HP_INDEX_KINDS + 8] = { 0 };
	const struct hp_index_source *src = w->src;
	uint32_t n = w->is.header;

	memcpy(h, HP_INDEX_MAGIC, 8);
	hp_put32(h + 8, HP_INDEX_VERSION);
	hp_put32(h + 12, n);
	hp_put64(h + 16, w->is.size);
	hp_put64(h + 24, src->samples);
	hp_put64(h + 32, src->members);
	hp_put64(h + 40, src->bytes);
	hp_put32(h + 48, src->n_chunks);
	hp_put32(h + 52, src->n_classes);
	hp_put32(h + 56, w->is.sections);
	hp_put32(h + 60, src->flags | (src->key.last ? HP_INDEX_LAST : 0));
	memcpy(h + 64, src->dataset_id, 16);
	put_table(w, h + HP_INDEX_FIXED);
	hp_put64(h + n - 8, hp_hash64(h, n - 8));
	return send(w, h, n, 0, w->err);
}

/* ---- Sections --------------------------------------------------------- */

/* How a member becomes a part of a section. */
typedef int add_fn(struct writer *w, uint64_t number,
		   const struct hp_index_member *m, uint64_t *state);

static int write_members(struct writer *w, add_fn *add)
{
	const struct hp_index_source *src = w->src;
	uint64_t n = 0, state = 0;
	struct hp_index_member m;
	int r;

	src->begin(src->arg);
	while ((r = src->next(src->arg, &m, w->err)) > 0) {
		r = add(w, n++, &m, &state);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : end_section(w);
}

/* Which chunk holds the sample; *chunk only ever goes on. */
static uint32_t chunk_of(const struct hp_index_source *src, uint64_t sample,
			 uint32_t chunk)
{
	while (chunk + 1 < src->n_chunks &&
	       src->chunks[chunk + 1].first_sample <= sample)
		chunk++;
	return chunk;
}

/* State: the next sample, and above 40 bits the chunk. */
static int add_sample(struct writer *w, uint64_t number,
		      const struct hp_index_member *m, uint64_t *state)
{
	uint64_t next = *state & HP_SLOT_NUMBER;
	uint32_t chunk = (uint32_t)(*state >> 40);
	uint8_t row[HP_SAMPLE_ROW];

	if (m->sample != next)
		return 0;
	chunk = chunk_of(w->src, m->sample, chunk);
	*state = (uint64_t)chunk << 40 | (next + 1);
	hp_put64(row, number);
	hp_put32(row + 8, chunk);
	hp_put32(row + 12, m->label);
	return put(w, row, sizeof row);
}

/* State: the path's offset. */
static int add_member(struct writer *w, uint64_t number,
		      const struct hp_index_member *m, uint64_t *state)
{
	uint8_t row[HP_MEMBER_ROW];

	(void)number;
	hp_put64(row, m->offset);
	hp_put64(row + 8, m->size);
	hp_put64(row + 16, m->checksum);
	hp_put64(row + 24, (uint64_t)m->mtime);
	hp_put32(row + 32, m->nsec);
	hp_put16(row + 36, (uint16_t)m->path_len);
	hp_put16(row + 38, (uint16_t)m->mode);
	hp_put48(row + 40, *state);
	hp_put48(row + 46, m->sample);
	*state += m->path_len + 1;
	return put(w, row, sizeof row);
}

static int add_path(struct writer *w, uint64_t number,
		    const struct hp_index_member *m, uint64_t *state)
{
	int r = put(w, m->path, m->path_len);

	(void)number;
	(void)state;
	return r < 0 ? r : put(w, "", 1);
}

/* State: the name's offset. */
static int add_stored(struct writer *w, uint64_t number,
		      const struct hp_index_member *m, uint64_t *state)
{
	uint8_t row[HP_STORED_ROW];

	if (!m->stored)
		return 0;
	hp_put64(row, number);
	hp_put48(row + 8, *state);
	hp_put16(row + 14, (uint16_t)m->stored_len);
	*state += m->stored_len + 1;
	return put(w, row, sizeof row);
}

static int add_stored_path(struct writer *w, uint64_t number,
			   const struct hp_index_member *m, uint64_t *state)
{
	int r;

	(void)number;
	(void)state;
	if (!m->stored)
		return 0;
	r = put(w, m->stored, m->stored_len);
	return r < 0 ? r : put(w, "", 1);
}

static int add_sha256(struct writer *w, uint64_t number,
		      const struct hp_index_member *m, uint64_t *state)
{
	(void)number;
	(void)state;
	return put(w, m->sha256, HP_SHA256_ROW);
}

static int write_lookup(struct writer *w)
{
	uint64_t homes = hp_lookup_homes(w->src->members);
	uint64_t slots = w->is.length[HP_SECTION_LOOKUP] / HP_SLOT_ROW;
	uint64_t i = 0;

	for (uint64_t at = 0; at < slots; at++) {
		const struct hp_hashed *h = &w->hashed[i];
		uint8_t slot[HP_SLOT_ROW] = { 0 };
		int r;

		if (i < w->src->members &&
		    hp_lookup_home(h->hash, homes) <= at) {
			hp_put64(slot, hp_lookup_slot(h->hash, h->number));
			i++;
		}
		r = put(w, slot, sizeof slot);
		if (r < 0)
			return r;
	}
	return end_section(w);
}

/* State: the number of its first frame. */
static void put_forms(uint8_t *row, const struct hp_chunk_made *c,
		      uint64_t *frame)
{
	hp_put64(row + 16, c->bytes);
	memcpy(row + 24, c->checksum, 16);
	hp_put64(row + 40, c->compressed ? c->plain_bytes : c->bytes);
	memcpy(row + 48, c->compressed ? c->plain_checksum : c->checksum, 16);
	if (!c->compressed)
		return;
	hp_put64(row + 64, *frame);
	hp_put32(row + 80, HP_CHUNK_COMPRESSED);
	hp_put32(row + 84, c->n_frames);
	*frame += c->n_frames;
}

static int write_chunks(struct writer *w)
{
	uint64_t name = 0, frame = 0;

	for (uint32_t i = 0; i < w->src->n_chunks; i++) {
		const struct hp_chunk_made *c = &w->src->chunks[i];
		uint8_t row[HP_CHUNK_ROW] = { 0 };
		size_t len = strlen(c->name);
		int r;

		hp_put64(row, c->first_sample);
		hp_put64(row + 8, c->first_member);
		put_forms(row, c, &frame);
		hp_put48(row + 72, name);
		hp_put16(row + 78, (uint16_t)len);
		name += len + 1;
		r = put(w, row, sizeof row);
		if (r < 0)
			return r;
	}
	return end_section(w);
}

static int write_frames(struct writer *w)
{
	for (uint32_t i = 0; i < w->src->n_chunks; i++) {
		const struct hp_chunk_made *c = &w->src->chunks[i];

		for (uint32_t k = 0; c->compressed && k < c->n_frames; k++) {
			uint8_t row[HP_FRAME_ROW];
			int r;

			hp_put64(row, c->frames[k].plain);
			hp_put64(row + 8, c->frames[k].stored);
			r = put(w, row, sizeof row);
			if (r < 0)
				return r;
		}
	}
	return end_section(w);
}

static int write_chunk_sha256(struct writer *w)
{
	for (uint32_t i = 0; i < w->src->n_chunks; i++) {
		int r = put(w, w->src->chunks[i].sha256, HP_SHA256_ROW);

		if (r < 0)
			return r;
	}
	return end_section(w);
}

static int write_chunk_names(struct writer *w)
{
	for (uint32_t i = 0; i < w->src->n_chunks; i++) {
		const char *name = w->src->chunks[i].name;
		int r = put(w, name, strlen(name) + 1);

		if (r < 0)
			return r;
	}
	return end_section(w);
}

static int write_classes(struct writer *w)
{
	uint64_t name = 0;

	for (uint32_t i = 0; i < w->src->n_classes; i++) {
		size_t len = strlen(w->src->classes[i]);
		uint8_t row[HP_CLASS_ROW];
		int r;

		hp_put48(row, name);
		hp_put16(row + 6, (uint16_t)len);
		name += len + 1;
		r = put(w, row, sizeof row);
		if (r < 0)
			return r;
	}
	return end_section(w);
}

static int write_class_names(struct writer *w)
{
	for (uint32_t i = 0; i < w->src->n_classes; i++) {
		const char *name = w->src->classes[i];
		int r = put(w, name, strlen(name) + 1);

		if (r < 0)
			return r;
	}
	return end_section(w);
}

static int write_doubles(struct writer *w)
{
	for (uint32_t i = 0; i < w->src->key.n; i++) {
		const char *s = w->src->key.doubles[i];
		int r = put(w, s, strlen(s) + 1);

		if (r < 0)
			return r;
	}
	return end_section(w);
}

static int write_section(struct writer *w, enum hp_index_section kind)
{
	static add_fn *const of_members[HP_INDEX_KINDS + 1] = {
		[HP_SECTION_SAMPLES] = add_sample,
		[HP_SECTION_MEMBERS] = add_member,
		[HP_SECTION_PATHS] = add_path,
		[HP_SECTION_STORED] = add_stored,
		[HP_SECTION_MEMBER_SHA256] = add_sha256,
		[HP_SECTION_STORED_PATHS] = add_stored_path,
	};
	static int (*const others[HP_INDEX_KINDS + 1])(struct writer * w) = {
		[HP_SECTION_LOOKUP] = write_lookup,
		[HP_SECTION_CHUNKS] = write_chunks,
		[HP_SECTION_NAMES] = write_chunk_names,
		[HP_SECTION_CLASSES] = write_classes,
		[HP_SECTION_CLASS_NAMES] = write_class_names,
		[HP_SECTION_FRAMES] = write_frames,
		[HP_SECTION_CHUNK_SHA256] = write_chunk_sha256,
		[HP_SECTION_DOUBLES] = write_doubles,
	};

	hp_section_begin(&w->out, &w->place[kind], 0, w->place[kind].length);
	return of_members[kind] ? write_members(w, of_members[kind]) :
				  others[kind](w);
}

static int write_all(struct writer *w)
{
	int r = write_header(w);

	for (int k = 1; r == 0 && k <= HP_INDEX_KINDS; k++)
		if (w->is.has[k])
			r = write_section(w, (enum hp_index_section)k);
	return r;
}

int hp_index_write(const struct hp_index_source *src,
		   const struct hp_sink *sink, struct hpdsl_error *err)
{
	struct writer w = { .src = src, .sink = sink, .err = err };
	const struct hp_sink_at to = { send, &w };
	hp_auto_free struct hp_hashed *hashed = NULL;
	hp_auto_free uint64_t *sums = NULL;
	hp_auto_free uint8_t *block = NULL;
	int r;

	if (src->members > HP_INDEX_MEMBERS || src->n_chunks > HP_INDEX_CHUNKS)
		return hp_fail(err, -EFBIG,
			       "too many members or chunks for one index");
	hashed = hp_array(src->members, sizeof *hashed);
	block = hp_array(HP_BLOCK, 1);
	if (!hashed || !block)
		return hp_fail_nomem(err);
	w.hashed = hashed;
	r = hp_index_measure(src, hashed, &w.is, err);
	if (r < 0)
		return r;
	sums = hp_array(w.is.blocks, sizeof *sums);
	if (!sums)
		return hp_fail_nomem(err);
	w.out = (struct hp_section_out){
		.sink = &to, .err = err, .block = block, .sums = sums
	};
	return write_all(&w);
}
