/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left out as litter, by the list of base/litter.h.  What an include
 * pattern matches is not; where there are such patterns no folder is left out
 * as a whole, since they may match what is in it.
 */
#include "scan/private.h"

#include "base/litter.h"
#include "hpdsl/snapshot.h"

#include <string.h>

bool hp_scan_leaves_litter(const struct hp_scan_worker *w)
{
	const struct hpdsl_pack_options *opt = w->s->opt;

	return opt->litter == HPDSL_LITTER_LEAVE && !opt->list;
}

/* Behind the last slash of a path that begins behind the prefix. */
static const char *base_of(const struct hp_scan_worker *w, size_t prefix)
{
	const char *slash = memrchr(w->path + prefix, '/', w->len - prefix);

	return slash ? slash + 1 : w->path + prefix;
}

/* Is X there, for a file ._X? */
static bool is_twin_there(const struct hp_scan_worker *w, uint16_t root)
{
	const struct hp_root *at = &w->s->list->roots[root];
	const char *name = w->path + at->prefix_len;
	size_t base = (size_t)(base_of(w, at->prefix_len) - name);
	size_t n = w->len - at->prefix_len;
	char twin[HPDSL_PATH_MAX + 1];
	struct hpdsl_entry e;
	struct stat st;

	if (n >= sizeof twin)
		return false;
	memcpy(twin, name, base);
	memcpy(twin + base, name + base + 2, n - base - 2);
	twin[n - 2] = '\0';
	if (w->s->opt->snapshot)
		return hpdsl_snapshot_lookup(w->s->opt->snapshot, twin, n - 2,
					     &e, NULL) == 0;
	return hp_io_stat(w->s->io, at->fd, twin, &st,
			  AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0;
}

bool hp_scan_count_litter(struct hp_scan_worker *w, int row, uint64_t bytes)
{
	struct hpdsl_litter *l = &w->counts.litter;

	l->kinds |= 1u << row;
	if (w->s->opt->n_include) {
		l->included++;
		return false;
	}
	l->files++;
	l->bytes += bytes;
	return true;
}

bool hp_scan_litter_file(struct hp_scan_worker *w, uint16_t root,
			 const struct stat *st)
{
	size_t prefix = w->s->list->roots[root].prefix_len;
	const char *base;
	int row;

	if (!hp_scan_leaves_litter(w) ||
	    (st && !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode)))
		return false;
	base = base_of(w, prefix);
	/* The walk is in no folder that is litter, unless it had to look. */
	if (w->s->opt->n_include)
		row = hp_litter_path(w->path + prefix, w->len - prefix, false);
	else
		row = hpdsl_litter_name(base, w->len - (size_t)(base - w->path),
					false, base == w->path + prefix);
	if (row < 0 || (row == HPDSL_LITTER_TWIN && !is_twin_there(w, root)))
		return false;
	return hp_scan_count_litter(
		w, row, st && S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0);
}

bool hp_scan_litter_folder(struct hp_scan_worker *w, uint16_t root)
{
	size_t prefix = w->s->list->roots[root].prefix_len;
	const char *base = base_of(w, prefix);
	int row;

	if (!hp_scan_leaves_litter(w) || w->s->opt->n_include)
		return false;
	row = hpdsl_litter_name(base, w->len - (size_t)(base - w->path), true,
				base == w->path + prefix);
	if (row < 0)
		return false;
	w->counts.litter.folders++;
	w->counts.litter.kinds |= 1u << row;
	return true;
}

bool hp_scan_in_litter(const struct hp_scan_worker *w, size_t prefix,
		       size_t len)
{
	return hp_scan_leaves_litter(w) && !w->s->opt->n_include &&
	       len > prefix &&
	       hp_litter_path(w->path + prefix, len - prefix, true) >= 0;
}
