/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of one tar of anybody's, in one pass: where each content lies,
 * what its header says, its checksums.  What is no regular file is counted and
 * passed over.
 */
#include "reindex/adopt.h"

#include "archive/archive.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "chunk/tar_foreign.h"
#include "chunk/tar_tail.h"
#include "reindex/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parse {
	struct hp_reading r; /* the first */
	struct hp_adopted *tar;
	struct hp_foreign headers;
	struct hp_foreign_member m;
	struct hp_tar_seen seen;
	char path[HP_FOREIGN_NAME + 1];
};

static int damaged(const struct parse *p, const char *why,
		   struct hpdsl_error *err)
{
	return hp_reading_damaged(&p->r, p->r.header, why, err);
}

/* ---- What is no tar at all -------------------------------------------- */

struct magic {
	const char *bytes;
	size_t n;
	const char *what, *program; /* that takes it away */
};

static const struct magic magics[] = {
	{ "\x1f\x8b", 2, "gzip", "gzip -d" },
	{ "BZh", 3, "bzip2", "bzip2 -d" },
	{ "\xfd"
	  "7zXZ",
	  6, "xz", "xz -d" },
	{ "\x28\xb5\x2f\xfd", 4, "zstd", "zstd -d" },
	{ "LZIP", 4, "lzip", "lzip -d" },
};

static bool begins_with(const struct parse *p, const char *bytes, size_t n)
{
	return p->r.pass.have >= n && memcmp(p->r.pass.at, bytes, n) == 0;
}

/* The first block is no header, or is not all there. */
static int no_tar(const struct parse *p, const char *why,
		  struct hpdsl_error *err)
{
	const char *name = p->r.chunk->made.name;
	char given[HP_PRINTABLE];
	const char *kind;
	bool zip;

	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
		const struct magic *k = &magics[i];

		if (begins_with(p, k->bytes, k->n))
			return hp_fail(err, HPDSL_ENOTOURS,
				       "%s: compressed with %s: %s it first, "
				       "or repack it: hpdsl-pack %s OUTPUT",
				       name, k->what, k->program,
				       hp_adopt_given(p->r.x, name, given));
	}
	zip = begins_with(p, "PK\3\4", 4);
	if (zip || begins_with(p, "7z\xbc\xaf", 4))
		return hp_fail(err, HPDSL_ENOTOURS,
			       "%s: a %s archive: repack it: hpdsl-pack %s "
			       "OUTPUT",
			       name, zip ? "zip" : "7z",
			       hp_adopt_given(p->r.x, name, given));
	kind = hp_archive_kind(p->r.pass.at, p->r.pass.have);
	if (kind)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: %s", name, kind);
	return damaged(p, why, err);
}

static int bad_header(const struct parse *p, int code, const char *why,
		      struct hpdsl_error *err)
{
	const char *name = p->headers.name;
	char text[HP_PRINTABLE], given[HP_PRINTABLE];

	hp_printable(name, strlen(name), text);
	if (code == -EOPNOTSUPP && p->headers.mapped)
		return hp_fail(
			err, code,
			"%s: member '%s': %s cannot be read in place: "
			"repack it: hpdsl-pack %s OUTPUT",
			p->r.chunk->made.name, text, why,
			hp_adopt_given(p->r.x, p->r.chunk->made.name, given));
	/* What nobody can know is no better for being packed. */
	if (code == -EOPNOTSUPP)
		return hp_fail(err, code, "%s: member '%s': is %s",
			       p->r.chunk->made.name, text, why);
	return p->r.header ? damaged(p, why, err) : no_tar(p, why, err);
}

/* ---- Members ---------------------------------------------------------- */

static int skip(struct parse *p, uint64_t n, struct hpdsl_error *err)
{
	int k;

	p->r.ends = "the file ends in this member";
	k = hp_chunk_walk_over(&p->r.walk, n, err);
	p->r.ends = NULL;
	return k;
}

static int read_extra(struct parse *p, struct hpdsl_error *err)
{
	hp_auto_free uint8_t *data = NULL;
	size_t n = (size_t)p->m.size;
	struct hpdsl_error why;
	int k;

	p->r.ends = "the file ends in this header";
	k = hp_chunk_walk_copy(&p->r.walk, n, &data, err);
	p->r.ends = NULL;
	if (k == 0 && hp_foreign_extra(&p->headers, data, n, &why) < 0)
		k = damaged(p, why.msg, err);
	return k;
}

static int add_file(struct parse *p, size_t path_len, uint64_t offset,
		    const struct hp_content_hash *hash, struct hpdsl_error *err)
{
	const struct hp_foreign_member *m = &p->m;
	struct hp_tar_member t = { p->path, path_len, m->size, m->mtime,
				   m->mode };
	struct hp_found *c = p->r.chunk;
	struct hp_adopted_place *places;
	const char *stored = NULL;
	struct hp_file *f;

	if (path_len != m->name_len || memcmp(p->path, m->name, path_len)) {
		stored = hp_arena_add(c->arena, m->name, m->name_len);
		if (!stored)
			return hp_fail_nomem(err);
	}
	places = hp_more(p->tar->places, c->n, sizeof *places);
	if (!places)
		return hp_fail_nomem(err);
	p->tar->places = places;
	places[c->n] = (struct hp_adopted_place){ offset, stored };
	f = hp_reading_add(&p->r, &t, hash, err);
	if (!f)
		return -ENOMEM;
	f->nsec = m->nsec;
	return 0;
}

