/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index and manifest made anew from the chunks, or for the first time for tars
 * of others.  If that gives the very files
 * that a sound manifest lists, nothing but what is missing or damaged is
 * written; else the new manifest says that it is a rebuilt one, and what was
 * lost.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "format/stage_state.h"
#include "sys/clock.h"
#include "sys/owner.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_chunks(struct hp_reindex *x, struct hpdsl_error *err)
{
	uint64_t total = 0;
	struct stat st;

	for (uint32_t c = 0; c < x->n_chunks; c++) {
		if (x->io->stat(x->io, x->dir, x->chunks[c].made.name, &st,
				0) == 0)
			total += (uint64_t)st.st_size;
	}
	hp_meter_phase(&x->meter, "reading", total, true);
	return hp_pool_run(hp_threads(x->opt->threads), x->n_chunks,
			   x->adopt ? hp_adopt_tar : hp_reindex_chunk, x,
			   x->opt->watch.stop, err);
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
		list->roots[c].name = x->chunks[c].made.name;
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
	if (x->sha256)
		list->sha256 = hp_array(n, sizeof *list->sha256);
	if (!list->arena || !list->files || (x->sha256 && !list->sha256))
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		struct hp_found *k = &x->chunks[c];

		k->made.first_member = list->n_files;
		memcpy(list->files + list->n_files, k->files,
		       k->n * sizeof *k->files);
		if (list->sha256)
			memcpy(list->sha256 + list->n_files, k->contents,
			       k->n * sizeof *k->contents);
		for (uint64_t i = 0; i < k->n; i++)
			list->files[list->n_files + i].root =
				(uint16_t)(c < UINT16_MAX ? c : UINT16_MAX - 1);
		list->n_files += k->n;
		free(hp_take(k->files));
		free(hp_take(k->contents));
		hp_arena_join(list->arena, hp_take(k->arena));
	}
	for (uint64_t i = 0; i < n; i++)
		x->bytes += list->files[i].size;
	return make_roots(x, err);
}

/* Portable names have theirs at the first dot, whatever the paths have. */
static const struct hp_key_rule *rule_of(const struct hp_reindex *x)
{
	static const struct hp_key_rule first;
	bool portable =
		!strcmp(hp_reindex_option(x, "names"), "portable") ||
		(x->index && !x->adopt && hp_index_has_stored(x->index));

	return portable ? &first : &x->list.key;
}

static bool same_key(const struct hp_file *a, const struct hp_file *b)
{
	return a->key_len == b->key_len &&
	       memcmp(a->path, b->path, a->key_len) == 0;
}

/* Samples are runs of one key, and never cross chunks. */
static int group(struct hp_reindex *x, struct hpdsl_error *err)
{
	bool none = x->group == HPDSL_GROUP_NONE;
	const struct hp_key_rule *rule = rule_of(x);
	struct hp_list *list = &x->list;
	uint64_t n = 0;

	list->samples = hp_array(list->n_files + 1, sizeof *list->samples);
	if (!list->samples)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < x->n_chunks; c++) {
		struct hp_found *k = &x->chunks[c];

		k->made.first_sample = n;
		for (uint64_t i = 0; i < k->n; i++) {
			struct hp_file *f =
				&list->files[k->made.first_member + i];

			f->key_len = none ? f->path_len :
					    (uint16_t)hp_key_length(
						    rule, f->path, f->path_len);
			if (i == 0 || none || !same_key(f - 1, f))
				list->samples[n++] = k->made.first_member + i;
		}
	}
	list->samples[n] = list->n_files;
	list->n_samples = n;
	return hp_reindex_grouped(x, err);
}

