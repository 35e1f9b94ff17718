/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two files that say what a dataset is, and what they say of its chunks.
 * The manifest vouches for the index; where one of the two is damaged the
 * other one is used.
 */
#include "verify/verify.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "format/names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool exists(const struct hp_verify *v, const char *name)
{
	struct stat st;

	return v->io->stat(v->io, v->dir, name, &st, 0) == 0;
}

/*
 * A directory that nobody has finished packing, or that is none of ours.
 * absent: there is no file dataset.yaml.
 */
static int is_dataset(struct hp_verify *v, bool absent, struct hpdsl_error *err)
{
	if (absent && exists(v, HP_JOURNAL_NAME))
		return hp_fail(err, HPDSL_ENOTOURS, "%s: an unfinished pack",
			       v->path);
	if (exists(v, HP_INDEX_NAME))
		return 0;
	if (exists(v, HP_CHUNK_FIRST) || exists(v, HP_CHUNK_ZST_FIRST))
		return hp_fail(err, HPDSL_ENOTOURS,
			       "%s: not a dataset: %s and %s are missing",
			       v->path, HP_MANIFEST_NAME, HP_INDEX_NAME);
	if (absent)
		return hp_manifest_missing(v->io, v->dir, v->path, err);
	return hp_fail(err, HPDSL_ENOTOURS,
		       "%s: not a dataset (%s is another program's)", v->path,
		       HP_MANIFEST_NAME);
}

static int read_manifest(struct hp_verify *v, struct hpdsl_error *err)
{
	hp_auto_free char *text = NULL;
	size_t len;
	int r = hp_io_slurp(v->io, v->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			    &text, &len);

	if (r < 0)
		return hp_io_slurp_fail(err, r, "%s", HP_MANIFEST_NAME);
	r = hp_manifest_parse(text, len, HP_MANIFEST_NAME, &v->manifest, err);
	if (!r)
		v->report->bytes += len;
	return r;
}

static int load_manifest(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = read_manifest(v, &why);

	v->has_manifest = r == 0;
	if (!r)
		return 0;
	if (!hp_verify_is_damage(r))
		return hp_fail(err, r, "%s: %s", v->path, why.msg);
	if (r == -ENOENT || r == HPDSL_ENOTOURS) {
		r = is_dataset(v, r == -ENOENT, err);
		if (r < 0)
			return r;
	}
	hp_verify_file(v, HP_MANIFEST_NAME, "%s",
		       why.code == -ENOENT ?
			       "is missing" :
			       hp_verify_reason(&why, HP_MANIFEST_NAME));
	return 0;
}

/* The SHA-256 of the index, if the manifest has one. */
static int compare_sha256(const struct hp_verify *v, struct hpdsl_error *err)
{
	const struct hp_manifest_file *want = &v->manifest.index;
	hp_auto_sha256 struct hp_sha256 *sha256 = NULL;
	uint8_t digest[HP_SHA256];
	int r;

	if (!want->has_sha256)
		return 0;
	sha256 = hp_sha256_new();
	if (!sha256)
		return hp_fail_nomem(err);
	hp_sha256_begin(sha256);
	hp_sha256_update(sha256, v->view.p, v->view.size);
	hp_sha256_end(sha256, digest);
	r = hp_sha256_check(sha256, err);
	if (r == 0 && memcmp(digest, want->sha256, HP_SHA256) != 0)
		r = hp_fail(err, HPDSL_ECORRUPT, "SHA-256 differs");
	return r;
}

/* Before it is read: memory may not do for another one. */
static int compare_size(const struct hp_verify *v, struct hpdsl_error *err)
{
	uint64_t want = v->manifest.index.bytes;
	struct stat st;

	/* Why not, reading it tells. */
	if (!v->has_manifest ||
	    v->io->stat(v->io, v->dir, HP_INDEX_NAME, &st, 0) < 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size == want)
		return 0;
	return hp_fail(err, HPDSL_ECORRUPT,
		       "is %" PRIu64 " bytes, %" PRIu64 " expected",
		       (uint64_t)st.st_size, want);
}

