/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a snapshot, its entries by number, and what folders hold.  Numbers
 * descend from an entry to its folder and ascend to what is in it, whatever the
 * bytes are, and each entry is in one folder only: so every walk ends.
 */
#include "snap/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "tree/tree.h"

#include <errno.h>
#include <inttypes.h>

static const struct hp_kind kinds[] = {
	{ "ENTRIES", HP_SNAP_ENTRY_ROW, false, 0 },
	{ "FOLDERS", HP_SNAP_FOLDER_ROW, false, 0 },
	{ "NAMES", 0, false, '/' },
	{ "TARGETS", 0, false, 0 },
	{ "CHECKSUMS", 8, false, 0 },
	{ "LOOKUP", HP_SLOT_ROW, false, 0 },
};

static const struct hp_layout layout = {
	.what = "snapshot",
	.magic = HP_SNAP_MAGIC,
	.version = HP_SNAP_VERSION,
	.fixed = HP_SNAP_FIXED,
	.flags = HP_SNAP_FROM_DATASET,
	.firm = HP_SNAP_KINDS,
	.n_kinds = HP_SNAP_KINDS,
	.kinds = kinds,
};

/* ---- Opening ---------------------------------------------------------- */

static bool has_rows(const struct hpdsl_snapshot *s, enum hp_snap_section kind,
		     uint64_t rows)
{
	return hp_section_has_rows(&s->file, hp_snap_section(s, kind), rows);
}

static int check_counts(const struct hpdsl_snapshot *s, struct hpdsl_error *err)
{
	const struct hpdsl_snapshot_info *n = &s->info;
	const char *why = NULL;

	if (!n->entries || n->entries > HP_TREE_ENTRIES || !n->folders ||
	    n->folders > n->entries || n->files > n->entries - n->folders ||
	    n->symlinks > n->entries - n->folders - n->files)
		why = "counts are impossible";
	else if (!has_rows(s, HP_SNAP_ENTRIES, n->entries) ||
		 !has_rows(s, HP_SNAP_FOLDERS, n->folders + 1) ||
		 !has_rows(s, HP_SNAP_CHECKSUMS, s->members) ||
		 s->members > (n->from_dataset ? HP_TREE_ENTRIES : 0))
		why = "counts and sections disagree";
	else if (!has_rows(s, HP_SNAP_LOOKUP, s->slots) ||
		 s->slots < s->homes || s->slots > s->homes + n->entries)
		why = "the lookup table's size is impossible";
	return why ? hp_sections_bad_header(&s->file, why, err) : 0;
}

static void fill(struct hpdsl_snapshot *s, uint64_t size)
{
	const uint8_t *p = s->file.header;
	struct hpdsl_snapshot_info *n = &s->info;

	n->entries = hp_get64(p + 24);
	n->folders = hp_get64(p + 32);
	n->bytes = hp_get64(p + 40);
	n->files = hp_get64(p + 48);
	n->symlinks = hp_get64(p + 128);
	n->others = n->entries - n->folders - n->files - n->symlinks;
	n->file_bytes = size;
	memcpy(n->digest, p + 64, 16);
	memcpy(n->files_digest, p + 80, 16);
	memcpy(n->dataset_id, p + 96, 16);
	memcpy(n->pack, p + 112, 16);
	n->from_dataset = s->file.flags & HP_SNAP_FROM_DATASET;
	s->members = hp_snap_section(s, HP_SNAP_CHECKSUMS)->length / 8;
	s->homes = hp_lookup_homes(n->entries - 1);
	s->slots = hp_snap_section(s, HP_SNAP_LOOKUP)->length / HP_SLOT_ROW;
}

int hp_snap_open(const void *p, uint64_t size, const char *name,
		 struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	hp_auto_free struct hpdsl_snapshot *s = calloc(1, sizeof *s);
	int r;

	if (!s)
		return hp_fail_nomem(err);
	r = hp_sections_open(&s->file, &layout, p, size, name, err);
	if (r < 0)
		return r;
	fill(s, size);
	r = check_counts(s, err);
	if (r < 0) {
		hp_sections_release(&s->file);
		return r;
	}
	*ret = hp_take(s);
	return 0;
}

void hpdsl_snapshot_info(const struct hpdsl_snapshot *s,
			 struct hpdsl_snapshot_info *ret)
{
	*ret = s->info;
}

/* ---- What can be wrong ------------------------------------------------ */

HP_COLD int hp_snap_out_of_range(const struct hpdsl_snapshot *s,
				 uint64_t number, struct hpdsl_error *err)
{
	return hp_fail(err, -ERANGE,
		       "%s: no entry %" PRIu64 ", there are %" PRIu64,
		       s->file.name, number, s->info.entries);
}

HP_COLD int hp_snap_bad_entry(const struct hpdsl_snapshot *s, uint64_t number,
			      const char *why, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s: entry %" PRIu64 ": %s",
		       s->file.name, number, why);
}

HP_COLD int hp_snap_bad_row(const struct hpdsl_snapshot *s, uint64_t number,
			    const struct hp_snap_row *row,
			    struct hpdsl_error *err)
{
	const char *why = "its name's length is impossible";

