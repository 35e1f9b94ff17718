/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index and manifest made anew from the chunks.  If that gives the very files
 * that a sound manifest lists, nothing but what is missing or damaged is
 * written; else the new manifest says that it is a rebuilt one, and what was
 * lost.
 */
#include "reindex.h"

#include "error.h"
#include "hash.h"
#include "index_write.h"
#include "listdir.h"
#include "mem.h"
#include "pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JOURNAL "journal.hpdsl"

static const char *const lost_text[] = {
	NULL,
	"nanoseconds of mtimes",
	"labels",
	"nanoseconds of mtimes, labels",
	"seed, options, meta",
	"nanoseconds of mtimes, seed, options, meta",
	"labels, seed, options, meta",
	"nanoseconds of mtimes, labels, seed, options, meta",
};

struct numbers {
	uint32_t *v;
	size_t n, room;
};

static int note_number(void *arg, const char *name)
{
	struct numbers *found = arg;
	int64_t number = hp_chunk_number(name);

	if (number < 0)
		return 0;
	if (found->n == found->room) {
		size_t room = found->room ? found->room * 2 : 256;
		uint32_t *more = reallocarray(found->v, room, sizeof *more);

		if (!more)
			return -ENOMEM;
		found->v = more;
		found->room = room;
	}
	found->v[found->n++] = (uint32_t)number;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int missing(struct hp_reindex *x, uint32_t number,
		   struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];

	hp_chunk_name(number, name);
	if (number == 0)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: not a dataset (no %s)",
			       x->path, name);
	return hp_fail(err, -ENOENT, "%s: %s is missing", x->path, name);
}

/* Chunks are numbered from 0 without gaps. */
static int make_chunks(struct hp_reindex *x, const struct numbers *found,
		       struct hpdsl_error *err)
{
	for (uint32_t i = 0; i < found->n; i++) {
		if (found->v[i] != i)
			return missing(x, i, err);
	}
	if (!found->n)
		return missing(x, 0, err);
	x->chunks = calloc(found->n, sizeof *x->chunks);
	if (!x->chunks)
		return hp_fail_nomem(err);
	x->n_chunks = (uint32_t)found->n;
	for (uint32_t i = 0; i < x->n_chunks; i++)
		hp_chunk_name(i, x->chunks[i].name);
	return 0;
}

static int find_chunks(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct numbers found = { 0 };
	int r = hp_listdir(x->io, x->dir, note_number, &found);

	if (r < 0) {
		r = hp_fail_errno(err, r, "%s", x->path);
	} else {
		if (found.n)
			qsort(found.v, found.n, sizeof *found.v, by_number);
		r = make_chunks(x, &found, err);
	}
	free(found.v);
	return r;
}

static int parse_chunks(struct hp_reindex *x, struct hpdsl_error *err)
{
	uint64_t total = 0;
	struct stat st;

	for (uint32_t c = 0; c < x->n_chunks; c++) {
		if (x->io->stat(x->io, x->dir, x->chunks[c].name, &st, 0) == 0)
			total += (uint64_t)st.st_size;
	}
	hp_meter_phase(&x->meter, "reading", total, true);
	return hp_pool_run(hp_threads(x->opt->threads), x->n_chunks,
			   hp_reindex_chunk, x, x->opt->watch.stop, err);
}

/* One list of all files, in packed order. */
static int join(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hp_list *list = &x->list;
	uint64_t n = 0;

	for (uint32_t c = 0; c < x->n_chunks; c++)
		n += x->chunks[c].n;
	list->arena = hp_arena_new();
	list->files = hp_array(n, sizeof *list->files);
	if (!list->arena || !list->files)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		struct hp_found *k = &x->chunks[c];

		k->first_file = list->n_files;
		memcpy(list->files + list->n_files, k->files,
		       k->n * sizeof *k->files);
		list->n_files += k->n;
		free(hp_take(k->files));
		hp_arena_join(list->arena, hp_take(k->arena));
	}
	for (uint64_t i = 0; i < n; i++)
		x->bytes += list->files[i].size;
	return 0;
}

static bool same_key(const struct hp_file *a, const struct hp_file *b)
{
	return a->key_len == b->key_len &&
	       memcmp(a->path, b->path, a->key_len) == 0;
}

/* Samples are runs of one key, and never cross chunks. */
static int group(struct hp_reindex *x, struct hpdsl_error *err)
{
	bool none = hp_reindex_group_none(x);
	struct hp_list *list = &x->list;
	uint64_t n = 0;

	list->samples = hp_array(list->n_files + 1, sizeof *list->samples);
	if (!list->samples)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		struct hp_found *k = &x->chunks[c];

		k->first_sample = n;
		for (uint64_t i = 0; i < k->n; i++) {
			struct hp_file *f = &list->files[k->first_file + i];

			f->key_len = none ? f->path_len :
					    (uint16_t)hpdsl_key_length(
						    f->path, f->path_len);
			if (i == 0 || none || !same_key(f - 1, f))
				list->samples[n++] = k->first_file + i;
		}
	}
	list->samples[n] = list->n_files;
	list->n_samples = n;
	return 0;
}

