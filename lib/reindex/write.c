/* SPDX-License-Identifier: Apache-2.0 */
/* The new index and manifest, where they are not what is there. */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/file_digest.h"
#include "base/mem.h"
#include "format/names.h"
#include "format/sha256sums.h"
#include "index/write.h"
#include "plan/index_of.h"
#include "plan/portable.h"
#include "sys/outfile.h"

#include <string.h>

/* In the order of the bits HP_LOST_. */
#define TIMES "nanoseconds of mtimes"
#define LABELS "labels"
#define OPTIONS "seed, options, meta"
#define NAMES "original names"

static const char *const lost_text[] = {
	NULL,
	TIMES,
	LABELS,
	TIMES ", " LABELS,
	OPTIONS,
	TIMES ", " OPTIONS,
	LABELS ", " OPTIONS,
	TIMES ", " LABELS ", " OPTIONS,
	NAMES,
	TIMES ", " NAMES,
	LABELS ", " NAMES,
	TIMES ", " LABELS ", " NAMES,
	OPTIONS ", " NAMES,
	TIMES ", " OPTIONS ", " NAMES,
	LABELS ", " OPTIONS ", " NAMES,
	TIMES ", " LABELS ", " OPTIONS ", " NAMES,
};

const char *hp_reindex_lost(const struct hp_reindex *x)
{
	return lost_text[x->lost];
}

struct source {
	const struct hp_reindex *x;
	uint64_t file, sample, offset;
	uint32_t chunk;
};

static void source_begin(void *arg)
{
	struct source *s = arg;

	s->file = s->sample = s->offset = 0;
	s->chunk = 0;
}

/* On to the content of the file at hand; adopted, it has its name there. */
static void go_to_content(struct source *s, struct hp_index_member *ret)
{
	const struct hp_adopted_place *place =
		hp_adopted_place(s->x, s->chunk, s->file);
	struct hp_tar_member t;

	if (place) {
		s->offset = place->offset;
		ret->stored = place->stored;
		ret->stored_len = place->stored ? strlen(place->stored) : 0;
	} else {
		hp_plan_header(&s->x->list, s->file, &t);
		s->offset += hp_tar_header_size(&t);
	}
	ret->offset = s->offset;
}

static int source_next(void *arg, struct hp_index_member *ret,
		       struct hpdsl_error *err)
{
	struct source *s = arg;
	const struct hp_reindex *x = s->x;

	(void)err;
	if (s->file == x->list.n_files)
		return 0;
	if (s->chunk + 1 < x->n_chunks &&
	    s->file == x->chunks[s->chunk + 1].made.first_member) {
		s->chunk++;
		s->offset = 0;
	}
	if (s->file == x->list.samples[s->sample + 1])
		s->sample++;
	hp_index_of_file(&x->list, s->file, s->sample, ret);
	ret->sample = s->sample;
	go_to_content(s, ret);
	s->offset += hp_tar_padded(ret->size);
	s->file++;
	return 1;
}

struct digest {
	struct hp_file_digest of;
	uint64_t bytes;
};

static int digest_write(void *arg, const void *buf, size_t n,
			struct hpdsl_error *err)
{
	struct digest *d = arg;

	(void)err;
	hp_file_digest_add(&d->of, buf, n);
	d->bytes += n;
	return 0;
}

/* Size and checksums that the index will have. */
static int foresee_index(const struct hp_index_source *src,
			 struct hp_manifest_file *ret, struct hpdsl_error *err)
{
	struct digest d = { .bytes = 0 };
	struct hp_sink sink = { digest_write, &d };
	int r = 0;

	hp_file_digest_begin(&d.of);
	if (src->sha256)
		r = hp_file_digest_want_sha256(&d.of, err);
	if (r == 0)
		r = hp_index_write(src, &sink, err);
	if (r == 0)
		r = hp_file_digest_end_sha256(&d.of, ret->sha256, err);
	hp_file_digest_release(&d.of);
	if (r < 0)
		return r;
	ret->name = HP_INDEX_NAME;
	ret->bytes = d.bytes;
	ret->has_sha256 = src->sha256;
	hp_file_digest_end(&d.of, ret->checksum);
	return 0;
}

static bool is_of_labels(const struct hp_pair *p)
{
	return !strncmp(p->key, "label", 5);
}

/*
 * What is known of the options goes on being known, and what of it the index
 * says stands here, too.  ret_memory is theirs.
 */