/* Finds equal paths on its way. */
static int make_id(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_list_id(&x->list, x->dataset_id, x->dataset_id_sha256, &why);

	if (r == HPDSL_EUSAGE)
		return hp_fail(err, HPDSL_ECORRUPT, "%s", why.msg);
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

/* An unfinished pack has chunks too, but not all of them. */
static int refuse_unfinished(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct stat st;

	if (x->opt->force || x->has_manifest ||
	    x->io->stat(x->io, x->dir, HP_JOURNAL_NAME, &st, 0) < 0)
		return 0;
	return hp_fail(err, HPDSL_ENOTOURS, "an unfinished pack");
}

/*
 * What a stage directory holds is the origin's, and only a part of it; the
 * stager and all readers go by the index that is there.
 */
static int refuse_staged(struct hp_reindex *x, struct hpdsl_error *err)
{
	static const char *const names[] = { HP_STATE_NAME, HP_STAGE_LOCK };
	struct stat st;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (x->io->stat(x->io, x->dir, names[i], &st,
				AT_SYMLINK_NOFOLLOW) == 0)
			return hp_fail(err, HPDSL_EUSAGE,
				       "a stage directory: an index is made at "
				       "the origin");
	return 0;
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

/* Who packed it knows better. */
static int refuse_shuffled(struct hp_reindex *x, struct hpdsl_error *err)
{
	if (!x->opt->shuffled ||
	    strcmp(hp_reindex_option(x, "shuffle"), "none") != 0)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE,
		       "not shuffled: it was packed in the order of the keys");
}

typedef int step_fn(struct hp_reindex *x, struct hpdsl_error *err);

static int run(struct hp_reindex *x, step_fn *const *steps,
	       struct hpdsl_error *err)
{
	int r = 0;

	while (r == 0 && *steps)
		r = (*steps++)(x, err);
	return r;
}

/* Between what was found and what is written. */
static int understand(struct hp_reindex *x, struct hpdsl_error *err)
{
	static step_fn *const ours[] = {
		join,  hp_reindex_frames,  hp_reindex_compare,
		group, hp_reindex_recover, NULL
	};
	static step_fn *const adopted[] = { hp_adopt_drop,    join,
					    hp_adopt_compare, group,
					    hp_adopt_finish,  NULL };

	return run(x, x->adopt ? adopted : ours, err);
}

/* What is written into is not to be cut, or swapped, by somebody else. */
static int check_owner(struct hp_reindex *x, struct hpdsl_error *err)
{
	bool made = x->adoption && x->adoption->made;

	return made || x->opt->foreign_owner ?
		       0 :
		       hp_owner_check(x->io, x->dir, "the directory", err);
}

/* What the steps say is about the directory, or names a file in it. */
static int reindex(struct hp_reindex *x, struct hpdsl_error *err)
{
	static step_fn *const steps[] = {
		check_owner,
		refuse_staged,
		lock,
		hp_reindex_load,
		refuse_shuffled,
		hp_reindex_rule,
		refuse_unfinished,
		hp_reindex_find,
		hp_adopt_labels_read,
		parse_chunks,
		understand,
		make_id,
		hp_reindex_write,
		NULL,
	};
	struct hpdsl_error why = { 0 };
	int r = run(x, steps, &why);

	if (r < 0 && x->path)
		return hp_fail(err, r, "%s: %s", x->path, why.msg);
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

static void release(struct hp_reindex *x, bool failed)
{
	for (uint32_t c = 0; c < x->n_chunks; c++)
		hp_found_release(&x->chunks[c]);
	free(x->chunks);
	hp_list_release(&x->list);
	hp_reindex_unload(x);
	if (x->dir >= 0)
		x->io->close(x->io, x->dir);
	hp_adopt_release(x, failed);
	hp_arena_free(x->names);
	hp_meter_release(&x->meter);
}

static int open_dir(struct hp_reindex *x, const char *path,
		    struct hpdsl_error *err)
{
	if (!path || x->opt->n_tars || x->opt->output)
		return hp_adopt_open(x, path, err);
	x->path = path;
	x->dir = x->io->open(x->io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	return x->dir < 0 ? hp_fail_errno(err, x->dir, "%s", path) : 0;
}

static void report(const struct hp_reindex *x, struct hpdsl_reindex_report *ret)
{
	const struct hp_adoption *a = x->adoption;

	*ret = (struct hpdsl_reindex_report){
		.chunks = x->n_chunks,
		.samples = x->list.n_samples,
		.members = x->list.n_files,
		.bytes = x->bytes,
		.adopted = x->adopt,
		.lost = x->wrote_manifest ? hp_reindex_lost(x) : NULL,
		.unchanged =
			!x->wrote_index && !x->wrote_manifest && !x->wrote_sums,
		.has_sha256 = x->sha256,
		.group = x->group,
		.shuffled = hp_reindex_shuffled(x),
		.shuffle_lost = hp_reindex_shuffle_lost(x),
	};
	ret->classes = x->list.n_classes;
	for (uint64_t s = 0; ret->classes && s < x->list.n_samples; s++)
		ret->unlabelled += x->list.labels[s] == HPDSL_NO_LABEL;
	memcpy(ret->dataset_id, x->dataset_id, 16);
	memcpy(ret->dataset_id_sha256, x->dataset_id_sha256, 32);
	if (!x->adopt)
		return;
	ret->label_members = a->label_members;
	ret->label_bytes = a->label_bytes;
	ret->cls_members = hp_adopt_unasked(x);
	ret->links = a->links;
	ret->folders = a->folders;
	ret->specials = a->specials;
	ret->repeated_keys = a->repeated_keys;
	ret->replaced = a->replaced;
	ret->repeated_paths = a->repeated_paths;
	ret->repeated_suffixes = a->repeated_suffixes;
}

int hpdsl_reindex(const char *path, const struct hpdsl_reindex_options *opt,
		  struct hpdsl_reindex_report *ret, struct hpdsl_error *err)
{
	struct hp_reindex x = { .opt = opt, .dir = -1 };
	double start = hp_now();
	int r;

	x.io = hp_io_or_system(opt->watch.io);
	x.list.io = x.io;
	hp_meter_init(&x.meter, &opt->watch);
	r = open_dir(&x, path, err);
	if (r == 0)
		r = reindex(&x, err);
	hp_meter_warn_end(&x.meter, "warnings");
	if (r == 0) {
		report(&x, ret);
		ret->seconds = hp_now() - start;
	}
	release(&x, r < 0);
	return r;
}
