/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest and index that were there before: whether the chunks are what
 * they say, and what they know that chunks do not hold.  An index may be
 * damaged in parts; what can be read of it counts.
 */
#include "reindex/reindex.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/pass.h"
#include "format/names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int load_manifest(struct hp_reindex *x, struct hpdsl_error *err)
{
	hp_auto_free char *text = NULL;
	struct hpdsl_error why;
	size_t len;
	int r = hp_io_slurp(x->io, x->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			    &text, &len);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return hp_io_slurp_fail(err, r, "%s", HP_MANIFEST_NAME);
	r = hp_manifest_parse(text, len, HP_MANIFEST_NAME, &x->manifest, &why);
	x->has_manifest = r == 0;
	if (r == 0)
		return 0;
	if (x->opt->force || r == HPDSL_ECORRUPT) {
		hp_reindex_warn(x, "%s", why.msg);
		return 0;
	}
	return hp_fail(err, r, "%s", why.msg);
}

static int hash_index(struct hp_reindex *x, struct hp_pass *p,
		      struct hpdsl_error *err)
{
	int r = hp_pass_begin(p, x->io, x->dir, HP_INDEX_NAME, err);

	while (r == 0) {
		r = hp_pass_need(p, 1);
		if (r < 0)
			return hp_fail_errno(err, r, "%s", HP_INDEX_NAME);
		if (!p->have)
			break;
		hp_pass_take(p, p->have);
	}
	if (r == 0) {
		x->index_bytes = p->offset;
		hp_pass_digest(p, x->index_checksum);
	}
	return r;
}

static void index_warning(void *arg, const char *reason)
{
	hp_reindex_warn(arg, "%s", reason);
}

/* Not mapped: its names and numbers become the new one's. */
static int open_index(struct hp_reindex *x, struct hpdsl_error *err)
{
	int r = hp_view_read(&x->view, x->io, x->dir, HP_INDEX_NAME, err);

	if (r == 0)
		r = hp_index_open(x->view.p, x->view.size, HP_INDEX_NAME,
				  &x->index, err);
	if (r < 0)
		return r;
	/* What of it is sound is used. */
	r = hp_index_check(x->index, index_warning, x, err);
	return r == HPDSL_ECORRUPT ? 0 : r;
}

static int load_index(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct hp_pass pass;
	int r = hash_index(x, &pass, &why);

	hp_pass_end(&pass);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = open_index(x, &why);
	if (r == 0)
		return 0;
	if (x->opt->force || r == HPDSL_ECORRUPT || r == HPDSL_ENOTOURS) {
		hp_reindex_warn(x, "%s", why.msg);
		return 0;
	}
	return hp_fail(err, r, "%s", why.msg);
}

int hp_reindex_load(struct hp_reindex *x, struct hpdsl_error *err)
{
	int r = load_manifest(x, err);

	if (r == 0)
		r = load_index(x, err);
	x->sha256 = (x->has_manifest && x->manifest.has_sha256) ||
		    (x->index && hp_index_has_sha256(x->index));
	return r;
}

void hp_reindex_unload(struct hp_reindex *x)
{
	hp_index_free(x->index);
	hp_view_close(&x->view);
	if (x->has_manifest)
		hp_manifest_release(&x->manifest);
}

const char *hp_reindex_option(const struct hp_reindex *x, const char *key)
{
	const struct hp_pairs *p = &x->manifest.options;

	for (size_t i = 0; x->has_manifest && i < p->n; i++) {
		if (!strcmp(p->v[i].key, key))
			return p->v[i].value;
	}
	return "";
}

bool hp_reindex_shuffled(const struct hp_reindex *x)
{
	const char *shuffle = hp_reindex_option(x, "shuffle");

	if (x->opt->shuffled || *shuffle)
		return x->opt->shuffled || !strcmp(shuffle, "global");
	return x->index && hp_index_flags(x->index) & HP_INDEX_SHUFFLED;
}

bool hp_reindex_shuffle_lost(const struct hp_reindex *x)
{
	return !x->adopt && !x->opt->shuffled && !x->index &&
	       !*hp_reindex_option(x, "shuffle");
}

int hp_reindex_contradicts(struct hp_reindex *x, const char *file,
			   const char *chunk, const struct hp_file *f,
			   struct hpdsl_error *err)
{
	char text[HP_PRINTABLE];

	if (!f)
		return hp_reindex_differs(x, HPDSL_EDIFFERS, err,
					  "%s is not as %s has it", chunk,
					  file);
	return hp_reindex_differs(
		x, HPDSL_EDIFFERS, err, "%s: member '%s' is not as %s has it",
		chunk, hp_printable(f->path, f->path_len, text), file);
}

static bool same_content(const struct hp_reindex *x, const struct hp_file *f,
			 const struct hpdsl_member *m)
{
	uint8_t was[32];

	if (f->size != m->size || f->low64 != m->checksum)
		return false;
	/* Whoever can make the other checksums equal is found by this. */
	return !x->list.sha256 ||
	       hp_index_member_sha256(x->index, m->number, was, NULL) < 0 ||
	       !memcmp(was, x->list.sha256[f - x->list.files], sizeof was);
}