static int check_paths(const struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hp_list *list = &x->list;
	hp_auto_free uint64_t *order = hp_array(list->n_files, sizeof *order);
	char text[HP_PRINTABLE];
	int r;

	if (!order)
		return hp_fail_nomem(err);
	r = hp_list_path_order(list, order, err);
	for (uint64_t i = 1; i < list->n_files && r == 0; i++) {
		const struct hp_file *f = &list->files[order[i]];

		if (!strcmp(f->path, list->files[order[i - 1]].path))
			r = hp_fail(err, HPDSL_ECORRUPT,
				    "%s: two members have the path '%s'",
				    x->path,
				    hp_printable(f->path, f->path_len, text));
	}
	return r;
}

/* ---- The new files --------------------------------------------------- */

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

static int source_next(void *arg, struct hp_index_member *ret,
		       struct hpdsl_error *err)
{
	struct source *s = arg;
	const struct hp_reindex *x = s->x;
	const struct hp_file *f = &x->list.files[s->file];
	struct hp_tar_member t;

	(void)err;
	if (s->file == x->list.n_files)
		return 0;
	if (s->chunk + 1 < x->n_chunks &&
	    s->file == x->chunks[s->chunk + 1].first_file) {
		s->chunk++;
		s->offset = 0;
	}
	if (s->file == x->list.samples[s->sample + 1])
		s->sample++;
	hp_plan_header(f, &t);
	s->offset += hp_tar_header_size(&t);
	*ret = (struct hp_index_member){
		.path = f->path,
		.path_len = f->path_len,
		.offset = s->offset,
		.size = f->size,
		.checksum = f->low64,
		.mtime = f->mtime,
		.nsec = f->nsec,
		.mode = f->mode,
		.sample = s->sample,
		.label = x->list.labels[s->sample],
	};
	s->offset += hp_tar_padded(f->size);
	s->file++;
	return 1;
}

struct digest {
	XXH3_state_t state;
	uint64_t bytes;
};

static int digest_write(void *arg, const void *buf, size_t n,
			struct hpdsl_error *err)
{
	struct digest *d = arg;

	(void)err;
	XXH3_128bits_update(&d->state, buf, n);
	d->bytes += n;
	return 0;
}

/* Size and checksum that the index will have. */
static int foresee_index(const struct hp_index_source *src,
			 struct hp_manifest_file *ret, struct hpdsl_error *err)
{
	struct digest d = { .bytes = 0 };
	struct hp_sink sink = { digest_write, &d };
	int r;

	XXH3_128bits_reset(&d.state);
	r = hp_index_write(src, &sink, err);
	if (r < 0)
		return r;
	ret->name = HP_INDEX_NAME;
	ret->bytes = d.bytes;
	hp_hash_canonical(XXH3_128bits_digest(&d.state), ret->checksum);
	return 0;
}

static int write_manifest(struct hp_reindex *x,
			  const struct hp_manifest_file *index,
			  struct hpdsl_error *err)
{
	hp_auto_free struct hp_manifest_file *chunks =
		calloc(x->n_chunks, sizeof *chunks);
	struct hp_manifest m = { 0 };
	hp_auto_free char *text = NULL;
	size_t len;
	int r;

	if (!chunks)
		return hp_fail_nomem(err);
	if (x->has_manifest)
		m = x->manifest;
	memcpy(m.dataset_id, x->dataset_id, sizeof m.dataset_id);
	m.samples = x->list.n_samples;
	m.members = x->list.n_files;
	m.bytes = x->bytes;
	m.classes = x->list.classes;
	m.n_classes = x->list.n_classes;
	m.index = *index;
	m.chunks = chunks;
	m.n_chunks = x->n_chunks;
	m.rebuilt = true;
	m.lost = lost_text[x->lost];
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		const struct hp_found *k = &x->chunks[c];
		uint64_t end =
			c + 1 < x->n_chunks ? k[1].first_sample : m.samples;

		chunks[c].name = k->name;
		chunks[c].bytes = k->bytes;
		chunks[c].samples = end - k->first_sample;
		memcpy(chunks[c].checksum, k->checksum, 16);
	}
	r = hp_manifest_format(&m, &text, &len, err);
	if (r < 0)
		return r;
	return hp_outfile_put(x->io, x->dir, HP_MANIFEST_NAME, text, len, err);
}

