/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of adopted samples, as hpdsl_pack() gives them.  Whoever does not ask
 * for any gets those that were: found again the same way, or, where a file gave
 * them, out of the old index (adopt_kept.c).
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "plan/labels.h"
#include "plan/lost.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is asked for ------------------------------------------------ */

static void warn(void *arg, const char *text)
{
	hp_reindex_warn(arg, "%s", text);
}

/* The manifest may be older than the index, where a run ended between them. */
static bool has_classes(const struct hp_reindex *x)
{
	struct hpdsl_counts n = { 0 };

	if (x->index)
		hp_index_count(x->index, &n);
	return n.classes;
}

/* What the manifest has; what it cannot say again is in the index alone. */
static void ask_as_before(struct hp_reindex *x, struct hpdsl_pack_options *ask)
{
	const char *was = hp_reindex_option(x, "labels");
	const char *numbers = hp_reindex_option(x, HP_LABEL_NUMBERS);

	x->adoption->known.by_value = *numbers;
	/* Nor does it say how they are numbered, if it is lost. */
	if (x->index && !x->has_manifest)
		x->adoption->known.by_value = hp_lost_by_value(
			x->index, (struct hp_lost_option){ .lost = true });
	ask->labels = HPDSL_LABELS_KEEP;
	if (!strncmp(was, "dir:", 4)) {
		ask->labels = HPDSL_LABELS_DIR;
		ask->label_dir = (uint32_t)strtoul(was + 4, NULL, 10);
	} else if (!strncmp(was, "json:", 5)) {
		ask->labels = HPDSL_LABELS_JSON;
		ask->label_field = was + 5;
	} else if (!strcmp(was, "parent")) {
		ask->labels = HPDSL_LABELS_PARENT;
	} else if (!strcmp(was, "cls")) {
		ask->labels = HPDSL_LABELS_CLS;
	} else if (x->has_manifest && !*was && !has_classes(x)) {
		ask->labels = HPDSL_LABELS_NONE;
	}
}

int hp_adopt_labels_read(struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hpdsl_reindex_options *opt = x->opt;
	struct hpdsl_pack_options *ask;
	struct hp_adoption *a = x->adoption;
	int r;

	if (!x->adopt && (opt->labels || opt->label_columns))
		return hp_fail(err, HPDSL_EUSAGE,
			       "its chunks were packed; classes are given when "
			       "they are packed again");
	if (!x->adopt)
		return 0;
	ask = &a->ask;
	*ask = (struct hpdsl_pack_options){
		.labels = opt->labels,
		.label_dir = opt->label_dir,
		.label_file = opt->label_file,
		.label_columns = opt->label_columns,
		.label_field = opt->label_field,
		.watch = { .warn = warn, .arg = x },
	};
	r = hp_labels_read(&a->labels, x->io, ask, err);
	if (r == 0)
		r = hp_labels_take_table(&a->labels, ask, err);
	if (opt->labels == HPDSL_LABELS_KEEP)
		ask_as_before(x, ask);
	else
		a->known.by_value =
			a->labels.table || hp_labels_of_members(ask);
	if (opt->labels == HPDSL_LABELS_FILE)
		a->known.checksum = a->labels.checksum;
	return r;
}

/* ---- By a file -------------------------------------------------------- */

/*
 * Lines are sought in what is sorted, where the samples of one key are one.  A
 * file's source says from which sample of ours it is.
 */
static int sort_copy(const struct hp_reindex *x, struct hp_list *ret,
		     struct hpdsl_error *err)
{
	const struct hp_list *list = &x->list;
	int r;

	*ret = (struct hp_list){ .n_files = list->n_files,
				 .repeats = true,
				 .by_value = list->by_value,
				 .key = list->key,
				 .arena = list->arena };
	ret->files = hp_array(list->n_files, sizeof *ret->files);
	if (!ret->files)
		return hp_fail_nomem(err);
	memcpy(ret->files, list->files, list->n_files * sizeof *ret->files);
	for (uint64_t s = 0; s < list->n_samples; s++)
		for (uint64_t i = list->samples[s]; i < list->samples[s + 1];
		     i++)
			ret->files[i].source = s;
	r = hp_list_sort(ret, err);
	return r < 0 ? r : hp_list_group(ret, x->group, err);
}

static int label_by_file(struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hp_adoption *a = x->adoption;
	struct hp_list *list = &x->list, sorted;
	int r = sort_copy(x, &sorted, err);

	if (r == 0)
		r = hp_labels_by_file(&sorted, &a->labels, &a->ask, err);
	for (uint64_t s = 0; r == 0 && s < sorted.n_samples; s++)
		for (uint64_t i = sorted.samples[s]; i < sorted.samples[s + 1];
		     i++)
			list->labels[sorted.files[i].source] = sorted.labels[s];
	if (r == 0) {
		list->classes = hp_take(sorted.classes);
		list->n_classes = sorted.n_classes;
	}
	sorted.arena = NULL;
	hp_list_release(&sorted);
	return r;
}

/* ---- By members ------------------------------------------------------- */

struct reading {
	struct hp_reindex *x;
	struct hp_label_members of;
};