/* Has the member the name that was found in the chunk? */
static bool same_name(const struct hp_reindex *x, const struct hp_file *f,
		      const struct hpdsl_member *m)
{
	const char *name;
	size_t len;

	if (hp_index_stored(x->index, m->number, &name, &len, NULL) < 0)
		return false;
	if (!name) {
		name = m->path;
		len = m->path_len;
	}
	return f->path_len == len && memcmp(f->path, name, len) == 0;
}

/* A row that is damaged says nothing. */
static bool is_damaged(const struct hp_reindex *x, uint64_t number,
		       struct hpdsl_member *ret)
{
	const char *name;
	size_t len;

	return hp_index_member(x->index, number, ret, NULL) < 0 ||
	       hp_index_stored(x->index, number, &name, &len, NULL) < 0;
}

/* Members of a chunk against the index rows at the same numbers. */
static int compare_members(struct hp_reindex *x, const struct hp_found *c,
			   bool *ret_told, struct hpdsl_error *err)
{
	struct hpdsl_counts n;

	hp_index_count(x->index, &n);
	for (uint64_t i = c->made.first_member; i < c->made.first_member + c->n;
	     i++) {
		const struct hp_file *f = &x->list.files[i];
		struct hpdsl_member m;

		if (i < n.members && is_damaged(x, i, &m))
			continue;
		if (i >= n.members || !same_name(x, f, &m) ||
		    !same_content(x, f, &m)) {
			*ret_told = true;
			return hp_reindex_contradicts(x, HP_INDEX_NAME,
						      c->made.name, f, err);
		}
	}
	return 0;
}

static bool same_sha256(const struct hp_reindex *x, uint32_t chunk)
{
	uint8_t was[32];

	return !x->sha256 ||
	       hp_index_chunk_sha256(x->index, chunk, was, NULL) < 0 ||
	       memcmp(was, x->chunks[chunk].made.sha256, sizeof was) == 0;
}

/* The members that are there, and then that no more should be. */
static int compare_chunk(struct hp_reindex *x, uint32_t number,
			 struct hpdsl_error *err)
{
	const struct hp_found *c = &x->chunks[number];
	struct hpdsl_chunk was;
	bool told = false;
	int r = compare_members(x, c, &told, err);

	if (r < 0 || told || hp_index_chunk(x->index, number, &was, NULL) < 0 ||
	    (was.bytes == c->made.bytes && was.members == c->n &&
	     was.compressed == c->made.compressed &&
	     memcmp(was.checksum, c->made.checksum, sizeof c->made.checksum) ==
		     0 &&
	     same_sha256(x, number)))
		return r;
	return hp_reindex_contradicts(x, HP_INDEX_NAME, c->made.name, NULL,
				      err);
}

/* Are there as many chunks as this file says? */
static int compare_number(struct hp_reindex *x, const char *file, uint64_t n,
			  struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];

	if (n == x->n_chunks)
		return 0;
	if (n < x->n_chunks)
		return hp_reindex_contradicts(x, file, x->chunks[n].made.name,
					      NULL, err);
	hp_chunk_name(x->n_chunks, name);
	if (x->opt->force)
		return hp_reindex_contradicts(x, file, name, NULL, err);
	return hp_fail(err, -ENOENT, "%s is missing, %s lists it", name, file);
}

static int compare_index(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hpdsl_counts n;
	int r;

	hp_index_count(x->index, &n);
	r = compare_number(x, HP_INDEX_NAME, n.chunks, err);
	for (uint32_t c = 0; c < x->n_chunks && r == 0; c++)
		r = compare_chunk(x, c, err);
	return r;
}

static int compare_manifest(struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hp_manifest *m = &x->manifest;
	int r = compare_number(x, HP_MANIFEST_NAME, m->n_chunks, err);

	x->manifest_agrees = m->n_chunks == x->n_chunks;
	for (uint32_t c = 0; c < x->n_chunks && c < m->n_chunks; c++) {
		const struct hp_manifest_file *f = &m->chunks[c];
		const struct hp_found *is = &x->chunks[c];

		if (r < 0)
			return r;
		if (f->bytes == is->made.bytes &&
		    f->compressed == is->made.compressed &&
		    memcmp(f->checksum, is->made.checksum, 16) == 0 &&
		    (!f->has_sha256 || !memcmp(f->sha256, is->made.sha256, 32)))
			continue;
		x->manifest_agrees = false;
		r = hp_reindex_contradicts(x, HP_MANIFEST_NAME, is->made.name,
					   NULL, err);
	}
	return r;
}

int hp_reindex_compare(struct hp_reindex *x, struct hpdsl_error *err)
{
	int r = x->index ? compare_index(x, err) : 0;

	if (r == 0 && x->has_manifest)
		r = compare_manifest(x, err);
	return r;
}

bool hp_reindex_row(const struct hp_reindex *x, uint64_t i,
		    struct hpdsl_member *m)
{
	const struct hp_file *f = &x->list.files[i];
	uint64_t number;

	if (!x->index)
		return false;
	if (hp_index_member(x->index, i, m, NULL) == 0 && same_name(x, f, m))
		return same_content(x, f, m);
	return hp_index_find(x->index, f->path, f->path_len, &number, NULL) ==
		       0 &&
	       hp_index_member(x->index, number, m, NULL) == 0 &&
	       same_name(x, f, m) && same_content(x, f, m);
}