/* Is the manifest that is there right about all of it? */
static bool manifest_stands(const struct hp_reindex *x,
			    const struct hp_manifest_file *index)
{
	const struct hp_manifest *m = &x->manifest;

	return x->has_manifest && x->manifest_agrees &&
	       m->index.bytes == index->bytes &&
	       memcmp(m->index.checksum, index->checksum, 16) == 0 &&
	       memcmp(m->dataset_id, x->dataset_id, 16) == 0;
}

static int write_files(struct hp_reindex *x, const struct hp_index_source *src,
		       bool *ret_rebuilt, struct hpdsl_error *err)
{
	struct hp_manifest_file index = { 0 };
	int r = foresee_index(src, &index, err);

	if (r < 0)
		return r;
	if (index.bytes != x->index_bytes ||
	    memcmp(index.checksum, x->index_checksum, 16) != 0)
		r = hp_index_save(src, x->io, x->dir, &index.bytes,
				  index.checksum, err);
	*ret_rebuilt = !manifest_stands(x, &index);
	if (r == 0 && *ret_rebuilt)
		r = write_manifest(x, &index, err);
	return r;
}

static int write_all(struct hp_reindex *x, bool *ret_rebuilt,
		     struct hpdsl_error *err)
{
	hp_auto_free struct hp_index_chunk *rows =
		calloc(x->n_chunks, sizeof *rows);
	struct source s = { .x = x };
	struct hp_index_source src = {
		.samples = x->list.n_samples,
		.members = x->list.n_files,
		.bytes = x->bytes,
		.flags = hp_reindex_group_none(x) ? HP_INDEX_GROUP_NONE : 0,
		.chunks = rows,
		.n_chunks = x->n_chunks,
		.classes = x->list.classes,
		.n_classes = x->list.n_classes,
		.arg = &s,
		.begin = source_begin,
		.next = source_next,
	};

	if (!rows)
		return hp_fail_nomem(err);
	memcpy(src.dataset_id, x->dataset_id, sizeof src.dataset_id);
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		const struct hp_found *k = &x->chunks[c];

		rows[c] = (struct hp_index_chunk){
			.name = k->name,
			.first_sample = k->first_sample,
			.first_member = k->first_file,
			.bytes = k->bytes,
		};
		memcpy(rows[c].checksum, k->checksum, 16);
	}
	return write_files(x, &src, ret_rebuilt, err);
}

/* ---- ------------------------------------------------------------------ */

/* An unfinished pack has chunks too, but not all of them. */
static int refuse_unfinished(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct stat st;

	if (x->opt->force || x->has_manifest ||
	    x->io->stat(x->io, x->dir, JOURNAL, &st, 0) < 0)
		return 0;
	return hp_fail(err, HPDSL_ENOTOURS,
		       "%s: an unfinished pack (hpdsl-pack --resume completes "
		       "it)",
		       x->path);
}

static int reindex(struct hp_reindex *x, bool *ret_rebuilt,
		   struct hpdsl_error *err)
{
	int (*const steps[])(struct hp_reindex *, struct hpdsl_error *) = {
		hp_reindex_load,
		refuse_unfinished,
		find_chunks,
		parse_chunks,
		join,
		hp_reindex_compare,
		group,
		hp_reindex_recover,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof steps / sizeof *steps && r == 0; i++)
		r = steps[i](x, err);
	if (r == 0)
		r = check_paths(x, err);
	if (r == 0)
		r = hp_list_id(&x->list, x->dataset_id, err);
	return r < 0 ? r : write_all(x, ret_rebuilt, err);
}

static void release(struct hp_reindex *x)
{
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		free(x->chunks[c].files);
		hp_arena_free(x->chunks[c].arena);
	}
	free(x->chunks);
	hp_list_release(&x->list);
	hp_reindex_unload(x);
	if (x->dir >= 0)
		x->io->close(x->io, x->dir);
	hp_meter_release(&x->meter);
}

int hpdsl_reindex(const char *path, const struct hpdsl_reindex_options *opt,
		  struct hpdsl_reindex_report *ret, struct hpdsl_error *err)
{
	struct hp_reindex x = { .path = path, .opt = opt };
	double start = hp_now();
	bool rebuilt = false;
	int r;

	x.io = hp_io_or_system(opt->watch.io);
	x.list.io = x.io;
	hp_meter_init(&x.meter, &opt->watch);
	x.dir = x.io->open(x.io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (x.dir < 0)
		r = hp_fail_errno(err, x.dir, "%s", path);
	else
		r = reindex(&x, &rebuilt, err);
	hp_meter_warn_end(&x.meter, "warnings");
	if (r == 0) {
		*ret = (struct hpdsl_reindex_report){
			.chunks = x.n_chunks,
			.samples = x.list.n_samples,
			.members = x.list.n_files,
			.bytes = x.bytes,
			.lost = rebuilt ? lost_text[x.lost] : NULL,
			.seconds = hp_now() - start,
		};
		memcpy(ret->dataset_id, x.dataset_id, 16);
	}
	release(&x);
	return r;
}