/* The checksums of what was read, against the manifest's. */
static int hash_index(struct hp_verify *v, struct hpdsl_error *err)
{
	const struct hp_manifest_file *want = &v->manifest.index;

	if (v->opt->quick)
		return 0;
	v->report->bytes += v->view.size;
	hp_hash128(v->view.p, v->view.size, v->index_hash);
	if (!v->has_manifest)
		return 0;
	if (memcmp(v->index_hash, want->checksum, sizeof v->index_hash) != 0)
		return hp_fail(err, HPDSL_ECORRUPT, "checksum differs");
	return compare_sha256(v, err);
}

static void index_reason(void *arg, const char *reason)
{
	struct hp_verify *v = arg;
	struct hpdsl_error text;

	hp_fail(&text, 0, "%s", reason);
	hp_verify_tell(
		v, (struct hp_damage_place){ HP_INDEX_NAME, UINT64_MAX, NULL },
		"%s", hp_verify_reason(&text, HP_INDEX_NAME));
}

static void drop_index(struct hp_verify *v)
{
	hp_index_free(v->index);
	v->index = NULL;
	hp_view_close(&v->view);
}

/* Does what the index counts agree with the manifest? */
static bool counts_agree(struct hp_verify *v)
{
	const struct hp_manifest *m = &v->manifest;
	struct hpdsl_counts n;

	hp_index_count(v->index, &n);
	return n.samples == m->samples && n.members == m->members &&
	       n.bytes == m->bytes && n.chunks == m->n_chunks &&
	       n.classes == m->n_classes &&
	       memcmp(n.dataset_id, m->dataset_id, 16) == 0;
}

/* Are the classes called what the manifest calls them? */
static bool classes_agree(const struct hp_verify *v)
{
	const struct hp_manifest *m = &v->manifest;
	const char *name;

	for (size_t i = 0; i < m->n_classes; i++)
		if (hp_index_class(v->index, (uint32_t)i, &name, NULL) < 0 ||
		    strcmp(name, m->classes[i]) != 0)
			return false;
	return true;
}

static const char *disagreement(struct hp_verify *v)
{
	const struct hp_manifest *m = &v->manifest;

	if (!counts_agree(v))
		return "counts or dataset id are not the manifest's";
	if (m->has_sha256 && !hp_index_has_sha256(v->index))
		return "has no SHA-256, the manifest has";
	if (!m->has_sha256 && hp_index_has_sha256(v->index))
		return "has SHA-256, the manifest has none";
	if (m->adopted != !!(hp_index_flags(v->index) & HP_INDEX_FOREIGN))
		return m->adopted ? "is not one of adopted tars" :
				    "is one of adopted tars, the manifest is "
				    "not";
	if (!classes_agree(v))
		return "classes are not the manifest's";
	return NULL;
}

/* What the index says of itself: all that is wrong is told. */
static int open_index(struct hp_verify *v, struct hpdsl_error *err)
{
	int r = hp_index_open(v->view.p, v->view.size, HP_INDEX_NAME, &v->index,
			      err);

	if (r < 0 && hp_verify_is_damage(r))
		index_reason(v, err->msg);
	if (r < 0 || v->opt->quick)
		return r;
	return hp_index_check(v->index, index_reason, v, err);
}

/*
 * Read once, and not mapped: what the manifest vouches for is what is checked,
 * and what the chunks are compared with.
 */
static int check_index(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hpdsl_error inside;
	const char *reason;
	int r = compare_size(v, err), k;

	if (r == 0)
		r = hp_view_read(&v->view, v->io, v->dir, HP_INDEX_NAME, err);
	if (r == 0)
		r = hash_index(v, err);
	if (r < 0 && hp_verify_is_damage(r))
		index_reason(v, r == -ENOENT ? "is missing" : err->msg);
	/* Which part of it is damaged? */
	if (v->view.p && r == HPDSL_ECORRUPT)
		(void)open_index(v, &inside);
	if (r < 0)
		return r;
	k = open_index(v, err);
	reason = k == 0 && v->has_manifest ? disagreement(v) : NULL;
	if (!reason)
		return k;
	index_reason(v, reason);
	return HPDSL_ECORRUPT;
}

/*
 * An index that its manifest does not vouch for is of no use: the chunks are
 * then held against the manifest.
 */
