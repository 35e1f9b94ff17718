/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a snapshot that follow the entries' order, part by part. */
#include "snap/writer.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int hp_snap_part_begin(struct hp_snap_writer *w, enum hp_snap_section kind,
		       uint64_t number, uint64_t blocks,
		       struct hp_section_out *ret, struct hpdsl_error *err)
{
	const struct hp_section_place *place = &w->place[kind];
	uint64_t from = number * blocks * HP_BLOCK, end = place->length;
	size_t sums = blocks * sizeof(uint64_t);

	if (end - from > blocks * HP_BLOCK)
		end = from + blocks * HP_BLOCK;
	*ret = (struct hp_section_out){ .sink = w->sink, .err = err };
	ret->sums = malloc(sums + HP_BLOCK);
	if (!ret->sums)
		return hp_fail_nomem(err);
	ret->block = (uint8_t *)ret->sums + sums;
	hp_section_begin(ret, place, from, end);
	return 0;
}

void hp_snap_part_release(struct hp_section_out *o)
{
	free(o->sums);
}

void hp_tree_seek(const struct hp_tree *t, uint64_t entry,
		  struct hp_tree_cursor *ret)
{
	uint64_t low = 0, high = t->n_folders;

	/* The last folder that begins at or before it. */
	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (t->folders[mid]->first <= entry)
			low = mid;
		else
			high = mid;
	}
	*ret = (struct hp_tree_cursor){
		.t = t,
		.folder = t->folders[low],
		.at = entry - t->folders[low]->first,
	};
}

/* ---- Rows ------------------------------------------------------------- */

static uint64_t link_of(const struct hp_node *node, uint64_t target)
{
	if (S_ISDIR(node->mode))
		return node->folder->number;
	if (S_ISLNK(node->mode))
		return target;
	/* HPDSL_NO_MEMBER + 1 is 0. */
	return S_ISREG(node->mode) ? node->member + 1 : 0;
}

static int put_entry(struct hp_section_out *o, const struct hp_node *node,
		     uint64_t parent, struct hp_snap_range *at)
{
	uint8_t row[HP_SNAP_ENTRY_ROW];

	hp_put64(row, node->size);
	hp_put64(row + 8, (uint64_t)node->mtime);
	hp_put32(row + 16, node->nsec);
	hp_put16(row + 20, node->mode);
	hp_put16(row + 22, node->name_len);
	hp_put48(row + 24, at->names);
	hp_put40(row + 30, parent);
	hp_put40(row + 35, link_of(node, at->targets));
	at->names += node->name_len + 1u;
	if (S_ISLNK(node->mode))
		at->targets += node->size + 1;
	return hp_section_put(o, row, sizeof row);
}

int hp_snap_write_entries(struct hp_snap_writer *w, uint64_t range,
			  struct hpdsl_error *err)
{
	uint64_t i = range * HP_SNAP_RANGE, end = hp_snap_range_end(w, range);
	struct hp_snap_range at = w->ranges[range];
	hp_auto_part struct hp_section_out o;
	struct hp_tree_cursor c;
	int r = hp_snap_part_begin(w, HP_SNAP_ENTRIES, range,
				   HP_SNAP_RANGE_BLOCKS, &o, err);

	if (r == 0 && i == 0)
		r = put_entry(&o, &w->t->top, i++, &at);
	if (i < end)
		hp_tree_seek(w->t, i, &c);
	for (; r == 0 && i < end; i++) {
		const struct hp_node *node = hp_tree_next(&c);

		r = put_entry(&o, node, c.folder->entry, &at);
	}
	return r < 0 ? r : hp_section_finish(&o);
}

int hp_snap_write_folders(struct hp_snap_writer *w, uint64_t part,
			  struct hpdsl_error *err)
{
	const struct hp_tree *t = w->t;
	uint64_t rows = HP_SNAP_FOLDER_PART * HP_BLOCK / HP_SNAP_FOLDER_ROW;
	hp_auto_part struct hp_section_out o;
	int r = hp_snap_part_begin(w, HP_SNAP_FOLDERS, part,
				   HP_SNAP_FOLDER_PART, &o, err);