static int read_one(const struct reading *z, int fd, uint32_t chunk,
		    const struct hp_label_member *m, struct hpdsl_error *err)
{
	const struct hp_reindex *x = z->x;
	const struct hp_file *f = &x->list.files[m->file];
	uint64_t offset = hp_adopted_place(x, chunk, m->file)->offset;
	hp_auto_free char *buf = NULL;
	ssize_t n;

	if (f->size > HP_LABEL_MEMBER_MAX)
		return 0;
	buf = malloc((size_t)f->size + 1);
	if (!buf)
		return hp_fail_nomem(err);
	n = hp_io_pread_full(x->io, fd, buf, (size_t)f->size, offset);
	if (n < 0)
		return hp_fail_errno(err, (int)n, "%s",
				     x->chunks[chunk].made.name);
	if ((uint64_t)n != f->size || hp_hash64(buf, (size_t)n) != f->low64)
		return hp_fail(err, HPDSL_ECHANGED,
			       "%s: changed while it was read",
			       x->chunks[chunk].made.name);
	__atomic_fetch_add(&x->adoption->label_bytes, f->size,
			   __ATOMIC_RELAXED);
	return hp_label_members_take(&z->of, m->sample, buf, (size_t)n, err);
}

/* The first of the members that is not before this file. */
static uint64_t first_from(const struct hp_label_members *of, uint64_t file)
{
	uint64_t low = 0, high = of->n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (of->v[mid].file < file)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Those of one tar, in their order there. */
static int read_tar(void *arg, uint64_t number, struct hpdsl_error *err)
{
	const struct reading *z = arg;
	const struct hp_reindex *x = z->x;
	const struct hp_found *c = &x->chunks[number];
	uint64_t i = first_from(&z->of, c->made.first_member);
	uint64_t end = first_from(&z->of, c->made.first_member + c->n);
	int r = 0;

	if (i == end)
		return 0;
	hp_auto_fd tar = { x->io, x->io->open(x->io, x->dir, c->made.name,
					      O_RDONLY, 0) };
	if (tar.fd < 0)
		return hp_fail_errno(err, tar.fd, "%s", c->made.name);
	for (; r == 0 && i < end; i++)
		r = read_one(z, tar.fd, (uint32_t)number, &z->of.v[i], err);
	return r;
}

static int label_by_members(struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *ask = &x->adoption->ask;
	struct reading z = { .x = x };
	int r = hp_label_members_find(&z.of, &x->list, ask, err);

	if (r == 0)
		r = hp_pool_run(hp_threads(x->opt->threads), x->n_chunks,
				read_tar, &z, x->opt->watch.stop, err);
	if (r == 0)
		r = hp_label_members_give(&z.of, &x->list, err);
	if (r == 0)
		x->adoption->label_members = z.of.n;
	hp_label_members_release(&z.of);
	return r;
}

int hp_adopt_label(struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *ask = &x->adoption->ask;
	uint64_t n = x->list.n_samples;
	int r;

	x->list.by_value = x->adoption->known.by_value;
	x->list.labels = hp_array(n, sizeof *x->list.labels);
	if (!x->list.labels)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < n; s++)
		x->list.labels[s] = HPDSL_NO_LABEL;
	if (ask->labels == HPDSL_LABELS_KEEP)
		return hp_adopt_keep_labels(x, err);
	if (ask->labels == HPDSL_LABELS_FILE)
		return label_by_file(x, err);
	if (hp_labels_of_members(ask))
		return label_by_members(x, err);
	r = hp_labels_by_folder(&x->list, ask, err);
	if (r == 0 && ask->labels != HPDSL_LABELS_NONE && !x->list.n_classes)
		hp_reindex_warn(x, "no file has the folder that names a class: "
				   "no sample has one");
	return r;
}

uint64_t hp_adopt_unasked(const struct hp_reindex *x)
{
	const struct hp_list *list = &x->list;
	uint64_t n = 0;

	/* What is a sample by itself says the class of none. */
	if (x->opt->labels != HPDSL_LABELS_KEEP || list->n_classes ||
	    x->group == HPDSL_GROUP_NONE)
		return 0;
	for (uint64_t i = 0; i < list->n_files; i++)
		n += !strcmp(list->files[i].path + list->files[i].key_len,
			     ".cls");
	return n;
}

bool hp_adopt_relabels(const struct hp_reindex *x)
{
	return x->adopt &&
	       (x->opt->labels != HPDSL_LABELS_KEEP || !x->has_manifest);
}

int hp_adopt_label_pairs(const struct hp_reindex *x, struct hp_pairs *ret,
			 struct hpdsl_error *err)
{
	const struct hp_adoption *a = x->adoption;
	struct hp_labels_known known = a->known;

	*ret = (struct hp_pairs){ NULL, 0 };
	known.kept = a->ask.labels == HPDSL_LABELS_KEEP;
	if (a->ask.labels == HPDSL_LABELS_NONE ||
	    (known.kept && !x->list.n_classes))
		return 0;
	return hp_label_pairs(&a->ask, &known, ret, err);
}