static int load_index(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = check_index(v, &why);

	if (r == 0)
		return 0;
	drop_index(v);
	if (!hp_verify_is_damage(r))
		return hp_fail(err, r, "%s: %s", v->path, why.msg);
	v->report->damaged_files++;
	return 0;
}

static void chunks_from_manifest(struct hp_verify *v)
{
	uint64_t sample = 0;

	for (uint32_t c = 0; c < v->n_chunks; c++) {
		const struct hp_manifest_file *f = &v->manifest.chunks[c];
		struct hpdsl_chunk *row = &v->chunks[c];

		*row = (struct hpdsl_chunk){ .number = c,
					     .name = f->name,
					     .first_sample = sample,
					     .samples = f->samples,
					     .bytes = f->bytes,
					     .compressed = f->compressed,
					     .plain_bytes = f->plain_bytes };
		memcpy(row->checksum, f->checksum, sizeof row->checksum);
		memcpy(row->plain_checksum, f->plain_checksum,
		       sizeof row->plain_checksum);
		sample += f->samples;
	}
}

static bool same_chunk(const struct hp_verify *v, const struct hpdsl_chunk *row,
		       const struct hp_manifest_file *f)
{
	uint8_t sha256[HP_SHA256];

	if (f->has_sha256 &&
	    (hp_index_chunk_sha256(v->index, row->number, sha256, NULL) < 0 ||
	     memcmp(sha256, f->sha256, sizeof sha256) != 0))
		return false;
	if (row->compressed && (row->plain_bytes != f->plain_bytes ||
				memcmp(row->plain_checksum, f->plain_checksum,
				       sizeof f->plain_checksum) != 0))
		return false;
	return strcmp(row->name, f->name) == 0 && row->bytes == f->bytes &&
	       row->samples == f->samples && row->compressed == f->compressed &&
	       memcmp(row->checksum, f->checksum, sizeof f->checksum) == 0;
}

/* 0, HPDSL_ECORRUPT with the index given up, or another failure. */
static int chunks_from_index(struct hp_verify *v, struct hpdsl_error *err)
{
	for (uint32_t c = 0; c < v->n_chunks; c++) {
		int r = hp_index_chunk(v->index, c, &v->chunks[c], err);

		if (r < 0)
			return r;
		if (v->has_manifest &&
		    !same_chunk(v, &v->chunks[c], &v->manifest.chunks[c]))
			return hp_fail(err, HPDSL_ECORRUPT,
				       "%s is not as the manifest has it",
				       v->chunks[c].name);
	}
	return 0;
}

static int list_chunks(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hpdsl_counts n = { 0 };
	struct hpdsl_error why;
	int r;

	if (v->index)
		hp_index_count(v->index, &n);
	else if (v->has_manifest)
		n.chunks = v->manifest.n_chunks;
	v->n_chunks = (uint32_t)n.chunks;
	v->chunks = hp_array(n.chunks, sizeof *v->chunks);
	v->bad = calloc(n.chunks ? n.chunks : 1, sizeof *v->bad);
	if (!v->chunks || !v->bad)
		return hp_fail_nomem(err);
	if (v->index) {
		r = chunks_from_index(v, &why);
		v->sha256 = r == 0 && hp_index_has_sha256(v->index);
		if (r == 0)
			return 0;
		if (r != HPDSL_ECORRUPT)
			return hp_fail(err, r, "%s: %s", v->path, why.msg);
		hp_verify_file(v, HP_INDEX_NAME, "%s",
			       hp_verify_reason(&why, HP_INDEX_NAME));
		drop_index(v);
		v->n_chunks = v->has_manifest ? v->n_chunks : 0;
	}
	chunks_from_manifest(v);
	v->sha256 = v->has_manifest && v->manifest.has_sha256;
	return 0;
}

int hp_verify_load(struct hp_verify *v, struct hpdsl_error *err)
{
	int r = load_manifest(v, err);

	if (r == 0)
		r = load_index(v, err);
	if (r == 0)
		r = list_chunks(v, err);
	if (r == 0)
		r = hp_verify_stage_load(v, err);
	return r;
}

void hp_verify_unload(struct hp_verify *v)
{
	hp_verify_stage_unload(v);
	drop_index(v);
	if (v->has_manifest)
		hp_manifest_release(&v->manifest);
	free(v->chunks);
	free(v->bad);
}