	if (!(HP_SNAP_TYPES >> (row->mode >> 12) & 1))
		why = "its type is unknown";
	else if (row->nsec >= 1000000000)
		why = "has an impossible time";
	else if (S_ISREG(row->mode) && row->link > s->members)
		why = "has a member number that is impossible";
	else if (S_ISDIR(row->mode) && row->link >= s->info.folders)
		why = "has a folder number that is impossible";
	else if (number ? row->parent >= number : row->parent)
		why = "is in a folder that cannot be its";
	else if (!number && !S_ISDIR(row->mode))
		why = "is the top, but no folder";
	return hp_snap_bad_entry(s, number, why, err);
}

/* ---- Entries and folders ---------------------------------------------- */

static inline int get(const struct hpdsl_snapshot *s, uint64_t number,
		      struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	struct hp_snap_row row;
	const char *name = NULL;

	if (hp_snap_row(s, number, &row, err))
		name = hp_snap_name(s, number, &row, err);
	if (!name)
		return HPDSL_ECORRUPT;
	hp_snap_fill(number, &row, name, ret);
	return 0;
}

int hpdsl_snapshot_stat(const struct hpdsl_snapshot *s, uint64_t number,
			struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	if (number >= s->info.entries)
		return hp_snap_out_of_range(s, number, err);
	return get(s, number, ret, err);
}

int hp_snap_folder_row(const struct hpdsl_snapshot *s, uint64_t number,
		       struct hp_folder_row *ret, struct hpdsl_error *err)
{
	const uint8_t *row =
		hp_snap_bytes(s, HP_SNAP_FOLDERS, number * HP_SNAP_FOLDER_ROW,
			      HP_SNAP_FOLDER_ROW, err);
	uint8_t copy[HP_SNAP_FOLDER_ROW];

	if (!row)
		return HPDSL_ECORRUPT;
	hp_copy_once(copy, row, sizeof copy);
	ret->first = hp_get48(copy);
	ret->end = hp_get48(copy + 6);
	return 0;
}

HP_COLD static int not_a_folder(const struct hpdsl_snapshot *s, uint64_t number,
				struct hpdsl_error *err)
{
	return hp_fail(err, -ENOTDIR, "%s: entry %" PRIu64 " is no folder",
		       s->file.name, number);
}

/* The number among folders of entry number, which has to be one. */
static int64_t folder_number(const struct hpdsl_snapshot *s, uint64_t number,
			     struct hpdsl_error *err)
{
	struct hp_snap_row row;

	if (number >= s->info.entries)
		return hp_snap_out_of_range(s, number, err);
	if (!hp_snap_row(s, number, &row, err))
		return HPDSL_ECORRUPT;
	if (!S_ISDIR(row.mode))
		return not_a_folder(s, number, err);
	return (int64_t)row.link;
}

/* Its entries are row->first .. next->first - 1. */
static int children(const struct hpdsl_snapshot *s, uint64_t folder,
		    struct hp_folder_row *row, struct hp_folder_row *next,
		    struct hpdsl_error *err)
{
	int64_t number = folder_number(s, folder, err);

	if (number < 0)
		return (int)number;
	if (hp_snap_folder_row(s, (uint64_t)number, row, err) < 0 ||
	    hp_snap_folder_row(s, (uint64_t)number + 1, next, err) < 0)
		return HPDSL_ECORRUPT;
	if (row->first <= folder || next->first < row->first ||
	    next->first > s->info.entries)
		return hp_snap_bad_entry(s, folder,
					 "what it holds is impossible", err);
	if (row->end <= (uint64_t)number || row->end > s->info.folders)
		return hp_snap_bad_entry(s, folder,
					 "what is below it is impossible", err);
	return 0;
}

int hpdsl_snapshot_folder(const struct hpdsl_snapshot *s, uint64_t folder,
			  uint64_t *ret_first, uint64_t *ret_n,
			  uint64_t *ret_end, struct hpdsl_error *err)
{
	struct hp_folder_row row, next, end;
	int r = children(s, folder, &row, &next, err);

	if (r < 0)
		return r;
	if (hp_snap_folder_row(s, row.end, &end, err) < 0)
		return HPDSL_ECORRUPT;
	if (end.first < next.first || end.first > s->info.entries)
		return hp_snap_bad_entry(s, folder,
					 "what is below it is impossible", err);
	*ret_first = row.first;
	*ret_n = next.first - row.first;
	*ret_end = end.first;
	return 0;
}

int64_t hpdsl_snapshot_readdir(const struct hpdsl_snapshot *s, uint64_t folder,
			       uint64_t *cursor, struct hpdsl_entry *ret,
			       size_t room, struct hpdsl_error *err)
{
	struct hp_folder_row row, next;
	uint64_t first, n;
	int r = children(s, folder, &row, &next, err);

	if (r < 0)
		return r;
	if (*cursor >= next.first - row.first)
		return 0;
	first = row.first + *cursor;
	n = next.first - first < room ? next.first - first : room;
	for (uint64_t i = 0; i < n; i++) {
		r = get(s, first + i, &ret[i], err);
		if (r < 0)
			return r;
		if (ret[i].parent != folder)
			return hp_snap_bad_entry(s, first + i,
						 "is in two folders", err);
	}
	*cursor += n;
	return (int64_t)n;
}