static int bad_path(const struct parse *p, int code, struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];

	return hp_fail(err, HPDSL_ECORRUPT, "%s: member '%s': %s",
		       p->r.chunk->made.name,
		       hp_printable(p->m.name, p->m.name_len, text),
		       code == -ENAMETOOLONG ?
			       "its path is too long" :
			       "its path is empty or leads outside");
}

static int take_file(struct parse *p, struct hpdsl_error *err)
{
	const struct hp_foreign_member *m = &p->m;
	uint64_t offset = p->r.pass.offset;
	struct hp_content_hash hash;
	int len = hp_path_clean(m->name, m->name_len, p->path), k;

	if (len < 0)
		return bad_path(p, len, err);
	k = hp_chunk_walk_content(&p->r.walk, m->size, &hash, err);
	return k < 0 ? k : add_file(p, (size_t)len, offset, &hash, err);
}

static int note_first(struct parse *p, uint64_t *count, const char **first,
		      struct hpdsl_error *err)
{
	if ((*count)++)
		return 0;
	*first = hp_arena_add(p->r.chunk->arena, p->m.name, p->m.name_len);
	return *first ? 0 : hp_fail_nomem(err);
}

static int take_member(struct parse *p, struct hpdsl_error *err)
{
	struct hp_adopted *tar = p->tar;
	int k = 0;

	switch (p->m.kind) {
	case HP_FOREIGN_EXTRA:
		return read_extra(p, err);
	case HP_FOREIGN_FILE:
		return take_file(p, err);
	case HP_FOREIGN_LINK:
		k = note_first(p, &tar->links, &tar->first_link, err);
		break;
	case HP_FOREIGN_SPECIAL:
		k = note_first(p, &tar->specials, &tar->first_special, err);
		break;
	default:
		tar->folders++;
	}
	return k < 0 ? k : skip(p, p->m.size, err);
}

/* The file ends where a header could begin. */
static int no_end(struct parse *p, struct hpdsl_error *err)
{
	if (p->headers.pending)
		return damaged(p, "the file ends before the rest of a header",
			       err);
	p->tar->no_end = true;
	return 0;
}

/* 1: go on, 0: the end. */
static int parse_one(struct parse *p, struct hpdsl_error *err)
{
	struct hp_reading *r = &p->r;
	struct hpdsl_error why;
	uint64_t padding;
	int k = hp_reading_need(r, HP_TAR_BLOCK, err);

	if (k < 0)
		return k;
	p->r.header = r->pass.offset;
	if (!r->pass.have)
		return no_end(p, err);
	if (r->pass.have < HP_TAR_BLOCK) {
		static const char why_not[] = "the file ends in a header";

		return r->header ? damaged(p, why_not, err) :
				   no_tar(p, why_not, err);
	}
	hp_tar_seen_add(&p->seen, p->r.header, r->pass.at);
	k = hp_foreign_header(&p->headers, r->pass.at, &p->m, &why);
	if (k < 0)
		return bad_header(p, k, why.msg, err);
	hp_pass_take(&r->pass, HP_TAR_BLOCK);
	if (p->m.kind == HP_FOREIGN_END)
		return 0;
	padding = hp_tar_padded(p->m.size) - p->m.size;
	k = take_member(p, err);
	if (k == 0)
		k = skip(p, padding, err);
	return k < 0 ? k : 1;
}

/* Bytes before the first that is not zero. */
static size_t zeros(const uint8_t *p, size_t n)
{
	size_t i = 0;

	if (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0)
		return n;
	while (p[i] == 0)
		i++;
	return i;
}

/* From the end of the archive to that of the file. */
static int parse_rest(struct parse *p, struct hpdsl_error *err)
{
	struct hp_pass *pass = &p->r.pass;
	struct hp_tar_tail tail = { .seen_before = &p->seen,
				    .mark = p->r.header,
				    .at = pass->offset };

	for (;;) {
		int k = hp_reading_need(&p->r, 1, err);
		size_t n;

		if (k < 0 || !pass->have)
			return k;
		hp_tar_tail_add(&tail, pass->at, pass->have);
		if (tail.more)
			return damaged(p, HP_TAR_TAIL_WHY, err);
		n = p->tar->behind ? 0 : zeros(pass->at, pass->have);
		if (!p->tar->behind && n < pass->have)
			p->tar->behind = pass->offset + n;
		hp_pass_take(pass, pass->have);
	}
}

static int parse(struct hp_reading *r, struct hpdsl_error *err)
{
	struct parse *p = (struct parse *)r;
	int k;

	p->tar = r->chunk->adopted = calloc(1, sizeof *p->tar);
	if (!p->tar)
		return hp_fail_nomem(err);
	hp_foreign_begin(&p->headers);
	do
		k = parse_one(p, err);
	while (k > 0);
	if (k == 0)
		k = parse_rest(p, err);
	return k < 0 ? k : hp_adopt_replace(r->chunk, err);
}

int hp_adopt_tar(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct parse p = { 0 };

	return hp_reading_run(&p.r, arg, number, parse, err);
}