static int take_options(const struct hp_reindex *x,
			const struct hp_pairs *labels, struct hp_pairs *options,
			struct hp_pair **ret_memory, struct hpdsl_error *err)
{
	const struct hp_key_rule *key = &x->list.key;
	struct hp_pair *v =
		hp_array(options->n + labels->n + 2 + key->n, sizeof *v);
	const char *shuffle = hp_reindex_option(x, "shuffle");
	bool relabels = hp_adopt_relabels(x);
	size_t n = 0;

	if (!v)
		return hp_fail_nomem(err);
	if (hp_reindex_shuffled(x) && !*shuffle)
		shuffle = "global";
	if (*shuffle)
		v[n++] = (struct hp_pair){ "shuffle", shuffle };
	v[n++] = (struct hp_pair){ "group", hpdsl_group_word(x->group) };
	for (uint32_t i = 0; i < key->n; i++)
		v[n++] = (struct hp_pair){ HP_DOUBLE_SUFFIX, key->doubles[i] };
	for (size_t i = 0; i < options->n; i++)
		if (strcmp(options->v[i].key, "shuffle") &&
		    strcmp(options->v[i].key, "group") &&
		    strcmp(options->v[i].key, HP_DOUBLE_SUFFIX) &&
		    (!relabels || !is_of_labels(&options->v[i])))
			v[n++] = options->v[i];
	/* Of adopted tars they come behind the others. */
	for (size_t i = 0; i < labels->n; i++)
		v[n++] = labels->v[i];
	*options = (struct hp_pairs){ v, n };
	*ret_memory = v;
	return 0;
}

static int write_manifest(struct hp_reindex *x,
			  const struct hp_index_source *src,
			  const struct hp_manifest_file *index,
			  const struct hp_pairs *labels,
			  struct hpdsl_error *err)
{
	hp_auto_free struct hp_pair *options = NULL;
	hp_auto_free struct hp_manifest_file *files = NULL, *chunks = NULL;
	struct hp_manifest m = { 0 };
	hp_auto_free char *text = NULL;
	size_t len;
	int r;

	if (x->has_manifest)
		m = x->manifest;
	r = hp_manifest_of(src, index, x->dataset_id_sha256, &m, err);
	chunks = m.chunks;
	if (r == 0)
		r = take_options(x, labels, &m.options, &options, err);
	/* What was adopted is made from the tars, now as before. */
	m.adopted = x->adopt;
	m.rebuilt = !x->adopt;
	m.lost = hp_reindex_lost(x);
	if (r == 0 && x->sha256)
		r = hp_sha256sums_write(x->io, x->dir, &m, &files, err);
	if (r == 0)
		r = hp_manifest_format(&m, &text, &len, err);
	if (r < 0)
		return r;
	return hp_outfile_put(x->io, x->dir, HP_MANIFEST_NAME, text, len, err);
}

/* Says the manifest what it should of the classes? */
static bool labels_stand(const struct hp_reindex *x,
			 const struct hp_pairs *labels)
{
	const struct hp_pairs *p = &x->manifest.options;
	size_t n = 0;

	if (!hp_adopt_relabels(x))
		return true;
	for (size_t i = 0; i < p->n; i++)
		n += is_of_labels(&p->v[i]);
	for (size_t i = 0; i < labels->n; i++)
		if (strcmp(hp_reindex_option(x, labels->v[i].key),
			   labels->v[i].value) != 0)
			return false;
	return n == labels->n;
}

/* Is the manifest that is there right about all of it? */
static bool manifest_stands(const struct hp_reindex *x,
			    const struct hp_manifest_file *index,
			    const struct hp_pairs *labels)
{
	const struct hp_manifest *m = &x->manifest;

	return x->has_manifest && labels_stand(x, labels) &&
	       x->manifest_agrees && m->adopted == x->adopt &&
	       hp_reindex_shuffled(x) ==
		       !strcmp(hp_reindex_option(x, "shuffle"), "global") &&
	       m->index.bytes == index->bytes &&
	       memcmp(m->index.checksum, index->checksum, 16) == 0 &&
	       memcmp(m->dataset_id, x->dataset_id, 16) == 0 &&
	       m->has_sha256 == x->sha256 &&
	       (!x->sha256 ||
		(memcmp(m->index.sha256, index->sha256, 32) == 0 &&
		 memcmp(m->dataset_id_sha256, x->dataset_id_sha256, 32) == 0));
}