	for (uint64_t i = part * rows;
	     r == 0 && i < (part + 1) * rows && i <= t->n_folders; i++) {
		bool last = i == t->n_folders;
		uint8_t row[HP_SNAP_FOLDER_ROW];

		hp_put48(row, last ? t->entries : t->folders[i]->first);
		hp_put48(row + 6, last ? t->n_folders : t->folders[i]->end);
		r = hp_section_put(&o, row, sizeof row);
	}
	return r < 0 ? r : hp_section_finish(&o);
}

/* ---- Strings ---------------------------------------------------------- */

/* A part of NAMES or TARGETS, and the string that its next byte is of. */
struct strings {
	struct hp_section_out o;
	uint64_t at, end; /* bytes of the section: of that string, of the part
			   */
	bool targets;
};

/* What of the string, its NUL included, lies in the part. */
static int put_string(struct strings *s, const char *p, uint64_t len)
{
	uint64_t from = s->o.at + s->o.used, skip = 0;

	if (s->at < from)
		skip = from - s->at;
	s->at += len + 1;
	if (skip > len)
		return 0;
	if (s->at > s->end)
		len -= s->at - s->end;
	return hp_section_put(&s->o, p + skip, len + 1 - skip);
}

static int put_node(struct strings *s, const struct hp_node *node)
{
	if (!s->targets)
		return put_string(s, node->name, node->name_len);
	if (S_ISLNK(node->mode))
		return put_string(s, node->target, node->size);
	return 0;
}

static uint64_t bytes_before(const struct hp_snap_writer *w, uint64_t range,
			     bool targets)
{
	return targets ? w->ranges[range].targets : w->ranges[range].names;
}

/* The last range that begins at or before byte at. */
static uint64_t find_range(const struct hp_snap_writer *w, uint64_t at,
			   bool targets)
{
	uint64_t low = 0, high = w->n_ranges;

	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;

		if (bytes_before(w, mid, targets) <= at)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static int write_strings(struct hp_snap_writer *w, uint64_t part, bool targets,
			 struct hpdsl_error *err)
{
	hp_auto_part struct hp_section_out o;
	struct strings s = { .targets = targets };
	struct hp_tree_cursor c;
	uint64_t i, range;
	int r = hp_snap_part_begin(w, targets ? HP_SNAP_TARGETS : HP_SNAP_NAMES,
				   part, HP_SNAP_PART, &o, err);

	if (r < 0)
		return r;
	s.o = o;
	s.end = o.end;
	range = find_range(w, o.at, targets);
	s.at = bytes_before(w, range, targets);
	i = range * HP_SNAP_RANGE;
	if (i == 0) {
		r = put_node(&s, &w->t->top);
		i++;
	}
	if (i < w->t->entries)
		hp_tree_seek(w->t, i, &c);
	for (; r == 0 && s.at < s.end && i < w->t->entries; i++)
		r = put_node(&s, hp_tree_next(&c));
	return r < 0 ? r : hp_section_finish(&s.o);
}

int hp_snap_write_names(struct hp_snap_writer *w, uint64_t part,
			struct hpdsl_error *err)
{
	return write_strings(w, part, false, err);
}

int hp_snap_write_targets(struct hp_snap_writer *w, uint64_t part,
			  struct hpdsl_error *err)
{
	return write_strings(w, part, true, err);
}

/* ---- Checksums -------------------------------------------------------- */

int hp_snap_write_checksums(struct hp_snap_writer *w, uint64_t part,
			    struct hpdsl_error *err)
{
	hp_auto_part struct hp_section_out o;
	int r = hp_snap_part_begin(w, HP_SNAP_CHECKSUMS, part, HP_SNAP_PART, &o,
				   err);

	if (r == 0)
		r = hp_section_put(&o, w->checksums + o.at, o.end - o.at);
	return r < 0 ? r : hp_section_finish(&o);
}
