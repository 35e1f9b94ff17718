/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparison of a dataset's members with the files of the original tree, which
 * is walked as the packer walked it, as far as the manifest tells.
 */
#include "verify/source.h"

#include "archive/archive.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sys/pool.h"

#include <errno.h>
#include <string.h>

enum {
	BATCH = 32,   /* files a job */
	READERS = 16, /* they wait for the file system */
};

static int compare_batch(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_compare *c = arg;
	uint64_t first = number * BATCH, end = first + BATCH, bytes = 0;

	if (end > c->list.n_files)
		end = c->list.n_files;
	for (uint64_t i = first; i < end; i++) {
		int r = hp_compare_file(c, &c->list.files[i], NULL, err);

		if (r < 0)
			return r;
		bytes += c->list.files[i].size;
	}
	hp_meter_add(&c->v->meter, bytes);
	return 0;
}

/* ---- A compressed archive: in its own order --------------------------- */

static int by_source(const void *a, const void *b)
{
	const struct hp_file *x = a, *y = b;

	return (x->source > y->source) - (x->source < y->source);
}

static int hash_stream(struct hp_archive *a, uint64_t size, uint8_t *buf,
		       struct hp_compare_hash *ret, struct hpdsl_error *err)
{
	XXH3_state_t state;
	uint64_t done = 0;
	ssize_t n;

	XXH3_64bits_reset(&state);
	while ((n = hp_archive_read(a, buf, HP_COMPARE_PIECE, err)) > 0) {
		XXH3_64bits_update(&state, buf, (size_t)n);
		done += (size_t)n;
	}
	ret->low64 = XXH3_64bits_digest(&state);
	ret->whole = done == size;
	return n < 0 ? (int)n : 0;
}

/* Files that are links have their target's number. */
static int compare_numbered(struct hp_compare *c, uint64_t *at,
			    struct hp_archive *a,
			    const struct hp_archive_entry *e, uint8_t *buf,
			    struct hpdsl_error *err)
{
	const struct hp_list *list = &c->list;
	struct hp_compare_hash hash;
	int r;

	if (*at == list->n_files || list->files[*at].source != e->ordinal)
		return 0;
	r = hash_stream(a, e->size, buf, &hash, err);
	hp_meter_add(&c->v->meter, e->size);
	while (r == 0 && *at < list->n_files &&
	       list->files[*at].source == e->ordinal)
		r = hp_compare_file(c, &list->files[(*at)++], &hash, err);
	return r;
}

static int compare_stream(struct hp_compare *c, struct hpdsl_error *err)
{
	const struct hp_list *list = &c->list;
	hp_auto_free uint8_t *buf = malloc(HP_COMPARE_PIECE);
	struct hp_archive_entry e;
	struct hp_archive *a;
	uint64_t at = 0;
	int r;

	if (!buf)
		return hp_fail_nomem(err);
	qsort(list->files, list->n_files, sizeof *list->files, by_source);
	r = hp_archive_open(c->v->io, AT_FDCWD, list->roots[0].name,
			    c->opt.nested, &a, err);
	if (r < 0)
		return r;
	hp_archive_set_stop(a, c->v->opt->watch.stop);
	while ((r = hp_archive_next(a, &e, err)) > 0) {
		if (e.type == HP_ARCHIVE_FILE)
			r = compare_numbered(c, &at, a, &e, buf, err);
		if (r < 0)
			break;
	}
	hp_archive_close(a);
	if (r == 0 && at < list->n_files)
		r = hp_fail(err, HPDSL_ECHANGED,
			    "%s: changed while it was read",
			    list->roots[0].name);
	return r;
}

/* Is it one of several of its path, of which another was seen? */
static bool seen_elsewhere(const struct hp_compare *c,
			   const struct hpdsl_member *m)
{
	uint64_t first;

	return hp_index_find(c->v->index, m->path, m->path_len, &first, NULL) ==
		       0 &&
	       c->seen[first / 8] & 1u << first % 8;
}

/* Members below this tree that no file was found for. */
static int find_absent(struct hp_compare *c, uint64_t members,
		       struct hpdsl_error *err)
{
	for (uint64_t i = 0; i < members; i++) {
		struct hpdsl_member m;
		int r;

		if (c->seen[i / 8] & 1u << i % 8)
			continue;
		r = hp_index_member(c->v->index, i, &m, err);
		if (r < 0)
			return r;
		if (!m.generated && !hp_verify_absent(c->v, m.chunk) &&
		    !strncmp(m.path, c->prefix, c->prefix_len) &&
		    !seen_elsewhere(c, &m))
			hp_compare_differs(c, m.sample, m.path, "is absent");
	}
	return 0;
}

/* The root has the prefix, though it may have no files. */
static void find_prefix(struct hp_compare *c)
{
	const struct hp_list *list = &c->list;

	if (list->n_files)
		c->prefix = list->files[0].path;
	else if (list->n_linked)
		c->prefix = list->linked[0];
	else
		return;
	c->prefix_len = list->roots[0].prefix_len;
}

static int compare_all(struct hp_compare *c, struct hpdsl_error *err)
{
	uint32_t threads = hp_threads(c->v->opt->threads);
	struct hpdsl_counts n;
	uint64_t bytes = 0;
	int r;

	hp_index_count(c->v->index, &n);
	c->seen = calloc(1, n.members / 8 + 1);
	if (!c->seen)
		return hp_fail_nomem(err);
	find_prefix(c);
	for (uint64_t i = 0; i < c->list.n_files; i++)
		bytes += c->list.files[i].size;
	hp_meter_phase(&c->v->meter, "comparing", bytes, true);
	if (threads < READERS)
		threads = READERS;
	if (c->list.n_files && c->list.roots[0].kind == HP_ROOT_STREAM)
		r = compare_stream(c, err);
	else
		r = hp_pool_run(threads, (c->list.n_files + BATCH - 1) / BATCH,
				compare_batch, c, c->v->opt->watch.stop, err);
	if (r == 0)
		r = hp_compare_linked(c, err);
	return r < 0 ? r : find_absent(c, n.members, err);
}

int hp_verify_source(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hp_compare c = { .v = v, .prefix = "" };
	int r;

	c.list.io = v->io;
	c.coarse =
		v->has_manifest && (v->manifest.rebuilt || v->manifest.adopted);
	r = hp_compare_scan(&c, err);
	if (r == 0)
		r = compare_all(&c, err);
	/* Our index is sound: it is the source, and so no answer. */
	if (r == HPDSL_ECORRUPT) {
		r = -EBADMSG;
		if (err)
			err->code = r;
	}
	free(c.seen);
	free(c.include);
	free(c.exclude);
	hp_list_release(&c.list);
	return r;
}
