/* SPDX-License-Identifier: Apache-2.0 */
/* What chunks do not hold: times, modes, labels, from the index of before. */
#include "reindex/reindex.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/tar.h"
#include "plan/lost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the chunk says of time and mode stays; the index only adds to it. */
static void take_row(struct hp_file *f, const struct hpdsl_member *m)
{
	if (hp_tar_time(m->mtime) == f->mtime) {
		f->mtime = m->mtime;
		f->nsec = m->mtime_nsec;
	}
	if ((m->mode & 0777) == f->mode)
		f->mode = m->mode & 07777;
}

bool hp_reindex_take_classes(struct hp_reindex *x)
{
	struct hpdsl_counts n = { 0 };

	if (!x->index)
		return false;
	hp_index_count(x->index, &n);
	x->list.classes = hp_array(n.classes, sizeof *x->list.classes);
	for (uint64_t i = 0; x->list.classes && i < n.classes; i++) {
		if (hp_index_class(x->index, (uint32_t)i, &x->list.classes[i],
				   NULL) < 0)
			return false;
	}
	x->list.n_classes = (uint32_t)n.classes;
	return x->list.classes;
}

bool hp_reindex_old_label(const struct hp_reindex *x,
			  const struct hpdsl_member *m, uint32_t *ret)
{
	struct hpdsl_sample old;

	if (hp_index_sample(x->index, m->sample, &old, NULL) < 0 ||
	    (old.label != HPDSL_NO_LABEL && old.label >= x->list.n_classes))
		return false;
	*ret = old.label;
	return true;
}

static void take_rows(struct hp_reindex *x, bool classes)
{
	uint64_t s = 0;

	x->lost |= classes ? 0 : HP_LOST_LABELS;
	for (uint64_t i = 0; i < x->list.n_files; i++) {
		bool first = i == x->list.samples[s], found;
		struct hpdsl_member m;

		found = hp_reindex_row(x, i, &m);
		if (found)
			take_row(&x->list.files[i], &m);
		else
			x->lost |= HP_LOST_TIMES;
		if (first && classes &&
		    (!found ||
		     !hp_reindex_old_label(x, &m, &x->list.labels[s])))
			x->lost |= HP_LOST_LABELS;
		s += first;
	}
}

/* Labels that come from folders can be had again. */
static int relabel(struct hp_reindex *x, struct hpdsl_error *err)
{
	const char *how = hp_reindex_option(x, "labels");
	int r = 0;

	if (!strcmp(how, "parent"))
		r = hp_list_label(&x->list, HPDSL_LABELS_PARENT, 0, err);
	else if (!strncmp(how, "dir:", 4))
		r = hp_list_label(&x->list, HPDSL_LABELS_DIR,
				  (uint32_t)strtoul(how + 4, NULL, 10), err);
	else if (strcmp(how, "none") != 0)
		return 0;
	if (r == 0)
		x->lost &= ~(unsigned)HP_LOST_LABELS;
	return r;
}

/* What the manifest has lost before is lost still. */
static void lost_before(struct hp_reindex *x)
{
	const char *lost = x->has_manifest ? x->manifest.lost : NULL;

	if (!x->has_manifest || hp_lost_options(lost))
		x->lost |= HP_LOST_OPTIONS;
	if (lost && strstr(lost, "nanoseconds"))
		x->lost |= HP_LOST_TIMES;
	if (lost && strstr(lost, "labels"))
		x->lost |= HP_LOST_LABELS;
	if (lost && strstr(lost, "original names"))
		x->lost |= HP_LOST_NAMES;
}

/* Members that may say the classes again.  A packer's own are not packed again,
 * but are members to whoever adopts the chunks, or packs compressed ones as
 * archives. */
static void tell_cls(struct hp_reindex *x)
{
	const char *of[2] = { "", "of the packer " };
	uint64_t n[2] = { 0 };

	if (x->n_chunks && x->chunks[0].made.compressed)
		of[1] = "of the packer in compressed chunks ";

	for (uint64_t i = 0; i < x->list.n_files; i++) {
		const struct hp_file *f = &x->list.files[i];

		if (!strcmp(f->path + f->key_len, ".cls"))
			n[f->flags & HP_FILE_GENERATED ? 1 : 0]++;
	}
	for (int made = 0; made < 2; made++)
		if (n[made])
			hp_reindex_warn(x,
					"labels are lost, and %" PRIu64
					" member%s .cls %smay say them",
					n[made], n[made] == 1 ? "" : "s",
					of[made]);
}

int hp_reindex_recover(struct hp_reindex *x, struct hpdsl_error *err)
{
	uint64_t n = x->list.n_samples;
	int r = 0;

	x->list.labels = hp_array(n, sizeof *x->list.labels);
	if (!x->list.labels)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < n; s++)
		x->list.labels[s] = HPDSL_NO_LABEL;
	take_rows(x, hp_reindex_take_classes(x));
	r = hp_reindex_names(x, err);
	/* Folders, too, have other names in the chunks. */
	if (r == 0 && x->lost & HP_LOST_LABELS && !(x->lost & HP_LOST_NAMES))
		r = relabel(x, err);
	if (r == 0 && x->lost & HP_LOST_LABELS)
		tell_cls(x);
	lost_before(x);
	return r;
}
