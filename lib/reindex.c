/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index and manifest made anew from the chunks.  If that gives the very files
 * that a sound manifest lists, nothing but what is missing or damaged is
 * written; else the new manifest says that it is a rebuilt one, and what was
 * lost.
 */
#include "reindex.h"

#include "error.h"
#include "listdir.h"
#include "mem.h"
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JOURNAL "journal.hpdsl"

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

static int missing(uint32_t number, struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];

	hp_chunk_name(number, name);
	if (number == 0)
		return hp_fail(err, HPDSL_ENOTOURS, "not a dataset (no %s)",
			       name);
	return hp_fail(err, -ENOENT, "%s is missing", name);
}

/* Chunks are numbered from 0 without gaps. */
static int make_chunks(struct hp_reindex *x, const struct numbers *found,
		       struct hpdsl_error *err)
{
	for (uint32_t i = 0; i < found->n; i++) {
		if (found->v[i] != i)
			return missing(i, err);
	}
	if (!found->n)
		return missing(0, err);
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
		r = hp_fail_errno(err, r, "cannot be listed");
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

/* Where files are from, for messages: chunks, as far as roots are numbered. */
static int make_roots(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hp_list *list = &x->list;
	uint32_t n = x->n_chunks < UINT16_MAX ? x->n_chunks : UINT16_MAX;

	list->roots = calloc(n, sizeof *list->roots);
	if (!list->roots)
		return hp_fail_nomem(err);
	list->n_roots = n;
	for (uint32_t c = 0; c < n; c++) {
		list->roots[c].fd = -1;
		list->roots[c].name = x->chunks[c].name;
	}
	return 0;
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
		for (uint64_t i = 0; i < k->n; i++)
			list->files[list->n_files + i].root =
				(uint16_t)(c < UINT16_MAX ? c : UINT16_MAX - 1);
		list->n_files += k->n;
		free(hp_take(k->files));
		hp_arena_join(list->arena, hp_take(k->arena));
	}
	for (uint64_t i = 0; i < n; i++)
		x->bytes += list->files[i].size;
	return make_roots(x, err);
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

/* Finds equal paths on its way. */
static int make_id(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_list_id(&x->list, x->dataset_id, &why);

	if (r == HPDSL_EUSAGE)
		return hp_fail(err, HPDSL_ECORRUPT, "%s", why.msg);
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

/* An unfinished pack has chunks too, but not all of them. */
static int refuse_unfinished(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct stat st;

	if (x->opt->force || x->has_manifest ||
	    x->io->stat(x->io, x->dir, JOURNAL, &st, 0) < 0)
		return 0;
	return hp_fail(err, HPDSL_ENOTOURS,
		       "an unfinished pack (hpdsl-pack --resume completes it)");
}

/*
 * Half-written files must not get their names from another run.  Where a file
 * system knows no locks there are none.
 */
static int lock(struct hp_reindex *x, struct hpdsl_error *err)
{
	if (x->io->lock(x->io, x->dir) == -EWOULDBLOCK)
		return hp_fail(err, -EBUSY,
			       "another hpdsl-index is at work here");
	return 0;
}

void hp_reindex_warn(struct hp_reindex *x, const char *text)
{
	hp_meter_warn(&x->meter, "%s: %s", x->path, text);
}

/* What the steps say is about the directory, or names a file in it. */
static int reindex(struct hp_reindex *x, struct hpdsl_error *err)
{
	int (*const steps[])(struct hp_reindex *, struct hpdsl_error *) = {
		lock,
		hp_reindex_load,
		refuse_unfinished,
		find_chunks,
		parse_chunks,
		join,
		hp_reindex_compare,
		group,
		hp_reindex_recover,
		make_id,
		hp_reindex_write,
	};
	struct hpdsl_error why = { 0 };
	int r = 0;

	for (size_t i = 0; i < sizeof steps / sizeof *steps && r == 0; i++)
		r = steps[i](x, &why);
	return r < 0 ? hp_fail(err, r, "%s: %s", x->path, why.msg) : 0;
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
	int r;

	x.io = hp_io_or_system(opt->watch.io);
	x.list.io = x.io;
	hp_meter_init(&x.meter, &opt->watch);
	x.dir = x.io->open(x.io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (x.dir < 0)
		r = hp_fail_errno(err, x.dir, "%s", path);
	else
		r = reindex(&x, err);
	hp_meter_warn_end(&x.meter, "warnings");
	if (r == 0) {
		*ret = (struct hpdsl_reindex_report){
			.chunks = x.n_chunks,
			.samples = x.list.n_samples,
			.members = x.list.n_files,
			.bytes = x.bytes,
			.lost = x.wrote_manifest ? hp_reindex_lost(&x) : NULL,
			.unchanged = !x.wrote_index && !x.wrote_manifest,
			.seconds = hp_now() - start,
		};
		memcpy(ret->dataset_id, x.dataset_id, 16);
	}
	release(&x);
	return r;
}