/* SHA256SUMS of a manifest that stands, unless it is there and sound. */
static int mend_sums(struct hp_reindex *x, struct hpdsl_error *err)
{
	hp_auto_free char *is = NULL;
	struct hp_text t = { 0 };
	size_t n = 0;
	int r = 0;

	hp_sha256sums_format(&x->manifest, &t);
	if (t.failed)
		r = hp_fail_nomem(err);
	else if (hp_io_slurp(x->io, x->dir, HP_SHA256SUMS_NAME, t.n + 1, &is,
			     &n) < 0 ||
		 n != t.n || memcmp(is, t.p, n) != 0)
		x->wrote_sums = true;
	if (r == 0 && x->wrote_sums)
		r = hp_outfile_put(x->io, x->dir, HP_SHA256SUMS_NAME, t.p, t.n,
				   err);
	hp_text_release(&t);
	return r;
}

/*
 * Neither manifest nor index knew of SHA-256, so the new ones do not either:
 * the file may be anybody's, but whoever trusts it should know.
 */
static void tell_old_sums(struct hp_reindex *x)
{
	struct stat st;

	if (x->io->stat(x->io, x->dir, HP_SHA256SUMS_NAME, &st, 0) == 0)
		hp_reindex_warn(x, HP_SHA256SUMS_NAME
				": left as it is; it does not know the new "
				"index");
}

static int write_files(struct hp_reindex *x, const struct hp_index_source *src,
		       const struct hp_pairs *labels, struct hpdsl_error *err)
{
	struct hp_manifest_file index = { 0 };
	int r = foresee_index(src, &index, err);

	if (r < 0)
		return r;
	x->wrote_index = index.bytes != x->index_bytes ||
			 memcmp(index.checksum, x->index_checksum, 16) != 0;
	x->wrote_manifest = !manifest_stands(x, &index, labels);
	if (x->wrote_manifest && x->has_manifest)
		hp_reindex_files(x);
	if (x->wrote_manifest && !x->has_manifest && !x->adopt)
		hp_reindex_tell_files(x);
	if (x->wrote_manifest && !x->adopt && !x->sha256)
		tell_old_sums(x);
	/* The manifest first: it says what was lost.  A new index of which
	 * nobody says so would pass for the one that was packed, were this run
	 * to end between the two. */
	if (x->wrote_manifest && !x->adopt)
		r = write_manifest(x, src, &index, labels, err);
	if (r == 0 && x->wrote_index)
		r = hp_index_save(src, x->io, x->dir, &index.bytes,
				  index.checksum, NULL, err);
	if (r == 0 && x->sha256 && !x->wrote_manifest)
		r = mend_sums(x, err);
	/* Of what was adopted nothing is lost: it comes last, as in a pack. */
	if (r == 0 && x->wrote_manifest && x->adopt)
		r = write_manifest(x, src, &index, labels, err);
	return r;
}

int hp_reindex_write(struct hp_reindex *x, struct hpdsl_error *err)
{
	hp_auto_free struct hp_chunk_made *rows =
		calloc(x->n_chunks, sizeof *rows);
	struct source s = { .x = x };
	struct hp_index_source src = {
		.bytes = x->bytes,
		.flags = (x->group == HPDSL_GROUP_NONE ? HP_INDEX_GROUP_NONE :
							 0) |
			 (x->adopt ? HP_INDEX_FOREIGN : 0) |
			 (hp_reindex_shuffled(x) ? HP_INDEX_SHUFFLED : 0),
		.stored = x->adopt || hp_list_renamed(&x->list) > 0,
		.arg = &s,
		.begin = source_begin,
		.next = source_next,
	};
	struct hp_pairs labels = { NULL, 0 };
	int r = 0;

	if (!rows)
		return hp_fail_nomem(err);
	memcpy(src.dataset_id, x->dataset_id, sizeof src.dataset_id);
	for (uint32_t c = 0; c < x->n_chunks; c++)
		rows[c] = x->chunks[c].made;
	hp_index_of_list(&x->list, rows, x->n_chunks, &src);
	if (hp_adopt_relabels(x))
		r = hp_adopt_label_pairs(x, &labels, err);
	if (r == 0)
		r = write_files(x, &src, &labels, err);
	hp_pairs_release(&labels);
	return r;
}
